# SPDX-License-Identifier: GPL-2.0-or-later
"""A small driver of the verbs face for features.py: it runs a machine over the qtest
protocol, and keeps each access that it makes in a script."""
import re
import socket
import struct
import subprocess
import tempfile
from pathlib import Path

from script import Script

INCLUDE = Path(__file__).resolve().parents[3] / 'include/hw/rdma-ernic'
DEPTH = 16
RING_SHIFT = 6
NONE = 0xffffffff
ACCESS = 0x1f                   # all of a region; of a queue pair with FLUSH


def numbers(prefix):
    """The constants of the enumerations in the headers of the verbs face, by name."""
    found = {}
    text = ''.join(path.read_text() for path in sorted(INCLUDE.glob('ernic_abi_*.h')))
    text = re.sub(r'/\*.*?\*/', '', text, flags=re.S)
    for body in re.findall(r'enum \w+ \{(.*?)\}', text, flags=re.S):
        for value, name in enumerate(re.findall(r'ERNIC_(\w+)', body)):
            if name.startswith(prefix):
                found[name[len(prefix):]] = value
    return found


CMD, WR, QPT = numbers('CMD_'), numbers('WR_'), numbers('QPT_')
RESET, INIT, RTR, RTS, SQD, SQE, ERR = range(7)


def buf(address):
    return struct.pack('<QIBBH', address, 0, 0, 0, 0)


class Machine:
    """QEMU with functions at 04.0 and up."""

    def __init__(self, program, devices):
        self.script = Script()
        self.folder = tempfile.TemporaryDirectory()
        path = self.folder.name + '/qtest'
        server = socket.socket(socket.AF_UNIX)
        server.bind(path)
        server.listen()
        self.process = subprocess.Popen(
            [program, '-display', 'none', '-machine', 'pc,accel=qtest', '-nodefaults',
             '-m', '128M', '-qtest', 'unix:' + path, *devices.split()],
            stderr=subprocess.DEVNULL)
        self.file = server.accept()[0].makefile('rw')
        self.next = 0x100000
        self.bars = {}

    def close(self):
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()

    def ask(self, request):
        self.file.write(request + '\n')
        self.file.flush()
        while True:
            answer = self.file.readline().split()
            if answer and answer[0] in ('OK', 'FAIL'):
                return answer[1:]

    def config(self, device, offset, value):
        self.ask(f'outl 0xcf8 {0x80002000 + 0x800 * device + offset:#x}')
        self.ask(f'outl 0xcfc {value:#x}')

    def enable(self, device, bar=2):
        """The BAR of the registers at a fixed address: the target maps it itself."""
        base = 0xe0000000 + 0x2000000 * device
        self.bars[device] = bar, base
        self.config(device, 0x10 + 4 * bar, base)
        self.config(device, 0x14 + 4 * bar, 0)
        self.config(device, 4, 6)

    def alloc(self, size):
        address = self.next
        self.next += size + 4095 & ~4095
        return address

    def write(self, device, offset, value, size=4):
        name = 'writeq' if size == 8 else 'writel'
        bar, base = self.bars[device]
        self.ask(f'{name} {base + offset:#x} {value:#x}')
        self.script.write(device, bar, offset, value, size)

    def read(self, device, offset):
        return int(self.ask(f'readl {self.bars[device][1] + offset:#x}')[0], 0)

    def ram(self, address, data):
        self.ask(f'write {address:#x} {len(data):#x} 0x{data.hex()}')
        self.script.ram(address, data)

    def peek(self, address, size):
        return bytes.fromhex(self.ask(f'read {address:#x} {size:#x}')[0][2:])

    def step(self, ns=1000):
        self.ask(f'clock_step {ns}')
        self.script.step(ns)


class Qp:
    """A queue pair with a completion queue of its own."""

    def __init__(self, guest, kind, srq=NONE, pd=None, rings=None, cq=None):
        """rings: where the device looks for requests, if not where they are."""
        m = guest.m
        self.guest, self.kind, self.sent, self.received = guest, kind, 0, 0
        self.sq, self.rq = m.alloc(DEPTH * 192), m.alloc(DEPTH * 64)
        rings = rings or (self.sq, self.rq)
        sends, receives = kind not in ('XRC_TGT', 'RWQ'), kind not in ('XRC_TGT',
                                                                       'XRC_INI')
        ring = receives and srq == NONE
        self.cq = cq or (guest.cq() if kind != 'XRC_TGT' else 0)
        init = (buf(rings[0] if sends else 0) + buf(rings[1] if ring else 0) +
                struct.pack('<IIIIIIBBBB4x', pd or guest.pd, self.cq if sends else 0,
                            self.cq if receives else 0, srq, DEPTH if sends else 0,
                            DEPTH if ring else 0, QPT[kind], 0, 3 if sends else 0,
                            1 if ring else 0))
        self.number = guest.with_memory('QP_CREATE', init)

    def modify(self, state, mask=0, peer=None, **more):
        value = {'access': 0x30e if self.kind != 'UC' else 2, 'qkey': 0x11111111,
                 'dest': peer.number if peer else 0, 'mtu': 3, 'timeout': 14, 'retry': 7,
                 'rnr': 7, 'rnr_timer': 1, 'reads': 4, 'rate': 0, 'sgid': 0, 'tclass': 0,
                 'gid': peer.guest.gid if peer else bytes(16)}
        value |= more
        attr = struct.pack('<IBBBBIIIIIHBBBBBBBB2xII16x', 1 | mask, state, 0, 0,
                           value['mtu'], value['access'], value['qkey'], 0x1000, 0x1000,
                           value['dest'], 0, 1, value['timeout'], value['retry'],
                           value['rnr'], value['rnr_timer'], value['reads'],
                           value['reads'], 0, value['rate'], 0)
        mac = peer.guest.mac if peer else bytes(6)
        attr += value['gid'] + mac + struct.pack('<BBIB3x', value['sgid'], 64, 0,
                                                 value['tclass'])
        return self.guest.with_memory('QP_MODIFY', attr, self.number)

    def connect(self, peer, **more):
        """To RTS, with the attributes that the type requires."""
        init = {'RAW': 0x20, 'RWQ': 0x20, 'UD': 0x70, 'GSI': 0x50}.get(self.kind, 0x38)
        datagram = self.kind in ('UD', 'GSI', 'RAW', 'RWQ')
        reliable = self.kind in ('RC', 'XRC_TGT', 'XRC_INI')
        rtr = 0 if datagram else 0x21180 | (0x14000 if self.kind in ('RC', 'XRC_TGT')
                                            else 0)
        rts = 0x8000 if self.kind not in ('RAW', 'RWQ') else 0
        if reliable:
            rts |= 0x200 | (0x2c00 if self.kind != 'XRC_TGT' else 0)
        self.modify(INIT, init, peer, **more)
        self.modify(RTR, rtr, peer, **more)
        if self.kind != 'RWQ':
            self.modify(RTS, rts, peer, **more)

    def receive(self, address, length, key):
        self.guest.m.ram(self.rq + self.received % DEPTH * 64,
                         struct.pack('<QH6xQII', self.received, 1, address, length, key))
        self.received += 1
        self.guest.doorbell(1, self.number, self.received)

    def send(self, *args, **more):
        self.post(*args, **more)
        self.guest.wait()

    def post(self, opcode, body=b'', sge=None, flags=1, imm=0, inline=b'', count=None):
        """body: of the opcode, 48 bytes; sge: address, length, key; opcode: its name, or
        its number if it has none."""
        if count is None:
            count = len(inline) if inline else 1 if sge else 0
        wqe = struct.pack('<BBHIQ', WR.get(opcode, opcode), flags | (8 if inline else 0),
                          count, imm, self.sent) + body.ljust(48, b'\0')
        wqe += inline or (struct.pack('<QII', *sge) if sge else b'')
        self.guest.m.ram(self.sq + self.sent % DEPTH * 192, wqe)
        self.sent += 1
        self.guest.doorbell(0, self.number, self.sent)


class Guest:
    """One function: rings, a protection domain, an event queue, a region."""

    def __init__(self, machine, device=0):
        m = self.m = machine
        self.device, self.pi = device, 0
        m.enable(device)
        self.commands, self.responses = m.alloc(4096), m.alloc(4096)
        self.scratch = m.alloc(4096)
        m.write(device, 0x30, self.commands, 8)
        m.write(device, 0x38, self.responses, 8)
        m.write(device, 0x40, RING_SHIFT)
        m.write(device, 0x10, 1)
        self.pages, self.shift = m.read(device, 0x20), m.read(device, 0x24)
        self.gid = bytes(10) + b'\xff\xff\x0a\0\0' + bytes([device + 1])
        self.mac = b'\x52\x54\0\0\0' + bytes([device + 1])
        self.command('SET_GID', self.gid + self.mac + struct.pack('<HB', 0xffff, 0))
        self.pd = self.command('PD_ALLOC')
        self.events = m.alloc(4096)
        self.eq = self.command('EQ_CREATE', buf(self.events) + struct.pack('<IHB', 64, 1,
                                                                           1))
        self.memory = m.alloc(0x40000)
        self.key = self.region(self.memory, 0x40000)

    def command(self, name, body=b''):
        """Returns the handle of a response, and fails with any but a success."""
        status, handle = self.attempt(name, body)
        if status:
            raise AssertionError(f'{name}: status {status}')
        return handle

    def attempt(self, name, body=b''):
        """Status and handle of a response."""
        at = self.pi % (1 << RING_SHIFT) * 64
        self.m.ram(self.commands + at, struct.pack('<BBHI', CMD[name], 0, self.pi, 0) +
                   body.ljust(56, b'\0'))
        self.pi += 1
        self.m.write(self.device, 0x44, self.pi)
        for _ in range(1000):
            if self.m.read(self.device, 0x48) == self.pi:
                break
            self.m.step()
        return struct.unpack('<HBBI', self.m.peek(self.responses + at, 8))[1::2]

    def with_memory(self, name, data, handle=0):
        self.m.ram(self.scratch, data)
        return self.command(name, struct.pack('<QII', self.scratch, len(data), handle))

    def region(self, address, length, access=ACCESS, shift=0):
        return self.command('MR_REG', struct.pack(
            '<QIBBHQQIIIII', address, 0, shift, 0, 0, address, length, self.pd, access, 0,
            0, 0))

    def request(self, number):
        """A receive request of a shared queue."""
        return struct.pack('<QH6xQII', number, 1, self.memory + 0x10000, 4096, self.key)

    def cq(self, ring=None, depth=64, eq=None):
        return self.command('CQ_CREATE', buf(ring or self.m.alloc(64 * 64)) +
                            struct.pack('<QIII', 0, depth, eq or self.eq, 0))

    def doorbell(self, kind, queue, index):
        self.m.write(self.device, self.pages, kind << 56 | queue << 32 | index, 8)

    def wait(self):
        for _ in range(4):
            self.m.step(2000)

    def pair(self, kind, other=None, **more):
        """Two queue pairs that are connected to each other."""
        one, two = Qp(self, kind), Qp(other or self, kind)
        one.connect(two, **more)
        two.connect(one, **more)
        return one, two
