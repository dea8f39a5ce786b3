# SPDX-License-Identifier: GPL-2.0-or-later
"""The links between two guests: options for QEMU, addresses in the guests.

A link has a name; options(n, folder) returns the options of guest n for QEMU;
join(guests) is called after all have started, and close() after all have ended. All
links give a guest one network interface, eth0, and one RDMA device, ernic0.
"""

DEVICE, INTERFACE = 'ernic0', 'eth0'
NIC = '/machine/peripheral/nic'
PORT = f'/sys/class/infiniband/{DEVICE}/ports/1'
MTU = 4200                      # of Ethernet, for a path MTU of 4096
ADD_SOFT_ROCE = (f'modprobe rdma_rxe && rdma link add {DEVICE} type rxe '
                 f'netdev {INTERFACE}')


def ipv4(n):
    return f'10.0.0.{n + 1}'


def ipv6(n):
    return f'fd00::{n + 1}'


def mac(n):
    return f'52:54:00:00:00:{n + 1:02x}'


def wire(n, folder, name='wire'):
    """Ethernet between two guests; the second one connects. The name is its id.

    A stream, as an AF_UNIX socket for datagrams holds only 10: on a busy host the
    guests would wait for each other after that many frames.
    """
    end = 'reconnect-ms=100' if n else 'server=on'
    return ['-netdev',
            f'stream,id={name},addr.type=unix,addr.path={folder / name},{end}']


def function(guest, interface=INTERFACE):
    """The address of an interface's function on the PCI bus."""
    return guest.check(f'basename $(readlink /sys/class/net/{interface}/device)').strip()


def qemu(guest, command, **arguments):
    with guest.monitor() as monitor:
        return monitor.execute(command, **arguments)


def statistics(guest):
    """The counters of the device."""
    return qemu(guest, 'qom-get', path=NIC, property='statistics')


def set_property(guest, name, value):
    """Sets a property of the device, while it runs."""
    qemu(guest, 'qom-set', path=NIC, property=name, value=value)


class Link:
    """A device at Ethernet between the guests.

    words: further options for QEMU. device: its model, maybe with properties. nic:
    further properties if it is ours, each after a comma.
    """

    name = ''
    plugs = False               # it has a method to unplug a guest
    words = ()
    device = 'ernic,interface=verbs'
    nic = ''

    def wire(self, n, folder):
        return wire(n, folder)

    def options(self, n, folder):
        return [*self.words, *self.wire(n, folder), '-device',
                f'{self.device},id=nic,netdev=wire,mac={mac(n)}{self.roce(n, folder)}'
                f'{self.nic if self.device.startswith("ernic") else ""}']

    def roce(self, n, folder):
        """The properties by which the device finds its peers."""
        return ''

    def join(self, guests):
        pass

    def close(self):
        pass


class Netdev(Link):
    """Everything through one netdev of QEMU: the network's frames and RoCEv2."""

    name = 'netdev'
    plugs = True

    def plug(self, guest, plugged):
        """Unplug the guest's cable, or plug it in."""
        qemu(guest, 'set_link', name='nic', up=plugged)


class Lab(Link):
    """Everything through memory that the machines share."""

    name = 'lab'
    plugs = True
    plug = Netdev.plug

    def options(self, n, folder):
        return [*self.words, '-device',
                f'{self.device},id=nic,lab={folder / "lab"},mac={mac(n)}{self.nic}']


class Events(Lab):
    """Doorbells of send queues are events; without KVM QEMU itself signals them."""

    name = 'lab-events'
    words = ('-trace', 'ernic_pci_page_event', '-trace', 'ernic_pci_page_rung')
    nic = ',ioeventfd=on'


class SoftRoce(Link):
    """rdma_rxe over virtio-net; ADD_SOFT_ROCE gives it the device's name."""

    name = 'rxe'
    device = 'virtio-net-pci'


class Udp(Link):
    """RoCEv2 through UDP sockets of the host, the network through a netdev.

    The host chooses free ports; each device gets them at run time.
    """

    name = 'udp'
    plugs = True

    def roce(self, n, folder):
        return ',roce-udp=127.0.0.1:0'

    def join(self, guests):
        self.ports = [qemu(guest, 'qom-get', path=NIC, property='roce-port')
                      for guest in guests]
        for guest in guests:
            self.plug(guest, True)

    def plug(self, guest, plugged):
        """Connect the guest to its peers, itself included, or disconnect it.

        Each endpoint stands for an IPv4 and an IPv6 address.
        """
        for n, port in enumerate(self.ports):
            for address in (ipv4, ipv6):
                if plugged:
                    set_property(guest, 'add-peer', f'{address(n)}=127.0.0.1:{port}')
                else:
                    set_property(guest, 'remove-peer', address(n))


class Shm(Link):
    """RoCEv2 through memory that the machines share, the network through a netdev."""

    name = 'shm'

    def roce(self, n, folder):
        return f',roce-shm={folder / "lab"}'


class Plugged(Link):
    """A device in a slot, from which it can be unplugged; more: its properties."""

    def __init__(self, *words, **more):
        self.words = words
        self.properties = {'driver': 'ernic', 'interface': 'verbs', 'id': 'nic',
                           'bus': 'port0', 'netdev': 'wire', **more}

    def plugged(self, n=0):
        """Arguments of device_add for guest n."""
        return {**self.properties, 'mac': mac(n)}

    def options(self, n, folder):
        return [*self.words, *wire(n, folder), '-device',
                'pcie-root-port,id=port0,chassis=1', '-device',
                ','.join(f'{key}={value}' for key, value in self.plugged(n).items())]


def up(guests, mtu=1500):
    """Give each guest its addresses."""
    names = '\n'.join(f'{ipv4(n)} guest{n + 1}' for n in range(len(guests)))
    for n, guest in enumerate(guests):
        guest.check(f'grep -q guest1 /etc/hosts || echo "{names}" >>/etc/hosts')
        guest.check(
            f'ip link set {INTERFACE} mtu {mtu} up && '
            f'ip addr replace {ipv4(n)}/24 dev {INTERFACE} && '
            f'ip addr replace {ipv6(n)}/64 dev {INTERFACE} nodad')
    # Neighbour discovery uses the link-local address, which has to be known unique.
    for guest in guests:
        guest.wait_until(f'! ip -6 addr show dev {INTERFACE} | grep -q tentative')
