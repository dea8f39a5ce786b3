# SPDX-License-Identifier: GPL-2.0-or-later
"""Domains of libvirt under an AppArmor that enforces: this machine's Debian on a disk, in
which libvirtd of the system starts the domains of docs/user-guide.md, a machine in a
machine. They are in a lab, and one is an interface on a bridge."""
import platform
import re
import subprocess
import tarfile
import textwrap
import xml.etree.ElementTree as ET

import disk
import domains
import guest
import stock
from suite import Suite

RELEASE = platform.freedesktop_os_release().get('VERSION_CODENAME')
KERNEL = {release: kernel for kernel, release in disk.RELEASES.items()}
# With the libraries of QEMU as scripts/qemu-tree builds it.
PACKAGES = ['apparmor', 'ipxe-qemu', 'libfdt1', 'libisal2', 'libpixman-1-0',
            'libseccomp2', 'libslirp0', 'libvirt-clients', 'libvirt-daemon-system',
            'qemu-system-data', 'seabios']
MEMORY_MIB = 3072
# Of the boot of a machine in a machine, which took 22 minutes on a busy host.
SECONDS = 3600
IMAGES = '/var/lib/libvirt/images'
GUIDE = domains.GUIDE.read_text()
RULES = re.search(r'`(/etc/apparmor\.d/abstractions/\S+)`', GUIDE)[1]
LOCAL = re.search(r'`(/etc/apparmor\.d/local/\S+)`', GUIDE)[1]
INSTALL = re.search(r'`(install -d [^`]* /run/lab)`', GUIDE)[1]
# One listens, the other one tries again until it does; both for ever.
PINGPONG = ['ibv_rc_pingpong -e -g 1 -n 20',
            'ibv_rc_pingpong -e -g 1 -n 20 10.99.0.1']
START = '''
    export PATH=/usr/sbin:/usr/bin
    busybox mount -t proc proc /proc
    busybox mount -t sysfs sys /sys
    busybox mount -t devtmpfs dev /dev
    modprobe mlx5_ib
    ip addr add 10.99.0.NUMBER/24 dev eth0
    ip link set eth0 up
    while :; do PINGPONG && echo ended-well; busybox sleep 1; done'''


class Tools:
    """In the place of a link: a second disk, which is an archive of all that is added to
    the Debian of the first one."""

    def options(self, _, folder):
        archive = folder / 'tools.tar'
        with tarfile.open(archive, 'w', dereference=True) as tar:
            for file, place in self.files(folder).items():
                tar.add(file, place.lstrip('/'))
        return ['-smp', '2', '-drive',
                f'file={archive},format=raw,if=virtio,readonly=on']

    def files(self, folder):
        image = stock.find_image(domains.KERNEL)
        local = folder / 'local'
        local.write_text(next(block for block in domains.blocks()
                              if 'include if exists' in block))
        made = {guest.find_qemu(): domains.in_a_lab().findtext('devices/emulator'),
                guest.ROOT / 'debian/libvirt-qemu.apparmor': RULES}
        made |= {image / name: f'{IMAGES}/{name}' for name in ('kernel', 'initrd')}
        if RELEASE == 'bookworm':
            made[local] = LOCAL
        for number, (name, xml) in enumerate(documented().items()):
            disk_image, file = folder / f'{name}.qcow2', folder / f'{name}.xml'
            subprocess.run(['qemu-img', 'create', '-q', '-f', 'qcow2', disk_image, '1M'],
                           check=True)
            file.write_text(fill_in(xml, name, number))
            made |= {disk_image: f'{IMAGES}/{name}.qcow2', file: f'/root/{name}.xml'}
        return made

    def join(self, guests):
        pass

    def close(self):
        pass


def documented():
    """The domains by their names."""
    elsewhere = ET.tostring(domains.in_a_lab(), 'unicode')
    elsewhere = elsewhere.replace(domains.LAB, '/run/elsewhere')
    return {'one': domains.in_a_lab(), 'two': domains.in_a_lab(),
            'three': domains.as_an_interface(), 'refused': ET.fromstring(elsewhere)}


def fill_in(xml, name, number):
    """Change what a reader of the document changes, and add kernel and command line."""
    xml.set('type', 'qemu')
    xml.find('name').text = name
    xml.find('memory').text = str(guest.MEMORY_MIB)
    xml.find('devices/disk/source').set('file', f'{IMAGES}/{name}.qcow2')
    ET.SubElement(xml.find('devices/serial'), 'log', append='on',
                  file=f'/var/log/libvirt/qemu/{name}.console')
    program = PINGPONG[min(number, 1)]
    start = '; '.join(textwrap.dedent(START).strip().splitlines())
    start = start.replace('NUMBER', str(number + 1)).replace('PINGPONG', program)
    words = ('console=ttyS0 quiet panic=-1 mitigations=off no_timer_check '
             f'rdinit=/bin/sh -- -c "{start}"')
    for part, text in (('kernel', f'{IMAGES}/kernel'), ('initrd', f'{IMAGES}/initrd'),
                       ('cmdline', words)):
        ET.SubElement(xml.find('os'), part).text = text
    return ET.tostring(xml, 'unicode').replace(domains.MAC, f'52:54:00:00:01:0{number}')


def suites():
    yield Suite('disk-apparmor', machines,
                [test_enforced, test_start, test_bridge, test_refused, test_traffic,
                 test_managed_save, test_nothing_else_denied],
                '*', 'test-apparmor compiles the profile and looks up each path')


def machines():
    return disk.DiskGuests(1, Tools(), disk.find_image(
        KERNEL[RELEASE], '--packages', ','.join(PACKAGES)), memory=MEMORY_MIB)


def virsh(one, *words, seconds=SECONDS):
    return one.check(f'virsh -q -c qemu:///system {" ".join(words)}', seconds)


def define(one, name):
    virsh(one, 'define', f'/root/{name}.xml')


def label(one, name):
    """The profile of the domain's QEMU, and its mode."""
    pid = one.check(f'cat /run/libvirt/qemu/{name}.pid').strip()
    assert domains.in_a_lab().findtext('devices/emulator') in one.check(
        f'readlink /proc/{pid}/exe')
    return one.check(f'cat /proc/{pid}/attr/current').strip()


def check_enforced(one, name):
    uuid = virsh(one, 'domuuid', name).strip()
    assert label(one, name) == f'libvirt-{uuid} (enforce)'


def denied(one):
    return [line for line in one.check('dmesg').splitlines()
            if 'apparmor="DENIED"' in line and 'libvirt-' in line]


def wait_well(one, count):
    """Until the second domain has ended so many programs well."""
    console = '/var/log/libvirt/qemu/two.console'
    one.wait_until(f'[ $(grep -c ended-well {console}) -ge {count} ]', SECONDS)


def test_enforced(guests):
    one = guests[0]
    assert one.check('aa-enabled').strip() == 'Yes'
    one.check('tar -x -C / -f /dev/vdb && systemctl restart libvirtd', SECONDS)
    assert virsh(one, 'list') == ''


def test_start(guests):
    one = guests[0]
    one.check(INSTALL)
    for name in ('one', 'two'):
        define(one, name)
        virsh(one, 'start', name)
        check_enforced(one, name)
    assert one.check('ls /run/lab').split()


def test_bridge(guests):
    one = guests[0]
    one.check(f'ip link add {domains.BRIDGE} mtu 9000 type bridge && '
              f'ip link set {domains.BRIDGE} up')
    define(one, 'three')
    virsh(one, 'start', 'three', '--paused')
    check_enforced(one, 'three')
    assert domains.BRIDGE in virsh(one, 'domiflist', 'three')


def test_refused(guests):
    """A lab in another place, although its folder belongs to the user of QEMU."""
    one = guests[0]
    assert not denied(one), denied(one)
    one.check(INSTALL.replace(domains.LAB, '/run/elsewhere'))
    define(one, 'refused')
    result = one.run('virsh -q -c qemu:///system start refused', SECONDS)
    assert result.status and '/run/elsewhere' in result.output, result.output


def test_traffic(guests):
    wait_well(guests[0], 1)


def test_managed_save(guests):
    """The memory of the lab is given anew to a domain that comes back."""
    one = guests[0]
    virsh(one, 'managedsave', 'two')
    before = int(one.check('grep -c ended-well /var/log/libvirt/qemu/two.console'))
    virsh(one, 'start', 'two')
    check_enforced(one, 'two')
    wait_well(one, before + 2)


def test_nothing_else_denied(guests):
    lines = denied(guests[0])
    assert lines and all('name="/run/elsewhere' in line for line in lines), lines
