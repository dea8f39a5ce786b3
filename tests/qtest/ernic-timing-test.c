/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The timing model in the device: refused profiles, the times that a guest sees on
 * each link, back-pressure, and migration in the middle of a message.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/module.h"
#include "qobject/qdict.h"
#include "ernic.h"

#define FIRST   0                   /* offsets in the buffer */
#define SECOND  (64 * 1024)
#define LENGTH  (32 * 1024)

/* The text of a profile, and the error message after the file's name. */
static const struct {
    const char *text, *says;
} bad_profiles[] = {
    { "", ": clock.core: is missing" },
    { "base = generic-100g\nnonsense\n",
      ":2: \"nonsense\" is not \"key = value unit # source\"" },
    { "base = generic-100g\n\nwire.rate = 10 parsecs # test\n",
      ":3: wire.rate: \"parsecs\" is no unit of this value" },
    { "base = generic-100g\nwire.colour = 10 ns # test\n",
      ":2: wire.colour: no such parameter" },
    { "base = generic-100g\nwire.rate = 10 Gb/s\n",
      ":2: wire.rate: no source is named after a #" },
    { "base = other\n", ":1: base: there is no profile \"other\"" },
};

static char *temporary(const char *text)
{
    char *path = NULL;
    int fd = g_file_open_tmp("ernic-profile-XXXXXX", &path, NULL);

    g_assert_cmpint(fd, >=, 0);
    close(fd);
    g_assert_true(g_file_set_contents(path, text, -1, NULL));
    return path;
}

static void refused(QErnic *q, const char *profile, const char *says)
{
    QDict *rsp = qtest_qmp(q->qts, "{ 'execute': 'device_add', 'arguments': {"
                           " 'driver': 'ernic', 'id': 'bad', 'timing': true,"
                           " 'timing-profile': %s } }", profile);
    const char *desc;

    g_assert_true(qdict_haskey(rsp, "error"));
    desc = qdict_get_str(qdict_get_qdict(rsp, "error"), "desc");
    g_test_message("%s", desc);
    g_assert_cmpstr(desc, ==, says);
    qobject_unref(rsp);
}

static void test_refused(void *obj, void *data, QGuestAllocator *alloc)
{
    QErnic *q = obj;

    refused(q, "no-such", "timing-profile: \"no-such\" is neither a profile"
            " nor a file");
    for (size_t i = 0; i < ARRAY_SIZE(bad_profiles); i++) {
        g_autofree char *path = temporary(bad_profiles[i].text);
        g_autofree char *says = g_strdup_printf("timing-profile: %s%s", path,
                                                bad_profiles[i].says);

        refused(q, path, says);
        unlink(path);
    }
}

static uint64_t time_of(QErnic *q)
{
    return qpci_io_readq(&q->dev, q->bar, offsetof(struct ernic_regs, time));
}

/* Time from the doorbell of a WRITE of @len bytes to its completion, in ns. */
static uint64_t write_time(QErnicQp *x, QErnicQp *y, uint32_t len)
{
    struct ernic_wqe wqe = {
        .opcode = ERNIC_WR_WRITE,
        .rdma = { .raddr = cpu_to_le64(y->q->buf + SECOND),
                  .rkey = cpu_to_le32(y->q->key) },
    };
    uint64_t start = time_of(x->q);
    struct ernic_cqe cqe;

    qernic_post_send(x, &wqe, FIRST, len);
    while (!qernic_has_cqe(x)) {
        qtest_clock_step_next(x->q->qts);
    }
    qernic_poll(x, &cqe);
    g_assert_cmpuint(cqe.status, ==, ERNIC_WC_SUCCESS);
    return le64_to_cpu(cqe.timestamp) - start;
}

typedef struct Pair {
    QErnic a, b;
    QErnicQp x, y;
} Pair;

static void open_pair(Pair *p, QErnic *any)
{
    qernic_init(&p->a, "net0", any->dev.bus, QPCI_DEVFN(6, 0), any->alloc);
    qernic_init(&p->b, "net1", any->dev.bus, QPCI_DEVFN(7, 0), any->alloc);
    qernic_setup(&p->a, 1);
    qernic_setup(&p->b, 2);
    qernic_qp_create(&p->a, &p->x, ERNIC_QPT_RC);
    qernic_qp_create(&p->b, &p->y, ERNIC_QPT_RC);
    qernic_qp_connect(&p->x, &p->y);
    qernic_qp_connect(&p->y, &p->x);
}

static void close_pair(Pair *p)
{
    qernic_fini(&p->a);
    qernic_fini(&p->b);
}

#define HUB(more) \
    " -netdev hubport,id=h0,hubid=0 -netdev hubport,id=h1,hubid=0" \
    " -device ernic,id=net0,addr=06.0,netdev=h0" more \
    " -device ernic,id=net1,addr=07.0,netdev=h1" more " "

/* Two more devices on a hub, with the two profiles of @arg. */
static void *with_profiles(GString *cmd_line, void *arg)
{
    const char *const *name = arg;

    g_string_append_printf(
        cmd_line, " -netdev hubport,id=h0,hubid=0"
        " -netdev hubport,id=h1,hubid=0"
        " -device ernic,id=net0,addr=06.0,netdev=h0,timing=on,timing-profile=%s"
        " -device ernic,id=net1,addr=07.0,netdev=h1,timing=on,timing-profile=%s"
        " ", name[0], name[1]);
    return arg;
}

static const char *const card_and_nic[] = { "ernic-200mhz-100g", "generic-100g" };

/* Time from the store that posts @num commands to the last response, in ns. */
static uint64_t commands_time(QErnic *q, uint32_t num)
{
    struct ernic_cmd nop = { .opcode = ERNIC_CMD_NOP };
    uint64_t start = time_of(q);

    for (uint32_t i = 0; i < num; i++) {
        qernic_cmd_post(q, &nop);
    }
    while (qernic_reg(q, cmd_ci) != q->cmd_pi) {
        qtest_clock_step_next(q->qts);
    }
    return time_of(q) - start;
}

/*
 * On the NIC, a command takes 1 us, and over PCIe 4.0 x16 550 ns to be read, 200 ns
 * for the response, and the time of 84 and 88 bytes: 1755.5 ns in total. The next one
 * is fetched after the response has arrived, at a whole ns. On the card, a command
 * takes 1 us.
 */
static void check_commands(Pair *p)
{
    g_assert_cmpuint(commands_time(&p->a, 1), ==, 1000);
    g_assert_cmpuint(commands_time(&p->a, 5), ==, 5000);
    g_assert_cmpuint(commands_time(&p->b, 1), ==, 1756);
    g_assert_cmpuint(commands_time(&p->b, 12), ==, 12 * 1756);
}

/*
 * The stages' work is 2 cycles of 200 MHz. READS(): time of register reads, of which
 * time_of() does one, and qernic_doorbell() two before its store.
 */
#define WORK_NS     10
#define READ_NS     400
#define READS(n)    (READ_NS + (n) * WORK_NS)

/*
 * The times that docs/timing.md predicts with warm caches, but after register reads
 * instead of the doorbell of the completion queue. That doorbell is rung in the same
 * ns, after two more reads; later there are no reads.
 */
static void test_times(void *obj, void *data, QGuestAllocator *alloc)
{
    static const struct {
        uint32_t len, ns;
    } rows[] = { { 8, 2170 }, { 256, 2198 } };
    uint64_t first;
    Pair p;

    open_pair(&p, obj);
    check_commands(&p);
    first = write_time(&p.x, &p.y, 8);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        uint64_t alone = rows[i].ns - WORK_NS;
        uint64_t ns = write_time(&p.x, &p.y, rows[i].len);

        g_test_message("%u bytes: %" PRIu64 " ns", rows[i].len, ns);
        g_assert_cmpuint(ns, ==, alone + READS(5));
        qtest_clock_step(p.a.qts, 12345678901);
        ns = write_time(&p.x, &p.y, rows[i].len);
        g_assert_cmpuint(ns, ==, alone + READS(3));
    }
    /*
     * The first WRITE finds the caches of the other end empty. Context and key each
     * take 600 ns, and 2.7 ns for the 84 bytes of a completion over PCIe 4.0 x16.
     */
    g_assert_cmpuint(first, ==, rows[0].ns - WORK_NS + READS(3) + 2 * 600 + 6);
    close_pair(&p);
}

/* A fast sender, and a slow receiver with room for one packet. */
static void *with_slow(GString *cmd_line, void *arg)
{
    char *path = temporary("base = generic-100g\nreceive.buffer = 1 packets # test\n"
                           "receive.width = 1 B/cycle # test\n");

    g_string_append_printf(
        cmd_line, " -netdev hubport,id=h0,hubid=0"
        " -netdev hubport,id=h1,hubid=0"
        " -device ernic,id=net0,addr=06.0,netdev=h0,timing=on"
        " -device ernic,id=net1,addr=07.0,netdev=h1,timing=on,timing-profile=%s"
        " ", path);
    return path;
}

/* The netdev keeps packets until the receiver has room; none is lost. */
static void test_pause(void *obj, void *data, QGuestAllocator *alloc)
{
    g_autofree char *path = data;
    Pair p;

    open_pair(&p, obj);
    /* 32 packets of 1 KiB, at 2 ns per byte of the frame. */
    g_assert_cmpuint(write_time(&p.x, &p.y, LENGTH), >, 2 * LENGTH);
    g_assert_cmpuint(qernic_stat(&p.a, "retransmits"), ==, 0);
    g_assert_cmpuint(qernic_stat(&p.b, "rx_packets"), ==, 32);
    qernic_transfers(&p.a, &p.b);
    qernic_transfers(&p.b, &p.a);
    g_assert_cmpuint(qernic_stat(&p.a, "retransmits"), ==, 0);
    close_pair(&p);
    unlink(path);
    qos_invalidate_command_line();
}

static void *with_hub(GString *cmd_line, void *arg)
{
    g_string_append(cmd_line, HUB(",timing=on"));
    return arg;
}

static void test_netdev(void *obj, void *data, QGuestAllocator *alloc)
{
    Pair p;

    open_pair(&p, obj);
    qernic_transfers(&p.a, &p.b);
    qernic_multicast(&p.a, &p.b);
    close_pair(&p);
}

static void *with_timing(GString *cmd_line, void *arg)
{
    g_string_append(cmd_line, " -global ernic.timing=on ");
    return arg;
}

static void test_loopback(void *obj, void *data, QGuestAllocator *alloc)
{
    QErnic *q = obj;

    qernic_setup(q, 1);
    qernic_transfers(q, q);
    qernic_multicast(q, q);
}

/* The machine is saved while a message and several doorbells are in progress. */
static void test_migrate(void *obj, void *data, QGuestAllocator *alloc)
{
    struct ernic_cmd nop = { .opcode = ERNIC_CMD_NOP };
    QErnic *q = obj;
    QTestState *from;
    QErnicQp x, y;

    qernic_setup(q, 1);
    qernic_begin(q, &x, &y);
    from = qernic_migrate_to(q, ",timing=on");
    g_assert_cmpuint(qernic_cmd(q, &nop, NULL), ==, ERNIC_OK);
    qernic_end(&x, &y);
    qernic_migrate_end(q, from);
}

static void register_tests(void)
{
    QOSGraphTestOptions times = { .before = with_profiles, .arg = (void *)card_and_nic };
    QOSGraphTestOptions slow = { .before = with_slow };
    QOSGraphTestOptions hub = { .before = with_hub };
    QOSGraphTestOptions on = { .before = with_timing };

    qos_add_test("timing-refused", "ernic", test_refused, NULL);
    qos_add_test("timing-times", "ernic", test_times, &times);
    qos_add_test("timing-pause", "ernic", test_pause, &slow);
    qos_add_test("timing-netdev", "ernic", test_netdev, &hub);
    qos_add_test("timing-loopback", "ernic", test_loopback, &on);
    qos_add_test("timing-migrate", "ernic", test_migrate, &on);
}

libqos_init(register_tests);
