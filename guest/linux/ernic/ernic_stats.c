// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counters for rdma-statistic(8): those of the port, and counters of bound queue pairs.
 * The core takes the values of the port for those of unbound queue pairs, and adds all
 * counters to them.
 */
#include <hw/rdma-ernic/ernic_counters.h>
#include "ernic_verbs.h"
#include <rdma/rdma_counter.h>	/* of 7.2, needs ib_verbs.h before it */

/* The first list, then the second without NONE; no faults. */
static const struct rdma_stat_desc ernic_stats[] = {
#define ERNIC_STAT_DESC(n) { .name = #n },
	ERNIC_STATS_LIST(ERNIC_STAT_DESC)
#undef ERNIC_STAT_DESC
#define ERNIC_STAT_ONE(n) + 1
#define ERNIC_STATS_ROWS (0 ERNIC_STATS_LIST(ERNIC_STAT_ONE))
#define ERNIC_QP_STATS_ROWS (0 ERNIC_QP_STATS_LIST(ERNIC_STAT_ONE))
#define ERNIC_DROP_DESC(symbol, text) { .name = "drop_" text },
	ERNIC_DROP_REASONS(ERNIC_DROP_DESC)
#undef ERNIC_DROP_DESC
};

/* Index of the first counter of queue pairs. */
#define ERNIC_STAT_INDEX(n) ERNIC_STAT_##n,
enum { ERNIC_STATS_LIST(ERNIC_STAT_INDEX) };
#undef ERNIC_STAT_INDEX
#define ERNIC_QP_STATS_FIRST ERNIC_STAT_tx_messages
static_assert(ERNIC_STAT_ack_timeouts ==
	      ERNIC_QP_STATS_FIRST + ERNIC_QP_STATS_ROWS - 1);

struct rdma_hw_stats *ernic_alloc_stats(struct ib_device *ibdev, u32 port)
{
	return rdma_alloc_hw_stats_struct(ernic_stats,
					  ARRAY_SIZE(ernic_stats),
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

int ernic_read_stats(struct ernic_dev *dev, __le64 *value)
{
	return ernic_cmd_query(dev, ERNIC_CMD_QUERY_STATS, 0, 0, value,
			       ERNIC_STATS_FAULTS * sizeof(*value));
}

/* Reads the rows of a counter; 0: those of queue pairs without one. */
static int ernic_read_counter(struct ernic_dev *dev, u32 counter,
			      struct rdma_hw_stats *stats)
{
	__le64 value[ERNIC_QP_STATS_ROWS];
	int i, ret;

	ret = ernic_cmd_query(dev, ERNIC_CMD_COUNTER_QUERY, 0, counter, value,
			      sizeof(value));
	for (i = 0; !ret && i < ERNIC_QP_STATS_ROWS; i++)
		stats->value[ERNIC_QP_STATS_FIRST + i] = le64_to_cpu(value[i]);
	return ret;
}

static bool ernic_has_counters(struct ernic_dev *dev)
{
	return le32_to_cpu(dev->attr.max_counter);
}

int ernic_get_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		    u32 port, int index)
{
	struct ernic_dev *dev = to_dev(ibdev);
	__le64 *value;
	int i, at, ret;

	if (!port)
		return -EOPNOTSUPP;
	value = kcalloc(ERNIC_STATS_FAULTS, sizeof(*value), GFP_KERNEL);
	if (!value)
		return -ENOMEM;
	ret = ernic_read_stats(dev, value);
	for (i = 0; !ret && i < ARRAY_SIZE(ernic_stats); i++) {
		at = i < ERNIC_STATS_ROWS ?
		     i : ERNIC_STATS_DROPS + 1 + i - ERNIC_STATS_ROWS;
		stats->value[i] = le64_to_cpu(value[at]);
	}
	kfree(value);
	if (!ret && ernic_has_counters(dev))
		ret = ernic_read_counter(dev, 0, stats);
	return ret ?: ARRAY_SIZE(ernic_stats);
}

/* ---- counters of queue pairs --------------------------------------------- */

/* All rows, as the core adds them by index; only those of queue pairs are shown. */
static struct rdma_hw_stats *ernic_counter_stats(struct rdma_counter *counter)
{
	struct rdma_hw_stats *stats = ernic_alloc_stats(counter->device,
							counter->port);

	if (!stats)
		return NULL;
	bitmap_fill(stats->is_disabled, ARRAY_SIZE(ernic_stats));
	bitmap_clear(stats->is_disabled, ERNIC_QP_STATS_FIRST,
		     ERNIC_QP_STATS_ROWS);
	return stats;
}

static int ernic_counter_update(struct rdma_counter *counter)
{
	u32 id = READ_ONCE(counter->id);

	/* The history already has a counter without a number; 0 is no counter. */
	return id ? ernic_read_counter(to_dev(counter->device), id,
				       counter->stats) : -ENOENT;
}

static int ernic_counter_set(struct ib_qp *ibqp, u32 counter)
{
	struct ernic_cmd cmd = { .opcode = ERNIC_CMD_COUNTER_BIND };

	/*
	 * A queue pair over a table has no counters in the device. After an
	 * error the core would stay in its manual mode.
	 */
	if (ibqp->rwq_ind_tbl)
		return 0;
	cmd.counter_bind.qpn = cpu_to_le32(ibqp->qp_num);
	cmd.counter_bind.counter = cpu_to_le32(counter);
	return ernic_cmd_exec(to_dev(ibqp->device), &cmd, NULL);
}

static int ernic_counter_dealloc(struct rdma_counter *counter)
{
	struct ernic_dev *dev = to_dev(counter->device);
	u32 id = counter->id;

	/* Stops readers first: the number may be reused. */
	WRITE_ONCE(counter->id, 0);
	return id ? ernic_cmd_free(dev, ERNIC_CMD_COUNTER_FREE, 0, id) : 0;
}

/* The first queue pair of a counter creates it in the device. */
static int ernic_counter_bind(struct rdma_counter *counter,
			      struct ib_qp *ibqp ERNIC_PORT_PARAM)
{
	struct ernic_dev *dev = to_dev(counter->device);
	bool fresh = !counter->id;
	int ret = 0;

	if (fresh)
		ret = ernic_cmd_alloc(dev, ERNIC_CMD_COUNTER_ALLOC, 0,
				      &counter->id);
	if (ret)
		return ret;
	ret = ernic_counter_set(ibqp, counter->id);
	if (ret && fresh)
		ernic_counter_dealloc(counter);
	if (!ret)
		ibqp->counter = counter;
	return ret;
}

/* Also called before the queue pair is destroyed. The counter keeps its values. */
static int ernic_counter_unbind(struct ib_qp *ibqp ERNIC_PORT_PARAM)
{
	int ret = ernic_counter_set(ibqp, 0);

	if (ret && !ernic_dead(to_dev(ibqp->device)))
		return ret;
	ibqp->counter = NULL;
	return 0;
}

static const struct ib_device_ops ernic_counter_ops = {
	.counter_alloc_stats = ernic_counter_stats,
	.counter_bind_qp = ernic_counter_bind,
	.counter_dealloc = ernic_counter_dealloc,
	.counter_unbind_qp = ernic_counter_unbind,
	.counter_update_stats = ernic_counter_update,
};

void ernic_counter_init(struct ernic_dev *dev)
{
	if (ERNIC_QP_COUNTERS && ernic_has_counters(dev))
		ib_set_device_ops(&dev->ibdev, &ernic_counter_ops);
}
