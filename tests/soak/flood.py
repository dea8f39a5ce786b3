# SPDX-License-Identifier: GPL-2.0-or-later
"""A third host on the link, which sends both machines everything that it can."""
import os
import random
import socket
import struct
import threading

from machine import wait

HOST = 77                               # 10.0.0.77
KINDS = 64                              # different packets in a round
PACKETS = 2000                          # in a round
QPNS = (0, 1, 2, 3, 4, 0xffffff)        # special ones, those of the traffic, none
ACK, CNP, UD_SEND = 0x11, 0x81, 0x64
RIGHT, WRONG, NONE = range(3)           # kinds of ICRC
HEADERS = 20 + 8                        # of IPv4 and UDP


def ip_packet(chance, host, port):
    """An IP packet of one of many kinds, most with a right ICRC."""
    from scapy.contrib.roce import BTH      # no other row needs scapy
    from scapy.layers.inet import IP, UDP
    from scapy.packet import Raw
    packet = (IP(src=f'10.0.0.{HOST}', dst=f'10.0.0.{host}', id=0, flags='DF')
              / UDP(sport=port, dport=4791, chksum=0))
    kind = chance.choice((RIGHT, RIGHT, RIGHT, WRONG, NONE))
    if kind == NONE:
        return bytes(packet / Raw(chance.randbytes(chance.randrange(1, 4200))))
    opcode = chance.choice((ACK, CNP, UD_SEND, chance.randrange(256)))
    body = chance.randbytes(4 * chance.choice((0, 1, 2, 4, 7, 64, 256, 1024)))
    return bytes(packet / BTH(
        opcode=opcode, migreq=1, dqpn=chance.choice(QPNS), psn=chance.randrange(1 << 24),
        ackreq=chance.choice((0, 1)),
        icrc=None if kind == RIGHT else chance.randrange(1 << 32)) / Raw(body))


class ToSockets:
    """Datagrams from an endpoint that the machines know."""

    def __init__(self, pair):
        self.pair = pair
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(('127.0.0.1', 0))
        self.socket.setblocking(False)
        self.port = self.socket.getsockname()[1]
        for one in pair.machines:
            pair.link.peer(one, HOST, self.port)
        self.to = {one.host: ('127.0.0.1', int(pair.link.ports[one.host - 1]))
                   for one in pair.machines}

    def packet(self, chance, host):
        return ip_packet(chance, host, self.port)[HEADERS:]

    def send(self, host, packet):
        try:
            self.socket.sendto(packet, self.to[host])
        except OSError:
            pass                        # the host's buffers are full

    def close(self):
        self.socket.close()


class ToHub:
    """Frames through the last port of the hub."""

    def __init__(self, pair):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(str(pair.link.free_port))
        # The hub stops while a port does not take what the machines send.
        threading.Thread(target=self.forget, daemon=True).start()

    def packet(self, chance, host):
        mac = chance.choice((bytes((0x52, 0x54, 0, 0, 0, host)), b'\xff' * 6,
                             b'\x01\0\x5e\0\0\x01'))
        port = chance.randrange(1, 1 << 16)
        frame = (mac + bytes((0x52, 0x54, 0, 0, 0, HOST)) + b'\x08\x00'
                 + ip_packet(chance, host, port))
        return chance.choice((frame, frame, frame, frame[:chance.randrange(14, 64)],
                              mac + chance.randbytes(chance.randrange(8, 1500))))

    def send(self, host, packet):
        del host
        self.socket.sendall(struct.pack('>I', len(packet)) + packet)

    def forget(self):
        while self.socket.recv(1 << 16):
            pass

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


def dropped(pair):
    """Packets that the machines have refused, at the link or in the engines."""
    found = [one.statistics() for one in pair.machines]
    return sum(sum(part['drops'].values()) for one in found
               for part in (one, one['pg332'], one['udp']) if 'drops' in part)


class Flood:
    """round() sends PACKETS, and verifies that most have arrived and were refused."""

    def __init__(self, pair):
        self.pair = pair
        self.seed = int(os.environ.get('SOAK_SEED', '1'))
        self.to = (ToSockets if pair.link.name == 'UDP' else ToHub)(pair)

    def round(self, number):
        chance = random.Random(self.seed << 32 | number)
        before = dropped(self.pair)
        packets = [(host, self.to.packet(chance, host))
                   for host in (1, 2) for _ in range(KINDS // 2)]
        for _ in range(PACKETS):
            self.to.send(*chance.choice(packets))
            if number % 2:              # every second round leaves room for the traffic
                os.sched_yield()
        wait(lambda: dropped(self.pair) > before + PACKETS // 20, 'the flood arrives')

    def close(self):
        self.to.close()
