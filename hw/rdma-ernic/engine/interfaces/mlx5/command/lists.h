/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Common parts of the commands of RDMA objects: the contexts that software wrote, and the
 * rules for their fields.
 */
#ifndef ERNIC_INTERFACES_MLX5_OBJECTS_H
#define ERNIC_INTERFACES_MLX5_OBJECTS_H

#include "interfaces/mlx5/command/function.h"
#include "objects/buf.h"

/* Bytes of the contexts; that of an RMP without its list of pages. */
#define ERNIC_MLX5_MKC      64
#define ERNIC_MLX5_CQC      64
#define ERNIC_MLX5_EQC      64
#define ERNIC_MLX5_QPC      232
#define ERNIC_MLX5_SRQC     240

/*
 * Contexts as software wrote them, by the number of the object. A query returns them with
 * the fields that have changed since then.
 */
typedef struct ErnicMlx5Contexts {
    uint8_t (*mkey)[ERNIC_MLX5_MKC];
    uint8_t (*cq)[ERNIC_MLX5_CQC];
    uint8_t (*qp)[ERNIC_MLX5_QPC];
    uint8_t (*srq)[ERNIC_MLX5_SRQC];            /* rmpc, or xrc_srqc */
    uint8_t (*eq)[ERNIC_MLX5_EQC];
    uint64_t *eq_events;        /* event_bitmask of the event queue */
    bool *xrcd;                 /* the protection domain is a domain of XRC */
    bool *transport;            /* the transport domain is allocated */
} ErnicMlx5Contexts;

void ernic_mlx5_contexts_init(ErnicMlx5Contexts *contexts, const ErnicConfig *cfg);
void ernic_mlx5_contexts_fini(ErnicMlx5Contexts *contexts, const ErnicConfig *cfg);
/* A new life of the function begins: no transport domain is allocated. */
void ernic_mlx5_contexts_reset(ErnicMlx5Contexts *contexts, const ErnicConfig *cfg);

/* How the device treats a field of a context. */
typedef enum ErnicMlx5Use {
    ERNIC_MLX5_USED,            /* it has an effect, and is checked where it is used */
    ERNIC_MLX5_ZERO,            /* a feature that the function does not have */
    ERNIC_MLX5_IGNORED,         /* a hint, or redundant; a query returns it */
    ERNIC_MLX5_ANSWERED,        /* of queries: the device sets it */
} ErnicMlx5Use;

typedef struct ErnicMlx5FieldRule {
    const ErnicMlx5Field *field;
    uint8_t use;                /* ErnicMlx5Use */
} ErnicMlx5FieldRule;

/* The rules of a context: one row for each field, in the order of the layout. */
typedef struct ErnicMlx5Rules {
    const ErnicMlx5Layout *layout;
    const ErnicMlx5FieldRule *rows;
    uint32_t num;
} ErnicMlx5Rules;

extern const ErnicMlx5Rules ernic_mlx5_rules_mkey, ernic_mlx5_rules_cq,
                            ernic_mlx5_rules_qp, ernic_mlx5_rules_path,
                            ernic_mlx5_rules_rmp, ernic_mlx5_rules_wq,
                            ernic_mlx5_rules_xrc_srq, ernic_mlx5_rules_gid;
/* All of them, for tests; ends with NULL. */
extern const ErnicMlx5Rules *const ernic_mlx5_rules[];

/* Whether all fields of @context are 0 that have to be. */
bool ernic_mlx5_rules_ok(const ErnicMlx5Rules *rules, const uint8_t *context);

/* A list of pages in a message, and the buffer in it. */
typedef struct ErnicMlx5List {
    uint32_t at;                /* bytes of the message before the list */
    uint32_t page_shift;
    uint32_t offset;            /* of the buffer in its first page: units of 1/64 page */
    uint64_t bytes;             /* of the buffer */
} ErnicMlx5List;

/* Read it into @buf; 0 bytes need no list. */
ErnicMlx5Refusal ernic_mlx5_read_list(Ernic *e, const ErnicMlx5Request *r,
                                      const ErnicMlx5List *list, ErnicBuf *buf);

/* Whether this protection domain, or domain of XRC or transport, exists. */
bool ernic_mlx5_has_pd(const Ernic *e, uint32_t pd);
bool ernic_mlx5_has_xrcd(const Ernic *e, uint32_t xrcd);
bool ernic_mlx5_has_transport_domain(const Ernic *e, uint32_t number);
bool ernic_mlx5_has_uar(const ErnicMlx5Function *f, uint32_t uar);


extern const ErnicMlx5CommandTable ernic_mlx5_domain_commands,
                                   ernic_mlx5_mkey_commands,
                                   ernic_mlx5_cq_commands,
                                   ernic_mlx5_qp_commands,
                                   ernic_mlx5_srq_commands,
                                   ernic_mlx5_gid_commands,
                                   ernic_mlx5_counter_commands;

#endif /* ERNIC_INTERFACES_MLX5_OBJECTS_H */
