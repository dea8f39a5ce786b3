# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest of Debian's packages whose mlx5_core drives the function is saved and restored.

QEMU stores the machine in a disk image that the guest does not see, and loads it after
the driver has left. The driver then continues where it was when the machine was saved.
"""
import subprocess

import links
import mlx5
import stock
from suite import Suite

KERNEL = '6.12-cloud'
DRIVER = '/sys/bus/pci/drivers/mlx5_core'
ROUNDS = 3


class Saved(links.Link):
    """A function of the mlx5 interface, and a disk for the states of the machine."""

    def options(self, n, folder):
        disk = folder / f'states{n}.qcow2'
        subprocess.run(['qemu-img', 'create', '-q', '-f', 'qcow2', disk, '2G'],
                       check=True)
        return [*links.wire(n, folder), '-device',
                f'ernic,personality=mlx5,id=nic,netdev=wire,mac={links.mac(n)}',
                '-drive', f'if=none,id=states,format=qcow2,file={disk}']


def machines():
    return stock.StockGuests(1, Saved(), stock.find_image(KERNEL))


def human(one, line):
    """A command of the monitor, which says nothing if it succeeds."""
    monitor = one.monitor()
    monitor.socket.settimeout(300)
    said = monitor.human(line)
    monitor.close()
    assert not said, said


def bound(one):
    return one.run(f'ls -d {DRIVER}/0000:*').status == 0


def function(one):
    return one.check(f'cd {DRIVER} && echo 0000:*').strip()


def test_restore(guests):
    """The driver leaves the function; in the state that is loaded it has not left."""
    one = guests[0]
    name = function(one)
    for _ in range(ROUNDS):
        human(one, 'savevm bound')
        one.check(f'echo {name} >{DRIVER}/unbind')
        assert not bound(one)
        human(one, 'loadvm bound')
        assert bound(one)


def test_commands(guests):
    """After the last round commands by event work: the driver leaves and comes back."""
    one = guests[0]
    name = function(one)
    one.check(f'echo {name} >{DRIVER}/unbind')
    one.check(f'echo {name} >{DRIVER}/bind')
    assert bound(one)


def test_no_complaints(guests):
    """The kernel logs no warning that is not known; time that stood still is one."""
    known = [*mlx5.KNOWN_WARNINGS, 'clocksource', 'rcu:']
    lines = [line for line in stock.warnings(guests[0])
             if not any(text in line for text in known)]
    assert not lines, '\n'.join(lines)


def stock_suites(version):
    if KERNEL.removesuffix('-cloud') == version:
        yield Suite(f'mlx5-state-{KERNEL}', machines,
                    [test_restore, test_commands, test_no_complaints])
