/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A guest that gives the device more work than it can do in minutes, and then does
 * something else: its time has to go on before the work is done.
 */
#include "driver.h"

#define QUEUE_PAIRS FUNCTIONS
#define LENGTH      0x80000000u         /* bytes of a request, the most */
#define PAGE_SHIFT  12
#define LEAF        512                 /* entries of a page */
#define LEAVES      ((LENGTH >> PAGE_SHIFT) / LEAF)
#define LOOPS       1000000             /* some ms of virtual time */

/* A list of two levels: all of the region's pages are the same one. */
static uint64_t directory[LEAVES] __attribute__((aligned(4096)));
static uint64_t leaf[LEAF] __attribute__((aligned(4096)));
static uint8_t memory[1 << PAGE_SHIFT] __attribute__((aligned(4096)));

static Function function[FUNCTIONS];
static Qp qp[QUEUE_PAIRS];

static uint32_t open_region(Function *f)
{
    for (uint32_t i = 0; i < LEAVES; i++) {
        directory[i] = (uintptr_t)leaf;
    }
    for (uint32_t i = 0; i < LEAF; i++) {
        leaf[i] = (uintptr_t)memory;
    }
    return register_list(f, (uintptr_t)directory, LENGTH >> PAGE_SHIFT, LENGTH);
}

/* Every queue pair writes as much to itself as it can. */
static void post(Function *f)
{
    f->key = open_region(f);
    f->buf = 0;                         /* the region begins at address 0 */
    for (uint32_t i = 0; i < QUEUE_PAIRS; i++) {
        qp_create(&qp[i], f);
        qp_to_rts(&qp[i], &qp[i], 0x1000, 0);
    }
    for (uint32_t i = 0; i < QUEUE_PAIRS; i++) {
        for (uint32_t j = 0; j < DEPTH; j++) {
            post_send(&qp[i], ERNIC_WR_WRITE, 0, LENGTH, f, 0);
        }
    }
}

static uint32_t completed(void)
{
    struct ernic_cqe cqe;
    uint32_t i, n = 0;

    for (i = 0; i < QUEUE_PAIRS; i++) {
        while (poll_cq(&qp[i], &cqe)) {
            n++;
        }
    }
    return n;
}

int main(void)
{
    volatile uint32_t i;
    uint64_t start;

    put("functions");
    put_num(functions_open(function));
    put_end();
    post(&function[0]);
    start = tsc();
    for (i = 0; i < LOOPS; i++) {
        barrier();
    }
    put("completed");
    put_num(completed());
    put_end();
    power_off(tsc() - start >= LOOPS ? "end" : "time stood still");
}
