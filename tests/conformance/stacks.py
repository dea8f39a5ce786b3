# SPDX-License-Identifier: GPL-2.0-or-later
"""The devices that suites run on, under the same names, and images of guests.

ernic is the verbs interface with the driver and the provider of this project, mlx5 the
mlx5 interface in guests of Debian's packages alone, rxe soft-RoCE.
"""
import functools
import importlib
from pathlib import Path
from typing import Callable, NamedTuple

import guest
import links
import mlx5
import stock

MTU = 9000                      # of Ethernet, for a path MTU of 4096
# Kernels of stock guests, by the release whose programs they have.
KERNELS = {'bookworm': '6.1', 'trixie': '6.12-cloud', 'forky': 'testing-cloud'}


class Suite(NamedTuple):
    """cases(guests, short) yields the Cases, and text that says what all was for that ran
    since the last one. packages: Debian packages beside those of
    the test guest. memory: of a guest, in MiB. devices: those that can run the suite.
    about: the packages under test. start(stack) returns the guests of a suite whose
    guests differ. kernel: of a guest with the driver of this project. release: of Debian,
    for the guest's programs; a stock guest has its kernel as well: stock_kernel, else
    that of KERNELS.
    short: the devices on which the short form has the suite; none where the packages
    change from day to day. link: of LINKS. stock: packages that a stock guest needs
    beside these and stock.PACKAGES. provoked: parts of lines by which Linux's mlx5
    driver and the device complain of its cases. nic: further properties of the device,
    each after a comma.
    """

    name: str
    machines: int
    cases: Callable
    packages: tuple = ()
    memory: int = guest.MEMORY_MIB
    devices: tuple = ('ernic', 'rxe')
    about: tuple = ()
    start: Callable = None
    kernel: str = '6.1'
    release: str = 'bookworm'
    short: tuple = ('ernic',)
    link: str = 'netdev'
    stock: tuple = ()
    stock_kernel: str = ''
    provoked: tuple = ()
    nic: str = ''


LINKS = {'ernic': {'netdev': links.Netdev, 'udp': links.Udp},
         'mlx5': {'netdev': mlx5.Netdev, 'udp': mlx5.Udp},
         'rxe': {'netdev': links.SoftRoce}}
STACKS = tuple(LINKS)


def image(kernel, packages, release='bookworm'):
    words = ['--packages', ','.join(packages)] if packages else []
    return Path(guest.last_line(guest.ROOT / 'guest/image/build.py', '--kernel', kernel,
                                '--release', release, *words))


# Sorted as the table.
MODULES = ('pyverbs', 'utilities', 'traffic', 'storage', 'middleware', 'semantics',
           'interop', 'kernel', 'rounds')


def all_runs():
    """{name: (suite, device)} of all."""
    files = {file.stem for file in Path(__file__).parent.glob('suite_*.py')}
    assert files == {f'suite_{module}' for module in MODULES}, files
    return {f'{suite.name}-{stack}': (suite, stack) for module in MODULES
            for suite in importlib.import_module(f'suite_{module}').SUITES
            for stack in suite.devices}


def packages(guests):
    """{package: version} of those in guests[0]."""
    if isinstance(guests, stock.StockGuests):   # nothing of ours is inside
        return {file.name: file.read_text().strip()
                for file in (guests.image / 'packages').iterdir()}
    lines = guests[0].check('cd /usr/share/packages; grep -H . *').splitlines()
    return dict(line.split(':', 1) for line in lines)


def stock_guests(guests):
    """Stacks with Debian's packages alone."""
    return [one for one in guests if isinstance(one, stock.StockGuest)]


def versions(guests, suite):
    """The versions of the guests' kernels and of the packages under test."""
    kernels = [one.check('uname -v | grep -o "Debian [^ ]*" || uname -r').split()[-1]
               for one in guests]
    found = packages(guests) if suite.about else {}
    return (', '.join(dict.fromkeys(kernels)),
            ', '.join(f'{name} {found[name]}' for name in suite.about if name in found))


def machines(stack, suite):
    """The guests, with addresses and an active RDMA device each."""
    if suite.start:
        return suite.start(stack)
    up = functools.partial(set_up, stack)
    link = LINKS[stack][suite.link]()
    link.nic = suite.nic
    if stack != 'mlx5':
        folder = image(suite.kernel, suite.packages, suite.release)
        return guest.Guests(suite.machines, link, folder, memory=suite.memory, up=up)
    names = dict.fromkeys([*stock.PACKAGES, *suite.packages, *suite.stock])
    folder = stock.find_image(suite.stock_kernel or KERNELS[suite.release], tuple(names))
    return stock.StockGuests(suite.machines, link, folder, memory=suite.memory, up=up)


def set_up(stack, guests):
    if stack == 'mlx5':
        mlx5.prepare(guests)
    links.up(guests, MTU)
    for one in guests:
        if stack == 'rxe':
            one.check(links.ADD_SOFT_ROCE)
        one.wait_until('ibv_devinfo -v | grep -q PORT_ACTIVE')
