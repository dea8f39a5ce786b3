# SPDX-License-Identifier: GPL-2.0-or-later
"""A table of Debian's RDMA programs, and functions that run a pair of them.

One is the server in guests[1], the other the client in guests[0]. Columns of the table
say how success is proved and where the figure stands, so that tests and scripts/demo
agree.
"""
import ipaddress
import re
import time
from pathlib import Path
from typing import NamedTuple

import links
from monitor import GuestError

# The folder of peer.py.
PEER = Path(__file__).parents[1] / 'conformance/inside'
# A number that grows with every message.
SENT = f'{links.PORT}/hw_counters/tx_messages'
SECONDS = 180                   # the host may be busy
# No suite may leave these in the kernel's log. rdma_rxe of 6.12 logs each completion in
# error ("ernic0: qp#17 ..."), which is allowed.
TROUBLE = re.compile(r'.*(?:\bBUG\b|WARNING:|Oops|Call Trace|'
                     r'ernic(?!0: qp#).*(?:bad|error)).*')
# What the driver and the core say of a device that does not answer.
NO_ANSWER = 'no answer, status|Fatal error .* on MAD QP'
GRACE = 30                      # seconds that one end may take longer
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
XSRQ = PINGPONG._replace(figure='(success)', unit='done')
CALL = f'{{name}} -d {links.DEVICE} -x {{gid}} -F {{opt}}'
BANDWIDTH = Family(CALL, CALL + ' {tcp}', LISTENS,
                   r'\n *\d+ +\d+ +[\d.]+ +([\d.]+)\s+[\d.]+ *\n', 'MiB/s')
RATE = BANDWIDTH._replace(figure=r'\n *\d+ +\d+ +[\d.]+ +[\d.]+\s+([\d.]+) *\n',
                          unit='million/s')
LATENCY = BANDWIDTH._replace(figure=r'\n *\d+ +\d+ +[\d.]+ +[\d.]+ +([\d.]+)\s',
                             unit='us')
# The 99th percentile. The deviation before it may be no number, by rounding.
TAIL = LATENCY._replace(
    figure=r'\n *\d+ +\d+(?:[ \t]+(?:[\d.]+|-?nan)){5}[ \t]+([\d.]+)\s')
# rping ends its server without a message, and its exit status means nothing.
RPING = Family('rping -s -a {address} {opt}; true', 'rping -c -a {address} {opt}',
               'rdma resource show cm_id | grep -q LISTEN', '', 'pings verified')
CM = Family('{name} -b {address} {opt}', '{name} -s {address} {opt}', RPING.listens,
            r'return status (0)', 'status')
# This is for the network cards, without RDMA. Its server serves until it is killed.
QPERF = Family('qperf -lp 19765', 'qperf -lp 19765 -uu {opt} {tcp} tcp_bw',
               'netstat -ltn | grep -q ":19765 "', r'bw += +(\d+) bytes/sec', 'bytes/s',
               ends=False)

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
# These have no figure to show.
MORE = [
    Program('ucmatose', CM, '-c 4 -C 100 -S 1000', 'return status 0'),
    Program('udaddy', CM, '-c 4 -C 100 -S 1000', 'return status 0'),
]
BY_NAME = {program.name: program for program in PROGRAMS + MORE}


def trouble(guests, but='^$'):
    """Lines of the kernels' logs except such ones. Of a guest that has ended only the
    console is left; a test may have killed it."""
    found = []
    for one in guests:
        ended = one.process.poll() is not None
        found += ([one.panic()] if ended else TROUBLE.findall(one.check('dmesg')))
    return [line for line in found if line and not re.search(but, line)]


def test_log(guests, but='^$'):
    """The last test of a suite: the kernels complain of nothing, except in such lines."""
    found = trouble(guests, but)
    assert not found, '\n'.join(found[:20])


def check_events(guests, least):
    """Of links.Events: more doorbells than that were events, and the pages that no queue
    uses any more have none."""
    for one in guests:
        log = one.log.read_text(errors='replace')
        assert log.count('ernic_pci_page_rung') > least
        pages = re.findall(r'ernic_pci_page_event nic page (\d+) on ([01])', log)
        given = [page for page, on in pages if on == '1']
        assert len(set(given)) >= 2, pages      # the kernel's, and those of programs
        assert len(given) > sum(on == '0' for _, on in pages) > 0, pages


def gid_of(address):
    """The GID of an IP address, as Linux prints it."""
    ip = ipaddress.ip_address(address)
    ip = ipaddress.ip_address(f'::ffff:{ip}' if ip.version == 4 else ip)
    return ip.packed.hex(':', 2)        # its "exploded" of Python 3.13 has a dotted part


def gid_index(guest, address):
    """The index of the GID of an IP address, which may appear a little later."""
    wanted = gid_of(address)
    for _ in range(20):
        gids = guest.run(f'grep -Hs . {links.PORT}/gids/*').output
        found = re.search(rf'/(\d+):{wanted}$', gids, re.M)
        if found:
            return int(found[1])
        time.sleep(0.2)
    raise ValueError(f'{guest.name} has no GID {wanted}: {gids}')


def own_gid(guest):
    """The index of the GID of its IPv4 address."""
    return gid_index(guest, links.ipv4(int(guest.name[-1]) - 1))


def inside(guest, group, *words, seconds=60, environment=''):
    """The cases of a group of tests/guest/inside/run.py pass, or those with the words."""
    result = guest.run(f'{environment}python3 /tmp/inside/run.py {links.DEVICE} '
                       f'{own_gid(guest)} {group} {" ".join(words)}', seconds)
    assert result.status == 0 and re.search('^ok ', result.output, re.M), result.output
    assert not re.search('^(fail|skip) ', result.output, re.M), result.output


def check_rds(guests):
    """Datagrams of 1 byte to 32 KiB, and their first bytes back."""
    command = 'python3 /tmp/inside/rds.py'
    server = guests[0].start(f'{command} {links.ipv4(0)}', 120)
    guests[0].wait_until('[ -e /tmp/rds.bound ]')
    client = guests[1].run(f'{command} {links.ipv4(1)} {links.ipv4(0)}', 120)
    assert client.output.strip() == '100 echoes', client.output
    assert server.wait().status == 0


def sends(guest, command, seconds, count=1):
    """Start a command, and wait until it has sent so many messages; its job."""
    before = int(guest.check(f'cat {SENT}'))
    job = guest.start(command, seconds)
    guest.wait_until(f'[ $(cat {SENT}) -ge {before + count} ]')
    return job


def serve_file(guest, mib=32):
    """Offer random bytes by HTTP; their MD5 sum."""
    return guest.check('mkdir -p /tmp/www && busybox httpd -p 8080 -h /tmp/www && '
                       f'head -c {mib << 20} /dev/urandom >/tmp/www/file && '
                       'md5sum </tmp/www/file')


def fetch_file(address):
    """The command that loads them, and prints their sum."""
    host = f'[{address}]' if ':' in address else address
    return f'busybox wget -q -O - http://{host}:8080/file | md5sum'


# perftest measures the clock of the processor first, and has no figure, or 0, if other
# load on the host disturbs that. It is run again then.
NO_CLOCK = 'Correlation coefficient r^2'
# With -R it connects twice. A client whose second connection comes before its server
# listens again is rejected (invalid service ID) and crashes. It is run again then.
REJECTED = 'Event: RDMA_CM_EVENT_REJECTED; error: 8.'
TRIES = 3
NO_FIGURE = 'the client shows no figure'


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


def meet(client, server, listens, seconds=SECONDS, grace=GRACE):
    """Run the server, a guest and a command, and the client once listens succeeds there;
    their Results, the client's None if the server did not start."""
    called = server[0].start(server[1], seconds)
    ready = server[0].start(f"timeout 60 sh -c 'until {listens}; do sleep 0.1; done'")
    while not (ready.done() or called.done()):
        time.sleep(0.02)
    if not ready.done() or ready.wait().status:
        called.kill()
        return None, called.wait()
    calling = client[0].start(client[1], seconds)
    end_together([calling, called], grace)
    return calling.wait(), called.wait()


def run_once(guests, program, options, address, tcp, seconds):
    words = {'name': program.name, 'address': address(1), 'tcp': tcp(1),
             'opt': f'{program.options} {options}'}
    family = program.family
    client, server = (
        (guest, command.format(gid=gid_index(guest, address(n)), **words))
        for n, (guest, command) in enumerate(zip(guests, (family.client, family.server))))
    client, server = meet(client, server, family.listens, seconds,
                          GRACE if family.ends else 0)
    if not client:
        return Outcome('the server did not start', '', server.output)
    output = f'--- client\n{client.output}--- server\n{server.output}'
    try:
        return Outcome('', check_output(program, server, client), output)
    except ValueError as e:
        return Outcome(str(e), '', output)


def disturbed(outcome):
    """A slow host, or other load on it, may be all that was wrong."""
    return (NO_CLOCK in outcome.output and outcome.reason in ('', NO_FIGURE)
            or outcome.reason and REJECTED in outcome.output)


def counted(guests):
    """The drops and faults that each device has counted."""
    for one in guests:
        try:
            counters = links.statistics(one)
        except (GuestError, OSError) as e:      # it is no device of ours, or is gone
            yield f'{one.name}: {e}'
            continue
        groups = {'': counters} | {name: part for name, part in counters.items()
                                   if isinstance(part, dict)}
        for name, part in groups.items():
            for kind in 'drops', 'faults':
                seen = {key: value for key, value in part.get(kind, {}).items() if value}
                if seen:
                    yield f'{one.name}: {name} {kind}: {seen}'


def run(guests, program, options='', address=links.ipv4, tcp=links.ipv4,
        seconds=SECONDS):
    """Run it with further options between two guests; its Outcome.

    Guest n has the GID of address(n); its address for TCP is tcp(n).
    """
    for _ in range(TRIES):
        outcome = run_once(guests, program, options, address, tcp, seconds)
        if not disturbed(outcome):
            break
    if outcome.reason:
        said = '\n'.join(counted(guests))
        outcome = outcome._replace(output=f'{outcome.output}\n--- devices\n{said}\n')
    return outcome


def good(outcome, name=''):
    """The outcome is one; its figure is printed."""
    assert not outcome.reason, f'{outcome.reason}\n{outcome.output}'
    print(f'# {name} {outcome.figure}', flush=True)
    return outcome


def check(guests, program, options='', address=links.ipv4):
    """Run a program, or that of BY_NAME, which has to work; its Outcome."""
    program = BY_NAME.get(program, program)
    return good(run(guests, program, options, address),
                f'{program.name} {program.options} {options}:')
