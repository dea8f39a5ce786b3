/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Received Ethernet frames. The flow tables name the TIRs that receive a frame; a TIR
 * names a receive queue, or selects one by a hash. The frame goes into the next request
 * of that queue, and its completion entry (mlx5_cqe64) has the results of parsing.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "base/work.h"
#include "interfaces/interface.h"
#include "interfaces/mlx5/rdma/cqe.h"
#include "interfaces/mlx5/eth/objects.h"
#include "interfaces/mlx5/rdma/wqe_decode.h"
#include "interfaces/mlx5/layout/access.h"
#include "objects/cq.h"
#include "steering/flow_tables.h"
#include "trace.h"
#include "wire/inet.h"

#define ETHERTYPE_OFS   12

/* hds_ip_ext: the frame, and the checksums of IPv4 and of TCP or UDP, are right. */
enum { L2_OK = 1, L3_OK = 2, L4_OK = 4 };
/* l3_hdr_type and l4_hdr_type, in their place in the byte of both. */
enum { L3_IPV6 = 1 << 2, L3_IPV4 = 2 << 2 };
enum {
    L4_TCP = 1 << 4, L4_UDP = 2 << 4, L4_TCP_ACK = 3 << 4, L4_TCP_ACK_DATA = 4 << 4
};
#define TCP_FLAGS   13
#define TCP_ACK     0x10

/* A frame, and what its completion entries have in common. */
typedef struct Arrival {
    const uint8_t *frame;
    uint32_t len;
    bool tagged;                /* with a customer tag, which queues may strip */
    ErnicMlx5Headers headers;
    uint8_t entry[ERNIC_CQ_ENTRY];
} Arrival;

/* ---- what the frame is ----------------------------------------------------------- */

static uint8_t l4_type(const ErnicInet *inet, const uint8_t *frame)
{
    uint32_t head = inet->l4 && inet->l4 <= inet->end && !inet->fragment ?
                    ernic_inet_l4_len(inet, frame, inet->end) : 0;

    if (!head) {
        return 0;
    }
    if (inet->proto == ERNIC_IPPROTO_UDP) {
        return L4_UDP;
    }
    return !(frame[inet->l4 + TCP_FLAGS] & TCP_ACK) ? L4_TCP :
           inet->l4 + head == inet->end ? L4_TCP_ACK : L4_TCP_ACK_DATA;
}

/*
 * Software verifies checksums by the sum of the IP packet, from its header to the end by
 * its own length, not inverted. For other frames it is the sum after the EtherType.
 */
static void describe(Arrival *a)
{
    const uint8_t *frame = a->frame;
    ErnicInet inet;
    uint32_t from;

    ernic_inet_parse(&inet, frame, a->len);
    from = inet.l3 ?: ERNIC_ETH_LEN;
    stw_be_p(a->entry + CQE_SUM,
             ernic_inet_sum(frame + from, (inet.l3 ? inet.end : a->len) - from));
    a->entry[CQE_CHECKED] = L2_OK | (ernic_inet_l3_ok(&inet, frame) ? L3_OK : 0) |
                            (ernic_inet_l4_ok(&inet, frame) ? L4_OK : 0);
    if (inet.l3) {
        a->entry[CQE_L3_L4] = (inet.v6 ? L3_IPV6 : L3_IPV4) | l4_type(&inet, frame);
    }
    stl_be_p(a->entry + CQE_BYTES, a->len);
    a->entry[CQE_OWNER] = CQE_RESP_SEND << 4;
    a->tagged = a->len >= ERNIC_ETH_LEN + ERNIC_VLAN_LEN &&
                lduw_be_p(frame + ETHERTYPE_OFS) == ERNIC_ETHERTYPE_VLAN;
}

/* ---- requests ---------------------------------------------------------------------- */

static void drop(Ernic *e, uint32_t rqn, uint32_t len, ErnicDrop why)
{
    e->stats.drop[why]++;
    trace_ernic_mlx5_rx_drop(rqn, len, ernic_drop_name(why));
}

/* A record that claims more requests than the ring holds posts nothing. */
static void read_producer(Ernic *e, ErnicMlx5EthQueue *q)
{
    uint8_t record[4];
    uint16_t n;

    ernic_charge_copy(e, sizeof(record));
    if (!e->ops->dma_read(e->env, q->record, record, sizeof(record))) {
        trace_ernic_mlx5_record_dma(q->record);
        return;
    }
    n = ldl_be_p(record) - q->ci;
    if (n > 1u << q->log_size) {
        trace_ernic_mlx5_bad_record(q->record, ldl_be_p(record), q->ci);
        return;
    }
    q->pi = q->ci + n;
}

/* Requests that software has posted so far are flushed. */
void ernic_mlx5_rq_error(Ernic *e, uint32_t rqn, ErnicMlx5EthQueue *q)
{
    q->state = ERNIC_MLX5_ERR;
    trace_ernic_mlx5_queue_state(rqn, q->state);
    read_producer(e, q);
    ernic_mlx5_eth_mark(e, rqn);
}

void ernic_mlx5_rq_poll(Ernic *e)
{
    ErnicMlx5Eth *eth = e->mlx5_eth;
    const uint32_t first = ERNIC_FLUSH_POLL_NS;
    bool any = false, found = false;

    if (e->now < ernic_mlx5_rq_poll_due(e)) {
        return;
    }
    for (uint32_t i = 1; i <= ERNIC_LIM_ETH_QUEUE; i++) {
        ErnicMlx5EthQueue *q = &eth->rq[i];

        if (!q->used || !ernic_mlx5_rq_polled(q)) {
            continue;
        }
        any = true;
        if (q->pi == q->ci) {
            read_producer(e, q);
            found |= q->pi != q->ci;
            ernic_mlx5_eth_mark(e, ERNIC_MLX5_RQN + i);
        }
    }
    eth->poll_wait = found ? first :
                     MIN(eth->poll_wait * 2, first * ERNIC_FLUSH_POLL_MAX);
    eth->poll_due = any ? e->now + eth->poll_wait : 0;
}

/* Decode the next request of @q, which stays posted; false: there is none. */
static bool next_request(Ernic *e, ErnicMlx5EthQueue *q, ErnicRecv *recv)
{
    uint32_t slot = q->ci & ((1u << q->log_size) - 1), stride = 1u << q->log_stride;
    uint8_t bytes[ERNIC_MLX5_RECV_MAX];

    if (q->pi == q->ci) {
        read_producer(e, q);
    }
    if (q->pi == q->ci) {
        return false;
    }
    *recv = (ErnicRecv) { .index = q->ci };
    ernic_charge_copy(e, stride);
    if (ernic_buf_read(e, &q->buf, (uint64_t)slot * stride, bytes, stride)) {
        ernic_mlx5_recv_decode(bytes, stride, recv);
    } else {
        trace_ernic_guest_rwqe_dma(recv->index);
        recv->fault = ERNIC_FAULT_RECV_DMA;
    }
    return true;
}

/* Write the frame, without its tag if @strip, to the memory of @recv. */
static ErnicFault scatter(Ernic *e, const ErnicMlx5EthQueue *q, const ErnicRecv *recv,
                          const Arrival *a, bool strip)
{
    uint32_t head = strip ? ETHERTYPE_OFS : a->len;
    ErnicDma dma = ernic_dma_scatter(e, q->pd, recv->sge, recv->num_sge, 0, a->frame,
                                     head);

    if (dma == ERNIC_DMA_OK && strip) {
        uint32_t from = head + ERNIC_VLAN_LEN;

        dma = ernic_dma_scatter(e, q->pd, recv->sge, recv->num_sge, head,
                                a->frame + from, a->len - from);
    }
    ernic_charge_copy(e, a->len);
    ernic_charge(e, 2 * recv->num_sge);         /* each piece is an access */
    /* A page that is absent is a fault, too: nobody could ask for it. */
    return dma == ERNIC_DMA_OK ? ERNIC_FAULT_NONE :
           dma == ERNIC_DMA_FAILED ? ERNIC_FAULT_RECV_DMA : ERNIC_FAULT_RECV_PROT;
}

/* ---- loopback ---------------------------------------------------------------------- */

/* Software has not turned off the loopback of such frames at the port. */
static bool local_loopback(const Ernic *e, bool unicast)
{
    const uint8_t *context = e->mlx5->function.vport.context;

    return unicast ? !GET(context, nic_vport_context.disable_uc_local_lb) :
                     !GET(context, nic_vport_context.disable_mc_local_lb);
}

/*
 * Whether @tir receives @frame, which the function itself sends in @own. Local loopback
 * of the port must be on. Then the TIRs of other transport domains receive what the flow
 * tables give them. Those of the sender's own domain need a bit of self_lb_block, and
 * unicast frames have to be to the port. Drivers set the bit so that a TIR receives such
 * frames (mlx5e_refresh_tirs() for the self-test, and MLX5_QP_FLAG_TIR_ALLOW_SELF_LB_UC
 * of mlx5_ib), in spite of the name.
 */
static bool loops(const Ernic *e, const ErnicMlx5Tir *tir, const uint8_t *frame,
                  const ErnicTrain *own)
{
    enum { LOOP_UNICAST = 1, LOOP_MULTICAST = 2 };
    bool unicast = !(frame[0] & 1);

    if (!local_loopback(e, unicast)) {
        return false;
    }
    if (own->domain && tir->transport_domain != own->domain) {
        return true;
    }
    return tir->self_lb_block & (unicast ? LOOP_UNICAST : LOOP_MULTICAST) &&
           (!unicast || !memcmp(frame, ernic_mlx5_vport_mac(&e->mlx5->function), 6));
}

/* ---- delivery ---------------------------------------------------------------------- */

/* The entry of a request that ends with @fault. */
static void encode_error(ErnicFault fault, uint8_t *entry)
{
    entry[CQE_VENDOR] = fault;
    entry[CQE_SYNDROME] = ernic_mlx5_syndrome(fault);
    entry[CQE_OWNER] = CQE_RESP_ERROR << 4;
}

static void encode(const Ernic *e, const Arrival *a, uint32_t tag, uint32_t hash,
                   uint8_t hash_type, bool strip, uint8_t *entry)
{
    memcpy(entry, a->entry, sizeof(a->entry));
    stl_be_p(entry + CQE_HASH, hash);
    entry[CQE_HASH_TYPE] = hash_type;
    stl_be_p(entry + CQE_QPN, tag & 0xffffff);
    stq_be_p(entry + CQE_TIME, e->now);
    if (strip) {
        entry[CQE_L3_L4] |= CQE_VLAN_STRIPPED;
        memcpy(entry + CQE_VLAN, a->frame + ETHERTYPE_OFS + 2, 2);
        stl_be_p(entry + CQE_BYTES, a->len - ERNIC_VLAN_LEN);
    }
}

/* Put the frame into receive queue @rqn; a request that is too short stays. */
static void put_in_queue(Ernic *e, uint32_t rqn, const Arrival *a, uint32_t tag,
                         uint32_t hash, uint8_t hash_type)
{
    ErnicMlx5EthQueue *q = ernic_mlx5_rq_get(e, rqn);
    bool strip = a->tagged && !GET(q->context, rqc.vsd);
    uint32_t set = GET(q->context, rqc.counter_set_id);
    uint32_t len = a->len - (strip ? ERNIC_VLAN_LEN : 0);
    uint8_t entry[ERNIC_CQ_ENTRY] = { };
    ErnicRecv recv;
    ErnicFault fault;

    if (q->state != ERNIC_MLX5_RDY) {
        drop(e, rqn, a->len, ERNIC_DROP_QP_STATE);
        return;
    }
    if (!next_request(e, q, &recv)) {
        e->mlx5_eth->out_of_buffer[set]++;
        drop(e, rqn, a->len, ERNIC_DROP_NO_RQE);
        return;
    }
    if (!recv.fault && len > recv.len) {
        drop(e, rqn, a->len, ERNIC_DROP_MSG_LENGTH);
        return;
    }
    fault = recv.fault ?: scatter(e, q, &recv, a, strip);
    if (fault) {
        e->stats.fault[fault]++;
        encode_error(fault, entry);
    } else {
        encode(e, a, tag, hash, hash_type, strip, entry);
    }
    stl_be_p(entry + CQE_INDEX, GET(q->context, rqc.user_index));
    stw_be_p(entry + CQE_COUNTER, q->ci++);
    trace_ernic_mlx5_rx(rqn, recv.index, len, tag, hash, ernic_fault_info(fault)->name);
    if (!ernic_cq_post_entry(e, q->cq, entry, fault) || fault) {
        ernic_mlx5_rq_error(e, rqn, q);
    }
}

static void deliver(Ernic *e, const Arrival *a, const ErnicFlowHit *hit,
                    const ErnicTrain *own)
{
    const ErnicMlx5Tir *tir = ernic_mlx5_tir_get(&e->mlx5->function, hit->id);
    uint8_t type;
    uint32_t hash;

    if (own && !loops(e, tir, a->frame, own)) {
        return;
    }
    hash = ernic_mlx5_hash(tir, &a->headers, &type);
    put_in_queue(e, ernic_mlx5_receive_queue(e, tir, hash), a, hit->tag, hash, type);
}

/* @a is complete but for the description. */
static void steer(Ernic *e, Arrival *a, const ErnicTrain *own)
{
    uint8_t key[ERNIC_FLOW_KEY_BYTES];
    ErnicFlowResult result;
    uint32_t i;

    ernic_mlx5_match_key(a->frame, a->len, key, &a->headers);
    ernic_flow_tables_find(e, key, a->len, &result);
    if (result.cut) {
        trace_ernic_mlx5_rx_cut(a->len, result.num);
    }
    if (!result.num && own) {
        return;                                 /* it has left, and is not lost */
    }
    if (!result.num) {
        drop(e, 0, a->len, ERNIC_DROP_NO_RULE);
        return;
    }
    ernic_charge_copy(e, a->len);               /* the sum of all bytes */
    describe(a);
    for (i = 0; i < result.num; i++) {
        deliver(e, a, &result.dest[i], own);
    }
}

void ernic_mlx5_take_frame(Ernic *e, const uint8_t *frame, uint32_t len,
                           const ErnicTrain *own)
{
    uint8_t padded[ERNIC_FRAME_MIN] = { };
    Arrival a = { .frame = frame, .len = len };

    ernic_charge_copy(e, len);
    if (len < ERNIC_ETH_LEN) {
        drop(e, 0, len, ERNIC_DROP_TOO_SHORT);
        return;
    }
    if (!own) {
        e->stats.rx_frames++;
        e->stats.rx_frame_bytes += len;
        ernic_mlx5_count_frame(&e->mlx5->received, frame, len);
    }
    if (len < ERNIC_FRAME_MIN) {
        memcpy(padded, frame, len);
        a.frame = padded;
        a.len = ERNIC_FRAME_MIN;
    }
    steer(e, &a, own);
}

bool ernic_mlx5_wants_frame(Ernic *e, const uint8_t *frame, uint32_t len,
                            const ErnicTrain *own)
{
    const ErnicMlx5Tir *tir = e->mlx5_eth->tir;
    uint32_t i;

    if (!own) {
        return true;
    }
    if (!local_loopback(e, !(frame[0] & 1))) {
        return false;
    }
    ernic_charge_objects(e, ERNIC_LIM_TIR);
    for (i = 1; i <= ERNIC_LIM_TIR; i++) {
        if (tir[i].used && loops(e, &tir[i], frame, own)) {
            return true;
        }
    }
    return false;
}
