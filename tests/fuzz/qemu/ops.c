/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The operations of an input: what a guest, its peers, its user and a migration can do.
 * Each begins with its number; numbers beyond the table wrap, and bytes that are missing
 * are 0, so that every input means something.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/main-loop.h"
#include "qapi/error.h"
#include "hw/pci/pci_regs.h"
#include "io/channel-buffer.h"
#include "migration/qemu-file.h"
#include "migration/vmstate.h"
#include "net/net.h"
#include "qapi/qapi-commands-net.h"
#include "qobject/qobject.h"
#include "qom/qom-qobject.h"
#include "system/runstate.h"
#include "compat/qemu.h"
#include "wire/frame.h"
#include "wire/icrc.h"
#include "target.h"

#define MAX_STEP        (100 * SCALE_MS)
#define MAX_FILL        (1024 * 1024)
#define MAX_STATE       (64 * 1024 * 1024)
#define CONFIG_ADDRESS  0xcf8
#define CONFIG_DATA     0xcfc

/* The operands of one operation. */
typedef struct Operands {
    const uint8_t *pos;
    size_t left;
} Operands;

static uint64_t take(Operands *o, size_t bytes)
{
    uint64_t value = 0;

    bytes = MIN(bytes, o->left);
    memcpy(&value, o->pos, bytes);
    o->pos += bytes;
    o->left -= bytes;
    return le64_to_cpu(value);
}

static FuzzDevice *take_device(FuzzMachine *m, Operands *o)
{
    return &m->dev[take(o, 1) % m->num];
}

/* ---- registers and memory --------------------------------------------------- */

/* Size, device and BAR (4 bits each), offset. False: there is no such BAR. */
static bool take_address(FuzzMachine *m, Operands *o, unsigned *size_log2,
                         uint64_t *addr)
{
    uint8_t where;
    FuzzDevice *dev;
    unsigned bar;

    *size_log2 = take(o, 1) % 4;
    where = take(o, 1);
    dev = &m->dev[(where >> 4) % m->num];
    bar = (where & 0xf) % FUZZ_BARS;
    if (!dev->bar[bar]) {
        return false;
    }
    *addr = dev->bar[bar] + take(o, 4) % dev->d->parent_obj.io_regions[bar].size;
    return true;
}

static void op_read(FuzzMachine *m, Operands *o)
{
    unsigned size_log2;
    uint64_t addr, value;

    if (take_address(m, o, &size_log2, &addr)) {
        address_space_rw(&address_space_memory, addr, MEMTXATTRS_UNSPECIFIED, &value,
                         1 << size_log2, false);
    }
}

static void op_write(FuzzMachine *m, Operands *o)
{
    unsigned size_log2;
    uint64_t addr, value;

    if (take_address(m, o, &size_log2, &addr)) {
        value = cpu_to_le64(take(o, 8));
        address_space_rw(&address_space_memory, addr, MEMTXATTRS_UNSPECIFIED, &value,
                         1 << size_log2, true);
    }
}

/* Address, bytes. */
static void op_ram(FuzzMachine *m, Operands *o)
{
    uint32_t addr = take(o, 4) % FUZZ_RAM;

    memcpy(m->ram + addr, o->pos, MIN(o->left, FUZZ_RAM - addr));
}

/* Address, length, byte. */
static void op_fill(FuzzMachine *m, Operands *o)
{
    uint32_t addr = take(o, 4) % FUZZ_RAM, len = take(o, 4) % MAX_FILL;

    memset(m->ram + addr, take(o, 1), MIN(len, FUZZ_RAM - addr));
}

static void config_access(FuzzMachine *m, Operands *o, bool write)
{
    unsigned size_log2 = take(o, 1) % 3, device, offset;
    uint32_t value;

    device = take(o, 1) % m->num;
    offset = take(o, 1) & -(1 << size_log2);
    value = take(o, 4);
    cpu_outl(CONFIG_ADDRESS, 1u << 31 | m->dev[device].d->parent_obj.devfn << 8 |
             (offset & ~3));
    if (!write) {
        cpu_inl(CONFIG_DATA);
    } else if (size_log2 == 0) {
        cpu_outb(CONFIG_DATA + (offset & 3), value);
    } else if (size_log2 == 1) {
        cpu_outw(CONFIG_DATA + (offset & 3), value);
    } else {
        cpu_outl(CONFIG_DATA, value);
    }
    m->config_written |= write;
}

static void op_config_read(FuzzMachine *m, Operands *o)
{
    config_access(m, o, false);
}

static void op_config_write(FuzzMachine *m, Operands *o)
{
    config_access(m, o, true);
}

/* Nanoseconds; 0: to the next timer. */
static void op_step(FuzzMachine *m, Operands *o)
{
    int64_t ns = take(o, 4), now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);

    if (!ns) {
        ns = MAX(qemu_clock_deadline_ns_all(QEMU_CLOCK_VIRTUAL, QEMU_TIMER_ATTR_ALL), 1);
    }
    qemu_clock_advance_virtual_time(now + MIN(ns, MAX_STEP));
}

/* ---- peers ------------------------------------------------------------------ */

/* Makes the ICRC of a RoCEv2 frame right, as that of a peer would be. */
static void correct_icrc(uint8_t *frame, uint32_t len)
{
    ErnicIcrcCtx ctx;
    ErnicFrame f = { 0 };

    if (ernic_net_parse(&f, frame, len) != ERNIC_DROP_NOT_ROCE && f.ib &&
        f.ib_len >= 16) {
        ernic_icrc_init_ip(&ctx, f.ip, f.is_v6);
        stl_le_p((uint8_t *)f.ib + f.ib_len - 4,
                 ernic_icrc_packet(&ctx, f.ib, f.ib_len - 4));
    }
}

/* Device and, in bit 7, whether the ICRC stays wrong; a frame for its NIC. */
static void op_frame(FuzzMachine *m, Operands *o)
{
    uint8_t which = take(o, 1);
    ErnicPci *d = m->dev[(which & 0x7f) % m->num].d;
    NetClientState *nc = d->net.nic ? qemu_get_queue(d->net.nic) : NULL;
    g_autofree uint8_t *frame = g_memdup2(o->pos, o->left);

    if (nc && nc->peer && o->left) {
        if (!(which & 0x80)) {
            correct_icrc(frame, o->left);
        }
        qemu_send_packet(nc->peer, frame, o->left);
    }
}

/* Device; a datagram for its UDP link. */
static void op_datagram(FuzzMachine *m, Operands *o)
{
    ErnicPci *d = take_device(m, o)->d;
    struct sockaddr_in to = { .sin_family = AF_INET };
    static int fd = -1;

    if (fd < 0) {
        fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    }
    if (d->cfg.udp_sport) {     /* a UDP link has one */
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        to.sin_port = htons(d->cfg.udp_sport);
        sendto(fd, o->pos, o->left, MSG_DONTWAIT, (struct sockaddr *)&to, sizeof(to));
    }
}

/* ---- user and machine ------------------------------------------------------- */

/* Device; bit 0: the link is down. */
static void op_link(FuzzMachine *m, Operands *o)
{
    ErnicPci *d = take_device(m, o)->d;

    if (d->net.nic && DEVICE(d)->id) {
        qmp_set_link(DEVICE(d)->id, !(take(o, 1) & 1), &error_abort);
    }
}

/* Device; bit 0: remove; bit 1: the port is that of another device; text of a peer. */
static void op_peer(FuzzMachine *m, Operands *o)
{
    FuzzDevice *dev = take_device(m, o);
    uint8_t flags = take(o, 1);
    ErnicPci *other;
    g_autoptr(GString) text = g_string_new(NULL);

    other = take_device(m, o)->d;
    g_string_append_len(text, (const char *)o->pos, o->left);
    if (flags & 2 && other->cfg.udp_sport) {
        g_string_append_printf(text, "=127.0.0.1:%u", other->cfg.udp_sport);
    }
    g_string_append_printf(dev->peers, "+%s", text->str);
    object_property_set_str(OBJECT(dev->d), flags & 1 ? "remove-peer" : "add-peer",
                            text->str, NULL);
}

static void read_property(Object *obj, const char *name)
{
    qobject_unref(object_property_get_qobject(obj, name, NULL));
}

static void op_statistics(FuzzMachine *m, Operands *o)
{
    ErnicPci *d = take_device(m, o)->d;

    read_property(OBJECT(d), "statistics");
    read_property(OBJECT(d), "ernic-violations");
    read_property(OBJECT(d), "roce-port");
    if (m->wire) {
        read_property(OBJECT(m->wire), "statistics");
    }
}

/* The machine stands still for the time given. */
static void op_stop(FuzzMachine *m, Operands *o)
{
    vm_stop(RUN_STATE_PAUSED);
    op_step(m, o);
    fuzz_settle(m);
    vm_start();
}

static void op_reset(FuzzMachine *m, Operands *o)
{
    device_cold_reset(DEVICE(take_device(m, o)->d));
}

/* ---- migration -------------------------------------------------------------- */

static QIOChannelBuffer *copy(const QIOChannelBuffer *from)
{
    QIOChannelBuffer *to = qio_channel_buffer_new(from->usage);

    memcpy(to->data, from->data, from->usage);
    to->usage = from->usage;
    return to;
}

static QIOChannelBuffer *save(Object *obj)
{
    QIOChannelBuffer *out = qio_channel_buffer_new(4096);
    QEMUFile *f = qemu_file_new_output(QIO_CHANNEL(out));
    QIOChannelBuffer *in = NULL;
    bool ok = !vmstate_save_state(f, qdev_get_vmsd(DEVICE(obj)), obj, NULL);

    qemu_put_byte(f, 0);        /* a stream goes on: its end here would be an error */
    if (ok && !qemu_fflush(f) && out->usage <= MAX_STATE) {
        in = copy(out);
    }
    qemu_fclose(f);
    object_unref(OBJECT(out));
    return in;
}

/* Frees @in. A device that refuses it is reset. */
static bool load(Object *obj, QIOChannelBuffer *in)
{
    const VMStateDescription *vmsd = qdev_get_vmsd(DEVICE(obj));
    QEMUFile *f = qemu_file_new_input(QIO_CHANNEL(in));
    bool ok = !vmstate_load_state(f, vmsd, obj, vmsd->version_id);

    if (!ok) {
        device_cold_reset(DEVICE(obj));
    }
    qemu_fclose(f);
    object_unref(OBJECT(in));
    return ok;
}

/*
 * Device, or 0xff: the wire. It is saved, reset and loaded; offset, byte: changes of the
 * stream in between, an offset from its end if it is negative. As in a migration, the
 * rest of the machine stands still, and what was saved goes on if the other side refuses
 * the stream.
 */
static void op_migrate(FuzzMachine *m, Operands *o)
{
    uint8_t which = take(o, 1);
    Object *obj = which == 0xff && m->wire ? OBJECT(m->wire)
                                           : OBJECT(m->dev[which % m->num].d);
    QIOChannelBuffer *in, *kept;
    int64_t at;

    vm_stop(RUN_STATE_PAUSED);
    in = save(obj);
    device_cold_reset(DEVICE(obj));
    if (in) {
        kept = copy(in);
        while (o->left >= 5 && in->usage) {
            at = (int32_t)take(o, 4) % (int64_t)in->usage;
            in->data[at < 0 ? at + in->usage : at] ^= take(o, 1);
            m->config_written = true;
        }
        if (load(obj, in)) {
            object_unref(OBJECT(kept));
        } else {
            load(obj, kept);
        }
    }
    vm_start();
}

/* ---- the table -------------------------------------------------------------- */

/* The inputs of the corpus have their numbers: a new one goes to the end. */
static void (*const ops[])(FuzzMachine *m, Operands *o) = {
    op_read,
    op_write,
    op_ram,
    op_fill,
    op_config_read,
    op_config_write,
    op_step,
    op_frame,
    op_datagram,
    op_link,
    op_peer,
    op_statistics,
    op_stop,
    op_reset,
    op_migrate,
};

bool fuzz_op(FuzzMachine *m, const uint8_t *data, size_t len)
{
    void (*op)(FuzzMachine *m, Operands *o) = ops[data[0] % ARRAY_SIZE(ops)];
    Operands o = { data + 1, len - 1 };

    op(m, &o);
    return op != op_ram && op != op_fill;
}
