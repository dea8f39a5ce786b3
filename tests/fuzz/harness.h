/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The common part of the fuzz targets: an engine in a guarded environment. Every call
 * that it makes is checked, every call into it is followed by the invariants,
 * and an engine that asks to run for ever without doing anything is found.
 *
 * ERNIC_FUZZ_BREAK=NAME makes the harness commit the defect that its check NAME
 * is there to find; tests/fuzz/run shows so that each check bites.
 * ERNIC_FUZZ_TRACE=1 prints the trace events of what is replayed.
 */
#ifndef FUZZ_HARNESS_H
#define FUZZ_HARNESS_H

#include "engine.h"
#include "fake_verbs.h"
#include "base/types.h"

/* Bytes of guest memory; accesses beyond fail. */
#define FUZZ_MEM        (512u << 10)
/* Calls into the seam that one call into the engine may make. */
#define FUZZ_CALLS      (1u << 20)
/* Runs on end that change nothing, after which the engine is in a loop. */
#define FUZZ_IDLE       512

/* The accesses of the device to a byte of guest memory that are allowed. */
typedef enum FuzzMay {
    FUZZ_RING = 1 << 0,         /* write completions and events */
    FUZZ_RECV = 1 << 1,         /* write: receive buffers */
    FUZZ_LAND = 1 << 2,         /* write: what READs and atomics bring */
    FUZZ_RWRITE = 1 << 3,       /* write: the peer's WRITEs */
    FUZZ_RATOMIC = 1 << 4,      /* the peer's atomics */
    FUZZ_QUEUE = 1 << 5,        /* read: work requests, lists, structures */
    FUZZ_SEND = 1 << 6,         /* read: what is sent */
    FUZZ_RREAD = 1 << 7,        /* read: the peer's READs */
} FuzzMay;

#define FUZZ_ALL        0xffu
/* An address that no memory has. */
#define FUZZ_NOWHERE    UINT64_MAX
#define FUZZ_WRITES     (FUZZ_RECV | FUZZ_LAND | FUZZ_RWRITE)

typedef struct FuzzHost FuzzHost;

struct FuzzHost {
    FakeEnv env;                /* first: this is what the engine is given */
    Ernic *e;
    uint8_t *shadow;            /* FuzzMay of the first FUZZ_MEM bytes */
    bool strict;                /* memory that does not answer is not asked */
    bool any_packet;            /* what leaves may be no packet: it was loaded */
    uint32_t may_read, may_write;       /* FuzzMay, in the present entry */
    uint32_t run_read, run_write;       /* FuzzMay of a run; FUZZ_ALL at first */
    uint32_t calls;             /* into the seam, in the present entry */
    uint32_t idle;              /* runs on end without a change */
    ErnicStats seen;
    /*
     * The mapping between device and memory: where @len bytes at @addr are, or
     * FUZZ_NOWHERE. NULL: they are where they are.
     */
    uint64_t (*reach)(FuzzHost *h, uint64_t addr, uint64_t len);
    /* After each run, before anything else: what work requests registered. */
    void (*sync)(FuzzHost *h);
};

/* The named check has found a defect: say so and end. */
G_NORETURN void fuzz_fail(const char *check, const char *fmt, ...)
    G_GNUC_PRINTF(2, 3);
/* Whether the harness is to commit the defect that check @name finds. */
bool fuzz_break(const char *name);

/*
 * A fresh engine with a small configuration in @h, whose memory is zero. GID 0
 * is 10.0.0.@number, GID 1 fd00::@number; the link is up. @h is static and
 * zero before the first time.
 */
void fuzz_open(FuzzHost *h, uint8_t number);
/* The same with another configuration, and without addresses. */
void fuzz_open_as(FuzzHost *h, const ErnicConfig *cfg);
/* Checks what a reset leaves ("reset"). */
void fuzz_close(FuzzHost *h);
void fuzz_config(ErnicConfig *cfg);
void fuzz_gid6(uint8_t gid[16], uint8_t number);

/* Give and take away @may on bytes of memory; those outside are ignored. */
void fuzz_paint(FuzzHost *h, uint64_t addr, uint64_t len, uint8_t may);
void fuzz_unpaint(FuzzHost *h, uint64_t addr, uint64_t len, uint8_t may);

/*
 * The engine's entries. @may_write, @may_read: all that the device may do until
 * it returns.
 */
void fuzz_rx(FuzzHost *h, const ErnicTrain *train, uint32_t may_write,
             uint32_t may_read);
/* A link with frames has received one: good, bad, or not RoCEv2. */
void fuzz_rx_frame(FuzzHost *h, const uint8_t *frame, uint32_t len,
                   uint32_t may_write, uint32_t may_read);
/* An Ethernet frame for a raw queue pair, whether a rule wants it or not. */
void fuzz_rx_raw(FuzzHost *h, const uint8_t *frame, uint32_t len,
                 uint32_t may_write, uint32_t may_read);
uint8_t fuzz_cmd(FuzzHost *h, const struct ernic_cmd *cmd,
                 struct ernic_rsp *rsp);
uint8_t fuzz_cmd_within(FuzzHost *h, const struct ernic_cmd *cmd,
                        struct ernic_rsp *rsp, uint32_t may_write);
uint8_t fuzz_doorbell(FuzzHost *h, uint32_t uctx, uint64_t value,
                      uint32_t may_read);
/* Registers of PG332: of them, only those of the side stream reach memory. */
void fuzz_reg_write(FuzzHost *h, uint32_t offset, uint32_t value);
uint32_t fuzz_reg_read(FuzzHost *h, uint32_t offset);
/* BAR 0 of the mlx5 interface. */
void fuzz_bar_write(FuzzHost *h, uint32_t offset, uint32_t size, uint64_t value);
/* A doorbell page rings without a value; 0: any may have. */
void fuzz_page_rung(FuzzHost *h, uint32_t page);
uint64_t fuzz_bar_read(FuzzHost *h, uint32_t offset, uint32_t size);
void fuzz_tx_ready(FuzzHost *h);
void fuzz_set_link(FuzzHost *h, bool up);
/* One ernic_run(). */
void fuzz_run(FuzzHost *h);
/*
 * Run until the engine wants no more at the present time, at most @limit times;
 * false: it still wants.
 */
bool fuzz_settle(FuzzHost *h, uint32_t limit);
/* Let time pass, stopping at no more than @wakes deadlines on the way. */
void fuzz_pass(FuzzHost *h, uint64_t ns, uint32_t wakes);
/* @a and @b, which are freed, are the same; else @check has found a defect. */
void fuzz_same(const char *check, GByteArray *a, GByteArray *b);
/* The engine is saved, and loads what was saved; it is the same then. */
void fuzz_reload(FuzzHost *h);
/* The invariants, ernic_check(); a target calls it after each step. */
void fuzz_check(FuzzHost *h);

/* FuzzMay that serving the packets of @train may use for writing. */
uint32_t fuzz_train_writes(const ErnicTrain *train);

/* Whether a request of a connection with this opcode names memory of the peer's. */
static inline bool fuzz_names_memory(uint8_t opcode)
{
    return (opcode >= ERNIC_WR_WRITE && opcode <= ERNIC_WR_FETCH_ADD) ||
           opcode == ERNIC_WR_ATOMIC_WRITE || opcode == ERNIC_WR_FLUSH;
}

#endif /* FUZZ_HARNESS_H */
