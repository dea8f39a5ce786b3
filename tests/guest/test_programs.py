# SPDX-License-Identifier: GPL-2.0-or-later
"""RDMA programs between two guests, over each link; more of them in tests/conformance."""
import re
import time
from pathlib import Path

import guest
import links
import programs
from suite import KERNELS, LONG, Suite, name_of, named, ours

MTU = 9000                      # of Ethernet, for a path MTU of 4096
# Fewer than 48 MiB do not always find frames of a netdev that overtake each other.
BULK_MIB = {links.Netdev: 48}

SMOKE = [named(name, programs.check, name, more) for name, more in (
    ('ibv_rc_pingpong', '-n 300'), ('ibv_ud_pingpong', '-n 300'), ('rping', ''),
    ('ib_read_bw', '-n 200'), ('ib_atomic_bw', '-n 300'))]
# What only the long form has on a link. Addresses: the UDP link has a table of them.
# Programs: lab-6.1 has them all; ibverbs-utils, perftest-read and perftest-atomic of
# conformance over a netdev; udp-6.1/ipv6 by IPv6, and rdmacm-utils-udp. Many processes
# and much data: lab-6.1 on a link of the host, netdev-6.1 through a netdev.
LONG_ON = {links.Netdev: ' '.join(('ipv6 multicast_members processes small',
                                   *map(name_of, SMOKE))),
           links.Lab: 'ipv6 multicast_members',
           links.Udp: 'ibv_rc_pingpong rping processes bulk'}
# Rounds of test_small() in the short form: a store to the host's memory is the fastest.
SMALL = {links.Lab: 2}


# retry-time= of a link; over a netdev a dead peer is reported after the default time.
RETRY_SECONDS = {links.Lab: 1, links.Udp: 1}
LATE = 8                        # seconds for a busy host: 1 is not 10


def suites():
    yield Suite('ioeventfd-6.1', ours(2, links.Events(), '6.1'),
                [test_up, *SMOKE, test_processes, test_small,
                 named('events', programs.check_events, 100), programs.test_log])
    for kernel in KERNELS:
        for link in links.Netdev(), links.Udp(), links.Lab():
            if seconds := RETRY_SECONDS.get(type(link)):
                link.nic = f',retry-time={seconds * 1000}'
            yield on_link(link, kernel)


def on_link(link, kernel):
    tests = [test_up, *SMOKE, test_ipv6,
             test_multicast_members, test_processes, test_bulk, test_small]
    if isinstance(link, links.Udp):
        tests.append(test_stranger)
    if not isinstance(link, links.Netdev):
        tests.append(test_idle)
    if link.plugs:
        tests.append(test_link_down)
    return Suite(f'{link.name}-{kernel}', ours(2, link, kernel),
                 [*tests, test_dead_peer, programs.test_log],
                 '*' if kernel != '6.1' else LONG_ON[type(link)],
                 'the short forms on 6.1, and those that LONG_ON names')


def test_up(guests):
    links.up(guests, MTU)
    # Guests that were restored from one state are two machines, too.
    for words in (guest.BOOT_ID, 'od -N 16 -x /dev/urandom'):
        assert len({one.check(words) for one in guests}) == len(guests), words
    for one in guests:
        one.put_programs()
        one.put_programs(programs.PEER)
        assert programs.good(programs.devinfo(one)).figure == 'PORT_ACTIVE, MTU 4096'


def test_ipv6(guests):
    """IPv6 GIDs of the same devices, and IPv4 again."""
    for name in ('ibv_rc_pingpong', 'ibv_ud_pingpong', 'rping', 'ib_write_bw'):
        programs.check(guests, name, address=links.ipv6)
    programs.check(guests, 'ib_write_bw')


def test_small(guests):
    """Many small requests: each may be posted while the queue goes to sleep."""
    for _ in range(4 if LONG else SMALL.get(type(guests.link), 1)):
        programs.check(guests, programs.Program('ib_write_bw', programs.RATE,
                                                '-s 64 -n 80000'))


def test_multicast_members(guests):
    """Each queue pair of a group gets a copy, until it leaves: an IPv4 group of guest 0,
    an IPv6 group of guest 1."""
    groups = ((links.ipv4, '239.1.2.4'), (links.ipv6, 'ff0e::1:2'))
    for receiver, (address, group) in enumerate(groups):
        def command(role, n, words=''):
            gid = programs.gid_index(guests[n], address(n))
            return (f'python3 /tmp/inside/multicast.py {role} {links.DEVICE} '
                    f'{gid} {group} {words}')
        members = guests[receiver].start(command('receive', receiver), 150)
        sender = 1 - receiver
        for attached, messages in (('attached-2', '0 5'), ('attached-1', '5 1')):
            guests[receiver].wait_until(f'test -e /tmp/{attached}', 60)
            sent = guests[sender].run(command('send', sender, messages), 60)
            assert sent.status == 0, sent.output
        heard = members.wait()
        assert heard.status == 0 and 'received 6 and 5' in heard.output, heard.output


def test_stranger(guests):
    """An address that the UDP link does not know: retries run out, QEMU reports why."""
    address = links.ipv4(1)
    links.set_property(guests[0], 'remove-peer', address)
    outcome = programs.run(guests, programs.BY_NAME['ibv_rc_pingpong'])
    # First of all: the tests after a failed one need it.
    links.set_property(guests[0], 'add-peer',
                       f'{address}=127.0.0.1:{guests.link.ports[1]}')
    assert 'transport retry counter exceeded' in outcome.output, outcome
    said = guests[0].log.read_text()
    assert said.count('roce-peers has no host address for packets from') == 1, said
    programs.check(guests, 'ibv_rc_pingpong')


def test_processes(guests):
    """Four processes in each guest at the same time."""
    gids = [programs.gid_index(one, links.ipv4(n)) for n, one in enumerate(guests)]
    command = f'ibv_rc_pingpong -e -c -n 300 -d {links.DEVICE}'
    ports = range(18516, 18520)
    servers = [guests[1].start(f'{command} -g {gids[1]} -p {port}', 90) for port in ports]
    for port in ports:
        guests[1].wait_until(f'netstat -ltn | grep -q ":{port} "')
    clients = [guests[0].start(f'{command} -g {gids[0]} -p {port} {links.ipv4(1)}', 90)
               for port in ports]
    for job in clients + servers:
        result = job.wait()
        assert result.status == 0 and 'invalid data' not in result.output, result.output
        assert '300 iters' in result.output


def start_bulk(guests, mib):
    """Start to move so much by each of SEND, WRITE and READ in each direction; the jobs.

    tests/conformance/inside/peer.py compares every byte.
    """
    command = f'python3 /tmp/inside/peer.py {links.DEVICE}'
    commands = [f'{command} {programs.own_gid(one)} RC/4096/bulk --mib {mib}'
                for one in guests]
    called = guests[1].start(commands[1], 300)
    guests[1].wait_until('netstat -ltn | grep -q ":5002 "', 200)
    return [guests[0].start(f'{commands[0]} --at {links.ipv4(1)}', 300), called]


def end_bulk(jobs):
    for job in jobs:
        result = job.wait()
        assert result.status == 0 and result.output.count('ok ') == 3, result.output


def out_of_sequence(guests):
    return [links.statistics(one)['rx_out_of_sequence'] for one in guests]


def test_bulk(guests):
    """TCP and RDMA at the same time, both with checksums. A netdev loses no frame, and
    none overtakes another."""
    wanted = programs.serve_file(guests[0])
    before = out_of_sequence(guests)
    jobs = start_bulk(guests, 1024 if LONG else BULK_MIB.get(type(guests.link), 12))
    assert guests[1].check(programs.fetch_file(links.ipv4(0))) == wanted
    end_bulk(jobs)
    if isinstance(guests.link, links.Netdev):
        assert out_of_sequence(guests) == before, (before, out_of_sequence(guests))


def switches(one):
    """How often the thread of the engine has begun or stopped to run."""
    tasks = [task for task in Path(f'/proc/{one.process.pid}/task').iterdir()
             if (task / 'comm').read_text().startswith('IO ernic')]
    assert len(tasks) == 1, [(task / 'comm').read_text() for task in tasks]
    return sum(map(int, re.findall(r'ctxt_switches:\s+(\d+)',
                                   (tasks[0] / 'status').read_text())))


def test_idle(guests):
    """Without traffic the engine's thread sleeps. A second in which the kernel of a
    guest sends something of its own does not count."""
    for one in guests:
        for _ in range(20):
            before = switches(one)
            time.sleep(1)
            if switches(one) == before:
                break
        else:
            raise AssertionError(f'{one.name}: {switches(one) - before} a second')


def start_writes(guests):
    """An endless ib_write_bw, always waiting for an ACK; the client's job."""
    gids = [programs.gid_index(one, links.ipv4(n)) for n, one in enumerate(guests)]
    command = f'ib_write_bw -D 300 -d {links.DEVICE}'
    guests[1].start(f'{command} -x {gids[1]}', 300)
    guests[1].wait_until(programs.LISTENS)
    client = programs.sends(guests[0], f'{command} -x {gids[0]} {links.ipv4(1)}', 60)
    assert not client.done()
    return client


def end_of_retries(client):
    """It ends by itself with IBV_WC_RETRY_EXC_ERR."""
    result = client.wait()
    assert result.status not in (0, 124), (result.status, result.output)
    assert 'Failed status 12' in result.output, result.output


def test_link_down(guests):
    """The cable is unplugged: the client ends; after plugging in, everything works."""
    client = start_writes(guests)
    guests.link.plug(guests[1], False)
    try:
        end_of_retries(client)
    finally:
        guests[1].run('killall -9 ib_write_bw')
        guests.link.plug(guests[1], True)
    programs.check(guests, 'ib_write_bw')


def test_dead_peer(guests):
    """The other machine dies: the client ends with an error, after the time for that."""
    client = start_writes(guests)
    begun = time.monotonic()
    guests[1].process.kill()
    end_of_retries(client)
    wanted = RETRY_SECONDS.get(type(guests.link), 10)
    # A host that had paused the peer before has had a part of the time already.
    assert wanted / 2 <= time.monotonic() - begun < wanted + LATE
    assert 'PORT_ACTIVE' in guests[0].check(f'ibv_devinfo -d {links.DEVICE}')
