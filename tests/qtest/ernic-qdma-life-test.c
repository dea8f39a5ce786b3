/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The life of the streams of RecoNIC's QDMA: two functions, counters of the port, a slow
 * network, stops, resets, migration and unplug while frames move.
 */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "qemu/bswap.h"
#include "qemu/units.h"
#include "hw/pci/pci_regs.h"
#include "ernic-qdma-net.h"

#define MAIN_LOOP   { "", ",engine-thread=off" }
#define THREAD      { "-thread", ",engine-thread=on" }

/* Frames of one function arrive at another; @first: the machine's other options. */
static void between(const char *first, const char *link0, const char *link1)
{
    uint8_t frame[QNET_FRAME], is[QNET_FRAME];
    QdmaStream s[2];
    Qdma x[2];

    x[0] = (Qdma) { .m = qernic_machine(
        "%s -device ernic,id=ernic0,addr=04.0,shell=reconic%s"
        " -device ernic,id=ernic1,addr=05.0,shell=reconic%s", first, link0, link1) };
    x[1] = (Qdma) { .m = x[0].m };
    for (int i = 0; i < 2; i++) {
        x[i].q = qernic_at(x[i].m, i ? "ernic1" : "ernic0", 4 + i);
        qdma_map(&x[i]);
        qnet_setup(&x[i]);
        qnet_stream(&x[i], &s[i], 2, QNET_EVERY, 0);
        qdma_put_user(&x[i], 0x1000, 2 << 16 | 1);
    }
    for (uint32_t i = 0; i < 500; i++) {
        uint32_t len = i % 50 ? 60 + i : QNET_FRAME - 596, to = i % 2;

        qnet_frame(frame, len, i, 1);
        qnet_post(&s[!to], frame, len);
        qnet_ring(&s[!to]);
        qnet_same(is, qnet_receive(&s[to], is), frame, len);
        qnet_again(&s[to]);
    }
}

MACHINE_KINDS("/ernic-qdma-life/hub", test_hub, MAIN_LOOP, THREAD)
{
    g_autofree char *link0 = g_strconcat(",netdev=h0", more, NULL);
    g_autofree char *link1 = g_strconcat(",netdev=h1", more, NULL);

    between("-netdev hubport,id=h0,hubid=0 -netdev hubport,id=h1,hubid=0", link0, link1);
}

MACHINE_KINDS("/ernic-qdma-life/lab", test_lab, MAIN_LOOP, THREAD)
{
    g_autofree char *link = g_strdup_printf(",lab=%s%s", qernic_folder(), more);

    between("", link, link);
}

/* A cable in virtual time, which has frames in flight. */
MACHINE_KINDS("/ernic-qdma-life/wire", test_wire, MAIN_LOOP,
              { "-timing", ",engine-thread=off,timing=on" })
{
    g_autofree char *link = g_strconcat(",wire=w0", more, NULL);

    between("-device ernic-wire,id=w0,rate=10G,flight=1us", link, link);
}

/* ---- the port -------------------------------------------------------------------- */

/* Counter @at of CMAC 0: as 64 bits. */
static uint64_t counter(Qdma *x, uint32_t at)
{
    return qdma_user(x, at) | (uint64_t)qdma_user(x, at + 4) << 32;
}

/* The registers of MAC and adapter show what has passed. */
WORLD_KINDS("/ernic-qdma-life/counters", test_counters, QdmaNet, n, qnet_open, MAIN_LOOP,
            { "-udp", ",roce-udp=127.0.0.1:0" })
{
    /* Lengths without FCS, and the register that counts each, from the first size on. */
    static const struct {
        uint32_t len, at;
    } sizes[] = {
        { 60, 0 }, { 61, 8 }, { 123, 8 }, { 124, 16 }, { 252, 24 }, { 508, 32 },
        { 1020, 40 }, { 1514, 40 }, { 1515, 48 }, { 1519, 56 }, { 1545, 64 },
        { 2044, 72 }, { 4092, 80 }, { 8188, 88 }, { 9211, 88 }, { 9212, 96 },
    };
    Qdma *x = &n->x;
    uint8_t frame[QNET_FRAME], long_frame[QNET_FRAME + 1] = { };
    uint64_t bytes = 0, was[2][32];
    QdmaStream s;

    qnet_stream(x, &s, 0, QNET_EVERY, 0);
    g_assert_cmphex(qdma_user(x, 0x8024), ==, 0x301);
    qernic_set_link(x->m->qts, "ernic0", false);
    g_assert_cmphex(qdma_user(x, 0x8204), ==, 0);
    qernic_set_link(x->m->qts, "ernic0", true);
    g_assert_cmphex(qdma_user(x, 0x8204), ==, 3);
    for (uint32_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        memset(was, 0, sizeof(was));
        qnet_frame(frame, sizes[i].len, i, 1);
        memcpy(frame, i % 3 ? i % 3 == 1 ? "\1\0\0\0\0\1" : "\xff\xff\xff\xff\xff\xff" :
                              "\2\0\0\0\0\1", 6);
        stw_be_p(frame + 12, i % 2 ? 0x8100 : 0x800);
        qnet_post(&s, frame, sizes[i].len);
        qnet_sent(&s);
        qernic_to_wire(n->fd, frame, sizes[i].len);
        qernic_from_wire(n->fd, frame, sizeof(frame));
        qnet_receive(&s, frame);
        qnet_again(&s);
        qdma_put_user(x, 0x82b0, 1);
        for (uint32_t dir = 0; dir < 2; dir++) {
            uint32_t base = dir ? 0x8608 : 0x8500;

            g_assert_cmpuint(counter(x, base), ==, 1);
            g_assert_cmpuint(counter(x, base + 8), ==, 1);
            g_assert_cmpuint(counter(x, base + 0x10), ==, sizes[i].len + 4);
            g_assert_cmpuint(counter(x, base + 0x18), ==, sizes[i].len + 4);
            for (uint32_t at = 0; at <= 104; at += 8) {
                g_assert_cmpuint(counter(x, base + 0x20 + at), ==, at == sizes[i].at);
            }
            for (uint32_t cast = 0; cast < 3; cast++) {
                g_assert_cmpuint(counter(x, base + 0xd0 + cast * 8), ==, cast == i % 3);
            }
            g_assert_cmpuint(counter(x, base + 0xe8), ==, i % 2);
        }
        bytes += sizes[i].len;
    }
    qdma_put_user(x, 0x82b0, 1);
    g_assert_cmpuint(counter(x, 0x8500), ==, 0);
    g_assert_cmpuint(counter(x, 0xb000), ==, ARRAY_SIZE(sizes));
    g_assert_cmpuint(counter(x, 0xb008), ==, bytes);
    g_assert_cmpuint(counter(x, 0xb020), ==, ARRAY_SIZE(sizes));
    g_assert_cmpuint(counter(x, 0xb028), ==, bytes);
    /* Frames without buffers, and those of a MAC that is off. */
    qdma_put_user(x, 0x1000, 9 << 16 | 1);
    qernic_to_wire(n->fd, frame, 100);
    qernic_wait_while(x->q->qts, !counter(x, 0xb030));
    g_assert_cmpuint(counter(x, 0xb038), ==, 100);
    qdma_put_user(x, 0x1000, 1);
    qdma_put_user(x, 0x800c, 0);
    qnet_post(&s, frame, 200);
    qnet_sent(&s);
    g_assert_cmpuint(counter(x, 0xb010), ==, 1);
    g_assert_cmpuint(counter(x, 0xb018), ==, 200);
    qdma_put_user(x, 0x8014, 0);
    qernic_to_wire(n->fd, frame, QNET_FRAME);
    qernic_to_wire(n->fd, long_frame, sizeof(long_frame));
    qernic_pass(x->m->qts, 20, 1000);
    g_assert_cmpuint(counter(x, 0xb030), ==, 1);
    qdma_put_user(x, 0x8014, 1);
    qernic_to_wire(n->fd, long_frame, sizeof(long_frame));
    qernic_wait_while(x->q->qts, counter(x, 0xb030) == 1);
    g_assert_cmpuint(counter(x, 0xb038), ==, 100 + sizeof(long_frame));
}

/* Loopback of the MAC: frames come back, and none leaves or arrives. */
WORLD_KINDS("/ernic-qdma-life/loop", test_loop, QdmaNet, n, qnet_open, MAIN_LOOP, THREAD)
{
    uint8_t frame[QNET_FRAME], is[QNET_FRAME];
    QdmaStream s;

    qnet_stream(&n->x, &s, 0, QNET_EVERY, 0);
    qdma_put_user(&n->x, 0x8090, 1);
    for (uint32_t i = 0; i < 200; i++) {
        qnet_frame(frame, 60 + i * 40, i, 1);
        qnet_post(&s, frame, 60 + i * 40);
        qnet_ring(&s);
        qnet_same(is, qnet_receive(&s, is), frame, 60 + i * 40);
        qnet_again(&s);
    }
    g_assert_cmpint(recv(n->fd, is, 1, MSG_DONTWAIT), ==, -1);
    qernic_to_wire(n->fd, frame, 60);
    qdma_put_user(&n->x, 0x8090, 0);
    qnet_post(&s, frame, 60);
    qnet_sent(&s);
    qnet_same(is, qernic_from_wire(n->fd, is, sizeof(is)), frame, 60);
}

#define SLOW    9000

/* Sends frames until some are left in the ring; how many all of them are. */
static uint32_t post_until_full(QdmaNet *n, QdmaStream *s)
{
    uint8_t frame[SLOW];
    uint32_t posted = 0;

    do {
        for (uint32_t i = 0; i < QNET_ENTRIES / 2; i++) {
            qnet_frame(frame, sizeof(frame), posted++, 1);
            qnet_post(s, frame, sizeof(frame));
        }
        qnet_ring(s);
        qernic_pass(n->x.m->qts, 20, 1000);
    } while (qernic_stat(n->x.q, "qdma.h2c_packets") == posted && posted < 10000);
    g_assert_cmpuint(posted, <, 10000);
    return posted;
}

/* A network that takes nothing: the engine waits, and all frames leave later. */
WORLD_KINDS("/ernic-qdma-life/slow", test_slow, QdmaNet, n, qnet_open, MAIN_LOOP, THREAD)
{
    uint8_t frame[SLOW], is[QNET_FRAME];
    uint32_t posted;
    QdmaStream s;

    qnet_stream(&n->x, &s, 0, QNET_EVERY, 0);
    posted = post_until_full(n, &s);
    for (uint32_t i = 0; i < posted; i++) {
        qnet_frame(frame, sizeof(frame), i, 1);
        qnet_same(is, qernic_from_wire(n->fd, is, sizeof(is)), frame, sizeof(frame));
    }
    qnet_sent(&s);
}

/* Loopback does not wait for the network. */
WORLD_KINDS("/ernic-qdma-life/slow-loop", test_slow_loop, QdmaNet, n, qnet_open,
            MAIN_LOOP, THREAD)
{
    uint32_t posted;
    QdmaStream s;

    qnet_stream(&n->x, &s, 0, QNET_EVERY, 0);
    posted = post_until_full(n, &s);
    qdma_put_user(&n->x, 0x8090, 1);
    qernic_wait_while(n->x.q->qts, qernic_stat(n->x.q, "qdma.h2c_packets") != posted);
}

/* ---- stops, resets, migration ---------------------------------------- */

/* While the machine is stopped, and in D3hot, nothing moves. */
WORLD_KINDS("/ernic-qdma-life/power", test_power, QdmaNet, n, qnet_open, MAIN_LOOP)
{
    uint8_t frame[100], is[QNET_FRAME];
    QTestState *qts = n->x.m->qts;
    QdmaStream s;
    QdmaQueue k;

    qnet_stream(&n->x, &s, 0, QNET_TIMER, 0);
    qnet_frame(frame, sizeof(frame), 1, 1);
    qernic_stop(qts);
    qnet_post(&s, frame, sizeof(frame));
    qnet_ring(&s);
    qernic_to_wire(n->fd, frame, sizeof(frame));
    g_assert_false(qdma_interrupted(&n->x, 0));
    g_assert_cmpint(recv(n->fd, is, 1, MSG_DONTWAIT), ==, -1);
    qernic_cont(qts);
    qnet_same(is, qernic_from_wire(n->fd, is, sizeof(is)), frame, sizeof(frame));
    qernic_wait_while(qts, qernic_stat(n->x.q, "qdma.c2h_packets") != 1);
    /* The timer ends while the function sleeps, and reports when it wakes. */
    qernic_power(&n->x.q->dev, 3);
    qtest_clock_step(qts, 10 * QNET_TIMER_NS);
    g_assert_cmphex(qnet_status(&s), ==, 0);
    qernic_power(&n->x.q->dev, 0);
    qnet_same(is, qnet_receive(&s, is), frame, sizeof(frame));
    /* So does a copy. */
    qdma_queue_open(&n->x, &k, 2, QDMA_H2C, 64);
    qernic_stop(qts);
    qdma_post(&k, s.in, 0, 64 * 1024);
    qdma_ring(&k, true);
    g_assert_false(qdma_interrupted(&n->x, 2));
    qernic_power(&n->x.q->dev, 3);
    qernic_cont(qts);
    g_assert_false(qdma_interrupted(&n->x, 2));
    g_assert_cmphex(qdma_status(&k), ==, 0);
    qernic_power(&n->x.q->dev, 0);
    qdma_wait(&k);
    g_assert_true(qdma_interrupted(&n->x, 2));
}

/* Resets end the streams; software sets them up again. */
WORLD_KINDS("/ernic-qdma-life/reset", test_reset, QdmaNet, n, qnet_open, { "", "" })
{
    uint8_t frame[100], is[QNET_FRAME];
    QdmaStream s;

    qnet_stream(&n->x, &s, 0, QNET_TIMER, 0);
    qnet_frame(frame, sizeof(frame), 1, 1);
    for (int i = 0; i < 3; i++) {
        qernic_to_wire(n->fd, frame, sizeof(frame));
        qernic_wait_while(n->x.q->qts, !qernic_stat(n->x.q, "qdma.c2h_packets"));
        qnet_post(&s, frame, sizeof(frame));
        qnet_sent(&s);
        qernic_from_wire(n->fd, is, sizeof(is));
        qdma_reset(&n->x, i);
        g_assert_cmpuint(qernic_stat(n->x.q, "qdma.c2h_packets"), ==, 0);
        qtest_memset(n->x.m->qts, s.cmpt, 0, (QNET_CMPT + 1) * 8);
        qtest_clock_step(n->x.m->qts, 10 * QNET_TIMER_NS);
        g_assert_cmphex(qnet_status(&s), ==, 0);
        qnet_setup(&n->x);
        qnet_contexts(&s);
        qnet_again(&s);
    }
    qernic_to_wire(n->fd, frame, sizeof(frame));
    qnet_same(is, qnet_receive(&s, is), frame, sizeof(frame));
}

/*
 * A machine moves while it is stopped: frames that it has taken are there, the context of
 * completions is the same, its timer goes on, and frames that wait in the ring leave from
 * the new machine, each once.
 */
MACHINE_KINDS("/ernic-qdma-life/migrate", test_migrate, MAIN_LOOP, THREAD,
              { "-opennic", ",shell=opennic" })
{
    uint8_t frame[200], is[QNET_FRAME];
    g_autofree char *args = NULL;
    uint32_t before[8], after[8];
    QdmaStream s;
    QdmaNet n;

    qnet_open(&n, more);
    qnet_stream(&n.x, &s, 0, QNET_TIMER, 2);
    for (uint32_t i = 0; i < 20; i++) {
        qnet_frame(frame, sizeof(frame), i, 7);
        qernic_to_wire(n.fd, frame, sizeof(frame));
    }
    qernic_wait_while(n.x.q->qts, qernic_stat(n.x.q, "qdma.c2h_packets") < 20);
    qdma_put_user(&n.x, 0x8090, 0);
    qernic_stop(n.x.m->qts);
    for (uint32_t i = 0; i < QNET_ENTRIES - 1; i++) {
        qnet_frame(frame, sizeof(frame), i, 8);
        qnet_post(&s, frame, sizeof(frame));
    }
    qnet_ring(&s);
    qdma_read_context(&n.x, QDMA_CMPT, 0, before);
    g_assert_cmphex(before[4] & 1, ==, 1);      /* the timer runs */
    args = qnet_cable(&n, more);
    qdma_migrate(&n.x, args);
    qdma_read_context(&n.x, QDMA_CMPT, 0, after);
    g_assert_cmpmem(after, sizeof(after), before, sizeof(before));
    qernic_cont(n.x.m->qts);
    for (uint32_t i = 0; i < QNET_ENTRIES - 1; i++) {
        qnet_frame(frame, sizeof(frame), i, 8);
        qnet_arrives(n.fd, frame, sizeof(frame));
    }
    qnet_sent(&s);
    for (uint32_t i = 0; i < 20; i++) {
        qnet_frame(frame, sizeof(frame), i, 7);
        qnet_same(is, qnet_receive(&s, is), frame, sizeof(frame));
    }
    qnet_again(&s);
    for (uint32_t i = 0; i < 100; i++) {
        qnet_frame(frame, sizeof(frame), i, 9);
        qernic_to_wire(n.fd, frame, sizeof(frame));
        qnet_same(is, qnet_receive(&s, is), frame, sizeof(frame));
        qnet_again(&s);
    }
    g_assert_cmpuint(qernic_stat(n.x.q, "qdma.c2h_packets"), ==, 120);
    g_assert_cmpuint(qernic_stat(n.x.q, "qdma.h2c_packets"), ==, QNET_ENTRIES - 1);
    g_assert_cmpuint(qernic_stat(n.x.q, "qdma.errors"), ==, 0);
}

WORLD_KINDS("/ernic-qdma-life/unplug", test_unplug, QdmaNet, n, qnet_open, MAIN_LOOP,
            THREAD)
{
    uint8_t frame[1000];
    QdmaStream s;
    QdmaQueue k;

    qnet_stream(&n->x, &s, 0, QNET_TIMER, 0);
    qnet_frame(frame, sizeof(frame), 1, 1);
    for (uint32_t i = 0; i < QNET_ENTRIES - 1; i++) {
        qnet_post(&s, frame, sizeof(frame));
        qernic_to_wire(n->fd, frame, sizeof(frame));
    }
    qnet_ring(&s);
    qdma_queue_open(&n->x, &k, 5, QDMA_H2C, 8);
    qdma_post(&k, 32 * MiB, 0, 64 * MiB);
    qdma_ring(&k, true);
    qtest_qmp_device_del_send(n->x.m->qts, "ernic0");
    qtest_system_reset_nowait(n->x.m->qts);
    qtest_qmp_eventwait(n->x.m->qts, "DEVICE_DELETED");
    g_assert_cmphex(qpci_config_readl(&n->x.q->dev, PCI_VENDOR_ID), ==, 0xffffffff);
    qtest_clock_step(n->x.m->qts, 10 * QNET_TIMER_NS);
    qtest_qmp_assert_success(n->x.m->qts, "{ 'execute': 'query-status' }");
}
