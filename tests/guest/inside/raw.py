# SPDX-License-Identifier: GPL-2.0-or-later
"""Objects for raw packets, as the driver makes them: their reports and refusals."""
import errno
import subprocess

import pyverbs.enums as e
from pyverbs.cq import CQ
from pyverbs.flow import Flow, FlowAttr
from pyverbs.qp import QPEx, QPInitAttrEx
from pyverbs.wq import (WQ, RwqIndTable, RwqIndTableInitAttr, RxHashConf, WQAttr,
                        WQInitAttr)

from rig import refused

RDY, ERR, RESET = e.IBV_WQS_RDY, e.IBV_WQS_ERR, e.IBV_WQS_RESET
UNKNOWN = e.IBV_WQS_UNKNOWN


def make_wq(ctx, pd, cq=None):
    """A receive work queue; without cq with a completion queue of its own."""
    return WQ(ctx, WQInitAttr(wq_pd=pd, wq_cq=cq or CQ(ctx, 16), wq_type=e.IBV_WQT_RQ,
                              max_wr=4, max_sge=1, comp_mask=0, create_flags=0))


def to(wq, state, current=None):
    mask = e.IBV_WQ_ATTR_STATE
    if current is not None:
        mask |= e.IBV_WQ_ATTR_CURR_STATE
    wq.modify(WQAttr(attr_mask=mask, wq_state=state, curr_wq_state=current or 0))


def make_table(ctx, wqs):
    return RwqIndTable(ctx, RwqIndTableInitAttr(len(wqs).bit_length() - 1, wqs))


def over_table(ctx, pd, table):
    """A queue pair that spreads frames over the queues of the table."""
    mask = (e.IBV_QP_INIT_ATTR_PD | e.IBV_QP_INIT_ATTR_RX_HASH
            | e.IBV_QP_INIT_ATTR_IND_TABLE)
    hashed = RxHashConf(rx_hash_function=e.IBV_RX_HASH_FUNC_TOEPLITZ,
                        rx_hash_key_len=40, rx_hash_key=list(range(40)),
                        rx_hash_fields_mask=e.IBV_RX_HASH_SRC_IPV4)
    return QPEx(ctx, QPInitAttrEx(qp_type=e.IBV_QPT_RAW_PACKET, comp_mask=mask, pd=pd,
                                  hash_conf=hashed, ind_table=table))


def check_objects(rig):
    ctx, pd = rig.ctx, rig.pd
    flags = ctx.query_device().device_cap_flags
    assert flags & e.IBV_DEVICE_MANAGED_FLOW_STEERING, hex(flags)
    wqs = [make_wq(ctx, pd) for _ in range(2)]
    for wq in wqs:
        to(wq, RDY)
        to(wq, RDY, RDY)
        refused(errno.EINVAL, to, wq, RDY, RESET)
        refused(errno.EINVAL, to, wq, UNKNOWN)
        refused(errno.EINVAL, to, wq, ERR, UNKNOWN)
    table = make_table(ctx, wqs)
    qp = over_table(ctx, pd, table)
    assert qp.query(e.IBV_QP_STATE)[0].qp_state == e.IBV_QPS_RTR
    shown = subprocess.run(['rdma', 'resource', 'show', 'qp'], check=True, text=True,
                           stdout=subprocess.PIPE).stdout
    assert f'lqpn {qp.qp_num} ' in shown and 'type RAW_PACKET state RTR' in shown, shown
    refused(errno.EINVAL, Flow, qp, FlowAttr(port=2))
    Flow(qp, FlowAttr(port=1)).close()
    to(wqs[0], ERR)
    refused(errno.EINVAL, to, wqs[0], RDY)
    to(wqs[0], RESET)
    to(wqs[0], RDY)
    for one in (qp, table, *wqs):
        one.close()
