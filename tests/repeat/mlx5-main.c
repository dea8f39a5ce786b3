/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Two functions exchange messages by the mlx5 interface, in both directions at the same
 * time; the program reports to the host what it sees, and when.
 */
#include "mlx5.h"
#include "seen.h"

#define FUNCTIONS   MLX5_FUNCTIONS
#define MESSAGES    8               /* of each function, in a round */
#define LONG        (32 * 1024)
#define OUT         0               /* source of SEND and WRITE, target of READ, in buf */
#define IN          (MLX5_BUF / 2)  /* the peer's */

static const struct {
    const char *name;
    enum mlx5_opcode opcode;
    bool sleeps;                    /* waits for interrupts instead of polling */
    uint32_t len;
} rounds[] = {
    { "send", MLX5_SEND, false, 64 },
    { "send", MLX5_SEND, true, 4096 },
    { "send", MLX5_SEND, false, LONG },
    { "write", MLX5_WRITE, true, 64 },
    { "write", MLX5_WRITE, false, 4096 },
    { "write", MLX5_WRITE, true, LONG },
    { "read", MLX5_READ, false, 64 },
    { "read", MLX5_READ, true, 4096 },
    { "read", MLX5_READ, false, LONG },
};

static Mlx5 function[FUNCTIONS];

/* Handles new completions; returns their number. */
static uint32_t poll(Mlx5 *x)
{
    Mlx5Completion c;
    uint32_t n = 0;
    uint64_t *v;

    for (; mlx5_poll(x, &c); n++) {
        v = see("completion");
        v[0] = x->host;
        v[1] = c.receive << 16 | c.request;
        v[2] = c.time;
        v[3] = c.length;
        v[4] = x->cq_events;
        if (c.failed) {
            print_seen();
            power_off("a request failed");
        }
    }
    return n;
}

static void arm(void)
{
    for (int i = 0; i < FUNCTIONS; i++) {
        mlx5_arm(&function[i]);
    }
}

static void wait_for(uint32_t completions, bool sleeps)
{
    uint32_t came;

    while (completions) {
        came = 0;
        for (int i = 0; i < FUNCTIONS; i++) {
            came += poll(&function[i]);
        }
        completions -= came;
        if (sleeps && completions && came) {
            arm();
        } else if (sleeps && completions) {
            sleep();
        }
    }
}

/* The data that arrived is the data that the other function has sent. */
static void check(const Mlx5 *x, const Mlx5 *peer, bool read, uint32_t len)
{
    if (sum(x->buf + (read ? OUT : IN), len) != sum(peer->buf + (read ? IN : OUT), len)) {
        power_off("what came is not what was sent");
    }
}

static void run_round(uint32_t number)
{
    enum mlx5_opcode opcode = rounds[number].opcode;
    bool send = opcode == MLX5_SEND, read = opcode == MLX5_READ;
    uint32_t len = rounds[number].len, i, j;

    for (i = 0; i < FUNCTIONS; i++) {
        fill(function[i].buf + (read ? IN : OUT), len, number * FUNCTIONS + i);
        for (j = 0; send && j < MESSAGES; j++) {
            mlx5_post_recv(&function[i], IN, len);
        }
    }
    if (rounds[number].sleeps) {
        arm();
    }
    see(rounds[number].name)[0] = len;
    for (j = 0; j < MESSAGES; j++) {
        for (i = 0; i < FUNCTIONS; i++) {
            mlx5_post_send(&function[i], opcode, OUT, len, FUNCTIONS - i, IN);
        }
    }
    wait_for(FUNCTIONS * MESSAGES * (1 + send), rounds[number].sleeps);
    see("done")[0] = mlx5_time(&function[0]);
    print_seen();
    check(&function[0], &function[1], read, len);
    check(&function[1], &function[0], read, len);
}

static int functions_open(void)
{
    int n = 0;

    for (uint32_t devfn = 0; devfn < 256 && n < FUNCTIONS; devfn += 8) {
        if (pci_read(devfn, 0) == MLX5_PCI_ID) {
            mlx5_open(&function[n], devfn, n + 1);
            n++;
        }
    }
    return n;
}

int main(void)
{
    int n;

    irq_open();
    n = functions_open();
    put("functions");
    put_num(n);
    put_end();
    if (n != FUNCTIONS) {
        power_off("the program is for two");
    }
    for (uint32_t i = 0; i < FUNCTIONS; i++) {
        mlx5_connect(&function[i], FUNCTIONS - i, 0x1000, 6);
    }
    for (uint32_t i = 0; i < sizeof(rounds) / sizeof(rounds[0]); i++) {
        run_round(i);
    }
    rest();
    power_off("end");
}
