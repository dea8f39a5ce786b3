/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The command queue of the mlx5 interface: a page of entries in guest memory, and a
 * doorbell with one bit for each of them. Software finds the answer by polling the
 * entry. One command is in progress at a time.
 */
#ifndef ERNIC_INTERFACES_MLX5_COMMAND_QUEUE_H
#define ERNIC_INTERFACES_MLX5_COMMAND_QUEUE_H

#include "base/env.h"
#include "base/mem.h"
#include "interfaces/mlx5/command/entry.h"

#define ERNIC_MLX5_QUEUE_LOG_SIZE       5       /* entries */
#define ERNIC_MLX5_QUEUE_LOG_STRIDE     6       /* bytes */

/* Both messages have at least this many bytes, so that every layout fits. */
#define ERNIC_MLX5_MESSAGE_ROOM         4112

/*
 * Execute a command. @in has @in_len bytes, and zeros up to ERNIC_MLX5_MESSAGE_ROOM.
 * @out is zero, and as large; software gets its first @out_len bytes. False: the slice
 * of work has ended, and the same call is repeated in the next one.
 */
typedef bool ErnicMlx5Execute(void *opaque, const uint8_t *in, uint32_t in_len,
                              uint8_t *out, uint32_t out_len);

typedef enum ErnicMlx5QueueStage {
    ERNIC_MLX5_QUEUE_IDLE,
    ERNIC_MLX5_QUEUE_READ,              /* mailboxes of the message */
    ERNIC_MLX5_QUEUE_WRITE,             /* mailboxes of the answer */
} ErnicMlx5QueueStage;

typedef struct ErnicMlx5CommandQueue {
    const ErnicEnvOps *ops;
    void *env;
    ErnicMem *mem;              /* the account of both messages */
    ErnicMlx5Execute *execute;
    void *opaque;

    uint32_t completed;         /* entries since the last question: bit by number */
    uint64_t base;              /* a page of guest memory */
    uint32_t rung;              /* entries to look at: bit by number */

    ErnicMlx5QueueStage stage;
    uint64_t addr;              /* of the entry in progress */
    uint8_t bytes[ERNIC_MLX5_ENTRY_SIZE];       /* its copy */
    ErnicMlx5Entry entry;
    uint32_t done;              /* bytes of the message or answer so far */
    uint8_t *in, *out;          /* owned; NULL: idle */
} ErnicMlx5CommandQueue;

/* @mem outlives @q, too. */
void ernic_mlx5_command_queue_init(ErnicMlx5CommandQueue *q, const ErnicEnvOps *ops,
                                   void *env, ErnicMem *mem, ErnicMlx5Execute *execute,
                                   void *opaque);
/* Forget the doorbell and the command in progress; also the end of @q. */
void ernic_mlx5_command_queue_reset(ErnicMlx5CommandQueue *q);

/* Software rings: bits of @vector are numbers of entries. */
void ernic_mlx5_command_queue_ring(ErnicMlx5CommandQueue *q, uint32_t vector);

/* The entries returned to software since the last call, as bits. */
uint32_t ernic_mlx5_command_queue_completed(ErnicMlx5CommandQueue *q);

/* Whether there is an entry to take, or a command in progress. */
static inline bool ernic_mlx5_command_queue_has_work(const ErnicMlx5CommandQueue *q)
{
    return q->stage != ERNIC_MLX5_QUEUE_IDLE || q->rung;
}

/* Work, if there is any: an entry, a mailbox or the command. */
void ernic_mlx5_command_queue_step(ErnicMlx5CommandQueue *q);

/* Bytes that the messages of the command in progress own; 0: idle. */
uint64_t ernic_mlx5_command_queue_bytes(const ErnicMlx5CommandQueue *q);
/* Whether the lengths of the command in progress fit its stage. */
bool ernic_mlx5_command_queue_ok(const ErnicMlx5CommandQueue *q);
/*
 * Allocate both messages of @q->entry, whose lengths are valid; all bytes are 0. False:
 * the account has no room, and nothing is allocated.
 */
bool ernic_mlx5_command_queue_alloc(ErnicMlx5CommandQueue *q);

#endif /* ERNIC_INTERFACES_MLX5_COMMAND_QUEUE_H */
