// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The RDMA device: its attributes, its operations, its registration with the core.
 */
#include <net/addrconf.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_mad.h>
#include "ernic_verbs.h"

#define ERNIC_CAP_FLAGS (IB_DEVICE_BAD_PKEY_CNTR | IB_DEVICE_BAD_QKEY_CNTR | \
			 IB_DEVICE_CURR_QP_STATE_MOD | \
			 IB_DEVICE_PORT_ACTIVE_EVENT | \
			 IB_DEVICE_SYS_IMAGE_GUID | IB_DEVICE_RC_RNR_NAK_GEN | \
			 IB_DEVICE_MEM_WINDOW | IB_DEVICE_MEM_WINDOW_TYPE_2B | \
			 IB_DEVICE_MEM_MGT_EXTENSIONS)
#define ERNIC_DEFAULT_PKEY	0xffff
/*
 * Address handles are memory of the host: requests carry the address itself, and the
 * device sets no limit. Programs compute with the number, so it must not be near
 * INT_MAX.
 */
#define ERNIC_MAX_AH		65536

static int ernic_query_device(struct ib_device *ibdev,
			      struct ib_device_attr *p, struct ib_udata *udata)
{
	struct ernic_dev *dev = to_dev(ibdev);
	const struct ernic_device_attr *a = &dev->attr;

	memset(p, 0, sizeof(*p));
	addrconf_addr_eui48((u8 *)&p->sys_image_guid, dev->netdev->dev_addr);
	p->vendor_id = ERNIC_PCI_VENDOR;
	p->vendor_part_id = ERNIC_PCI_DEVICE;
	p->hw_ver = dev->pdev->revision;
	/* the same as ernic_fw_str(); the provider prints it in three parts */
	p->fw_ver = (u64)le32_to_cpu(a->abi_version) << 32;
	p->max_mr_size = le64_to_cpu(a->max_mr_size);
	p->page_size_cap = le64_to_cpu(a->page_size_mask);
	p->max_qp = le32_to_cpu(a->max_qp);
	p->max_qp_wr = le32_to_cpu(a->max_qp_wr);
	p->device_cap_flags = ERNIC_CAP_FLAGS;
	if (ernic_has_raw(dev))
		p->device_cap_flags |= IB_DEVICE_MANAGED_FLOW_STEERING;
	if (readl(ernic_reg(dev, features)) & ERNIC_FEATURE_XRC)
		p->device_cap_flags |= IB_DEVICE_XRC;
	if (readl(ernic_reg(dev, features)) & ERNIC_FEATURE_ATOMIC_WRITE)
		p->device_cap_flags |= IB_DEVICE_ATOMIC_WRITE;
	if (ernic_has_flush(dev))
		p->device_cap_flags |= IB_DEVICE_FLUSH_GLOBAL;
	if (readl(ernic_reg(dev, features)) & ERNIC_FEATURE_SRQ_RESIZE)
		p->device_cap_flags |= IB_DEVICE_SRQ_RESIZE;
	p->max_send_sge = a->max_sge;
	p->max_recv_sge = a->max_sge;
	p->max_sge_rd = a->max_sge;
	p->max_cq = le32_to_cpu(a->max_cq);
	p->max_cqe = le32_to_cpu(a->max_cqe);
	p->max_mr = le32_to_cpu(a->max_mr);
	p->max_mw = p->max_mr;
	p->max_fast_reg_page_list_len = le32_to_cpu(a->max_fast_reg_pages);
	p->max_mcast_grp = le32_to_cpu(a->max_mcast_group);
	p->max_mcast_qp_attach = le32_to_cpu(a->max_mcast_attach);
	p->max_total_mcast_qp_attach = p->max_mcast_qp_attach;
	p->max_pd = le32_to_cpu(a->max_pd);
	p->max_qp_rd_atom = a->max_rd_atomic;
	p->max_qp_init_rd_atom = a->max_rd_atomic;
	p->max_res_rd_atom = p->max_qp * a->max_rd_atomic;
	p->atomic_cap = IB_ATOMIC_HCA;
	p->max_ah = ERNIC_MAX_AH;
	p->max_raw_ethy_qp = ernic_has_raw(dev) ? p->max_qp : 0;
	if (le32_to_cpu(a->raw) & ERNIC_RAW_RSS) {
		p->rss_caps.supported_qpts = BIT(IB_QPT_RAW_PACKET);
		p->rss_caps.max_rwq_indirection_tables = le32_to_cpu(a->max_rss);
		p->rss_caps.max_rwq_indirection_table_size = ERNIC_RSS_TABLE_MAX;
		p->max_wq_type_rq = p->max_qp;
	}
	p->max_srq = le32_to_cpu(a->max_srq);
	p->max_srq_wr = le32_to_cpu(a->max_srq_wr);
	p->max_srq_sge = a->max_sge;
	p->max_pkeys = le16_to_cpu(a->max_pkeys);
	/* 64 bits of ns */
	p->timestamp_mask = U64_MAX;
	p->hca_core_clock = NSEC_PER_SEC / 1000;
	p->max_dm_size = ernic_dm_size(dev);
	ernic_odp_caps(dev, p);
	p->cq_caps.max_cq_moderation_count = U16_MAX;
	p->cq_caps.max_cq_moderation_period = U16_MAX;
	return 0;
}

static int ernic_query_port(struct ib_device *ibdev, u32 port,
			    struct ib_port_attr *p)
{
	struct ernic_dev *dev = to_dev(ibdev);
	struct ernic_port_attr a = {};
	int ret = ernic_cmd_query(dev, ERNIC_CMD_QUERY_PORT, 0, 0, &a,
				  sizeof(a));

	if (ret)
		return ret;
	p->state = a.active ? IB_PORT_ACTIVE : IB_PORT_DOWN;
	p->phys_state = a.active ? IB_PORT_PHYS_STATE_LINK_UP :
		netif_running(dev->netdev) ? IB_PORT_PHYS_STATE_POLLING :
					     IB_PORT_PHYS_STATE_DISABLED;
	p->max_mtu = a.max_mtu;
	p->active_mtu = a.active_mtu;
	/* packets that leave through the network card have to fit its MTU */
	if (readl(ernic_reg(dev, features)) & ERNIC_FEATURE_ROCE_ETH)
		p->active_mtu = clamp_t(int, iboe_get_mtu(READ_ONCE(dev->netdev->mtu)),
					IB_MTU_256, a.active_mtu);
	p->gid_tbl_len = dev->attr.max_gids;
	p->pkey_tbl_len = le16_to_cpu(dev->attr.max_pkeys);
	p->max_msg_sz = le32_to_cpu(a.max_msg_size);
	p->bad_pkey_cntr = le32_to_cpu(a.bad_pkey_count);
	p->qkey_viol_cntr = le32_to_cpu(a.bad_qkey_count);
	p->ip_gids = true;
	return ib_get_eth_speed(ibdev, port, &p->active_speed,
				&p->active_width);
}

static int ernic_port_immutable(struct ib_device *ibdev, u32 port,
				struct ib_port_immutable *p)
{
	p->gid_tbl_len = to_dev(ibdev)->attr.max_gids;
	p->pkey_tbl_len = le16_to_cpu(to_dev(ibdev)->attr.max_pkeys);
	p->core_cap_flags = RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP;
	p->max_mad_size = IB_MGMT_MAD_SIZE;
	return 0;
}

static enum rdma_link_layer ernic_link_layer(struct ib_device *ibdev, u32 port)
{
	return IB_LINK_LAYER_ETHERNET;
}

/* The default P_Key is the first; the others are never set. */
static int ernic_query_pkey(struct ib_device *ibdev, u32 port, u16 index,
			    u16 *pkey)
{
	if (index >= le16_to_cpu(to_dev(ibdev)->attr.max_pkeys))
		return -EINVAL;
	*pkey = index ? 0 : ERNIC_DEFAULT_PKEY;
	return 0;
}

#ifdef ERNIC_REPORT_PORT_EVENT
/*
 * The device reports the changes of its port, ernic_port_event(). The port stays active
 * while the network card is closed.
 */
static void ernic_report_port_event(struct ib_device *ibdev,
				    struct net_device *nd, unsigned long event)
{
}
#endif

static const struct ib_device_ops ernic_ib_ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_UNKNOWN,
	.uverbs_abi_ver = ERNIC_UABI_VERSION,
	.add_gid = ernic_add_gid,
	.advise_mr = ernic_advise_mr,
	.alloc_dm = ernic_alloc_dm,
	.alloc_hw_port_stats = ernic_alloc_stats,
	.alloc_mr = ernic_alloc_mr,
	.alloc_mw = ernic_alloc_mw,
	.alloc_pd = ernic_alloc_pd,
	.alloc_ucontext = ernic_alloc_ucontext,
	.alloc_xrcd = ernic_alloc_xrcd,
	.attach_mcast = ernic_attach_mcast,
	.create_cq = ernic_create_cq,
	.create_flow = ernic_create_flow,
	.create_qp = ernic_create_qp,
	.create_rwq_ind_table = ernic_create_rwq_ind_table,
	.create_srq = ernic_create_srq,
	.create_user_ah = ernic_create_ah,
	.create_ah = ernic_create_ah,
	.create_wq = ernic_create_wq,
	.dealloc_dm = ernic_dealloc_dm,
	.dealloc_mw = ernic_dealloc_mw,
	.dealloc_pd = ernic_dealloc_pd,
	.dealloc_ucontext = ernic_dealloc_ucontext,
	.dealloc_xrcd = ernic_dealloc_xrcd,
	.del_gid = ernic_del_gid,
	.dereg_mr = ernic_dereg_mr,
	.destroy_ah = ernic_destroy_ah,
	.destroy_cq = ernic_destroy_cq,
	.destroy_flow = ernic_destroy_flow,
	.destroy_qp = ernic_destroy_qp,
	.destroy_rwq_ind_table = ernic_destroy_rwq_ind_table,
	.destroy_srq = ernic_destroy_srq,
	.destroy_wq = ernic_destroy_wq,
	.detach_mcast = ernic_detach_mcast,
	.device_group = &ernic_attr_group,
	.disassociate_ucontext = ernic_disassociate,
	.fill_res_cq_entry = ernic_fill_res_cq,
	.fill_res_mr_entry = ernic_fill_res_mr,
	.fill_res_qp_entry = ernic_fill_res_qp,
	.get_dev_fw_str = ernic_fw_str,
	.get_dma_mr = ernic_get_dma_mr,
	.get_hw_stats = ernic_get_stats,
	.get_link_layer = ernic_link_layer,
	.get_port_immutable = ernic_port_immutable,
	.map_mr_sg = ernic_map_mr_sg,
	.mmap = ernic_mmap,
	.mmap_free = ernic_mmap_free,
	.modify_cq = ernic_modify_cq,
	.modify_qp = ernic_modify_qp,
	.modify_srq = ernic_modify_srq,
	.modify_wq = ernic_modify_wq,
	.poll_cq = ernic_poll_cq,
	.post_recv = ernic_post_recv,
	.post_send = ernic_post_send,
	.post_srq_recv = ernic_post_srq_recv,
	.process_mad = ernic_process_mad,
	.query_ah = ernic_query_ah,
	.query_device = ernic_query_device,
	.query_pkey = ernic_query_pkey,
	.query_port = ernic_query_port,
	.query_qp = ernic_query_qp,
	.query_srq = ernic_query_srq,
	.query_ucontext = ernic_query_ucontext,
	.reg_dm_mr = ernic_reg_dm_mr,
	.reg_user_mr = ernic_reg_user_mr,
#ifdef ERNIC_REPORT_PORT_EVENT
	.report_port_event = ernic_report_port_event,
#endif
	.rereg_user_mr = ernic_rereg_user_mr,
	.req_notify_cq = ernic_req_notify_cq,
	.resize_user_cq = ernic_resize_cq,
	INIT_RDMA_OBJ_SIZE(ib_ah, ernic_ah, ibah),
	INIT_RDMA_OBJ_SIZE(ib_cq, ernic_cq, ibcq),
	INIT_RDMA_OBJ_SIZE(ib_mw, ernic_mw, ibmw),
	INIT_RDMA_OBJ_SIZE(ib_pd, ernic_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_qp, ernic_qp, ibqp),
	INIT_RDMA_OBJ_SIZE(ib_rwq_ind_table, ernic_ind_table, ibtable),
	INIT_RDMA_OBJ_SIZE(ib_srq, ernic_srq, ibsrq),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, ernic_ucontext, ibuctx),
	INIT_RDMA_OBJ_SIZE(ib_xrcd, ernic_xrcd, ibxrcd),
};

int ernic_ib_register(struct ernic_dev *dev)
{
	struct ib_device *ibdev = &dev->ibdev;
	int ret;

	ibdev->node_type = RDMA_NODE_IB_CA;
	ibdev->phys_port_cnt = 1;
	ibdev->num_comp_vectors = dev->num_comp;
	ibdev->dev.parent = &dev->pdev->dev;
	addrconf_addr_eui48((u8 *)&ibdev->node_guid, dev->netdev->dev_addr);
	ib_set_device_ops(ibdev, &ernic_ib_ops);
	ernic_counter_init(dev);
	ibdev->driver_def = ernic_uapi_defs;
	ret = ernic_cmd_set_pkey(dev, 0, ERNIC_DEFAULT_PKEY);
	if (ret)
		return ret;
	ret = ib_device_set_netdev(ibdev, dev->netdev, 1);
	if (ret)
		return ret;
	ret = ib_register_device(ibdev, "ernic%d", &dev->pdev->dev);
	if (ret)		/* otherwise the network card could not be removed */
		ib_device_set_netdev(ibdev, NULL, 1);
	else
		ernic_event_on(dev);
	return ret;
}

void ernic_ib_unregister(struct ernic_dev *dev)
{
	/* from here on no event is dispatched to the core */
	WRITE_ONCE(dev->ib_on, false);
	synchronize_irq(dev->async_eq.irq);
	flush_work(&dev->fatal_work);
	ib_unregister_device(&dev->ibdev);
}
