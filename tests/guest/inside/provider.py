# SPDX-License-Identifier: GPL-2.0-or-later
"""The provider's own book-keeping, on one device that sends to itself."""
import errno
import time
from pathlib import Path

import pyverbs.enums as e
from pyverbs.cq import CQ, CQEX, CqInitAttrEx, PollCqAttr
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QP, QPAttr, QPCap, QPEx, QPInitAttr, QPInitAttrEx
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr
from pyverbs.wr import SendWR

from rig import RECEIVED, SECONDS, End, ids, join, pair, refused, take

INLINE = e.IBV_SEND_INLINE | e.IBV_SEND_SIGNALED


def completions(rig):
    """How many the device has made."""
    return int(Path(f'/sys/class/infiniband/{rig.ctx.name}/ports/1/hw_counters/'
                    'completions').read_text())


def wait_made(rig, count):
    """Wait for so many completions, without a look at their queue."""
    end = time.monotonic() + SECONDS
    while completions(rig) < count:
        assert time.monotonic() < end, (completions(rig), count)
        time.sleep(0.01)


def all_good(found, count):
    """All requests have ended well."""
    assert len(ids(found)) == count, (len(found), count)


def depth_of(end):
    return end.qp.query(e.IBV_QP_CAP)[0].cap.max_send_wr


def make_srq(rig, depth, pieces=1):
    return SRQ(rig.pd, SrqInitAttr(attr=SrqAttr(max_wr=depth, max_sge=pieces)))


def fill(end, srq, most=1000):
    """Post receives until the shared queue is full; their number."""
    for posted in range(most):
        try:
            end.receive(16, posted, queue=srq)
        except PyverbsRDMAError as error:
            assert error.error_code == errno.ENOMEM
            return posted
    raise AssertionError('is never full')


def check_send_queue_full(rig):
    """The queue takes as many requests as it reports, and again after these complete."""
    a, _ = pair(rig, cq=CQ(rig.ctx, 256), max_send_wr=8)
    depth = depth_of(a)
    assert depth >= 8
    for turn in range(3):
        for n in range(depth):
            a.post('WRITE', wr_id=turn * depth + n)
        refused(errno.ENOMEM, a.post, 'WRITE')
        assert ids(a.take(depth)) == [turn * depth + n for n in range(depth)]


def check_unsignalled(rig):
    """One completion frees the slots of all requests before it."""
    a, b = pair(rig, max_send_wr=8)
    for turn in range(20):
        for _ in range(depth_of(a) - 1):
            a.post('WRITE', flags=0)
        a.post('WRITE', wr_id=turn)
        assert ids(a.take()) == [turn]
    del b


def check_receive_queue_wraps(rig):
    a, b = pair(rig)
    for n in range(400):
        b.receive(16, n)
        a.post(flags=0 if n % 8 else e.IBV_SEND_SIGNALED)
        assert ids(b.take()) == [n]
        all_good(a.take(not n % 8), not n % 8)


def check_shared_receive_queue(rig):
    """Two queue pairs, RC and UC, drain it in any order, and it wraps many times."""
    sent, received = CQ(rig.ctx, 256), CQ(rig.ctx, 256)
    srq = make_srq(rig, 16)
    pairs = [join(End(rig, kind, cq=sent, max_send_wr=64),
                  End(rig, kind, cq=sent, srq=srq, recv_cq=received))
             for kind in ('RC', 'UC')]
    posted = fill(pairs[0][1], srq)
    assert posted >= 16
    for turn in range(30):
        for n in range(posted):
            pairs[(turn + n) % 2][0].post()
        all_good(take(sent, posted), posted)
        assert sorted(ids(take(received, posted))) == list(range(posted))
        for n in range(posted):
            pairs[0][1].receive(16, n, queue=srq)


def check_resize_shared(rig):
    """Requests survive a resize, in order, at every index; the ring has room then."""
    srq = make_srq(rig, 64)
    a, b = join(End(rig, max_send_wr=64), End(rig, srq=srq))
    posted = done = 0

    def post(ahead):
        nonlocal posted
        while posted < done + ahead:
            b.receive(16, posted, queue=srq)
            posted += 1

    for size in (128, 64, 1024, 200, 64, 4096) * 4:
        post(40)
        srq.modify(SrqAttr(max_wr=size), e.IBV_SRQ_MAX_WR)
        assert srq.query().max_wr >= size
        for _ in range(27):
            a.post()
        all_good(a.take(27), 27)
        assert ids(b.take(27)) == list(range(done, done + 27))
        done += 27
    srq.modify(SrqAttr(max_wr=200, srq_limit=9), e.IBV_SRQ_MAX_WR | e.IBV_SRQ_LIMIT)
    assert srq.query().max_wr >= 200 and srq.query().srq_limit == 9
    post(100)
    for size in (50, 1 << 30):
        refused(errno.EINVAL, srq.modify, SrqAttr(max_wr=size), e.IBV_SRQ_MAX_WR)


def check_shared_receives_of_the_dead(rig):
    """Receives that a queue pair took and never completed leave the queue with it."""
    srq, cq = make_srq(rig, 4), CQ(rig.ctx, 256)
    room = fill(End(rig), srq)
    for _ in range(2 * room):
        a, b = join(End(rig, cq=cq), End(rig, cq=cq, srq=srq))
        a.post()
        take(cq)                    # the other one is destroyed with its owner
        a.qp.close()
        b.qp.close()
        b.receive(16, 0, queue=srq)
    cq.poll(1)


def check_entries_of_the_destroyed(rig):
    """Its completions leave the completion queue; those of others stay, in order."""
    cq = CQ(rig.ctx, 64)
    a, b = pair(rig, cq=cq, max_send_wr=32)
    c, _ = pair(rig, cq=cq, max_send_wr=32)
    for turn in range(8):           # the completion queue wraps
        before = completions(rig)
        for n in range(16):
            (a if n % 3 else c).post('WRITE', wr_id=n)
        wait_made(rig, before + 16)
        assert a.modify(0, 'RESET')
        found = cq.poll(64)[1]
        assert [wc.wr_id for wc in found] == [n for n in range(16) if n % 3 == 0]
        assert all(wc.qp_num == c.number for wc in found)
        assert b.modify(0, 'RESET')
        join(a, b)
    before = completions(rig)
    a.post('WRITE', wr_id=77)
    c.post('WRITE', wr_id=78)
    wait_made(rig, before + 2)
    a.qp.close()
    assert ids(take(cq)) == [78]
    assert cq.poll(1)[0] == 0


def check_query(rig):
    """Queries return the attributes of creation."""
    cq, srq = CQ(rig.ctx, 16), make_srq(rig, 16, 3)
    assert srq.query().max_sge == 3
    for signal_all in (False, True):
        qp = QP(rig.pd, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=cq, rcq=cq, srq=srq,
                                   cap=QPCap(max_recv_wr=0), sq_sig_all=signal_all))
        _, init = qp.query(e.IBV_QP_CAP)
        assert bool(init.sq_sig_all) == signal_all, init
        assert init.qp_type == e.IBV_QPT_RC


def check_resize(rig):
    """Entries survive a resize, in order, at every index of the ring, up and down."""
    a, _ = pair(rig, max_send_wr=64)
    for size in 4 * (128, 32, 256, 16, 64, 1024, 32):
        before = completions(rig)
        for n in range(13):
            a.post('WRITE', wr_id=n)
        wait_made(rig, before + 13)
        assert ids(a.take(5)) == list(range(5))
        a.cq.resize(size)
        assert a.cq.cqe >= size
        a.post('WRITE', wr_id=13)
        assert ids(a.take(9)) == list(range(5, 14))
    before = completions(rig)
    for n in range(13):
        a.post('WRITE', wr_id=n)
    wait_made(rig, before + 13)
    for size in (8, 1 << 30):
        refused(errno.EINVAL, a.cq.resize, size)
    assert ids(a.take(13)) == list(range(13))


def check_refused_requests(rig):
    a, b = End(rig, max_inline_data=60), End(rig)
    refused(errno.EINVAL, a.post, 'WRITE')          # in RESET
    join(a, b)
    cap = a.qp.query(e.IBV_QP_CAP)[0].cap
    assert cap.max_inline_data >= 60 and cap.max_send_sge >= 1
    refused(errno.EINVAL, a.post, 'SEND', cap.max_inline_data + 1, None, None, None, 0,
            INLINE)
    refused(errno.EINVAL, a.post, 'SEND', 0, None, None,
            [rig.sge()] * (cap.max_send_sge + 1))
    refused(errno.EINVAL, a.qp.post_send,
            SendWR(1, sg=[rig.sge()], num_sge=1, opcode=e.IBV_WR_TSO))
    b.receive(64)
    a.post(length=64, flags=INLINE)
    all_good([*a.take(), *b.take()], 2)


def check_inline_pieces(rig):
    """Inline data of two pieces arrive as one message."""
    a, b = pair(rig, max_inline_data=64)
    rig.mr.write(b'inline pieces', 13)
    b.receive(32)
    a.post(sges=[rig.sge(7), rig.sge(6, 7)], flags=INLINE)
    assert (a.status(), b.take()[0].byte_len) == ('SUCCESS', 13)
    assert rig.mr.read(13, RECEIVED) == b'inline pieces'


def check_piecewise_posting(rig):
    """wr_*: after an error or an abort no request of the batch is posted."""
    a, b = End(rig), End(rig)
    a.qp = QPEx(rig.ctx, QPInitAttrEx(
        qp_type=e.IBV_QPT_RC, scq=a.cq, rcq=a.cq, pd=rig.pd, sq_sig_all=False,
        cap=QPCap(max_send_wr=8, max_inline_data=32),
        comp_mask=e.IBV_QP_INIT_ATTR_PD | e.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
        send_ops_flags=e.IBV_QP_EX_WITH_RDMA_WRITE))
    join(a, b)
    qp = a.qp

    def begin(wr_id):
        qp.wr_id, qp.wr_flags = wr_id, e.IBV_SEND_SIGNALED
        qp.wr_rdma_write(rig.mr.rkey, rig.mr.buf)

    def post(*numbers):
        qp.wr_start()
        for wr_id in numbers:
            begin(wr_id)
            qp.wr_set_sge(rig.sge())

    post(1)
    qp.wr_abort()
    post(2)
    begin(3)
    qp.wr_set_inline_data(rig.mr.buf, 513)
    refused(errno.EINVAL, qp.wr_complete)
    post(*range(1000))
    refused(errno.ENOMEM, qp.wr_complete)
    post(*range(4, 12))
    qp.wr_complete()
    assert ids(a.take(8)) == list(range(4, 12))
    assert a.cq.poll(1)[0] == 0


def check_rate_limit(rig):
    """Frames of a raw packet queue pair leave no faster than their limit."""
    count, kbps, frame_ns = 20, 2000, 8 * 1250 * 10**9 // 2000000
    slack = 10**6               # the device's own burst
    flags = e.IBV_WC_STANDARD_FLAGS | e.IBV_WC_EX_WITH_COMPLETION_TIMESTAMP
    cq = CQEX(rig.ctx, CqInitAttrEx(cqe=count, wc_flags=flags))
    qp = QP(rig.pd, QPInitAttr(qp_type=e.IBV_QPT_RAW_PACKET, scq=cq, rcq=cq,
                               cap=QPCap(max_send_wr=count)))

    def sent():
        """How long after now each of so many frames departs, posted together. The host
        may be busy when the first one does."""
        start = rig.ctx.query_rt_values_ex(e.IBV_VALUES_MASK_RAW_CLOCK)[1]
        stamps, end, chain = [], time.monotonic() + SECONDS, [None]
        for n in range(count):
            chain.append(SendWR(n, sg=[rig.sge(1250)], num_sge=1, next_wr=chain[-1],
                                send_flags=e.IBV_SEND_SIGNALED))
        qp.post_send(chain[-1])
        while len(stamps) < count and time.monotonic() < end:
            if not cq.start_poll(PollCqAttr()):
                assert cq.status == e.IBV_WC_SUCCESS
                stamps.append(cq.read_timestamp() - start)
                cq.end_poll()
        assert len(stamps) == count, stamps
        return stamps

    def limit(kbps, more=0):
        attr.rate_limit = kbps
        qp.modify(attr, e.IBV_QP_RATE_LIMIT | more)

    attr = QPAttr(port_num=1)
    qp.to_rtr(attr)
    attr.qp_state = e.IBV_QPS_RTS
    limit(kbps, e.IBV_QP_STATE)
    stamps = sent()
    for n, stamp in enumerate(stamps):
        assert stamp >= n * frame_ns - slack, (n, stamps)
    refused(errno.EINVAL, limit, 2**32 - 1)
    limit(0)
    # Less than the limit would take, in one of some tries: the host may be busy.
    took = []
    while not took or took[-1] >= (count - 1) * frame_ns - slack:
        assert len(took) < 20, took
        stamps = sent()
        took.append(stamps[-1] - stamps[0])
    attr.rate_limit = kbps
    refused(errno.EINVAL, End(rig).connect().qp.modify, attr, e.IBV_QP_RATE_LIMIT)
