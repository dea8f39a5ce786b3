/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The ERNIC face: the registers of PG332. The face has its own engine next to that
 * of the verbs face. Both use the same link; a packet goes to the engine that has
 * its destination address and queue pair.
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/main-loop.h"
#include "qapi/error.h"
#include "hw/pci/msix.h"
#include "qapi/visitor.h"
#include "qemu/error-report.h"
#include "links/host_link.h"
#include "device/device.h"
#include "pci/env.h"
#include "device/life.h"
#include "pci/timing.h"
#include "hw/rdma-ernic/trace.h"

#define DEFAULT_QPS 32
/* Limit of warnings of violations; a reset by the guest does not renew it. */
#define MAX_WARNINGS 1000

static const char *const strict_modes[ERNIC_STRICT_MODES] = {
    [ERNIC_STRICT_OFF] = "off",
    [ERNIC_STRICT_REPORT] = "report",
    [ERNIC_STRICT_ENFORCE] = "enforce",
};

static const struct {
    const char *name;
    uint32_t window, max_qp;
} versions[PG332_VERSIONS] = {
    [PG332_V3_1] = { "3.1", PG332_V3_SIZE, PG332_V3_MAX_QP },
    [PG332_V4_0] = { "4.0", PG332_V4_SIZE, PG332_V4_MAX_QP },
    [PG332_V4_2] = { "4.2", PG332_V4_SIZE, PG332_V4_MAX_QP },
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
    ernic_pci_pg332_intx(d);
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

void ernic_pci_pg332_run(ErnicPci *d, uint64_t now)
{
    if (d->pg332.engine) {
        ernic_run(d->pg332.engine, now);
    }
}

void ernic_pci_pg332_link(ErnicPci *d, uint64_t now)
{
    if (d->pg332.engine) {
        ernic_set_link(d->pg332.engine, now, ernic_pci_link(d));
    }
}

void ernic_pci_pg332_reset(ErnicPci *d, uint64_t now)
{
    if (d->pg332.engine) {
        qatomic_set(&d->pg332.risen, 0);
        ernic_pci_host_forget(d, ERNIC_PCI_PG332);
        ernic_reset(d->pg332.engine);
        ernic_pci_pg332_link(d, now);
        ernic_pci_irqs_later(d);        /* lowers INTx */
    }
}

/* ---- interrupt ------------------------------------------------------------ */

/* RecoNIC's function has no INTx. A function in D3hot asserts no interrupt. */
void ernic_pci_pg332_intx(ErnicPci *d)
{
    PCIDevice *pci = PCI_DEVICE(d);
    bool level;

    if (!d->pg332.engine || ernic_pci_gone(d) ||
        !pci_get_byte(pci->config + PCI_INTERRUPT_PIN)) {
        return;
    }
    ernic_pci_lock(d);                  /* ernic_pci_leave() would recurse */
    level = ernic_irq_level(d->pg332.engine);
    ernic_pci_unlock(d);
    pci_set_irq(pci, level && !msix_enabled(pci) && ernic_pci_powered(d));
}

/* ---- strict mode ---------------------------------------------------------- */

void ernic_pci_pg332_warn(ErnicPci *d, const ErnicReport *r)
{
    if (d->pg332.warned == MAX_WARNINGS) {
        return;
    }
    d->pg332.warned++;
    warn_report("ernic %s: rule %s: queue pair %u, %s, offset 0x%x,"
                " value 0x%" PRIx64 ", at %" PRIu64 " ns: %s",
                ernic_pci_id(d), r->rule, r->qpn, r->reg, r->offset, r->value,
                r->time, r->text);
    if (d->pg332.warned == MAX_WARNINGS) {
        warn_report("ernic %s: no more warnings of rules", ernic_pci_id(d));
    }
}

static bool visit_last(Visitor *v, ErnicReport *r, Error **errp)
{
    char *reg = r->reg;

    return visit_type_str(v, "register", &reg, errp) &&
           visit_type_uint32(v, "queue-pair", &r->qpn, errp) &&
           visit_type_uint32(v, "offset", &r->offset, errp) &&
           visit_type_uint64(v, "value", &r->value, errp) &&
           visit_type_uint64(v, "time", &r->time, errp);
}

static bool visit_rule(Visitor *v, ErnicReport *r, Error **errp)
{
    bool ok;

    if (!visit_start_struct(v, r->rule, NULL, 0, errp)) {
        return false;
    }
    ok = visit_type_uint64(v, "count", &r->count, errp) &&
         (!r->count || visit_last(v, r, errp));
    visit_end_struct(v, NULL);
    return ok;
}

static void get_violations(Object *obj, Visitor *v, const char *name,
                           void *opaque, Error **errp)
{
    g_autofree ErnicReport *reports = NULL;
    ErnicPci *d = ERNIC(obj);
    uint32_t pos = 0, num = 0, i;

    if (!d->pg332.engine || !d->pg332.cfg.strict || !ernic_pci_exists(d)) {
        error_setg(errp, "%s: ernic-strict is off", name);
        return;
    }
    ernic_pci_enter(d);
    do {
        reports = g_renew(ErnicReport, reports, num + 1);
    } while (ernic_next_rule(d->pg332.engine, &pos, &reports[num]) && ++num);
    ernic_pci_leave(d);
    if (!visit_start_struct(v, name, NULL, 0, errp)) {
        return;
    }
    for (i = 0; i < num && visit_rule(v, &reports[i], errp); i++) {
    }
    visit_end_struct(v, NULL);
}

void ernic_pci_pg332_class_init(ObjectClass *oc)
{
    object_class_property_add(oc, "ernic-violations", "struct", get_violations,
                              NULL, NULL, NULL);
    object_class_property_set_description(oc, "ernic-violations",
        "Rules of PG332 and how often each was broken since the last reset");
}

/* ---- life ----------------------------------------------------------------- */

/* Objects that only the verbs face uses get size 1: no table may be empty. */
static void configure(ErnicPci *d, unsigned version, unsigned strict)
{
    d->pg332.cfg = (ErnicConfig) {
        .max_qp = d->pg332.num_qp + 1, .max_cq = 1, .max_srq = 1, .max_eq = 1,
        .max_mr = 1, .max_pd = 1, .max_uctx = 1,
        .num_vectors = d->cfg.num_vectors, .mtu = d->cfg.mtu,
        .link_speed = d->cfg.link_speed, .udp_sport = d->cfg.udp_sport,
        .no_icrc = d->cfg.no_icrc, .clock = d->cfg.clock,
        .retry_time = ernic_pci_retry_time(d, true),
        .pg332 = 1 + version, .strict = strict,
        .pg332_reads = d->pg332.reads == ERNIC_MAX_RD_ATOMIC ? 0 : d->pg332.reads,
        .timing = d->profile,
        .timing_trace = ernic_pci_timing_pg332_trace(d),
    };
}

/* Without ernic-version, refuses the properties that need it. */
static bool needs_no_version(const ErnicPci *d, Error **errp)
{
    if (d->pg332.num_qp || d->pg332.strict || d->pg332.reads) {
        error_setg(errp, "ernic-%s= needs ernic-version=", d->pg332.num_qp ? "qps" :
                   d->pg332.strict ? "strict" : "reads");
        return false;
    }
    return true;
}

static bool parse_strict(const ErnicPci *d, unsigned *mode, Error **errp)
{
    const char *name = d->pg332.strict ?: strict_modes[ERNIC_STRICT_OFF];

    for (*mode = 0; *mode < ERNIC_STRICT_MODES; ++*mode) {
        if (g_str_equal(name, strict_modes[*mode])) {
            return true;
        }
    }
    error_setg(errp, "ernic-strict is %s, not off, report or enforce", name);
    return false;
}

bool ernic_pci_pg332_open(ErnicPci *d, Error **errp)
{
    unsigned v = 0, strict;

    if (!d->pg332.version) {
        return needs_no_version(d, errp);
    }
    d->pg332.num_qp = d->pg332.num_qp ?: DEFAULT_QPS;
    while (v < PG332_VERSIONS && strcmp(d->pg332.version, versions[v].name)) {
        v++;
    }
    if (v == PG332_VERSIONS) {
        error_setg(errp, "ernic-version is %s, not 3.1, 4.0 or 4.2",
                   d->pg332.version);
        return false;
    }
    if (d->pg332.num_qp < 2 || d->pg332.num_qp > versions[v].max_qp) {
        error_setg(errp, "ernic-qps is %u, not 2 to %u", d->pg332.num_qp,
                   versions[v].max_qp);
        return false;
    }
    if (d->pg332.reads > ERNIC_MAX_RD_ATOMIC) {
        error_setg(errp, "ernic-reads is %u, not 1 to %u", d->pg332.reads,
                   ERNIC_MAX_RD_ATOMIC);
        return false;
    }
    if (!parse_strict(d, &strict, errp)) {
        return false;
    }
    configure(d, v, strict);
    if (!d->shell.reconic) {
        pci_config_set_interrupt_pin(PCI_DEVICE(d)->config, 1);
    }
    /* The side stream follows the register window. RecoNIC does not connect it. */
    memory_region_init_io(&d->pg332.bar, OBJECT(d), &bar_ops, d, "ernic-pg332",
                          versions[v].window * (d->shell.reconic ? 1 : 2));
    return true;
}

void ernic_pci_pg332_start(ErnicPci *d)
{
    if (d->pg332.version) {
        d->pg332.engine = ernic_new(&d->pg332.cfg, &ernic_pci_pg332_env_ops, d);
    }
}

void ernic_pci_pg332_close(ErnicPci *d)
{
    if (d->pg332.engine) {
        ernic_pci_life_free(d->pg332.engine);
        d->pg332.engine = NULL;
    }
}
