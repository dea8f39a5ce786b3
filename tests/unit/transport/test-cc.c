/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Congestion: marks and CNPs (annex A17.9.3, DCQCN), and the window that keeps
 * a sender from overrunning its receiver.
 */
#include "qemu/osdep.h"
#include "transport/cc.h"
#include "dialog.h"
#include "timing/profile.h"
#include "wire/ib_tables.h"

#define SQ DLG_SQ_PSN
#define RQ DLG_RQ_PSN
#define US 1000ull
#define MS 1000000ull
#define INTERVAL (50 * US)

static void mark(Dialog *d, uint8_t ecn)
{
    d->path.tclass = (d->path.tclass & ~3) | ecn;
}

static void peer_write(Dialog *d, uint32_t psn)
{
    PEER(d, WRITE_ONLY, .psn = psn, .va = d->mem + DLG_SINK, .rkey = d->key,
         .dma_len = 8, .payload_len = 8, .ackreq = d->transport == ERNIC_RC);
}

/* A mark is answered with a CNP, at most once per 50 us. */
DIALOG_TEST("/cc/mark/cnp", ERNIC_QPT_RC, test_mark)
{
    uint32_t psn = RQ;

    mark(d, ERNIC_ECN_CE);
    peer_write(d, psn);
    dlg_sent_cnp(d);
    SENT_ACK(d, psn++, 1);
    for (uint32_t i = 0; i < 10; i++) {
        dlg_wait(d, INTERVAL / 10 - 1);
        peer_write(d, psn);
        SENT_ACK(d, psn++, 2 + i);
    }
    dlg_wait(d, INTERVAL);
    peer_write(d, psn);
    dlg_sent_cnp(d);
    SENT_ACK(d, psn++, 12);
    dlg_wait(d, INTERVAL);
}

/* UC sends a CNP as well; UD has no queue pair to send it to. */
TEST("/cc/mark/transports", test_mark_transports)
{
    EACH_DIALOG(d, type, ERNIC_QPT_UC, ERNIC_QPT_UD + 1, dlg_open(d, type)) {
        mark(d, ERNIC_ECN_CE);
        dlg_recv(d, DLG_SINK, 64);
        PEER_SEND(d, RQ, 8);
        if (type == ERNIC_QPT_UC) {
            dlg_sent_cnp(d);
        }
        RECV_WC(d, 0, SUCCESS);
    }
}

/* Responses and ACKs carry marks too. */
DIALOG_TEST("/cc/mark/response", ERNIC_QPT_RC, test_mark_response)
{
    dlg_post(d, ERNIC_WR_READ, DLG_SINK, 16);
    dlg_take(d);
    mark(d, ERNIC_ECN_CE);
    dlg_peer_read(d, SQ, 1, 0, 16);
    dlg_sent_cnp(d);
    SEND_WC(d, 0, SUCCESS);
}

/* @n CNPs, at the shortest interval at which each counts. */
static void cnps(Dialog *d, uint32_t n)
{
    while (n--) {
        dlg_cnp(d);
        d->env.now += INTERVAL;
    }
    fake_run(d->e);
}

/* Time from now until the next @n packets have left. */
static uint64_t time_of(Dialog *d, uint32_t n)
{
    uint64_t begin = d->env.now;

    fake_run(d->e);
    while (dlg_pending(d) < n) {
        g_assert_cmphex(d->env.wake, !=, UINT64_MAX);
        d->env.now = MAX(d->env.now, d->env.wake);
        fake_run(d->e);
    }
    return d->env.now - begin;
}

/* The same for a new WRITE of @n packets. */
static uint64_t write_time(Dialog *d, uint32_t n)
{
    dlg_post_flags(d, ERNIC_WR_WRITE, 0, 0, n * 1024);
    return time_of(d, n);
}

/* Without a CNP it sends at link rate; each CNP makes it slower, down to 10 Mb/s. */
DIALOG_TEST("/cc/rate/cuts", ERNIC_QPT_UC, test_rate)
{
    uint64_t last = 0, t;

    for (uint32_t i = 0; i < 12; i++) {
        t = write_time(d, 100);
        if (i == 0) {
            IS(t, 0);
        } else {
            g_assert_cmpuint(t, >, last);
        }
        last = t;
        dlg_drain(d);
        dlg_cnp(d);
        d->env.now += INTERVAL;
    }
    cnps(d, 200);
    t = write_time(d, 10);
    /* 10 packets of 1024 bytes at 1.25 MB/s; recovery may help a little. */
    g_assert_cmpuint(t, >, 9 * 1024 * 800 / 4);
    g_assert_cmpuint(t, <=, 10 * 1024 * 800 + INTERVAL);
    dlg_drain(d);
}

/* Only a CNP that reduces the rate is a cut: no other within 50 us, none at 10 Mb/s. */
DIALOG_TEST("/cc/rate/counted-cuts", ERNIC_QPT_RC, test_cuts)
{
    uint32_t i;

    for (i = 0; i < 10; i++) {
        dlg_cnp(d);
    }
    IS(d->e->stats.rx_cnps, 10);
    IS(d->e->stats.rate_cuts, 1);
    d->env.now += INTERVAL;
    dlg_cnp(d);
    IS(d->e->stats.rate_cuts, 2);
    /* 5 GB/s reaches 10 Mb/s after 12 halves. */
    cnps(d, 12);
    i = d->e->stats.rate_cuts;
    cnps(d, 10);
    IS(d->e->stats.rate_cuts, i);
    IS(d->e->stats.rx_cnps, 33);
}

/* Without CNPs the rate rises until the limit is gone. */
DIALOG_TEST("/cc/rate/recovery", ERNIC_QPT_UC, test_recovery)
{
    uint64_t last = UINT64_MAX, t = 0;
    uint32_t i;

    cnps(d, 20);
    for (i = 0; i < 2000; i++) {
        t = write_time(d, 10);
        g_assert_cmpuint(t, <=, last);
        last = t + 10;
        dlg_drain(d);
        if (t == 0) {
            break;
        }
        d->env.now += MS;
    }
    IS(t, 0);
    g_assert_cmpuint(i, >, 3);
}

/*
 * Start and end of a limit: the link rate is that of the property link-speed, or that
 * of the profile if there is one. @mbps is the rate expected from either.
 */
static void check_line(const ErnicConfig *cfg, uint64_t mbps)
{
    uint64_t line = mbps * 125000, now = 7 * MS, i;
    ErnicCc cc = { 0 };

    ernic_cc_sent(&cc, cfg, now, 4096);
    IS(ernic_cc_send_at(&cc), 0);
    ernic_cc_cnp(&cc, cfg, now);
    IS(cc.rate, line / 2);
    IS(cc.target, line);
    ernic_cc_sent(&cc, cfg, now, 4096);
    IS(ernic_cc_send_at(&cc), now + 4096 * 1000000000ull / (line / 2));
    /* Each 300 us the rate gains half of the difference to the link rate, never more. */
    for (i = 0; i < 64 && cc.limited; i++) {
        now += 300 * US;
        ernic_cc_sent(&cc, cfg, now, 0);
        IS(cc.rate, line - (line / 2 >> (i + 1)));
    }
    g_assert_false(cc.limited);
    g_assert_cmpuint(i, >, 8);
    /* From the slowest rate a pause is enough to return to the link rate. */
    for (i = 0; i < 1000; i++) {
        now += INTERVAL;
        ernic_cc_cnp(&cc, cfg, now);
        g_assert_true(cc.limited && cc.rate > 0 && cc.rate <= line / 2);
    }
    ernic_cc_sent(&cc, cfg, now + 30000 * 300 * US, 0);
    g_assert_false(cc.limited);
}

TEST("/cc/rate/line", test_line)
{
    static const uint32_t speeds[] = { 1, 10000, 25000, 100000, 400000, 1600000 };
    ErnicProfile profile = { 0 };
    ErnicConfig cfg = { 0 };

    for (uint32_t i = 0; i < ARRAY_SIZE(speeds); i++) {
        cfg = (ErnicConfig) { .link_speed = speeds[i] };
        check_line(&cfg, speeds[i]);
        profile.wire_mbps = speeds[i];
        cfg = (ErnicConfig) { .link_speed = 40000, .timing = &profile };
        check_line(&cfg, speeds[i]);
    }
    profile.wire_mbps = ERNIC_LINK_RATE_MAX / 125000;
    check_line(&cfg, profile.wire_mbps);
}

/* A rate saved by a device with a faster link is capped at our link rate. */
TEST("/cc/rate/line-moved", test_line_moved)
{
    ErnicConfig fast = { .link_speed = 400000 }, slow = { .link_speed = 25000 };
    ErnicCc cc = { 0 };

    ernic_cc_cnp(&cc, &fast, MS);
    ernic_cc_cnp(&cc, &slow, MS + INTERVAL);
    g_assert_true(cc.limited);
    g_assert_cmpuint(cc.rate, <, 25000 * 125000ull);
    ernic_cc_cnp(&cc, &fast, 1000 * MS);
    ernic_cc_sent(&cc, &slow, 1000 * MS, 64);
    g_assert_cmpuint(cc.rate, <=, 25000 * 125000ull);
}

/* An RC request is delayed too, and completes; an ACK never is delayed. */
DIALOG_TEST("/cc/rate/rc", ERNIC_QPT_RC, test_rate_rc)
{
    uint64_t t;

    cnps(d, 100);
    dlg_post(d, ERNIC_WR_WRITE, 0, 4096);
    dlg_take(d);
    QUIET(d);
    peer_write(d, RQ);
    SENT_ACK(d, RQ, 1);
    t = time_of(d, 3);
    g_assert_cmpuint(t, >, 3 * 1024 * 800 / 4);
    IS(dlg_take(d).psn, SQ + 1);
    IS(dlg_take(d).psn, SQ + 2);
    IS(dlg_take(d).psn, SQ + 3);
    ACKED(d, SQ + 3, 0, 1);
}

/* A READ response is delayed too: here the responder sends the bytes. */
DIALOG_TEST("/cc/rate/read", ERNIC_QPT_RC, test_rate_read)
{
    uint64_t t;

    cnps(d, 100);
    PEER_READ(d, RQ, 0, 4096);
    t = time_of(d, 4);
    g_assert_cmpuint(t, >, 3 * 1024 * 800 / 4);
    dlg_sent_read(d, RQ, 1, 0, 4096);
}

/* It grows with acknowledged data, but never beyond 512 KiB. */
DIALOG_TEST("/cc/window/growth", ERNIC_QPT_RC, test_window_growth)
{
    uint32_t acked = SQ, sent = SQ, most = 0;

    dlg_post(d, ERNIC_WR_WRITE, 0, 1024 * 1024);
    dlg_post(d, ERNIC_WR_WRITE, 0, 1024 * 1024);
    while (acked != SQ + 2048) {
        while (dlg_pending(d)) {
            IS(dlg_take(d).psn, sent++);
        }
        most = MAX(most, sent - acked);
        PEER_ACK(d, acked, 0);
        acked++;
    }
    IS(most, 512);
    SEND_WCS(d, 0, 1, SUCCESS);
}

/* A message larger than the window at the largest MTU still moves. */
DIALOG_TEST_BY("/cc/window/least", dlg_open_mtu(d, ERNIC_QPT_RC, ERNIC_MTU_4096, SQ),
               test_window_least)
{
    dlg_post(d, ERNIC_WR_WRITE, 0, 100 * 4096);
    for (uint32_t i = 0; i < 6; i++) {
        dlg_drain(d);
        dlg_wait(d, ernic_ack_timeout_ns(14));
    }
    IS(dlg_pending(d), 4);
    for (uint32_t i = 0; i < 100; i++) {
        IS(dlg_take(d).psn, SQ + i);
        PEER_ACK(d, SQ + i, i == 99);
    }
    SEND_WC(d, 0, SUCCESS);
}
