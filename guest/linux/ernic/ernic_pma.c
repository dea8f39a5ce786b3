// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The performance management agent: reports the port's counters to the core, for
 * ports/1/counters in sysfs, and in response to MADs from the network. The contents
 * of a MAD are not trusted.
 */
#include <hw/rdma-ernic/ernic_counters.h>
#include <rdma/ib_pma.h>
#include "ernic_verbs.h"

/* Offset of the part that the class defines, in the data of a MAD. */
#define ERNIC_PMA_OFFSET	(offsetof(struct ib_pma_mad, data) - \
				 sizeof(struct ib_mad_hdr))
#define ERNIC_PMA_PORT		1
#define ERNIC_PMA_ALL_PORTS	0xff
/* A response may take 4.096 us << 18, a second. */
#define ERNIC_PMA_RESP_TIME	18

static_assert(ERNIC_PMA_OFFSET + sizeof(struct ib_pma_portcounters_ext) <=
	      sizeof_field(struct ib_mad, data));

#define ERNIC_DROP_INDEX(symbol, text) ERNIC_PMA_DROP_##symbol,
enum { ERNIC_DROPS(ERNIC_DROP_INDEX) };
#undef ERNIC_DROP_INDEX
#define ERNIC_STAT_INDEX(n) ERNIC_PMA_##n,
enum { ERNIC_STATS_LIST(ERNIC_STAT_INDEX) };
#undef ERNIC_STAT_INDEX

/* Malformed packets, which PortRcvErrors counts. */
static const u8 ernic_pma_malformed[] = {
	ERNIC_PMA_DROP_IP_HEADER,
	ERNIC_PMA_DROP_TOO_SHORT,
	ERNIC_PMA_DROP_BAD_LENGTH,
	ERNIC_PMA_DROP_BAD_TVER,
	ERNIC_PMA_DROP_BAD_OPCODE,
	ERNIC_PMA_DROP_BAD_PAD,
	ERNIC_PMA_DROP_BAD_ICRC,
};

static u64 ernic_pma_malformed_sum(const __le64 *stats)
{
	u64 sum = 0;
	int i;

	for (i = 0; i < ARRAY_SIZE(ernic_pma_malformed); i++)
		sum += le64_to_cpu(stats[ERNIC_STATS_DROPS +
					 ernic_pma_malformed[i]]);
	return sum;
}

/* The class counts data in words of 32 bits. */
static u64 ernic_pma_words(const __le64 *stats, int index)
{
	return le64_to_cpu(stats[index]) / sizeof(u32);
}

/* Counters of 32 bits saturate. */
static __be32 ernic_pma_32(u64 value)
{
	return cpu_to_be32(min_t(u64, value, U32_MAX));
}

static void ernic_pma_counters(struct ernic_dev *dev,
			       struct ib_pma_portcounters *p,
			       const __le64 *s)
{
	u64 errors = ernic_pma_malformed_sum(s);
	u32 downed = atomic_read(&dev->link_downed);

	p->link_downed_counter = min_t(u32, downed, U8_MAX);
	p->port_rcv_errors = cpu_to_be16(min_t(u64, errors, U16_MAX));
	p->port_xmit_data = ernic_pma_32(ernic_pma_words(s, ERNIC_PMA_tx_bytes));
	p->port_rcv_data = ernic_pma_32(ernic_pma_words(s, ERNIC_PMA_rx_bytes));
	p->port_xmit_packets =
		ernic_pma_32(le64_to_cpu(s[ERNIC_PMA_tx_packets]));
	p->port_rcv_packets =
		ernic_pma_32(le64_to_cpu(s[ERNIC_PMA_rx_packets]));
}

static void ernic_pma_counters_ext(struct ib_pma_portcounters_ext *p,
				   const __le64 *s)
{
	p->port_xmit_data =
		cpu_to_be64(ernic_pma_words(s, ERNIC_PMA_tx_bytes));
	p->port_rcv_data =
		cpu_to_be64(ernic_pma_words(s, ERNIC_PMA_rx_bytes));
	p->port_xmit_packets =
		cpu_to_be64(le64_to_cpu(s[ERNIC_PMA_tx_packets]));
	p->port_rcv_packets =
		cpu_to_be64(le64_to_cpu(s[ERNIC_PMA_rx_packets]));
}

/* Returns the status of the response. Both attributes begin with the port. */
static u16 ernic_pma_get_counters(struct ernic_dev *dev, __be16 attr,
				  const struct ib_pma_portcounters *asked,
				  void *answer, int *ret)
{
	struct ib_pma_portcounters *common = answer;
	__le64 *stats;

	if (asked->port_select != ERNIC_PMA_PORT &&
	    asked->port_select != ERNIC_PMA_ALL_PORTS)
		return IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE;
	stats = kzalloc(ERNIC_STATS_FAULTS * sizeof(*stats), GFP_KERNEL);
	*ret = stats ? ernic_read_stats(dev, stats) : -ENOMEM;
	if (!*ret) {
		common->port_select = asked->port_select;
		common->counter_select = asked->counter_select;
		if (attr == IB_PMA_PORT_COUNTERS)
			ernic_pma_counters(dev, answer, stats);
		else
			ernic_pma_counters_ext(answer, stats);
	}
	kfree(stats);
	return 0;
}

static u16 ernic_pma_get(struct ernic_dev *dev, __be16 attr, const void *asked,
			 void *answer, int *ret)
{
	struct ib_class_port_info *info = answer;

	switch (attr) {
	case IB_PMA_CLASS_PORT_INFO:
		info->base_version = IB_MGMT_BASE_VERSION;
		info->class_version = 1;
		/* counters of 64 bits, without those of unicast and multicast */
		info->capability_mask = IB_PMA_CLASS_CAP_ALLPORTSELECT |
					IB_PMA_CLASS_CAP_EXT_WIDTH_NOIETF;
		ib_set_cpi_resp_time(info, ERNIC_PMA_RESP_TIME);
		return 0;
	case IB_PMA_PORT_COUNTERS:
	case IB_PMA_PORT_COUNTERS_EXT:
		return ernic_pma_get_counters(dev, attr, asked, answer, ret);
	default:
		return IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB;
	}
}

/* May sleep. Leaves requests of other classes to other agents. */
int ernic_process_mad(struct ib_device *ibdev, int flags, u32 port,
		      const struct ib_wc *in_wc, const struct ib_grh *in_grh,
		      const struct ib_mad *in, struct ib_mad *out,
		      size_t *out_size, u16 *out_pkey_index)
{
	const struct ib_mad_hdr *hdr = &in->mad_hdr;
	u16 status = IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB;
	int ret = 0;

	if (hdr->mgmt_class != IB_MGMT_CLASS_PERF_MGMT ||
	    (hdr->method != IB_MGMT_METHOD_GET &&
	     hdr->method != IB_MGMT_METHOD_SET))
		return IB_MAD_RESULT_SUCCESS;
	memset(out, 0, sizeof(*out));
	if (hdr->class_version != 1)
		status = IB_MGMT_MAD_STATUS_BAD_VERSION;
	else if (hdr->method == IB_MGMT_METHOD_GET)
		status = ernic_pma_get(to_dev(ibdev), hdr->attr_id,
				       in->data + ERNIC_PMA_OFFSET,
				       out->data + ERNIC_PMA_OFFSET, &ret);
	if (ret)
		return IB_MAD_RESULT_FAILURE;
	out->mad_hdr = *hdr;
	out->mad_hdr.method = IB_MGMT_METHOD_GET_RESP;
	out->mad_hdr.status = cpu_to_be16(status);
	return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
}
