/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The memory that a guest can make QEMU take: objects of each kind until the device
 * refuses, compared with the account, the bound and the resident memory of QEMU.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/module.h"
#include "qemu/units.h"
#include "ernic-card.h"

/* Pages of a large region; its list, all zeros, is guest memory that nobody wrote. */
#define PAGES       (1u << 19)
#define LIST        (32 * MiB)
#define ACCESS      (ERNIC_ACCESS_LOCAL_WRITE | ERNIC_ACCESS_REMOTE_WRITE)
/* Growth of QEMU for other reasons, and the overhead of the allocator. */
#define SLACK       (12 * MiB)

typedef struct Machine {
    CardMachine m;
    QErnic q;
} Machine;

static void begin(Machine *t, const char *more)
{
    g_autofree char *args = g_strdup_printf(
        " -device ernic,id=ernic0,addr=04.0,roce-udp=127.0.0.1:0%s", more);

    card_machine_open(&t->m, args);
    qernic_init(&t->q, "ernic0", t->m.bus, QPCI_DEVFN(4, 0), &t->m.alloc);
}

static void end(Machine *t)
{
    qernic_fini(&t->q);
    card_machine_close(&t->m);
}

/* Resident bytes of QEMU. */
static uint64_t resident(Machine *t)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/statm", qtest_pid(t->m.qts));
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

static uint8_t add_region(QErnic *q)
{
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_MR_REG };

    cmd.mr_reg.buf.addr = cpu_to_le64(LIST);
    cmd.mr_reg.buf.npages = cpu_to_le32(PAGES);
    cmd.mr_reg.buf.page_shift = 12;
    cmd.mr_reg.buf.levels = 1;
    cmd.mr_reg.length = cpu_to_le64((uint64_t)PAGES << 12);
    cmd.mr_reg.pd = cpu_to_le32(q->pd);
    cmd.mr_reg.access = cpu_to_le32(ACCESS);
    return qernic_cmd(q, &cmd, NULL);
}

static uint8_t add_eq(QErnic *q)
{
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_EQ_CREATE };

    cmd.eq_create.depth = cpu_to_le32(2);
    cmd.eq_create.buf.addr = cpu_to_le64(q->buf);
    return qernic_cmd(q, &cmd, NULL);
}

static uint8_t add_qp(QErnic *q)
{
    struct ernic_qp_init init = {
        .sq_buf.addr = cpu_to_le64(q->buf), .pd = cpu_to_le32(q->pd),
        .rq_buf.addr = cpu_to_le64(q->buf), .srq = cpu_to_le32(UINT32_MAX),
        .send_cq = cpu_to_le32(1), .recv_cq = cpu_to_le32(1),
        .sq_depth = cpu_to_le32(64), .rq_depth = cpu_to_le32(64),
        .sq_stride = 1, .rq_stride = 1, .type = ERNIC_QPT_RC,
    };
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_QP_CREATE };

    qtest_memwrite(q->qts, q->scratch, &init, sizeof(init));
    cmd.qp.addr = cpu_to_le64(q->scratch);
    cmd.qp.length = cpu_to_le32(sizeof(init));
    return qernic_cmd(q, &cmd, NULL);
}

static void set_up(Machine *t)
{
    struct ernic_cmd cq = { .opcode = ERNIC_CMD_CQ_CREATE };
    struct ernic_rsp rsp;

    qernic_setup(&t->q, 1);
    cq.cq_create.depth = cpu_to_le32(16);
    cq.cq_create.eq = cpu_to_le32(UINT32_MAX);
    cq.cq_create.buf.addr = cpu_to_le64(t->q.buf);
    g_assert_cmpuint(qernic_cmd(&t->q, &cq, &rsp), ==, ERNIC_OK);
    g_assert_cmpuint(le32_to_cpu(rsp.handle), ==, 1);
}

static uint32_t fill(Machine *t, uint8_t (*add)(QErnic *q))
{
    uint32_t n = 0;
    uint8_t status;

    while ((status = add(&t->q)) == ERNIC_OK) {
        n++;
    }
    g_assert_cmpuint(status, ==, ERNIC_ERR_NO_RESOURCE);
    return n;
}

/* All objects that fit: QEMU grows by what the account says, and no more. */
static void fills(Machine *t, uint64_t bound)
{
    uint64_t before = resident(t), used, grown, deadline = 0;
    uint32_t regions, qps, eqs;

    regions = fill(t, add_region);
    qps = fill(t, add_qp);
    eqs = fill(t, add_eq);
    used = memory(t, "used");
    grown = resident(t) - before;
    g_test_message("%u regions, %u queue pairs, %u event queues: %" PRIu64
                   " of %" PRIu64 " charged, %" PRIu64 " resident", regions, qps, eqs,
                   used, bound, grown);
    g_assert_cmpuint(memory(t, "bound"), ==, bound);
    g_assert_cmpuint(used, <=, bound);
    g_assert_cmpuint(used * 10, >=, bound * 9);
    g_assert_cmpuint(memory(t, "peak"), ==, used);
    g_assert_cmpuint(memory(t, "page_lists"), ==, regions * PAGES * 8ull);
    g_assert_cmpuint(memory(t, "page_lists") + memory(t, "requests") +
                     memory(t, "responses") + memory(t, "backlogs") +
                     memory(t, "copies") + memory(t, "messages") +
                     memory(t, "on_demand"), ==, used);
    g_assert_cmpuint(grown, <=, bound + SLACK);
    /* The host gives no page to requests that nobody posts, but to lists it does. */
    g_assert_cmpuint(grown + SLACK, >=, memory(t, "page_lists"));
    qernic_set_reg(&t->q, control, 0);
    qernic_set_reg(&t->q, control, ERNIC_CONTROL_RESET);
    /* It is freed slice by slice. */
    while (memory(t, "used")) {
        qernic_wait(&t->q, &deadline);
    }
    g_assert_cmpuint(resident(t), <=, before + SLACK + memory(t, "bound") / 3);
}

/* The default is what the other limits allow: no object is refused for memory. */
static void test_default(void)
{
    uint64_t bound;
    Machine t;

    begin(&t, "");
    set_up(&t);
    bound = memory(&t, "bound");
    g_assert_cmpuint(bound, <, 216 * MiB);
    g_assert_cmpuint(memory(&t, "refused"), ==, 0);
    fills(&t, bound);
    end(&t);
}

static void test_bound(void)
{
    Machine t;

    begin(&t, ",max-memory=24M");
    set_up(&t);
    fills(&t, 24 * MiB);
    set_up(&t);
    qernic_transfers(&t.q, &t.q);
    end(&t);
}

static void register_tests(void)
{
    qtest_add_func("/ernic-memory/default", test_default);
    qtest_add_func("/ernic-memory/bound", test_bound);
}

libqos_init(register_tests);
