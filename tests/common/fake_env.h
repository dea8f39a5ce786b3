/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The environment of an engine under test: guest memory, a link that records,
 * interrupts and wake-ups that are written down. Knows no verbs; the guest
 * software that drives an engine through it is in fake_verbs.h.
 */
#ifndef FAKE_ENV_H
#define FAKE_ENV_H

#include "qemu/bswap.h"
#include "base/device.h"

#define FAKE_MEM_SIZE   (32u << 20)
/* Above 4 GiB, so that an address cut to 32 bits fails. */
#define FAKE_MEM_BASE   0x123400000000ull
/* The first page, which fake_alloc() never gives out, is for passing data. */
#define FAKE_SCRATCH    4096

/* A train as the link received it: a deep copy. */
typedef struct FakeTrain {
    ErnicTrain train;           /* ip is NULL, data is owned */
    uint64_t now;               /* env->now when it left */
} FakeTrain;

typedef struct FakeEnv {
    uint8_t *mem;               /* size bytes at base */
    uint64_t size;
    uint64_t base;              /* guest address; a test may move it */
    uint64_t next;              /* offset at which fake_alloc() continues */
    uint64_t now;               /* tests set it and pass it to the engine */
    uint32_t uctx;              /* context of commands and doorbells */
    bool records;               /* fake_use_records() */

    /* Guest memory accesses: of each kind, and how many were refused. */
    uint64_t reads, writes, atomics, refused;
    uint64_t fail_in;           /* fake_fail_dma() */
    bool fail_on, fail_for_good;

    bool tx_busy;               /* the link takes no trains */
    bool tx_keeps;              /* trains that it takes do not leave */
    bool tx_keeps_one;          /* they leave when it takes the next one */
    uint64_t tx_kept;           /* serial of the first of these; 0: none */
    bool frames_pass;           /* except Ethernet frames, as from another link */
    GPtrArray *trains;          /* of FakeTrain, oldest first; owned */
    GArray *irqs;               /* of uint16_t: vectors, oldest first */
    uint32_t user_calls;        /* of user_logic() */
    GArray *wakes;              /* of uint64_t: arguments of wake_at() */
    uint64_t wake;              /* the last of them; UINT64_MAX: none */
} FakeEnv;

extern const ErnicEnvOps fake_env_ops;

/* A clock of slices that jumps at each look, so that the second one ends a slice. */
uint64_t fake_clock(void);

/* Memory is zeroed, the time 1 ms: 0 must not pass for "never set". */
void fake_env_init(FakeEnv *env);
/* The same with @bytes of guest memory in place of FAKE_MEM_SIZE. */
void fake_env_init_sized(FakeEnv *env, uint64_t bytes);
void fake_env_fini(FakeEnv *env);

/*
 * The @nth access to guest memory from now fails, 1 being the next; @for_good:
 * so do all after it. 0: none fails. Walk a failure point by counting @nth up
 * until env->refused stays 0.
 */
void fake_fail_dma(FakeEnv *env, uint64_t nth, bool for_good);

/* Guest memory that nobody else uses, zeroed; @align is a power of two. */
uint64_t fake_alloc(FakeEnv *env, uint64_t bytes, uint64_t align);
/* Host address of guest bytes; asserts that they exist. */
void *fake_ptr(FakeEnv *env, uint64_t addr, uint64_t len);
void fake_put64(FakeEnv *env, uint64_t addr, uint64_t value);   /* LE */
uint64_t fake_get64(FakeEnv *env, uint64_t addr);

/* The oldest captured train; the caller frees it. NULL: none. */
FakeTrain *fake_take_train(FakeEnv *env);
void fake_train_free(FakeTrain *train);
/* All of them are lost; returns how many. */
uint32_t fake_lose_trains(FakeEnv *env);
/* The trains that the link keeps leave; run the engine after it. */
void fake_tx_leave(FakeEnv *env);

/*
 * A device without an engine, for tests of the layers below it, and its environment:
 * configuration, all tables and free numbers, timers, an empty ring of traces. No link
 * and no GIDs: e->tx is NULL. A test removes the objects that it made; *_fini only
 * frees the tables and the environment.
 */
void fake_bare_init(Ernic *e, FakeEnv *env);
void fake_bare_fini(Ernic *e);

/* The small configuration that both use. */
void fake_config(ErnicConfig *cfg);

#endif /* FAKE_ENV_H */
