/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Doorbell pages of the mlx5 interface that ring by an eventfd (ioeventfd=on). QEMU's
 * memory core signals it, as KVM would.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "hw/pci/pci_regs.h"
#include "ernic-mlx5.h"

#define EVENTS  ",ioeventfd=on"
#define BOTH    { "", EVENTS }, \
                { "-iothread", ",iothread=io0,roce-udp=127.0.0.1:0" EVENTS }
#define LEN     4096
/* Queue pairs with one page of doorbells, at the most, for it to have an event. */
#define MOST    16
#define ALLOC_UAR       0x802
#define DEALLOC_UAR     0x803

typedef struct Events {
    Mlx5 x;
    Mlx5Rdma r;
    uint64_t from, to;
    const char *log;            /* of pages that were rung */
    uint8_t pattern;
} Events;

static void open_queues(Events *v)
{
    mlx5_probe(&v->x);
    mlx5_rdma_open(&v->x, &v->r);
    v->from = mlx5_zeroed(&v->x, LEN);
    v->to = mlx5_zeroed(&v->x, LEN);
}

static void begin(Events *v, const char *more)
{
    *v = (Events) { };
    mlx5_begin(&v->x, more);
    v->log = qernic_log(v->x.m->qts, "ernic_pci_page_rung");
    open_queues(v);
    /* The main loop has given the page its event before it answers. */
    qernic_pass(v->x.m->qts, 10, 1000);
}

/* Posts a message to itself; the record says so. */
static void post(Events *v)
{
    uint8_t record[4];

    card_pattern(v->x.m->qts, v->from, LEN, ++v->pattern);
    mlx5_post_recv(&v->x, &v->r, v->to, LEN);
    mlx5_post_send(&v->x, &v->r, v->from, LEN);
    stl_be_p(record, v->r.sent);
    qtest_memwrite(v->x.m->qts, v->r.record + 4, record, sizeof(record));
}

/*
 * Rings the doorbell of a queue pair that does not exist: only an event, which has no
 * value, makes the device look at the record.
 */
static void ring_other(Events *v)
{
    qpci_io_writeq(&v->x.dev, v->x.bar, v->x.uar * 4096 + MLX5_BLUE_FLAME,
                   bswap64(0x7ff00));
}

/* With a doorbell that names no queue pair. */
static void post_unnamed(Events *v)
{
    post(v);
    ring_other(v);
}

static void arrives(Events *v)
{
    uint8_t cqe[64];

    for (int i = 0; i < 2; i++) {
        mlx5_completion(&v->x, &v->r, cqe);
        g_assert_cmphex(cqe[63] >> 4, ==, i ? 0 : 2);
    }
    card_same(v->x.m->qts, v->from, v->to, LEN);
}

static void stays_away(Events *v)
{
    uint8_t cqe[64];

    qernic_pass(v->x.m->qts, 100, 1000);
    g_assert_false(mlx5_poll(&v->x, &v->r, cqe));
}

static uint32_t rings(Events *v)
{
    return qernic_logged(v->x.m, v->log, "ernic_pci_page_rung");
}

/* Each ring is an event; the number in it is not looked at. */
WORLD_KINDS("/ernic-mlx5-events/ring", test_ring, Events, v, begin, BOTH)
{
    for (int i = 0; i < 20; i++) {
        post(v);
        if (i % 2) {
            ring_other(v);
        } else {
            mlx5_ring_sq(&v->x, &v->r);
        }
        arrives(v);
    }
    g_assert_cmpuint(rings(v), >=, 20);
}

/* Without ioeventfd=on, and without KVM, a store is executed with its value. */
WORLD_KINDS("/ernic-mlx5-events/off", test_off, Events, v, begin,
            { "", ",ioeventfd=auto" }, { "-off", ",ioeventfd=off" })
{
    post_unnamed(v);
    stays_away(v);
    mlx5_ring_sq(&v->x, &v->r);
    arrives(v);
    g_assert_cmpuint(rings(v), ==, 0);
}

/* A stopped machine; then a function in D3hot. */
WORLD_KINDS("/ernic-mlx5-events/stop", test_stop, Events, v, begin, BOTH)
{
    for (int i = 0; i < 4; i++) {
        qernic_stop(v->x.m->qts);
        post_unnamed(v);
        stays_away(v);
        qernic_cont(v->x.m->qts);
        arrives(v);
        qernic_power(&v->x.dev, 3);
        post_unnamed(v);
        stays_away(v);
        qernic_power(&v->x.dev, 0);
        arrives(v);
    }
}

/* A rung page migrates, also to a device without events, and back. */
MACHINE_KINDS("/ernic-mlx5-events/migrate", test_migrate, BOTH)
{
    g_autofree char *off = g_strconcat(more, ",ioeventfd=off", NULL);
    Events v;

    begin(&v, more);
    for (int i = 0; i < 4; i++) {
        qernic_stop(v.x.m->qts);
        post_unnamed(&v);
        mlx5_migrate(&v.x, i % 2 ? more : off);
        qernic_cont(v.x.m->qts);
        if (i % 2) {
            arrives(&v);
            post_unnamed(&v);
        } else {
            arrives(&v);
            post(&v);
            mlx5_ring_sq(&v.x, &v.r);
        }
        arrives(&v);
    }
}

/* The BAR moves, and the events with it. */
WORLD_KINDS("/ernic-mlx5-events/move", test_move, Events, v, begin, BOTH)
{
    uint64_t addr = v->x.bar.addr;

    for (int i = 0; i < 4; i++) {
        qernic_place(&v->x.dev, &v->x.bar, 0, addr + (i % 2 ? 0 : 64 << 20));
        post_unnamed(v);
        arrives(v);
    }
    g_assert_cmpuint(rings(v), >=, 4);
}

/* A reset takes the events away; the driver probes again and gets new ones. */
WORLD_KINDS("/ernic-mlx5-events/reset", test_reset, Events, v, begin, BOTH)
{
    for (int i = 0; i < 4; i++) {
        uint64_t addr = v->x.bar.addr;

        post_unnamed(v);
        qernic_flr(&v->x.dev);
        qpci_device_enable(&v->x.dev);
        qernic_place(&v->x.dev, &v->x.bar, 0, addr);
        ring_other(v);
        open_queues(v);
        qernic_pass(v->x.m->qts, 10, 1000);
        post_unnamed(v);
        arrives(v);
    }
}

/* A page that is deallocated does not ring, and does so again once it is allocated. */
WORLD_KINDS("/ernic-mlx5-events/deallocate", test_deallocate, Events, v, begin, BOTH)
{
    for (int i = 0; i < 4; i++) {
        mlx5_accepts(&v->x, DEALLOC_UAR, 0, v->x.uar);
        post_unnamed(v);
        mlx5_ring_sq(&v->x, &v->r);
        stays_away(v);
        mlx5_accepts(&v->x, ALLOC_UAR, 0, 0);
        qernic_pass(v->x.m->qts, 10, 1000);
        ring_other(v);
        arrives(v);
    }
}

/* A page with too many queues has no event: the store says which queue it is. */
WORLD_KINDS("/ernic-mlx5-events/crowd", test_crowd, Events, v, begin, BOTH)
{
    Mlx5Rdma more = v->r;

    for (int i = 1; i <= MOST; i++) {
        post_unnamed(v);
        arrives(v);
        g_assert_cmphex(mlx5_add_qp(&v->x, &more, 5), ==, 0);
    }
    qernic_pass(v->x.m->qts, 10, 1000);
    post_unnamed(v);
    stays_away(v);
    mlx5_ring_sq(&v->x, &v->r);
    arrives(v);
}

/* The function goes with pages that have an event, one of which has been rung. */
WORLD_KINDS("/ernic-mlx5-events/unplug", test_unplug, Events, v, begin, BOTH)
{
    post_unnamed(v);
    qpci_unplug_acpi_device_test(v->x.m->qts, "ernic0", 4);
    qtest_qmp_assert_success(v->x.m->qts, "{ 'execute': 'query-status' }");
}

/* ---- KVM, where the host has it -------------------------------------------- */

#define KVM EVENTS ",engine-thread=on,roce-udp=127.0.0.1:0 -accel kvm -bios %s"

/* QEMU ends if KVM refuses an event, such as a second one at the same address. */
MACHINE_TEST("/ernic-mlx5-events/kvm-overlap", test_kvm_overlap)
{
    g_autofree char *more = g_strdup_printf(KVM " -device ernic,id=e1,addr=06.0" EVENTS,
                                            qernic_halting_bios());
    Mlx5 x[2], *over, *under;
    Mlx5Rdma r[2];
    uint64_t own;

    mlx5_begin(&x[0], more);
    x[1] = (Mlx5) { .m = x[0].m, .log_qp = 10 };
    mlx5_take(&x[1], QPCI_DEVFN(6, 0));
    for (int i = 0; i < 2; i++) {
        mlx5_probe(&x[i]);
        mlx5_rdma_open(&x[i], &r[i]);
    }
    qernic_pass(x[0].m->qts, 10, 1000);
    for (int i = 0; i < 8; i++) {
        over = &x[i % 2];
        under = &x[1 - i % 2];
        own = over->bar.addr;
        qernic_place(&over->dev, &over->bar, 0, under->bar.addr);
        qernic_pass(x[0].m->qts, 10, 1000);
        if (i / 2 == 1) {
            qpci_config_writew(&over->dev, PCI_COMMAND, 0);
            qpci_config_writew(&over->dev, PCI_COMMAND, 6);
        } else if (i / 2 == 2) {
            qernic_power(&over->dev, 3);
            qernic_power(&over->dev, 0);
        } else if (i / 2 == 3) {
            qernic_flr(&over->dev);
        }
        qernic_place(&over->dev, &over->bar, 0, own);
        qernic_pass(x[0].m->qts, 10, 1000);
    }
    qtest_qmp_assert_success(x[0].m->qts, "{ 'execute': 'system_reset' }");
    qtest_qmp_assert_success(x[0].m->qts, "{ 'execute': 'query-status' }");
}
