#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes an input of the target "ernic" for each feature that the qtests do not use.

usage: features.py QEMU FOLDER

QEMU is a qemu-system-x86_64 with the device. The accesses of the driver there become the
input FOLDER/FACE/NAME. This file has the features of the verbs face."""
import struct
import sys
from pathlib import Path

import mlx5_features
import peer
import pg332_features
import verbs_features
from guest import ACCESS, CMD, ERR, NONE, RESET, RTS, SQD, Guest, Machine, Qp, buf
from peer import aeth, packet
from script import Script

ON_DEMAND = 0x40
ALONE = '-device ernic,id=net0,addr=04.0'
HUB = ('-netdev hubport,id=h0,hubid=0 -netdev hubport,id=h1,hubid=0'
       ' -device ernic,id=net0,addr=04.0,netdev=h0'
       ' -device ernic,id=net1,addr=05.0,netdev=h1')
CORPUS = Path(__file__).resolve().parents[1] / 'corpus'


def rdma(address, key):
    return struct.pack('<QI', address, key)


def requests(m):
    """Every opcode of a connection, with its data inline or not, and its errors."""
    g = Guest(m)
    one, two = g.pair('RC')
    local, remote = (g.memory, 3000, g.key), rdma(g.memory + 0x20000, g.key)
    for i in range(8):
        two.receive(g.memory + 0x10000, 4096, g.key)
    for opcode in ('SEND', 'SEND_IMM', 'WRITE', 'WRITE_IMM', 'READ'):
        one.send(opcode, remote if opcode[0] in 'WR' else b'', local, imm=7)
    atomic = remote + struct.pack('<IQQ', 0, 5, 6)
    one.send('CMP_SWAP', atomic, (g.memory, 8, g.key))
    one.send('FETCH_ADD', atomic, (g.memory, 8, g.key))
    one.send('ATOMIC_WRITE', remote, (g.memory, 8, g.key))
    flush = g.region(g.memory, 0x1000, 0x107)
    one.send('FLUSH', struct.pack('<QIIBB', g.memory, flush, 100, 1, 0))
    one.send('FLUSH', struct.pack('<QIIBB', g.memory, flush, 100, 1, 1))
    one.send('SEND', inline=b'inline' * 20)
    one.modify(SQD)
    one.modify(RTS)
    one.send('WRITE', rdma(0, 1), local)


def fast_register(m):
    """REG_MR, a WRITE by its key, LOCAL_INV, and SEND_INV."""
    g = Guest(m)
    one, two = g.pair('RC')
    key = g.command('MR_ALLOC', struct.pack('<II', g.pd, 16))
    pages = m.alloc(4096)
    m.ram(pages, struct.pack('<4Q', *(g.memory + i * 4096 for i in (3, 1, 2, 0))))
    for i in (1, 2):
        key = key & ~0xff | i
        one.send('REG_MR', struct.pack('<IIQQQIB', key, ACCESS, 0x10000, 0x4000, pages, 4,
                                       12))
        two.receive(g.memory + 0x10000, 4096, g.key)
        one.send('WRITE', rdma(0x10800, key), (g.memory + 0x8000, 5000, g.key))
        if i == 1:
            one.send('LOCAL_INV', imm=key)
    two.send('SEND_INV', imm=key, inline=b'x')
    one.receive(g.memory + 0x10000, 4096, g.key)
    g.wait()


def windows(m):
    """Windows of both types: bind, access, invalidate."""
    g = Guest(m)
    one, two = g.pair('RC')
    for kind in (1, 2):
        key = g.command('MW_ALLOC', struct.pack('<IB', g.pd, kind))
        new = key + 1
        two.send('BIND_MW', struct.pack('<IIIIQQ', key, new if kind == 2 else 0, g.key, 6,
                                        g.memory + 0x1000, 0x1000))
        one.send('WRITE', rdma(g.memory + 0x1100, new), (g.memory, 256, g.key))
        one.send('READ', rdma(g.memory + 0x1100, new), (g.memory, 256, g.key))
        two.receive(g.memory + 0x10000, 4096, g.key)
    one.send('SEND_INV', imm=new, inline=b'bye')
    g.command('MW_FREE', struct.pack('<I', new & ~0xff | (new & 0xff)))


def shared(m):
    """A shared receive queue, its limit and its ring in another place."""
    g = Guest(m)
    ring, second = m.alloc(4096), m.alloc(8192)
    srq = g.command('SRQ_CREATE', buf(ring) + struct.pack('<IIIIHHII', 0, g.pd, 16, 0, 1,
                                                          0, 0, 0))
    for i in range(6):
        m.ram(ring + i * 64, g.request(i))
    g.doorbell(2, srq, 6)
    one, two = Qp(g, 'RC', srq), Qp(g, 'RC', srq)
    one.connect(two)
    two.connect(one)
    g.command('SRQ_MODIFY', buf(0) + struct.pack('<IIIIHHII', srq, 0, 0, 5, 0, 0, 0, 0))
    one.send('SEND', sge=(g.memory, 3000, g.key))
    two.send('SEND', sge=(g.memory, 30, g.key))
    g.command('SRQ_MODIFY', buf(second) + struct.pack('<IIIIHHII', srq, 0, 32, 0, 0, 0, 0,
                                                      0))
    one.send('SEND', sge=(g.memory, 3000, g.key))
    one.modify(ERR)
    g.wait()


def xrc(m):
    """An initiator, a target, and the shared receive queue of its domain."""
    g = Guest(m)
    domain = g.command('PD_ALLOC')
    ring = m.alloc(4096)
    srq = g.command('SRQ_CREATE', buf(ring) + struct.pack('<IIIIHHII', 0, g.pd, 16, 0, 1,
                                                          0, domain, g.cq()))
    for i in range(6):
        m.ram(ring + i * 64, g.request(i))
    g.doorbell(2, srq, 6)
    one, two = Qp(g, 'XRC_INI'), Qp(g, 'XRC_TGT', pd=domain)
    one.connect(two)
    two.connect(one)
    tail = bytes(44) + struct.pack('<I', srq)
    for opcode in ('SEND', 'SEND_IMM'):
        one.send(opcode, tail, (g.memory, 3000, g.key))
    for opcode in ('WRITE', 'WRITE_IMM', 'READ'):
        one.send(opcode, rdma(g.memory + 0x20000, g.key) + tail[12:],
                 (g.memory, 3000, g.key))
    one.send('FETCH_ADD', rdma(g.memory + 0x20000, g.key) + struct.pack('<IQ', 0, 5) +
             tail[24:], (g.memory, 8, g.key))


def supply(g, key, first, count, access=3):
    """Pages of an on-demand region."""
    pages = g.m.alloc(4096)
    g.m.ram(pages, struct.pack(f'<{count}Q', *(g.memory + i * 4096 | access
                                               for i in range(count))))
    g.command('MR_PAGES', struct.pack('<QQQI', pages, first, count, key))


def on_demand(m):
    """Page faults of requester and responder, which are resolved, and one that is not."""
    g = Guest(m)
    one, two = g.pair('RC')
    key = g.command('MR_REG', struct.pack('<QIBBHQQIIIII', 0, 0, 12, 0, 0, 0x100000,
                                          1 << 30, g.pd, ACCESS & ~0x10 | ON_DEMAND, 0, 0,
                                          0))
    where = 0x100000
    for opcode, qp in (('WRITE', two), ('READ', two), ('SEND', one)):
        two.receive(where + 0x80000, 4096, key)
        one.send(opcode, rdma(where, key) if opcode != 'SEND' else b'',
                 (where + 0x40000, 3000, key))
        for first, pair in ((0x40, one), (0, two), (0x80, two)):
            at = where - 0x100000
            supply(g, key, first + at // 4096, 2)
            for offset in (at, at + first * 4096):
                g.command('PAGE_RESUME',
                          struct.pack('<QIIB', offset, key, pair.number, 0))
            g.wait()
        where += 0x3000
    g.command('MR_PAGES', struct.pack('<QQQI', 0, 0, 0x40, key))
    one.send('WRITE', rdma(0x100000, key), (g.memory, 3000, g.key))
    g.command('PAGE_RESUME', struct.pack('<QIIB', 0, key, two.number, 1))
    g.command('MR_FREE', struct.pack('<I', key))
    g.wait()


def datagrams(m):
    """UD and GSI datagrams, and a multicast group, between two functions."""
    g, h = Guest(m), Guest(m, 1)
    group = b'\xff' + bytes(14) + b'\x01'
    for kind in ('UD', 'GSI'):
        one, two = g.pair(kind, h)
        two.receive(h.memory, 4096, h.key)
        two.receive(h.memory, 4096, h.key)
        path = h.gid + h.mac + struct.pack('<BBIB3x', 0, 64, 0, 0)
        one.send('SEND', struct.pack('<IIH6x', 0x11111111, two.number, 0)[:16] + path,
                 (g.memory, 256, g.key))
        if kind == 'UD':
            h.command('MCAST_ATTACH', group + struct.pack('<I', two.number))
            path = group + b'\x33\x33\0\0\0\x01' + struct.pack('<BBIB3x', 0, 64, 0, 0)
            one.send('SEND_IMM', struct.pack('<IIH6x', 0x11111111, 0xffffff, 0) + path,
                     (g.memory, 256, g.key), imm=9)
            h.command('MCAST_DETACH', group + struct.pack('<I', two.number))


def connections(m):
    """RC and UC between two functions, with counters and moderation."""
    g, h = Guest(m), Guest(m, 1)
    counter = g.command('COUNTER_ALLOC')
    for kind in ('RC', 'UC'):
        one, two = g.pair(kind, h)
        g.command('COUNTER_BIND', struct.pack('<II', one.number, counter))
        g.command('CQ_MODERATE', struct.pack('<IHH', one.cq, 2, 10))
        g.doorbell(4, one.cq, 0)
        two.receive(h.memory, 8192, h.key)
        one.send('SEND', sge=(g.memory, 5000, g.key))
        one.send('WRITE', rdma(h.memory, h.key), (g.memory, 5000, g.key))
        g.wait()
        m.script.migrate(0)
        g.wait()
        m.script.statistics(0)
        g.command('COUNTER_QUERY', struct.pack('<QII', g.scratch, 256, counter))
        one.modify(RESET)
    g.command('CQ_RESIZE', buf(m.alloc(128 * 64)) + struct.pack('<QIII', 0, 128, 0,
                                                                one.cq))


def raw(m):
    """Frames of a raw queue pair, with a rate, to another one and to an RSS object."""
    g, h = Guest(m), Guest(m, 1)
    out, back = Qp(g, 'RAW'), Qp(h, 'RAW')
    queues = [Qp(h, 'RWQ') for _ in range(2)]
    for qp in (out, back, *queues):
        qp.connect(None)
    out.modify(RTS, 0x40000, rate=1000000)
    rss = h.with_memory('RSS_CREATE', struct.pack('<IB3x', 0xff, 1) + bytes(range(40)) +
                        struct.pack('<128I', queues[0].number, queues[1].number,
                                    *[0] * 126))
    for to, port in ((back.number, 7), (rss, 8)):
        key = struct.pack('>6s6sHH16s16sIBBBBHH', bytes(6), bytes(6), 0, 0, bytes(16),
                          bytes(16), 0, 0, 0, 0, 0, 0, port)
        mask = key[:-2] + b'\xff\xff'
        h.with_memory('FLOW_CREATE', struct.pack('<IHH', to, port, 0x12) + key + mask)
    for qp in (back, *queues):
        qp.receive(h.memory, 4096, h.key)
        qp.receive(h.memory, 4096, h.key)
    for port in (7, 8, 8):
        frame = (h.mac + g.mac + b'\x08\0' + struct.pack(
            '>BBHHHBBH4s4s', 0x45, 0, 128, 1, 0, 64, 17, 0, g.gid[12:], h.gid[12:]) +
            struct.pack('>HHHH', 1000 + port, port, 108, 0) + bytes(100))
        m.ram(g.memory, frame)
        out.send('SEND', sge=(g.memory, len(frame), g.key))


def alone_frames(script, folder):
    """Frames of the engine's corpus, for a guest that has a queue pair of each type."""
    for path in sorted((CORPUS / folder).iterdir()):
        script.frame(0, path.read_bytes()[:2048])


def frames(m):
    g = Guest(m)
    one, _ = g.pair('RC')
    Qp(g, 'UD').connect(None)
    one.receive(g.memory, 4096, g.key)
    alone_frames(m.script, 'net')


def reth(g, length, key=None):
    return peer.reth(g.memory + 0x8000, g.key if key is None else key, length)


def peer_packets(g):
    """Packets to a queue pair that expects number 0x1000, and has requests from there on:
    opcode, offset, body, TOS. The fatal ones come last."""
    data = bytes(1024)
    return (
        (0, 0, data, 3), (1, 1, data, 3), (2, 2, data[:16], 2), (5, 3, bytes(8), 2),
        (6, 4, reth(g, 2064) + data, 3), (7, 5, data, 2), (8, 6, data[:16], 2),
        (10, 7, reth(g, 16) + data[:16], 2), (11, 8, reth(g, 16) + data[:20], 2),
        (12, 9, reth(g, 3000), 2), (12, 9, reth(g, 3000), 2),
        (10, 7, reth(g, 16) + data[:16], 2), (19, 12, reth(g, 0)[:12] + data[:16], 2),
        (20, 13, reth(g, 0)[:12] + data[:16], 2),
        (19, 12, reth(g, 0)[:12] + data[:16], 2), (4, 20, data[:8], 2),
        (23, 14, struct.pack('>I', g.key) + data[:8], 2),
        (0x81, 0, bytes(16), 2), (0x81, 0, bytes(16), 2), (0x11, 0, aeth(0x1f), 2),
        (0x11, 1, aeth(0x21), 2), (0x11, 1, aeth(0x60), 2), (0x11, 0, aeth(0x1f), 2),
        (0x11, 2, aeth(0x1f), 2), (13, 3, aeth(0x1f) + data, 2), (14, 4, data, 2),
        (15, 5, aeth(0x1f) + data[:952], 2), (16, 3, aeth(0x1f) + data[:1000], 2),
        (18, 4, aeth(0x1f) + data[:8], 2), (18, 6, aeth(0x1f) + data[:8], 2),
        (16, 12, aeth(0x1f), 2), (0x11, 2, aeth(0x65), 2), (99, 15, data[:16], 2),
        (1, 15, data, 2), (0x11, 6, aeth(0x61), 2),
        (10, 15, reth(g, 16, 5) + data[:16], 2))


def packets(m):
    """Packets that a peer would send, in and out of order, to two queue pairs."""
    g, h = Guest(m), Guest(m, 1)
    for _ in range(2):
        one, two = Qp(g, 'RC'), Qp(h, 'RC')
        one.connect(two)
        for i in range(6):
            one.receive(g.memory + 0x10000, 4096, g.key)
        for opcode in ('SEND', 'WRITE', 'SEND', 'READ', 'FETCH_ADD'):
            one.send(opcode, rdma(h.memory, h.key) if opcode != 'SEND' else b'',
                     (g.memory, 8 if opcode[0] == 'F' else 1000, g.key))
        for opcode, offset, body, tos in peer_packets(g):
            m.script.frame(0, packet(g, h, one.number, opcode, 0x1000 + offset, body,
                                     tos))
        for _ in range(8):
            m.step(2000000)
    # A datagram for a group with two members, and one with a wrong key.
    group = b'\xff\x0e' + bytes(8) + b'\xff\xff\xe0\0\0\1'
    for _ in range(2):
        qp = Qp(g, 'UD')
        qp.connect(None)
        qp.receive(g.memory + 0x10000, 4096, g.key)
        g.command('MCAST_ATTACH', group + struct.pack('<I', qp.number))
    for qpn, key in ((0xffffff, 0x11111111), (qp.number, 5), (qp.number, 0x11111111)):
        m.script.frame(0, packet(g, h, qpn, 0x64, 1, struct.pack('>II', key, 7) +
                                 bytes(64)))


def machine(m):
    """The link goes, the machine stops, and both are migrated, with work to do."""
    g = Guest(m)
    one, two = g.pair('RC')
    one.send('SEND', sge=(g.memory, 3000, g.key))
    script = m.script
    script.link(0, 1)
    script.step(1000000)
    script.link(0, 0)
    script.stop(1000)
    script.migrate(0)
    script.peer(0, '10.0.0.9=127.0.0.1:1')
    script.peer(0, '10.0.0.9', remove=True)
    script.datagram(0, bytes(64))
    two.receive(g.memory + 0x10000, 4096, g.key)
    g.wait()
    for offset, byte in ((300, 1), (-9, 0xff), (900, 0x80)):
        script.migrate(0, [(offset, byte)])


def counters(m):
    """Counters that are bound, free, in use and unknown."""
    g = Guest(m)
    one = Qp(g, 'RC')
    first = g.command('COUNTER_ALLOC')
    g.command('COUNTER_BIND', struct.pack('<II', one.number, first))
    g.attempt('COUNTER_FREE', struct.pack('<I', first))
    g.command('COUNTER_BIND', struct.pack('<II', one.number, 0))
    for number in (first, first, 0, NONE):
        g.attempt('COUNTER_FREE', struct.pack('<I', number))
        g.attempt('COUNTER_BIND', struct.pack('<II', one.number, number))


def lists(m):
    """Regions and a queue with their pages in lists of one and two levels; bad lists."""
    g = Guest(m)
    leaf, top, wrong = m.alloc(4096), m.alloc(4096), m.alloc(4096)
    m.ram(leaf, struct.pack('<16Q', *(g.memory + i * 4096 for i in range(16))))
    m.ram(top, struct.pack('<2Q', leaf, leaf))
    m.ram(wrong, struct.pack('<2Q', leaf + 8, 1))
    one, two = g.pair('RC')
    for address, pages, levels in ((leaf, 16, 1), (top, 516, 2), (wrong, 2, 1),
                                   (wrong, 600, 2), (1 << 50, 16, 1), (1 << 50, 600, 2),
                                   (leaf + 4, 16, 1), (leaf, 0, 1), (leaf, 16, 3)):
        _, key = g.attempt('MR_REG', struct.pack(
            '<QIBBHQQIIIII', address, pages, 12, levels, 0, 0x100000, 0x10000, g.pd,
            ACCESS, 0, 0, 0))
        one.send('WRITE', rdma(0x100800, key), (g.memory, 5000, g.key))
        one.send('READ', rdma(0x100800, key), (g.memory, 100, g.key))
        one.modify(RESET)
        two.modify(RESET)
        one, two = g.pair('RC')
    ring = struct.pack('<QIBBH', leaf, 16, 12, 1, 0)
    cq = g.command('CQ_CREATE', ring + struct.pack('<QIII', 0, 512, g.eq, 0))
    g.command('CQ_DESTROY', struct.pack('<I', cq))


def ethernet(g, h, port, version=4, tag=b''):
    """A frame of UDP from h to g."""
    if version == 4:
        header = struct.pack('>BBHHHBBH4s4s', 0x45, 0, 128, 1, 0, 64, 17, 0, h.gid[12:],
                             g.gid[12:])
        kind = b'\x08\0'
    else:
        header = struct.pack('>IHBB', 0x61234567, 108, 17, 9) + h.gid + g.gid
        kind = b'\x86\xdd'
    return (g.mac + h.mac + tag + kind + header +
            struct.pack('>HHHH', 1000 + port, port, 108, 0) + bytes(100))


def steering(m):
    """Frames with and without a rule, tag, IPv6, room for them and an RSS object."""
    g, h = Guest(m), Guest(m, 1)
    back, small = Qp(g, 'RAW'), Qp(g, 'RAW')
    queues = [Qp(g, 'RWQ') for _ in range(2)]
    for qp in (back, small, *queues):
        qp.connect(None)
    rss = g.with_memory('RSS_CREATE', struct.pack('<IB3x', 0xff, 1) + bytes(range(40)) +
                        struct.pack('<128I', queues[0].number, queues[1].number,
                                    *[0] * 126))
    for to, port, layers in ((back.number, 7, 0x12), (small.number, 8, 0x12),
                             (rss, 9, 0x14), (back.number, 10, 0x13)):
        key = bytes(58) + struct.pack('>H', port)
        g.m.ram(g.scratch, struct.pack('<IHH', to, port, layers) + key +
                key[:-2] + b'\xff\xff')
        g.attempt('FLOW_CREATE', struct.pack('<QII', g.scratch, 8 + 2 * len(key), 0))
    for qp in (back, *queues):
        qp.receive(g.memory, 4096, g.key)
    small.receive(g.memory, 16, g.key)
    for port in (7, 8, 9, 10, 11, 7):
        for frame in (ethernet(g, h, port), ethernet(g, h, port, 6),
                      ethernet(g, h, port, 4, b'\x81\0\0\5'),
                      ethernet(g, h, port, 6)[:40]):
            m.script.frame(0, frame)
    g.attempt('QP_DESTROY', struct.pack('<I', queues[0].number))
    for handle in (rss, rss, 5):
        g.attempt('RSS_DESTROY', struct.pack('<I', handle))
    back.modify(ERR)
    m.script.frame(0, ethernet(g, h, 7))


def congestion(m):
    """A sender whose peer reports congestion; then it recovers for 20 ms."""
    g, h = Guest(m), Guest(m, 1)
    one, two = Qp(g, 'RC'), Qp(h, 'RC')
    one.connect(two)
    two.connect(one)
    for i in range(3):
        m.script.frame(0, packet(g, h, one.number, 0x81, 0, bytes(16)))
        m.step(60000)
    for i in range(40):
        one.send('WRITE', rdma(h.memory, h.key), (g.memory, 1000, g.key))
        m.step(500000)
    m.script.migrate(0)


def refusals(m):
    """Every command with operands that are all 0, all 1, or the number 1."""
    g = Guest(m)
    g.pair('RC')
    for body in (bytes(56), b'\xff' * 56, b'\1\0\0\0' * 14, b'\2\0\0\0' * 14,
                 struct.pack('<QII', 1 << 50, 4096, 2),
                 struct.pack('<QII', g.scratch, 1, 2)):
        for name in CMD:
            g.attempt(name, body)


SEEDS = {counters: ALONE, lists: ALONE, steering: HUB, congestion: HUB, refusals: ALONE,
         requests: ALONE, fast_register: ALONE, windows: ALONE, shared: ALONE, xrc: ALONE,
         on_demand: ALONE, datagrams: HUB, connections: HUB, raw: HUB, frames: HUB,
         packets: HUB, machine: ALONE}


def record(program, seed, devices):
    """The accesses of a driver in a machine with these devices."""
    m = Machine(program, devices)
    try:
        seed(m)
    finally:
        m.close()
    return m.script


def write(folder, seed, script):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / seed.__name__.replace('_', '-')).write_bytes(script.pack(64 * 1024))


def main():
    program, folder = sys.argv[1], Path(sys.argv[2])
    for seed, devices in (SEEDS | verbs_features.SEEDS).items():
        write(folder / 'verbs', seed, record(program, seed, devices))
    for seed in mlx5_features.SEEDS:
        write(folder / 'mlx5', seed, record(program, seed, mlx5_features.HUB))
    for seed in pg332_features.SEEDS:
        write(folder / 'pg332', seed, seed().script)


main()
