# SPDX-License-Identifier: GPL-2.0-or-later
"""Packets that a peer would send, as frames; the target corrects their ICRC."""
import struct

ACK, RNR_NAK, NAK = 0x1f, 0x20, 0x60


def checksum(header):
    total = sum(struct.unpack(f'>{len(header) // 2}H', header))
    total = (total & 0xffff) + (total >> 16)
    return ~(total + (total >> 16)) & 0xffff


def packet(to, sender, qpn, opcode, psn, body=b'', tos=2, ackreq=1, pad=0):
    """to, sender: with addresses mac and gid (IPv4)."""
    length = 20 + 8 + 12 + len(body) + 4
    addresses = sender.gid[12:] + to.gid[12:]
    layout = '>BBHHHBBH'
    ip = struct.pack(layout, 0x45, tos, length, 0, 0x4000, 64, 17, 0) + addresses
    ip = struct.pack(layout, 0x45, tos, length, 0, 0x4000, 64, 17,
                     checksum(ip)) + addresses
    return (to.mac + sender.mac + b'\x08\0' + ip +
            struct.pack('>HHHH', 49152, 4791, length - 20, 0) +
            struct.pack('>BBHIBBH', opcode, pad << 4, 0xffff, qpn, ackreq << 7,
                        psn >> 16, psn & 0xffff) + body + bytes(4))


# The extended headers of an answer: code and count; of a request: where and how much.
def aeth(code, count=0):
    return struct.pack('>I', code << 24 | count)


def reth(address, key, length):
    return struct.pack('>QII', address, key, length)
