// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events: from entries of the device's event queues to the handlers of the objects
 * that they name. A handler runs without a lock of the driver; a reference keeps its
 * object.
 */
#include <linux/interrupt.h>
#include "ernic_verbs.h"

static const u8 ernic_ib_events[ERNIC_EV_COUNT] = {
	[ERNIC_EV_CQ_ERR] = IB_EVENT_CQ_ERR,
	[ERNIC_EV_QP_FATAL] = IB_EVENT_QP_FATAL,
	[ERNIC_EV_QP_REQ_ERR] = IB_EVENT_QP_REQ_ERR,
	[ERNIC_EV_QP_ACCESS_ERR] = IB_EVENT_QP_ACCESS_ERR,
	[ERNIC_EV_COMM_EST] = IB_EVENT_COMM_EST,
	[ERNIC_EV_SQ_DRAINED] = IB_EVENT_SQ_DRAINED,
	[ERNIC_EV_LAST_WQE] = IB_EVENT_QP_LAST_WQE_REACHED,
	[ERNIC_EV_SRQ_ERR] = IB_EVENT_SRQ_ERR,
	[ERNIC_EV_SRQ_LIMIT] = IB_EVENT_SRQ_LIMIT_REACHED,
	[ERNIC_EV_PORT_ACTIVE] = IB_EVENT_PORT_ACTIVE,
	[ERNIC_EV_PORT_ERR] = IB_EVENT_PORT_ERR,
};

static void ernic_cq_event(struct ernic_cq *cq, struct ib_event *ev, u8 type)
{
	struct ib_cq *ibcq = &cq->ibcq;

	if (type == ERNIC_EV_COMPLETION) {
		WRITE_ONCE(cq->armed, false);
		if (ibcq->comp_handler)
			ibcq->comp_handler(ibcq, ibcq->cq_context);
	} else if (ibcq->event_handler) {
		ev->element.cq = ibcq;
		ibcq->event_handler(ev, ibcq->cq_context);
	}
}

static void ernic_srq_event(struct ernic_srq *srq, struct ib_event *ev)
{
	if (!srq->ibsrq.event_handler)
		return;
	ev->element.srq = &srq->ibsrq;
	srq->ibsrq.event_handler(ev, srq->ibsrq.srq_context);
}

/* Verbs have one event of a receive work queue; the core knows it by its uobject. */
static void ernic_wq_event(struct ib_wq *ibwq, struct ib_event *ev)
{
	if (ev->event != IB_EVENT_QP_FATAL || !ibwq->event_handler ||
	    !READ_ONCE(ibwq->uobject))
		return;
	ev->event = IB_EVENT_WQ_FATAL;
	ev->element.wq = ibwq;
	ibwq->event_handler(ev, ibwq->wq_context);
}

static void ernic_qp_event(struct ernic_qp *qp, struct ib_event *ev)
{
	if (qp->ibwq) {
		ernic_wq_event(qp->ibwq, ev);
	} else if (qp->ibqp.event_handler) {
		ev->element.qp = &qp->ibqp;
		qp->ibqp.event_handler(ev, qp->ibqp.qp_context);
	}
}

static void ernic_port_event(struct ernic_dev *dev, struct ib_event *ev)
{
	if (ev->event == IB_EVENT_PORT_ERR)
		atomic_inc(&dev->link_downed);
	ev->element.port_num = 1;
	if (READ_ONCE(dev->ib_on))
		ib_dispatch_event(ev);
	else
		WRITE_ONCE(dev->port_changed, true);
}

/* The core and its clients have asked for the port's state during the registration. */
void ernic_event_on(struct ernic_dev *dev)
{
	struct ib_event ev = {
		.device = &dev->ibdev,
		.event = IB_EVENT_PORT_ERR,
		.element.port_num = 1,
	};

	WRITE_ONCE(dev->ib_on, true);
	/* a handler that has not seen it has set the other */
	synchronize_irq(dev->async_eq.irq);
	if (!dev->port_changed)
		return;
	if (readl(ernic_reg(dev, status)) & ERNIC_STATUS_LINK)
		ev.event = IB_EVENT_PORT_ACTIVE;
	ib_dispatch_event(&ev);
}

static void ernic_bad_doorbell(struct ernic_dev *dev,
			       const struct ernic_eqe *eqe)
{
	dev_warn_ratelimited(&dev->pdev->dev, "bad doorbell, kind %u queue %u\n",
			     le32_to_cpu(eqe->detail),
			     le32_to_cpu(eqe->element));
}

void ernic_event(struct ernic_dev *dev, const struct ernic_eqe *eqe)
{
	struct ib_event ev = { .device = &dev->ibdev };
	u32 n = le32_to_cpu(eqe->element);
	struct ernic_ref *ref = NULL;

	if (eqe->type < ERNIC_EV_COUNT)
		ev.event = ernic_ib_events[eqe->type];
	switch (eqe->type) {
	case ERNIC_EV_PAGE_FAULT:
		ernic_odp_fault(dev, eqe);
		break;
	case ERNIC_EV_BAD_DOORBELL:
		ernic_bad_doorbell(dev, eqe);
		break;
	case ERNIC_EV_PORT_ACTIVE:
	case ERNIC_EV_PORT_ERR:
		ernic_port_event(dev, &ev);
		break;
	case ERNIC_EV_COMPLETION:
	case ERNIC_EV_CQ_ERR:
		ref = ernic_table_get(&dev->cqs, n);
		if (ref)
			ernic_cq_event(ref_to_cq(ref), &ev, eqe->type);
		break;
	case ERNIC_EV_SRQ_ERR:
	case ERNIC_EV_SRQ_LIMIT:
		ref = ernic_table_get(&dev->srqs, n);
		if (ref)
			ernic_srq_event(ref_to_srq(ref), &ev);
		break;
	case ERNIC_EV_QP_FATAL:
	case ERNIC_EV_QP_REQ_ERR:
	case ERNIC_EV_QP_ACCESS_ERR:
	case ERNIC_EV_COMM_EST:
	case ERNIC_EV_SQ_DRAINED:
	case ERNIC_EV_LAST_WQE:
		ref = ernic_table_get(&dev->qps, n);
		if (ref)
			ernic_qp_event(ref_to_qp(ref), &ev);
		break;
	default:	/* events of devices that are newer than the driver */
		break;
	}
	if (ref)
		ernic_ref_put(ref);
}

static void ernic_qp_fatal(struct ernic_dev *dev, struct ernic_qp *qp)
{
	struct ib_event ev = {
		.device = &dev->ibdev,
		.event = IB_EVENT_QP_FATAL,
	};

	ernic_qp_event(qp, &ev);
	if (!qp->ibqp.srq)
		return;
	ev.event = IB_EVENT_QP_LAST_WQE_REACHED;
	ernic_qp_event(qp, &ev);
}

/*
 * Queues report it by events of their own, the device by one for all the rest.
 * ernic_flush.c takes care of the completion queues of the kernel.
 */
void ernic_event_fatal(struct ernic_dev *dev)
{
	struct ib_event ev = {
		.device = &dev->ibdev,
		.event = IB_EVENT_DEVICE_FATAL,
		.element.port_num = 1,
	};
	struct ernic_ref *ref;
	struct ernic_cq *cq;
	unsigned long n;

	ernic_table_for_each(&dev->qps, n, ref)
		ernic_qp_fatal(dev, ref_to_qp(ref));
	/* processes that wait for a completion shall look */
	ernic_table_for_each(&dev->cqs, n, ref) {
		cq = ref_to_cq(ref);
		if (!cq->ring.buf)
			ernic_cq_event(cq, NULL, ERNIC_EV_COMPLETION);
	}
	if (READ_ONCE(dev->ib_on))
		ib_dispatch_event(&ev);
}
