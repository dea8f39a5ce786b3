#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Turns logs of qtests into inputs of the target "ernic": what the tests of tests/qtest
do to the device is where the fuzzer starts.

usage: from-qtest.py FOLDER LOG...

A log is the output of qos-test with QTEST_LOG=1 for one test. An input goes into the
folder FOLDER/INTERFACE, where INTERFACE is that of the test's devices: verbs, mlx5, pg332
or reconic."""
import hashlib
import re
import sys
from pathlib import Path

from script import SEPARATOR, WIRE, Script

MAX_RAM = 2 * 1024
MAX_REPEATS = 4
BAR0, BARS = 0x10, 6
REQUEST = re.compile(rb'\[R \+[0-9.]+\] (\w+)(.*)')
VERSIONS = 'ernic-version='


class Log:
    """A machine as its log shows it."""

    def __init__(self, text):
        self.script = Script()
        self.address = 0            # of the next configuration access
        self.bars = {}              # (devfn, bar): address
        self.polls = {}             # since the last write: how often each occurred
        self.waited = 0             # ns that polls took and the script does not
        start = re.search(r'starting QEMU: exec [^\n]*-device ernic[^\n]*', text)
        self.command = start.group() if start else ''
        self.devfn = self.find_devices()

    def find_devices(self):
        """The functions by address; a device without one is not followed."""
        found = []
        for args in re.findall(r'-device ernic,(\S+)', self.command):
            at = re.search(r'addr=([0-9a-f]+)\.([0-7])', args)
            if at:
                found.append(int(at.group(1), 16) << 3 | int(at.group(2)))
        return sorted(found)

    def interface(self):
        if 'reconic' in self.command:
            return 'reconic'
        if 'interface=mlx5' in self.command:
            return 'mlx5'
        return 'pg332' if VERSIONS in self.command else 'verbs'

    def where(self, address):
        """Device, BAR and offset, of the BAR next below the address."""
        best = max((base, key) for base, key in
                   [(-1, None)] + [(base, key) for key, base in self.bars.items()]
                   if base <= address)
        if best[1] is None:
            return None
        return self.devfn.index(best[1][0]), best[1][1], address - best[0]

    def config(self, size, write, value, low_bits):
        devfn, offset = self.address >> 8 & 0xff, (self.address & 0xfc) | low_bits
        if devfn not in self.devfn:
            return
        bar = (offset - BAR0) // 4
        if 0 <= bar < BARS:
            # The target maps the BARs itself, and has the same functions.
            if write and value != 0xffffffff:
                self.bars[devfn, bar] = value & ~0xf
        elif write:
            self.script.config_write(self.devfn.index(devfn), offset, value, size)
        else:
            self.script.config_read(self.devfn.index(devfn), offset, size)

    def memory(self, address, data):
        if address >= 0xe0000000:
            at = self.where(address)
            if at and len(data) in (1, 2, 4, 8):
                self.script.write(*at, int.from_bytes(data, 'little'), len(data))
        else:
            self.script.ram(address, data[:MAX_RAM])

    def read(self, address, size):
        at = self.where(address) if address >= 0xe0000000 else None
        if at and size in (1, 2, 4, 8):
            self.script.read(*at, size)

    def request(self, name, operands):
        sizes = {'b': 1, 'w': 2, 'l': 4, 'q': 8}
        if name in ('outb', 'outw', 'outl'):
            port, value = (int(word, 0) for word in operands)
            if port == 0xcf8:
                self.address = value
            elif 0xcfc <= port <= 0xcff:
                self.config(sizes[name[-1]], True, value, port & 3)
        elif name in ('inb', 'inw', 'inl'):
            port = int(operands[0], 0)
            if 0xcfc <= port <= 0xcff:
                self.config(sizes[name[-1]], False, 0, port & 3)
        elif name == 'write':
            self.memory(int(operands[0], 0), bytes.fromhex(operands[2][2:]))
        elif name == 'memset':
            address, size, byte = (int(word, 0) for word in operands)
            if address < 0xe0000000:
                self.script.fill(address, size, byte)
        elif name == 'read':
            self.read(int(operands[0], 0), int(operands[1], 0))
        elif name[:-1] == 'write':
            self.memory(int(operands[0], 0),
                        int(operands[1], 0).to_bytes(sizes[name[-1]], 'little'))
        elif name[:-1] == 'read':
            self.read(int(operands[0], 0), sizes[name[-1]])
        elif name == 'clock_step':
            self.script.step(min(int(operands[0], 0), 2**32 - 1) if operands else 0)

    def monitor(self, line):
        """A command of QMP."""
        path = re.search(r'"path": "(\w+)"', line)
        number = int(path.group(1)[-1]) if path and path.group(1)[-1].isdigit() else 0
        if '"qom-get"' in line:
            self.script.statistics(number)
        elif '"add-peer"' in line or '"remove-peer"' in line:
            text = re.search(r'"value": "(10\.0\.0\.(\d))', line)
            if text:
                remove = '"remove-peer"' in line
                self.script.peer(number, text.group(1),
                                 None if remove else int(text.group(2)) - 1, remove)
        elif '"set_link"' in line:
            self.script.link(0, '"up": false' in line)
        elif '"stop"' in line:
            self.script.stop()
        elif '"system_reset"' in line:
            self.script.reset(0)
        elif '"migrate"' in line:
            self.script.migrate(0)
            if 'ernic-wire' in self.command:
                self.script.migrate(WIRE)

    def keep(self, name, line):
        """Software that waits repeats itself; a few times show the same."""
        if not name.startswith(('read', 'in', 'clock')):
            self.polls.clear()
            if self.waited:
                self.script.step(min(self.waited, 2**32 - 1))
                self.waited = 0
            return True
        self.polls[line] = self.polls.get(line, 0) + 1
        if self.polls[line] > MAX_REPEATS and line.startswith(b'clock_step '):
            self.waited += int(line.split()[1], 0)
        return self.polls[line] <= MAX_REPEATS

    def one(self, found):
        name = found.group(1).decode()
        try:
            if self.keep(name, found.group(1) + found.group(2)):
                self.request(name, found.group(2).decode().split())
        except (ValueError, IndexError, KeyError):
            pass                # two programs wrote to the log at once

    def follow(self, lines):
        for line in lines:
            found = REQUEST.fullmatch(line)
            if line.startswith(b'{"execute"'):
                self.monitor(line.decode(errors='replace'))
            elif found:
                self.one(found)
        return self.script.pack()


def ending():
    """The user's part: what the test has made is read, saved and loaded."""
    s = Script()
    for device in (0, 1, WIRE):
        s.statistics(device)
        s.migrate(device)
    s.link(0, 1)
    s.stop(1000)
    s.link(0, 0)
    s.step()
    return s.pack()


def main():
    folder = Path(sys.argv[1])
    for name in sys.argv[2:]:
        text = Path(name).read_bytes()
        log = Log(text.decode(errors='replace'))
        if log.devfn:
            data = log.follow(text.splitlines())
            for more in b'', SEPARATOR + ending():
                target = folder / log.interface() / hashlib.sha1(data + more).hexdigest()
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data + more)


main()
