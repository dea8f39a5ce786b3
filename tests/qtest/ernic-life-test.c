/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The life of the device: every entry in every state, from before its driver enables it
 * until after unplug.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "hw/pci/pci_regs.h"
#include "qobject/qdict.h"
#include "tests/qtest/libqos/malloc-pc.h"
#include "ernic-mlx5.h"

#define SLOT        4
#define DEVFN       QPCI_DEVFN(SLOT, 0)
#define EJECT       0xae08
#define LEN         (64 * 1024)

/* The kinds of an interface follow each other: three or more. */
#define KINDS                                                               \
    { "netdev", ",netdev=n0,engine-thread=on" },                            \
    { "both-links", ",netdev=n0,roce-udp=127.0.0.1:0" },                    \
    { "iothread", ",iothread=io0,roce-udp=127.0.0.1:0" },                   \
    { "netdev-main-loop", ",netdev=n0,engine-thread=off" },                 \
    { "irqfd", ",iothread=io0,roce-udp=127.0.0.1:0,ioeventfd=on" },         \
    { "timing", ",timing=on,netdev=n0" },                                   \
    { "polling", ",iothread=io0,engine-poll-us=1000,roce-udp=127.0.0.1:0,"  \
                 "ioeventfd=on" },                                          \
    { "mlx5", ",interface=mlx5,netdev=n0,engine-thread=on" },               \
    { "mlx5-both-links", ",interface=mlx5,netdev=n0,roce-udp=127.0.0.1:0" }, \
    { "mlx5-main-loop", ",interface=mlx5,netdev=n0,engine-thread=off" },  \
    { "mlx5-iothread", ",interface=mlx5,iothread=io0,roce-udp=127.0.0.1:0,"  \
                       "ioeventfd=on" },                                    \
    { "pg332", ",wire=w0,ernic-version=3.1" },                              \
    { "pg332-timing", ",wire=w0,ernic-version=4.2,timing=on" },             \
    { "shell", ",netdev=n0,shell=reconic" }

typedef struct Life {
    Mlx5 x;                     /* the machine, and the driver of the mlx5 interface */
    Mlx5Rdma r;
    QErnic q;                   /* the driver of all other interfaces */
    const char *more;           /* properties */
    int fd;                     /* the other end of the netdev */
    uint16_t port;              /* of the UDP link; 0: none */
    uint64_t mmio;              /* where the BARs begin */
    bool verbs;                 /* BAR 2 is the verbs interface */
    bool mlx5;                  /* BAR 0 is the mlx5 interface */
    bool stopped, gone;
} Life;

static void add_device(Life *l)
{
    g_autofree char *reply = qtest_hmp(l->x.m->qts, "device_add ernic,"
                                       "interface=verbs,id=ernic0,addr=04.0%s",
                                       l->more);

    g_assert_cmpstr(reply, ==, "");
    l->gone = false;
}

static bool has_bar_0(const Life *l)
{
    return strstr(l->more, "ernic-version") || strstr(l->more, "shell");
}

/* @l->q then has the BAR with the registers of the interface. */
static void take(Life *l)
{
    if (l->mlx5) {
        mlx5_take(&l->x, DEVFN);
        l->q = (QErnic) { .dev = l->x.dev, .bar = l->x.bar, .qts = l->x.m->qts };
    } else {
        qernic_init(&l->q, "ernic0", l->x.m->bus, DEVFN, &l->x.m->alloc);
    }
}

/* The function is in D0 after this, without MSI-X, and its BARs are mapped. */
static void renew(Life *l)
{
    alloc_destroy(&l->x.m->alloc);
    pc_alloc_init(&l->x.m->alloc, l->x.m->qts, 0);
    l->x.m->bus->mmio_alloc_ptr = l->mmio;
    if (l->stopped) {
        qernic_cont(l->x.m->qts);
        l->stopped = false;
    }
    if (l->gone) {
        add_device(l);
    } else {
        qernic_flr(&l->q.dev);
    }
    take(l);
    qpci_iomap(&l->q.dev, ERNIC_BAR_MSIX, NULL);
    if (has_bar_0(l)) {
        qpci_iomap(&l->q.dev, ERNIC_BAR_PG332, NULL);
    }
}

static void eject(Life *l)
{
    qpci_unplug_acpi_device_test(l->x.m->qts, "ernic0", SLOT);
    l->gone = true;
}

static QDict *get(Life *l, const char *property)
{
    return qtest_qmp(l->x.m->qts, "{ 'execute': 'qom-get', 'arguments': {"
                     " 'path': 'ernic0', 'property': %s } }", property);
}

static void time_passes(Life *l)
{
    qernic_pass(l->x.m->qts, 4, 1000000);
}

static void enable(Life *l)
{
    if (l->verbs) {
        qernic_setup(&l->q, 1);
    } else if (l->mlx5) {
        mlx5_probe(&l->x);
    }
}

/* A message of the mlx5 interface to itself, which waits for a receive request. */
static void mlx5_traffic(Life *l)
{
    mlx5_probe(&l->x);
    mlx5_rdma_open(&l->x, &l->r);
    mlx5_post_send(&l->x, &l->r, mlx5_zeroed(&l->x, LEN), LEN);
    mlx5_ring_sq(&l->x, &l->r);
    /* Two retries, not the 400 of time_passes(), each of which wakes a thread up. */
    qernic_pass(l->x.m->qts, 20, 1000);
}

/* Its event queue is not in memory. */
static void mlx5_fatal(Life *l)
{
    l->x.eq = 1ull << 46;
    mlx5_probe(&l->x);
    mlx5_accepts(&l->x, MLX5_QUERY_PAGES, 1, 0);        /* with an event */
    qernic_wait_while(l->x.m->qts,
                      mlx5_get(&l->x, MLX5_HEALTH_SYNDROME) >> 16 != MLX5_EQ_ERROR);
}

static void state_traffic(Life *l)
{
    QErnicQp x, y;

    if (l->verbs) {
        qernic_setup(&l->q, 1);
        qernic_begin(&l->q, &x, &y);
    } else if (l->mlx5) {
        mlx5_traffic(l);
    }
}

/* The command ring is not in memory. */
static void state_fatal(Life *l)
{
    if (l->verbs) {
        l->q.cmd_ring = 1ull << 46;
        qernic_enable(&l->q);
        qernic_set_reg(&l->q, cmd_pi, 1);
        qernic_wait_while(l->q.qts, !(qernic_reg(&l->q, status) & ERNIC_STATUS_FATAL));
    } else if (l->mlx5) {
        mlx5_fatal(l);
    }
}

static void state_d3hot(Life *l)
{
    state_traffic(l);
    qernic_power(&l->q.dev, 3);
}

static void state_reset(Life *l)
{
    state_traffic(l);
    qernic_flr(&l->q.dev);
}

static void state_stopped(Life *l)
{
    state_traffic(l);
    qernic_stop(l->x.m->qts);
    l->stopped = true;
}

static void state_requested(Life *l)
{
    state_traffic(l);
    qtest_qmp_device_del_send(l->x.m->qts, "ernic0");
}

static void state_gone(Life *l)
{
    state_traffic(l);
    eject(l);
}

/* unmapped: the BARs do not answer. */
static const struct {
    const char *name;
    void (*reach)(Life *l);
    bool unmapped;
} states[] = {
    { "before-enable", NULL },
    { "enabled", enable },
    { "traffic", state_traffic },
    { "fatal", state_fatal },
    { "d3hot", state_d3hot, true },
    { "reset", state_reset, true },
    { "stopped", state_stopped },
    { "unplug-requested", state_requested },
    { "gone", state_gone, true },
};

static void reads(Life *l)
{
    for (uint32_t at = 0; at < 0x200; at += 4) {
        qernic_read(&l->q, at);
    }
}

static void writes(Life *l)
{
    for (uint32_t at = 0; at < 0x200; at += 4) {
        qernic_write(&l->q, at, 0);
    }
}

/* Each doorbell, on the page of the driver and on others. */
static void mlx5_doorbell(Life *l, uint32_t i)
{
    static const uint16_t offsets[] = {
        MLX5_UAR_CQ, MLX5_UAR_EQ_ARM, MLX5_UAR_EQ_SET, MLX5_BLUE_FLAME,
        MLX5_BLUE_FLAME + 0x100,
    };
    uint32_t at = (16 + i % 3) * 4096 + offsets[i % ARRAY_SIZE(offsets)];

    if (i % ARRAY_SIZE(offsets) == 1 || i % ARRAY_SIZE(offsets) == 2) {
        mlx5_put(&l->x, at, (i % 4) << 24 | i);
    } else {
        qpci_io_writeq(&l->x.dev, l->x.bar, at, bswap64((uint64_t)(i % 4) << 8 | i));
    }
}

static void doorbells(Life *l)
{
    for (uint32_t i = 0; i < 1100; i++) {   /* more than the queue takes */
        if (l->mlx5) {
            mlx5_doorbell(l, i);
        } else {
            qernic_write64(&l->q, 0x1000, ERNIC_DB(i % 8, i % 3, i));
        }
    }
}

/* Commands, valid if the interface is enabled; each entry of the queue once. */
static void commands(Life *l)
{
    uint8_t in[16] = { MLX5_QUERY_PAGES >> 8, MLX5_QUERY_PAGES & 0xff, [7] = 1 };
    struct ernic_cmd cmd = { .opcode = ERNIC_CMD_PD_ALLOC };

    for (uint32_t i = 0; i < 32; i++) {
        if (l->mlx5) {
            mlx5_post(&l->x, i, in, sizeof(in), sizeof(in));
        } else {
            qernic_cmd_post(&l->q, &cmd);
        }
    }
    time_passes(l);
}

/* Software gives the function up: no access to its memory after that. */
static void disable(Life *l)
{
    if (l->mlx5) {
        mlx5_put(&l->x, MLX5_QUEUE_LOW, MLX5_NIC_DISABLED);
    } else {
        qernic_set_reg(&l->q, control, 0);
    }
    time_passes(l);
}

/* The address of a BAR; 0: it has none. */
static uint64_t bar_at(Life *l, uint8_t reg)
{
    uint32_t at = qpci_config_readl(&l->q.dev, reg);

    return at == 0xffffffff ? 0 : at & ~15u;
}

static void bar_0(Life *l)
{
    QPCIBar bar = { .addr = bar_at(l, PCI_BASE_ADDRESS_0) };

    if (bar.addr) {
        for (uint32_t at = PG332_V3_GLOBAL; at < PG332_V3_QP + PG332_SLOT; at += 4) {
            qpci_io_writel(&l->q.dev, bar, at, qpci_io_readl(&l->q.dev, bar, at) | 1);
        }
    }
}

static void msix(Life *l)
{
    uint64_t at = bar_at(l, PCI_BASE_ADDRESS_4);

    if (at) {
        qtest_writel(l->x.m->qts, at, 0xfee00000);
        qtest_writel(l->x.m->qts, at + PCI_MSIX_ENTRY_VECTOR_CTRL, 0);
        qtest_readl(l->x.m->qts, at + 0x800);
    }
}

static void config(Life *l)
{
    QPCIDevice *dev = &l->q.dev;
    uint16_t at;

    for (at = 0x10; at < 0x100; at += 4) {
        qpci_config_writel(dev, at, qpci_config_readl(dev, at));
    }
    qpci_config_writew(dev, PCI_COMMAND, 0);
    qpci_config_writew(dev, PCI_COMMAND, 7);
}

static void monitor(Life *l)
{
    QDict *rsp = get(l, "statistics");

    g_assert_cmpint(qdict_haskey(rsp, "return"), ==, !l->gone);
    qobject_unref(rsp);
    qobject_unref(get(l, "ernic-violations"));
    qobject_unref(get(l, "roce-port"));
    qobject_unref(qtest_qmp(l->x.m->qts, "{ 'execute': 'qom-set', 'arguments': {"
                            " 'path': 'ernic0', 'property': 'add-peer',"
                            " 'value': '10.9.9.9=127.0.0.1:9' } }"));
}

static void cable(Life *l)
{
    qernic_set_link(l->x.m->qts, "n0", false);
    qernic_set_link(l->x.m->qts, "n0", true);
}

/* A broadcast, and a frame that says it is RoCEv2. */
static void frames(Life *l)
{
    uint8_t frame[4 + 200] = { [3] = 200 };

    memset(frame + 4, 0xff, 6);
    g_assert_cmpint(write(l->fd, frame, sizeof(frame)), ==, sizeof(frame));
    memcpy(frame + 4 + 12, "\x08\x00\x45\x00\x00\xba\x00\x00\x40\x00\x40\x11", 12);
    stw_be_p(frame + 4 + 36, 4791);
    g_assert_cmpint(write(l->fd, frame, sizeof(frame)), ==, sizeof(frame));
    time_passes(l);
}

static void datagrams(Life *l)
{
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(l->port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    uint8_t packet[64] = { 4, 0, 0xff, 0xff, [7] = 2 };
    int fd;

    if (l->port) {
        fd = socket(AF_INET, SOCK_DGRAM, 0);
        sendto(fd, packet, sizeof(packet), 0, (struct sockaddr *)&to, sizeof(to));
        close(fd);
    }
    time_passes(l);
}

static void save(Life *l)
{
    qtest_qmp_assert_success(l->x.m->qts, "{ 'execute': 'migrate', 'arguments': {"
                             " 'uri': 'exec:cat >/dev/null' } }");
    g_assert_true(qernic_migrated(l->x.m->qts));
    l->stopped = true;
}

static void machine_reset(Life *l)
{
    qtest_system_reset(l->x.m->qts);
    /* A reset of the machine ejects what the guest was asked to release. */
    l->gone = qpci_config_readw(&l->q.dev, PCI_VENDOR_ID) == 0xffff;
}

static void function_reset(Life *l)
{
    if (!l->gone) {
        qernic_flr(&l->q.dev);
    }
}

static void power(Life *l)
{
    if (!l->gone) {
        qernic_power(&l->q.dev, 3);
        qernic_power(&l->q.dev, 0);
    }
}

static void unplug(Life *l)
{
    if (!l->gone) {
        eject(l);
    }
}

static const struct {
    const char *name;
    void (*enter)(Life *l);
} entries[] = {
    { "reads", reads }, { "writes", writes }, { "doorbells", doorbells },
    { "commands", commands }, { "disable", disable }, { "bar-0", bar_0 },
    { "msix", msix }, { "config", config },
    { "time", time_passes }, { "monitor", monitor }, { "cable", cable },
    { "frames", frames }, { "datagrams", datagrams }, { "save", save },
    { "machine-reset", machine_reset }, { "function-reset", function_reset },
    { "power", power }, { "unplug", unplug },
};

static void check_alive(Life *l, bool unmapped)
{
    qtest_qmp_assert_success(l->x.m->qts, "{ 'execute': 'query-status' }");
    if (unmapped && l->mlx5) {
        g_assert_cmphex(mlx5_get(&l->x, MLX5_CMDIF) >> 16, !=, MLX5_CMDIF_REV);
    } else if (unmapped) {
        g_assert_cmphex(qernic_reg(&l->q, magic), !=, ERNIC_MAGIC);
    }
}

static void begin(Life *l, const char *more)
{
    QDict *rsp;

    *l = (Life) { .more = more, .mlx5 = strstr(more, "mlx5") };
    l->verbs = !l->mlx5 && !strstr(more, "shell");
    l->x.log_qp = 10;
    l->x.m = qernic_machine(" -object iothread,id=io0 -device ernic-wire,id=w0"
                            " -netdev socket,fd=%d,id=n0"
                            VERBS_NIC ",id=ernic0,addr=04.0%s", qernic_cable(&l->fd),
                            more);
    l->mmio = l->x.m->bus->mmio_alloc_ptr;
    take(l);
    rsp = get(l, "roce-port");
    l->port = atoi(qdict_get_str(rsp, "return"));
    qobject_unref(rsp);
}

/* The function still works: a message to itself arrives. */
static void check_works(Life *l)
{
    uint8_t cqe[64];

    renew(l);
    if (l->verbs) {
        qernic_setup(&l->q, 1);
        qernic_transfers(&l->q, &l->q);
    } else if (l->mlx5) {
        mlx5_traffic(l);
        mlx5_post_recv(&l->x, &l->r, mlx5_zeroed(&l->x, LEN), LEN);
        for (int i = 0; i < 2; i++) {
            mlx5_completion(&l->x, &l->r, cqe);
            g_assert_cmphex(cqe[63] >> 4, ==, i ? 0 : 2);   /* receiver, sender */
        }
    }
}

/*
 * The short form takes every third pair of a state and an entry. The kinds of an
 * interface begin at different pairs, so that each interface sees every pair.
 */
static bool is_chosen(const char *more, size_t pair)
{
    static const QErnicKind kinds[] = { KINDS };
    size_t kind = 0;

    while (strcmp(kinds[kind].more, more) != 0) {
        kind++;
    }
    return g_getenv("ERNIC_LONG") || (kind + pair) % 3 == 0;
}

MACHINE_KINDS("/ernic-life/table-", test_table, KINDS)
{
    Life l;

    begin(&l, more);
    for (size_t s = 0; s < ARRAY_SIZE(states); s++) {
        for (size_t e = 0; e < ARRAY_SIZE(entries); e++) {
            if (!is_chosen(more, s + e)) {
                continue;
            }
            g_test_message("%s: %s", states[s].name, entries[e].name);
            renew(&l);
            if (states[s].reach) {
                states[s].reach(&l);
            }
            check_alive(&l, states[s].unmapped);
            entries[e].enter(&l);
            check_alive(&l, l.gone);
        }
    }
    check_works(&l);
}

/* The monitor ends the device, which stays in its tree: every entry finds it gone. */
MACHINE_KINDS("/ernic-life/unrealize-", test_unrealize, KINDS)
{
    QDict *rsp;
    Life l;

    begin(&l, more);
    state_traffic(&l);
    qtest_qmp_assert_success(l.x.m->qts, "{ 'execute': 'qom-set', 'arguments': {"
                             " 'path': 'ernic0', 'property': 'realized',"
                             " 'value': false } }");
    l.gone = true;
    rsp = qtest_qmp(l.x.m->qts, "{ 'execute': 'qom-set', 'arguments': {"
                    " 'path': 'ernic0', 'property': 'realized', 'value': true } }");
    g_assert_true(qdict_haskey(rsp, "error"));
    qobject_unref(rsp);
    for (size_t e = 0; e < ARRAY_SIZE(entries); e++) {
        entries[e].enter(&l);
        check_alive(&l, true);
        l.gone = true;
    }
}
