/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Every function but the first exchanges messages with it, all of them at the
 * same time; the program reports to the host what it sees, and when.
 */
#include "driver.h"
#include "seen.h"

#define MESSAGES    8               /* of each sender, in a round */
#define PART        (BUF / FUNCTIONS)

static const struct {
    const char *name;
    uint8_t opcode;
    bool sleeps;                    /* waits for interrupts instead of polling */
    uint32_t len;
} rounds[] = {
    { "send", ERNIC_WR_SEND, false, 64 },
    { "send", ERNIC_WR_SEND, true, 4096 },
    { "send", ERNIC_WR_SEND, false, PART },
    { "write", ERNIC_WR_WRITE, true, 64 },
    { "write", ERNIC_WR_WRITE, false, 4096 },
    { "write", ERNIC_WR_WRITE, true, PART },
    { "read", ERNIC_WR_READ, false, 64 },
    { "read", ERNIC_WR_READ, true, 4096 },
    { "read", ERNIC_WR_READ, false, PART },
};

static Function function[FUNCTIONS];
static Qp out[FUNCTIONS], in[FUNCTIONS];        /* of functions 1 and up */
static int functions;
static bool sleeps;

/* Handles new completions; returns their number. */
static uint32_t poll(Qp *qp)
{
    struct ernic_cqe cqe;
    uint32_t n = 0;
    uint64_t *v;

    for (; poll_cq(qp, &cqe); n++) {
        v = see("completion");
        v[0] = qp->f->host;
        v[1] = qp->qpn;
        v[2] = cqe.timestamp;
        v[3] = cqe.opcode << 16 | cqe.status;
        v[4] = cqe.byte_len;
        if (cqe.status != ERNIC_WC_SUCCESS) {
            print_seen();
            power_off("a request failed");
        }
    }
    if (n && sleeps) {
        arm_cq(qp);
    }
    return n;
}

static void poll_events(void)
{
    struct ernic_eqe eqe;
    uint64_t *v;

    for (int i = 0; i < functions; i++) {
        while (poll_eq(&function[i], &eqe)) {
            v = see("event");
            v[0] = function[i].host;
            v[1] = eqe.type;
            v[2] = eqe.timestamp;
            v[3] = eqe.element;
        }
    }
}

static void wait_for(uint32_t completions)
{
    uint32_t n = 0, came;

    while (n < completions) {
        came = 0;
        for (int i = 1; i < functions; i++) {
            came += poll(&out[i]) + poll(&in[i]);
        }
        n += came;
        if (sleeps && n < completions && !came) {
            sleep();
        }
        poll_events();
    }
}

static void arm(void)
{
    for (int i = 1; i < functions; i++) {
        arm_cq(&out[i]);
        arm_cq(&in[i]);
    }
}

/* Part i of the first function's buffer is for the messages of function i. */
static void check(uint32_t len)
{
    for (int i = 1; i < functions; i++) {
        if (sum(function[i].buf, len) != sum(function[0].buf + i * PART, len)) {
            power_off("what came is not what was sent");
        }
    }
}

static void run_round(uint32_t number)
{
    uint8_t opcode = rounds[number].opcode;
    uint32_t len = rounds[number].len, j;
    bool send = opcode == ERNIC_WR_SEND, read = opcode == ERNIC_WR_READ;

    sleeps = rounds[number].sleeps;
    for (int i = 1; i < functions; i++) {
        fill(read ? function[0].buf + i * PART : function[i].buf, len,
             number * FUNCTIONS + i);
        for (j = 0; send && j < MESSAGES; j++) {
            post_recv(&in[i], i * PART, len);
        }
    }
    if (sleeps) {
        arm();
    }
    see(rounds[number].name)[0] = len;
    for (int i = 1; i < functions; i++) {
        for (j = 0; j < MESSAGES; j++) {
            post_send(&out[i], opcode, 0, len, &function[0], i * PART);
        }
    }
    wait_for((functions - 1) * MESSAGES * (1 + send));
    see("done")[0] = function[0].regs->time;
    print_seen();
    check(len);
}

static void print_counters(void)
{
    static uint64_t counters[512];
    uint32_t n;

    for (int i = 0; i < functions; i++) {
        n = function_counters(&function[i], counters);
        put("counters");
        for (uint32_t j = 0; j < n; j++) {
            put_num(counters[j]);
        }
        put_end();
    }
}

int main(void)
{
    irq_open();
    functions = functions_open(function);
    put("functions");
    put_num(functions);
    put_end();
    for (uint32_t i = 1; i < (uint32_t)functions; i++) {
        qp_connect(&out[i], &function[i], &in[i], &function[0]);
    }
    for (uint32_t i = 0; i < sizeof(rounds) / sizeof(rounds[0]); i++) {
        run_round(i);
    }
    rest();
    print_counters();
    rest();
    power_off("end");
}
