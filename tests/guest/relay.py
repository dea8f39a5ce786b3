# SPDX-License-Identifier: GPL-2.0-or-later
"""Ethernet between two guests through this process, which drops random frames."""
import random
import socket
import threading
from typing import NamedTuple

PORT = (4791).to_bytes(2, 'big')
UDP = 17


class Counts(NamedTuple):
    """Counts of RoCEv2 frames from one guest, and of those that were dropped."""

    frames: int
    lost: int


def is_roce(frame):
    """Whether it is a UDP datagram to RoCEv2's port, by IPv4 or IPv6, without a tag."""
    if frame[12:14] == b'\x08\x00':
        return frame[23] == UDP and frame[36:38] == PORT
    return frame[12:14] == b'\x86\xdd' and frame[20] == UDP and frame[56:58] == PORT


class Relay:
    """A cable of QEMU's stream netdevs, and a thread for each direction.

    loss: the probability, from 0 to 1, that a frame of any kind in either direction is
    dropped; may change at any time. seed: of the random numbers.
    """

    def __init__(self, folder, seed=1):
        self.folder = folder
        self.loss = 0.0
        self.counts = [Counts(0, 0), Counts(0, 0)]
        self.ends = [None, None]
        self.sockets = []
        for n in range(2):
            one = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            one.bind(self.path(n))
            one.listen()
            self.sockets.append(one)
        self.threads = [
            threading.Thread(target=self.carry, args=(n, random.Random(seed + n)),
                             daemon=True) for n in range(2)]
        for thread in self.threads:
            thread.start()

    def options(self, n):
        """QEMU's options for a netdev `wire` of guest n."""
        return ['-netdev', f'stream,id=wire,addr.type=unix,addr.path={self.path(n)}']

    def path(self, n):
        return f'{self.folder}/relay{n}'

    def carry(self, n, chance):
        """Forward from guest n to the other, until either has ended."""
        try:
            self.ends[n], _ = self.sockets[n].accept()
            frames = self.ends[n].makefile('rb')
            while length := frames.read(4):
                frame = frames.read(int.from_bytes(length, 'big'))
                self.pass_on(n, length, frame, chance)
        except OSError:
            pass                            # closed

    def pass_on(self, n, length, frame, chance):
        lost = chance.random() < self.loss
        if is_roce(frame):
            seen = self.counts[n]
            self.counts[n] = Counts(seen.frames + 1, seen.lost + lost)
        if not lost and self.ends[1 - n]:
            self.ends[1 - n].sendall(length + frame)

    def close(self):
        for one in (*self.sockets, *filter(None, self.ends)):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass                        # the guest ended first
        for thread in self.threads:
            thread.join()
        for one in (*self.sockets, *filter(None, self.ends)):
            one.close()
