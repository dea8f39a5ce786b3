/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A device in mid-flight for tests of saved state and of invariants: each kind
 * of object, each kind of owned memory, requests and responses under way.
 */
#ifndef BUSY_H
#define BUSY_H

#include "fake_verbs.h"
#include "test.h"

typedef struct Busy {
    FakeEnv env, peer_env;
    Ernic *e, *peer;
    uint32_t uctx, pd, user_pd;
    uint32_t key;               /* a region over buf, all rights */
    uint32_t paged, demand, fast, mw1, mw2;     /* keys of the other kinds */
    uint64_t buf;               /* BUSY_BUF bytes */
    FakeEq async, eq;
    FakeCq cq, slow;            /* slow is moderated */
    FakeSrq srq;
    /*
     * Requester: out; responder in mid-message: in; serving a READ: rd. The other three
     * have no peer.
     */
    FakeQp out, in, rd, uc, ud, gsi;
    /*
     * XRC: an initiator without a peer, a target with half a message for the
     * SRQ of a process, which has domain and completion queue of its own.
     */
    FakeQp ini, tgt;
    FakeSrq xsrq;
    FakeCq xcq;
    uint32_t xrcd;
    FakeQp raw;                 /* with a rule that delivers its own frames to it */
    uint32_t flow;
    FakeQp rwq;                 /* of RSS */
    uint32_t rss;
    uint32_t counter;           /* of rd */
    FakeCq peer_cq;
    uint32_t peer_pd, peer_key;
    uint64_t peer_buf;
    FakeQp peer_out, peer_in, peer_rd, peer_ini;
} Busy;

#define BUSY_BUF 65536

void busy_init(Busy *b);
void busy_fini(Busy *b);

/* The head of a test of a Busy *b. */
#define BUSY_TEST(path, fn) WORLD_TEST(path, fn, Busy, b, busy_init(b), busy_fini(b))

#endif /* BUSY_H */
