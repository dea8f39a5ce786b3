/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The rows of the device, its objects and its queue pairs. A field that is added to a
 * structure gets a row at the end of the list: as a number, or as derived with the
 * reason. The order of the rows is that of the stream, not that of the fields.
 */
#include "qemu/osdep.h"
#include "base/ib_spec.h"
#include "interfaces/mlx5/eth/objects.h"
#include "interfaces/pg332/side_stream.h"
#include "objects/counter.h"
#include "objects/cq.h"
#include "objects/eq.h"
#include "objects/mcast.h"
#include "objects/mr.h"
#include "objects/srq.h"
#include "state/state.h"
#include "steering/flow.h"
#include "steering/flow_tables.h"
#include "steering/rss.h"
#include "transport/cc.h"
#include "transport/tx.h"
#include "wire/ib_tables.h"

/* ---- device ---------------------------------------------------------------- */

#define S ErnicConfig
static const ErnicStateField config_fields[] = {
    U(max_qp), U(max_cq), U(max_srq), U(max_eq), U(max_mr), U(max_pd),
    U(max_uctx), U(num_vectors), UMAX(mtu, ERNIC_MTU_4096),
    DERIVED(udp_sport),         /* a port of the host that loads */
    DERIVED(timing),            /* a section of its own, if there is one */
    DERIVED(timing_trace),      /* changes nothing */
    DERIVED(clock),
    DERIVED(flow_rules),        /* of the device that loads */
    DERIVED(link_speed),        /* of the device that loads */
    DERIVED(max_memory),        /* likewise */
    U(pg332), U(strict),
    DERIVED(interface),              /* of the device that loads */
    DERIVED(mlx5),              /* of the device that loads */
    DERIVED(raw),               /* of the device that loads; check_qp.c */
    DERIVED(no_icrc),           /* of the link of the device that loads */
    DERIVED(retry_time),        /* of the device that loads */
    UMAX(pg332_reads, ERNIC_MAX_RD_ATOMIC), BOOL(user_logic),
};
#undef S
const ErnicStateStruct ernic_state_config =
    DESCRIBE(config_fields, ErnicConfig, CONFIG);

#define S ErnicGidEntry
static const ErnicStateField gid_fields[] = {
    BYTES(gid), BYTES(mac), U(vlan),
};
#undef S
static const ErnicStateStruct gid_struct = DESCRIBE(gid_fields, ErnicGidEntry, GID);

#define S ErnicPageFault
static const ErnicStateField page_fields[] = {
    U(off), U(key), U(len), BOOL(write), UMAX(state, ERNIC_PAGE_STATES - 1),
};
#undef S
static const ErnicStateStruct page_struct =
    DESCRIBE(page_fields, ErnicPageFault, PAGE);

#define S ErnicEvents
static const ErnicStateField events_fields[] = {
    UBITS(pending, (1u << ERNIC_EV_COUNT) - 1), U(detail), BOOL(queued),
    STRUCT(page, page_struct),
};
#undef S
static const ErnicStateStruct events_struct =
    DESCRIBE(events_fields, ErnicEvents, EVENTS);

#define S ErnicStats
static const ErnicStateField stats_fields[] = {
    ARRAY(drop, UINT64_MAX), ARRAY(fault, UINT64_MAX),
    /* Last: a new counter is at the end of the list. */
#define X(name) U(name),
    ERNIC_STATS_LIST(X)
#undef X
};
#undef S
static const ErnicStateStruct stats_struct = DESCRIBE(stats_fields, ErnicStats, STATS);

#define S ErnicIds
static const ErnicStateField ids_fields[] = {
    /* The freed numbers in their order, and the first of the others. */
    OWNED(fifo, ernic_state_ids), DERIVED(first), DERIVED(size), DERIVED(fresh),
    DERIVED(room), DERIVED(head), DERIVED(tail), DERIVED(count),
};
#undef S
static const ErnicStateStruct ids_struct = DESCRIBE(ids_fields, ErnicIds, IDS);

#define S ErnicRing
static const ErnicStateField ring_fields[] = { U(head), U(tail), DERIVED(count) };
#undef S
static const ErnicStateStruct ring_struct = DESCRIBE(ring_fields, ErnicRing, RING);

#define S Ernic
static const ErnicStateField device_fields[] = {
    DERIVED(ops), DERIVED(env),
    DERIVED(cfg),               /* in front of all, and compared */
    DERIVED(interface), DERIVED(keys), DERIVED(cqes), DERIVED(eqs),  /* of cfg */
    OWNED(regs, ernic_state_regs),
    DERIVED(strict),            /* a section of its own, if there is one */
    STRUCT(pd_ids, ids_struct), STRUCT(eq_ids, ids_struct),
    STRUCT(cq_ids, ids_struct), STRUCT(srq_ids, ids_struct),
    STRUCT(mr_ids, ids_struct), STRUCT(qp_ids, ids_struct),
    STRUCT(uctx_ids, ids_struct),
    /* Tables have sections of their own. */
    DERIVED(pd), DERIVED(eq), DERIVED(cq), DERIVED(srq), DERIVED(qp),
    DERIVED(mcast), DERIVED(mcast_bucket), DERIVED(mcast_free), DERIVED(mcast_end),
    DERIVED(flow), DERIVED(num_flows),
    DERIVED(num_groups), DERIVED(rss),
    DERIVED(counter),
    /* The variant bytes of all keys: they outlive the objects. */
    OWNED(mr, ernic_state_variants),
    DERIVED(uctx_used),         /* not in uctx_ids */
    DERIVED(num_pages), DERIVED(mem), DERIVED(num_bound), DERIVED(holders),
    DERIVED(num_holders),
    DERIVED(page_failed),
    DERIVED(copies),            /* datagrams of a stopped device may be lost */
    DERIVED(job),               /* the destination executes the command again */
    DERIVED(touched),
    DERIVED(deferred),          /* of objects that are gone */
    DERIVED(work),      /* a slice is not divided */
    STRUCTS(gid, gid_struct), DERIVED(num_gids),
    DERIVED(gid_changes),       /* counted since the device exists */
    ARRAY(pkey, UINT16_MAX),
    U(bad_pkey), U(bad_qkey), BOOL(port_active), U(async_eq),
    DERIVED(eq_more),
    DERIVED(udp_sport),         /* of cfg or regs */
    STRUCT(port_events, events_struct), DERIVED(events_at),
    DERIVED(timers),            /* timer_due of each queue pair */
    DERIVED(cq_timers),         /* mod_due of each completion queue */
    DERIVED(tx),                /* a section of its own */
    DERIVED(side),              /* as well, if there is one */
    DERIVED(timing),            /* as well, if there is one */
    STRUCT(ready, ring_struct), STRUCT(waiting, ring_struct),
    STRUCT(places, ring_struct),
    DERIVED(now),               /* an argument of ernic_load() */
    STRUCT(stats, stats_struct),
    DERIVED(absent),            /* none between two accesses */
    DERIVED(rx_fault),          /* none between two packets */
    DERIVED(rx_pkt), DERIVED(precopy), STRUCT(departing, ring_struct),
    DERIVED(mlx5),              /* a section of its own, if there is one */
    DERIVED(mlx5_eth), DERIVED(flow_tables),    /* as well */
    U(unsettled), DERIVED(db_pages),
    DERIVED(resume), DERIVED(paused),           /* of another link */
    DERIVED(handshake),         /* a section of its own, if there is one */
};
#undef S
const ErnicStateStruct ernic_state_device = DESCRIBE(device_fields, Ernic, DEVICE);

/* ---- objects --------------------------------------------------------------- */

#define S ErnicPd
static const ErnicStateField pd_fields[] = {
    BOOL(used), UMAX(uctx, ERNIC_LIM_UCTX), U(refs),
};
#undef S
static const ErnicStateStruct pd_struct = DESCRIBE(pd_fields, ErnicPd, PD);

#define S ErnicEq
static const ErnicStateField eq_fields[] = {
    BOOL(used), UMAX(uctx, ERNIC_LIM_UCTX), U(vector),
    UMAX(depth, ERNIC_MAX_EQ_DEPTH), U(pi), U(ci), U(refs),
    STRUCT(buf, ernic_state_buf), OWNED(line, ernic_state_line),
    DERIVED(line_size), DERIVED(line_head), DERIVED(line_count), BOOL(broken),
    UBITS(masked, (1u << ERNIC_EV_COUNT) - 1), BOOL(arms), BOOL(armed),
};
#undef S
static const ErnicStateStruct eq_struct = DESCRIBE(eq_fields, ErnicEq, EQ);

#define S ErnicCq
static const ErnicStateField cq_fields[] = {
    BOOL(used), BOOL(overrun), UMAX(arm, ERNIC_CQ_ARMED_ANY),
    UMAX(uctx, ERNIC_LIM_UCTX), U(eq), UMAX(depth, ERNIC_MAX_CQ_DEPTH),
    U(pi), U(ci), U(sol_pi), U(ci_addr), U(mod_count), U(mod_period_us),
    U(mod_pending), U(mod_due), U(refs), STRUCT(buf, ernic_state_buf),
    STRUCT(events, events_struct), U(notified), BOOL(overwrites),
    UMAX(lead, ERNIC_CQ_ENTRY),
};
#undef S
static const ErnicStateStruct cq_struct = DESCRIBE(cq_fields, ErnicCq, CQ);

#define S ErnicWq
static const ErnicStateField wq_fields[] = {
    STRUCT(buf, ernic_state_buf), UMAX(depth, ERNIC_MAX_WQ_DEPTH),
    UMAX(stride, 64 * ERNIC_SQ_STRIDE_MAX), U(pi), U(ci), U(record),
};
#undef S
static const ErnicStateStruct wq_struct = DESCRIBE(wq_fields, ErnicWq, WQ);

#define S ErnicSrq
static const ErnicStateField srq_fields[] = {
    BOOL(used), BOOL(error), UMAX(uctx, ERNIC_LIM_UCTX), U(pd),
    UMAX(limit, ERNIC_MAX_WQ_DEPTH), U(refs), U(xrcd), U(cq),
    STRUCT(wq, wq_struct),
    STRUCT(events, events_struct),
};
#undef S
static const ErnicStateStruct srq_struct = DESCRIBE(srq_fields, ErnicSrq, SRQ);

#define S ErnicMr
static const ErnicStateField mr_fields[] = {
    UMAX(kind, ERNIC_MR_WINDOW_2), BOOL(valid), U(variant), U(pd),
    UMAX(uctx, ERNIC_LIM_UCTX),
    UBITS(access, ERNIC_ACCESS_FLAGS | ERNIC_ACCESS_ON_DEMAND), U(iova),
    U(length), U(offset), STRUCT(buf, ernic_state_buf),
    OWNED(odp, ernic_state_odp),        /* needs access */
    U(refs), U(region), U(qpn), U(loader), DERIVED(holder),
};
#undef S
static const ErnicStateStruct mr_struct = DESCRIBE(mr_fields, ErnicMr, MR);

#define S ErnicMcast
static const ErnicStateField mcast_fields[] = {
    BOOL(used), BYTES(gid), U(qpn), DERIVED(next), DERIVED(chain),
};
#undef S
static const ErnicStateStruct mcast_struct = DESCRIBE(mcast_fields, ErnicMcast, MCAST);

#define S struct ernic_flow_key
static const ErnicStateField flow_key_fields[] = {
    BYTES(dmac), BYTES(smac), BYTES(ethertype), BYTES(vlan), BYTES(src_ip),
    BYTES(dst_ip), BYTES(flow_label), U(ip_proto), U(tclass), U(hop_limit),
    U(ip_flags), BYTES(src_port), BYTES(dst_port),
};
#undef S
static const ErnicStateStruct flow_key_struct =
    DESCRIBE(flow_key_fields, struct ernic_flow_key, FLOW_KEY);

#define S ErnicFlow
static const ErnicStateField flow_fields[] = {
    BOOL(used), UMAX(uctx, ERNIC_LIM_UCTX), U(qpn), U(priority), U(layers),
    STRUCT(value, flow_key_struct), STRUCT(mask, flow_key_struct),
};
#undef S
static const ErnicStateStruct flow_struct = DESCRIBE(flow_fields, ErnicFlow, FLOW);

#define S ErnicRss
static const ErnicStateField rss_fields[] = {
    BOOL(used), UMAX(shift, ERNIC_RSS_SHIFT_MAX), UMAX(uctx, ERNIC_LIM_UCTX),
    UBITS(fields, ERNIC_HASH_FIELDS), BYTES(key), ARRAY(wq, UINT32_MAX),
};
#undef S
static const ErnicStateStruct rss_struct = DESCRIBE(rss_fields, ErnicRss, RSS);

#define S ErnicQpStats
static const ErnicStateField qp_stats_fields[] = {
#define X(name) U(name),
    ERNIC_QP_STATS_LIST(X)
#undef X
};
#undef S
static const ErnicStateStruct qp_stats_struct =
    DESCRIBE(qp_stats_fields, ErnicQpStats, QP_STATS);

#define S ErnicCounter
static const ErnicStateField counter_fields[] = {
    BOOL(used), STRUCT(stats, qp_stats_struct), U(served_writes), U(served_reads),
    U(served_atomics),
};
#undef S
static const ErnicStateStruct counter_struct =
    DESCRIBE(counter_fields, ErnicCounter, COUNTER);

/* ---- requests -------------------------------------------------------------- */

#define S struct ernic_wqe_ud
static const ErnicStateField ud_fields[] = {
    U(qkey), UMAX(dest_qpn, ERNIC_QPN_MASK), U(pkey_index), BYTES(reserved),
    STRUCT(av, ernic_state_abi_av),
};
#undef S
static const ErnicStateStruct ud_struct =
    DESCRIBE(ud_fields, struct ernic_wqe_ud, UD);

#define S ErnicWqe
static const ErnicStateField wqe_fields[] = {
    U(wr_id), U(index), U(opcode), UBITS(flags, ERNIC_WR_FLAGS),
    UMAX(num_sge, ERNIC_WQE_SGE), BYTES(imm), U(inv_rkey),
    UMAX(len, ERNIC_MSG_MAX), U(raddr), U(rkey), UMAX(xrc_srq, ERNIC_QPN_MASK),
    U(compare_add), U(swap),
    STRUCT(ud, ud_struct), UMAX(fault, ERNIC_FAULT_COUNT - 1),
    UMAX(first_psn, ERNIC_PSN_MASK), UMAX(npsn, ERNIC_PSN_MASK), BOOL(done),
    U(tx_serial), U(rsp_done),
    /* One of: SGEs, inline bytes, REG_MR, BIND_MW, MR_UPDATE. */
    { .name = "payload", .offset = offsetof(S, sge),
      .size = sizeof(S) - offsetof(S, sge), .num = 1, .kind = ERNIC_SK_OWNED,
      .owned = &ernic_state_payload },
    UMAX(units, ERNIC_MAX_WQ_DEPTH, .def = 1), DERIVED(unit), UMAX(ud_priority, 7),
    U(ud_sport),
    DERIVED(inlined),           /* part of the payload */
};
#undef S
const ErnicStateStruct ernic_state_wqe = DESCRIBE(wqe_fields, ErnicWqe, WQE);

#define S ErnicRecv
static const ErnicStateField recv_fields[] = {
    U(wr_id), U(index), U(len), UMAX(num_sge, ERNIC_RECV_SGE),
    UMAX(fault, ERNIC_FAULT_COUNT - 1), STRUCTS(sge, ernic_state_sge),
};
#undef S
static const ErnicStateStruct recv_struct = DESCRIBE(recv_fields, ErnicRecv, RECV);

/* ---- queue pairs ----------------------------------------------------------- */

#define S ErnicAv
static const ErnicStateField av_fields[] = {
    BYTES(dgid), BYTES(dmac), UMAX(sgid_index, ERNIC_LIM_GID - 1),
    U(hop_limit), U(tclass), UMAX(flow_label, 0xfffff), UMAX(priority, 7), U(udp_sport),
};
#undef S
static const ErnicStateStruct av_struct = DESCRIBE(av_fields, ErnicAv, AV);

#define S ErnicQpAttr
static const ErnicStateField attr_fields[] = {
    UBITS(access, ERNIC_ACCESS_QP), U(qkey), UMAX(rq_psn, ERNIC_PSN_MASK),
    UMAX(sq_psn, ERNIC_PSN_MASK), UMAX(dest_qpn, ERNIC_QPN_MASK),
    UMAX(pkey_index, ERNIC_LIM_PKEY - 1), UMAX(path_mtu, ERNIC_MTU_4096),
    UMAX(timeout, ERNIC_ACK_TIMEOUT_COUNT - 1), UMAX(retry_cnt, 7),
    UMAX(rnr_retry, ERNIC_RNR_RETRY_FOREVER),
    UMAX(min_rnr_timer, ERNIC_RNR_TIMER_COUNT - 1),
    UMAX(max_rd_atomic, ERNIC_MAX_RD_ATOMIC),
    UMAX(max_dest_rd_atomic, ERNIC_MAX_RD_ATOMIC), BOOL(sqd_notify),
    U(rate_limit), U(rate_burst), STRUCT(av, av_struct),
};
#undef S
static const ErnicStateStruct attr_struct = DESCRIBE(attr_fields, ErnicQpAttr, QP_ATTR);

#define S ErnicSendQueue
static const ErnicStateField sq_fields[] = {
    STRUCT(wq, wq_struct), DERIVED(window_mask), U(fetched), U(started),
    U(next), UMAX(next_psn, ERNIC_PSN_MASK), UMAX(max_psn, ERNIC_PSN_MASK),
    UMAX(ssn, ERNIC_MSN_MASK), U(rd_issued),
    UMAX(blocked_on, ERNIC_BLOCKED_COUNT - 1), U(seen_gen), U(unasked),
    UMAX(read_restart, ERNIC_PSN_MASK), U(rate_at), BOOL(page_wait),
    UMAX(una_psn, ERNIC_PSN_MASK), U(rd_done), BOOL(rewound), U(rewind_gen),
    UMAX(rewind_psn, ERNIC_PSN_MASK), UMAX(retry_left, 7),
    UMAX(rnr_left, ERNIC_RNR_RETRY_FOREVER), U(ack_due), U(rnr_due),
    UMAX(cwnd, ERNIC_CWND_MAX), UMAX(narrow, ERNIC_PG332_OUTSTANDING),
    BOOL(flushing), U(flush_to),
    OWNED_OF(wqe, ernic_state_window, ernic_state_wqe), /* needs the rows above */
    U(lead), DERIVED(taken),
    U(tx_serial), BOOL(leaving), U(leave_by), U(waited), BOOL(asleep),
};
#undef S
static const ErnicStateStruct sq_struct =
    DESCRIBE(sq_fields, ErnicSendQueue, SEND_QUEUE);

#define S ErnicRdRes
static const ErnicStateField rd_fields[] = {
    BOOL(used), BOOL(atomic), BOOL(pending), BOOL(again),
    UMAX(psn, ERNIC_PSN_MASK), UMAX(npsn, ERNIC_PSN_MASK),
    UMAX(msn, ERNIC_MSN_MASK), U(rkey), UMAX(xrc_srq, ERNIC_QPN_MASK),
    UMAX(len, ERNIC_MSG_MAX), U(va),
    U(op), U(swap_add), U(compare), U(orig), U(start), U(next), U(end),
    UMAX(stop, ERNIC_MSG_MAX),
};
#undef S
const ErnicStateStruct ernic_state_rd = DESCRIBE(rd_fields, ErnicRdRes, RD_RES);

#define S ErnicRecvQueue
static const ErnicStateField rq_fields[] = {
    STRUCT(wq, wq_struct), UMAX(epsn, ERNIC_PSN_MASK),
    UMAX(msn, ERNIC_MSN_MASK), U(open), BOOL(nak_sent), BOOL(skip),
    BOOL(recv_valid), BOOL(established), UMAX(off, ERNIC_MSG_MAX),
    UMAX(xrc_srq, ERNIC_QPN_MASK), U(rkey),
    U(va), UMAX(dmalen, ERNIC_MSG_MAX), STRUCT(recv, recv_struct),
    UMAX(rd_head, ERNIC_MAX_RD_ATOMIC - 1), U(cnp_due),
};
#undef S
static const ErnicStateStruct rq_struct =
    DESCRIBE(rq_fields, ErnicRecvQueue, RECV_QUEUE);

#define S ErnicLastAck
static const ErnicStateField last_fields[] = {
    BOOL(owed), U(syndrome), UMAX(psn, ERNIC_PSN_MASK),
    UMAX(msn, ERNIC_MSN_MASK),
};
#undef S
static const ErnicStateStruct last_struct =
    DESCRIBE(last_fields, ErnicLastAck, LAST_ACK);

#define S ErnicAckState
static const ErnicStateField ack_fields[] = {
    BOOL(owed), U(due), U(nak), UMAX(fault, ERNIC_FAULT_COUNT - 1), U(code),
    UMAX(nak_psn, ERNIC_PSN_MASK), UMAX(rd_pending, ERNIC_MAX_RD_ATOMIC),
    BOOL(cnp_owed), BOOL(page_wait), U(count), STRUCT(last, last_struct),
};
#undef S
static const ErnicStateStruct ack_struct = DESCRIBE(ack_fields, ErnicAckState, ACK);

#define S ErnicCc
static const ErnicStateField cc_fields[] = {
    BOOL(limited), UMAX(rate, ERNIC_LINK_RATE_MAX),
    UMAX(target, ERNIC_LINK_RATE_MAX), UMAX(alpha, 1u << 16), U(stage),
    U(alpha_at), U(rate_at), U(cut_at), U(send_at),
};
#undef S
static const ErnicStateStruct cc_struct = DESCRIBE(cc_fields, ErnicCc, CC);

#define S ErnicQp
static const ErnicStateField qp_fields[] = {
    BOOL(used), BOOLS(in_ring), RETIRED(broken_cq), BOOL(last_wqe),
    UMAX(type, ERNIC_QPT_COUNT - 1), UMAX(transport, ERNIC_RAW),
    UMAX(state, ERNIC_QPS_COUNT - 1), UBITS(flags, ERNIC_QPF_SQ_SIG_ALL),
    BOOL(sq_drained), U(qpn), UMAX(uctx, ERNIC_LIM_UCTX), U(pd), U(send_cq),
    U(recv_cq), U(srq), UMAX(counter, ERNIC_LIM_COUNTER),
    ARRAY(ring_next, UINT32_MAX), U(timer_due),
    STRUCT(attr, attr_struct),
    STRUCT(sq, sq_struct), STRUCT(cc, cc_struct), STRUCT(ack, ack_struct),
    STRUCT(events, events_struct), STRUCT(rq, rq_struct),
    OWNED_OF(rd, ernic_state_answers, ernic_state_rd), DERIVED(ring_prev),
    U(flush_wait), BOOL(stopping),
};
#undef S
static const ErnicStateStruct qp_struct = DESCRIBE(qp_fields, ErnicQp, QP);

/* ---- packets on their way out ---------------------------------------------- */

#define S ErnicLeftAck
static const ErnicStateField left_fields[] = {
    STRUCT(path, ernic_state_path), UMAX(qpn, ERNIC_QPN_MASK),
    UMAX(dest_qp, ERNIC_QPN_MASK), UMAX(psn, ERNIC_PSN_MASK),
    UMAX(msn, ERNIC_MSN_MASK), U(pkey), UMAX(transport, ERNIC_XRC, .def = ERNIC_RC),
    U(syndrome),
};
#undef S
static const ErnicStateStruct left_struct =
    DESCRIBE(left_fields, ErnicLeftAck, LEFT_ACK);

#define S ErnicTx
static const ErnicStateField tx_fields[] = {
    DERIVED(busy),              /* another link: it is asked anew; of the model: */
                                /* ernic_state_derive_timing() */
    DERIVED(loop_full),
    UMAX(len, ERNIC_TRAIN_BYTES), UMAX(seg, ERNIC_TRAIN_BYTES),
    UMAX(packets, ERNIC_TRAIN_PACKETS), BOOL(closed), BOOL(frame), U(serial),
    STRUCT(path, ernic_state_path),
    DERIVED(icrc),              /* of path */
    OWNED(buf, ernic_state_held),
    OWNED_OF(loop, ernic_state_loop, ernic_state_train),
    DERIVED(loop_pos), DERIVED(loop_len),
    UMAX(num_left, ERNIC_LAST_ACKS), STRUCTS(left, left_struct),
    DERIVED(taken),             /* by another link */
    DERIVED(departed),
    DERIVED(looks),             /* departed is 0: all of them, if there are any */
    U(domain),
};
#undef S
const ErnicStateStruct ernic_state_tx = DESCRIBE(tx_fields, ErnicTx, TX);

#define S ErnicSide
/* A whole field of the channel, with the name that it had in older releases. */
#define DMA(f, kind_, max_) \
    { .name = #f, .offset = offsetof(S, dma.f), .size = sizeof_field(S, dma.f), \
      .num = 1, .kind = ERNIC_SK_##kind_, .max = max_ }
#define DMA_U(f)    DMA(f, UINT, UINT64_MAX)
static const ErnicStateField side_fields[] = {
    DMA_U(cr), DMA_U(sr), DMA_U(cur), DMA_U(tail), DMA_U(next), DMA(idle, BOOL, 0),
    DMA_U(left),
    UMAX(head, ERNIC_SIDE_FIFO - 1), UMAX(count, ERNIC_SIDE_FIFO), U(lost),
    ARRAY(fifo, UINT64_MAX),
};
#undef DMA_U
#undef DMA
#undef S
const ErnicStateStruct ernic_state_side = DESCRIBE(side_fields, ErnicSide, SIDE);

/* ---- all of it ------------------------------------------------------------- */

#define TABLE(name_, of_, max, used_) \
    { .name = #name_, .of = &of_, .table = offsetof(Ernic, name_), \
      .size = offsetof(Ernic, cfg.max), .given = offsetof(Ernic, name_##_ids.fresh), \
      .first = 1, .used = used_ }

/* A table inside the structure that a pointer of Ernic leads to. */
#define PART(pointer, name_, type, of_, last) \
    { .name = #name_, .of = &of_, .table = offsetof(Ernic, pointer), \
      .within = offsetof(type, name_), .fixed = (last) + 1, .first = 1, \
      .used = offsetof(typeof(((type *)0)->name_[0]), used) }

const ErnicStateTable ernic_state_tables[] = {
    TABLE(pd, pd_struct, max_pd, offsetof(ErnicPd, used)),
    TABLE(eq, eq_struct, max_eq, offsetof(ErnicEq, used)),
    TABLE(cq, cq_struct, max_cq, offsetof(ErnicCq, used)),
    TABLE(srq, srq_struct, max_srq, offsetof(ErnicSrq, used)),
    TABLE(mr, mr_struct, max_mr, offsetof(ErnicMr, kind)),
    TABLE(qp, qp_struct, max_qp, offsetof(ErnicQp, used)),
    { .name = "mcast", .of = &mcast_struct, .table = offsetof(Ernic, mcast),
      .fixed = ERNIC_LIM_MCAST_ATTACH, .end = offsetof(Ernic, mcast_end),
      .used = offsetof(ErnicMcast, used) },
    { .name = "flow", .of = &flow_struct, .table = offsetof(Ernic, flow),
      .fixed = ERNIC_LIM_FLOW + 1, .first = 1,
      .used = offsetof(ErnicFlow, used) },
    { .name = "rss", .of = &rss_struct, .table = offsetof(Ernic, rss),
      .fixed = ERNIC_LIM_RSS + 1, .first = 1,
      .used = offsetof(ErnicRss, used) },
    { .name = "counter", .of = &counter_struct, .table = offsetof(Ernic, counter),
      .fixed = ERNIC_LIM_COUNTER + 1, .used = offsetof(ErnicCounter, used) },
    PART(mlx5_eth, sq, ErnicMlx5Eth, ernic_state_mlx5_queue, ERNIC_LIM_ETH_QUEUE),
    PART(mlx5_eth, rq, ErnicMlx5Eth, ernic_state_mlx5_queue, ERNIC_LIM_ETH_QUEUE),
    PART(mlx5_eth, tir, ErnicMlx5Eth, ernic_state_mlx5_tir, ERNIC_LIM_TIR),
    PART(mlx5_eth, tis, ErnicMlx5Eth, ernic_state_mlx5_tis, ERNIC_LIM_TIS),
    PART(mlx5_eth, rqt, ErnicMlx5Eth, ernic_state_mlx5_rqt, ERNIC_LIM_RQT),
    PART(flow_tables, table, ErnicFlowTables, ernic_state_flow_table,
         ERNIC_LIM_FLOW_TABLE),
    PART(flow_tables, group, ErnicFlowTables, ernic_state_flow_group,
         ERNIC_LIM_FLOW_GROUP),
    PART(flow_tables, entry, ErnicFlowTables, ernic_state_flow_entry,
         ERNIC_LIM_FLOW_ENTRY),
    PART(flow_tables, counter, ErnicFlowTables, ernic_state_flow_counter,
         ERNIC_LIM_FLOW_COUNTER),
};
const uint32_t ernic_state_num_tables = G_N_ELEMENTS(ernic_state_tables);

const ErnicStateStruct *const ernic_state_structs[] = {
    [ERNIC_SS_CONFIG] = &ernic_state_config,
    [ERNIC_SS_GID] = &gid_struct,
    [ERNIC_SS_PAGE] = &page_struct,
    [ERNIC_SS_EVENTS] = &events_struct,
    [ERNIC_SS_STATS] = &stats_struct,
    [ERNIC_SS_IDS] = &ids_struct,
    [ERNIC_SS_RING] = &ring_struct,
    [ERNIC_SS_DEVICE] = &ernic_state_device,
    [ERNIC_SS_BUF] = &ernic_state_buf,
    [ERNIC_SS_PD] = &pd_struct,
    [ERNIC_SS_EQ] = &eq_struct,
    [ERNIC_SS_CQ] = &cq_struct,
    [ERNIC_SS_WQ] = &wq_struct,
    [ERNIC_SS_SRQ] = &srq_struct,
    [ERNIC_SS_MR] = &mr_struct,
    [ERNIC_SS_MCAST] = &mcast_struct,
    [ERNIC_SS_FLOW_KEY] = &flow_key_struct,
    [ERNIC_SS_FLOW] = &flow_struct,
    [ERNIC_SS_RSS] = &rss_struct,
    [ERNIC_SS_QP_STATS] = &qp_stats_struct,
    [ERNIC_SS_COUNTER] = &counter_struct,
    [ERNIC_SS_SGE] = &ernic_state_sge,
    [ERNIC_SS_ABI_AV] = &ernic_state_abi_av,
    [ERNIC_SS_UD] = &ud_struct,
    [ERNIC_SS_REG_MR] = &ernic_state_reg_mr,
    [ERNIC_SS_BIND_MW] = &ernic_state_bind_mw,
    [ERNIC_SS_WQE] = &ernic_state_wqe,
    [ERNIC_SS_RECV] = &recv_struct,
    [ERNIC_SS_AV] = &av_struct,
    [ERNIC_SS_QP_ATTR] = &attr_struct,
    [ERNIC_SS_SEND_QUEUE] = &sq_struct,
    [ERNIC_SS_RD_RES] = &ernic_state_rd,
    [ERNIC_SS_RECV_QUEUE] = &rq_struct,
    [ERNIC_SS_ACK] = &ack_struct,
    [ERNIC_SS_CC] = &cc_struct,
    [ERNIC_SS_QP] = &qp_struct,
    [ERNIC_SS_PATH] = &ernic_state_path,
    [ERNIC_SS_TRAIN] = &ernic_state_train,
    [ERNIC_SS_TX] = &ernic_state_tx,
    [ERNIC_SS_SIDE] = &ernic_state_side,
    [ERNIC_SS_WC] = &ernic_state_wc,
    [ERNIC_SS_COST] = &ernic_state_cost,
    [ERNIC_SS_PCIE] = &ernic_state_pcie,
    [ERNIC_SS_PROFILE] = &ernic_state_profile,
    [ERNIC_SS_STAGE] = &ernic_state_stage,
    [ERNIC_SS_LIMIT] = &ernic_state_limit,
    [ERNIC_SS_LEVEL] = &ernic_state_level,
    [ERNIC_SS_RETRY] = &ernic_state_retry,
    [ERNIC_SS_LRU] = &ernic_state_lru,
    [ERNIC_SS_FIFO] = &ernic_state_fifo,
    [ERNIC_SS_TIMED_RESPONSE] = &ernic_state_response,
    [ERNIC_SS_TIMED_DOORBELL] = &ernic_state_doorbell,
    [ERNIC_SS_TIMED_PACKET] = &ernic_state_packet,
    [ERNIC_SS_TIMED_CQE] = &ernic_state_cqe,
    [ERNIC_SS_TIMING] = &ernic_state_timing,
    [ERNIC_SS_VIOLATION] = &ernic_state_violation,
    [ERNIC_SS_STRICT] = &ernic_state_strict,
    [ERNIC_SS_HANDSHAKE] = &ernic_state_handshake,
    [ERNIC_SS_HANDSHAKE_QP] = &ernic_state_handshake_qp,
    [ERNIC_SS_LAST_ACK] = &last_struct,
    [ERNIC_SS_LEFT_ACK] = &left_struct,
    [ERNIC_SS_MR_UPDATE] = &ernic_state_mr_update,
    [ERNIC_SS_MLX5] = &ernic_state_mlx5,
    [ERNIC_SS_MLX5_FUNCTION] = &ernic_state_mlx5_function,
    [ERNIC_SS_MLX5_CAPABILITIES] = &ernic_state_mlx5_capabilities,
    [ERNIC_SS_MLX5_VPORT] = &ernic_state_mlx5_vport,
    [ERNIC_SS_MLX5_COMMANDS] = &ernic_state_mlx5_commands,
    [ERNIC_SS_MLX5_ENTRY] = &ernic_state_mlx5_entry,
    [ERNIC_SS_MLX5_CHAIN] = &ernic_state_mlx5_chain,
    [ERNIC_SS_MLX5_QUEUES] = &ernic_state_mlx5_queues,
    [ERNIC_SS_MLX5_QP] = &ernic_state_mlx5_qp,
    [ERNIC_SS_MLX5_CQ] = &ernic_state_mlx5_cq,
    [ERNIC_SS_MLX5_SRQ] = &ernic_state_mlx5_srq,
    [ERNIC_SS_MLX5_CONTEXTS] = &ernic_state_mlx5_contexts,
    [ERNIC_SS_MLX5_ETH_QUEUE] = &ernic_state_mlx5_queue,
    [ERNIC_SS_MLX5_TIR] = &ernic_state_mlx5_tir,
    [ERNIC_SS_MLX5_TIS] = &ernic_state_mlx5_tis,
    [ERNIC_SS_MLX5_RQT] = &ernic_state_mlx5_rqt,
    [ERNIC_SS_MLX5_ETH] = &ernic_state_mlx5_eth,
    [ERNIC_SS_FLOW_TABLE] = &ernic_state_flow_table,
    [ERNIC_SS_FLOW_GROUP] = &ernic_state_flow_group,
    [ERNIC_SS_FLOW_DEST] = &ernic_state_flow_dest,
    [ERNIC_SS_FLOW_ENTRY] = &ernic_state_flow_entry,
    [ERNIC_SS_FLOW_COUNTER] = &ernic_state_flow_counter,
    [ERNIC_SS_FLOW_TABLES] = &ernic_state_flow_tables,
};
const uint32_t ernic_state_num_structs = G_N_ELEMENTS(ernic_state_structs);
