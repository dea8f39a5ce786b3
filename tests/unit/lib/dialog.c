/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Dialogues: the peer's packets are emitted and the engine's are parsed by the
 * codec, which has oracles of its own.
 */
#include "qemu/osdep.h"
#include "dialog.h"
#include "wire/ib_tables.h"

#define PKT_MAX (ERNIC_PKT_HDR_MAX + 8192 + ERNIC_PKT_TAIL_MAX)

/* A packet that the engine sent. */
typedef struct Sent {
    ErnicPkt pkt;
    ErnicPath path;
    uint8_t bytes[];
} Sent;

static void fill(uint8_t *buf, uint32_t len, uint32_t seed)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(seed);

    for (uint32_t i = 0; i < len; i += 4) {
        stl_le_p(buf + i, g_rand_int(rand));
    }
}

static void make_attr(Dialog *d)
{
    fake_qp_attr(&d->attr, DLG_PEER_QPN, DLG_PEER);
    d->attr.sq_psn = cpu_to_le32(DLG_SQ_PSN);
    d->attr.rq_psn = cpu_to_le32(DLG_RQ_PSN);
    d->path = (ErnicPath) {
        .smac = { 2, 0, 0, 0, 0, DLG_PEER }, .dmac = { 2, 0, 0, 0, 0, DLG_HOST },
        .vlan = ERNIC_NO_VLAN, .udp_sport = 0xc0de, .tclass = ERNIC_ECN_ECT0,
        .hop_limit = 64,
    };
    fake_gid(d->path.sgid.raw, DLG_PEER);
    fake_gid(d->path.dgid.raw, DLG_HOST);
}

/* The queue pair and what it receives with. */
static void make_qp(Dialog *d, uint8_t type, bool srq)
{
    bool tgt = type == ERNIC_QPT_XRC_TGT;

    if (tgt) {
        d->xrcd = fake_create_pd(d->e);
        fake_create_xrc_srq(d->e, &d->srq, d->pd, 64, d->xrcd, d->rcq.cqn);
        fake_create_xrc_tgt(d->e, &d->qp, d->xrcd);
        return;
    }
    if (srq) {
        fake_create_srq(d->e, &d->srq, d->pd, 64, 0);
    }
    fake_create_qp(d->e, &d->qp, type, d->pd, d->scq.cqn,
                   type == ERNIC_QPT_XRC_INI ? 0 : d->rcq.cqn,
                   srq ? d->srq.srqn : FAKE_NONE);
}

bool dlg_acks(const Dialog *d)
{
    return d->transport == ERNIC_RC || d->transport == ERNIC_XRC;
}

static ErnicTransport transport_of(uint8_t type)
{
    switch (type) {
    case ERNIC_QPT_RC:
        return ERNIC_RC;
    case ERNIC_QPT_UC:
        return ERNIC_UC;
    case ERNIC_QPT_XRC_INI:
    case ERNIC_QPT_XRC_TGT:
        return ERNIC_XRC;
    case ERNIC_QPT_RAW:
    case ERNIC_QPT_RWQ:
        return ERNIC_RAW;
    default:
        return ERNIC_UD;
    }
}

void dlg_init(Dialog *d, uint8_t type, bool srq)
{
    memset(d, 0, sizeof(*d));
    d->e = fake_ernic_new(&d->env);
    d->transport = transport_of(type);
    fake_create_eq(d->e, &d->eq, 64, 0, true);
    fake_create_cq(d->e, &d->scq, 256, FAKE_NONE);
    fake_create_cq(d->e, &d->rcq, 256, FAKE_NONE);
    d->pd = fake_create_pd(d->e);
    make_qp(d, type, srq);
    d->mem = fake_alloc(&d->env, DLG_MEM, 4096);
    d->at = fake_ptr(&d->env, d->mem, DLG_MEM);
    d->key = fake_reg_mr(d->e, d->pd, d->mem, DLG_MEM, ERNIC_ACCESS_LOCAL_WRITE |
                         ERNIC_ACCESS_REMOTE_WRITE | ERNIC_ACCESS_REMOTE_READ |
                         ERNIC_ACCESS_REMOTE_ATOMIC | ERNIC_ACCESS_MW_BIND |
                         ERNIC_ACCESS_FLUSH_GLOBAL);
    d->peer = g_malloc(DLG_SINK);
    fill(d->at, DLG_SINK, 1);
    fill(d->peer, DLG_SINK, 2);
    make_attr(d);
    g_queue_init(&d->sent);
}

void dlg_to(Dialog *d, uint8_t state)
{
    fake_qp_to(d->e, &d->qp, state, &d->attr);
}

void dlg_open(Dialog *d, uint8_t type)
{
    dlg_init(d, type, false);
    dlg_to(d, ERNIC_QPS_RTS);
}

void dlg_open_mtu(Dialog *d, uint8_t type, uint8_t mtu, uint32_t psn)
{
    DLG_OPEN(d, type, d->attr.path_mtu = mtu;
             d->attr.sq_psn = d->attr.rq_psn = cpu_to_le32(psn));
}

void dlg_open_in(Dialog *d, uint8_t type, uint8_t state)
{
    dlg_init(d, type, false);
    switch (state) {
    case ERNIC_QPS_RESET:
        break;
    case ERNIC_QPS_SQD:
    case ERNIC_QPS_ERR:
        dlg_to(d, ERNIC_QPS_RTS);
        dlg_state(d, state);
        break;
    case ERNIC_QPS_SQE:
        /* A request that the service does not support leads to SQE. */
        dlg_to(d, ERNIC_QPS_RTS);
        dlg_post(d, ERNIC_WR_READ, 0, 8);
        SEND_WC(d, 0, LOC_QP_OP_ERR);
        break;
    default:
        dlg_to(d, state);
        break;
    }
    dlg_state_is(d, state);
}

/* All invariants hold; after every step. */
static void check(Dialog *d)
{
    g_autoptr(GString) why = g_string_new(NULL);

    if (!ernic_check(d->e, why)) {
        g_error("%s", why->str);
    }
}

void dlg_close(Dialog *d)
{
    QUIET(d);
    dlg_no_wc(d);
    dlg_no_event(d);
    fake_ernic_done(&d->env, d->e);
    g_free(d->peer);
}

/* ---- packets in ------------------------------------------------------ */

static void deliver(Dialog *d, const uint8_t *bytes, uint32_t len, const ErnicPath *path)
{
    ErnicTrain train = { .path = *path, .data = bytes, .len = len, .seg = len };

    if (d->blind) {
        train.path = d->blind->path;
        train.alt_sgid = d->blind->alt_sgid;
        train.alt_dgid = d->blind->alt_dgid;
        train.num_alt_sgid = d->blind->num_alt_sgid;
        train.num_alt_dgid = d->blind->num_alt_dgid;
    }
    ernic_rx(d->e, d->env.now, &train);
    check(d);
    if (!d->hold) {
        fake_run(d->e);
        check(d);
    }
}

void dlg_inject(Dialog *d, const ErnicPkt *pkt, const ErnicPath *path)
{
    uint8_t buf[PKT_MAX];
    ErnicIcrcCtx icrc;
    uint32_t len = ernic_pkt_emit_hdr(pkt, buf);

    if (pkt->payload) {
        memcpy(buf + len, pkt->payload, pkt->payload_len);
    } else {
        memset(buf + len, 0, pkt->payload_len);
    }
    ernic_icrc_init(&icrc, path);
    len = ernic_pkt_finish(&icrc, buf, len + pkt->payload_len);
    deliver(d, buf, len, path);
}

void dlg_inject_raw(Dialog *d, const uint8_t *bytes, uint32_t len, bool icrc)
{
    uint8_t buf[PKT_MAX];

    memcpy(buf, bytes, len);
    if (icrc) {
        stl_le_p(buf + len, ernic_icrc(&d->path, buf, len));
        len += ERNIC_ICRC_LEN;
    }
    deliver(d, buf, len, &d->path);
}

void dlg_bth(const Dialog *d, uint8_t bytes[12], uint8_t opcode, uint32_t psn)
{
    stl_be_p(bytes, (uint32_t)opcode << 24 | 0x40 << 16 | ERNIC_PKEY_DEFAULT);
    stl_be_p(bytes + 4, d->qp.qpn);
    stl_be_p(bytes + 8, psn);
}

static ErnicPkt complete(const Dialog *d, ErnicOp op, const ErnicPkt *pkt,
                         uint32_t dest_qp)
{
    ErnicPkt p = *pkt;

    p.transport = d->transport;
    p.op = ernic_opcode(ernic_bth_opcode(d->transport, op));
    g_assert(p.op);
    p.migreq = true;
    p.dest_qp = p.dest_qp ? p.dest_qp : dest_qp;
    p.pkey = p.pkey ? p.pkey : ERNIC_PKEY_DEFAULT;
    return p;
}

void dlg_peer(Dialog *d, ErnicOp op, const ErnicPkt *pkt)
{
    ErnicPkt p = complete(d, op, pkt, d->qp.qpn);

    p.xrcsrq = p.xrcsrq ? p.xrcsrq : d->srq.srqn;
    dlg_inject(d, &p, &d->path);
}

static const ErnicPkt cnp = {
    .transport = ERNIC_RC, .pkey = ERNIC_PKEY_DEFAULT, .becn = true,
};

void dlg_cnp(Dialog *d)
{
    ErnicPkt p = cnp;

    p.op = ernic_opcode(ERNIC_BTH_CNP);
    p.dest_qp = d->qp.qpn;
    dlg_inject(d, &p, &d->path);
}

/* ---- packets out ----------------------------------------------------- */

static void collect_one(Dialog *d, const FakeTrain *ft, const uint8_t *bytes,
                        uint32_t len)
{
    Sent *sent = g_malloc0(sizeof(*sent) + len);
    ErnicIcrcCtx icrc;
    ErnicDrop why;

    memcpy(sent->bytes, bytes, len);
    sent->path = ft->train.path;
    why = ernic_pkt_parse(&sent->pkt, sent->bytes, len);
    g_assert_cmpstr(ernic_drop_name(why), ==, "none");
    ernic_icrc_init(&icrc, &sent->path);
    g_assert_true(ernic_icrc_ok(&icrc, sent->bytes, len));
    g_queue_push_tail(&d->sent, sent);
}

static void collect(Dialog *d)
{
    FakeTrain *ft;

    fake_run(d->e);
    check(d);
    while ((ft = fake_take_train(&d->env))) {
        for (uint32_t pos = 0; pos < ft->train.len; pos += ft->train.seg) {
            collect_one(d, ft, ft->train.data + pos,
                        MIN(ft->train.seg, ft->train.len - pos));
        }
        fake_train_free(ft);
    }
}

uint32_t dlg_pending(Dialog *d)
{
    if (g_queue_is_empty(&d->sent) || d->env.trains->len || d->env.wake <= d->env.now) {
        collect(d);
    }
    return g_queue_get_length(&d->sent);
}

ErnicPkt dlg_take(Dialog *d)
{
    Sent *sent;
    ErnicPkt pkt;

    g_assert_cmpuint(dlg_pending(d), >, 0);
    sent = g_queue_pop_head(&d->sent);
    pkt = sent->pkt;
    pkt.payload = NULL;
    d->sent_path = sent->path;
    g_free(sent);
    return pkt;
}

uint32_t dlg_drain(Dialog *d)
{
    uint32_t n;

    for (n = 0; dlg_pending(d); n++) {
        dlg_take(d);
    }
    return n;
}

static void same_headers(const ErnicPkt *got, const ErnicPkt *want)
{
    IS(got->psn, want->psn);
    IS(got->dest_qp, want->dest_qp);
    IS(got->pkey, want->pkey);
    IS(got->se, want->se);
    IS(got->ackreq, want->ackreq);
    IS(got->migreq, want->migreq);
    IS(got->becn, want->becn);
    IS(got->fecn, want->fecn);
    IS(got->xrcsrq, want->xrcsrq);
    IS(got->qkey, want->qkey);
    IS(got->src_qp, want->src_qp);
    IS(got->feth, want->feth);
    IS(got->va, want->va);
    IS(got->rkey, want->rkey);
    IS(got->dma_len, want->dma_len);
    IS(got->swap_add, want->swap_add);
    IS(got->compare, want->compare);
    IS(got->atomic_orig, want->atomic_orig);
    IS(got->syndrome, want->syndrome);
    IS(got->msn, want->msn);
    IS(got->imm, want->imm);
    IS(got->inv_rkey, want->inv_rkey);
}

static void take_same(Dialog *d, const ErnicPkt *want, const char *where)
{
    Sent *sent;

    if (!dlg_pending(d)) {
        g_error("%s: %s was not sent", where, want->op->name);
    }
    sent = g_queue_pop_head(&d->sent);
    if (sent->pkt.op != want->op || sent->pkt.psn != want->psn) {
        g_error("%s: %s of PSN 0x%x was sent instead of %s of 0x%x", where,
                sent->pkt.op->name, sent->pkt.psn, want->op->name, want->psn);
    }
    same_headers(&sent->pkt, want);
    IS(sent->pkt.payload_len, want->payload_len);
    if (want->payload) {
        g_assert_cmpmem(sent->pkt.payload, sent->pkt.payload_len,
                        want->payload, want->payload_len);
    }
    d->sent_path = sent->path;
    g_free(sent);
}

void dlg_sent(Dialog *d, ErnicOp op, const ErnicPkt *want, const char *where)
{
    ErnicPkt p = complete(d, op, want, DLG_PEER_QPN);

    p.xrcsrq = d->qp.type == ERNIC_QPT_XRC_INI ? DLG_XRC_SRQ : 0;
    take_same(d, &p, where);
}

void dlg_sent_cnp(Dialog *d)
{
    ErnicPkt p = cnp;

    p.op = ernic_opcode(ERNIC_BTH_CNP);
    p.dest_qp = DLG_PEER_QPN;
    take_same(d, &p, __func__);
}

/* ---- software -------------------------------------------------------- */

void dlg_create_qp(Dialog *d, FakeQp *qp, uint8_t type)
{
    fake_create_qp(d->e, qp, type, d->pd, d->scq.cqn, d->rcq.cqn, FAKE_NONE);
}

struct ernic_wqe dlg_wqe(const Dialog *d, uint8_t opcode, uint8_t flags)
{
    struct ernic_wqe wqe = {
        .opcode = opcode, .flags = flags, .wr_id = cpu_to_le64(d->qp.sq_pi),
    };

    if (opcode == ERNIC_WR_SEND_IMM || opcode == ERNIC_WR_WRITE_IMM) {
        stl_be_p(wqe.imm, DLG_IMM);
    } else if (opcode == ERNIC_WR_SEND_INV) {
        stl_le_p(wqe.imm, DLG_INV_RKEY);
    } else if (opcode == ERNIC_WR_CMP_SWAP) {
        wqe.atomic.swap = cpu_to_le64(DLG_SWAP);
    }
    switch (opcode) {
    case ERNIC_WR_WRITE:
    case ERNIC_WR_WRITE_IMM:
    case ERNIC_WR_READ:
    case ERNIC_WR_ATOMIC_WRITE:
        wqe.rdma.raddr = cpu_to_le64(DLG_RADDR);
        wqe.rdma.rkey = cpu_to_le32(DLG_RKEY);
        break;
    case ERNIC_WR_CMP_SWAP:
    case ERNIC_WR_FETCH_ADD:
        wqe.atomic.raddr = cpu_to_le64(DLG_RADDR);
        wqe.atomic.rkey = cpu_to_le32(DLG_RKEY);
        wqe.atomic.compare_add = cpu_to_le64(DLG_COMPARE);
        break;
    case ERNIC_WR_FLUSH:
        wqe.flush.raddr = cpu_to_le64(DLG_RADDR);
        wqe.flush.rkey = cpu_to_le32(DLG_RKEY);
        wqe.flush.type = ERNIC_FLUSH_GLOBAL;
        break;
    default:
        break;
    }
    if (d->transport == ERNIC_XRC) {
        wqe.send.xrc_srq = cpu_to_le32(DLG_XRC_SRQ);
    } else if (d->transport == ERNIC_UD) {
        wqe.ud.qkey = cpu_to_le32(DLG_QKEY);
        wqe.ud.dest_qpn = cpu_to_le32(DLG_PEER_QPN);
        wqe.ud.av = d->attr.av;
    }
    return wqe;
}

struct ernic_wqe dlg_bind(Dialog *d, uint32_t key, uint32_t new_key, uint64_t off,
                          uint64_t len, uint32_t access)
{
    struct ernic_wqe wqe = dlg_wqe(d, ERNIC_WR_BIND_MW, ERNIC_WR_SIGNALED);

    wqe.bind_mw = (struct ernic_wqe_bind_mw) {
        .rkey = cpu_to_le32(key), .new_rkey = cpu_to_le32(new_key),
        .lkey = cpu_to_le32(d->key), .access = cpu_to_le32(access),
        .addr = cpu_to_le64(d->mem + off), .length = cpu_to_le64(len),
    };
    return wqe;
}

struct ernic_wqe dlg_bind_mw(Dialog *d, uint32_t *rkey)
{
    uint32_t key = fake_alloc_mw(d->e, d->pd, 2);
    struct ernic_wqe wqe = dlg_bind(d, key, key + 1, DLG_SINK, 64,
                                    ERNIC_ACCESS_REMOTE_WRITE);

    *rkey = key + 1;            /* last: it may be d->key */
    return wqe;
}

void dlg_post_wqe(Dialog *d, const struct ernic_wqe *wqe, uint64_t off, uint32_t len)
{
    struct ernic_sge sge = fake_sge(d->mem + off, len, d->key);
    struct ernic_wqe copy = *wqe;
    uint8_t status;

    copy.wr_id = cpu_to_le64(d->qp.sq_pi);
    if (len && !wqe->count) {
        copy.count = cpu_to_le16(1);
    }
    fake_post_send(d->e, &d->qp, &copy,
                   wqe->flags & ERNIC_WR_INLINE ? (void *)(d->at + off) : &sge);
    status = fake_ring_sq(d->e, &d->qp);
    OK(status);
}

void dlg_post_flags(Dialog *d, uint8_t opcode, uint8_t flags, uint64_t off, uint32_t len)
{
    struct ernic_wqe wqe = dlg_wqe(d, opcode, flags);

    if (flags & ERNIC_WR_INLINE) {
        wqe.count = cpu_to_le16(len);
    }
    dlg_post_wqe(d, &wqe, off, len);
}

void dlg_post(Dialog *d, uint8_t opcode, uint64_t off, uint32_t len)
{
    dlg_post_flags(d, opcode, ERNIC_WR_SIGNALED, off, len);
}

void dlg_recv(Dialog *d, uint64_t off, uint32_t len)
{
    struct ernic_sge sge = fake_sge(d->mem + off, len, d->key);
    uint8_t status;

    if (d->srq.srqn) {
        fake_post_srq(d->e, &d->srq, d->srq.pi, &sge, 1);
        status = fake_ring_srq(d->e, &d->srq);
    } else {
        fake_post_recv(d->e, &d->qp, d->qp.rq_pi, &sge, 1);
        status = fake_ring_rq(d->e, &d->qp);
    }
    OK(status);
}

void dlg_recv_many(Dialog *d, uint32_t n, uint64_t off, uint32_t len)
{
    while (n--) {
        dlg_recv(d, off, len);
    }
}

static struct ernic_cqe take_wc(Dialog *d, FakeCq *cq, uint64_t wr_id, uint8_t status)
{
    struct ernic_cqe cqe;

    fake_run(d->e);
    g_assert_true(fake_poll_cq(d->e, cq, &cqe));
    IS(cqe.wr_id, wr_id);
    IS(cqe.status, status);
    IS(cqe.qpn, d->qp.qpn);
    IS(!!(cqe.flags & ERNIC_CQE_RQ), cq == &d->rcq);
    IS(cqe.vendor_err != 0, status != ERNIC_WC_SUCCESS);
    fake_ring_cq(d->e, cq);
    return cqe;
}

struct ernic_cqe dlg_send_wc(Dialog *d, uint64_t wr_id, uint8_t status)
{
    return take_wc(d, &d->scq, wr_id, status);
}

struct ernic_cqe dlg_recv_wc(Dialog *d, uint64_t wr_id, uint8_t status)
{
    return take_wc(d, &d->rcq, wr_id, status);
}

void dlg_wcs(Dialog *d, DlgWc *wc, uint64_t first, uint64_t last, uint8_t status)
{
    for (; first <= last; first++) {
        wc(d, first, status);
    }
}

void dlg_no_wc(Dialog *d)
{
    struct ernic_cqe cqe;

    fake_run(d->e);
    g_assert_false(fake_poll_cq(d->e, &d->scq, &cqe));
    g_assert_false(fake_poll_cq(d->e, &d->rcq, &cqe));
}

struct ernic_eqe dlg_event_of(Dialog *d, uint8_t type, uint32_t element)
{
    struct ernic_eqe eqe;

    fake_run(d->e);
    g_assert_true(fake_poll_eq(d->e, &d->eq, &eqe));
    IS(eqe.type, type);
    IS(eqe.element, element);
    fake_ring_eq(d->e, &d->eq);
    return eqe;
}

void dlg_nothing(Dialog *d)
{
    QUIET(d);
    dlg_no_wc(d);
}

void dlg_ends(Dialog *d, uint8_t syndrome, uint32_t psn, uint32_t msn, uint8_t event)
{
    SENT_NAK(d, syndrome, psn, msn);
    dlg_event(d, event);
    STATE_IS(d, ERR);
}

void dlg_event(Dialog *d, uint8_t type)
{
    dlg_event_of(d, type, d->qp.qpn);
}

void dlg_no_event(Dialog *d)
{
    struct ernic_eqe eqe;

    fake_run(d->e);
    g_assert_false(fake_poll_eq(d->e, &d->eq, &eqe));
}

uint8_t dlg_modify(Dialog *d, uint32_t mask, uint8_t state)
{
    return fake_modify_qp(d->e, d->qp.qpn, mask, state, &d->attr);
}

void dlg_state(Dialog *d, uint8_t state)
{
    OK(dlg_modify(d, ERNIC_QPA_STATE, state));
    fake_run(d->e);
}

void dlg_query(Dialog *d, struct ernic_qp_attr *attr)
{
    memcpy(attr, fake_query(d->e, ERNIC_CMD_QP_QUERY, d->qp.qpn, sizeof(*attr)),
           sizeof(*attr));
}

void dlg_state_is(Dialog *d, uint8_t state)
{
    struct ernic_qp_attr attr;

    fake_run(d->e);
    dlg_query(d, &attr);
    IS(attr.state, state);
}

void dlg_wait(Dialog *d, uint64_t ns)
{
    fake_advance(d->e, ns);
    check(d);
}

void dlg_mem_is(Dialog *d, uint64_t off, const uint8_t *bytes, uint32_t len)
{
    g_assert_cmpuint(off + len, <=, DLG_MEM);
    if (bytes) {
        g_assert_cmpmem(d->at + off, len, bytes, len);
        return;
    }
    for (uint32_t i = 0; i < len; i++) {
        IS(d->at[off + i], 0);
    }
}

uint32_t dlg_mtu(const Dialog *d)
{
    return ernic_mtu_bytes(d->attr.path_mtu);
}
