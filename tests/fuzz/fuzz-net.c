/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Frames: whatever is taken apart without complaint is put together again, and
 * has to be what it was, but for what the formats reserve. The first byte says
 * which sums and lengths are made right first, the rest is the frame.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "steering/flow.h"
#include "steering/flow_key.h"
#include "harness.h"
#include "wire/icrc.h"
#include "input.h"
#include "wire/frame.h"
#include "wire/headers.h"

#define FIX_LENGTHS     0x01
#define FIX_CHECKSUM    0x02
#define FIX_PORT        0x04
#define FIX_ICRC        0x08

#define FRAME_MAX       9100

/* Reserved bits of an InfiniBand packet: what emission has as 0. */
static void clear_reserved(const ErnicPkt *pkt, uint8_t *ib)
{
    uint32_t hdrs = ernic_opcode_hdrs(pkt->op, pkt->transport);
    uint8_t *ext = ib + ERNIC_BTH_LEN;

    ib[4] &= ERNIC_BTH_FECN | ERNIC_BTH_BECN;
    ib[8] &= ERNIC_BTH_ACKREQ;
    if (!(hdrs & ERNIC_HDR_DATA)) {
        ib[1] &= ~(ERNIC_BTH_PAD_MASK << ERNIC_BTH_PAD_SHIFT);
    }
    if (hdrs & ERNIC_HDR_XRCETH) {
        ext[0] = 0;
        ext += ERNIC_XRCETH_LEN;
    }
    if (hdrs & ERNIC_HDR_DETH) {
        ext[4] = 0;
    }
    if (hdrs & ERNIC_HDR_CNP) {
        memset(ext, 0, ERNIC_CNP_RSVD_LEN);
    }
}

static void fix_udp(uint8_t flags, uint8_t *udp, uint32_t len)
{
    if (flags & FIX_PORT) {
        stw_be_p(udp + 2, ERNIC_UDP_PORT);
    }
    if (flags & FIX_LENGTHS) {
        stw_be_p(udp + 4, len);
    }
}

static void fix_icrc(const uint8_t *ip, bool is_v6, uint8_t *ib, uint32_t len)
{
    ErnicIcrcCtx icrc;

    if (len >= ERNIC_BTH_LEN + ERNIC_ICRC_LEN) {
        ernic_icrc_init_ip(&icrc, ip, is_v6);
        len -= ERNIC_ICRC_LEN;
        stl_le_p(ib + len, ernic_icrc_packet(&icrc, ib, len));
    }
}

/* Make right what @flags ask for; the mutator would take for ever to. */
static void fix(uint8_t flags, uint8_t *frame, uint32_t len)
{
    uint32_t at = ERNIC_ETH_LEN, ip_len;
    uint8_t *ip;
    bool v6;

    if (len >= 18 && lduw_be_p(frame + 12) == ERNIC_ETHERTYPE_VLAN) {
        at += ERNIC_VLAN_LEN;
    }
    v6 = len >= at && lduw_be_p(frame + at - 2) == ERNIC_ETHERTYPE_IP6;
    ip_len = v6 ? ERNIC_IP6_LEN : ERNIC_IP4_LEN;
    if (len < at + ip_len + ERNIC_UDP_LEN) {
        return;
    }
    ip = frame + at;
    len -= at;
    if (flags & FIX_LENGTHS) {
        stw_be_p(ip + (v6 ? 4 : 2), v6 ? len - ip_len : len);
    }
    fix_udp(flags, ip + ip_len, len - ip_len);
    if ((flags & FIX_CHECKSUM) && !v6) {
        stw_be_p(ip + 10, 0);
        stw_be_p(ip + 10, ernic_net_checksum(ip, ERNIC_IP4_LEN));
    }
    if (flags & FIX_ICRC) {
        fix_icrc(ip, v6, ip + ip_len + ERNIC_UDP_LEN,
                 len - ip_len - ERNIC_UDP_LEN);
    }
}

static void same(const char *what, const uint8_t *a, const uint8_t *b,
                 uint32_t len)
{
    for (uint32_t i = 0; i < len; i++) {
        if (a[i] != (b[i] ^ (fuzz_break(what) && i == len / 2))) {
            fuzz_fail(what, "byte %u of %u: 0x%02x became 0x%02x", i, len,
                      a[i], b[i]);
        }
    }
}

/* The headers below BTH: all but what routers and sums decide. */
static void again_net(const ErnicFrame *f, const uint8_t *frame)
{
    uint8_t buf[ERNIC_NET_HDR_MAX], copy[ERNIC_NET_HDR_MAX];
    uint32_t len = ernic_net_emit(&f->path, f->ib_len, buf);
    uint32_t at = f->ip - frame;

    if (len != (uint32_t)(f->ib - frame) || len != ernic_net_hdr_len(&f->path)) {
        fuzz_fail("frame", "%u bytes of headers", len);
    }
    memcpy(copy, frame, len);
    if (!f->is_v6) {
        memset(copy + at + 4, 0, 2);            /* identification */
        copy[at + 6] = 0x40;                    /* DF */
        copy[at + 7] = 0;
        memcpy(copy + at + 10, buf + at + 10, 2);
    }
    memset(copy + len - 2, 0, 2);               /* UDP checksum */
    same("frame", copy, buf, len);
}

/* The packet: headers, payload, pad and ICRC. */
static void again_ib(const ErnicFrame *f)
{
    uint8_t buf[FRAME_MAX + ERNIC_PKT_TAIL_MAX], copy[FRAME_MAX];
    ErnicIcrcCtx icrc;
    uint32_t len, pad;
    ErnicPkt pkt;

    if (ernic_pkt_parse(&pkt, f->ib, f->ib_len) != ERNIC_DROP_NONE) {
        return;
    }
    if (pkt.dest_qp > ERNIC_QPN_MASK || pkt.psn > ERNIC_PSN_MASK ||
        pkt.src_qp > ERNIC_QPN_MASK || pkt.msn > ERNIC_MSN_MASK ||
        pkt.payload_len > f->ib_len) {
        fuzz_fail("packet", "a value beyond its bits");
    }
    memcpy(copy, f->ib, f->ib_len);
    clear_reserved(&pkt, copy);
    len = ernic_pkt_emit_hdr(&pkt, buf);
    if (pkt.payload_len) {
        memcpy(buf + len, pkt.payload, pkt.payload_len);
    }
    pad = -pkt.payload_len & 3;
    memset(copy + f->ib_len - ERNIC_ICRC_LEN - pkt.pad, 0, pkt.pad);
    /* A pad that is not needed is taken, and not sent. */
    if (pkt.pad != pad) {
        return;
    }
    ernic_icrc_init_ip(&icrc, f->ip, f->is_v6);
    len = ernic_pkt_finish(&icrc, buf, len + pkt.payload_len);
    if (len != f->ib_len) {
        fuzz_fail("packet", "of %u bytes became %u", f->ib_len, len);
    }
    same("packet", copy, buf, len - ERNIC_ICRC_LEN);
    if (ernic_icrc_ok(&icrc, buf, len) == fuzz_break("icrc")) {
        fuzz_fail("icrc", "not what the receiver computes");
    }
}

/* A key holds what its layers have, so that a rule could be made of it. */
static void again_key(const uint8_t *frame, uint32_t len)
{
    struct ernic_flow_key key;
    ErnicFlow flow = { .layers = ernic_flow_key(&key, frame, len) };

    flow.value = flow.mask = key;
    if (ernic_flow_check(flow.layers, &key, &key) != ERNIC_OK ||
        !ernic_flow_match(&flow, &key, flow.layers)) {
        fuzz_fail("frame", "a key that no rule can name");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *frame;
    uint32_t len;
    ErnicFrame f;

    if (size < 1 || size > FRAME_MAX) {
        return 0;
    }
    len = size - 1;
    /* Exactly as long as it is: one byte too far is seen. */
    frame = g_malloc(MAX(len, 1));
    memcpy(frame, data + 1, len);
    fix(data[0], frame, len);
    again_key(frame, len);
    if (ernic_net_parse(&f, frame, len) == ERNIC_DROP_NONE) {
        if (f.ib < frame || f.ib + f.ib_len > frame + len || f.ip < frame ||
            !f.ib_len) {
            fuzz_fail("frame", "a packet outside of the frame");
        }
        again_net(&f, frame);
        again_ib(&f);
    }
    g_free(frame);
    return 0;
}
