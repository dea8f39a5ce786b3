/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Flow tables. Entries are sorted by group and value, so that a group finds the entry
 * of a frame by bisection.
 */
#include "qemu/osdep.h"
#include "base/work.h"
#include "hw/rdma-ernic/ernic_abi.h"
#include "steering/flow_tables.h"
#include "trace.h"

#define LOG_SIZE_MAX    16

QEMU_BUILD_BUG_ON(ERNIC_LIM_FLOW_ENTRY > UINT16_MAX);

/* ---- tables ---------------------------------------------------------------- */

static const ErnicFlowTable *table_get(const ErnicFlowTables *t, uint32_t id)
{
    return id && id <= ERNIC_LIM_FLOW_TABLE && t->table[id].used ? &t->table[id] : NULL;
}

/* Check that @to is a table that one of @level may refer to. Returns an ernic_status. */
static uint8_t check_next(const ErnicFlowTables *t, uint8_t level, uint32_t to)
{
    const ErnicFlowTable *next = table_get(t, to);

    if (!next) {
        return ERNIC_ERR_HANDLE;
    }
    return next->level > level ? ERNIC_OK : ERNIC_ERR_PARAM;
}

uint8_t ernic_flow_table_create(Ernic *e, const ErnicFlowTable *init, uint32_t *id)
{
    ErnicFlowTables *t = e->flow_tables;
    uint8_t status;
    uint32_t i;

    if (init->level > ERNIC_FLOW_LEVEL_MAX || init->log_size > LOG_SIZE_MAX) {
        return ERNIC_ERR_PARAM;
    }
    if (init->miss) {
        status = check_next(t, init->level, init->miss);
        if (status) {
            return status;
        }
    }
    for (i = 1; i <= ERNIC_LIM_FLOW_TABLE && t->table[i].used; i++) {
        continue;
    }
    if (i > ERNIC_LIM_FLOW_TABLE) {
        return ERNIC_ERR_NO_RESOURCE;
    }
    t->table[i] = *init;
    t->table[i].used = true;
    *id = i;
    trace_ernic_flow_table_create(i, init->level, init->log_size, init->miss);
    return ERNIC_OK;
}

/* Whether a group, an entry or another table refers to table @id. */
static bool table_busy(Ernic *e, uint32_t id)
{
    const ErnicFlowTables *t = e->flow_tables;
    uint32_t i, d;

    ernic_charge_objects(e, ERNIC_LIM_FLOW_GROUP + t->num_entries);
    for (i = 1; i <= ERNIC_LIM_FLOW_TABLE; i++) {
        if (t->table[i].used && t->table[i].miss == id) {
            return true;
        }
    }
    for (i = 1; i <= ERNIC_LIM_FLOW_GROUP; i++) {
        if (t->group[i].used && t->group[i].table == id) {
            return true;
        }
    }
    for (i = 0; i < t->num_entries; i++) {
        const ErnicFlowEntry *entry = &t->entry[t->order[i]];

        for (d = 0; d < entry->num_dest; d++) {
            if (entry->dest[d].table && entry->dest[d].id == id) {
                return true;
            }
        }
    }
    return false;
}

uint8_t ernic_flow_table_destroy(Ernic *e, uint32_t id)
{
    ErnicFlowTables *t = e->flow_tables;

    if (!table_get(t, id)) {
        return ERNIC_ERR_HANDLE;
    }
    if (table_busy(e, id)) {
        return ERNIC_ERR_BUSY;
    }
    if (t->root == id) {
        t->root = 0;
    }
    memset(&t->table[id], 0, sizeof(t->table[id]));
    trace_ernic_flow_table_destroy(id);
    return ERNIC_OK;
}

uint8_t ernic_flow_table_set_miss(Ernic *e, uint32_t id, uint32_t miss)
{
    ErnicFlowTables *t = e->flow_tables;
    const ErnicFlowTable *table = table_get(t, id);
    uint8_t status = table ? ERNIC_OK : ERNIC_ERR_HANDLE;

    if (!status && miss) {
        status = check_next(t, table->level, miss);
    }
    if (!status) {
        t->table[id].miss = miss;
    }
    return status;
}

uint8_t ernic_flow_table_set_root(Ernic *e, uint32_t id)
{
    ErnicFlowTables *t = e->flow_tables;

    if (id && !table_get(t, id)) {
        return ERNIC_ERR_HANDLE;
    }
    t->root = id;
    trace_ernic_flow_root(id);
    return ERNIC_OK;
}

/* ---- groups ---------------------------------------------------------------- */

static const ErnicFlowGroup *group_get(const ErnicFlowTables *t, uint32_t table,
                                       uint32_t id)
{
    const ErnicFlowGroup *group = id && id <= ERNIC_LIM_FLOW_GROUP ? &t->group[id] : NULL;

    return group && group->used && group->table == table ? group : NULL;
}

static void group_link(ErnicFlowTables *t, uint32_t id)
{
    ErnicFlowTable *table = &t->table[t->group[id].table];

    table->group[table->num_groups++] = id;
}

static void group_unlink(ErnicFlowTables *t, uint32_t id)
{
    ErnicFlowTable *table = &t->table[t->group[id].table];
    uint32_t i;

    for (i = 0; table->group[i] != id; i++) {
        continue;
    }
    table->group[i] = table->group[--table->num_groups];
}

uint8_t ernic_flow_group_create(Ernic *e, const ErnicFlowGroup *init, uint32_t *id)
{
    ErnicFlowTables *t = e->flow_tables;
    const ErnicFlowTable *table = table_get(t, init->table);
    uint32_t i, num = 0, unused = 0;

    if (!table) {
        return ERNIC_ERR_HANDLE;
    }
    if (init->first > init->last || init->last >> table->log_size) {
        return ERNIC_ERR_PARAM;
    }
    ernic_charge_objects(e, ERNIC_LIM_FLOW_GROUP);
    for (i = ERNIC_LIM_FLOW_GROUP; i; i--) {
        const ErnicFlowGroup *other = &t->group[i];

        if (!other->used) {
            unused = i;
        } else if (other->table == init->table) {
            if (init->first <= other->last && other->first <= init->last) {
                return ERNIC_ERR_PARAM;
            }
            num++;
        }
    }
    if (!unused || num == ERNIC_FLOW_TABLE_GROUPS) {
        return ERNIC_ERR_NO_RESOURCE;
    }
    t->group[unused] = *init;
    t->group[unused].used = true;
    group_link(t, unused);
    *id = unused;
    trace_ernic_flow_group_create(unused, init->table, init->first, init->last);
    return ERNIC_OK;
}

/* ---- the order of entries --------------------------------------------------- */

static int compare(const ErnicFlowEntry *a, uint32_t group, const uint8_t *value,
                   uint32_t index)
{
    int c = a->group != group ? (a->group < group ? -1 : 1) :
            memcmp(a->value, value, sizeof(a->value));

    return c ? c : a->index < index ? -1 : a->index > index;
}

/* The place of the first entry that is not less. */
static uint32_t place_of(const ErnicFlowTables *t, uint32_t group,
                         const uint8_t *value, uint32_t index)
{
    uint32_t low = 0, high = t->num_entries;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (compare(&t->entry[t->order[middle]], group, value, index) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void order_insert(ErnicFlowTables *t, uint32_t id)
{
    const ErnicFlowEntry *entry = &t->entry[id];
    uint32_t at = place_of(t, entry->group, entry->value, entry->index);

    memmove(&t->order[at + 1], &t->order[at],
            (t->num_entries - at) * sizeof(t->order[0]));
    t->order[at] = id;
    t->num_entries++;
}

static void order_remove(ErnicFlowTables *t, uint32_t at)
{
    t->num_entries--;
    memmove(&t->order[at], &t->order[at + 1],
            (t->num_entries - at) * sizeof(t->order[0]));
}

uint8_t ernic_flow_group_destroy(Ernic *e, uint32_t table, uint32_t id)
{
    static const uint8_t none[ERNIC_FLOW_KEY_BYTES];
    ErnicFlowTables *t = e->flow_tables;
    uint32_t at;

    if (!group_get(t, table, id)) {
        return ERNIC_ERR_HANDLE;
    }
    at = place_of(t, id, none, 0);
    if (at < t->num_entries && t->entry[t->order[at]].group == id) {
        return ERNIC_ERR_BUSY;
    }
    group_unlink(t, id);
    memset(&t->group[id], 0, sizeof(t->group[id]));
    trace_ernic_flow_group_destroy(id, table);
    return ERNIC_OK;
}

/* ---- entries ---------------------------------------------------------------- */

static bool counter_exists(const ErnicFlowTables *t, uint32_t id)
{
    return id && id <= ERNIC_LIM_FLOW_COUNTER && t->counter[id].used;
}

/* The action and its parameters; @level is that of the entry's table. */
static uint8_t check_action(const ErnicFlowTables *t, const ErnicFlowEntry *entry,
                            uint8_t level)
{
    uint8_t status;
    uint32_t d;

    if (entry->num_dest > ERNIC_FLOW_DESTS || entry->drop == !!entry->num_dest) {
        return ERNIC_ERR_PARAM;
    }
    if (entry->counter && !counter_exists(t, entry->counter)) {
        return ERNIC_ERR_HANDLE;
    }
    for (d = 0; d < entry->num_dest; d++) {
        status = entry->dest[d].table ? check_next(t, level, entry->dest[d].id) :
                                        ERNIC_OK;
        if (status) {
            return status;
        }
    }
    return ERNIC_OK;
}

/* The place in the order of the entry with @index in @table; num_entries: none. */
static uint32_t entry_find(Ernic *e, uint32_t table, uint32_t index)
{
    const ErnicFlowTables *t = e->flow_tables;
    uint32_t at;

    ernic_charge_objects(e, t->num_entries);
    for (at = 0; at < t->num_entries; at++) {
        const ErnicFlowEntry *entry = &t->entry[t->order[at]];

        if (entry->table == table && entry->index == index) {
            break;
        }
    }
    return at;
}

uint8_t ernic_flow_entry_create(Ernic *e, const ErnicFlowEntry *init)
{
    ErnicFlowTables *t = e->flow_tables;
    const ErnicFlowTable *table = table_get(t, init->table);
    const ErnicFlowGroup *group = group_get(t, init->table, init->group);
    uint8_t status;
    uint32_t id, i;

    if (!table || !group) {
        return ERNIC_ERR_HANDLE;
    }
    if (init->index < group->first || init->index > group->last) {
        return ERNIC_ERR_PARAM;
    }
    status = check_action(t, init, table->level);
    if (status) {
        return status;
    }
    if (entry_find(e, init->table, init->index) < t->num_entries) {
        return ERNIC_ERR_STATE;
    }
    for (id = 1; id <= ERNIC_LIM_FLOW_ENTRY && t->entry[id].used; id++) {
        continue;
    }
    ernic_charge_objects(e, id);
    if (id > ERNIC_LIM_FLOW_ENTRY) {
        return ERNIC_ERR_NO_RESOURCE;
    }
    t->entry[id] = *init;
    t->entry[id].used = true;
    for (i = 0; i < ERNIC_FLOW_KEY_BYTES; i++) {
        t->entry[id].value[i] &= group->mask[i];
    }
    order_insert(t, id);
    trace_ernic_flow_entry_create(init->table, init->group, init->index,
                                  init->num_dest);
    return ERNIC_OK;
}

uint8_t ernic_flow_entry_modify(Ernic *e, const ErnicFlowEntry *init, uint32_t what)
{
    ErnicFlowTables *t = e->flow_tables;
    const ErnicFlowTable *table = table_get(t, init->table);
    uint32_t at = entry_find(e, init->table, init->index);
    ErnicFlowEntry next;
    uint8_t status;

    if (!table) {
        return ERNIC_ERR_HANDLE;
    }
    if (at == t->num_entries) {
        return ERNIC_ERR_STATE;
    }
    next = t->entry[t->order[at]];
    if (init->group != next.group || (what & ~ERNIC_FLOW_SET_ALL)) {
        return ERNIC_ERR_PARAM;
    }
    if (what & ERNIC_FLOW_SET_ACTION) {
        next.drop = init->drop;
    }
    if (what & ERNIC_FLOW_SET_TAG) {
        next.tag = init->tag;
    }
    if (what & ERNIC_FLOW_SET_DEST) {
        next.num_dest = init->num_dest;
        memcpy(next.dest, init->dest, sizeof(next.dest));
    }
    if (what & ERNIC_FLOW_SET_COUNTER) {
        next.counter = init->counter;
    }
    status = check_action(t, &next, table->level);
    if (!status) {
        t->entry[t->order[at]] = next;
    }
    return status;
}

uint8_t ernic_flow_entry_delete(Ernic *e, uint32_t table, uint32_t index)
{
    ErnicFlowTables *t = e->flow_tables;
    uint32_t at = entry_find(e, table, index), id;

    if (!table_get(t, table)) {
        return ERNIC_ERR_HANDLE;
    }
    if (at == t->num_entries) {
        return ERNIC_ERR_STATE;
    }
    id = t->order[at];
    order_remove(t, at);
    memset(&t->entry[id], 0, sizeof(t->entry[id]));
    trace_ernic_flow_entry_delete(table, index);
    return ERNIC_OK;
}

bool ernic_flow_tables_use(Ernic *e, uint32_t id)
{
    const ErnicFlowTables *t = e->flow_tables;
    uint32_t i, d;

    ernic_charge_objects(e, t->num_entries);
    for (i = 0; i < t->num_entries; i++) {
        const ErnicFlowEntry *entry = &t->entry[t->order[i]];

        for (d = 0; d < entry->num_dest; d++) {
            if (!entry->dest[d].table && entry->dest[d].id == id) {
                return true;
            }
        }
    }
    return false;
}

/* ---- counters --------------------------------------------------------------- */

uint8_t ernic_flow_counter_create(Ernic *e, uint32_t *id)
{
    ErnicFlowTables *t = e->flow_tables;
    uint32_t i;

    ernic_charge_walk(e, ERNIC_LIM_FLOW_COUNTER);
    for (i = 1; i <= ERNIC_LIM_FLOW_COUNTER && t->counter[i].used; i++) {
        continue;
    }
    if (i > ERNIC_LIM_FLOW_COUNTER) {
        return ERNIC_ERR_NO_RESOURCE;
    }
    t->counter[i] = (ErnicFlowCounter) { .used = true };
    *id = i;
    return ERNIC_OK;
}

uint8_t ernic_flow_counter_destroy(Ernic *e, uint32_t id)
{
    ErnicFlowTables *t = e->flow_tables;
    uint32_t i;

    if (!counter_exists(t, id)) {
        return ERNIC_ERR_HANDLE;
    }
    ernic_charge_objects(e, t->num_entries);
    for (i = 0; i < t->num_entries; i++) {
        if (t->entry[t->order[i]].counter == id) {
            return ERNIC_ERR_BUSY;
        }
    }
    memset(&t->counter[id], 0, sizeof(t->counter[id]));
    return ERNIC_OK;
}

/* ---- frames ----------------------------------------------------------------- */

/* The entry of @group for @key; NULL: none. */
static const ErnicFlowEntry *group_find(const ErnicFlowTables *t, uint32_t group,
                                        const uint8_t *key)
{
    uint8_t value[ERNIC_FLOW_KEY_BYTES];
    const ErnicFlowEntry *entry;
    uint32_t i, at;

    for (i = 0; i < sizeof(value); i++) {
        value[i] = key[i] & t->group[group].mask[i];
    }
    at = place_of(t, group, value, 0);
    if (at == t->num_entries) {
        return NULL;
    }
    entry = &t->entry[t->order[at]];
    return entry->group == group && !memcmp(entry->value, value, sizeof(value)) ?
           entry : NULL;
}

/* The entry with the lowest index, of those of the groups for @key. */
static const ErnicFlowEntry *table_find(Ernic *e, uint32_t id, const uint8_t *key)
{
    const ErnicFlowTables *t = e->flow_tables;
    const ErnicFlowTable *table = &t->table[id];
    const ErnicFlowEntry *best = NULL, *entry;
    uint32_t i, steps = g_bit_storage(t->num_entries);

    /* Each group, and each step of its bisection. */
    ernic_charge_objects(e, table->num_groups * (1 + steps));
    for (i = 0; i < table->num_groups; i++) {
        entry = group_find(t, table->group[i], key);
        best = entry && (!best || entry->index < best->index) ? entry : best;
    }
    return best;
}

/* Tables that are still to be visited. */
typedef struct Pending {
    uint32_t num, seen;         /* seen: all that were ever added */
    uint32_t table[ERNIC_FLOW_STEPS];
} Pending;

static void visit(Pending *p, uint32_t table, ErnicFlowResult *result)
{
    if (p->seen == ERNIC_FLOW_STEPS) {
        result->cut = true;
        return;
    }
    p->seen++;
    p->table[p->num++] = table;
}

static void follow(Pending *p, const ErnicFlowEntry *entry, ErnicFlowResult *result)
{
    uint32_t d;

    for (d = 0; d < entry->num_dest; d++) {
        if (entry->dest[d].table) {
            visit(p, entry->dest[d].id, result);
        } else if (result->num == ERNIC_FLOW_RESULTS) {
            result->cut = true;
        } else {
            result->dest[result->num].id = entry->dest[d].id;
            result->dest[result->num++].tag = entry->tag;
        }
    }
}

void ernic_flow_tables_find(Ernic *e, const uint8_t key[ERNIC_FLOW_KEY_BYTES],
                            uint32_t len, ErnicFlowResult *result)
{
    ErnicFlowTables *t = e->flow_tables;
    Pending p = { };

    memset(result, 0, sizeof(*result));
    if (t->root) {
        visit(&p, t->root, result);
    }
    while (p.num) {
        uint32_t table = p.table[--p.num];
        const ErnicFlowEntry *entry = table_find(e, table, key);

        if (!entry) {
            if (t->table[table].miss) {
                visit(&p, t->table[table].miss, result);
            }
            continue;
        }
        if (entry->counter) {
            t->counter[entry->counter].packets++;
            t->counter[entry->counter].octets += len;
        }
        follow(&p, entry, result);
    }
}

/* ---- saved state ------------------------------------------------------------- */

void ernic_flow_tables_derive(ErnicFlowTables *t)
{
    uint32_t i;

    for (i = 1; i <= ERNIC_LIM_FLOW_TABLE; i++) {
        t->table[i].num_groups = 0;
    }
    for (i = 1; i <= ERNIC_LIM_FLOW_GROUP; i++) {
        const ErnicFlowTable *table = table_get(t, t->group[i].table);

        /* ernic_flow_tables_ok() refuses the others. */
        if (t->group[i].used && table && table->num_groups < ERNIC_FLOW_TABLE_GROUPS) {
            group_link(t, i);
        }
    }
    t->num_entries = 0;
    for (i = 1; i <= ERNIC_LIM_FLOW_ENTRY; i++) {
        if (t->entry[i].used) {
            order_insert(t, i);
        }
    }
}

static bool table_fits(const ErnicFlowTables *t, uint32_t id)
{
    const ErnicFlowTable *table = &t->table[id];

    return table->level <= ERNIC_FLOW_LEVEL_MAX && table->log_size <= LOG_SIZE_MAX &&
           (!table->miss || check_next(t, table->level, table->miss) == ERNIC_OK);
}

/* Table @id lists its groups, each of them once. */
static bool groups_listed(const ErnicFlowTables *t, uint32_t id)
{
    const ErnicFlowTable *table = &t->table[id];
    bool listed[ERNIC_LIM_FLOW_GROUP + 1] = { };
    uint32_t i, group;

    if (table->num_groups > ERNIC_FLOW_TABLE_GROUPS) {
        return false;
    }
    for (i = 0; i < table->num_groups; i++) {
        group = table->group[i];
        if (group > ERNIC_LIM_FLOW_GROUP || listed[group]) {
            return false;
        }
        listed[group] = true;
    }
    for (i = 0; i <= ERNIC_LIM_FLOW_GROUP; i++) {
        if (listed[i] != !!group_get(t, id, i)) {
            return false;
        }
    }
    return true;
}

static bool group_fits(const ErnicFlowTables *t, uint32_t id)
{
    const ErnicFlowGroup *group = &t->group[id], *other;
    const ErnicFlowTable *table = table_get(t, group->table);
    uint32_t i, num = 0;

    if (!table || group->first > group->last || group->last >> table->log_size) {
        return false;
    }
    for (i = 1; i <= ERNIC_LIM_FLOW_GROUP; i++) {
        other = &t->group[i];
        if (other->used && other->table == group->table) {
            num++;
            if (i != id && group->first <= other->last && other->first <= group->last) {
                return false;
            }
        }
    }
    return num <= ERNIC_FLOW_TABLE_GROUPS;
}

static bool entry_fits(const ErnicFlowTables *t, const ErnicFlowEntry *entry)
{
    const ErnicFlowTable *table = table_get(t, entry->table);
    const ErnicFlowGroup *group = group_get(t, entry->table, entry->group);
    uint32_t i;

    if (!table || !group || entry->index < group->first || entry->index > group->last ||
        check_action(t, entry, table->level)) {
        return false;
    }
    for (i = 0; i < ERNIC_FLOW_KEY_BYTES; i++) {
        if (entry->value[i] & ~group->mask[i]) {
            return false;
        }
    }
    return true;
}

static int compare_places(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

/* No two entries have the same index in one table. */
static bool places_differ(const ErnicFlowTables *t)
{
    g_autofree uint32_t *place = g_new(uint32_t, ERNIC_LIM_FLOW_ENTRY);
    uint32_t n = 0, i;

    for (i = 1; i <= ERNIC_LIM_FLOW_ENTRY; i++) {
        if (t->entry[i].used) {
            place[n++] = t->entry[i].table << LOG_SIZE_MAX | t->entry[i].index;
        }
    }
    qsort(place, n, sizeof(*place), compare_places);
    for (i = 1; i < n; i++) {
        if (place[i] == place[i - 1]) {
            return false;
        }
    }
    return n == t->num_entries;
}

/* Each entry of the order is before the next one. */
static bool order_fits(const ErnicFlowTables *t)
{
    uint32_t at;

    for (at = 1; at < t->num_entries; at++) {
        const ErnicFlowEntry *entry = &t->entry[t->order[at]];

        if (compare(&t->entry[t->order[at - 1]], entry->group, entry->value,
                    entry->index) >= 0) {
            return false;
        }
    }
    return true;
}

bool ernic_flow_tables_ok(const ErnicFlowTables *t)
{
    uint32_t i;

    if (t->root && !table_get(t, t->root)) {
        return false;
    }
    for (i = 1; i <= ERNIC_LIM_FLOW_TABLE; i++) {
        if (t->table[i].used && (!table_fits(t, i) || !groups_listed(t, i))) {
            return false;
        }
    }
    for (i = 1; i <= ERNIC_LIM_FLOW_GROUP; i++) {
        if (t->group[i].used && !group_fits(t, i)) {
            return false;
        }
    }
    for (i = 1; i <= ERNIC_LIM_FLOW_ENTRY; i++) {
        if (t->entry[i].used && !entry_fits(t, &t->entry[i])) {
            return false;
        }
    }
    return places_differ(t) && order_fits(t);
}
