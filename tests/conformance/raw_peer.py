# SPDX-License-Identifier: GPL-2.0-or-later
"""A peer that is no device: the host, at the other end of a guest's wire.

It answers WRITE and READ of RC by the table in semantics/answers.py; a request carries
the row in place of a remote address, and the queue pair in place of a key.
"""
import socket
import struct
import threading

from scapy.contrib.roce import BTH
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from semantics.answers import ANSWERS

PORT = 4791
WRITE_ONLY, READ_REQUEST = 0x0a, 0x0c


class RawPeer:
    """The other end of the stream at a path; it answers from its creation to close()."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(str(path))
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.socket.close()

    def serve(self):
        frames = self.socket.makefile('rb')
        while length := frames.read(4):
            if answer := self.answer(frames.read(int.from_bytes(length, 'big'))):
                self.socket.sendall(len(answer).to_bytes(4, 'big') + answer)

    def answer(self, frame):
        """The answer to a request that names a row of the table; else None."""
        request = Ether(frame)
        if BTH not in request or request[BTH].opcode not in (WRITE_ONLY, READ_REQUEST):
            return None
        row, qpn = struct.unpack_from('>QI', bytes(request[BTH].payload))
        if row >= len(ANSWERS):
            return None
        row = ANSWERS[row]
        aeth = struct.pack('>B3s', row.syndrome, b'\0\0\1')
        answer = bytearray(bytes(
            Ether(src=request.dst, dst=request.src)
            / IP(src=request[IP].dst, dst=request[IP].src, id=0, flags='DF')
            / UDP(sport=PORT, dport=PORT, chksum=0)
            / BTH(opcode=row.opcode, migreq=1, dqpn=qpn + row.qpn & 0xffffff,
                  psn=(request[BTH].psn + row.psn) % (1 << 24)) / Raw(aeth + row.data)))
        answer[-4] ^= row.broken        # of the ICRC
        return bytes(answer)
