# SPDX-License-Identifier: GPL-2.0-or-later
"""Linux's mlx5_core on the mlx5 interface, in kernels of Debian as they are.

A suite for each kernel: one machine with two functions on a cable, the second of them in
a network namespace, and a third one on QEMU's own network. And two machines with
different kernels, of which only --long transfers 1 GiB.
"""
import functools
import hashlib
import http.server
import os
import re
import threading

import guest
import links
import mlx5
import stock
from suite import LONG, Suite, named

PAIR = ['6.1', 'testing-cloud']
ROUNDS, SHORT_ROUNDS = 20, 2    # of test_bind()
DRIVER = '/sys/bus/pci/drivers/mlx5_core'
PEER = 'peer'                   # the namespace of the second function
NAMES = ('near', 'far')         # of their interfaces
WORLD = 'world'                 # the interface of the third one
ADDRESSES = ('10.0.0.1', '10.0.0.2')
# Each has to succeed, without a word in the log. {0}: the interface.
COMMANDS = [
    'ethtool {0}', *(f'ethtool -{letter} {{0}}' for letter in 'acgklnSTx'),
    'ethtool --show-priv-flags {0}', 'devlink dev info', 'devlink health',
    *('ethtool ' + words for words in (
        '-G {0} rx 512 tx 512', '-G {0} rx 1024 tx 1024',
        '-L {0} combined 1', '-L {0} combined 2',
        '-X {0} weight 1 3', '-X {0} equal 2', '-X {0} hfunc xor',
        '-X {0} hfunc toeplitz',
        '-N {0} rx-flow-hash udp4 sdfn', '-N {0} rx-flow-hash tcp6 sd',
        '-K {0} rx off', '-K {0} rx on',
        '-K {0} rxvlan off txvlan off', '-K {0} rxvlan on txvlan on',
        '-K {0} rx-vlan-filter off', '-K {0} rx-vlan-filter on',
        '-K {0} rxhash off', '-K {0} rxhash on',
        '-K {0} ntuple on', '-N {0} flow-type tcp4 dst-port 9 action 0',
        '-K {0} ntuple off', '-s {0} speed 100000 autoneg on')),
    *('ip link set {0} ' + words for words in (
        'promisc on', 'promisc off', 'allmulticast on', 'allmulticast off',
        'address 52:54:00:00:00:99', 'address 52:54:00:00:00:01',
        'mtu 68', 'mtu 9000', 'mtu 1500', 'down', 'up'))]

PING = f'ping -c 1 {ADDRESSES[1]}'
GET = f'wget -q -O /dev/null http://{ADDRESSES[1]}:8080/small'
# A filter of tc that drops, a command that then gets no answer, one that still does.
FILTERS = (
    (f'ip_proto icmp src_ip {ADDRESSES[1]}', PING, GET),
    ('ip_flags frag', f'{PING} -s 20000', PING),
    ('ip_proto tcp tcp_flags 0x12/0x12', GET, PING),
    (f'src_mac {links.mac(1)} ip_proto tcp src_port 8080', GET, PING),
)


class Cable(links.Link):
    """Three functions in each machine; two processors for two channels."""

    def options(self, n, folder):
        words = ['-smp', '2', *mlx5.TRACE]
        for i, name in enumerate(NAMES):
            words += ['-netdev', f'hubport,id={name},hubid=1', '-device',
                      f'ernic,interface=mlx5,id={name},netdev={name},'
                      f'mac={links.mac(i)}']
        return [*words, '-netdev', f'user,id={WORLD}', '-device',
                f'ernic,interface=mlx5,id={WORLD},netdev={WORLD},mac={links.mac(2)}']


def machine(kernel):
    return stock.StockGuests(1, Cable(), stock.find_image(kernel),
                             cold='a slot for hot-plug resets in another way')


def pair():
    return stock.StockGuests(2, mlx5.Netdev(), list(map(stock.find_image, PAIR)))


# ---- the interfaces ----------------------------------------------------------------

def interface(one, n):
    """The name that udev has given to the interface with an address of links.mac()."""
    one.check('udevadm settle')
    return one.check(f'basename $(dirname $(grep -l {links.mac(n)} '
                     '/sys/class/net/*/address))').strip()


def name_interface(one, n, name):
    old = interface(one, n)
    one.check(f'ip link set {old} down && ip link set {old} name {name}')


def near_up(one):
    name_interface(one, 0, 'near')
    one.check(f'ip addr add {ADDRESSES[0]}/24 dev near && ip link set near up')


def inside(one, command, seconds=guest.SECONDS):
    """Run a command in the namespace of the second function."""
    return one.check(f'ip netns exec {PEER} {command}', seconds)


def ping(one, more='', address=ADDRESSES[1]):
    one.check(f'ping -c 2 -i 0.2 -W 5 {more} {address}')


def counter(text, name):
    return int(re.search(rf'^ *{name}: (\d+)$', text, re.M)[1])


def fetch(one, url, sums, enter='', seconds=120):
    """Load a file by HTTP, in namespace enter; its MD5 sum has to be that of sums."""
    got = one.check(f'{enter} wget -q -O - {url} | md5sum', seconds)
    assert got.split()[0] == sums.split()[0], (url, got, sums)


def both_ways(one, file='file', seconds=120):
    """A file by TCP in each direction, from the servers that test_ping() starts."""
    sums = one.check(f'md5sum /tmp/www/{file}')
    fetch(one, f'http://{ADDRESSES[1]}:8080/{file}', sums, seconds=seconds)
    fetch(one, f'http://{ADDRESSES[0]}:8080/{file}', sums, f'ip netns exec {PEER}',
          seconds)


# ---- one machine --------------------------------------------------------------------

def test_probe(guests):
    """udev has loaded the driver, and it drives all functions."""
    one = guests[0]
    for path in one.check(f'ls -d {DRIVER}/*:*').split():
        assert one.check(f'cat {path}/vendor {path}/device').split() == [
            '0x15b3', '0x1018']
        assert re.search('^driver: mlx5_core$', one.check(
            f'ethtool -i $(ls {path}/net)'), re.M)
    assert one.check('dmesg').count('firmware version') == 3


def test_up(guests):
    """Both interfaces have a link, and reach each other."""
    one = guests[0]
    one.check(f'ip netns add {PEER}')
    name_interface(one, 1, 'far')
    one.check(f'ip link set far netns {PEER}')
    inside(one, f'ip addr add {ADDRESSES[1]}/24 dev far')
    inside(one, 'ip link set far up')
    near_up(one)
    assert one.check('cat /sys/class/net/near/carrier').strip() == '1'
    assert 'Speed: 100000Mb/s' in one.check('ethtool near')


def test_ping(guests):
    """ARP, IPv4 and IPv6, frames of each size."""
    one = guests[0]
    ping(one)
    assert links.mac(1) in one.check(f'ip neigh show {ADDRESSES[1]}')
    for size in (0, 1, 18, 100, 1472):
        ping(one, f'-M do -s {size}')
    ping(one, '-s 20000')               # fragments
    # Nobody answers to an address that may still be another one's (RFC 4862, 5.4).
    one.wait_until('ip -6 addr show near | grep fe80 | grep -qv tentative')
    ping(one, '-I near', 'ff02::1')
    one.check('mkdir -p /tmp/www && echo small >/tmp/www/small && '
              f'dd if=/dev/urandom of=/tmp/www/file bs=1M count={16 if LONG else 4} && '
              'dd if=/dev/urandom of=/tmp/www/large bs=1M count=16 && '
              'httpd -p 8080 -h /tmp/www && '
              f'ip netns exec {PEER} httpd -p 8080 -h /tmp/www')


def test_tcp(guests):
    """Each way, with and without segmentation and checksums by the device. Requests with
    many pieces are so many that the rings wrap."""
    one = guests[0]
    for offloads, file in (('tso on gro on', 'large'), ('tso off', 'file'),
                           ('tx off rx off', 'file'), ('tx on rx on tso on', 'file')):
        one.check(f'ethtool -K near {offloads}')
        inside(one, f'ethtool -K far {offloads}')
        both_ways(one, file)


def test_jumbo(guests):
    """Frames of 9000 bytes."""
    one = guests[0]
    one.check('ip link set near mtu 9000')
    inside(one, 'ip link set far mtu 9000')
    ping(one, '-M do -s 8972')
    both_ways(one)
    one.check('ip link set near mtu 1500')
    inside(one, 'ip link set far mtu 1500')


def test_vlan(guests):
    """VLANs, with tags by the device and by software; others are not received."""
    one = guests[0]
    for enter, name, host in (('', 'near', 1), (f'ip netns exec {PEER}', 'far', 2)):
        for vlan in (5, 6):
            one.check(f'{enter} ip link add link {name} name v{vlan} type vlan id {vlan}')
        one.check(f'{enter} ip link set v5 up && '
                  f'{enter} ip addr add 10.0.5.{host}/24 dev v5')
    sums = one.check('md5sum /tmp/www/file')
    for offloads in ('rxvlan on txvlan on', 'rxvlan off txvlan off'):
        one.check(f'ethtool -K near {offloads}')
        ping(one, address='10.0.5.2')
        fetch(one, 'http://10.0.5.2:8080/file', sums)
    one.check('ethtool -K near rxvlan on txvlan on')
    for enter in ('', f'ip netns exec {PEER}'):
        one.check(f'{enter} ip link del v5 && {enter} ip link del v6')


def test_priority(guests):
    """The priority of a tag arrives, whether the device or software has inserted it."""
    one = guests[0]
    one.check('modprobe -a sch_ingress cls_flower act_gact')
    one.check('ip link add link near name v5 type vlan id 5 egress-qos-map 0:3 && '
              'ip link set v5 up && ip addr add 10.0.5.1/24 dev v5')
    inside(one, 'ip link add link far name v5 type vlan id 5')
    inside(one, 'ip addr add 10.0.5.2/24 dev v5')
    inside(one, 'ip link set v5 up')
    inside(one, 'tc qdisc add dev far ingress')
    inside(one, "sh -c 'for n in 0 1 2 3 4 5 6 7; do tc filter add dev far ingress "
           'prio $((n + 1)) protocol 802.1q flower vlan_id 5 vlan_prio $n action pass '
           "|| exit 1; done'")
    before = 0
    for offloads in ('rxvlan on txvlan on', 'rxvlan off txvlan off'):
        one.check(f'ethtool -K near {offloads}')
        inside(one, f'ethtool -K far {offloads}')
        ping(one, address='10.0.5.2')
        # One filter for each priority, in their order.
        shown = inside(one, 'tc -s filter show dev far ingress')
        seen = [int(count) for count in re.findall(r'Sent \d+ bytes (\d+) pkt', shown)]
        assert len(seen) == 8, shown
        assert seen[3] >= before + 2 and not any(seen[:3] + seen[4:]), seen
        before = seen[3]
    one.check('ethtool -K near rxvlan on txvlan on && ip link del v5')
    for command in ('tc qdisc del dev far ingress', 'ip link del v5',
                    'ethtool -K far rxvlan on txvlan on'):
        inside(one, command)


def check_filters(guests, kernel):
    """Filters of tc that the device applies: one kernel's mlx5_core has them."""
    one = guests[0]
    offered = '[fixed]' not in one.check('ethtool -k near | grep hw-tc-offload')
    assert offered == (kernel == '6.1')
    if not offered:
        return
    one.check('ethtool -K near hw-tc-offload on && tc qdisc add dev near ingress')
    show = 'tc -s filter show dev near ingress'
    for words, dropped, passes in FILTERS:
        one.check(passes)
        one.check(dropped)
        one.check('tc filter add dev near ingress prio 1 protocol ip flower skip_sw '
                  f'{words} action drop')
        assert 'in_hw' in one.check(show)
        assert one.run(f'timeout 1 {dropped}').status, words
        one.check(passes)
        # The driver reads its counters every second.
        one.wait_until(f'{show} | grep "hardware .* [1-9].* pkt"')
        one.check('tc filter del dev near ingress prio 1')
        one.check(dropped)
    one.check('tc qdisc del dev near ingress && ethtool -K near hw-tc-offload off')


def test_bridge(guests):
    """A bridge with many VLANs; in the long form with every one, and with ntuple rules up
    to Linux's limit, and one more. They go when test_bind() unbinds the driver.
    """
    last = 4094 if LONG else 400
    one = guests[0]
    one.check('modprobe bridge && ip link add br0 type bridge vlan_filtering 1 && '
              'ip link set near master br0')
    one.check(f'bridge vlan add dev near vid 2-{last}', 120)
    assert int(one.check('bridge vlan show dev near | grep -c "[0-9]$"')) == last - 1
    one.check('ip link set near nomaster && ip link del br0', 120)
    ping(one)
    if not LONG:
        return
    one.check('ethtool -K near ntuple on; n=1; while [ $n -le 2000 ] && ethtool -N near '
              'flow-type tcp4 dst-port $n action 0 >/dev/null 2>&1; do n=$((n + 1)); '
              'done; [ $n -le 2000 ]', 180)
    # The driver's limit.
    assert int(one.check('ethtool -n near | grep -c Filter:')) == 1024
    one.check('ethtool -K near ntuple off', 60)
    ping(one)


def lease(one, interface):
    """The address that a server gives by DHCP."""
    one.check(r"printf '#!/bin/sh\necho $1 $ip >/tmp/dhcp\n' >/tmp/script && "
              f'chmod +x /tmp/script && udhcpc -i {interface} -n -q -s /tmp/script')
    state, address = one.check('cat /tmp/dhcp').split()
    assert state == 'bound'
    return address


def test_dhcp(guests):
    """The server is in the namespace of the second function."""
    one = guests[0]
    one.check(r"printf 'start 10.0.0.77\nend 10.0.0.77\ninterface far\nlease_file "
              r"/tmp/leases\npidfile /tmp/dhcpd\noption subnet 255.255.255.0\n' "
              '>/tmp/dhcpd.conf && : >/tmp/leases && '
              f'ip netns exec {PEER} udhcpd /tmp/dhcpd.conf')
    assert lease(one, 'near') == '10.0.0.77'
    one.check('kill $(cat /tmp/dhcpd)')


def test_world(guests):
    """QEMU's own network: an address by DHCP, and 8 MiB by TCP from the host."""
    one = guests[0]
    name_interface(one, 2, WORLD)
    one.check(f'ip link set {WORLD} up')
    address = lease(one, WORLD)
    one.check(f'ip addr add {address}/24 dev {WORLD}')
    data = os.urandom(8 << 20)
    (guests.folder / 'data').write_bytes(data)
    serve = functools.partial(http.server.SimpleHTTPRequestHandler,
                              directory=guests.folder)
    with http.server.HTTPServer(('127.0.0.1', 0), serve) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            fetch(one, f'http://10.0.2.2:{server.server_port}/data',
                  hashlib.md5(data).hexdigest())
        finally:
            server.shutdown()


def test_ethtool(guests):
    """The driver answers its tools, and applies what they change."""
    one = guests[0]
    for command in COMMANDS:
        one.check(command.format('near'))
    for compressed in 'on', 'off':
        one.check(f'ethtool --set-priv-flags near rx_cqe_compress {compressed}')
        ping(one)
    assert 'PASS' in one.check('ethtool -t near')


def test_counters(guests):
    """The counters of the driver and those of the device count."""
    one = guests[0]
    names = ('rx_packets', 'tx_packets', 'tx_tso_packets', 'rx_removed_vlan_packets',
             'tx_added_vlan_packets', 'tx_packets_phy', 'rx_packets_phy', 'rx_bytes_phy',
             'tx_bytes_phy', 'rx_vport_unicast_packets', 'tx_vport_unicast_packets',
             'rx_vport_multicast_packets', 'rx_vport_broadcast_packets')
    text = one.check('ethtool -S near')
    for name in names:
        assert counter(text, name) > 0, name
    assert (counter(text, 'rx_csum_complete') + counter(text, 'rx_csum_unnecessary')
            > counter(text, 'rx_csum_none')), text
    before = counter(text, 'tx_packets_phy')
    ping(one)
    assert counter(one.check('ethtool -S near'), 'tx_packets_phy') >= before + 2


def test_bind(guests):
    """The driver leaves the function and comes back while frames arrive."""
    one = guests[0]
    name = links.function(one, 'near')
    flood = one.start(f'ip netns exec {PEER} ping -q -i 0.002 -b 10.0.0.255', 600)
    for _ in range(ROUNDS if LONG else SHORT_ROUNDS):
        one.check(f'echo {name} >{DRIVER}/unbind')
        one.check(f'echo {name} >{DRIVER}/bind')
        # Udev gives the new interface its name.
        one.check('udevadm settle')
        one.check(f'ip link set $(ls {DRIVER}/{name}/net) up')
    flood.kill()
    flood.wait()
    near_up(one)
    ping(one)
    both_ways(one)


def test_reset(guests):
    """A reset of the function (FLR), from which the driver recovers."""
    one = guests[0]
    path = one.check('readlink -f /sys/class/net/near/device').strip()
    one.check(f'echo flr >{path}/reset_method && echo 1 >{path}/reset')
    # The driver looks at the function every two seconds, and makes a new interface.
    one.wait_until('! ip link show near && '
                   f'grep {links.mac(0)} {path}/net/*/address', 60)
    near_up(one)
    ping(one)


# ---- two machines --------------------------------------------------------------------

def check_pair(guests):
    for n, one in enumerate(guests):
        name_interface(one, n, 'near')
        one.check(f'ip addr add {ADDRESSES[n]}/24 dev near && ip link set near up')
        one.check('mkdir -p /tmp/www && '
                  'dd if=/dev/urandom of=/tmp/www/file bs=1M count=64 && '
                  'httpd -p 8080 -h /tmp/www')
    ping(guests[0])


def check_gigabyte(guests):
    """1 GiB by TCP each way, in 16 files: half of them without segmentation."""
    for offloads in ('tso off', 'tso on'):
        for one in guests:
            one.check(f'ethtool -K near {offloads}')
        for n, one in enumerate(guests):
            sums = guests[1 - n].check('md5sum /tmp/www/file')
            for _ in range(8):
                fetch(one, f'http://{ADDRESSES[1 - n]}:8080/file', sums, seconds=300)


# Tests of the long form on these kernels.
SAME = {'testing-cloud': 'tcp jumbo vlan priority dhcp counters bridge bind'}


def suites():
    for kernel in stock.KERNELS:
        yield Suite(f'mlx5-{kernel}', functools.partial(machine, kernel),
                    [test_probe, test_up, test_ping, test_tcp, test_jumbo, test_vlan,
                     test_priority, named('filters', check_filters, kernel), test_dhcp,
                     test_world, test_ethtool, test_counters, test_bridge, test_bind,
                     test_reset, mlx5.test_no_complaints],
                    *([] if kernel == '6.1' else [SAME.get(kernel, '*'), 'mlx5-6.1']))
    yield Suite('mlx5-pair', pair, [named('up', check_pair), named('tcp', check_gigabyte),
                                    mlx5.test_no_complaints], '*', 'mlx5-6.1')
