# SPDX-License-Identifier: GPL-2.0-or-later
"""Stock guests in a distribution's QEMU, whose device our QEMU exports by vfio-user."""
import re

import links
import mlx5
import programs
import test_mlx5_verbs
import vfio_user
from programs import Program
from suite import Suite, named

# A machine of QEMU 11 says so to this kernel, with any device.
OVERRIDE = ' override to '
DRIVER = '/sys/bus/pci/drivers/mlx5_core'
EVENTS = Program('ibv_rc_pingpong', programs.PINGPONG, '-c -n 200 -e')
PROGRAMS = ('ud_events', 'rping', 'write', 'read', 'send', 'atomic')


def machines():
    return mlx5.start('6.12-cloud', vfio_user.Lab(), kind=vfio_user.Guests)


def interrupts(one):
    """How many the guest has had from the device."""
    return sum(int(count) for line in one.check('grep mlx5 /proc/interrupts').splitlines()
               for count in line.split(':')[1].split()[:1])


def address(one):
    return one.check(f'basename $(readlink -f {DRIVER}/*:*)').strip()


def test_client(guests):
    """The guest's QEMU is 10.1 or newer, and does not know our device."""
    for one in guests:
        version = links.qemu(one, 'query-version')['qemu']
        types = {kind['name'] for kind in links.qemu(one, 'qom-list-types')}
        assert (version['major'], version['minor']) >= (10, 1), version
        assert 'vfio-user-pci' in types and 'ernic' not in types


def test_engine(guests):
    """The engine has a thread of its own in the server: there is no IOMMU."""
    for server in guests.link.servers:
        assert any('ernic' in name for name in server.threads()), server.threads()


def test_devices(guests):
    """The stock driver has the device, with an active port."""
    for one in guests:
        assert 'PORT_ACTIVE' in one.check(f'ibv_devinfo -d {links.DEVICE}')
        assert one.check(f'cat {DRIVER}/*:*/vendor').strip() == '0x15b3'


def test_ping(guests):
    guests[0].check(f'ping -c 3 -i 0.2 -W 5 -s 1400 {links.ipv4(1)}')


def test_interrupts(guests):
    """Each completion that the guest waits for comes as an interrupt (MSI-X)."""
    before = [interrupts(one) for one in guests]
    programs.check(guests, EVENTS)
    for one, count in zip(guests, before):
        assert interrupts(one) - count >= 100, (count, interrupts(one))


def test_reset(guests):
    """A reset of the function masks its vectors; they work again with the next driver."""
    for n, one in enumerate(guests):
        where = address(one)
        one.check(f'echo {where} >{DRIVER}/unbind && '
                  f'echo 1 >/sys/bus/pci/devices/{where}/reset && '
                  f'echo {where} >{DRIVER}/bind')
        one.check('udevadm settle')
    mlx5.prepare(guests)
    links.up(guests)
    test_interrupts(guests)


def test_log(guests):
    programs.test_log(guests)
    mlx5.test_no_complaints(guests, OVERRIDE)
    for server in guests.link.servers:
        assert not re.search('vfu|error|warning', server.said()), server.said()


def test_server_killed(guests):
    """The guest's QEMU outlives the server, and answers; the guest loses its device."""
    guests.link.servers[1].process.kill()
    guests.link.servers[1].process.wait()
    assert links.qemu(guests[1], 'query-status')['running']
    assert guests[1].check('echo alive').strip() == 'alive'
    guests[0].check(f'ibv_devinfo -d {links.DEVICE}')


def suites():
    yield Suite('vfio-user-6.12-cloud', machines, [
        test_client, test_engine, test_devices, test_ping,
        *(named(name, programs.check, program) for name, program
          in test_mlx5_verbs.PROGRAMS if name in PROGRAMS),
        test_interrupts, test_reset, test_log, test_server_killed],
        '*', 'mlx5-verbs-6.12-cloud finds faults of the device; the others are of QEMU')
