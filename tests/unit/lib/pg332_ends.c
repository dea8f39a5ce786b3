/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The dialogues that end in each fatal code of PG332.
 */
#include "qemu/osdep.h"
#include "pg332_peer.h"

Pg332End pg332_ends[40];
uint32_t pg332_num_ends;

/* The statements end the queue pair of Card *c with @code. */
#define END(code, ...) \
    static void G_PASTE(end_, __LINE__)(Card *c) \
    { \
        __VA_ARGS__; \
    } \
    static void __attribute__((constructor)) G_PASTE(add_, __LINE__)(void) \
    { \
        g_assert_cmpuint(pg332_num_ends, <, ARRAY_SIZE(pg332_ends)); \
        pg332_ends[pg332_num_ends++] = (Pg332End) { code, G_PASTE(end_, __LINE__) }; \
    }
/* Its peer sends the next packet. */
#define COMES(c, op, ...) PEER(c, op, .psn = PEER_PSN, __VA_ARGS__)
#define TO_VA   .va = VA, .rkey = KEY

/* No request is answered while the link is busy with an earlier response. */
static void seventeen_reads(Card *c)
{
    c->env.tx_busy = true;
    for (uint32_t i = 0; i < 16 + ERNIC_TRAIN_PACKETS + 17; i++) {
        PEER(c, READ_REQUEST, .psn = PEER_PSN + i, TO_VA, .dma_len = 64);
    }
    fake_tx_ready(c->e);
    fake_run(c->e);
}

/* A request of the card, whose packets are lost. */
static void post(Card *c, uint8_t opcode, uint32_t len)
{
    POST(c, opcode, len);
    fake_run(c->e);
    fake_lose_trains(&c->env);
}

static void silence(Card *c)
{
    WRITES(c, REG(XRNICADCONF, 0), SLOT(TIMEOUTCONF, 1 << 8 | 1));
    post(c, SEND, 64);
    fake_advance(c->e, 1000000000);
    fake_lose_trains(&c->env);
    fake_advance(c->e, 1000000000);
}

static void nak(Card *c, uint8_t syndrome)
{
    post(c, SEND, 64);
    PEER(c, ACK, .psn = PSN, .syndrome = syndrome);
}

static void rnr_counted(Card *c)
{
    WRITES(c, REG(XRNICADCONF, 0), SLOT(TIMEOUTCONF, 1 << 11));
    nak(c, 0x21);
    fake_advance(c->e, 1000000000);
    fake_lose_trains(&c->env);
    IS(get_qp(c, PG332_STATQP) & PG332_STATQP_FATAL, 0);
    PEER(c, ACK, .psn = PSN, .syndrome = 0x21);
}

/* Packet @n of a response. */
#define ANSWER(c, op, n, ...) \
    PEER(c, READ_RSP_##op, .psn = PSN + (n), .syndrome = 0x1f, __VA_ARGS__)

END(0x13, COMES(c, WRITE_MIDDLE, .payload_len = 64))
END(0x11, COMES(c, WRITE_LAST, .payload_len = 64))
END(0x03, COMES(c, SEND_MIDDLE, .payload_len = 64))
END(0x01, COMES(c, SEND_LAST, .payload_len = 64))
END(0x12, COMES(c, WRITE_FIRST, .payload_len = 64, TO_VA, .dma_len = 8192))
END(0x17, COMES(c, WRITE_ONLY, .payload_len = 64, .va = VA, .rkey = KEY + 1,
                .dma_len = 128))
END(0x16, COMES(c, WRITE_ONLY, .payload_len = 64, TO_VA, .dma_len = 128))
END(0x12, COMES(c, WRITE_FIRST, .payload_len = 4096, TO_VA, .dma_len = 8192);
    PEER(c, WRITE_LAST, .psn = PEER_PSN + 1, .payload_len = 64))
END(0x02, COMES(c, SEND_FIRST, .payload_len = 64))
END(0x02, COMES(c, SEND_ONLY, .payload_len = SLOT_BYTES + 64))
END(0x04, COMES(c, FETCH_ADD, TO_VA))
END(0x05, post(c, 0x55, 64))
END(0x05, put_qp(c, PG332_SQBAMSB, 0); post(c, SEND, 64))
END(0x05, post(c, WRITE, PG332_MESSAGE_MAX + 1))
END(0x05, POST(c, SEND, 64, .laddr = 0x1000); fake_run(c->e))
END(0x05, put(c, PG332_IPv4XADD, 0); post(c, SEND, 64))
END(0x06, silence(c))
END(0x0d, rnr_counted(c))
END(0x09, put(c, PG332_XRNICADCONF, 0); nak(c, 0x21))
END(0x0a, nak(c, ERNIC_NAK_INV_REQ))
END(0x0a, nak(c, ERNIC_NAK_REM_ACC))
END(0x0a, nak(c, ERNIC_NAK_REM_OP))
END(0x10, seventeen_reads(c))
END(0x15, COMES(c, WRITE_ONLY, .payload_len = 64, .va = VA, .rkey = KEY + 1,
                .dma_len = 64))
END(0x15, put_region(c, PG332_BUFBASEADDRMSB, 0);
    COMES(c, WRITE_ONLY, .payload_len = 64, TO_VA, .dma_len = 64))
END(0x15, put_qp(c, PG332_RQBAMSB, 0); COMES(c, SEND_ONLY, .payload_len = 64))
END(0x19, nak(c, 0x40))
END(0x0c, post(c, SEND, 64); ANSWER(c, ONLY, 0, .payload_len = 64))
END(0x1a, post(c, READ, 64); ANSWER(c, ONLY, 0, .payload_len = 60))
END(0x1c, post(c, READ, 64); ANSWER(c, LAST, 0, .payload_len = 64))
END(0x1e, post(c, READ, 3 * 4096); ANSWER(c, FIRST, 0, .payload_len = 4096);
    PEER(c, READ_RSP_MIDDLE, .psn = PSN + 1, .payload_len = 64))
END(0x1f, post(c, READ, 2 * 4096); ANSWER(c, FIRST, 0, .payload_len = 4096);
    ANSWER(c, LAST, 1, .payload_len = 64))
END(0x1b, post(c, READ, 2 * 4096); ANSWER(c, ONLY, 0, .payload_len = 4096))
