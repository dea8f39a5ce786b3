/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The in-process wire: exact times between two functions of one machine, repeatable
 * captures, a switch under incast, and hot-plug of functions.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qobject/qdict.h"
#include "ernic-eth.h"

#define RATE    "rate=100G,flight=500ns"
#define FLIGHT  500
#define CABLE(more) \
    " -device ernic-wire,id=w0," RATE more \
    VERBS_NIC ",id=net0,addr=06.0,wire=w0" \
    VERBS_NIC ",id=net1,addr=07.0,wire=w0 "
#define SWITCH(more) \
    " -device ernic-wire,id=w0,ports=3," RATE more \
    VERBS_NIC ",id=net0,addr=06.0,wire=w0" \
    VERBS_NIC ",id=net1,addr=07.0,wire=w0" \
    VERBS_NIC ",id=net2,addr=08.0,wire=w0 "
/* Ethernet, IPv4, UDP, BTH, ICRC; and AETH. */
#define HEADERS (14 + 20 + 8 + 12 + 4)
#define ACK     (HEADERS + 4)
#define PACKET  1024
#define MESSAGE (64 * 1024)

/* ns that consecutive frames occupy a cable of 100 Gb/s, without the flight time. */
static uint64_t on_cable(uint32_t frames, uint32_t len)
{
    return DIV_ROUND_UP(frames * (uint64_t)(len + 24) * 80, 1000);
}

typedef struct Machine {
    QErnicMachine *m;
    QTestState *qts;
    QErnic *q[3];
} Machine;

static void find_functions(Machine *m, int num)
{
    static const char *const id[] = { "net0", "net1", "net2" };

    for (int i = 0; i < num; i++) {
        m->q[i] = qernic_host(m->m, id[i], 6 + i, i + 1);
    }
}

static void open_machine(Machine *m, const char *args, int num)
{
    m->m = qernic_machine("%s", args);
    m->qts = m->m->qts;
    find_functions(m, num);
}

static uint64_t wire_stat(QTestState *qts, uint32_t port, const char *name)
{
    g_autofree char *path = g_strdup_printf("port%u.%s", port, name);

    return qernic_stat(&(QErnic) { .qts = qts, .id = "w0" }, path);
}

/* Two functions on a cable, with a connection. */
static void open_cable(Machine *m, const char *args, QErnicQp *x, QErnicQp *y)
{
    open_machine(m, args, 2);
    qernic_pair(m->q[0], m->q[1], x, y, ERNIC_QPT_RC);
}

/* Steps the clock to the next timer, and waits for the bottom halves too. */
static void step(QErnic *q)
{
    qtest_clock_step_next(q->qts);
    qernic_reg(q, magic);
    qernic_reg(q, magic);
}

static uint64_t completed(QErnicQp *qp)
{
    struct ernic_cqe cqe;

    while (!qernic_has_cqe(qp)) {
        step(qp->q);
    }
    qernic_poll(qp, &cqe);
    g_assert_cmpuint(cqe.status, ==, ERNIC_WC_SUCCESS);
    return le64_to_cpu(cqe.timestamp);
}

static void is_frame(GArray *frames, uint32_t i, uint32_t port, bool sent,
                     uint64_t ns, uint32_t len)
{
    const EthFrame *f = &g_array_index(frames, EthFrame, i);

    g_assert_cmpuint(i, <, frames->len);
    g_assert_cmpuint(f->port, ==, port);
    g_assert_cmpuint(f->flags, ==, sent ? 2 : 1);
    g_assert_cmpuint(f->ns, ==, ns);
    g_assert_cmpuint(f->len, ==, len);
}

/* A message and its ACK take the time of their bytes and the flight, to the ns. */
MACHINE_TEST("/ernic-wire/times", test_times)
{
    const char *path = qernic_temp();
    g_autofree char *args = g_strdup_printf(CABLE(",dump=%s"), path);
    uint64_t start, come, back;
    QErnicQp x, y;
    g_autoptr(GArray) frames = NULL;
    Machine m;

    open_cable(&m, args, &x, &y);
    qtest_clock_step(m.qts, 1000000);
    qernic_post_recv(&y, 0, PACKET);
    start = qernic_time(m.q[0]);
    qernic_send(&x, PACKET, PACKET);
    come = start + on_cable(1, HEADERS + PACKET) + FLIGHT;
    back = come + on_cable(1, ACK) + FLIGHT;
    g_assert_cmpuint(completed(&y), ==, come);
    g_assert_cmpuint(completed(&x), ==, back);
    frames = qeth_capture(path, 2);
    g_assert_cmpuint(frames->len, ==, 4);
    is_frame(frames, 0, 0, true, come - FLIGHT, HEADERS + PACKET);
    is_frame(frames, 1, 1, false, come, HEADERS + PACKET);
    is_frame(frames, 2, 1, true, back - FLIGHT, ACK);
    is_frame(frames, 3, 0, false, back, ACK);
    /* 32 packets follow each other without a gap. */
    qernic_post_recv(&y, 0, 32 * PACKET);
    start = qernic_time(m.q[0]);
    qernic_send(&x, 0, 32 * PACKET);
    come = start + on_cable(32, HEADERS + PACKET) + FLIGHT;
    g_assert_cmpuint(completed(&y), ==, come);
    g_assert_cmpuint(completed(&x), ==, come + on_cable(1, ACK) + FLIGHT);
    g_assert_cmpuint(wire_stat(m.qts, 0, "rx_frames"), ==, 33);
    g_assert_cmpuint(wire_stat(m.qts, 1, "tx_bytes"), ==, 33 * (HEADERS + PACKET));
}

/* The capture ends before its limit, with whole frames; the frames go on. */
MACHINE_TEST("/ernic-wire/dump-limit", test_dump_limit)
{
    enum { LIMIT = 40000, BLOCK = 44 + 4 + HEADERS + PACKET };
    const char *path = qernic_temp();
    g_autofree char *args = g_strdup_printf(CABLE(",dump=%s,dump-limit=%u"), path, LIMIT);
    g_autofree char *bytes = NULL;
    g_autoptr(GArray) frames = NULL;
    QErnicQp x, y;
    Machine m;
    gsize len;

    open_cable(&m, args, &x, &y);
    qernic_post_recv(&y, 0, 32 * PACKET);
    qernic_send(&x, 0, 32 * PACKET);
    completed(&y);
    completed(&x);
    g_assert_true(g_file_get_contents(path, &bytes, &len, NULL));
    g_assert_cmpuint(len, <=, LIMIT);
    g_assert_cmpuint(len + BLOCK, >, LIMIT);
    frames = qeth_capture(path, 2);
    g_assert_cmpuint(frames->len, >, 4);
    g_assert_cmpuint(frames->len, <, 64);       /* of 32 packets at both ends */
}

#define TIMED ",timing=on,timing-profile=generic-100g"

/*
 * With the timing model, the send time of a frame includes its time on the cable. The
 * wire adds the flight, but not the time at its own rate a second time.
 */
MACHINE_TEST("/ernic-wire/timed", test_timed)
{
    const char *path = qernic_temp();
    g_autofree char *args = g_strdup_printf(
        " -global ernic.timing=on " CABLE(",dump=%s"), path);
    const EthFrame *f, *first = NULL;
    QErnicQp x, y;
    g_autoptr(GArray) frames = NULL;
    uint32_t i, n = 0;
    Machine m;

    open_cable(&m, args, &x, &y);
    qernic_post_recv(&y, 0, 32 * PACKET);
    qernic_send(&x, 0, 32 * PACKET);
    completed(&x);
    completed(&y);
    frames = qeth_capture(path, 2);
    for (i = 0; i < frames->len; i++) {
        f = &g_array_index(frames, EthFrame, i);
        if (f->port == 0 && f->flags == 2) {
            /* Frame n ends n frame times after the first. */
            first = first ?: f;
            g_assert_cmpuint(f->ns - first->ns, <=, on_cable(n, HEADERS + PACKET) + 1);
            g_assert_cmpuint(f->ns - first->ns + 1, >=, on_cable(n, HEADERS + PACKET));
            n++;
        }
    }
    g_assert_cmpuint(n, ==, 32);
    is_frame(frames, 0, 0, true, first->ns, HEADERS + PACKET);
    qernic_transfers(m.q[0], m.q[1]);
    qernic_multicast(m.q[1], m.q[0]);
}

#define BURSTS  2
#define BURST   8

typedef struct Flow {
    QErnicQp x, y;              /* sender, receiver */
} Flow;

/* net1 and net2 send to net0 at full rate. */
static void incast(Machine *m, const char *args)
{
    Flow flow[2];

    open_machine(m, args, 3);
    for (int i = 0; i < 2; i++) {
        qernic_pair(m->q[1 + i], m->q[0], &flow[i].x, &flow[i].y, ERNIC_QPT_RC);
    }
    for (int k = 0; k < BURSTS; k++) {
        for (int i = 0; i < 2 * BURST; i++) {
            qernic_post_recv(&flow[i / BURST].y, 0, MESSAGE);
        }
        for (int i = 0; i < 2 * BURST; i++) {
            qernic_send(&flow[i / BURST].x, 0, MESSAGE);
        }
        for (int i = 0; i < 2 * BURST; i++) {
            completed(&flow[i / BURST].x);
            completed(&flow[i / BURST].y);
        }
    }
    g_test_message("drops %" PRIu64 " marks %" PRIu64 " pauses %"
                   PRIu64 " deepest %" PRIu64, wire_stat(m->qts, 0, "tail_drops"),
                   wire_stat(m->qts, 0, "marks"), wire_stat(m->qts, 1, "pauses") +
                   wire_stat(m->qts, 2, "pauses"), wire_stat(m->qts, 0, "max_depth"));
    g_assert_cmpuint(wire_stat(m->qts, 0, "depth"), ==, 0);
    g_assert_cmpuint(wire_stat(m->qts, 0, "depth_area"), >, 0);
    g_assert_cmpuint(wire_stat(m->qts, 0, "depth_area"), <,
                     wire_stat(m->qts, 0, "max_depth") *
                     (uint64_t)qtest_clock_step(m->qts, 1));
}

/*
 * A queue of 200K fills, and packets are lost; ECN marks slow the senders down before it
 * is full; pause frames keep the packets at the senders.
 */
MACHINE_TEST("/ernic-wire/incast", test_incast)
{
    static const struct {
        const char *args;
        bool drops, marks, pauses;
        uint64_t depth;                 /* at most */
    } rows[] = {
        { SWITCH(",queue=200K"), .drops = true, .depth = 200 * 1024 },
        { SWITCH(",queue=200K,kmin=5K,kmax=10K,pmax=0.5"), .marks = true,
          .depth = 200 * 1024 },
        /* For each of the two senders, the pause threshold and frames in flight. */
        { SWITCH(",queue=200K,xoff=50K,xon=25K"), .pauses = true,
          .depth = 2 * 70 * 1024 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        Machine m;

        incast(&m, rows[i].args);
        g_assert_cmpint(wire_stat(m.qts, 0, "tail_drops") > 0, ==, rows[i].drops);
        g_assert_cmpint(wire_stat(m.qts, 0, "marks") > 0, ==, rows[i].marks);
        g_assert_cmpint(wire_stat(m.qts, 1, "pauses") > 0, ==, rows[i].pauses);
        g_assert_cmpint(wire_stat(m.qts, 1, "paused_ns") > 0, ==, rows[i].pauses);
        g_assert_cmpuint(wire_stat(m.qts, 0, "max_depth"), <=, rows[i].depth);
        g_assert_cmpint(qernic_stat(m.q[1], "retransmits") +
                        qernic_stat(m.q[2], "retransmits") > 0, ==, rows[i].drops);
        g_assert_cmpuint(qernic_stat(m.q[0], "rx_ecn_marked"), ==,
                         wire_stat(m.qts, 0, "marks"));
        qernic_machine_end(m.m);
    }
}

/* Every service between any two ports; the switch learns their addresses. */
MACHINE_TEST("/ernic-wire/forwarding", test_forwarding)
{
    uint64_t other, floods;
    Machine m;

    open_machine(&m, SWITCH(""), 3);
    qernic_transfers(m.q[0], m.q[1]);
    other = wire_stat(m.qts, 2, "tx_frames");
    floods = wire_stat(m.qts, 0, "floods");
    g_assert_cmpuint(other, ==, floods);        /* until net1 responded */
    qernic_transfers(m.q[0], m.q[1]);
    g_assert_cmpuint(wire_stat(m.qts, 2, "tx_frames"), ==, other);
    g_assert_cmpuint(wire_stat(m.qts, 0, "floods"), ==, floods);
    qernic_transfers(m.q[2], m.q[0]);
    qernic_transfers(m.q[1], m.q[2]);
    qernic_multicast(m.q[1], m.q[2]);
}

/* A frame goes from one function's Ethernet interface to the other's. */
MACHINE_TEST("/ernic-wire/ethernet", test_ethernet)
{
    struct ernic_eth_txd tx = { .len = cpu_to_le16(500), .flags = ERNIC_ETH_EOP };
    uint8_t frame[500], got[BUFFER], flags;
    uint64_t start;
    Eth from, to;
    Machine m;

    open_machine(&m, CABLE(""), 2);
    qeth_take(&from, m.m, m.q[0], ERNIC_ETH_TX);
    qeth_take(&to, m.m, m.q[1], ERNIC_ETH_RX | ERNIC_ETH_PROMISC);
    qeth_is(&from, OFF(link), 1);
    memset(frame, 0x5a, sizeof(frame));
    tx.addr = cpu_to_le64(qeth_tx_buffer(&from, 0));
    qtest_memwrite(m.qts, qeth_tx_buffer(&from, 0), frame, sizeof(frame));
    qeth_post(&from, &tx);
    qeth_post_rx(&to, BUFFER);
    start = qernic_time(m.q[0]);
    qeth_set(&from, OFF(tx_pi), 1);
    while (!qtest_readl(m.qts, to.state + 4)) {
        step(m.q[0]);
    }
    g_assert_cmpuint(qernic_time(m.q[0]), ==, start + on_cable(1, 500) + FLIGHT);
    g_assert_cmpuint(qeth_receive(&to, got, &flags), ==, sizeof(frame));
    g_assert_cmpmem(got, sizeof(frame), frame, sizeof(frame));
}

MACHINE_TEST("/ernic-wire/link", test_link)
{
    static const char *const names[] = { "net0", "w0.0" };
    QErnicQp x, y;
    Machine m;

    open_cable(&m, CABLE(""), &x, &y);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        qernic_set_link(m.qts, names[i], false);
        g_assert_cmphex(qernic_reg(m.q[0], status), ==, ERNIC_STATUS_ENABLED);
        g_assert_cmphex(qernic_reg(m.q[1], status), ==,
                        ERNIC_STATUS_ENABLED | ERNIC_STATUS_LINK);
        qernic_post_recv(&y, 0, MESSAGE);
        qernic_send(&x, 0, MESSAGE);
        step(m.q[0]);
        g_assert_false(qernic_has_cqe(&y));
        qernic_set_link(m.qts, names[i], true);
        completed(&x);
        completed(&y);
    }
}

/* At several moments of a transfer: unplugs a function, plugs another, or resets. */
MACHINE_TEST("/ernic-wire/hotplug", test_hotplug)
{
    QErnicQp x, y;
    Machine m;
    QDict *rsp;

    open_machine(&m, CABLE(""), 2);
    for (int i = 0; i < 5; i++) {
        qernic_pair(m.q[0], m.q[1], &x, &y, ERNIC_QPT_RC);
        qernic_post_recv(&y, 0, MESSAGE);
        qernic_send(&x, 0, MESSAGE);
        for (int j = 0; j < i * 3; j++) {
            step(m.q[0]);
        }
        /* The wire cannot be removed while it is in use. */
        rsp = qtest_qmp(m.qts, "{ 'execute': 'device_del', 'arguments': {"
                        " 'id': 'w0' } }");
        g_assert_true(qdict_haskey(rsp, "error"));
        qobject_unref(rsp);
        qpci_unplug_acpi_device_test(m.qts, "net1", 0x07);
        step(m.q[0]);
        qtest_qmp_device_add(m.qts, "ernic", "net1", "{'addr': '07.0', 'wire': 'w0',"
                             " 'interface': 'verbs'}");
        /* The wire has no third port. */
        qernic_refused(m.qts, "wire=w0 has 2 ports, and all are in use", "'wire': 'w0'");
        m.q[1] = qernic_at(m.m, "net1", 7);
        qernic_set_reg(m.q[0], control, ERNIC_CONTROL_RESET);
        /* Let old frames arrive: they would match the next queue pair's numbers. */
        qtest_clock_step(m.qts, 100000);
        qernic_setup(m.q[0], 1);
        qernic_setup(m.q[1], 2);
        qernic_transfers(m.q[0], m.q[1]);
    }
}

MACHINE_TEST("/ernic-wire/reset", test_reset)
{
    QErnicQp x, y;
    Machine m;

    open_machine(&m, CABLE(""), 2);
    for (int i = 0; i < 4; i++) {
        qernic_pair(m.q[0], m.q[1], &x, &y, ERNIC_QPT_RC);
        qernic_post_recv(&y, 0, MESSAGE);
        qernic_send(&x, 0, MESSAGE);
        for (int j = 0; j < i * 3; j++) {
            step(m.q[0]);
        }
        qtest_system_reset(m.qts);
        g_assert_cmpuint(wire_stat(m.qts, 0, "rx_frames"), ==, 0);
        find_functions(&m, 2);
        qernic_transfers(m.q[0], m.q[1]);
    }
}

/* Words of a saved wire: its configuration, its random numbers, before "refused". */
#define SAVED_CONFIG    14
#define SAVED_RANDOM    3
#define SAVED_BEFORE    2

/* In a state, frames that wait for the cable are called for. */
MACHINE_TEST("/ernic-wire/waiting", test_waiting)
{
    const uint64_t config[] = { cpu_to_le64(8 * SAVED_CONFIG), cpu_to_le64(2) };
    QErnicState s;
    QErnicQp x, y;
    char *refused;
    Machine m;

    open_cable(&m, CABLE(""), &x, &y);
    qernic_post_recv(&y, 0, MESSAGE);
    qernic_send(&x, 0, MESSAGE);
    step(m.q[0]);
    qernic_state_save(m.qts, &s);
    refused = qernic_state_find(&s, (const char *)config, sizeof(config)) +
              8 * (1 + SAVED_CONFIG + 1 + SAVED_RANDOM + 1 + SAVED_BEFORE);
    g_assert_cmpuint(ldq_le_p(refused), ==, 1);
    g_assert_true(qernic_state_loads(&s, "%s", CABLE("")));
    stq_le_p(refused, 0);
    g_assert_false(qernic_state_loads(&s, "%s", CABLE("")));
}

/* Invalid command lines. */
MACHINE_TEST("/ernic-wire/refused", test_refused)
{
    static const struct {
        const char *args, *says;
    } rows[] = {
#define WIRE(more) "-device ernic-wire,id=w0," more
        { "-device ernic-wire", "ernic-wire needs an id=, for wire= to name it" },
        { WIRE("ports=1"), "ports is not 2 to 64" },
        { WIRE("rate=fast"), "rate is \"fast\", not bits per second, as 100G" },
        { WIRE("rate=1"), "rate is not 1M to 1600G" },
        { WIRE("flight=3m"), "flight is \"3m\", not a time, as 500ns or 2us" },
        { WIRE("flight=-1"), "flight is \"-1\", not a time, as 500ns or 2us" },
        { WIRE("flight=2s"), "a time is longer than 1s" },
        { WIRE("ports=3,latency=x"), "latency is \"x\", not a time, as 500ns or 2us" },
        { WIRE("reorder-max=x"), "reorder-max is \"x\", not a time, as 500ns or 2us" },
        { WIRE("loss=2"), "loss is \"2\", not a probability, 0 to 1" },
        { WIRE("loss=nan"), "loss is \"nan\", not a probability, 0 to 1" },
        { WIRE("reorder=-1"), "reorder is \"-1\", not a probability, 0 to 1" },
        { WIRE("pmax=1%"), "pmax is \"1%\", not a probability, 0 to 1" },
        { WIRE("queue=1K"), "queue is not 16K to 64M" },
        { WIRE("kmax=1"), "kmax, xoff and latency are of a switch" },
        { WIRE("ports=3,kmin=2,kmax=1"), "kmin, kmax and queue do not" },
        { WIRE("ports=3,xon=2,xoff=1"), "xon, xoff and queue do not" },
        { WIRE("reorder=1"), "reorder and reorder-max need each other" },
        { WIRE("seed=x"), "Parameter 'seed' expects" },
        { WIRE("dump=/no/such/folder/x"), "Could not open" },
        { WIRE("dump-limit=16383"), "dump-limit is 16383, not 16384 or more" },
        { WIRE("ports=2") " -netdev hubport,id=h0,hubid=0"
          VERBS_NIC ",netdev=h0,wire=w0", "netdev= and wire= exclude each other" },
        { WIRE("ports=2") " -object iothread,id=io" VERBS_NIC ",wire=w0,iothread=io",
          "iothread= and wire= exclude each other" },
        { WIRE("ports=2") VERBS_NIC ",wire=w0,engine-thread=on",
          "engine-thread=on and wire= exclude each other" },
        { WIRE("ports=2") VERBS_NIC ",wire=w1", "Device 'w1' not found" },
        { WIRE("ports=2") VERBS_NIC ",wire=w0" VERBS_NIC ",wire=w0"
          VERBS_NIC ",wire=w0", "wire=w0 has 2 ports, and all are in use" },
#undef WIRE
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        qernic_no_start(rows[i].says, "%s", rows[i].args);
    }
}

/* A capture has a regular file to itself; QEMU waits for no reader of a FIFO. */
MACHINE_TEST("/ernic-wire/dump-file", test_dump_file)
{
    const char *path = qernic_temp();

    qernic_no_start("another device or process writes it",
                    "-device ernic-wire,id=w0,dump=%s -device ernic-wire,id=w1,dump=%s",
                    path, path);
    g_assert_cmpint(unlink(path), ==, 0);
    g_assert_cmpint(mkfifo(path, 0600), ==, 0);
    qernic_no_start("not a regular file", "-device ernic-wire,id=w0,dump=%s", path);
}

/* More frames of a raw queue pair than the cable holds, of an engine in an iothread. */
MACHINE_TEST("/ernic-wire/raw-thread", test_raw_thread)
{
    Machine m;
    QErnicQp x;

    open_machine(&m, " -object iothread,id=io0 -device ernic-wire,id=w0,rate=1G"
                 VERBS_NIC ",id=net0,addr=06.0,wire=w0,roce-udp=127.0.0.1:0,"
                 "iothread=io0" VERBS_NIC ",id=net1,addr=07.0,wire=w0", 2);
    qernic_self(m.q[0], &x, ERNIC_QPT_RAW);
    qtest_memset(m.qts, m.q[0]->buf, 0xff, 12);
    for (int i = 0; i < 64; i++) {
        qernic_send(&x, 0, 1000);
        qernic_done(&x);
    }
    qernic_wait_while(m.q[0]->qts, wire_stat(m.qts, 0, "rx_frames") < 64);
}
