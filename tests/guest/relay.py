# SPDX-License-Identifier: GPL-2.0-or-later
"""Ethernet between two guests through this process, which drops random frames."""
import random
import socket
import threading

import links
from capture import roce_tag


class Relay:
    """A cable of QEMU's stream netdevs, and a thread for each direction.

    loss: the probability, from 0 to 1, that a frame of any kind in either direction is
    dropped; may change at any time. lost: how many RoCEv2 frames from each guest
    were dropped.
    """

    def __init__(self, folder):
        self.folder = folder
        self.loss = 0.0
        self.lost = [0, 0]
        self.ends = [None, None]
        self.sockets = []
        for n in range(2):
            one = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            one.bind(self.path(n))
            one.listen()
            self.sockets.append(one)
        self.threads = [
            threading.Thread(target=self.carry, args=(n, random.Random(1 + n)),
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
        self.lost[n] += lost and roce_tag(frame) is not None
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


class Relayed(links.Link):
    """Frames pass through this process, which drops some if its loss is not 0."""

    def wire(self, n, folder):
        if n == 0:
            self.relay = Relay(folder)
        return self.relay.options(n)

    def close(self):
        self.relay.close()
