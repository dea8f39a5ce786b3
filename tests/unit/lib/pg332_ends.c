/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The dialogues that end in each fatal code of PG332.
 */
#include "qemu/osdep.h"
#include "pg332_ends.h"
#include "pg332_peer.h"

/* ---- requests of the peer ------------------------------------------------------ */

static void write_sequence_and_length(Card *c)
{
    PEER(c, WRITE_MIDDLE, .psn = PEER_PSN, .payload_len = 64);
}

static void write_sequence(Card *c)
{
    PEER(c, WRITE_LAST, .psn = PEER_PSN, .payload_len = 64);
}

static void send_sequence_and_length(Card *c)
{
    PEER(c, SEND_MIDDLE, .psn = PEER_PSN, .payload_len = 64);
}

static void send_sequence(Card *c)
{
    PEER(c, SEND_LAST, .psn = PEER_PSN, .payload_len = 64);
}

static void write_payload(Card *c)
{
    PEER(c, WRITE_FIRST, .psn = PEER_PSN, .payload_len = 64, .va = VA,
         .rkey = KEY, .dma_len = 8192);
}

static void reth_and_key(Card *c)
{
    PEER(c, WRITE_ONLY, .psn = PEER_PSN, .payload_len = 64, .va = VA,
         .rkey = KEY + 1, .dma_len = 128);
}

static void reth_length(Card *c)
{
    PEER(c, WRITE_ONLY, .psn = PEER_PSN, .payload_len = 64, .va = VA,
         .rkey = KEY, .dma_len = 128);
}

static void write_end(Card *c)
{
    PEER(c, WRITE_FIRST, .psn = PEER_PSN, .payload_len = 4096, .va = VA,
         .rkey = KEY, .dma_len = 8192);
    PEER(c, WRITE_LAST, .psn = PEER_PSN + 1, .payload_len = 64);
}

static void send_payload(Card *c)
{
    PEER(c, SEND_FIRST, .psn = PEER_PSN, .payload_len = 64);
}

static void receive_buffer(Card *c)
{
    PEER(c, SEND_ONLY, .psn = PEER_PSN, .payload_len = SLOT_BYTES + 64);
}

static void unsupported(Card *c)
{
    PEER(c, FETCH_ADD, .psn = PEER_PSN, .va = VA, .rkey = KEY);
}

static void seventeen_reads(Card *c)
{
    uint32_t i;

    /* No request is answered while the link is busy with an earlier response. */
    c->env.tx_busy = true;
    for (i = 0; i < 16 + ERNIC_TRAIN_PACKETS + 17; i++) {
        PEER(c, READ_REQUEST, .psn = PEER_PSN + i, .va = VA, .rkey = KEY, .dma_len = 64);
    }
    c->env.tx_busy = false;
    ernic_tx_ready(c->e, c->env.now);
    fake_run(c->e);
}

static void key(Card *c)
{
    PEER(c, WRITE_ONLY, .psn = PEER_PSN, .payload_len = 64, .va = VA,
         .rkey = KEY + 1, .dma_len = 64);
}

static void no_memory_of_key(Card *c)
{
    put_region(c, PG332_BUFBASEADDRMSB, 0);
    PEER(c, WRITE_ONLY, .psn = PEER_PSN, .payload_len = 64, .va = VA,
         .rkey = KEY, .dma_len = 64);
}

static void no_memory_of_buffer(Card *c)
{
    put_qp(c, PG332_RQBAMSB, 0);
    PEER(c, SEND_ONLY, .psn = PEER_PSN, .payload_len = 64);
}

/* ---- requests of our own -------------------------------------------------------- */

static void post(Card *c, uint8_t opcode, uint32_t len)
{
    POST(c, opcode, len);
    fake_run(c->e);
    lose_all(c);
}

static void illegal_opcode(Card *c)
{
    post(c, 0x55, 64);
}

static void no_send_queue(Card *c)
{
    put_qp(c, PG332_SQBAMSB, 0);
    post(c, SEND, 64);
}

static void too_long(Card *c)
{
    post(c, WRITE, PG332_MESSAGE_MAX + 1);
}

static void no_data(Card *c)
{
    POST(c, SEND, 64, .laddr = 0x1000);
    fake_run(c->e);
}

static void no_address(Card *c)
{
    put(c, PG332_IPv4XADD, 0);
    post(c, SEND, 64);
}

static void silence(Card *c)
{
    WRITES(c, REG(XRNICADCONF, 0), SLOT(TIMEOUTCONF, 1 << 8 | 1));
    post(c, SEND, 64);
    fake_advance(c->e, 1000000000);
    lose_all(c);
    fake_advance(c->e, 1000000000);
}

static void rnr_counted(Card *c)
{
    WRITES(c, REG(XRNICADCONF, 0), SLOT(TIMEOUTCONF, 1 << 11));
    post(c, SEND, 64);
    PEER(c, ACK, .psn = PSN, .syndrome = 0x21);
    fake_advance(c->e, 1000000000);
    lose_all(c);
    IS(get_qp(c, PG332_STATQP) & PG332_STATQP_FATAL, 0);
    PEER(c, ACK, .psn = PSN, .syndrome = 0x21);
}

static void rnr_at_once(Card *c)
{
    put(c, PG332_XRNICADCONF, 0);
    post(c, SEND, 64);
    PEER(c, ACK, .psn = PSN, .syndrome = 0x21);
}

static void nak(Card *c, uint8_t syndrome)
{
    post(c, SEND, 64);
    PEER(c, ACK, .psn = PSN, .syndrome = syndrome);
}

static void nak_request(Card *c)
{
    nak(c, ERNIC_NAK_INV_REQ);
}

static void nak_access(Card *c)
{
    nak(c, ERNIC_NAK_REM_ACC);
}

static void nak_operation(Card *c)
{
    nak(c, ERNIC_NAK_REM_OP);
}

static void syndrome(Card *c)
{
    nak(c, 0x40);
}

static void data_for_a_send(Card *c)
{
    post(c, SEND, 64);
    PEER(c, READ_RSP_ONLY, .psn = PSN, .syndrome = 0x1f, .payload_len = 64);
}

static void only_length(Card *c)
{
    post(c, READ, 64);
    PEER(c, READ_RSP_ONLY, .psn = PSN, .syndrome = 0x1f, .payload_len = 60);
}

static void last_of_one(Card *c)
{
    post(c, READ, 64);
    PEER(c, READ_RSP_LAST, .psn = PSN, .syndrome = 0x1f, .payload_len = 64);
}

static void middle_length(Card *c)
{
    post(c, READ, 3 * 4096);
    PEER(c, READ_RSP_FIRST, .psn = PSN, .syndrome = 0x1f, .payload_len = 4096);
    PEER(c, READ_RSP_MIDDLE, .psn = PSN + 1, .payload_len = 64);
}

static void last_length(Card *c)
{
    post(c, READ, 2 * 4096);
    PEER(c, READ_RSP_FIRST, .psn = PSN, .syndrome = 0x1f, .payload_len = 4096);
    PEER(c, READ_RSP_LAST, .psn = PSN + 1, .syndrome = 0x1f, .payload_len = 64);
}

static void only_of_two(Card *c)
{
    post(c, READ, 2 * 4096);
    PEER(c, READ_RSP_ONLY, .psn = PSN, .syndrome = 0x1f, .payload_len = 4096);
}

const Pg332End pg332_ends[] = {
    { 0x13, write_sequence_and_length },
    { 0x11, write_sequence },
    { 0x03, send_sequence_and_length },
    { 0x01, send_sequence },
    { 0x12, write_payload },
    { 0x17, reth_and_key },
    { 0x16, reth_length },
    { 0x12, write_end },
    { 0x02, send_payload },
    { 0x02, receive_buffer },
    { 0x04, unsupported },
    { 0x05, illegal_opcode },
    { 0x05, no_send_queue },
    { 0x05, too_long },
    { 0x05, no_data },
    { 0x05, no_address },
    { 0x06, silence },
    { 0x0d, rnr_counted },
    { 0x09, rnr_at_once },
    { 0x0a, nak_request },
    { 0x0a, nak_access },
    { 0x0a, nak_operation },
    { 0x10, seventeen_reads },
    { 0x15, key },
    { 0x15, no_memory_of_key },
    { 0x15, no_memory_of_buffer },
    { 0x19, syndrome },
    { 0x0c, data_for_a_send },
    { 0x1a, only_length },
    { 0x1c, last_of_one },
    { 0x1e, middle_length },
    { 0x1f, last_length },
    { 0x1b, only_of_two },
};
const uint32_t pg332_num_ends = ARRAY_SIZE(pg332_ends);
