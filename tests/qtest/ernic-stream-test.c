/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Hostile migration streams: the stream of a machine with traffic, whose sections of
 * the device and of the wire are changed. A destination loads it or refuses it, in
 * bounded time; an end of QEMU for any other reason fails the test.
 *
 * ERNIC_STREAMS is the number of changed streams of each machine; the long form has more.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "ernic-mlx5.h"
#include "ernic-qdma.h"

#define STREAMS     12
#define LONG_STREAMS 48
#define MESSAGE     (64 * 1024)
#define DOORBELLS   40
#define DOORBELL    16              /* bytes in a stream */
#define SECTION     512             /* bytes of a section of the shell to change */
#define PAGES       8               /* of an on-demand region, in as many chunks */
/* Shells: the registers of PG332 and the first window in BAR 2. */
#define SHELL_PG332 0x40000
#define OPENNIC_PG332 0x800000
#define OPENNIC     ",ernic-version=4.2"
#define SHELL_WINDOW 0x16420
#define SHELL_BOTH  0xc2000000      /* reads and writes, 128 GiB */

/* Small tables, so that the stream has little besides objects with traffic. */
#define LIMITS " -global ernic.max-qp=16 -global ernic.max-cq=16" \
    " -global ernic.max-srq=4 -global ernic.max-eq=4 -global ernic.max-mr=16" \
    " -global ernic.max-pd=8"

#define UCTX " -global ernic.max-uctx=4"
#define MLX5 " -device ernic,id=net0,addr=06.0,interface=mlx5"

/*
 * Machines, whose functions are at 06.0 and 07.0; the traffic that they have; whether
 * they are stopped, with doorbells and commands that the device has yet to execute; and
 * whether the function has the mlx5 interface.
 */
static const struct {
    const char *name, *args;
    bool card, stopped, mlx5;
    bool shell;                 /* with a card */
    bool objects;               /* of the kinds that few programs use */
    const char *section;        /* change a section of the shell alone */
} machines[] = {
    { "verbs", UCTX VERBS_NIC ",id=net0,addr=06.0,roce-udp=127.0.0.1:0" },
    { "wire", UCTX " -device ernic-wire,id=w0,rate=1G,flight=20us"
      VERBS_NIC ",id=net0,addr=06.0,wire=w0"
      VERBS_NIC ",id=net1,addr=07.0,wire=w0" },
    { "timing", UCTX " -global ernic.timing=on -global ernic.timing-profile=generic-100g"
      " -device ernic-wire,id=w0,rate=1G,flight=20us"
      VERBS_NIC ",id=net0,addr=06.0,wire=w0"
      VERBS_NIC ",id=net1,addr=07.0,wire=w0" },
    { "pg332", UCTX VERBS_NIC ",id=net0,addr=06.0,roce-udp=127.0.0.1:0,"
      "ernic-version=4.2,ernic-strict=report", true },
    { "doorbells", UCTX VERBS_NIC ",id=net0,addr=06.0,roce-udp=127.0.0.1:0", false,
      true },
    { "mlx5", MLX5, .mlx5 = true },
    { "mlx5-doorbells", MLX5, .mlx5 = true, .stopped = true },
    { "reconic", UCTX VERBS_NIC ",id=net0,addr=06.0,roce-udp=127.0.0.1:0,"
      "shell=reconic,card-memory=1M", .card = true, .shell = true },
    { "qdma", UCTX VERBS_NIC ",id=net0,addr=06.0,roce-udp=127.0.0.1:0,"
      "shell=reconic,card-memory=1M", .card = true, .shell = true,
      .section = "ernic/qdma" },
    { "streams", UCTX VERBS_NIC ",id=net0,addr=06.0,roce-udp=127.0.0.1:0,"
      "shell=reconic,card-memory=1M", .card = true, .shell = true,
      .section = "ernic/streams" },
    { "ports", UCTX VERBS_NIC ",id=net0,addr=06.0,multifunction=on,roce-udp=127.0.0.1:0,"
      "shell=opennic,card-memory=1M" OPENNIC VERBS_NIC ",id=port1,addr=06.1,port-of=net0"
      OPENNIC, .card = true, .shell = true, .section = "ernic/port1" },
    { "xib", UCTX " -netdev hubport,id=h0,hubid=0 -netdev hubport,id=h1,hubid=0"
      VERBS_NIC ",id=net0,addr=06.0,netdev=h0,shell=xib"
      VERBS_NIC ",id=sender,addr=07.0,netdev=h1,shell=xib",
      .section = "ernic/xib" },
    { "objects", UCTX " -netdev hubport,id=h0,hubid=0"
      VERBS_NIC ",id=net0,addr=06.0,netdev=h0", .objects = true },
};

typedef struct Stream {
    QErnicState s;
    gsize from, to;             /* our sections, but for the last bytes of them */
    bool doorbells;             /* those sections are the doorbells' alone */
} Stream;

static void connect_and_send(QErnic *a, QErnic *b)
{
    QErnicQp x, y;

    qernic_pair(a, b, &x, &y, ERNIC_QPT_RC);
    for (int i = 0; i < 4; i++) {
        qernic_post_recv(&y, 0, MESSAGE);
    }
    for (int i = 0; i < 8; i++) {
        qernic_send(&x, 0, MESSAGE);
    }
    qtest_clock_step(a->qts, 150000);
}

/* A region with some pages, and a message from a page that is absent. */
static void demand(QErnic *q)
{
    struct ernic_cmd reg = {
        .opcode = ERNIC_CMD_MR_REG,
        .mr_reg = { .buf.page_shift = 12, .length = cpu_to_le64(1ull << 40), .pd =
                    cpu_to_le32(q->pd), .access = cpu_to_le32(ERNIC_ACCESS_ON_DEMAND) },
    };
    struct ernic_cmd pages = {
        .opcode = ERNIC_CMD_MR_PAGES,
        .mr_pages = { .list = cpu_to_le64(q->scratch), .npages = cpu_to_le64(PAGES) },
    };
    uint64_t buf = q->buf;
    uint32_t key = q->key;
    QErnicQp x;

    q->key = qernic_make(q, &reg);
    pages.mr_pages.key = cpu_to_le32(q->key);
    for (uint64_t i = 0; i < PAGES; i++) {
        qtest_writeq(q->qts, q->scratch + 8 * i,
                     buf | ERNIC_PAGE_READ | (i & 1 ? ERNIC_PAGE_WRITE : 0));
    }
    for (uint64_t i = 0; i < PAGES; i++) {
        pages.mr_pages.first = cpu_to_le64(i << 20);
        qernic_make(q, &pages);
    }
    qernic_self(q, &x, ERNIC_QPT_RC);
    q->buf = (PAGES / 2) << 12;
    qernic_send(&x, 0, MESSAGE);
    q->buf = buf;
    q->key = key;
}

/* Frames that the device sends to itself, by a rule, and rules for a table of RSS. */
static void raw(QErnic *q)
{
    struct ernic_rss rss = { .fields = cpu_to_le32(ERNIC_HASH_SRC_IPV4) };
    struct ernic_flow_rule rule = { };
    struct ernic_qp_init init = { .type = ERNIC_QPT_RWQ, .rq_stride = 1 };
    QErnicQp x;

    qernic_self(q, &x, ERNIC_QPT_RAW);
    init.rq_buf.addr = cpu_to_le64(guest_alloc(q->alloc, 4096));
    init.rq_depth = cpu_to_le32(16);
    init.pd = cpu_to_le32(q->pd);
    init.recv_cq = cpu_to_le32(x.cq.cqn);
    init.srq = cpu_to_le32(UINT32_MAX);
    rss.wq[0] =
        cpu_to_le32(qernic_make_with(q, ERNIC_CMD_QP_CREATE, &init, sizeof(init)));
    rule.qpn = cpu_to_le32(qernic_make_with(q, ERNIC_CMD_RSS_CREATE, &rss, sizeof(rss)));
    rule.priority = cpu_to_le16(7);
    qernic_make_with(q, ERNIC_CMD_FLOW_CREATE, &rule, sizeof(rule));
    rule.qpn = cpu_to_le32(x.qpn);
    rule.priority = 0;
    qernic_make_with(q, ERNIC_CMD_FLOW_CREATE, &rule, sizeof(rule));
    qernic_post_recv(&x, 0, 2048);
    for (int i = 0; i < 4; i++) {
        qernic_send(&x, 0, 300);
    }
}

/* A domain with a shared receive queue and both ends of a connection. */
static void xrc(QErnic *q)
{
    struct ernic_cmd domain = { .opcode = ERNIC_CMD_PD_ALLOC };
    struct ernic_cmd srq = { .opcode = ERNIC_CMD_SRQ_CREATE };
    struct ernic_qp_init init = { .srq = cpu_to_le32(UINT32_MAX) };
    uint32_t xrcd = qernic_make(q, &domain);
    QErnicQp x;

    qernic_qp_create(q, &x, ERNIC_QPT_RC);              /* for its queues */
    srq.srq.buf.addr = cpu_to_le64(x.rq);
    srq.srq.pd = cpu_to_le32(q->pd);
    srq.srq.depth = cpu_to_le32(QERNIC_DEPTH);
    srq.srq.stride = cpu_to_le16(1);
    srq.srq.xrcd = cpu_to_le32(xrcd);
    srq.srq.cq = cpu_to_le32(x.cq.cqn);
    qernic_make(q, &srq);
    init.type = ERNIC_QPT_XRC_TGT;
    init.pd = cpu_to_le32(xrcd);
    qernic_make_with(q, ERNIC_CMD_QP_CREATE, &init, sizeof(init));
    init.type = ERNIC_QPT_XRC_INI;
    init.pd = cpu_to_le32(q->pd);
    init.sq_buf.addr = cpu_to_le64(x.sq);
    init.sq_depth = cpu_to_le32(QERNIC_DEPTH);
    init.sq_stride = 2;
    init.send_cq = cpu_to_le32(x.cq.cqn);
    qernic_make_with(q, ERNIC_CMD_QP_CREATE, &init, sizeof(init));
}

/* Doorbells around a command, for a machine that stands still. */
static void ring_stopped(QErnic *q)
{
    struct ernic_cmd nop = { .opcode = ERNIC_CMD_NOP };

    qernic_stop(q->qts);
    for (int i = 0; i < DOORBELLS; i++) {
        if (i == DOORBELLS / 2) {
            qernic_cmd_post(q, &nop);
        }
        qernic_doorbell(q, 0, ERNIC_DB(i % 8, i % 16, i));
    }
}

/* Objects, and a message that waits for its receiver; a command in progress. */
static void mlx5_traffic(QErnicMachine *m, bool stopped)
{
    static const uint8_t in[MLX5_MESSAGE] = { 0xff };
    Mlx5 x = { .m = m, .log_qp = 4 };
    Mlx5Rdma r;

    mlx5_take(&x, QPCI_DEVFN(6, 0));
    mlx5_probe(&x);
    mlx5_rdma_open(&x, &r);
    mlx5_post_send(&x, &r, mlx5_zeroed(&x, MESSAGE), MESSAGE);
    mlx5_ring_sq(&x, &r);
    qtest_clock_step(m->qts, 150000);
    if (stopped) {
        qernic_stop(m->qts);
        for (int i = 0; i < DOORBELLS; i++) {
            mlx5_ring_sq(&x, &r);
        }
    }
    mlx5_post(&x, 2, in, sizeof(in), sizeof(in));
}

/* The registers of the card; behind the shell the first window leads to the host. */
static void open_card(Card *c, QErnic *q, size_t row)
{
    bool opennic = strstr(machines[row].args, "shell=opennic");

    if (!machines[row].shell) {
        card_open(c, q, PG332_V4_2, 1);
        return;
    }
    for (int i = 0; i < 6; i++) {
        qpci_io_writel(&q->dev, q->bar, SHELL_WINDOW + 4 * i, i == 4 ? SHELL_BOTH : 0);
    }
    *c = (Card) { .q = q, .version = opennic ? PG332_V4_2 : PG332_V3_1, .bar = q->bar };
    c->bar.addr += opennic ? OPENNIC_PG332 : SHELL_PG332;
    card_open_in(c, 1, 0, 0);
}

/* Streams and ports that are as after a reset have no section: queue 64 loses frames. */
static void use_streams(QErnic *q)
{
    Qdma x = { .q = q, .bar = qpci_iomap(&q->dev, 0, NULL) };
    uint64_t ring = guest_alloc(q->alloc, 4096);

    qdma_write_context(&x, QDMA_INT_RING, 0, (uint32_t [8]) { 1 });
    qtest_memset(q->qts, ring, 0, 4096);
    qdma_put(&x, 0x204, 32);
    qdma_write_context(&x, QDMA_FMAP, 0, (uint32_t [8]) { 0, 128 });
    qdma_write_context(&x, QDMA_SW + QDMA_H2C, 64, (uint32_t [8]) {
        0, 1 | 1 << 16, ring, ring >> 32 });
    qdma_put(&x, QDMA_DOORBELLS + 64 * 16 + 4, 7);
    qtest_clock_step(q->qts, 100000);
}

/*
 * A channel has @num descriptors of @len bytes; the first frame ends with descriptor
 * @end. Returns the ring.
 */
static uint64_t use_channel(QErnic *q, QPCIBar bar, int ch, uint32_t num, uint32_t len,
                            uint32_t end)
{
    uint64_t ring = qernic_zeroed(q, 4096), buf = guest_alloc(q->alloc, 4096);
    uint64_t at = 0x200000 + ch * 0x30;

    qtest_memset(q->qts, buf, 0xff, 6);
    for (uint32_t i = 0; i < num; i++) {
        uint64_t desc = ring + 128 * i;

        qtest_writeq(q->qts, desc, desc + 128);
        qtest_writeq(q->qts, desc + 8, buf);
        qtest_writel(q->qts, desc + PG332_DESC_CONTROL, len |
                     (i == 0 || i == end + 1 ? PG332_DESC_SOF : 0) |
                     (i == end ? PG332_DESC_EOF : 0));
    }
    qpci_io_writeq(&q->dev, bar, at + 8, ring);
    qpci_io_writel(&q->dev, bar, at, 0xff097001);
    qpci_io_writeq(&q->dev, bar, at + 0x10, ring + 128 * (num - 1));
    return ring;
}

/* Both channels work: each has a frame that has only begun, one the delay of another. */
static void use_channels(QErnic *q, QErnic *sender)
{
    QPCIBar bar = qpci_iomap(&q->dev, 0, NULL), far = qpci_iomap(&sender->dev, 0, NULL);
    uint64_t out, in;

    in = use_channel(q, bar, 1, 3, 100, 0);
    use_channel(sender, far, 0, 2, 350, 1);
    out = use_channel(q, bar, 0, 3, 700, 0);
    for (uint32_t i = 0; i < 3; i++) {
        uint64_t at = 128 * i + PG332_DESC_STATUS;

        qernic_wait_while(q->qts, !qtest_readl(q->qts, in + at) ||
                          !qtest_readl(q->qts, out + at));
    }
    g_assert_cmpuint(qernic_stat(q, "axi_dma.mm2s_packets"), ==, 1);
    g_assert_cmpuint(qernic_stat(q, "axi_dma.s2mm_packets") +
                     qernic_stat(q, "axi_dma.s2mm_dropped"), ==, 0);
}

/* Objects, and messages of which some are on their way. */
static void traffic(QErnicMachine *m, size_t row)
{
    QErnic *q, *peer;
    Card c;

    if (machines[row].mlx5) {
        mlx5_traffic(m, machines[row].stopped);
        return;
    }
    q = qernic_at(m, "net0", 6);
    peer = strstr(machines[row].args, "net1") ? qernic_host(m, "net1", 7, 2) : q;
    if (strstr(machines[row].args, "shell=xib")) {
        use_channels(q, qernic_at(m, "sender", 7));
    } else if (machines[row].card) {
        open_card(&c, q, row);
        card_open_qp(&c, 1, CARD_QPN);
        card_post(&c, CARD_SEND, 0, 64, 0, 0);
        if (machines[row].section) {
            use_streams(q);
        }
    } else {
        qernic_setup(q, 1);
        connect_and_send(q, peer);
    }
    if (machines[row].objects) {
        demand(q);
        raw(q);
        xrc(q);
        qtest_clock_step(m->qts, 10000);
    }
    if (machines[row].stopped) {
        ring_stopped(q);
    }
}

static void save(QErnicMachine *m, const char *section, Stream *stream)
{
    static const char magic[] = "RNICiCsT", doorbells[] = "ernic/doorbells";
    QErnicState *s = &stream->s;
    const char *at, *next;

    *stream = (Stream) { };
    qernic_state_save(m->qts, s);
    /* Covers the first state of an engine to the end of the last. */
    at = qernic_state_find(s, magic, strlen(magic));
    /*
     * The registers of its interfaces are in front of it: verbs 34 bytes, Ethernet 138.
     */
    stream->from = at - s->bytes - 200;
    for (next = at; next; next = memmem(at + 1, s->bytes + s->len - at - 1, magic,
                                        strlen(magic))) {
        at = next;
        stream->to = at - s->bytes + ldl_be_p(at - 4);
    }
    /* The subsection of doorbells: its name, version and number come first. */
    if ((at = memmem(s->bytes, s->len, doorbells, strlen(doorbells)))) {
        stream->doorbells = true;
        stream->from = at - s->bytes;
        stream->to = stream->from + strlen(doorbells) + 8 + DOORBELLS * DOORBELL;
    }
    if (section) {
        at = qernic_state_find(s, section, strlen(section));
        stream->from = at - s->bytes + strlen(section);
        stream->to = stream->from + SECTION;
    }
    g_assert_cmpuint(stream->to, <=, s->len);
    if ((at = memmem(s->bytes, s->len, "ernic-wire", strlen("ernic-wire")))) {
        stream->from = MIN(stream->from, at - s->bytes + 16);
    }
}

/* Change the copy @out of @s as @rng decides: numbers at their limits, lengths, bits. */
static gsize change(const Stream *s, char *out, GRand *rng)
{
    static const uint32_t numbers[] = {
        0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0x40000000, 0x10000, 0xffff,
    };
    uint32_t n = g_rand_int_range(rng, 1, 4), value;
    gsize at = s->from;

    memcpy(out, s->s.bytes, s->s.len);
    while (n--) {
        at = g_rand_int_range(rng, s->from, s->to - 8);
        value = numbers[g_rand_int_range(rng, 0, ARRAY_SIZE(numbers))];
        switch (g_rand_int_range(rng, 0, 6)) {
        case 0:
            out[at] ^= 1 << g_rand_int_range(rng, 0, 8);
            break;
        case 1:
            stl_be_p(out + at, value);
            break;
        case 2:
            stl_le_p(out + at, value);
            break;
        case 3:
            stq_le_p(out + at, -(uint64_t)value);
            break;
        case 4:
            memset(out + at, g_rand_int(rng), MIN(64, s->to - at));
            break;
        default:
            /* Bytes are missing, and all others move; or they come twice. */
            value = g_rand_int_range(rng, 1, 9);
            if (n & 1) {
                memmove(out + at, out + at + value, s->to - at - value);
            } else {
                memmove(out + at + value, out + at, s->to - at - value);
            }
            break;
        }
    }
    return g_rand_int_range(rng, 0, 12) ? s->s.len : at;
}

/* A destination decides; if it has loaded the stream, it runs. Returns whether. */
static bool loads(size_t row, const QErnicState *s)
{
    return qernic_state_loads(s, LIMITS "%s", machines[row].args);
}

static void test_streams(gconstpointer data)
{
    const char *count = getenv("ERNIC_STREAMS");
    uint32_t many = getenv("ERNIC_LONG") ? LONG_STREAMS : STREAMS;
    uint32_t n = count ? atoi(count) : many, i, loaded = 0;
    size_t row = GPOINTER_TO_SIZE(data);
    QErnicState changed;
    GRand *rng = g_rand_new_with_seed(row + 1);
    QErnicMachine *m = qernic_machine("%s%s", LIMITS, machines[row].args);
    Stream s;

    traffic(m, row);
    save(m, machines[row].section, &s);
    g_assert_cmpint(machines[row].stopped, ==, s.doorbells);
    qernic_machine_end(m);
    g_assert_true(loads(row, &s.s));
    changed = s.s;
    changed.bytes = g_malloc(s.s.len);
    for (i = 0; i < n; i++) {
        changed.len = change(&s, changed.bytes, rng);
        loaded += loads(row, &changed);
    }
    g_test_message("%s: %u of %u changed streams were loaded", machines[row].name,
                   loaded, n);
    g_free(changed.bytes);
    g_rand_free(rng);
}

static void register_tests(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(machines); i++) {
        g_autofree char *path = g_strconcat("/ernic-stream/", machines[i].name, NULL);

        qtest_add_data_func(path, GSIZE_TO_POINTER(i), test_streams);
    }
}

libqos_init(register_tests);
