/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The property "statistics": every counter of the device by name, for qom-get in
 * QMP and HMP. The names come from the lists that define the counters, with "_" in
 * place of "-" and blanks.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "engine/timing/timing_count.h"
#include "device/link.h"
#include "device/lock.h"
#include "pci/statistics.h"
#include "bars/qdma/qdma.h"
#include "bars/xib/xib.h"

/* Counters of one engine; all 0 if the engine does not exist. */
typedef struct EngineCounts {
    ErnicStats stats;
    ErnicMem mem;
    ErnicTimingCount timing;
    bool timed;                 /* the timing model is on */
} EngineCounts;

/* Most links of a build. */
#define LINKS   16

/* All counters, copied with the lock held once. */
typedef struct Snapshot {
    EngineCounts engine, pg332;
    void *link[LINKS];          /* owned; those of link @i */
    ErnicEth eth;
    ErnicQdmaStats qdma;        /* all 0 without the QDMA */
    ErnicQdmaPortStats port;    /* of it, that the device is */
    ErnicUserStats user;        /* all 0 without user logic */
    ErnicXibStats xib;          /* all 0 without the AXI DMA */
} Snapshot;

static const ErnicPciCounter engine_counters[] = {
#define X(name) { #name, offsetof(ErnicStats, name) },
    ERNIC_STATS_LIST(X)
#undef X
};

#define MEM(name) { #name, offsetof(ErnicMem, name) }
static const ErnicPciCounter mem_counters[] = {
    MEM(bound), MEM(used), MEM(peak), MEM(refused),
#define X(symbol, name) { #name, offsetof(ErnicMem, kind[ERNIC_MEM_##symbol]) },
    ERNIC_MEM_KINDS(X)
#undef X
};
#undef MEM

#define ETH(name) { #name, offsetof(ErnicEth, name) }
static const ErnicPciCounter eth_counters[] = {
    ETH(tx_packets), ETH(tx_bytes), ETH(tx_errors), ETH(rx_packets),
    ETH(rx_bytes), ETH(rx_no_buffer), ETH(rx_errors),
};
#undef ETH

#define QDMA(name, field) { name, offsetof(ErnicQdmaStats, field) }
static const ErnicPciCounter qdma_counters[] = {
    QDMA("h2c_descriptors", descriptors[ERNIC_QDMA_H2C]),
    QDMA("h2c_bytes", bytes[ERNIC_QDMA_H2C]),
    QDMA("c2h_descriptors", descriptors[ERNIC_QDMA_C2H]),
    QDMA("c2h_bytes", bytes[ERNIC_QDMA_C2H]),
    QDMA("errors", errors),
};
#undef QDMA

#define PORT(name, field) { name, offsetof(ErnicQdmaPortStats, field) }
static const ErnicPciCounter port_counters[] = {
    PORT("h2c_packets", packets[ERNIC_QDMA_H2C]),
    PORT("h2c_packet_bytes", packet_bytes[ERNIC_QDMA_H2C]),
    PORT("h2c_dropped", dropped[ERNIC_QDMA_H2C]),
    PORT("c2h_packets", packets[ERNIC_QDMA_C2H]),
    PORT("c2h_packet_bytes", packet_bytes[ERNIC_QDMA_C2H]),
    PORT("c2h_dropped", dropped[ERNIC_QDMA_C2H]),
};
#undef PORT

#define USER(name) { #name, offsetof(ErnicUserStats, name) }
static const ErnicPciCounter user_counters[] = {
    USER(received), USER(refused), USER(sent),
};
#undef USER
#define XIB(name, field) { name, offsetof(ErnicXibStats, field) }
static const ErnicPciCounter xib_counters[] = {
    XIB("mm2s_packets", packets[XIB_MM2S]), XIB("mm2s_bytes", bytes[XIB_MM2S]),
    XIB("mm2s_dropped", dropped[XIB_MM2S]),
    XIB("s2mm_packets", packets[XIB_S2MM]), XIB("s2mm_bytes", bytes[XIB_S2MM]),
    XIB("s2mm_dropped", dropped[XIB_S2MM]),
    XIB("errors", errors),
};
#undef XIB

#define STAGE(name) { #name, offsetof(ErnicStageCount, name) }
static const ErnicPciCounter stage_counters[] = {
    STAGE(items), STAGE(busy), STAGE(stalled), STAGE(idle), STAGE(waited),
};
#undef STAGE

#define QUEUE(name) { #name, offsetof(ErnicQueueCount, name) }
static const ErnicPciCounter queue_counters[] = {
    QUEUE(size), QUEUE(count), QUEUE(peak), QUEUE(area),
};
#undef QUEUE

#define TIME(name) { #name, offsetof(ErnicTimingCount, name) }
static const ErnicPciCounter time_counters[] = { TIME(since), TIME(now) };
#undef TIME

static const char *const stage_names[] = {
#define X(symbol, name) name,
    ERNIC_TIMING_STAGES(X)
#undef X
};

static const char *const queue_names[] = {
#define X(symbol, name) name,
    ERNIC_TIMING_QUEUES(X)
#undef X
};

static bool visit_counters(Visitor *v, const ErnicPciCounter *c, size_t num,
                           const void *base, Error **errp)
{
    uint64_t value;
    size_t i;

    for (i = 0; i < num; i++) {
        value = *(const uint64_t *)((const uint8_t *)base + c[i].off);
        if (!visit_type_uint64(v, c[i].name, &value, errp)) {
            return false;
        }
    }
    return true;
}

static const char *drop_name(uint32_t i)
{
    return ernic_drop_name(i);
}

static const char *fault_name(uint32_t i)
{
    return ernic_fault_info(i)->name;
}

/* Visits the elements @first to @end - 1 of @value as a structure of counters. */
static bool visit_numbered(Visitor *v, const char *name, uint64_t *value,
                           uint32_t first, uint32_t end,
                           const char *(*name_of)(uint32_t), Error **errp)
{
    bool ok = true;
    uint32_t i;

    if (!visit_start_struct(v, name, NULL, 0, errp)) {
        return false;
    }
    for (i = first; ok && i < end; i++) {
        g_autofree char *spelt = g_strdelimit(g_strdup(name_of(i)), "-", '_');

        ok = visit_type_uint64(v, spelt, &value[i], errp);
    }
    visit_end_struct(v, NULL);
    return ok;
}

/* Visits @num records of @size bytes, each with the counters @c, as a structure. */
static bool visit_records(Visitor *v, const char *name,
                          const char *const *names, size_t num,
                          const ErnicPciCounter *c, size_t num_counters,
                          const void *records, size_t size, Error **errp)
{
    bool ok = true;
    size_t i;

    if (!visit_start_struct(v, name, NULL, 0, errp)) {
        return false;
    }
    for (i = 0; ok && i < num; i++) {
        g_autofree char *spelt = g_strdelimit(g_strdup(names[i]), "- ", '_');

        ok = visit_start_struct(v, spelt, NULL, 0, errp);
        if (ok) {
            ok = visit_counters(v, c, num_counters,
                                (const uint8_t *)records + i * size, errp);
            visit_end_struct(v, NULL);
        }
    }
    visit_end_struct(v, NULL);
    return ok;
}

static bool visit_timing(Visitor *v, const EngineCounts *counts, Error **errp)
{
    const ErnicTimingCount *c = &counts->timing;
    bool ok;

    if (!counts->timed) {
        return true;
    }
    if (!visit_start_struct(v, "timing", NULL, 0, errp)) {
        return false;
    }
    ok = visit_counters(v, time_counters, ARRAY_SIZE(time_counters), c, errp) &&
         visit_records(v, "stages", stage_names, ARRAY_SIZE(stage_names),
                       stage_counters, ARRAY_SIZE(stage_counters), c->stage,
                       sizeof(c->stage[0]), errp) &&
         visit_records(v, "queues", queue_names, ARRAY_SIZE(queue_names),
                       queue_counters, ARRAY_SIZE(queue_counters), c->queue,
                       sizeof(c->queue[0]), errp);
    visit_end_struct(v, NULL);
    return ok;
}

/* A structure of counters. */
static bool visit_part(Visitor *v, const char *name, const ErnicPciCounter *counters,
                       size_t num, const void *stats, Error **errp)
{
    bool ok;

    if (!visit_start_struct(v, name, NULL, 0, errp)) {
        return false;
    }
    ok = visit_counters(v, counters, num, stats, errp);
    visit_end_struct(v, NULL);
    return ok;
}

/* Starts at 1: number 0 means "no drop" and "no fault". */
static bool visit_engine(Visitor *v, EngineCounts *counts, Error **errp)
{
    ErnicStats *stats = &counts->stats;

    return visit_counters(v, engine_counters, ARRAY_SIZE(engine_counters),
                          stats, errp) &&
           visit_numbered(v, "drops", stats->drop, 1, ERNIC_DROP_COUNT,
                          drop_name, errp) &&
           visit_numbered(v, "faults", stats->fault, 1, ERNIC_FAULT_COUNT,
                          fault_name, errp) &&
           visit_part(v, "memory", mem_counters, ARRAY_SIZE(mem_counters),
                   &counts->mem, errp) &&
           visit_timing(v, counts, errp);
}

static bool visit_pg332(Visitor *v, EngineCounts *counts, Error **errp)
{
    bool ok;

    if (!visit_start_struct(v, "pg332", NULL, 0, errp)) {
        return false;
    }
    ok = visit_engine(v, counts, errp);
    visit_end_struct(v, NULL);
    return ok;
}

static bool visit_link(Visitor *v, const ErnicPciLinkCounters *c, uint8_t *stats,
                       Error **errp)
{
    bool ok;

    if (!visit_start_struct(v, c->name, NULL, 0, errp)) {
        return false;
    }
    ok = visit_counters(v, c->counters, c->num, stats, errp) &&
         visit_numbered(v, "drops", (uint64_t *)(stats + c->drops), 0, c->num_drops,
                        c->drop_name, errp);
    visit_end_struct(v, NULL);
    return ok;
}

static bool visit_links(Visitor *v, Snapshot *s, Error **errp)
{
    uint32_t i;

    for (i = 0; i < LINKS; i++) {
        if (s->link[i] &&
            !visit_link(v, ernic_pci_link_at(i)->counters, s->link[i], errp)) {
            return false;
        }
    }
    return true;
}

static bool visit_qdma(Visitor *v, const Snapshot *s, Error **errp)
{
    bool ok;

    if (!visit_start_struct(v, "qdma", NULL, 0, errp)) {
        return false;
    }
    ok = visit_counters(v, qdma_counters, ARRAY_SIZE(qdma_counters), &s->qdma, errp) &&
         visit_counters(v, port_counters, ARRAY_SIZE(port_counters), &s->port, errp);
    visit_end_struct(v, NULL);
    return ok;
}

static void take_links(Snapshot *s, const ErnicPci *d)
{
    const ErnicPciLinkOps *ops;
    const void *stats;
    uint32_t i;

    for (i = 0; i < LINKS && (ops = ernic_pci_link_at(i)); i++) {
        if (ops->counters) {
            s->link[i] = g_malloc0(ops->counters->size);
            stats = ops->counters->get(d);
            if (stats) {
                memcpy(s->link[i], stats, ops->counters->size);
            }
        }
    }
}

static void count_engine(EngineCounts *counts, const Ernic *e, uint64_t now)
{
    if (e) {
        counts->stats = e->stats;
        counts->mem = e->mem;
        counts->timed = ernic_timing_count(e, now, &counts->timing);
    }
}

static void get_statistics(Object *obj, Visitor *v, const char *name,
                           void *opaque, Error **errp)
{
    ErnicPci *d = ERNIC(obj);
    Snapshot s = { };
    uint64_t now;
    uint32_t i;

    if (!ernic_pci_exists(d)) {
        error_setg(errp, "%s: the device is not realized", name);
        return;
    }
    now = ernic_pci_enter(d);
    count_engine(&s.engine, d->engine, now);
    count_engine(&s.pg332, d->pg332.engine, now);
    s.eth = d->net.eth;
    if (d->shell.qdma) {
        s.qdma = d->shell.qdma->stats;
    }
    if (ernic_pci_first(d)->shell.qdma) {
        s.port = ernic_pci_first(d)->shell.qdma->port[d->shell.port_of != NULL].stats;
    }
    s.user = d->pg332.user.stats;
    if (d->shell.xib) {
        s.xib = d->shell.xib->stats;
    }
    take_links(&s, d);
    ernic_pci_leave(d);
    if (visit_start_struct(v, name, NULL, 0, errp)) {
        (void)(visit_engine(v, &s.engine, errp) &&
               visit_pg332(v, &s.pg332, errp) &&
               visit_links(v, &s, errp) &&
               visit_part(v, "eth", eth_counters, ARRAY_SIZE(eth_counters),
                          &s.eth, errp) &&
               visit_qdma(v, &s, errp) &&
               visit_part(v, "user_logic", user_counters, ARRAY_SIZE(user_counters),
                          &s.user, errp) &&
               visit_part(v, "axi_dma", xib_counters, ARRAY_SIZE(xib_counters),
                          &s.xib, errp));
        visit_end_struct(v, NULL);
    }
    for (i = 0; i < LINKS; i++) {
        g_free(s.link[i]);
    }
}

void ernic_pci_stats_class_init(ObjectClass *oc)
{
    object_class_property_add(oc, "statistics", "struct", get_statistics, NULL,
                              NULL, NULL);
    object_class_property_set_description(oc, "statistics",
        "Counters of both engines and the Ethernet interface since the last reset, and"
        " of the links of the host");
}
