# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests with a disk, on which Debian is installed (guest/image/disk.py).

A machine boots from its disk: the firmware, GRUB, an initramfs, systemd, udev. Its
changes of the disk stay when it boots again, and are gone when it ends. Nothing here
loads a driver or sets up an interface: the system does, from the files that configure()
writes once.
"""
from pathlib import Path

import guest
import links
import mlx5

RELEASES = {'6.12': 'trixie', '6.1': 'bookworm', 'testing': 'forky'}
BOOT_SECONDS = 1800             # 100 of a processor; 12 minutes were seen
DRIVER = 'mlx5_core'


def find_image(kernel, *more):
    return Path(guest.last_line(guest.ROOT / 'guest/image/build.py', '--disk',
                                RELEASES[kernel], *more))


class DiskGuest(guest.Guest):
    """One machine with a disk of find_image()."""

    def boot(self, image, words):
        return ['-drive', f'file={image / "disk"},format=raw,if=virtio,snapshot=on',
                '-action', 'reboot=reset']

    def wait_agent(self):
        self.answer(0, BOOT_SECONDS)

    def restart(self, event):
        """Wait for the end of the boot after a function that starts the kernel anew; the
        seconds until then."""
        self.boot_again(event, BOOT_SECONDS)
        # The agent starts long before the network and the file systems on it.
        self.run('systemctl is-system-running --wait', BOOT_SECONDS)
        return self.age()


class DiskGuests(guest.Guests):
    """A number of them."""

    kind = DiskGuest
    cold = 'they boot from their disk'


def configure(guests, driver=DRIVER):
    """Sets names and addresses, as an administrator does once."""
    hosts = ''.join(f'{links.ipv4(n)} {one.name}\n' for n, one in enumerate(guests))
    for n, one in enumerate(guests):
        one.check(f'''
            cat >/etc/hosts <<END
127.0.0.1 localhost
{hosts}
END
            cat >/etc/systemd/network/rdma.network <<END
[Match]
Driver={driver}
[Link]
MTUBytes={links.MTU}
[Network]
Address={links.ipv4(n)}/24
Address={links.ipv6(n)}/64
END
            # By default it gives up after 2 minutes; then NFS has no network.
            unit=systemd-networkd-wait-online
            mkdir -p /etc/systemd/system/$unit.service.d
            cat >/etc/systemd/system/$unit.service.d/busy.conf <<END
[Service]
ExecStart=
ExecStart=/usr/lib/systemd/$unit --timeout={BOOT_SECONDS}
TimeoutStartSec={BOOT_SECONDS}
END
            systemctl daemon-reload
            echo {one.name} >/etc/hostname && hostname {one.name} && networkctl reload
            systemctl restart --no-block $unit''')


def wait_up(guests, driver=DRIVER):
    """Wait until each has its addresses, then rename the device for programs.py."""
    for one in guests:
        one.wait_until(f'ip addr show dev {links.INTERFACE} | grep -q "inet .*10.0.0" && '
                       f'! ip addr show dev {links.INTERFACE} | grep -q tentative')
        one.check(f'udevadm settle --timeout {BOOT_SECONDS}', BOOT_SECONDS)
    mlx5.prepare(guests, '', driver)


def up(guests, driver=DRIVER):
    configure(guests, driver)
    wait_up(guests, driver)
