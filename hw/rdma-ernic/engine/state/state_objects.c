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
#include "state/spans.h"
#include "state/state.h"
#include "steering/flow.h"
#include "steering/flow_tables.h"
#include "steering/rss.h"
#include "transport/cc.h"
#include "transport/tx.h"
#include "wire/ib_tables.h"

/* ---- device ---------------------------------------------------------------- */

#define S ErnicConfig
DESCRIBE(config,
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
);
#undef S

#define S ErnicGidEntry
DESCRIBE(gid, BYTES(gid), BYTES(mac), U(vlan));
#undef S

#define S ErnicPageFault
DESCRIBE(page,
    U(off), U(key), U(len), BOOL(write), UMAX(state, ERNIC_PAGE_STATES - 1),
);
#undef S

#define S ErnicEvents
DESCRIBE(events,
    UBITS(pending, (1u << ERNIC_EV_COUNT) - 1), U(detail), BOOL(queued),
    STRUCT(page, page),
);
#undef S

#define S ErnicStats
#define X(name) U(name),
DESCRIBE(stats,
    ARRAY(drop, UINT64_MAX), ARRAY(fault, UINT64_MAX),
    /* Last: a new counter is at the end of the list. */
    ERNIC_STATS_LIST(X)
);
#undef X
#undef S

#define S ErnicIds
DESCRIBE(ids,
    /* The freed numbers in their order, and the first of the others. */
    OWNED(fifo, ernic_state_free_ids), DERIVED(first), DERIVED(size), DERIVED(fresh),
    DERIVED(room), DERIVED(head), DERIVED(tail), DERIVED(count),
);
#undef S

#define S ErnicRing
DESCRIBE(ring, U(head), U(tail), DERIVED(count));
#undef S

#define S Ernic
DESCRIBE(device,
    DERIVED(ops), DERIVED(env),
    DERIVED(cfg),               /* in front of all, and compared */
    DERIVED(interface), DERIVED(keys), DERIVED(cqes), DERIVED(eqs),  /* of cfg */
    OWNED(regs, ernic_state_regs),
    DERIVED(strict),            /* a section of its own, if there is one */
    STRUCT(pd_ids, ids), STRUCT(eq_ids, ids), STRUCT(cq_ids, ids), STRUCT(srq_ids, ids),
    STRUCT(mr_ids, ids), STRUCT(qp_ids, ids), STRUCT(uctx_ids, ids),
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
    DERIVED(num_holders), DERIVED(num_unacked),
    DERIVED(page_failed),
    DERIVED(copies),            /* datagrams of a stopped device may be lost */
    DERIVED(job),               /* the destination executes the command again */
    DERIVED(touched),
    DERIVED(deferred),          /* of objects that are gone */
    DERIVED(work),      /* a slice is not divided */
    STRUCTS(gid, gid), DERIVED(num_gids),
    DERIVED(gid_changes),       /* counted since the device exists */
    ARRAY(pkey, UINT16_MAX),
    U(bad_pkey), U(bad_qkey), BOOL(port_active), U(async_eq),
    DERIVED(eq_more),
    DERIVED(udp_sport),         /* of cfg or regs */
    STRUCT(port_events, events), DERIVED(events_at),
    DERIVED(timers),            /* timer_due of each queue pair */
    DERIVED(cq_timers),         /* mod_due of each completion queue */
    DERIVED(tx),                /* a section of its own */
    DERIVED(side),              /* as well, if there is one */
    DERIVED(timing),            /* as well, if there is one */
    STRUCT(ready, ring), STRUCT(waiting, ring), STRUCT(places, ring),
    DERIVED(now),               /* an argument of ernic_load() */
    STRUCT(stats, stats),
    DERIVED(absent),            /* none between two accesses */
    DERIVED(rx_fault),          /* none between two packets */
    DERIVED(rx_pkt), DERIVED(precopy), STRUCT(departing, ring),
    DERIVED(mlx5),              /* a section of its own, if there is one */
    DERIVED(mlx5_eth), DERIVED(flow_tables),    /* as well */
    U(unsettled), DERIVED(db_pages),
    DERIVED(resume), DERIVED(paused),           /* of another link */
    DERIVED(handshake),         /* a section of its own, if there is one */
);
#undef S

/* ---- objects --------------------------------------------------------------- */

#define S ErnicPd
DESCRIBE(pd, BOOL(used), UMAX(uctx, ERNIC_LIM_UCTX), U(refs));
#undef S

#define S ErnicEq
DESCRIBE(eq,
    BOOL(used), UMAX(uctx, ERNIC_LIM_UCTX), U(vector),
    UMAX(depth, ERNIC_MAX_EQ_DEPTH), U(pi), U(ci), U(refs),
    STRUCT(buf, buf), OWNED(line, ernic_state_line),
    DERIVED(line_size), DERIVED(line_head), DERIVED(line_count), BOOL(broken),
    UBITS(masked, (1u << ERNIC_EV_COUNT) - 1), BOOL(arms), BOOL(armed),
);
#undef S

#define S ErnicCq
DESCRIBE(cq,
    BOOL(used), BOOL(overrun), UMAX(arm, ERNIC_CQ_ARMED_ANY),
    UMAX(uctx, ERNIC_LIM_UCTX), U(eq), UMAX(depth, ERNIC_MAX_CQ_DEPTH),
    U(pi), U(ci), U(sol_pi), U(ci_addr), U(mod_count), U(mod_period_us),
    U(mod_pending), U(mod_due), U(refs), STRUCT(buf, buf),
    STRUCT(events, events), U(notified), BOOL(overwrites),
    UMAX(lead, ERNIC_CQ_ENTRY),
);
#undef S

#define S ErnicWq
DESCRIBE(wq,
    STRUCT(buf, buf), UMAX(depth, ERNIC_MAX_WQ_DEPTH),
    UMAX(stride, 64 * ERNIC_SQ_STRIDE_MAX), U(pi), U(ci), U(record),
);
#undef S

#define S ErnicSrq
DESCRIBE(srq,
    BOOL(used), BOOL(error), UMAX(uctx, ERNIC_LIM_UCTX), U(pd),
    UMAX(limit, ERNIC_MAX_WQ_DEPTH), U(refs), U(xrcd), U(cq),
    STRUCT(wq, wq), STRUCT(events, events),
);
#undef S

#define S ErnicMr
DESCRIBE(mr,
    UMAX(kind, ERNIC_MR_WINDOW_2), BOOL(valid), U(variant), U(pd),
    UMAX(uctx, ERNIC_LIM_UCTX),
    UBITS(access, ERNIC_ACCESS_FLAGS | ERNIC_ACCESS_ON_DEMAND), U(iova),
    U(length), U(offset), STRUCT(buf, buf),
    OWNED(odp, ernic_state_odp),        /* needs access */
    U(refs), U(region), U(qpn), U(loader), DERIVED(holder),
);
#undef S

#define S ErnicMcast
DESCRIBE(mcast, BOOL(used), BYTES(gid), U(qpn), DERIVED(next), DERIVED(chain));
#undef S

#define S struct ernic_flow_key
DESCRIBE(flow_key,
    BYTES(dmac), BYTES(smac), BYTES(ethertype), BYTES(vlan), BYTES(src_ip),
    BYTES(dst_ip), BYTES(flow_label), U(ip_proto), U(tclass), U(hop_limit),
    U(ip_flags), BYTES(src_port), BYTES(dst_port),
);
#undef S

#define S ErnicFlow
DESCRIBE(flow,
    BOOL(used), UMAX(uctx, ERNIC_LIM_UCTX), U(qpn), U(priority), U(layers),
    STRUCT(value, flow_key), STRUCT(mask, flow_key),
);
#undef S

#define S ErnicRss
DESCRIBE(rss,
    BOOL(used), UMAX(shift, ERNIC_RSS_SHIFT_MAX), UMAX(uctx, ERNIC_LIM_UCTX),
    UBITS(fields, ERNIC_HASH_FIELDS), BYTES(key), ARRAY(wq, UINT32_MAX),
);
#undef S

#define S ErnicQpStats
#define X(name) U(name),
DESCRIBE(qp_stats, ERNIC_QP_STATS_LIST(X));
#undef X
#undef S

#define S ErnicCounter
DESCRIBE(counter,
    BOOL(used), STRUCT(stats, qp_stats), U(served_writes), U(served_reads),
    U(served_atomics),
);
#undef S

/* ---- requests -------------------------------------------------------------- */

#define S struct ernic_wqe_ud
DESCRIBE(ud,
    U(qkey), UMAX(dest_qpn, ERNIC_QPN_MASK), U(pkey_index), BYTES(reserved),
    STRUCT(av, abi_av),
);
#undef S

#define S ErnicWqe
DESCRIBE(wqe,
    U(wr_id), U(index), U(opcode), UBITS(flags, ERNIC_WR_FLAGS),
    UMAX(num_sge, ERNIC_WQE_SGE), BYTES(imm), U(inv_rkey),
    UMAX(len, ERNIC_MSG_MAX), U(raddr), U(rkey), UMAX(xrc_srq, ERNIC_QPN_MASK),
    U(compare_add), U(swap),
    STRUCT(ud, ud), UMAX(fault, ERNIC_FAULT_COUNT - 1),
    UMAX(first_psn, ERNIC_PSN_MASK), UMAX(npsn, ERNIC_PSN_MASK), BOOL(done),
    U(tx_serial), U(rsp_done),
    /* One of: SGEs, inline bytes, REG_MR, BIND_MW, MR_UPDATE. */
    { .name = "payload", .offset = offsetof(S, sge),
      .size = sizeof(S) - offsetof(S, sge), .num = 1, .kind = ERNIC_SK_OWNED,
      .owned = &ernic_state_payload },
    UMAX(units, ERNIC_MAX_WQ_DEPTH, .def = 1), DERIVED(unit), UMAX(ud_priority, 7),
    U(ud_sport),
    DERIVED(inlined),           /* part of the payload */
);
#undef S

#define S ErnicRecv
DESCRIBE(recv,
    U(wr_id), U(index), U(len), UMAX(num_sge, ERNIC_RECV_SGE),
    UMAX(fault, ERNIC_FAULT_COUNT - 1), STRUCTS(sge, sge),
);
#undef S

/* ---- queue pairs ----------------------------------------------------------- */

#define S ErnicAv
DESCRIBE(av,
    BYTES(dgid), BYTES(dmac), UMAX(sgid_index, ERNIC_LIM_GID - 1),
    U(hop_limit), U(tclass), UMAX(flow_label, 0xfffff), UMAX(priority, 7), U(udp_sport),
);
#undef S

#define S ErnicQpAttr
DESCRIBE(qp_attr,
    UBITS(access, ERNIC_ACCESS_QP), U(qkey), UMAX(rq_psn, ERNIC_PSN_MASK),
    UMAX(sq_psn, ERNIC_PSN_MASK), UMAX(dest_qpn, ERNIC_QPN_MASK),
    UMAX(pkey_index, ERNIC_LIM_PKEY - 1), UMAX(path_mtu, ERNIC_MTU_4096),
    UMAX(timeout, ERNIC_ACK_TIMEOUT_COUNT - 1), UMAX(retry_cnt, 7),
    UMAX(rnr_retry, ERNIC_RNR_RETRY_FOREVER),
    UMAX(min_rnr_timer, ERNIC_RNR_TIMER_COUNT - 1),
    UMAX(max_rd_atomic, ERNIC_MAX_RD_ATOMIC),
    UMAX(max_dest_rd_atomic, ERNIC_MAX_RD_ATOMIC), BOOL(sqd_notify),
    U(rate_limit), U(rate_burst), STRUCT(av, av),
);
#undef S

#define S ErnicSendQueue
DESCRIBE(send_queue,
    STRUCT(wq, wq), DERIVED(window_mask), U(fetched), U(started),
    U(next), UMAX(next_psn, ERNIC_PSN_MASK), UMAX(max_psn, ERNIC_PSN_MASK),
    UMAX(ssn, ERNIC_MSN_MASK), U(rd_issued),
    UMAX(blocked_on, ERNIC_BLOCKED_COUNT - 1), U(seen_gen), U(unasked),
    UMAX(read_restart, ERNIC_PSN_MASK), U(rate_at), BOOL(page_wait),
    UMAX(una_psn, ERNIC_PSN_MASK), U(rd_done), BOOL(rewound), U(rewind_gen),
    UMAX(rewind_psn, ERNIC_PSN_MASK), UMAX(retry_left, 7),
    UMAX(rnr_left, ERNIC_RNR_RETRY_FOREVER), U(ack_due), U(rnr_due),
    UMAX(cwnd, ERNIC_CWND_MAX), UMAX(narrow, ERNIC_PG332_OUTSTANDING),
    BOOL(flushing), U(flush_to),
    OWNED_OF(wqe, ernic_state_window, wqe), /* needs the rows above */
    U(lead), DERIVED(taken),
    U(tx_serial), BOOL(leaving), U(leave_by), U(waited), BOOL(asleep),
    UMAX(heard_psn, ERNIC_PSN_MASK),
);
#undef S

#define S ErnicRdRes
DESCRIBE(rd_res,
    BOOL(used), BOOL(atomic), BOOL(pending), BOOL(again),
    UMAX(psn, ERNIC_PSN_MASK), UMAX(npsn, ERNIC_PSN_MASK),
    UMAX(msn, ERNIC_MSN_MASK), U(rkey), UMAX(xrc_srq, ERNIC_QPN_MASK),
    UMAX(len, ERNIC_MSG_MAX), U(va),
    U(op), U(swap_add), U(compare), U(orig), U(start), U(next), U(end),
    UMAX(stop, ERNIC_MSG_MAX),
);
#undef S

#define S ErnicRecvQueue
DESCRIBE(recv_queue,
    STRUCT(wq, wq), UMAX(epsn, ERNIC_PSN_MASK),
    UMAX(msn, ERNIC_MSN_MASK), U(open), BOOL(nak_sent), BOOL(skip),
    BOOL(recv_valid), BOOL(established), UMAX(off, ERNIC_MSG_MAX),
    UMAX(xrc_srq, ERNIC_QPN_MASK), U(rkey),
    U(va), UMAX(dmalen, ERNIC_MSG_MAX), STRUCT(recv, recv),
    UMAX(rd_head, ERNIC_MAX_RD_ATOMIC - 1), U(cnp_due),
);
#undef S

#define S ErnicLastAck
DESCRIBE(last_ack,
    BOOL(owed), U(syndrome), UMAX(psn, ERNIC_PSN_MASK),
    UMAX(msn, ERNIC_MSN_MASK),
);
#undef S

#define S ErnicAckState
DESCRIBE(ack,
    BOOL(owed), U(due), U(nak), UMAX(fault, ERNIC_FAULT_COUNT - 1), U(code),
    UMAX(nak_psn, ERNIC_PSN_MASK), UMAX(rd_pending, ERNIC_MAX_RD_ATOMIC),
    BOOL(cnp_owed), BOOL(page_wait), U(count), STRUCT(last, last_ack),
);
#undef S

#define S ErnicCc
DESCRIBE(cc,
    BOOL(limited), UMAX(rate, ERNIC_LINK_RATE_MAX),
    UMAX(target, ERNIC_LINK_RATE_MAX), UMAX(alpha, 1u << 16), U(stage),
    U(alpha_at), U(rate_at), U(cut_at), U(send_at),
);
#undef S

#define S ErnicQp
DESCRIBE(qp,
    BOOL(used), BOOLS(in_ring), RETIRED(broken_cq), BOOL(last_wqe),
    UMAX(type, ERNIC_QPT_COUNT - 1), UMAX(transport, ERNIC_RAW),
    UMAX(state, ERNIC_QPS_COUNT - 1), UBITS(flags, ERNIC_QPF_SQ_SIG_ALL),
    BOOL(sq_drained), U(qpn), UMAX(uctx, ERNIC_LIM_UCTX), U(pd), U(send_cq),
    U(recv_cq), U(srq), UMAX(counter, ERNIC_LIM_COUNTER),
    ARRAY(ring_next, UINT32_MAX), U(timer_due),
    STRUCT(attr, qp_attr),
    STRUCT(sq, send_queue), STRUCT(cc, cc), STRUCT(ack, ack),
    STRUCT(events, events), STRUCT(rq, recv_queue),
    OWNED_OF(rd, ernic_state_answers, rd_res), DERIVED(ring_prev),
    U(flush_wait), BOOL(stopping),
);
#undef S

/* ---- packets on their way out ---------------------------------------------- */

#define S ErnicLeftAck
DESCRIBE(left_ack,
    STRUCT(path, path), UMAX(qpn, ERNIC_QPN_MASK),
    UMAX(dest_qp, ERNIC_QPN_MASK), UMAX(psn, ERNIC_PSN_MASK),
    UMAX(msn, ERNIC_MSN_MASK), U(pkey), UMAX(transport, ERNIC_XRC, .def = ERNIC_RC),
    U(syndrome),
);
#undef S

#define S ErnicTx
DESCRIBE(tx,
    DERIVED(busy),              /* another link: it is asked anew; of the model: */
                                /* ernic_state_derive_timing() */
    DERIVED(loop_full),
    UMAX(len, ERNIC_TRAIN_BYTES), UMAX(seg, ERNIC_TRAIN_BYTES),
    UMAX(packets, ERNIC_TRAIN_PACKETS), BOOL(closed), BOOL(frame), U(serial),
    STRUCT(path, path),
    DERIVED(icrc),              /* of path */
    OWNED(buf, ernic_state_held),
    OWNED_OF(loop, ernic_state_loop, train),
    DERIVED(loop_pos), DERIVED(loop_len),
    UMAX(num_left, ERNIC_LAST_ACKS), STRUCTS(left, left_ack),
    DERIVED(taken),             /* by another link */
    DERIVED(departed),
    DERIVED(looks),             /* departed is 0: all of them, if there are any */
    U(domain),
);
#undef S

#define S ErnicSide
/* A whole field of the channel, with the name that it had in older releases. */
#define DMA(f, kind_, max_) \
    { .name = #f, .offset = offsetof(S, dma.f), .size = sizeof_field(S, dma.f), \
      .num = 1, .kind = ERNIC_SK_##kind_, .max = max_ }
#define DMA_U(f)    DMA(f, UINT, UINT64_MAX)
DESCRIBE(side,
    DMA_U(cr), DMA_U(sr), DMA_U(cur), DMA_U(tail), DMA_U(next), DMA(idle, BOOL, 0),
    DMA_U(left),
    UMAX(head, ERNIC_SIDE_FIFO - 1), UMAX(count, ERNIC_SIDE_FIFO), U(lost),
    ARRAY(fifo, UINT64_MAX),
);
#undef DMA_U
#undef DMA
#undef S

/* ---- all of it ------------------------------------------------------------- */

/* The offset of @field in an entry of the table that @member of @type is or points to. */
#define OFFSET(type, member, field) offsetof(typeof(((type *)0)->member[0]), field)

#define TABLE(name_, max, used_) \
    { .name = #name_, .of = &ernic_state_##name_, .table = offsetof(Ernic, name_), \
      .size = offsetof(Ernic, cfg.max), .given = offsetof(Ernic, name_##_ids.fresh), \
      .first = 1, .used = OFFSET(Ernic, name_, used_) }

#define FIXED(name_, num, ...) \
    { .name = #name_, .of = &ernic_state_##name_, .table = offsetof(Ernic, name_), \
      .fixed = (num), .used = OFFSET(Ernic, name_, used), __VA_ARGS__ }

/* A table inside the structure that a pointer of Ernic leads to. */
#define PART(pointer, name_, type, of_, last) \
    { .name = #name_, .of = &ernic_state_##of_, .table = offsetof(Ernic, pointer), \
      .within = offsetof(type, name_), .fixed = (last) + 1, .first = 1, \
      .used = OFFSET(type, name_, used) }

const ErnicStateTable ernic_state_tables[] = {
    TABLE(pd, max_pd, used), TABLE(eq, max_eq, used), TABLE(cq, max_cq, used),
    TABLE(srq, max_srq, used), TABLE(mr, max_mr, kind), TABLE(qp, max_qp, used),
    FIXED(mcast, ERNIC_LIM_MCAST_ATTACH, .end = offsetof(Ernic, mcast_end)),
    FIXED(flow, ERNIC_LIM_FLOW + 1, .first = 1),
    FIXED(rss, ERNIC_LIM_RSS + 1, .first = 1),
    FIXED(counter, ERNIC_LIM_COUNTER + 1),
    PART(mlx5_eth, sq, ErnicMlx5Eth, mlx5_eth_queue, ERNIC_LIM_ETH_QUEUE),
    PART(mlx5_eth, rq, ErnicMlx5Eth, mlx5_eth_queue, ERNIC_LIM_ETH_QUEUE),
    PART(mlx5_eth, tir, ErnicMlx5Eth, mlx5_tir, ERNIC_LIM_TIR),
    PART(mlx5_eth, tis, ErnicMlx5Eth, mlx5_tis, ERNIC_LIM_TIS),
    PART(mlx5_eth, rqt, ErnicMlx5Eth, mlx5_rqt, ERNIC_LIM_RQT),
    PART(flow_tables, table, ErnicFlowTables, flow_table, ERNIC_LIM_FLOW_TABLE),
    PART(flow_tables, group, ErnicFlowTables, flow_group, ERNIC_LIM_FLOW_GROUP),
    PART(flow_tables, entry, ErnicFlowTables, flow_entry, ERNIC_LIM_FLOW_ENTRY),
    PART(flow_tables, counter, ErnicFlowTables, flow_counter, ERNIC_LIM_FLOW_COUNTER),
};
const uint32_t ernic_state_num_tables = G_N_ELEMENTS(ernic_state_tables);
/* The first rows of spans are the tables. */
QEMU_BUILD_BUG_ON(G_N_ELEMENTS(ernic_state_tables) != ERNIC_SPANS_VARIANTS);

#define X(name) &ernic_state_##name,
const ErnicStateStruct *const ernic_state_structs[] = { ERNIC_STATE_STRUCTS(X) };
#undef X
const uint32_t ernic_state_num_structs = G_N_ELEMENTS(ernic_state_structs);
