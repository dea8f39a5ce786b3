/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Flow tables: a frame is looked up in the root table. The entry that matches sends it
 * on to other tables or to destinations of the interface, or drops it. Tables consist of
 * groups, and all entries of a group have the same mask. The interface makes the key of a
 * frame, in a format of its own.
 *
 * A table refers only to tables of a higher level, so that no frame is in a loop.
 */
#ifndef ERNIC_STEERING_FLOW_TABLES_H
#define ERNIC_STEERING_FLOW_TABLES_H

#include "base/device.h"

/* Bytes of a key, value or mask. */
#define ERNIC_FLOW_KEY_BYTES    64
/* Destinations of one entry, and destinations that one frame can have. */
#define ERNIC_FLOW_DESTS        4
#define ERNIC_FLOW_RESULTS      16
/* The highest level of a table. Linux has levels for tables that it may never make. */
#define ERNIC_FLOW_LEVEL_MAX    128

typedef struct ErnicFlowTable {
    bool used;
    uint8_t level;
    uint8_t log_size;           /* entries have the indexes 0 to 2^log_size - 1 */
    uint8_t num_groups;         /* derived from the groups, like the list of them */
    uint32_t miss;              /* table for frames without an entry; 0: drop them */
    uint16_t group[ERNIC_FLOW_TABLE_GROUPS];
} ErnicFlowTable;

typedef struct ErnicFlowGroup {
    bool used;
    uint32_t table;
    uint32_t first, last;       /* indexes in the table */
    uint8_t mask[ERNIC_FLOW_KEY_BYTES];
} ErnicFlowGroup;

/*
 * A destination; the interface's own ones have numbers that this file does not look at.
 */
typedef struct ErnicFlowDest {
    bool table;
    uint32_t id;
} ErnicFlowDest;

typedef struct ErnicFlowEntry {
    bool used;
    bool drop;                  /* without destinations */
    uint8_t num_dest;
    uint32_t table, group, index;
    uint32_t tag;               /* that a receiver of the frame gets to know */
    uint32_t counter;           /* 0: none */
    ErnicFlowDest dest[ERNIC_FLOW_DESTS];
    uint8_t value[ERNIC_FLOW_KEY_BYTES];        /* 0 where the mask is 0 */
} ErnicFlowEntry;

typedef struct ErnicFlowCounter {
    bool used;
    uint64_t packets, octets;
} ErnicFlowCounter;

/* Changes of an entry that exists. */
enum {
    ERNIC_FLOW_SET_ACTION = 1,
    ERNIC_FLOW_SET_TAG = 2,
    ERNIC_FLOW_SET_DEST = 4,
    ERNIC_FLOW_SET_COUNTER = 8,
    ERNIC_FLOW_SET_ALL = 15,
};

/* A destination of the interface, and the tag of the entry. */
typedef struct ErnicFlowHit {
    uint32_t id, tag;
} ErnicFlowHit;

/* The destinations of a frame. */
typedef struct ErnicFlowResult {
    uint32_t num;
    bool cut;                   /* more tables or destinations than are allowed */
    ErnicFlowHit dest[ERNIC_FLOW_RESULTS];
} ErnicFlowResult;

/* All tables, groups, entries and counters; index = number, 0 is never used. */
struct ErnicFlowTables {
    uint32_t root;              /* 0: every frame is dropped */
    uint32_t num_entries;
    ErnicFlowTable table[ERNIC_LIM_FLOW_TABLE + 1];
    ErnicFlowGroup group[ERNIC_LIM_FLOW_GROUP + 1];
    ErnicFlowEntry entry[ERNIC_LIM_FLOW_ENTRY + 1];
    ErnicFlowCounter counter[ERNIC_LIM_FLOW_COUNTER + 1];
    /* The entries in use by group, value and index. */
    uint16_t order[ERNIC_LIM_FLOW_ENTRY];
};

/*
 * Commands return an ernic_status: ERNIC_ERR_HANDLE if an object that they name does
 * not exist, ERNIC_ERR_PARAM if a value is out of range, ERNIC_ERR_BUSY if others refer
 * to the object, ERNIC_ERR_STATE if the entry exists or does not, ERNIC_ERR_NO_RESOURCE.
 * They charge the work.
 */
uint8_t ernic_flow_table_create(Ernic *e, const ErnicFlowTable *init, uint32_t *id);
/* The root table may be destroyed; then there is none. */
uint8_t ernic_flow_table_destroy(Ernic *e, uint32_t id);
uint8_t ernic_flow_table_set_miss(Ernic *e, uint32_t id, uint32_t miss);
/* @id 0: no root. */
uint8_t ernic_flow_table_set_root(Ernic *e, uint32_t id);
uint8_t ernic_flow_group_create(Ernic *e, const ErnicFlowGroup *init, uint32_t *id);
uint8_t ernic_flow_group_destroy(Ernic *e, uint32_t table, uint32_t id);
uint8_t ernic_flow_entry_create(Ernic *e, const ErnicFlowEntry *init);
/* Change @what, ERNIC_FLOW_SET_*, of the entry with the table and index of @init. */
uint8_t ernic_flow_entry_modify(Ernic *e, const ErnicFlowEntry *init, uint32_t what);
uint8_t ernic_flow_entry_delete(Ernic *e, uint32_t table, uint32_t index);
uint8_t ernic_flow_counter_create(Ernic *e, uint32_t *id);
uint8_t ernic_flow_counter_destroy(Ernic *e, uint32_t id);

/* Whether an entry has destination @id of the interface. */
bool ernic_flow_tables_use(Ernic *e, uint32_t id);

/*
 * Find the destinations of a frame of @len bytes with @key, each with the tag of its
 * entry, and count the frame in the counters of the entries that match. Charges the
 * work.
 */
void ernic_flow_tables_find(Ernic *e, const uint8_t key[ERNIC_FLOW_KEY_BYTES],
                            uint32_t len, ErnicFlowResult *result);

/* Sort entries and groups, all of which were loaded. */
void ernic_flow_tables_derive(ErnicFlowTables *t);
/*
 * Whether tables, groups and entries fit together, and the order is right. The interface
 * checks destinations of its own.
 */
bool ernic_flow_tables_ok(const ErnicFlowTables *t);

#endif /* ERNIC_STEERING_FLOW_TABLES_H */
