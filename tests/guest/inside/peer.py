#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Every kind of request between two queue pairs, each result looked at.

usage: peer.py DEVICE GID-INDEX CASE...             the end that is called
       peer.py DEVICE GID-INDEX CASE... --at ADDRESS    the end that calls

A CASE is TYPE/MTU, for example RC/1024. In each case a new pair of queue pairs is
connected; first the calling end sends the requests of CASES, then the other. The
end that does not is told over TCP what to do and asked what it sees. One line for
each request and direction is printed by the end that sends it; exit status 1 when
any was wrong.
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
SECONDS = 20                    # for a completion
MEMORY = 1 << 20                # of each end; messages are at its start,
RESULT = MEMORY - 64            # what an atomic returns is here,
CELL = MEMORY - 128             # and what it changes here
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
REMOTE = (e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_REMOTE_READ
          | e.IBV_ACCESS_REMOTE_ATOMIC)


def check(what, seen, wanted):
    if seen != wanted:
        raise AssertionError(f'{what} is {seen}, not {wanted}')


class End:
    """A queue pair and its memory. What has a plain answer the other end may call."""

    def __init__(self, device, gid_index):
        self.context = Context(name=device)
        self.gid_index = gid_index
        self.soft = os.path.exists(f'/sys/class/infiniband/{device}/parent')
        self.pd = PD(self.context)
        self.mr = MR(self.pd, MEMORY,
                     e.IBV_ACCESS_LOCAL_WRITE | REMOTE | e.IBV_ACCESS_MW_BIND)

    # ---- life of a queue pair ----

    def open(self, kind, mtu):
        """A new queue pair; what the other end has to know of it."""
        self.kind, self.mtu = kind, mtu
        self.qp = self.ah = self.window = None
        self.cq = CQ(self.context, 2 * DEPTH)
        cap = QPCap(max_send_wr=DEPTH, max_recv_wr=DEPTH, max_send_sge=2, max_recv_sge=2,
                    max_inline_data=64)
        init = QPInitAttrEx(qp_type=TYPES[kind], scq=self.cq, rcq=self.cq, pd=self.pd,
                            cap=cap, send_ops_flags=SEND_OPS[kind],
                            comp_mask=e.IBV_QP_INIT_ATTR_PD
                            | e.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
        self.psn = random.getrandbits(24)
        attr = QPAttr(port_num=1)
        if kind == 'UD':
            attr.qkey, attr.sq_psn = QKEY, self.psn
        else:
            attr.qp_access_flags = REMOTE if kind == 'RC' else e.IBV_ACCESS_REMOTE_WRITE
        self.qp = QPEx(self.context, init, attr)        # UD: ready to send already
        gid = self.context.query_gid(1, self.gid_index)
        return {'qpn': self.qp.qp_num, 'psn': self.psn, 'gid': str(gid),
                'rkey': self.mr.rkey, 'address': self.mr.buf, 'soft': self.soft}

    def connect(self, peer):
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
        attr.min_rnr_timer, attr.timeout = 12, 17
        attr.retry_cnt, attr.rnr_retry = 7, 7
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
        """Put bytes there; their digest."""
        data = random.Random(seed).randbytes(length)
        if length:
            self.mr.write(data, length, offset)
        return hashlib.md5(data).hexdigest()

    def digest(self, offset, length):
        data = self.mr.read(length, offset) if length else b''
        return hashlib.md5(data).hexdigest()

    def set_number(self, offset, value):
        self.mr.write(value.to_bytes(8, 'little'), 8, offset)

    def number(self, offset):
        return int.from_bytes(self.mr.read(8, offset), 'little')

    # ---- requests and completions ----

    def post_recv(self, length, count=1):
        """Receives into the start of the memory; UD has its 40 bytes in front."""
        length += GRH if self.kind == 'UD' else 0
        for _ in range(count):
            self.qp.post_recv(RecvWR(num_sge=1,
                                     sg=[SGE(self.mr.buf, length, self.mr.lkey)]))

    def completion(self):
        """The next completion, whatever its status."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            count, found = self.cq.poll(1)
            if count:
                wc = found[0]
                return {'status': wc.status, 'opcode': wc.opcode, 'length': wc.byte_len,
                        'flags': wc.wc_flags, 'data': wc.imm_data, 'source': wc.src_qp}
        raise AssertionError('no completion')

    def post(self, length, request, *arguments, offset=0):
        """A request of the extended interface, with one piece of memory."""
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
    """Calls of the other end's functions over TCP."""

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
        """Do what the other end says, until it is done."""
        while (request := self.hear()) != ['done']:
            name, *arguments = request
            try:
                self.say({'value': getattr(self.end, name)(*arguments)})
            except Exception as problem:        # told, not suffered
                self.say({'error': f'{name}: {problem!r}'})
        self.say({'value': None})


# ---- the requests ----------------------------------------------------------------

def lengths(end):
    """Around each boundary that the path MTU makes; a datagram is one packet."""
    mtu = end.mtu
    short = [0, 1, 3, 4, 63, mtu - 1, mtu]
    return short if end.kind == 'UD' else [*short, mtu + 1, 2 * mtu, 3 * mtu + 5, 65537]


def own_completion(end, opcode, status=e.IBV_WC_SUCCESS):
    wc = end.completion()
    check('status', wc['status'], status)
    if status == e.IBV_WC_SUCCESS:
        check('opcode', wc['opcode'], opcode)


def received(end, other, length, opcode=e.IBV_WC_RECV, flag=0):
    """What the other end has received; the completion's immediate data or key."""
    wc = other.completion()
    head = GRH if end.kind == 'UD' else 0
    if flag == e.IBV_WC_WITH_INV and end.peer['soft']:
        # rdma_rxe gives processes the kernel's number of this flag.
        flag = e.IBV_WC_IP_CSUM_OK
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
    check('digest', other.digest(GRH if end.kind == 'UD' else 0, length), digest)
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
    own_completion(end, None, e.IBV_WC_REM_ACCESS_ERR)


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
        if end.kind == 'UC':
            time.sleep(0.05)            # nothing tells that it has arrived
        check(f'digest of {length}', other.digest(length % 7, length), digest)


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


def many(end, other):
    """A queue full of WRITE and READ, so that packets of several are on the way."""
    length = 3 * end.mtu + 5
    digest = other.fill(0, length, 1)
    for n in range(DEPTH // 2):
        end.post(length, 'wr_rdma_read', end.peer['rkey'], end.peer['address'],
                 offset=length)
        end.post(length, 'wr_rdma_write', end.peer['rkey'],
                 end.peer['address'] + 2 * length, offset=0)
    for n in range(DEPTH // 2):
        own_completion(end, e.IBV_WC_RDMA_READ)
        own_completion(end, e.IBV_WC_RDMA_WRITE)
    check('digest', end.digest(length, length), digest)


def many_sends(end, other):
    """As many as there are receives; the last one's bytes are there."""
    length = end.mtu if end.kind == 'UD' else 2 * end.mtu + 1
    digest = end.fill(0, length, 9)
    other.post_recv(length, DEPTH // 2)
    for _ in range(DEPTH // 2):
        end.post(length, 'wr_send')
    for _ in range(DEPTH // 2):
        own_completion(end, e.IBV_WC_SEND)
        received(end, other, length)
    check('digest', other.digest(GRH if end.kind == 'UD' else 0, length), digest)


def late_receive(end, other):
    """No receive is posted at first: RNR NAK, and the message comes all the same."""
    length = 2 * end.mtu
    digest = end.fill(0, length, 3)
    end.post(length, 'wr_send')
    time.sleep(0.1)
    other.post_recv(length)
    own_completion(end, e.IBV_WC_SEND)
    received(end, other, length)
    check('digest', other.digest(0, length), digest)


def wrong_key(end, other):
    end.post(16, 'wr_rdma_write', end.peer['rkey'] ^ 0x5500, end.peer['address'])
    own_completion(end, None, e.IBV_WC_REM_ACCESS_ERR)


def wrong_range(end, other):
    end.post(64, 'wr_rdma_read', end.peer['rkey'], end.peer['address'] + MEMORY - 32)
    own_completion(end, None, e.IBV_WC_REM_ACCESS_ERR)


def odd_atomic(end, other):
    end.post(8, 'wr_atomic_fetch_add', end.peer['rkey'], end.peer['address'] + CELL + 4,
             1, offset=RESULT)
    own_completion(end, None, e.IBV_WC_REM_INV_REQ_ERR)


def long_send(end, other):
    """Longer than the receive: an invalid request (IBTA vol. 1, 9.9.3, class C)."""
    here, there = e.IBV_WC_REM_INV_REQ_ERR, e.IBV_WC_LOC_LEN_ERR
    if end.peer['soft']:
        # rdma_rxe says instead that the receiver's operation failed.
        here, there = e.IBV_WC_REM_OP_ERR, e.IBV_WC_LOC_QP_OP_ERR
    other.post_recv(end.mtu)
    end.post(2 * end.mtu, 'wr_send')
    own_completion(end, None, here)
    check('status at the other end', other.completion()['status'], there)


CASES = {
    'UD': [send, send_imm, many_sends],
    'UC': [send, send_imm, write, write_imm, many_sends],
    'RC': [send, send_imm, write, write_imm, read, fetch_add, cmp_swap, many_sends, many,
           late_receive, send_inv],
}
# These break the connection, as does send_inv: each needs a new one.
BREAKING = {'RC': [wrong_key, wrong_range, odd_atomic, long_send]}


def drive(end, other, kind, requests):
    """Send the requests; how many were wrong. The first such one ends a case."""
    for request in requests:
        started = time.monotonic()
        try:
            request(end, other)
            print(f'ok {kind}/{end.mtu} {request.__name__} '
                  f'{time.monotonic() - started:.2f} s', flush=True)
        except AssertionError as problem:
            line = traceback.extract_tb(problem.__traceback__)[1].lineno
            print(f'not ok {kind}/{end.mtu} {request.__name__}: {problem} (line {line})',
                  flush=True)
            return 1
    return 0


def connect(end, wire, kind, mtu, calls):
    own = end.open(kind, mtu)
    if calls:
        wire.say(own)
        peer = wire.hear()
    else:
        peer = wire.hear()
        wire.say(own)
    end.connect(peer)
    # Nobody sends before both are ready.
    wire.say('ready')
    check('the other end', wire.hear(), 'ready')


def run_case(end, wire, kind, mtu, calls):
    wrong = 0
    for requests in [CASES[kind], *([one] for one in BREAKING.get(kind, []))]:
        for turn in (True, False):
            connect(end, wire, kind, mtu, calls)
            if turn == calls:
                wrong += drive(end, wire, kind, requests)
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
    options = parser.parse_args()
    end = End(options.device, options.gid_index)
    if options.at:
        connection = socket.create_connection((options.at, PORT), timeout=60)
    else:
        connection = socket.create_server(('', PORT)).accept()[0]
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    wire = Wire(connection.makefile('rwb', buffering=0), end)
    wrong = 0
    for case in options.cases:
        kind, mtu = case.split('/')
        wrong += run_case(end, wire, kind, int(mtu), bool(options.at))
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
