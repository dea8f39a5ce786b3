# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel of Debian starts another one while the device works: by kexec, and after a
crash. The driver of the new kernel starts the function, which nobody has stopped."""

import links
import mlx5
import programs
import stock
from suite import Suite, named

KERNEL = '6.12-cloud'
# Traffic goes on while the other kernel starts.
KINDS = {'crash': ('--load-panic', 'echo 1 >/proc/sys/kernel/sysrq; '
                                   'echo c >/proc/sysrq-trigger'),
         'kexec': ('--load', 'kexec --exec')}
# Only the first processor runs: the crash may happen on another one.
WORDS = '"$(cat /proc/cmdline) nr_cpus=1 irqpoll reset_devices"'


class Netdev(mlx5.Netdev):
    """The image's kernel and initrd are disks, too, for kexec."""

    image = None

    def options(self, n, folder):
        disks = [word for name in ('kernel', 'initrd') for word in
                 ('-drive', f'file={self.image / name},format=raw,if=virtio,readonly=on')]
        return [*super().options(n, folder), *disks]


def suites():
    yield Suite(f'crash-{KERNEL}', machines,
                [named(kind, check_restart, *words) for kind, words in KINDS.items()],
                '*', 'unit mlx5-init-segment: /mlx5/interface/crash')


class Guest(stock.StockGuest):
    words = 'crashkernel=640M ' + stock.StockGuest.words


class Guests(stock.StockGuests):
    kind = Guest
    cold = 'a crash kernel needs its memory from the start'


def machines():
    packages = (*stock.PACKAGES, 'kexec-tools')
    link = Netdev()
    link.image = stock.find_image(KERNEL, packages)
    return mlx5.start(KERNEL, link, links.MTU, (packages,) * 2, memory=2048, kind=Guests)


def check_restart(guests, load, start):
    """The peer's program ends with an error; the new kernel has an RDMA device again."""
    for one in guests:
        assert programs.devinfo(one).figure == 'PORT_ACTIVE, MTU 4096'
    guests[0].check('cat /dev/vda >/tmp/kernel && cat /dev/vdb >/tmp/initrd && '
                    f'kexec {load} /tmp/kernel --initrd=/tmp/initrd '
                    f'--command-line={WORDS}', 120)
    _, peer = mlx5.write(guests)
    guests[0].restart(start)
    peer.kill()
    mlx5.prepare(guests[:1])
    links.up(guests, links.MTU)
    programs.check(guests, programs.BY_NAME['ibv_rc_pingpong'])
