# SPDX-License-Identifier: GPL-2.0-or-later
"""The network card: two guests in a lab, or on a netdev, and one on the user network."""
import hashlib
import re
import time
import urllib.request

import links
import programs
from suite import KERNELS, Suite, named, ours

MIB = 1 << 20


def suites():
    for kernel, link in zip(KERNELS, (links.Lab(), links.Netdev())):
        for name, machines, tests in (
                ('net', ours(2, link, kernel),
                 [named('up', up), test_ping, test_big_ping, test_tcp, test_large,
                  test_large_datagrams, test_large_routed, test_large_vlan]),
                ('user', ours(1, User(), kernel), [test_dhcp, test_forwarded])):
            yield Suite(f'{name}-{kernel}', machines, [*tests, programs.test_log],
                        *([] if kernel == '6.1' else ['*', f'{name}-6.1']))


class User(links.Link):
    """A guest on libslirp: DHCP server, router, a forwarded port."""

    def options(self, n, folder):
        return ['-netdev', 'user,id=net,hostfwd=tcp:127.0.0.1:0-:8000',
                '-device', f'ernic,interface=verbs,id=nic,netdev=net,mac={links.mac(n)}']


def up(guests, mtu=1500):
    links.up(guests, mtu)
    for one in guests:
        one.wait_until(f'grep -q up /sys/class/net/{links.INTERFACE}/operstate')


def test_ping(guests):
    for address in (links.ipv4(1), links.ipv6(1)):
        # The first packet may wait for neighbour discovery.
        guests[0].check(f'ping -c 1 -W 5 {address}')
        assert ' 0% packet loss' in guests[0].check(f'ping -c 5 -i 0.2 {address}')


def test_big_ping(guests):
    for mtu in (9000, 1500):
        links.up(guests, mtu)
        guests[0].check(f'ping -c 2 -i 0.2 -M do -s {mtu - 28} {links.ipv4(1)}')
        assert guests[0].run(
            f'ping -c 1 -W 1 -M do -s {mtu - 27} {links.ipv4(1)}').status != 0


def test_tcp(guests):
    """16 MiB each way at the same time, by IPv4 and IPv6."""
    sums = [programs.serve_file(one, 16) for one in guests]
    for address in (links.ipv4, links.ipv6):
        jobs = [one.start(programs.fetch_file(address(1 - n)))
                for n, one in enumerate(guests)]
        assert [job.wait().output for job in jobs] == sums[::-1]


OFFLOADS = ('tcp-segmentation-offload', 'tx-tcp6-segmentation', 'tx-udp-segmentation')


def counters(one):
    """Frames and bytes that the device has sent, and the large packets among them."""
    folder = f'/sys/class/net/{links.INTERFACE}/statistics'
    until = time.monotonic() + 10
    while True:         # the driver counts later, and a guest sends at any time
        driver = one.check(f'cat {folder}/tx_packets {folder}/tx_bytes; '
                           f'ethtool -S {links.INTERFACE} | grep tso').split()
        device = links.statistics(one)['eth']
        if [int(n) for n in driver[:2]] == [device['tx_packets'], device['tx_bytes']]:
            return [*map(int, driver[:2]), int(driver[-1])]
        assert time.monotonic() < until, (driver, device)
        time.sleep(0.1)


def test_large(guests):
    """The device divides the packets of TCP, and the driver counts their frames."""
    offered = guests[0].check(f'ethtool -k {links.INTERFACE}')
    assert [name for name in OFFLOADS if f'{name}: on\n' in offered] == list(OFFLOADS)
    total = guests[0].check('md5sum </tmp/www/file')     # of test_tcp()
    for tso in ('on', 'off', 'on'):
        guests[0].check(f'ethtool -K {links.INTERFACE} tso {tso}')
        before = counters(guests[0])
        for address in (links.ipv4(0), links.ipv6(0)):
            assert guests[1].check(programs.fetch_file(address)) == total
        frames, size, large = [now - then for now, then
                               in zip(counters(guests[0]), before)]
        assert size > 2 * 16 * MIB and size / frames <= 1514
        assert large == 0 if tso == 'off' else large > 16 * MIB / 65536


# UDP_SEGMENT (103) of SOL_UDP (17): datagrams of 1000 bytes, the last one shorter.
SEND_DATAGRAMS = """python3 -c '
import socket
s = socket.socket(socket.AF_INET{v}, socket.SOCK_DGRAM)
s.setsockopt(17, 103, 1000)
s.sendto(bytes(i // 1000 for i in range(40500)), ("{to}", 5000))'"""
TAKE_DATAGRAMS = """python3 -c '
import socket
s = socket.socket(socket.AF_INET{v}, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
s.bind(("", 5000))
s.settimeout(20)
open("/tmp/bound{v}", "w").close()
for i in range(41):
    data = s.recv(2000)
    assert data == bytes([i]) * (1000 if i < 40 else 500), (i, data)'"""


def test_large_datagrams(guests):
    for v, address in (('', links.ipv4(1)), ('6', links.ipv6(1))):
        guests[0].check(f'ping -c 1 -W 5 {address}')
        taken = guests[1].start(TAKE_DATAGRAMS.format(v=v))
        guests[1].wait_until(f'test -e /tmp/bound{v}')
        guests[0].check(SEND_DATAGRAMS.format(v=v, to=address))
        outcome = taken.wait()
        assert outcome.status == 0, outcome.output


# IPV6_RTHDR (57) of SOL_IPV6 (41): a segment routing header (type 4, RFC 8754) with two
# segments. Linux inserts the last one.
SEND_ROUTED = """python3 -c '
import socket
s = socket.socket(socket.AF_INET6)
s.setsockopt(41, 57, bytes([0, 4, 4, 1, 1, 0, 0, 0]) + bytes(16) +
             socket.inet_pton(socket.AF_INET6, "{via}"))
s.connect(("fd09::1", 5001))
s.sendall(bytes(1 << 20))
s.shutdown(socket.SHUT_WR)
assert s.recv(1) == b"y"'"""
TAKE_ROUTED = """python3 -c '
import socket
s = socket.create_server(("", 5001), family=socket.AF_INET6)
open("/tmp/routed", "w").close()
s.settimeout(20)
one = s.accept()[0]
assert sum(iter(lambda: len(one.recv(1 << 16)), 0)) == 1 << 20
one.sendall(b"y")'"""


def test_large_routed(guests):
    """The checksum has the last destination of the routing header, not the next one."""
    folder = '/proc/sys/net/ipv6/conf'
    guests[1].check(f'for i in all {links.INTERFACE}; do '
                    f'echo 1 >{folder}/$i/seg6_enabled; done; '
                    'ip addr add fd09::1/128 dev lo nodad')
    guests[0].check(f'ip route add fd09::1 via {links.ipv6(1)}')
    # Linux computes it, but not for the next destination, as its GRO does.
    guests[1].check(f'ethtool -K {links.INTERFACE} rx off gro off')
    taken = guests[1].start(TAKE_ROUTED)
    guests[1].wait_until('test -e /tmp/routed')
    guests[0].check(SEND_ROUTED.format(via=links.ipv6(1)))
    outcome = taken.wait()
    guests[1].check(f'ethtool -K {links.INTERFACE} rx on gro on')
    assert outcome.status == 0, outcome.output
    tcp = re.findall('^Tcp: (.*)', guests[1].check('cat /proc/net/snmp'), re.M)
    assert dict(zip(*map(str.split, tcp)))['InCsumErrors'] == '0'


def test_large_vlan(guests):
    """The tag is a part of the headers."""
    for n, one in enumerate(guests):
        one.check(f'modprobe 8021q && ip link add link {links.INTERFACE} name v9 '
                  f'type vlan id 9 && ip addr add 10.9.0.{n + 1}/24 dev v9 && '
                  'ip link set v9 up')
    assert 'tcp-segmentation-offload: on\n' in guests[0].check('ethtool -k v9')
    total = guests[0].check('md5sum </tmp/www/file')
    assert guests[1].check(programs.fetch_file('10.9.0.1')) == total


def test_dhcp(guests):
    guests[0].check(f'ip link set {links.INTERFACE} up')
    guests[0].check(f'udhcpc -i {links.INTERFACE} -n -q -t 10')
    assert '10.0.2.15/24' in guests[0].check('ip addr')
    guests[0].check('ping -c 1 -W 5 10.0.2.2')


def test_forwarded(guests):
    """A connection from the host to a server in the guest."""
    with guests[0].monitor() as monitor:
        ports = re.findall(r'HOST_FORWARD.*127\.0\.0\.1\s+(\d+)',
                           monitor.human('info usernet'))
    guests[0].check(f'mkdir /tmp/www && head -c {8 * MIB} /dev/urandom >/tmp/www/file')
    guests[0].start('cd /tmp/www && python3 -m http.server 8000', 60)
    guests[0].wait_until('netstat -ltn | grep -q :8000')
    with urllib.request.urlopen(f'http://127.0.0.1:{ports[0]}/file', timeout=30) as file:
        data = file.read()
    assert len(data) == 8 * MIB
    assert hashlib.sha256(data).hexdigest() in guests[0].check('sha256sum /tmp/www/file')
