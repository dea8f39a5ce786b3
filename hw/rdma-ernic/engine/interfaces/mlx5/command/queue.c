/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Takes commands from guest memory, mailbox by mailbox, and writes answers back. All of
 * this memory may change at any time: each byte is copied once, and the copy is used.
 */
#include "qemu/osdep.h"
#include "interfaces/mlx5/command/queue.h"

#define OUT_INLINE 32           /* offsets in the entry: the answer's first bytes, */
#define TAIL       60           /* and the word with token, signature and status */

void ernic_mlx5_command_queue_init(ErnicMlx5CommandQueue *q, const ErnicEnvOps *ops,
                                   void *env, ErnicMem *mem, ErnicMlx5Execute *execute,
                                   void *opaque)
{
    *q = (ErnicMlx5CommandQueue) {
        .ops = ops, .env = env, .mem = mem, .execute = execute, .opaque = opaque,
    };
}

/* Bytes of a buffer for a message of @len. */
static uint32_t bytes_for(uint32_t len)
{
    return MAX(len, ERNIC_MLX5_MESSAGE_ROOM);
}

/* Nothing stays of the command: lengths of an entry that was refused may be any. */
static void release(ErnicMlx5CommandQueue *q)
{
    ernic_mem_free(q->mem, ERNIC_MEM_MESSAGES, q->in, bytes_for(q->entry.in_len), 1);
    ernic_mem_free(q->mem, ERNIC_MEM_MESSAGES, q->out, bytes_for(q->entry.out_len), 1);
    q->in = q->out = NULL;
    q->entry = (ErnicMlx5Entry) { };
    q->stage = ERNIC_MLX5_QUEUE_IDLE;
}

bool ernic_mlx5_command_queue_alloc(ErnicMlx5CommandQueue *q)
{
    g_assert(!q->in && !q->out);
    q->in = ernic_mem_new(q->mem, ERNIC_MEM_MESSAGES, bytes_for(q->entry.in_len), 1);
    if (q->in) {
        q->out = ernic_mem_new(q->mem, ERNIC_MEM_MESSAGES, bytes_for(q->entry.out_len),
                               1);
    }
    if (!q->out) {
        release(q);
    }
    return q->out;
}

uint64_t ernic_mlx5_command_queue_bytes(const ErnicMlx5CommandQueue *q)
{
    return q->in ? (uint64_t)bytes_for(q->entry.in_len) + bytes_for(q->entry.out_len) : 0;
}

/* Whether @done bytes of a message of @len are there, and the others in @chain. */
static bool progress_ok(uint32_t len, uint32_t done, const ErnicMlx5Chain *chain)
{
    return done >= MIN(len, ERNIC_MLX5_INLINE_SIZE) && done <= len &&
           chain->left == len - done;
}

bool ernic_mlx5_command_queue_ok(const ErnicMlx5CommandQueue *q)
{
    const ErnicMlx5Entry *entry = &q->entry;
    uint32_t begin = MIN(entry->out_len, ERNIC_MLX5_INLINE_SIZE);

    if (q->stage == ERNIC_MLX5_QUEUE_IDLE) {
        return true;
    }
    if (entry->in_len < ERNIC_MLX5_MESSAGE_MIN ||
        entry->in_len > ERNIC_MLX5_MESSAGE_MAX ||
        entry->out_len < ERNIC_MLX5_MESSAGE_MIN ||
        entry->out_len > ERNIC_MLX5_MESSAGE_MAX ||
        entry->in_chain.out || !entry->out_chain.out) {
        return false;
    }
    switch (q->stage) {
    case ERNIC_MLX5_QUEUE_READ:
        return progress_ok(entry->in_len, q->done, &entry->in_chain) &&
               progress_ok(entry->out_len, begin, &entry->out_chain);
    case ERNIC_MLX5_QUEUE_WRITE:
        return !entry->in_chain.left &&
               progress_ok(entry->out_len, q->done, &entry->out_chain);
    default:
        return false;
    }
}

void ernic_mlx5_command_queue_reset(ErnicMlx5CommandQueue *q)
{
    release(q);
    q->rung = q->completed = 0;
    q->base = 0;
}

uint32_t ernic_mlx5_command_queue_completed(ErnicMlx5CommandQueue *q)
{
    uint32_t completed = q->completed;

    q->completed = 0;
    return completed;
}

void ernic_mlx5_command_queue_ring(ErnicMlx5CommandQueue *q, uint32_t vector)
{
    q->rung |= vector;
}

/*
 * Return the entry to software. Its last word, which has the owner, is written after
 * everything else. Without memory there is nobody to report to.
 */
static void complete(ErnicMlx5CommandQueue *q, ErnicMlx5Delivery status)
{
    static const uint8_t nothing[ERNIC_MLX5_INLINE_SIZE];

    ernic_mlx5_entry_complete(q->bytes, status == ERNIC_MLX5_DELIVERY_OK ? q->out :
                              nothing, status);
    if (q->ops->dma_write(q->env, q->addr + OUT_INLINE, q->bytes + OUT_INLINE,
                          ERNIC_MLX5_INLINE_SIZE)) {
        q->ops->dma_write(q->env, q->addr + TAIL, q->bytes + TAIL,
                          ERNIC_MLX5_ENTRY_SIZE - TAIL);
    }
    q->completed |= 1u << ((q->addr - q->base) >> ERNIC_MLX5_QUEUE_LOG_STRIDE & 31);
    release(q);
}

/* Take the next entry that software has rung for, if it has posted it. */
static void take_entry(ErnicMlx5CommandQueue *q)
{
    uint32_t number = g_bit_nth_lsf(q->rung, -1);
    ErnicMlx5Delivery status;

    q->rung &= ~(1u << number);
    q->addr = q->base + ((uint64_t)number << ERNIC_MLX5_QUEUE_LOG_STRIDE);
    if (!q->ops->dma_read(q->env, q->addr, q->bytes, sizeof(q->bytes)) ||
        !ernic_mlx5_entry_posted(q->bytes)) {
        return;
    }
    status = ernic_mlx5_entry_decode(q->bytes, &q->entry);
    if (status != ERNIC_MLX5_DELIVERY_OK) {
        complete(q, status);
        return;
    }
    if (!ernic_mlx5_command_queue_alloc(q)) {
        complete(q, ERNIC_MLX5_DELIVERY_INTERNAL);
        return;
    }
    q->done = MIN(q->entry.in_len, ERNIC_MLX5_INLINE_SIZE);
    memcpy(q->in, q->entry.in, q->done);
    q->stage = ERNIC_MLX5_QUEUE_READ;
}

/* Read and check the next mailbox of @chain. False: the entry is completed. */
static bool take_box(ErnicMlx5CommandQueue *q, ErnicMlx5Chain *chain,
                     uint8_t box[ERNIC_MLX5_BOX_SIZE], uint32_t *len)
{
    ErnicMlx5Delivery status = ERNIC_MLX5_DELIVERY_INTERNAL;

    if (q->ops->dma_read(q->env, chain->addr, box, ERNIC_MLX5_BOX_SIZE)) {
        status = ernic_mlx5_chain_step(chain, box, len);
    }
    if (status != ERNIC_MLX5_DELIVERY_OK) {
        complete(q, status);
    }
    return status == ERNIC_MLX5_DELIVERY_OK;
}

/* Read a mailbox, or execute the command, if it is there; it may take several steps. */
static void read_message(ErnicMlx5CommandQueue *q)
{
    uint8_t box[ERNIC_MLX5_BOX_SIZE];
    uint32_t len;

    if (!q->entry.in_chain.left) {
        if (!q->execute(q->opaque, q->in, q->entry.in_len, q->out, q->entry.out_len)) {
            return;
        }
        q->done = MIN(q->entry.out_len, ERNIC_MLX5_INLINE_SIZE);
        /* The entry has room for more than a short answer. */
        memset(q->out + q->done, 0, ERNIC_MLX5_INLINE_SIZE - q->done);
        q->stage = ERNIC_MLX5_QUEUE_WRITE;
    } else if (take_box(q, &q->entry.in_chain, box, &len)) {
        memcpy(q->in + q->done, box, len);
        q->done += len;
    }
}

static void write_answer(ErnicMlx5CommandQueue *q)
{
    uint64_t addr = q->entry.out_chain.addr;
    uint8_t box[ERNIC_MLX5_BOX_SIZE];
    uint32_t len;

    if (!q->entry.out_chain.left) {
        complete(q, ERNIC_MLX5_DELIVERY_OK);
    } else if (take_box(q, &q->entry.out_chain, box, &len)) {
        if (q->ops->dma_write(q->env, addr, q->out + q->done, len)) {
            q->done += len;
        } else {
            complete(q, ERNIC_MLX5_DELIVERY_INTERNAL);
        }
    }
}

void ernic_mlx5_command_queue_step(ErnicMlx5CommandQueue *q)
{
    switch (q->stage) {
    case ERNIC_MLX5_QUEUE_IDLE:
        if (q->rung) {
            take_entry(q);
        }
        break;
    case ERNIC_MLX5_QUEUE_READ:
        read_message(q);
        break;
    case ERNIC_MLX5_QUEUE_WRITE:
        write_answer(q);
        break;
    }
}
