// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Addresses: the GID table, address handles, multicast groups.
 */
#include <rdma/ib_cache.h>
#include "ernic_verbs.h"

int ernic_add_gid(const struct ib_gid_attr *attr, void **context)
{
	u8 mac[ETH_ALEN];
	u16 vlan;
	int ret = rdma_read_gid_l2_fields(attr, &vlan, mac);

	if (ret)
		return ret;
	return ernic_cmd_set_gid(to_dev(attr->device), attr->index,
				 attr->gid.raw, mac, vlan);
}

int ernic_del_gid(const struct ib_gid_attr *attr, void **context)
{
	static const u8 none[16];

	return ernic_cmd_set_gid(to_dev(attr->device), attr->index, none, none,
				 0xffff);
}

void ernic_av_from_ah(struct ernic_av *av, const struct rdma_ah_attr *ah)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(ah);

	memcpy(av->dgid, grh->dgid.raw, sizeof(av->dgid));
	memcpy(av->dmac, ah->roce.dmac, sizeof(av->dmac));
	av->sgid_index = grh->sgid_index;
	av->hop_limit = grh->hop_limit;
	av->flow_label = cpu_to_le32(grh->flow_label & 0xfffff);
	av->tclass = grh->traffic_class;
}

void ernic_av_to_ah(const struct ernic_av *av, struct rdma_ah_attr *ah)
{
	memset(ah, 0, sizeof(*ah));
	ah->type = RDMA_AH_ATTR_TYPE_ROCE;
	rdma_ah_set_port_num(ah, 1);
	rdma_ah_set_grh(ah, (union ib_gid *)av->dgid,
			le32_to_cpu(av->flow_label), av->sgid_index,
			av->hop_limit, av->tclass);
	memcpy(ah->roce.dmac, av->dmac, sizeof(ah->roce.dmac));
}

/* The MAD layer uses it to match a response to its request. */
int ernic_query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr)
{
	ernic_av_to_ah(&to_ah(ibah)->av, attr);
	return 0;
}

int ernic_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init,
		    struct ib_udata *udata)
{
	struct ernic_create_ah_resp resp = {};
	struct ernic_av *av = &to_ah(ibah)->av;
	int ret = ernic_no_request(udata);

	if (ret)
		return ret;
	ernic_av_from_ah(av, init->ah_attr);
	memcpy(resp.dmac, av->dmac, sizeof(resp.dmac));
	resp.sgid_index = av->sgid_index;
	resp.hop_limit = av->hop_limit;
	return ernic_respond(udata, &resp, sizeof(resp));
}

int ernic_destroy_ah(struct ib_ah *ibah, u32 flags)
{
	return 0;
}

static int ernic_mcast(struct ib_qp *ibqp, const union ib_gid *gid, u8 opcode)
{
	struct ernic_cmd cmd = {
		.opcode = opcode,
		.uctx = cpu_to_le32(to_qp(ibqp)->uctx),
	};

	memcpy(cmd.mcast.gid, gid->raw, sizeof(cmd.mcast.gid));
	cmd.mcast.qpn = cpu_to_le32(ibqp->qp_num);
	return ernic_cmd_exec(to_dev(ibqp->device), &cmd, NULL);
}

int ernic_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	return ernic_mcast(ibqp, gid, ERNIC_CMD_MCAST_ATTACH);
}

int ernic_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	return ernic_mcast(ibqp, gid, ERNIC_CMD_MCAST_DETACH);
}
