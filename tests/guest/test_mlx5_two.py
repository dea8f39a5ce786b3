# SPDX-License-Identifier: GPL-2.0-or-later
"""Two functions in each of two stock guests: bonds of them, VRF, macvlan, namespaces."""
import re

import links
import mlx5
import programs
import stock
from suite import Suite

KERNEL = '6.12'
SPACE = 'space'                 # a network namespace
BOND, MACVLAN = 9, 2            # networks 10.0.N.0/24; 0 and 1 are those of the functions
MODES = ('active-backup', '802.3ad', 'balance-xor')


class Two(mlx5.Lab):
    """Function i of each guest is at network i, which is a lab of its own."""

    def options(self, n, folder):
        words = list(self.words)
        for i in (0, 1):
            words += ['-device', f'{self.device},id=nic{i},lab={folder / f"lab{i}"},'
                      f'mac={mac(n, i)}']
        return words


def mac(n, i):
    return f'52:54:00:00:{i:02x}:{n + 1:02x}'


def ipv4(n, network):
    return f'10.0.{network}.{n + 1}'


def machines():
    return stock.StockGuests(2, Two(), stock.find_image(KERNEL), up=prepare)


def prepare(guests):
    """Interfaces net0 and net1 with addresses, RDMA devices rdma0 and rdma1."""
    for n, one in enumerate(guests):
        one.check(f'modprobe -a {mlx5.MODULES} vrf macvlan && '
                  'modprobe bonding max_bonds=0')
        one.wait_until('[ $(ls -d /sys/bus/pci/drivers/mlx5_core/*:*/infiniband/* '
                       '| wc -l) = 2 ]')
        one.check('udevadm settle')
        for i in (0, 1):
            name(one, n, i)
            up(one, n, i)


def name(one, n, i):
    folder = one.check(f'dirname $(grep -l {mac(n, i)} /sys/class/net/*/address)').strip()
    old = folder.rpartition('/')[2]
    device = one.check(f'ls {folder}/device/infiniband').strip()
    one.check(f'ip link set {old} down && ip link set {old} name net{i} && '
              f'rdma dev set {device} name rdma{i}')


def up(one, n, i):
    one.check(f'ip link set net{i} mtu {links.MTU} up && '
              f'ip addr replace {ipv4(n, i)}/24 dev net{i}')


def gid(one, n, i, network, enter=''):
    """The index of the GID of its address in a network; it may appear a little later."""
    address = ''.join(f'{int(part):02x}' for part in ipv4(n, network).split('.'))
    pattern = f'0000:ffff:{address[:4]}:{address[4:]}$'
    files = f'/sys/class/infiniband/rdma{i}/ports/1/gids'
    one.check(f'{enter} timeout 60 sh -c "until grep -qs {pattern} {files}/*; '
              'do sleep 0.1; done"')
    found = one.check(f'{enter} sh -c "grep -Hs {pattern} {files}/*"')
    return re.search(r'/(\d+):', found)[1]


def write(guests, i, network, enter=''):
    """ib_write_bw by rdmaI between the addresses of a network, which TCP uses as well.
    enter: a prefix of commands in the first guest."""
    words = f'ib_write_bw -d rdma{i} -F -s 65536 -n 200'
    client, server = programs.meet(
        (guests[0], f'{enter} {words} -x {gid(guests[0], 0, i, network, enter)} '
         f'{ipv4(1, network)}'),
        (guests[1], f'{words} -x {gid(guests[1], 1, i, network)}'), programs.LISTENS)
    assert client and client.status == server.status == 0, (client and client.output,
                                                            server.output)


def test_functions(guests):
    for i in (0, 1):
        write(guests, i, i)


def test_vrf(guests):
    """An interface in a VRF: its GIDs stay, and the other end is not in one."""
    one = guests[0]
    one.check('ip link add red type vrf table 10 && ip link set red up && '
              'ip link set net1 master red')
    up(one, 0, 1)
    one.wait_until(f'ip vrf exec red ping -c 1 {ipv4(1, 1)}')
    write(guests, 1, 1, 'ip vrf exec red')
    one.check('ip link del red')
    up(one, 0, 1)


def test_macvlan(guests):
    """GIDs of another Ethernet address than the function's."""
    for n, one in enumerate(guests):
        one.check('ip link add mv link net1 type macvlan mode bridge && '
                  f'ip addr add {ipv4(n, MACVLAN)}/24 dev mv && ip link set mv up')
    write(guests, 1, MACVLAN)
    for one in guests:
        one.check('ip link del mv')


def test_namespace(guests):
    """A device is only in its namespace, and comes back when that ends."""
    one, enter = guests[0], f'ip netns exec {SPACE}'
    one.check(f'rdma system set netns exclusive && ip netns add {SPACE} && '
              f'ip link set net1 netns {SPACE} && rdma dev set rdma1 netns {SPACE}')
    one.check(f'{enter} ip link set net1 up && '
              f'{enter} ip addr add {ipv4(0, 1)}/24 dev net1')
    assert 'rdma1' not in one.check('rdma link')
    write(guests, 1, 1, enter)
    write(guests, 0, 0)
    one.check(f'ip netns del {SPACE}')
    one.wait_until('[ $(rdma link | wc -l) = 2 ] && grep -l '
                   f'{mac(0, 1)} /sys/class/net/*/address')
    one.check('udevadm settle && rdma system set netns shared')
    name(one, 0, 1)
    up(one, 0, 1)
    write(guests, 1, 1)


def bond(one, n, mode):
    for i in (0, 1):
        one.check(f'ip addr flush dev net{i} && ip link set net{i} down')
    one.check(f'ip link add bond0 type bond mode {mode} miimon 100 && '
              'ip link set net0 master bond0 && ip link set net1 master bond0 && '
              f'ip link set bond0 mtu {links.MTU} up && '
              f'ip addr add {ipv4(n, BOND)}/24 dev bond0')


def cable(guests, plugged):
    for one in guests:
        links.qemu(one, 'set_link', name='nic0', up=plugged)


def test_bond(guests):
    """The GIDs of a bond are those of each active function, in every mode; there is no
    RoCE LAG, which would make one device of two."""
    for mode in MODES:
        for n, one in enumerate(guests):
            bond(one, n, mode)
        guests[0].wait_until(f'ping -c 1 {ipv4(1, BOND)}')
        write(guests, 0, BOND)
        if mode == 'active-backup':
            cable(guests, False)
            guests[0].wait_until(f'ping -c 1 {ipv4(1, BOND)}')
        write(guests, 1, BOND)
        cable(guests, True)
        for one in guests:
            one.check('ip link set bond0 down && ip link del bond0')
    for n, one in enumerate(guests):
        for i in (0, 1):
            up(one, n, i)
    test_functions(guests)


def suites():
    yield Suite(f'mlx5-two-{KERNEL}', machines,
                [test_functions, test_vrf, test_macvlan, test_namespace, test_bond,
                 mlx5.test_no_complaints], '*',
                'mlx5-6.1 has two functions in one guest')
