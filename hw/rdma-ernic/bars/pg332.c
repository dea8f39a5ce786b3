/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The ERNIC interface: the registers of PG332. The interface has its own engine next to
 * that of the verbs interface. Both use the same link; a packet goes to the engine that
 * has its destination address and queue pair.
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/bswap.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "qobject/qdict.h"
#include "qobject/qnum.h"
#include "bars/pg332.h"
#include "bars/qdma/rules.h"
#include "bars/shell_dma.h"
#include "bars/user_logic.h"
#include "bars/xib/xib.h"
#include "device/clock.h"
#include "device/freeing.h"
#include "device/irq.h"
#include "device/link.h"
#include "device/lock.h"
#include "device/registers.h"
#include "device/traffic.h"

/* Frames of MAC control: their EtherType, and bytes up to its end. */
#define CONTROL_TYPE 0x8808
#define CONTROL_LEN  14

static const struct {
    uint32_t window, max_qp;
} versions[PG332_VERSIONS] = {
    [PG332_V3_1] = { PG332_V3_SIZE, PG332_V3_MAX_QP },
    [PG332_V4_0] = { PG332_V4_SIZE, PG332_V4_MAX_QP },
    [PG332_V4_2] = { PG332_V4_SIZE, PG332_V4_MAX_QP },
};

/* ---- registers ------------------------------------------------------------ */

static uint64_t bar_read(void *opaque, hwaddr off, unsigned size)
{
    ErnicPci *d = opaque;
    uint64_t now = ernic_pci_enter(d);
    uint32_t value = ernic_reg_read(d->pg332.engine, now, off);

    ernic_pci_leave(d);
    return value;
}

static void bar_write(void *opaque, hwaddr off, uint64_t value, unsigned size)
{
    ErnicPci *d = opaque;
    uint64_t now = ernic_pci_enter(d);

    ernic_reg_write(d->pg332.engine, now, off, value);
    ernic_pci_leave(d);
    ernic_pci_intx(d);
    ernic_xib_settle(d);
}

/* Registers have 32 bits; QEMU splits a 64-bit access in two. */
static const MemoryRegionOps bar_ops = {
    .read = bar_read,
    .write = bar_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 4, .max_access_size = 8 },
    .impl = { .min_access_size = 4, .max_access_size = 4 },
};

/* ---- work ----------------------------------------------------------------- */

void ernic_pci_pg332_reset(ErnicPci *d, uint64_t now)
{
    if (d->pg332.engine) {
        qatomic_set(&d->pg332.risen, 0);
        ernic_pci_user_logic_reset(d);
        ernic_pci_links_forget(d, ERNIC_PCI_PG332);
        ernic_reset(d->pg332.engine);
        ernic_set_link(d->pg332.engine, now, ernic_pci_link(d));
        ernic_pci_irqs_later(d);        /* lowers INTx */
    }
}

/*
 * Pause frames of a link that does not carry RoCE have no effect; in a shell the
 * registers of the MAC decide, which are stored alone.
 */
bool ernic_pci_pg332_control(ErnicPci *d, const uint8_t *frame, uint32_t len)
{
    uint64_t now;
    bool its;

    if (!d->pg332.engine || d->link != d->card || d->shell.kind || d->shell.port_of ||
        len < CONTROL_LEN || lduw_be_p(frame + 12) != CONTROL_TYPE) {
        return false;
    }
    now = ernic_pci_enter(d);
    its = ernic_control(d->pg332.engine, now, frame, len);
    ernic_pci_leave(d);
    return its;
}

/* ---- strict mode ---------------------------------------------------------- */

static void pg332_violation(void *env, const ErnicReport *r)
{
    ErnicPci *d = env;

    ernic_pci_warn_rule(d, &d->pg332.warned, "ernic %s: rule %s: queue pair %u, %s,"
                        " offset 0x%x, value 0x%" PRIx64 ", at %" PRIu64 " ns: %s",
                        ernic_pci_id(d), r->rule, r->qpn, r->reg, r->offset, r->value,
                        r->time, r->text);
}

static QDict *new_rule(const ErnicReport *r)
{
    QDict *to = qdict_new();

    qdict_put(to, "count", qnum_from_uint(r->count));
    if (r->count) {
        qdict_put_str(to, "register", r->reg);
        qdict_put(to, "queue-pair", qnum_from_uint(r->qpn));
        qdict_put(to, "offset", qnum_from_uint(r->offset));
        qdict_put(to, "value", qnum_from_uint(r->value));
        qdict_put(to, "time", qnum_from_uint(r->time));
    }
    return to;
}

static void get_violations(Object *obj, Visitor *v, const char *name,
                           void *opaque, Error **errp)
{
    g_autoptr(GArray) reports = g_array_new(false, false, sizeof(ErnicReport));
    g_autoptr(QDict) all = qdict_new();
    ErnicPci *d = ERNIC(obj);
    ErnicReport report;
    uint32_t pos = 0, i;

    if (!d->pg332.strict || !ernic_pci_exists(d)) {
        error_setg(errp, "%s: ernic-strict is off", name);
        return;
    }
    ernic_pci_enter(d);
    while (d->pg332.engine && ernic_next_rule(d->pg332.engine, &pos, &report)) {
        g_array_append_val(reports, report);
    }
    ernic_pci_leave(d);
    /* The engine's thread does not wait for this. */
    for (i = 0; i < reports->len; i++) {
        const ErnicReport *r = &g_array_index(reports, ErnicReport, i);

        qdict_put(all, r->rule, new_rule(r));
    }
    ernic_qdma_put_rules(d, all);
    visit_type_any(v, name, &(QObject *) { QOBJECT(all) }, errp);
}

void ernic_pci_pg332_class_init(ObjectClass *oc)
{
    object_class_property_add(oc, "ernic-violations", "struct", get_violations,
                              NULL, NULL, NULL);
    object_class_property_set_description(oc, "ernic-violations",
        "Rules of PG332 and the QDMA, and how often each was broken since a reset");
}

/* ---- the environment of the engine -------------------------------------------- */

static bool pg332_dma_read(void *env, uint64_t addr, void *buf, uint64_t len)
{
    return ernic_pci_shell_dma(env, addr, buf, len, false);
}

static bool pg332_dma_write(void *env, uint64_t addr, const void *buf,
                            uint64_t len)
{
    return ernic_pci_shell_dma(env, addr, (void *)buf, len, true);
}

/* Never called: PG332 has no atomics, and none of its keys permits one. */
static bool pg332_dma_atomic64(void *env, uint64_t addr, ErnicAtomicOp op,
                               uint64_t arg, uint64_t compare, uint64_t *old)
{
    return false;
}

static bool pg332_tx(void *env, const ErnicTrain *train)
{
    ErnicPci *d = env;

    return (ernic_pci_verbs_enabled(d) &&
            ernic_pci_to_engine(d->engine, d->pg332.engine->now, train)) ||
           (!ernic_paused(d->pg332.engine) &&
            ernic_pci_to_link(d, ERNIC_PCI_PG332, train));
}

static uint64_t pg332_tx_departed(void *env)
{
    ErnicPci *d = env;

    return d->link->departed(d, ERNIC_PCI_PG332);
}

static void pg332_irq(void *env, uint16_t interrupt)
{
    ernic_pci_pg332_irq(env, interrupt);
}

static void pg332_wake_at(void *env, uint64_t ns)
{
    ErnicPci *d = env;

    d->pg332.wake = ns;
}

static const ErnicEnvOps env_ops = {
    .dma_read = pg332_dma_read,
    .dma_write = pg332_dma_write,
    .dma_atomic64 = pg332_dma_atomic64,
    .tx = pg332_tx,
    .tx_departed = pg332_tx_departed,
    .irq = pg332_irq,
    .wake_at = pg332_wake_at,
    .violation = pg332_violation,
    .user_logic = ernic_pci_user_logic_has,
    .free_later = ernic_pci_free_later,
    .freeing = ernic_pci_freeing,
};

/* ---- life ----------------------------------------------------------------- */

/* Objects that only the verbs interface uses get size 1: no table may be empty. */
static void configure(ErnicPci *d, unsigned version)
{
    d->pg332.cfg = (ErnicConfig) {
        .max_qp = d->pg332.num_qp + 1, .max_cq = 1, .max_srq = 1, .max_eq = 1,
        .max_mr = 1, .max_pd = 1, .max_uctx = 1,
        .num_vectors = d->cfg.num_vectors, .mtu = d->cfg.mtu,
        .link_speed = d->cfg.link_speed, .udp_sport = d->cfg.udp_sport,
        .no_icrc = d->cfg.no_icrc, .clock = d->cfg.clock,
        .retry_time = ernic_pci_retry_time(d, true),
        .pg332 = 1 + version, .strict = d->pg332.strict,
        .pg332_reads = d->pg332.reads == ERNIC_MAX_RD_ATOMIC ? 0 : d->pg332.reads,
        .user_logic = ernic_pci_user_logic_is(d),
        .timing = d->profile,
        .timing_trace = d->pg332.timing_trace,
    };
}

bool ernic_pci_pg332_unused(const ErnicPci *d, Error **errp)
{
    const char *set = d->pg332.version ? "ernic-version" :
                      d->pg332.num_qp ? "ernic-qps" :
                      d->pg332.reads ? "ernic-reads" :
                      d->pg332.strict ? "ernic-strict" :
                      ernic_pci_user_logic_is(d) ? "user-logic" :
                      d->shell.kind ? "shell" :
                      d->shell.port_of ? "port-of" :
                      d->shell.card_size ? "card-memory" : NULL;

    if (set) {
        error_setg(errp, "%s= needs interface=ernic", set);
    }
    return !set;
}

/* A shell with a QDMA, which has strict mode as well, may have no ERNIC. */
static bool check_absent(const ErnicPci *d, Error **errp)
{
    const char *set = d->pg332.num_qp ? "ernic-qps" :
                      d->pg332.reads ? "ernic-reads" :
                      ernic_pci_user_logic_is(d) ? "user-logic" : NULL;

    if (set) {
        error_setg(errp, "%s= needs ernic-version=", set);
    }
    return !set;
}

bool ernic_pci_pg332_check(const ErnicPci *d, Error **errp)
{
    uint32_t max;

    if (!d->pg332.version) {
        return check_absent(d, errp);
    }
    max = versions[d->pg332.version - 1].max_qp;
    if (d->pg332.num_qp < 2 || d->pg332.num_qp > max) {
        error_setg(errp, "ernic-qps is %u, not 2 to %u", d->pg332.num_qp, max);
        return false;
    }
    if (d->pg332.reads > ERNIC_MAX_RD_ATOMIC) {
        error_setg(errp, "ernic-reads is %u, not 1 to %u", d->pg332.reads,
                   ERNIC_MAX_RD_ATOMIC);
        return false;
    }
    return ernic_pci_user_logic_check(d, errp);
}

void ernic_pci_pg332_open(ErnicPci *d)
{
    unsigned v = d->pg332.version - 1;

    if (!d->pg332.version) {
        return;
    }
    configure(d, v);
    if (!d->shell.kind) {
        pci_config_set_interrupt_pin(PCI_DEVICE(d)->config, 1);
    }
    /* The side stream follows the register window. RecoNIC does not connect it. */
    memory_region_init_io(&d->pg332.bar, OBJECT(d), &bar_ops, d, "ernic-pg332",
                          versions[v].window * (d->shell.kind ? 1 : 2));
}

void ernic_pci_pg332_start(ErnicPci *d)
{
    if (d->pg332.cfg.pg332) {
        d->pg332.engine = ernic_new(&d->pg332.cfg, &env_ops, d);
        ernic_pci_user_logic_open(d);
    }
}

void ernic_pci_pg332_close(ErnicPci *d)
{
    if (d->pg332.engine) {
        ernic_free(d->pg332.engine);
        d->pg332.engine = NULL;
    }
}
