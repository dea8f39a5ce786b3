/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Whole messages in a dialogue.
 */
#include "qemu/osdep.h"
#include "dialog.h"

typedef struct Message {
    uint8_t first, middle, last, only;
} Message;

static const Message messages[] = {
    [ERNIC_WR_SEND] = { ERNIC_OP_SEND_FIRST, ERNIC_OP_SEND_MIDDLE,
                        ERNIC_OP_SEND_LAST, ERNIC_OP_SEND_ONLY },
    [ERNIC_WR_SEND_IMM] = { ERNIC_OP_SEND_FIRST, ERNIC_OP_SEND_MIDDLE,
                            ERNIC_OP_SEND_LAST_IMM, ERNIC_OP_SEND_ONLY_IMM },
    [ERNIC_WR_SEND_INV] = { ERNIC_OP_SEND_FIRST, ERNIC_OP_SEND_MIDDLE,
                            ERNIC_OP_SEND_LAST_INV, ERNIC_OP_SEND_ONLY_INV },
    [ERNIC_WR_WRITE] = { ERNIC_OP_WRITE_FIRST, ERNIC_OP_WRITE_MIDDLE,
                         ERNIC_OP_WRITE_LAST, ERNIC_OP_WRITE_ONLY },
    [ERNIC_WR_WRITE_IMM] = { ERNIC_OP_WRITE_FIRST, ERNIC_OP_WRITE_MIDDLE,
                             ERNIC_OP_WRITE_LAST_IMM,
                             ERNIC_OP_WRITE_ONLY_IMM },
    /* The response to a READ. */
    [ERNIC_WR_READ] = { ERNIC_OP_READ_RSP_FIRST, ERNIC_OP_READ_RSP_MIDDLE,
                        ERNIC_OP_READ_RSP_LAST, ERNIC_OP_READ_RSP_ONLY },
};

/* Packet @k of @n of a message of @len bytes. */
static ErnicOp packet_op(uint8_t opcode, uint32_t k, uint32_t n)
{
    const Message *m = &messages[opcode];

    return n == 1 ? m->only : k == 0 ? m->first :
           k == n - 1 ? m->last : m->middle;
}

static uint32_t packets(const Dialog *d, uint32_t len)
{
    uint32_t mtu = dlg_mtu(d);

    return len == 0 ? 1 : len / mtu + (len % mtu != 0);
}

/* Packet @k of @n, still without addresses, ACK request and immediate. */
static ErnicPkt packet(const Dialog *d, uint32_t psn, const uint8_t *bytes,
                       uint32_t len, uint32_t k, uint32_t n)
{
    uint32_t mtu = dlg_mtu(d);
    ErnicPkt pkt = {
        .psn = (psn + k) & 0xffffff, .payload = bytes + k * mtu,
        .payload_len = k == n - 1 ? len - k * mtu : mtu,
    };

    return pkt;
}

static void operands(ErnicPkt *pkt, uint8_t opcode, uint32_t k, uint32_t n,
                     uint64_t va, uint32_t rkey, uint32_t len)
{
    bool write = opcode == ERNIC_WR_WRITE || opcode == ERNIC_WR_WRITE_IMM;
    bool imm = opcode == ERNIC_WR_SEND_IMM || opcode == ERNIC_WR_WRITE_IMM;

    if (write && k == 0) {
        pkt->va = va;
        pkt->rkey = rkey;
        pkt->dma_len = len;
    }
    if (imm && k == n - 1) {
        pkt->imm = DLG_IMM;
    }
    if (opcode == ERNIC_WR_SEND_INV && k == n - 1) {
        pkt->inv_rkey = DLG_INV_RKEY;
    }
}

uint32_t dlg_sent_message(Dialog *d, uint8_t opcode, uint8_t flags,
                          uint32_t psn, uint64_t off, uint32_t len)
{
    uint32_t n = packets(d, len);

    for (uint32_t k = 0; k < n; k++) {
        ErnicPkt pkt = packet(d, psn, d->at + off, len, k, n);

        operands(&pkt, opcode, k, n, DLG_RADDR, DLG_RKEY, len);
        pkt.ackreq = k == n - 1 && dlg_acks(d);
        pkt.se = k == n - 1 && (flags & ERNIC_WR_SOLICITED);
        dlg_sent(d, packet_op(opcode, k, n), &pkt, __func__);
    }
    return n;
}

uint32_t dlg_send(Dialog *d, uint8_t opcode, uint32_t psn, uint64_t off, uint32_t len)
{
    dlg_post(d, opcode, off, len);
    return dlg_sent_message(d, opcode, 0, psn, off, len);
}

uint32_t dlg_peer_message(Dialog *d, uint8_t opcode, uint32_t psn,
                          uint64_t to, uint32_t len)
{
    uint32_t n = packets(d, len);

    for (uint32_t k = 0; k < n; k++) {
        ErnicPkt pkt = packet(d, psn, d->peer, len, k, n);

        operands(&pkt, opcode, k, n, d->mem + to, d->key, len);
        pkt.ackreq = k == n - 1 && dlg_acks(d);
        dlg_peer(d, packet_op(opcode, k, n), &pkt);
    }
    return n;
}

/* First, Last and Only have an AETH. */
static void aeth(ErnicPkt *pkt, uint32_t k, uint32_t n, uint32_t msn)
{
    if (k == 0 || k == n - 1) {
        pkt->syndrome = DLG_ACK;
        pkt->msn = msn;
    }
}

uint32_t dlg_peer_read(Dialog *d, uint32_t psn, uint32_t msn, uint32_t off, uint32_t len)
{
    uint32_t n = packets(d, len);

    for (uint32_t k = 0; k < n; k++) {
        ErnicPkt pkt = packet(d, psn, d->peer + off, len, k, n);

        aeth(&pkt, k, n, msn);
        dlg_peer(d, packet_op(ERNIC_WR_READ, k, n), &pkt);
    }
    return n;
}

uint32_t dlg_sent_read(Dialog *d, uint32_t psn, uint32_t msn, uint32_t off, uint32_t len)
{
    uint32_t n = packets(d, len);

    for (uint32_t k = 0; k < n; k++) {
        ErnicPkt pkt = packet(d, psn, d->at + off, len, k, n);

        aeth(&pkt, k, n, msn);
        dlg_sent(d, packet_op(ERNIC_WR_READ, k, n), &pkt, __func__);
    }
    return n;
}

uint32_t dlg_serve_read(Dialog *d, uint32_t psn, uint32_t msn, uint32_t off,
                        uint32_t len)
{
    PEER_READ(d, psn, off, len);
    return dlg_sent_read(d, psn, msn, off, len);
}

void dlg_serve_send(Dialog *d, uint32_t psn, uint32_t msn, uint64_t id)
{
    PEER_SEND(d, psn, 16);
    SENT_ACK(d, psn, msn);
    RECV_WC(d, id, SUCCESS);
}
