/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Shared by the tests of the shared-memory link: a folder with ports of one process.
 */
#ifndef SHM_FIXTURE_H
#define SHM_FIXTURE_H

#include <glib/gstdio.h>
#include <poll.h>
#include <unistd.h>
#include "gid_text.h"
#include "links/shm/close.h"
#include "links/shm/port.h"
#include "test.h"

#define PORTS 8

typedef struct Lab {
    char *folder;
    ErnicShm *port[PORTS];
    ErnicGid gid[PORTS];
    uint32_t num;
    uint32_t events[PORTS][ERNIC_SHM_EVENTS];
} Lab;

static inline void count_event(void *opaque, uint32_t peer, ErnicShmEvent event)
{
    uint32_t *events = opaque;

    g_assert_cmpuint(peer, <=, ERNIC_SHM_PEERS);
    events[event]++;
}

/* Closes descriptors of the pairs and folders that a test opens itself. */
static inline ErnicShmCloser *test_closer(void)
{
    static ErnicShmCloser *closer;

    closer = closer ?: ernic_shm_closer_new();
    return closer;
}

static inline void lab_serve(Lab *l)
{
    /* With more, a port would accept no connection for now. */
    while (ernic_shm_closing(NULL) > 16) {
        g_usleep(100);
    }
    for (uint32_t n = 0; n < 2 * PORTS; n++) {
        for (uint32_t i = 0; i < PORTS; i++) {
            if (l->port[i]) {
                ernic_shm_serve(l->port[i]);
            }
        }
    }
}

/* Port @i joins, as @cfg says, with the address 10.0.0.i + 1. */
static inline void lab_join_as(Lab *l, uint32_t i, ErnicShmConfig cfg)
{
    g_autofree char *text = g_strdup_printf("10.0.0.%u", i + 1);
    char *err = NULL;

    cfg.folder = l->folder;
    cfg.event = count_event;
    cfg.opaque = l->events[i];
    l->port[i] = ernic_shm_new(&cfg, &err);
    g_assert_cmpstr(err, ==, NULL);
    l->gid[i] = gid_of(text);
    ernic_shm_announce(l->port[i], &l->gid[i], 1, true);
    lab_serve(l);
}

static inline void lab_join(Lab *l, uint32_t i, bool icrc)
{
    lab_join_as(l, i, (ErnicShmConfig) { .icrc = icrc });
}

static inline void lab_open(Lab *l, uint32_t num)
{
    memset(l, 0, sizeof(*l));
    l->folder = g_dir_make_tmp("ernic-shm-XXXXXX", NULL);
    g_assert_nonnull(l->folder);
    for (uint32_t i = 0; i < num; i++) {
        lab_join(l, i, false);
    }
}

/* Its socket has no owner any more. */
static inline void lab_leave(Lab *l, uint32_t i)
{
    g_clear_pointer(&l->port[i], ernic_shm_free);
    while (ernic_shm_closing(NULL)) {
        g_usleep(100);
    }
    lab_serve(l);
}

/* Every port has removed its socket. */
static inline void lab_close(Lab *l)
{
    for (uint32_t i = 0; i < PORTS; i++) {
        g_clear_pointer(&l->port[i], ernic_shm_free);
    }
    g_assert_cmpint(g_rmdir(l->folder), ==, 0);
    g_free(l->folder);
}

static inline bool fd_ready(int fd)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };

    return poll(&p, 1, 0) == 1;
}

static inline void fill(uint8_t *data, uint32_t len, uint32_t seed)
{
    for (uint32_t i = 0; i < len; i++) {
        data[i] = (i + seed) * 2654435761u >> 24;
    }
}

static inline ErnicTrain lab_train(const Lab *l, uint32_t from, uint32_t to,
                                   const uint8_t *data, uint32_t len, uint32_t seg)
{
    return (ErnicTrain) {
        .path = {
            .sgid = l->gid[from], .dgid = l->gid[to], .smac = { 2, 1 }, .dmac = { 2, 2 },
            .vlan = 5, .udp_sport = 51000, .tclass = 0x6a, .hop_limit = 63,
        },
        .data = data, .len = len, .seg = seg, .serial = 7,
    };
}

static inline const ErnicShmStats *stats(const Lab *l, uint32_t i)
{
    return ernic_shm_stats(l->port[i]);
}

static inline uint64_t drops(const Lab *l, uint32_t i, ErnicShmDrop reason)
{
    return stats(l, i)->drop[reason];
}

/* Port @i takes the train. */
static inline void send_train(Lab *l, uint32_t i, const ErnicTrain *train)
{
    g_assert_true(ernic_shm_send(l->port[i], train));
}

/* The next train that arrives at port @i is @sent. */
static inline void expect(Lab *l, uint32_t i, const ErnicTrain *sent)
{
    ErnicTrain got;

    g_assert_true(ernic_shm_recv(l->port[i], &got));
    g_assert_cmpmem(got.data, got.len, sent->data, sent->len);
    g_assert_cmpuint(got.seg, ==, sent->seg);
    g_assert_cmpmem(&got.path, sizeof(got.path), &sent->path, sizeof(sent->path));
    g_assert_true(got.path_final);
    g_assert_null(got.ip);
    g_assert_cmpuint(got.frame, ==, sent->frame);
}

static inline void expect_none(Lab *l, uint32_t i)
{
    ErnicTrain got;

    g_assert_false(ernic_shm_recv(l->port[i], &got));
}

static inline void pass(Lab *l, uint32_t from, uint32_t to, const ErnicTrain *train)
{
    send_train(l, from, train);
    expect(l, to, train);
}

/* The head of a test of a Lab *l with @ports ports. */
#define LAB_TEST(path, ports, fn) \
    WORLD_TEST(path, fn, Lab, l, lab_open(l, ports), lab_close(l))

#endif /* SHM_FIXTURE_H */
