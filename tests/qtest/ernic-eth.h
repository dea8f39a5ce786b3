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
/* The function @q of @m begins with @ctrl. */
void qeth_take(Eth *e, QErnicMachine *m, QErnic *q, uint32_t ctrl);
/* The same for eth0 at 06.0. */
void qeth_start(Eth *e, QErnicMachine *m, uint32_t ctrl);
/* A frame to @to, whose bytes differ. */
void qeth_fill(uint8_t *frame, uint32_t len, const uint8_t *to);

/* Frames to 10.0.0.1: RoCEv2 or other, well-formed or malformed; no ICRC is valid. */
enum { ETH_GOOD, ETH_SHORT_UDP, ETH_EMPTY_UDP, ETH_OTHER_ADDRESS, ETH_OTHER_PORT };
#define ETH_ROCE    (14 + 20 + 8 + 12 + 4)
void qeth_roce(uint8_t frame[ETH_ROCE], int kind);

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

/*
 * An e1000 receives all frames, without their CRC: one at @first, the rest at @then; or
 * to @num places in turn, in parts of 256 bytes if @parts.
 */
void qeth_e1000(QPCIDevice *nic, QGuestAllocator *alloc, uint64_t first, uint64_t then);
void qeth_e1000_to(QPCIDevice *nic, QGuestAllocator *alloc, const uint64_t *to,
                   uint32_t num, bool parts);

/* A frame in a capture: flags say whether it was sent (2) or received (1). */
typedef struct EthFrame {
    uint64_t ns;
    uint32_t port, len, flags;
} EthFrame;

/* The frames in the blocks of a pcapng file, which are whole, of as many interfaces. */
GArray *qeth_capture(const char *path, uint32_t interfaces);

#endif /* QTEST_ERNIC_ETH_H */
