# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian on a disk with our driver by DKMS. One guest upgrades its kernel by apt, while
programs use the device: the hooks of the packages have DKMS build the driver for it."""
import disk
import links
import programs
from suite import Suite, named
from test_disk import PROGRAMS, check_boot

OLD, NEW = '6.1', '6.12'
DRIVER = 'ernic'
UPGRADE = ('DEBIAN_FRONTEND=noninteractive apt-get install -q -y -t bookworm-backports '
           'linux-headers-cloud-amd64 linux-image-cloud-amd64')
UPGRADE_SECONDS = 3600          # the host may be busy; ten minutes were seen
# Without a limit it would take a processor of the host from the upgrade.
PING = f'systemd-run -q --scope -p CPUQuota=10% rping -c -a {links.ipv4(1)} -V'


class Lab(links.Lab):
    words = ('-smp', '2')


def suites():
    yield Suite('disk-dkms', machines,
                [named('boot', check_boot, OLD), test_up,
                 *(named(program.name, programs.check, program) for program in PROGRAMS),
                 test_upgrade, test_new, test_back, programs.test_log],
                '*', 'sets driver-* load the driver, and qtests compile it for a kernel')


def machines():
    return disk.DiskGuests(2, Lab(), disk.find_image(OLD, '--dkms'))


def check_status(one, *kernels):
    """DKMS has installed the module for these kernels."""
    lines = one.check('dkms status 2>/dev/null').splitlines()
    assert len(lines) == len(kernels), lines
    assert all(line.endswith(': installed') for line in lines), lines
    for kernel in kernels:
        assert sum(f', {kernel}.' in line for line in lines) == 1, lines


def check_driver(one, kernel):
    """That kernel runs, and udev has loaded the module that DKMS has built for it."""
    assert one.check('uname -r').startswith(kernel + '.')
    assert '/updates/dkms/ernic.ko' in one.check(f'modinfo -n {DRIVER}')
    one.wait_until(f'test -d /sys/module/{DRIVER}', 300)


def check_kernel(guests, kernel):
    """The first guest runs it, beside a peer with the old one."""
    check_driver(guests[0], kernel)
    disk.wait_up(guests, DRIVER)
    for program in PROGRAMS:
        programs.check(guests, program)


def test_up(guests):
    for one in guests:
        check_status(one, OLD)
        check_driver(one, OLD)
    disk.up(guests, DRIVER)
    for one in guests:
        assert programs.devinfo(one).figure == 'PORT_ACTIVE, MTU 4096'


def test_upgrade(guests):
    """RDMA goes on meanwhile."""
    upgraded, peer = guests
    server = peer.start(f'rping -s -a {links.ipv4(1)}', UPGRADE_SECONDS)
    peer.wait_until(programs.RPING.listens)
    client = programs.sends(upgraded, PING, UPGRADE_SECONDS, 100)
    output = upgraded.check(f"bash -c 'time {UPGRADE}'", UPGRADE_SECONDS)
    print('# ' + ' '.join(output.split()[-6:]), flush=True)
    sent = int(upgraded.check(f'cat {programs.SENT}'))
    upgraded.wait_until(f'[ $(cat {programs.SENT}) -ge {sent + 100} ]')
    assert not client.done() and not server.done()
    client.kill()
    check_status(upgraded, OLD, NEW)


def test_new(guests):
    guests[0].restart(lambda: guests[0].start('reboot'))
    check_kernel(guests, NEW)


def test_back(guests):
    guests[0].restart(lambda: guests[0].start(
        'kexec --load /vmlinuz.old --initrd=/initrd.img.old --reuse-cmdline && '
        'systemctl kexec'))
    check_kernel(guests, OLD)
