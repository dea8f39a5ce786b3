# SPDX-License-Identifier: GPL-2.0-or-later
"""More inputs of the verbs face for features.py: what is at fault in requests, memory and
packets, and machines other than two functions on a hub."""
import struct

from guest import ACCESS, ERR, RTS, Guest, Qp, buf
from peer import ACK, NAK, RNR_NAK, aeth, packet, reth

ALONE = '-device ernic,id=net0,addr=04.0'
HUB = ('-netdev hubport,id=h0,hubid=0 -netdev hubport,id=h1,hubid=0'
       ' -device ernic,id=net0,addr=04.0,netdev=h0'
       ' -device ernic,id=net1,addr=05.0,netdev=h1')
THREE = ALONE + ' -device ernic,id=net1,addr=05.0 -device ernic,id=net2,addr=06.0'
NOWHERE = 1 << 50
ON_DEMAND = 0x40
(SEND_FIRST, SEND_MIDDLE, SEND_LAST, _, SEND_ONLY, _, WRITE_FIRST, WRITE_MIDDLE,
 WRITE_LAST, _, WRITE_ONLY, _, READ_REQUEST, RSP_FIRST, RSP_MIDDLE, RSP_LAST, RSP_ONLY,
 ACKNOWLEDGE, ATOMIC_ACK, COMPARE_SWAP) = range(20)
SEND_ONLY_INV = 23


def rdma(address, key):
    return struct.pack('<QI', address, key)


def self_connected(g, kind='RC', **more):
    qp = Qp(g, kind, **more)
    qp.connect(qp)
    return qp


def wrong_requests(m):
    """Each reason for which the decoder refuses a request; the first ends the queue."""
    g = Guest(m)
    qp = self_connected(g)
    sge, noise = (g.memory, 8, g.key), b'\xff' * 48
    two_gib = (g.memory, 0x80000001, g.key)
    for opcode in (200, 'SEND', 'WRITE', 'CMP_SWAP', 'FLUSH', 'REG_MR', 'BIND_MW',
                   'LOCAL_INV'):
        qp.post(opcode, noise, sge)
    qp.post('SEND', flags=0xf1)
    qp.post('SEND', flags=9, count=500)
    qp.post('SEND', sge=sge, count=30)
    qp.post('SEND', sge=two_gib)
    qp.post('CMP_SWAP', rdma(g.memory, g.key))
    qp.post('CMP_SWAP', rdma(g.memory, g.key), (g.memory, 4, g.key))
    qp.send('FLUSH', struct.pack('<QIIBB', g.memory, g.key, 1 << 31 | 1, 1, 0))
    qp.send('FLUSH', struct.pack('<QIIBB', g.memory, g.key, 1, 4, 9))
    datagram = Qp(g, 'UD')
    datagram.connect(None)
    path = g.gid + g.mac
    heads = ((5, struct.pack('<BBIB3x', 0, 64, 0, 0)), (0, b'\xff' * 12),
             (0, struct.pack('<BBIB3x', 0, 64, 1 << 20, 0)),
             (0, struct.pack('<BBIB3x', 200, 64, 0, 0)),
             (0, struct.pack('<BBIB3x', 3, 64, 0, 0)))
    for pkey, rest in heads:
        datagram.send('SEND', struct.pack('<IIH6x', 0x11111111, 5, pkey) + path + rest,
                      sge)
        datagram.modify(RTS, 0)
    datagram.send('SEND', struct.pack('<IIH6x', 0x11111111, 5, 0) + path + heads[0][1],
                  (g.memory, 5000, g.key))
    datagram.modify(RTS, 0)
    datagram.send('READ', rdma(g.memory, g.key), sge)
    raw = Qp(g, 'RAW')
    raw.connect(None)
    raw.send('SEND', sge=(g.memory, 5, g.key))


def wrong_receives(m):
    """Receive requests that are malformed, elsewhere, or too short."""
    g = Guest(m)
    one, two = g.pair('RC')
    good = struct.pack('<QII', g.memory, 4096, g.key)
    bad = (struct.pack('<QH6s', 1, 0, b'x' * 6), struct.pack('<QH6x', 1, 300),
           struct.pack('<QH6x', 1, 9), struct.pack('<QH6x', 1, 1) +
           struct.pack('<QII', g.memory, 4096, g.key + 1),
           struct.pack('<QH6x', 1, 1) + struct.pack('<QII', NOWHERE, 4096, g.key),
           struct.pack('<QH6x', 1, 1) + struct.pack('<QII', g.memory, 10, g.key))
    for request in bad:
        m.ram(two.rq + two.received % 16 * 64, (request + good)[:64])
        two.received += 1
        g.doorbell(1, two.number, two.received)
        one.send('SEND', sge=(g.memory, 100, g.key))
        for qp in (one, two):
            qp.modify(0)
            qp.sent = qp.received = 0
        one.connect(two)
        two.connect(one)


def lost_memory(m):
    """Rings, regions and queues at addresses where nothing is."""
    g = Guest(m)
    lost = g.region(NOWHERE, 0x10000)
    for rings in ((NOWHERE, None), (None, NOWHERE)):
        one, two = Qp(g, 'RC'), Qp(g, 'RC')
        two = Qp(g, 'RC', rings=(rings[0] or two.sq, rings[1] or two.rq))
        one.connect(two)
        two.connect(one)
        two.receive(g.memory, 4096, g.key)
        one.send('SEND', sge=(g.memory, 100, g.key))
        two.send('SEND', sge=(g.memory, 100, g.key))
    for opcode, where, key, sge in (
            ('WRITE', NOWHERE, lost, (g.memory, 100, g.key)),
            ('READ', NOWHERE, lost, (g.memory, 100, g.key)),
            ('FETCH_ADD', NOWHERE, lost, (g.memory, 8, g.key)),
            ('FETCH_ADD', g.memory + 4, g.key, (g.memory, 8, g.key)),
            ('FETCH_ADD', g.memory, 5, (g.memory, 8, g.key)),
            ('READ', g.memory, g.key, (NOWHERE, 100, lost)),
            ('READ', g.memory, g.key, (g.memory, 100, 5)),
            ('FETCH_ADD', g.memory, g.key, (NOWHERE, 8, lost)),
            ('WRITE', g.memory, g.key, (NOWHERE, 100, lost))):
        one, two = g.pair('RC')
        one.send(opcode, rdma(where, key), sge)
    srq = g.command('SRQ_CREATE', buf(NOWHERE) + struct.pack('<IIIIHHII', 0, g.pd, 16, 0,
                                                             1, 0, 0, 0))
    g.doorbell(2, srq, 2)
    one, two = Qp(g, 'RC'), Qp(g, 'RC', srq)
    one.connect(two)
    two.connect(one)
    one.send('SEND', sge=(g.memory, 100, g.key))
    g.attempt('SRQ_MODIFY', buf(m.alloc(4096)) +
              struct.pack('<IIIIHHII', srq, 0, 32, 0, 0, 0, 0, 0))
    broken = self_connected(g, cq=g.cq(NOWHERE))
    broken.send('WRITE', rdma(g.memory, g.key), (g.memory, 8, g.key))


def events(m):
    """Event queues that are full, that wait, and that are no memory."""
    g = Guest(m)
    ring = buf(m.alloc(4096))
    small = g.command('EQ_CREATE', ring + struct.pack('<IHB', 2, 0, 0))
    broken = g.command('EQ_CREATE', buf(NOWHERE) + struct.pack('<IHB', 2, 0, 0))
    pairs = [self_connected(g, cq=g.cq(eq=eq)) for eq in (small,) * 5 + (broken,)]
    for qp in pairs:
        g.doorbell(4, qp.cq, 0)
        qp.post('WRITE', rdma(g.memory, g.key), (g.memory, 8, g.key))
    g.wait()
    m.script.migrate(0)
    for count in (9, 1, 2, 3):
        g.doorbell(6, small, count)
        g.wait()
    # Objects that go while their events wait.
    for qp in pairs:
        g.doorbell(5, qp.cq, 1)
        qp.post('WRITE', rdma(g.memory, g.key), (g.memory, 8, g.key))
        qp.modify(ERR)
        g.attempt('QP_DESTROY', struct.pack('<I', qp.number))
        g.attempt('CQ_DESTROY', struct.pack('<I', qp.cq))
    for shape in ((3, 0, 0), (2, 99, 0), (2, 0, 2), (2, 0, 1)):
        g.attempt('EQ_CREATE', ring + struct.pack('<IHB', *shape))
    g.attempt('EQ_CREATE', buf(1) + struct.pack('<IHB', 2, 0, 0))
    for eq in (small, small, broken, g.eq, 99):
        g.attempt('EQ_DESTROY', struct.pack('<I', eq))
    for i in range(6):
        g.attempt('EQ_CREATE', ring + struct.pack('<IHB', 2, 0, 0))


def queues(m):
    """Commands of shared receive queues that are refused."""
    g = Guest(m)
    ring = buf(m.alloc(4096))
    # handle, pd, depth, limit, stride, reserved, domain, cq
    right = [0, g.pd, 16, 0, 1, 0, 0, 0]
    for at, value in ((0, 5), (1, 99), (2, 3), (3, 17), (4, 9), (4, 0), (5, 1), (6, 99),
                      (7, 1)):
        wrong = list(right)
        wrong[at] = value
        g.attempt('SRQ_CREATE', ring + struct.pack('<IIIIHHII', *wrong))
    g.attempt('SRQ_CREATE', buf(1) + struct.pack('<IIIIHHII', *right))
    srq = g.command('SRQ_CREATE', ring + struct.pack('<IIIIHHII', *right))
    g.doorbell(2, srq, 8)
    g.doorbell(2, srq, 40)
    for fields in ((srq, 1, 0, 0), (srq, 0, 3, 0), (srq, 0, 4, 0), (srq, 0, 32, 5),
                   (srq, 0, 0, 17), (99, 0, 0, 0)):
        g.attempt('SRQ_MODIFY', (ring if fields[2] else buf(0)) +
                  struct.pack('<IIIIHHII', *fields, 0, 0, 0, 0))
    g.attempt('SRQ_MODIFY', ring + struct.pack('<IIIIHHII', srq, 0, 0, 1, 0, 0, 0, 0))
    g.attempt('SRQ_MODIFY', buf(1) + struct.pack('<IIIIHHII', srq, 0, 32, 0, 0, 0, 0, 0))
    qp = self_connected(g, srq=srq)
    for handle in (srq, 99):
        g.attempt('SRQ_DESTROY', struct.pack('<I', handle))
    g.attempt('QP_DESTROY', struct.pack('<I', qp.number))
    g.attempt('SRQ_DESTROY', struct.pack('<I', srq))


def register(g, address=0, length=0x1000, pd=None, access=ACCESS, offset=0, key=0,
             flags=0, shape=(0, 0, 0), start=0):
    """Fields of MR_REG and MR_REREG. shape: pages, page shift, levels."""
    return struct.pack('<QIBBHQQIIIII', start, *shape, 0, address, length,
                       g.pd if pd is None else pd, access, offset, key, flags)


def regions(m):
    """Registrations that are refused, and each change of a region."""
    g = Guest(m)
    other = g.command('PD_ALLOC')
    memory = g.memory
    for fields in ({'access': 0x8000}, {'access': 2}, {'length': 1 << 62},
                   {'address': (1 << 64) - 5}, {'access': 0x21}, {'pd': 99},
                   {'offset': 5}, {'shape': (2, 12, 1), 'offset': 5000},
                   {'access': ON_DEMAND | 1, 'shape': (0, 5, 0)},
                   {'access': ON_DEMAND | 1, 'shape': (1, 12, 0)}):
        g.attempt('MR_REG', register(g, **fields))
    key = g.command('MR_REG', register(g, memory, start=memory))
    demand = g.command('MR_REG', register(g, 0, 1 << 20, access=ON_DEMAND | 0xf,
                                          shape=(0, 12, 0)))
    for fields in ({'flags': 8}, {'flags': 4, 'length': 5}, {'flags': 1, 'pd': 1},
                   {'flags': 2, 'pd': 99}, {'flags': 4, 'access': 2},
                   {'flags': 4, 'access': ON_DEMAND}, {'flags': 2, 'pd': other},
                   {'flags': 4, 'access': 1},
                   {'flags': 7, 'pd': g.pd, 'access': 0x1f, 'address': memory,
                    'length': 0x2000, 'start': memory},
                   {'flags': 1, 'length': 0x2000, 'start': memory, 'offset': 9},
                   {'flags': 1, 'length': 0x2000, 'shape': (1, 12, 1), 'start': 4}):
        fields = {'length': 0, 'pd': 0, 'access': 0, 'key': key} | fields
        g.attempt('MR_REREG', register(g, **fields))
    g.attempt('MR_REREG', register(g, 0, 0, 0, 0, key=77, flags=4))
    g.attempt('MR_REREG', register(g, 0, 0x1000, 0, 0, key=demand, flags=1,
                                   shape=(0, 12, 0)))
    for number, first, count, where in ((key, 0, 1, 0), (demand, 999, 1, 0),
                                        (demand, 0, 0, 0), (demand, 0, 256, memory + 4),
                                        (demand, 0, 4, NOWHERE)):
        g.attempt('MR_PAGES', struct.pack('<QQQI', where, first, count, number))
    for name, fields in (('MR_ALLOC', (99, 4)), ('MR_ALLOC', (g.pd, 1 << 30)),
                         ('MW_ALLOC', (99, 1)), ('MW_ALLOC', (g.pd, 7)),
                         ('MR_FREE', (77, 0)), ('MW_FREE', (key, 0)),
                         ('PAGE_RESUME', (0, 0))):
        g.attempt(name, struct.pack('<II', *fields))
    g.attempt('PAGE_RESUME', struct.pack('<QIIB', 0, demand, 1, 7))
    # As many as there are: they run out.
    for _ in range(6):
        g.attempt('MR_FREE', struct.pack('<I', key))
        key = g.attempt('MR_REG', register(g, memory, start=memory))[1]


def binds(m):
    """REG_MR, BIND_MW and invalidations that fail; each ends a queue pair."""
    g = Guest(m)
    other = g.command('PD_ALLOC')
    fast = g.command('MR_ALLOC', struct.pack('<II', g.pd, 4))
    one_, two_ = (g.command('MW_ALLOC', struct.pack('<IB', g.pd, kind))
                  for kind in (1, 2))
    foreign = g.command('MW_ALLOC', struct.pack('<IB', other, 2))
    plain = g.region(g.memory, 0x1000, 1)
    based = g.command('MR_REG', register(g, 0, access=0x3f, start=g.memory))
    outside = g.command('MR_REG', register(g, g.memory, pd=other, start=g.memory))
    pages = m.alloc(4096)
    m.ram(pages, struct.pack('<2Q', g.memory, 5))

    def reg_mr(key, access=ACCESS, iova=0, length=4096, where=pages, count=1, shift=12):
        return 'REG_MR', struct.pack('<IIQQQIB', key, access, iova, length, where, count,
                                     shift)

    def bind(key, region, access=6, address=g.memory, length=0x100, new=0):
        return 'BIND_MW', struct.pack('<IIIIQQ', key, new or key + 1, region, access,
                                      address, length)

    wrong = (reg_mr(g.key), reg_mr(fast, access=2), reg_mr(fast, count=5),
             reg_mr(fast, length=8192), reg_mr(fast, shift=99), reg_mr(fast, count=2),
             reg_mr(fast, where=NOWHERE), bind(99 << 8, g.key), bind(foreign, g.key),
             bind(one_, g.key, 0x8006), bind(one_, g.key, 0x26), bind(two_, g.key, 6,
                                                                      length=0),
             bind(one_, 5), bind(one_, outside), bind(one_, plain), bind(one_, based),
             bind(one_, g.key, address=g.memory + 0x40000))
    for opcode, body in wrong:
        qp = self_connected(g)
        qp.send(opcode, body)
        g.attempt('QP_DESTROY', struct.pack('<I', qp.number))
    for key in (g.key, one_, 0xffffff00):
        qp = self_connected(g)
        qp.send('LOCAL_INV', imm=key)
        g.attempt('QP_DESTROY', struct.pack('<I', qp.number))


def bound(m):
    """Windows and a fast-register region that others try to use and to invalidate."""
    g = Guest(m)
    window = g.command('MW_ALLOC', struct.pack('<IB', g.pd, 2))
    fast = g.command('MR_ALLOC', struct.pack('<II', g.pd, 4))
    pages = m.alloc(4096)
    m.ram(pages, struct.pack('<2Q', g.memory, g.memory))
    qp, mine = self_connected(g), self_connected(g)
    qp.send('BIND_MW', struct.pack('<IIIIQQ', window, window + 1, g.key, 6, g.memory,
                                   0x100))
    qp.send('REG_MR', struct.pack('<IIQQQIB', fast, 0, 0, 4096, pages, 1, 12))
    for opcode, body, imm in (('WRITE', rdma(g.memory, window + 1), 0),
                              ('LOCAL_INV', b'', window + 1)):
        mine.send(opcode, body, None if imm else (g.memory, 8, g.key), imm=imm)
        g.attempt('QP_DESTROY', struct.pack('<I', mine.number))
        mine = self_connected(g)
    for command, key in (('MR_FREE', g.key), ('MR_REREG', g.key)):
        g.attempt(command, struct.pack('<I', key) if command == 'MR_FREE' else
                  register(g, 0, 0, 0, 1, key=key, flags=4))
    mine.send('WRITE', rdma(g.memory, g.key), (g.memory, 8, window + 1))
    mine = self_connected(g)
    mine.receive(g.memory, 4096, g.key)
    mine.send('SEND_INV', imm=fast, inline=b'x')
    g.attempt('QP_DESTROY', struct.pack('<I', qp.number))


def peer_ends(g, h):
    """Packets of a peer that end a queue pair, after the requests that they answer."""
    where, data = g.memory + 0x8000, bytes(1024)
    send, read, atomic = ('SEND', 100), ('READ', 3000), ('FETCH_ADD', 8)
    return (
        (None, (SEND_MIDDLE, data)), (None, (WRITE_LAST, data[:16])),
        (None, (SEND_FIRST, data[:16])),
        (None, (WRITE_ONLY, reth(where, g.key, 32) + data[:16])),
        (None, (WRITE_FIRST, reth(where, g.key, 1500) + data), (SEND_ONLY, data[:8])),
        (None, (WRITE_FIRST, reth(where, g.key, 1500) + data), (WRITE_LAST, data[:8])),
        (None, (READ_REQUEST, reth(where, 5, 100))),
        (None, (COMPARE_SWAP, reth(where + 1, g.key, 0)[:12] + data[:16])),
        (None, (SEND_ONLY_INV, struct.pack('>I', g.key) + data[:8])),
        (None, *((READ_REQUEST, reth(where, g.key, 3000)),) * 2,
         *((READ_REQUEST, reth(where, g.key, 3000)),) * 9),
        (send, (ACKNOWLEDGE, aeth(NAK | 1))), (send, (ACKNOWLEDGE, aeth(NAK | 2))),
        (send, (ACKNOWLEDGE, aeth(NAK | 3))), (send, (ACKNOWLEDGE, aeth(NAK | 4))),
        (send, (ACKNOWLEDGE, aeth(0x40))), (send, (RSP_ONLY, aeth(ACK) + data[:16])),
        (send, (ACKNOWLEDGE, aeth(RNR_NAK | 1)), (ACKNOWLEDGE, aeth(RNR_NAK | 1)), 1,
         (ACKNOWLEDGE, aeth(RNR_NAK | 1)), 1, (ACKNOWLEDGE, aeth(RNR_NAK | 1))),
        (send, (ACKNOWLEDGE, aeth(NAK)), (ACKNOWLEDGE, aeth(NAK)), 1,
         (ACKNOWLEDGE, aeth(NAK))),
        (read, (RSP_FIRST, aeth(ACK) + data[:16])), (read, (RSP_ONLY, aeth(ACK) + data)),
        (read, (RSP_FIRST, aeth(ACK) + data), (RSP_LAST, aeth(ACK) + data[:952])),
        (read, (ATOMIC_ACK, aeth(ACK) + data[:8])),
        (atomic, (RSP_ONLY, aeth(ACK) + data[:8])),
        (atomic, (ACKNOWLEDGE, aeth(ACK))))


def ends(m, which):
    g, h = Guest(m), Guest(m, 1)
    for i, (request, *packets) in enumerate(peer_ends(g, h)):
        if i % 2 != which:
            continue
        qp = Qp(g, 'RC')
        h.number, h.guest = 100 + i, h
        qp.connect(h, mtu=3, retry=1, rnr=1, timeout=1)
        qp.receive(g.memory + 0x10000, 4096, g.key)
        if request:
            body = b'' if request[0] == 'SEND' else rdma(h.memory, h.key)
            qp.post(request[0], body, (g.memory, request[1], g.key))
        psn = 0x1000
        for item in packets:
            if item == 1:
                m.step(200000)
                continue
            m.script.frame(0, packet(g, h, qp.number, item[0], psn, item[1]))
            psn += item[0] in (SEND_FIRST, WRITE_FIRST, RSP_FIRST, READ_REQUEST)
        m.step(100000)
        m.step(100000)


def peer_ends_requests(m):
    ends(m, 0)


def peer_ends_answers(m):
    ends(m, 1)


def ipv6(m):
    """Connections and datagrams over IPv6, and IPv4 in a VLAN."""
    g, h = Guest(m), Guest(m, 1)
    for index, prefix, vlan in ((1, b'\xfd' + bytes(14), 0xffff),
                                (2, bytes(10) + b'\xff\xff\x0a\1\0', 5)):
        gids = [prefix + bytes([i + 1]) for i in range(2)]
        for guest, gid in zip((g, h), gids):
            guest.command('SET_GID', gid + guest.mac + struct.pack('<HB', vlan, index))
        one, two = Qp(g, 'RC'), Qp(h, 'RC')
        one.connect(two, tclass=2, sgid=index, gid=gids[1])
        two.connect(one, tclass=2, sgid=index, gid=gids[0])
        two.receive(h.memory, 8192, h.key)
        one.send('SEND', sge=(g.memory, 3000, g.key))
        one.send('READ', rdma(h.memory, h.key), (g.memory, 3000, g.key))
        one, two = g.pair('UD', h)
        two.receive(h.memory, 4096, h.key)
        path = gids[1] + h.mac + struct.pack('<BBIB3x', index, 64, 0x12345, 2)
        one.send('SEND', struct.pack('<IIH6x', 0x11111111, two.number, 0) + path,
                 (g.memory, 256, g.key))


def wrong_frames(m):
    """Frames whose headers contradict each other, to a queue pair that waits."""
    g, h = Guest(m), Guest(m, 1)
    qp, two = g.pair('RC', h)
    right = packet(g, h, qp.number, SEND_ONLY, 0x1000, bytes(16))
    for at, byte in ((14, 0x46), (14, 0x44), (14, 0x65), (16, 9), (17, 5), (20, 0x20),
                     (21, 1), (24, 1), (23, 6), (36, 1), (38, 7), (38, 0), (43, 0x0f),
                     (42, 99), (42, 0xc0), (46, 1), (44, 0)):
        frame = bytearray(right)
        frame[at] = byte
        m.script.frame(0, frame)
    v6 = (g.mac + h.mac + b'\x86\xdd' + struct.pack('>IHBB', 6 << 28, 36, 17, 64) +
          b'\xfd' * 16 + b'\xfd' * 16 + struct.pack('>HHHH', 49152, 4791, 36, 0) +
          right[42:])
    for at, byte in ((14, 0x60), (18, 99), (19, 4), (20, 6), (58, 99), (56, 0)):
        frame = bytearray(v6)
        frame[at] = byte
        m.script.frame(0, frame)
    mapped = bytearray(v6)
    mapped[22:38] = bytes(10) + b'\xff\xff\x0a\0\0\2'
    m.script.frame(0, mapped)
    for tag in (b'\x81\0\0\5', b'\x81\0\x0f\xff'):
        m.script.frame(0, right[:12] + tag + right[12:])
    for size in (10, 20, 36, 45):
        m.script.frame(0, right[:size])


def datagram(to, number, gid, index=0):
    """Operands of a SEND to a queue pair, or to a group."""
    return (struct.pack('<IIH6x', 0x11111111, number, 0) + gid +
            (b'\1\0\x5e\0\0\1' if gid[0] == 0xff else to.mac) +
            struct.pack('<BBIB3x', index, 64, 0, 0))


def aliases(m):
    """Peers with several addresses at one endpoint of the UDP link, and a group."""
    g, h = Guest(m), Guest(m, 1)
    group = b'\xff\x0e' + bytes(8) + b'\xff\xff\xe0\0\0\1'
    sender, receiver = g.pair('UD', h)
    for i in range(10):
        receiver.receive(h.memory, 4096, h.key)
    h.command('MCAST_ATTACH', group + struct.pack('<I', receiver.number))
    m.script.peer(0, '10.0.0.2', 1)
    m.script.peer(1, '10.0.0.1', 0)
    sge = (g.memory, 256, g.key)

    def all_ways(gids, sources=2):
        for index in range(sources):
            for gid in gids:
                number = 0xffffff if gid == group else receiver.number
                sender.send('SEND', datagram(h, number, gid, index), sge)

    all_ways((h.gid, group), 1)
    other = [guest.gid[:-1] + bytes([guest.gid[-1] + 6]) for guest in (g, h)]
    for guest, gid in zip((g, h), other):
        guest.command('SET_GID', gid + guest.mac + struct.pack('<HB', 0xffff, 1))
    for device in range(2):
        for gid, port in ((g.gid, 0), (other[0], 0), (h.gid, 1), (other[1], 1)):
            m.script.peer(device, '.'.join(map(str, gid[12:])), port)
    all_ways((h.gid, other[1], group))
    # From an address that the receiver does not have, and to one.
    m.script.peer(1, '.'.join(map(str, other[0][12:])), 0, remove=True)
    all_ways((h.gid, other[1]))
    m.script.datagram(1, bytes(30))


def page_faults(m):
    """Pages that are absent at the responder's READ, its receive queue and an atomic, are
    refused, or go with their region."""
    g = Guest(m)
    key = g.command('MR_REG', register(g, 0x100000, 1 << 20, shape=(0, 12, 0),
                                       access=ACCESS & ~0x10 | ON_DEMAND))
    for failed in (0, 1):
        for opcode, sge in (('READ', (g.memory, 3000, g.key)),
                            ('WRITE', (g.memory, 3000, g.key)),
                            ('FETCH_ADD', (g.memory, 8, g.key)),
                            ('SEND', (g.memory, 3000, g.key)),
                            ('READ', (0x140000, 3000, key)),
                            ('WRITE', (0x140000, 3000, key))):
            one, two = g.pair('RC')
            two.receive(0x180000, 4096, key)
            local = sge[2] == key
            one.send(opcode, rdma(g.memory, g.key) if local else rdma(0x100000, key), sge)
            if failed == 0 and opcode in ('READ', 'SEND'):
                m.script.migrate(0)
            asked, at = (one, 0x40000) if local else (two, 0x80000 if opcode == 'SEND'
                                                      else 0)
            g.command('PAGE_RESUME', struct.pack('<QIIB', at, key, asked.number, failed))
            g.wait()
            for qp in (one, two):
                g.attempt('QP_DESTROY', struct.pack('<I', qp.number))
    one, two = g.pair('RC')
    one.send('READ', rdma(0x100000, key), (g.memory, 3000, g.key))
    g.attempt('EQ_DESTROY', struct.pack('<I', g.eq))
    g.attempt('MR_FREE', struct.pack('<I', key))
    g.wait()


def waiting(m):
    """Requests of each kind that nobody answers, on a device with pages on demand."""
    g = Guest(m)
    key = g.command('MR_REG', register(g, 0x100000, 1 << 20, shape=(0, 12, 0),
                                       access=ACCESS & ~0x10 | ON_DEMAND))
    fast = g.command('MR_ALLOC', struct.pack('<II', g.pd, 4))
    window = g.command('MW_ALLOC', struct.pack('<IB', g.pd, 2))
    pages = m.alloc(4096)
    m.ram(pages, struct.pack('<4Q', *(g.memory + i * 4096 | 3 for i in range(4))) +
          bytes(96) + struct.pack('<2Q', g.memory, g.memory))
    g.command('MR_PAGES', struct.pack('<QQQI', pages, 0, 4, key))
    g.attempt('MR_REG', register(g, 0, shape=(2, 12, 1), start=pages + 128))
    qp = Qp(g, 'RC')
    qp.connect(qp, dest=99, gid=bytes(10) + b'\xff\xff\x0a\0\0\x63')
    for i in range(2):
        qp.receive(g.memory, 4096, g.key)
    qp.post('SEND', sge=(g.memory, 100, g.key))
    qp.post('SEND', inline=b'inline')
    qp.post('REG_MR', struct.pack('<IIQQQIB', fast, 0, 0, 4096, pages + 128, 1, 12))
    qp.post('BIND_MW', struct.pack('<IIIIQQ', window, window + 1, g.key, 6, g.memory,
                                   0x100))
    qp.post('READ', rdma(g.memory, g.key), (g.memory, 3000, g.key))
    qp.post('FLUSH', struct.pack('<QIIBB', g.memory, g.key, 100, 1, 0))
    qp.post('LOCAL_INV', imm=fast, flags=5)
    qp.post('REG_MR', struct.pack('<IIQQQIB', fast, 0, 0, 4096, pages + 128, 1, 12),
            flags=5)
    qp.post('SEND', inline=b'inline', flags=5)
    qp.post(77)
    return g, qp


def held_requests(m):
    """They migrate, and are sent again until the retries are used up."""
    waiting(m)
    m.script.migrate(0)
    m.step(2000000)
    m.script.migrate(0)
    m.script.link(0, 1)
    m.script.step()
    m.script.link(0, 0)
    for _ in range(20):
        m.script.step()


def head_changed(m):
    """The beginning of the stream, with a byte changed: the function, its registers."""
    waiting(m)
    for at in range(256, 1000, 6):
        m.script.migrate(0, [(at, 0xff)])


def responders(m):
    """Responses that wait for a page, a rate or a key, and that are asked for again."""
    g, h = Guest(m), Guest(m, 1)
    demand = g.command('MR_REG', register(g, 0x100000, 1 << 20, shape=(0, 12, 0),
                                          access=ACCESS & ~0x10 | ON_DEMAND))
    pages = m.alloc(4096)
    m.ram(pages, struct.pack('<Q', g.memory | 3))
    gone = g.region(g.memory, 0x1000)

    def come(qp, psn, opcode, body=b''):
        m.script.frame(0, packet(g, h, qp.number, opcode, psn, body))

    for end in range(3):
        qp = Qp(g, 'RC')
        qp.connect(Qp(h, 'RC'))
        qp.receive(g.memory, 4096, g.key)
        g.command('MR_PAGES', struct.pack('<QQQI', pages, 0, 1, demand))
        come(qp, 0x1000, READ_REQUEST, reth(0x100000, demand, 9000))
        come(qp, 0x1009, SEND_ONLY, bytes(8))
        m.script.migrate(0)
        if end == 0:
            g.command('PAGE_RESUME', struct.pack('<QIIB', 4096, demand, qp.number, 1))
        elif end == 1:
            g.command('SET_GID', bytes(22) + struct.pack('<HB', 0xffff, 0))
            g.command('PAGE_RESUME', struct.pack('<QIIB', 4096, demand, qp.number, 0))
            g.command('SET_GID', g.gid + g.mac + struct.pack('<HB', 0xffff, 0))
        else:
            g.attempt('QP_DESTROY', struct.pack('<I', qp.number))
        g.wait()
        g.command('MR_PAGES', struct.pack('<QQQI', 0, 0, 256, demand))
    qp = Qp(g, 'RC')
    qp.connect(Qp(h, 'RC'))
    for key in (gone, g.key):
        come(qp, 0x1000, READ_REQUEST, reth(g.memory, gone, 100))
        g.attempt('MR_FREE', struct.pack('<I', gone))
    for _ in range(6):
        come(qp, 0, 0x81, bytes(16))
        m.step(60000)
    come(qp, 0x1001, READ_REQUEST, reth(g.memory, g.key, 0x30000))
    come(qp, 0x10c1, READ_REQUEST, reth(g.memory, g.key, 0x30000))
    m.script.migrate(0)
    for _ in range(3):
        m.step(200000)


def crowded_wire(m):
    """Two senders fill the port of a third; marks, pauses and lost frames follow."""
    f, g, h = Guest(m), Guest(m, 1), Guest(m, 2)
    pairs = []
    for i in range(3):
        for sender in (f, g):
            pairs.append(sender.pair('RC', h, mtu=5, tclass=2)[0])
    for qp in pairs:
        for _ in range(2):
            qp.post('WRITE', rdma(h.memory, h.key), (qp.guest.memory, 0x20000,
                                                    qp.guest.key))
    for i in range(12):
        m.step(4000)
        m.script.statistics(0)
    m.script.migrate(0)
    m.script.migrate(0xff)
    for i in range(12):
        m.step(20000)
    broadcast = b'\xff' * 6 + f.mac + b'\x08\x06' + bytes(50)
    m.script.frame(0, broadcast)
    m.step(1000000)


def many_packets(m):
    """More small packets of WRITEs under way than the modelled hardware keeps."""
    g, h = Guest(m), Guest(m, 1)
    pairs = [g.pair('RC', h, mtu=1)[0] for _ in range(6)]
    for qp in pairs:
        for _ in range(3):
            qp.post('WRITE', rdma(h.memory, h.key), (g.memory, 0x20000, g.key))
    for _ in range(6):
        m.step(20000)
        m.script.statistics(0)
    m.script.migrate(0)
    for _ in range(6):
        m.step(200000)
    pairs[0].modify(ERR)
    m.step(2000000)


def changed_states(m):
    """Streams of a busy device with a byte changed somewhere."""
    waiting(m)
    for i in range(50):
        m.script.migrate(0, [(i * 9973, (1, 0xff, 0x80)[i % 3])])


def tail_changed(m):
    """The same, near the end: what queues hold."""
    waiting(m)
    for i in range(50):
        m.script.migrate(0, [(-3 - i * 29, (1, 0xff, 0x80)[i % 3])])


def under_way(m):
    """With the timing model: the input ends, and migrates, in the middle of work."""
    g, h = Guest(m), Guest(m, 1)
    one, two = g.pair('RC', h)
    back = Qp(h, 'RC')
    back.connect(Qp(g, 'RC'))
    for i in range(4):
        two.receive(h.memory, 4096, h.key)
    for ns in (300, 700, 1100, 1500, 1900, 2500):
        one.post('SEND', sge=(g.memory, 100, g.key))
        one.post('READ', rdma(h.memory, h.key), (g.memory, 5000, g.key))
        one.post('WRITE', rdma(h.memory, h.key), (g.memory, 5000, g.key))
        m.step(ns)
        m.script.migrate(0)
        m.script.migrate(1)
    for i in range(40):
        m.script.migrate(i % 2, [(-3 - i * 57, (1, 0xff, 0x80)[i % 3])])
    one.post('READ', rdma(h.memory, h.key), (g.memory, 5000, g.key))
    m.step(900)


SEEDS = {wrong_requests: ALONE, wrong_receives: ALONE, lost_memory: ALONE, events: ALONE,
         queues: ALONE, regions: ALONE, binds: ALONE, bound: ALONE,
         peer_ends_requests: HUB, peer_ends_answers: HUB, ipv6: HUB, wrong_frames: HUB,
         aliases: HUB, page_faults: ALONE, held_requests: ALONE, crowded_wire: THREE,
         many_packets: HUB, changed_states: ALONE, head_changed: ALONE,
         tail_changed: ALONE, responders: HUB, under_way: HUB}
