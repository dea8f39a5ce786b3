# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests of Debian's packages alone, with the mlx5 interface of the device.

Names of the interface and of the RDMA device are those of links.py, so that all tests of
programs can use such guests.
"""
import re

import guest
import links
import programs
import stock

TRACE = ('-trace', 'ernic_mlx5_refused')
RECEIVED = f'{links.PORT}/counters/port_rcv_packets'
# Modules of verbs, rdma_cm and MADs; rules of a package that is not there load them.
MODULES = 'ib_uverbs rdma_ucm ib_umad'
# Warnings of the driver: part of the line, and the reason.
KNOWN_WARNINGS = {
    'mtrr: your CPUs had inconsistent': 'a machine of QEMU with two processors',
    'Write combining is not supported': 'an emulated processor combines no stores',
    'S-tagged traffic will be dropped': 'the driver strips tags in promiscuous mode, too',
    "fw query isn't supported": 'the version of the firmware is in the segment only',
    'Disabling rxhash, not supported when CQE compress is active': 'a test wants it so',
    'mlx5_core 0000:00:02.0: reset': 'newer kernels say so when software resets it',
    'Fatal error 3 detected': 'after that reset the interface is disabled',
    'mlx5_health_try_recover': 'the driver recovers from that',
    'mlx5_handle_bad_state': 'likewise',
    'mlx5_error_sw_reset': 'likewise',
}


class Interface:
    """For classes of links.py: the device has the mlx5 interface."""

    words = TRACE
    device = 'ernic,interface=mlx5'


class Netdev(Interface, links.Netdev):
    pass


class Lab(Interface, links.Lab):
    pass


class Events(Interface, links.Events):
    words = (*TRACE, *links.Events.words)


class Udp(Interface, links.Udp):
    pass


class Shm(Interface, links.Shm):
    pass


def prepare(guests, modules=MODULES, driver='mlx5_core'):
    """Load modules, if any, and rename interface and device; rules of rdma-core, where it
    is installed, have given the device another name. On a busy host udev has not loaded
    mlx5_ib yet."""
    for one in guests:
        if modules:
            one.check(f'modprobe -a {modules}')
        one.wait_until(f'ls /sys/bus/pci/drivers/{driver}/*:*/infiniband/*', 60)
        name, device = one.check(f'cd /sys/bus/pci/drivers/{driver}/*:*/net && echo * && '
                                 'cd ../infiniband && echo *').split()
        if name != links.INTERFACE:
            one.check(f'ip link set {name} down && '
                      f'ip link set {name} name {links.INTERFACE}')
        one.check(f'rdma dev set {device} name {links.DEVICE}')


def start(kernel, link, mtu=1500, packages=(stock.PACKAGES,) * 2, modules=MODULES,
          memory=guest.MEMORY_MIB, kind=stock.StockGuests):
    """Guests with addresses and an RDMA device each. kernel: of stock.KERNELS. packages:
    those of each guest. modules: as for prepare(). kind: their class."""
    def up(guests):
        prepare(guests, modules)
        links.up(guests, mtu)

    images = [stock.find_image(kernel, tuple(names)) for names in packages]
    return kind(len(images), link, images, memory=memory, up=up)


def goes_on(one, packets=1000):
    """Wait until it has received so many more."""
    before = int(one.check(f'cat {RECEIVED}'))
    one.wait_until(f'test $(cat {RECEIVED}) -gt {before + packets}')


def write(guests, seconds=60):
    """Let the first guest write to the second until something ends it; the jobs of both
    ends."""
    gids = [programs.gid_index(one, links.ipv4(n)) for n, one in enumerate(guests)]
    words = f'ib_write_bw -d {links.DEVICE} -F -D {seconds}'
    server = guests[1].start(f'{words} -x {gids[1]}', seconds + 30)
    guests[1].wait_until(programs.LISTENS)
    client = guests[0].start(f'{words} -x {gids[0]} {links.ipv4(1)}', seconds + 30)
    goes_on(guests[1])
    return client, server


def complaints(one):
    """Lines of the kernel's log that are not known, and refused commands."""
    return [*(line for line in stock.warnings(one)
              if not any(text in line for text in KNOWN_WARNINGS)),
            *re.findall('^ernic_mlx5_refused.*', one.log.read_text(errors='replace'),
                        re.M)]


def test_no_complaints(guests, *known):
    """The kernel logs no warning without a reason; the device refuses no command.

    known: parts of further lines that have one.
    """
    for one in guests:
        lines = [line for line in complaints(one)
                 if not any(text in line for text in known)]
        assert not lines, '\n'.join(lines)
