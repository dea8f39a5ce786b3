/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Building trains and letting them go. What is addressed to this device goes
 * into the loopback store instead, a record per train, until the next run.
 */
#include "qemu/osdep.h"
#include "format.h"
#include "mcast.h"
#include "trace.h"
#include "tx.h"

/* In front of each loopback train; in host layout, it never leaves. */
typedef struct TxLoopHdr {
    ErnicPath path;
    uint32_t len, seg;
} TxLoopHdr;

ErnicTx *ernic_tx_new(void)
{
    ErnicTx *tx = g_new0(ErnicTx, 1);

    tx->loop = g_malloc0(ERNIC_LOOPBACK_BYTES);
    return tx;
}

void ernic_tx_free(ErnicTx *tx)
{
    g_free(tx->loop);
    g_free(tx);
}

bool ernic_gid_is_local(const Ernic *e, const ErnicGid *gid)
{
    static const ErnicGid none;
    uint32_t i;

    for (i = 0; i < ERNIC_LIM_GID; i++) {
        if (memcmp(&e->gid[i].gid, gid, sizeof(*gid)) == 0) {
            return memcmp(gid, &none, sizeof(none)) != 0;
        }
    }
    return false;
}

bool ernic_tx_loop_add(Ernic *e, const ErnicTrain *train)
{
    ErnicTx *tx = e->tx;
    TxLoopHdr hdr = {
        .path = train->path, .len = train->len, .seg = train->seg,
    };
    uint32_t need = sizeof(hdr) + train->len;

    if (need > ERNIC_LOOPBACK_BYTES - tx->loop_len) {
        return false;
    }
    memcpy(tx->loop + tx->loop_len, &hdr, sizeof(hdr));
    memcpy(tx->loop + tx->loop_len + sizeof(hdr), train->data, train->len);
    tx->loop_len += need;
    return true;
}

bool ernic_tx_loop_next(const Ernic *e, uint32_t *pos, ErnicTrain *train)
{
    const ErnicTx *tx = e->tx;
    TxLoopHdr hdr;

    if (*pos == tx->loop_len) {
        return false;
    }
    memcpy(&hdr, tx->loop + *pos, sizeof(hdr));
    *train = (ErnicTrain) {
        .path = hdr.path, .len = hdr.len, .seg = hdr.seg,
        .data = tx->loop + *pos + sizeof(hdr),
    };
    *pos += sizeof(hdr) + hdr.len;
    return true;
}

bool ernic_tx_flush(Ernic *e)
{
    ErnicTx *tx = e->tx;
    bool mcast = ernic_gid_is_mcast(&tx->path.dgid);
    bool local = !mcast && tx->packets &&
                 ernic_gid_is_local(e, &tx->path.dgid);
    ErnicTrain train;

    if (!tx->packets) {
        return true;
    }
    if (tx->busy || tx->loop_full) {
        return false;           /* asked again when there is room */
    }
    train = (ErnicTrain) {
        .path = tx->path, .data = tx->buf, .len = tx->len, .seg = tx->seg,
    };
    /* A port that is down loses what is sent, as an unplugged cable does. */
    if (!local && e->port_active && !e->ops->tx(e->env, &train)) {
        tx->busy = true;
        return false;
    }
    if ((local || mcast) && !ernic_tx_loop_add(e, &train)) {
        if (local) {
            tx->loop_full = true;
            return false;
        }
        /* The group's other members have it; a datagram may be lost. */
        e->stats.loopback_drops++;
        trace_ernic_loopback_drop(train.len);
    }
    trace_ernic_tx_train(tx->packets, tx->len);
    e->stats.tx_trains++;
    tx->busy = false;
    tx->closed = false;
    tx->len = 0;
    tx->packets = 0;
    tx->serial++;
    return true;
}

/* Whether a packet of @len bytes may follow those that are held. */
static bool tx_fits(const ErnicTx *tx, const ErnicPath *path, uint32_t len)
{
    return !tx->closed && len <= tx->seg &&
           len <= ERNIC_TRAIN_BYTES - tx->len &&
           tx->packets < ERNIC_TRAIN_PACKETS &&
           memcmp(path, &tx->path, sizeof(*path)) == 0;
}

bool ernic_tx_packet(Ernic *e, const ErnicPath *path, const ErnicPkt *pkt,
                     uint8_t **payload)
{
    ErnicTx *tx = e->tx;
    uint32_t hdr_len = ernic_opcode_hdr_len(pkt->op, pkt->transport);
    uint32_t len = ernic_pkt_len(hdr_len, pkt->payload_len);

    if (tx->busy || tx->loop_full) {
        return false;
    }
    if (tx->packets && !tx_fits(tx, path, len) && !ernic_tx_flush(e)) {
        return false;
    }
    if (!tx->packets) {
        if (memcmp(path, &tx->path, sizeof(*path)) != 0 ||
            !tx->icrc.pseudo_len) {
            tx->path = *path;
            ernic_icrc_init(&tx->icrc, path);
        }
        tx->seg = len;
    }
    ernic_pkt_emit_hdr(pkt, tx->buf + tx->len);
    *payload = tx->buf + tx->len + hdr_len;
    return true;
}

void ernic_tx_commit(Ernic *e, uint32_t qpn, const ErnicPkt *pkt)
{
    ErnicTx *tx = e->tx;
    uint32_t hdr_len = ernic_opcode_hdr_len(pkt->op, pkt->transport);
    uint32_t len = ernic_pkt_finish(&tx->icrc, tx->buf + tx->len,
                                    hdr_len + pkt->payload_len);

    trace_ernic_tx_packet(pkt->op->name, pkt->dest_qp, pkt->psn, len);
    tx->len += len;
    tx->packets++;
    tx->closed = len < tx->seg;
    e->stats.tx_packets++;
    e->stats.tx_bytes += len;
    if (unlikely(e->format->sent)) {
        e->format->sent(e, qpn, pkt);
    }
}
