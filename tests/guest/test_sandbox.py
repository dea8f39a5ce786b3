# SPDX-License-Identifier: GPL-2.0-or-later
"""Machines that are confined as docs/security.md describes, with RDMA between them.

QEMU runs in its sandbox, without a right on the host and with an empty environment. If
root runs the tests, QEMU belongs to an unprivileged user.
"""
import functools
import os
import shutil
import time
from pathlib import Path

import guest
import links
import programs
import test_driver
from suite import Suite, named

SANDBOX = ('on,obsolete=deny,elevateprivileges=deny,spawn=deny,'
           'resourcecontrol=deny')
KERNEL = '6.1'
NOBODY = 65534
FILTER = '2'                    # SECCOMP_MODE_FILTER
PROGRAMS = ('ibv_rc_pingpong', 'ib_send_bw', 'rping')


class Confined(guest.Guests):
    """Guests whose QEMU can do on the host what it needs, and no more."""

    cold = 'QEMU may not read a saved state'

    def boot(self, count, qemu, image):
        command = ['env', '-i']
        if os.getuid() == 0:
            # A path below root's home is out of reach.
            qemu = shutil.copy(qemu, self.folder)
            image = shutil.copytree(image, self.folder / 'image')
            os.chown(self.folder, NOBODY, NOBODY)
            command += ['setpriv', f'--reuid={NOBODY}', f'--regid={NOBODY}',
                        '--clear-groups', '--inh-caps=-all', '--bounding-set=-all',
                        '--no-new-privs', '--pdeathsig=KILL']
        wrapper = self.folder / 'confine'
        wrapper.write_text(f'#!/bin/sh\nexec {" ".join(command)} {qemu} '
                           f'-sandbox {SANDBOX} "$@"\n', encoding='ascii')
        wrapper.chmod(0o755)
        super().boot(count, wrapper, image)


class Udp(links.Plugged, links.Udp):
    """The same with the UDP link."""

    name = 'udp'
    join, plug = links.Udp.join, links.Udp.plug

    def __init__(self, *words, **more):
        super().__init__(*words, **{'roce-udp': '127.0.0.1:0'}, **more)


class IoThread(Udp):
    name = 'iothread'

    def __init__(self):
        super().__init__('-object', 'iothread,id=io0', iothread='io0')


class Netdev(links.Plugged):
    name = 'netdev'


def suites():
    """With one kernel, of which QEMU's sandbox is independent."""
    image = functools.partial(guest.find_image, KERNEL)
    tests = [test_confined, test_up,
             *(named(name, programs.check, name) for name in PROGRAMS)]
    for link, more in ((Netdev(), []), (Udp(), []), (IoThread(), [test_thread])):
        yield Suite(f'sandbox-{link.name}-{KERNEL}',
                    functools.partial(Confined, 2, link, image),
                    [*tests, *more, programs.test_log, test_save],
                    *([] if more else ['*', 'sandbox-iothread-6.1']))


def threads(one):
    """The status of each thread of QEMU, as a dictionary."""
    files = Path(f'/proc/{one.process.pid}/task').glob('*/status')
    return [dict(line.split(':\t', 1) for line in file.read_text().splitlines())
            for file in files]


def is_confined(one):
    """Every thread is; returns their number."""
    found = threads(one)
    for thread in found:
        assert thread['Seccomp'] == FILTER, thread
        assert int(thread['CapEff'], 16) == 0, thread
        assert '0' not in thread['Uid'].split(), thread
    return len(found)


def test_confined(guests):
    for one in guests:
        # The main loop, a processor, the thread of RCU.
        assert is_confined(one) >= 3
        assert not Path(f'/proc/{one.process.pid}/environ').read_bytes()


def test_up(guests):
    links.up(guests, 9000)


def test_thread(guests):
    """A device is plugged in; its thread starts in the sandbox."""
    one = guests[0]
    monitor = one.monitor()
    test_driver.unplug(monitor, 'nic')
    before = is_confined(one)
    monitor.execute('object-add', **{'qom-type': 'iothread', 'id': 'io1'})
    monitor.execute('device_add', **{**guests.link.plugged(), 'iothread': 'io1'})
    monitor.close()
    assert is_confined(one) > before
    one.wait_until(f'[ -e /sys/class/infiniband/{links.DEVICE} ]')
    for n in range(2):
        for address in (links.ipv4, links.ipv6):
            links.set_property(guests[1], 'remove-peer', address(n))
    links.up(guests, 9000)
    guests.link.join(guests)
    for name in PROGRAMS:
        programs.check(guests, name)


def test_save(guests):
    """The threads of a migration are confined too; the file is in the user's folder."""
    for one in guests:
        monitor = one.monitor()
        monitor.execute('migrate', uri=f'file:{one.folder / one.name}.state')
        while (status := monitor.execute('query-migrate')['status']) != 'completed':
            assert status != 'failed' and one.age() < 10 * guest.BOOT_SECONDS, status
            is_confined(one)
            time.sleep(0.05)
        monitor.close()
