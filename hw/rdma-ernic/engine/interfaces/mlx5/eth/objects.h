/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The Ethernet half of the mlx5 interface: send queues (SQ), receive queues (RQ), and
 * the objects between flow tables and receive queues: TIR and RQT.
 *
 * These queues are not queue pairs of the engine. A send request may have more data
 * segments than ErnicWqe has room for, and more bytes than a train: the device, and not
 * software, divides it into frames.
 */
#ifndef ERNIC_INTERFACES_MLX5_ETH_OBJECTS_H
#define ERNIC_INTERFACES_MLX5_ETH_OBJECTS_H

#include "interfaces/mlx5/command/mlx5.h"
#include "interfaces/mlx5/eth/match.h"
#include "interfaces/mlx5/layout/sizes.h"
#include "objects/buf.h"
#include "steering/rss.h"

/*
 * Numbers of queues: above those of queue pairs, because the doorbell of a send queue
 * names a queue by its number alone.
 */
#define ERNIC_MLX5_SQN          0x8000u
#define ERNIC_MLX5_RQN          0x9000u

/* The base-2 logarithm of the bytes in a block of a send queue. */
#define ERNIC_MLX5_LOG_BLOCK    6

QEMU_BUILD_BUG_ON(ERNIC_LIM_QP > ERNIC_MLX5_SQN || ERNIC_LIM_ETH_QUEUE >= 0x1000);

/* Words of a bit for each queue. */
#define ERNIC_MLX5_ETH_WORDS    ((ERNIC_LIM_ETH_QUEUE + 64) / 64)

/* States of both kinds of queues. */
typedef enum ErnicMlx5QueueState {
    ERNIC_MLX5_RST = 0,
    ERNIC_MLX5_RDY = 1,
    ERNIC_MLX5_ERR = 3,
} ErnicMlx5QueueState;

/* A queue of either kind. */
typedef struct ErnicMlx5EthQueue {
    bool used;
    uint8_t state;              /* ErnicMlx5QueueState */
    uint8_t log_size, log_stride;       /* of the ring: slots, bytes of a slot */
    uint32_t cq, pd;
    uint64_t record;            /* address of the doorbell record */
    uint16_t pi, ci;            /* slots: posted, and taken from the ring */
    uint32_t sent;              /* bytes of the large packet at ci that have left */
    uint8_t context[0xf0];      /* sqc or rqc, as software wrote it */
    ErnicBuf buf;
} ErnicMlx5EthQueue;

typedef enum ErnicMlx5Hash {
    ERNIC_MLX5_HASH_NONE,
    ERNIC_MLX5_HASH_XOR8,       /* all bytes, inverted */
    ERNIC_MLX5_HASH_TOEPLITZ,
    ERNIC_MLX5_HASHES
} ErnicMlx5Hash;

/* selected_fields */
enum {
    ERNIC_MLX5_SELECT_SRC_IP = 1,
    ERNIC_MLX5_SELECT_DST_IP = 2,
    ERNIC_MLX5_SELECT_SPORT = 4,
    ERNIC_MLX5_SELECT_DPORT = 8,
    ERNIC_MLX5_SELECT_SPI = 16, /* of IPsec's AH and ESP */
    ERNIC_MLX5_SELECT_ALL = 31,
};

/* Transport interface receive: selects the receive queue of a frame. */
typedef struct ErnicMlx5Tir {
    bool used;
    bool indirect;              /* queue is the number of an RQT */
    bool symmetric;             /* both directions of a flow have the same hash */
    bool ipv6, udp;             /* the kind of frames whose fields are hashed */
    uint8_t hash;               /* ErnicMlx5Hash */
    uint8_t selected;           /* ERNIC_MLX5_SELECT_* */
    uint8_t self_lb_block;      /* frames of its own domain: loops() */
    uint32_t queue;
    uint32_t transport_domain;
    uint8_t key[ERNIC_RSS_KEY];
} ErnicMlx5Tir;

/* Transport interface send: the class that frames of a send queue belong to. */
typedef struct ErnicMlx5Tis {
    bool used;
    uint8_t prio;
    uint32_t transport_domain;
} ErnicMlx5Tis;

/* A table of receive queues that a hash indexes. */
typedef struct ErnicMlx5Rqt {
    bool used;
    uint16_t max, num;          /* entries; num is at least 1 */
    uint32_t rq[ERNIC_RQT_ENTRIES];
} ErnicMlx5Rqt;

/* All of them; index = number without ERNIC_MLX5_SQN or RQN, 0 is never used. */
struct ErnicMlx5Eth {
    ErnicMlx5EthQueue sq[ERNIC_LIM_ETH_QUEUE + 1];
    ErnicMlx5EthQueue rq[ERNIC_LIM_ETH_QUEUE + 1];
    ErnicMlx5Tir tir[ERNIC_LIM_TIR + 1];
    ErnicMlx5Tis tis[ERNIC_LIM_TIS + 1];
    ErnicMlx5Rqt rqt[ERNIC_LIM_RQT + 1];
    /* Queues with work (send.c), a bit by index: to send, and SQ and RQ to flush. */
    uint64_t send[ERNIC_MLX5_ETH_WORDS], flush[2][ERNIC_MLX5_ETH_WORDS];
    uint64_t last;              /* index of the SQ that had the last turn, */
    uint64_t flushed[2];        /* and of those that flushed last */
    /* Software posts to an RQ without a doorbell: those that flush are polled, every */
    uint64_t poll_wait;         /* ns, which double while nothing is found, */
    uint64_t poll_due;          /* then; 0: there are none */
    uint64_t out_of_buffer[ERNIC_MLX5_COUNTER_SETS];    /* by counter_set_id */
};

/* Tables of @e without objects, and its flow tables. */
void ernic_mlx5_eth_new(Ernic *e);
/* @e may have none. */
void ernic_mlx5_eth_free(Ernic *e);
/* Destroy all objects. The completion queues and protection domains still exist. */
void ernic_mlx5_eth_reset(Ernic *e);

/* Count references of @q to its completion queue and its protection domain, if any. */
void ernic_mlx5_eth_ref(Ernic *e, const ErnicMlx5EthQueue *q, int delta);
/* Destroy a queue to which nothing refers. */
void ernic_mlx5_eth_remove(Ernic *e, ErnicMlx5EthQueue *q);

/*
 * Whether state, size and counters of a queue are such that commands could have made
 * them.
 */
bool ernic_mlx5_eth_queue_ok(const ErnicMlx5EthQueue *q);

/* Count a frame. */
void ernic_mlx5_count_frame(ErnicMlx5Traffic *t, const uint8_t *frame, uint32_t len);

/* NULL: no such object. */
ErnicMlx5Tir *ernic_mlx5_tir_get(ErnicMlx5Function *f, uint32_t number);
ErnicMlx5Tis *ernic_mlx5_tis_get(ErnicMlx5Function *f, uint32_t number);
ErnicMlx5EthQueue *ernic_mlx5_sq_get(const Ernic *e, uint32_t number);
ErnicMlx5EthQueue *ernic_mlx5_rq_get(Ernic *e, uint32_t number);
/* The queue may be of either kind. */
ErnicMlx5EthQueue *ernic_mlx5_eth_queue(Ernic *e, uint32_t number);

/* Whether @number is that of a receive queue, not of a send queue. */
static inline bool ernic_mlx5_is_rq(uint32_t number)
{
    return number > ERNIC_MLX5_RQN;
}

/*
 * The state of queue @number has changed, or requests were posted, or it is gone: find
 * out whether it has work to do.
 */
void ernic_mlx5_eth_mark(Ernic *e, uint32_t number);
/* After loading: mark all queues. They are not checked yet. */
void ernic_mlx5_eth_derive(Ernic *e);
/* Whether a TIR or an RQT names receive queue @rqn. */
bool ernic_mlx5_rq_used(Ernic *e, uint32_t rqn);

/* Whether receive queue @rq flushes what software posts. */
bool ernic_mlx5_rq_polled(const ErnicMlx5EthQueue *rq);
/* When ernic_mlx5_rq_poll() has work; ERNIC_NEVER. */
uint64_t ernic_mlx5_rq_poll_due(const Ernic *e);

/* receive.c: look for requests of receive queues that have flushed all. */
void ernic_mlx5_rq_poll(Ernic *e);
/* receive.c: receive queue @rqn is in error from now on. */
void ernic_mlx5_rq_error(Ernic *e, uint32_t rqn, ErnicMlx5EthQueue *q);
/*
 * receive.c: methods of the interface. All frames of the link are wanted, for the
 * counters; and those of the function itself if they may loop back.
 */
bool ernic_mlx5_wants_frame(Ernic *e, const uint8_t *frame, uint32_t len,
                            const ErnicTrain *own);
void ernic_mlx5_take_frame(Ernic *e, const uint8_t *frame, uint32_t len,
                           const ErnicTrain *own);

/*
 * hash.c: the hash of a frame with @headers, and what it covers in *@type: rss_hash_type
 * of a completion entry. Both are 0 if @tir hashes no frames of this kind.
 */
uint32_t ernic_mlx5_hash(const ErnicMlx5Tir *tir, const ErnicMlx5Headers *headers,
                         uint8_t *type);
/* The number of the receive queue for a frame with @hash. */
uint32_t ernic_mlx5_receive_queue(const Ernic *e, const ErnicMlx5Tir *tir, uint32_t hash);

#endif /* ERNIC_INTERFACES_MLX5_ETH_OBJECTS_H */
