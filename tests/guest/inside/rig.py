# SPDX-License-Identifier: GPL-2.0-or-later
"""Tools of tests with verbs: a context of their own, queue pairs in any state, and
bounded waits for completions and events.
"""
import errno
import os
import time
from collections import Counter

import pyverbs.enums as e
from pyverbs.addr import AH, AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR, MW
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr, QPInitAttrEx
from pyverbs.wr import SGE, RecvWR, SendWR
from pyverbs.xrcd import XRCD, XRCDInitAttr

SECONDS = 60                    # for a completion or an event
MEMORY = 1 << 16                # what is sent at its start, what is received
RECEIVED = MEMORY // 2          # from here on
QKEY = 0x11111111
TYPES = {'RC': e.IBV_QPT_RC, 'UC': e.IBV_QPT_UC, 'UD': e.IBV_QPT_UD,
         'XRC_SEND': e.IBV_QPT_XRC_SEND, 'XRC_RECV': e.IBV_QPT_XRC_RECV}
STATES = {'RESET': e.IBV_QPS_RESET, 'INIT': e.IBV_QPS_INIT, 'RTR': e.IBV_QPS_RTR,
          'RTS': e.IBV_QPS_RTS, 'SQD': e.IBV_QPS_SQD, 'SQE': e.IBV_QPS_SQE,
          'ERR': e.IBV_QPS_ERR}
STATE_NAMES = {number: name for name, number in STATES.items()}
OPCODES = {'SEND': e.IBV_WR_SEND, 'SEND_IMM': e.IBV_WR_SEND_WITH_IMM,
           'SEND_INV': e.IBV_WR_SEND_WITH_INV, 'WRITE': e.IBV_WR_RDMA_WRITE,
           'WRITE_IMM': e.IBV_WR_RDMA_WRITE_WITH_IMM, 'READ': e.IBV_WR_RDMA_READ,
           'CMP_SWAP': e.IBV_WR_ATOMIC_CMP_AND_SWP,
           'FETCH_ADD': e.IBV_WR_ATOMIC_FETCH_AND_ADD,
           'LOCAL_INV': e.IBV_WR_LOCAL_INV}
REMOTE = (e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_REMOTE_READ
          | e.IBV_ACCESS_REMOTE_ATOMIC)


class Lacking(Exception):
    """The device reports that it lacks the feature of a case."""


def names(prefix):
    """{number: name} of the constants of libibverbs with this prefix."""
    return {value: name.removeprefix(prefix) for name, value in vars(e).items()
            if name.startswith(prefix)}


STATUS_NAMES = {number: name for number, name in names('IBV_WC_').items()
                if name == 'SUCCESS' or name.endswith(('_ERR', '_ABORT'))}
EVENT_NAMES = names('IBV_EVENT_')


def event_files():
    """Descriptors of this process from which asynchronous events are read."""
    found = set()
    for name in os.listdir('/proc/self/fd'):
        try:
            if 'infinibandevent' in os.readlink(f'/proc/self/fd/{name}'):
                found.add(int(name))
        except OSError:
            pass                            # that of the folder itself
    return found


def open_window(pd, kind):
    """A memory window that is not bound."""
    try:
        return MW(pd, kind)
    except PyverbsRDMAError as error:
        if error.error_code == errno.EOPNOTSUPP:
            raise Lacking('no memory windows') from error
        raise


def refused(error, function, *arguments):
    """It fails with that number, of either sign."""
    try:
        function(*arguments)
    except PyverbsRDMAError as found:
        assert found.error_code in (error, -error), found
        return
    raise AssertionError(f'{function.__name__}{arguments} was not refused')


def ipv4_gid(ctx):
    """The index of the GID of the first IPv4 address."""
    return next(index for index in range(ctx.query_port(1).gid_tbl_len)
                if str(ctx.query_gid(1, index)).startswith(5 * '0000:' + 'ffff:'))


class Rig:
    """A context of the device, a protection domain, memory for any use.

    gid_index: None for that of the first IPv4 address.
    """

    def __init__(self, device, gid_index=None):
        before = event_files()
        self.ctx = Context(name=device)
        for fd in event_files() - before:
            os.set_blocking(fd, False)
        self.gid_index = ipv4_gid(self.ctx) if gid_index is None else gid_index
        self.pd = PD(self.ctx)
        self.mr = MR(self.pd, MEMORY, e.IBV_ACCESS_LOCAL_WRITE | REMOTE
                     | e.IBV_ACCESS_MW_BIND)
        self.gid = self.ctx.query_gid(1, self.gid_index)
        self.xrcd = None

    def close(self):
        self.ctx.close()

    def open_xrcd(self):
        if not self.xrcd:
            try:
                self.xrcd = XRCD(self.ctx, XRCDInitAttr(
                    e.IBV_XRCD_INIT_ATTR_FD | e.IBV_XRCD_INIT_ATTR_OFLAGS, os.O_CREAT,
                    -1))
            except PyverbsRDMAError as error:
                raise Lacking('no XRC domains') from error
        return self.xrcd

    def route(self):
        """The address of this device itself."""
        return AHAttr(gr=GlobalRoute(dgid=self.gid, sgid_index=self.gid_index,
                                     hop_limit=64), is_global=1, port_num=1)

    def ah(self, pd=None):
        return AH(pd or self.pd, attr=self.route())

    def fill(self, byte, length=RECEIVED, offset=0):
        self.mr.write(bytes([byte]) * length, length, offset)

    def sge(self, length=16, offset=0, lkey=None):
        return SGE(self.mr.buf + offset, length, self.mr.lkey if lkey is None else lkey)

    def events(self, wanted=(), seconds=SECONDS):
        """The names of the events that came, at the latest once the wanted ones have."""
        found, end = [], time.monotonic() + seconds
        while True:
            try:
                event = self.ctx.get_async_event()
                event.ack()
                found.append(EVENT_NAMES[event.event_type])
            except PyverbsRDMAError:        # none now
                if not Counter(wanted) - Counter(found) or time.monotonic() > end:
                    return found
                time.sleep(0.005)


class End:
    """A queue pair, with its completion queue."""

    def __init__(self, rig, kind='RC', cq=None, pd=None, srq=None, recv_cq=None, **cap):
        cap = {'max_send_wr': 16, 'max_recv_wr': 16, 'max_send_sge': 4,
               'max_recv_sge': 4, **cap}
        self.rig, self.kind = rig, kind
        self.cq = cq or CQ(rig.ctx, 64)
        pd = pd or rig.pd
        if kind == 'XRC_RECV':
            self.qp = QP(rig.ctx, QPInitAttrEx(qp_type=TYPES[kind], xrcd=rig.open_xrcd(),
                                               comp_mask=e.IBV_QP_INIT_ATTR_XRCD))
        elif kind == 'XRC_SEND':
            rig.open_xrcd()                 # to know whether there is XRC
            cap['max_recv_wr'] = cap['max_recv_sge'] = 0
            self.qp = QP(rig.ctx, QPInitAttrEx(
                qp_type=TYPES[kind], scq=self.cq, cap=QPCap(**cap), pd=pd,
                comp_mask=e.IBV_QP_INIT_ATTR_PD))
        else:
            self.qp = QP(pd, QPInitAttr(qp_type=TYPES[kind], scq=self.cq,
                                        rcq=recv_cq or self.cq, srq=srq,
                                        cap=QPCap(**cap), sq_sig_all=False))

    @property
    def number(self):
        return self.qp.qp_num

    # ---- states ----

    def attr(self, **values):
        """Valid values of all attributes, connected to itself; the mask chooses."""
        attr = QPAttr(port_num=1)
        attr.qp_access_flags = REMOTE
        attr.qkey = QKEY
        attr.dest_qp_num = self.number
        attr.path_mtu = e.IBV_MTU_1024
        attr.max_rd_atomic = attr.max_dest_rd_atomic = 4
        attr.timeout, attr.retry_cnt, attr.rnr_retry, attr.min_rnr_timer = 14, 7, 7, 1
        attr.ah_attr = attr.alt_ah_attr = self.rig.route()
        attr.alt_port_num = 1
        attr.path_mig_state = e.IBV_MIG_MIGRATED
        for name, value in values.items():
            setattr(attr, name, value)
        return attr

    def modify(self, mask, to=None, **values):
        """Whether the device accepted it. to: a state's name, or None for no state."""
        if to:
            mask |= e.IBV_QP_STATE
            values['qp_state'] = STATES[to]
        try:
            self.qp.modify(self.attr(**values), mask)
        except PyverbsRDMAError:
            return False
        return True

    def state(self):
        attr, _ = self.qp.query(e.IBV_QP_STATE)
        return STATE_NAMES[attr.qp_state]

    def connect(self, peer=None, **values):
        """Bring it to RTS, connected to a peer or itself; values replace attributes."""
        values['dest_qp_num'] = (peer or self).number
        self.qp.to_rts(self.attr(**values))
        return self

    # ---- requests and completions ----

    def receive(self, length=64, wr_id=100, lkey=None, queue=None):
        (queue or self.qp).post_recv(RecvWR(wr_id, num_sge=1, sg=[
            self.rig.sge(length, RECEIVED, lkey)]))

    def post(self, op='SEND', length=16, rkey=None, raddr=None, sges=None, imm=0,
             flags=e.IBV_SEND_SIGNALED, wr_id=1, ah=None, to=None, lkey=None, offset=0):
        """A request; sges: None for one of the length, else a list, which may be empty.

        raddr: an address; without one, that of the receive area, with the offset.
        """
        pieces = [self.rig.sge(length, 0, lkey)] if sges is None else sges
        wr = SendWR(wr_id, OPCODES[op], max(len(pieces), 1), imm,
                    pieces or [self.rig.sge(0)], flags)
        wr.num_sge = len(pieces)
        rkey = self.rig.mr.rkey if rkey is None else rkey
        raddr = self.rig.mr.buf + RECEIVED + offset if raddr is None else raddr
        if op in ('CMP_SWAP', 'FETCH_ADD'):
            wr.set_wr_atomic(rkey, raddr, 1, 1)
        elif op in ('WRITE', 'WRITE_IMM', 'READ'):
            wr.set_wr_rdma(rkey, raddr)
        elif ah:
            wr.set_wr_ud(ah, to, QKEY)
        self.qp.post_send(wr)

    def take(self, count=1, seconds=SECONDS):
        return take(self.cq, count, seconds)

    def status(self):
        """The status of the next completion; None if there is none in time."""
        return (statuses(self.take()) or [None])[0]


def join(a, b, here=None, there=None):
    """Connect two ends, with each one's deviations from the usual attributes."""
    a.connect(b, **(here or {}))
    b.connect(a, **(there or {}))
    return a, b


def pair(rig, kind='RC', here=None, there=None, **make):
    """Two connected ends."""
    return join(End(rig, kind, **make), End(rig, kind, **make), here, there)


def take(cq, count=1, seconds=SECONDS):
    """So many completions, or those that came in time."""
    found, end = [], time.monotonic() + seconds
    while len(found) < count and time.monotonic() < end:
        found += cq.poll(count - len(found))[1]
    return found


def statuses(found):
    return [STATUS_NAMES.get(wc.status, wc.status) for wc in found]


def ids(found):
    """The numbers of requests that have all succeeded."""
    assert set(statuses(found)) <= {'SUCCESS'}, statuses(found)
    return [wc.wr_id for wc in found]
