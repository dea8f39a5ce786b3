/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * OpenNIC's shell: its driver, vectors, and two functions.
 */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "qemu/bswap.h"
#include "qemu/units.h"
#include "hw/pci/pci_regs.h"
#include "ernic-opennic.h"

static void open_with(Onic *w, const char *more)
{
    g_autofree char *args = NULL;
    QdmaNet n;

    *w = (Onic) { };
    args = qnet_cable(&n, more);
    qdma_open(&w->x, args);
    w->fd = n.fd;
    onic_alloc(w);
}

static void open_driver(Onic *w, const char *more)
{
    g_autofree char *args = g_strconcat(ONIC_OPTIONS, more, NULL);

    open_with(w, args);
    onic_probe(w, 1);
    onic_up(w);
}

#define KINDS   { "", ",engine-thread=off" }, { "-thread", ",engine-thread=on" }

/* Frames of many flows from and to all queues: a flow stays in its queue. */
WORLD_KINDS("/ernic-opennic/driver", test_driver, Onic, w, open_driver, KINDS)
{
    uint32_t queue[64], seen = 0, sent = 0;
    uint8_t frame[QNET_FRAME];

    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < 2 * ONIC_QUEUES; i++, sent++) {
            qnet_frame(frame, 60 + 90 * i, i, round);
            onic_transmit(w, i % ONIC_QUEUES, frame, 60 + 90 * i);
        }
        for (uint32_t flow = 0; flow < ARRAY_SIZE(queue); flow++) {
            queue[flow] = onic_receive(w, flow, 60 + flow * 20);
            seen |= 1 << queue[flow];
        }
        for (uint32_t flow = 0; flow < ARRAY_SIZE(queue); flow++) {
            g_assert_cmpuint(onic_receive(w, flow, 1400), ==, queue[flow]);
        }
        onic_down(w);
        onic_up(w);
    }
    g_assert_cmpuint(ctpop32(seen), >=, ONIC_QUEUES / 2);
    /* The table of two queues alone. */
    for (uint32_t i = 0; i < 128; i++) {
        qdma_put_user(&w->x, 0x1400 + i * 4, i % 2);
    }
    for (uint32_t flow = 0; flow < ARRAY_SIZE(queue); flow++) {
        g_assert_cmpuint(onic_receive(w, flow, 100), <, 2);
    }
    /* Counters for ethtool, after a tick. */
    g_assert_cmpuint(onic_counter(w, 0x500), ==, 0);
    qdma_put_user(&w->x, onic_mac(w, 0x2b0), 1);
    g_assert_cmpuint(onic_counter(w, 0x500), ==, sent);
    g_assert_cmpuint(onic_counter(w, 0x608), ==, 5 * ARRAY_SIZE(queue));
    g_assert_cmpuint(onic_counter(w, 0x5d0), ==, sent);
    g_assert_cmpuint(qdma_user(&w->x, 0xb000), ==, sent);
    g_assert_cmpuint(qdma_user(&w->x, 0xb020), ==, 5 * ARRAY_SIZE(queue));
    g_assert_cmpuint(qdma_user(&w->x, 0xb030), ==, 0);
    /* Removal. */
    onic_down(w);
    qdma_put(&w->x, 0xb04, 0);
    qdma_put_user(&w->x, 0x1000, 0);
    qdma_command(&w->x, QDMA_FMAP, 0, QDMA_CLEAR);
    g_assert_cmphex(qdma_get(&w->x, 0x248), ==, 0);
    g_assert_cmpuint(qernic_stat(w->x.q, "qdma.errors"), ==, 0);
}

/* Vectors of queues, then that of the user, which no one raises, then of errors. */
WORLD_KINDS("/ernic-opennic/vectors", test_vectors, Onic, w, open_driver, KINDS)
{
    for (uint32_t flow = 0; flow < 8; flow++) {
        onic_receive(w, flow, 80);           /* checks the vector of its queue */
    }
    g_assert_false(qdma_interrupted(&w->x, ONIC_ERROR));
    onic_ring(w, ONIC_QUEUES, 4, 1);    /* a queue that the function does not have */
    g_assert_cmphex(qdma_get(&w->x, 0x264), ==, 1 << 5);
    qdma_put(&w->x, 0x264, ~0);
    qdma_put(&w->x, 0x268, ~0);
    onic_ring(w, ONIC_QUEUES, 4, 1);
    g_assert_true(qdma_interrupted(&w->x, ONIC_ERROR));
    g_assert_false(qdma_interrupted(&w->x, ONIC_USER));
    for (uint32_t i = 0; i < ONIC_QUEUES; i++) {
        g_assert_false(qdma_interrupted(&w->x, i));
    }
}

/* Without card memory there is no BAR 4, and a memory-mapped queue stops at once. */
WORLD_KINDS("/ernic-opennic/no-card", test_no_card, Onic, w, open_driver, { "", "" })
{
    QdmaQueue k;

    g_assert_cmphex(qpci_config_readl(&w->x.q->dev, PCI_BASE_ADDRESS_4), ==, 0);
    g_assert_cmphex(qdma_get(&w->x, 0x118), ==, 0x30000);
    g_assert_cmphex(qdma_user(&w->x, 0x16420), ==, 0);
    qdma_put_user(&w->x, 0x16420, 1);
    g_assert_cmphex(qdma_user(&w->x, 0x16420), ==, 0);
    qdma_put(&w->x, 0x1204, 1);
    qdma_write_context(&w->x, QDMA_FMAP, 0, (uint32_t[8]) { 0, 64 });
    qdma_queue_open(&w->x, &k, 40, QDMA_H2C, 16);
    qdma_post(&k, w->out, 0, 8);
    qdma_ring(&k, false);
    qernic_wait_while(w->x.m->qts, !qdma_status(&k));
    g_assert_cmphex(extract64(qdma_status(&k), 0, 2), ==, 2);
}

/* The interrupt of the ERNIC follows those of the queues of a port, user and error. */
MACHINE_KINDS("/ernic-opennic/ernic-vector", test_ernic_vector, { "-6", "6" },
              { "-32", "32" }, { "-33", "33" }, { "-64", "64" })
{
    g_autofree char *args = g_strconcat(",shell=opennic,ernic-version=4.2,card-memory=1M"
                                        ",roce-udp=127.0.0.1:0,vectors=", more, NULL);
    uint32_t vectors = atoi(more), its = (vectors - 4) / 2 + 2;
    Qdma x;
    Card c;

    qdma_open(&x, args);
    qdma_aim(&x, vectors);
    c = (Card) { .q = x.q, .version = PG332_V4_2, .bar = x.user, .card = x.card };
    c.bar.addr += 0x800000;
    card_open_in(&c, 1, card_addr(0), card_addr(0x40000));
    card_open_qp(&c, 1, CARD_QPN);
    card_put(&c, PG332_INTEN, PG332_INT_COMPLETION);
    card_transfers(&c, &c);
    for (uint32_t i = 0; i < vectors; i++) {
        g_assert_cmpint(qdma_interrupted(&x, i), ==, i == its);
    }
}

/* ---- two functions -------------------------------------------------------------- */

static void open_second(Onic w[2])
{
    QErnic *q = g_new0(QErnic, 1);

    w[1].function = 1;
    w[1].x = (Qdma) { .m = w[0].x.m, .q = q, .opennic = true,
                      .mmio = w[0].x.m->bus->mmio_alloc_ptr };
    qernic_init(q, "ernic1", w[0].x.m->bus, QPCI_DEVFN(4, 1), &w[0].x.m->alloc);
    g_test_queue_free(q);
    qdma_map(&w[1].x);
}

static void open_two(OnicTwo *t, const char *more)
{
    g_autofree char *args = onic_cables(t->w, more);

    qdma_open(&t->w[0].x, args);
    open_second(t->w);
    for (int i = 0; i < 2; i++) {
        onic_alloc(&t->w[i]);
        onic_probe(&t->w[i], 2);
        onic_up(&t->w[i]);
    }
}

static void both_ways(Onic *w, uint32_t seed)
{
    uint8_t frame[QNET_FRAME];

    for (uint32_t i = 0; i < 2 * ONIC_QUEUES; i++) {
        qnet_frame(frame, 100 + i, i, seed);
        onic_transmit(w, i % ONIC_QUEUES, frame, 100 + i);
        onic_receive(w, i + seed, 200 + i);
    }
}

/* Each function has its queues, its cable, its vectors and the counters of its MAC. */
WORLD_KINDS("/ernic-opennic/two-functions", test_two, OnicTwo, t, open_two, KINDS)
{
    Onic *w = t->w;

    g_assert_cmphex(qpci_config_readl(&w[1].x.q->dev, PCI_VENDOR_ID), ==, 0x913f10ee);
    for (uint32_t i = 0; i < 2; i++) {
        g_assert_cmphex(qdma_get(&w[i].x, 0x12c), ==, i);
        g_assert_cmphex(qdma_get(&w[i].x, 0x104), ==, 0x41);
        g_assert_cmphex(qdma_get(&w[i].x, 0x10c), ==, 0x104);
        both_ways(&w[i], i);
    }
    for (uint32_t i = 0; i < 2; i++) {
        qdma_put_user(&w[!i].x, onic_mac(&w[i], 0x2b0), 1);     /* by either function */
        g_assert_cmpuint(onic_counter(&w[i], 0x500), ==, 2 * ONIC_QUEUES);
        g_assert_cmpuint(onic_counter(&w[i], 0x608), ==, 2 * ONIC_QUEUES);
        g_assert_cmpuint(onic_counter(&w[i], 0x3000), ==, 2 * ONIC_QUEUES);
        g_assert_cmpuint(qernic_stat(w[i].x.q, "qdma.c2h_packets"), ==, 2 * ONIC_QUEUES);
    }
    /* A frame of port 1 does not leave while its MAC is off; the next one does. */
    qdma_put_user(&w[0].x, 0xc00c, 0);
    both_ways(&w[0], 2);
    qdma_put_user(&w[0].x, 0xc00c, 1);
    both_ways(&w[1], 3);
    /* A doorbell of a queue that function 1 does not have. */
    qdma_write_context(&w[0].x, QDMA_SW, onic_number(&w[1], ONIC_QUEUES),
                       (uint32_t[8]) { 0x55 });
    g_assert_cmphex(qdma_get(&w[1].x, QDMA_DOORBELLS + ONIC_QUEUES * 16 + 8), ==, 0);
    /* One that has no queue in function 1 is not for those of function 0. */
    qdma_put_user(&w[1].x, 0x2000, 0x40 << 16);
    both_ways(&w[0], 4);
    g_assert_cmpuint(qernic_stat(w[0].x.q, "qdma.errors"), ==, 0);
}

/* Devices that cannot be the second port. */
MACHINE_TEST("/ernic-opennic/refused", test_refused)
{
    static const char *const rows[][3] = {
        { ",shell=reconic", "", "that device has no second port" },
        { ",interface=verbs", "", "that device has no second port" },
        { ",shell=opennic", ", 'shell': 'reconic'",
          "shell= and ernic-version= are those of the first port" },
        { ",shell=opennic", ", 'ernic-version': '4.2'",
          "shell= and ernic-version= are those of the first port" },
        { ",shell=opennic", ", 'card-memory': 1048576",
          "card-memory= is that of the first port" },
        { ",shell=opennic", "", "the ports are functions 0 and 1 of one slot" },
        { ",shell=opennic,multifunction=on" ONIC_SECOND, "",
          "that device has a second port already" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        QErnicMachine *m = qernic_machine("-device ernic,id=ernic0,addr=04.0%s",
                                          rows[i][0]);
        g_autofree char *says = g_strdup_printf("port-of=ernic0: %s", rows[i][2]);

        qernic_refused(m->qts, says, "'port-of': 'ernic0'%s", rows[i][1]);
        qernic_refused(m->qts, "port-of= needs interface=ernic",
                       "'port-of': 'ernic0', 'interface': 'mlx5'");
        qernic_machine_end(m);
    }
}

/* A reset of function 1 ends its queues alone; its driver starts again. */
WORLD_KINDS("/ernic-opennic/two-reset", test_two_reset, OnicTwo, t, open_two, KINDS)
{
    Onic *w = t->w;
    uint32_t words[8];

    for (uint32_t i = 0; i < 2; i++) {
        qdma_write_context(&w[0].x, QDMA_CREDIT, onic_number(&w[i], 0),
                           (uint32_t[8]) { 5 });
        qdma_write_context(&w[0].x, QDMA_INT_RING, i, (uint32_t[8]) { 1, 0, 0, i << 18 });
    }
    qernic_flr(&w[1].x.q->dev);
    for (uint32_t i = 0; i < 2; i++) {
        qdma_read_context(&w[0].x, QDMA_CREDIT, onic_number(&w[i], 0), words);
        g_assert_cmphex(words[0], ==, i ? 0 : 5);
        qdma_read_context(&w[0].x, QDMA_INT_RING, i, words);
        g_assert_cmphex(words[0], ==, !i);
    }
    qdma_read_context(&w[0].x, QDMA_SW, ONIC_PER_PF, words);
    g_assert_cmphex(words[1], ==, 0);
    qdma_read_context(&w[0].x, QDMA_CMPT, ONIC_PER_PF, words);
    g_assert_cmphex(words[3], ==, 0);
    qdma_read_context(&w[0].x, QDMA_FMAP, 1, words);
    g_assert_cmphex(words[1], ==, 0);
    both_ways(&w[0], 1);
    w[1].x.m->bus->mmio_alloc_ptr = w[1].x.mmio;
    qdma_map(&w[1].x);
    onic_probe(&w[1], 2);
    onic_up(&w[1]);
    both_ways(&w[1], 2);
    both_ways(&w[0], 3);
    /* The reset of function 0 is that of the card. */
    qernic_flr(&w[0].x.q->dev);
    g_assert_cmphex(qdma_get(&w[1].x, 0x250), ==, 0);
    qdma_read_context(&w[1].x, QDMA_SW, ONIC_PER_PF, words);
    g_assert_cmphex(words[1], ==, 0);
}

/* Both ports move with their queues, counters, and frames that have not left. */
WORLD_KINDS("/ernic-opennic/two-migrate", test_two_migrate, OnicTwo, t, open_two, KINDS)
{
    g_autofree char *args = NULL;
    Onic *w = t->w;

    both_ways(&w[0], 1);
    both_ways(&w[1], 2);
    args = onic_cables(w, "");
    qdma_migrate(&w[0].x, args);
    w[1].x.q->qts = w[0].x.q->qts;
    for (uint32_t i = 0; i < 2; i++) {
        both_ways(&w[i], 3 + i);
        qdma_put_user(&w[i].x, onic_mac(&w[i], 0x2b0), 1);
        g_assert_cmpuint(onic_counter(&w[i], 0x500), ==, 4 * ONIC_QUEUES);
        g_assert_cmpuint(onic_counter(&w[i], 0x3020), ==, 4 * ONIC_QUEUES);
    }
}

/* Function 1 in D3hot accesses no memory; function 0 works on. */
WORLD_KINDS("/ernic-opennic/two-power", test_two_power, OnicTwo, t, open_two, { "", "" })
{
    Onic *w = t->w;
    uint8_t frame[100];

    qernic_power(&w[1].x.q->dev, 3);
    qnet_frame(frame, sizeof(frame), 1, 2);
    qernic_to_wire(w[1].fd, frame, sizeof(frame));
    g_assert_cmphex(qdma_get(&w[0].x, 0x264), ==, 0);
    onic_ring(&w[0], ONIC_PER_PF, 4, 1);          /* that of a queue of function 1 */
    g_assert_cmphex(qdma_get(&w[0].x, 0x264), ==, 1 << 5);
    onic_ring(&w[0], ONIC_PER_PF, 12, 0);
    both_ways(&w[0], 1);
    g_assert_cmpuint(onic_pending(&w[1]), ==, ONIC_QUEUES);
    qernic_power(&w[1].x.q->dev, 0);
    both_ways(&w[1], 2);
}

/* Function 0 in D3hot: function 1 has some of its queues, and rings a bad index. */
WORLD_KINDS("/ernic-opennic/two-power-first", test_two_power_first, OnicTwo, t, open_two,
            { "", "" })
{
    Onic *w = t->w;
    uint64_t status = w[0].queue[0].entries + 1023 * 8;

    qdma_write_context(&w[0].x, QDMA_FMAP, 1, (uint32_t[8]) { 0, 2 * ONIC_PER_PF });
    qernic_power(&w[0].x.q->dev, 3);
    qtest_writeq(w[0].x.m->qts, status, 0x1234);
    onic_ring(&w[1], 0, 12, 0xffff);
    g_assert_cmphex(qtest_readq(w[0].x.m->qts, status), ==, 0x1234);
    qernic_power(&w[0].x.q->dev, 0);
    onic_ring(&w[1], 1, 12, 0xffff);
    g_assert_cmphex(qtest_readq(w[0].x.m->qts, w[0].queue[1].entries + 1023 * 8), !=, 0);
    for (uint32_t i = 0; i < 2; i++) {
        onic_probe(&w[i], 2);
        onic_up(&w[i]);
        both_ways(&w[i], i);
    }
}

/* The slot is ejected while frames come and go, whichever function is named. */
static void unplug(OnicTwo *t, const char *id)
{
    uint8_t frame[100];

    for (uint32_t i = 0; i < 2; i++) {
        both_ways(&t->w[i], i);
        qnet_frame(frame, sizeof(frame), 1, 1);
        for (uint32_t n = 0; n < 50; n++) {
            qernic_to_wire(t->w[i].fd, frame, sizeof(frame));
        }
        onic_ring(&t->w[i], 0, 4, 200);          /* descriptors of 0 bytes */
    }
    onic_unplug(&t->w[0].x, id);
}

WORLD_KINDS("/ernic-opennic/two-unplug", test_two_unplug, OnicTwo, t, open_two, KINDS)
{
    unplug(t, "ernic0");
}

WORLD_KINDS("/ernic-opennic/two-unplug-second", test_two_unplug_second, OnicTwo, t,
            open_two, KINDS)
{
    unplug(t, "ernic1");
}

/* Any value in contexts, doorbells and words of the shell, of either function. */
WORLD_KINDS("/ernic-opennic/two-attack", test_two_attack, OnicTwo, t, open_two, KINDS)
{
    static const uint32_t words[] = {
        0xc, 0x1000, 0x1400, 0x2000, 0x2400, 0x800c, 0x8090, 0xc00c, 0xc014, 0xc090
    };
    uint8_t frame[300];

    for (uint32_t i = 0; i < 4000; i++) {
        Onic *w = &t->w[g_test_rand_int_range(0, 2)];
        uint32_t n = g_test_rand_int_range(0, ONIC_QUEUES + 1);

        if (i % 64 == 0) {
            onic_open_tx(&t->w[i / 64 % 2], n % ONIC_QUEUES);
            onic_open_rx(&t->w[i / 64 % 2], n % ONIC_QUEUES);
        }
        if (i % 8 == 0) {               /* one bit of a context */
            qdma_put(&w->x, 0x804 + i / 8 % 6 * 4, 1u << g_test_rand_int_range(0, 32));
            qdma_put(&w->x, 0x844, onic_number(w, n) << 7 | QDMA_WRITE << 5 |
                     g_test_rand_int_range(0, 13) << 1);
        }
        qnet_frame(frame, sizeof(frame), i, 7);
        qernic_to_wire(w->fd, frame, sizeof(frame));
        onic_ring(w, n, 4 * g_test_rand_int_range(0, 4), g_test_rand_int());
        qdma_put_user(&w->x, words[i % ARRAY_SIZE(words)], g_test_rand_int() & ~1u);
        if (i % 32 == 0) {
            qtest_clock_step(w->x.m->qts, 100000);
            while (recv(w->fd, frame, sizeof(frame), MSG_DONTWAIT) > 0) {
            }
        }
    }
    qdma_put_user(&t->w[0].x, 4, 1);
    for (uint32_t i = 0; i < 2; i++) {
        while (recv(t->w[i].fd, frame, sizeof(frame), MSG_DONTWAIT) > 0) {
        }
        onic_probe(&t->w[i], 2);
        onic_up(&t->w[i]);
        both_ways(&t->w[i], i);
    }
}
