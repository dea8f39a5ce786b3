# SPDX-License-Identifier: GPL-2.0-or-later
"""The inputs of the registers of PG332 that features.py writes: errors of software, of a
peer's packets and of memory, for the netdev link and version 4.0."""
import struct

import pg332
from peer import ACK, RNR_NAK, aeth, reth
from pg332 import NOWHERE, PEER_PSN, PSN, READ, SEND, SEND_IMM, SEND_INV, VA, WRITE, \
    WRITE_IMM, Card

MTU = 256
FULL, PART = bytes(MTU), bytes(16)
# The operations of RC, by their number in the BTH.
(SEND_FIRST, SEND_MIDDLE, SEND_LAST, _, SEND_ONLY, SEND_ONLY_IMM, WRITE_FIRST,
 WRITE_MIDDLE, WRITE_LAST, _, WRITE_ONLY, WRITE_ONLY_IMM, READ_REQUEST, RSP_FIRST,
 RSP_MIDDLE, RSP_LAST, RSP_ONLY, ACKNOWLEDGE, _, COMPARE_SWAP) = range(20)
SEND_ONLY_INV = 23
NO_RETRY, ONE_RETRY, ONE_RNR = 0, 0x101, 0x801


def end_by_requests(c, key):
    """Packets of the peer that stop a queue pair, one after another."""
    return (
        ((WRITE_MIDDLE, PART),), ((WRITE_LAST, PART),), ((SEND_MIDDLE, PART),),
        ((SEND_LAST, PART),), ((WRITE_FIRST, reth(VA, key, 600) + PART),),
        ((WRITE_ONLY, reth(VA, key + 1, 32) + PART),),
        ((WRITE_ONLY, reth(VA, key, 32) + PART),),
        ((WRITE_FIRST, reth(VA, key, 600) + FULL), (WRITE_LAST, PART)),
        ((SEND_FIRST, PART),), ((SEND_FIRST, FULL), (SEND_LAST, PART)),
        ((COMPARE_SWAP, reth(VA, key, 0) + bytes(12)),),
        ((READ_REQUEST, reth(VA, 0xffffff00, 16)),))


def fatal_requests():
    c = Card()
    key = c.region(1)
    for qpn, packets in enumerate(end_by_requests(c, key), 2):
        c.open(qpn)
        for i, (opcode, body) in enumerate(packets):
            c.frame(qpn, opcode, PEER_PSN + i, body)
    c.script.migrate(0)
    return c


def keys():
    """Each reason why a key does not open what a packet names, and memory that fails."""
    c = Card()
    key = c.region(1)
    wrong_pd, read, write = c.region(2, PDPDNUM=5), c.region(3, ACCESSDESC=0), \
        c.region(4, ACCESSDESC=1)
    none, lost = c.region(5, ACCESSDESC=3), c.region(6, BUFBASEADDRMSB=NOWHERE >> 32)
    tries = ((WRITE_ONLY, key, VA), (READ_REQUEST, key, VA), (WRITE_ONLY, key + 1, VA),
             (WRITE_ONLY, wrong_pd, VA), (WRITE_ONLY, read, VA),
             (READ_REQUEST, write, VA), (READ_REQUEST, none, VA), (WRITE_ONLY, lost, VA),
             (READ_REQUEST, lost, VA), (WRITE_ONLY, key, VA - 1),
             (WRITE_ONLY, key, VA + 0x8000), (WRITE_ONLY, 0x80000042, VA))
    for qpn, (opcode, number, address) in enumerate(tries, 2):
        c.open(qpn)
        c.frame(qpn, opcode, PEER_PSN, reth(address, number, 16) +
                (PART if opcode == WRITE_ONLY else b''))
    c.open(14, RQBAMSB=NOWHERE >> 32)
    c.frame(14, SEND_ONLY, PEER_PSN, PART)
    return c


def fatal_responses():
    """Answers of the peer that stop a queue pair."""
    c = Card()
    ends = ((SEND, 64, ((ACKNOWLEDGE, aeth(0x40)),)),
            (SEND, 64, ((RSP_ONLY, aeth(ACK) + PART),)),
            (READ, 64, ((RSP_ONLY, aeth(ACK) + PART),)),
            (READ, 16, ((RSP_LAST, aeth(ACK) + PART),)),
            (READ, 600, ((RSP_FIRST, aeth(ACK) + PART),)),
            (READ, 600, ((RSP_FIRST, aeth(ACK) + FULL), (RSP_LAST, aeth(ACK) + PART))),
            (READ, 600, ((RSP_ONLY, aeth(ACK) + FULL),)),
            (READ, 600, ((RSP_FIRST, aeth(ACK) + FULL), (RSP_MIDDLE, FULL),
                         (RSP_LAST, aeth(ACK) + bytes(88)))),
            (SEND, 64, ((ACKNOWLEDGE, aeth(0x61)),)),
            (SEND, 64, ((ACKNOWLEDGE, aeth(0x62)),)),
            (SEND, 64, ((ACKNOWLEDGE, aeth(0x63)),)),
            (SEND, 64, ((ACKNOWLEDGE, aeth(RNR_NAK | 1)),)))
    for qpn, (opcode, length, packets) in enumerate(ends, 2):
        c.open(qpn)
        c.post(qpn, opcode, length)
        for i, (number, body) in enumerate(packets):
            c.frame(qpn, number, PSN + i, body)
    c.open(20, ONE_RNR)
    c.post(20, SEND)
    for _ in range(2):
        c.frame(20, ACKNOWLEDGE, PSN, aeth(RNR_NAK | 1))
        c.script.step(1000000)
    return c


def fatal_software():
    """Requests and memory that are at fault; retries that are used up."""
    c = Card()
    for qpn, (opcode, length, laddr) in enumerate(
            ((0x55, 64, None), (WRITE, 0x800001, None), (SEND, 64, NOWHERE),
             (9, 64, None)), 2):
        c.open(qpn)
        c.post(qpn, opcode, length, laddr)
    c.open(6, SQBAMSB=NOWHERE >> 32)
    c.post(6, SEND, count=3)
    for qpn in (7, 8):
        c.open(qpn, ONE_RETRY if qpn == 7 else NO_RETRY | 1)
        c.post(qpn, SEND, count=2)
    for _ in range(6):
        c.script.step()
    c.put('XRNICADCONF', 4)
    c.open(9, ONE_RETRY, CQDBADDMSB=NOWHERE >> 32, CQBAMSB=NOWHERE >> 32)
    c.post(9, SEND)
    for _ in range(4):
        c.script.step()
    c.frame(9, ACKNOWLEDGE, PSN, aeth(ACK))
    c.put('IPKTERRQBAMSB', NOWHERE >> 32)
    c.put('ERRBUFBAMSB', NOWHERE >> 32)
    c.put('IPv4XADD', 0)
    c.open(10)
    c.post(10, SEND)
    return c


def status(c):
    for name in ('WQEPROCSTS', 'QPMSTS', 'RESPHNDSTS', 'RETRYCNTSTS', 'LSTOUTPKT'):
        c.get(name)


def pipeline():
    """Status registers while requests wait for answers, after errors, in recovery."""
    c = Card()
    status(c)
    c.open(2)
    c.open(3)
    c.post(2, SEND, 600, count=15)
    c.post(3, READ, count=3)
    status(c)
    c.put_qp(3, 'QPCONF', 0x1007d)
    c.frame(2, ACKNOWLEDGE, PSN + 4, aeth(ACK))
    status(c)
    c.frame(2, 0x81, 0, bytes(16))
    c.post(2, SEND, 16, data=b'inline', count=2)
    status(c)
    c.frame(2, ACKNOWLEDGE, PSN + 5, aeth(0x61))
    status(c)
    c.put('XRNICADCONF', 1)
    for qpn in (2, 3):
        c.put_qp(qpn, 'QPCONF', 0x1003c)
        for name in ('STATRQPIDB', 'RQCI', 'STATCURSQPTR', 'SQPI', 'SQPSN', 'LSTRQREQ',
                     'STATMSN', 'CQHEAD'):
            c.put_qp(qpn, name, 0)
        c.get_qp(qpn, 'STATQP')
    status(c)
    return c


def retries():
    """WRITEs that are sent again from the copies of their data, and without them."""
    c = Card()
    for qpn in (2, 3, 4):
        c.open(qpn, 0x3f01)
        c.post(qpn, WRITE, 600, count=3)
        c.frame(qpn, ACKNOWLEDGE, PSN + 1, aeth(0x60))
        c.script.step()
        c.frame(qpn, ACKNOWLEDGE, PSN + 8, aeth(ACK))
        c.post(qpn, WRITE, 5000)
        c.frame(qpn, ACKNOWLEDGE, PSN + 12, aeth(0x60))
        c.script.step()
        c.frame(qpn, ACKNOWLEDGE, PSN + 28, aeth(ACK))
        c.put('DATBUFBAMSB', NOWHERE >> 32 if qpn == 2 else 0)
        c.put('DATBUFSZ', 0x10000010 if qpn == 3 else 0x01000400)
    return c


def descriptors(c, count, length=8, status_=0, buffer=None):
    """A ring of them; returns the address of the first."""
    ring = c.alloc(count * 64)
    for i in range(count):
        after = ring + (i + 1) % count * 64
        c.script.ram(ring + i * 64, struct.pack(
            '<QQ8xII', after, c.memory + 0x4000 + i * 8 if buffer is None else buffer,
            length, status_))
    return ring


def start(c, ring, last, control=0x7001):
    c.side('DMACR', 4)
    c.side('DMACR', control & ~1)
    c.side('CURDESC', ring)
    c.side('CURDESC_MSB', ring >> 32)
    c.side('DMACR', control)
    c.side('TAILDESC', last)
    c.side('TAILDESC_MSB', last >> 32)


def side_state(c):
    for name in ('DMACR', 'DMASR', 'CURDESC', 'CURDESC_MSB', 'TAILDESC', 'TAILDESC_MSB',
                 'WAITING', 'LOST'):
        c.script.read(0, pg332.BAR, pg332.REG['V4_SIZE'] + pg332.REG['SIDE_' + name])
    c.script.read(0, pg332.BAR, pg332.REG['V4_SIZE'] + 0x50)


def side():
    """Entries of each kind, in descriptors that are right, wrong and missing."""
    c = Card()
    key = c.region(1)
    psn = [PEER_PSN]

    def entries():
        for opcode, body in ((SEND_ONLY_IMM, b'imm!' + PART),
                             (WRITE_ONLY_IMM, reth(VA, key, 16) + b'imm!' + PART),
                             (SEND_ONLY_INV, b'key!' + PART)):
            c.frame(2, opcode, psn[0], body)
            psn[0] += 1
        c.put_qp(2, 'RQCI', (psn[0] - PEER_PSN) % 16)

    c.open(2)
    entries()
    ring = descriptors(c, 6)
    start(c, ring, ring + 64)
    entries()
    side_state(c)
    c.side('TAILDESC', ring + 4 * 64)
    c.side('DMASR', 0x1000)
    c.side('CURDESC', 0)
    c.side('DMACR', 0x01037001)
    entries()
    side_state(c)
    for more in ({'length': 4}, {'status_': 1 << 31}, {'buffer': NOWHERE}):
        ring = descriptors(c, 2, **more)
        start(c, ring, ring + 64)
        entries()
        c.side('DMACR', 0x7001)
        side_state(c)
        c.side('DMASR', 0x4000)
    start(c, NOWHERE, NOWHERE + 64)
    entries()
    side_state(c)
    c.side('DMACR', 0)
    c.side('WAITING', 5)
    c.side('TAILDESC', 0)
    return c


def full_stream():
    """More entries than wait for descriptors."""
    c = Card()
    key = c.region(1)
    c.open(2)
    ring = descriptors(c, 2)
    c.side('DMACR', 0x7001)
    for i in range(66):
        c.frame(2, WRITE_ONLY_IMM, PEER_PSN + i, reth(VA, key, 0) + b'imm!')
    start(c, ring, ring + 64)
    return c


def own_requests():
    """Each request of software; those of immediate data and keys."""
    c = Card()
    c.open(2)
    for i, opcode in enumerate((WRITE, WRITE_IMM, SEND, SEND_IMM, READ, SEND_INV)):
        c.post(2, opcode, 16, data=b'0123456789abcdef', imm=7)
        answer = (RSP_ONLY, aeth(ACK) + PART) if opcode == READ else (ACKNOWLEDGE,
                                                                      aeth(ACK))
        c.frame(2, answer[0], PSN + i, answer[1])
    for policy in (1, 2, 3):
        c.put('XRNICCONF', 0x12b721 | policy << 3)
        for i in range(2):
            c.frame(2, SEND_ONLY, PEER_PSN + 2 * policy - 2 + i, PART, ackreq=1 - i,
                    tos=3)
        for _ in range(2):
            c.script.step()
    return c


def last_acks():
    """Queue pairs that owe an acknowledgement or a response when software stops them."""
    c = Card(policy=1)
    for qpn in range(2, 22):
        c.open(qpn, QPADVCONF=0)
        c.frame(qpn, SEND_ONLY, PEER_PSN, PART, ackreq=0)
        if qpn % 5 == 0:
            c.frame(qpn, SEND_ONLY, PEER_PSN + 2, PART)
        c.put_qp(qpn, 'QPCONF', 0x1007c)
    c.put('XRNICCONF', 0x12b700)
    c.script.step()
    return c


def many_packets():
    """Version 4.2 with the timing model: more WRITEs than there are buffers to retry."""
    c = Card(slots='V4_2_QP')
    for qpn in range(2, 16):
        c.open(qpn, 0x3f10)
        c.post(qpn, WRITE, 0x10000, count=2)
    for ns in (1000, 20000, 200000):
        c.script.step(ns)
        c.script.migrate(0)
        status(c)
    for qpn in range(2, 8):
        c.frame(qpn, ACKNOWLEDGE, PSN + 40, aeth(ACK))
        c.script.step(2000)
    c.put_qp(9, 'QPCONF', 0x1003c)
    for i in range(30):
        c.script.migrate(0, [(i * 9973, (1, 0xff, 0x80)[i % 3])])
    for _ in range(4):
        c.script.step(20000)
    return c


def many_reads():
    """Version 4.2 with the timing model: READs of a peer, and what is under way."""
    c = Card(slots='V4_2_QP')
    key = c.region(1)
    for qpn in range(2, 8):
        c.open(qpn, 0x3f10)
        for i in range(4):
            c.frame(qpn, READ_REQUEST, PEER_PSN + 4 * i, reth(VA, key, 1000))
        c.post(qpn, SEND)
        c.frame(qpn, SEND_ONLY, PEER_PSN + 16, PART)
    for ns in (200, 400, 800, 1600, 3200):
        c.script.step(ns)
        c.script.migrate(0)
        c.script.migrate(0, [(-9 - ns // 8, 0xff)])
    c.put_qp(3, 'QPCONF', 0x1003c)
    for qpn in range(4, 8):
        c.frame(qpn, ACKNOWLEDGE, PSN, aeth(ACK))
    c.script.step(100)
    return c


def changed_states():
    """Streams of a busy card with a byte changed somewhere."""
    c = Card()
    c.region(1)
    for qpn in (2, 3):
        c.open(qpn, 0x3f10)
        c.post(qpn, SEND, 600, count=3)
        c.post(qpn, READ, count=2)
    for i in range(50):
        c.script.migrate(0, [(i * 9973, (1, 0xff, 0x80)[i % 3])])
    return c


SEEDS = (fatal_requests, keys, fatal_responses, fatal_software, pipeline, retries, side,
         full_stream, own_requests, changed_states, last_acks, many_packets, many_reads)
