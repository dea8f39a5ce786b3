/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Software of the Ethernet interface for the tests: its rings, and the other end of its
 * link.
 */
#ifndef QTEST_ERNIC_ETH_H
#define QTEST_ERNIC_ETH_H

#include "ernic.h"

#define SHIFT       3
#define ENTRIES     (1u << SHIFT)
#define BUFFER      2048
#define FRAME       1000

extern const uint8_t own_mac[6];

typedef struct Eth {
    QErnicMachine *m;
    QErnic *q;
    int fd;                     /* the other end of the backend */
    uint64_t tx, rx, state, buf;
    uint32_t tx_pi, rx_pi, rx_ci;
} Eth;

/* The offset of a register in the control page. */
#define OFF(name) (ERNIC_ETH_OFFSET + offsetof(struct ernic_eth_regs, name))
uint32_t qeth_get(Eth *e, uint64_t off);
void qeth_set(Eth *e, uint64_t off, uint32_t value);
/* A register has this value. */
void qeth_is(Eth *e, uint64_t off, uint32_t value);

/* A machine whose function eth0 has further properties @more, and begins with @ctrl. */
void qeth_open(Eth *e, const char *more, uint32_t ctrl);
/* The head of a test with such a machine, @e, that begins with @ctrl. */
#define ETH_TEST(path, fn, ctrl)                                            \
    static void fn(Eth *e);                                                 \
    MACHINE_TEST(path, eth_##fn)                                            \
    {                                                                       \
        Eth eth;                                                            \
                                                                            \
        qeth_open(&eth, "", ctrl);                                          \
        fn(&eth);                                                           \
    }                                                                       \
    static void fn(Eth *e)
/* The function eth0 at 06.0 of @m begins with @ctrl. */
void qeth_start(Eth *e, QErnicMachine *m, uint32_t ctrl);
/* A frame to @to, whose bytes differ. */
void qeth_fill(uint8_t *frame, uint32_t len, const uint8_t *to);

uint64_t qeth_tx_buffer(Eth *e, uint32_t i);
/* Write a descriptor to send; ring for all of them, and wait until they are done. */
void qeth_post(Eth *e, const struct ernic_eth_txd *desc);
void qeth_wait_tx(Eth *e);
/* Sends a frame in pieces of at most @piece bytes. */
void qeth_transmit(Eth *e, const uint8_t *frame, uint32_t len, uint32_t piece,
                   const struct ernic_eth_txd *last);
/* Posts a buffer to receive into: at an address, or at the next place of its own. */
void qeth_post_rx_at(Eth *e, uint64_t addr, uint16_t size);
void qeth_post_rx(Eth *e, uint16_t size);
/* Waits for a frame; returns its length and the flags of its last descriptor. */
uint32_t qeth_receive(Eth *e, uint8_t *frame, uint8_t *flags);

/* An e1000 receives all frames, without their CRC: one at @first, the rest at @then. */
void qeth_e1000(QPCIDevice *nic, QGuestAllocator *alloc, uint64_t first, uint64_t then);

#endif /* QTEST_ERNIC_ETH_H */
