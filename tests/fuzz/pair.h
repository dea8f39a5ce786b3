/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Two engines with the same objects, each queue pair connected to that of the
 * same place on the other side, XRC initiators to targets. Numbers and keys are equal
 * on both.
 */
#ifndef FUZZ_PAIR_H
#define FUZZ_PAIR_H

#include "guest.h"

#define PAIR_QPS        11
#define PAIR_KEYS       12
#define PAIR_KEY_FAST   8       /* two fast regions, windows of type 1 and 2 */
#define PAIR_QKEY       0x11111111u
#define PAIR_LIST_STARTS 16     /* bytes from the list's begin to start at */

/* Datagrams to the device itself arrive in a run. */
#define PAIR_WRITES     (FUZZ_RING | FUZZ_RECV)
#define PAIR_READS      (FUZZ_QUEUE | FUZZ_SEND | FUZZ_RREAD)

typedef struct PairRow {
    uint8_t type, mtu;
    bool srq, user;
    uint8_t flags, timeout, rnr_retry;
    int8_t peer;                /* from this row to the other side's it talks to */
    uint32_t psn;
} PairRow;

typedef struct PairKey {
    uint32_t key;
    uint64_t iova;
} PairKey;

typedef struct Pair {
    Guest g[2];
    PairKey key[PAIR_KEYS];
    uint64_t list;              /* page addresses for REG_MR */
    uint32_t uctx, pd, user_pd;
    uint32_t unrung[2][GUEST_QPS];      /* written, the doorbell not rung */
} Pair;

extern const PairRow pair_rows[PAIR_QPS];

void pair_open(Pair *p);
/* The attributes that connect queue pair @n of side @side. */
void pair_attr(const Pair *p, uint32_t side, uint32_t n,
               struct ernic_qp_attr *attr);

#endif /* FUZZ_PAIR_H */
