# SPDX-License-Identifier: GPL-2.0-or-later
"""Machines that were booted once, and saved before they had the device.

A restored machine gets its devices by hot-plug; what is on the host's side of them
(netdevs, objects) is on its command line. The states are in the cache; the oldest are
removed when another one is saved.
"""
import contextlib
import fcntl
import functools
import hashlib
import os
import subprocess
import sys
import time
from pathlib import Path

import folders
from monitor import CACHE, GuestError

PLACE = CACHE / 'saved'
AGENT = Path(__file__).resolve().parents[2] / 'guest/image/agent'
LIMIT = 12 << 30                # bytes on the disk
PORTS = 6
# Each slot has room for the BARs of any device here. By the identifier of the machine
# the kernel knows that it was restored, and seeds its random numbers anew.
SLOTS = ['-device', 'vmgenid,guid=auto', *(
    word for n in range(PORTS)
    for word in ('-device', f'pcie-root-port,id=port{n},chassis={n + 1},io-reserve=0,'
                 'mem-reserve=96M,pref64-reserve=64M'))]
# Options of the host's side, which are no part of a state.
OF_HOST = ('-netdev', '-chardev', '-object', '-trace', '-drive')
MAPPED = [{'capability': 'mapped-ram', 'state': True}]
# Random numbers of machines that have one state differ after the next message of the
# kernel about their generator. One that has its first seed gets a new one as soon as it
# is restored; for the first one a machine waits seconds. The file counts the messages.
SEEDS = "dmesg | grep -c 'random: crng'"
COUNT = f'head -c 1 /dev/random >/dev/null; {SEEDS} >/run/seeds'
# For an agent's shell: all {count} devices are there, and have their driver, if there is
# one. drivers_probe waits for a probe.
PLUGGED = r'''
    hostname {name}; date -s @{now} >/dev/null
    wait_for() {{
        n=0; until eval "$1"; do
            sleep 0.02; n=$((n + 1)); [ $n -lt 4500 ] || {{ echo "not: $1"; exit 1; }}
        done
    }}
    cd /sys/bus/pci/devices
    wait_for '[ $(ls | grep -vc ^0000:00:) = {count} ]'
    {drivers}
    wait_for '[ $({seeds}) -gt $(cat /run/seeds) ]'
    for one in $(ls | grep -v ^0000:00:); do
        ! modprobe -q -R $(cat $one/modalias) >/dev/null || wait_for \
            "{{ echo $one >../drivers_probe; }} 2>/dev/null; [ -e $one/driver ]"
    done
    # Programs take guests with one identifier of a boot for one machine.
    id=/proc/sys/kernel/random/boot_id
    cat /proc/sys/kernel/random/uuid >/run/boot_id && mount --bind /run/boot_id $id
    {settle}'''


class Options:
    """A link's options for QEMU in parts: fits is false if they are no such parts.

    smp: words for the saved machine as well. devices: those to plug in.
    """

    def __init__(self, options):
        self.smp, self.host, self.devices, self.fits = [], [], [], True
        for option, value in zip(options[::2], options[1::2]):
            if option == '-smp':
                self.smp += [option, value]
            elif option in OF_HOST:
                self.host += [option, value]
            elif option != '-device':
                self.fits = False
            elif not value.startswith('pcie-root-port,'):
                self.devices.append(value)
        self.fits = self.fits and len(options) % 2 == 0 and len(self.devices) <= PORTS

    def plug(self, monitor):
        for n, device in enumerate(self.devices):
            place = '' if ',bus=' in device else f',bus=port{n}'
            said = monitor.human(f'device_add {device}{place}').strip()
            assert not said, f'{device}: {said}'


@functools.cache
def version(qemu):
    """A machine without the device is the same in all builds of a version of QEMU."""
    return subprocess.run([qemu, '--version'], check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def key(kind, qemu, image, memory, smp):
    """Names a state by all that goes into it: the modules of the class say how it boots,
    and the agent of a stock guest is in no image."""
    words = [kind.__name__, version(qemu), memory, smp, SLOTS,
             os.environ.get('GUEST_ACCEL')]
    for file in (image / 'kernel', image / 'initrd'):
        found = file.stat()
        words.append((str(file), found.st_size, found.st_mtime_ns))
    for file in (Path(__file__), AGENT, *(Path(sys.modules[one.__module__].__file__)
                                          for one in kind.__mro__[:-1])):
        words.append(file.read_bytes())
    return hashlib.sha256(repr(words).encode()).hexdigest()[:16]


def state(kind, qemu, image, memory, smp):
    """The file with the state of a machine; kind is a class like guest.Guest."""
    PLACE.mkdir(parents=True, exist_ok=True)
    path = PLACE / key(kind, qemu, image, memory, smp)
    # One saves it, others that want it wait.
    with open(f'{path}.lock', 'w', encoding='ascii') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if path.exists():
            os.utime(path)
        else:
            remove_old()
            save(kind, qemu, image, memory, smp, path)
    return path


def remove_old():
    """The states that were used last stay, up to LIMIT. Locks stay: another process may
    wait for one."""
    found, total = [], 0
    for file in PLACE.iterdir():
        with contextlib.suppress(FileNotFoundError):
            if file.suffix != '.lock':
                found.append((file.stat(), file))
    for status, file in sorted(found, key=lambda one: -one[0].st_mtime):
        total += status.st_blocks * 512
        if total > LIMIT:
            file.unlink(missing_ok=True)


def save(kind, qemu, image, memory, smp, path):
    folder = folders.make('ernic-saved.')
    try:
        one = kind('saved', folder, smp, qemu, image, memory=memory, slots=SLOTS)
        try:
            one.wait_boot()
            one.check(one.before_save)
            one.check(COUNT)
            monitor = one.monitor()
            monitor.execute('stop')
            monitor.execute('migrate-set-capabilities', capabilities=MAPPED)
            monitor.execute('migrate-set-parameters', **{'max-bandwidth': 1 << 34})
            monitor.execute('migrate', uri=f'file:{path}.new')
            monitor.migrated()
            monitor.close()
        finally:
            one.stop()
        os.rename(f'{path}.new', path)
    finally:
        Path(f'{path}.new').unlink(missing_ok=True)
        folders.remove(folder)


def load(one, path):
    """Into a guest that waits for a state; then plug in its devices."""
    monitor = one.monitor()
    monitor.execute('migrate-set-capabilities', capabilities=MAPPED)
    monitor.execute('migrate-incoming', uri=f'file:{path}')
    try:
        monitor.migrated()
    except GuestError:
        path.unlink(missing_ok=True)            # the next one makes it anew
        raise
    # Later migrations of the machine are of the usual kind.
    monitor.execute('migrate-set-capabilities',
                    capabilities=[{**MAPPED[0], 'state': False}])
    one.options.plug(monitor)
    monitor.execute('cont')                     # it was stopped when it was saved
    monitor.close()


def settle(one):
    """Set up the differences between guests, and wait for the drivers."""
    one.check(PLUGGED.format(name=one.name, now=int(time.time()), drivers=one.drivers,
                             seeds=SEEDS.replace("'", '"'), settle=one.settled,
                             count=len(one.options.devices)))
