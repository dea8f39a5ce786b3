/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Shared by the tests of raw packet queue pairs.
 */
#ifndef RAW_FIXTURE_H
#define RAW_FIXTURE_H

#include "fake_verbs.h"
#include "test.h"

/* A raw packet queue pair in RTS, of which all requests complete in @cqn. */
static inline void raw_open(Ernic *e, FakeQp *qp, uint32_t pd, uint32_t cqn)
{
    fake_create_qp(e, qp, ERNIC_QPT_RAW, pd, cqn, cqn, FAKE_NONE);
    fake_connect(e, qp, 0, 0);
}

#define raw_whole(e) fake_check(e)

/* A signalled frame of @len bytes at @addr. */
static inline void raw_send(Ernic *e, FakeQp *qp, uint64_t addr, uint32_t len,
                            uint32_t key)
{
    fake_send(e, qp, ERNIC_WR_SEND, ERNIC_WR_SIGNALED, addr, len, key);
}

#endif /* RAW_FIXTURE_H */
