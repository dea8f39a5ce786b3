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
#include "migration/misc.h"
#include "migration/qemu-file.h"
#include "migration/register.h"
#include "migration/vmstate.h"
#include "net/net.h"
#include "qapi/qapi-commands-net.h"
#include "qobject/qobject.h"
#include "qom/qom-qobject.h"
#include "system/runstate.h"
#include "compat/qemu.h"
#include "pci/precopy.h"
#include "wire/frame.h"
#include "wire/icrc.h"
#include "target.h"

#define MAX_STEP        (100 * SCALE_MS)
#define MAX_FILL        (1024 * 1024)
#define MAX_BURST       4096
#define MAX_STATE       (64 * 1024 * 1024)
#define MAX_SECTIONS    16
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

/* As op_write, with a number before the value: so many writes with no work in between. */
static void op_burst(FuzzMachine *m, Operands *o)
{
    unsigned size_log2, number;
    uint64_t addr, value;

    if (take_address(m, o, &size_log2, &addr)) {
        number = take(o, 2) % MAX_BURST;
        value = cpu_to_le64(take(o, 8));
        for (; number; number--) {
            address_space_rw(&address_space_memory, addr, MEMTXATTRS_UNSPECIFIED, &value,
                             1 << size_log2, true);
        }
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

/* The other end of the UDP links: a socket of 127.0.0.1, and its port. */
static int peer_socket(uint16_t *port)
{
    struct sockaddr_in own = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    socklen_t len = sizeof(own);
    static int fd = -1;

    if (fd < 0) {
        fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        g_assert(!bind(fd, (struct sockaddr *)&own, len));
    }
    g_assert(!getsockname(fd, (struct sockaddr *)&own, &len));
    *port = ntohs(own.sin_port);
    return fd;
}

static ErnicGid take_ip4(Operands *o)
{
    ErnicGid gid = { .raw = { [10] = 0xff, [11] = 0xff } };

    stl_le_p(gid.raw + 12, take(o, 4));
    return gid;
}

/*
 * Device and, in bit 7, whether the ICRC stays wrong; the IPv4 addresses of sender and
 * receiver, which the ICRC covers; a datagram for its UDP link. The device takes those of
 * a sender that op_peer has added.
 */
static void op_datagram(FuzzMachine *m, Operands *o)
{
    uint8_t which = take(o, 1);
    ErnicPci *d = m->dev[(which & 0x7f) % m->num].d;
    struct sockaddr_in to = { .sin_family = AF_INET };
    ErnicPath path = { .vlan = ERNIC_NO_VLAN };
    g_autofree uint8_t *packet = NULL;
    int fd = peer_socket(&path.udp_sport);

    path.sgid = take_ip4(o);
    path.dgid = take_ip4(o);
    packet = g_memdup2(o->pos, o->left);
    if (!(which & 0x80) && o->left >= ERNIC_BTH_LEN + ERNIC_ICRC_LEN) {
        stl_le_p(packet + o->left - ERNIC_ICRC_LEN,
                 ernic_icrc(&path, packet, o->left - ERNIC_ICRC_LEN));
    }
    if (d->cfg.udp_sport) {     /* a UDP link has one */
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        to.sin_port = htons(d->cfg.udp_sport);
        sendto(fd, packet, o->left, MSG_DONTWAIT, (struct sockaddr *)&to, sizeof(to));
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

/*
 * Device; bit 0: remove; bit 1: the port is that of another device; bit 2: it is that of
 * op_datagram; text of a peer.
 */
static void op_peer(FuzzMachine *m, Operands *o)
{
    FuzzDevice *dev = take_device(m, o);
    uint8_t flags = take(o, 1);
    uint16_t port = take_device(m, o)->d->cfg.udp_sport;
    g_autoptr(GString) text = g_string_new(NULL);

    if (flags & 4) {
        peer_socket(&port);
    }
    g_string_append_len(text, (const char *)o->pos, o->left);
    if (flags & 6 && port) {
        g_string_append_printf(text, "=127.0.0.1:%u", port);
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

/*
 * Device; text NAME or NAME=VALUE: a property that the user reads or writes. Its peers
 * are op_peer's.
 */
static void op_property(FuzzMachine *m, Operands *o)
{
    static const char *const but[] = { "realized", "add-peer", "remove-peer", NULL };
    Object *obj = OBJECT(take_device(m, o)->d);
    g_autofree char *text = g_strndup((const char *)o->pos, o->left);
    char *value = strchr(text, '=');

    if (!value) {
        read_property(obj, text);
        return;
    }
    *value = 0;
    if (!g_strv_contains(but, text)) {
        object_property_parse(obj, text, value + 1, NULL);
    }
}

/* Device; 0: bytes of its user logic; 1: user logic comes; 2: it goes; 3: a break. */
static void op_user_logic(FuzzMachine *m, Operands *o)
{
    static const QEMUChrEvent events[] = {
        [1] = CHR_EVENT_OPENED, [2] = CHR_EVENT_CLOSED, [3] = CHR_EVENT_BREAK,
    };
    Chardev *chr = take_device(m, o)->d->pg332.user.chr.chr;
    uint8_t kind = take(o, 1) % ARRAY_SIZE(events);

    if (!chr) {
        return;
    }
    if (kind) {
        qemu_chr_be_event(chr, events[kind]);
    } else {
        qemu_chr_be_write(chr, o->pos, MIN(o->left, qemu_chr_be_can_write(chr)));
    }
}

/* ---- migration -------------------------------------------------------------- */

static QIOChannelBuffer *copy(const QIOChannelBuffer *from)
{
    QIOChannelBuffer *to = qio_channel_buffer_new(from->usage);

    memcpy(to->data, from->data, from->usage);
    to->usage = from->usage;
    return to;
}

static void open_stream(FuzzStream *s)
{
    s->bytes = qio_channel_buffer_new(4096);
    s->f = qemu_file_new_output(QIO_CHANNEL(s->bytes));
    s->sections = 0;
}

static void close_stream(FuzzStream *s)
{
    qemu_fclose(s->f);
    object_unref(OBJECT(s->bytes));
    s->f = NULL;
}

void fuzz_end_precopy(FuzzMachine *m)
{
    for (unsigned i = 0; m->precopy && i < m->num; i++) {
        ernic_pci_precopy_handlers.save_cleanup(m->dev[i].d);
        if (m->dev[i].ahead.f) {
            close_stream(&m->dev[i].ahead);
        }
    }
    m->precopy = false;
}

/* As QEMU does: the devices that have nothing to send ahead learn of it, too. */
static void begin_precopy(FuzzMachine *m)
{
    const SaveVMHandlers *h = &ernic_pci_precopy_handlers;
    FuzzStream *s;

    for (unsigned i = 0; i < m->num; i++) {
        if (h->is_active(m->dev[i].d)) {
            s = &m->dev[i].ahead;
            open_stream(s);
            h->save_setup(s->f, m->dev[i].d, &error_abort);
            s->sections++;
        }
    }
    precopy_notify(PRECOPY_NOTIFY_SETUP, &error_abort);
    m->precopy = true;
}

/*
 * Device, number: a migration sends so many sections of its page lists ahead, while the
 * machine runs. The migration begins here, and ends with op_migrate.
 */
static void op_precopy(FuzzMachine *m, Operands *o)
{
    const SaveVMHandlers *h = &ernic_pci_precopy_handlers;
    FuzzDevice *dev = take_device(m, o);
    uint8_t sections = take(o, 1) % MAX_SECTIONS;

    if (!m->precopy) {
        begin_precopy(m);
    }
    for (; dev->ahead.f && sections; sections--) {
        ernic_pci_precopy_left(dev->d, false);
        ernic_pci_precopy_left(dev->d, true);
        h->save_live_iterate(dev->ahead.f, dev->d);
        dev->ahead.sections++;
    }
}

/* Ends @s. The whole stream; NULL: it is too long. */
static QIOChannelBuffer *save(Object *obj, FuzzStream *s)
{
    QIOChannelBuffer *in = NULL;
    bool ok;

    if (s->sections) {
        ernic_pci_precopy_handlers.ERNIC_SAVE_COMPLETE(s->f, ERNIC(obj));
        s->sections++;
    }
    ok = !ernic_vmstate_save(s->f, qdev_get_vmsd(DEVICE(obj)), obj);
    qemu_put_byte(s->f, 0);     /* a stream goes on: its end here would be an error */
    if (ok && !qemu_fflush(s->f) && s->bytes->usage <= MAX_STATE) {
        in = copy(s->bytes);
    }
    close_stream(s);
    return in;
}

static bool load_lists(Object *obj, QEMUFile *f, unsigned sections)
{
    const SaveVMHandlers *h = &ernic_pci_precopy_handlers;

    for (unsigned i = 0; i < sections; i++) {
        if ((i == 0 && h->load_setup(f, ERNIC(obj), &error_abort)) ||
            h->load_state(f, ERNIC(obj), 1)) {
            return false;
        }
    }
    return true;
}

/* Frees @in. A device that refuses it is reset. */
static bool load(Object *obj, QIOChannelBuffer *in, unsigned sections)
{
    const VMStateDescription *vmsd = qdev_get_vmsd(DEVICE(obj));
    QEMUFile *f = qemu_file_new_input(QIO_CHANNEL(in));
    bool ok = load_lists(obj, f, sections) &&
              !ernic_vmstate_load(f, vmsd, obj);

    if (sections) {
        ernic_pci_precopy_handlers.load_cleanup(ERNIC(obj));
    }
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
    bool is_wire = which == 0xff && m->wire;
    FuzzDevice *dev = &m->dev[which % m->num];
    Object *obj = is_wire ? OBJECT(m->wire) : OBJECT(dev->d);
    FuzzStream own = { }, *s = dev->ahead.f && !is_wire ? &dev->ahead : &own;
    QIOChannelBuffer *in, *kept;
    unsigned sections;
    int64_t at;

    vm_stop(RUN_STATE_PAUSED);
    if (!s->f) {
        open_stream(s);
    }
    in = save(obj, s);
    sections = s->sections;
    fuzz_end_precopy(m);
    device_cold_reset(DEVICE(obj));
    if (in) {
        kept = copy(in);
        while (o->left >= 5 && in->usage) {
            at = (int32_t)take(o, 4) % (int64_t)in->usage;
            in->data[at < 0 ? at + in->usage : at] ^= take(o, 1);
            m->config_written = true;
        }
        if (load(obj, in, sections)) {
            object_unref(OBJECT(kept));
        } else {
            load(obj, kept, sections);
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
    op_property,
    op_user_logic,
    op_precopy,
    op_burst,
};

bool fuzz_op(FuzzMachine *m, const uint8_t *data, size_t len)
{
    void (*op)(FuzzMachine *m, Operands *o) = ops[data[0] % ARRAY_SIZE(ops)];
    Operands o = { data + 1, len - 1 };

    op(m, &o);
    return op != op_ram && op != op_fill;
}
