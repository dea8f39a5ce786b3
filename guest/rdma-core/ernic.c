// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The provider: the devices that it supports, contexts, device attributes.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <infiniband/cmd_ioctl.h>

#include "ernic.h"
#include "ernic_cmd.h"

static int ernic_query_device_ex(struct ibv_context *ibctx,
				 const struct ibv_query_device_ex_input *input,
				 struct ibv_device_attr_ex *attr,
				 size_t attr_size)
{
	const struct ernic_alloc_ucontext_resp *caps =
		&to_ernic_context(ibctx)->caps;
	struct ib_uverbs_ex_query_device_resp resp;
	size_t resp_size = sizeof(resp);
	uint64_t fw;
	int ret;

	ret = ibv_cmd_query_device_any(ibctx, input, attr, attr_size, &resp,
				       &resp_size);
	if (ret)
		return ret;
	/* The kernel leaves the hash function and its fields to the provider. */
	if (attr_size >= offsetofend(struct ibv_device_attr_ex, rss_caps) &&
	    attr->rss_caps.max_rwq_indirection_tables) {
		attr->rss_caps.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ;
		attr->rss_caps.rx_hash_fields_mask = ERNIC_HASH_FIELDS;
	}
	if (attr_size >= offsetofend(struct ibv_device_attr_ex,
				     packet_pacing_caps) &&
	    caps->rate_limit_max)
		attr->packet_pacing_caps = (struct ibv_packet_pacing_caps) {
			.qp_rate_limit_min = 1,
			.qp_rate_limit_max = caps->rate_limit_max,
			.supported_qpts = 1 << IBV_QPT_RAW_PACKET,
		};
	fw = resp.base.fw_ver;
	snprintf(attr->orig_attr.fw_ver, sizeof(attr->orig_attr.fw_ver),
		 "%u.%u.%u", (unsigned int)(fw >> 32),
		 (unsigned int)(fw >> 16) & 0xffff,
		 (unsigned int)fw & 0xffff);
	return 0;
}

static int ernic_query_port(struct ibv_context *ibctx, uint8_t port,
			    struct ibv_port_attr *attr)
{
	struct ibv_query_port cmd;

	return ibv_cmd_query_port(ibctx, port, attr, &cmd, sizeof(cmd));
}

#ifdef ERNIC_HAVE_query_port_speed
/*
 * The speed is in units of 100 Mb/s. A kernel without the command still reports the
 * number of lanes, and the speed of a lane as a code.
 */
static int ernic_query_port_speed(struct ibv_context *ibctx, uint32_t port,
				  uint64_t *speed)
{
	static const uint16_t lane[] = { 25, 50, 100, 100, 140, 250, 500, 1000 };
	static const uint8_t lanes[] = { 1, 4, 8, 12, 2 };
	struct ibv_port_attr attr;
	int ret = ibv_cmd_query_port_speed(ibctx, port, speed);

	if (ret != EOPNOTSUPP && ret != EPROTONOSUPPORT)
		return ret;
	if (port != 1)
		return ernic_error(EINVAL);
	ret = ernic_query_port(ibctx, port, &attr);
	if (ret)
		return ret;
	if (!attr.active_speed || !attr.active_width ||
	    attr.active_width >= 1 << ARRAY_SIZE(lanes))
		return ernic_error(EOPNOTSUPP);
	*speed = (uint64_t)lane[ilog32(attr.active_speed) - 1] *
		 lanes[ilog32(attr.active_width) - 1];
	return 0;
}
#endif

static int ernic_query_rt_values(struct ibv_context *ibctx,
				 struct ibv_values_ex *values)
{
	uint64_t ns;
	int ret;

	if (values->comp_mask & ~IBV_VALUES_MASK_RAW_CLOCK)
		return ernic_error(EINVAL);
	if (!values->comp_mask)
		return 0;
	values->comp_mask = 0;
	ret = ernic_clock(ibctx, &ns);
	if (ret)
		return ernic_error(ret);
	/* All in tv_nsec, like the raw clock of other providers. */
	values->raw_clock.tv_sec = 0;
	values->raw_clock.tv_nsec = ns;
	values->comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
	return 0;
}

static void ernic_free_context(struct ibv_context *ibctx)
{
	struct ernic_context *ctx = to_ernic_context(ibctx);

	ernic_table_fini(&ctx->qps);
	ernic_table_fini(&ctx->srqs);
	if (ctx->clock)
		munmap((void *)ctx->clock, sizeof(*ctx->clock));
	munmap(ctx->db, ctx->caps.db_mmap_size);
	verbs_uninit_context(&ctx->ibv_ctx);
	pthread_cond_destroy(&ctx->table_left);
	pthread_mutex_destroy(&ctx->table_lock);
	free(ctx);
}

static const struct verbs_context_ops ernic_ops = {
	.advise_mr = ernic_advise_mr,
	.alloc_dm = ernic_alloc_dm,
	.alloc_mw = ernic_alloc_mw,
	.alloc_parent_domain = ernic_alloc_parent_domain,
	.alloc_pd = ernic_alloc_pd,
	.alloc_td = ernic_alloc_td,
	.attach_mcast = ibv_cmd_attach_mcast,
	.bind_mw = ernic_bind_mw,
	.close_xrcd = ernic_close_xrcd,
	.create_ah = ernic_create_ah,
	.create_cq = ernic_create_cq,
	.create_cq_ex = ernic_create_cq_ex,
	.create_flow = ernic_create_flow,
	.create_qp = ernic_create_qp,
	.create_qp_ex = ernic_create_qp_ex,
	.create_rwq_ind_table = ernic_create_rwq_ind_table,
	.create_srq = ernic_create_srq,
	.create_srq_ex = ernic_create_srq_ex,
	.create_wq = ernic_create_wq,
	.dealloc_mw = ernic_dealloc_mw,
	.dealloc_pd = ernic_dealloc_pd,
	.dealloc_td = ernic_dealloc_td,
	.dereg_mr = ernic_dereg_mr,
	.destroy_ah = ernic_destroy_ah,
	.destroy_cq = ernic_destroy_cq,
	.destroy_flow = ernic_destroy_flow,
	.destroy_qp = ernic_destroy_qp,
	.destroy_rwq_ind_table = ernic_destroy_rwq_ind_table,
	.destroy_srq = ernic_destroy_srq,
	.destroy_wq = ernic_destroy_wq,
	.detach_mcast = ibv_cmd_detach_mcast,
	.free_context = ernic_free_context,
	.free_dm = ernic_free_dm,
	.get_srq_num = ernic_get_srq_num,
	.import_dm = ernic_import_dm,
	.import_mr = ernic_import_mr,
	.import_pd = ernic_import_pd,
	.modify_cq = ernic_modify_cq,
	.modify_qp = ernic_modify_qp,
	.modify_qp_rate_limit = ernic_modify_qp_rate_limit,
	.modify_srq = ernic_modify_srq,
	.modify_wq = ernic_modify_wq,
	.open_qp = ernic_open_qp,
	.open_xrcd = ernic_open_xrcd,
	.poll_cq = ernic_poll_cq,
	.post_recv = ernic_post_recv,
	.post_send = ernic_post_send,
	.post_srq_recv = ernic_post_srq_recv,
	.query_device_ex = ernic_query_device_ex,
	.query_port = ernic_query_port,
#ifdef ERNIC_HAVE_query_port_speed
	.query_port_speed = ernic_query_port_speed,
#endif
	.query_qp = ernic_query_qp,
	.query_rt_values = ernic_query_rt_values,
	.query_srq = ernic_query_srq,
	.reg_dm_mr = ernic_reg_dm_mr,
	.reg_mr = ernic_reg_mr,
	.req_notify_cq = ernic_req_notify_cq,
	.rereg_mr = ernic_rereg_mr,
	.resize_cq = ernic_resize_cq,
	.unimport_dm = ernic_unimport_dm,
	.unimport_mr = ernic_unimport_mr,
	.unimport_pd = ernic_unimport_pd,
};

/* Without the page, wall clock times are the system's. */
static void map_clock(struct ernic_context *ctx, int cmd_fd)
{
	void *page;

	if (!ctx->caps.clock_mmap_offset)
		return;
	page = mmap(NULL, sizeof(*ctx->clock), PROT_READ, MAP_SHARED, cmd_fd,
		    ctx->caps.clock_mmap_offset);
	if (page != MAP_FAILED)
		ctx->clock = page;
}

/* ERNIC_RECORDS=0 in the environment: each request is posted with a doorbell. */
static bool want_records(void)
{
	const char *value = getenv("ERNIC_RECORDS");

	return !value || strcmp(value, "0") != 0;
}

static int map_pages(struct ernic_context *ctx, int cmd_fd)
{
	ctx->records = (ctx->caps.flags & ERNIC_UCTX_RECORDS) && want_records();
	if (ctx->caps.flags & ERNIC_UCTX_DB_RECORD)
		ctx->record_db = ERNIC_DB_RECORD;
	ctx->db = mmap(NULL, ctx->caps.db_mmap_size, PROT_READ | PROT_WRITE,
		       MAP_SHARED, cmd_fd, ctx->caps.db_mmap_offset);
	if (ctx->db == MAP_FAILED)
		return errno;
	map_clock(ctx, cmd_fd);
	pthread_mutex_init(&ctx->table_lock, NULL);
	pthread_cond_init(&ctx->table_left, NULL);
	verbs_set_ops(&ctx->ibv_ctx, &ernic_ops);
	return 0;
}

static struct verbs_context *ernic_alloc_context(struct ibv_device *ibdev,
						 int cmd_fd,
						 void *private_data)
{
	struct uernic_get_context_resp resp = {};
	struct ibv_get_context cmd = {};
	struct ernic_context *ctx;

	ctx = verbs_init_and_alloc_context(ibdev, cmd_fd, ctx, ibv_ctx,
					   RDMA_DRIVER_UNKNOWN);
	if (!ctx)
		return NULL;
	if (ibv_cmd_get_context(&ctx->ibv_ctx, &cmd, sizeof(cmd),
#ifdef ERNIC_HAVE_ibv_fd_arr
				NULL,
#endif
				&resp.ibv_resp, sizeof(resp)))
		goto err;
	ctx->caps = resp.drv_payload;
	if (map_pages(ctx, cmd_fd))
		goto err;
	return &ctx->ibv_ctx;

err:
	verbs_uninit_context(&ctx->ibv_ctx);
	free(ctx);
	return NULL;
}

/* Imports the context of another process by its file: the same doorbell page. */
static struct verbs_context *ernic_import_context(struct ibv_device *ibdev,
						  int cmd_fd)
{
	DECLARE_COMMAND_BUFFER_LINK(attrs, UVERBS_OBJECT_DEVICE,
				    UVERBS_METHOD_QUERY_CONTEXT, 1, NULL);
	struct ernic_context *ctx;

	ctx = verbs_init_and_alloc_context(ibdev, cmd_fd, ctx, ibv_ctx,
					   RDMA_DRIVER_UNKNOWN);
	if (!ctx)
		return NULL;
	fill_attr_out_ptr(attrs, ERNIC_ATTR_QUERY_CONTEXT, &ctx->caps);
	if (ibv_cmd_query_context(&ctx->ibv_ctx.context, attrs) ||
	    map_pages(ctx, cmd_fd)) {
		verbs_uninit_context(&ctx->ibv_ctx);
		free(ctx);
		return NULL;
	}
	return &ctx->ibv_ctx;
}

static struct verbs_device *ernic_alloc_device(struct verbs_sysfs_dev *sysfs)
{
	return calloc(1, sizeof(struct verbs_device));
}

static void ernic_uninit_device(struct verbs_device *vdev)
{
	free(vdev);
}

static const struct verbs_match_ent ernic_match[] = {
	VERBS_PCI_MATCH(ERNIC_PCI_VENDOR, ERNIC_PCI_DEVICE, NULL),
	{},
};

static const struct verbs_device_ops ernic_dev_ops = {
	.name = "ernic",
	.match_min_abi_version = ERNIC_UABI_VERSION,
	.match_max_abi_version = ERNIC_UABI_VERSION,
	.match_table = ernic_match,
	.alloc_device = ernic_alloc_device,
	.uninit_device = ernic_uninit_device,
	.alloc_context = ernic_alloc_context,
	.import_context = ernic_import_context,
};
PROVIDER_DRIVER(ernic, ernic_dev_ops);
