# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests of Debian's packages alone (guest/image/stock.py).

The kernel starts /bin/sh on the first serial port. This module types there: it mounts,
starts udev, which loads the drivers by their modaliases, and then types in
guest/image/agent, which takes commands from the second serial port. From there on such a
guest is used like any other.
"""
import base64
import re
import select
import socket
import time
from pathlib import Path

import guest

PACKAGES = ['ibverbs-providers', 'ibverbs-utils', 'iputils-ping', 'perftest', 'qperf',
            'rdmacm-utils']
KERNELS = ['6.1', '6.1-cloud', '6.12', '6.12-cloud', 'testing', 'testing-cloud']
# Parts of the warnings that these kernels log on this machine without any device of ours,
# by their reasons.
KNOWN_WARNINGS = {
    'clocks of an emulated machine are late': (
        'tsc: Unable to calibrate against PIT', 'tsc: PIT calibration deviates from HPET',
        'APIC calibration not consistent with PM-Timer'),
    'a busy host': (
        "Not enough CPUs to check clocksource 'tsc'", 'hrtimer: interrupt took',
        'clocksource: timekeeping watchdog', 'clocksource:                       ',
        'clocksource: Watchdog    ', 'clocksource: Clocksource    ', 'hogged CPU for',
        'clocksource: Long readout interval', 'clocksource: Marking clocksource tsc',
        'TSC found unstable after boot', 'Unstable clock detected', 'hpet: Lost',
        'If you want to keep using the local clock', 'trace_clock=local',
        'on the kernel command line'),
    "QEMU's processor has no power states": (
        'amd_pstate: the _CPC object is not present',),
}
BOOT_SECONDS = 400              # udev has much to do, and the host may be busy
AGENT = guest.ROOT / 'guest/image/agent'
# As the scripts of Debian's own initramfs do. Each line is typed after the one before has
# ended, and is shorter than the 4095 characters that a terminal takes.
START = [
    'export PATH=/usr/sbin:/usr/bin:/run/busybox HOME=/root',
    'busybox mount -t proc none /proc',
    'busybox mount -t sysfs none /sys',
    'busybox mount -t devtmpfs none /dev',
    'busybox mount -t tmpfs none /run',
    'busybox mkdir -p /run/busybox /dev/pts /dev/shm',
    'busybox --install -s /run/busybox',
    'mount -t devpts none /dev/pts',
    'mount -t tmpfs none /dev/shm',
    'mount -t tmpfs none /tmp',
    'cp /usr/share/base-passwd/passwd.master /etc/passwd',
    'cp /usr/share/base-passwd/group.master /etc/group',
    'echo 127.0.0.1 localhost >/etc/hosts',
    'hostname NAME',
    'ulimit -l unlimited',
    'ip link set lo up',
    '/usr/lib/systemd/systemd-udevd --daemon',
    'udevadm trigger --type=subsystems --action=add',
    'udevadm trigger --type=devices --action=add',
    'udevadm settle',
    'echo AGENT | base64 -d >/run/agent',
    'stty raw -echo <>/dev/ttyS1 >&0',
    '(while :; do sh /run/agent /dev/ttyS1; done) & :',
]


def find_image(kernel, packages=tuple(PACKAGES)):
    return Path(guest.last_line(guest.ROOT / 'guest/image/build.py', '--stock', kernel,
                                '--packages', ','.join(packages)))


class StockGuest(guest.Guest):
    """One machine with an image of find_image()."""

    channel = ['-serial', 'chardev:agent']
    words = 'rdinit=/bin/sh '
    before_save = 'modprobe -a mlx5_ib virtio_net'
    drivers, settled = 'udevadm settle', 'udevadm settle'
    seen = 0                    # characters of the console that are of another kernel

    def restart(self, command):
        """Run a command that starts another kernel, and wait for its agent."""
        self.seen = len(self.console.read_text(errors='replace'))
        self.answers.clear()
        self.started = time.monotonic()
        self.start(command)
        self.wait_agent()

    def wait_agent(self):
        self.wait_for(r'^# ')
        agent = '\n'.join(line for line in AGENT.read_text().splitlines()
                          if not line.startswith('#'))
        words = {'NAME': self.name,
                 'AGENT': base64.b64encode(agent.encode()).decode()}
        with socket.socket(socket.AF_UNIX) as console:
            console.connect(str(self.serial))
            for number, line in enumerate(START):
                line = re.sub('NAME|AGENT', lambda found: words[found[0]], line)
                # The echo of the line has quotes, the answer has none.
                console.sendall(f"{line}; echo line''{number}\n".encode())
                self.wait_for(f'line{number}$', console)
        self.answer(0, BOOT_SECONDS)

    def wait_for(self, pattern, console=None):
        """Wait for a line of the console. The socket is read too: it has room for some
        hundred writes of a byte."""
        pattern = re.compile(pattern, re.M)
        while not pattern.search(self.console.read_text(errors='replace'), self.seen):
            if self.process.poll() is not None or self.age() > BOOT_SECONDS:
                raise guest.GuestError(f'{self.name}: {self.why_silent(pattern)}\n'
                                       + self.tail())
            if console and select.select([console], [], [], 0.1)[0]:
                console.recv(65536)
            else:
                time.sleep(0.02)

    def why_silent(self, pattern):
        """The reason that the console has no such line."""
        return (self.panic(self.seen)
                or f'no line "{pattern.pattern}" on the console')


class StockGuests(guest.Guests):
    """A number of them; each with the image that the caller gives."""

    kind = StockGuest


def warnings(one):
    """The lines of the kernel's log, of level warning or worse, that are not known."""
    lines = [line for line in one.check('dmesg -r').splitlines()
             if line.startswith('<') and int(line[1:line.index('>')]) & 7 <= 4]
    return [line for line in lines if not any(
        text in line for texts in KNOWN_WARNINGS.values() for text in texts)]
