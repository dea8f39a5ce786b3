/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Commands for TIR, TIS and RQT; and for transport domains, which separate TIR and TIS of
 * one function, and which the engine does not need.
 */
#include "qemu/osdep.h"
#include "base/work.h"
#include "interfaces/mlx5/command/handler.h"
#include "interfaces/mlx5/eth/objects.h"
#include "interfaces/mlx5/command/lists.h"
#include "steering/flow_tables.h"
#include "trace.h"

/* ---- receive ---------------------------------------------------------------- */

static ErnicMlx5Rqt *rqt_get(ErnicMlx5Function *f, uint32_t number)
{
    ErnicMlx5Rqt *rqt = f->engine->mlx5_eth->rqt;

    return number && number <= ERNIC_LIM_RQT && rqt[number].used ? &rqt[number] : NULL;
}

/* The hash: of one kind of frames. Others have the hash 0. */
static ErnicMlx5Refusal take_hash(const uint8_t *context, ErnicMlx5Tir *tir)
{
    const uint8_t *select = PART(context, tirc.rx_hash_field_selector_outer);
    uint32_t fields = GET(select, rx_hash_field_select.selected_fields);

    if (GET(context, tirc.rx_hash_fn) >= ERNIC_MLX5_HASHES ||
        (fields & ~ERNIC_MLX5_SELECT_ALL)) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    tir->hash = GET(context, tirc.rx_hash_fn);
    tir->symmetric = GET(context, tirc.rx_hash_symmetric);
    tir->ipv6 = GET(select, rx_hash_field_select.l3_prot_type);
    tir->udp = GET(select, rx_hash_field_select.l4_prot_type);
    tir->selected = fields;
    memcpy(tir->key, PART(context, tirc.rx_hash_toeplitz_key), sizeof(tir->key));
    return ERNIC_MLX5_ACCEPTED;
}

/* Frames are neither merged nor decrypted, and inner headers are not looked at. */
static bool tir_plain(const uint8_t *context)
{
    return !GET(context, tirc.packet_merge_mask) && !GET(context, tirc.tls_en) &&
           !GET(context, tirc.tunneled_offload_en);
}

static ErnicMlx5Refusal take_tir(ErnicMlx5Function *f, const uint8_t *context,
                                 ErnicMlx5Tir *tir)
{
    enum { DIRECT, INDIRECT };
    uint32_t type = GET(context, tirc.disp_type);
    bool exists;

    if (type > INDIRECT || !tir_plain(context)) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    tir->indirect = type == INDIRECT;
    tir->queue = tir->indirect ? GET(context, tirc.indirect_table) :
                                 GET(context, tirc.inline_rqn);
    tir->self_lb_block = GET(context, tirc.self_lb_block);
    tir->transport_domain = GET(context, tirc.transport_domain);
    exists = tir->indirect ? !!rqt_get(f, tir->queue) :
                             !!ernic_mlx5_rq_get(f->engine, tir->queue);
    exists = exists && ernic_mlx5_has_transport_domain(f->engine, tir->transport_domain);
    return exists ? take_hash(context, tir) : ERNIC_MLX5_NO_OBJECT;
}

static ErnicMlx5Refusal create_tir(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    ErnicMlx5Tir tir = { .used = true }, *table = f->engine->mlx5_eth->tir;
    ErnicMlx5Refusal refusal = take_tir(f, PART(r->in, create_tir_in.ctx), &tir);
    uint32_t i;

    if (refusal) {
        return refusal;
    }
    for (i = 1; i <= ERNIC_LIM_TIR && table[i].used; i++) {
        continue;
    }
    if (i > ERNIC_LIM_TIR) {
        return ERNIC_MLX5_NO_RESOURCE;
    }
    table[i] = tir;
    PUT(r->out, create_tir_out.tirn, i);
    trace_ernic_mlx5_tir_create(i, tir.indirect, tir.queue);
    return ERNIC_MLX5_ACCEPTED;
}

static ErnicMlx5Refusal modify_tir(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    const uint8_t *context = PART(r->in, modify_tir_in.ctx);
    const uint8_t *select = PART(r->in, modify_tir_in.bitmask);
    ErnicMlx5Tir *tir = ernic_mlx5_tir_get(f, GET(r->in, modify_tir_in.tirn)), next;
    ErnicMlx5Refusal refusal = ERNIC_MLX5_ACCEPTED;

    if (!tir) {
        return ERNIC_MLX5_NO_OBJECT;
    }
    next = *tir;
    if (GET(select, modify_tir_bitmask.packet_merge) && !tir_plain(context)) {
        refusal = ERNIC_MLX5_BAD_VALUE;
    }
    if (GET(select, modify_tir_bitmask.self_lb_en)) {
        next.self_lb_block = GET(context, tirc.self_lb_block);
    }
    if (!refusal && GET(select, modify_tir_bitmask.hash)) {
        refusal = take_hash(context, &next);
    }
    if (!refusal) {
        *tir = next;
    }
    return refusal;
}

static ErnicMlx5Refusal destroy_tir(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    uint32_t number = GET(r->in, destroy_tir_in.tirn);
    ErnicMlx5Tir *tir = ernic_mlx5_tir_get(f, number);

    if (!tir) {
        return ERNIC_MLX5_NO_OBJECT;
    }
    if (ernic_flow_tables_use(f->engine, number)) {
        return ERNIC_MLX5_BUSY;
    }
    memset(tir, 0, sizeof(*tir));
    trace_ernic_mlx5_tir_destroy(number);
    return ERNIC_MLX5_ACCEPTED;
}

/* ---- tables of receive queues ------------------------------------------------- */

/* Take the queues of @context, which the message @r contains. */
static ErnicMlx5Refusal take_list(ErnicMlx5Function *f, const ErnicMlx5Request *r,
                                  const uint8_t *context, ErnicMlx5Rqt *rqt)
{
    const uint8_t *list = PART(context, rqtc.rq_num);
    const uint32_t step = ernic_mlx5_rq_num.self.bits / 8;
    uint32_t num = GET(context, rqtc.rqt_actual_size), i;

    if (!num || num > rqt->max || GET(context, rqtc.list_q_type) ||
        GET(context, rqtc.rq_vhca_id_format)) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    if (r->in + r->in_len < list + num * step) {
        return ERNIC_MLX5_SHORT_MESSAGE;
    }
    ernic_charge_walk(f->engine, num);
    rqt->num = num;
    for (i = 0; i < num; i++) {
        rqt->rq[i] = GET(list + i * step, rq_num.rq_num);
        if (!ernic_mlx5_rq_get(f->engine, rqt->rq[i])) {
            return ERNIC_MLX5_NO_OBJECT;
        }
    }
    memset(rqt->rq + num, 0, (ERNIC_RQT_ENTRIES - num) * sizeof(rqt->rq[0]));
    return ERNIC_MLX5_ACCEPTED;
}

static ErnicMlx5Refusal create_rqt(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    const uint8_t *context = PART(r->in, create_rqt_in.rqt_context);
    ErnicMlx5Rqt rqt = {
        .used = true, .max = GET(context, rqtc.rqt_max_size),
    }, *table = f->engine->mlx5_eth->rqt;
    ErnicMlx5Refusal refusal;
    uint32_t i;

    if (rqt.max > ERNIC_RQT_ENTRIES) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    refusal = take_list(f, r, context, &rqt);
    if (refusal) {
        return refusal;
    }
    for (i = 1; i <= ERNIC_LIM_RQT && table[i].used; i++) {
        continue;
    }
    if (i > ERNIC_LIM_RQT) {
        return ERNIC_MLX5_NO_RESOURCE;
    }
    table[i] = rqt;
    PUT(r->out, create_rqt_out.rqtn, i);
    trace_ernic_mlx5_rqt(i, rqt.num);
    return ERNIC_MLX5_ACCEPTED;
}

static ErnicMlx5Refusal modify_rqt(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    const uint8_t *select = PART(r->in, modify_rqt_in.bitmask);
    uint32_t number = GET(r->in, modify_rqt_in.rqtn);
    ErnicMlx5Rqt *rqt = rqt_get(f, number), next;
    ErnicMlx5Refusal refusal;

    if (!rqt) {
        return ERNIC_MLX5_NO_OBJECT;
    }
    if (!GET(select, rqt_bitmask.rqn_list)) {
        return ERNIC_MLX5_ACCEPTED;
    }
    next = *rqt;
    refusal = take_list(f, r, PART(r->in, modify_rqt_in.ctx), &next);
    if (!refusal) {
        *rqt = next;
        trace_ernic_mlx5_rqt(number, next.num);
    }
    return refusal;
}

static ErnicMlx5Refusal destroy_rqt(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    const ErnicMlx5Tir *tir = f->engine->mlx5_eth->tir;
    uint32_t number = GET(r->in, destroy_rqt_in.rqtn), i;
    ErnicMlx5Rqt *rqt = rqt_get(f, number);

    if (!rqt) {
        return ERNIC_MLX5_NO_OBJECT;
    }
    ernic_charge_objects(f->engine, ERNIC_LIM_TIR);
    for (i = 1; i <= ERNIC_LIM_TIR; i++) {
        if (tir[i].used && tir[i].indirect && tir[i].queue == number) {
            return ERNIC_MLX5_BUSY;
        }
    }
    memset(rqt, 0, sizeof(*rqt));
    return ERNIC_MLX5_ACCEPTED;
}

/* ---- send -------------------------------------------------------------------- */

static ErnicMlx5Refusal create_tis(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    const uint8_t *context = PART(r->in, create_tis_in.ctx);
    ErnicMlx5Tis *table = f->engine->mlx5_eth->tis;
    uint32_t i;

    /* One port, no encryption, no IPoIB. */
    if (GET(context, tisc.tls_en) || GET(context, tisc.underlay_qpn) ||
        GET(context, tisc.lag_tx_port_affinity) ||
        GET(context, tisc.strict_lag_tx_port_affinity)) {
        return ERNIC_MLX5_BAD_VALUE;
    }
    if (!ernic_mlx5_has_transport_domain(f->engine,
                                         GET(context, tisc.transport_domain))) {
        return ERNIC_MLX5_NO_OBJECT;
    }
    for (i = 1; i <= ERNIC_LIM_TIS && table[i].used; i++) {
        continue;
    }
    if (i > ERNIC_LIM_TIS) {
        return ERNIC_MLX5_NO_RESOURCE;
    }
    table[i] = (ErnicMlx5Tis) {
        .used = true, .prio = GET(context, tisc.prio),
        .transport_domain = GET(context, tisc.transport_domain),
    };
    PUT(r->out, create_tis_out.tisn, i);
    return ERNIC_MLX5_ACCEPTED;
}

static ErnicMlx5Refusal modify_tis(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    const uint8_t *context = PART(r->in, modify_tis_in.ctx);
    const uint8_t *select = PART(r->in, modify_tis_in.bitmask);
    ErnicMlx5Tis *tis = ernic_mlx5_tis_get(f, GET(r->in, modify_tis_in.tisn));

    if (!tis) {
        return ERNIC_MLX5_NO_OBJECT;
    }
    if (GET(select, modify_tis_bitmask.lag_tx_port_affinity) ||
        GET(select, modify_tis_bitmask.strict_lag_tx_port_affinity)) {
        return ERNIC_MLX5_BAD_SELECT;
    }
    if (GET(select, modify_tis_bitmask.prio)) {
        tis->prio = GET(context, tisc.prio);
    }
    return ERNIC_MLX5_ACCEPTED;
}

static ErnicMlx5Refusal destroy_tis(ErnicMlx5Function *f, const ErnicMlx5Request *r)
{
    const ErnicMlx5EthQueue *sq = f->engine->mlx5_eth->sq;
    uint32_t number = GET(r->in, destroy_tis_in.tisn), i;
    ErnicMlx5Tis *tis = ernic_mlx5_tis_get(f, number);

    if (!tis) {
        return ERNIC_MLX5_NO_OBJECT;
    }
    ernic_charge_objects(f->engine, ERNIC_LIM_ETH_QUEUE);
    for (i = 1; i <= ERNIC_LIM_ETH_QUEUE; i++) {
        if (sq[i].used && GET(sq[i].context, sqc.tis_lst_sz) &&
            GET(sq[i].context, sqc.tis_num_0) == number) {
            return ERNIC_MLX5_BUSY;
        }
    }
    memset(tis, 0, sizeof(*tis));
    return ERNIC_MLX5_ACCEPTED;
}

/* ---- transport domains --------------------------------------------------------- */

static ErnicMlx5Refusal alloc_transport_domain(ErnicMlx5Function *f,
                                               const ErnicMlx5Request *r)
{
    bool *used = f->engine->mlx5->contexts.transport;
    uint32_t n;

    for (n = 1; n < f->engine->cfg.max_pd && used[n]; n++) {
    }
    ernic_charge_walk(f->engine, n);
    if (n >= f->engine->cfg.max_pd) {
        return ERNIC_MLX5_NO_RESOURCE;
    }
    used[n] = true;
    PUT(r->out, alloc_transport_domain_out.transport_domain, n);
    return ERNIC_MLX5_ACCEPTED;
}

/* Whether a TIR or a TIS belongs to transport domain @n. */
static bool transport_busy(Ernic *e, uint32_t n)
{
    const ErnicMlx5Eth *eth = e->mlx5_eth;
    uint32_t i;

    ernic_charge_objects(e, ERNIC_LIM_TIR + ERNIC_LIM_TIS);
    for (i = 1; i <= ERNIC_LIM_TIR; i++) {
        if (eth->tir[i].used && eth->tir[i].transport_domain == n) {
            return true;
        }
    }
    for (i = 1; i <= ERNIC_LIM_TIS; i++) {
        if (eth->tis[i].used && eth->tis[i].transport_domain == n) {
            return true;
        }
    }
    return false;
}

static ErnicMlx5Refusal dealloc_transport_domain(ErnicMlx5Function *f,
                                                 const ErnicMlx5Request *r)
{
    uint32_t n = GET(r->in, dealloc_transport_domain_in.transport_domain);
    bool *used = f->engine->mlx5->contexts.transport;

    if (!ernic_mlx5_has_transport_domain(f->engine, n)) {
        return ERNIC_MLX5_NO_OBJECT;
    }
    if (transport_busy(f->engine, n)) {
        return ERNIC_MLX5_BUSY;
    }
    used[n] = false;
    return ERNIC_MLX5_ACCEPTED;
}

COMMANDS(tir, .needs_engine = true,
    { 0x816, "ALLOC_TRANSPORT_DOMAIN", RUNNING, alloc_transport_domain },
    { 0x817, "DEALLOC_TRANSPORT_DOMAIN", RUNNING, dealloc_transport_domain },
    { 0x900, "CREATE_TIR", RUNNING, create_tir },
    { 0x901, "MODIFY_TIR", RUNNING, modify_tir },
    { 0x902, "DESTROY_TIR", RUNNING, destroy_tir },
    { 0x912, "CREATE_TIS", RUNNING, create_tis },
    { 0x913, "MODIFY_TIS", RUNNING, modify_tis },
    { 0x914, "DESTROY_TIS", RUNNING, destroy_tis },
    { 0x916, "CREATE_RQT", RUNNING, create_rqt },
    { 0x917, "MODIFY_RQT", RUNNING, modify_rqt },
    { 0x918, "DESTROY_RQT", RUNNING, destroy_rqt },
);
