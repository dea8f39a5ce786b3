/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Common parts of the commands of RDMA objects: the contexts that software wrote, and
 * which of their fields have to be 0.
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

/* Fields that have to be 0 in each context, and NULL: features without a capability. */
extern const ErnicMlx5Field *const ernic_mlx5_zero_mkc[], *const ernic_mlx5_zero_cqc[],
                            *const ernic_mlx5_zero_qpc[], *const ernic_mlx5_zero_rmpc[],
                            *const ernic_mlx5_zero_wq[],
                            *const ernic_mlx5_zero_xrc_srqc[];
bool ernic_mlx5_zero_ok(const ErnicMlx5Field *const *fields, const uint8_t *context);

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

#endif /* ERNIC_INTERFACES_MLX5_OBJECTS_H */
