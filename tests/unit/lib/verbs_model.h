/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Objects of the verbs interface that are made and destroyed in any order, in the names
 * of contexts that own them or not; and a model of who needs whom, which says whether a
 * command succeeds: none with a missing object, and a destroy if and only if nobody needs
 * the object. Commands take many slices, between which the caller goes on.
 */
#ifndef TESTS_UNIT_VERBS_MODEL_H
#define TESTS_UNIT_VERBS_MODEL_H

#include "fake_verbs.h"
#include "interfaces/common/db_pages.h"

enum { THINGS = 128, NEEDS = 20, DEPTH = 16, SEND_SLOT = 128, RECV_SLOT = 64 };
/* Of each thing: two rings, each a page and a list of pages of one or two levels. */
enum { PAGE = 4096, LEAF = 512, LISTS = 4 * PAGE, LONG = 1 << 18, DATA = 1 << 20 };

typedef enum Kind {
    UCTXS, PDS, EQS, CQS, SRQS, MRS, MWS, QPS, RSSES, FLOWS, COUNTERS, KINDS
} Kind;

typedef struct Ref {
    Kind kind;
    uint32_t number;
} Ref;

/* An object that exists, as software knows it. */
typedef struct Thing {
    bool used;
    Ref ref;
    uint32_t uctx;
    Ref need[NEEDS];            /* these cannot go before it */
    uint32_t needs;
    Ref target;                 /* a flow ends with it */
    uint8_t type;               /* enum ernic_qp_type */
    uint8_t ring;               /* CQ: which of its rings is in use */
    uint32_t posted[2];         /* requests: sent, received */
    uint32_t seen;              /* entries that were looked at */
} Thing;

typedef struct Model Model;
struct Model {
    FakeEnv env;
    Ernic *e;
    GRand *rand;
    Thing thing[THINGS];
    bool timed;
    uint64_t lists, records, data, scratch;
    uint64_t memory;            /* of an engine without objects */
    uint8_t event[ERNIC_DB_PAGES];      /* of so many engines */
    GQueue freed;               /* memory that waits for its thread */
    uint32_t keys[256];         /* the last key of each number */
    uint32_t made[KINDS], gone[KINDS], busy[KINDS];
    uint32_t slices;
    uint64_t faults, packets, completions, events;
    void (*meanwhile)(Model *m);        /* between the slices of a command */
};

typedef union PlanData {
    struct ernic_qp_init qp;
    struct ernic_qp_attr attr;
    struct ernic_rss rss;
    struct ernic_flow_rule flow;
} PlanData;

/* A command that makes or changes @thing. */
typedef struct Plan {
    struct ernic_cmd cmd;
    PlanData data;
    uint32_t len;               /* of the data */
    uint32_t slot;
    Thing thing;
    bool missing;               /* it names an object that does not exist */
} Plan;

typedef struct VmKind {
    const char *name;
    uint8_t destroy;            /* the command */
    void (*make)(Model *m, Plan *p);
    uint32_t weight, most;      /* how often, and how many */
} VmKind;

extern const VmKind vm_kinds[KINDS];

/* An engine without objects; its next life, after a reset or as a new one. */
void vm_open(Model *m, uint32_t seed, void (*meanwhile)(Model *m));
void vm_next_life(Model *m);
/* Destroys all objects: nothing of them is left. */
void vm_close(Model *m);
void vm_report(const Model *m);
/* Memory that the engine has handed over is free: a part of it. */
void vm_free_some(Model *m);

/* From 0 to @most - 1. */
uint32_t vm_any(Model *m, uint32_t most);
/* One of a kind, or of any kind if that is KINDS; NULL: there is none. */
Thing *vm_any_of(Model *m, Kind kind);
uint32_t vm_any_uctx(Model *m);
/* A number of a kind, mostly of an object of context @uctx. */
uint32_t vm_number_of(Model *m, Kind kind, uint32_t uctx);
/* NULL: it does not exist. */
Thing *vm_find(Model *m, Ref ref);

static inline bool vm_is_key(Kind kind)
{
    return kind == MRS || kind == MWS;
}

/* A command in the name of @uctx; or one to change @t, mostly in that of its context. */
Plan vm_plan(Model *m, uint8_t opcode, uint32_t uctx);
Plan vm_change(Model *m, uint8_t opcode, Thing *t);
/* The command names an object of @kind, or @number, which is to be of context @uctx. */
uint32_t vm_need(Model *m, Plan *p, Kind kind, uint32_t uctx);
uint32_t vm_need_number(Model *m, Plan *p, Kind kind, uint32_t number, uint32_t uctx);
/* The thing needs that object. */
void vm_add_need(Plan *p, Kind kind, uint32_t number);
/* Send the command. Returns its status, or whether @t has changed. */
uint8_t vm_ask(Model *m, Plan *p, uint32_t *handle);
bool vm_do_change(Model *m, Thing *t, Plan *p);

/* The memory of a thing: two rings, and as many records, which start with 0. */
uint64_t vm_ring_of(const Model *m, uint32_t slot, uint32_t ring);
uint64_t vm_record_of(const Model *m, uint32_t slot, uint32_t n);
uint64_t vm_make_record(Model *m, uint32_t slot, uint32_t n);
/* The ring, as an extent or list; rarely of too few, unaligned or unreadable pages. */
struct ernic_buf_desc vm_desc(Model *m, uint32_t slot, uint32_t ring);
void vm_say_region(Model *m, Plan *p);

/* No new completion or event names an object that is gone, but for @gone; or NULL. */
void vm_look_at_all(Model *m, const Thing *gone);

/* Make an object of any kind, or destroy one, rarely in the name of another context. */
void vm_make(Model *m);
void vm_destroy(Model *m);
/* Each object with the chance of three in four; or all of a context, and this. */
void vm_destroy_many(Model *m);
void vm_end_context(Model *m);

#endif /* TESTS_UNIT_VERBS_MODEL_H */
