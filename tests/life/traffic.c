/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The same as bounds.c beside traffic: the function that the second processor accesses
 * WRITEs to another one, which SENDs to it, first without accesses and then beside them.
 */
#include "driver.h"
#include "mlx5.h"
#include "second.h"
#include "seen.h"

#define WHILE       1000000000u     /* of the host's counter: some 0.3 s */
#define LONGEST     (10ull * WHILE) /* until requests that were posted have to end */
#define MLX5_OTHER  30              /* slots of the functions that are not accessed */
#define VERBS_OTHER 31
#define LENGTH      (16 * 1024)     /* of a message */
#define TARGET      (64 * 1024)     /* in the buffer of the one that it goes to */
#define REQUESTS    4               /* at a time, in each direction */
#define RECEIVES    8
#define PSN         0x1000
#define TIMEOUT     14              /* 67 ms */
#define FLR         (1u << 15)

enum { ACCESSED, OTHER, SIDES };

static bool is_mlx5;
static Mlx5 mlx5[SIDES];
static Function function[SIDES];
static Qp qp[SIDES];
static uint32_t moved[SIDES];       /* messages that are complete */

/* A reset, after which the BARs get back the addresses that it clears. */
static void renew(uint8_t devfn)
{
    uint32_t bars[6];

    for (int i = 0; i < 6; i++) {
        bars[i] = pci_read(devfn, 0x10 + 4 * i);
    }
    pci_write(devfn, capability(devfn, 0x10) + 8, FLR);
    for (int i = 0; i < 6; i++) {
        pci_write(devfn, 0x10 + 4 * i, bars[i]);
    }
}

static void post(int side)
{
    bool is_write = side == ACCESSED;

    if (is_mlx5) {
        mlx5_post_send(&mlx5[side], is_write ? MLX5_WRITE : MLX5_SEND, 0, LENGTH,
                       mlx5[!side].host, TARGET);
    } else {
        post_send(&qp[side], is_write ? ERNIC_WR_WRITE : ERNIC_WR_SEND, 0, LENGTH,
                  &function[!side], TARGET);
    }
}

static void post_receive(void)
{
    if (is_mlx5) {
        mlx5_post_recv(&mlx5[ACCESSED], TARGET, LENGTH);
    } else {
        post_recv(&qp[ACCESSED], TARGET, LENGTH);
    }
}

static uint8_t *buffer(int side)
{
    return is_mlx5 ? mlx5[side].buf : function[side].buf;
}

/* False: there is no completion. */
static bool poll(int side, bool *receive)
{
    Mlx5Completion c;
    struct ernic_cqe cqe;
    bool failed;

    if (is_mlx5) {
        if (!mlx5_poll(&mlx5[side], &c)) {
            return false;
        }
        *receive = c.receive;
        failed = c.failed;
    } else {
        if (!poll_cq(&qp[side], &cqe)) {
            return false;
        }
        *receive = cqe.flags & ERNIC_CQE_RQ;
        failed = cqe.status;
    }
    if (failed) {
        power_off("a request failed");
    }
    return true;
}

static void exchange_once(void)
{
    bool receive;

    for (int side = 0; side < SIDES; side++) {
        while (poll(side, &receive)) {
            if (receive) {
                post_receive();
            } else {
                moved[side]++;
                post(side);
            }
        }
    }
}

static bool stands_still(void)
{
    return moved[ACCESSED] <= REQUESTS || moved[OTHER] <= REQUESTS;
}

/*
 * Sets the rates to the messages that were complete in each such while. On a busy host
 * one may be too short for those that had been posted before.
 */
static void exchange(uint32_t *rate)
{
    uint64_t from = tsc(), time = 0;

    moved[ACCESSED] = moved[OTHER] = 0;
    while (time < WHILE || (stands_still() && time < LONGEST)) {
        exchange_once();
        time = tsc() - from;
    }
    for (int side = 0; side < SIDES; side++) {
        rate[side] = moved[side] * (WHILE >> 20) / (uint32_t)(time >> 20);
    }
}

static void connect(const uint8_t *devfn)
{
    for (int side = 0; side < SIDES; side++) {
        renew(devfn[side]);
        if (is_mlx5) {
            mlx5_open(&mlx5[side], devfn[side], side + 1);
        } else {
            function_open(&function[side], devfn[side], side + 1);
            qp_create(&qp[side], &function[side]);
        }
    }
    for (int side = 0; side < SIDES; side++) {
        if (is_mlx5) {
            mlx5_connect(&mlx5[side], mlx5[!side].host, PSN, TIMEOUT);
        } else {
            qp_to_rts(&qp[side], &qp[!side], PSN, TIMEOUT);
        }
        fill(buffer(side), LENGTH, side + 1);
    }
    for (int i = 0; i < RECEIVES; i++) {
        post_receive();
    }
    for (int i = 0; i < REQUESTS; i++) {
        post(ACCESSED);
        post(OTHER);
    }
    moved[ACCESSED] = moved[OTHER] = 0;
    while (!moved[ACCESSED] || !moved[OTHER]) {
        exchange_once();
    }
}

static void check(void)
{
    for (int side = 0; side < SIDES; side++) {
        if (sum(buffer(side), LENGTH) != sum(buffer(!side) + TARGET, LENGTH)) {
            power_off("what came is not what was sent");
        }
    }
}

static void use(uint8_t slot, uint32_t row)
{
    uint8_t devfn[SIDES] = { slot << 3 };
    uint32_t alone[SIDES], beside[SIDES];

    if (slot == MLX5_OTHER || slot == VERBS_OTHER) {
        return;
    }
    is_mlx5 = pci_read(devfn[ACCESSED], 0) == MLX5_PCI_ID;
    devfn[OTHER] = (is_mlx5 ? MLX5_OTHER : VERBS_OTHER) << 3;
    connect(devfn);
    put("nothing");
    put_end();
    exchange(alone);
    put_row(row);
    second_starts(slot, row);
    exchange(beside);
    second_ends();
    put("moved");
    for (int side = 0; side < SIDES; side++) {
        put_num(alone[side]);
        put_num(beside[side]);
    }
    put_end();
    check();
    renew(devfn[ACCESSED]);         /* it gives its address in the lab away */
}

int main(void)
{
    each_function(use);
}
