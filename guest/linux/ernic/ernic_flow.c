// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rules that steer frames: conversion of the specifications of verbs to the value and
 * mask that the device compares.
 */
#include <linux/etherdevice.h>
#include "ernic_verbs.h"

/* A field: its offset in the filter of verbs, and in the key of the device. */
struct ernic_flow_field {
	u16 from;
	u16 to;
	u16 size;
};

#define FIELD(filter, f, key) \
	{ offsetof(struct filter, f), offsetof(struct ernic_flow_key, key), \
	  sizeof_field(struct filter, f) }
#define BYTES(filter, f, key, n) \
	{ offsetof(struct filter, f), offsetof(struct ernic_flow_key, key), n }

static const struct ernic_flow_field ernic_eth_fields[] = {
	BYTES(ib_flow_eth_filter, dst_mac, dmac, ETH_ALEN),
	BYTES(ib_flow_eth_filter, src_mac, smac, ETH_ALEN),
	FIELD(ib_flow_eth_filter, ether_type, ethertype),
	FIELD(ib_flow_eth_filter, vlan_tag, vlan),
};

static const struct ernic_flow_field ernic_ipv4_fields[] = {
	FIELD(ib_flow_ipv4_filter, src_ip, src_ip),
	FIELD(ib_flow_ipv4_filter, dst_ip, dst_ip),
	FIELD(ib_flow_ipv4_filter, proto, ip_proto),
	FIELD(ib_flow_ipv4_filter, tos, tclass),
	FIELD(ib_flow_ipv4_filter, ttl, hop_limit),
};

static const struct ernic_flow_field ernic_ipv6_fields[] = {
	FIELD(ib_flow_ipv6_filter, src_ip, src_ip),
	FIELD(ib_flow_ipv6_filter, dst_ip, dst_ip),
	FIELD(ib_flow_ipv6_filter, flow_label, flow_label),
	FIELD(ib_flow_ipv6_filter, next_hdr, ip_proto),
	FIELD(ib_flow_ipv6_filter, traffic_class, tclass),
	FIELD(ib_flow_ipv6_filter, hop_limit, hop_limit),
};

static const struct ernic_flow_field ernic_port_fields[] = {
	FIELD(ib_flow_tcp_udp_filter, src_port, src_port),
	FIELD(ib_flow_tcp_udp_filter, dst_port, dst_port),
};

#define SPEC(type_, member, fields_, layers_) \
	{ .type = IB_FLOW_SPEC_##type_, .layers = layers_, \
	  .value = offsetof(union ib_flow_spec, member.val), \
	  .mask = offsetof(union ib_flow_spec, member.mask), \
	  .fields = fields_, .num = ARRAY_SIZE(fields_) }

static const struct ernic_flow_spec {
	u32 type;
	u16 layers;
	u16 value;		/* offsets of the filters */
	u16 mask;
	const struct ernic_flow_field *fields;
	unsigned int num;
} ernic_flow_specs[] = {
	SPEC(ETH, eth, ernic_eth_fields, 0),
	SPEC(IPV4, ipv4, ernic_ipv4_fields, ERNIC_LAYER_IPV4),
	SPEC(IPV6, ipv6, ernic_ipv6_fields, ERNIC_LAYER_IPV6),
	SPEC(TCP, tcp_udp, ernic_port_fields, ERNIC_LAYER_TCP),
	SPEC(UDP, tcp_udp, ernic_port_fields, ERNIC_LAYER_UDP),
};

static const struct ernic_flow_spec *ernic_flow_spec(u32 type)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ernic_flow_specs); i++)
		if (ernic_flow_specs[i].type == type)
			return &ernic_flow_specs[i];
	return NULL;
}

/* The order of these bits in verbs is not that of the IPv4 header. */
static u8 ernic_ip_flags(u8 flags)
{
	return (flags & IB_IPV4_DONT_FRAG ? ERNIC_IP_DF : 0) |
	       (flags & IB_IPV4_MORE_FRAG ? ERNIC_IP_MF : 0);
}

/* seen: the specifications so far; each may occur once. */
static int ernic_flow_add(struct ernic_flow_rule *rule, u16 *layers,
			  unsigned long *seen, const union ib_flow_spec *spec)
{
	const struct ernic_flow_spec *row = ernic_flow_spec(spec->type);
	const u8 *value, *mask;
	unsigned int i, k;

	if (!row)
		return -EOPNOTSUPP;
	if (__test_and_set_bit(row - ernic_flow_specs, seen))
		return -EINVAL;
	*layers |= row->layers;
	for (i = 0; i < row->num; i++) {
		const struct ernic_flow_field *field = &row->fields[i];

		value = (const u8 *)spec + row->value + field->from;
		mask = (const u8 *)spec + row->mask + field->from;
		for (k = 0; k < field->size; k++) {
			((u8 *)&rule->mask)[field->to + k] |= mask[k];
			((u8 *)&rule->value)[field->to + k] |= value[k] & mask[k];
		}
	}
	if (row->type == IB_FLOW_SPEC_IPV4) {
		if (spec->ipv4.mask.flags &
		    ~(IB_IPV4_DONT_FRAG | IB_IPV4_MORE_FRAG))
			return -EOPNOTSUPP;
		rule->mask.ip_flags = ernic_ip_flags(spec->ipv4.mask.flags);
		rule->value.ip_flags = ernic_ip_flags(spec->ipv4.val.flags) &
				       rule->mask.ip_flags;
	}
	return 0;
}

static int ernic_flow_rule(struct ernic_flow_rule *rule,
			   const struct ib_flow_attr *attr)
{
	const void *spec = attr + 1;
	unsigned long seen = 0;
	u16 layers = 0;
	int i, ret;

	/* The device has no rules that copy frames, nor default rules. */
	if (attr->type != IB_FLOW_ATTR_NORMAL || attr->flags)
		return -EOPNOTSUPP;
	if (attr->port != 1)
		return -EINVAL;
	for (i = 0; i < attr->num_of_specs; i++) {
		ret = ernic_flow_add(rule, &layers, &seen, spec);
		if (ret)
			return ret;
		spec += ((const union ib_flow_spec *)spec)->size;
	}
	if (memchr_inv(rule->mask.vlan, 0, sizeof(rule->mask.vlan)))
		layers |= ERNIC_LAYER_VLAN;
	rule->layers = cpu_to_le16(layers);
	rule->priority = cpu_to_le16(attr->priority);
	return 0;
}

struct ib_flow *ernic_create_flow(struct ib_qp *ibqp,
				  struct ib_flow_attr *attr,
				  struct ib_udata *udata)
{
	struct ernic_dev *dev = to_dev(ibqp->device);
	struct ernic_cmd cmd = { .opcode = ERNIC_CMD_FLOW_CREATE };
	struct ernic_flow_rule rule = {};
	struct ernic_flow *flow;
	int ret = ernic_no_request(udata);

	if (ret)
		return ERR_PTR(ret);
	if (ibqp->qp_type != IB_QPT_RAW_PACKET)
		return ERR_PTR(-EOPNOTSUPP);
	ret = ernic_flow_rule(&rule, attr);
	if (ret)
		return ERR_PTR(ret);
	flow = kzalloc(sizeof(*flow), GFP_KERNEL);
	if (!flow)
		return ERR_PTR(-ENOMEM);
	flow->uctx = to_qp(ibqp)->uctx;
	rule.qpn = cpu_to_le32(ibqp->qp_num);
	cmd.uctx = cpu_to_le32(flow->uctx);
	ret = ernic_cmd_attr(dev, &cmd, &flow->handle, &rule, sizeof(rule));
	if (ret) {
		kfree(flow);
		return ERR_PTR(ret);
	}
	return &flow->ibflow;
}

int ernic_destroy_flow(struct ib_flow *ibflow)
{
	struct ernic_flow *flow = to_flow(ibflow);
	int ret = ernic_destroy(to_dev(ibflow->qp->device),
				ERNIC_CMD_FLOW_DESTROY, flow->uctx,
				flow->handle);

	if (!ret)
		kfree(flow);
	return ret;
}
