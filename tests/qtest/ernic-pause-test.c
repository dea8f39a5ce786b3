/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Pause frames on the cable of the ERNIC interface. The test is the other end, or listens
 * to two cards.
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

/* ---- READs whose responses wait ------------------------------------------------- */

#define READS       40
#define READ_LEN    64
#define MOST_READS  16                  /* of a queue pair, in either direction */
#define FATAL_READS 0x10
#define CQE_ERROR   (1 << 24)
#define HEADERS     (14 + 20 + 8)       /* before the BTH */
#define READ_REQUEST 0x0c               /* opcode of RC */

/* The test, and two cards: @from has the memory that @to reads, and hears the pauses. */
typedef struct Readers {
    Paused from;
    Card to;
    uint32_t depth;
    uint32_t requests, responses;       /* frames of either kind that were heard */
} Readers;

static void open_readers(Readers *r, const char *more)
{
    QErnicMachine *m;

    r->depth = atoi(more);
    m = qernic_machine("-netdev socket,fd=%d,id=n0"
                       " -netdev hubport,id=h0,hubid=0,netdev=n0"
                       " -netdev hubport,id=h1,hubid=0 -netdev hubport,id=h2,hubid=0"
                       VERBS_NIC ",id=ernic0,addr=04.0,netdev=h1,link-speed=1000,"
                       "ernic-version=4.2,ernic-reads=%s"
                       VERBS_NIC ",id=ernic1,addr=05.0,netdev=h2,ernic-version=4.2",
                       qernic_cable(&r->from.fd), more);
    card_open(&r->from.c, qernic_at(m, "ernic0", 4), PG332_V4_2, 1);
    card_open(&r->to, qernic_at(m, "ernic1", 5), PG332_V4_2, 2);
    card_open_qp(&r->from.c, 2, CARD_QPN);
    card_open_qp(&r->to, 1, CARD_QPN);
    card_put(&r->from.c, PG332_XRNIC_PAUSE_CONF, PG332_PAUSE_ROCE | PRIORITY << 4);
    card_fill(&r->from.c, r->from.c.mem, READS * READ_LEN, 1);
}

/* Counts the frames that have come. The packets of each direction are in order. */
static void listen_to(Readers *r)
{
    uint8_t frame[FRAME];

    while (hears(&r->from)) {
        const uint8_t *bth = frame + HEADERS;
        uint32_t len = qernic_from_wire(r->from.fd, frame, sizeof(frame));
        uint32_t *seen = bth[0] == READ_REQUEST ? &r->requests : &r->responses;

        g_assert_cmpuint(len, >, HEADERS + 12);
        g_assert_cmphex(ldl_be_p(bth + 8) & 0xffffff, ==, 0xabd + (*seen)++);
    }
}

/* Time passes, in which no pause ends by itself. */
static void pass_and_listen(Readers *r)
{
    for (int i = 0; i < 20; i++) {
        qernic_pass(r->to.q->qts, 1, MOST / 50);
        g_usleep(1000);
        listen_to(r);
    }
}

/* The first @good READs have the data that they asked for; the rest ended in error. */
static void check_reads(Readers *r, uint32_t good)
{
    Card *to = &r->to;

    g_assert_cmpuint(card_get_qp(to, PG332_CQHEAD), ==, READS);
    for (uint32_t i = 0; i < READS; i++) {
        g_assert_cmphex(card_word(to, to->cq + i * 4), ==,
                        (i < good ? 0 : CQE_ERROR) | CARD_READ << 16 | i);
    }
    card_equal(to, to->mem, r->from.c.mem, good * READ_LEN);
}

/* The queue of READs of the card that they come to is full, or has one too many. */
static void check_from(Readers *r, bool fatal)
{
    Card *from = &r->from.c;

    g_assert_cmpuint(card_get_qp(from, PG332_STATQP) & PG332_STATQP_FATAL, ==, fatal);
    g_assert_cmphex(card_word(from, from->errq), ==,
                    fatal ? CARD_QPN << 16 | FATAL_READS : 0);
}

/*
 * The responses to READs wait for the end of a pause. The card that reads sends as many
 * requests as may be outstanding, and keeps the others. The card that is read holds them
 * all, or ends with the first one for which its queue has no room.
 */
WORLD_KINDS("/ernic-pause/reads-", test_reads, Readers, r, open_readers,
            { "1", "1" }, { "4", "4" }, { "15", "15" }, { "16", "16" })
{
    bool fatal = r->depth < MOST_READS;

    say(&r->from, PRIORITY, 0xffff);
    for (uint32_t at = 0; at < READS * READ_LEN; at += READ_LEN) {
        card_request(&r->to, CARD_READ, at, READ_LEN, CARD_VA + at, CARD_KEY, 0);
    }
    card_put_qp(&r->to, PG332_SQPI, READS);
    pass_and_listen(r);
    g_assert_cmpuint(r->requests, ==, MOST_READS);
    g_assert_cmpuint(r->responses, ==, 0);
    g_assert_cmpuint(card_get_qp(&r->to, PG332_CQHEAD), ==, 0);
    g_assert_cmphex(card_get_qp(&r->to, PG332_STATQP) & PG332_STATQP_OSQ_FULL, !=, 0);
    check_from(r, fatal);
    say(&r->from, PRIORITY, 0);
    pass_and_listen(r);
    g_assert_cmpuint(r->requests, ==, fatal ? MOST_READS : READS);
    g_assert_cmpuint(r->responses, ==, fatal ? r->depth + 1 : READS);   /* and a NAK */
    check_reads(r, fatal ? r->depth : READS);
    check_from(r, fatal);
}
