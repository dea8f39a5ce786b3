#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Every kind of request between two queue pairs, with each result checked.

usage: peer.py DEVICE GID-INDEX CASE...             the passive end
       peer.py DEVICE GID-INDEX CASE... --at ADDRESS    the end that connects
       --loss          the wire loses packets

A CASE is TYPE/MTU, for example RC/1024, and has the requests of CASES for it.
RC/1024/bulk moves --mib MiB by each of SEND, WRITE and READ; UC/1024/loss and
UD/1024/loss count messages on a wire that loses packets. In each case a new pair of
queue pairs is connected; first the connecting end sends the requests of CASES, then the
other. The sending end directs the other over TCP: it calls its functions and reads their
results. It prints one line for each request and direction; exit status 1 if any was
wrong.
"""
import argparse
import hashlib
import json
import os
import random
import socket
import sys
import time
import traceback
from typing import NamedTuple

import pyverbs.enums as e
from pyverbs.addr import AH, GID, AHAttr, GlobalRoute
from pyverbs.base import inc_rkey
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR, MW, MWBindInfo
from pyverbs.pd import PD
from pyverbs.qp import QPAttr, QPCap, QPEx, QPInitAttrEx
from pyverbs.wr import SGE, RecvWR

PORT = 5002
SECONDS = 60                    # for a completion
MEMORY = 9 << 20                # of each end; messages are at its start,
RESULT = MEMORY - 64            # what an atomic returns is here,
CELL = MEMORY - 128             # and what it changes here
BULK, PIECE = 8 << 20, 128 << 10    # at the start too: a queue full of such pieces,
PERIOD = 65521                  # of their bytes: no multiple of an MTU
SLOT = 16 << 10                 # or this far apart, each with a number
SLOTS = MEMORY // SLOT - 1
NUMBERED = {'UC': 400, 'UD': 1200}  # messages: of 1 % loss some are lost
DEPTH = 64                      # of the queues
GRH = 40
QKEY = 0x11111111
IMM = 0x12345678
TYPES = {'RC': e.IBV_QPT_RC, 'UC': e.IBV_QPT_UC, 'UD': e.IBV_QPT_UD}
MTUS = {256: e.IBV_MTU_256, 512: e.IBV_MTU_512, 1024: e.IBV_MTU_1024,
        2048: e.IBV_MTU_2048, 4096: e.IBV_MTU_4096}
SEND_OPS = {
    'UD': e.IBV_QP_EX_WITH_SEND | e.IBV_QP_EX_WITH_SEND_WITH_IMM,
    'UC': e.IBV_QP_EX_WITH_SEND | e.IBV_QP_EX_WITH_SEND_WITH_IMM
          | e.IBV_QP_EX_WITH_RDMA_WRITE | e.IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM,
    'RC': e.IBV_QP_EX_WITH_SEND | e.IBV_QP_EX_WITH_SEND_WITH_IMM
          | e.IBV_QP_EX_WITH_RDMA_WRITE | e.IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM
          | e.IBV_QP_EX_WITH_SEND_WITH_INV | e.IBV_QP_EX_WITH_RDMA_READ
          | e.IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP
          | e.IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | e.IBV_QP_EX_WITH_BIND_MW}
WINDOWS = e.IBV_DEVICE_MEM_WINDOW_TYPE_2A | e.IBV_DEVICE_MEM_WINDOW_TYPE_2B
DEVICE_ATOMIC_WRITE = 1 << 40   # of device_cap_flags_ex; pyverbs has no name for it
REMOTE = (e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_REMOTE_READ
          | e.IBV_ACCESS_REMOTE_ATOMIC)


class Deviation(NamedTuple):
    """A deviation of rdma_rxe from the text: both values, as the tests use them."""

    written: str                # IBTA vol. 1, or a manual page
    wanted: object
    rxe: object


DEVIATIONS = {
    # The kernel's number of the flag reaches processes.
    'flag of an invalidated key':
        Deviation('ibv_poll_cq(3)', e.IBV_WC_WITH_INV, e.IBV_WC_IP_CSUM_OK),
    # The answer to a message longer than its receive is a failure of the responder.
    'long message, requester':
        Deviation('9.9.3, class C', e.IBV_WC_REM_INV_REQ_ERR, e.IBV_WC_REM_OP_ERR),
    'long message, responder':
        Deviation('11.6.2', e.IBV_WC_LOC_LEN_ERR, e.IBV_WC_LOC_QP_OP_ERR),
    # A UC WRITE that lost its end is never abandoned; all messages after it are dropped.
    'UC is stuck after a lost WRITE':
        Deviation('9.8.2.2.4; 9.9.3, class D', False, True),
    # A gap in the responses to a READ is no implied NAK: each lasts until the timeout.
    # So it has to be shorter (4.096 us * 2^n).
    'timeout':
        Deviation('9.7.5.1.5', 17, 14),
    # 7 means endless retries, as for RNR NAKs alone: nothing would end after a lost NAK.
    # It needs them nevertheless after losing parts of a long READ.
    'retry count':
        Deviation('11.2.5.2', 7, 6),
    # An ATOMIC WRITE that is sent again has address 0.
    'ATOMIC WRITE survives loss':
        Deviation('9.7.5; A19', True, False),
}


def expected(name, soft):
    row = DEVIATIONS[name]
    return row.rxe if soft else row.wanted


def check(what, seen, wanted):
    if seen != wanted:
        raise AssertionError(f'{what} is {seen}, not {wanted}')


class End:
    """A queue pair and its memory. The other end may call methods with plain results."""

    def __init__(self, device, gid_index):
        self.context = Context(name=device)
        self.gid_index = gid_index
        flags = self.context.query_device_ex().device_cap_flags_ex
        self.words = bool(flags & DEVICE_ATOMIC_WRITE)
        self.windows = bool(self.context.query_device().device_cap_flags & WINDOWS)
        self.soft = os.path.exists(f'/sys/class/infiniband/{device}/parent')
        self.pd = PD(self.context)
        self.mr = MR(self.pd, MEMORY,
                     e.IBV_ACCESS_LOCAL_WRITE | REMOTE | e.IBV_ACCESS_MW_BIND)
        self.pattern = random.Random(PERIOD).randbytes(PERIOD) * (BULK // PERIOD + 2)
        self.turn = 0               # of the pattern

    # ---- life of a queue pair ----

    def open(self, kind, mtu):
        """A new queue pair; returns its attributes for the other end."""
        self.kind, self.mtu = kind, mtu
        self.head = GRH if kind == 'UD' else 0
        self.waiting = self.next_slot = 0
        self.qp = self.ah = self.window = None
        self.cq = CQ(self.context, 2 * DEPTH)
        cap = QPCap(max_send_wr=DEPTH, max_recv_wr=DEPTH, max_send_sge=2, max_recv_sge=2,
                    max_inline_data=64)
        ops = SEND_OPS[kind]
        if not self.windows:
            ops &= ~e.IBV_QP_EX_WITH_BIND_MW
        if kind == 'RC' and self.words:
            ops |= e.IBV_QP_EX_WITH_ATOMIC_WRITE
        init = QPInitAttrEx(qp_type=TYPES[kind], scq=self.cq, rcq=self.cq, pd=self.pd,
                            cap=cap, send_ops_flags=ops,
                            comp_mask=e.IBV_QP_INIT_ATTR_PD
                            | e.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
        # So that the PSNs of every queue pair wrap, with loss too.
        self.psn = (1 << 24) - random.randint(1, 64)
        attr = QPAttr(port_num=1)
        if kind == 'UD':
            attr.qkey, attr.sq_psn = QKEY, self.psn
        else:
            attr.qp_access_flags = REMOTE if kind == 'RC' else e.IBV_ACCESS_REMOTE_WRITE
        self.qp = QPEx(self.context, init, attr)        # UD: ready to send already
        gid = self.context.query_gid(1, self.gid_index)
        return {'qpn': self.qp.qp_num, 'psn': self.psn, 'gid': str(gid),
                'rkey': self.mr.rkey, 'address': self.mr.buf, 'soft': self.soft,
                'words': self.words, 'windows': self.windows}

    def connect(self, peer, breaking):
        """breaking: the request leads to an error."""
        self.peer = peer
        route = GlobalRoute(dgid=GID(peer['gid']), sgid_index=self.gid_index,
                            hop_limit=64)
        ah_attr = AHAttr(port_num=1, is_global=1, gr=route)
        if self.kind == 'UD':
            self.ah = AH(self.pd, attr=ah_attr)
            return
        attr = QPAttr(port_num=1)
        attr.dest_qp_num = peer['qpn']
        attr.path_mtu = MTUS[self.mtu]
        attr.sq_psn, attr.rq_psn = self.psn, peer['psn']
        attr.ah_attr = ah_attr
        attr.max_rd_atomic = attr.max_dest_rd_atomic = 4
        attr.min_rnr_timer = 12
        attr.timeout = expected('timeout', self.soft)
        attr.retry_cnt = expected('retry count', self.soft and breaking)
        attr.rnr_retry = 7
        attr.qp_access_flags = REMOTE if self.kind == 'RC' else e.IBV_ACCESS_REMOTE_WRITE
        self.qp.to_rts(attr)

    def close(self):
        if self.window:
            self.window.close()
        if self.ah:
            self.ah.close()
        self.qp.close()
        self.cq.close()

    # ---- memory ----

    def fill(self, offset, length, seed):
        """Put bytes there; returns their digest."""
        data = random.Random(seed).randbytes(length)
        if length:
            self.mr.write(data, length, offset)
        return hashlib.md5(data).hexdigest()

    def digest(self, offset, length):
        data = self.mr.read(length, offset) if length else b''
        return hashlib.md5(data).hexdigest()

    # Much at a time: both ends know the bytes, which in each turn begin elsewhere.

    def put_turn(self, size, turn):
        at = turn * 1009 % PERIOD
        self.mr.write(self.pattern[at:at + size], size, 0)

    def has_turn(self, size, turn):
        at = turn * 1009 % PERIOD
        return self.mr.read(size, 0) == self.pattern[at:at + size]

    def set_number(self, offset, value):
        self.mr.write(value.to_bytes(8, 'little'), 8, offset)

    def number(self, offset):
        return int.from_bytes(self.mr.read(8, offset), 'little')

    # ---- requests and completions ----

    def post_recv(self, length, count=1, offset=0, number=0):
        """Post receives into one place of the memory; UD has its 40 bytes in front."""
        piece = SGE(self.mr.buf + offset, length + self.head, self.mr.lkey)
        for _ in range(count):
            self.qp.post_recv(RecvWR(wr_id=number, num_sge=1, sg=[piece]))

    def wait_for(self, length):
        """Post as many receives as there can be, each with a slot of its own."""
        while self.waiting < DEPTH:
            self.post_recv(length, offset=self.next_slot * SLOT, number=self.next_slot)
            self.next_slot = (self.next_slot + 1) % SLOTS
            self.waiting += 1

    def arrived(self, length, quiet):
        """The messages received until none comes for so many seconds.

        Returns the number, status, length and digest of each.
        """
        seen, end = [], time.monotonic() + quiet
        while time.monotonic() < end:
            count, found = self.cq.poll(1)
            if not count:
                time.sleep(0.0005)
                continue
            wc, end = found[0], time.monotonic() + quiet
            self.waiting -= 1
            number = socket.ntohl(wc.imm_data)
            written = wc.opcode == e.IBV_WC_RECV_RDMA_WITH_IMM
            slot = number % SLOTS if written else wc.wr_id
            digest = self.digest(slot * SLOT + (0 if written else self.head), length)
            seen.append([number, wc.status, wc.byte_len, digest])
        return seen

    def completion(self):
        """The next completion, whatever its status."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            count, found = self.cq.poll(1)
            if count:
                wc = found[0]
                return {'status': wc.status, 'opcode': wc.opcode, 'length': wc.byte_len,
                        'flags': wc.wc_flags, 'data': wc.imm_data, 'source': wc.src_qp}
            time.sleep(0.0005)              # the other end may need the processor
        raise AssertionError('no completion')

    def post(self, length, request, *arguments, offset=0):
        """A request by the extended interface, with one scatter/gather entry."""
        self.qp.wr_start()
        self.qp.wr_id = 1
        self.qp.wr_flags = e.IBV_SEND_SIGNALED
        getattr(self.qp, request)(*arguments)
        if self.ah:
            self.qp.wr_set_ud_addr(self.ah, self.peer['qpn'], QKEY)
        self.qp.wr_set_sge(SGE(self.mr.buf + offset, length, self.mr.lkey))
        self.qp.wr_complete()

    def bind(self):
        """A window of type 2 over all of the memory; its key."""
        self.window = MW(self.pd, e.IBV_MW_TYPE_2)
        key = inc_rkey(self.window.rkey)
        self.qp.wr_start()
        self.qp.wr_id = 2
        self.qp.wr_flags = e.IBV_SEND_SIGNALED
        self.qp.wr_bind_mw(self.window, key, MWBindInfo(
            self.mr, self.mr.buf, MEMORY, e.IBV_ACCESS_REMOTE_WRITE))
        self.qp.wr_complete()
        check('status of the bind', self.completion()['status'], 0)
        return key


class Wire:
    """Calls functions of the other end over TCP."""

    def __init__(self, stream, end):
        self.stream = stream
        self.end = end

    def say(self, value):
        self.stream.write(json.dumps(value).encode() + b'\n')

    def hear(self):
        line = self.stream.readline()
        if not line:
            raise SystemExit('the other end went away')
        return json.loads(line)

    def __getattr__(self, name):
        def call(*arguments):
            self.say([name, *arguments])
            answer = self.hear()
            if 'error' in answer:
                raise AssertionError('other end: ' + answer['error'])
            return answer['value']
        return call

    def serve(self):
        """Serve the other end's calls until it ends."""
        while (request := self.hear()) != ['done']:
            name, *arguments = request
            try:
                self.say({'value': getattr(self.end, name)(*arguments)})
            except Exception as problem:        # reported to the other end
                self.say({'error': f'{name}: {problem!r}'})
        self.say({'value': None})


# ---- the requests ----------------------------------------------------------------

def lengths(end):
    """Lengths around each multiple of the path MTU; a datagram is one packet."""
    mtu = end.mtu
    short = [0, 1, 3, 4, 63, mtu - 1, mtu]
    return short if end.kind == 'UD' else [*short, mtu + 1, 2 * mtu, 3 * mtu + 5, 65537]


def own_completion(end, opcode):
    wc = end.completion()
    check('status', wc['status'], e.IBV_WC_SUCCESS)
    check('opcode', wc['opcode'], opcode)


def refused(end, status):
    """The completion after a NAK; a lost NAK is not repeated by a responder in Error."""
    wc = end.completion()
    if not (end.loss and wc['status'] == e.IBV_WC_RETRY_EXC_ERR):
        check('status', wc['status'], status)


def received(end, other, length, opcode=e.IBV_WC_RECV, flag=0):
    """Check the other end's completion; returns its immediate data or key."""
    wc = other.completion()
    head = end.head
    if flag == e.IBV_WC_WITH_INV:
        flag = expected('flag of an invalidated key', end.peer['soft'])
    check('status at the other end', wc['status'], 0)
    check('opcode at the other end', wc['opcode'], opcode)
    check('length at the other end', wc['length'], length + head)
    known = e.IBV_WC_WITH_IMM | e.IBV_WC_WITH_INV | e.IBV_WC_IP_CSUM_OK
    check('flags at the other end', wc['flags'] & known, flag)
    if head:
        check('GRH flag', wc['flags'] & e.IBV_WC_GRH, e.IBV_WC_GRH)
        check('source at the other end', wc['source'], end.qp.qp_num)
    return wc['data']


def send_one(end, other, length, flag, *request):
    digest = end.fill(0, length, length)
    other.fill(0, length + GRH, -1)
    other.post_recv(length)
    end.post(length, *request)
    own_completion(end, e.IBV_WC_SEND)
    data = received(end, other, length, flag=flag)
    check('digest', other.digest(end.head, length), digest)
    return data


def send(end, other):
    for length in lengths(end):
        send_one(end, other, length, 0, 'wr_send')


def send_imm(end, other):
    for length in lengths(end):
        data = send_one(end, other, length, e.IBV_WC_WITH_IMM, 'wr_send_imm', IMM)
        check('immediate data', socket.ntohl(data), IMM)


def send_inv(end, other):
    """The window has the key before, and refuses it afterwards."""
    for length in lengths(end):
        key = other.bind()
        end.post(16, 'wr_rdma_write', key, end.peer['address'])
        own_completion(end, e.IBV_WC_RDMA_WRITE)
        data = send_one(end, other, length, e.IBV_WC_WITH_INV, 'wr_send_inv', key)
        check('invalidated key', data, key)
    end.post(16, 'wr_rdma_write', key, end.peer['address'])
    refused(end, e.IBV_WC_REM_ACCESS_ERR)


def write_one(end, other, length, offset, *request):
    digest = end.fill(offset, length, length)
    other.fill(offset, length, -1)
    rkey, address = end.peer['rkey'], end.peer['address'] + offset
    end.post(length, request[0], rkey, address, *request[1:], offset=offset)
    own_completion(end, e.IBV_WC_RDMA_WRITE)
    return digest


def write(end, other):
    for length in lengths(end):
        digest = write_one(end, other, length, length % 7, 'wr_rdma_write')
        arrived = other.digest(length % 7, length)
        until = time.monotonic() + 10
        # UC: nothing reports its arrival.
        while end.kind == 'UC' and arrived != digest and time.monotonic() < until:
            time.sleep(0.01)
            arrived = other.digest(length % 7, length)
        check(f'digest of {length}', arrived, digest)


def write_imm(end, other):
    for length in lengths(end):
        other.post_recv(0)
        digest = write_one(end, other, length, 0, 'wr_rdma_write_imm', IMM)
        data = received(end, other, length, e.IBV_WC_RECV_RDMA_WITH_IMM,
                        e.IBV_WC_WITH_IMM)
        check('immediate data', socket.ntohl(data), IMM)
        check(f'digest of {length}', other.digest(0, length), digest)


def read(end, other):
    for length in lengths(end):
        offset = length % 5
        digest = other.fill(offset, length, length)
        end.fill(offset, length, -1)
        end.post(length, 'wr_rdma_read', end.peer['rkey'], end.peer['address'] + offset,
                 offset=offset)
        own_completion(end, e.IBV_WC_RDMA_READ)
        check(f'digest of {length}', end.digest(offset, length), digest)


def atomic(end, other, opcode, before, after, request, *operands):
    other.set_number(CELL, before)
    end.set_number(RESULT, 0)
    end.post(8, request, end.peer['rkey'], end.peer['address'] + CELL, *operands,
             offset=RESULT)
    own_completion(end, opcode)
    check('what was there', end.number(RESULT), before)
    check('what is there', other.number(CELL), after)


def fetch_add(end, other):
    for before, add in ((5, 7), (2**64 - 1, 2), (2**40, 2**33)):
        atomic(end, other, e.IBV_WC_FETCH_ADD, before, (before + add) % 2**64,
               'wr_atomic_fetch_add', add)


def cmp_swap(end, other):
    for before, compare, after in ((5, 5, 2**63), (6, 5, 6)):
        atomic(end, other, e.IBV_WC_COMP_SWAP, before, after, 'wr_atomic_cmp_swp',
               compare, 2**63)


def post_word(end, address, value):
    """ATOMIC WRITE, with the bytes in the request."""
    end.qp.wr_start()
    end.qp.wr_id = 1
    end.qp.wr_flags = e.IBV_SEND_SIGNALED
    end.qp.wr_atomic_write(end.peer['rkey'], address, value.to_bytes(8, 'little'))
    end.qp.wr_complete()


def atomic_write(end, other):
    """Several under way at once: the atomic after the last one finds its word."""
    other.fill(CELL - 8, 24, -1)
    around = other.number(CELL - 8), other.number(CELL + 8)
    for value in (1, 2**64 - 2, 0x0102030405060708):
        post_word(end, end.peer['address'] + CELL, value)
        own_completion(end, e.IBV_WC_ATOMIC_WRITE)
        check('what is there', other.number(CELL), value)
    for value in range(DEPTH // 2):
        post_word(end, end.peer['address'] + CELL, value)
    end.post(8, 'wr_atomic_fetch_add', end.peer['rkey'], end.peer['address'] + CELL, 5,
             offset=RESULT)
    for _ in range(DEPTH // 2):
        own_completion(end, e.IBV_WC_ATOMIC_WRITE)
    own_completion(end, e.IBV_WC_FETCH_ADD)
    check('what was there', end.number(RESULT), DEPTH // 2 - 1)
    check('what is there', other.number(CELL), DEPTH // 2 + 4)
    check('what is around', (other.number(CELL - 8), other.number(CELL + 8)), around)


def many(end, other):
    """A queue full of WRITEs and READs, so that packets of several are on the way."""
    length = 3 * end.mtu + 5
    digest = other.fill(0, length, 1)
    written = end.fill(0, length, 2)
    for place in (length, 2 * length):
        end.fill(place, length, -1)
        other.fill(place, length, -1)
    for n in range(DEPTH // 2):
        end.post(length, 'wr_rdma_read', end.peer['rkey'], end.peer['address'],
                 offset=length)
        end.post(length, 'wr_rdma_write', end.peer['rkey'],
                 end.peer['address'] + 2 * length, offset=0)
    for n in range(DEPTH // 2):
        own_completion(end, e.IBV_WC_RDMA_READ)
        own_completion(end, e.IBV_WC_RDMA_WRITE)
    check('digest', end.digest(length, length), digest)
    check('digest at the other end', other.digest(2 * length, length), written)


def many_sends(end, other):
    """As many SENDs as receives; the bytes of the last one are there."""
    length = end.mtu if end.kind == 'UD' else 2 * end.mtu + 1
    digest = end.fill(0, length, 9)
    other.post_recv(length, DEPTH // 2)
    for _ in range(DEPTH // 2):
        end.post(length, 'wr_send')
    for _ in range(DEPTH // 2):
        own_completion(end, e.IBV_WC_SEND)
        received(end, other, length)
    check('digest', other.digest(end.head, length), digest)


def late_receive(end, other):
    """No receive is posted at first: RNR NAK, and the message arrives nevertheless."""
    length = 2 * end.mtu
    digest = end.fill(0, length, 3)
    end.post(length, 'wr_send')
    time.sleep(0.1)
    other.post_recv(length)
    own_completion(end, e.IBV_WC_SEND)
    received(end, other, length)
    check('digest', other.digest(0, length), digest)


def wrong(end, other, length, request, key, place, status, *operands):
    """key: changed bits of the right one. place: in the other end's memory."""
    end.post(length, request, end.peer['rkey'] ^ key, end.peer['address'] + place,
             *operands)
    refused(end, status)


def odd_word(end, other):
    post_word(end, end.peer['address'] + CELL + 4, 1)
    refused(end, e.IBV_WC_REM_INV_REQ_ERR)


def long_send(end, other):
    """A message longer than the receive is an invalid request."""
    other.post_recv(end.mtu)
    end.post(2 * end.mtu, 'wr_send')
    refused(end, expected('long message, requester', end.peer['soft']))
    check('status at the other end', other.completion()['status'],
          expected('long message, responder', end.peer['soft']))


def bulk(end, other, request, opcode):
    """Fill the memory again and again, a piece a request, and check every byte.

    The pieces are short, as rdma_rxe has all of a READ again for each packet lost.
    """
    reads, sends = opcode == e.IBV_WC_RDMA_READ, opcode == e.IBV_WC_SEND
    source, sink = (other, end) if reads else (end, other)
    size = min(BULK, end.mib << 20)
    offsets = range(0, size, PIECE)
    for turn in range((end.mib << 20) // size):
        end.turn += 1
        source.put_turn(size, end.turn)
        for offset in offsets if sends else []:
            other.post_recv(PIECE, 1, offset)
        for offset in offsets:
            where = () if sends else (end.peer['rkey'], end.peer['address'] + offset)
            end.post(PIECE, request, *where, offset=offset)
        for _ in offsets:
            own_completion(end, opcode)
            if sends:
                received(end, other, PIECE)
        check(f'right data in turn {turn}', sink.has_turn(size, end.turn), True)


def numbered(end, other, request, opcode):
    """Numbered messages: those that arrive are whole and in order; some are lost."""
    length = end.mtu if end.kind == 'UD' else 3 * end.mtu + 5
    count = NUMBERED[end.kind]
    writes = opcode == e.IBV_WC_RDMA_WRITE
    sent, came = [], []
    for number in range(count):
        if number % (DEPTH // 2) == 0:
            came += other.arrived(length, 0.05)
            other.wait_for(length)
        offset = number % SLOTS * SLOT
        sent.append(end.fill(offset, length, number + 1))
        where = (end.peer['rkey'], end.peer['address'] + offset) if writes else ()
        end.post(length, request, *where, number, offset=offset)
        own_completion(end, opcode)
    came += other.arrived(length, 1)
    numbers = [number for number, *_ in came]
    check('order', numbers, sorted(set(numbers)))
    for number, status, size, digest in came:
        check(f'status of {number}', status, 0)
        check(f'length of {number}', size, length + end.head)
        check(f'digest of {number}', digest, sent[number])
    stuck = not numbers or numbers[-1] < count - DEPTH
    check('nothing more came', stuck, writes and expected(
        'UC is stuck after a lost WRITE', end.peer['soft']))
    if not stuck and not count // 2 < len(came) < count:
        raise AssertionError(f'{len(came)} of {count} arrived')


NUMBERED_SENDS = ('numbered_sends', numbered, 'wr_send_imm', e.IBV_WC_SEND)
# Functions, or names with a function and further arguments.
CASES = {
    'RC bulk': [('bulk_send', bulk, 'wr_send', e.IBV_WC_SEND),
                ('bulk_write', bulk, 'wr_rdma_write', e.IBV_WC_RDMA_WRITE),
                ('bulk_read', bulk, 'wr_rdma_read', e.IBV_WC_RDMA_READ)],
    'UC loss': [NUMBERED_SENDS, ('numbered_writes', numbered, 'wr_rdma_write_imm',
                                 e.IBV_WC_RDMA_WRITE)],
    'UD loss': [NUMBERED_SENDS],
    'UD': [send, send_imm, many_sends],
    'UC': [send, send_imm, write, write_imm, many_sends],
    'RC': [send, send_imm, write, write_imm, read, fetch_add, cmp_swap, atomic_write,
           many_sends, many, late_receive],
}
# These requests break the connection: each needs a new one.
BREAKING = {'RC': [
    send_inv, odd_word, long_send,
    ('wrong_key', wrong, 16, 'wr_rdma_write', 0x5500, 0, e.IBV_WC_REM_ACCESS_ERR),
    ('wrong_range', wrong, 64, 'wr_rdma_read', 0, MEMORY - 32, e.IBV_WC_REM_ACCESS_ERR),
    ('odd_atomic', wrong, 8, 'wr_atomic_fetch_add', 0, CELL + 4,
     e.IBV_WC_REM_INV_REQ_ERR, 1)]}
WORDS = (atomic_write, odd_word)


def can(end, request):
    """Whether both ends support it: soft-RoCE has ATOMIC WRITE since Linux 6.2. A key to
    be invalidated is that of a window."""
    if request is send_inv:
        return end.peer['windows']
    if request not in WORDS:
        return True
    return (end.words and end.peer['words']
            and (not end.loss or expected('ATOMIC WRITE survives loss', end.soft)))


def drive(end, other, case, requests):
    """Send the requests; returns how many were wrong. The first such one ends a case."""
    for request in requests:
        if not can(end, request):
            continue
        started = time.monotonic()
        name, function, *arguments = request if isinstance(request, tuple) else (
            request.__name__, request)
        try:
            function(end, other, *arguments)
            print(f'ok {case} {name} {time.monotonic() - started:.2f} s', flush=True)
        except AssertionError as problem:
            line = traceback.extract_tb(problem.__traceback__)[1].lineno
            print(f'not ok {case} {name}: {problem} (line {line})', flush=True)
            return 1
    return 0


def connect(end, wire, kind, mtu, breaking, calls):
    own = end.open(kind, mtu)
    if calls:
        wire.say(own)
        peer = wire.hear()
    else:
        peer = wire.hear()
        wire.say(own)
    end.connect(peer, breaking)
    # Neither end sends before both are ready.
    wire.say('ready')
    check('the other end', wire.hear(), 'ready')


def run_case(end, wire, case, calls):
    kind, mtu, *form = case.split('/')
    row = ' '.join([kind, *form])
    wrong = 0
    for requests in [CASES[row], *([one] for one in BREAKING.get(row, []))]:
        for turn in (True, False):
            connect(end, wire, kind, int(mtu), requests is not CASES[row], calls)
            if turn == calls:
                wrong += drive(end, wire, case, requests)
                wire.done()
            else:
                wire.serve()
            end.close()
    return wrong


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument('device')
    parser.add_argument('gid_index', type=int)
    parser.add_argument('cases', nargs='+')
    parser.add_argument('--at')
    parser.add_argument('--mib', type=int, default=16)
    parser.add_argument('--loss', action='store_true')
    options = parser.parse_args()
    end = End(options.device, options.gid_index)
    end.mib, end.loss = options.mib, options.loss
    if options.at:
        connection = socket.create_connection((options.at, PORT), timeout=60)
    else:
        connection = socket.create_server(('', PORT)).accept()[0]
    connection.settimeout(None)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    wire = Wire(connection.makefile('rwb', buffering=0), end)
    wrong = 0
    for case in options.cases:
        wrong += run_case(end, wire, case, bool(options.at))
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
