/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The mlx5 interface: a virtual function as Linux's mlx5_core drives it
 * (docs/mlx5-interface.md). Stores to doorbell pages go through the device's queue of
 * doorbells; the initialization segment is accessed with the lock held.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/bitops.h"
#include "bars/pg332.h"
#include "device/capabilities.h"
#include "device/clock.h"
#include "device/doorbells.h"
#include "device/interface.h"
#include "device/ioeventfd.h"
#include "device/link.h"
#include "device/lock.h"
#include "hw/rdma-ernic/trace.h"

/* The virtual function that most kernels and providers know. */
#define VENDOR_ID   0x15b3
#define DEVICE_ID   0x1018
#define BOARD_ID    "ERNIC_0000000001"
/* Ethernet header, VLAN tag and FCS beside ERNIC_ETH_MTU. */
#define FRAME_HEAD  22

/* BlueFlame buffers of a page; the first bytes of each are the doorbell. */
#define BLUE_FLAME      0x800
#define BLUE_FLAME_SIZE 0x100
/* A doorbell in the queue: its offset, and whether it has 64 bits. */
#define WIDE        1u

/* ---- BAR 0 ---------------------------------------------------------------- */

/* The driver reads fields of the segment that are parts of a word, too. */
static uint64_t bar_read(void *opaque, hwaddr off, unsigned size)
{
    ErnicPci *d = opaque;
    uint64_t now = ernic_pci_enter(d);
    uint64_t value = ernic_bar_read(d->engine, now, off & ~3, MAX(size, 4));

    ernic_pci_leave(d);
    if (size < 4) {
        value = extract32(value, 8 * (4 - size - off % 4), 8 * size);
    }
    trace_ernic_pci_mlx5_read(ernic_pci_id(d), off, size, value);
    return value;
}

static void bar_write(void *opaque, hwaddr off, uint64_t value, unsigned size)
{
    ErnicPci *d = opaque;

    trace_ernic_pci_mlx5_write(ernic_pci_id(d), off, size, value);
    if (size < 4 || ernic_bar_ignores(off, size)) {
        return;                 /* seven of eight stores of a processor that copies */
    }
    if (off >= ERNIC_MLX5_BAR_SEGMENT) {
        ernic_pci_doorbell(d, off | (size == 8 ? WIDE : 0), value);
        return;
    }
    ernic_bar_write(d->engine, ernic_pci_enter(d), off, size, value);
    ernic_pci_leave(d);
}

static void mlx5_doorbell(ErnicPci *d, uint64_t now, uint32_t where, uint64_t value)
{
    ernic_bar_write(d->engine, now, where & ~WIDE, where & WIDE ? 8 : 4, value);
}

static const MemoryRegionOps bar_ops = {
    .read = bar_read,
    .write = bar_write,
    .endianness = DEVICE_BIG_ENDIAN,
    .valid = { .min_access_size = 1, .max_access_size = 8 },
    .impl = { .min_access_size = 1, .max_access_size = 8 },
};

static void mlx5_add_bars(ErnicPci *d)
{
    PCIDevice *pci = PCI_DEVICE(d);
    uint8_t type = PCI_BASE_ADDRESS_SPACE_MEMORY | PCI_BASE_ADDRESS_MEM_TYPE_64 |
                   PCI_BASE_ADDRESS_MEM_PREFETCH;

    pci_config_set_vendor_id(pci->config, d->mlx5.vendor ?: VENDOR_ID);
    pci_config_set_device_id(pci->config, d->mlx5.device ?: DEVICE_ID);
    memory_region_init_io(&d->bar, OBJECT(d), &bar_ops, d, "ernic-mlx5",
                          ERNIC_MLX5_BAR);
    pci_register_bar(pci, 0, type, &d->bar);
    ernic_pci_add_msix_bar(d, type & ~PCI_BASE_ADDRESS_MEM_PREFETCH);
}

/* ---- life ----------------------------------------------------------------- */

static void mlx5_run(ErnicPci *d, uint64_t now)
{
    if (!ernic_pci_doorbells_run(d, now) || !ernic_pci_ioeventfd_run(d, now)) {
        ernic_pci_continue(d, &d->kick, d->bh);
    }
}

/* The engine was created or reset: it takes part in the traffic. */
static void mlx5_reset(ErnicPci *d, uint64_t now)
{
    ernic_set_link(d->engine, now, ernic_pci_link(d));
    qatomic_set(&d->verbs.enabled, true);
}

/* Properties of the other interfaces. */
static bool check_properties(const ErnicPci *d, Error **errp)
{
    const struct {
        const char *name;
        bool set;
    } others[] = {
        { "device-memory", d->mem_size && d->mem_size != ERNIC_PCI_DEVICE_MEMORY },
        { "max-uctx", d->cfg.max_uctx != ERNIC_PCI_MAX_UCTX },
        { "timing", d->timing },
        { "timing-profile", d->timing_profile },
        { "timing-trace", d->timing_trace },
    };
    size_t i;

    for (i = 0; i < ARRAY_SIZE(others); i++) {
        if (others[i].set) {
            error_setg(errp, "%s= and interface=mlx5 exclude each other",
                       others[i].name);
            return false;
        }
    }
    return ernic_pci_pg332_unused(d, errp);
}

/* Capabilities name the logarithms of these numbers of objects. */
static bool check_numbers(const ErnicConfig *cfg, Error **errp)
{
    const struct {
        const char *name;
        uint32_t value;
    } numbers[] = {
        { "max-qp", cfg->max_qp }, { "max-cq", cfg->max_cq }, { "max-srq", cfg->max_srq },
        { "max-eq", cfg->max_eq }, { "max-mr", cfg->max_mr }, { "max-pd", cfg->max_pd },
    };
    size_t i;

    for (i = 0; i < ARRAY_SIZE(numbers); i++) {
        if (!is_power_of_2(numbers[i].value)) {
            error_setg(errp, "%s is %u, and interface=mlx5 needs a power of two",
                       numbers[i].name, numbers[i].value);
            return false;
        }
    }
    return true;
}

static bool mlx5_open(ErnicPci *d, Error **errp)
{
    d->cfg.mlx5 = &d->mlx5.cfg;
    d->mem_size = 0;
    d->mlx5.cfg.link_speed = d->cfg.link_speed;
    d->mlx5.cfg.max_mtu = ERNIC_ETH_MTU + FRAME_HEAD;
    memcpy(d->mlx5.cfg.mac, d->net.conf.macaddr.a, sizeof(d->mlx5.cfg.mac));
    memcpy(d->mlx5.cfg.board_id, BOARD_ID, sizeof(d->mlx5.cfg.board_id));
    return true;
}

static bool check_ids(const ErnicPciMlx5 *m, Error **errp)
{
    if (m->vendor > UINT16_MAX || m->device > UINT16_MAX) {
        error_setg(errp, "pci-%s-id is 0x%x, not 0x1 to 0xffff",
                   m->vendor > UINT16_MAX ? "vendor" : "device",
                   m->vendor > UINT16_MAX ? m->vendor : m->device);
        return false;
    }
    return true;
}

static bool mlx5_check(const ErnicPci *d, Error **errp)
{
    return check_ids(&d->mlx5, errp) && check_properties(d, errp) &&
           check_numbers(&d->cfg, errp);
}

/* ---- saved state ------------------------------------------------------------ */

static bool mlx5_doorbell_ok(const ErnicPci *d, uint32_t where)
{
    uint32_t off = where & ~WIDE;

    return off >= ERNIC_MLX5_BAR_SEGMENT && off < ERNIC_MLX5_BAR &&
           off % (where & WIDE ? 8 : 4) == 0;
}

/* Registers of the verbs interface, which the function does not have, are as at reset. */
static bool mlx5_registers_ok(const ErnicPci *d)
{
    const ErnicVerbs *v = &d->verbs;

    return v->enabled && !v->fatal && !v->cmd_addr && !v->rsp_addr && !v->ring_shift &&
           !v->cmd_pi && !v->cmd_ci && !v->error && !d->net.eth.ctrl;
}

static const ErnicPciInterfaceOps mlx5 = {
    .name = "mlx5",
    .check = mlx5_check,
    .open = mlx5_open,
    .add_bars = mlx5_add_bars,
    .run = mlx5_run,
    .page_event = { 0, BLUE_FLAME, BLUE_FLAME_SIZE },
    .doorbell = mlx5_doorbell,
    .doorbell_ok = mlx5_doorbell_ok,
    .reset = mlx5_reset,
    .registers_ok = mlx5_registers_ok,
};

ERNIC_PCI_INTERFACE(mlx5)
