# SPDX-License-Identifier: GPL-2.0-or-later
"""Domains of libvirt with the XML of docs/user-guide.md: those of two sessions in a lab,
and those of the system, whose device is an interface of libvirt."""
import functools
import time
import xml.etree.ElementTree as ET

import domains
import guest
import links
import mlx5
import programs
from programs import Program
from suite import Suite, named

PROGRAMS = [Program('ibv_rc_pingpong', programs.PINGPONG, '-c -n 200 -e'),
            Program('ib_write_bw', programs.BANDWIDTH, '-s 65536 -n 200'),
            programs.BY_NAME['rping']]
SECONDS = 900                   # of the traffic while a machine migrates, at most
DRIVEN = 'ls /sys/bus/pci/drivers/mlx5_core/0000:*'
LIST = '{"execute": "qom-list", "arguments": {"path": "/machine/peripheral"}}'
E1000E = '0x10d3'               # the PCI device of an e1000e
# A machine that was saved had no time meanwhile.
KNOWN_WARNINGS = ['clocksource', 'rcu:']


def suites():
    same = 'saved states, migration and hot-plug have tests without libvirt'
    ends = [named(program.name, programs.check, program) for program in PROGRAMS]
    log = named('no_complaints', mlx5.test_no_complaints, *KNOWN_WARNINGS)
    yield Suite('libvirt-session', functools.partial(domains.Domains, False),
                [test_up, *ends, test_managed_save, test_migrate, test_plug, log],
                '*', same)
    yield Suite('libvirt-system', functools.partial(domains.Domains, True),
                [test_up, *ends, test_interfaces, test_managed_save, test_link,
                 test_detach, log], '*', same)


def test_up(guests):
    print('# booted in ' + ', '.join(f'{seconds:.0f} s'
                                     for seconds in guests.boot_seconds), flush=True)
    mlx5.prepare(guests)
    links.up(guests, links.MTU)


def check_all(guests):
    for program in PROGRAMS:
        programs.check(guests, program)


def check_again(guests):
    """After the device of the first one has come back."""
    guests[0].wait_until(DRIVEN)
    guests[0].check('udevadm settle')
    mlx5.prepare(guests[:1])
    links.up(guests, links.MTU)
    check_all(guests)


def test_interfaces(guests):
    """libvirt has the device among its interfaces."""
    for n, one in enumerate(guests):
        row = one.daemon.virsh('domiflist', one.name).split()[-5:]
        assert row[1:] == ['bridge', domains.BRIDGE, 'e1000e', links.mac(n)], row


def test_managed_save(guests):
    one = guests[0]
    before = one.check(guest.BOOT_ID)
    one.daemon.virsh('managedsave', one.name)
    assert one.daemon.virsh('domstate', one.name).strip() == 'shut off'
    one.daemon.virsh('start', one.name)
    one.reconnect()
    assert one.check(guest.BOOT_ID) == before
    check_all(guests)


def test_migrate(guests):
    """To the other libvirtd, while the guests exchange data and compare them."""
    one, peer = guests
    source, target = guests.daemons
    ends = [peer.start(f'rping -s -a {links.ipv4(1)} -S 16384', SECONDS)]
    peer.wait_until('rdma resource show cm_id | grep -q LISTEN')
    ends.append(one.start(f'rping -c -a {links.ipv4(1)} -S 16384 -V', SECONDS))
    mlx5.goes_on(peer)
    one.migrate(target)
    mlx5.goes_on(peer)
    assert not any(end.done() for end in ends)
    assert one.name not in source.virsh('list', '--all', '--name')
    for end in ends:
        end.kill()
    check_all(guests)


def wait_gone(one):
    one.wait_until('! ' + DRIVEN)


def wait_while(condition, what):
    end = time.monotonic() + guest.SECONDS
    while condition():
        assert time.monotonic() < end, f'{what} after {guest.SECONDS} s'
        time.sleep(0.2)


def monitor(one, *words):
    return one.daemon.virsh('qemu-monitor-command', one.name, *words).strip()


def test_plug(guests):
    """Out of the domain and into it again, by the monitor."""
    one = guests[0]
    xml = ET.fromstring(one.daemon.virsh('dumpxml', one.name))
    device = xml.findall(f'.//{{{domains.QEMU}}}arg')[-1].get('value')
    assert monitor(one, '--hmp', 'device_del rdma') == ''
    wait_gone(one)
    wait_while(lambda: '"rdma"' in monitor(one, LIST), 'QEMU has the device')
    assert monitor(one, '--hmp', f'device_add {device}') == ''
    check_again(guests)


def test_link(guests):
    """The cable of libvirt's interface is that of the RDMA port."""
    one = guests[0]
    for state, shown in (('down', 'DOWN'), ('up', 'ACTIVE')):
        one.daemon.virsh('domif-setlink', one.name, links.mac(0), state)
        one.wait_until(f'grep -q {shown} {links.PORT}/state')
    check_all(guests)


def test_detach(guests):
    """libvirt unplugs the device, and plugs in an e1000e, as the document says."""
    one = guests[0]
    file = guests.folder / 'interface.xml'
    xml = domains.as_an_interface().find('devices/interface')
    file.write_text(ET.tostring(xml, 'unicode'))
    one.daemon.virsh('detach-device-alias', one.name, 'ua-rdma')
    wait_gone(one)
    wait_while(lambda: links.mac(0) in one.daemon.virsh('domiflist', one.name),
               'libvirt has the interface')
    one.daemon.virsh('attach-device', one.name, file)
    one.wait_until(f'grep -q {E1000E} /sys/bus/pci/devices/*/device')
