# SPDX-License-Identifier: GPL-2.0-or-later
"""Software for the registers of PG332, versions 4.x, as pg332_features.py needs it.
It waits for nothing, so it needs no machine: its accesses are a script."""
import re
import struct
from pathlib import Path

import peer
from script import Script

HEADER = Path(__file__).resolve().parents[3] / 'include/hw/rdma-ernic/ernic_regs.h'
BAR, BLOCK = 0, 0x100
WRITE, WRITE_IMM, SEND, SEND_IMM, READ = range(5)
SEND_INV = 0xc
DEPTH, SLOT = 16, 256           # requests and buffers of a queue pair; bytes of a buffer
PSN, PEER_PSN = 0x5000, 0x1000
KEY_BYTE = 0x42
NOWHERE = 1 << 50
VA = 0x7000000000


def read_registers():
    """The offsets of registers and the blocks that they are in, by name."""
    text = re.sub(r'/\*.*?\*/', '', HEADER.read_text(), flags=re.S)
    return {name: int(value, 0) for name, value in
            re.findall(r'PG332_(\w+)\s*=?\s+(0x[0-9a-f]+)\b', text)}


REG = read_registers()


class Address:
    """A host on the network."""

    def __init__(self, number):
        self.gid = bytes(10) + b'\xff\xff\x0a\0\0' + bytes([number])
        self.mac = b'\0\x0a\x35\1\2' + bytes([number])


class Card:
    """A function, whose queue pairs have a peer that only sends frames."""

    def __init__(self, device=0, errors=True, policy=0, slots='V4_0_QP'):
        self.script, self.device, self.next = Script(), device, 0x100000
        self.slots = REG[slots]
        self.own, self.peer = Address(device + 1), Address(9)
        self.posted = {}
        self.memory, self.queue = self.alloc(0x10000), self.alloc(4096)
        self.buffers = self.alloc(0x10000)
        for name, value in (('IPKTERRQBA', self.queue), ('IPKTERRQSZ', 8),
                            ('ERRBUFBA', self.buffers), ('ERRBUFSZ', 0x01000008),
                            ('DATBUFBA', self.buffers + 0x1000),
                            ('DATBUFSZ', 0x00800400), ('INTEN', 0x1fb),
                            ('MACXADDLSB', 0x35010201 + device), ('MACXADDMSB', 10),
                            ('IPv4XADD', 0x0a000001 + device),
                            ('XRNIC_CONF_QP_EN', 31),
                            ('XRNICCONF', 0x12b701 | errors << 5 | policy << 3)):
            self.put(name, value)

    def alloc(self, size):
        address = self.next
        self.next += size + 255 & ~255
        return address

    def write(self, offset, value):
        self.script.write(self.device, BAR, offset, value)

    def put(self, name, value):
        self.write(REG['V4_GLOBAL'] + REG[name], value)

    def get(self, name):
        self.script.read(self.device, BAR, REG['V4_GLOBAL'] + REG[name])

    def put_qp(self, qpn, name, value):
        self.write(self.slots + (qpn - 1) * BLOCK + REG[name], value)

    def get_qp(self, qpn, name):
        self.script.read(self.device, BAR,
                         self.slots + (qpn - 1) * BLOCK + REG[name])

    def side(self, name, value):
        self.write(REG['V4_SIZE'] + REG['SIDE_' + name], value)

    def region(self, number, **more):
        """Returns its key. more: registers with other values than usual."""
        entry = {'PDPDNUM': 0, 'VIRTADDRLSB': VA & 0xffffffff, 'VIRTADDRMSB': VA >> 32,
                 'BUFBASEADDRLSB': self.memory, 'BUFBASEADDRMSB': 0,
                 'BUFRKEY': KEY_BYTE, 'WRRDBUFLEN': 0x8000, 'ACCESSDESC': 2} | more
        for name, value in entry.items():
            self.write(number * BLOCK + REG[name], value)
        return number << 8 | entry['BUFRKEY']

    def open(self, qpn, timeout=0, **more):
        """A queue pair, with a path MTU of 256."""
        sq, cq, rq = (self.alloc(DEPTH * size) for size in (64, 4, SLOT))
        self.posted[qpn] = 0, sq
        values = {'IPDESADDR1': 0x0a000009, 'MACDESADDLSB': 0x35010209,
                  'MACDESADDMSB': 10, 'SQBA': sq, 'CQBA': cq, 'RQBA': rq,
                  'CQDBADD': self.queue + 0x800 + 8 * qpn,
                  'RQWPTRDBADD': self.queue + 0x804 + 8 * qpn, 'DESTQPCONF': 100 + qpn,
                  'QDEPTH': DEPTH << 16 | DEPTH, 'TIMEOUTCONF': timeout,
                  'QPADVCONF': 0xffff4000, 'LSTRQREQ': 0x04000000 | PEER_PSN - 1,
                  'SQPSN': PSN, 'QPCONF': 0x1003d} | more
        for name, value in values.items():
            self.put_qp(qpn, name, value)

    def post(self, qpn, opcode, length=64, laddr=None, key=0, raddr=VA, data=b'', imm=0,
             count=1):
        """Requests that one store posts."""
        done, sq = self.posted[qpn]
        for i in range(done, done + count):
            wqe = struct.pack('<HHQI', i, 0, self.memory if laddr is None else laddr,
                              length)
            wqe += struct.pack('<BxxxQI', opcode, raddr, key) + data.ljust(16, b'\0')
            self.script.ram(sq + i % DEPTH * 64, wqe + struct.pack('<I', imm))
        done += count
        self.posted[qpn] = done, sq
        self.put_qp(qpn, 'SQPI', (done - 1) % DEPTH + 1)

    def frame(self, qpn, opcode, psn, body=b'', **more):
        self.script.frame(self.device, peer.packet(self.own, self.peer, qpn, opcode, psn,
                                                   body, **more))
