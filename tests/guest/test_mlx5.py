# SPDX-License-Identifier: GPL-2.0-or-later
"""Linux's mlx5_core on the mlx5 interface, in kernels of Debian as they are.

A suite for each kernel of KERNELS. The network device and mlx5_ib do not start yet:
the capabilities that they need are off.
"""
import functools

import links
import stock
from suite import Suite
from test_stock import warnings

# The oldest, one of a cloud, and the newest.
KERNELS = ['6.1', '6.12-cloud', 'testing-cloud']
ROUNDS = 20
DEVICE = '/sys/bus/pci/devices/$(cd /sys/bus/pci/drivers/mlx5_core && echo *:*)'
# Warnings of the driver: part of the line, and the reason.
KNOWN_WARNINGS = {
    'Missing eth_net_offloads capability': 'there is no network device yet',
    'mlx5_ib.rdma: probe of mlx5_core.rdma.0 failed with error -12':
        'there is no RDMA device yet',
    'mlx5_core.rdma.0: probe with driver mlx5_ib.rdma failed with error -':
        'likewise, in newer kernels',
    'ACCESS_REG(0x805) op_mod(0x1) failed, status bad parameter(0x3), syndrome (0xe)':
        'mlx5_ib reads register 0x6001 (NODE_DESC), which does not exist yet',
    'callbacks suppressed': 'more of that than the kernel logs in five seconds',
    'mlx5_core 0000:00:02.0: reset': 'newer kernels say so when software resets it',
}


class Mlx5(links.Link):
    """A virtual function of the mlx5 interface, on a wire."""

    def options(self, n, folder):
        return [*links.wire(n, folder), '-device',
                f'ernic,personality=mlx5,id=nic,netdev=wire,mac={links.mac(n)}']


def machines(kernel):
    return stock.StockGuests(1, Mlx5(), stock.find_image(kernel))


def test_probe(guests):
    """udev has loaded the driver, and it drives the function."""
    one = guests[0]
    ids = one.check(f'cat {DEVICE}/vendor {DEVICE}/device').split()
    assert ids == ['0x15b3', '0x1018']
    assert 'firmware version' in one.check('dmesg | grep mlx5_core')


def test_bind(guests):
    """The driver leaves the function and comes back."""
    one = guests[0]
    name = one.check(f'basename {DEVICE}').strip()
    for _ in range(ROUNDS):
        one.check(f'echo {name} >/sys/bus/pci/drivers/mlx5_core/unbind')
        one.check(f'echo {name} >/sys/bus/pci/drivers/mlx5_core/bind')
    assert one.check(f'basename {DEVICE}').strip() == name


def test_reset(guests):
    """A reset of the function (FLR), from which the driver recovers."""
    one = guests[0]
    one.check(f'echo flr >{DEVICE}/reset_method && echo 1 >{DEVICE}/reset')
    one.check(f'test -e {DEVICE}/driver')


def test_no_complaints(guests):
    """The kernel logs no warning that is not known."""
    lines = [line for line in warnings(guests[0])
             if not any(text in line for text in KNOWN_WARNINGS)]
    assert not lines, '\n'.join(lines)


def stock_suites(version):
    for kernel in KERNELS:
        if kernel.removesuffix('-cloud') == version:
            yield Suite(f'mlx5-{kernel}', functools.partial(machines, kernel),
                        [test_probe, test_bind, test_reset, test_no_complaints])
