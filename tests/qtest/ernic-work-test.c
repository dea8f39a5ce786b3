/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A guest that gives the device as much work as it can. The monitor answers meanwhile,
 * also when the machine stops or the function goes to D3hot. The bound that is asserted
 * holds on a busy host; the measured times are printed.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "ernic-card.h"

#define RING_SHIFT  10
#define COMMANDS    (1u << RING_SHIFT)
#define PAGES       (1u << 24)
#define LEAF        512
#define ANSWERS     40
#define CQ_DEPTH    (1u << 20)
#define CQE         sizeof(struct ernic_cqe)
#define WORST_US    1000000
#define DOORBELLS   2048            /* that wait at most */
#define WAITER_US   3000000
#define SLOW_US     20000           /* many slices */
#define UDP         ",roce-udp=127.0.0.1:0"
#define BOTH        { "", "" }, { "-iothread", ",iothread=io0" UDP }

typedef struct Work {
    QErnicMachine *m;
    QErnic *q;
    int64_t took[ANSWERS];      /* us, of each answer of the monitor */
} Work;

static void begin(Work *w, const char *more)
{
    w->m = qernic_machine(
        " -object iothread,id=io0" VERBS_NIC ",id=ernic0,addr=04.0%s", more);
    w->q = qernic_at(w->m, "ernic0", 4);
}

/* Microseconds that the threads of QEMU waited for a processor of the host. */
static int64_t host_delay(Work *w)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/task", qtest_pid(w->m->qts));
    g_autoptr(GDir) tasks = g_dir_open(path, 0, NULL);
    int64_t delay = 0, ns;
    const char *task;

    while (tasks && (task = g_dir_read_name(tasks))) {
        g_autofree char *file = g_strdup_printf("%s/%s/schedstat", path, task);
        g_autofree char *text = NULL;

        if (g_file_get_contents(file, &text, NULL, NULL) &&
            sscanf(text, "%*d %" SCNd64, &ns) == 1) {
            delay += ns / 1000;
        }
    }
    return delay;
}

/* The time without that of the host. */
static int64_t ask(Work *w, const char *what)
{
    int64_t delay = host_delay(w), start = g_get_monotonic_time(), took;

    qtest_qmp_assert_success(w->m->qts, "{ 'execute': %s }", what);
    took = g_get_monotonic_time() - start;
    delay = host_delay(w) - delay;
    return took - MIN(took, delay);
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

static void report(Work *w, const char *name)
{
    qsort(w->took, ANSWERS, sizeof(w->took[0]), compare);
    g_test_message("%s: median %.1f ms, worst %.1f ms", name,
                   w->took[ANSWERS / 2] / 1000.0, w->took[ANSWERS - 1] / 1000.0);
    g_assert_cmpint(w->took[ANSWERS - 1], <, WORST_US);
}

static void answers(Work *w, const char *name)
{
    for (size_t i = 0; i < ANSWERS; i++) {
        w->took[i] = ask(w, "query-status");
    }
    report(w, name);
}

static void put(Work *w, uint32_t slot, struct ernic_cmd *cmd)
{
    qtest_memwrite(w->m->qts, w->q->cmd_ring + slot * sizeof(*cmd), cmd, sizeof(*cmd));
}

/* A list of PAGES pages in two levels with one leaf, whose last page is wrong. */
static uint64_t list(Work *w)
{
    uint64_t leaf = guest_alloc(w->q->alloc, 4096);
    uint64_t wrong = guest_alloc(w->q->alloc, 4096);
    uint64_t dir = guest_alloc(w->q->alloc, PAGES / LEAF * 8);
    g_autofree uint64_t *entry = g_new(uint64_t, PAGES / LEAF);

    qtest_memset(w->m->qts, leaf, 0, 4096);
    qtest_memset(w->m->qts, wrong, 0, 4096);
    qtest_writeq(w->m->qts, wrong + 4096 - 8, 1);
    for (uint32_t i = 0; i < PAGES / LEAF; i++) {
        entry[i] = cpu_to_le64(i == PAGES / LEAF - 1 ? wrong : leaf);
    }
    qtest_memwrite(w->m->qts, dir, entry, PAGES / LEAF * 8);
    return dir;
}

/* Posts a ring of registrations of 2^24 pages, after a protection domain for them. */
static void post_regs(Work *w)
{
    size_t bytes = sizeof(struct ernic_cmd) << RING_SHIFT;
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_PD_ALLOC };

    w->q->cmd_ring = guest_alloc(w->q->alloc, bytes);
    w->q->rsp_ring = guest_alloc(w->q->alloc, bytes);
    qtest_memset(w->m->qts, w->q->rsp_ring, 0, bytes);
    qernic_write64(w->q, offsetof(struct ernic_regs, cmd_addr), w->q->cmd_ring);
    qernic_write64(w->q, offsetof(struct ernic_regs, rsp_addr), w->q->rsp_ring);
    qernic_set_reg(w->q, ring_shift, RING_SHIFT);
    qernic_set_reg(w->q, control, ERNIC_CONTROL_ENABLE);
    put(w, 0, &cmd);
    cmd = (struct ernic_cmd) {
        .opcode = ERNIC_CMD_MR_REG,
        .mr_reg = { .buf = { .addr = cpu_to_le64(list(w)), .npages = cpu_to_le32(PAGES),
                             .page_shift = 12, .levels = 2 },
                    .length = cpu_to_le64((uint64_t)PAGES << 12), .pd = cpu_to_le32(1) },
    };
    for (uint32_t i = 1; i < COMMANDS; i++) {
        put(w, i, &cmd);
    }
    qernic_set_reg(w->q, cmd_pi, COMMANDS);
}

/* The status of command @slot, for which it waits. */
static uint8_t status(Work *w, uint32_t slot)
{
    uint64_t at = w->q->rsp_ring + slot * sizeof(struct ernic_rsp);

    qernic_wait_while(w->q->qts,
                      !qtest_readb(w->m->qts, at + offsetof(struct ernic_rsp, phase)));
    return qtest_readb(w->m->qts, at + offsetof(struct ernic_rsp, status));
}

WORLD_KINDS("/ernic-work/commands", test_commands, Work, w, begin, BOTH)
{
    uint32_t ci;

    post_regs(w);
    answers(w, "commands");
    g_assert_cmpuint(status(w, 0), ==, ERNIC_OK);
    g_assert_cmpuint(status(w, 1), ==, ERNIC_ERR_PARAM);
    /* Stopped: no command ends. */
    g_assert_cmpint(ask(w, "stop"), <, WORST_US);
    ci = qernic_reg(w->q, cmd_ci);
    g_assert_cmpuint(ci, <, COMMANDS);
    answers(w, "stopped");
    g_assert_cmpuint(qernic_reg(w->q, cmd_ci), ==, ci);
    g_assert_cmpint(ask(w, "cont"), <, WORST_US);
    g_assert_cmpuint(status(w, ci + 1), ==, ERNIC_ERR_PARAM);
    /* In D3hot neither; afterwards the device continues. */
    qernic_power(&w->q->dev, 3);
    answers(w, "D3hot");
    qernic_power(&w->q->dev, 0);
    ci = qernic_reg(w->q, cmd_ci);
    g_assert_cmpuint(ci, <, COMMANDS - 1);
    g_assert_cmpuint(status(w, ci + 1), ==, ERNIC_ERR_PARAM);
    /* A reset drops the command in progress. */
    qernic_set_reg(w->q, control, ERNIC_CONTROL_RESET);
    answers(w, "reset");
    qernic_setup(w->q, 1);
}

/*
 * The same ring, and register accesses that need the device's lock: each gets it after at
 * most a slice or two. A busy host may stop the one that has it.
 */
WORLD_KINDS("/ernic-work/waiter", test_waiter, Work, w, begin, BOTH)
{
    int64_t begun, start, took, slow = 0, worst = 0, delay;
    uint32_t accesses = 0;

    post_regs(w);
    delay = host_delay(w);
    begun = g_get_monotonic_time();
    while (g_get_monotonic_time() - begun < WAITER_US) {
        start = g_get_monotonic_time();
        qernic_set_reg(w->q, cmd_pi, 5 * COMMANDS);     /* out of range */
        took = g_get_monotonic_time() - start;
        slow += took > SLOW_US ? took : 0;
        worst = MAX(worst, took);
        accesses++;
    }
    delay = host_delay(w) - delay;
    g_assert_cmpuint(qernic_reg(w->q, cmd_ci), <, COMMANDS);
    g_test_message("%u accesses, the slow ones took %.1f ms, the worst %.1f ms; QEMU "
                   "waited %.1f ms for the host", accesses, slow / 1000.0, worst / 1000.0,
                   delay / 1000.0);
    g_assert_cmpint(slow, <, WAITER_US / 10 + delay);
}

/* More doorbells than the queue holds, after commands that take long. */
WORLD_KINDS("/ernic-work/doorbells", test_doorbells, Work, w, begin, BOTH)
{
    uint64_t bad;

    post_regs(w);
    bad = qernic_stat(w->q, "bad_doorbells");
    for (int i = 0; i < 3000; i++) {
        qernic_doorbell(w->q, 0, (uint64_t)ERNIC_DB_SQ << 56 | 5ull << 32);
    }
    answers(w, "doorbells");
    /* The older ones have overtaken the commands. */
    g_assert_cmpuint(qernic_stat(w->q, "bad_doorbells") - bad, >=, 3000 - 2 * 1024);
    g_assert_cmpint(ask(w, "stop"), <, WORST_US);
}

/* The machine continues with a full queue, which takes more than a slice. */
WORLD_KINDS("/ernic-work/full-queue", test_full_queue, Work, w, begin, BOTH)
{
    const char *path;
    uint64_t bad;

    qernic_setup(w->q, 1);
    path = qernic_log(w->m->qts, "ernic_pci_doorbells_wait");
    bad = qernic_stat(w->q, "bad_doorbells");
    ask(w, "stop");
    for (int i = 0; i < DOORBELLS; i++) {
        qernic_doorbell(w->q, 0, (uint64_t)ERNIC_DB_SQ << 56 | 5ull << 32);
    }
    ask(w, "cont");
    qernic_wait_while(w->q->qts, qernic_stat(w->q, "bad_doorbells") - bad < DOORBELLS);
    g_assert_cmpuint(qernic_logged(w->m, path, "ernic_pci_doorbells_wait"), >=, 1);
}

/*
 * The processor that rings begins the work. If the engine has a thread, not for a netdev,
 * and not if that thread polls or writes a capture.
 */
static void check_here(const char *more, bool wanted)
{
    const char *path;
    Work w;

    begin(&w, more);
    path = qernic_log(w.m->qts, "ernic_pci_work_here");
    qernic_setup(w.q, 1);
    qernic_transfers(w.q, w.q);
    g_assert_cmpint(qernic_logged(w.m, path, "ernic_pci_work_here") > 0, ==, wanted);
}

MACHINE_KINDS("/ernic-work/here", test_here, { "", ",engine-thread=off" },
              { "-udp", UDP ",engine-thread=on" }, { "-iothread", UDP ",iothread=io0" })
{
    check_here(more, true);
}

MACHINE_KINDS("/ernic-work/elsewhere", test_elsewhere, { "", ",engine-thread=on" },
              { "-polls", UDP ",engine-thread=on,engine-poll-us=100" })
{
    check_here(more, false);
}

MACHINE_TEST("/ernic-work/elsewhere-dump", test_elsewhere_dump)
{
    g_autofree char *shm = g_strconcat(",roce-shm=", qernic_folder(), NULL);
    g_autofree char *dump = g_strconcat(shm, ",dump=", qernic_temp(), NULL);

    check_here(shm, true);
    check_here(dump, false);
}

/*
 * While a request waits for its acknowledgement, a thread of the engine has the others,
 * to send them in trains.
 */
static void check_unacknowledged(const char *more, bool thread)
{
    QErnicMachine *m = qernic_machine(VERBS_NIC ",id=ernic0,addr=04.0" UDP "%s"
                                      VERBS_NIC ",id=ernic1,addr=05.0" UDP, more);
    QErnic *q = qernic_host(m, "ernic0", 4, 1), *other = qernic_host(m, "ernic1", 5, 2);
    const char *path;
    uint64_t sent;
    QErnicQp x, y;

    card_introduce(q);
    qernic_pair(q, other, &x, &y, ERNIC_QPT_RC);
    qernic_power(&other->dev, 3);
    sent = qernic_stat(q, "tx_packets");
    qernic_send(&x, 0, 64);
    qernic_wait_while(m->qts, qernic_stat(q, "tx_packets") == sent);
    path = qernic_log(m->qts, "ernic_pci_work_here");
    for (int i = 0; i < QERNIC_DEPTH - 2; i++) {
        qernic_send(&x, 0, 64);
    }
    g_assert_cmpint(qernic_logged(m, path, "ernic_pci_work_here") > 0, ==, !thread);
}

MACHINE_TEST("/ernic-work/unacknowledged", test_unacknowledged)
{
    check_unacknowledged(",engine-thread=on", true);
    check_unacknowledged(",engine-thread=off", false);
}

/*
 * The timer is not set for each message, which would wake the thread: the engine lets it
 * come too early, and asks for it again then.
 */
MACHINE_TEST("/ernic-work/timer", test_timer)
{
    QErnicMachine *m = qernic_machine(VERBS_NIC ",id=ernic0,addr=04.0" UDP
                                      VERBS_NIC ",id=ernic1,addr=05.0" UDP);
    QErnic *q = qernic_host(m, "ernic0", 4, 1), *other = qernic_host(m, "ernic1", 5, 2);
    const char *path = qernic_log(m->qts, "ernic_pci_timer");
    uint64_t seen;
    QErnicQp x, y;

    card_introduce(q);
    qernic_pair(q, other, &x, &y, ERNIC_QPT_RC);
    for (int i = 0; i < 50; i++) {
        qernic_message(&x, &y, 64);
        qernic_pass(m->qts, 1, 10000);
    }
    /* Every message has its ACK: the timer comes, and nothing sets it again. */
    qernic_pass(m->qts, 20, 1000000000);
    seen = qernic_logged(m, path, "ernic_pci_timer ernic0");
    g_test_message("%" PRIu64 " times", seen);
    g_assert_cmpuint(seen, >, 0);
    g_assert_cmpuint(seen, <, 10);
}

#define BIOS_LEN    0x10000
#define VALUE       0x1000              /* what the firmware rings with, */
#define WHERE       0x1008
#define BEGIN       0x1010              /* once this is GO */
#define GO          0x12345678

/*
 * Firmware that rings a doorbell for ever. While the test looks for the size of a BAR,
 * its registers may be where BEGIN is: they do not have the value of GO. They may also be
 * below 4 GiB, where a processor begins: so the firmware runs below 1 MiB.
 */
static const char *ringing_bios(void)
{
    static const uint8_t code[] = {
        0xfa,                           /* cli */
        0x66, 0x2e, 0x0f, 0x01, 0x16, 0x30, 0x00,       /* lgdt %cs:0x30 */
        0x0f, 0x20, 0xc0,               /* mov %cr0,%eax */
        0x0c, 0x01,                     /* or $1,%al */
        0x0f, 0x22, 0xc0,               /* mov %eax,%cr0 */
        0xb8, 0x08, 0x00,               /* mov $8,%ax */
        0x8e, 0xd8,                     /* mov %ax,%ds */
        0x66, 0x81, 0x3e, 0x10, 0x10,   /* cmpl $GO,BEGIN */
        0x78, 0x56, 0x34, 0x12,
        0x75, 0xf5,                     /* jne, to the lines above */
        0x66, 0x8b, 0x3e, 0x08, 0x10,   /* mov WHERE,%edi */
        0x0f, 0x6f, 0x06, 0x00, 0x10,   /* movq VALUE,%mm0 */
        0x67, 0x0f, 0x7f, 0x07,         /* movq %mm0,(%edi) */
        0xeb, 0xfa,                     /* jmp, to the line above */
        0x0f, 0x00, 0x38, 0x00, 0x0f, 0x00,             /* 0x30: limit, address */
        0x00, 0x00,
        0, 0, 0, 0, 0, 0, 0, 0,         /* 0x38: no segment, all memory as data */
        0xff, 0xff, 0x00, 0x00, 0x00, 0x92, 0xcf, 0x00,
    };
    static const uint8_t reset[] = {
        0xea, 0x00, 0x00, 0x00, 0xf0,   /* ljmp $0xf000,$0 */
    };
    g_autofree uint8_t *bios = g_malloc0(BIOS_LEN);
    const char *path = qernic_temp();

    memcpy(bios, code, sizeof(code));
    memcpy(bios + 0xfff0, reset, sizeof(reset));
    g_assert_true(g_file_set_contents(path, (char *)bios, BIOS_LEN, NULL));
    return path;
}

/* A doorbell each so many ns of the host, and some more, is work of the processor. */
#define HERE_NS     6000
#define HERE_BURST  9

/* A processor that does nothing else: the rest of the work is that of the main loop. */
MACHINE_TEST("/ernic-work/rings", test_rings)
{
    Work w;
    const char *path;
    uint64_t bad, here, most;
    int64_t begin;

    w.m = qernic_machine(" -accel tcg -bios %s" VERBS_NIC ",id=ernic0,addr=04.0,"
                         "engine-thread=off", ringing_bios());
    w.q = qernic_at(w.m, "ernic0", 4);
    qernic_setup(w.q, 1);
    path = qernic_log(w.m->qts, "ernic_pci_work_here");
    bad = qernic_stat(w.q, "bad_doorbells");
    qtest_writeq(w.m->qts, VALUE, (uint64_t)ERNIC_DB_SQ << 56 | 5ull << 32);
    qtest_writel(w.m->qts, WHERE, w.q->bar.addr + qernic_reg(w.q, db_offset));
    begin = g_get_monotonic_time();
    qtest_writel(w.m->qts, BEGIN, GO);
    qernic_wait_while(w.m->qts, qernic_stat(w.q, "bad_doorbells") - bad < 20000);
    ask(&w, "stop");
    most = (g_get_monotonic_time() - begin) * 1000 / HERE_NS + HERE_BURST;
    bad = qernic_stat(w.q, "bad_doorbells") - bad;
    here = qernic_logged(w.m, path, "ernic_pci_work_here");
    g_test_message("%" PRIu64 " rings, %" PRIu64 " of them worked, at most %" PRIu64, bad,
                   here, most);
    g_assert_cmpuint(here, >, 0);
    g_assert_cmpuint(here, <=, most);
}

/* A completion queue moves to rings of 2^20 entries again and again. */
WORLD_KINDS("/ernic-work/resize", test_resize, Work, w, begin, BOTH)
{
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_CQ_RESIZE };
    uint64_t big;
    QErnicQp x;

    qernic_setup(w->q, 1);
    qernic_qp_create(w->q, &x, ERNIC_QPT_RC);
    big = guest_alloc(&w->m->alloc, CQ_DEPTH * CQE);
    cmd.cq_create.buf.addr = cpu_to_le64(big);
    cmd.cq_create.handle = cpu_to_le32(x.cq.cqn);
    for (int i = 0; i < QERNIC_DEPTH - 2; i++) {
        cmd.cq_create.depth = cpu_to_le32(CQ_DEPTH >> (i & 1));
        qernic_cmd_post(w->q, &cmd);
    }
    answers(w, "resize");
    /* The last one: a ring that is too long by one step. */
    cmd.cq_create.depth = cpu_to_le32(CQ_DEPTH << 1);
    g_assert_cmpuint(qernic_cmd(w->q, &cmd, NULL), ==, ERNIC_ERR_PARAM);
    cmd.cq_create.depth = cpu_to_le32(QERNIC_DEPTH * 2);
    cmd.cq_create.buf.addr = cpu_to_le64(x.cq.ring);
    qernic_make(w->q, &cmd);
    qernic_transfers(w->q, w->q);
}

/* In S3 the machine's memory is left alone, also by a thread of the engine. */
MACHINE_KINDS("/ernic-work/s3", test_s3, { "", ",engine-thread=off" },
              { "-thread", ",engine-thread=on" })
{
    QErnicMachine *m = qernic_machine(VERBS_NIC ",id=ernic0,addr=04.0"
                                      ",roce-udp=127.0.0.1:0%s", more);
    QErnic *q = qernic_at(m, "ernic0", 4);
    QPCIDevice *pm = qpci_device_find(m->bus, QPCI_DEVFN(1, 3));
    QErnicQp x;

    qernic_setup(q, 1);
    qernic_self(q, &x, ERNIC_QPT_RC);
    qpci_config_writel(pm, 0x40, 0x601);        /* PIIX4: registers of ACPI at 0x600 */
    qpci_config_writeb(pm, 0x80, 1);
    qtest_outw(m->qts, 0x604, 0x2400);          /* S3 */
    qtest_qmp_eventwait(m->qts, "SUSPEND");
    qernic_post_recv(&x, 4096, 64);
    qernic_send(&x, 0, 64);
    for (int i = 0; i < 50; i++) {
        g_usleep(10000);
        qtest_clock_step(m->qts, 1000);
    }
    g_assert_false(qernic_has_cqe(&x));
    g_free(pm);
}
