# SPDX-License-Identifier: GPL-2.0-or-later
"""How two guests are joined: options for QEMU, addresses in the guests.

A link has a name, options(n, folder), the words for QEMU of guest n, join(guests),
what is left to do when all have started, and close(), when all have gone. Both give a
guest one network interface, eth0, and one RDMA device, ernic0.
"""

DEVICE, INTERFACE = 'ernic0', 'eth0'
NIC = '/machine/peripheral/nic'


def ipv4(n):
    return f'10.0.0.{n + 1}'


def ipv6(n):
    return f'fd00::{n + 1}'


def mac(n):
    return f'52:54:00:00:00:{n + 1:02x}'


def wire(n, folder, name='wire'):
    """Ethernet between two guests, the second of which calls. The name is its id.

    A stream: sockets for datagrams of AF_UNIX hold 10, so that on a busy host the
    guests take turns for so few frames.
    """
    end = 'reconnect-ms=100' if n else 'server=on'
    return ['-netdev',
            f'stream,id={name},addr.type=unix,addr.path={folder / name},{end}']


def qemu(guest, command, **arguments):
    monitor = guest.monitor()
    try:
        return monitor.execute(command, **arguments)
    finally:
        monitor.close()


def set_property(guest, name, value):
    """Of the device, while it runs."""
    qemu(guest, 'qom-set', path=NIC, property=name, value=value)


class Link:
    """What is common: nothing is left to do when the machines have started or gone."""

    def join(self, guests):
        pass

    def close(self):
        pass


class Netdev(Link):
    """Everything through one netdev of QEMU: frames of the network, RoCEv2 too."""

    name = 'netdev'

    def options(self, n, folder):
        return [*wire(n, folder), '-device', f'ernic,id=nic,netdev=wire,mac={mac(n)}']

    def plug(self, guest, plugged):
        """Pull the guest's cable, or put it back."""
        qemu(guest, 'set_link', name='nic', up=plugged)


class Udp(Link):
    """RoCEv2 through UDP sockets of the host, the network through a netdev.

    The ports are those that the host has free; each device is told of them at run
    time.
    """

    name = 'udp'

    def options(self, n, folder):
        return [*wire(n, folder), '-device',
                f'ernic,id=nic,netdev=wire,mac={mac(n)},roce-udp=127.0.0.1:0']

    def join(self, guests):
        self.address = ipv4
        self.ports = [qemu(guest, 'qom-get', path=NIC, property='roce-port')
                      for guest in guests]
        for guest in guests:
            self.plug(guest, True)

    def plug(self, guest, plugged):
        """Connect the guest with its peers (itself is one), or cut it off."""
        for n, port in enumerate(self.ports):
            if plugged:
                set_property(guest, 'add-peer', f'{self.address(n)}=127.0.0.1:{port}')
            else:
                set_property(guest, 'remove-peer', self.address(n))

    def move(self, guests, address):
        """Other addresses for the same sockets."""
        for guest in guests:
            self.plug(guest, False)
        self.address = address
        for guest in guests:
            self.plug(guest, True)


def up(guests, mtu=1500):
    """Give each guest its addresses."""
    names = '\n'.join(f'{ipv4(n)} guest{n + 1}' for n in range(len(guests)))
    for n, guest in enumerate(guests):
        guest.check(f'grep -q guest1 /etc/hosts || echo "{names}" >>/etc/hosts')
        guest.check(
            f'ip link set {INTERFACE} mtu {mtu} up && '
            f'ip addr replace {ipv4(n)}/24 dev {INTERFACE} && '
            f'ip addr replace {ipv6(n)}/64 dev {INTERFACE} nodad')
    # Neighbours are asked from the link-local address, once it is known to be unique.
    for guest in guests:
        guest.check(f'timeout 10 sh -c "while ip -6 addr show dev {INTERFACE} | '
                    'grep -q tentative; do sleep 0.1; done"', 15)
