# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of the provider's own book-keeping, on one device that sends to itself.

usage: provider.py DEVICE GID-INDEX [NAME]

Prints "ok NAME" for each test that passes, and ends with status 1 if one does not.
"""
import errno
import os
import sys
import time
import traceback

import pyverbs.enums as e
from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.cq import CQ, CQEX, CqInitAttrEx, PollCqAttr
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QP, QPAttr, QPCap, QPEx, QPInitAttr, QPInitAttrEx
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

SIZE = 4096
SECONDS = 20


class Rig:
    """A context, a domain and a region, and functions that make queue pairs of them."""

    def __init__(self):
        self.ctx = Context(name=DEVICE)
        self.pd = PD(self.ctx)
        self.mr = MR(self.pd, SIZE, e.IBV_ACCESS_LOCAL_WRITE |
                     e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_REMOTE_READ)

    def qp(self, cq, kind=e.IBV_QPT_RC, srq=None, sends=16, receives=16, inline=0,
           recv_cq=None):
        cap = QPCap(max_send_wr=sends, max_recv_wr=0 if srq else receives,
                    max_inline_data=inline)
        return QP(self.pd, QPInitAttr(qp_type=kind, scq=cq, rcq=recv_cq or cq,
                                      cap=cap, srq=srq, sq_sig_all=False))

    def attr(self, peer):
        gid = self.ctx.query_gid(1, GID)
        attr = QPAttr(port_num=1)
        attr.qp_access_flags = (e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_REMOTE_READ |
                                e.IBV_ACCESS_LOCAL_WRITE)
        attr.dest_qp_num = peer.qp_num
        attr.path_mtu = e.IBV_MTU_1024
        attr.max_rd_atomic = attr.max_dest_rd_atomic = 1
        attr.timeout, attr.retry_cnt, attr.rnr_retry, attr.min_rnr_timer = 14, 7, 7, 1
        attr.ah_attr = AHAttr(gr=GlobalRoute(dgid=gid, sgid_index=GID), is_global=1,
                              port_num=1)
        return attr

    def connect(self, a, b):
        a.to_rts(self.attr(b))
        b.to_rts(self.attr(a))

    def sge(self, length=16):
        return SGE(self.mr.buf, length, self.mr.lkey)

    def send(self, qp, wr_id, flags=e.IBV_SEND_SIGNALED):
        qp.post_send(SendWR(wr_id, sg=[self.sge()], num_sge=1, send_flags=flags))

    def write(self, qp, wr_id, flags=e.IBV_SEND_SIGNALED, rkey=None):
        wr = SendWR(wr_id, sg=[self.sge()], num_sge=1, opcode=e.IBV_WR_RDMA_WRITE,
                    send_flags=flags)
        wr.set_wr_rdma(self.mr.rkey if rkey is None else rkey, self.mr.buf)
        qp.post_send(wr)

    def receive(self, queue, wr_id, length=16):
        queue.post_recv(RecvWR(wr_id, num_sge=1, sg=[self.sge(length)]))


def take(cq, count):
    """So many completions, in time."""
    found, end = [], time.monotonic() + SECONDS
    while len(found) < count and time.monotonic() < end:
        found += cq.poll(count - len(found))[1]
    assert len(found) == count, f'{len(found)} of {count} completions'
    return found


def ids(completions):
    assert all(wc.status == e.IBV_WC_SUCCESS for wc in completions), \
        [wc.status for wc in completions]
    return [wc.wr_id for wc in completions]


def refused(error, function, *arguments):
    try:
        function(*arguments)
    except PyverbsRDMAError as e_:
        assert e_.error_code == error, e_.error_code
        return
    raise AssertionError('was not refused')


def test_send_queue_full(rig):
    """The queue takes as many requests as it reports, and again after these complete."""
    cq = CQ(rig.ctx, 256)
    a, b = rig.qp(cq, sends=8), rig.qp(cq)
    rig.connect(a, b)
    depth = a.query(e.IBV_QP_CAP)[0].cap.max_send_wr
    assert depth >= 8
    for turn in range(3):
        for n in range(depth):
            rig.write(a, turn * depth + n)
        refused(errno.ENOMEM, rig.write, a, 0)
        assert ids(take(cq, depth)) == [turn * depth + n for n in range(depth)]


def test_unsignalled(rig):
    """One completion frees the slots of all requests before it."""
    cq = CQ(rig.ctx, 64)
    a, b = rig.qp(cq, sends=8), rig.qp(cq)
    rig.connect(a, b)
    depth = a.query(e.IBV_QP_CAP)[0].cap.max_send_wr
    for turn in range(20):
        for _ in range(depth - 1):
            rig.write(a, 0, flags=0)
        rig.write(a, turn)
        assert ids(take(cq, 1)) == [turn]


def test_receive_queue_wraps(rig):
    cq = CQ(rig.ctx, 64)
    a, b = rig.qp(cq), rig.qp(cq)
    rig.connect(a, b)
    for n in range(400):
        rig.receive(b, n)
        rig.send(a, n, flags=0 if n % 8 else e.IBV_SEND_SIGNALED)
        found = take(cq, 1 if n % 8 else 2)
        assert n in ids(found)


def test_shared_receive_queue(rig):
    """Two queue pairs, RC and UC, drain it in any order, and it wraps many times."""
    send_cq, recv_cq = CQ(rig.ctx, 256), CQ(rig.ctx, 256)
    srq = SRQ(rig.pd, SrqInitAttr(attr=SrqAttr(max_wr=16, max_sge=1)))
    pairs = []
    for kind in (e.IBV_QPT_RC, e.IBV_QPT_UC):
        a = rig.qp(send_cq, kind, sends=64)
        b = rig.qp(send_cq, kind, srq=srq, recv_cq=recv_cq)
        rig.connect(a, b)
        pairs.append((a, b))
    posted = 0
    while True:
        try:
            rig.receive(srq, posted)
            posted += 1
        except PyverbsRDMAError as error:
            assert error.error_code == errno.ENOMEM
            break
    assert posted >= 16
    for turn in range(30):
        for n in range(posted):
            rig.send(pairs[(turn + n) % 2][0], n)
        take(send_cq, posted)
        assert sorted(ids(take(recv_cq, posted))) == list(range(posted))
        for n in range(posted):
            rig.receive(srq, n)


def test_resize_shared(rig):
    """Requests survive a resize, in order, at every index; the ring has room then."""
    send_cq, cq = CQ(rig.ctx, 256), CQ(rig.ctx, 256)
    srq = SRQ(rig.pd, SrqInitAttr(attr=SrqAttr(max_wr=64, max_sge=1)))
    a, b = rig.qp(send_cq, sends=64), rig.qp(cq, srq=srq)
    rig.connect(a, b)
    posted = done = 0
    for size in (128, 64, 1024, 200, 64, 4096) * 4:
        while posted < done + 40:
            rig.receive(srq, posted)
            posted += 1
        srq.modify(SrqAttr(max_wr=size), e.IBV_SRQ_MAX_WR)
        assert srq.query().max_wr >= size
        for _ in range(27):
            rig.send(a, 0)
        take(send_cq, 27)
        assert ids(take(cq, 27)) == list(range(done, done + 27))
        done += 27
    attributes = SrqAttr(max_wr=200, srq_limit=9)
    srq.modify(attributes, e.IBV_SRQ_MAX_WR | e.IBV_SRQ_LIMIT)
    assert srq.query().max_wr >= 200 and srq.query().srq_limit == 9
    while posted < done + 100:
        rig.receive(srq, posted)
        posted += 1
    refused(errno.EINVAL, srq.modify, SrqAttr(max_wr=50), e.IBV_SRQ_MAX_WR)
    refused(errno.EINVAL, srq.modify, SrqAttr(max_wr=1 << 30), e.IBV_SRQ_MAX_WR)


def test_shared_receives_of_the_dead(rig):
    """Receives that a queue pair took and never completed leave the queue with it."""
    cq = CQ(rig.ctx, 256)
    srq = SRQ(rig.pd, SrqInitAttr(attr=SrqAttr(max_wr=4, max_sge=1)))
    room = 0
    while room < 1000:
        try:
            rig.receive(srq, room)
            room += 1
        except PyverbsRDMAError:
            break
    for _ in range(2 * room):
        a, b = rig.qp(cq), rig.qp(cq, srq=srq)
        rig.connect(a, b)
        rig.send(a, 1000)
        take(cq, 1)                 # the other one is destroyed with its owner
        a.close()
        b.close()
        rig.receive(srq, 0)
    cq.poll(1)


def test_entries_of_the_destroyed(rig):
    """Its completions leave the completion queue; those of others stay, in order."""
    cq = CQ(rig.ctx, 64)
    a, b, c, d = (rig.qp(cq, sends=32) for _ in range(4))
    rig.connect(a, b)
    rig.connect(c, d)
    for turn in range(8):           # the completion queue wraps
        for n in range(16):
            rig.write(a if n % 3 else c, n)
        time.sleep(0.3)
        a.modify(QPAttr(qp_state=e.IBV_QPS_RESET), e.IBV_QP_STATE)
        found = cq.poll(64)[1]
        assert [wc.wr_id for wc in found] == [n for n in range(16) if n % 3 == 0]
        assert all(wc.qp_num == c.qp_num for wc in found)
        b.modify(QPAttr(qp_state=e.IBV_QPS_RESET), e.IBV_QP_STATE)
        rig.connect(a, b)
    rig.write(a, 77)
    rig.write(c, 78)
    time.sleep(0.3)
    a.close()
    assert ids(take(cq, 1)) == [78]
    assert cq.poll(1)[0] == 0


def test_query(rig):
    """Queries return the attributes of creation."""
    cq = CQ(rig.ctx, 16)
    srq = SRQ(rig.pd, SrqInitAttr(attr=SrqAttr(max_wr=16, max_sge=3)))
    assert srq.query().max_sge == 3
    for signal_all in (False, True):
        qp = QP(rig.pd, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=cq, rcq=cq, srq=srq,
                                   cap=QPCap(max_recv_wr=0), sq_sig_all=signal_all))
        _, init = qp.query(e.IBV_QP_CAP)
        assert bool(init.sq_sig_all) == signal_all, init
        assert init.qp_type == e.IBV_QPT_RC


def test_resize(rig):
    """Entries survive a resize, in order, at every index of the ring, up and down."""
    cq = CQ(rig.ctx, 64)
    a, b = rig.qp(cq, sends=64), rig.qp(cq)
    rig.connect(a, b)
    sizes = [128, 32, 256, 16, 64, 1024, 32]
    for turn in range(28):
        for n in range(13):
            rig.write(a, n)
        time.sleep(0.1)
        assert ids(take(cq, 5)) == list(range(5))
        cq.resize(sizes[turn % len(sizes)])
        assert cq.cqe >= sizes[turn % len(sizes)]
        rig.write(a, 13)
        assert ids(take(cq, 9)) == list(range(5, 14))
    for n in range(13):
        rig.write(a, n)
    time.sleep(0.3)
    refused(errno.EINVAL, cq.resize, 8)
    assert ids(take(cq, 13)) == list(range(13))


def test_errors(rig):
    """The first completion has the reason, the others are flushed."""
    cq = CQ(rig.ctx, 64)
    a, b = rig.qp(cq), rig.qp(cq)
    rig.connect(a, b)
    rig.receive(a, 100)
    rig.write(a, 1, rkey=0x12345678)
    rig.write(a, 2, flags=0)
    found = {wc.wr_id: wc.status for wc in take(cq, 3)}
    assert found == {1: e.IBV_WC_REM_ACCESS_ERR, 2: e.IBV_WC_WR_FLUSH_ERR,
                     100: e.IBV_WC_WR_FLUSH_ERR}, found
    rig.write(a, 3)
    assert take(cq, 1)[0].status == e.IBV_WC_WR_FLUSH_ERR


def test_refused_requests(rig):
    cq = CQ(rig.ctx, 64)
    a, b = rig.qp(cq, inline=60), rig.qp(cq)
    refused(errno.EINVAL, rig.write, a, 0)          # in RESET
    rig.connect(a, b)
    cap = a.query(e.IBV_QP_CAP)[0].cap
    assert cap.max_inline_data >= 60 and cap.max_send_sge >= 1
    for bad in (SendWR(1, sg=[rig.sge(cap.max_inline_data + 1)], num_sge=1,
                       send_flags=e.IBV_SEND_INLINE | e.IBV_SEND_SIGNALED),
                SendWR(1, sg=[rig.sge()] * (cap.max_send_sge + 1),
                       num_sge=cap.max_send_sge + 1),
                SendWR(1, sg=[rig.sge()], num_sge=1, opcode=e.IBV_WR_TSO)):
        refused(errno.EINVAL, a.post_send, bad)
    rig.receive(b, 2, 64)
    a.post_send(SendWR(1, sg=[rig.sge(64)], num_sge=1,
                       send_flags=e.IBV_SEND_INLINE | e.IBV_SEND_SIGNALED))
    assert sorted(ids(take(cq, 2))) == [1, 2]


def test_inline_pieces(rig):
    """Inline data of two pieces arrive as one message."""
    cq = CQ(rig.ctx, 64)
    a, b = rig.qp(cq, inline=64), rig.qp(cq)
    rig.connect(a, b)
    rig.mr.write(b'inline pieces', 13)
    b.post_recv(RecvWR(1, num_sge=1, sg=[SGE(rig.mr.buf + 64, 32, rig.mr.lkey)]))
    pieces = [SGE(rig.mr.buf, 7, rig.mr.lkey), SGE(rig.mr.buf + 7, 6, rig.mr.lkey)]
    a.post_send(SendWR(2, sg=pieces, num_sge=2,
                       send_flags=e.IBV_SEND_INLINE | e.IBV_SEND_SIGNALED))
    assert {wc.wr_id: wc.byte_len for wc in take(cq, 2)}[1] == 13
    assert rig.mr.read(13, 64) == b'inline pieces'


def test_piecewise_posting(rig):
    """wr_*: after an error or an abort no request of the batch is posted."""
    cq = CQ(rig.ctx, 64)
    b = rig.qp(cq)
    init = QPInitAttrEx(qp_type=e.IBV_QPT_RC, scq=cq, rcq=cq, pd=rig.pd,
                        cap=QPCap(max_send_wr=8, max_inline_data=32), sq_sig_all=False,
                        comp_mask=e.IBV_QP_INIT_ATTR_PD |
                        e.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
                        send_ops_flags=e.IBV_QP_EX_WITH_RDMA_WRITE)
    a = QPEx(rig.ctx, init)
    rig.connect(a, b)

    def begin(wr_id):
        a.wr_id, a.wr_flags = wr_id, e.IBV_SEND_SIGNALED
        a.wr_rdma_write(rig.mr.rkey, rig.mr.buf)

    def one(wr_id):
        begin(wr_id)
        a.wr_set_sge(rig.sge())

    a.wr_start()
    one(1)
    a.wr_abort()
    a.wr_start()
    one(2)
    begin(3)
    a.wr_set_inline_data(rig.mr.buf, 513)
    refused(errno.EINVAL, a.wr_complete)
    a.wr_start()
    for n in range(1000):
        one(n)
    refused(errno.ENOMEM, a.wr_complete)
    a.wr_start()
    for n in range(4, 12):
        one(n)
    a.wr_complete()
    assert ids(take(cq, 8)) == list(range(4, 12))
    assert cq.poll(1)[0] == 0


def test_times(rig):
    """Completions, the clock, and the wall clock, which is the PTP clock's, agree."""
    flags = (e.IBV_WC_STANDARD_FLAGS | e.IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
             e.IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
    cq = CQEX(rig.ctx, CqInitAttrEx(cqe=16, wc_flags=flags))
    a, b = rig.qp(cq), rig.qp(cq)
    rig.connect(a, b)
    path = '/sys/class/infiniband/ernic0/device/ptp'
    ptp = os.open('/dev/' + os.listdir(path)[0], os.O_RDONLY)
    last = 0
    for n in range(5):
        before = rig.ctx.query_rt_values_ex(e.IBV_VALUES_MASK_RAW_CLOCK)[1]
        wall = time.clock_gettime_ns(~ptp << 3 | 3)
        rig.write(a, n)
        end = time.monotonic() + SECONDS
        while cq.start_poll(PollCqAttr()):
            assert time.monotonic() < end
        stamp, stamp_wall = cq.read_timestamp(), cq.read_completion_wallclock_ns()
        cq.end_poll()
        after = rig.ctx.query_rt_values_ex(e.IBV_VALUES_MASK_RAW_CLOCK)[1]
        assert last < before <= stamp <= after, (last, before, stamp, after)
        assert wall <= stamp_wall <= time.clock_gettime_ns(~ptp << 3 | 3)
        last = stamp
    os.close(ptp)
    attr = rig.ctx.query_device_ex()
    assert attr.completion_timestamp_mask == 2**64 - 1 and attr.hca_core_clock == 10**6


def test_rate_limit(rig):
    """Frames of a raw packet queue pair leave no faster than their limit."""
    count, kbps, frame_ns = 20, 2000, 8 * 1250 * 10**9 // 2000000
    slack = 10**6               # the device's own burst
    flags = e.IBV_WC_STANDARD_FLAGS | e.IBV_WC_EX_WITH_COMPLETION_TIMESTAMP
    cq = CQEX(rig.ctx, CqInitAttrEx(cqe=count, wc_flags=flags))
    qp = rig.qp(cq, e.IBV_QPT_RAW_PACKET, sends=count)

    def sent():
        """The departure time of each of so many frames, posted together."""
        stamps, end, chain = [], time.monotonic() + SECONDS, [None]
        for n in range(count):
            chain.append(SendWR(n, sg=[rig.sge(1250)], num_sge=1, next_wr=chain[-1],
                                send_flags=e.IBV_SEND_SIGNALED))
        qp.post_send(chain[-1])
        while len(stamps) < count and time.monotonic() < end:
            if not cq.start_poll(PollCqAttr()):
                assert cq.status == e.IBV_WC_SUCCESS
                stamps.append(cq.read_timestamp())
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
        assert stamp - stamps[0] >= n * frame_ns - slack, (n, stamps)
    refused(errno.EINVAL, limit, 2**32 - 1)
    limit(0)
    stamps = sent()
    # Less than the limit would take; the host may be busy.
    assert stamps[-1] - stamps[0] < (count - 1) * frame_ns - slack, stamps
    rc = rig.qp(cq)
    rc.to_rts(rig.attr(rc))
    attr.rate_limit = kbps
    refused(errno.EINVAL, rc.modify, attr, e.IBV_QP_RATE_LIMIT)


def main():
    wanted = sys.argv[3:]
    failed = False
    for name, test in list(globals().items()):
        if not name.startswith('test_') or wanted and name[5:] not in wanted:
            continue
        try:
            rig = Rig()
            test(rig)
            rig.ctx.close()
            print('ok', name[5:], flush=True)
        except Exception:                       # the others have to run
            traceback.print_exc()
            print('failed', name[5:], flush=True)
            failed = True
    return failed


DEVICE, GID = sys.argv[1], int(sys.argv[2])
if __name__ == '__main__':
    sys.exit(main())
