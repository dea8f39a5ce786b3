/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Software without sense at BAR 0 of an engine with the mlx5 interface:
 * commands, stores to any register and doorbell, work requests of RDMA and Ethernet
 * queues, frames and packets, any bytes in memory, in any order; memory that goes away,
 * an engine that is saved and loaded, and time that passes.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "mlx5_commands.h"
#include "interfaces/mlx5/eth/objects.h"
#include "interfaces/mlx5/init_segment.h"
#include "interfaces/mlx5/rdma/records.h"
#include "harness.h"
#include "input.h"
#include "mlx5_objects.h"
#include "transport/qp.h"

enum { MD_BAR, MD_COMMAND, MD_POKE, MD_SEND, MD_RECV, MD_FRAME, MD_ETH_SEND, MD_TIME,
       MD_SAVE, MD_LINK, MD_FAIL, MD_BUSY, MD_ARM, MD_COUNT };

/* Guest memory, by offset: the page that all rings are in, records, data. */
#define RINGS       0x10000u
#define RECORDS     0x2000u
#define DATA        0x20000u
#define PAGE16      (16u * ERNIC_MLX5_PAGE)
/* The queue pair that is connected to another host; one that is to itself. */
#define QP_AWAY     QP_RC
#define QP_SELF     4
#define SQ_BLOCKS   32
#define RQ_SLOTS    8
#define SQ_AT       (RQ_SLOTS * 64)

static FuzzHost host;

/* ---- the function ------------------------------------------------------------ */

static void start(void)
{
    Mlx5Fixture f = { };
    ErnicConfig cfg;

    fuzz_config(&cfg);
    cfg.mlx5 = &mlx5_config;
    fuzz_open_as(&host, &cfg);
    fuzz_paint(&host, host.env.base, FUZZ_MEM, FUZZ_ALL);
    f.e = host.e;
    fake_create_eq(f.e, &f.eq, 16, 0, true);
    mlx5_accept(f.e, 0x104, "");
    mlx5_accept(f.e, 0x102, "");
    mlx5_accept(f.e, 0x802, "");
    mlx5_objects(&f);
    mlx5_accept(f.e, 0x500, QP);
    mlx5_connect_qp(f.e, QP_AWAY, 0x77, 2);
    mlx5_connect_qp(f.e, QP_SELF, QP_SELF, 1);
    mlx5_ethernet(&f);
    mlx5_accept(f.e, 0x905, "sqn=0x8001\nctx.state=1");
}

/* ---- commands ------------------------------------------------------------------ */

/* A command by its place in the table, with these bytes from some place on. */
static void command(FuzzIn *in)
{
    static uint8_t message[2 * ERNIC_MLX5_MESSAGE_ROOM], out[ERNIC_MLX5_MESSAGE_ROOM];
    uint16_t opcode = mlx5_commands[fuzz_u8(in) % mlx5_num_commands].opcode;
    uint16_t op_mod = fuzz_u8(in), at = fuzz_u16(in) % 1024;
    uint32_t len = 16 + fuzz_u16(in) % (sizeof(message) - 16), slices = 0;

    memset(message, 0, sizeof(message));
    memset(out, 0, sizeof(out));
    stw_be_p(message, opcode);
    stw_be_p(message + 6, op_mod);
    fuzz_bytes(in, message + 8 + at, MIN(in->left, sizeof(message) - 8 - at));
    do {
        ernic_slice(host.e);
        if (++slices > 64) {
            fuzz_fail("work", "command 0x%x does not end", opcode);
        }
    } while (!ernic_mlx5_function_execute(&host.e->mlx5->function, message, len, out,
                                          sizeof(out)));
}

/* ---- doorbells and requests ------------------------------------------------------ */

static void store(FuzzIn *in)
{
    uint8_t how = fuzz_u8(in);
    uint32_t offset = fuzz_u32(in);
    uint64_t value = fuzz_u64(in);

    /* Most go to a doorbell of the page that exists, or to the segment. */
    offset = how & 1 ? PAGE16 + (offset & 0xff8) : how & 2 ? offset & 0x1ffc :
             offset % (ERNIC_MLX5_BAR_SIZE + 64);
    if (how & 4) {
        fuzz_bar_write(&host, offset & ~7u, 8, value);
    } else {
        fuzz_bar_write(&host, offset & ~3u, 4, value);
    }
    fuzz_bar_read(&host, offset & ~3u, 4);
    if (how & 8) {
        fuzz_page_rung(&host, how & 16 ? 0 : offset / ERNIC_MLX5_PAGE %
                                             ERNIC_MLX5_UAR_END);
    }
}

static uint8_t *guest(uint32_t off, uint32_t len)
{
    return fake_ptr(&host.env, host.env.base + off, len);
}

/* Write @block at the producer of the send ring of queue @number, and ring. */
static void ring_send(uint32_t number, uint32_t at, uint32_t pi, const uint8_t *bytes,
                      uint32_t blocks)
{
    for (uint32_t i = 0; i < blocks; i++) {
        memcpy(guest(RINGS + at + (pi + i) % SQ_BLOCKS * 64, 64), bytes + i * 64, 64);
    }
    stl_be_p(guest(RECORDS + 4, 4), pi + blocks);
    fuzz_bar_write(&host, PAGE16 + 0x800, 8, (uint64_t)number << 8);
    fuzz_settle(&host, 16);
}

/*
 * A request: the control segment, then segments by a byte each: remote address, data,
 * inline data, or the bytes of the input.
 */
static uint32_t request(FuzzIn *in, uint8_t *bytes, uint32_t number, uint32_t pi)
{
    uint8_t opcode = fuzz_u8(in), flags = fuzz_u8(in), more = fuzz_u8(in) % 8;
    uint32_t n = 1;

    stl_be_p(bytes, pi << 8 | opcode);
    bytes[11] = flags;
    stl_be_p(bytes + 12, fuzz_u32(in));
    for (; more--; n++) {
        uint8_t *segment = bytes + n * 16;

        switch (fuzz_u8(in) % 4) {
        case 0:
            stq_be_p(segment, 0x7f0010 + fuzz_u16(in) % 9000);
            stl_be_p(segment + 8, MKEY_MTT << 8 | 0x5a);
            break;
        case 1:
            stl_be_p(segment, fuzz_u16(in));
            stl_be_p(segment + 4, MKEY_PA << 8 | 0x11);
            stq_be_p(segment + 8, host.env.base + DATA + fuzz_u16(in));
            break;
        case 2:
            stl_be_p(segment, 0x80000000u | fuzz_u8(in));
            break;
        default:
            fuzz_bytes(in, segment, 16);
            break;
        }
    }
    stl_be_p(bytes + 4, number << 8 | (flags & 0x80 ? flags & 0x3f : n));
    return DIV_ROUND_UP(n, 4);
}

static void send_request(FuzzIn *in)
{
    uint32_t qpn = 2 + fuzz_u8(in) % 3;
    uint8_t bytes[4 * 64] = { };
    uint32_t pi = host.e->qp[qpn].sq.wq.pi;

    ring_send(qpn, SQ_AT, pi, bytes, request(in, bytes, qpn, pi));
}

static void send_frame(FuzzIn *in)
{
    uint8_t bytes[4 * 64] = { };
    uint32_t pi = host.e->mlx5_eth->sq[1].pi;

    ring_send(ERNIC_MLX5_SQN + 1, 0, pi, bytes,
              request(in, bytes, ERNIC_MLX5_SQN + 1, pi));
}

/* Requests in the slots of all receive rings, which share their page. */
static void receive_requests(FuzzIn *in)
{
    uint16_t pi = fuzz_u16(in);

    for (uint32_t i = 0; i < RQ_SLOTS && in->left; i++) {
        uint8_t *slot = guest(RINGS + i * 64, 64);

        stl_be_p(slot, fuzz_u16(in));
        stl_be_p(slot + 4, MKEY_PA << 8 | 0x11);
        stq_be_p(slot + 8, host.env.base + DATA + fuzz_u16(in));
        stl_be_p(slot + 16, fuzz_u8(in));
        stl_be_p(slot + 20, fuzz_u8(in) % 2 ? ERNIC_MLX5_END_KEY : MKEY_PA << 8 | 0x11);
    }
    stl_be_p(guest(RECORDS, 4), pi);
    fuzz_settle(&host, 16);
}

/* ---- the wire -------------------------------------------------------------------- */

/* A frame whose destination an entry of the flow tables has. */
static void frame(FuzzIn *in)
{
    static uint8_t bytes[2048];
    uint32_t len = 14 + fuzz_u16(in) % (sizeof(bytes) - 14);

    memset(bytes, 0x5a, sizeof(bytes));
    memcpy(bytes, "\x52\x54\x00\xab\0\0", 6);
    fuzz_bytes(in, bytes + 6, MIN(in->left, sizeof(bytes) - 6));
    fuzz_rx_raw(&host, bytes, len, FUZZ_ALL, FUZZ_ALL);
    fuzz_rx_frame(&host, bytes, len, FUZZ_ALL, FUZZ_ALL);
}

/* ---- steps ------------------------------------------------------------------------ */

static void poke(FuzzIn *in)
{
    uint32_t off = fuzz_u32(in) % FUZZ_MEM;

    fuzz_bytes(in, host.env.mem + off, MIN(in->left, FUZZ_MEM - off));
}

/* In the Error state the device looks for receive requests each 0.1 ms. */
static bool polls(void)
{
    for (uint32_t id = 1; id < host.e->cfg.max_qp; id++) {
        if (host.e->qp[id].used && host.e->qp[id].state == ERNIC_QPS_ERR) {
            return true;
        }
    }
    return false;
}

/* Time passes in short steps, of which one is enough for a device that polls. */
static void pass_ns(uint64_t ns)
{
    const uint64_t step = 10 * 1000 * 1000;
    bool last;

    do {
        last = ns <= step || polls();
        fuzz_pass(&host, MIN(ns, step), 16);
        ns -= MIN(ns, step);
    } while (!last);
}

static void pass(FuzzIn *in)
{
    uint64_t ns = (uint64_t)fuzz_u8(in) << fuzz_u8(in) % 28;

    pass_ns(ns);
}

/* Arm the event queue and the completion queue. */
static void arm(FuzzIn *in)
{
    uint32_t eqn = fuzz_u8(in) % 4, ci = fuzz_u16(in);

    fuzz_bar_write(&host, PAGE16 + 0x40, 4, eqn << 24 | ci);
    fuzz_bar_write(&host, PAGE16 + 0x20, 8, (uint64_t)fuzz_u32(in) << 32 | 1);
}

static void step(uint8_t kind, FuzzIn *in)
{
    static void (*const steps[MD_COUNT])(FuzzIn *in) = {
        [MD_BAR] = store, [MD_COMMAND] = command, [MD_POKE] = poke,
        [MD_SEND] = send_request, [MD_RECV] = receive_requests, [MD_FRAME] = frame,
        [MD_ETH_SEND] = send_frame, [MD_TIME] = pass, [MD_ARM] = arm,
    };

    kind %= MD_COUNT;
    switch (kind) {
    case MD_SAVE:
        fuzz_reload(&host);
        break;
    case MD_LINK:
        fuzz_set_link(&host, fuzz_u8(in) & 1);
        break;
    case MD_FAIL:
        fake_fail_dma(&host.env, 1 + fuzz_u8(in), fuzz_u8(in) & 1);
        break;
    case MD_BUSY:
        host.env.tx_busy = fuzz_u8(in) & 1;
        fuzz_tx_ready(&host);
        break;
    default:
        steps[kind](in);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FuzzIn in = { data, size }, record;
    uint32_t records = 0;
    uint8_t kind;

    start();
    while (records++ < 64 && fuzz_record(&in, &kind, &record)) {
        step(kind, &record);
        fuzz_settle(&host, 8);
        fuzz_check(&host);
    }
    host.env.tx_busy = false;
    fuzz_tx_ready(&host);
    pass_ns(1000000000);
    fuzz_check(&host);
    fuzz_reload(&host);
    fuzz_close(&host);
    return 0;
}

/* ---- input that means something ---------------------------------------------------- */

uint8_t fuzz_make(FuzzRng *rng, FuzzOut *out)
{
    static const uint8_t opcodes[] = {
        0x00, 0x01, 0x08, 0x09, 0x0a, 0x0b, 0x10, 0x11, 0x12, 0x25, 0x0e,
    };
    uint8_t kind = fuzz_rand(rng, MD_COUNT);

    if (kind == MD_SEND || kind == MD_ETH_SEND) {
        if (kind == MD_SEND) {
            fuzz_put(out, 1, fuzz_rand(rng, 3));
        }
        fuzz_put(out, 1, opcodes[fuzz_rand(rng, G_N_ELEMENTS(opcodes))], 0x08,
                 fuzz_rand(rng, 4));
        fuzz_put(out, 4, 0);
    } else if (kind == MD_COMMAND) {
        fuzz_put(out, 1, fuzz_rand(rng, mlx5_num_commands),
                 fuzz_rand(rng, 4) ? 0 : fuzz_rand(rng, 8));
        fuzz_put(out, 2, fuzz_rand(rng, 4) ? 0 : fuzz_rand(rng, 512), 512);
    } else if (kind == MD_BAR) {
        fuzz_put(out, 1, fuzz_rand(rng, 32));
    }
    fuzz_put_bytes(out, rng, 4u << fuzz_rand(rng, 5), 2, 1);
    return kind;
}
