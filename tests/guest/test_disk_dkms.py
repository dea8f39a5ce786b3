# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian on a disk with our driver by DKMS, and with a newer kernel that came later: DKMS
has built the driver for it, and for the old one."""
import disk
import links
import programs
from suite import Suite, named
from test_disk import PROGRAMS, check_boot, check_program

OLD, NEW = '6.1', '6.12'
DRIVER = 'ernic'


def suites():
    yield Suite('disk-dkms', machines,
                [named('boot', check_boot, NEW), test_status, test_up,
                 *(named(program.name, check_program, program) for program in PROGRAMS),
                 test_back, programs.test_log],
                '*', 'sets driver-* load the driver, and qtests compile it for a kernel')


def machines():
    return disk.DiskGuests(2, links.Lab(), disk.find_image(OLD, '--dkms'))


def test_status(guests):
    """Both kernels have their module."""
    lines = guests[0].check('dkms status 2>/dev/null').splitlines()
    assert len(lines) == 2 and all(line.endswith(': installed') for line in lines), lines
    for kernel in OLD, NEW:
        assert sum(f', {kernel}.' in line for line in lines) == 1, lines


def check_driver(one, kernel):
    """That kernel runs, and udev has loaded the module that DKMS has built for it."""
    assert one.check('uname -r').startswith(kernel + '.')
    assert '/updates/dkms/ernic.ko' in one.check(f'modinfo -n {DRIVER}')
    programs.wait_until(one, f'test -d /sys/module/{DRIVER}', 300)


def test_up(guests):
    for one in guests:
        check_driver(one, NEW)
    disk.up(guests, DRIVER)
    for one in guests:
        assert programs.devinfo(one).figure == 'PORT_ACTIVE, MTU 4096'


def test_back(guests):
    """The old kernel, beside a peer with the new one."""
    guests[0].restart(lambda: guests[0].start(
        'kexec --load /vmlinuz.old --initrd=/initrd.img.old --reuse-cmdline && '
        'systemctl kexec'))
    check_driver(guests[0], OLD)
    disk.wait_up(guests, DRIVER)
    for program in PROGRAMS:
        programs.check(guests, program)
