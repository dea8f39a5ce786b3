/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Hostile saved states. A state that was loaded has to hold all invariants, to save as
 * it was loaded, and to withstand everything that can happen to an engine. A refused
 * state leaves the engine as if it were new.
 *
 * The input names a valid state and changes to it, or is a state of its own. Pieces of it
 * may be sent ahead, and hostile ones, too.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "ahead.h"
#include "mlx5_commands.h"
#include "interfaces/mlx5/eth/objects.h"
#include "interfaces/mlx5/init_segment.h"
#include "interfaces/pg332/register_file.h"
#include "objects/cq.h"
#include "steering/flow.h"
#include "harness.h"
#include "wire/icrc.h"
#include "input.h"
#include "objects/srq.h"
#include "stored_states.h"
#include "transport/qp.h"
#include "world.h"

/* Records. The first byte of a patch says how wide the change is. */
enum {
    ST_BASE, ST_PATCH, ST_CUT, ST_INSERT, ST_RAW, ST_MOVE, ST_PART, ST_HOLE, ST_COUNT
};

/* States of world.c, and those of engines of other configurations with traffic. */
#define WORLDS  7
#define BASES   (WORLDS + STORED_STATES)

static FuzzHost host;
static GByteArray *base[BASES];
static uint64_t base_now[BASES];        /* 0: that of a new environment */
static uint32_t chosen;                 /* the base of the input */

/* A refused state has no effect. */
static void refused(void)
{
    GByteArray *left = fake_saved(host.e);

    ernic_reset(host.e);
    fuzz_same("refused", left, fake_saved(host.e));
}

/* The SRQ that a peer of XRC target @qp would name; 0: there is none. */
static uint32_t srq_of_domain(const ErnicQp *qp)
{
    for (uint32_t id = 1; id < host.e->cfg.max_srq; id++) {
        if (ernic_srq_in_domain(host.e, id, qp->pd)) {
            return id;
        }
    }
    return 0;
}

/* A frame of UDP over IPv4 to the address that a rule names. */
static void frame_for(const ErnicFlow *flow)
{
    uint8_t frame[60] = { [12] = 8, [14] = 0x45, [23] = ERNIC_IPPROTO_UDP };

    memcpy(frame, flow->value.dmac, sizeof(flow->value.dmac));
    fuzz_rx_raw(&host, frame, sizeof(frame), FUZZ_ALL, FUZZ_ALL);
}

/* One packet for queue pair @qpn, of its transport and from its peer. */
static void packet(uint32_t qpn, ErnicOp op)
{
    const ErnicQp *qp = &host.e->qp[qpn];
    const ErnicOpcode *row;
    uint8_t buf[ERNIC_PKT_HDR_MAX + 64] = { 0 };
    ErnicTrain train = { .data = buf };
    ErnicIcrcCtx icrc;
    ErnicPkt pkt;
    uint32_t len;

    row = qp->transport == ERNIC_RAW ? NULL :
          ernic_opcode(ernic_bth_opcode(qp->transport, op));
    if (!row) {
        return;
    }
    pkt = (ErnicPkt) {
        .op = row, .transport = qp->transport, .dest_qp = qpn,
        .psn = row->flags & ERNIC_OPF_REQ ? qp->rq.epsn : qp->sq.una_psn,
        .pkey = host.e->pkey[qp->attr.pkey_index], .qkey = qp->attr.qkey,
        .ackreq = true, .va = host.env.base, .rkey = 0x100, .dma_len = 16,
        .syndrome = 0x1f, .xrcsrq = srq_of_domain(qp),
        .payload_len = row->hdrs & ERNIC_HDR_DATA ? 16 : 0,
    };
    if (!ernic_qp_path(host.e, qp, &qp->attr.av, &train.path)) {
        return;
    }
    train.path.sgid = qp->attr.av.dgid;
    train.path.dgid = host.e->gid[qp->attr.av.sgid_index].gid;
    ernic_icrc_init(&icrc, &train.path);
    len = ernic_pkt_emit_hdr(&pkt, buf);
    train.len = train.seg = ernic_pkt_finish(&icrc, buf,
                                             len + pkt.payload_len);
    fuzz_rx(&host, &train, FUZZ_ALL, FUZZ_ALL);
}

/* Packets for a queue pair in use. */
static void packets(uint32_t qpn)
{
    static const ErnicOp ops[] = {
        ERNIC_OP_SEND_ONLY, ERNIC_OP_WRITE_ONLY, ERNIC_OP_READ_REQUEST,
        ERNIC_OP_SEND_LAST, ERNIC_OP_READ_RSP_MIDDLE, ERNIC_OP_ACK,
    };

    for (uint32_t i = 0; i < ARRAY_SIZE(ops); i++) {
        packet(qpn, ops[i]);
    }
}

/* Time passes, and the link takes trains. */
static void pass(void)
{
    fuzz_settle(&host, 16);
    fuzz_pass(&host, 1000000, 8);
    fuzz_tx_ready(&host);
    fuzz_pass(&host, 1000000000, 32);
    fuzz_check(&host);
}

/* Software posts a request to each queue of queue pair @id. */
static void post(uint32_t id)
{
    const ErnicQp *qp = &host.e->qp[id];

    fuzz_doorbell(&host, qp->uctx, ERNIC_DB(ERNIC_DB_SQ, id, qp->sq.wq.pi + 1), FUZZ_ALL);
    fuzz_doorbell(&host, qp->uctx, ERNIC_DB(ERNIC_DB_RQ, id, qp->rq.wq.pi + 1), FUZZ_ALL);
}

static void everything(void)
{
    for (uint32_t id = 1; id < host.e->cfg.max_qp; id++) {
        if (host.e->qp[id].used) {
            packets(id);
            post(id);
        }
    }
    for (uint32_t id = 1; id <= ERNIC_LIM_FLOW; id++) {
        if (host.e->flow[id].used) {
            frame_for(&host.e->flow[id]);
        }
    }
    for (uint32_t id = 1; id < host.e->cfg.max_cq; id++) {
        fuzz_doorbell(&host, host.e->cq[id].uctx,
                      ERNIC_DB(ERNIC_DB_CQ_ARM, id, host.e->cq[id].pi),
                      FUZZ_ALL);
    }
    pass();
}

/* Software posts to every queue pair and moves it to Error: the requests flush. */
static void flush(void)
{
    const struct ernic_qp_attr attr = { .mask = cpu_to_le32(ERNIC_QPA_STATE),
                                        .state = ERNIC_QPS_ERR };
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_QP_MODIFY };

    cmd.qp.addr = cpu_to_le64(host.env.base);
    cmd.qp.length = cpu_to_le32(sizeof(attr));
    for (uint32_t id = 1; id < host.e->cfg.max_qp; id++) {
        if (!host.e->qp[id].used) {
            continue;
        }
        post(id);
        memcpy(host.env.mem, &attr, sizeof(attr));
        cmd.uctx = cpu_to_le32(host.e->qp[id].uctx);
        cmd.qp.handle = cpu_to_le32(id);
        fuzz_cmd(&host, &cmd, NULL);
    }
    pass();
}

/* Software writes 1 to every register of the global block and of four queue pairs. */
static void registers(void)
{
    static const struct {
        ErnicRegScope scope;
        uint32_t num;
    } parts[] = { { ERNIC_REG_QP, 4 }, { ERNIC_REG_REGION, 1 }, { ERNIC_REG_GLOBAL, 1 } };
    const ErnicRegBlockDef *blocks = ernic_reg_blocks[host.e->cfg.pg332 - 1];

    for (uint32_t i = 0; i < ARRAY_SIZE(parts); i++) {
        const ErnicRegBlockDef *block = &blocks[parts[i].scope];

        for (uint32_t k = 0; k < parts[i].num; k++) {
            for (uint32_t off = 0; off < block->size; off += 4) {
                fuzz_reg_write(&host, block->base + k * PG332_SLOT + off, 1);
            }
            fuzz_settle(&host, 4);
        }
    }
    fuzz_pass(&host, 1000000000, 32);
    fuzz_check(&host);
}

/* Nothing is left of the objects. */
static void assert_empty(void)
{
    for (uint32_t id = 1; id < host.e->cfg.max_qp; id++) {
        if (host.e->qp[id].used || fuzz_break("destroy")) {
            fuzz_fail("destroy", "queue pair 0x%x stays", id);
        }
    }
    if (host.e->num_pages) {
        fuzz_fail("destroy", "%u pages are kept", host.e->num_pages);
    }
}

/* ---- the mlx5 interface ------------------------------------------------- */

/* A doorbell in every page that there may be. */
static void ring(uint32_t offset, uint32_t size, uint64_t value)
{
    enum { PAGES = 2 };

    for (uint32_t page = 0; page < PAGES; page++) {
        fuzz_bar_write(&host, (ERNIC_MLX5_UAR_FIRST + page) * ERNIC_MLX5_PAGE + offset,
                       size, value);
    }
}

/* Doorbells of every queue; packets, and frames to the function and to a group. */
static void traffic(void)
{
    enum { CQ_ARM = 0x20, EQ_ARM = 0x40, SEND = 0x800 };
    uint8_t frame[60] = { [12] = 8, [14] = 0x45, [23] = ERNIC_IPPROTO_UDP };

    for (uint32_t id = 1; id < host.e->cfg.max_qp; id++) {
        if (host.e->qp[id].used) {
            packets(id);
        }
        ring(SEND, 8, id << 8);
    }
    for (uint32_t id = 1; id < host.e->cfg.max_cq; id++) {
        ring(CQ_ARM, 8, id);
    }
    for (uint32_t id = 1; id < host.e->cfg.max_eq; id++) {
        ring(EQ_ARM, 4, id << 24);
    }
    for (uint32_t id = 1; id <= ERNIC_LIM_ETH_QUEUE; id++) {
        if (host.e->mlx5_eth->sq[id].used) {
            ring(SEND, 8, (ERNIC_MLX5_SQN + id) << 8);
        }
    }
    memcpy(frame, ernic_mlx5_vport_mac(&host.e->mlx5->function), 6);
    fuzz_rx_raw(&host, frame, sizeof(frame), FUZZ_ALL, FUZZ_ALL);
    memset(frame, 0xff, 6);
    fuzz_rx_raw(&host, frame, sizeof(frame), FUZZ_ALL, FUZZ_ALL);
    pass();
}

/* Every command that leaves the function running, with a number in its second word. */
static void commands(uint32_t number)
{
    enum { TEARDOWN_HCA = 0x103, DISABLE_HCA = 0x105, SLICES = 64 };
    static uint8_t in[ERNIC_MLX5_MESSAGE_ROOM], out[ERNIC_MLX5_MESSAGE_ROOM];
    ErnicMlx5Function *f = &host.e->mlx5->function;
    uint32_t i, slices;

    stl_be_p(in + 8, number);
    for (i = 0; i < mlx5_num_commands; i++) {
        uint16_t opcode = mlx5_commands[i].opcode;

        stw_be_p(in, opcode);
        slices = 0;
        if (opcode == TEARDOWN_HCA || opcode == DISABLE_HCA) {
            continue;
        }
        do {
            ernic_slice(host.e);
            if (++slices > SLICES) {
                fuzz_fail("work", "command 0x%x does not end", opcode);
            }
        } while (!ernic_mlx5_function_execute(f, in, sizeof(in), out, sizeof(out)));
        fuzz_check(&host);
    }
    fuzz_settle(&host, 16);
}

/* Software disables the function: all objects go. */
static void disable(void)
{
    enum { QUEUE_LOW = 0x14, DISABLED = 1 << 8 };

    fuzz_bar_write(&host, QUEUE_LOW, 4, DISABLED);
    fuzz_settle(&host, 64);
    fuzz_check(&host);
    assert_empty();
}

/* ---- the other interfaces ---------------------------------------------------- */

/* Take everything down again, as a driver does: what refers first. */
static void destroy(void)
{
    static const uint8_t order[] = {
        ERNIC_CMD_RSS_DESTROY, ERNIC_CMD_QP_DESTROY, ERNIC_CMD_SRQ_DESTROY,
        ERNIC_CMD_MW_FREE, ERNIC_CMD_MR_FREE, ERNIC_CMD_CQ_DESTROY, ERNIC_CMD_EQ_DESTROY,
        ERNIC_CMD_PD_FREE,
    };
    struct ernic_cmd cmd = { 0 };

    for (uint32_t i = 0; i < ARRAY_SIZE(order); i++) {
        bool key = order[i] == ERNIC_CMD_MW_FREE ||
                   order[i] == ERNIC_CMD_MR_FREE;
        uint32_t first = order[i] == ERNIC_CMD_RSS_DESTROY ? ERNIC_RSS_QPN : 0;

        for (uint32_t uctx = 0; uctx < host.e->cfg.max_uctx; uctx++) {
            for (uint32_t id = 1; id < host.e->cfg.max_mr; id++) {
                cmd.opcode = order[i];
                cmd.uctx = cpu_to_le32(uctx);
                cmd.handle.handle = cpu_to_le32(key ? id << 8 : first + id);
                fuzz_cmd(&host, &cmd, NULL);
            }
        }
    }
    fuzz_check(&host);
    assert_empty();
}

/* ---- valid states ----------------------------------------------------- */

/* Rows of world_rows, and what has happened to them. */
static const struct {
    uint32_t rows;
    bool busy, lazy;
} bases[WORLDS] = {
    { 0x1 },
    { 0x1 | 1 << 1 | 1 << 2, .busy = true },
    { 0x1 | 1 << 3 | 1 << 4 | 1 << 8, .lazy = true },
    { 0x1 | 1 << 10 | 1 << 11 | 1 << 12, .busy = true, .lazy = true },
    { 0x1 | 1 << 13 | 1 << 14 | 1 << 16, .lazy = true },
    { 0x1ffff },
    { 0x1 | 0x3f << 17 },
};

static void make_base(uint32_t n)
{
    static World w;

    base[n] = g_byte_array_new();
    if (n >= WORLDS) {
        base_now[n] = stored_states[n - WORLDS].make(base[n]);
        return;
    }
    world_open(&w, bases[n].rows);
    w.g.lazy = bases[n].lazy;
    w.g.h.env.tx_busy = bases[n].busy;
    for (uint32_t i = 0; i < w.g.qps; i++) {
        world_send(&w, &w.g.qp[i], ERNIC_WR_SEND, ERNIC_WR_SIGNALED, 900);
        world_recv(&w, guest_rq(&w.g, &w.g.qp[i]), 500);
    }
    fuzz_run(&w.g.h);
    ernic_save(w.g.h.e, base[n]);
    fuzz_close(&w.g.h);
}

static GByteArray *start(const FuzzIn *in)
{
    FuzzIn rec = *in;
    GByteArray *state = g_byte_array_new();
    uint32_t n = fuzz_u8(&rec) % BASES;

    if (!base[n]) {
        make_base(n);
    }
    chosen = n;
    g_byte_array_append(state, base[n]->data, base[n]->len);
    return state;
}

static void change(GByteArray *state, uint8_t kind, FuzzIn *in)
{
    uint32_t at, len;
    uint8_t fill;

    if (!state->len) {
        return;
    }
    at = fuzz_u32(in) % state->len;
    switch (kind) {
    case ST_PATCH:
        len = MIN(in->left, state->len - at);
        fuzz_bytes(in, state->data + at, len);
        break;
    case ST_CUT:
        len = fuzz_u16(in);
        g_byte_array_remove_range(state, at, MIN(len, state->len - at));
        break;
    default:
        len = fuzz_u16(in) % 512;
        fill = fuzz_u8(in);
        for (; len; len--) {
            g_byte_array_append(state, &fill, 1);
        }
        break;
    }
}

/* Pieces of a valid state, sent ahead, make it whole again. */
static void check_whole(const GByteArray *state)
{
    GByteArray *whole = g_byte_array_new(), *want = g_byte_array_new();

    g_byte_array_append(whole, state->data, state->len);
    g_byte_array_append(want, base[chosen]->data, base[chosen]->len);
    fuzz_same("whole", whole, want);
}

/* NULL: the destination refuses what was sent ahead. */
static GByteArray *state_of(const uint8_t *data, size_t size)
{
    FuzzIn in = { data, size }, rec;
    GByteArray *state = g_byte_array_new();
    bool valid = false, filled;
    uint32_t records = 0;
    uint8_t kind;

    ahead_clear();
    while (records++ < 64 && fuzz_record(&in, &kind, &rec)) {
        kind %= ST_COUNT;
        valid = kind == ST_BASE || (valid && kind == ST_MOVE);
        if (kind == ST_BASE) {
            g_byte_array_free(state, true);
            ahead_clear();
            state = start(&rec);
        } else if (kind == ST_RAW) {
            g_byte_array_append(state, rec.p, rec.left);
        } else if (kind == ST_MOVE) {
            ahead_move(state, &rec);
        } else if (kind == ST_PART) {
            ahead_part(&rec);
        } else if (kind == ST_HOLE) {
            ahead_hole(&rec);
        } else {
            change(state, kind, &rec);
        }
    }
    filled = ahead_fill(state);
    if (valid) {
        check_whole(state);
    }
    if (!filled) {
        g_byte_array_free(state, true);
    }
    return filled ? state : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    GByteArray *state;

    chosen = 0;
    state = state_of(data, size);
    if (!state) {
        return 0;
    }
    if (chosen < WORLDS) {
        fuzz_open(&host, 1);
    } else {
        fuzz_open_as(&host, &stored_states[chosen - WORLDS].cfg);
        host.env.now = base_now[chosen];
    }
    fuzz_paint(&host, host.env.base, FUZZ_MEM, FUZZ_ALL);
    host.any_packet = true;
    if (ernic_load(host.e, host.env.now, state->data, state->len)) {
        fuzz_check(&host);
        fuzz_reload(&host);
        if (host.e->regs) {
            registers();
        } else if (host.e->mlx5) {
            traffic();
            commands(0);
            commands(1);
            traffic();
            fuzz_reload(&host);
            disable();
        } else {
            everything();
            flush();
            fuzz_reload(&host);
            destroy();
        }
    } else {
        refused();
    }
    fuzz_close(&host);
    g_byte_array_free(state, true);
    return 0;
}

/* ---- input that means something --------------------------------------- */

uint8_t fuzz_make(FuzzRng *rng, FuzzOut *out)
{
    uint8_t kind = fuzz_rand(rng, 3) ? ST_PATCH : fuzz_rand(rng, ST_COUNT);
    uint32_t n = 1 + fuzz_rand(rng, 64);

    switch (kind) {
    case ST_BASE:
        fuzz_put(out, 1, fuzz_rand(rng, BASES));
        return kind;
    case ST_PART:
        fuzz_put(out, 1, 1 + fuzz_rand(rng, 4));
        fuzz_put(out, 4, n, 1 + fuzz_rand(rng, n));
        return kind;
    case ST_HOLE:
        fuzz_put(out, 8, fuzz_rand(rng, 4096));
        fuzz_put(out, 1, 1 + fuzz_rand(rng, 4));
        return kind;
    case ST_MOVE:
        fuzz_put(out, 4, fuzz_rand(rng, UINT32_MAX));
        fuzz_put(out, 2, n);
        return kind;
    }
    fuzz_put(out, 4, fuzz_rand(rng, UINT32_MAX));
    fuzz_put_bytes(out, rng, 1u << fuzz_rand(rng, 4), 3, 1);
    return kind;
}
