/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Pause frames on the cable of the ERNIC interface. The test is the other end.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include <sys/ioctl.h>
#include <linux/sockios.h>
#include "ernic-card.h"

#define PRIORITY    3
#define MOST        (0xffff * 512)      /* ns of most quanta at 1 Gb/s */
#define FRAME       4200                /* bytes, at the most */

typedef struct Paused {
    Card c;
    int fd;
} Paused;

/* A card whose peer does not answer. */
static void open_paused(Paused *p, const char *more)
{
    QErnicMachine *m;

    m = qernic_machine("-netdev socket,fd=%d,id=n0" VERBS_NIC ",id=ernic0,addr=04.0,"
                       "netdev=n0,link-speed=1000,ernic-version=%s",
                       qernic_cable(&p->fd), more);
    card_open(&p->c, qernic_at(m, "ernic0", 4), card_version(more), 1);
    card_open_qp(&p->c, 9, CARD_QPN);
    card_put(&p->c, PG332_XRNIC_PAUSE_CONF, PG332_PAUSE_ROCE | PRIORITY << 4);
}

static bool is_unread(Paused *p)
{
    int bytes;

    g_assert_cmpint(ioctl(p->fd, SIOCOUTQ, &bytes), ==, 0);
    return bytes;
}

static void say(Paused *p, uint8_t priority, uint16_t quanta)
{
    uint8_t frame[60] = { 1, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 9, 0x88, 8, 1, 1 };

    frame[17] = 1 << priority;
    stw_be_p(frame + 18 + 2 * priority, quanta);
    qernic_to_wire(p->fd, frame, sizeof(frame));
    qernic_wait_while(p->c.q->qts, is_unread(p));
}

static bool hears(Paused *p)
{
    uint8_t byte;

    return recv(p->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
}

static void posts(Paused *p)
{
    card_post(&p->c, CARD_SEND, 0, 64, 0, 0);
}

/* The frame of a request that was posted leaves, in far less time than a pause has. */
static void sends(Paused *p)
{
    uint8_t frame[FRAME];

    for (int i = 0; i < 1000 && !hears(p); i++) {
        qtest_clock_step(p->c.q->qts, MOST / 100000);
        g_usleep(1000);
    }
    g_assert_true(hears(p));
    g_assert_cmpuint(qernic_from_wire(p->fd, frame, sizeof(frame)), ==,
                     14 + 20 + 8 + 12 + 64 + 4);
}

/* It does not within this time. */
static void waits(Paused *p, int64_t ns)
{
    qernic_pass(p->c.q->qts, 10, ns / 10);
    g_usleep(2000);
    g_assert_false(hears(p));
}

WORLD_KINDS("/ernic-pause/priority-", test_priority, Paused, p, open_paused,
            { "main-loop", "4.2,engine-thread=off" },
            { "thread", "3.1,engine-thread=on" })
{
    posts(p);
    sends(p);
    say(p, PRIORITY + 1, 0xffff);
    posts(p);
    sends(p);
    /* Its time ends by itself, */
    say(p, PRIORITY, 0xffff);
    posts(p);
    waits(p, MOST / 10 * 8);
    qtest_clock_step(p->c.q->qts, MOST / 10 * 3);
    sends(p);
    /* is prolonged, and ends by a frame. */
    say(p, PRIORITY, 0xffff);
    posts(p);
    waits(p, MOST / 10 * 8);
    say(p, PRIORITY, 0xffff);
    waits(p, MOST / 10 * 8);
    say(p, PRIORITY, 0);
    sends(p);
    posts(p);
    sends(p);
    /* Software ends it. */
    say(p, PRIORITY, 0xffff);
    posts(p);
    waits(p, MOST / 10);
    card_put(&p->c, PG332_XRNIC_PAUSE_CONF, 0);
    sends(p);
    card_put(&p->c, PG332_XRNIC_PAUSE_CONF, PG332_PAUSE_ROCE | PRIORITY << 4);
    posts(p);
    sends(p);
    /* So does the link. */
    say(p, PRIORITY, 0xffff);
    qernic_set_link(p->c.q->qts, "n0", false);
    qernic_set_link(p->c.q->qts, "n0", true);
    posts(p);
    sends(p);
    /* A reset ends it; software has not asked for it after that. */
    say(p, PRIORITY, 0xffff);
    qernic_flr(&p->c.q->dev);
    qpci_device_enable(&p->c.q->dev);
    card_open(&p->c, p->c.q, p->c.version, 1);
    card_open_qp(&p->c, 9, CARD_QPN);
    posts(p);
    sends(p);
    say(p, PRIORITY, 0xffff);
    posts(p);
    sends(p);
}
