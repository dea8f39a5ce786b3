/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Two functions exchange messages by the ERNIC interface, in both directions at the same
 * time; the program reports to the host what it sees, and when.
 */
#include "hw/rdma-ernic/ernic_counters.h"
#include "ernic.h"
#include "seen.h"

#define MESSAGES    8               /* of each function, in a round */
#define AT_ONCE     2               /* requests for each store to SQPI */

static const struct {
    const char *name;
    enum pg332_opcode opcode;
    bool sleeps;                    /* waits for interrupts, and reads words in memory */
    uint32_t len;
} rounds[] = {
    { "send", PG332_OP_SEND, false, INLINE },
    { "send", PG332_OP_SEND, true, 64 },
    { "send", PG332_OP_SEND, false, 4096 },
    { "send", PG332_OP_SEND, true, BUF },
    { "write", PG332_OP_WRITE, false, 64 },
    { "write", PG332_OP_WRITE, true, 4096 },
    { "write", PG332_OP_WRITE, false, BUF },
    { "read", PG332_OP_READ, true, 64 },
    { "read", PG332_OP_READ, false, 4096 },
    { "read", PG332_OP_READ, true, BUF },
};

static Interface interface[FUNCTIONS];

static void check_completion(const Interface *f, uint32_t entry, uint8_t opcode)
{
    if (entry != (uint32_t)(opcode << 16 | (uint16_t)f->completed)) {
        print_seen();
        put_num(entry);
        put_num(qp_get(f, PG332_STATQP));
        power_off("a request failed");
    }
}

/* Handles new completions and messages; returns their number. */
static uint32_t poll(Interface *f, uint8_t opcode, bool word)
{
    uint32_t done = completions(f, word), came = messages(f, word), i;
    uint64_t *v;

    for (i = 0; i < done; i++, f->completed++) {
        v = see("completion");
        v[0] = f->host;
        v[1] = f->memory->cq[f->completed % DEPTH];
        v[2] = *f->time;
        check_completion(f, v[1], opcode);
    }
    for (i = 0; i < came; i++) {
        give_back(f, 0);
        v = see("message");
        v[0] = f->host;
        v[1] = f->received;
        v[2] = *f->time;
        v[3] = qp_get(f, PG332_STATMSN);
    }
    return done + came;
}

static void see_causes(const Interface *f)
{
    uint64_t *v = see("causes");

    v[0] = f->host;
    v[1] = clear_causes(f);
    v[2] = *f->time;
    if (v[1] & PG332_INT_FATAL) {
        print_seen();
        power_off("a queue pair has ended");
    }
}

static void wait_for(uint32_t n, uint8_t opcode, bool sleeps)
{
    uint32_t came;

    while (n) {
        came = 0;
        for (int i = 0; i < FUNCTIONS; i++) {
            if (sleeps) {
                see_causes(&interface[i]);
            }
            came += poll(&interface[i], opcode, sleeps);
        }
        n -= came;
        if (sleeps && n && !came) {
            sleep();
        }
    }
}

/* The data that arrived is the data that the other function has sent. */
static void check(const Interface *f, const Interface *peer, uint8_t opcode, uint32_t len)
{
    const Memory *m = f->memory, *p = peer->memory;
    uint32_t sent = sum(opcode == PG332_OP_READ ? p->in : p->out, len), j;
    bool good = true;

    if (opcode == PG332_OP_SEND) {
        for (j = 1; j <= MESSAGES; j++) {
            good &= sum(m->rq[(f->received - j) % DEPTH], len) == sent;
        }
    } else {
        good = sum(opcode == PG332_OP_READ ? m->out : m->in, len) == sent;
    }
    if (!good) {
        power_off("what came is not what was sent");
    }
}

static void run_round(uint32_t number)
{
    enum pg332_opcode opcode = rounds[number].opcode;
    uint32_t len = rounds[number].len, i, j;
    bool sleeps = rounds[number].sleeps;
    Memory *m;

    for (i = 0; i < FUNCTIONS; i++) {
        m = interface[i].memory;
        fill(opcode == PG332_OP_READ ? m->in : m->out, len, number * FUNCTIONS + i);
        global_put(&interface[i], PG332_INTEN, sleeps ? CAUSES : 0);
    }
    see(rounds[number].name)[0] = len;
    for (j = 1; j <= MESSAGES; j++) {
        for (i = 0; i < FUNCTIONS; i++) {
            post_request(&interface[i], opcode, 0, len, 0);
            if (j % AT_ONCE == 0) {
                ring_doorbell(&interface[i]);
            }
        }
    }
    wait_for(FUNCTIONS * MESSAGES * (1 + (opcode == PG332_OP_SEND)), opcode, sleeps);
    see("done")[0] = *interface[0].time;
    print_seen();
    check(&interface[0], &interface[1], opcode, len);
    check(&interface[1], &interface[0], opcode, len);
}

static void print_registers(const Interface *f)
{
    put("globals");
    for (uint32_t at = 0; at < PG332_V3_QP - PG332_V3_GLOBAL; at += 4) {
        put_num(global_get(f, at));
    }
    put_end();
    put("queue-pair");
    for (uint32_t at = 0; at < PG332_SLOT; at += 4) {
        put_num(qp_get(f, at));
    }
    put_end();
    put("timing");
    for (uint32_t at = 0; at < sizeof(struct ernic_timing_info); at += 4) {
        put_num(side_get(f, PG332_SIDE_TIMING + at));
    }
    put_end();
}

int main(void)
{
    int n;

    irq_open();
    n = interfaces_open(interface);
    put("functions");
    put_num(n);
    put_end();
    if (n != FUNCTIONS) {
        power_off("the program is for two");
    }
    interfaces_connect(interface);
    for (uint32_t i = 0; i < sizeof(rounds) / sizeof(rounds[0]); i++) {
        run_round(i);
    }
    rest();
    for (uint32_t i = 0; i < FUNCTIONS; i++) {
        print_registers(&interface[i]);
    }
    rest();
    power_off("end");
}
