/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Send queues of Ethernet frames. A queue with requests gets turns, as queue pairs do; in
 * each it builds one frame in the held train, or as many frames of a large packet as a
 * train holds, and the request completes when its last frame is built. The frames of a
 * large packet have one length, except for the last: so they are a train.
 *
 * A request of several trains is decoded again for each of them, and the queue knows how
 * many bytes have left.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "base/work.h"
#include "interfaces/mlx5/rdma/cqe.h"
#include "interfaces/mlx5/eth/wqe.h"
#include "interfaces/mlx5/rdma/records.h"
#include "interfaces/mlx5/eth/send.h"
#include "interfaces/mlx5/layout/access.h"
#include "objects/cq.h"
#include "trace.h"
#include "transport/tx.h"
#include "wire/segmentation.h"

#define BLOCK           ERNIC_MLX5_BLOCK
#define BLOCK_SEGMENTS  (BLOCK / ERNIC_MLX5_SEGMENT)
/* Units of a turn that flushes: frames of other queues leave between two of them. */
#define FLUSH_SHARE     (ERNIC_WORK_SHARE / 4)
/* The send counter in a doorbell record. */
#define RECORD_SEND     4
/* Where a tag is inserted. */
#define ETHERTYPE_OFS   12

QEMU_BUILD_BUG_ON(ERNIC_ETH_FRAME_MAX > ERNIC_TRAIN_BYTES);

/* A request that is being executed: its blocks, and what they say. */
typedef struct Request {
    uint8_t bytes[ERNIC_MLX5_WQE_MAX];
    ErnicMlx5EthWqe wqe;
    uint32_t blocks;
} Request;

/* ---- which queues have work -------------------------------------------------------- */

#define WORD(i)     ((i) / 64)
#define BIT(i)      (1ull << (i) % 64)

static bool any_bit(const uint64_t bits[ERNIC_MLX5_ETH_WORDS])
{
    uint32_t i;

    for (i = 0; i < ERNIC_MLX5_ETH_WORDS; i++) {
        if (bits[i]) {
            return true;
        }
    }
    return false;
}

/* The first bit after @after, or else the first one; 0: none. Bit 0 is never set. */
static uint32_t next_bit(const uint64_t bits[ERNIC_MLX5_ETH_WORDS], uint32_t after)
{
    uint64_t word = bits[WORD(after)] & ~(BIT(after) | (BIT(after) - 1));
    uint32_t i;

    if (word) {
        return after / 64 * 64 + __builtin_ctzll(word);
    }
    for (i = 1; i <= ERNIC_MLX5_ETH_WORDS; i++) {
        uint32_t at = (WORD(after) + i) % ERNIC_MLX5_ETH_WORDS;

        if (bits[at]) {
            return at * 64 + __builtin_ctzll(bits[at]);
        }
    }
    return 0;
}

bool ernic_mlx5_eth_has_work(const Ernic *e)
{
    const ErnicMlx5Eth *eth = e->mlx5_eth;

    return any_bit(eth->flush[0]) || any_bit(eth->flush[1]) ||
           (!e->tx->busy && !e->tx->loop_full && any_bit(eth->send));
}

static bool read_record(Ernic *e, const ErnicMlx5EthQueue *q, uint16_t *counter)
{
    uint8_t record[4];

    ernic_charge_copy(e, sizeof(record));
    if (!e->ops->dma_read(e->env, q->record + RECORD_SEND, record, sizeof(record))) {
        return false;
    }
    *counter = ldl_be_p(record);
    return true;
}

/* Take what is posted up to @counter; false: it is not valid. */
static bool produce(Ernic *e, uint32_t number, ErnicMlx5EthQueue *q, uint16_t counter)
{
    uint16_t posted = counter - q->ci;

    if (posted > 1u << q->log_size || posted < (uint16_t)(q->pi - q->ci)) {
        return false;
    }
    q->pi = counter;
    ernic_mlx5_eth_mark(e, number);
    return true;
}

uint32_t ernic_mlx5_sq_page(const Ernic *e, uint32_t number)
{
    const ErnicMlx5EthQueue *q = ernic_mlx5_sq_get(e, number);

    return q ? GET(PART(q->context, sqc.wq), wq.uar_page) : 0;
}

void ernic_mlx5_eth_ring(Ernic *e, uint32_t page, uint32_t number)
{
    ErnicMlx5EthQueue *q = ernic_mlx5_sq_get(e, number);
    uint16_t counter;

    if (!q || q->state == ERNIC_MLX5_RST || ernic_mlx5_sq_page(e, number) != page ||
        !read_record(e, q, &counter) || !produce(e, number, q, counter)) {
        ernic_mlx5_bad_doorbell(e, "sq", page, number);
    }
}

/* A record that cannot be written keeps its value, which then counts as posted. */
void ernic_mlx5_eth_ready(Ernic *e, const ErnicMlx5EthQueue *q)
{
    static const uint8_t nothing[4];

    ernic_charge_copy(e, sizeof(nothing));
    e->ops->dma_write(e->env, q->record + RECORD_SEND, nothing, sizeof(nothing));
}

void ernic_mlx5_eth_take(Ernic *e, uint32_t number)
{
    ErnicMlx5EthQueue *q = ernic_mlx5_sq_get(e, number);
    uint16_t counter;

    if (!q || q->state == ERNIC_MLX5_RST) {
        return;
    }
    if (!read_record(e, q, &counter)) {
        ernic_mlx5_bad_doorbell(e, "sq", ernic_mlx5_sq_page(e, number), number);
    } else if (counter != q->pi && !produce(e, number, q, counter)) {
        ernic_mlx5_bad_doorbell(e, "sq", ernic_mlx5_sq_page(e, number), number);
    }
}

/* ---- completion -------------------------------------------------------------------- */

static void stop(Ernic *e, uint32_t number, ErnicMlx5EthQueue *q)
{
    if (q->state != ERNIC_MLX5_ERR) {
        q->state = ERNIC_MLX5_ERR;
        trace_ernic_mlx5_queue_state(number, q->state);
    }
}

/* Write the entry of the request at ci; @sent: its opcode. */
static void post(Ernic *e, uint32_t number, ErnicMlx5EthQueue *q, uint8_t sent,
                 bool solicited, ErnicFault fault)
{
    bool rq = ernic_mlx5_is_rq(number);
    uint8_t entry[ERNIC_CQ_ENTRY] = { };

    stl_be_p(entry + CQE_INDEX, rq ? GET(q->context, rqc.user_index) :
                                     GET(q->context, sqc.user_index));
    stl_be_p(entry + CQE_QPN, (uint32_t)sent << 24 | number);
    stw_be_p(entry + CQE_COUNTER, q->ci);
    entry[CQE_OWNER] = (rq ? CQE_RESP_ERROR : fault ? CQE_REQ_ERROR : CQE_REQ) << 4;
    if (fault) {
        e->stats.fault[fault]++;
        entry[CQE_VENDOR] = fault;
        entry[CQE_SYNDROME] = ernic_mlx5_syndrome(fault);
    } else {
        stq_be_p(entry + CQE_TIME, e->now);
    }
    if (!ernic_cq_post_entry(e, q->cq, entry, solicited || fault)) {
        /* No entry will be written any more. */
        stop(e, number, q);
    }
}

/* Whether a request with @ce wants an entry when it ends with @fault. */
static bool wants_entry(uint8_t ce, ErnicFault fault)
{
    return ce > ERNIC_MLX5_CE_FIRST_ERROR ||
           (fault && (ce == ERNIC_MLX5_CE_ERROR || fault != ERNIC_FAULT_FLUSH));
}

/* The request at ci, of @r->blocks, has ended. */
static void complete(Ernic *e, uint32_t number, ErnicMlx5EthQueue *q, const Request *r,
                     ErnicFault fault)
{
    trace_ernic_mlx5_tx(number, q->ci, r->wqe.opcode, r->wqe.head_len + r->wqe.len,
                        ernic_fault_info(fault)->name);
    if (wants_entry(r->wqe.ce, fault)) {
        post(e, number, q, r->wqe.opcode, r->wqe.solicited, fault);
    }
    q->ci += r->blocks;
    q->sent = 0;
    if (fault && fault != ERNIC_FAULT_FLUSH) {
        stop(e, number, q);
    }
}

/* ---- requests ---------------------------------------------------------------------- */

/* Copy @n blocks of the ring from number @from on; the ring may end between them. */
static bool read_blocks(Ernic *e, const ErnicMlx5EthQueue *q, uint16_t from, uint32_t n,
                        uint8_t *to)
{
    uint32_t size = 1u << q->log_size, at = from & (size - 1), run = MIN(n, size - at);

    ernic_charge_copy(e, n * BLOCK);
    return ernic_buf_read(e, &q->buf, at * BLOCK, to, run * BLOCK) &&
           ernic_buf_read(e, &q->buf, 0, to + run * BLOCK, (n - run) * BLOCK);
}

/*
 * Read the request at ci, without its segments if @control. A request that cannot be
 * read wants an entry and has one block.
 */
static ErnicFault fetch(Ernic *e, const ErnicMlx5EthQueue *q, Request *r, bool control)
{
    uint32_t posted = (uint16_t)(q->pi - q->ci), segments;

    r->blocks = 1;
    memset(&r->wqe, 0, offsetof(ErnicMlx5EthWqe, piece));
    r->wqe.ce = ERNIC_MLX5_CE_ALWAYS;
    if (!read_blocks(e, q, q->ci, 1, r->bytes)) {
        return ERNIC_FAULT_SEND_FETCH;
    }
    ernic_mlx5_eth_wqe_control(r->bytes, &r->wqe);
    segments = ernic_mlx5_wqe_segments(r->bytes);
    r->blocks = MAX(DIV_ROUND_UP(segments, BLOCK_SEGMENTS), 1);
    if (!segments || segments > ERNIC_MLX5_WQE_SEGMENTS || r->blocks > posted) {
        r->blocks = MIN(r->blocks, posted);
        return ERNIC_FAULT_SEND_WQE;
    }
    if (control || r->wqe.opcode == ERNIC_MLX5_OP_NOP) {
        return ERNIC_FAULT_NONE;
    }
    if (r->blocks > 1 &&
        !read_blocks(e, q, q->ci + 1, r->blocks - 1, r->bytes + BLOCK)) {
        return ERNIC_FAULT_SEND_FETCH;
    }
    if (r->wqe.opcode != ERNIC_MLX5_OP_SEND && r->wqe.opcode != ERNIC_MLX5_OP_LSO) {
        return ERNIC_FAULT_SEND_WQE;
    }
    /* Only a TIS leads to the port. */
    return GET(q->context, sqc.tis_lst_sz) ?
           ernic_mlx5_eth_wqe_decode(r->bytes, segments, &r->wqe) : ERNIC_FAULT_SEND_WQE;
}

/* ---- frames ------------------------------------------------------------------------ */

/* Pad the frame of @len bytes; returns its length on the wire. */
static uint32_t pad(uint8_t *frame, uint32_t len)
{
    if (len >= ERNIC_FRAME_MIN) {
        return len;
    }
    memset(frame + len, 0, ERNIC_FRAME_MIN - len);
    return ERNIC_FRAME_MIN;
}

/* Frames of @len bytes in all, each of @seg but the last, are in the train. */
static void commit(Ernic *e, uint32_t number, const uint8_t *frames, uint32_t len,
                   uint32_t seg)
{
    const ErnicMlx5EthQueue *q = ernic_mlx5_sq_get(e, number);
    const ErnicMlx5Tis *tis = ernic_mlx5_tis_get(&e->mlx5->function,
                                                 GET(q->context, sqc.tis_num_0));
    uint32_t at;

    for (at = 0; at < len; at += seg) {
        ernic_charge(e, 1);
        ernic_mlx5_count_frame(&e->mlx5->sent, frames + at, MIN(seg, len - at));
    }
    ernic_tx_commit_frames(e, number, tis->transport_domain, len, seg);
}

/* Build the frame of a SEND at @frame; *@len is its length. */
static ErnicFault build(Ernic *e, const ErnicMlx5EthQueue *q, const ErnicMlx5EthWqe *wqe,
                        uint8_t *frame, uint32_t *len)
{
    uint32_t tag = wqe->insert ? ERNIC_VLAN_LEN : 0;
    uint32_t bytes = wqe->head_len + wqe->len;
    ErnicFault fault;
    ErnicInet inet;

    memcpy(frame, wqe->head, wqe->head_len);
    fault = ernic_mlx5_eth_wqe_gather(e, q->pd, wqe, 0, frame + wqe->head_len, wqe->len);
    if (fault) {
        return fault;
    }
    if (tag) {
        memmove(frame + ETHERTYPE_OFS + tag, frame + ETHERTYPE_OFS,
                bytes - ETHERTYPE_OFS);
        stw_be_p(frame + ETHERTYPE_OFS, wqe->tpid);
        stw_be_p(frame + ETHERTYPE_OFS + 2, wqe->tci);
    }
    bytes += tag;
    ernic_inet_parse(&inet, frame, bytes);
    if (wqe->sums & ERNIC_MLX5_SUM_L3) {
        ernic_inet_set_l3(&inet, frame);
    }
    if (wqe->sums & ERNIC_MLX5_SUM_L4) {
        ernic_inet_set_l4(&inet, frame);
    }
    *len = pad(frame, bytes);
    return ERNIC_FAULT_NONE;
}

/* @frame: room in the train. The request is complete, or has failed. */
static ErnicFault send_one(Ernic *e, uint32_t number, const ErnicMlx5EthQueue *q,
                           const ErnicMlx5EthWqe *wqe, uint8_t *frame)
{
    uint64_t bytes = wqe->head_len + wqe->len + (wqe->insert ? ERNIC_VLAN_LEN : 0);
    ErnicFault fault;
    uint32_t len;

    if (wqe->head_len + wqe->len < ERNIC_ETH_LEN || bytes > ERNIC_ETH_FRAME_MAX) {
        return ERNIC_FAULT_SEND_LENGTH;
    }
    fault = build(e, q, wqe, frame, &len);
    if (!fault) {
        commit(e, number, frame, len, len);
    }
    return fault;
}

/* The same for a large packet: build what fits into a train, from byte q->sent on. */
static ErnicFault send_part(Ernic *e, uint32_t number, ErnicMlx5EthQueue *q,
                            const ErnicMlx5EthWqe *wqe, uint8_t *frames)
{
    uint32_t seg = MAX(wqe->head_len + wqe->mss, ERNIC_FRAME_MIN), n, at = 0, left;
    ErnicSegmentation s;

    if (wqe->insert || !ernic_segmentation_init(&s, wqe->head, wqe->head_len, wqe->mss)) {
        return ERNIC_FAULT_SEND_WQE;
    }
    if (!wqe->len || wqe->len > 1u << ERNIC_MLX5_LOG_LSO || q->sent >= wqe->len ||
        seg > ERNIC_ETH_FRAME_MAX) {
        return ERNIC_FAULT_SEND_LENGTH;
    }
    for (n = 0; n < ERNIC_TRAIN_PACKETS && q->sent < wqe->len &&
                at + seg <= ERNIC_TRAIN_BYTES; n++) {
        uint32_t len = MIN(wqe->mss, wqe->len - q->sent);
        uint8_t *frame = frames + n * seg;
        ErnicFault fault;

        memcpy(frame, wqe->head, wqe->head_len);
        fault = ernic_mlx5_eth_wqe_gather(e, q->pd, wqe, q->sent, frame + wqe->head_len,
                                          len);
        if (fault) {
            return fault;
        }
        left = wqe->len - q->sent - len;
        ernic_segmentation_adapt(&s, frame, len, q->sent / wqe->mss, !left);
        q->sent += len;
        at = n * seg + pad(frame, wqe->head_len + len);
    }
    commit(e, number, frames, at, seg);
    return ERNIC_FAULT_NONE;
}

/* ---- turns ------------------------------------------------------------------------- */

static void send_turn(Ernic *e, uint32_t number, uint8_t *frames)
{
    ErnicMlx5EthQueue *q = ernic_mlx5_sq_get(e, number);
    bool done = true;
    ErnicFault fault;
    Request r;

    g_assert(q->pi != q->ci && (uint16_t)(q->pi - q->ci) <= 1u << q->log_size);
    fault = fetch(e, q, &r, false);
    ernic_charge(e, 2 * r.wqe.num);             /* each piece is an access */
    if (!fault && r.wqe.opcode == ERNIC_MLX5_OP_SEND) {
        fault = send_one(e, number, q, &r.wqe, frames);
    } else if (!fault && r.wqe.opcode == ERNIC_MLX5_OP_LSO) {
        fault = send_part(e, number, q, &r.wqe, frames);
        done = fault || q->sent == r.wqe.len;
    }
    if (done) {
        complete(e, number, q, &r, fault);
    }
    ernic_mlx5_eth_mark(e, number);
}

/* Flush at least one request, if there are some, whatever is left of the slice. */
static void flush_turn(Ernic *e, uint32_t number)
{
    ErnicMlx5EthQueue *q = ernic_mlx5_eth_queue(e, number);
    bool rq = ernic_mlx5_is_rq(number);
    uint64_t end = e->work.done + FLUSH_SHARE;
    Request r;

    while (q->pi != q->ci) {
        ernic_charge(e, ERNIC_WORK_COMPLETE);
        e->stats.flushed++;
        if (rq) {
            post(e, number, q, 0, false, ERNIC_FAULT_FLUSH);
            q->ci++;
        } else {
            fetch(e, q, &r, true);
            complete(e, number, q, &r, ERNIC_FAULT_FLUSH);
        }
        if (!ernic_work_left_of(e, end)) {
            break;
        }
    }
    ernic_mlx5_eth_mark(e, number);
}

/* A turn of the next queue of a kind that flushes; false: there is none. */
static bool flush_next(Ernic *e, bool rq)
{
    ErnicMlx5Eth *eth = e->mlx5_eth;
    uint32_t i = next_bit(eth->flush[rq], eth->flushed[rq]);

    if (i) {
        ernic_charge(e, ERNIC_WORK_TURN);
        eth->flushed[rq] = i;
        flush_turn(e, i + (rq ? ERNIC_MLX5_RQN : ERNIC_MLX5_SQN));
    }
    return i;
}

static bool send_next(Ernic *e)
{
    ErnicMlx5Eth *eth = e->mlx5_eth;
    uint32_t i = next_bit(eth->send, eth->last);
    uint8_t *frames;

    /* The train that is held leaves first. */
    if (!i || !ernic_tx_frame(e, ERNIC_TRAIN_BYTES, &frames)) {
        return false;
    }
    ernic_charge(e, ERNIC_WORK_TURN);
    eth->last = i;
    send_turn(e, ERNIC_MLX5_SQN + i, frames);
    return true;
}

/* One of each kind: whoever posts to a queue in error all the time stops no other. */
bool ernic_mlx5_eth_turn(Ernic *e)
{
    bool flushed;

    /* Mostly, only queue pairs work: this is asked with each of their turns. */
    if (!ernic_mlx5_eth_has_work(e)) {
        return false;
    }
    flushed = flush_next(e, false);
    flushed |= flush_next(e, true);
    return send_next(e) || flushed;
}
