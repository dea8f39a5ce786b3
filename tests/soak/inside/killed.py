# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes with open queue pairs, which are killed while they use them.

usage: killed.py COUNT SEED SECONDS

Each is killed by SIGKILL at a random moment: most while it moves data, some while it
creates its objects. Stops after COUNT, or after SECONDS. Prints how many were killed, and
how many of them had moved data; exit status 1 if one reported a fault of its own.
"""
import gc
import os
import random
import select
import signal
import sys
import time

from pyverbs.device import get_device_list

from rig import RECEIVED, Rig, pair

TOGETHER = 4
SECONDS = 30                            # for a process to move data
READY = 'ready\n'


def use_device(pipe):
    """RDMA WRITEs to itself, each with a look at the data, until the end."""
    rig = Rig('ernic0')
    a, _b = pair(rig)
    number = 0
    while True:
        number += 1
        data = number.to_bytes(8, 'little') * 8
        rig.mr.write(data, len(data), 0)
        a.post('WRITE', 4096)
        status = a.status()
        if status != 'SUCCESS':
            os.write(pipe, f'status {status}\n'.encode())
        elif rig.mr.read(len(data), RECEIVED) != data:
            os.write(pipe, b'wrong data\n')
        elif number == 1:
            os.write(pipe, READY.encode())


def child(pipe):
    try:
        use_device(pipe)
    except Exception as error:          # pylint: disable=broad-exception-caught
        os.write(pipe, f'error {error}\n'.encode())
    os._exit(1)


class Victim:
    """A process, and the moment of its end."""

    def __init__(self, chance):
        self.reader, writer = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            os.close(self.reader)
            child(writer)
        os.close(writer)
        os.set_blocking(self.reader, False)
        self.text = b''
        # Most live until they move data, and a little longer.
        self.rest = chance.random() * 0.01 if chance.random() < 0.9 else None
        self.end = time.monotonic() + (SECONDS if self.rest else chance.random() * 0.05)

    def look(self):
        """Read what it reports. Returns whether its moment has come."""
        try:
            more = os.read(self.reader, 4096)
        except BlockingIOError:
            more = b''
        if more and not self.text and self.rest:
            self.end = time.monotonic() + self.rest
        self.text += more
        return time.monotonic() > self.end

    def kill(self):
        """Its report, after its end."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        while more := os.read(self.reader, 4096):
            self.text += more
        os.close(self.reader)
        return self.text.decode()


def main():
    count, seed, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    chance = random.Random(seed)
    end = time.monotonic() + seconds
    killed = used = 0
    victims = []
    get_device_list()                   # loads the libraries once, and not in each child
    gc.freeze()                         # the children share the parent's memory
    while victims or (killed < count and time.monotonic() < end):
        while (len(victims) < min(TOGETHER, count - killed)
               and time.monotonic() < end):
            victims.append(Victim(chance))
        select.select([one.reader for one in victims], [], [], 0.002)
        for one in [one for one in victims if one.look()]:
            victims.remove(one)
            text = one.kill()
            killed += 1
            used += text == READY
            if text not in ('', READY):
                print('wrong:', text, end='')
                return 1
    print('killed', killed, 'used', used)
    return 0


if __name__ == '__main__':
    sys.exit(main())
