# SPDX-License-Identifier: GPL-2.0-or-later
"""Libraries on top of verbs: UCX, libfabric, and Open MPI over UCX."""
import re

import guest
import links
import programs
from report import case
from stacks import Suite

PACKAGES = ('libfabric-bin', 'openmpi-bin', 'python3-mpi4py', 'ucx-utils')
MEMORY = 1536
SECONDS = 240
UCX = 'UCX_NET_DEVICES={device}:1 UCX_TLS={tls},self UCX_IB_GID_INDEX={gid}'
# UCX looks whether a datagram was sent to a GID of ours, by 4 bytes of the IPv4 header or
# by the 16 of the GRH (uct_ud_iface_check_grh() in src/uct/ib/ud/base/ud_iface.h). Which
# of them it takes from the completion's SL, where one vendor's devices say what header it
# was. An SL that is one means 16 bytes: with IPv4 it drops whatever it gets.
UCX_IPV4 = UCX + ' UCX_UD_ETH_DGID_CHECK=n'
PORT, IO_PORT = 13337, 13338    # of ucx_perftest and io_demo

# Test: size and count. Tests of bandwidth move 128 MiB, in the short form 16 MiB.
UCX_TESTS = {
    'tag_bw': (65536, 2048), 'tag_lat': (1024, 2048), 'ucp_put_bw': (65536, 2048),
    'ucp_get': (65536, 2048), 'stream_bw': (65536, 2048), 'ucp_add': (8, 4096),
}
# It verifies the data that it reads and writes: 1 MiB each time, half in each direction.
IO_DEMO = 'io_demo -q -o read,write -d 1048576:1048576 -w 4 -p {port} -i {count}'
TRANSPORTS = ('rc_v', 'ud_v')   # of UCX

# Endpoints of libfabric: its name of the provider, kind of endpoint.
ENDPOINTS = {'verbs msg': '-p verbs -e msg', 'verbs rdm': '-p "verbs;ofi_rxm" -e rdm'}

KILLED = 128 + 9                # the status of a command after SIGKILL

# mpirun uses it as ssh: the other guest runs the commands that it reads.
AGENT = '#!/bin/sh\\nhost=$1; shift; echo "$*" | busybox nc $host 9999\\n'
SERVE = 'while :; do busybox nc -l -p 9999 -e /bin/sh; done'
MPI = ('mpirun.openmpi --allow-run-as-root -np 2 --host {hosts} --map-by node '
       '--mca plm_rsh_agent /tmp/agent --mca oob_tcp_if_include {net} {words} python3 ')
MPI_UCX = '--mca btl ^openib,vader,tcp --mca pml ucx '


def environment(guests, tls, address=links.ipv4):
    words = UCX_IPV4 if address == links.ipv4 else UCX
    return words.format(device=links.DEVICE, tls=tls,
                        gid=programs.gid_index(guests[0], address(0)))


def ucx_pair(guests, command, port, more=''):
    """Results of client and server; a server that does not end by itself is killed."""
    server = guests[1].start(f'{command} {more}', SECONDS)
    guests[1].wait_until(f'netstat -ltn | grep -q ":{port} "', 60)
    client = guests[0].run(f'{command} {links.ipv4(1)} {more}', SECONDS)
    if 'io_demo' in command:
        guests[1].run('killall io_demo')
    return client, server.wait()


def ucx_perftest(guests, name, test, short, words, more='', shown=''):
    """The case of a test in an environment; shown: what the client has to print, too."""
    size, count = UCX_TESTS[test]
    client, server = ucx_pair(
        guests, f'{words} timeout {SECONDS} ucx_perftest -t {test} -s {size} -w 10 '
        f'-p {PORT} -n {count // 8 if short else count}', PORT, more)
    good = (client.status == server.status == 0 and 'Final' in client.output
            and shown in client.output)
    return case(name, good, client.output + server.output)


def ucx(guests, short):
    for tls in TRANSPORTS:
        tests = [(test, test, links.ipv4) for test in UCX_TESTS]
        for name, test, address in [*tests, ('tag_bw ipv6', 'tag_bw', links.ipv6)]:
            yield ucx_perftest(guests, f'ucx {tls} {name}', test, short,
                               environment(guests, tls, address))


def io_demo(guests, short, environments):
    """environments: {name of the case: UCX's environment}."""
    for name, words in environments.items():
        count = 32 if short else 256
        command = IO_DEMO.format(port=IO_PORT, count=count)
        client, server = ucx_pair(guests, f'{words} {command}', IO_PORT)
        done = sum(map(int, re.findall(r'\[DEMO\] total .*? total:(\d+) \|',
                                       client.output)))
        output = client.output + server.output
        yield case(name, client.status == 0 and done == count
                   and "status 'OK'" in client.output and 'ERROR' not in output,
                   output)


def fi_pingpong_ended(*ends):
    """After its figure, which comes after every byte was verified, an end sends a last
    message and does not wait for the other one's: the slower end may find the connection
    closed, and its message flushed. With ofi_rxm it then waits for a completion that has
    gone with the queue pair (libfabric's pull request 5228), and is killed."""
    late = [one for one in ends if one.status]
    return all('MB/sec' in one.output for one in ends) and (
        not late or len(late) == 1 and ('Work Request Flushed Error' in late[0].output
                                        or late[0].status == KILLED))


def libfabric(guests, short):
    for one in guests:          # like the package's own script
        one.check('ln -sf $(find /usr/lib -name "libpsm_infinipath.so.1?*" -type f) '
                  '/usr/lib/libpsm_infinipath.so.1')
    for name, options in ENDPOINTS.items():
        # -c: every byte is verified.
        command = (f'fi_pingpong {options} -S 1048576 -I {8 if short else 64} -c '
                   f'-d {links.DEVICE}')
        client, server = programs.meet(
            (guests[0], f'{command} {links.ipv4(1)}'), (guests[1], command),
            'netstat -ltn | grep -q ":47592 "', SECONDS)
        yield case(f'fi_pingpong {name}', client and fi_pingpong_ended(client, server),
                   f'{client and client.output}{server.output}')


def mpi(guests, short, options):
    """options: {name of the cases: mpirun's options}."""
    for one in guests:
        one.check(f"printf '{AGENT}' >/tmp/agent; chmod +x /tmp/agent")
        one.put(guest.INSIDE / 'mpi_bandwidth.py', '/tmp/mpi_bandwidth.py')
    for one in guests:
        one.start(SERVE, SECONDS * 8)
    for name, words in options.items():
        command = MPI.format(hosts='guest1,guest2', net=links.INTERFACE, words=words)
        result = guests[0].run(command + '-m mpi4py.bench helloworld', SECONDS)
        yield case(f'{name} hello', result.status == 0
                   and result.output.count('Hello, World!') == 2, result.output)
        result = guests[0].run(f'{command} /tmp/mpi_bandwidth.py {16 if short else 128}',
                               SECONDS)
        yield case(f'{name} bandwidth', result.status == 0
                   and 'verified' in result.output, result.output)


def cases(guests, short):
    yield from ucx(guests, short)
    settings = {tls: environment(guests, tls) for tls in TRANSPORTS}
    yield from io_demo(guests, short,
                       {f'io_demo {tls}': words for tls, words in settings.items()})
    yield from libfabric(guests, short)
    yield from mpi(guests, short,
                   {f'mpi {tls}': MPI_UCX + ' '.join(f'-x {it}' for it in words.split())
                    for tls, words in settings.items()})


# Bytes that the device of a guest has sent by RDMA.
XMIT_WORDS = 'cat /sys/class/infiniband/*/ports/1/counters/port_xmit_data'


def by_rdma(guests, name, mebibytes, cases):
    """Yield the cases, and one that fails if fewer bytes went by RDMA."""
    before = int(guests[0].check(XMIT_WORDS))
    yield from cases
    sent = 4 * (int(guests[0].check(XMIT_WORDS)) - before) >> 20
    yield case(f'{name} by RDMA', sent >= mebibytes, f'{sent} MiB, not {mebibytes}')


def by_default(guests, short):
    """UCX, libfabric and Open MPI over UCX, with nothing set.

    UCX chooses the transport: the one for mlx5, not for verbs. A terminal as
    the input keeps ucx_perftest, which is built with MPI, from using it.
    """
    runs = [(f'ucx {test}', test, 'rc_mlx5', '') for test in UCX_TESTS]
    runs.append(('ucx ud_mlx5', 'tag_bw', 'ud_mlx5', 'UCX_TLS=ud_mlx5,self'))
    for name, test, transport, chosen in runs:
        yield ucx_perftest(guests, name, test, short, f'{chosen} UCX_LOG_LEVEL=info',
                           '</dev/ptmx', f'{transport}/')
    # Half of what io_demo moves is WRITE, up to chance.
    yield from by_rdma(guests, 'io_demo', 8,
                       io_demo(guests, short, {'io_demo': ''}))
    yield from libfabric(guests, short)
    # Debian's own configuration of Open MPI has "pml = ^ucx", and TCP in its place.
    yield from by_rdma(guests, 'mpi', 16,
                       mpi(guests, short, {'mpi': '--mca pml ucx'}))


SUITES = [Suite('middleware', 2, cases, PACKAGES, MEMORY, about=PACKAGES, short=()),
          Suite('ucx', 2, by_default, memory=MEMORY, devices=('mlx5',), short=('mlx5',),
                about=PACKAGES, stock=PACKAGES, release='trixie',
                kernel='6.12')]
