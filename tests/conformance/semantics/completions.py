# SPDX-License-Identifier: GPL-2.0-or-later
"""Every status of a completion, provoked: IBTA volume 1, 11.6.2."""
from typing import Callable, NamedTuple

import pyverbs.enums as e
from pyverbs.mr import MR, MWBind, MWBindInfo

from rig import RECEIVED, STATUS_NAMES, End, open_window, pair, statuses

BAD_KEY = 0xffffffff
QUIET = 0.3                     # seconds in which nothing has to come
# Statuses that no request of these services can end with.
OTHERS = {
    'LOC_EEC_OP_ERR': 'reliable datagrams', 'LOC_RDD_VIOL_ERR': 'reliable datagrams',
    'REM_INV_RD_REQ_ERR': 'reliable datagrams', 'INV_EECN_ERR': 'reliable datagrams',
    'INV_EEC_STATE_ERR': 'reliable datagrams', 'REM_ABORT_ERR': 'reliable datagrams',
    'FATAL_ERR': 'other devices', 'RESP_TIMEOUT_ERR': 'other devices',
    'GENERAL_ERR': 'other devices', 'TM_ERR': 'tag matching',
    'LOC_ACCESS_ERR': 'a region that goes just before the last packet of a WRITE with '
                      'immediate data; no program can choose that moment',
    'BAD_RESP_ERR': 'a peer that breaks the protocol: peer.py'}


class Row(NamedTuple):
    """A wrong request, and the completions that follow at the sender and at the receiver;
    None: no completion.

    post: the arguments of the request of queue pair a, receive: of one at b, if there is
    one. do(a, b) is called instead.
    """

    name: str
    sender: str
    receiver: str = None
    post: dict = {}
    receive: dict = None
    do: Callable = None
    kind: str = 'RC'
    here: dict = {}
    there: dict = {}


def read_only(a, _):
    """A region without remote write access."""
    a.mr = MR(a.rig.pd, 64, e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_READ)
    a.post('WRITE', rkey=a.mr.rkey, raddr=a.mr.buf)


def long_datagram(a, b):
    b.receive(8192)
    a.ah = a.rig.ah()
    a.post(length=4097, ah=a.ah, to=b.number)


def bind_forbidden(a, _):
    """A window of type 1 on a region without the right for it; the window goes first."""
    a.window = open_window(a.rig.pd, e.IBV_MW_TYPE_1)
    a.mr = MR(a.rig.pd, 64, e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE)
    bind = MWBind(MWBindInfo(a.mr, a.mr.buf, 64, e.IBV_ACCESS_REMOTE_WRITE),
                  e.IBV_SEND_SIGNALED)
    a.qp.bind_mw(a.window, bind)


def invalidate_region(a, _):
    """LOCAL_INV is for windows of type 2 and fast registrations."""
    a.post('LOCAL_INV', sges=[], imm=a.rig.mr.rkey)


def flushed(a, _):
    a.modify(0, 'ERR')
    a.post()


def nobody(a, b):
    b.modify(0, 'RESET')
    a.post()


ONCE = {'timeout': 8, 'retry_cnt': 1, 'rnr_retry': 1}
READ, ATOMIC = {'op': 'READ'}, {'op': 'CMP_SWAP', 'length': 8}
BAD_WRITE = {'op': 'WRITE', 'rkey': BAD_KEY}
ROWS = (
    Row('SUCCESS', 'SUCCESS', 'SUCCESS', receive={}),
    Row('LOC_LEN_ERR/receive', 'REM_INV_REQ_ERR', 'LOC_LEN_ERR', receive={'length': 8}),
    Row('LOC_LEN_ERR/atomic', 'LOC_LEN_ERR', post={'op': 'CMP_SWAP', 'length': 16}),
    Row('LOC_LEN_ERR/datagram', 'LOC_LEN_ERR', do=long_datagram, kind='UD'),
    Row('LOC_QP_OP_ERR/read', 'LOC_QP_OP_ERR', post=READ, here={'max_rd_atomic': 0}),
    Row('LOC_PROT_ERR/send', 'LOC_PROT_ERR', post={'lkey': BAD_KEY}),
    Row('LOC_PROT_ERR/send-UC', 'LOC_PROT_ERR', post={'lkey': BAD_KEY}, kind='UC'),
    Row('LOC_PROT_ERR/receive', 'REM_OP_ERR', 'LOC_PROT_ERR', receive={'lkey': BAD_KEY}),
    Row('WR_FLUSH_ERR', 'WR_FLUSH_ERR', do=flushed),
    Row('MW_BIND_ERR/bind', 'MW_BIND_ERR', do=bind_forbidden),
    Row('MW_BIND_ERR/invalidate', 'MW_BIND_ERR', do=invalidate_region),
    Row('REM_INV_REQ_ERR/misaligned', 'REM_INV_REQ_ERR',
        post={'op': 'FETCH_ADD', 'length': 8, 'offset': 4}),
    Row('REM_INV_REQ_ERR/read', 'REM_INV_REQ_ERR', post=READ,
        there={'qp_access_flags': 0}),
    Row('REM_INV_REQ_ERR/atomic', 'REM_INV_REQ_ERR', post=ATOMIC,
        there={'qp_access_flags': e.IBV_ACCESS_REMOTE_READ}),
    Row('REM_ACCESS_ERR/key', 'REM_ACCESS_ERR', post=BAD_WRITE),
    Row('REM_ACCESS_ERR/range', 'REM_ACCESS_ERR',
        post={'op': 'WRITE', 'offset': RECEIVED - 8}),
    Row('REM_ACCESS_ERR/right', 'REM_ACCESS_ERR', do=read_only),
    Row('REM_ACCESS_ERR/immediate', 'REM_ACCESS_ERR', 'WR_FLUSH_ERR',
        post={'op': 'WRITE_IMM', 'rkey': BAD_KEY}, receive={}),
    Row('REM_OP_ERR', 'REM_OP_ERR', 'LOC_PROT_ERR', receive={'lkey': BAD_KEY}),
    Row('RETRY_EXC_ERR', 'RETRY_EXC_ERR', do=nobody, here=ONCE),
    Row('RNR_RETRY_EXC_ERR', 'RNR_RETRY_EXC_ERR', here=ONCE),
    Row('UC/lost', 'SUCCESS', receive={'length': 8}, kind='UC'),
    Row('UC/key', 'SUCCESS', post=BAD_WRITE, kind='UC'),
)


def provoke(rig, row):
    if row.kind == 'UD':
        a, b = End(rig, 'UD').connect(), End(rig, 'UD').connect()
    else:
        a, b = pair(rig, row.kind, row.here, row.there)
    if row.receive is not None:
        b.receive(**row.receive)
    if row.do:
        row.do(a, b)
    else:
        a.post(**row.post)
    sender = a.status()
    receiver = (b.status() if row.receiver else
                (statuses(b.take(1, QUIET)) or [None])[0])
    assert (sender, receiver) == (row.sender, row.receiver), \
        f'{sender} and {receiver}, not {row.sender} and {row.receiver}'
    if row.sender != 'SUCCESS':
        state = 'ERR' if row.kind == 'RC' else 'SQE'
        assert a.state() == state, f'in {a.state()} afterwards, not in {state}'
    if row.kind == 'RC' and row.sender.startswith('REM_'):
        assert b.state() == 'ERR', f'the responder is in {b.state()} afterwards'


def flush_order(rig):
    """The first has the reason, all others are flushed, each queue in its order."""
    a, _ = pair(rig)
    for n in range(3):
        a.receive(wr_id=100 + n)
    a.post('WRITE', rkey=BAD_KEY, wr_id=0)
    for n in range(1, 4):
        a.post('WRITE', wr_id=n, flags=0)
    found = a.take(7)
    reported = {wc.wr_id: STATUS_NAMES[wc.status] for wc in found}
    wanted = {0: 'REM_ACCESS_ERR', **{n: 'WR_FLUSH_ERR' for n in
                                      (1, 2, 3, 100, 101, 102)}}
    assert reported == wanted, reported
    for queue in ([0, 1, 2, 3], [100, 101, 102]):
        order = [wc.wr_id for wc in found if wc.wr_id in queue]
        assert order == queue, order


def every_status(_):
    """Every status has a row, or a reason to have none."""
    reported = {row.sender for row in ROWS} | {row.receiver for row in ROWS}
    missing = set(STATUS_NAMES.values()) - reported - set(OTHERS)
    assert not missing, missing


def cases():
    for row in ROWS:
        yield row.name, provoke, (row,)
    yield 'flush-order', flush_order, ()
    yield 'every-status', every_status, ()
