# SPDX-License-Identifier: GPL-2.0-or-later
"""The two devices that suites run on, under the same names, and images of guests."""
from pathlib import Path
from typing import Callable, NamedTuple

import guest
import links

MTU = 9000                      # of Ethernet, for a path MTU of 4096


class Suite(NamedTuple):
    """cases(guests, short) yields the Cases. packages: Debian packages beside those of
    the test guest. memory: of a guest, in MiB. rxe: whether soft-RoCE can run the
    suite. about: the packages under test. start(kernel) returns the guests of a suite
    whose guests differ. kernel: the suite's own; else that of the command line.
    release: of Debian, for the guest's programs. short: whether the short form has the
    suite; not where the packages change from day to day. link: of the device, if not the
    one of STACKS.
    """

    name: str
    machines: int
    cases: Callable
    packages: tuple = ()
    memory: int = guest.MEMORY_MIB
    rxe: bool = True
    about: tuple = ()
    start: Callable = None
    kernel: str = ''
    release: str = 'bookworm'
    short: bool = True
    link: Callable = None


class SoftRoce(links.Link):
    """rdma_rxe over virtio-net, under the device's name."""

    def options(self, n, folder):
        return [*links.wire(n, folder), '-device',
                f'virtio-net-pci,id=nic,netdev=wire,mac={links.mac(n)}']


STACKS = {'ernic': links.Netdev, 'rxe': SoftRoce}


def image(kernel, packages, release='bookworm'):
    words = ['--packages', ','.join(packages)] if packages else []
    return Path(guest.last_line(guest.ROOT / 'guest/image/build.py', '--kernel', kernel,
                                '--release', release, *words))


def named(suites, names):
    """The suites that names choose, by the whole name or else a part of it; or all."""
    all_names = {suite.name for suite in suites}
    return [suite for suite in suites if not names or any(
        name == suite.name if name in all_names else name in suite.name
        for name in names)]


def versions(guests, suite):
    """The versions of the guests' kernels and of the packages under test."""
    kernels = [one.check('uname -v | grep -o "Debian [^ ]*" || uname -r').split()[-1]
               for one in guests]
    found = guests[0].check('cd /usr/share/packages; grep -H . '
                            f'{" ".join(suite.about)} /dev/null; true') \
        if suite.about else ''
    return (', '.join(dict.fromkeys(kernels)),
            ', '.join(line.replace(':', ' ', 1) for line in found.splitlines()))


def machines(stack, suite, kernel):
    """The guests, with addresses and an active RDMA device each."""
    if suite.start:
        return suite.start(kernel)
    folder = image(suite.kernel or kernel, suite.packages, suite.release)
    link = (suite.link or STACKS[stack])()
    guests = guest.Guests(suite.machines, link, folder, memory=suite.memory)
    try:
        links.up(guests, MTU)
        for one in guests:
            if stack == 'rxe':
                one.check(f'modprobe rdma_rxe && rdma link add {links.DEVICE} '
                          f'type rxe netdev {links.INTERFACE}')
            one.check('timeout 10 sh -c "until ibv_devinfo -v | grep -q '
                      'PORT_ACTIVE; do sleep 0.2; done"', 15)
    except BaseException:
        guests.close()
        raise
    return guests
