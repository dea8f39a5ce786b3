# SPDX-License-Identifier: GPL-2.0-or-later
"""A peer that is no device: the host, at the other end of a guest's wire.

It answers WRITE and READ of RC by the table in semantics/answers.py; a request carries
the row in place of a remote address, and the queue pair in place of a key.
"""
import socket
import struct
import threading
import zlib

from semantics.answers import ANSWERS

ETHERNET, IPV4, UDP, BTH, RETH = 14, 20, 8, 12, 16
HEADERS = ETHERNET + IPV4 + UDP
PORT = 4791
WRITE_ONLY, READ_REQUEST = 0x0a, 0x0c


def checksum(header):
    total = sum(struct.unpack(f'>{len(header) // 2}H', header))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return total ^ 0xffff


def icrc(packet):
    """The ICRC of an IPv4 packet: fields that routers change count as ones (A17)."""
    masked = bytearray(b'\xff' * 8 + packet)
    for place, length in ((8 + 1, 1), (8 + 8, 1), (8 + 10, 2), (8 + IPV4 + 6, 2),
                          (8 + IPV4 + UDP + 4, 1)):
        masked[place:place + length] = b'\xff' * length
    return zlib.crc32(masked).to_bytes(4, 'little')


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
        if (len(frame) < HEADERS + BTH + RETH or frame[12:15] != b'\x08\x00\x45'
                or frame[ETHERNET + 9] != socket.IPPROTO_UDP
                or int.from_bytes(frame[ETHERNET + IPV4 + 2:][:2], 'big') != PORT
                or frame[HEADERS] not in (WRITE_ONLY, READ_REQUEST)):
            return None
        bth = frame[HEADERS:][:BTH]
        row, qpn = struct.unpack('>QI', frame[HEADERS + BTH:][:12])
        if row >= len(ANSWERS):
            return None
        row = ANSWERS[row]
        psn = (int.from_bytes(bth[9:12], 'big') + row.psn) % (1 << 24)
        packet = struct.pack('>BBHIIB3s', row.opcode, 0x40, 0xffff,
                             qpn + row.qpn & 0xffffff, psn, row.syndrome, b'\0\0\1')
        return self.wrap(frame, packet + row.data, row.broken)

    @staticmethod
    def wrap(frame, packet, broken):
        """The headers of a frame back to the sender."""
        udp = struct.pack('>HHHH', PORT, PORT, UDP + len(packet) + 4, 0)
        ip = bytearray(struct.pack('>BBHHHBBH', 0x45, 0, IPV4 + UDP + len(packet) + 4,
                                   0, 0x4000, 64, socket.IPPROTO_UDP, 0)
                       + frame[ETHERNET + 16:][:4] + frame[ETHERNET + 12:][:4])
        ip[10:12] = checksum(bytes(ip)).to_bytes(2, 'big')
        whole = bytes(ip) + udp + packet
        crc = bytearray(icrc(whole))
        crc[0] ^= broken
        return frame[6:12] + frame[:6] + b'\x08\x00' + whole + bytes(crc)
