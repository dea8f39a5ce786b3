# SPDX-License-Identifier: GPL-2.0-or-later
"""Libraries that programs reach verbs through: UCX, libfabric, Open MPI over UCX."""
import guest
import links
import programs
from report import Case
from stacks import Suite

PACKAGES = ('libfabric-bin', 'openmpi-bin', 'python3-mpi4py', 'ucx-utils')
MEMORY = 1536
SECONDS = 240
# ucx_perftest of UCX 1.13 takes no datagram by IPv4 while it checks where they were sent
# to, on soft-RoCE as little as on the device.
UCX = ('UCX_NET_DEVICES={device}:1 UCX_TLS={tls},self UCX_IB_GID_INDEX={gid} '
       'UCX_UD_ETH_DGID_CHECK=n')
PORT = 13337                    # of ucx_perftest

# Test: size and count. Those of bandwidth move 128 MiB, in the short form 16 MiB.
UCX_TESTS = {
    'tag_bw': (65536, 2048), 'tag_lat': (1024, 2048), 'ucp_put_bw': (65536, 2048),
    'ucp_get': (65536, 2048), 'stream_bw': (65536, 2048), 'ucp_add': (8, 4096),
}
# Transports of UCX, and the tests of the short form.
TRANSPORTS = {'rc_v': ('tag_bw', 'ucp_get', 'ucp_add'), 'ud_v': ('tag_bw',)}

# Endpoints of libfabric: its name of the provider, kind of endpoint.
ENDPOINTS = {'verbs msg': '-p verbs -e msg', 'verbs rdm': '-p "verbs;ofi_rxm" -e rdm'}

# What mpirun takes for ssh: the other guest runs what it reads.
AGENT = '#!/bin/sh\\nhost=$1; shift; echo "$*" | busybox nc $host 9999\\n'
SERVE = 'while :; do busybox nc -l -p 9999 -e /bin/sh; done'
MPI = ('mpirun.openmpi --allow-run-as-root -np 2 --host {hosts} --map-by node '
       '--mca plm_rsh_agent /tmp/agent --mca btl ^openib,vader,tcp --mca pml ucx '
       '--mca oob_tcp_if_include {net} {environment} python3 ')


def outcome(name, good, output):
    return Case(name, 'ok' if good else 'fail', '' if good else output)


def ucx(guests, short):
    gid = programs.gid_index(guests[0], links.ipv4(0))
    for tls, few in TRANSPORTS.items():
        prefix = UCX.format(device=links.DEVICE, tls=tls, gid=gid)
        for test, (size, count) in UCX_TESTS.items():
            if short and test not in few:
                continue
            count = count // 8 if short else count
            command = (f'{prefix} timeout {SECONDS} ucx_perftest -t {test} -s {size} '
                       f'-n {count} -w 10 -p {PORT}')
            server = guests[1].start(command, SECONDS)
            programs.wait_until(guests[1], f'netstat -ltn | grep -q ":{PORT} "')
            client = guests[0].run(f'{command} {links.ipv4(1)}', SECONDS)
            heard = server.wait()
            yield outcome(f'ucx {tls} {test}',
                          client.status == heard.status == 0 and 'Final' in client.output,
                          client.output + heard.output)


def libfabric(guests, short):
    for one in guests:          # as the package's own script does
        one.check('ln -sf $(find /usr/lib -name "libpsm_infinipath.so.1?*" -type f) '
                  '/usr/lib/libpsm_infinipath.so.1')
    for name, options in ENDPOINTS.items():
        # -c: every byte is verified.
        command = (f'fi_pingpong {options} -S 1048576 -I {8 if short else 64} -c '
                   f'-d {links.DEVICE}')
        server = guests[1].start(command, SECONDS)
        programs.wait_until(guests[1], 'netstat -ltn | grep -q ":47592 "')
        client = guests[0].run(f'{command} {links.ipv4(1)}', SECONDS)
        heard = server.wait()
        yield outcome(f'fi_pingpong {name}', client.status == heard.status == 0
                      and 'MB/sec' in client.output, client.output + heard.output)


def mpi(guests, short):
    for one in guests:
        one.check(f"printf '{AGENT}' >/tmp/agent; chmod +x /tmp/agent")
        one.put(guest.INSIDE / 'mpi_bandwidth.py', '/tmp/mpi_bandwidth.py')
    for one in guests:
        one.start(SERVE, SECONDS * 8)
    gid = programs.gid_index(guests[0], links.ipv4(0))
    for tls in TRANSPORTS:
        environment = ' '.join(f'-x {word}' for word in UCX.format(
            device=links.DEVICE, tls=tls, gid=gid).split())
        command = MPI.format(hosts='guest1,guest2', net=links.INTERFACE,
                             environment=environment)
        result = guests[0].run(command + '-m mpi4py.bench helloworld', SECONDS)
        yield outcome(f'mpi {tls} hello', result.status == 0
                      and result.output.count('Hello, World!') == 2, result.output)
        result = guests[0].run(f'{command} /tmp/mpi_bandwidth.py {16 if short else 128}',
                               SECONDS)
        yield outcome(f'mpi {tls} bandwidth', result.status == 0
                      and 'verified' in result.output, result.output)


def cases(guests, short):
    yield from ucx(guests, short)
    yield from libfabric(guests, short)
    yield from mpi(guests, short)


SUITES = [Suite('middleware', 2, cases, PACKAGES, MEMORY, about=PACKAGES)]
