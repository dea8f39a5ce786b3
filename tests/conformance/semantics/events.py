# SPDX-License-Identifier: GPL-2.0-or-later
"""Every asynchronous event of IBTA volume 1, 11.6.3, provoked; and no other comes.

A row names the events that follow, in any order.
"""
import subprocess
from typing import Callable, NamedTuple

import pyverbs.enums as e
from pyverbs.cq import CQ
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr

from completions import BAD_KEY
from rig import EVENT_NAMES, End, join, pair

QUIET = 0.3                     # seconds in which no other event may come
# Events that no test can provoke here.
OTHERS = {
    'PATH_MIG': 'automatic path migration', 'PATH_MIG_ERR': 'automatic path migration',
    'LID_CHANGE': 'InfiniBand links', 'SM_CHANGE': 'InfiniBand links',
    'CLIENT_REREGISTER': 'InfiniBand links',
    'PKEY_CHANGE': 'a table of P_Keys that changes; RoCE has the default one',
    'SRQ_ERR': 'an SRQ with a ring outside memory; libibverbs makes none',
    'WQ_FATAL': 'receive queues of raw packets'}
# Events with files of their own, as the host provokes them.
ELSEWHERE = {'PORT_ERR', 'PORT_ACTIVE', 'DEVICE_FATAL'}


class Row(NamedTuple):
    name: str
    do: Callable                # with a Rig
    events: tuple


def nothing(rig):
    a, b = pair(rig)
    b.receive()
    a.post()
    assert (a.status(), b.status()) == ('SUCCESS', 'SUCCESS')
    return a, b


def bad_key(rig):
    a, b = pair(rig)
    a.post('WRITE', rkey=BAD_KEY)
    return a, b


def forbidden_read(rig):
    a, b = pair(rig, there={'qp_access_flags': 0})
    a.post('READ')
    return a, b


def first_packet(rig):
    """The event comes only while the responder is in RTR."""
    a, b = End(rig), End(rig)
    b.qp.to_rtr(b.attr(dest_qp_num=a.number))
    b.receive()
    a.connect(b).post()
    assert (a.status(), b.status()) == ('SUCCESS', 'SUCCESS')
    return a, b


def drained(rig):
    a, b = pair(rig)
    for _ in range(8):
        a.post('WRITE', 4096, flags=0)
    assert a.modify(e.IBV_QP_EN_SQD_ASYNC_NOTIFY, 'SQD', en_sqd_async_notify=1)
    return a, b


def drained_unasked(rig):
    a, b = pair(rig)
    assert a.modify(0, 'SQD')
    return a, b


def overrun(rig):
    """More completions than the queue has entries, and no poll."""
    cq = CQ(rig.ctx, 4)
    a, b = join(End(rig, cq=cq, max_send_wr=cq.cqe + 8), End(rig))
    for n in range(cq.cqe + 8):
        a.post('WRITE', wr_id=n)
    return a, b


def srq_of(rig, count, limit=0):
    srq = SRQ(rig.pd, SrqInitAttr(SrqAttr(max_wr=16, max_sge=1)))
    a, b = join(End(rig), End(rig, srq=srq))
    for _ in range(count):
        b.receive(queue=srq)
    if limit:
        srq.modify(SrqAttr(srq_limit=limit), e.IBV_SRQ_LIMIT)
    return a, b, srq


def srq_limit(rig):
    """Once, when fewer are left than the limit; not again until it is set again."""
    a, b, srq = srq_of(rig, 8, 6)
    for left in (7, 6):
        a.post()
        assert b.status() == 'SUCCESS'
        assert not rig.events(seconds=QUIET), f'with {left} left'
    for _ in range(3):
        a.post()
        assert b.status() == 'SUCCESS'
    assert srq.query().srq_limit == 0
    return a, b, srq


def srq_limit_at_once(rig):
    """A limit above the number of receives is reached with the next receive used."""
    a, b, srq = srq_of(rig, 2, 8)
    a.post()
    assert b.status() == 'SUCCESS'
    return a, b, srq


def last_request(rig):
    a, b, srq = srq_of(rig, 2)
    assert b.modify(0, 'ERR')
    return a, b, srq


def new_address(rig):
    subprocess.run('ip addr add 10.9.9.9/24 dev eth0; '
                   'ip addr del 10.9.9.9/24 dev eth0', shell=True, check=True)
    return rig


ROWS = (
    Row('none', nothing, ()),
    Row('QP_ACCESS_ERR', bad_key, ('QP_ACCESS_ERR',)),
    Row('QP_REQ_ERR', forbidden_read, ('QP_REQ_ERR',)),
    Row('COMM_EST', first_packet, ('COMM_EST',)),
    Row('SQ_DRAINED', drained, ('SQ_DRAINED',)),
    Row('SQ_DRAINED/unasked', drained_unasked, ()),
    Row('CQ_ERR,QP_FATAL', overrun, ('CQ_ERR', 'QP_FATAL')),
    Row('SRQ_LIMIT_REACHED', srq_limit, ('SRQ_LIMIT_REACHED',)),
    Row('SRQ_LIMIT_REACHED/at-once', srq_limit_at_once, ('SRQ_LIMIT_REACHED',)),
    Row('QP_LAST_WQE_REACHED', last_request, ('QP_LAST_WQE_REACHED',)),
    Row('GID_CHANGE', new_address, ('GID_CHANGE', 'GID_CHANGE')),
)


def provoke(rig, row):
    kept = row.do(rig)
    found = rig.events(row.events)
    found += rig.events(seconds=QUIET)
    assert sorted(found) == sorted(row.events), f'{found}, not {list(row.events)}'
    del kept


def every_event(_):
    """Every event has a row, or a reason to have none."""
    reported = {name for row in ROWS for name in row.events} | ELSEWHERE
    missing = set(EVENT_NAMES.values()) - reported - set(OTHERS)
    assert not missing, missing


def cases():
    for row in ROWS:
        yield row.name, provoke, (row,)
    yield 'every-event', every_event, ()
