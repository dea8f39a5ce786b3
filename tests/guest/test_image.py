# SPDX-License-Identifier: GPL-2.0-or-later
"""The test guest: image, agent, boot, and our files in it."""
import re
import shutil
import subprocess
import time
from pathlib import Path

import guest
import links
import programs
from suite import KERNELS, NEWEST, Suite, named, ours

BOOT_LIMIT = 10                 # seconds, two guests at once


# Tests of the agent, which is the same with each kernel.
SAME = 'boot status timeout'
# A source that misses an include.
EACH = 'driver_warnings compiles the same sources as one unit'


def suites():
    for kernel in KERNELS:
        yield Suite(f'image-{kernel}', ours(2, links.Netdev(), kernel,
                                                cold='the boot is tested'),
                    [named('kernel', check_kernel, kernel),
                     named('driver_warnings', check_driver_warnings, kernel),
                     named('driver_each', check_driver_warnings, kernel, '--each'),
                     test_devices, test_no_complaints, test_boot, test_status,
                     test_timeout],
                    *(['driver_each', EACH] if kernel == '6.1' else
                      [f'{SAME} driver_each', f'image-6.1; {EACH}']))
    yield Suite(f'image-{NEWEST}', ours(2, links.Lab(), NEWEST,
                                        cold='no other suite uses a saved state of it'),
                [named('kernel', check_kernel, ''),
                 named('driver_warnings', check_driver_warnings, NEWEST),
                 named('driver_each', check_driver_warnings, NEWEST, '--each'),
                 test_devices, test_verbs, test_no_complaints],
                '*', 'image-6.1 and lab-6.1 test the same on another kernel')


def check_kernel(guests, kernel):
    """kernel: its version, or '' for one that is newer than all of KERNELS."""
    for one in guests:
        release = one.check('uname -r')
        if kernel:
            assert release.startswith(kernel + '.'), release
        else:
            numbers = [tuple(map(int, text.split('.')[:2]))
                       for text in (release, *KERNELS)]
            assert numbers[0] > max(numbers[1:]), release


def check_driver_warnings(_, kernel, *each):
    """Neither gcc nor sparse warns of the driver, and both have seen all of it: in one
    unit, or each source alone."""
    done = subprocess.run([guest.ROOT / 'guest/linux/build', '--kernel', kernel, *each],
                          capture_output=True, text=True, check=True)
    assert not done.stderr, done.stderr
    module = Path(done.stdout.splitlines()[-1])
    sources = {file.name for file in module.parent.glob('ernic_*.c')}
    unit = module.parent / 'ernic_all.c'
    if not each:
        included = set(re.findall('"(.*)"', unit.read_text()))
        assert included == sources - {unit.name}, included
        sources = {unit.name}
    log = [line.split() for line in (module.parents[4] / 'log').read_text().splitlines()]
    compiled = {Path(words[2]).with_suffix('.c').name for words in log
                if words[:2] == ['CC', '[M]']}
    assert sources <= compiled, compiled
    if kernel != NEWEST:                # see guest/linux/build
        assert shutil.which('sparse'), 'sparse is not installed (scripts/packages)'
        checked = {Path(words[1]).name for words in log if words[:1] == ['CHECK']}
        assert sources <= checked, checked


def test_verbs(guests):
    """The provider finds the device, and queue pairs in both guests exchange data."""
    links.up(guests)
    for one in guests:
        one.put_programs()
        assert 'PORT_ACTIVE' in programs.good(programs.devinfo(one)).figure
    programs.check(guests, 'ibv_rc_pingpong')


def test_boot(guests):
    """Within the limit by the clock, in one of two tries. On a busy host the time for
    which the machines waited for a processor does not count."""
    if max(guests.boot_seconds) >= BOOT_LIMIT:
        guests.stop()
        guests.boot(2, guest.find_qemu(), guests.image)
    seconds, waited = max(guests.boot_seconds), max(guests.boot_waited)
    print(f'# {seconds:.1f} s, {waited:.1f} s of it without a processor')
    assert seconds - (waited if waited > seconds / 4 else 0) < BOOT_LIMIT


def test_status(guests):
    result = guests[0].run('echo out; echo err >&2; exit 7')
    assert (result.status, result.output) == (7, 'out\nerr\n')
    assert guests[0].run('kill -9 $$').status == 137
    assert len(guests[0].run('head -c 300000 /dev/zero | tr "\\0" x').output) == 300000


def test_timeout(guests):
    start = time.monotonic()
    result = guests[0].run('echo begun; sleep 60', seconds=2)
    assert (result.status, result.output) == (124, 'begun\n')
    assert time.monotonic() - start < 10


def test_devices(guests):
    """The driver has found the card: an interface and an RDMA device."""
    for one in guests:
        assert '1af4:10f4' in one.check('lspci -n')
        one.check(f'test -e /sys/class/net/{links.INTERFACE}')
        assert links.DEVICE in one.check('rdma link')


def test_no_complaints(guests):
    """The kernel logs nothing of level warning or worse that is not known."""
    known = ('out-of-tree module', 'module verification failed')
    for one in guests:
        lines = [line for line in one.check('dmesg -r').splitlines()
                 if 'ernic' in line and int(line[1:line.index('>')]) & 7 <= 4]
        lines = [line for line in lines if not any(text in line for text in known)]
        assert not lines, lines
