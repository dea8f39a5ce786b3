/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The state of an engine after commands, as the guest that sent them knows it:
 * which objects exist, whose they are, and which memory they opened.
 */
#ifndef FUZZ_MODEL_H
#define FUZZ_MODEL_H

#include "harness.h"

typedef enum ModelKind {
    MODEL_NONE,
    MODEL_UCTX,
    MODEL_PD,
    MODEL_EQ,
    MODEL_CQ,
    MODEL_SRQ,
    MODEL_MR,
    MODEL_MW,
    MODEL_QP,
    MODEL_FLOW,
    MODEL_RSS,
    MODEL_COUNTER,
    MODEL_KINDS
} ModelKind;

#define MODEL_OBJECTS   512
#define MODEL_UNIT      4096u   /* pages are at least this big */
#define MODEL_UNITS     (FUZZ_MEM / MODEL_UNIT)
#define MODEL_FIELDS    4

/* Guest memory: whole units, and parts of others. */
typedef struct ModelPart {
    uint64_t addr, len;
} ModelPart;

typedef struct ModelMem {
    bool unit[MODEL_UNITS];
    ModelPart part[4];
    uint32_t parts;
} ModelMem;

typedef struct ModelObject {
    uint8_t kind;               /* ModelKind */
    uint32_t handle, uctx;
    uint8_t may;                /* FuzzMay on @mem */
    ModelMem mem;
    /* Queue pairs: the next request to complete, and where the doorbell is. */
    uint32_t sq_next, sq_pi, rq_next, rq_pi;
    bool srq;
    uint32_t qpn;               /* of a rule */
} ModelObject;

typedef struct Model {
    FuzzHost h;
    ModelObject object[MODEL_OBJECTS];
    uint32_t objects;
    bool trusted;               /* commands are the harness's own, all right */
} Model;

/* A field of a command, or of the structure that it points to. */
typedef struct ModelField {
    uint8_t kind;               /* ModelKind; NONE: a guest address */
    uint8_t offset;             /* in payload or structure */
} ModelField;

typedef struct ModelCmd {
    uint8_t makes, takes;       /* ModelKind that it creates, destroys */
    uint8_t fields;
    ModelField field[MODEL_FIELDS];
    uint16_t inner_len;         /* of the structure at qp.addr */
    uint8_t inners;
    ModelField inner[6];
} ModelCmd;

extern const ModelCmd model_cmds[ERNIC_CMD_COUNT];

void model_open(Model *m);
/* The commands so far were the harness's own; from now on all are checked. */
void model_begin(Model *m);
void model_close(Model *m);
/*
 * Send @cmd, and hold the answer against the model: who owns what it names, is
 * a failure without effect, what may it write.
 */
uint8_t model_cmd(Model *m, const struct ernic_cmd *cmd, uint32_t *handle);
/* A doorbell; a queue pair's enters the books. */
uint8_t model_doorbell(Model *m, uint32_t uctx, uint64_t value);
/* The @n-th object of @kind, counting round; NULL: there is none. */
ModelObject *model_pick(Model *m, uint8_t kind, uint32_t n);

/* May be written in a run: loopback brings everything. */
#define MODEL_WRITES    (FUZZ_RING | FUZZ_WRITES)

#endif /* FUZZ_MODEL_H */
