/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The implementation of mlx5.h, after docs/mlx5-interface.md. Fields are offset and
 * width in bits, as in the layouts of hw/rdma-ernic/engine/interfaces/mlx5.
 */
#include "mlx5.h"

#define SLOT            64          /* bytes, of each ring's entries */
#define LOG_CQ          (MLX5_LOG_DEPTH + 1)
#define LOG_EQ          6
#define COMMAND         7           /* type of the entries of the command queue */
#define TOKEN           1
#define BOX             512         /* bytes of a message in a mailbox */
#define VECTOR_INDEX    1           /* of the MSI-X table */
#define END_KEY         0x100
#define NO_ENTRY        0xf1        /* last byte of an entry that nobody has written */

/* The initialization segment, and the pages of doorbells after it. */
enum { QUEUE_HIGH = 0x10, QUEUE_LOW = 0x14, DOORBELL = 0x18, INITIALIZING = 0x1fc,
       TIMER_HIGH = 0x1000, TIMER_LOW = 0x1004 };
enum { UAR_CQ = 0x20, UAR_EQ_ARM = 0x40, UAR_EQ_SET = 0x48, UAR_BLUE_FLAME = 0x800 };

enum {
    QUERY_PAGES = 0x107, INIT_HCA = 0x102, ENABLE_HCA = 0x104, QUERY_ISSI = 0x10a,
    SET_ISSI = 0x10b, CREATE_MKEY = 0x200, CREATE_EQ = 0x301, CREATE_CQ = 0x400,
    CREATE_QP = 0x500, RST2INIT_QP = 0x502, INIT2RTR_QP = 0x503, RTR2RTS_QP = 0x504,
    TO_ERROR_QP = 0x507, TO_RESET_QP = 0x50a, SET_ROCE_ADDRESS = 0x761,
    ALLOC_PD = 0x800, ALLOC_UAR = 0x802,
};

/* Kinds of completions: the high half of an entry's last byte. */
enum { REQUEST = 0x0, RECEIVED = 0x2, REQUEST_ERROR = 0xd, RECEIVE_ERROR = 0xe };

/* Contexts in messages, in bytes. */
#define IN_CONTEXT      16
#define IN_QPC          24
#define IN_PATH         (IN_QPC + 24)
#define IN_LIST         272
#define MESSAGE         (IN_LIST + 8)

/* Fields of eqc, cqc, mkc, qpc, ads and roce_addr_layout. */
#define LOG_EQ_SIZE     0x63, 5
#define LOG_CQ_SIZE     0x63, 5
#define UAR_PAGE        0x68, 24
#define EQ_INTR         0xb4, 12
#define CQ_EQN          0xa0, 32
#define MKEY_ACCESS     0x12, 4     /* local and remote, read and write */
#define MKEY_QPN        0x20, 24
#define MKEY_WHOLE_BUS  0x60, 1
#define MKEY_PD         0x68, 24
#define QPC_PM_STATE    0x13, 2
#define QPC_PD          0x28, 24
#define QPC_MTU         0x40, 3
#define QPC_LOG_RQ      0x49, 4
#define QPC_RQ_STRIDE   0x4d, 3
#define QPC_LOG_SQ      0x51, 4
#define QPC_REMOTE_QPN  0xa8, 24
#define QPC_LOG_SRA     0x388, 3
#define QPC_RETRY       0x38d, 3
#define QPC_RNR_RETRY   0x390, 3
#define QPC_SEND_PSN    0x3c8, 24
#define QPC_SEND_CQ     0x3e8, 24
#define QPC_LOG_RRA     0x488, 3
#define QPC_REMOTE      0x490, 2    /* READ and WRITE */
#define QPC_MIN_RNR     0x4a3, 5
#define QPC_RECV_PSN    0x4a8, 24
#define QPC_RECV_CQ     0x4e8, 24
#define PATH_TIMEOUT    0x40, 5
#define PATH_HOP_LIMIT  0x58, 8
#define PATH_PORT       0x128, 8
#define PATH_MAC_HIGH   0x130, 16
#define PATH_MAC_LOW    0x140, 32
#define GID_MAC_HIGH    0x90, 16
#define GID_MAC_LOW     0xa0, 32
#define GID_ROCE        0xd8, 8
#define IN_QPN          0x48, 24

#define MIGRATED        3
#define MTU_1024        3
#define FOREVER         7
#define ROCE_V2         2
#define MAC             0x5254

void *memcpy(void *to, const void *from, size_t len);
void *memset(void *to, int byte, size_t len);

typedef struct Mailbox {
    uint8_t data[BOX];
    uint8_t pad[48], next[8], number[4], pad2, token, pad3[2];
    uint8_t rest[1024 - 576];
} Mailbox;

struct Mlx5Memory {
    uint8_t command[4096];
    uint8_t eq[1 << LOG_EQ][SLOT] __attribute__((aligned(4096)));
    uint8_t cq[1 << LOG_CQ][SLOT] __attribute__((aligned(4096)));
    struct {
        uint8_t rq[MLX5_DEPTH][SLOT], sq[MLX5_DEPTH][SLOT];
    } ring __attribute__((aligned(4096)));
    Mailbox box[(MESSAGE - 16 + BOX - 1) / BOX] __attribute__((aligned(4096)));
    struct {
        uint32_t received, sent, polled, armed;
    } record __attribute__((aligned(64)));
    uint8_t buf[MLX5_BUF] __attribute__((aligned(4096)));
} __attribute__((aligned(4096)));

static Mlx5Memory memories[MLX5_FUNCTIONS];

static uint32_t be32(uint32_t value)
{
    return __builtin_bswap32(value);
}

static void put32(void *at, uint32_t value)
{
    value = be32(value);
    memcpy(at, &value, sizeof(value));
}

static uint32_t get32(const void *at)
{
    uint32_t value;

    memcpy(&value, at, sizeof(value));
    return be32(value);
}

/* The program's addresses have 32 bits. */
static void put_address(uint8_t *at, const void *address)
{
    put32(at, 0);
    put32(at + 4, (uintptr_t)address);
}

static void field(uint8_t *p, uint32_t bit, uint32_t width, uint32_t value)
{
    while (width--) {
        uint32_t at = bit + width;

        if (value & 1) {
            p[at / 8] |= 0x80 >> at % 8;
        }
        value >>= 1;
    }
}

static void put_gid(uint8_t *to, uint8_t host)
{
    memset(to, 0, 10);
    memset(to + 10, 0xff, 2);
    put32(to + 12, 10 << 24 | host);
}

static uint32_t reg_get(const Mlx5 *x, uint32_t at)
{
    return be32(*(volatile uint32_t *)(x->bar + at));
}

static void reg_put(const Mlx5 *x, uint32_t at, uint32_t value)
{
    barrier();
    *(volatile uint32_t *)(x->bar + at) = be32(value);
}

/* Executes @in, which must succeed; returns the second half of its answer. */
static uint32_t execute(Mlx5 *x, uint16_t opcode, uint8_t *in, uint32_t len)
{
    uint8_t *entry = x->memory->command;
    volatile uint8_t *owner = &entry[63];
    Mailbox *box = x->memory->box;

    put32(in, opcode << 16);
    memset(entry, 0, SLOT);
    memset(box, 0, sizeof(x->memory->box));
    entry[0] = COMMAND;
    put32(entry + 4, len);
    memcpy(entry + 16, in, 16);
    if (len > 16) {
        memcpy(box->data, in + 16, len - 16);
        box->token = TOKEN;
        put_address(entry + 8, box);
    }
    put32(entry + 56, 16);
    entry[60] = TOKEN;
    entry[63] = 1;
    reg_put(x, DOORBELL, 1);
    while (*owner & 1) {
    }
    barrier();
    if (*owner || entry[32]) {
        put("command");
        put_num(opcode);
        put_num(*owner ? *owner : entry[32]);
        put_num(get32(entry + 36));
        power_off("failed");
    }
    return get32(entry + 40);
}

/* A command of 16 bytes, with the word @b. */
static uint32_t command(Mlx5 *x, uint16_t opcode, uint16_t op_mod, uint32_t b)
{
    uint8_t in[16] = { };

    put32(in + 4, op_mod);
    put32(in + 8, b);
    return execute(x, opcode, in, sizeof(in));
}

static void attach(Mlx5 *x)
{
    while (reg_get(x, INITIALIZING) >> 31) {
    }
    reg_put(x, QUEUE_HIGH, 0);
    reg_put(x, QUEUE_LOW, (uintptr_t)x->memory->command);
    command(x, ENABLE_HCA, 0, 0);
    command(x, QUERY_ISSI, 0, 0);
    command(x, SET_ISSI, 0, 1);
    command(x, QUERY_PAGES, 1, 0);
    command(x, QUERY_PAGES, 2, 0);
    command(x, INIT_HCA, 0, 0);
    x->uar = command(x, ALLOC_UAR, 0, 0);
    x->pd = command(x, ALLOC_PD, 0, 0);
}

static void create_eq(Mlx5 *x)
{
    uint8_t in[MESSAGE] = { };

    for (uint32_t i = 0; i < 1 << LOG_EQ; i++) {
        x->memory->eq[i][SLOT - 1] = 1;
    }
    field(in + IN_CONTEXT, LOG_EQ_SIZE, LOG_EQ);
    field(in + IN_CONTEXT, UAR_PAGE, x->uar);
    field(in + IN_CONTEXT, EQ_INTR, VECTOR_INDEX);
    put_address(in + IN_LIST, x->memory->eq);
    x->eqn = execute(x, CREATE_EQ, in, sizeof(in)) & 0xff;
}

static void create_cq(Mlx5 *x)
{
    uint8_t in[MESSAGE] = { };

    for (uint32_t i = 0; i < 1 << LOG_CQ; i++) {
        x->memory->cq[i][SLOT - 1] = NO_ENTRY;
    }
    field(in + IN_CONTEXT, LOG_CQ_SIZE, LOG_CQ);
    field(in + IN_CONTEXT, UAR_PAGE, x->uar);
    field(in + IN_CONTEXT, CQ_EQN, x->eqn);
    put_address(in + IN_CONTEXT + 56, &x->memory->record.polled);
    put_address(in + IN_LIST, x->memory->cq);
    x->cqn = execute(x, CREATE_CQ, in, sizeof(in)) & 0xffffff;
}

static void create_mkey(Mlx5 *x)
{
    uint8_t in[IN_LIST] = { };

    field(in + IN_CONTEXT, MKEY_ACCESS, 0xf);
    field(in + IN_CONTEXT, MKEY_QPN, 0xffffff);         /* of any queue pair */
    field(in + IN_CONTEXT, MKEY_WHOLE_BUS, 1);
    field(in + IN_CONTEXT, MKEY_PD, x->pd);
    x->key = execute(x, CREATE_MKEY, in, sizeof(in)) << 8;
}

static void create_qp(Mlx5 *x)
{
    uint8_t in[MESSAGE] = { };

    field(in + IN_QPC, QPC_PM_STATE, MIGRATED);
    field(in + IN_QPC, QPC_PD, x->pd);
    field(in + IN_QPC, QPC_LOG_RQ, MLX5_LOG_DEPTH);
    field(in + IN_QPC, QPC_RQ_STRIDE, 2);               /* 16 << 2 bytes */
    field(in + IN_QPC, QPC_LOG_SQ, MLX5_LOG_DEPTH);
    field(in + IN_QPC, UAR_PAGE, x->uar);
    field(in + IN_QPC, QPC_SEND_CQ, x->cqn);
    field(in + IN_QPC, QPC_RECV_CQ, x->cqn);
    put_address(in + IN_QPC + 160, &x->memory->record);
    put_address(in + IN_LIST, &x->memory->ring);
    x->qpn = execute(x, CREATE_QP, in, sizeof(in)) & 0xffffff;
}

static void set_gid(Mlx5 *x)
{
    uint8_t in[48] = { };

    put_gid(in + IN_CONTEXT, x->host);
    field(in + IN_CONTEXT, GID_MAC_HIGH, MAC);
    field(in + IN_CONTEXT, GID_MAC_LOW, x->host);
    field(in + IN_CONTEXT, GID_ROCE, ROCE_V2);
    execute(x, SET_ROCE_ADDRESS, in, sizeof(in));
}

void mlx5_open(Mlx5 *x, uint8_t devfn, uint8_t host)
{
    *x = (Mlx5) { .devfn = devfn, .host = host, .memory = &memories[host - 1],
                  .buf = memories[host - 1].buf };
    /* Entries of an earlier function would count as new. */
    memset(x->memory, 0, sizeof(*x->memory));
    x->bar = pci_bar(devfn, 0);
    pci_open(devfn, VECTOR_INDEX);
    attach(x);
    create_eq(x);
    create_cq(x);
    create_mkey(x);
    set_gid(x);
    create_qp(x);
}

uint64_t mlx5_time(const Mlx5 *x)
{
    uint32_t high, low;

    do {
        high = reg_get(x, TIMER_HIGH);
        low = reg_get(x, TIMER_LOW);
    } while (high != reg_get(x, TIMER_HIGH));
    return (uint64_t)high << 32 | low;
}

void mlx5_connect(Mlx5 *x, uint8_t host, uint32_t psn, uint8_t timeout)
{
    uint8_t init[IN_LIST] = { }, rtr[IN_LIST] = { }, rts[IN_LIST] = { };

    field(init, IN_QPN, x->qpn);
    field(init + IN_PATH, PATH_PORT, 1);
    field(init + IN_QPC, QPC_REMOTE, 3);
    execute(x, RST2INIT_QP, init, sizeof(init));
    field(rtr, IN_QPN, x->qpn);
    field(rtr + IN_QPC, QPC_MTU, MTU_1024);
    field(rtr + IN_QPC, QPC_REMOTE_QPN, x->qpn);
    field(rtr + IN_QPC, QPC_LOG_RRA, 2);
    field(rtr + IN_QPC, QPC_MIN_RNR, 1);
    field(rtr + IN_QPC, QPC_RECV_PSN, psn);
    field(rtr + IN_PATH, PATH_HOP_LIMIT, 64);
    field(rtr + IN_PATH, PATH_MAC_HIGH, MAC);
    field(rtr + IN_PATH, PATH_MAC_LOW, host);
    put_gid(rtr + IN_PATH + 16, host);
    execute(x, INIT2RTR_QP, rtr, sizeof(rtr));
    field(rts, IN_QPN, x->qpn);
    field(rts + IN_QPC, QPC_LOG_SRA, 2);
    field(rts + IN_QPC, QPC_RETRY, 7);
    field(rts + IN_QPC, QPC_RNR_RETRY, FOREVER);
    field(rts + IN_QPC, QPC_SEND_PSN, psn);
    field(rts + IN_PATH, PATH_TIMEOUT, timeout);
    execute(x, RTR2RTS_QP, rts, sizeof(rts));
}

void mlx5_to_error(Mlx5 *x)
{
    command(x, TO_ERROR_QP, 0, x->qpn);
}

void mlx5_to_reset(Mlx5 *x)
{
    command(x, TO_RESET_QP, 0, x->qpn);
    x->sent = x->received = 0;
    x->memory->record.received = x->memory->record.sent = 0;
}

static void put_data(uint8_t *segment, const uint8_t *addr, uint32_t len, uint32_t key)
{
    put32(segment, len);
    put32(segment + 4, key);
    put_address(segment + 8, addr);
}

void mlx5_post_recv(Mlx5 *x, uint32_t at, uint32_t len)
{
    uint8_t *wqe = x->memory->ring.rq[x->received % MLX5_DEPTH];

    put_data(wqe, x->buf + at, len, x->key);
    put_data(wqe + 16, NULL, 0, END_KEY);
    barrier();
    *(volatile uint32_t *)&x->memory->record.received = be32(++x->received & 0xffff);
}

void mlx5_post_send(Mlx5 *x, enum mlx5_opcode opcode, uint32_t at, uint32_t len,
                    uint8_t host, uint32_t peer_at)
{
    uint8_t *wqe = x->memory->ring.sq[x->sent % MLX5_DEPTH], *data = wqe + 16;
    uint64_t first;

    memset(wqe, 0, SLOT);
    wqe[11] = 0x08;                             /* with a completion */
    if (opcode != MLX5_SEND) {
        put_address(data, memories[host - 1].buf + peer_at);
        put32(data + 8, x->key);
        data += 16;
    }
    put_data(data, x->buf + at, len, x->key);
    put32(wqe, (x->sent & 0xffff) << 8 | opcode);
    put32(wqe + 4, x->qpn << 8 | (data - wqe + 16) / 16);
    barrier();
    *(volatile uint32_t *)&x->memory->record.sent = be32(++x->sent & 0xffff);
    memcpy(&first, wqe, sizeof(first));
    store64(x->bar + x->uar * 4096 + UAR_BLUE_FLAME, first);
}

bool mlx5_poll(Mlx5 *x, Mlx5Completion *to)
{
    const uint8_t *cqe = x->memory->cq[x->cq_ci % (1 << LOG_CQ)];
    uint8_t last = *(volatile const uint8_t *)(cqe + SLOT - 1);

    if (last >> 4 == NO_ENTRY >> 4 || ((last ^ x->cq_ci >> LOG_CQ) & 1)) {
        return false;
    }
    barrier();
    *to = (Mlx5Completion) {
        .failed = last >> 4 == REQUEST_ERROR || last >> 4 == RECEIVE_ERROR,
        .receive = last >> 4 == RECEIVED || last >> 4 == RECEIVE_ERROR,
        .request = cqe[60] << 8 | cqe[61], .length = get32(cqe + 44),
        .time = (uint64_t)get32(cqe + 48) << 32 | get32(cqe + 52),
    };
    x->cq_ci++;
    *(volatile uint32_t *)&x->memory->record.polled = be32(x->cq_ci & 0xffffff);
    return true;
}

void mlx5_arm(Mlx5 *x)
{
    uint8_t word[8];
    uint64_t value;

    while (!((x->memory->eq[x->eq_ci % (1 << LOG_EQ)][SLOT - 1] ^
              x->eq_ci >> LOG_EQ) & 1)) {
        x->eq_ci++;
        x->cq_events++;
    }
    reg_put(x, x->uar * 4096 + UAR_EQ_ARM, x->eqn << 24 | (x->eq_ci & 0xffffff));
    /* The device ignores a number that it has seen, unless it has sent an event. */
    put32(word, ((x->cq_events + 1) & 3) << 28 | (x->cq_ci & 0xffffff));
    put32(word + 4, x->cqn);
    memcpy(&x->memory->record.armed, word, 4);
    memcpy(&value, word, sizeof(value));
    store64(x->bar + x->uar * 4096 + UAR_CQ, value);
}
