# SPDX-License-Identifier: GPL-2.0-or-later
"""RDMA programs between two guests, over each link."""
import guest
import links
import programs
from suite import KERNELS, Suite, name_of, named, ours

MIB = 1 << 20
MTU = 9000                      # of Ethernet, for a path MTU of 4096
BULK_MIB = 1024
PATH_MTUS = (256, 512, 1024, 2048, 4096)

# Name of the test, program, options.
VARIANTS = [
    ('rc_events', 'ibv_rc_pingpong', '-e'),
    ('uc_events', 'ibv_uc_pingpong', '-e'),
    ('ud_events', 'ibv_ud_pingpong', '-e'),
    ('srq_events', 'ibv_srq_pingpong', '-e -n 200'),
    ('send_events', 'ib_send_bw', '-e'),
    ('read_events', 'ib_read_bw', '-e'),
    ('uc_write', 'ib_write_bw', '-c UC'),
    ('uc_send_lat', 'ib_send_lat', '-c UC'),
    ('ud_send_lat', 'ib_send_lat', '-c UD'),
    ('many_qps', 'ib_write_bw', '-q 8 -n 200'),
    ('many_qps_read', 'ib_read_bw', '-q 8 -n 200'),
    ('both_ways', 'ib_write_bw', '-b'),
    ('both_ways_send', 'ib_send_bw', '-b'),
    ('all_sizes', 'ib_write_bw', '-a -n 50'),
    ('ucmatose', 'ucmatose', ''),
    ('udaddy', 'udaddy', ''),
    ('compare_swap', 'ib_atomic_bw', '-A CMP_AND_SWAP'),
    *((f'mtu_{mtu}', 'ibv_rc_pingpong', f'-m {mtu} -s 100000 -n 30')
      for mtu in PATH_MTUS),
]


SMOKE = ('ibv_rc_pingpong', 'ibv_ud_pingpong', 'rping', 'ib_read_bw', 'ib_atomic_bw')


def suites():
    for kernel in KERNELS:
        for link in links.Netdev(), links.Udp(), links.Shm():
            yield on_link(link, kernel)


def on_link(link, kernel):
    """Netdev has no variants: utilities and perftest of tests/conformance use it."""
    others = [named(program.name, run_program, program.name)
              for program in programs.PROGRAMS if program.name not in SMOKE]
    if not isinstance(link, links.Netdev):
        others += [named(name, run_program, program, options)
                   for name, program, options in VARIANTS]
    tests = [test_up, *(named(name, run_program, name) for name in SMOKE), test_ipv6,
             test_multicast, test_multicast_members, test_processes, test_bulk,
             test_tcp_beside]
    if isinstance(link, links.Udp):
        tests.append(test_stranger)
    if link.plugs:
        tests.append(test_link_down)
    long = ['*', f'{link.name}-6.1 and conformance']
    if kernel == '6.1':
        long = [' '.join(map(name_of, others)),
                'ibverbs-utils, rdmacm-utils and perftest of tests/conformance']
    return Suite(f'{link.name}-{kernel}', ours(2, link, kernel),
                 [*tests, *others, test_dead_peer], *long)


def run_program(guests, name, options='', address=links.ipv4):
    outcome = programs.run(guests, programs.BY_NAME[name], options, address)
    assert not outcome.reason, f'{outcome.reason}\n{outcome.output}'
    print(f'# {name} {options}: {outcome.figure}', flush=True)


def test_up(guests):
    links.up(guests, MTU)
    for one in guests:
        outcome = programs.devinfo(one)
        assert not outcome.reason, outcome
        assert outcome.figure == 'PORT_ACTIVE, MTU 4096'


def test_ipv6(guests):
    """IPv4 and IPv6 GIDs of the same devices, one after the other."""
    for address in (links.ipv6, links.ipv4):
        for name in ('ibv_rc_pingpong', 'ibv_ud_pingpong', 'rping', 'ib_write_bw'):
            run_program(guests, name, address=address)


def test_multicast(guests):
    """Both guests join a group; what one sends to it, the other receives."""
    options = '-m 239.1.2.3 -c 3 -C 10'
    for receiver, sender in ((0, 1), (1, 0)):
        listener = guests[receiver].start(
            f'mckey -b {links.ipv4(receiver)} {options}', 40)
        guests[receiver].check('sleep 3')
        sent = guests[sender].run(f'mckey -s -b {links.ipv4(sender)} {options}', 40)
        heard = listener.wait()
        assert sent.status == heard.status == 0, sent.output + heard.output
        assert 'test complete' in heard.output, heard.output


def test_multicast_members(guests):
    """Each queue pair of a group gets a copy, until it leaves; IPv4 and IPv6 groups."""
    for one in guests:
        one.put(guest.INSIDE / 'multicast.py', '/tmp/multicast.py')
    for address, group in ((links.ipv4, '239.1.2.4'), (links.ipv6, 'ff0e::1:2')):
        gids = [programs.gid_index(one, address(n)) for n, one in enumerate(guests)]
        for receiver, sender in ((0, 1), (1, 0)):
            def command(role, n, words=''):
                return (f'python3 /tmp/multicast.py {role} {links.DEVICE} {gids[n]} '
                        f'{group} {words}')
            guests[receiver].check('rm -f /tmp/attached-*')
            members = guests[receiver].start(command('receive', receiver), 150)
            for attached, messages in (('attached-2', '0 5'), ('attached-1', '5 1')):
                programs.wait_until(guests[receiver], f'test -e /tmp/{attached}', 60)
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
    run_program(guests, 'ibv_rc_pingpong')


def test_processes(guests):
    """Four processes in each guest at the same time."""
    gids = [programs.gid_index(one, links.ipv4(n)) for n, one in enumerate(guests)]
    command = f'ibv_rc_pingpong -e -c -n 300 -d {links.DEVICE}'
    ports = range(18516, 18520)
    servers = [guests[1].start(f'{command} -g {gids[1]} -p {port}', 90) for port in ports]
    for port in ports:
        programs.wait_until(guests[1], f'netstat -ltn | grep -q ":{port} "')
    clients = [guests[0].start(f'{command} -g {gids[0]} -p {port} {links.ipv4(1)}', 90)
               for port in ports]
    for job in clients + servers:
        result = job.wait()
        assert result.status == 0 and 'invalid data' not in result.output, result.output
        assert '300 iters' in result.output


def move(guests, mib):
    """Start tests/guest/inside/move.py: the jobs, sender first."""
    for one in guests:
        one.put(guest.INSIDE / 'move.py', '/tmp/move.py')
    gids = [programs.gid_index(one, links.ipv4(n)) for n, one in enumerate(guests)]
    command = f'python3 /tmp/move.py {links.DEVICE}'
    target = guests[1].start(f'{command} {gids[1]} {mib}', 300)
    programs.wait_until(guests[1], 'netstat -ltn | grep -q ":5001 "')
    return [guests[0].start(f'{command} {gids[0]} {mib} {links.ipv4(1)}', 300), target]


def test_bulk(guests):
    """1 GiB by RDMA WRITE arrives unchanged."""
    sent, received = (job.wait() for job in move(guests, BULK_MIB))
    assert sent.status == 0 and received.status == 0, sent.output + received.output
    print('# ' + sent.output.splitlines()[0])
    assert received.output.startswith(f'{BULK_MIB * MIB} '), received.output
    assert sent.output.splitlines()[1] == received.output.strip()


def test_tcp_beside(guests):
    """TCP and RDMA at the same time, both with checksums."""
    for one in guests:
        one.put(guest.INSIDE / 'tcp.py', '/tmp/tcp.py')
    jobs = move(guests, 128)
    jobs += [guests[0].start('python3 /tmp/tcp.py 5000', 120),
             guests[1].start(f'python3 /tmp/tcp.py 5000 {links.ipv4(0)} 32', 120)]
    results = [job.wait() for job in jobs]
    assert not any(result.status for result in results), [r.output for r in results]
    sums = [result.output.splitlines()[-1] for result in results]
    assert sums[0] == sums[1] and sums[2] == sums[3], sums


def start_writes(guests):
    """An endless ib_write_bw, always waiting for an ACK; the client's job."""
    gids = [programs.gid_index(one, links.ipv4(n)) for n, one in enumerate(guests)]
    command = f'ib_write_bw -D 300 -d {links.DEVICE}'
    guests[1].start(f'{command} -x {gids[1]}', 300)
    programs.wait_until(guests[1], programs.LISTENS)
    client = guests[0].start(f'{command} -x {gids[0]} {links.ipv4(1)}', 60)
    guests[0].check('sleep 3')
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
    run_program(guests, 'ib_write_bw')


def test_dead_peer(guests):
    """The other machine dies: the client ends with an error."""
    client = start_writes(guests)
    guests[1].process.kill()
    end_of_retries(client)
    assert 'PORT_ACTIVE' in guests[0].check(f'ibv_devinfo -d {links.DEVICE}')
