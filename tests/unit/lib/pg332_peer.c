/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A scripted peer of a card.
 */
#include "qemu/osdep.h"
#include "pg332_peer.h"

ErnicPath peer_path(void)
{
    return (ErnicPath) {
        .sgid.raw = { [10] = 0xff, 0xff, 10, 0, 0, 2 },
        .dgid.raw = { [10] = 0xff, 0xff, 10, 0, 0, 1 },
        .smac = { 0x00, 0x0a, 0x35, 0x01, 0x02, 0x01 },
        .dmac = { 0x00, 0x0a, 0x35, 0x01, 0x02, 0x00 },
        .vlan = ERNIC_NO_VLAN, .udp_sport = 0xc123, .hop_limit = 64,
    };
}

void peer_says(Card *c, ErnicOp op, const ErnicPkt *pkt)
{
    g_autofree uint8_t *buf = g_malloc0(pkt->payload_len + 256);
    ErnicTrain train = { .path = peer_path(), .data = buf };
    ErnicPkt p = *pkt;
    ErnicIcrcCtx icrc;
    uint32_t len;

    p.transport = ERNIC_RC;
    p.op = ernic_opcode(ernic_bth_opcode(ERNIC_RC, op));
    p.migreq = true;
    p.dest_qp = p.dest_qp ? p.dest_qp : QPN;
    p.pkey = ERNIC_PKEY_DEFAULT;
    len = ernic_pkt_emit_hdr(&p, buf);
    if (p.pad) {
        /* Pad count that does not match the length. */
        buf[1] |= p.pad << ERNIC_BTH_PAD_SHIFT;
        len += p.payload_len;
        ernic_icrc_init(&icrc, &train.path);
        stl_le_p(buf + len, ernic_icrc_packet(&icrc, buf, len));
        len += ERNIC_ICRC_LEN;
    } else {
        ernic_icrc_init(&icrc, &train.path);
        len = ernic_pkt_finish(&icrc, buf, len + p.payload_len);
    }
    train.len = train.seg = len;
    ernic_rx(c->e, c->env.now, &train);
    fake_run(c->e);
    fake_check(c->e);
}

bool peer_hears(Card *c, ErnicPkt *pkt)
{
    static FakeTrain *train;
    static uint32_t pos;
    uint32_t len;

    if (!train) {
        train = fake_take_train(&c->env);
        pos = 0;
    }
    if (!train) {
        return false;
    }
    len = MIN(train->train.seg, train->train.len - pos);
    IS(ernic_pkt_parse(pkt, train->train.data + pos, len), ERNIC_DROP_NONE);
    pkt->payload = NULL;
    pos += len;
    if (pos == train->train.len) {
        fake_train_free(train);
        train = NULL;
    }
    return true;
}

void peer_hears_ack(Card *c, uint8_t syndrome)
{
    ErnicPkt pkt;

    g_assert(peer_hears(c, &pkt));
    IS(pkt.op->cls, ERNIC_CL_ACK);
    IS(pkt.syndrome, syndrome);
    peer_hears_nothing(c);
}

void peer_hears_nothing(Card *c)
{
    ErnicPkt pkt;

    g_assert(!peer_hears(c, &pkt));
}
