# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest of Debian's packages whose mlx5_core drives the function is saved and restored,
and loses and gets its function.

QEMU stores the machine in a disk image that the guest does not see, and loads it after
the driver has left. The driver then continues where it was when the machine was saved.
"""
import subprocess

import guest
import links
import mlx5
import programs
import stock
import test_driver
from suite import Suite, named

KERNEL = '6.12-cloud'
DRIVER = '/sys/bus/pci/drivers/mlx5_core'
ROUNDS = 3


class Saved(links.Plugged):
    """A function of the mlx5 interface that can be unplugged, and a disk for the states
    of the machine."""

    def __init__(self):
        super().__init__(interface='mlx5')

    def options(self, n, folder):
        disk = folder / f'states{n}.qcow2'
        subprocess.run(['qemu-img', 'create', '-q', '-f', 'qcow2', disk, '2G'],
                       check=True)
        return [*super().options(n, folder),
                '-drive', f'if=none,id=states,format=qcow2,file={disk}']


def machines():
    return stock.StockGuests(1, Saved(), stock.find_image(KERNEL),
                             cold='QEMU loads the state of its command line')


def human(one, line):
    """A command of the monitor, which says nothing if it succeeds."""
    monitor = one.monitor()
    monitor.settimeout(300)
    said = monitor.human(line)
    monitor.close()
    assert not said, said


def bound(one):
    return one.run(f'ls -d {DRIVER}/0000:*').status == 0


def function(one):
    return one.check(f'cd {DRIVER} && echo 0000:*').strip()


def read_me(interface):
    """The commands that README.md has for two guests, with both ends in one."""
    section = (guest.ROOT / 'README.md').read_text().partition('\n## Two guests')[2]
    address, server, client = (line.split('#')[0].strip() for line in
                               section.splitlines() if '# guest ' in line)
    return (f'{address.replace("eth0", interface)}\n{server} &\n'
            f'until {programs.LISTENS}; do sleep 0.1; done\n{client}\nwait')


def test_readme(guests):
    """They work as they stand, but for the interface's name, which udev has given."""
    interface = guests[0].check(
        'udevadm settle; cd /sys/bus/pci/drivers/mlx5_core/0*/net && echo *')
    output = guests[0].check(read_me(interface.strip()))
    assert output.count('1000 iters') == 2, output
    guests[0].check(f'ip addr del 10.99.0.1/24 dev {interface}')


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


def test_plug(guests):
    """The function is unplugged while the driver has it, and plugged in again."""
    one = guests[0]
    monitor = one.monitor()
    for _ in range(ROUNDS):
        test_driver.unplug(monitor, 'nic')
        assert not bound(one)
        monitor.execute('device_add', **guests.link.plugged())
        one.wait_until('rdma link | grep -q netdev', 60)
    monitor.close()
    test_readme(guests)


def suites():
    yield Suite(f'mlx5-state-{KERNEL}', machines,
                [test_readme, test_restore, test_commands, test_plug,
                 # Time stood still.
                 named('no_complaints', mlx5.test_no_complaints, 'clocksource', 'rcu:')])
