/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The memory that inbound requests may access, by their keys and ranges: painted
 * before they are delivered, so that an access to another byte is found.
 */
#include "qemu/osdep.h"
#include "wire/headers.h"
#include "wire/icrc.h"
#include "world.h"

static void brush(World *w, const WorldRange *r, uint8_t may, bool on)
{
    uint64_t off = r->off, len = r->len, n, addr;

    for (; r->key && len; off += n, len -= n) {
        n = r->key->list ? MIN(len, 4096 - off % 4096) : len;
        addr = r->key->list ? r->key->page[off / 4096] + off % 4096
                            : r->key->page[0] + off;
        if (on) {
            fuzz_paint(&w->g.h, addr, n, may);
        } else {
            fuzz_unpaint(&w->g.h, addr, n, may);
        }
    }
}

/* The range that a request of @len bytes at @pkt's address opens: all or nothing. */
static WorldRange range_of(const World *w, const ErnicPkt *pkt, uint64_t len,
                           uint32_t access)
{
    for (uint32_t i = 0; i < WORLD_KEYS; i++) {
        const WorldKey *key = &w->key[i];

        if (key->key == pkt->rkey && (key->access & access) &&
            (!key->qpn || key->qpn == pkt->dest_qp) && pkt->va >= key->iova &&
            pkt->va - key->iova <= key->len &&
            len <= key->len - (pkt->va - key->iova)) {
            return (WorldRange) { key, pkt->va - key->iova, len };
        }
    }
    return (WorldRange) { NULL, 0, 0 };
}

/* A WRITE's range, until the train has been served; others stay painted. */
static WorldRange claim(World *w, const ErnicPkt *pkt)
{
    WorldRange r = { NULL, 0, 0 };

    if (pkt->op->cls == ERNIC_CL_ATOMIC_WRITE ||
        (pkt->op->cls == ERNIC_CL_WRITE && (pkt->op->seg & ERNIC_SEG_START))) {
        r = range_of(w, pkt, pkt->dma_len, ERNIC_ACCESS_REMOTE_WRITE);
        brush(w, &r, FUZZ_RWRITE, true);
        return r;
    }
    if (pkt->op->cls == ERNIC_CL_READ) {
        r = range_of(w, pkt, pkt->dma_len, ERNIC_ACCESS_REMOTE_READ);
        brush(w, &r, FUZZ_RREAD, true);
    } else if (pkt->op->cls == ERNIC_CL_ATOMIC) {
        r = range_of(w, pkt, ERNIC_ATOMIC_LEN, ERNIC_ACCESS_REMOTE_ATOMIC);
        brush(w, &r, FUZZ_RATOMIC, true);
    }
    return (WorldRange) { NULL, 0, 0 };
}

static WorldRange *write_of(World *w, uint32_t qpn)
{
    for (uint32_t i = 0; i < w->g.qps; i++) {
        if (w->g.qp[i].q.qpn == qpn) {
            return &w->write[i];
        }
    }
    return NULL;
}

void world_rx(World *w, const ErnicTrain *train)
{
    WorldRange claims[ERNIC_TRAIN_BYTES / ERNIC_BTH_LEN + 1], *last;
    uint32_t pos, n = 0, i;
    ErnicIcrcCtx icrc;
    ErnicPkt pkt;

    if (train->ip) {
        ernic_icrc_init_ip(&icrc, train->ip, !ernic_gid_is_v4(&train->path.dgid));
    } else {
        ernic_icrc_init(&icrc, &train->path);
    }
    for (pos = 0; pos < train->len; pos += train->seg) {
        uint32_t len = MIN(train->seg, train->len - pos);

        if (ernic_pkt_parse(&pkt, train->data + pos, len) != ERNIC_DROP_NONE ||
            !ernic_icrc_ok(&icrc, train->data + pos, len)) {
            continue;
        }
        last = write_of(w, pkt.dest_qp);
        claims[n] = claim(w, &pkt);
        if (last && claims[n].key) {
            WorldRange old = *last;

            /* The one before is still open to what came before this packet. */
            *last = claims[n];
            claims[n++] = old;
        }
    }
    fuzz_rx(&w->g.h, train, fuzz_train_writes(train), FUZZ_QUEUE);
    for (i = 0; i < n; i++) {
        brush(w, &claims[i], FUZZ_RWRITE, false);
    }
    for (i = 0; i < w->g.qps && n; i++) {
        brush(w, &w->write[i], FUZZ_RWRITE, true);
    }
}
