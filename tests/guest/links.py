# SPDX-License-Identifier: GPL-2.0-or-later
"""How two guests are joined: options for QEMU, addresses in the guests.

A link has a name and options(n, folder), the words for QEMU of guest n. Both give a
guest one network interface, eth0, and one RDMA device, ernic0.
"""
import socket

DEVICE, INTERFACE = 'ernic0', 'eth0'


def ipv4(n):
    return f'10.0.0.{n + 1}'


def ipv6(n):
    return f'fd00::{n + 1}'


def mac(n):
    return f'52:54:00:00:00:{n + 1:02x}'


def wire(n, folder):
    """Ethernet between two guests: AF_UNIX datagrams. Its id is "wire"."""
    here, there = folder / f'wire{n}', folder / f'wire{1 - n}'
    return ['-netdev', f'dgram,id=wire,local.type=unix,local.path={here},'
            f'remote.type=unix,remote.path={there}']


def free_udp_ports(count):
    """Ports of 127.0.0.1 that nobody has at the moment."""
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(count)]
    for one in sockets:
        one.bind(('127.0.0.1', 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def qemu(guest, command, **arguments):
    monitor = guest.monitor()
    try:
        monitor.execute(command, **arguments)
    finally:
        monitor.close()


def set_property(guest, name, value):
    """Of the device, while it runs."""
    qemu(guest, 'qom-set', path='/machine/peripheral/nic', property=name, value=value)


class Netdev:
    """Everything through one netdev of QEMU: frames of the network, RoCEv2 too."""

    name = 'netdev'

    def options(self, n, folder):
        return [*wire(n, folder), '-device', f'ernic,id=nic,netdev=wire,mac={mac(n)}']

    def plug(self, guest, plugged):
        """Pull the guest's cable, or put it back."""
        qemu(guest, 'set_link', name='nic', up=plugged)


class Udp:
    """RoCEv2 through UDP sockets of the host, the network through a netdev."""

    name = 'udp'

    def __init__(self, address=ipv4):
        self.address = address
        self.ports = []

    def peers(self):
        """Who is where: lines of the map."""
        return [f'{self.address(n)}=127.0.0.1:{port}'
                for n, port in enumerate(self.ports)]

    def move(self, guests, address):
        """Give the guests' ends other addresses, at run time."""
        old, self.address = self.address, address
        for guest in guests:
            for n, line in enumerate(self.peers()):
                set_property(guest, 'remove-peer', old(n))
                set_property(guest, 'add-peer', line)

    def plug(self, guest, plugged):
        """Cut the guest off from its peers, or connect it again."""
        for n, line in enumerate(self.peers()):
            if plugged:
                set_property(guest, 'add-peer', line)
            else:
                set_property(guest, 'remove-peer', self.address(n))

    def options(self, n, folder):
        if n == 0:
            self.ports = free_udp_ports(2)
        return [*wire(n, folder), '-device',
                f'ernic,id=nic,netdev=wire,mac={mac(n)},'
                f'roce-udp=127.0.0.1:{self.ports[n]},roce-peers={"+".join(self.peers())}']


def up(guests, mtu=1500):
    """Give each guest its addresses."""
    for n, guest in enumerate(guests):
        guest.check(
            f'ip link set {INTERFACE} mtu {mtu} up && '
            f'ip addr replace {ipv4(n)}/24 dev {INTERFACE} && '
            f'ip addr replace {ipv6(n)}/64 dev {INTERFACE} nodad')
