#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Write seeds for the fuzz targets: short dialogues that go as they should.

usage: seed.py DIR      (makes DIR/NAME/seed-* for each target NAME)
"""
import struct
import sys
from pathlib import Path


def record(kind, fmt='', *values, tail=b''):
    payload = struct.pack('<' + fmt, *values) + tail
    return struct.pack('<BH', kind, len(payload)) + payload


# ---- rx: packets for the queue pairs of world.c, by their place there ---------------

RC, UC, UD, XRC = 0x00, 0x20, 0x60, 0xa0
RTS, SENT, READS, SRQ, V6, UC_RTS, UD_RTS, GSI = 0, 1, 2, 3, 4, 10, 13, 16
INI, TGT, RAW, RAW_SRQ, RSS = 17, 18, 19, 20, 0xff


def packet(dest, opcode, length=0, psn=0, base=0, key=0, dma_len=0, syndrome=0x1f,
           how=0, path=0, swap=0, compare=0, bits=16, off=0, inv=6):
    return record(0, 'BBBBiBBBBIIQQBIIIHB', opcode, bits, dest, base, psn, how, path,
                  key, inv, off, dma_len, swap, compare, syndrome, 1, 0x01020304,
                  0x123, length, 0x5a)


def ether(to, length, shape=0, ports=0x10002000):
    return record(11, 'BBIH', shape, to, ports, length)


def time(shift, ticks):
    return record(3, 'BH', shift, ticks)


RX = {
    'send': packet(RTS, RC | 0, 1024) + packet(RTS, RC | 2, 100),
    'send-imm': packet(RTS, RC | 5, 64) + packet(SRQ, RC | 5, 10),
    'send-inv': b''.join(packet(RTS, RC | 0x17, 8, inv=i) + record(5, 'BH', 0, 500)
                         for i in (6, 8)),
    'write': packet(RTS, RC | 6, 1024, dma_len=2100) + packet(RTS, RC | 7, 1024) +
             packet(RTS, RC | 8, 52),
    'write-imm': packet(RTS, RC | 11, 100, dma_len=100, key=4),
    'write-keys': b''.join(packet(RTS, RC | 10, 8, dma_len=8, key=k)
                           for k in range(9)),
    'read': packet(RTS, RC | 12, dma_len=3000) + packet(RTS, RC | 12, psn=-3,
                                                         dma_len=3000),
    'atomics': packet(RTS, RC | 0x13, swap=5) + packet(RTS, RC | 0x14, swap=7) +
               packet(RTS, RC | 0x14, psn=-1, swap=7),
    'gap': packet(RTS, RC | 4, 9, psn=2) + packet(RTS, RC | 4, 9),
    'rnr': packet(RTS, RC | 4, 9) + packet(RTS, RC | 4, 9) + time(20, 9),
    'ack': packet(SENT, RC | 0x11, base=1, psn=2) + packet(SENT, RC | 0x11, base=1,
                                                           psn=1),
    'nak': packet(SENT, RC | 0x11, base=1, syndrome=0x60) +
           packet(SENT, RC | 0x11, base=1, syndrome=0x25) + time(20, 500) +
           packet(SENT, RC | 0x11, base=1, syndrome=0x62),
    'responses': b''.join(packet(READS, RC | op, n, base=1)
                          for op, n in ((13, 256), (14, 256), (14, 256), (14, 256),
                                        (14, 256), (15, 220), (0x12, 0))),
    'timeouts': time(23, 4000) * 6,
    'uc': packet(UC_RTS, UC | 0, 256) + packet(UC_RTS, UC | 1, 256) +
          packet(UC_RTS, UC | 2, 6) + packet(UC_RTS, UC | 10, 20, dma_len=20) +
          packet(UC_RTS, UC | 4, 6, psn=4),
    'ud': packet(UD_RTS, UD | 4, 60) + packet(14, UD | 5, 60, path=0x40) +
          packet(UD_RTS, UD | 4, 8, path=0x10) + packet(GSI, UD | 4, 256),
    'cnp': packet(RTS, 0x81) + record(4, 'BBBH', RTS, 0, 2, 4000) +
           packet(RTS, RC | 4, 4, path=8) + time(16, 999),
    'v6': packet(V6, RC | 4, 400, path=1) + packet(V6, RC | 10, 40, dma_len=40,
                                                   path=0x41),
    'train': packet(RTS, RC | 6, 1024, dma_len=3000, how=1) +
             packet(RTS, RC | 7, 1024, psn=1, how=1) +
             packet(RTS, RC | 8, 952, psn=2),
    'states': b''.join(packet(i, RC | 4, 4) for i in range(5, 10)),
    'events': record(8, 'B', 1) + packet(RTS, RC | 4, 4, bits=17) + record(8, 'B', 0),
    'modify': b''.join(record(7, 'BBB', RTS, s, 3) for s in (4, 3, 6, 0, 1, 2, 3)),
    'link': record(6, 'B', 1) + record(4, 'BBBH', RTS, 0, 2, 900) + record(6, 'B', 0) +
            record(6, 'B', 2) + record(6, 'B', 0),
    'memory-fails': record(9, 'B', 1) + packet(RTS, RC | 4, 60),
    'moderation': record(10, 'BBH', 1, 0, 0x0a08) + packet(RTS, RC | 4, 60) +
                  record(5, 'BH', RTS, 500) + packet(RTS, RC | 4, 60) + time(12, 99),
    'no-address': packet(RTS, RC | 12, dma_len=99) + record(10, 'BBH', 0, 0, 1) +
                  packet(RTS, RC | 4, 60) + record(4, 'BBBH', RTS, 0, 2, 900) +
                  record(10, 'BBH', 0, 0, 0),
    'drained': record(7, 'BBBI', RTS, 4, 3, 4) + record(7, 'BBBI', RTS, 4, 1, 0x10001) +
               packet(RTS, RC | 12, dma_len=99),
    'overrun': record(8, 'B', 1) + b''.join(
        record(5, 'BH', q, 99) * 16 + record(7, 'BBBI', q, 6, 3, 0)
        for q in (0, 1, 2, 4, 10)) + record(8, 'B', 0),
    'write-edges': b''.join(packet(RTS, RC | 10, n, dma_len=n, key=k, off=off)
                            for k, off, n in ((0, 8184, 8), (4, 8188, 8), (7, 504, 8),
                                              (8, 0, 512), (1, 0, 8))),
    'write-beyond': packet(RTS, RC | 10, 8, dma_len=8, off=8190),
    'write-beyond-window': packet(RTS, RC | 10, 8, dma_len=8, key=7, off=510),
    'write-longer': packet(RTS, RC | 6, 1024, dma_len=1100) +
                    packet(RTS, RC | 7, 1024),
    'write-last-longer': packet(RTS, RC | 6, 1024, dma_len=1100) +
                         packet(RTS, RC | 8, 80),
    'write-foreign-window': packet(SRQ, RC | 10, 8, dma_len=8, key=8, off=400),
    'write-taken-back': packet(RTS, RC | 0x17, 8, inv=8) +
                        packet(RTS, RC | 10, 8, dma_len=8, key=8, off=400),
    'read-beyond': packet(RTS, RC | 12, dma_len=9, off=8184),
    'read-more-later': packet(RTS, RC | 12, dma_len=300) +
                       packet(RTS, RC | 12, psn=-1, dma_len=3000),
    'read-other-later': packet(RTS, RC | 12, dma_len=300) +
                        packet(RTS, RC | 12, psn=-1, dma_len=300, off=2000),
    'xrc-send': packet(TGT, XRC | 5, 64) + packet(TGT, XRC | 0x17, 8, inv=6) +
                packet(TGT, XRC | 4, 99) + record(5, 'BH', TGT, 2000) +
                packet(TGT, XRC | 0, 1024) + packet(TGT, XRC | 2, 100),
    'xrc-send-longer': packet(TGT, XRC | 0, 1024) + packet(TGT, XRC | 2, 100),
    'xrc-write': packet(TGT, XRC | 6, 1024, dma_len=1100) + packet(TGT, XRC | 8, 76) +
                 packet(TGT, XRC | 11, 100, dma_len=100, key=4),
    'xrc-fetch': packet(TGT, XRC | 12, dma_len=3000) + packet(TGT, XRC | 0x14, swap=7) +
                 packet(TGT, XRC | 0x14, psn=-1, swap=7) +
                 packet(TGT, XRC | 12, psn=-4, dma_len=3000),
    'xrc-other-srq': packet(TGT, XRC | 4, 9, how=0x40),
    'xrc-srq-changes': packet(TGT, XRC | 0, 1024) + packet(TGT, XRC | 2, 9, how=0x40),
    'xrc-answers': packet(INI, XRC | 0x11, base=1, psn=3) +
                   packet(INI, XRC | 0x11, base=1, syndrome=0x25) + time(20, 500) +
                   packet(INI, XRC | 13, 256, base=1) + packet(INI, XRC | 4, 9),
    'frames': b''.join(record(5, 'BH', q, 300) for q in (19, 20, 21, 22)) * 6 +
              b''.join(ether(to, n, shape) for to in (RAW, RAW_SRQ, RSS)
                       for shape in (0, 1, 2, 4, 8, 9) for n in (60, 200)) +
              record(5, 'BH', RAW, 300) + ether(RAW, 300) + ether(RAW, 13) + ether(9, 60),
    'frames-too-long': ether(RAW, 2100) + ether(RAW_SRQ, 2100) + ether(RSS, 2100) +
                       record(7, 'BBBI', RAW, 6, 0, 0) + ether(RAW, 60),
    'frames-no-memory': record(9, 'B', 1) + ether(RAW, 60) + record(9, 'B', 3) +
                        ether(RSS, 99) + ether(RSS, 99, ports=0x10002001),
    'atomic-beyond': packet(RTS, RC | 0x14, off=8192),
}

# ---- wr: work requests of the queue pairs of pair.c -----------------------------------

SEND, SEND_IMM, SEND_INV, WRITE, WRITE_IMM, READ, SWAP, ADD, INV, REG, BIND = range(11)


def sge(key, off, length):
    return struct.pack('<BII', key, off, length)


def send(qp, op, sges, middle=b'', flags=1, side=0, how=0):
    return record(0, 'BBBBBHB', qp | side << 7, op, flags, how, len(sges), 7, 8,
                  tail=middle + b''.join(sges))


def recv(qp, length=3000, side=1, key=0):
    return record(1, 'BHB', qp | side << 7, 5, 1, tail=sge(key, 4096, length))


def remote(key, off=0):
    return struct.pack('<BBI', key, 0, off)


def memory(key, other, length, access, pages=0, variant=1):
    return struct.pack('<BBBIIBBB', key, other, variant, length, 0, access, pages, 0)


LOCAL = [sge(0, 0, 1500), sge(5, 16, 1500)]
TO_UD = struct.pack('<BB', 0, 6)
WR = {
    'send': recv(0) + send(0, SEND, LOCAL) + recv(1) + send(1, SEND_IMM, LOCAL),
    'rnr': send(0, SEND, LOCAL) + recv(0) + record(3, 'BH', 10, 9999),
    'write': send(0, WRITE, LOCAL, remote(3)) + recv(0) +
             send(0, WRITE_IMM, LOCAL, remote(6, 100)),
    'read': send(0, READ, LOCAL, remote(1)) + send(1, READ, LOCAL, remote(6)),
    'atomics': b''.join(send(0, op, [sge(0, 64, 8)], remote(0, 8) + b'\1\0\2\0')
                        for op in (SWAP, ADD)),
    'fast': send(0, REG, [], memory(8, 0, 9000, 15, 3), side=1) +
            send(0, WRITE, [sge(0, 0, 700)], remote(8)) +
            recv(0) + send(0, SEND_INV, [sge(0, 0, 9)]) +
            send(0, INV, [], side=1),
    'windows': b''.join(send(0, BIND, [], memory(k, 0, 4000, 2), side=1) +
                        send(0, WRITE, [sge(0, 0, 70)], remote(k)) for k in (10, 11)),
    'user': recv(2, key=7) + send(2, SEND, [sge(7, 0, 9000)]) +
            send(2, WRITE, [sge(7, 0, 900)], remote(7)),
    'uc': recv(4) + send(4, SEND, LOCAL) + send(5, WRITE, LOCAL, remote(0)),
    'ud': recv(6) + send(6, SEND, [sge(0, 0, 900)], TO_UD) +
          recv(8) + send(8, SEND, [sge(0, 0, 256)], struct.pack('<BB', 0, 8)) +
          recv(6, side=0) + send(6, SEND, [sge(0, 0, 9)], struct.pack('<BB', 2, 6)),
    'inline': recv(0) + record(0, 'BBBBBHB', 0, SEND, 9, 0, 200, 7, 8),
    'fence': send(0, READ, LOCAL, remote(0), how=1) +
             send(0, WRITE, LOCAL, remote(0), flags=5),
    'wrong': send(0, SEND, [sge(4, 0, 9)]) + send(4, READ, LOCAL, remote(0)) +
             send(6, WRITE, LOCAL, TO_UD) + send(0, 99, []) +
             send(1, WRITE, LOCAL, remote(4)),
    'loss': record(4, 'II', 0x35, 0) + recv(0) + send(0, SEND, LOCAL) +
            record(3, 'BH', 16, 999) + record(4, 'II', 0, 0xff) +
            send(0, READ, LOCAL, remote(0)) + record(3, 'BH', 16, 999),
    'doorbells': b''.join(record(2, 'BBBBI', 0, how, kind, 1, index)
                          for kind in range(8)
                          for how, index in ((0, 0), (2, 1), (0, 999))),
    'foreign-doorbells': b''.join(record(2, 'BBBBIB', q, 1, kind, 0, 1, 1 - (q == 2))
                                  for q in (0, 2) for kind in range(3)),
    'xrc': recv(10) * 2 + send(9, SEND, LOCAL) + send(9, WRITE, LOCAL, remote(0)) +
           send(9, WRITE_IMM, LOCAL, remote(3)) + send(9, READ, LOCAL, remote(1)) +
           send(9, ADD, [sge(0, 0, 8)], remote(0) + bytes(4)) +
           send(9, SEND_INV, LOCAL),
    'xrc-loss': record(4, 'II', 0x35, 0) + recv(10) + send(9, SEND, LOCAL) +
                record(3, 'BH', 16, 999) + send(9, SEND, LOCAL) + recv(10) +
                record(3, 'BH', 16, 999) + record(9, 'B', 10) +
                send(9, READ, LOCAL, remote(1)),
    'xrc-wrong': send(10, SEND, LOCAL) + recv(9) + send(9, 11, LOCAL, remote(0)) +
                 record(9, 'B', 9) + send(9, SEND, LOCAL, how=1) +
                 record(2, 'BBBBI', 0x80, 0, 2, 1, 1) +
                 record(2, 'BBBBI', 10, 0, 0, 1, 1),
    'many': recv(0) * 5 + send(0, SEND, LOCAL, how=1) * 4 + send(0, SEND, LOCAL),
    'states': b''.join(record(5, 'BB', q, s) for q in (0, 4, 6) for s in (4, 3, 6)) +
              b''.join(record(9, 'B', q) for q in (0, 4, 6)) + recv(0) +
              send(0, SEND, LOCAL),
    'busy': record(8, 'BB', 0, 1) + send(0, WRITE, LOCAL, remote(0)) +
            record(8, 'BB', 0, 0),
    'lazy': record(6, 'BB', 0, 1) + send(0, WRITE, LOCAL, remote(0)) * 4 +
            record(6, 'BB', 0, 0),
    'memory-fails': record(7, 'BB', 0, 2) + send(0, SEND, LOCAL),
    'moderation': record(10, 'BBBH', 0, 1, 0, 0x0a08) +
                  send(0, WRITE, LOCAL, remote(0)) * 3 + record(3, 'BH', 12, 99),
    'no-address': record(10, 'BBBH', 0, 0, 0, 1) + send(0, WRITE, LOCAL, remote(0)) +
                  send(6, SEND, [sge(0, 0, 9)], TO_UD),
    'refused-binds': b''.join(send(0, BIND, [], memory(k, other, 4000, access))
                              for k in (10, 11) for other, access in
                              ((1, 2), (3, 2), (4, 2), (0, 64), (5, 2))),
    'replaced': b''.join(send(0, REG, [], memory(8, 0, n, 15, 3, variant=v))
                         for n, v in ((9000, 1), (8, 2), (90000, 3))),
}

# ---- cmd: commands by number, objects by place ----------------------------------------


def cmd(opcode, fmt='', *values, uctx=0, hints=0):
    return record(0, 'BBH' + fmt, opcode, uctx, hints, *values)


def buf(addr, npages=0, shift=0, levels=0):
    return (addr, npages, shift, levels, 0)


BUF = 'QIBBH'
CMD = {
    'queries': b''.join(cmd(op, 'QII', 0x40000, 1000, 0) for op in (1, 2, 3, 18, 27)),
    'port': cmd(4, '16s6sHB', bytes(10) + b'\xff\xff\x0a\0\0\5', b'\2\0\0\0\0\5',
                0xffff, 3) + cmd(5, 'HH', 2, 0x8123),
    'contexts': cmd(6) + cmd(8, uctx=3) + cmd(9, 'I', 0, uctx=3) + cmd(7, 'I', 1),
    'queues': cmd(10, BUF + 'IH', *buf(0x50000), 16, 1) +
              cmd(12, BUF + 'QII', *buf(0x51000), 0x52000, 32, 0) +
              cmd(13, BUF + 'QIII', *buf(0x53000), 0, 128, 0, 0) +
              cmd(14, 'IHH', 0, 4, 10) + cmd(15, 'I', 2) + cmd(11, 'I', 1),
    'srq': cmd(16, BUF + 'IIIIH', *buf(0x50000), 0, 0, 8, 2, 2) +
           cmd(17, BUF + 'III', *buf(0), 0, 0, 0) + cmd(18, 'QII', 0x60000, 8, 0) +
           record(3, 'BBBI', 2, 0, 0, 3) + cmd(19, 'I', 0),
    'regions': record(2, 'IHBB', 0x60000, 16, 80, 3) +
               cmd(20, BUF + 'QQIII', *buf(0x60000, 16, 12, 1), 0x1000, 60000, 0, 15,
                   8) +
               record(2, 'IHBB', 0x61000, 1, 0x60, 0) +
               cmd(20, BUF + 'QQIII', *buf(0x61000, 16, 12, 2), 0, 60000, 0, 15, 0) +
               cmd(21, 'II', 0, 8) + cmd(23, 'IB', 0, 1) + cmd(23, 'IB', 0, 2) +
               cmd(24, 'I', 0) + cmd(22, 'I', 2),
    'queue-pairs': cmd(25, 'B' + BUF * 2 + '6I4BI', 0, *buf(0x50000), *buf(0x58000), 0,
                       0, 0, 0xffffffff, 8, 8, 0, 1, 2, 1, 0) +
                   cmd(28, 'I', 8) + cmd(28, 'I', 0),
    'multicast': b''.join(cmd(op, '16sI', b'\xff\x0e' + bytes(13) + b'\1', 3)
                          for op in (29, 29, 30, 30)),
    'posts': b''.join(record(5, 'BBBBBBII', q, 0, 0, 0, 1, 0, 0, 4000)
                      for q in (0, 1, 2, 3)) +
             b''.join(record(5, 'BBBBBBII', 0, 1, op, 1, 0, 0, 0, 8)
                      for op in (0, 1, 3, 4, 5, 6, 7)) +
             record(5, 'BBBBBBII', 2, 1, 0, 1, 0, 0, 0, 2000) +
             record(5, 'BBBBBBII', 3, 1, 0, 1, 0, 0, 0, 500) +
             record(5, 'BBBBBBII', 3, 1, 0, 1, 0, 0, 1 << 31, 500) +
             record(4, 'BH', 20, 900),
    'doorbells': b''.join(record(3, 'BBBI', kind, how, 0, 1) for kind in range(8)
                          for how in (0, 0x12)),
    'edges': record(5, 'BBBBBBII', 1, 0, 0, 0, 0, 0, 40, 5000) +
             record(5, 'BBBBBBII', 0, 1, 0, 1, 1, 0, 0, 5000),
    'users': b''.join(cmd(op, 'II', 0, 0, uctx=1) for op in range(31)),
}

# ---- pg332: registers and requests of two cards ----------------------------------------

CROSS = record(3, 'B', 0)


def card_post(opcode, length, host=0, key=0x35c, off=0):
    return record(1, 'BBBBIIIH', host, 0, opcode, 0, length, key, off, 0) + CROSS


def card_reg(scope, element, word, value, host=0):
    return record(0, 'BBBBI', host, scope, element, word, value)


def card_frame(bits=0, length=256, opcode=2, more=0, host=0, patches=b''):
    return record(8, 'BBBHb', host, bits, opcode, length, more, tail=patches) + CROSS


def card_packet(opcode, length=0, dest=2, bits=32, way=0, base=0, psn=0, syndrome=0x1f,
                key=0x35c, off=0, dma_len=0, imm=0, patches=b''):
    return record(9, 'BBBBBBbBIIIHI', 0, opcode, bits, way, dest, base, psn, syndrome,
                  key, off, dma_len, length, imm, tail=patches)


def card_side(bits, start=0, num=16, tail=15, threshold=1, host=1, words=()):
    return record(10, 'BBBBBB', host, bits, start, num, tail, threshold,
                  tail=b''.join(struct.pack('<BBI', *w) for w in words))


CARD_V6, CARD_FRAME = 0x01, 0x80
CARDS = {
    'all': b''.join(card_post(op, n) for op in (0, 1, 2, 3, 4, 12)
                    for n in (8, 400 if op in (2, 3, 12) else 5000)),
    'both': card_post(2, 900) + card_post(0, 9000, 1) + card_post(4, 20000, 1),
    'illegal': card_post(5, 64) + card_post(2, 64) + card_reg(2, 1, 0, 0x45d),
    'keys': card_post(0, 64, key=0x35d) + card_post(4, 64, 1, off=1 << 20),
    'full': card_post(2, 64) * 10 + card_reg(2, 1, 13, 8, 1) +
            record(5, 'BH', 20, 99),
    'lost': record(4, 'B', 0) + card_post(0, 3000) + record(5, 'BH', 22, 99),
    'restart': card_post(2, 64) + card_reg(2, 1, 0, 0x243c) +
               card_reg(2, 1, 0, 0x2043d) + card_post(2, 64),
    'recover': card_post(2, 64) + card_reg(2, 1, 0, 0x2047d) +
               card_reg(1, 0, 1, 5) + card_reg(2, 1, 12, 0) + CROSS,
    'off': card_post(0, 100000) + card_reg(1, 0, 0, 0) + card_post(2, 64),
    'datagrams': card_frame() + card_frame(1) + card_frame(8) + card_frame(4) +
                 card_frame(length=440) + card_frame(more=-4) + card_frame(opcode=0) +
                 card_frame(patches=struct.pack('<HB', 24, 1)),
    'cnp': card_frame(2) + card_packet(4, 64, way=0x20) + card_packet(0x81),
    'gsi': b''.join(card_packet(op, 256, dest=1, way=w, bits=b) for op, w, b in
                    ((0x64, 0, 0), (0x64, CARD_FRAME, 0), (0x65, CARD_V6, 0),
                     (0x64, 0, 2))),
    'requests': card_packet(4, 64) + card_packet(0, 1024) + card_packet(2, 8) +
                card_packet(10, 64, dma_len=64) + card_packet(12, dma_len=3000) +
                CROSS + card_packet(12, dma_len=3000, psn=-3) + card_packet(4, 64, psn=5),
    'refused': card_packet(4, 1025) + card_packet(1, 1024) + card_packet(19) +
               card_packet(10, 64, dma_len=64, key=0x35d) + card_packet(4, 64, bits=33) +
               card_packet(4, 64, dest=7) + card_packet(4, 64, bits=36, imm=99),
    'responses': record(4, 'B', 0) + card_post(4, 3000) +
                 card_packet(13, 1024, base=1) + card_packet(15, 952, base=1) +
                 b''.join(card_packet(17, base=1, syndrome=s)
                          for s in (0x20, 0x60, 0x9f)),
    'frames': b''.join(card_packet(4, 64, way=CARD_FRAME | w,
                                   patches=struct.pack('<HB', at, 1) if at else b'')
                       for w in (0, CARD_V6, 2, 4, 8, 16, 0x40)
                       for at in (0, 14, 16, 20, 24, 38)),
    'train': card_packet(4, 64, bits=40) + card_packet(7, 1024, bits=8),
    'side': card_side(0x13) + card_post(3, 64) + card_post(12, 64) + card_post(1, 64) +
            card_side(0x10, start=3, num=4, tail=2) + card_post(3, 64),
    'side-full': card_side(0x13, num=1, tail=0) + card_post(1, 8) * 9 +
                 card_side(8) + card_side(0x17, threshold=3) + card_post(1, 8) * 4,
    'side-errors': b''.join(card_side(0x1b, words=[w]) + card_post(1, 8)
                            for w in ((0, 6, 4), (0, 7, 1 << 31), (0, 3, 1), (0, 1, 9))),
    'windows': record(11, 'BB', 0, 0x80) + card_post(2, 64) + record(11, 'BB', 0, 0) +
               card_reg(2, 1, 5, 0xa3500000) + card_post(0, 64) + record(11, 'BB', 1, 1) +
               card_post(0, 64),
    'fails': b''.join(record(14, 'BB', 0, n) + card_post(2, 64) for n in range(1, 6)),
    'saved': card_side(0x13) + record(4, 'B', 0) + card_post(3, 600) +
             record(12, 'B', 0) + record(12, 'B', 1) + record(5, 'BH', 22, 99) + CROSS +
             record(12, 'B', 1) + card_post(4, 9000),
    'link': record(13, 'B', 2) + card_post(2, 64) + record(13, 'B', 0) +
            record(5, 'BH', 22, 99) + CROSS,
}
# Every dialogue with each version, and with some strict mode or the timing model.
PG332 = {f'{name}-{kind}': record(7, 'B', kind) + data
         for i, (name, data) in enumerate(CARDS.items())
         for kind in (0, 1, 2, 3 + i % 15)}

# ---- state, net ------------------------------------------------------------------------

STATE = {f'base-{i}': record(0, 'B', i) for i in range(12)}
STATE |= {f'cut-{i}': record(0, 'B', i) + record(2, 'IH', 3000 * i + 99, 1)
          for i in range(7)}
# Of other configurations: a number of each of many places is at its limit.
STATE |= {f'limit-{i}-{at}': record(0, 'B', i) + record(1, 'I', at * 173 + 24,
                                                         tail=b'\xff' * 4)
          for i in range(7, 12) for at in range(24)}


def ip4(length):
    return struct.pack('>BBHHHBBH4s4s', 0x45, 2, 20 + length, 0, 0x4000, 64, 17, 0,
                       b'\x0a\0\0\1', b'\x0a\0\0\2')


def ip6(length):
    return struct.pack('>IHBB16s16s', 0x60212345, length, 17, 64,
                       b'\xfd' + bytes(14) + b'\1', b'\xfd' + bytes(14) + b'\2')


def frame(opcode, rest, pad=0, vlan=False, v6=False):
    ib = struct.pack('>BBHII', opcode, 0x40 | pad << 4, 0xffff, 0x11, 0x80000001)
    ib += rest + bytes(4)
    udp = struct.pack('>HHHH', 0xc000, 4791, 8 + len(ib), 0) + ib
    tag = struct.pack('>HH', 0x8100, 0x2005) if vlan else b''
    kind = struct.pack('>H', 0x86dd if v6 else 0x0800)
    return (b'\x0f' + b'\2\0\0\0\0\2' + b'\2\0\0\0\0\1' + tag + kind +
            (ip6 if v6 else ip4)(len(udp)) + udp)


NET = {}
for op in range(0x18):
    for service in (0x00, 0x20, 0x60, 0xa0):
        NET[f'op-{service | op:02x}'] = frame(service | op, bytes(range(1, 61)),
                                              vlan=op % 3 == 0, v6=op % 2 == 0)
NET['cnp'] = frame(0x81, bytes(16))
for length in (1, 2, 3):
    NET[f'pad-{length}'] = frame(0x04, bytes(4), pad=length)
for length in (4, 8, 12, 16, 20, 24, 28):       # headers without payload
    NET[f'bare-{length}'] = frame(0x11 if length == 4 else 0x0c if length == 16 else 0x13,
                                  bytes(length))


# ---- mlx5: entry, mailbox, command by place in the table, op_mod, lengths, message ----

MLX5_ENABLE, MLX5_INIT = (0, 0, 4, 0, 0, 0), (1, 0, 2, 0, 0, 0)
MLX5_COMMANDS = 91


def mlx5(*commands, tail=b''):
    return b''.join(record(1, 'BBBBHH', *words, tail=tail) + record(3, 'B', 40)
                    for words in commands)


MLX5 = {f'command-{i}': mlx5(MLX5_ENABLE, MLX5_INIT, (2, 0, i, 0, 48, 48))
        for i in range(MLX5_COMMANDS)}
MLX5 |= {f'caps-{i}': mlx5(MLX5_ENABLE, (1, 0, 0, i, 0, 4096)) for i in range(10)}
MLX5['set-caps'] = mlx5(MLX5_ENABLE, (1, 0, 8, 0, 4096, 0))
MLX5['uars'] = mlx5(MLX5_ENABLE, MLX5_INIT, *[(2, 0, 50, 0, 0, 0)] * 8)
MLX5['long'] = mlx5((0, 0, 4, 0, 8000, 8000), tail=bytes(range(256)) * 12)
# Lists in the context of the virtual port: VLANs and addresses, and lists that are longer
# than the message.
for kind, size, tail in ((2, 4, 16), (1, 2, 16), (2, 0xfff, 0), (0, 0x80, 0)):
    MLX5[f'list-{kind}-{size}'] = (
        mlx5(MLX5_ENABLE, MLX5_INIT) +
        mlx5((2, 0, 41, 0, 496 + tail, 0),
             tail=struct.pack('>II', 0, 4) + bytes(0x1e0) +
             struct.pack('>BBH', kind, 0, size) + bytes(tail + 12)))
MLX5['fails'] = mlx5(MLX5_ENABLE) + record(5, 'B', 2) + mlx5(MLX5_INIT)
MLX5['reset'] = record(1, 'BBBBHH', 0, 0, 4, 0, 4096, 0) + record(3, 'B', 3) + record(4)

# ---- mlx5-device: stores, commands, requests, frames --------------------------------

def send(qp, opcode, *segments, flags=8):
    return record(3, 'BBBBI', qp, opcode, flags, len(segments), 0,
                  tail=b''.join(segments))


def data(length, at=0):
    return struct.pack('<BHH', 1, length, at)


def remote(at=0):
    return struct.pack('<BH', 0, at)


def command(number, tail=b'', at=0, op_mod=0, length=512):
    return record(1, 'BBHH', number, op_mod, at, length, tail=tail)


ARM, TIME, SAVE = record(12, 'BHI', 1, 0, 0), record(7, 'BB', 1, 20), record(8)
REQUESTS = record(4, 'H', 8, tail=struct.pack('<HHBB', 4000, 0x1000, 0, 1) * 8)
DEVICE = {
    'send': ARM + send(0, 0x0a, data(3000)) + TIME + SAVE,
    'self': ARM + REQUESTS + send(2, 0x0a, data(500)) + TIME + SAVE,
    'write': send(2, 0x08, remote(), data(4000)) + SAVE,
    'read': send(2, 0x10, remote(), data(2000)) + TIME,
    'inline': send(0, 0x08, remote(), struct.pack('<BB', 2, 12)),
    'atomic': send(2, 0x12, remote(8), bytes([3]) + bytes(16), data(8)),
    'wait': send(2, 0x0a, data(64)) + SAVE + REQUESTS + TIME,
    'frame': ARM + REQUESTS + record(5, 'H', 200) + SAVE,
    'frames': REQUESTS + b''.join(record(5, 'H', n, tail=bytes(6) + b'\x08\0\x45')
                                  for n in (60, 1000, 1500)) + TIME,
    'eth-send': record(6, 'BBBI', 0x0a, 8, 2, 0,
                       tail=bytes([3]) + bytes(16) + data(100)) + TIME + SAVE,
    'link': record(9, 'B', 0) + record(9, 'B', 1) + SAVE,
    'busy': record(11, 'B', 1) + send(0, 0x0a, data(3000)) + SAVE + record(11, 'B', 0),
    'segment': record(0, 'BIQ', 2, 0x14, 0x700) + TIME + command(0) + SAVE,
    'doorbells': b''.join(record(0, 'BIQ', 5, at, 0x0000020001000001)
                          for at in (0x20, 0x40, 0x48, 0x800, 0xa00)),
}
DEVICE |= {f'command-{i}': command(i) + SAVE for i in range(MLX5_COMMANDS)}


def main():
    sets = {'rx': RX, 'wr': WR, 'cmd': CMD, 'pg332': PG332, 'state': STATE, 'net': NET,
            'mlx5': MLX5, 'mlx5-device': DEVICE}
    for target, seeds in sets.items():
        path = Path(sys.argv[1]) / target
        path.mkdir(parents=True, exist_ok=True)
        for name, data in seeds.items():
            (path / f'seed-{name}').write_bytes(data)


if __name__ == '__main__':
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main()
