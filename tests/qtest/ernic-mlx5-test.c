/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The device with the mlx5 interface, driven by the small driver of ernic-mlx5.c.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "hw/pci/pci_regs.h"
#include "ernic-mlx5.h"

/* The doorbells that the device queues: in two halves. */
#define DOORBELLS   2048
#define BOTH { "", "" }, { "-iothread", ",iothread=io0,roce-udp=127.0.0.1:0" }, \
             { "-ioeventfd", ",iothread=io0,roce-udp=127.0.0.1:0,ioeventfd=on" }

/* Probe, commands by event with interrupts, and removal, twice. */
WORLD_KINDS("/ernic-mlx5/probe", test_probe, Mlx5, x, mlx5_begin, BOTH)
{
    g_assert_cmphex(qpci_config_readw(&x->dev, PCI_VENDOR_ID), ==, 0x15b3);
    g_assert_cmphex(qpci_config_readw(&x->dev, PCI_DEVICE_ID), ==, 0x1018);
    qpci_msix_enable(&x->dev);
    for (int round = 0; round < 2; round++) {
        mlx5_probe(x);
        for (int i = 0; i < 40; i++) {
            mlx5_accepts(x, MLX5_QUERY_PAGES, 3, 0);
            qernic_wait_while(x->m->qts, !qpci_msix_pending(&x->dev, MLX5_VECTOR));
            g_assert_cmphex(mlx5_wait_command_event(x), ==, 1u << 31);
            mlx5_ring_eq(x, MLX5_UAR_EQ_ARM);
        }
        mlx5_remove_driver(x);
    }
}

/* The driver reads the syndrome as a byte. A store of less than a word has no effect. */
WORLD_KINDS("/ernic-mlx5/parts-of-words", test_parts_of_words, Mlx5, x, mlx5_begin,
            { "", "" })
{
    uint32_t word, off;

    mlx5_probe(x);
    for (off = 0; off < 0x20; off++) {
        word = mlx5_get(x, off & ~3);
        g_assert_cmphex(qpci_io_readb(&x->dev, x->bar, off), ==,
                        (word >> (24 - off % 4 * 8)) & 0xff);
        if (off % 2 == 0) {
            g_assert_cmphex(bswap16(qpci_io_readw(&x->dev, x->bar, off)), ==,
                            (word >> (16 - off % 4 * 8)) & 0xffff);
        }
    }
    word = mlx5_get(x, MLX5_QUEUE_HIGH);
    qpci_io_writeb(&x->dev, x->bar, MLX5_QUEUE_HIGH, ~word >> 24);
    qpci_io_writew(&x->dev, x->bar, MLX5_QUEUE_HIGH + 2, ~word);
    g_assert_cmphex(mlx5_get(x, MLX5_QUEUE_HIGH), ==, word);
    mlx5_remove_driver(x);
}

/*
 * While the machine is stopped, the queue of doorbells keeps what it gets and reports
 * what it has no room for. A BlueFlame buffer of eight stores is one entry.
 */
WORLD_KINDS("/ernic-mlx5/blue-flame", test_blue_flame, Mlx5, x, mlx5_begin, BOTH)
{
    const char *path = qernic_log(x->m->qts, "ernic_guest_not_enabled");
    uint32_t refused;
    uint64_t at;

    mlx5_probe(x);
    at = (x->uar << 12) + MLX5_BLUE_FLAME;
    qernic_stop(x->m->qts);
    for (int i = 0; i <= DOORBELLS; i++) {
        for (int word = 0; word < 8; word++) {
            qpci_io_writeq(&x->dev, x->bar, at + 8 * word, 0);
        }
    }
    qernic_cont(x->m->qts);
    mlx5_accepts(x, MLX5_QUERY_PAGES, 3, 0);
    refused = qernic_logged(x->m, path, "ernic_guest_not_enabled");
    g_assert_cmpuint(refused, >=, 1);
    g_assert_cmpuint(refused, <, 8);        /* beside doorbells of the probe */
}

static void function_reset(Mlx5 *x)
{
    qernic_flr(&x->dev);
    qpci_device_enable(&x->dev);
    qernic_place(&x->dev, &x->bar, 0, x->bar.addr);
}

/* A reset in the middle of a command; the driver probes again. */
WORLD_KINDS("/ernic-mlx5/reset", test_reset, Mlx5, x, mlx5_begin, BOTH)
{
    uint8_t in[MLX5_MESSAGE] = { 0xff };

    for (int i = 0; i < 10; i++) {
        uint8_t out[16];

        mlx5_probe(x);
        mlx5_post(x, 5, in, sizeof(in), sizeof(in));
        function_reset(x);
        g_assert_cmphex(mlx5_get(x, MLX5_QUEUE_HIGH), ==, 0);
        /* nic_interface: disabled. */
        g_assert_cmphex(mlx5_get(x, MLX5_QUEUE_LOW), ==, 1 << 8 | 5 << 4 | 6);
        mlx5_put(x, MLX5_QUEUE_HIGH, x->page >> 32);
        mlx5_put(x, MLX5_QUEUE_LOW, x->page);
        /* Only a function that was reset refuses this one. */
        g_assert_cmphex(mlx5_command(x, MLX5_INIT_HCA, 0, 0, out), ==, 0x04);
    }
}

/* In D3hot no command is executed; it is after the return to D0. */
WORLD_KINDS("/ernic-mlx5/power", test_power, Mlx5, x, mlx5_begin, BOTH)
{
    uint8_t in[16] = { MLX5_QUERY_PAGES >> 8, MLX5_QUERY_PAGES & 0xff, [7] = 1 };
    uint8_t out[16];

    mlx5_probe(x);
    qernic_stop(x->m->qts);
    mlx5_post(x, 2, in, sizeof(in), 16);
    qtest_qmp_assert_success(x->m->qts, "{ 'execute': 'query-status' }");
    g_assert_false(mlx5_is_done(x, 2));
    qernic_power(&x->dev, 3);
    qernic_cont(x->m->qts);
    qernic_pass(x->m->qts, 100, 1000);
    g_assert_false(mlx5_is_done(x, 2));
    qernic_power(&x->dev, 0);
    g_assert_cmphex(mlx5_answer(x, 2, out, 16), ==, 0);
}

enum { LEN = 64 * 1024 };

/*
 * A message waits for a receive request that software posts on the destination; then a
 * doorbell and a command that a machine, which is stopped, has not executed.
 */
MACHINE_KINDS("/ernic-mlx5/migrate", test_migrate, BOTH)
{
    uint8_t in[16] = { MLX5_QUERY_PAGES >> 8, MLX5_QUERY_PAGES & 0xff, [7] = 1 };
    uint8_t cqe[64], out[16];
    uint64_t from, to;
    Mlx5Rdma r;
    Mlx5 x;

    mlx5_begin(&x, more);
    mlx5_probe(&x);
    mlx5_rdma_open(&x, &r);
    from = mlx5_zeroed(&x, LEN);
    to = mlx5_zeroed(&x, LEN);
    card_pattern(x.m->qts, from, LEN, 7);
    mlx5_post_send(&x, &r, from, LEN);
    mlx5_ring_sq(&x, &r);
    qernic_pass(x.m->qts, 100, 1000);
    g_assert_false(mlx5_poll(&x, &r, cqe));
    mlx5_migrate(&x, more);
    g_assert_false(mlx5_poll(&x, &r, cqe));
    mlx5_post_recv(&x, &r, to, LEN);
    for (int i = 0; i < 2; i++) {
        mlx5_completion(&x, &r, cqe);
        g_assert_cmphex(cqe[63] >> 4, ==, i ? 0 : 2);   /* of the receiver, the sender */
        g_assert_cmphex(ldl_be_p(cqe + 44), ==, LEN);
    }
    card_same(x.m->qts, from, to, LEN);

    qernic_stop(x.m->qts);
    card_pattern(x.m->qts, from, LEN, 9);
    mlx5_post_recv(&x, &r, to, LEN);
    mlx5_post_send(&x, &r, from, LEN);
    mlx5_ring_sq(&x, &r);
    mlx5_post(&x, 2, in, sizeof(in), 16);
    mlx5_migrate(&x, more);
    g_assert_false(mlx5_is_done(&x, 2));
    qernic_cont(x.m->qts);
    g_assert_cmphex(mlx5_answer(&x, 2, out, 16), ==, 0);
    mlx5_completion(&x, &r, cqe);
    mlx5_completion(&x, &r, cqe);
    card_same(x.m->qts, from, to, LEN);
}

/* The capabilities that the driver reads are those of the properties. */
WORLD_KINDS("/ernic-mlx5/numbers", test_numbers, Mlx5, x, mlx5_begin,
             { "", ",max-qp=64,max-mr=16,device-memory=0" })
{
    x->log_qp = 6;
    mlx5_probe(x);
    mlx5_remove_driver(x);
}

/* PCI ids as properties. */
WORLD_KINDS("/ernic-mlx5/ids", test_ids, Mlx5, x, mlx5_begin,
             { "", ",pci-vendor-id=0x15b3,pci-device-id=0x101e" })
{
    g_assert_cmphex(qpci_config_readw(&x->dev, PCI_VENDOR_ID), ==, 0x15b3);
    g_assert_cmphex(qpci_config_readw(&x->dev, PCI_DEVICE_ID), ==, 0x101e);
}

static const struct {
    const char *args, *says;
} bad[] = {
    { "'interface': 'mlx5', 'pci-vendor-id': 65536",
      "pci-vendor-id is 0x10000, not 0x1 to 0xffff" },
    { "'interface': 'mlx5', 'ernic-version': '4.2'",
      "ernic-version= needs interface=ernic" },
    { "'interface': 'mlx5', 'ernic-qps': 8",
      "ernic-qps= needs interface=ernic" },
    { "'interface': 'mlx5', 'ernic-reads': 8",
      "ernic-reads= needs interface=ernic" },
    { "'interface': 'mlx5', 'ernic-strict': 'report'",
      "ernic-strict= needs interface=ernic" },
    { "'interface': 'mlx5', 'shell': 'reconic'",
      "shell= needs interface=ernic" },
    { "'interface': 'mlx5', 'card-memory': 1048576",
      "card-memory= needs interface=ernic" },
    { "'interface': 'mlx5', 'device-memory': 1048576",
      "device-memory= and interface=mlx5 exclude each other" },
    { "'interface': 'mlx5', 'max-uctx': 16",
      "max-uctx= and interface=mlx5 exclude each other" },
    { "'interface': 'mlx5', 'max-qp': 1000",
      "max-qp is 1000, and interface=mlx5 needs a power of two" },
    { "'interface': 'mlx5', 'max-pd': 3",
      "max-pd is 3, and interface=mlx5 needs a power of two" },
    { "'interface': 'mlx5', 'timing': true",
      "timing= and interface=mlx5 exclude each other" },
};

MACHINE_TEST("/ernic-mlx5/properties", test_properties)
{
    QErnicMachine *m = qernic_machine("%s", "");

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        qernic_refused(m->qts, bad[i].says, "%s", bad[i].args);
    }
}
