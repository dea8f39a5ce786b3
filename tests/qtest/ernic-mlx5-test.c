/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The device with the mlx5 interface, driven by a small driver that does what Linux's
 * mlx5_core does at probe: initialization segment, commands by polling, event queues,
 * commands by event. Stores are big-endian.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/module.h"
#include "hw/pci/pci_regs.h"
#include "qapi/error.h"
#include "qobject/qdict.h"
#include "qobject/qjson.h"
#include "ernic-card.h"

#define ENTRY       64
#define BOX         1024            /* distance of mailboxes */
#define BOXES       16
#define MESSAGE     (16 + BOXES * 512)
#define EQ_LOG      4
#define VECTOR      3
#define UAR_EQ_ARM  0x40
#define UAR_EQ_SET  0x48

/* Registers of the initialization segment. */
enum {
    FW_REV = 0, CMDIF = 4, QUEUE_HIGH = 0x10, QUEUE_LOW = 0x14, DOORBELL = 0x18,
    INITIALIZING = 0x1fc, HEALTH = 0x1010,
};

enum {
    QUERY_HCA_CAP = 0x100, INIT_HCA = 0x102, TEARDOWN_HCA = 0x103, ENABLE_HCA = 0x104,
    DISABLE_HCA = 0x105, QUERY_PAGES = 0x107, QUERY_ISSI = 0x10a, SET_ISSI = 0x10b,
    CREATE_EQ = 0x301, DESTROY_EQ = 0x302, ALLOC_UAR = 0x802, DEALLOC_UAR = 0x803,
};

typedef struct Mlx5 {
    CardMachine m;
    QPCIDevice dev;
    QPCIBar bar;
    uint64_t page, in, out, eq; /* command queue, mailboxes, event queue */
    uint32_t uar, eqn, ci;
} Mlx5;

/* ---- registers -------------------------------------------------------------- */

static uint32_t get(Mlx5 *x, uint32_t off)
{
    return bswap32(qpci_io_readl(&x->dev, x->bar, off));
}

static void put(Mlx5 *x, uint32_t off, uint32_t value)
{
    qpci_io_writel(&x->dev, x->bar, off, bswap32(value));
}

static uint64_t zeroed(Mlx5 *x, size_t bytes)
{
    uint64_t addr = guest_alloc(&x->m.alloc, bytes);

    qtest_memset(x->m.qts, addr, 0, bytes);
    return addr;
}

static void find(Mlx5 *x)
{
    QPCIDevice *dev = qpci_device_find(x->m.bus, QPCI_DEVFN(4, 0));

    g_assert_nonnull(dev);
    x->dev = *dev;
    g_free(dev);
}

static void begin(Mlx5 *x, const char *more)
{
    g_autofree char *args = g_strdup_printf(
        " -object iothread,id=io0"
        " -device ernic,id=ernic0,addr=04.0,personality=mlx5%s", more);

    *x = (Mlx5) { };
    card_machine_open(&x->m, args);
    find(x);
    qpci_device_enable(&x->dev);
    x->bar = qpci_iomap(&x->dev, 0, NULL);
    x->page = zeroed(x, 4096);
    x->in = zeroed(x, BOXES * BOX);
    x->out = zeroed(x, BOXES * BOX);
    x->eq = zeroed(x, 4096);
}

static void end(Mlx5 *x)
{
    qpci_iounmap(&x->dev, x->bar);
    card_machine_close(&x->m);
}

/* ---- commands --------------------------------------------------------------- */

static void boxes(Mlx5 *x, uint64_t first, const uint8_t *message, uint32_t len)
{
    uint32_t at, n = 0;

    for (at = 16; at < len; at += 512, n++) {
        uint8_t box[576] = { };

        memcpy(box, message + at, MIN(len - at, 512));
        stq_be_p(box + 560, first + (n + 1) * BOX);
        stl_be_p(box + 568, n);
        box[573] = 1;
        qtest_memwrite(x->m.qts, first + n * BOX, box, sizeof(box));
    }
}

/* Post @in as entry @number. */
static void post(Mlx5 *x, uint32_t number, const uint8_t *in, uint32_t in_len,
                 uint32_t out_len)
{
    static const uint8_t zeros[MESSAGE];
    uint8_t entry[ENTRY] = { [0] = 7, [60] = 1, [63] = 1 };

    boxes(x, x->in, in, in_len);
    boxes(x, x->out, zeros, out_len);
    stl_be_p(entry + 4, in_len);
    stq_be_p(entry + 8, in_len > 16 ? x->in : 0);
    memcpy(entry + 16, in, 16);
    stq_be_p(entry + 48, out_len > 16 ? x->out : 0);
    stl_be_p(entry + 56, out_len);
    qtest_memwrite(x->m.qts, x->page + number * ENTRY, entry, sizeof(entry));
    put(x, DOORBELL, 1u << number);
}

static bool is_done(Mlx5 *x, uint32_t number)
{
    return !(qtest_readb(x->m.qts, x->page + number * ENTRY + 63) & 1);
}

static void await(Mlx5 *x, uint64_t *deadline)
{
    QErnic q = { .qts = x->m.qts };

    qernic_wait(&q, deadline);
}

/* Wait for the answer of entry @number; returns its status. */
static uint8_t answer(Mlx5 *x, uint32_t number, uint8_t *out, uint32_t out_len)
{
    uint64_t entry = x->page + number * ENTRY, deadline = 0;
    uint32_t at;

    while (!is_done(x, number)) {
        await(x, &deadline);
    }
    g_assert_cmphex(qtest_readb(x->m.qts, entry + 63), ==, 0);
    qtest_memread(x->m.qts, entry + 32, out, 16);
    for (at = 16; at < out_len; at += 512) {
        qtest_memread(x->m.qts, x->out + (at - 16) / 512 * BOX, out + at,
                      MIN(out_len - at, 512));
    }
    return out[0];
}

/* Execute a command of 16 bytes with the word @b, and an answer of 16. */
static uint8_t command(Mlx5 *x, uint16_t opcode, uint16_t op_mod, uint32_t b,
                       uint8_t *out)
{
    uint8_t in[16] = { };

    stw_be_p(in, opcode);
    stw_be_p(in + 6, op_mod);
    stl_be_p(in + 8, b);
    post(x, 31, in, sizeof(in), 16);
    return answer(x, 31, out, 16);
}

static void accepts(Mlx5 *x, uint16_t opcode, uint16_t op_mod, uint32_t b)
{
    uint8_t out[16];

    g_assert_cmphex(command(x, opcode, op_mod, b, out), ==, 0);
}

/* ---- the probe sequence ----------------------------------------------------- */

static void attach(Mlx5 *x)
{
    uint64_t deadline = 0;
    uint32_t health;

    g_assert_cmphex(get(x, CMDIF) >> 16, ==, 5);
    g_assert_cmphex(get(x, QUEUE_LOW) & 0xff, ==, 5 << 4 | 6);
    g_assert_cmphex(get(x, INITIALIZING) >> 31, ==, 0);
    put(x, QUEUE_HIGH, x->page >> 32);
    put(x, QUEUE_LOW, x->page);
    g_assert_cmphex(get(x, QUEUE_LOW), ==, (uint32_t)x->page | 5 << 4 | 6);
    health = get(x, HEALTH);
    qtest_clock_step(x->m.qts, 2000000000);
    g_assert_cmphex(get(x, HEALTH), !=, health);
    await(x, &deadline);
}

static void query_capabilities(Mlx5 *x)
{
    uint8_t in[16] = { 1 }, out[16 + 4096];

    in[7] = 1;                                  /* general, current values */
    post(x, 0, in, sizeof(in), sizeof(out));
    g_assert_cmphex(answer(x, 0, out, sizeof(out)), ==, 0);
    /* log_max_qp, bits 0x9b to 0x9f of the group. */
    g_assert_cmpuint(out[16 + 0x13] & 0x1f, ==, 14);
}

/* All events that mlx5_core asks for, of commands and asynchronous ones. */
static void create_eq(Mlx5 *x)
{
    uint8_t in[272 + 8] = { }, out[16];
    int i;

    stw_be_p(in, CREATE_EQ);
    stl_be_p(in + 16 + 12, EQ_LOG << 24 | x->uar);
    stl_be_p(in + 16 + 20, VECTOR);
    stq_be_p(in + 88, 1 << 0x0a | 1 << 0x09 | 1 << 0x04);
    stq_be_p(in + 272, x->eq);
    for (i = 0; i < 1 << EQ_LOG; i++) {
        qtest_writeb(x->m.qts, x->eq + i * 64 + 63, 1);
    }
    post(x, 1, in, sizeof(in), 16);
    g_assert_cmphex(answer(x, 1, out, 16), ==, 0);
    x->eqn = out[11];
    x->ci = 0;
}

static void ring_eq(Mlx5 *x, uint32_t offset)
{
    put(x, x->uar * 4096 + offset, x->eqn << 24 | (x->ci & 0xffffff));
}

/* The vector of the next event, which is that of completed commands. */
static uint32_t wait_command_event(Mlx5 *x)
{
    uint64_t at = x->eq + x->ci % (1u << EQ_LOG) * 64, deadline = 0;
    uint8_t eqe[64];

    do {
        await(x, &deadline);
        qtest_memread(x->m.qts, at, eqe, sizeof(eqe));
    } while ((eqe[63] ^ x->ci >> EQ_LOG) & 1);
    g_assert_cmphex(eqe[1], ==, 0x0a);
    x->ci++;
    return ldl_be_p(eqe + 32);
}

static void probe(Mlx5 *x)
{
    uint8_t out[16];

    attach(x);
    accepts(x, ENABLE_HCA, 0, 0);
    accepts(x, QUERY_ISSI, 0, 0);
    accepts(x, SET_ISSI, 0, 1);
    query_capabilities(x);
    accepts(x, QUERY_PAGES, 1, 0);
    accepts(x, QUERY_PAGES, 2, 0);
    accepts(x, INIT_HCA, 0, 0);
    g_assert_cmphex(command(x, ALLOC_UAR, 0, 0, out), ==, 0);
    x->uar = ldl_be_p(out + 8);
    g_assert_cmpuint(x->uar, ==, 16);
    create_eq(x);                               /* polled: without an event */
    ring_eq(x, UAR_EQ_ARM);
}

static void remove_driver(Mlx5 *x)
{
    accepts(x, DESTROY_EQ, 0, x->eqn);
    accepts(x, DEALLOC_UAR, 0, x->uar);
    accepts(x, TEARDOWN_HCA, 0, 0);
    accepts(x, DISABLE_HCA, 0, 0);
}

/* ---- tests ------------------------------------------------------------------ */

/* Probe, commands by event with interrupts, and removal, twice. */
static void test_probe(const void *more)
{
    uint64_t deadline;
    int round, i;
    Mlx5 x;

    begin(&x, more);
    g_assert_cmphex(qpci_config_readw(&x.dev, PCI_VENDOR_ID), ==, 0x15b3);
    g_assert_cmphex(qpci_config_readw(&x.dev, PCI_DEVICE_ID), ==, 0x1018);
    qpci_msix_enable(&x.dev);
    for (round = 0; round < 2; round++) {
        probe(&x);
        for (i = 0; i < 40; i++) {
            accepts(&x, QUERY_PAGES, 3, 0);
            deadline = 0;
            while (!qpci_msix_pending(&x.dev, VECTOR)) {
                await(&x, &deadline);
            }
            g_assert_cmphex(wait_command_event(&x), ==, 1u << 31);
            ring_eq(&x, UAR_EQ_ARM);
        }
        remove_driver(&x);
    }
    end(&x);
}

static void function_reset(Mlx5 *x)
{
    uint8_t at = qpci_find_capability(&x->dev, PCI_CAP_ID_EXP, 0) + PCI_EXP_DEVCTL;

    qpci_config_writew(&x->dev, at, qpci_config_readw(&x->dev, at) |
                       PCI_EXP_DEVCTL_BCR_FLR);
    qpci_device_enable(&x->dev);
    qpci_config_writel(&x->dev, PCI_BASE_ADDRESS_0, x->bar.addr);
    qpci_config_writel(&x->dev, PCI_BASE_ADDRESS_1, x->bar.addr >> 32);
}

/* A reset in the middle of a command; the driver probes again. */
static void test_reset(const void *more)
{
    uint8_t in[MESSAGE] = { 0xff };
    Mlx5 x;
    int i;

    begin(&x, more);
    for (i = 0; i < 10; i++) {
        uint8_t out[16];

        probe(&x);
        post(&x, 5, in, sizeof(in), sizeof(in));
        function_reset(&x);
        g_assert_cmphex(get(&x, QUEUE_HIGH), ==, 0);
        g_assert_cmphex(get(&x, QUEUE_LOW), ==, 5 << 4 | 6);
        put(&x, QUEUE_HIGH, x.page >> 32);
        put(&x, QUEUE_LOW, x.page);
        /* Only a function that was reset refuses this one. */
        g_assert_cmphex(command(&x, INIT_HCA, 0, 0, out), ==, 0x04);
    }
    end(&x);
}

/* In D3hot no command is executed; it is after the return to D0. */
static void test_power(const void *more)
{
    uint8_t in[16] = { QUERY_PAGES >> 8, QUERY_PAGES & 0xff, [7] = 1 }, out[16], pm;
    uint64_t deadline = 0;
    Mlx5 x;
    int i;

    begin(&x, more);
    probe(&x);
    qtest_qmp_assert_success(x.m.qts, "{ 'execute': 'stop' }");
    post(&x, 2, in, sizeof(in), 16);
    qtest_qmp_assert_success(x.m.qts, "{ 'execute': 'query-status' }");
    g_assert_false(is_done(&x, 2));
    pm = qpci_find_capability(&x.dev, PCI_CAP_ID_PM, 0);
    qpci_config_writew(&x.dev, pm + PCI_PM_CTRL, 3);
    qtest_qmp_assert_success(x.m.qts, "{ 'execute': 'cont' }");
    for (i = 0; i < 100; i++) {
        await(&x, &deadline);
    }
    g_assert_false(is_done(&x, 2));
    qpci_config_writew(&x.dev, pm + PCI_PM_CTRL, 0);
    g_assert_cmphex(answer(&x, 2, out, 16), ==, 0);
    end(&x);
}

/* Stores to any place of the BAR, with any value; the device still works afterwards. */
static void test_hostile(const void *more)
{
    uint64_t deadline = 0;
    Mlx5 x;
    int i;

    begin(&x, more);
    probe(&x);
    for (i = 0; i < 3000; i++) {
        uint32_t page = g_test_rand_int_range(0, 4) ? x.uar :
                        g_test_rand_int_range(16, 1024);
        uint32_t off = page * 4096 + g_test_rand_int_range(0, 512) * 8;

        if (i % 2) {
            put(&x, off, g_test_rand_int());
        } else {
            qpci_io_writeq(&x.dev, x.bar, off, (uint64_t)g_test_rand_int() << 32 |
                                               g_test_rand_int());
        }
        get(&x, g_test_rand_int_range(0, 1 << 20) * 4);
    }
    await(&x, &deadline);
    function_reset(&x);
    probe(&x);
    remove_driver(&x);
    end(&x);
}

/* PCI ids as properties. */
static void test_ids(const void *more)
{
    Mlx5 x;

    begin(&x, ",pci-vendor-id=0x15b3,pci-device-id=0x101e");
    g_assert_cmphex(qpci_config_readw(&x.dev, PCI_VENDOR_ID), ==, 0x15b3);
    g_assert_cmphex(qpci_config_readw(&x.dev, PCI_DEVICE_ID), ==, 0x101e);
    end(&x);
}

static const struct {
    const char *args, *says;
} bad[] = {
    { "'personality': 'efa'", "personality is efa, not verbs or mlx5" },
    { "'pci-device-id': 4120", "pci-device-id= needs personality=mlx5" },
    { "'personality': 'mlx5', 'pci-vendor-id': 65536",
      "pci-vendor-id is 0x10000, not 0x1 to 0xffff" },
    { "'personality': 'mlx5', 'ernic-version': '4.2'",
      "ernic-version= and personality=mlx5 exclude each other" },
    { "'personality': 'mlx5', 'ernic-qps': 8",
      "ernic-qps= and personality=mlx5 exclude each other" },
    { "'personality': 'mlx5', 'ernic-strict': 'report'",
      "ernic-strict= and personality=mlx5 exclude each other" },
    { "'personality': 'mlx5', 'shell': 'reconic'",
      "shell= and personality=mlx5 exclude each other" },
    { "'personality': 'mlx5', 'card-memory': 1048576",
      "card-memory= and personality=mlx5 exclude each other" },
    { "'personality': 'mlx5', 'timing': true",
      "timing= and personality=mlx5 exclude each other" },
};

static void test_properties(const void *more)
{
    size_t i;
    Mlx5 x;

    begin(&x, "");
    for (i = 0; i < ARRAY_SIZE(bad); i++) {
        g_autofree char *args = g_strdup_printf("{ 'driver': 'ernic', %s }",
                                                bad[i].args);
        QDict *rsp = qtest_qmp(x.m.qts, "{ 'execute': 'device_add', 'arguments': %p }",
                               qobject_from_json(args, &error_abort));

        g_test_message("%s", bad[i].args);
        g_assert_cmpstr(qdict_get_str(qdict_get_qdict(rsp, "error"), "desc"), ==,
                        bad[i].says);
        qobject_unref(rsp);
    }
    end(&x);
}

static void add(const char *name, const char *kind, const char *more,
                void (*fn)(const void *more))
{
    g_autofree char *path = g_strdup_printf("/ernic-mlx5/%s%s", name, kind);

    qtest_add_data_func(path, more, fn);
}

static void register_tests(void)
{
    static const struct {
        const char *name;
        void (*fn)(const void *more);
    } tests[] = {
        { "probe", test_probe }, { "reset", test_reset }, { "power", test_power },
        { "hostile", test_hostile },
    };
    size_t i;

    for (i = 0; i < ARRAY_SIZE(tests); i++) {
        add(tests[i].name, "", "", tests[i].fn);
        add(tests[i].name, "-iothread", ",iothread=io0,roce-udp=127.0.0.1:0",
            tests[i].fn);
    }
    add("ids", "", "", test_ids);
    add("properties", "", "", test_properties);
}

libqos_init(register_tests);
