/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * lab=: one link for Ethernet frames and RoCEv2, between machines that name one folder.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qapi/error.h"
#include "qobject/qdict.h"
#include "qobject/qjson.h"
#include "ernic-eth.h"

#define MACHINES    3
#define LAB_NIC     VERBS_NIC ",id=eth0,addr=06.0,lab=%s%s"

/* Machines with a function each, which know each other. */
typedef struct Lab {
    const char *folder;
    Eth e[MACHINES];
    uint8_t mac[MACHINES][6];
} Lab;

static uint64_t counter(Eth *e, const char *name)
{
    g_autofree char *path = g_strconcat("shm.", name, NULL);

    return qernic_stat(e->q, path);
}

static void await_peers(Lab *l, uint64_t num)
{
    for (int i = 0; i < MACHINES; i++) {
        if (l->e[i].m) {
            qernic_wait_while(l->e[i].q->qts, counter(&l->e[i], "peers") != num);
        }
    }
}

static void read_mac(Eth *e, uint8_t *mac)
{
    uint32_t low = qeth_get(e, OFF(mac_lo)), high = qeth_get(e, OFF(mac_hi));

    stl_le_p(mac, low);
    stw_le_p(mac + 4, high);
}

static void open_machine(Lab *l, int i, const char *more)
{
    qeth_start(&l->e[i], qernic_machine(LAB_NIC, l->folder, more),
               ERNIC_ETH_TX | ERNIC_ETH_RX);
    read_mac(&l->e[i], l->mac[i]);
}

static void lab_open(Lab *l, const char *more)
{
    *l = (Lab) { .folder = qernic_folder() };
    for (int i = 0; i < MACHINES; i++) {
        open_machine(l, i, more);
    }
    await_peers(l, MACHINES - 1);
}

static void end_machine(Lab *l, int i)
{
    qernic_machine_end(l->e[i].m);
    l->e[i].m = NULL;
}

/* Machine @from sends a frame, and all in @receivers (bits) receive the same bytes. */
static void deliver(Lab *l, int from, const uint8_t frame[FRAME], uint32_t receivers)
{
    uint8_t got[BUFFER], flags;

    for (int i = 0; i < MACHINES; i++) {
        if (receivers >> i & 1) {
            qeth_post_rx(&l->e[i], BUFFER);
        }
    }
    qeth_transmit(&l->e[from], frame, FRAME, 400, &(struct ernic_eth_txd) { });
    for (int i = 0; i < MACHINES; i++) {
        if (receivers >> i & 1) {
            g_assert_cmpuint(qeth_receive(&l->e[i], got, &flags), ==, FRAME);
            g_assert_cmpmem(got, FRAME, frame, FRAME);
        }
    }
}

static void make_frame(Lab *l, uint8_t frame[FRAME], int from, const uint8_t *to,
                       uint8_t mark)
{
    qeth_fill(frame, FRAME, to);
    memcpy(frame + 6, l->mac[from], 6);
    frame[20] = mark;
}

/* A frame to @to. */
static void pass(Lab *l, int from, const uint8_t *to, uint32_t receivers, uint8_t mark)
{
    uint8_t frame[FRAME];

    make_frame(l, frame, from, to, mark);
    deliver(l, from, frame, receivers);
}

static const uint8_t everyone[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };

/* A broadcast, and frames to one machine, which the others do not see. */
WORLD_KINDS("/ernic-lab/frames", test_frames, Lab, l, lab_open, { "", "" },
            { "-main-loop", ",engine-thread=off" }, { "-icrc", ",icrc=on" },
            { "-timing", ",timing=on" })
{
    uint8_t mark = 0;

    for (int from = 0; from < MACHINES; from++) {
        pass(l, from, everyone, 7 & ~(1 << from), mark++);
    }
    for (int from = 0; from < MACHINES; from++) {
        for (int to = 0; to < MACHINES; to++) {
            if (to != from) {
                pass(l, from, l->mac[to], 1 << to, mark++);
            }
        }
    }
    for (int i = 0; i < MACHINES; i++) {
        g_assert_cmpuint(counter(&l->e[i], "tx_flooded"), ==, 1);
        g_assert_cmpuint(counter(&l->e[i], "rx_packets"), ==, 2 + 2);
    }
}

#define OTHERS(from) (7 & ~(1u << (from)))

/* The frame goes to all machines; those in @receivers take it. */
static void flood(Lab *l, int from, const uint8_t frame[FRAME], uint32_t receivers)
{
    uint64_t before = counter(&l->e[from], "tx_flooded");

    deliver(l, from, frame, receivers & OTHERS(from));
    qernic_wait_while(l->e[from].q->qts, counter(&l->e[from], "tx_flooded") == before);
}

/*
 * Frames to groups and to a station that has not sent yet go to all machines. Machine 0
 * takes those to its own address and broadcasts, machine 1 those to groups, too, and
 * machine 2 all that come. A tag of a VLAN, or two, stay in the frame and decide nothing.
 */
WORLD_KINDS("/ernic-lab/groups", test_groups, Lab, l, lab_open, { "", "" },
            { "-main-loop", ",engine-thread=off" }, { "-icrc", ",icrc=on" })
{
    static const uint8_t to[][6] = {
        { 0x33, 0x33, 0, 0, 0, 1 }, { 0x01, 0, 0x5e, 0, 0, 0xfb },
        { 0x52, 0x54, 0, 0x99, 0x99, 1 },
    };
    static const uint8_t receivers[] = { 6, 6, 4 };
    static const char *const tags[] = { "", "\x81\x00\x60\x05", "\x81\x00\x0f\xff",
                                        "\x88\xa8\x00\x07\x81\x00\x00\x05" };
    static const uint8_t length[] = { 0, 4, 4, 8 };
    uint8_t frame[FRAME], mark = 0;

    qeth_set(&l->e[1], OFF(ctrl), ERNIC_ETH_TX | ERNIC_ETH_RX | ERNIC_ETH_ALLMULTI);
    qeth_set(&l->e[2], OFF(ctrl), ERNIC_ETH_TX | ERNIC_ETH_RX | ERNIC_ETH_PROMISC);
    for (size_t tag = 0; tag < ARRAY_SIZE(tags); tag++) {
        for (int from = 0; from < MACHINES; from++) {
            make_frame(l, frame, from, everyone, mark++);
            memcpy(frame + 12, tags[tag], length[tag]);
            flood(l, from, frame, OTHERS(from));
            for (size_t i = 0; i < ARRAY_SIZE(to); i++) {
                memcpy(frame, to[i], 6);
                flood(l, from, frame, receivers[i]);
            }
        }
        for (int from = 0; from < MACHINES; from++) {
            make_frame(l, frame, from, l->mac[!from], mark++);
            memcpy(frame + 12, tags[tag], length[tag]);
            deliver(l, from, frame, 1 << !from);
        }
    }
    /* Machine 2 sends for the station, as a bridge does: frames to it go there alone. */
    make_frame(l, frame, 2, everyone, mark++);
    memcpy(frame + 6, to[2], 6);
    flood(l, 2, frame, 3);
    pass(l, 0, to[2], 4, mark++);
    pass(l, 1, to[2], 4, mark++);
    pass(l, 2, everyone, 3, mark);
    for (int i = 0; i < MACHINES; i++) {
        g_assert_cmpuint(counter(&l->e[i], "tx_flooded"), ==,
                         ARRAY_SIZE(tags) * (1 + ARRAY_SIZE(to)) + (i == 2 ? 2 : 0));
        g_assert_cmpuint(qeth_get(&l->e[i], OFF(rx_no_buffer)), ==, 0);
    }
}

/* RoCEv2 goes the same way, beside frames. */
WORLD_KINDS("/ernic-lab/roce", test_roce, Lab, l, lab_open, { "", "" },
            { "-main-loop", ",engine-thread=off" })
{
    qernic_setup(l->e[0].q, 1);
    qernic_setup(l->e[1].q, 2);
    qernic_transfers(l->e[0].q, l->e[1].q);
    pass(l, 0, everyone, 6, 1);
    qernic_multicast(l->e[0].q, l->e[1].q);
    pass(l, 1, l->mac[0], 1, 2);
    qernic_stopped(l->e[0].q, l->e[1].q);
}

/* The addresses depend on the folder and the order; one that the user sets remains. */
WORLD_KINDS("/ernic-lab/mac", test_mac, Lab, l, lab_open, { "", "" })
{
    static const uint8_t set[6] = { 0x52, 0x54, 0, 0, 0, 0x77 };

    for (int i = 0; i < MACHINES; i++) {
        g_assert_cmpmem(l->mac[i], 5, l->mac[0], 5);
        g_assert_cmpuint(l->mac[i][5], ==, i + 1);
    }
    end_machine(l, 1);
    open_machine(l, 1, "");
    g_assert_cmpuint(l->mac[1][5], ==, 2);
    end_machine(l, 1);
    open_machine(l, 1, ",mac=52:54:00:00:00:77");
    g_assert_cmpmem(l->mac[1], 6, set, 6);
    await_peers(l, MACHINES - 1);
    pass(l, 0, set, 2, 1);
}

/* Everything that machine @i has received or lost. */
static uint64_t seen(Lab *l, int i)
{
    Eth *e = &l->e[i];

    return qeth_get(e, OFF(rx_packets)) + qeth_get(e, OFF(rx_no_buffer)) +
           qeth_get(e, OFF(rx_errors)) + qernic_stat(e->q, "rx_packets");
}

/* set_link takes the cable of frames and of RoCEv2 away, in both directions. */
WORLD_KINDS("/ernic-lab/link", test_link, Lab, l, lab_open, { "", "" },
            { "-main-loop", ",engine-thread=off" })
{
    QErnic *q = l->e[0].q;
    uint64_t sent, before;
    QErnicQp x, y;

    qernic_setup(q, 1);
    qernic_setup(l->e[1].q, 2);
    qernic_pair(q, l->e[1].q, &x, &y, ERNIC_QPT_UD);
    pass(l, 0, everyone, 6, 1);
    qeth_is(&l->e[0], OFF(link), 1);
    g_assert_cmphex(qernic_reg(q, status) & ERNIC_STATUS_LINK, !=, 0);
    qernic_set_link(q->qts, "eth0", false);
    qeth_is(&l->e[0], OFF(link), 0);
    g_assert_cmphex(qernic_reg(q, status) & ERNIC_STATUS_LINK, ==, 0);
    sent = counter(&l->e[0], "tx_packets");
    before = seen(l, 0);
    pass(l, 0, everyone, 0, 2);
    g_assert_cmpuint(counter(&l->e[0], "tx_packets"), ==, sent);
    /* It takes frames and packets from its ring, and loses them. */
    pass(l, 1, everyone, 4, 3);
    qernic_datagram(&y, &x);
    qernic_wait_while(q->qts, counter(&l->e[0], "rx_packets") < 2);
    g_assert_cmpuint(seen(l, 0), ==, before);
    qernic_set_link(q->qts, "eth0", true);
    qeth_is(&l->e[0], OFF(link), 1);
    pass(l, 0, everyone, 6, 5);
    pass(l, 1, everyone, 5, 6);
}

/*
 * Frames to a machine that is stopped wait in its ring; those without room wait for 20 ms
 * in all, and are lost. The machine receives the others when it runs again.
 */
WORLD_KINDS("/ernic-lab/stopped", test_stopped, Lab, l, lab_open, { "", "" },
            { "-main-loop", ",engine-thread=off" })
{
    enum { MANY = 600 };
    uint8_t got[BUFFER], flags;

    pass(l, 1, everyone, 5, 1);
    for (uint32_t i = 0; i < ENTRIES; i++) {
        qeth_post_rx(&l->e[1], BUFFER);
    }
    qernic_stop(l->e[1].q->qts);
    for (int i = 0; i < MANY; i++) {
        pass(l, 0, l->mac[1], 0, i);
    }
    g_assert_cmpuint(counter(&l->e[0], "drops.stalled"), >, 0);
    pass(l, 0, l->mac[2], 4, 2);
    qernic_cont(l->e[1].q->qts);
    for (uint32_t i = 0; i < ENTRIES; i++) {
        qeth_receive(&l->e[1], got, &flags);
        g_assert_cmphex(got[20], ==, i);
    }
    qernic_wait_while(l->e[1].q->qts,
                      qeth_get(&l->e[1], OFF(rx_no_buffer)) +
                      counter(&l->e[0], "drops.stalled") + ENTRIES < MANY);
    pass(l, 0, l->mac[1], 2, 3);
}

/* Machine 0 has sent a frame that waits for room, and is stopped then. */
static void let_frame_wait(Lab *l)
{
    Eth *e = &l->e[0];
    uint8_t frame[FRAME];
    struct ernic_eth_txd desc = { .len = cpu_to_le16(FRAME), .flags = ERNIC_ETH_EOP };

    qeth_fill(frame, FRAME, l->mac[1]);
    for (int round = 0; round < 5; round++) {
        qernic_stop(l->e[1].q->qts);
        for (int i = 0; i < 300; i++) {
            for (int n = 0; n < 2; n++) {       /* one waits for the other */
                qtest_memwrite(e->q->qts, qeth_tx_buffer(e, e->tx_pi), frame, FRAME);
                desc.addr = cpu_to_le64(qeth_tx_buffer(e, e->tx_pi));
                qeth_post(e, &desc);
            }
            qeth_set(e, OFF(tx_pi), e->tx_pi);
            qtest_clock_step(e->q->qts, 1000);
            qernic_stop(e->q->qts);
            if (qeth_get(e, OFF(tx_ci)) != e->tx_pi) {
                return;
            }
            qernic_cont(e->q->qts);
        }
        /* The host was slow, and the frame has waited long enough: once more. */
        qernic_cont(l->e[1].q->qts);
        g_usleep(100000);
    }
    g_assert_not_reached();
}

/* A reset forgets a frame that waits, and later frames are sent. */
WORLD_KINDS("/ernic-lab/reset", test_reset, Lab, l, lab_open, { "", "" },
            { "-main-loop", ",engine-thread=off" })
{
    Eth *e = &l->e[0];
    uint64_t sent;

    pass(l, 1, everyone, 5, 1);
    let_frame_wait(l);
    sent = counter(e, "tx_packets");
    qernic_cont(l->e[1].q->qts);
    /* Before it has a buffer, for another frame. */
    qernic_wait_while(l->e[1].q->qts, qeth_get(&l->e[1], OFF(rx_no_buffer)) < sent);
    qtest_system_reset(e->q->qts);
    qernic_cont(e->q->qts);
    qeth_start(e, e->m, ERNIC_ETH_TX | ERNIC_ETH_RX);
    pass(l, 0, l->mac[2], 4, 2);
    pass(l, 0, everyone, 6, 3);
}

/*
 * The destination of a migration is in the folder before the source leaves it. QEMU
 * announces the address of the card there, so that frames no longer go to the source.
 */
WORLD_KINDS("/ernic-lab/migrate", test_migrate, Lab, l, lab_open, { "", "" })
{
    g_autofree char *args = g_strdup_printf(LAB_NIC, l->folder, ",mac=52:54:00:00:00:77");
    QErnic *q;
    QTestState *from;
    uint64_t before;

    end_machine(l, 2);
    end_machine(l, 1);
    open_machine(l, 1, ",mac=52:54:00:00:00:77");
    await_peers(l, 1);
    q = l->e[1].q;
    qernic_setup(l->e[0].q, 1);
    qernic_setup(q, 2);
    pass(l, 1, everyone, 1, 1);
    pass(l, 0, l->mac[1], 2, 2);
    qernic_transfers(l->e[0].q, q);
    before = counter(&l->e[0], "rx_packets");
    from = qernic_copy(q, args, 0);
    qernic_wait_while(l->e[0].q->qts, counter(&l->e[0], "rx_packets") == before);
    pass(l, 0, l->mac[1], 2, 3);
    pass(l, 1, l->mac[0], 1, 4);
    qernic_transfers(l->e[0].q, q);
    g_assert_cmpuint(counter(&l->e[0], "duplicates"), ==, 0);
    qernic_quit(from);
}

/* A capture has frames and packets of both directions, up to its limit. */
MACHINE_TEST("/ernic-lab/dump", test_dump)
{
    const char *folder = qernic_folder();
    const char *path[2] = { qernic_temp(), qernic_temp() };
    QErnicMachine *m = qernic_machine(
        VERBS_NIC ",id=a,addr=04.0,lab=%s,dump=%s"
        VERBS_NIC ",id=b,addr=05.0,lab=%s,dump=%s,dump-limit=16K", folder, path[0],
        folder, path[1]);
    QErnic *a = qernic_host(m, "a", 4, 1), *b = qernic_host(m, "b", 5, 2);
    g_autoptr(GArray) all = NULL, some = NULL;
    uint64_t packets;

    qernic_wait_while(m->qts, qernic_stat(a, "shm.peers") != 1 ||
                              qernic_stat(b, "shm.peers") != 1);
    qernic_transfers(a, b);
    packets = qernic_stat(a, "shm.tx_packets") + qernic_stat(a, "shm.rx_packets");
    all = qeth_capture(path[0], 1);
    g_assert_cmpuint(all->len, ==, packets);
    some = qeth_capture(path[1], 1);
    g_assert_cmpuint(some->len, >, 0);
    g_assert_cmpuint(some->len, <, packets);
}

/* A refused device takes nothing from those that exist, whatever their names are. */
MACHINE_TEST("/ernic-lab/names", test_names)
{
    const char *folder = qernic_folder();
    QErnicMachine *m = qernic_machine("-netdev user,id=x.lab"
                                      " -device e1000,id=e0,netdev=x.lab,addr=09.0"
                                      VERBS_NIC ",id=a,addr=04.0,lab=%s"
                                      VERBS_NIC ",addr=05.0,lab=%s", folder, folder);
    const char *const ids[] = { ", 'id': 'x'", "" };
    g_autofree char *before = qtest_hmp(m->qts, "info network"), *after = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
        g_autofree char *args = g_strdup_printf(
            "{ 'driver': 'ernic', 'interface': 'verbs', 'lab': '%s', 'timing': true,"
            " 'timing-profile': 'nonesuch'%s }", folder, ids[i]);
        QDict *rsp = qtest_qmp(m->qts, "{ 'execute': 'device_add', 'arguments': %p }",
                               qobject_from_json(args, &error_abort));

        g_assert_true(qdict_haskey(rsp, "error"));
        qobject_unref(rsp);
    }
    after = qtest_hmp(m->qts, "info network");
    g_assert_cmpstr(after, ==, before);
}
