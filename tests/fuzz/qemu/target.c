/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The target "ernic" of QEMU's fuzzer. QEMU's generic fuzzer knows registers only and
 * fills guest memory as the device reads it. This target does so too, writes to guest
 * memory, sends packets, and stops, resets and migrates the device. QEMU_FUZZ_ARGS has
 * the devices, as for the generic fuzzer.
 */
#include "qemu/osdep.h"
#include "qemu/madvise.h"
#include "qemu/main-loop.h"
#include "hw/pci/msix.h"
#include "qapi/error.h"
#include "qapi/qapi-commands-net.h"
#include "tests/qtest/libqos/pci-pc.h"
#include "tests/qtest/fuzz/fuzz.h"
#include "compat/qemu.h"
#include "device/link.h"
#include "target.h"

static FuzzMachine machine;

/* ---- set-up ----------------------------------------------------------------- */

/* The devices by their addresses. */
static int add_object(Object *obj, void *opaque)
{
    FuzzMachine *m = opaque;
    unsigned i;

    if (object_dynamic_cast(obj, TYPE_ERNIC)) {
        g_assert(m->num < FUZZ_MAX_DEVICES);
        for (i = m->num++; i && m->dev[i - 1].d->parent_obj.devfn >
             ERNIC(obj)->parent_obj.devfn; i--) {
            m->dev[i] = m->dev[i - 1];
        }
        m->dev[i].d = ERNIC(obj);
    } else if (object_dynamic_cast(obj, TYPE_ERNIC_WIRE)) {
        m->wire = ERNIC_WIRE(obj);
    }
    return 0;
}

/* Maps every BAR, and lets the functions access memory. */
static void map_bars(FuzzMachine *m)
{
    QPCIBus *bus = qpci_new_pc(m->qts, NULL);
    QPCIDevice *pci;
    FuzzDevice *dev;

    for (unsigned i = 0; i < m->num; i++) {
        dev = &m->dev[i];
        pci = qpci_device_find(bus, dev->d->parent_obj.devfn);
        if (!pci) {                     /* a port, which is no function */
            g_assert(ernic_pci_hidden(dev->d));
            continue;
        }
        for (unsigned bar = 0; bar < FUZZ_BARS; bar++) {
            dev->bar[bar] = 0;
            if (dev->d->parent_obj.io_regions[bar].size) {
                dev->bar[bar] = qpci_iomap(pci, bar, NULL).addr;
            }
        }
        qpci_device_enable(pci);
        g_free(pci);
    }
    qpci_free_pc(bus);
}

static void start(QTestState *qts)
{
    MemoryRegion *ram = current_machine->ram;
    FuzzMachine *m = &machine;

    m->qts = qts;
    object_child_foreach_recursive(object_get_root(), add_object, m);
    if (!m->num) {
        fprintf(stderr, "QEMU_FUZZ_ARGS has no device ernic\n");
        exit(1);
    }
    m->ram = memory_region_get_ram_ptr(ram);
    g_assert(memory_region_size(ram) == FUZZ_RAM);
    /* Clearing it then costs as much as an input has touched. */
    qemu_madvise(m->ram, FUZZ_RAM, QEMU_MADV_NOHUGEPAGE);
    map_bars(m);
    for (unsigned i = 0; i < m->num; i++) {
        m->dev[i].peers = g_string_new(NULL);
    }
}

static GString *command_line(FuzzTarget *t)
{
    const char *args = getenv("QEMU_FUZZ_ARGS");
    GString *line = g_string_new("x86_64");

    if (!args) {
        fprintf(stderr, "QEMU_FUZZ_ARGS has to name the devices, as -device ernic\n");
        exit(1);
    }
    g_string_append_printf(line, " -display none -machine accel=qtest -m %uM %s",
                           FUZZ_RAM >> 20, args);
    return line;
}

/* ---- one input -------------------------------------------------------------- */

static void nothing(void *opaque)
{
}

void fuzz_settle(FuzzMachine *m)
{
    flush_events(m->qts);
    for (unsigned i = 0; i < m->num; i++) {
        if (m->dev[i].d->iothread) {
            aio_wait_bh_oneshot(m->dev[i].d->ctx, nothing, NULL);
            flush_events(m->qts);
        }
    }
}

static void check(FuzzMachine *m, ErnicPci *d, Ernic *e)
{
    g_autoptr(GString) why = g_string_new(NULL);
    bool ok;

    qemu_mutex_lock(&d->lock);
    ok = ernic_check(e, why);
    qemu_mutex_unlock(&d->lock);
    if (!ok) {
        fprintf(stderr, "an invariant of %s does not hold: %s\n", DEVICE(d)->id,
                why->str);
        abort();
    }
}

/* The link is up, as at the start. */
static void restore_link(ErnicPci *d)
{
    if (d->net.nic && qemu_get_queue(d->net.nic)->link_down) {
        qmp_set_link(DEVICE(d)->id, true, &error_abort);
    }
}

/* The peers are those of the command line, in their order. */
static void restore_peers(FuzzDevice *dev)
{
    const char *own = ernic_pci_link_option(dev->d, "roce-peers") ?: "";
    g_auto(GStrv) peers = NULL;
    char **peer;

    if (!dev->d->cfg.udp_sport || !dev->peers->len) {
        return;
    }
    g_string_append_printf(dev->peers, "+%s", own);
    peers = g_strsplit(dev->peers->str, "+", -1);
    for (peer = peers; *peer; peer++) {
        *strchrnul(*peer, '=') = 0;
        object_property_set_str(OBJECT(dev->d), "remove-peer", *peer, NULL);
    }
    if (*own) {
        object_property_set_str(OBJECT(dev->d), "add-peer", own, &error_abort);
    }
    g_string_truncate(dev->peers, 0);
}

/* User logic connects anew: nothing is left of a record. */
static void restore_user_logic(ErnicPci *d)
{
    if (d->pg332.user.chr.chr) {
        qemu_chr_be_event(d->pg332.user.chr.chr, CHR_EVENT_CLOSED);
        qemu_chr_be_event(d->pg332.user.chr.chr, CHR_EVENT_OPENED);
    }
}

/* Every input finds the same machine. BARs move in one change of the memory map. */
static void reset(FuzzMachine *m)
{
    ErnicPci *d;

    fuzz_end_precopy(m);
    memory_region_transaction_begin();
    for (unsigned i = 0; i < m->num; i++) {
        d = m->dev[i].d;
        restore_link(d);
        restore_peers(&m->dev[i]);
        restore_user_logic(d);
        device_cold_reset(DEVICE(d));
        if (m->config_written) {
            pci_device_reset(PCI_DEVICE(d));
        }
        msix_reset(PCI_DEVICE(d));
    }
    if (m->wire) {
        device_cold_reset(DEVICE(m->wire));
    }
    if (m->config_written) {
        map_bars(m);
        m->config_written = false;
    }
    memory_region_transaction_commit();
    fuzz_settle(m);
    qemu_madvise(m->ram, FUZZ_RAM, QEMU_MADV_DONTNEED);
}

static void run(QTestState *qts, const unsigned char *data, size_t size)
{
    static const char separator[] = FUZZ_SEPARATOR;
    const unsigned char *end = data + size, *next;
    FuzzMachine *m = &machine;

    for (; data < end; data = next + sizeof(separator) - 1) {
        next = memmem(data, end - data, separator, sizeof(separator) - 1) ?: (void *)end;
        if (next > data) {
            if (fuzz_op(m, data, next - data)) {
                fuzz_settle(m);
            }
        }
        if (next == end) {
            break;
        }
    }
    for (unsigned i = 0; i < m->num; i++) {
        check(m, m->dev[i].d, m->dev[i].d->engine);
        if (m->dev[i].d->pg332.engine) {
            check(m, m->dev[i].d, m->dev[i].d->pg332.engine);
        }
    }
    reset(m);
}

/* The second input after the first, shortened if need be. */
static size_t cross(const uint8_t *data1, size_t size1, const uint8_t *data2,
                    size_t size2, uint8_t *out, size_t max, unsigned int seed)
{
    static const char separator[] = FUZZ_SEPARATOR;
    size_t between = sizeof(separator) - 1;

    if (size1 + between >= max) {
        return 0;
    }
    size2 = MIN(size2, max - size1 - between);
    memcpy(out, data1, size1);
    memcpy(out + size1, separator, between);
    memcpy(out + size1 + between, data2, size2);
    return size1 + between + size2;
}

static void register_target(void)
{
    fuzz_add_target(&(FuzzTarget) {
        .name = "ernic",
        .description = "The devices in QEMU_FUZZ_ARGS, with memory, peers and migration",
        .get_init_cmdline = command_line,
        .pre_fuzz = start,
        .fuzz = run,
        .crossover = cross,
    });
}

fuzz_target_init(register_target);
