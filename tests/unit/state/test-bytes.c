/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The descriptions of saved state account for every byte of each structure. Always built
 * by gcc: clang has no __builtin_clear_padding().
 */
#include "qemu/osdep.h"
#include "busy.h"
#include "objects/counter.h"
#include "objects/cq.h"
#include "objects/srq.h"
#include "steering/flow.h"
#include "steering/flow_tables.h"
#include "interfaces/mlx5/eth/objects.h"
#include "interfaces/mlx5/rdma/records.h"
#include "interfaces/pg332/handshake.h"
#include "interfaces/pg332/side_stream.h"
#include "interfaces/pg332/strict.h"
#include "objects/mcast.h"
#include "objects/mr.h"
#include "state/state.h"
#include "timing/timing.h"
#include "transport/qp.h"
#include "trace-mark.h"
#include "transport/tx.h"

/* For each byte, the number of rows that claim it. */
static uint8_t *claims(const ErnicStateStruct *of)
{
    uint8_t *claim = g_new0(uint8_t, of->size);

    for (uint32_t i = 0; i < of->num_fields; i++) {
        const ErnicStateField *f = &of->field[i];

        g_assert_cmpuint(f->offset + f->size * f->num, <=, of->size);
        for (uint32_t k = 0; k < f->size * f->num; k++) {
            claim[f->offset + k]++;
        }
    }
    return claim;
}

/* No two rows claim a byte, and unclaimed gaps are too small for a field. */
TEST("/state/rows", test_rows)
{
    uint32_t gap;

    for (uint32_t s = 0; s < ernic_state_num_structs; s++) {
        const ErnicStateStruct *of = ernic_state_structs[s];
        g_autofree uint8_t *claim = claims(of);

        IS(of->id, s);
        for (uint32_t i = gap = 0; i < of->size; i++) {
            g_assert_cmpuint(claim[i], <=, 1);
            gap = claim[i] ? 0 : gap + 1;
            g_assert_cmpuint(gap, <, 8);
        }
        for (uint32_t i = 0; i < of->num_fields; i++) {
            const ErnicStateField *f = &of->field[i];

            g_test_message("%s.%s", of->name, f->name);
            g_assert_true(f->kind != ERNIC_SK_STRUCT || f->of);
            g_assert_true(!f->of || f->kind == ERNIC_SK_STRUCT ||
                          f->kind == ERNIC_SK_OWNED);
            IS(f->kind == ERNIC_SK_OWNED, f->owned != NULL);
            IS(f->kind == ERNIC_SK_UINT, f->max != 0);
            if (f->kind == ERNIC_SK_STRUCT) {
                IS(f->of->size, f->size);
            }
            g_assert_cmpuint(f->num, <=, UINT16_MAX);
            if (f->kind == ERNIC_SK_UINT) {
                g_assert_true(f->size == 1 || f->size == 2 || f->size == 4 ||
                              f->size == 8);
            }
        }
    }
}

/*
 * All fields that are not stored, each for the reason in its row. Do not add a field
 * without such a reason.
 */
TEST("/state/derived-rows", test_derived_rows)
{
    static const char *const rows[] = {
        "ErnicConfig: udp_sport timing timing_trace clock flow_rules link_speed "
        "max_memory interface mlx5 raw no_icrc retry_time",
        "ErnicIds: first size fresh room head tail count",
        "ErnicRing: count",
        "Ernic: ops env cfg interface keys cqes eqs strict pd eq cq srq qp mcast "
        "mcast_bucket mcast_free mcast_end flow "
        "num_flows num_groups rss counter uctx_used num_pages mem num_bound holders "
        "num_holders num_unacked page_failed copies job touched deferred work "
        "num_gids gid_changes eq_more udp_sport events_at timers cq_timers tx side "
        "timing now absent rx_fault rx_pkt precopy mlx5 mlx5_eth flow_tables "
        "db_pages resume paused handshake",
        "ErnicEq: line_size line_head line_count",
        "ErnicMr: holder",
        "ErnicMcast: next chain",
        "ErnicWqe: unit inlined",
        "ErnicSendQueue: window_mask taken",
        "ErnicQp: ring_prev",
        "ErnicTrain: ip alt_sgid alt_dgid num_alt_sgid num_alt_dgid path_final data "
        "serial",
        "ErnicTx: busy loop_full icrc loop_pos loop_len taken departed looks",
        "ErnicProfile: shell",
        "ErnicLimit: size held",
        "ErnicLevel: size count",
        "ErnicTimedRetry: held line waits qps head count",
        "ErnicLru: prev count ids entries",
        "ErnicDelayFifo: slot due size slots head count",
        "ErnicTiming: p trace what places under_way link_busy loop_full",
        "ErnicMlx5Function: config engine",
        "ErnicMlx5Capabilities: limits",
        "ErnicMlx5CommandQueue: ops env mem execute opaque out",
        "ErnicMlx5Eth: sq rq tir tis rqt send flush poll_wait poll_due",
        "ErnicFlowTable: num_groups group",
        "ErnicFlowTables: num_entries table group entry counter order",
        "ErnicHandshake: turn",
        "ErnicHandshakeQp: again",
    };
    uint32_t n = 0;

    for (uint32_t s = 0; s < ernic_state_num_structs; s++) {
        const ErnicStateStruct *of = ernic_state_structs[s];
        g_autoptr(GString) row = g_string_new(NULL);

        for (uint32_t i = 0; i < of->num_fields; i++) {
            if (of->field[i].kind == ERNIC_SK_DERIVED) {
                g_string_append_printf(row, " %s", of->field[i].name);
            }
        }
        if (row->len) {
            g_string_prepend_c(row, ':');
            g_string_prepend(row, of->name);
            g_assert_cmpuint(n, <, ARRAY_SIZE(rows));
            g_assert_cmpstr(row->str, ==, rows[n++]);
        }
    }
    IS(n, ARRAY_SIZE(rows));
}

/*
 * The compiler reports the bytes of a structure that belong to no field: all others
 * must be claimed. This finds new fields without a row. After an array of structures
 * gcc 12 loses track of the padding, so that four structures are checked only up to
 * one. @obj has @size bytes, of which those of padding are 0.
 */
static void every_byte(const char *name, const uint8_t *obj, size_t size, uint32_t bytes)
{
    const ErnicStateStruct *of = NULL;
    uint8_t *claim;

    for (uint32_t i = 0; i < ernic_state_num_structs; i++) {
        if (strcmp(ernic_state_structs[i]->name, name) == 0) {
            of = ernic_state_structs[i];
        }
    }
    g_assert_nonnull(of);
    IS(of->size, size);
    claim = claims(of);
    for (uint32_t i = 0; i < bytes; i++) {
        if (!claim[i] && obj[i]) {
            g_error("byte %u of %s has no row", i, name);
        }
    }
    g_free(claim);
}

#define WHOLE(X) \
    X(ErnicStageState) X(ErnicCost) X(ErnicPcie) X(ErnicProfile) X(ErnicLimit) \
    X(ErnicLevel) X(ErnicTimedRetry) X(ErnicLru) X(ErnicDelayFifo) \
    X(ErnicTimedResponse) X(ErnicTimedDoorbell) X(ErnicTimedPacket) X(ErnicTimedCqe) \
    X(ErnicMlx5) X(ErnicMlx5Function) X(ErnicMlx5Capabilities) X(ErnicMlx5Vport) \
    X(ErnicMlx5CommandQueue) X(ErnicMlx5Entry) X(ErnicMlx5Chain) X(ErnicMlx5Queues) \
    X(ErnicMlx5Qp) X(ErnicMlx5Cq) X(ErnicMlx5Srq) X(ErnicMlx5Contexts) \
    X(ErnicMlx5EthQueue) X(ErnicMlx5Tir) X(ErnicMlx5Tis) X(ErnicMlx5Rqt) \
    X(ErnicMlx5Eth) X(ErnicFlowTable) X(ErnicFlowGroup) X(ErnicFlowDest) \
    X(ErnicFlowEntry) X(ErnicFlowCounter) X(ErnicFlowTables) X(ErnicConfig) \
    X(ErnicGidEntry) X(ErnicPageFault) X(ErnicEvents) X(ErnicStats) X(ErnicIds) \
    X(ErnicRing) X(ErnicBuf) X(ErnicPd) X(ErnicRss) X(ErnicQpStats) X(ErnicCounter) \
    X(ErnicEq) X(ErnicCq) X(ErnicWq) X(ErnicSrq) X(ErnicMr) X(ErnicMcast) X(ErnicFlow) \
    X(struct ernic_flow_key) X(ErnicSge) X(ErnicWc) X(struct ernic_av) \
    X(struct ernic_wqe_ud) X(struct ernic_wqe_reg_mr) X(struct ernic_wqe_bind_mw) \
    X(ErnicMrUpdate) X(ErnicWqe) X(ErnicRecv) X(ErnicAv) X(ErnicQpAttr) \
    X(ErnicSendQueue) X(ErnicRdRes) X(ErnicAckState) X(ErnicCc) X(ErnicSide) \
    X(ErnicPath) X(ErnicTx) X(ErnicTrain) X(ErnicLastAck) X(ErnicLeftAck) \
    X(ErnicViolation) X(ErnicStrict) X(ErnicHandshakeQp) X(ErnicHandshake)

#define CHECK(type, bytes)                                                  \
    do {                                                                    \
        type *obj = g_malloc(sizeof(type));                                 \
        memset(obj, 0xff, sizeof(type));                                    \
        __builtin_clear_padding(obj);                                       \
        every_byte(#type, (const uint8_t *)obj, sizeof(type), bytes);       \
        g_free(obj);                                                        \
        checked++;                                                          \
    } while (0)

TEST("/state/every-byte", test_every_byte)
{
    uint32_t checked = 0;

#define CHECK_WHOLE(type) CHECK(type, sizeof(type));
    WHOLE(CHECK_WHOLE)
    CHECK(Ernic, offsetof(Ernic, gid));
    CHECK(ErnicRecvQueue, offsetof(ErnicRecvQueue, recv));
    CHECK(ErnicQp, offsetof(ErnicQp, rq));
    CHECK(ErnicTiming, offsetof(ErnicTiming, places));
    IS(checked, ernic_state_num_structs);
}
#undef CHECK
