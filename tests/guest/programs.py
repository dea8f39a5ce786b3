# SPDX-License-Identifier: GPL-2.0-or-later
"""A table of Debian's RDMA programs, and functions that run a pair of them.

One is the server in guests[1], the other the client in guests[0]. Columns of the table
say how success is proved and where the figure stands, so that tests and scripts/demo
agree.
"""
import ipaddress
import re
import time
from typing import NamedTuple

import links

SECONDS = 180                   # the host may be busy
GRACE = 10                      # seconds that one end may take longer
PORT = 18515                    # of ibverbs-utils and perftest


class Family(NamedTuple):
    """Programs that are called alike.

    {gid} is the index of the GID for {address}; {tcp} where the ends meet before.
    """

    server: str
    client: str
    listens: str                # succeeds in the server's guest when it is ready
    figure: str                 # pattern of the figure in the client's output, or ''
    unit: str
    ends: bool = True           # the server by itself after the client


class Program(NamedTuple):
    name: str
    family: Family
    options: str = ''
    good: str = ''              # printed this often by the server for right data
    times: int = 1


class Outcome(NamedTuple):
    """reason: '' or why it failed. output: of both ends."""

    reason: str
    figure: str
    output: str


LISTENS = f'netstat -ltn | grep -q ":{PORT} "'
CALL = f'{{name}} -d {links.DEVICE} -g {{gid}} {{opt}}'
PINGPONG = Family(CALL, CALL + ' {tcp}', LISTENS, r'= ([\d.]+) usec/iter',
                  'us/iteration')
CALL = f'{{name}} -d {links.DEVICE} -x {{gid}} -F {{opt}}'
BANDWIDTH = Family(CALL, CALL + ' {tcp}', LISTENS,
                   r'\n *\d+ +\d+ +[\d.]+ +([\d.]+)\s+[\d.]+ *\n', 'MiB/s')
RATE = BANDWIDTH._replace(figure=r'\n *\d+ +\d+ +[\d.]+ +[\d.]+\s+([\d.]+) *\n',
                          unit='million/s')
LATENCY = BANDWIDTH._replace(figure=r'\n *\d+ +\d+ +[\d.]+ +[\d.]+ +([\d.]+)\s',
                             unit='us')
# The 99th percentile.
TAIL = LATENCY._replace(figure=r'\n *\d+ +\d+(?:[ \t]+[\d.]+){5}[ \t]+([\d.]+)\s')
# rping ends its server without a message, and its exit status means nothing.
RPING = Family('rping -s -a {address} {opt}; true', 'rping -c -a {address} {opt}',
               'rdma resource show cm_id | grep -q LISTEN', '', 'pings verified')
CM = Family('{name} -b {address} {opt}', '{name} -s {address} {opt}', RPING.listens,
            r'return status (0)', 'status')

PROGRAMS = [
    Program('ibv_rc_pingpong', PINGPONG, '-c -n 1000'),
    Program('ibv_uc_pingpong', PINGPONG, '-c -n 1000'),
    Program('ibv_ud_pingpong', PINGPONG, '-c -n 1000'),
    Program('ibv_srq_pingpong', PINGPONG, '-c -n 1000'),
    Program('rping', RPING, '-C 100 -V -v', 'server ping data: rdma-ping', 100),
    Program('ib_write_bw', BANDWIDTH, '-s 65536 -n 1000'),
    Program('ib_read_bw', BANDWIDTH, '-s 65536 -n 1000'),
    Program('ib_send_bw', BANDWIDTH, '-s 65536 -n 1000'),
    Program('ib_atomic_bw', RATE, '-n 1000'),
    Program('ib_send_lat', LATENCY, '-s 64 -n 1000'),
]
# Without a figure to show.
MORE = [
    Program('ucmatose', CM, '-c 4 -C 100 -S 1000', 'return status 0'),
    Program('udaddy', CM, '-c 4 -C 100 -S 1000', 'return status 0'),
]
BY_NAME = {program.name: program for program in PROGRAMS + MORE}


def gid_index(guest, address):
    """The index of the GID of an IP address, which may appear a little later."""
    ip = ipaddress.ip_address(address)
    wanted = ipaddress.ip_address(f'::ffff:{ip}' if ip.version == 4 else ip).exploded
    for _ in range(20):
        gids = guest.run('grep -Hs . /sys/class/infiniband/'
                         f'{links.DEVICE}/ports/1/gids/*').output
        found = re.search(rf'/(\d+):{wanted}$', gids, re.M)
        if found:
            return int(found[1])
        time.sleep(0.2)
    raise ValueError(f'{guest.name} has no GID {wanted}: {gids}')


def wait_until(guest, condition, seconds=20):
    guest.check(f"timeout {seconds} sh -c 'until {condition}; do sleep 0.05; done'",
                seconds + 10)


# perftest measures the clock of the processor first, and has no figure, or 0, if other
# load on the host disturbs that. It is run again then.
NO_CLOCK = 'Correlation coefficient r^2'
TRIES = 3
NO_FIGURE = 'the client shows no figure'


def wait_for_server(guest, program, job, seconds=20):
    """Whether it listens; False if it ends first."""
    ready = guest.start(f"timeout {seconds} sh -c 'until {program.family.listens}; "
                        "do sleep 0.05; done'", seconds + 10)
    while not ready.done():
        if job.done():
            return False
        time.sleep(0.02)
    if ready.wait().status:
        job.kill()
        return False
    return True


def devinfo(guest):
    """Outcome of ibv_devinfo in one guest."""
    result = guest.run(f'ibv_devinfo -d {links.DEVICE} -v')
    state = re.search(r'state:\s+(\w+)', result.output)
    mtu = re.search(r'active_mtu:\s+(\d+)', result.output)
    if result.status or not state or state[1] != 'PORT_ACTIVE':
        return Outcome(f'status {result.status}, the port is not active', '',
                       result.output)
    return Outcome('', f'{state[1]}, MTU {mtu[1]}', result.output)


def check_output(program, server, client):
    """The figure; raises ValueError with the reason why it failed."""
    for end, result in (('client', client), ('server', server)):
        if result is server and not program.family.ends:
            continue
        if result.status == 124:
            raise ValueError(f'the {end} did not end in time')
        if result.status:
            raise ValueError(f'the {end} ended with status {result.status}')
        if 'invalid data' in result.output:
            raise ValueError(f'the {end} found wrong data')
    seen = server.output.count(program.good) if program.good else program.times
    if seen != program.times:
        raise ValueError(f'the server had {seen} of {program.times} right')
    if not program.family.figure:
        return f'{seen} {program.family.unit}'
    figure = re.search(program.family.figure, client.output)
    if not figure:
        raise ValueError(NO_FIGURE)
    return f'{figure[1]} {program.family.unit}'


def end_together(jobs, grace=GRACE):
    """Wait for both ends; kill them once one has failed or ended so many s ago."""
    since = None
    while not all(job.done() for job in jobs):
        ended = [job for job in jobs if job.done()]
        since = since or (ended and time.monotonic())
        if ended and (time.monotonic() - since > grace or ended[0].wait().status):
            for job in jobs:
                job.kill()
            return
        time.sleep(0.05)


def run_once(guests, program, options, address, tcp, seconds):
    words = {'name': program.name, 'address': address(1), 'tcp': tcp(1),
             'opt': f'{program.options} {options}'}
    gids = [gid_index(guest, address(n)) for n, guest in enumerate(guests)]
    server = guests[1].start(program.family.server.format(gid=gids[1], **words), seconds)
    if not wait_for_server(guests[1], program, server):
        return Outcome('the server did not start', '', server.wait().output)
    client = guests[0].start(program.family.client.format(gid=gids[0], **words), seconds)
    end_together([client, server], GRACE if program.family.ends else 0)
    server, client = server.wait(), client.wait()
    output = f'--- client\n{client.output}--- server\n{server.output}'
    try:
        return Outcome('', check_output(program, server, client), output)
    except ValueError as e:
        return Outcome(str(e), '', output)


def run(guests, program, options='', address=links.ipv4, tcp=links.ipv4,
        seconds=SECONDS):
    """Run it with further options between two guests; its Outcome.

    Guest n has the GID of address(n); its address for TCP is tcp(n).
    """
    for _ in range(TRIES):
        outcome = run_once(guests, program, options, address, tcp, seconds)
        if NO_CLOCK not in outcome.output or outcome.reason not in ('', NO_FIGURE):
            break
    return outcome
