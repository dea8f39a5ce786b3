/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The registers of the verbs interface (docs/verbs-interface.md): the control page,
 * which is one table, the command ring, and the doorbell pages. Register handlers only
 * record the access and kick the bottom half, which does the work.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "bars/pg332.h"
#include "bars/verbs.h"
#include "device/capabilities.h"
#include "device/clock.h"
#include "device/dma.h"
#include "device/doorbells.h"
#include "device/interface.h"
#include "device/ioeventfd.h"
#include "device/irq.h"
#include "device/link.h"
#include "device/lock.h"
#include "device/memory.h"
#include "device/registers.h"
#include "device/reset.h"
#include "net/ethernet.h"
#include "hw/rdma-ernic/trace.h"

#define DB_SHIFT        12
/* A doorbell in the queue: its page, and whether it is at ERNIC_DB_RECORD. */
#define AT_RECORD       (1u << 31)
#define DB_OFFSET       0x1000          /* after the control page */
#define RING_ENTRY      sizeof(struct ernic_cmd)

QEMU_BUILD_BUG_ON(sizeof(struct ernic_rsp) != RING_ENTRY);

/* Bytes of the control page and the doorbell pages together. */
static uint64_t regs_size(const ErnicPci *d)
{
    return DB_OFFSET + ((uint64_t)d->cfg.max_uctx << DB_SHIFT);
}

/* Device memory follows directly, so that a small BAR can be hot-plugged; 0: none. */
static uint64_t mem_offset(const ErnicPci *d)
{
    return d->mem_size ? regs_size(d) : 0;
}

/* ---- commands ------------------------------------------------------------- */

static void fatal(ErnicPci *d, uint32_t error)
{
    trace_ernic_guest_fatal(ernic_pci_id(d), error);
    ernic_pci_guest_error(d, "DMA to a command or response ring failed");
    qatomic_set(&d->verbs.fatal, true);
    d->verbs.error = error;
    ernic_pci_doorbells_drop(d);
    ernic_pci_irq(d, 0);
}

typedef enum CmdResult {
    CMD_DONE,
    CMD_AGAIN,                  /* the slice has ended before the command */
    CMD_DMA,                    /* DMA to a ring failed */
} CmdResult;

/* Executes the next command, or continues it. */
static CmdResult command(ErnicPci *d, uint64_t now)
{
    ErnicVerbs *v = &d->verbs;
    uint32_t mask = (1u << v->ring_shift) - 1;
    uint64_t at = (uint64_t)(v->cmd_ci & mask) * RING_ENTRY;
    bool begun = ernic_cmd_active(d->engine);
    struct ernic_cmd cmd;
    struct ernic_rsp rsp;

    if (!begun && !ernic_pci_dma(d, v->cmd_addr + at, &cmd, sizeof(cmd), false)) {
        return CMD_DMA;
    }
    /*
     * CQ_RESIZE checks that the CQ's entries fit the new ring, so requests whose
     * doorbells were rung before the command have to run first. One that is an event
     * may still be on its way.
     */
    if (!begun && cmd.opcode == ERNIC_CMD_CQ_RESIZE) {
        if (!ernic_page_settle(d->engine, now, le32_to_cpu(cmd.uctx))) {
            return CMD_AGAIN;
        }
        ernic_run_within(d->engine, now);
    }
    if (!ernic_cmd(d->engine, now, &cmd, &rsp)) {
        return CMD_AGAIN;
    }
    rsp.phase = !(v->cmd_ci >> v->ring_shift & 1);
    /* The phase byte marks the response as valid: its word is written last. */
    if (!ernic_pci_dma(d, v->rsp_addr + at + 4, (uint8_t *)&rsp + 4,
                       sizeof(rsp) - 4, true) ||
        !ernic_pci_dma(d, v->rsp_addr + at, &rsp, 4, true)) {
        return CMD_DMA;
    }
    /* A processor that reads the new index finds the response. */
    qatomic_store_release(&v->cmd_ci, v->cmd_ci + 1);
    return CMD_DONE;
}

/*
 * Executes commands up to index @pi. False: the slice has ended, DMA to a ring failed,
 * or the timing model has not finished the next command yet.
 */
bool ernic_pci_verbs_commands(ErnicPci *d, uint64_t now, uint32_t pi)
{
    ErnicVerbs *v = &d->verbs;
    CmdResult result;

    while ((int32_t)(pi - v->cmd_ci) > 0) {
        if (!ernic_slice_left(d->engine) || ernic_cmd_due(d->engine, now) > now) {
            return false;
        }
        result = command(d, now);
        if (result == CMD_DMA) {
            fatal(d, ERNIC_DEVERR_CMD_DMA);
        }
        if (result != CMD_DONE) {
            return false;
        }
    }
    return true;
}

void ernic_pci_verbs_doorbell(ErnicPci *d, uint64_t now, uint32_t where, uint64_t value)
{
    if (where & AT_RECORD) {
        ernic_doorbell_record(d->engine, now, where & ~AT_RECORD, value);
    } else {
        ernic_doorbell(d->engine, now, where, value);
    }
}

void ernic_pci_verbs_run(ErnicPci *d, uint64_t now)
{
    ErnicVerbs *v = &d->verbs;
    uint32_t pi, ci = v->cmd_ci;
    bool done, rung = false;

    if (!ernic_pci_verbs_enabled(d) || ernic_pci_verbs_fatal(d)) {
        ernic_pci_doorbells_drop(d);
        return;
    }
    /*
     * Read cmd_pi first: doorbells with a value that were rung before its update are then
     * all seen. Those that are events may come later.
     */
    pi = qatomic_load_acquire(&v->cmd_pi);
    done = ernic_pci_doorbells_run(d, now);
    if (done) {
        rung = !ernic_pci_ioeventfd_run(d, now);
        done = ernic_pci_verbs_commands(d, now, pi);
    }
    if (v->cmd_ci != ci) {
        ernic_pci_irq(d, 0);
    }
    /* If a command takes modelled time, the engine has set a wake-up instead. */
    if (!ernic_pci_verbs_fatal(d) &&
        (rung || (!done && !ernic_slice_left(d->engine)))) {
        ernic_pci_continue(d, &d->kick, d->bh);
    }
}

/* ---- the control page ----------------------------------------------------- */

static bool ring_ok(uint64_t addr, uint32_t shift)
{
    return addr && addr % RING_ENTRY == 0 &&
           addr <= UINT64_MAX - (RING_ENTRY << shift);
}

static void enable(ErnicPci *d)
{
    ErnicVerbs *v = &d->verbs;
    uint64_t now;

    if (v->ring_shift > ERNIC_RING_SHIFT_MAX ||
        !ring_ok(v->cmd_addr, v->ring_shift) ||
        !ring_ok(v->rsp_addr, v->ring_shift)) {
        trace_ernic_guest_bad_rings(ernic_pci_id(d), v->cmd_addr, v->rsp_addr,
                                    v->ring_shift);
        ernic_pci_guest_error(d, "not enabled: ring registers out of range");
        v->error = ERNIC_DEVERR_RING;
        return;
    }
    trace_ernic_pci_enable(ernic_pci_id(d), v->cmd_addr, v->rsp_addr, v->ring_shift);
    now = ernic_pci_enter(d);
    ernic_set_link(d->engine, now, ernic_pci_link(d));
    qatomic_set(&v->enabled, true);
    ernic_pci_leave(d);
}

static void write_control(ErnicPci *d, uint64_t value)
{
    bool on = value & ERNIC_CONTROL_ENABLE;

    if ((value & ERNIC_CONTROL_RESET) || (ernic_pci_verbs_enabled(d) && !on)) {
        trace_ernic_pci_reset(ernic_pci_id(d));
        ernic_pci_reset(d, ernic_pci_enter(d));
        ernic_pci_leave(d);
    }
    if (on && !ernic_pci_verbs_enabled(d)) {
        enable(d);
    }
}

static void write_cmd_pi(ErnicPci *d, uint64_t value)
{
    ErnicVerbs *v = &d->verbs;
    uint32_t ci;

    if (!ernic_pci_verbs_enabled(d) || ernic_pci_verbs_fatal(d)) {
        ernic_guest_not_enabled(d, "cmd_pi", value);
        return;
    }
    ci = qatomic_read(&v->cmd_ci);
    /* cmd_pi never moves back: posted commands cannot be withdrawn. */
    if ((uint32_t)value - ci > 1u << v->ring_shift ||
        (uint32_t)value - ci < v->cmd_pi - ci) {
        trace_ernic_guest_cmd_index(ernic_pci_id(d), value, ci);
        ernic_pci_guest_error(d, "cmd_pi %u does not follow %u",
                              (uint32_t)value, v->cmd_pi);
        ernic_pci_enter(d);
        if (!ernic_pci_verbs_fatal(d)) {
            v->error = ERNIC_DEVERR_CMD_INDEX;      /* keep the error of FATAL */
        }
        ernic_pci_leave(d);
        return;
    }
    qatomic_store_release(&v->cmd_pi, value);
    ernic_pci_kick(d);
}

static uint64_t read_status(ErnicPci *d)
{
    return (ernic_pci_verbs_enabled(d) ? ERNIC_STATUS_ENABLED : 0) |
           (ernic_pci_verbs_fatal(d) ? ERNIC_STATUS_FATAL : 0) |
           (ernic_pci_link(d) ? ERNIC_STATUS_LINK : 0);
}

static uint64_t read_control(ErnicPci *d)
{
    return ernic_pci_verbs_enabled(d) ? ERNIC_CONTROL_ENABLE : 0;
}

/*
 * Without another link, the netdev carries RoCEv2 frames (ROCE_ETH). DB_RECORD does not
 * say that there are events: the ERNIC interface executes each store at that offset.
 */
uint32_t ernic_pci_verbs_features(const ErnicPci *d)
{
    return ERNIC_FEATURE_ETH | ERNIC_FEATURE_XRC | ERNIC_FEATURE_ATOMIC_WRITE |
           ERNIC_FEATURE_SRQ_RESIZE | ERNIC_FEATURE_FLUSH | ERNIC_FEATURE_ETH_LSO |
           (d->profile ? 0 : ERNIC_FEATURE_RECORDS | ERNIC_FEATURE_DB_RECORD) |
           (d->net.nic && d->link == d->card ? ERNIC_FEATURE_ROCE_ETH : 0);
}

static uint64_t read_features(ErnicPci *d)
{
    return ernic_pci_verbs_features(d);
}

static uint64_t read_mem_offset(ErnicPci *d)
{
    return mem_offset(d);
}

static uint64_t read_num_vectors(ErnicPci *d)
{
    return d->cfg.num_vectors;
}

static uint64_t read_time(ErnicPci *d)
{
    return qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
}

#define AT(name) [offsetof(struct ernic_regs, name) / 4]
#define REG(name, ...) \
    AT(name) = { #name, sizeof_field(struct ernic_regs, name), __VA_ARGS__ }
#define FIELD_OF(name) ERNIC_REG_FIELD(ErnicPci, name)

static const ErnicReg regs[sizeof(struct ernic_regs) / 4] = {
    REG(magic, .constant = ERNIC_MAGIC),
    REG(abi_version, .constant = ERNIC_ABI_VERSION),
    REG(features, .read = read_features),
    REG(status, .read = read_status),
    REG(control, .read = read_control, .write = write_control),
    REG(error, FIELD_OF(verbs.error)),
    REG(num_vectors, .read = read_num_vectors),
    REG(num_uctx, FIELD_OF(cfg.max_uctx)),
    REG(db_offset, .constant = DB_OFFSET),
    REG(db_shift, .constant = DB_SHIFT),
    REG(time, .read = read_time),
    REG(cmd_addr, FIELD_OF(verbs.cmd_addr), .setup = true),
    REG(rsp_addr, FIELD_OF(verbs.rsp_addr), .setup = true),
    REG(ring_shift, FIELD_OF(verbs.ring_shift), .setup = true),
    REG(cmd_pi, FIELD_OF(verbs.cmd_pi), .write = write_cmd_pi),
    REG(cmd_ci, FIELD_OF(verbs.cmd_ci)),
    REG(link_speed, FIELD_OF(cfg.link_speed)),
    REG(mem_offset, .read = read_mem_offset),
    REG(mem_size, FIELD_OF(mem_size)),
};

/* ---- the BAR -------------------------------------------------------------- */

/* The register block at *@off of the control page; makes *@off relative to it. */
static ErnicRegBlock block_at(ErnicPci *d, hwaddr *off)
{
    if (*off >= ERNIC_ETH_OFFSET) {
        *off -= ERNIC_ETH_OFFSET;
        return ernic_pci_eth_block(d);
    }
    return (ErnicRegBlock) {
        .reg = regs, .num = ARRAY_SIZE(regs), .fields = d,
        .locked = ernic_pci_verbs_enabled(d),
    };
}

static uint64_t bar_read(void *opaque, hwaddr off, unsigned size)
{
    ErnicPci *d = opaque;
    ErnicRegBlock block;

    if (d->profile) {
        ernic_mmio_read(d->engine, ernic_pci_enter(d));
        ernic_pci_leave(d);
    }
    if (off < DB_OFFSET) {
        block = block_at(d, &off);
        return ernic_regs_read(d, &block, off, size);
    }
    if (size == 8 && off % (1u << DB_SHIFT) == ERNIC_DB_TIME &&
        (off - DB_OFFSET) >> DB_SHIFT < d->cfg.max_uctx) {
        return read_time(d);
    }
    ernic_guest_bad_read(d, off, size);
    return 0;
}

static bool at_record(hwaddr off)
{
    return off % (1u << DB_SHIFT) == ERNIC_DB_RECORD;
}

/* The device accepts at ERNIC_DB_RECORD what an event there would not lose. */
static bool is_doorbell(hwaddr off, uint64_t value, unsigned size)
{
    return size == 8 && (off % (1u << DB_SHIFT) == 0 ||
                         (at_record(off) && value >> 56 == ERNIC_DB_SQ));
}

static void bar_write(void *opaque, hwaddr off, uint64_t value, unsigned size)
{
    ErnicPci *d = opaque;
    uint64_t page = (off - DB_OFFSET) >> DB_SHIFT;
    ErnicRegBlock block;

    if (off < DB_OFFSET) {
        block = block_at(d, &off);
        ernic_regs_write(d, &block, off, size, value);
    } else if (!is_doorbell(off, value, size) || page >= d->cfg.max_uctx) {
        ernic_guest_bad_write(d, off, size, value);
    } else if (!ernic_pci_verbs_enabled(d) || ernic_pci_verbs_fatal(d)) {
        ernic_guest_not_enabled(d, "doorbell", value);
    } else {
        ernic_pci_doorbell(d, page | (at_record(off) ? AT_RECORD : 0), value);
    }
}

static const MemoryRegionOps bar_ops = {
    .read = bar_read,
    .write = bar_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 1, .max_access_size = 8 },
    .impl = { .min_access_size = 1, .max_access_size = 8 },
};

void ernic_pci_verbs_add_bars(ErnicPci *d)
{
    uint8_t type = PCI_BASE_ADDRESS_SPACE_MEMORY | PCI_BASE_ADDRESS_MEM_TYPE_64;

    memory_region_init_io(&d->bar, OBJECT(d), &bar_ops, d, "ernic-verbs",
                          pow2ceil(regs_size(d) + d->mem_size));
    ernic_pci_mem_start(d, mem_offset(d));
    pci_register_bar(PCI_DEVICE(d), ERNIC_BAR_REGS, type, &d->bar);
    ernic_pci_add_msix_bar(d, type);
}

/* ---- the interface --------------------------------------------------------- */

static bool verbs_check(const ErnicPci *d, Error **errp)
{
    return ernic_pci_pg332_unused(d, errp) && ernic_pci_verbs_ids_ok(d, errp);
}

bool ernic_pci_verbs_ids_ok(const ErnicPci *d, Error **errp)
{
    if (d->mlx5.vendor || d->mlx5.device) {
        error_setg(errp, "pci-%s-id= needs interface=mlx5",
                   d->mlx5.vendor ? "vendor" : "device");
        return false;
    }
    return true;
}

bool ernic_pci_verbs_doorbell_ok(const ErnicPci *d, uint32_t where)
{
    return (where & ~AT_RECORD) < d->cfg.max_uctx;
}

/* The source of a saved state is not trusted. */
bool ernic_pci_verbs_registers_ok(const ErnicPci *d)
{
    const ErnicVerbs *v = &d->verbs;

    return v->error < ERNIC_DEVERR_COUNT &&
           (!v->enabled || (v->ring_shift <= ERNIC_RING_SHIFT_MAX &&
                            v->cmd_pi - v->cmd_ci <= 1u << v->ring_shift));
}

static const ErnicPciInterfaceOps verbs = {
    .name = "verbs",
    .check = verbs_check,
    .add_bars = ernic_pci_verbs_add_bars,
    .run = ernic_pci_verbs_run,
    .page_event = { DB_OFFSET, ERNIC_DB_RECORD, 1u << DB_SHIFT },
    .commands = ernic_pci_verbs_commands,
    .doorbell = ernic_pci_verbs_doorbell,
    .doorbell_ok = ernic_pci_verbs_doorbell_ok,
    .registers_ok = ernic_pci_verbs_registers_ok,
};

ERNIC_PCI_INTERFACE(verbs)
