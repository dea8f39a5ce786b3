/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The memory that a guest can make QEMU take: objects of each kind until the device
 * refuses, compared with the account, the bound and the resident memory of QEMU.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/units.h"
#include "ernic-mlx5.h"

/* Pages of a large region; its list, all zeros, is guest memory that nobody wrote. */
#define PAGES       (1u << 19)
#define LIST        (32 * MiB)
#define ACCESS      (ERNIC_ACCESS_LOCAL_WRITE | ERNIC_ACCESS_REMOTE_WRITE)
/* Growth of QEMU for other reasons, and the overhead of the allocator. */
#define SLACK       (12 * MiB)

typedef struct Machine Machine;

/*
 * An interface: software's start, what it fills the device with, and the end of all
 * objects.
 */
typedef struct Interface {
    const char *more;
    void (*open)(Machine *t);
    void (*transfer)(Machine *t);
    /* Create a region of PAGES pages, a queue pair, an event queue; the status. */
    uint8_t (*add[3])(Machine *t);
    uint8_t none_left;          /* the status if there is no resource */
    void (*reset)(Machine *t);
} Interface;

struct Machine {
    const Interface *interface;
    Mlx5 x;                     /* x.m: the machine of either interface */
    Mlx5Rdma r;
    QErnic q;                   /* verbs interface; of both: the device's counters */
    uint64_t chain;             /* mailboxes with the list of a region */
};

static void begin(Machine *t, const Interface *interface, const char *more)
{
    *t = (Machine) { .interface = interface };
    t->x.m = qernic_machine(
        VERBS_NIC ",id=ernic0,addr=04.0,roce-udp=127.0.0.1:0%s%s", interface->more, more);
    t->q = (QErnic) { .qts = t->x.m->qts, .id = "ernic0" };
    interface->open(t);
}

/* Resident bytes of QEMU. */
static uint64_t resident(Machine *t)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/statm", qtest_pid(t->x.m->qts));
    g_autofree char *text = NULL;
    char *at;

    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    g_ascii_strtoull(text, &at, 10);
    return g_ascii_strtoull(at, NULL, 10) * getpagesize();
}

static uint64_t memory(Machine *t, const char *counter)
{
    g_autofree char *name = g_strconcat("memory.", counter, NULL);

    return qernic_stat(&t->q, name);
}

static uint8_t add_region(Machine *t)
{
    struct ernic_cmd cmd = {
        .opcode = ERNIC_CMD_MR_REG,
        .mr_reg = { .buf = { .addr = cpu_to_le64(LIST), .npages = cpu_to_le32(PAGES),
                             .page_shift = 12, .levels = 1 },
                    .length = cpu_to_le64((uint64_t)PAGES << 12),
                    .pd = cpu_to_le32(t->q.pd), .access = cpu_to_le32(ACCESS) },
    };

    return qernic_cmd(&t->q, &cmd, NULL);
}

static uint8_t add_eq(Machine *t)
{
    struct ernic_cmd cmd = {
        .opcode = ERNIC_CMD_EQ_CREATE,
        .eq_create = { .depth = cpu_to_le32(2), .buf.addr = cpu_to_le64(t->q.buf) },
    };

    return qernic_cmd(&t->q, &cmd, NULL);
}

static uint8_t add_qp(Machine *t)
{
    QErnic *q = &t->q;
    struct ernic_qp_init init = {
        .sq_buf.addr = cpu_to_le64(q->buf), .pd = cpu_to_le32(q->pd),
        .rq_buf.addr = cpu_to_le64(q->buf), .srq = cpu_to_le32(UINT32_MAX),
        .send_cq = cpu_to_le32(1), .recv_cq = cpu_to_le32(1), .sq_depth = cpu_to_le32(64),
        .rq_depth = cpu_to_le32(64), .sq_stride = 1, .rq_stride = 1, .type = ERNIC_QPT_RC,
    };
    struct ernic_cmd cmd = {
        .opcode = ERNIC_CMD_QP_CREATE,
        .qp = { .addr = cpu_to_le64(q->scratch), .length = cpu_to_le32(sizeof(init)) },
    };

    qtest_memwrite(q->qts, q->scratch, &init, sizeof(init));
    return qernic_cmd(q, &cmd, NULL);
}

static void open_verbs(Machine *t)
{
    struct ernic_cmd cq = { .opcode = ERNIC_CMD_CQ_CREATE };

    if (!t->q.alloc) {
        qernic_init(&t->q, "ernic0", t->x.m->bus, QPCI_DEVFN(4, 0), &t->x.m->alloc);
    }
    qernic_setup(&t->q, 1);
    cq.cq_create.depth = cpu_to_le32(16);
    cq.cq_create.eq = cpu_to_le32(UINT32_MAX);
    cq.cq_create.buf.addr = cpu_to_le64(t->q.buf);
    g_assert_cmpuint(qernic_make(&t->q, &cq), ==, 1);
}

static void transfer_verbs(Machine *t)
{
    qernic_transfers(&t->q, &t->q);
}

static void reset_verbs(Machine *t)
{
    qernic_set_reg(&t->q, control, 0);
    qernic_set_reg(&t->q, control, ERNIC_CONTROL_RESET);
}

static const Interface verbs = {
    "", open_verbs, transfer_verbs, { add_region, add_qp, add_eq },
    ERNIC_ERR_NO_RESOURCE, reset_verbs,
};

/* CREATE_MKEY: the list begins after the first 16 bytes, which are in the entry. */
#define LIST_AT     272
#define MESSAGE     (LIST_AT + PAGES * 8)
#define BOX         1024
#define BOXES       DIV_ROUND_UP(MESSAGE - 16, 512)
#define NONE_LEFT   0x08

/* A region of PAGES pages, whose list is zeros; software reuses the mailboxes. */
static uint64_t make_chain(Machine *t, uint32_t pd)
{
    uint64_t at = mlx5_zeroed(&t->x, BOXES * BOX);
    uint8_t mkc[64] = { [2] = 0x09, [59] = 12 };        /* lw; a list of such pages */

    stl_be_p(mkc + 4, 0xffffff << 8);
    stl_be_p(mkc + 12, pd);
    stq_be_p(mkc + 24, (uint64_t)PAGES << 12);
    stl_be_p(mkc + 52, PAGES / 2);
    qtest_memwrite(t->x.m->qts, at, mkc, sizeof(mkc));
    for (uint32_t i = 0; i < BOXES; i++) {
        uint8_t end[16] = { [13] = 1 };

        stq_be_p(end, at + (i + 1) * BOX);
        stl_be_p(end + 8, i);
        qtest_memwrite(t->x.m->qts, at + i * BOX + 560, end, sizeof(end));
    }
    return at;
}

static uint8_t add_mkey(Machine *t)
{
    enum { NUMBER = 2, CREATE_MKEY = 0x200, DOORBELL = 0x18 };
    uint8_t entry[64] = { [0] = 7, [60] = 1, [63] = 1 }, out[16];

    stl_be_p(entry + 4, MESSAGE);
    stq_be_p(entry + 8, t->chain);
    stw_be_p(entry + 16, CREATE_MKEY);
    stl_be_p(entry + 56, sizeof(out));
    qtest_memwrite(t->x.m->qts, t->x.page + NUMBER * 64, entry, sizeof(entry));
    mlx5_put(&t->x, DOORBELL, 1 << NUMBER);
    return mlx5_answer(&t->x, NUMBER, out, sizeof(out));
}

static uint8_t add_mlx5_qp(Machine *t)
{
    return mlx5_add_qp(&t->x, &t->r, 6);
}

static uint8_t add_mlx5_eq(Machine *t)
{
    uint32_t eqn;

    return mlx5_add_eq(&t->x, 0, &eqn);
}

static void open_mlx5(Machine *t)
{
    if (!t->chain) {
        mlx5_take(&t->x, QPCI_DEVFN(4, 0));
    }
    t->x.log_qp = 10;
    mlx5_probe(&t->x);
    mlx5_rdma_open(&t->x, &t->r);
    t->chain = t->chain ?: make_chain(t, t->r.pd);
}

static void transfer_mlx5(Machine *t)
{
    enum { LEN = 5000 };
    uint64_t from = mlx5_zeroed(&t->x, LEN), to = mlx5_zeroed(&t->x, LEN);
    uint8_t cqe[64];

    card_pattern(t->x.m->qts, from, LEN, 3);
    mlx5_post_recv(&t->x, &t->r, to, LEN);
    mlx5_post_send(&t->x, &t->r, from, LEN);
    mlx5_ring_sq(&t->x, &t->r);
    mlx5_completion(&t->x, &t->r, cqe);
    mlx5_completion(&t->x, &t->r, cqe);
    card_same(t->x.m->qts, from, to, LEN);
}

static void reset_mlx5(Machine *t)
{
    mlx5_put(&t->x, MLX5_QUEUE_LOW, MLX5_NIC_DISABLED);
}

static const Interface mlx5 = {
    ",interface=mlx5", open_mlx5, transfer_mlx5,
    { add_mkey, add_mlx5_qp, add_mlx5_eq }, NONE_LEFT, reset_mlx5,
};

static uint32_t fill(Machine *t, uint8_t (*add)(Machine *t))
{
    uint32_t n = 0;
    uint8_t status;

    while ((status = add(t)) == 0) {
        n++;
    }
    g_assert_cmphex(status, ==, t->interface->none_left);
    return n;
}

/* All objects that fit: QEMU grows by what the account says, and no more. */
static void fills(Machine *t, uint64_t bound)
{
    uint64_t before = resident(t), used, grown;
    uint32_t regions = fill(t, t->interface->add[0]), qps = fill(t, t->interface->add[1]);
    uint32_t eqs = fill(t, t->interface->add[2]);

    used = memory(t, "used");
    grown = resident(t) - before;
    g_test_message("%u regions, %u queue pairs, %u event queues: %" PRIu64
                   " of %" PRIu64 " charged, %" PRIu64 " resident", regions, qps, eqs,
                   used, bound, grown);
    g_assert_cmpuint(memory(t, "bound"), ==, bound);
    g_assert_cmpuint(used, <=, bound);
    g_assert_cmpuint(used * 10, >=, bound * 9);
    g_assert_cmpuint(memory(t, "peak"), >=, used);
    g_assert_cmpuint(memory(t, "peak"), <=, bound);
    g_assert_cmpuint(memory(t, "page_lists"), >=, regions * PAGES * 8ull);
    g_assert_cmpuint(memory(t, "page_lists") + memory(t, "requests") +
                     memory(t, "responses") + memory(t, "backlogs") +
                     memory(t, "copies") + memory(t, "messages") +
                     memory(t, "on_demand"), ==, used);
    g_assert_cmpuint(grown, <=, bound + SLACK);
    /* The host gives no page to requests that nobody posts, but to lists it does. */
    g_assert_cmpuint(grown + SLACK, >=, memory(t, "page_lists"));
    t->interface->reset(t);
    qernic_wait_while(t->q.qts, memory(t, "used"));
    /* A thread frees it. */
    qernic_wait_while(t->q.qts, resident(t) > before + SLACK + bound / 3);
}

/* The default is what the other limits allow: no object is refused for memory. */
static void all_that_fits(const Interface *interface)
{
    uint64_t bound;
    Machine t;

    begin(&t, interface, "");
    bound = memory(&t, "bound");
    g_assert_cmpuint(bound, <, 218 * MiB);
    g_assert_cmpuint(memory(&t, "refused"), ==, 0);
    fills(&t, bound);
}

static void bounded(const Interface *interface)
{
    Machine t;

    begin(&t, interface, ",max-memory=24M");
    fills(&t, 24 * MiB);
    t.interface->open(&t);
    t.interface->transfer(&t);
}

MACHINE_TEST("/ernic-memory/default/verbs", test_default_verbs)
{
    all_that_fits(&verbs);
}

MACHINE_TEST("/ernic-memory/default/mlx5", test_default_mlx5)
{
    all_that_fits(&mlx5);
}

MACHINE_TEST("/ernic-memory/bound/verbs", test_bound_verbs)
{
    bounded(&verbs);
}

MACHINE_TEST("/ernic-memory/bound/mlx5", test_bound_mlx5)
{
    bounded(&mlx5);
}
