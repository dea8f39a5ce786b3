# SPDX-License-Identifier: GPL-2.0-or-later
"""Virtual machines for tests: start them, run commands in them, clean up.

    with Guests(2, links.Netdev()) as guests:
        assert guests[0].check('uname -r').startswith('6.')

Each Guest is one QEMU (of scripts/qemu-tree, or the one that QEMU names) with the
image of guest/image, under TCG. An agent in it (guest/image/agent) listens on a
virtio-serial port. It is restored from a state of saved.py, and boots only where Guests
have a reason for it.
"""
import base64
import ctypes
import io
import itertools
import os
import re
import shlex
import signal
import socket
import subprocess
import tarfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

import folders
import saved
from monitor import GuestError, Monitor

ROOT = Path(__file__).resolve().parents[2]
INSIDE = ROOT / 'tests/guest/inside'
BOOT_SECONDS = 120             # the host may be busy
SECONDS = 120                  # of a command, likewise
KILL_SECONDS = 15              # for a command that is killed to end
STOP_SECONDS = 60              # for QEMU to end
MEMORY_MIB = 768
BOOT_ID = 'cat /proc/sys/kernel/random/boot_id'
PANIC = re.compile('Kernel panic - not syncing: .*')


class Result(NamedTuple):
    """Exit status (124: out of time) and output of a command."""

    status: int
    output: str


class Job:
    """A command that runs in a guest, until it has had its seconds and is asked about."""

    def __init__(self, guest, number, seconds):
        self.guest = guest
        self.number = number
        self.end = time.monotonic() + seconds
        self.late = False

    def done(self):
        if not self.late and time.monotonic() > self.end:
            self.late = not self.answered(0)
            if self.late:
                self.start_kill()
        return self.number in self.guest.answers or self.guest.gone

    def start_kill(self):
        return self.guest.start(f'kill -9 -$(cat /run/agent.{self.number}.job)')

    def kill(self):
        """Kill it and every process that it started, if it still runs."""
        self.start_kill().wait()

    def answered(self, seconds):
        with self.guest.changed:
            return self.guest.changed.wait_for(
                lambda: self.number in self.guest.answers or self.guest.gone, seconds)

    def wait(self):
        """Its Result."""
        self.answered(max(0, self.end - time.monotonic()))
        self.done()
        result = self.guest.answer(self.number, KILL_SECONDS)
        return Result(124, result.output) if self.late else result


def die_with_parent():
    """In the child: let no machine outlive the process that started it, not even one that
    a test has stopped."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)      # PR_SET_PDEATHSIG


def last_line(*command):
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True,
                          check=False)
    if done.returncode or not done.stdout.strip():
        raise GuestError(f'{command[0]} failed')
    return done.stdout.strip().splitlines()[-1]


def find_qemu():
    return os.environ.get('QEMU') or (
        last_line(ROOT / 'scripts/qemu-tree') + '/qemu-system-x86_64')


def check_qemu(qemu):
    """Raise an error, of one line, unless this QEMU has the device."""
    command = [qemu, '-device', 'ernic,help']
    try:
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              text=True, check=False)
    except OSError as e:
        why = e.strerror
    else:
        if not done.returncode:
            return
        why = (done.stderr.strip().splitlines() or ['it ends at once'])[-1]
    raise GuestError(f'QEMU={qemu}: {why}; the device needs a QEMU of scripts/qemu-tree, '
                     'which is used if QEMU is not set')


def find_image(kernel='6.1'):
    return Path(last_line(ROOT / 'guest/image/build.py', '--kernel', kernel))


def processor():
    """QEMU's options: the same emulation everywhere, unless GUEST_ACCEL says kvm
    or names another accelerator."""
    accel = os.environ.get('GUEST_ACCEL')
    if accel and accel != 'tcg':
        return ['-accel', accel, '-cpu', 'host']
    return ['-accel', 'tcg,thread=multi', '-cpu', 'qemu64']


class Guest:
    """One machine. options: further options for QEMU's command line.

    shell: a prompt on the serial console, the socket NAME.serial.
    memory: MiB. slots: those of saved.py, for a machine that is saved. state: it does
    not boot, but is restored from that file.
    """

    # How the chardev "agent" reaches the agent.
    channel = ['-device', 'virtio-serial-pci',
               '-device', 'virtserialport,chardev=agent,name=ernic.agent']
    words = ''                  # further ones for the kernel's command line
    before_save = 'modprobe -q ernic; true'
    # Commands that load the drivers of restored guests, and wait for their effects.
    drivers, settled = '/drivers', ''

    def __init__(self, name, folder, options, qemu, image, shell=False,
                 memory=MEMORY_MIB, slots=(), state=None):
        self.name = name
        self.folder = folder
        self.console = folder / f'{name}.console'
        self.log = folder / f'{name}.qemu'
        self.numbers = itertools.count(1)
        self.answers = {}
        self.changed = threading.Condition()
        self.gone = False
        self.socket = socket.socket(socket.AF_UNIX)
        port = folder / f'{name}.agent'
        self.serial = folder / f'{name}.serial'
        self.state = state
        self.options = saved.Options(options)
        # The kernel hands words without a value to init, which may be a shell.
        words = (f'{self.words}hostname={name}' + ' shell=1' * shell
                 + ' bare=1' * bool(slots))
        if state:
            start = [*self.options.smp, *saved.SLOTS, *self.options.host,
                     '-incoming', 'defer']
        else:
            start = [*self.boot(image, words), *slots, *options]
        command = [
            qemu, '-nodefaults', '-no-reboot', '-display', 'none',
            '-machine', 'q35', *processor(),
            '-smp', '1', '-m', str(memory), '-name', f'{name},debug-threads=on',
            '-chardev', f'socket,id=serial,path={self.serial},server=on,wait=off,'
            f'logfile={self.console}', '-serial', 'chardev:serial',
            '-chardev', f'socket,id=agent,path={port},server=on,wait=off', *self.channel,
            '-qmp', f'unix:{folder / name}.qmp,server=on,wait=off',
            '-object', 'rng-random,id=rng,filename=/dev/urandom',
            '-device', 'virtio-rng-pci,rng=rng', *start]
        self.started = time.monotonic()
        with open(self.log, 'wb') as log:
            log.write((shlex.join(map(str, command)) + '\n').encode())
            log.flush()
            self.process = subprocess.Popen(list(map(str, command)), stdout=log,
                                            stderr=log, stdin=subprocess.DEVNULL,
                                            start_new_session=True,
                                            preexec_fn=die_with_parent)
        try:
            self.connect(port)
        except BaseException:
            self.stop()
            raise

    def boot(self, image, words):
        """The options by which it boots. words: for the kernel's command line."""
        return ['-kernel', image / 'kernel', '-initrd', image / 'initrd', '-append',
                'console=ttyS0 quiet panic=-1 mitigations=off no_timer_check ' + words]

    def connect(self, port):
        while True:
            try:
                self.socket.connect(str(port))
                break
            except OSError:
                if self.process.poll() is not None or self.age() > BOOT_SECONDS:
                    raise GuestError(f'{self.name}: QEMU did not start\n'
                                     + self.tail()) from None
                time.sleep(0.02)
        threading.Thread(target=self.read, daemon=True).start()

    def age(self):
        return time.monotonic() - self.started

    def waited(self):
        """The longest time in s that a thread of QEMU was ready without a processor."""
        threads = Path(f'/proc/{self.process.pid}/task').glob('*/schedstat')
        return max(int(file.read_text().split()[1]) for file in threads) / 1e9

    def monitor(self):
        """A new connection to QEMU's monitor: one at a time; the caller closes it."""
        return Monitor(self.folder / f'{self.name}.qmp')

    def load(self):
        """Load the state, if there is one, and plug in the devices."""
        if self.state:
            saved.load(self, self.state)

    def tail(self, lines=30):
        """The last lines of QEMU's output and of the guest's console."""
        text = ''
        for file in (self.log, self.console):
            if file.exists():
                said = file.read_text(errors='replace').splitlines()[-lines:]
                text += f'--- {file.name}\n' + '\n'.join(said) + '\n'
        return text

    def panic(self, since=0):
        """The last words of its kernel, if there are such; since: a place in the
        console."""
        found = (PANIC.search(self.console.read_text(errors='replace'), since)
                 if self.console.exists() else None)
        return found[0] if found else ''

    def read(self):
        stream = self.socket.makefile('rb')
        try:
            while line := stream.readline():
                number, status, length = map(int, line.split())
                output = stream.read(length).decode(errors='replace')
                with self.changed:
                    self.answers[number] = Result(status, output)
                    self.changed.notify_all()
        except (OSError, ValueError):
            pass
        with self.changed:
            self.gone = True
            self.changed.notify_all()

    def answer(self, number, seconds):
        with self.changed:
            self.changed.wait_for(lambda: number in self.answers or self.gone, seconds)
            if number not in self.answers:
                raise GuestError(f'{self.name} {self.fate()}\n' + self.tail())
            return self.answers[number]

    def fate(self):
        """Why there is no answer."""
        if not self.gone:
            return 'does not answer'
        try:
            status = self.process.wait(2)
        except subprocess.TimeoutExpired:
            return 'hung up'
        if status < 0:
            return f'was killed ({signal.Signals(-status).name})'
        return f'went away, QEMU with status {status}'

    def wait_boot(self):
        """Wait for the agent and the devices; the seconds since QEMU was started."""
        if self.state:
            saved.settle(self)
        else:
            self.wait_agent()
        return self.age()

    def wait_agent(self):
        self.answer(0, BOOT_SECONDS)

    def boot_again(self, event, seconds):
        """Wait for the agent after a function that starts the kernel anew."""
        before = self.check(BOOT_ID)
        with self.changed:
            del self.answers[0]
        self.started = time.monotonic()
        event()
        self.answer(0, seconds)
        assert self.check(BOOT_ID) != before, 'the kernel is the same'

    def start(self, command, seconds=SECONDS):
        """Start a command, which is killed after so many seconds; its Job."""
        number = next(self.numbers)
        lines = command.count('\n') + 1
        try:
            self.socket.sendall(f'{number} {lines}\n{command}\n'.encode())
        except OSError:
            raise GuestError(f'{self.name} {self.fate()}\n' + self.tail()) from None
        return Job(self, number, seconds)

    def run(self, command, seconds=SECONDS):
        return self.start(command, seconds).wait()

    def check(self, command, seconds=SECONDS):
        """Run a command that has to succeed; its output."""
        result = self.run(command, seconds)
        if result.status:
            raise GuestError(f'{self.name}: {command}: status {result.status}\n'
                             + result.output)
        return result.output

    def wait_until(self, condition, seconds=60):
        """Wait for a command of the shell, without single quotes, to succeed."""
        self.check(f"timeout {seconds} sh -c 'until {condition}; do sleep 0.1; done'",
                   seconds + 10)

    def put(self, file, path):
        """Copy a (small) file of the host to a path in the guest."""
        text = base64.b64encode(Path(file).read_bytes()).decode()
        self.check(f'echo {text} | base64 -d >{path}')

    def put_programs(self, folder=INSIDE):
        """Copy the programs of a folder of the host to /tmp/inside."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode='w:gz') as archive:
            for file in folder.glob('*.py'):
                archive.add(file, file.name)
        text = base64.b64encode(packed.getvalue()).decode()
        self.check('mkdir -p /tmp/inside && '
                   f'echo {text} | base64 -d | gunzip | tar x -C /tmp/inside')

    def stop(self):
        """Returns why QEMU did not end well, or ''. A test may have killed it."""
        wrong = ''
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                wrong = f'{self.name} did not end\n' + self.tail()
        elif panic := self.panic():         # QEMU ends with status 0 then
            wrong = f'{self.name}: {panic}\n' + self.tail()
        self.socket.close()
        if self.process.returncode not in (0, -signal.SIGTERM, -signal.SIGKILL):
            wrong = (f'{self.name}: QEMU ended with status {self.process.returncode}\n'
                     + self.tail())
        return wrong


class Guests(list):
    """A number of guests, started together and always stopped.

    link: one of links.py, asked for the options of each guest, counted from 0. image:
    one for all of them, or a list with one for each, or a function that returns it.
    kinds: the class of each, if they differ. cold: why they have to boot with their
    devices, if they have; a link or a class may say so, too. up: called with all of them
    after their boot.
    """

    kind = Guest
    cold = ''

    def __init__(self, count, link, image, shell=False, memory=MEMORY_MIB, kinds=(),
                 cold='', up=lambda guests: None):
        super().__init__()
        self.link = link
        self.image = image() if callable(image) else image
        self.shell = shell
        self.memory = memory
        self.kinds = kinds
        self.cold = cold or self.cold or getattr(link, 'cold', '')
        self.folder = folders.make('ernic-guest.')
        try:
            self.boot(count, find_qemu(), self.image)
            up(self)
        except BaseException:
            self.close()
            raise

    def boot(self, count, qemu, image):
        images = image if isinstance(image, list) else [image] * count
        for n in range(count):
            kind = self.kinds[n] if self.kinds else self.kind
            options = self.link.options(n, self.folder)
            self.append(kind(f'guest{n + 1}', self.folder, options, qemu, images[n],
                             self.shell, self.memory,
                             state=self.state(kind, options, qemu, images[n])))
        for guest in self:
            guest.load()
        self.link.join(self)
        self.boot_seconds = [guest.wait_boot() for guest in self]
        self.boot_waited = [guest.waited() for guest in self]

    def state(self, kind, options, qemu, image):
        """The state to restore a guest from, or None if it has to boot."""
        parts = saved.Options(options)
        if self.cold or self.shell or not parts.fits:
            return None
        return saved.state(kind, qemu, image, self.memory, parts.smp)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def stop(self):
        wrong = ''.join([guest.stop() for guest in self])
        self.clear()
        if wrong:
            raise GuestError(wrong)

    def close(self):
        try:
            self.stop()
        finally:
            self.link.close()
            folders.remove(self.folder)
