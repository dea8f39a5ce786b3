# SPDX-License-Identifier: GPL-2.0-or-later
"""A machine whose program (main.c) exchanges numbered messages with that of another."""
import atexit
import functools
import itertools
import os
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
TESTS = HERE.parent
sys.path[:0] = [str(TESTS / 'guest'), str(TESTS / 'repeat')]

import bare                                                     # noqa: E402
import folders                                                  # noqa: E402
import guest                                                    # noqa: E402

SECONDS = 60                            # of anything that takes much less
STATES = ('idle', 'held', 'running', 'broken', 'gone', 'wrong')
COUNTERS = ('magic', 'state', 'epoch', 'plugs', 'posted', 'completed', 'received',
            'last_completed', 'last_received', 'where', 'got', 'wanted', 'verified')
LAYOUT = struct.Struct('<12IQ')
# Interface: the sources of its end, and the properties of the device.
INTERFACES = {'verbs': (('port_verbs.c', 'driver.c'), ''),
         'ERNIC': (('port_ernic.c', 'ernic.c'), ',ernic-version=3.1,ernic-qps=8'),
         'mlx5': (('port_mlx5.c', 'mlx5.c'), ',interface=mlx5')}
NUMBERS = itertools.count()


# The guest's memory counts as shared memory, and not as QEMU's own.
APART = ('-object memory-backend-memfd,id=ram,size=32M,share=on '
         '-machine memory-backend=ram')


class Wrong(Exception):
    """A promise does not hold."""


def wait(condition, what, seconds=SECONDS):
    """The first true value of condition()."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > end:
            raise Wrong(f'not in {seconds} s: {what()}' if callable(what)
                        else f'not in {seconds} s: {what}')
        time.sleep(0.005)
    return value


def start(command, log=None):
    """A process that does not outlive this one."""
    # A preexec_fn may block, as rows have threads of their own.
    return subprocess.Popen(['setpriv', '--pdeathsig=KILL', *map(str, command)],
                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)


class Program:
    """The program for an interface, and the address of its counters."""

    def __init__(self, interface):
        folder = folders.make('ernic-soak.')
        atexit.register(folders.remove, folder)
        self.path = folder / 'program'
        port, driver = INTERFACES[interface][0]
        bare.build(self.path, HERE / 'main.c', HERE / port, driver)
        names = subprocess.run(['nm', self.path], check=True, text=True,
                               stdout=subprocess.PIPE).stdout.splitlines()
        self.counters = next(int(line.split()[0], 16) for line in names
                             if line.endswith(' soak'))


@functools.cache
def program(interface):
    return Program(interface)


class Machine:
    """One QEMU process. options: those of its link; incoming: it waits for a state."""

    def __init__(self, interface, host, folder, options, incoming=False):
        self.program = program(interface)
        self.host = host
        self.folder = folder / f'machine{next(NUMBERS)}'
        self.folder.mkdir()
        self.log = self.folder / 'log'
        command = [
            os.environ['QEMU'], '-M', 'pc', '-m', '32', *APART.split(), '-accel', 'tcg',
            '-nodefaults', '-display', 'none', '-no-shutdown',
            '-kernel', self.program.path,
            '-chardev', f'file,id=text,path={self.folder / "text"}',
            '-device', 'isa-debugcon,chardev=text',
            '-chardev', f'socket,id=serial,path={self.folder / "serial"},server=on,'
            'wait=off', '-device', 'isa-serial,chardev=serial',
            '-qmp', f'unix:{self.folder / "qmp"},server=on,wait=off', *options,
            *(['-incoming', 'defer'] if incoming else [])]
        with open(self.log, 'wb') as log:
            self.process = start(command, log)
        try:
            self.connect()
        except BaseException:
            self.kill()
            raise

    def connect(self):
        def monitor():
            self.must_run()
            try:
                return guest.Monitor(self.folder / 'qmp')
            except OSError:                     # not there yet
                return None
        self.monitor = wait(monitor, 'QEMU starts')
        self.monitor.execute('migrate-set-parameters', **{'max-bandwidth': 1 << 34,
                                                          'announce-rounds': 0})
        self.serial = socket.socket(socket.AF_UNIX)
        self.serial.connect(str(self.folder / 'serial'))

    def must_run(self):
        if (status := self.process.poll()) is not None:
            raise Wrong(f'QEMU ended with status {status}: '
                        + self.log.read_text(errors='replace')[-2000:])

    def qmp(self, command, **arguments):
        self.must_run()
        return self.monitor.execute(command, **arguments)

    def command(self, op, epoch=0, timeout=0):
        self.serial.sendall(struct.pack('<sBBB', op, self.host, epoch, timeout))

    def counters(self):
        """Those of main.c by name, read from memory."""
        self.must_run()
        path = self.folder / 'counters'
        self.qmp('pmemsave', val=self.program.counters, size=LAYOUT.size,
                 filename=str(path))
        found = dict(zip(COUNTERS, LAYOUT.unpack(path.read_bytes())))
        found['state'] = STATES[found['state']]
        if found['state'] == 'wrong':
            raise Wrong(f'machine {self.host}: line {found["where"]} of main.c: got '
                        f'{found["got"]:#x}, wanted {found["wanted"]:#x}; {found}')
        return found

    def account(self):
        """Memory that the device has for objects of the guest, in bytes."""
        found = self.statistics()
        return found['memory']['used'] + found['pg332']['memory']['used']

    def statistics(self):
        return self.qmp('qom-get', path='/machine/peripheral/nic', property='statistics')

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for name in ('monitor', 'serial'):
            if hasattr(self, name):
                getattr(self, name).close()
