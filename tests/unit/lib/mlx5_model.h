/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Objects of the mlx5 interface that are made and destroyed in any order, with the
 * numbers of objects that exist or not; and a model of who needs whom, which says whether
 * a command succeeds: none with a missing object, and a destroy if and only if nobody
 * needs the object.
 */
#ifndef TESTS_UNIT_MLX5_MODEL_H
#define TESTS_UNIT_MLX5_MODEL_H

#include "mlx5_objects.h"

enum {
    MODEL_THINGS = 256,         /* objects at a time */
    MODEL_NEEDS = 6,            /* objects that one needs */
    MODEL_LOG = 4,              /* rings have 2^4 slots, */
    MODEL_SLOT = 64,            /* of as many bytes */
    MODEL_RECORD = 64,          /* bytes for a doorbell record */
};

typedef enum ModelKind {
    UARS, EQS, PDS, XRCDS, DOMAINS, CQS, MKEYS, RMPS, SRQS, QPS, COUNTERS,
    TISES, SQS, RQS, RQTS, TIRS, TABLES, GROUPS, ENTRIES, FLOW_COUNTERS, KINDS
} ModelKind;

/* In one life of the function there are objects of RDMA, in the next of Ethernet. */
enum { RDMA = 1, ETHERNET = 2, BOTH = 3 };

typedef struct ModelRef {
    ModelKind kind;
    uint32_t number;
} ModelRef;

/* An object that exists, as software knows it. */
typedef struct ModelThing {
    bool used;
    ModelRef ref;
    uint32_t table, first;      /* of a group or entry; the first index of a group */
    ModelRef need[MODEL_NEEDS];         /* these cannot go before it */
    uint32_t needs;
    bool homeless;              /* a queue pair that gets its domain later */
} ModelThing;

typedef struct Model {
    Mlx5Fixture f;
    GRand *rand;
    ModelThing thing[MODEL_THINGS];
    uint64_t rings, records;    /* a page and a doorbell record for each thing */
    uint64_t memory;            /* of the engine without objects */
    uint8_t life;               /* RDMA, ETHERNET or BOTH */
    /* Commands, for the report: how many were accepted, and refused as busy. */
    uint32_t made[KINDS], gone[KINDS], busy[KINDS];
} Model;

/* A command that makes or changes @thing, as text. */
typedef struct ModelPlan {
    GString *text;
    uint32_t slot;              /* of the thing */
    ModelThing thing;
    bool missing;               /* it names an object that does not exist */
} ModelPlan;

#define SAY(p, ...) g_string_append_printf((p)->text, __VA_ARGS__)

/* A function that runs, with doorbell page 16 and no other object. */
void model_open(Model *m, uint32_t seed);
/* The function runs again, after all objects have ended with it. */
void model_begin_life(Model *m);
/* Destroys all objects: nothing of them is left. */
void model_close(Model *m);
/* How often each kind of object was made and destroyed: more than a few times. */
void model_report(const Model *m);

/* From 0 to @most - 1. */
uint32_t model_any(Model *m, uint32_t most);
/* One of a kind; NULL: there is none. */
ModelThing *model_any_of(Model *m, ModelKind kind);
/* A number of a kind, which may not exist. */
uint32_t model_number_of(Model *m, ModelKind kind);
/* NULL: it does not exist. @table: of groups and entries, else 0. */
ModelThing *model_find(Model *m, ModelKind kind, uint32_t number, uint32_t table);

uint32_t model_slot(const Model *m, const ModelThing *t);
uint64_t model_ring(const Model *m, uint32_t slot);
uint64_t model_record(const Model *m, uint32_t slot);
void model_clear_record(Model *m, uint32_t slot);

/* Make an object of any kind, or destroy one; rarely one that does not exist. */
void model_make(Model *m);
void model_destroy(Model *m);
/* Round by round, each object with the chance of one in two. */
void model_destroy_many(Model *m);

/* A plan to change @t, which keeps the first @keep of its needs. */
ModelPlan model_plan(const Model *m, const ModelThing *t, uint32_t keep);
/*
 * Send the command @p to change @t. If it is accepted, the needs of @t are those that @p
 * has, from now on. Returns whether it was.
 */
bool model_change(Model *m, ModelThing *t, uint16_t opcode, ModelPlan *p);

/* The command says @path=NUMBER, of an object of @kind that it needs. */
void model_need(Model *m, ModelPlan *p, const char *path, ModelKind kind);
/* It says where the ring is; the queues of an RQT; the table behind a flow table. */
void model_say_page(Model *m, ModelPlan *p);
void model_say_list(Model *m, ModelPlan *p, const char *context);
void model_say_miss(Model *m, ModelPlan *p);
/* It says what an entry does: destinations, and a counter. */
void model_say_action(Model *m, ModelPlan *p);

#endif /* TESTS_UNIT_MLX5_MODEL_H */
