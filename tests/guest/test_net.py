# SPDX-License-Identifier: GPL-2.0-or-later
"""The network card: two guests in a lab, or on a netdev, and one on the user network."""
import hashlib
import re
import urllib.request

import links
import programs
from suite import KERNELS, Suite, ours

MIB = 1 << 20


def suites():
    for kernel, link in zip(KERNELS, (links.Lab(), links.Netdev())):
        for name, machines, tests in (
                ('net', ours(2, link, kernel),
                 [test_up, test_ping, test_big_ping, test_tcp]),
                ('user', ours(1, User(), kernel), [test_dhcp, test_forwarded])):
            yield Suite(f'{name}-{kernel}', machines, [*tests, programs.test_log],
                        *([] if kernel == '6.1' else ['*', f'{name}-6.1']))


class User(links.Link):
    """A guest on libslirp: DHCP server, router, a forwarded port."""

    def options(self, n, folder):
        return ['-netdev', 'user,id=net,hostfwd=tcp:127.0.0.1:0-:8000',
                '-device', f'ernic,interface=verbs,id=nic,netdev=net,mac={links.mac(n)}']


def test_up(guests):
    links.up(guests)
    for one in guests:
        programs.wait_until(
            one, f'grep -q up /sys/class/net/{links.INTERFACE}/operstate')


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
    programs.wait_until(guests[0], 'netstat -ltn | grep -q :8000')
    with urllib.request.urlopen(f'http://127.0.0.1:{ports[0]}/file', timeout=30) as file:
        data = file.read()
    assert len(data) == 8 * MIB
    assert hashlib.sha256(data).hexdigest() in guests[0].check('sha256sum /tmp/www/file')
