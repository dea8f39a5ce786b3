// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Receive work queues, tables of them, and queue pairs that spread frames over a table.
 * Completions name a work queue in the place of a queue pair.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ernic.h"
#include "ernic_cmd.h"

static_assert((int)IBV_RX_HASH_SRC_IPV4 == ERNIC_HASH_SRC_IPV4 &&
		      (int)IBV_RX_HASH_DST_PORT_UDP == ERNIC_HASH_DST_UDP,
	      "fields of the hash are verbs' own");

/* ---- work queues --------------------------------------------------------- */

static int wq_command(struct ernic_context *ctx, struct ernic_rwq *rwq,
		      struct ibv_wq_init_attr *attr)
{
	struct ib_uverbs_ex_create_wq_resp resp = {};
	struct ernic_wq *ring = &rwq->qp.rq;
	struct uernic_create_wq cmd = {};
	int ret;

	cmd.drv_payload.buf_addr = (uintptr_t)ring->buf.addr;
	cmd.drv_payload.depth = ring->depth;
	cmd.drv_payload.stride = ring->stride / 64;
	cmd.drv_payload.record_addr = ernic_wq_record(ring);
	ret = ibv_cmd_create_wq(&ctx->ibv_ctx.context, attr, &rwq->ibv_wq,
				&cmd.ibv_cmd, sizeof(cmd), &resp, sizeof(resp));
	if (ret)
		return ret;
	rwq->qp.vqp.qp.qp_num = rwq->ibv_wq.wq_num;
	ring->db = ERNIC_DB(ERNIC_DB_RQ, rwq->ibv_wq.wq_num, 0);
	ret = ernic_table_add(ctx, &ctx->qps, rwq->ibv_wq.wq_num, &rwq->qp);
	if (ret)
		ibv_cmd_destroy_wq(&rwq->ibv_wq);
	return ret;
}

static int wq_attr_check(const struct ernic_alloc_ucontext_resp *caps,
			 const struct ibv_wq_init_attr *attr)
{
	if (attr->wq_type != IBV_WQT_RQ ||
	    (attr->comp_mask & ~IBV_WQ_INIT_ATTR_FLAGS) ||
	    ((attr->comp_mask & IBV_WQ_INIT_ATTR_FLAGS) && attr->create_flags))
		return EOPNOTSUPP;
	return attr->pd && attr->cq && attr->max_wr <= caps->max_rq_wr &&
			       attr->max_sge <= caps->max_sge ?
		       0 :
		       EINVAL;
}

struct ibv_wq *ernic_create_wq(struct ibv_context *ibctx,
			       struct ibv_wq_init_attr *attr)
{
	struct ernic_context *ctx = to_ernic_context(ibctx);
	int ret = wq_attr_check(&ctx->caps, attr);
	struct ernic_rwq *rwq = NULL;
	struct ernic_wq *ring;

	if (ret)
		goto err;
	ret = ENOMEM;
	rwq = calloc(1, sizeof(*rwq));
	if (!rwq)
		goto err;
	rwq->qp.pd = to_ernic_pd(attr->pd);
	rwq->qp.recv_cq = to_ernic_cq(attr->cq);
	ring = &rwq->qp.rq;
	ring->max_sge = attr->max_sge ? attr->max_sge : 1;
	ret = ernic_wq_init(ring, rwq->qp.pd, ERNIC_RES_RQ, attr->max_wr,
			    sizeof(struct ernic_rwqe) +
				    ring->max_sge * sizeof(struct ernic_sge));
	if (ret)
		goto err;
	ret = ernic_records_alloc(&rwq->qp.record_buf, ctx, rwq->qp.pd,
				  ERNIC_RES_RQ, ring, NULL);
	if (ret)
		goto err_ring;
	ret = wq_command(ctx, rwq, attr);
	if (ret)
		goto err_ring;
	rwq->ibv_wq.state = IBV_WQS_RESET;
	rwq->ibv_wq.post_recv = ernic_post_wq_recv;
	ernic_pd_ref(rwq->qp.pd);
	return &rwq->ibv_wq;

err_ring:
	ernic_buf_free(&rwq->qp.record_buf);
	ernic_wq_fini(ring);
err:
	return ernic_create_failed(rwq, ret);
}

/* The kernel refuses other states too, but 6.1 keeps the queue locked afterwards. */
static bool wq_states_ok(const struct ibv_wq_attr *attr)
{
	return (!(attr->attr_mask & IBV_WQ_ATTR_STATE) ||
		attr->wq_state <= IBV_WQS_ERR) &&
	       (!(attr->attr_mask & IBV_WQ_ATTR_CURR_STATE) ||
		attr->curr_wq_state <= IBV_WQS_ERR);
}

int ernic_modify_wq(struct ibv_wq *ibwq, struct ibv_wq_attr *attr)
{
	struct ernic_rwq *rwq = to_ernic_rwq(ibwq);
	struct ibv_modify_wq cmd = {};
	int ret;

	if (!wq_states_ok(attr))
		return ernic_error(EINVAL);
	ret = ibv_cmd_modify_wq(ibwq, attr, &cmd, sizeof(cmd));
	if (!ret && (attr->attr_mask & IBV_WQ_ATTR_STATE) &&
	    attr->wq_state == IBV_WQS_RESET) {
		ernic_qp_clean_cqs(&rwq->qp);
		ernic_wq_reset(&rwq->qp.rq);
	}
	return ret;
}

int ernic_destroy_wq(struct ibv_wq *ibwq)
{
	struct ernic_context *ctx = to_ernic_context(ibwq->context);
	struct ernic_rwq *rwq = to_ernic_rwq(ibwq);
	int ret;

	/* Without the lock: it waits until the program has acknowledged all events. */
	ret = ibv_cmd_destroy_wq(ibwq);
	if (ret)
		return ret;
	pthread_mutex_lock(&ctx->table_lock);
	ernic_qp_clean_cqs(&rwq->qp);
	ernic_table_remove(ctx, &ctx->qps, ibwq->wq_num);
	pthread_mutex_unlock(&ctx->table_lock);
	ernic_buf_free(&rwq->qp.record_buf);
	ernic_wq_fini(&rwq->qp.rq);
	ernic_pd_unref(rwq->qp.pd);
	free(rwq);
	return 0;
}

/* ---- tables, and queue pairs over them ----------------------------------- */

struct ibv_rwq_ind_table *
ernic_create_rwq_ind_table(struct ibv_context *ibctx,
			   struct ibv_rwq_ind_table_init_attr *attr)
{
	struct ib_uverbs_ex_create_rwq_ind_table_resp resp = {};
	struct ibv_rwq_ind_table *table = calloc(1, sizeof(*table));
	int ret;

	if (!table)
		return NULL;
	ret = ibv_cmd_create_rwq_ind_table(ibctx, attr, table, &resp,
					   sizeof(resp));
	return ret ? ernic_create_failed(table, ret) : table;
}

int ernic_destroy_rwq_ind_table(struct ibv_rwq_ind_table *table)
{
	int ret = ibv_cmd_destroy_rwq_ind_table(table);

	if (!ret)
		free(table);
	return ret;
}

static int rss_check(const struct ibv_qp_init_attr_ex *attr)
{
	const uint32_t need = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE |
			      IBV_QP_INIT_ATTR_RX_HASH;

	if ((attr->comp_mask & ~(need | IBV_QP_INIT_ATTR_CREATE_FLAGS)) ||
	    ((attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) &&
	     attr->create_flags) ||
	    attr->qp_type != IBV_QPT_RAW_PACKET || attr->send_cq ||
	    attr->cap.max_send_wr)
		return EOPNOTSUPP;
	if ((attr->comp_mask & need) != need ||
	    attr->rx_hash_conf.rx_hash_key_len != ERNIC_RSS_KEY)
		return EINVAL;
	return attr->rx_hash_conf.rx_hash_function ==
			       IBV_RX_HASH_FUNC_TOEPLITZ &&
			       !(attr->rx_hash_conf.rx_hash_fields_mask &
				 ~(uint64_t)ERNIC_HASH_FIELDS) ?
		       0 :
		       EOPNOTSUPP;
}

struct ibv_qp *ernic_create_rss(struct ibv_context *ibctx,
				struct ibv_qp_init_attr_ex *attr)
{
	const struct ibv_rx_hash_conf *hash = &attr->rx_hash_conf;
	struct uernic_create_rss_resp resp = {};
	struct uernic_create_rss cmd = {};
	struct ernic_qp *qp = NULL;
	int ret = rss_check(attr);

	if (ret)
		goto err;
	ret = ENOMEM;
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		goto err;
	cmd.drv_payload.fields = hash->rx_hash_fields_mask;
	cmd.drv_payload.function = hash->rx_hash_function;
	cmd.drv_payload.key_len = hash->rx_hash_key_len;
	memcpy(cmd.drv_payload.key, hash->rx_hash_key, ERNIC_RSS_KEY);
	ret = ibv_cmd_create_qp_ex2(ibctx, &qp->vqp, attr, &cmd.ibv_cmd,
				    sizeof(cmd), &resp.ibv_resp, sizeof(resp)
#ifdef ERNIC_HAVE_create_qp_ex2_driver
				    , NULL
#endif
				    );
	if (ret)
		goto err;
	qp->over_table = true;
	qp->pd = to_ernic_pd(attr->pd);
	ernic_pd_ref(qp->pd);
	return &qp->vqp.qp;

err:
	return ernic_create_failed(qp, ret);
}

int ernic_destroy_rss(struct ibv_qp *ibqp)
{
	struct ernic_qp *qp = to_ernic_qp(ibqp);
	int ret = ibv_cmd_destroy_qp(ibqp);

	if (ret)
		return ret;
	ernic_pd_unref(qp->pd);
	free(qp);
	return 0;
}
