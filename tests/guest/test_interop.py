# SPDX-License-Identifier: GPL-2.0-or-later
"""The device and soft-RoCE (rdma_rxe over virtio-net) on one network."""
import functools

import guest
import links
import programs
import suite
from suite import Suite, named

MTU = 9000                      # of Ethernet, for a path MTU of 4096
KINDS = ('RC', 'UC', 'UD')
PATH_MTUS = (256, 512, 1024, 2048, 4096)
FAMILIES = {'ipv4': links.ipv4, 'ipv6': links.ipv6}
PORT = 5002                     # of tests/guest/inside/peer.py
SECONDS = 120


def suites(kernel, image, short):
    tests = [test_up]
    if suite.LONG:
        tests += [named(f'{kind.lower()}_{mtu}_{family}', run_peer, [kind], mtu, family)
                  for family in FAMILIES for mtu in PATH_MTUS for kind in KINDS]
        chosen = [program.name for program in programs.PROGRAMS]
    else:
        tests += [named('1024_ipv4', run_peer, KINDS, 1024, 'ipv4')]
        chosen = ['rping']
        if not short:
            tests += [named('4096_ipv6', run_peer, KINDS, 4096, 'ipv6')]
            chosen += ['ib_write_bw', 'ib_read_bw', 'ucmatose', 'udaddy']
    tests += [named(f'{name}_to_{server}', run_program, name, server)
              for name in chosen for server in ('rxe', 'ernic')]
    return [Suite(f'interop-{kernel}',
                  functools.partial(guest.Guests, 2, SoftRoce(), image), tests)]


class SoftRoce(links.Link):
    """The device in the first guest, virtio-net for rdma_rxe in the second."""

    name = 'interop'

    def options(self, n, folder):
        model = 'ernic' if n == 0 else 'virtio-net-pci'
        return [*links.wire(n, folder), '-device',
                f'{model},id=nic,netdev=wire,mac={links.mac(n)}']


def test_up(guests):
    """Both RDMA devices have the same name, so that programs are called alike."""
    links.up(guests, MTU)
    guests[1].check(f'modprobe rdma_rxe && rdma link add {links.DEVICE} type rxe '
                    f'netdev {links.INTERFACE}')
    for one in guests:
        one.put(guest.INSIDE / 'peer.py', '/tmp/peer.py')
        outcome = programs.devinfo(one)
        assert outcome.figure == 'PORT_ACTIVE, MTU 4096', outcome


def run_peer(guests, kinds, mtu, family):
    """Every kind of request, both ways: tests/guest/inside/peer.py."""
    cases = ' '.join(f'{kind}/{mtu}' for kind in kinds)
    commands = [f'python3 /tmp/peer.py {links.DEVICE} '
                f'{programs.gid_index(one, FAMILIES[family](n))} {cases}'
                for n, one in enumerate(guests)]
    called = guests[1].start(commands[1], SECONDS)
    programs.wait_until(guests[1], f'netstat -ltn | grep -q ":{PORT} "')
    calling = guests[0].start(f'{commands[0]} --at {links.ipv4(1)}', SECONDS)
    output = ''
    for job, name in ((calling, 'ernic'), (called, 'rxe')):
        result = job.wait()
        output += f'--- requests of {name}, status {result.status}\n{result.output}'
        assert not result.status, output
        assert 'not ok' not in result.output and 'ok ' in result.output, output


def run_program(guests, name, server):
    """A program of Debian; the server is in the guest with that device."""
    ends, address = guests, links.ipv4
    if server == 'ernic':
        ends, address = guests[::-1], lambda n: links.ipv4(1 - n)
    # Of reads, perftest would have rdma_rxe's 128 under way; the device has 16.
    options = '-o 16' if name == 'ib_read_bw' else ''
    outcome = programs.run(ends, programs.BY_NAME[name], options, address, address)
    assert not outcome.reason, f'{outcome.reason}\n{outcome.output}'
    print(f'# {name} to {server}: {outcome.figure}', flush=True)
