/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A small driver for the ERNIC interface: sets a card up in the order of RecoNIC's
 * library, moves data, and takes the queue pair down.
 */
#ifndef QTEST_ERNIC_CARD_H
#define QTEST_ERNIC_CARD_H

#include "hw/rdma-ernic/engine/interfaces/pg332/register_file.h"
#include "ernic.h"

#define CARD_QPN        2
#define CARD_DEPTH      64
#define CARD_SLOT       512         /* bytes of a receive buffer */
#define CARD_REGION     0
#define CARD_KEY        8           /* RecoNIC's key: number 0, byte 8 */
#define CARD_VA         0x7f0012340000ull
#define CARD_MEM        (128 * 1024)
#define CARD_VECTOR     16          /* the last of 17 */
#define CARD_LENGTH     (16 * 1024)
#define CARD_QPCONF     0x0200043d

enum { CARD_WRITE = 0, CARD_WRITE_IMM, CARD_SEND, CARD_SEND_IMM, CARD_READ };

/* One device, driven through BAR 0. */
typedef struct Card {
    QErnic *q;
    QPCIBar bar;
    QPCIBar card;               /* card memory, if there is any, from card_at on */
    uint64_t card_at;
    unsigned version;
    uint8_t host;               /* 10.0.0.host */
    uint64_t sq, cq, rq, db, mem, errq;
    uint32_t posted, received;
} Card;

/* Registers: at any place, global, of queue pair CARD_QPN. */
uint32_t card_at(const Card *c, ErnicRegScope scope, uint32_t element, uint32_t reg);
void card_put_at(Card *c, uint32_t off, uint32_t value);
uint32_t card_get_at(Card *c, uint32_t off);
void card_put(Card *c, uint32_t reg, uint32_t value);
uint32_t card_get(Card *c, uint32_t reg);
void card_put_qp(Card *c, uint32_t reg, uint32_t value);
uint32_t card_get_qp(Card *c, uint32_t reg);
/* Whether INTx is raised. */
bool card_intx(const Card *c);
/* Registers of the side stream, after those of the interface. */
void card_put_side(Card *c, uint32_t reg, uint32_t value);
uint32_t card_get_side(Card *c, uint32_t reg);

/*
 * card_open() sets up memory, global registers and the region of @q's interface;
 * card_open_qp() then connects the queue pair to 10.0.0.@peer.
 */
void card_open(Card *c, QErnic *q, unsigned version, uint8_t host);
/*
 * The same for a card whose fields q, version, bar, card and card_at are set. @queues and
 * @data: addresses of card memory for them, or 0 for guest memory.
 */
void card_open_in(Card *c, uint8_t host, uint64_t queues, uint64_t data);
void card_open_qp(Card *c, uint8_t peer, uint32_t peer_qpn);
/* Takes the queue pair down as RecoNIC's library does. */
void card_close_qp(Card *c);
/* The same in any state. */
void card_clear_qp(Card *c);
/* Memory of the guest or of the card, as an address of the ERNIC chooses. */
uint64_t card_addr(uint64_t off);
void card_write(Card *c, uint64_t addr, const void *buf, size_t len);
uint32_t card_word(Card *c, uint64_t addr);
void card_equal(Card *c, uint64_t a, uint64_t b, size_t len);
void card_fill(Card *c, uint64_t addr, size_t len, uint8_t seed);

/* Writes a request of data at offset @at of the region; @imm: its immediate data. */
void card_request(Card *c, uint8_t opcode, uint64_t at, uint32_t len, uint64_t raddr,
                  uint32_t rkey, uint32_t imm);
/* The same, and rings the doorbell. */
void card_post(Card *c, uint8_t opcode, uint64_t at, uint32_t len,
               uint64_t raddr, uint32_t rkey);
/* Waits until a register of the queue pair has @value. */
void card_wait(Card *c, uint32_t reg, uint32_t value);
/* Waits for the last request; checks its completion in memory as well. */
void card_done(Card *c, uint8_t opcode);
void card_pattern(QTestState *qts, uint64_t addr, uint32_t len, uint8_t seed);
void card_same(QTestState *qts, uint64_t a, uint64_t b, uint32_t len);
/* @a executes SEND, WRITE and READ with @b, whose software stays passive. */
void card_transfers(Card *a, Card *b);

/* Devices ernic0 and ernic1 learn that 10.0.0.@host is at the socket of ernic@device. */
void card_locate(QErnic *q, uint8_t host, unsigned device);
/* The same for 10.0.0.1 of ernic0 and 10.0.0.2 of ernic1. */
void card_introduce(QErnic *q);
/* The enum pg332_version of a text that begins with a value of ernic-version. */
unsigned card_version(const char *name);

#endif /* QTEST_ERNIC_CARD_H */
