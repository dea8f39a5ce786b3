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
#include "qobject/qdict.h"
#include "qobject/qnum.h"
#include "engine/timing/timing_count.h"
#include "device/link.h"
#include "device/lock.h"
#include "pci/statistics.h"
#include "bars/qdma/qdma.h"
#include "bars/xib/xib.h"

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

/* Adds counters of the structure @base; NULL: it does not exist, all are 0. */
static void put_counters(QDict *to, const ErnicPciCounter *c, size_t num,
                         const void *base)
{
    size_t i;

    for (i = 0; i < num; i++) {
        qdict_put(to, c[i].name, qnum_from_uint(
            base ? *(const uint64_t *)((const uint8_t *)base + c[i].off) : 0));
    }
}

static QDict *new_counters(const ErnicPciCounter *c, size_t num, const void *base)
{
    QDict *to = qdict_new();

    put_counters(to, c, num, base);
    return to;
}

static const char *drop_name(uint32_t i)
{
    return ernic_drop_name(i);
}

static const char *fault_name(uint32_t i)
{
    return ernic_fault_info(i)->name;
}

/* Elements @first to @end - 1 of @value; NULL: all are 0. */
static QDict *new_numbered(const uint64_t *value, uint32_t first, uint32_t end,
                           const char *(*name_of)(uint32_t))
{
    QDict *to = qdict_new();
    uint32_t i;

    for (i = first; i < end; i++) {
        g_autofree char *spelt = g_strdelimit(g_strdup(name_of(i)), "-", '_');

        qdict_put(to, spelt, qnum_from_uint(value ? value[i] : 0));
    }
    return to;
}

/* @num records of @size bytes, each with the counters @c. */
static QDict *new_records(const char *const *names, size_t num, const ErnicPciCounter *c,
                          size_t num_counters, const void *records, size_t size)
{
    QDict *to = qdict_new();
    size_t i;

    for (i = 0; i < num; i++) {
        g_autofree char *spelt = g_strdelimit(g_strdup(names[i]), "- ", '_');

        qdict_put(to, spelt, new_counters(c, num_counters,
                                          (const uint8_t *)records + i * size));
    }
    return to;
}

/* A table as two arguments: its address and its length. */
#define ALL(table) table, ARRAY_SIZE(table)

static QDict *new_timing(const ErnicTimingCount *c)
{
    QDict *to = new_counters(ALL(time_counters), c);

    qdict_put(to, "stages", new_records(ALL(stage_names), ALL(stage_counters), c->stage,
                                        sizeof(c->stage[0])));
    qdict_put(to, "queues", new_records(ALL(queue_names), ALL(queue_counters), c->queue,
                                        sizeof(c->queue[0])));
    return to;
}

/* Counters of an engine, copied with the lock held, for which its thread waits. */
typedef struct EngineCounts {
    ErnicStats stats;           /* all 0: there is no engine */
    ErnicMem mem;
    bool timed;
    ErnicTimingCount timing;
} EngineCounts;

static void count_engine(EngineCounts *to, const Ernic *e, uint64_t now)
{
    if (e) {
        to->stats = e->stats;
        to->mem = e->mem;
        to->timed = ernic_timing_count(e, now, &to->timing);
    }
}

/* Numbers 0 mean "no drop" and "no fault". */
static QDict *new_engine(const EngineCounts *c)
{
    QDict *to = new_counters(ALL(engine_counters), &c->stats);

    qdict_put(to, "drops", new_numbered(c->stats.drop, 1, ERNIC_DROP_COUNT, drop_name));
    qdict_put(to, "faults", new_numbered(c->stats.fault, 1, ERNIC_FAULT_COUNT,
                                         fault_name));
    qdict_put(to, "memory", new_counters(ALL(mem_counters), &c->mem));
    if (c->timed) {
        qdict_put(to, "timing", new_timing(&c->timing));
    }
    return to;
}

/* The structures of all links that have counters; NULL for one that is not used. */
static GPtrArray *count_links(const ErnicPci *d)
{
    GPtrArray *all = g_ptr_array_new_with_free_func(g_free);
    const ErnicPciLinkOps *ops;

    for (uint32_t i = 0; (ops = ernic_pci_link_at(i)); i++) {
        if (ops->counters) {
            g_ptr_array_add(all, g_memdup2(ops->counters->get(d), ops->counters->size));
        }
    }
    return all;
}

static void put_links(QDict *to, const GPtrArray *counts)
{
    const ErnicPciLinkOps *ops;
    uint32_t n = 0;

    for (uint32_t i = 0; (ops = ernic_pci_link_at(i)); i++) {
        const ErnicPciLinkCounters *c = ops->counters;

        if (c) {
            const uint8_t *stats = counts->pdata[n++];
            QDict *link = new_counters(c->counters, c->num, stats);

            qdict_put(link, "drops",
                      new_numbered(stats ? (const uint64_t *)(stats + c->drops) : NULL, 0,
                                   c->num_drops, c->drop_name));
            qdict_put(to, c->name, link);
        }
    }
}

static QDict *new_qdma(const ErnicPci *d)
{
    const ErnicQdma *own = d->shell.qdma, *card = ernic_pci_first(d)->shell.qdma;
    QDict *to = new_counters(ALL(qdma_counters), own ? &own->stats : NULL);

    put_counters(to, ALL(port_counters),
                 card ? &card->port[d->shell.port_of != NULL].stats : NULL);
    return to;
}

static void get_statistics(Object *obj, Visitor *v, const char *name,
                           void *opaque, Error **errp)
{
    g_autoptr(GPtrArray) links = NULL;
    g_autoptr(QDict) all = NULL;
    ErnicPci *d = ERNIC(obj);
    EngineCounts engine = { }, pg332 = { };
    ErnicUserStats user;
    ErnicEth eth;
    uint64_t now;

    if (!ernic_pci_exists(d)) {
        error_setg(errp, "%s: the device is not realized", name);
        return;
    }
    now = ernic_pci_enter(d);
    count_engine(&engine, d->engine, now);
    count_engine(&pg332, d->pg332.engine, now);
    links = count_links(d);
    eth = d->net.eth;
    user = d->pg332.user.stats;
    ernic_pci_leave(d);
    all = new_engine(&engine);
    qdict_put(all, "pg332", new_engine(&pg332));
    put_links(all, links);
    qdict_put(all, "eth", new_counters(ALL(eth_counters), &eth));
    qdict_put(all, "qdma", new_qdma(d));
    qdict_put(all, "user_logic", new_counters(ALL(user_counters), &user));
    qdict_put(all, "axi_dma", new_counters(ALL(xib_counters),
                                           d->shell.xib ? &d->shell.xib->stats : NULL));
    visit_type_any(v, name, &(QObject *) { QOBJECT(all) }, errp);
}

void ernic_pci_stats_class_init(ObjectClass *oc)
{
    object_class_property_add(oc, "statistics", "struct", get_statistics, NULL,
                              NULL, NULL);
    object_class_property_set_description(oc, "statistics",
        "Counters of both engines and the Ethernet interface since the last reset, and"
        " of the links of the host");
}
