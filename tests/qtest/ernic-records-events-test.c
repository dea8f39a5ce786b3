/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Doorbell pages of the verbs interface whose records ring by an eventfd (ioeventfd=on).
 * QEMU's memory core signals it, as KVM would.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "hw/pci/pci_regs.h"
#include "ernic.h"

#define EVENTS  ",ioeventfd=on"
#define BOTH    { "", EVENTS }, \
                { "-iothread", ",iothread=io0,roce-udp=127.0.0.1:0" EVENTS }
#define OFF     { "-off", ",ioeventfd=off" }, { "-auto", ",ioeventfd=auto" }
#define LEN     64
#define OUT     0
#define IN      4096
/* Queues of a page, at the most, for it to have an event. */
#define MOST    16
/* Pages with an event at once. */
#define MOST_EVENTS 64
/* A queue pair that does not exist. */
#define NO_QP   0x7ff

typedef struct Events {
    QErnic *q;
    QErnicQp x, y;
    const char *log;            /* of pages that were rung */
    uint32_t pattern;
} Events;

/* A queue pair with records, whose doorbells the test rings. */
static void make_qp(Events *v, QErnicQp *qp)
{
    qernic_qp_record(v->q, qp, ERNIC_QPT_RC);
    qp->rings_later = true;
}

/* A new context, of which the objects are that the test makes from now on. */
static void enter_context(QErnic *q)
{
    struct ernic_cmd uctx = { .opcode = ERNIC_CMD_UCTX_ALLOC };
    struct ernic_cmd pd = { .opcode = ERNIC_CMD_PD_ALLOC };

    q->uctx = 0;
    q->uctx = qernic_make(q, &uctx);
    q->pd = qernic_make(q, &pd);
}

static void open_pair(Events *v)
{
    g_assert_true(qernic_reg(v->q, features) & ERNIC_FEATURE_DB_RECORD);
    qernic_setup(v->q, 1);
    qernic_pair_record(v->q, &v->x, &v->y);
    v->x.rings_later = v->y.rings_later = true;
    /* The main loop gives the page its event. */
    qernic_pass(v->q->qts, 10, 1000);
}

static void begin(Events *v, const char *more)
{
    *v = (Events) { .q = qernic_device("%s", more) };
    v->log = qernic_log(v->q->qts, "ernic_pci_page_rung");
    open_pair(v);
}

/* Posts a message; the record says so. */
static void post(Events *v)
{
    qtest_writel(v->q->qts, v->q->buf + OUT, ++v->pattern);
    qernic_post_recv(&v->y, IN, LEN);
    qernic_send(&v->x, OUT, LEN);
}

static void ring(Events *v, uint32_t uctx, uint32_t qpn)
{
    qernic_doorbell_record(v->q, uctx, ERNIC_DB(ERNIC_DB_SQ, qpn, 0));
}

/* Only an event, which has no value, makes the device look at the record. */
static void ring_other(Events *v)
{
    ring(v, 0, NO_QP);
}

/* With a doorbell that names no queue pair. */
static void post_unnamed(Events *v)
{
    post(v);
    ring_other(v);
}

static void arrives(Events *v)
{
    qernic_done(&v->y);
    qernic_done(&v->x);
    g_assert_cmphex(qtest_readl(v->q->qts, v->q->buf + IN), ==, v->pattern);
}

static void stays_away(Events *v)
{
    qernic_pass(v->q->qts, 100, 1000);
    g_assert_false(qernic_has_cqe(&v->x));
}

/*
 * As many doorbells were bad. The engine's thread counts them when the host gives it
 * time, and none is waited for in vain.
 */
static void bad_doorbells(Events *v, uint64_t n)
{
    qernic_wait_while(v->q->qts, qernic_stat(v->q, "bad_doorbells") < n);
    stays_away(v);
    g_assert_cmpuint(qernic_stat(v->q, "bad_doorbells"), ==, n);
}

static bool page_was_rung(Events *v, uint32_t page)
{
    g_autofree char *line = g_strdup_printf("page_rung ernic0 page %u\n", page);
    g_autofree char *text = NULL;

    g_assert_true(g_file_get_contents(v->log, &text, NULL, NULL));
    return strstr(text, line);
}

static bool was_rung(Events *v)
{
    return page_was_rung(v, 0);
}

/* Each ring is an event; the number in it is not looked at. */
WORLD_KINDS("/ernic-records-events/ring", test_ring, Events, v, begin, BOTH)
{
    for (int i = 0; i < 20; i++) {
        post(v);
        if (i % 2) {
            ring_other(v);
        } else {
            ring(v, 0, v->x.qpn);
        }
        arrives(v);
    }
    g_assert_true(was_rung(v));
    g_assert_cmpuint(qernic_stat(v->q, "bad_doorbells"), ==, 0);
}

/* Without events, the value counts, and has to be one for a send queue of the page. */
WORLD_KINDS("/ernic-records-events/off", test_off, Events, v, begin, OFF)
{
    post_unnamed(v);
    ring(v, 1, v->x.qpn);
    bad_doorbells(v, 2);
    qernic_doorbell_record(v->q, 0, ERNIC_DB(ERNIC_DB_RQ, v->x.qpn, 1));
    qernic_doorbell_record(v->q, 0, ERNIC_DB(ERNIC_DB_SQ, v->x.qpn, 0) | 1ull << 60);
    bad_doorbells(v, 2);
    ring(v, 0, v->x.qpn);
    arrives(v);
    /* The doorbell of a driver that does not know the other. */
    post(v);
    qernic_doorbell(v->q, 0, ERNIC_DB(ERNIC_DB_SQ, v->x.qpn, 0));
    arrives(v);
    g_assert_false(was_rung(v));
    /* That of a queue without a record, which an event would lose. */
    qernic_pair(v->q, v->q, &v->x, &v->y, ERNIC_QPT_RC);
    ring(v, 0, v->x.qpn);
    qernic_doorbell_record(v->q, 0, ERNIC_DB(ERNIC_DB_SQ, v->x.qpn, 1));
    bad_doorbells(v, 4);
    post(v);
    arrives(v);
}

/* With events, a driver that does not know them rings as before; so do other queues. */
WORLD_KINDS("/ernic-records-events/old", test_old, Events, v, begin, BOTH)
{
    post(v);
    qernic_doorbell(v->q, 0, ERNIC_DB(ERNIC_DB_SQ, NO_QP, 0));
    bad_doorbells(v, 1);
    qernic_doorbell(v->q, 0, ERNIC_DB(ERNIC_DB_SQ, v->x.qpn, 0));
    arrives(v);
    qernic_pair(v->q, v->q, &v->x, &v->y, ERNIC_QPT_RC);
    post(v);
    arrives(v);
    g_assert_false(was_rung(v));
}

/* The page of another context, which has no such queue. */
WORLD_KINDS("/ernic-records-events/foreign", test_foreign, Events, v, begin, BOTH)
{
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_UCTX_ALLOC };
    uint32_t uctx = qernic_make(v->q, &cmd);

    post(v);
    ring(v, uctx, v->x.qpn);
    ring(v, uctx + 1, v->x.qpn);
    stays_away(v);
    g_assert_false(was_rung(v));
    ring_other(v);
    arrives(v);
}

/* A stopped machine; then a function in D3hot. */
WORLD_KINDS("/ernic-records-events/stop", test_stop, Events, v, begin, BOTH)
{
    for (int i = 0; i < 4; i++) {
        qernic_stop(v->q->qts);
        post_unnamed(v);
        stays_away(v);
        qernic_cont(v->q->qts);
        arrives(v);
        qernic_power(&v->q->dev, 3);
        post_unnamed(v);
        stays_away(v);
        qernic_power(&v->q->dev, 0);
        arrives(v);
    }
}

/* A function that may not access memory, which is no reason to end an idle queue. */
WORLD_KINDS("/ernic-records-events/master", test_master, Events, v, begin, BOTH, OFF)
{
    for (int i = 0; i < 4; i++) {
        qernic_set_master(&v->q->dev, false);
        stays_away(v);
        if (i % 2) {
            qernic_power(&v->q->dev, 3);
            qernic_power(&v->q->dev, 0);
        } else {
            qernic_stop(v->q->qts);
            qernic_cont(v->q->qts);
        }
        stays_away(v);
        qernic_set_master(&v->q->dev, true);
        qernic_pass(v->q->qts, 10, 1000);
        post(v);
        ring(v, 0, v->x.qpn);
        arrives(v);
    }
}

/* A rung page migrates to a device without events, and to one with them. */
static void migrate(const char *from, const char *to)
{
    Events v;

    begin(&v, from);
    qernic_stop(v.q->qts);
    post_unnamed(&v);
    qernic_migrate(v.q, to);
    v.log = qernic_log(v.q->qts, "ernic_pci_page_rung");
    qernic_cont(v.q->qts);
    arrives(&v);
    qernic_pass(v.q->qts, 10, 1000);
    post(&v);
    ring(&v, 0, v.x.qpn);
    arrives(&v);
    g_assert_true(was_rung(&v) == g_str_has_suffix(to, "on"));
}

MACHINE_KINDS("/ernic-records-events/migrate", test_migrate, BOTH)
{
    migrate(more, EVENTS);
    migrate(more, ",ioeventfd=off");
    migrate(more, ",engine-thread=on,ioeventfd=on");
}

/* The doorbell that has no event is in the saved state; later ones are events. */
MACHINE_KINDS("/ernic-records-events/migrate-from", test_migrate_from, OFF)
{
    Events v;

    begin(&v, more);
    qernic_stop(v.q->qts);
    post(&v);
    ring(&v, 0, v.x.qpn);
    qernic_migrate(v.q, EVENTS);
    v.log = qernic_log(v.q->qts, "ernic_pci_page_rung");
    qernic_cont(v.q->qts);
    arrives(&v);
    qernic_pass(v.q->qts, 10, 1000);
    post_unnamed(&v);
    arrives(&v);
    g_assert_true(was_rung(&v));
}

static void place_bar(Events *v, uint64_t addr)
{
    qernic_place(&v->q->dev, &v->q->bar, ERNIC_BAR_REGS, addr);
}

/* The BAR moves, and the events with it. */
WORLD_KINDS("/ernic-records-events/move", test_move, Events, v, begin, BOTH)
{
    uint64_t addr = v->q->bar.addr;

    for (int i = 0; i < 4; i++) {
        place_bar(v, addr + (i % 2 ? 0 : 64 << 20));
        qernic_pass(v->q->qts, 10, 1000);
        post_unnamed(v);
        arrives(v);
    }
}

/* Resets of both kinds take the events away; the driver begins anew and gets new ones. */
WORLD_KINDS("/ernic-records-events/reset", test_reset, Events, v, begin, BOTH)
{
    for (int i = 0; i < 4; i++) {
        uint64_t addr = v->q->bar.addr;

        post_unnamed(v);
        if (i % 2) {
            qernic_flr(&v->q->dev);
            qpci_device_enable(&v->q->dev);
            place_bar(v, addr);
        } else {
            qernic_set_reg(v->q, control, ERNIC_CONTROL_RESET);
        }
        ring_other(v);
        qernic_enable(v->q);
        ring_other(v);
        open_pair(v);
        post_unnamed(v);
        arrives(v);
    }
}

/* A page with too many queues has no event: the store says which queue it is. */
WORLD_KINDS("/ernic-records-events/crowd", test_crowd, Events, v, begin, BOTH)
{
    QErnicQp more[MOST - 1];

    for (uint32_t i = 0; i < ARRAY_SIZE(more); i++) {
        post_unnamed(v);
        arrives(v);
        make_qp(v, &more[i]);
    }
    qernic_pass(v->q->qts, 10, 1000);
    post_unnamed(v);
    bad_doorbells(v, 1);
    ring(v, 0, v->x.qpn);
    arrives(v);
}

/*
 * Sends lines of commands to QEMU, which executes as many as it reads before it looks for
 * events, and returns the answers. libqtest would wait for each: a QTestState begins with
 * the socket.
 */
static char *together(QTestState *qts, const GString *lines)
{
    int fd = *(int *)qts, left = 0;
    GString *answers = g_string_new(NULL);
    char c;

    for (size_t i = 0; i < lines->len; i++) {
        left += lines->str[i] == '\n';
    }
    g_assert_cmpint(qemu_write_full(fd, lines->str, lines->len), ==, lines->len);
    while (left) {
        g_assert_cmpint(read(fd, &c, 1), ==, 1);
        g_string_append_c(answers, c);
        left -= c == '\n';
    }
    return g_string_free(answers, false);
}

static uint64_t doorbell_at(Events *v, uint32_t uctx)
{
    return v->q->bar.addr + qernic_reg(v->q, db_offset) +
           ((uint64_t)uctx << qernic_reg(v->q, db_shift)) + ERNIC_DB_RECORD;
}

/* Puts a command into the ring without saying so; returns where its response will be. */
static uint64_t put_cmd(QErnic *q, const struct ernic_cmd *cmd)
{
    uint32_t slot = q->cmd_pi++ % (1 << QERNIC_RING_SHIFT);

    qtest_memwrite(q->qts, q->cmd_ring + slot * sizeof(*cmd), cmd, sizeof(*cmd));
    qtest_memset(q->qts, q->rsp_ring + slot * sizeof(struct ernic_rsp), 0xff,
                 sizeof(struct ernic_rsp));
    return q->rsp_ring + slot * sizeof(struct ernic_rsp);
}

static uint64_t put_resize(Events *v)
{
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_CQ_RESIZE };

    cmd.cq_create.handle = cpu_to_le32(v->x.cq.cqn);
    cmd.cq_create.depth = cpu_to_le32(2);
    cmd.cq_create.buf.addr = cpu_to_le64(qernic_zeroed(v->q, 2 * 64));
    return put_cmd(v->q, &cmd);
}

static void put_qp(Events *v)
{
    uint32_t depth = cpu_to_le32(QERNIC_DEPTH), cqn = cpu_to_le32(v->x.cq.cqn);
    struct ernic_qp_init init = {
        .pd = cpu_to_le32(v->q->pd), .srq = cpu_to_le32(0xffffffff), .send_cq = cqn,
        .recv_cq = cqn, .sq_depth = depth, .rq_depth = depth, .type = ERNIC_QPT_UC,
        .sq_stride = 1, .rq_stride = 1,
        .sq_buf.addr = cpu_to_le64(qernic_zeroed(v->q, QERNIC_DEPTH * 64)),
        .rq_buf.addr = cpu_to_le64(qernic_zeroed(v->q, QERNIC_DEPTH * 64)),
        .sq_record = cpu_to_le64(qernic_zeroed(v->q, sizeof(struct ernic_record))),
    };
    struct ernic_cmd cmd = {
        .opcode = ERNIC_CMD_QP_CREATE,
        .qp = { .addr = cpu_to_le64(v->q->scratch), .length = cpu_to_le32(sizeof(init)) },
    };

    qtest_memwrite(v->q->qts, v->q->scratch, &init, sizeof(init));
    put_cmd(v->q, &cmd);
}

/* The page of context 0 rings by an event, and commands follow before it is seen. */
static void ring_and_run(Events *v)
{
    g_autoptr(GString) lines = g_string_new(NULL);

    g_string_printf(lines, "writeq 0x%" PRIx64 " 0x0\nwritel 0x%" PRIx64 " 0x%x\n",
                    doorbell_at(v, 0), v->q->bar.addr +
                    offsetof(struct ernic_regs, cmd_pi), v->q->cmd_pi);
    g_free(together(v->q->qts, lines));
}

/*
 * Completions of a request whose event is on its way count when its CQ gets smaller. In
 * Error, they come at once.
 */
static void resize(Events *v, bool crowd)
{
    struct ernic_qp_attr attr = {
        .mask = cpu_to_le32(ERNIC_QPA_STATE), .state = ERNIC_QPS_ERR,
    };
    struct ernic_cmd cmd = {
        .opcode = ERNIC_CMD_QP_MODIFY,
        .qp = { .addr = cpu_to_le64(v->q->scratch), .length = cpu_to_le32(sizeof(attr)),
                .handle = cpu_to_le32(v->x.qpn) },
    };
    struct ernic_cqe cqe;
    uint64_t rsp;

    qtest_memwrite(v->q->qts, v->q->scratch, &attr, sizeof(attr));
    g_assert_cmpuint(qernic_cmd(v->q, &cmd, NULL), ==, ERNIC_OK);
    qernic_pass(v->q->qts, 10, 1000);
    for (int i = 0; i < 3; i++) {
        post(v);
    }
    if (crowd) {
        put_qp(v);
    }
    rsp = put_resize(v);
    ring_and_run(v);
    qernic_wait_while(v->q->qts, qtest_readb(v->q->qts, rsp + offsetof(
        struct ernic_rsp, phase)) == 0xff);
    g_assert_cmpuint(qtest_readb(v->q->qts, rsp + offsetof(struct ernic_rsp, status)), ==,
                     ERNIC_ERR_PARAM);
    for (int i = 0; i < 3; i++) {
        qernic_poll(&v->x, &cqe);
        g_assert_cmpuint(cqe.status, ==, ERNIC_WC_WR_FLUSH_ERR);
    }
}

WORLD_KINDS("/ernic-records-events/resize", test_resize, Events, v, begin, BOTH)
{
    resize(v, false);
}

/* The same if the page gets too many queues for an event meanwhile. */
WORLD_KINDS("/ernic-records-events/resize-crowd", test_resize_crowd, Events, v, begin,
            BOTH)
{
    QErnicQp more[MOST - 2];

    for (uint32_t i = 0; i < ARRAY_SIZE(more); i++) {
        make_qp(v, &more[i]);
    }
    qernic_pass(v->q->qts, 10, 1000);
    resize(v, true);
}

/* The lines fit the 1,024 bytes that QEMU reads, and their queues a slice of work. */
#define FLOOD_PAGES     41
#define FLOOD_ROUNDS    150

/* A process whose contexts ring all the time does not keep commands from being done. */
WORLD_KINDS("/ernic-records-events/flood", test_flood, Events, v, begin, { "", EVENTS })
{
    g_autoptr(GString) pages = g_string_new(NULL), flood = g_string_new(NULL);
    g_autofree char *answers = NULL, *want = NULL;
    uint64_t regs = v->q->bar.addr;
    QErnicQp qp;

    for (uint32_t i = 0; i < FLOOD_PAGES; i++) {
        enter_context(v->q);
        for (uint32_t n = 0; n < MOST; n++) {
            make_qp(v, &qp);
            qernic_qp_connect(&qp, &qernic_nobody);
        }
        g_string_append_printf(pages, "writeq 0x%" PRIx64 " 0x0\n",
                               doorbell_at(v, v->q->uctx));
    }
    qernic_pass(v->q->qts, 20, 1000);
    /* A NOP: its slot of the ring is 0 but for the opcode, which is 0 as well. */
    qtest_memset(v->q->qts, v->q->cmd_ring +
                 (v->q->cmd_pi % (1 << QERNIC_RING_SHIFT)) * sizeof(struct ernic_cmd), 0,
                 sizeof(struct ernic_cmd));
    for (uint32_t i = 0; i < FLOOD_ROUNDS; i++) {
        g_string_append(flood, pages->str);
        if (i == 5) {
            g_string_append_printf(flood, "writel 0x%" PRIx64 " 0x%x\n", regs +
                                   offsetof(struct ernic_regs, cmd_pi), v->q->cmd_pi + 1);
        }
        g_string_append_printf(flood, "readl 0x%" PRIx64 "\n", regs +
                               offsetof(struct ernic_regs, cmd_ci));
    }
    answers = together(v->q->qts, flood);
    want = g_strdup_printf("OK 0x%016x\n", ++v->q->cmd_pi);
    g_assert_nonnull(strstr(answers, want));
}

/* Without an event, the store is a bad doorbell. */
static bool has_event(Events *v, uint32_t page)
{
    uint64_t bad = qernic_stat(v->q, "bad_doorbells");

    qernic_pass(v->q->qts, 20, 1000);
    ring(v, page, NO_QP);
    qernic_wait_while(v->q->qts, !page_was_rung(v, page) &&
                      qernic_stat(v->q, "bad_doorbells") == bad);
    return qernic_stat(v->q, "bad_doorbells") == bad;
}

/* The context of @qp has no queue any more. */
static void leave_idle(Events *v, const QErnicQp *qp, uint32_t uctx)
{
    uint32_t now = v->q->uctx;

    v->q->uctx = uctx;
    g_assert_cmpuint(qernic_cmd_handle(v->q, ERNIC_CMD_QP_DESTROY, qp->qpn), ==,
                     ERNIC_OK);
    v->q->uctx = now;
}

/* Contexts without queues leave their events to others, that come later or wait. */
WORLD_KINDS("/ernic-records-events/idle", test_idle, Events, v, begin, BOTH)
{
    uint32_t uctx[MOST_EVENTS + 2];
    QErnicQp qp[MOST_EVENTS + 2];

    for (uint32_t i = 1; i < ARRAY_SIZE(uctx); i++) {
        if (i == MOST_EVENTS) {
            leave_idle(v, &qp[1], uctx[1]);
        }
        enter_context(v->q);
        uctx[i] = v->q->uctx;
        make_qp(v, &qp[i]);
    }
    g_assert_true(has_event(v, uctx[MOST_EVENTS - 1]));
    g_assert_true(has_event(v, uctx[MOST_EVENTS]));
    g_assert_false(has_event(v, uctx[MOST_EVENTS + 1]));
    leave_idle(v, &qp[2], uctx[2]);
    g_assert_true(has_event(v, uctx[MOST_EVENTS + 1]));
}

/* The function goes with a page that has an event and has been rung. */
WORLD_KINDS("/ernic-records-events/unplug", test_unplug, Events, v, begin, BOTH)
{
    post_unnamed(v);
    qpci_unplug_acpi_device_test(v->q->qts, "ernic0", 4);
    qtest_qmp_assert_success(v->q->qts, "{ 'execute': 'query-status' }");
}

/* QEMU ends if KVM refuses an event, such as a second one at the same address. */
MACHINE_TEST("/ernic-records-events/kvm-overlap", test_kvm_overlap)
{
    QErnicMachine *m = qernic_machine(
        VERBS_NIC ",id=ernic0,addr=04.0,engine-thread=on,roce-udp=127.0.0.1:0" EVENTS
        VERBS_NIC ",id=ernic1,addr=05.0,engine-thread=on,roce-udp=127.0.0.1:0" EVENTS
        " -accel kvm -bios %s", qernic_halting_bios());
    Events v[2] = { };
    uint64_t own[2];

    for (int i = 0; i < 2; i++) {
        v[i].q = qernic_at(m, i ? "ernic1" : "ernic0", 4 + i);
        open_pair(&v[i]);
        own[i] = v[i].q->bar.addr;
    }
    for (int i = 0; i < 4; i++) {
        place_bar(&v[i % 2], own[1 - i % 2]);
        qernic_pass(m->qts, 10, 1000);
        qernic_power(&v[i % 2].q->dev, 3);
        qernic_power(&v[i % 2].q->dev, 0);
        qernic_pass(m->qts, 10, 1000);
        place_bar(&v[i % 2], own[i % 2]);
        qernic_pass(m->qts, 10, 1000);
    }
    qtest_qmp_assert_success(m->qts, "{ 'execute': 'system_reset' }");
    qtest_qmp_assert_success(m->qts, "{ 'execute': 'query-status' }");
}

/* A virtio device whose queues have their events: this one needs a driver. */
static void start_virtio(QPCIDevice *dev, QPCIBar bar)
{
    static const uint8_t status[] = { 0, 0x1, 0x3, 0xb, 0xf };

    for (size_t i = 0; i < ARRAY_SIZE(status); i++) {
        if (status[i] == 0xb) {
            qpci_io_writel(dev, bar, 8, 1);             /* the upper features: */
            qpci_io_writel(dev, bar, 12, 1);            /* VERSION_1 */
        }
        qpci_io_writeb(dev, bar, 0x14, status[i]);
    }
    g_assert_cmphex(qpci_io_readb(dev, bar, 0x14), ==, 0xf);
}

/* The notifications of a virtio device, from 0x3000 of its BAR 4 on, over our events. */
MACHINE_TEST("/ernic-records-events/kvm-virtio", test_kvm_virtio)
{
    QErnicMachine *m = qernic_machine(
        VERBS_NIC ",id=ernic0,addr=04.0,engine-thread=on,roce-udp=127.0.0.1:0" EVENTS
        " -device virtio-serial-pci,addr=05.0,disable-legacy=on,max_ports=8"
        " -accel kvm -bios %s", qernic_halting_bios());
    Events v = { .q = qernic_at(m, "ernic0", 4) };
    QPCIDevice *serial = qpci_device_find(m->bus, QPCI_DEVFN(5, 0));
    QPCIBar bar;

    g_assert_nonnull(serial);
    qpci_device_enable(serial);
    bar = qpci_iomap(serial, 4, NULL);
    qernic_setup(v.q, 1);
    do {
        enter_context(v.q);
        make_qp(&v, &v.x);
    } while (v.q->uctx < 2);                    /* whose page is at 0x3000 */
    qernic_pass(m->qts, 10, 1000);
    start_virtio(serial, bar);
    for (int i = 0; i < 4; i++) {
        qpci_config_writel(serial, PCI_BASE_ADDRESS_4, i % 2 ? bar.addr : v.q->bar.addr);
        qernic_pass(m->qts, 10, 1000);
    }
    qtest_qmp_assert_success(m->qts, "{ 'execute': 'query-status' }");
    g_free(serial);
}
