/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Datagrams: address vector and Q_Key per request, the GRH area in front of
 * what is received, partitions, multicast, QP1 (IBTA vol. 1, 9.8.3, 10.2.5,
 * 10.5.2, 10.9.3; annex A17.4).
 */
#include "qemu/osdep.h"
#include "dialog.h"
#include "trace-mark.h"
#include "transport/rx.h"

#define SQ DLG_SQ_PSN
#define GRH ERNIC_GRH_LEN

#define SENT_UD(d, PSN_, LEN)                                               \
    SENT(d, SEND_ONLY, .psn = (PSN_), .qkey = DLG_QKEY,                     \
         .src_qp = (d)->qp.qpn, .payload = (d)->at, .payload_len = (LEN))

/* A request with Q_Key @asked leaves with @sent. */
static void sends_qkey(Dialog *d, uint32_t asked, uint32_t psn, uint32_t sent)
{
    struct ernic_wqe wqe = dlg_wqe(d, ERNIC_WR_SEND, 0);

    wqe.ud.qkey = cpu_to_le32(asked);
    dlg_post_wqe(d, &wqe, 0, 16);
    SENT(d, SEND_ONLY, .psn = psn, .qkey = sent, .src_qp = d->qp.qpn, .payload_len = 16);
}

DIALOG_TEST("/ud/req/send", ERNIC_QPT_UD, test_send)
{
    static const uint32_t lens[] = { 0, 1, 2, 3, 4, 255, 1024, 4095, 4096 };
    uint32_t i;

    for (i = 0; i < ARRAY_SIZE(lens); i++) {
        dlg_post(d, ERNIC_WR_SEND, 0, lens[i]);
        SENT_UD(d, SQ + i, lens[i]);
        SEND_WC(d, i, SUCCESS);
    }
    dlg_post_flags(d, ERNIC_WR_SEND_IMM,
                   ERNIC_WR_SIGNALED | ERNIC_WR_SOLICITED | ERNIC_WR_INLINE, 0, 77);
    SENT_DATA(d, SEND_ONLY_IMM, SQ + i, 0, 77, .qkey = DLG_QKEY, .se = true,
              .src_qp = d->qp.qpn, .imm = DLG_IMM);
    SEND_WC(d, i, SUCCESS);
}

/* Each request goes to its own address vector, from its own source address. */
DIALOG_TEST("/ud/req/av", ERNIC_QPT_UD, test_av)
{
    const ErnicPath *path = &d->sent_path;
    struct ernic_wqe wqe;

    fake_set_gid(d->e, 3, 7);
    dlg_event_of(d, ERNIC_EV_GID_CHANGE, 1);
    for (uint32_t i = 0; i < 4; i++) {
        wqe = dlg_wqe(d, ERNIC_WR_SEND, 0);
        wqe.ud.dest_qpn = cpu_to_le32(0x900 + i);
        wqe.ud.qkey = cpu_to_le32(0x70 + i);
        fake_gid(wqe.ud.av.dgid, 20 + i);
        wqe.ud.av.dmac[5] = 20 + i;
        wqe.ud.av.sgid_index = i & 1 ? 3 : 0;
        wqe.ud.av.hop_limit = 100 + i;
        wqe.ud.av.tclass = 0x40 | i << 2;
        dlg_post_wqe(d, &wqe, 0, 16);
    }
    for (uint32_t i = 0; i < 4; i++) {
        SENT_DATA(d, SEND_ONLY, SQ + i, 0, 16, .qkey = 0x70 + i, .dest_qp = 0x900 + i,
                  .src_qp = d->qp.qpn);
        IS(path->dgid.raw[15], 20 + i);
        IS(path->dmac[5], 20 + i);
        IS(path->sgid.raw[15], i & 1 ? 7 : 1);
        IS(path->smac[5], i & 1 ? 7 : 1);
        IS(path->hop_limit, 100 + i);
        IS(path->tclass & 0xfc, 0x40 | i << 2);
        IS(path->vlan, ERNIC_NO_VLAN);
    }
}

/* 10.2.5: with the high bit set in the request, the queue pair's is sent. */
DIALOG_TEST_BY("/ud/req/qkey-high-bit",
               DLG_OPEN(d, ERNIC_QPT_UD, d->attr.qkey = cpu_to_le32(0x87654321)),
               test_qkey_high_bit)
{
    static const uint32_t rows[][2] = {
        { 0x80000000, 0x87654321 }, { 0x7fffffff, 0x7fffffff },
    };

    for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++) {
        sends_qkey(d, rows[i][0], SQ + i, rows[i][1]);
    }
}

/* The link goes down with a train in it: nobody will report its departure. */
DIALOG_TEST("/ud/req/complete-link-down", ERNIC_QPT_UD, test_complete_link_down)
{
    d->env.tx_keeps = true;
    dlg_post(d, ERNIC_WR_SEND, 0, 16);
    dlg_wait(d, 1000000000);
    dlg_no_wc(d);
    ernic_set_link(d->e, d->env.now, false);
    fake_run(d->e);
    SEND_WC(d, 0, SUCCESS);
    SENT_UD(d, SQ, 16);
    dlg_event_of(d, ERNIC_EV_PORT_ERR, 1);
}

static void peer_send(Dialog *d, uint32_t len)
{
    PEER_DATA(d, SEND_ONLY, 5, 0, len, .qkey = DLG_QKEY, .src_qp = 0x654321);
}

/*
 * The bad request completes with its reason, later ones are flushed, and receiving
 * continues; RTS resumes sending (10.3.1, SQE).
 */
static void bad_request(Dialog *d, const struct ernic_wqe *wqe, uint32_t len,
                        uint8_t status)
{
    dlg_recv(d, DLG_SINK, 64);
    d->env.tx_busy = true;
    dlg_post(d, ERNIC_WR_SEND, 0, 10);
    dlg_post_wqe(d, wqe, 0, len);
    dlg_post_flags(d, ERNIC_WR_SEND, 0, 0, 11);
    dlg_wait(d, 1000000000);
    dlg_no_wc(d);
    fake_tx_ready(d->e);
    SEND_WC(d, 0, SUCCESS);
    dlg_send_wc(d, 1, status);
    SEND_WC(d, 2, WR_FLUSH_ERR);
    SENT_UD(d, SQ, 10);
    STATE_IS(d, SQE);
    peer_send(d, 10);
    RECV_WC(d, 0, SUCCESS);
    dlg_post(d, ERNIC_WR_SEND, 0, 12);
    SEND_WC(d, 3, WR_FLUSH_ERR);
    dlg_state(d, ERNIC_QPS_RTS);
    dlg_post(d, ERNIC_WR_SEND, 0, 13);
    SENT_UD(d, SQ + 1, 13);
    SEND_WC(d, 4, SUCCESS);
}

#define BAD_TEST(NAME, LEN, STATUS, ...)                                    \
    DIALOG_TEST("/ud/bad/" #NAME, ERNIC_QPT_UD, test_bad_##NAME)            \
    {                                                                       \
        struct ernic_wqe wqe = dlg_wqe(d, ERNIC_WR_SEND, 0);                \
                                                                            \
        __VA_ARGS__;                                                        \
        bad_request(d, &wqe, LEN, ERNIC_WC_##STATUS);                       \
    }

BAD_TEST(over_mtu, 4097, LOC_LEN_ERR)
BAD_TEST(sgid_index, 16, LOC_QP_OP_ERR, wqe.ud.av.sgid_index = ERNIC_LIM_GID)
BAD_TEST(sgid_free, 16, LOC_QP_OP_ERR, wqe.ud.av.sgid_index = 5)
BAD_TEST(ip_version, 16, LOC_QP_OP_ERR, wqe.ud.av.dgid[0] = 0xfe)
BAD_TEST(flow_label, 16, LOC_QP_OP_ERR, wqe.ud.av.flow_label = cpu_to_le32(0x100000))
BAD_TEST(reserved, 16, LOC_QP_OP_ERR, wqe.ud.av.reserved[1] = 1)
BAD_TEST(pkey_index, 16, LOC_QP_OP_ERR, wqe.ud.pkey_index = cpu_to_le16(1))
BAD_TEST(write, 16, LOC_QP_OP_ERR, wqe.opcode = ERNIC_WR_WRITE)
BAD_TEST(read, 16, LOC_QP_OP_ERR, wqe.opcode = ERNIC_WR_READ)
BAD_TEST(send_inv, 16, LOC_QP_OP_ERR, wqe.opcode = ERNIC_WR_SEND_INV)
BAD_TEST(local_inv, 16, LOC_QP_OP_ERR, wqe.opcode = ERNIC_WR_LOCAL_INV)

DIALOG_TEST("/ud/resp/recv", ERNIC_QPT_UD, test_recv)
{
    static const uint32_t lens[] = { 0, 1, 3, 1024, 4096 };
    struct ernic_cqe cqe;
    const uint8_t *ip = d->at + DLG_SINK + 20;

    for (uint32_t i = 0; i < ARRAY_SIZE(lens); i++) {
        memset(d->at + DLG_SINK, 0xee, 5000);
        dlg_recv(d, DLG_SINK, GRH + lens[i]);
        d->path.tclass = 0x58 | ERNIC_ECN_ECT0;
        peer_send(d, lens[i]);
        cqe = RECV_WC(d, i, SUCCESS);
        IS(cqe.byte_len, GRH + lens[i]);
        IS(cqe.src_qp, 0x654321);
        IS(cqe.flags & (ERNIC_CQE_GRH | ERNIC_CQE_IMM | ERNIC_CQE_VLAN), ERNIC_CQE_GRH);
        g_assert_cmpmem(cqe.smac, 6, d->path.smac, 6);
        dlg_mem_is(d, DLG_SINK + GRH, d->peer, lens[i]);
        IS(d->at[DLG_SINK + GRH + lens[i]], 0xee);
        /* A17.4.5.2: 20 zero bytes, then the IPv4 header. */
        dlg_mem_is(d, DLG_SINK, NULL, 20);
        IS(ip[0], 0x45);
        IS(ip[1] & 0xfc, 0x58);
        /* IP, UDP, BTH, DETH, payload and pad, ICRC. */
        IS(lduw_be_p(ip + 2), 20 + 8 + 12 + 8 + ROUND_UP(lens[i], 4) + 4);
        IS(ip[8], 64);
        IS(ip[9], 17);
        IS(ernic_net_checksum(ip, 20), 0);
        g_assert_cmpmem(ip + 12, 4, d->path.sgid.raw + 12, 4);
        g_assert_cmpmem(ip + 16, 4, d->path.dgid.raw + 12, 4);
    }
}

static void set_gid6(Dialog *d, uint8_t index, const uint8_t gid[16])
{
    OK(CMD(d->e, SET_GID, memcpy(cmd.set_gid.gid, gid, 16);
           cmd.set_gid.mac[5] = DLG_HOST; cmd.set_gid.vlan = cpu_to_le16(0xffff);
           cmd.set_gid.index = index));
    dlg_event_of(d, ERNIC_EV_GID_CHANGE, 1);
}

/* IPv6: its header is the GRH, and it is sent with flow label. */
DIALOG_TEST("/ud/resp/ipv6", ERNIC_QPT_UD, test_ipv6)
{
    static const uint8_t own[16] = { 0xfd, [15] = 1 };
    static const uint8_t other[16] = { 0xfd, 9, [15] = 2 };
    struct ernic_wqe wqe;
    const uint8_t *grh;

    set_gid6(d, 2, own);
    memcpy(d->path.sgid.raw, other, 16);
    memcpy(d->path.dgid.raw, own, 16);
    d->path.flow_label = 0x54321;
    d->path.tclass = 0x9a;
    dlg_recv(d, DLG_SINK, 100);
    peer_send(d, 10);
    IS(RECV_WC(d, 0, SUCCESS).byte_len, 50);
    grh = d->at + DLG_SINK;
    IS((uint32_t)ldl_be_p(grh), 0x69a54321);
    IS(lduw_be_p(grh + 4), 8 + 12 + 8 + 12 + 4);
    IS(grh[6], 17);
    IS(grh[7], 64);
    g_assert_cmpmem(grh + 8, 16, other, 16);
    g_assert_cmpmem(grh + 24, 16, own, 16);
    dlg_mem_is(d, DLG_SINK + GRH, d->peer, 10);

    wqe = dlg_wqe(d, ERNIC_WR_SEND, 0);
    memcpy(wqe.ud.av.dgid, other, 16);
    wqe.ud.av.sgid_index = 2;
    wqe.ud.av.flow_label = cpu_to_le32(0xabcde);
    dlg_post_wqe(d, &wqe, 0, 16);
    SENT_UD(d, SQ, 16);
    g_assert_cmpmem(d->sent_path.dgid.raw, 16, other, 16);
    g_assert_cmpmem(d->sent_path.sgid.raw, 16, own, 16);
    IS(d->sent_path.flow_label, 0xabcde);
}

/* Immediate data, solicited event and the VLAN tag reach software. */
DIALOG_TEST("/ud/resp/fields", ERNIC_QPT_UD, test_recv_fields)
{
    struct ernic_cqe cqe;

    dlg_recv(d, DLG_SINK, 100);
    d->path.vlan = 0x2123;
    PEER_DATA(d, SEND_ONLY_IMM, 5, 0, 8, .qkey = DLG_QKEY, .src_qp = 9, .imm = DLG_IMM,
              .se = true);
    cqe = RECV_WC(d, 0, SUCCESS);
    IS(cqe.flags & (ERNIC_CQE_IMM | ERNIC_CQE_VLAN | ERNIC_CQE_SOLICITED),
       ERNIC_CQE_IMM | ERNIC_CQE_VLAN | ERNIC_CQE_SOLICITED);
    IS(cqe.vlan, 0x2123);
    IS((uint32_t)ldl_be_p(cqe.imm), DLG_IMM);
}

static uint32_t port_counter(Dialog *d, size_t offset)
{
    const uint8_t *port = fake_query(d->e, ERNIC_CMD_QUERY_PORT, 0,
                                     sizeof(struct ernic_port_attr));

    return ldl_le_p(port + offset);
}

DIALOG_TEST("/ud/resp/qkey", ERNIC_QPT_UD, test_qkey)
{
    dlg_recv(d, DLG_SINK, 100);
    PEER(d, SEND_ONLY, .qkey = DLG_QKEY ^ 1);
    PEER(d, SEND_ONLY, .qkey = 0);
    PEER(d, SEND_ONLY, .qkey = DLG_QKEY | 0x80000000u);
    dlg_no_wc(d);
    IS(port_counter(d, offsetof(struct ernic_port_attr, bad_qkey_count)), 3);
    PEER(d, SEND_ONLY, .qkey = DLG_QKEY);
    RECV_WC(d, 0, SUCCESS);
}

static void set_pkey(Dialog *d, uint16_t index, uint16_t pkey)
{
    OK(CMD(d->e, SET_PKEY, cmd.set_pkey.index = cpu_to_le16(index);
           cmd.set_pkey.pkey = cpu_to_le16(pkey)));
}

/* 10.9.3: same base value, and not two limited members. */
TEST("/ud/resp/pkey", test_pkey)
{
    static const struct {
        uint16_t own, peer;
        bool match;
    } rows[] = {
        { 0xffff, 0xffff, true }, { 0xffff, 0x7fff, true },
        { 0x7fff, 0xffff, true }, { 0x7fff, 0x7fff, false },
        { 0x8001, 0x8001, true }, { 0x8001, 0x0001, true },
        { 0x8001, 0x8002, false }, { 0x8001, 0xffff, false },
        { 0xffff, 0x8001, false }, { 0x8001, 0x8000, false },
    };

    EACH_DIALOG(d, i, 0, ARRAY_SIZE(rows), dlg_init(d, ERNIC_QPT_UD, false)) {
        set_pkey(d, 3, rows[i].own);
        d->attr.pkey_index = cpu_to_le16(3);
        dlg_to(d, ERNIC_QPS_RTS);
        dlg_recv(d, DLG_SINK, 100);
        PEER(d, SEND_ONLY, .qkey = DLG_QKEY, .pkey = rows[i].peer);
        if (rows[i].match) {
            RECV_WC(d, 0, SUCCESS);
        }
        IS(port_counter(d, offsetof(struct ernic_port_attr, bad_pkey_count)),
           !rows[i].match);
        dlg_post_flags(d, ERNIC_WR_SEND, 0, 0, 4);
        SENT(d, SEND_ONLY, .psn = SQ, .qkey = DLG_QKEY, .pkey = rows[i].own,
             .src_qp = d->qp.qpn, .payload_len = 4);
    }
}

/* An undeliverable datagram is dropped, without an effect on the queue pair. */
DIALOG_TEST("/ud/resp/lost", ERNIC_QPT_UD, test_lost)
{
    uint8_t bytes[64] = { };

    peer_send(d, 16);                  /* no receive request */
    dlg_recv(d, DLG_SINK, GRH + 4096);
    dlg_bth(d, bytes, ERNIC_BTH_UD | ERNIC_OP_SEND_FIRST, 0);
    stl_be_p(bytes + 12, DLG_QKEY);
    dlg_inject_raw(d, bytes, 40, true);        /* no such opcode */
    peer_send(d, 4097);                /* more than a packet may hold */
    d->path.dgid.raw[15] = 99;
    peer_send(d, 16);                  /* not our address */
    d->path.dgid.raw[15] = DLG_HOST;
    PEER(d, SEND_ONLY, .qkey = DLG_QKEY, .dest_qp = 0xffffff);
    dlg_no_wc(d);
    STATE_IS(d, RTS);
    peer_send(d, 4096);
    RECV_WC(d, 0, SUCCESS);
}

static void group(uint8_t gid[16])
{
    fake_gid(gid, 9);
    gid[12] = 239;
}

/* Queue pair @qpn joins the group that ends with @last, or leaves it. */
static void attach_to(Dialog *d, uint8_t opcode, uint32_t qpn, uint8_t last)
{
    OK(CMD(d->e, MCAST_ATTACH, cmd.opcode = opcode; group(cmd.mcast.gid);
           cmd.mcast.gid[15] = last; cmd.mcast.qpn = cpu_to_le32(qpn)));
}

static void attach(Dialog *d, uint8_t opcode, uint32_t qpn)
{
    attach_to(d, opcode, qpn, 9);
}

static void peer_mcast(Dialog *d, uint32_t dest_qp)
{
    ErnicGid own = d->path.dgid;

    group(d->path.dgid.raw);
    PEER(d, SEND_ONLY, .qkey = DLG_QKEY, .dest_qp = dest_qp,
         .payload = d->peer, .payload_len = 8);
    d->path.dgid = own;
}

/* Each member gets a copy, in a receive request and completion of its own. */
DIALOG_TEST("/ud/mcast/members", ERNIC_QPT_UD, test_mcast)
{
    struct ernic_cqe cqe;
    FakeQp other;
    struct ernic_sge sge;

    dlg_create_qp(d, &other, ERNIC_QPT_UD);
    fake_qp_to(d->e, &other, ERNIC_QPS_RTS, &d->attr);
    sge = fake_sge(d->mem + DLG_SINK + 4096, 64, d->key);
    fake_post_recv(d->e, &other, 0x99, &sge, 1);
    OK(fake_ring_rq(d->e, &other));
    dlg_recv(d, DLG_SINK, 64);
    peer_mcast(d, 0xffffff);           /* no member */
    dlg_no_wc(d);
    attach(d, ERNIC_CMD_MCAST_ATTACH, d->qp.qpn);
    attach(d, ERNIC_CMD_MCAST_ATTACH, other.qpn);
    /* Group packets must carry the multicast queue pair number (9.6.1). */
    peer_mcast(d, d->qp.qpn);
    dlg_no_wc(d);
    peer_mcast(d, 0xffffff);
    RECV_WC(d, 0, SUCCESS);
    g_assert_true(fake_poll_cq(d->e, &d->rcq, &cqe));
    IS(cqe.qpn, other.qpn);
    IS(cqe.wr_id, 0x99);
    dlg_mem_is(d, DLG_SINK + GRH, d->peer, 8);
    dlg_mem_is(d, DLG_SINK + 4096 + GRH, d->peer, 8);
    attach(d, ERNIC_CMD_MCAST_DETACH, d->qp.qpn);
    dlg_recv(d, DLG_SINK, 64);
    peer_mcast(d, 0xffffff);
}

/* The link does not know the group of a datagram: the ICRC identifies it. */
DIALOG_TEST("/ud/mcast/blind", ERNIC_QPT_UD, test_mcast_blind)
{
    ErnicTrain blind = { .path = d->path };

    d->blind = &blind;
    dlg_recv(d, DLG_SINK, 64);
    peer_mcast(d, 0xffffff);           /* no member */
    dlg_no_wc(d);
    IS(d->e->stats.drop[ERNIC_DROP_BAD_ICRC], 1);
    for (uint8_t last = 20; last < 30; last++) {
        attach_to(d, ERNIC_CMD_MCAST_ATTACH, d->qp.qpn, last);
    }
    peer_mcast(d, 0xffffff);           /* to another group */
    dlg_no_wc(d);
    attach(d, ERNIC_CMD_MCAST_ATTACH, d->qp.qpn);
    peer_mcast(d, 0xffffff);
    RECV_WC(d, 0, SUCCESS);
    dlg_mem_is(d, DLG_SINK + GRH, d->peer, 8);
}

/* The host may join packets: each of a train is looked at, and keeps its bytes. */
DIALOG_TEST("/ud/mcast/blind-joined", ERNIC_QPT_UD, test_blind_joined)
{
    uint8_t bytes[2 * 64] = { 0 };
    ErnicTrain packet, train = {
        .path = d->path, .data = bytes, .len = sizeof(bytes), .seg = 64,
    };

    attach(d, ERNIC_CMD_MCAST_ATTACH, d->qp.qpn);
    g_assert_false(ernic_path_open(d->e, &train));
    /* The second packet is for a group. */
    stl_be_p(bytes + 64 + 4, 0xffffff);
    g_assert_true(ernic_path_open(d->e, &train));
    ernic_path_packet(d->e, &train, 64, &packet);
    IS(packet.len, 64);
    g_assert_true(packet.data == bytes + 64);
    g_assert_cmpmem(&packet.path, sizeof(packet.path), &train.path, sizeof(train.path));
    /* Without a group that has a member, its path is that of the others. */
    attach(d, ERNIC_CMD_MCAST_DETACH, d->qp.qpn);
    g_assert_false(ernic_path_open(d->e, &train));
}

/*
 * Each candidate costs an ICRC. A device with two engines searches before it chooses
 * the engine, and the engine does not search again, even if no address fits.
 */
DIALOG_TEST("/ud/mcast/searched-once", ERNIC_QPT_UD, test_searched_once)
{
    uint8_t bytes[64] = { 0 };
    ErnicTrain train = { .path = d->path, .data = bytes, .len = 64, .seg = 64 }, packet;

    ernic_trace_set_mode(ERNIC_TRACE_COUNT);
    ernic_trace_reset();
    attach(d, ERNIC_CMD_MCAST_ATTACH, d->qp.qpn);
    stl_be_p(bytes + 4, 0xffffff);
    g_assert_true(ernic_path_open(d->e, &train));
    ernic_path_packet(d->e, &train, 0, &packet);
    IS(ernic_trace_count("ernic_rx_no_path"), 1);
    g_assert_false(ernic_path_open(d->e, &packet));
    ernic_rx(d->e, d->env.now, &packet);
    IS(ernic_trace_count("ernic_rx_no_path"), 1);
    IS(d->e->stats.drop[ERNIC_DROP_BAD_ICRC], 1);
}

/* Endpoints with an IPv4 and an IPv6 address each. */
DIALOG_TEST("/ud/aliases", ERNIC_QPT_UD, test_aliases)
{
    ErnicTrain blind = {
        .path = d->path, .alt_sgid = &d->path.sgid, .alt_dgid = &d->path.dgid,
        .num_alt_sgid = 1, .num_alt_dgid = 1,
    };

    dlg_recv(d, DLG_SINK, 64);
    blind.path.sgid = (ErnicGid) { .raw = { 0xfd, [15] = 1 } };
    blind.path.dgid = (ErnicGid) { .raw = { 0xfd, [15] = 2 } };
    d->blind = &blind;
    PEER_SEND(d, 0, 8);
    RECV_WC(d, 0, SUCCESS);
    /* One address alone is not sufficient. */
    blind.num_alt_sgid = 0;
    PEER_SEND(d, 0, 8);
    IS(d->e->stats.drop[ERNIC_DROP_BAD_ICRC], 1);
}

/*
 * A packet costs a bounded number of ICRCs, which are charged; addresses beyond it are
 * not tried.
 */
DIALOG_TEST("/ud/many-aliases", ERNIC_QPT_UD, test_many_aliases)
{
    ErnicGid alias[ERNIC_RX_CANDIDATES];
    uint64_t before;
    ErnicTrain blind = {
        .path = d->path, .alt_dgid = alias, .num_alt_dgid = ARRAY_SIZE(alias),
    };

    dlg_recv(d, DLG_SINK, 64);
    for (uint32_t i = 0; i < ARRAY_SIZE(alias); i++) {
        alias[i] = d->path.dgid;
        alias[i].raw[13] = 77;
        alias[i].raw[14] = i;
    }
    blind.path.dgid.raw[13] = 78;
    alias[ARRAY_SIZE(alias) - 1] = d->path.dgid;     /* after one too many */
    d->blind = &blind;
    before = d->e->work.done;
    PEER_SEND(d, 0, 8);
    IS(d->e->stats.drop[ERNIC_DROP_BAD_ICRC], 1);
    g_assert_cmpuint(d->e->work.done - before, >=,
                     ERNIC_RX_CANDIDATES * ERNIC_WORK_ACCESS);
    dlg_no_wc(d);
    alias[ARRAY_SIZE(alias) - 2] = d->path.dgid;
    PEER_SEND(d, 0, 8);
    RECV_WC(d, 0, SUCCESS);
}

/* 3.9, 10.9.5: its Q_Key is well known, its P_Key is that of each request. */
DIALOG_TEST_BY("/ud/gsi", dlg_init(d, ERNIC_QPT_GSI, false), test_gsi)
{
    struct ernic_wqe wqe;
    struct ernic_cqe cqe;

    IS(d->qp.qpn, 1);
    set_pkey(d, 4, 0x8123);
    dlg_to(d, ERNIC_QPS_RTS);
    wqe = dlg_wqe(d, ERNIC_WR_SEND, 0);
    wqe.ud.pkey_index = cpu_to_le16(4);
    wqe.ud.dest_qpn = cpu_to_le32(1);
    wqe.ud.qkey = cpu_to_le32(0x80010000);
    dlg_post_wqe(d, &wqe, 0, 256);
    SENT_DATA(d, SEND_ONLY, SQ, 0, 256, .qkey = 0x80010000, .dest_qp = 1, .src_qp = 1,
              .pkey = 0x8123);
    dlg_recv_many(d, 2, DLG_SINK, GRH + 256);
    PEER(d, SEND_ONLY, .qkey = DLG_QKEY, .src_qp = 1);
    PEER(d, SEND_ONLY, .qkey = 0x80010000, .src_qp = 1, .pkey = 0x8124);
    dlg_no_wc(d);
    PEER(d, SEND_ONLY, .qkey = 0x80010000, .src_qp = 1, .pkey = 0x0123,
         .payload = d->peer, .payload_len = 256);
    cqe = RECV_WC(d, 0, SUCCESS);
    IS(cqe.src_qp, 1);
    IS(cqe.pkey_index, 4);
    PEER(d, SEND_ONLY, .qkey = 0x80010000, .src_qp = 1);
    IS(RECV_WC(d, 1, SUCCESS).pkey_index, 0);
    /* An entry that is empty. */
    wqe.ud.pkey_index = cpu_to_le16(5);
    dlg_post_wqe(d, &wqe, 0, 256);
    dlg_send_wc(d, 1, ERNIC_WC_LOC_QP_OP_ERR);
    dlg_nothing(d);
}
