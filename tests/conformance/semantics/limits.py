# SPDX-License-Identifier: GPL-2.0-or-later
"""Keys of other domains, removed windows, exceeded depths, messages without data,
sequence numbers that wrap.
"""
import pyverbs.enums as e
from pyverbs.base import inc_rkey
from pyverbs.mr import MR, MWBind, MWBindInfo
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

from completions import BAD_KEY
from events import overrun
from rig import MEMORY, RECEIVED, REMOTE, End, ids, join, open_window, pair, statuses

GRH = 40
ACCESS = e.IBV_ACCESS_LOCAL_WRITE | REMOTE | e.IBV_ACCESS_MW_BIND
REFUSED = 'refused at once'


def expect(what, seen, wanted):
    assert seen == wanted, f'{what}: {seen}, not {wanted}'


def attempt(function, *arguments, **values):
    """None, or the fact that it was refused."""
    try:
        function(*arguments, **values)
        return None
    except PyverbsRDMAError:
        return REFUSED


# ---- keys of another protection domain ---------------------------------------------

class Other:
    """A second protection domain over the same memory."""

    def __init__(self, rig):
        self.pd = PD(rig.ctx)
        self.mr = MR(self.pd, MEMORY, ACCESS, address=rig.mr.buf)


def pd_lkey(rig, op):
    """The key for the request, or for the response's data, is of another domain."""
    other = Other(rig)
    a, _ = pair(rig)
    a.post(op, lkey=other.mr.lkey)
    expect(op, a.status(), 'LOC_PROT_ERR')


def pd_receive(rig):
    other = Other(rig)
    a, b = pair(rig)
    b.receive(lkey=other.mr.lkey)
    a.post()
    expect('ends', (a.status(), b.status()), ('REM_OP_ERR', 'LOC_PROT_ERR'))


def pd_rkey(rig, op):
    other = Other(rig)
    a, _ = pair(rig)
    rig.fill(5, 16, RECEIVED)
    a.post(op, 8, rkey=other.mr.rkey)
    expect(op, a.status(), 'REM_ACCESS_ERR')
    expect('memory', rig.mr.read(16, RECEIVED), bytes([5]) * 16)


def pd_srq(rig):
    """Keys in an SRQ belong to the SRQ's domain, not to the queue pair's."""
    other = Other(rig)
    for lkey, wanted in ((other.mr.lkey, ('SUCCESS', 'SUCCESS')),
                         (rig.mr.lkey, ('REM_OP_ERR', 'LOC_PROT_ERR'))):
        srq = SRQ(other.pd, SrqInitAttr(SrqAttr(max_wr=4, max_sge=1)))
        a, b = join(End(rig), End(rig, srq=srq))
        b.receive(lkey=lkey, queue=srq)
        a.post()
        expect('ends', (a.status(), b.status()), wanted)


def pd_window(rig, window_kind):
    """A window or region of another domain cannot be bound."""
    other = Other(rig)
    for pd, mr in ((other.pd, rig.mr), (rig.pd, other.mr)):
        a, _ = pair(rig)
        window = open_window(pd, window_kind)
        seen = attempt(bind, a, window, mr) or a.status()
        assert seen in (REFUSED, 'MW_BIND_ERR'), f'bind: {seen}'
        window.close()


def pd_ah(rig):
    """An address handle of another domain (10.2.2.2)."""
    other = Other(rig)
    a, b = End(rig, 'UD').connect(), End(rig, 'UD').connect()
    b.receive()
    ah = rig.ah(other.pd)
    seen = attempt(a.post, ah=ah, to=b.number) or a.status()
    assert seen in (REFUSED, 'LOC_QP_OP_ERR', 'LOC_PROT_ERR'), seen
    expect('receives', statuses(b.take(1, 0.3)), [])


# ---- memory windows ------------------------------------------------------------------

def bind(end, window, mr, length=RECEIVED):
    """Bind it over the receive area; returns the key, valid after the completion."""
    info = MWBindInfo(mr, mr.buf + RECEIVED, length, REMOTE if length else 0)
    if window.type == e.IBV_MW_TYPE_1:
        end.qp.bind_mw(window, MWBind(info, e.IBV_SEND_SIGNALED))
        return None
    wr = SendWR(opcode=e.IBV_WR_BIND_MW)
    wr.set_bind_wr(window, info)
    end.qp.post_send(wr)
    return inc_rkey(window.rkey)


def bound(end, window, mr, length=RECEIVED):
    key = bind(end, window, mr, length)
    expect('bind', end.status(), 'SUCCESS')
    return key or window.rkey


def invalidate_locally(a, b, window, key):
    b.post('LOCAL_INV', sges=[], imm=key)
    expect('LOCAL_INV', b.status(), 'SUCCESS')


def invalidate_remotely(a, b, window, key):
    b.receive()
    a.post('SEND_INV', imm=key)
    expect('receive', b.status(), 'SUCCESS')


def bind_nothing(a, b, window, key):
    bound(b, window, b.rig.mr, 0)


def bind_again(a, b, window, key):
    """A window of type 1 has another key after each bind."""
    assert bound(b, window, b.rig.mr) != key, 'the same key'


def deallocate(a, b, window, key):
    window.close()


def under_traffic(rig, window_kind, how):
    """WRITEs continue; after the window is gone none changes memory."""
    a, b = pair(rig, max_send_wr=64)
    window = open_window(rig.pd, window_kind)
    key = bound(b, window, rig.mr)
    rig.fill(1)
    for _ in range(8):
        a.post('WRITE', 4096, rkey=key)
    expect('before', statuses(a.take(8)), ['SUCCESS'] * 8)
    for n in range(40):
        a.post('WRITE', 4096, rkey=key, raddr=rig.mr.buf + RECEIVED + n % 4 * 4096)
    how(a, b, window, key)
    rig.fill(2, offset=RECEIVED)
    posted = 40 + (how is invalidate_remotely) + sum(
        not attempt(a.post, 'WRITE', 4096, rkey=key) for _ in range(4))
    done = a.take(posted)
    expect('completions', len(done), posted)
    found = [status for status in statuses(done) if status != 'SUCCESS']
    expect('first failure', found[:1], ['REM_ACCESS_ERR'])
    assert set(found[1:]) <= {'WR_FLUSH_ERR'}, found
    expect('memory afterwards', rig.mr.read(RECEIVED, RECEIVED), bytes([2]) * RECEIVED)


def window_of_another(rig):
    """A window of type 2 belongs to the queue pair that bound it (10.6.7.2.2)."""
    a, b = pair(rig)
    c, d = pair(rig)
    window = open_window(rig.pd, e.IBV_MW_TYPE_2)
    key = bound(b, window, rig.mr)
    a.post('WRITE', rkey=key)
    expect('by its queue pair', a.status(), 'SUCCESS')
    c.post('WRITE', rkey=key)
    expect('by another', c.status(), 'REM_ACCESS_ERR')
    del d


def window_range(rig):
    """The range and rights are the window's, not those of its region."""
    for length, flags, wanted in ((4096, REMOTE, 'SUCCESS'),
                                  (4097, REMOTE, 'REM_ACCESS_ERR'),
                                  (16, e.IBV_ACCESS_REMOTE_READ, 'REM_ACCESS_ERR')):
        a, b = pair(rig)
        window = open_window(rig.pd, e.IBV_MW_TYPE_1)
        info = MWBindInfo(rig.mr, rig.mr.buf + RECEIVED, 4096, flags)
        b.qp.bind_mw(window, MWBind(info, e.IBV_SEND_SIGNALED))
        expect('bind', b.status(), 'SUCCESS')
        a.post('WRITE', length, rkey=window.rkey)
        expect(f'WRITE of {length}', a.status(), wanted)
        window.close()


# ---- READ and atomics beyond the limits ---------------------------------------------

LAST = 0xfffff0                 # sixteen packets before the PSN wraps
ACROSS = {'sq_psn': LAST, 'rq_psn': LAST}
LENGTHS = {'WRITE': 8192, 'READ': 8192, 'FETCH_ADD': 8}


def in_order(rig, op, here, there):
    """A queue full of requests: each completes, in order, also if there are more than may
    be outstanding, or if they lie across the wrap."""
    a, _ = pair(rig, 'RC', here, there)
    for n in range(16):
        a.post(op, LENGTHS[op], wr_id=n)
    expect('order', ids(a.take(16)), list(range(16)))


def responder_none(rig, op):
    """For a responder with no resources it is an invalid request (9.7.4.1.4)."""
    a, b = pair(rig, there={'max_dest_rd_atomic': 0})
    a.post(op, 8)
    expect(op, a.status(), 'REM_INV_REQ_ERR')
    expect('events', rig.events(['QP_REQ_ERR']), ['QP_REQ_ERR'])
    del b


# ---- nothing --------------------------------------------------------------------------

def zero(rig, kind, op, pieces):
    """A message of no bytes, with no scatter/gather entry or with an empty one."""
    a, b = pair(rig, kind)
    rig.fill(7)
    b.receive()
    sges = [] if pieces == 'none' else [rig.sge(0)]
    a.post(op, sges=sges)
    expect('sender', a.status(), 'SUCCESS')
    if op in ('SEND', 'SEND_IMM', 'WRITE_IMM'):
        found = b.take()
        expect('receiver', statuses(found), ['SUCCESS'])
        expect('length', found[0].byte_len, 0)
        expect('immediate', bool(found[0].wc_flags & e.IBV_WC_WITH_IMM), 'IMM' in op)
    expect('memory', rig.mr.read(RECEIVED, 0), bytes([7]) * RECEIVED)


def zero_datagram(rig, op):
    a, b = End(rig, 'UD').connect(), End(rig, 'UD').connect()
    b.receive(GRH)
    ah = rig.ah()
    a.post(op, sges=[], ah=ah, to=b.number)
    expect('sender', a.status(), 'SUCCESS')
    found = b.take()
    expect('receiver', statuses(found), ['SUCCESS'])
    expect('length', found[0].byte_len, GRH)


def zero_key(rig, op):
    """Without bytes no key is checked (C9-88)."""
    a, _ = pair(rig)
    a.post(op, sges=[], rkey=BAD_KEY, raddr=1)
    expect(op, a.status(), 'SUCCESS')


def zero_receive(rig):
    """A receive without memory takes a message without bytes, and no other."""
    for length, wanted in ((0, ('SUCCESS', 'SUCCESS')),
                           (1, ('REM_INV_REQ_ERR', 'LOC_LEN_ERR'))):
        a, b = pair(rig)
        wr = RecvWR(100, 1, [rig.sge(0)])
        wr.num_sge = 0
        b.qp.post_recv(wr)
        a.post(length=length)
        expect(f'SEND of {length}', (a.status(), b.status()), wanted)


def zero_among_others(rig):
    """An empty scatter/gather entry between two others is skipped."""
    a, b = pair(rig)
    rig.mr.write(b'onetwo', 6, 0)
    b.receive()
    a.post(sges=[rig.sge(3), rig.sge(0, 3), rig.sge(3, 3)])
    expect('ends', (a.status(), b.status()), ('SUCCESS', 'SUCCESS'))
    expect('memory', rig.mr.read(6, RECEIVED), b'onetwo')


# ---- queues that are full --------------------------------------------------------------

def overrun_state(rig):
    """An overrun completion queue ends the queue pairs that use it."""
    a, _ = overrun(rig)
    rig.events(['CQ_ERR'])
    expect('state', a.state(), 'ERR')
    kept = [wc.wr_id for wc in a.take(a.cq.cqe, 1)]
    assert kept, 'no completion that fitted'
    expect('completions that fitted', kept, list(range(len(kept))))


def srq_drained(rig):
    """Senders to an empty SRQ wait by RNR NAK, and are served after a post."""
    srq = SRQ(rig.pd, SrqInitAttr(SrqAttr(max_wr=4, max_sge=1)))
    ends = []
    for _ in range(2):
        a, b = join(End(rig), End(rig, srq=srq))
        a.post()
        ends.append((a, b))
    for a, b in ends:
        expect('too early', statuses(a.take(1, 0.2)), [])
    for _ in ends:
        srq.post_recv(RecvWR(100, 1, [SGE(rig.mr.buf + RECEIVED, 64, rig.mr.lkey)]))
    for a, b in ends:
        expect('ends', (a.status(), b.status()), ('SUCCESS', 'SUCCESS'))


TYPE_1, TYPE_2 = e.IBV_MW_TYPE_1, e.IBV_MW_TYPE_2
ROWS = [
    ('pd/lkey-send', pd_lkey, 'SEND'), ('pd/lkey-read', pd_lkey, 'READ'),
    ('pd/lkey-receive', pd_receive),
    *((f'pd/rkey-{op}', pd_rkey, op) for op in ('WRITE', 'READ', 'CMP_SWAP')),
    ('pd/srq', pd_srq), ('pd/window-1', pd_window, TYPE_1),
    ('pd/window-2', pd_window, TYPE_2), ('pd/address-handle', pd_ah),
    ('window/local-invalidate', under_traffic, TYPE_2, invalidate_locally),
    ('window/remote-invalidate', under_traffic, TYPE_2, invalidate_remotely),
    ('window/bind-nothing', under_traffic, TYPE_1, bind_nothing),
    ('window/bind-again', under_traffic, TYPE_1, bind_again),
    ('window/deallocate-1', under_traffic, TYPE_1, deallocate),
    ('window/deallocate-2', under_traffic, TYPE_2, deallocate),
    ('window/of-another', window_of_another), ('window/range', window_range),
    *((f'depth/initiator-{op}', in_order, op, {'max_rd_atomic': 1},
       {'max_dest_rd_atomic': 1}) for op in ('READ', 'FETCH_ADD')),
    *((f'depth/responder-{op}', responder_none, op) for op in ('READ', 'FETCH_ADD')),
    *((f'zero/RC-{op}-{pieces}', zero, 'RC', op, pieces) for pieces in ('none', 'empty')
      for op in ('SEND', 'SEND_IMM', 'WRITE', 'WRITE_IMM', 'READ')),
    *((f'zero/UC-{op}-{pieces}', zero, 'UC', op, pieces) for pieces in ('none', 'empty')
      for op in ('SEND', 'SEND_IMM', 'WRITE', 'WRITE_IMM')),
    *((f'zero/UD-{op}', zero_datagram, op) for op in ('SEND', 'SEND_IMM')),
    *((f'zero/key-{op}', zero_key, op) for op in ('WRITE', 'READ')),
    ('zero/receive', zero_receive), ('zero/among-others', zero_among_others),
    *((f'wrap/window-{op}', in_order, op, ACROSS, ACROSS) for op in LENGTHS),
    ('queue/overrun', overrun_state), ('queue/srq-empty', srq_drained),
]


def cases():
    for name, function, *arguments in ROWS:
        yield name, function, arguments
