/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The timing model in the device: refused profiles, the times that a guest sees on
 * each link, back-pressure, and migration in the middle of a message.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "ernic.h"

#define FIRST   0                   /* offsets in the buffer */
#define SECOND  (64 * 1024)
#define LENGTH  (32 * 1024)

static const char *temporary(const char *text)
{
    const char *path = qernic_temp();

    g_assert_true(g_file_set_contents(path, text, -1, NULL));
    return path;
}

static void refused(QErnic *q, const char *profile, const char *says)
{
    qernic_refused(q->qts, says, "'timing': true, 'timing-profile': '%s'", profile);
}

/* A message of the parser has the name of the file. */
ERNIC_TEST("timing-refused", test_refused)
{
    const char *path = temporary("base = other\n");
    g_autofree char *says = g_strdup_printf(
        "timing-profile: %s:1: base: there is no profile \"other\"", path);

    refused(q, "no-such", "timing-profile: \"no-such\" is neither a profile nor a file");
    refused(q, path, says);
}

/* Time from the doorbell of a WRITE of @len bytes to its completion, in ns. */
static uint64_t write_time(QErnicQp *x, QErnicQp *y, uint32_t len)
{
    uint64_t start = qernic_time(x->q);
    struct ernic_cqe cqe;

    qernic_post_write(x, FIRST, len, y->q->buf + SECOND, y->q->key);
    while (!qernic_has_cqe(x)) {
        qtest_clock_step_next(x->q->qts);
    }
    qernic_poll(x, &cqe);
    g_assert_cmpuint(cqe.status, ==, ERNIC_WC_SUCCESS);
    return le64_to_cpu(cqe.timestamp) - start;
}

typedef struct Pair {
    QErnic *a, *b;
    QErnicQp x, y;
} Pair;

/* Two devices on a hub, with these properties. */
static void open_pair(Pair *p, const char *a, const char *b)
{
    QErnicMachine *m = qernic_machine(
        " -netdev hubport,id=h0,hubid=0 -netdev hubport,id=h1,hubid=0"
        VERBS_NIC ",id=net0,addr=06.0,netdev=h0,timing=on%s"
        VERBS_NIC ",id=net1,addr=07.0,netdev=h1,timing=on%s", a, b);

    p->a = qernic_host(m, "net0", 6, 1);
    p->b = qernic_host(m, "net1", 7, 2);
    qernic_pair(p->a, p->b, &p->x, &p->y, ERNIC_QPT_RC);
}

/* Time from the store that posts @num commands to the last response, in ns. */
static uint64_t commands_time(QErnic *q, uint32_t num)
{
    struct ernic_cmd nop = { .opcode = ERNIC_CMD_NOP };
    uint64_t start = qernic_time(q);

    for (uint32_t i = 0; i < num; i++) {
        qernic_cmd_post(q, &nop);
    }
    while (qernic_reg(q, cmd_ci) != q->cmd_pi) {
        qtest_clock_step_next(q->qts);
    }
    return qernic_time(q) - start;
}

/*
 * On the NIC, a command takes 1 us, and over PCIe 4.0 x16 550 ns to be read, 200 ns
 * for the response, and the time of 84 and 88 bytes: 1755.5 ns in total. The next one
 * is fetched after the response has arrived, at a whole ns. On the card, a command
 * takes 1 us.
 */
static void check_commands(Pair *p)
{
    g_assert_cmpuint(commands_time(p->a, 1), ==, 1000);
    g_assert_cmpuint(commands_time(p->a, 5), ==, 5000);
    g_assert_cmpuint(commands_time(p->b, 1), ==, 1756);
    g_assert_cmpuint(commands_time(p->b, 12), ==, 12 * 1756);
}

/*
 * The stages' work is 2 cycles of 200 MHz. READS(): time of register reads, of which
 * qernic_time() does one, and qernic_doorbell() two before its store.
 */
#define WORK_NS     10
#define READ_NS     400
#define READS(n)    (READ_NS + (n) * WORK_NS)

/*
 * The times that docs/timing.md predicts with warm caches, but after register reads
 * instead of the doorbell of the completion queue. That doorbell is rung in the same
 * ns, after two more reads; later there are no reads.
 */
MACHINE_TEST("/ernic-timing-times", test_times)
{
    static const struct {
        uint32_t len, ns;
    } rows[] = { { 8, 2170 }, { 256, 2198 } };
    uint64_t first;
    Pair p;

    open_pair(&p, ",timing-profile=ernic-200mhz-100g", ",timing-profile=generic-100g");
    check_commands(&p);
    first = write_time(&p.x, &p.y, 8);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        uint64_t alone = rows[i].ns - WORK_NS;
        uint64_t ns = write_time(&p.x, &p.y, rows[i].len);

        g_test_message("%u bytes: %" PRIu64 " ns", rows[i].len, ns);
        g_assert_cmpuint(ns, ==, alone + READS(5));
        qtest_clock_step(p.a->qts, 12345678901);
        ns = write_time(&p.x, &p.y, rows[i].len);
        g_assert_cmpuint(ns, ==, alone + READS(3));
    }
    /*
     * The first WRITE finds the caches of the other end empty. Context and key each
     * take 600 ns, and 2.7 ns for the 84 bytes of a completion over PCIe 4.0 x16.
     */
    g_assert_cmpuint(first, ==, rows[0].ns - WORK_NS + READS(3) + 2 * 600 + 6);
}

/*
 * A fast sender, and a slow receiver with room for one packet. The netdev keeps packets
 * until the receiver has room; none is lost.
 */
MACHINE_TEST("/ernic-timing-pause", test_pause)
{
    const char *path = temporary("base = generic-100g\n"
                                      "receive.buffer = 1 packets # test\n"
                                      "receive.width = 1 B/cycle # test\n");
    g_autofree char *slow = g_strconcat(",timing-profile=", path, NULL);
    Pair p;

    open_pair(&p, "", slow);
    /* 32 packets of 1 KiB, at 2 ns per byte of the frame. */
    g_assert_cmpuint(write_time(&p.x, &p.y, LENGTH), >, 2 * LENGTH);
    g_assert_cmpuint(qernic_stat(p.a, "retransmits"), ==, 0);
    g_assert_cmpuint(qernic_stat(p.b, "rx_packets"), ==, 32);
    qernic_transfers(p.a, p.b);
    qernic_transfers(p.b, p.a);
    g_assert_cmpuint(qernic_stat(p.a, "retransmits"), ==, 0);
}

/* The machine is saved while a message and several doorbells are in progress. */
MACHINE_TEST("/ernic-timing-migrate", test_migrate)
{
    QErnic *q = qernic_device(",roce-udp=127.0.0.1:0,timing=on");
    QErnicQp x, y;

    qernic_setup(q, 1);
    qernic_begin(q, &x, &y);
    qernic_migrate(q, ",timing=on");
    qernic_nop(q);
    qernic_end(&x, &y);
}
