# SPDX-License-Identifier: GPL-2.0-or-later
"""perftest and qperf of Debian: verbs, transports, path MTUs, addresses, ways to wait.

perftest is a suite for each of its verbs, so that each takes minutes.
"""
import functools
import itertools

import links
import programs
from programs import Program
from report import case
from stacks import STACKS, Suite
from suite_utilities import FAMILIES, run

KINDS = ('send', 'write', 'read', 'atomic')
MTUS = (256, 512, 1024, 2048, 4096)
WAITS = {'poll': '', 'events': '-e'}
# Verb and figure: the program's options, transports, and whatever else may vary. send_lat
# with -e reads a completion after each event without checking that there was one: it
# fails if arming the queue makes an event for a completion that is already there.
MATRIX = {
    'send_bw': ('-s 4096 -n 200', ('RC', 'UC', 'UD', 'XRC'), WAITS),
    'send_lat': ('-s 64 -n 200', ('RC', 'UC', 'UD', 'XRC'), WAITS),
    'write_bw': ('-s 65536 -n 100', ('RC', 'UC', 'XRC'), ('poll',)),
    'write_lat': ('-s 64 -n 200', ('RC', 'UC', 'XRC'), ('poll',)),
    'read_bw': ('-s 65536 -n 100 -o 16', ('RC', 'XRC'), WAITS),
    'read_lat': ('-s 64 -n 200 -o 16', ('RC', 'XRC'), WAITS),
    'atomic_bw': ('-n 200 -o 16', ('RC', 'XRC'), WAITS),
    'atomic_lat': ('-n 200 -o 16', ('RC', 'XRC'), WAITS),
}
# The same of a newer perftest, which has immediate data.
IMMEDIATE = {
    'write_bw': ('--write_with_imm -s 65536 -n 100', ('RC', 'UC', 'XRC'), ('poll',)),
    'write_lat': ('--write_with_imm -s 64 -n 200', ('RC', 'UC', 'XRC'), ('poll',)),
}
# In addition to the matrix, at a path MTU of 1024 and IPv4.
MORE = [
    ('send_bw', 'RC inline', '-s 32 -I 64 -n 200'),
    ('send_lat', 'RC inline', '-s 32 -I 64 -n 200'),
    ('send_bw', 'UD inline', '-c UD -s 32 -I 64 -n 200'),
    ('write_bw', 'RC inline', '-s 32 -I 64 -n 200'),
    ('write_lat', 'RC inline', '-s 32 -I 64 -n 200'),
    ('write_bw', 'UC inline', '-c UC -s 32 -I 64 -n 200'),
    ('send_bw', 'RC both ways', '-b -n 200'),
    ('write_bw', 'RC both ways', '-b -n 200'),
    ('read_bw', 'RC both ways', '-b -o 16 -n 200'),
    ('send_bw', 'RC 8 queue pairs', '-q 8 -n 100'),
    ('write_bw', 'RC 8 queue pairs', '-q 8 -n 100'),
    ('read_bw', 'RC 8 queue pairs', '-q 8 -o 16 -n 100'),
    ('write_bw', 'UC 8 queue pairs', '-c UC -q 8 -n 100'),
    ('send_bw', 'RC shared receive queue', '--use-srq -q 4 -n 100'),
    ('send_bw', 'RC all sizes', '-a -n 5'),
    ('write_bw', 'RC all sizes', '-a -n 5'),
    ('read_bw', 'RC all sizes', '-a -o 16 -n 5'),
    ('atomic_bw', 'RC compare and swap', '-A CMP_AND_SWAP -o 16 -n 200'),
    ('send_bw', 'RC by rdma_cm', '-R -n 200'),
    ('write_bw', 'RC by rdma_cm', '-R -n 200'),
    ('read_bw', 'RC by rdma_cm', '-R -o 16 -n 200'),
]


def program(verb, options):
    family = programs.LATENCY if verb.endswith('lat') else programs.BANDWIDTH
    if verb == 'atomic_bw':
        family = programs.RATE
    if '-R' in options:
        family = family._replace(listens=programs.RPING.listens)
    return Program(f'ib_{verb}', family, options)


def matrix(table, short):
    """Yield verb, name, options, family of addresses of a table like MATRIX.

    The short form has each verb and transport once, with the rest in turn.
    """
    turn = itertools.count()
    for verb, (options, transports, waits) in table.items():
        for transport in transports:
            rows = list(itertools.product(MTUS, FAMILIES, waits))
            if short:
                rows = [rows[7 * next(turn) % len(rows)]]
            for mtu, family, wait in rows:
                size = f'-s {mtu} ' if (verb, transport) == ('send_bw', 'UD') else ''
                yield (verb, f'{transport} {mtu} {family} {wait}',
                       f'{options} {size}-c {transport} -m {mtu} {WAITS[wait]}', family)


def cross(table, guests, short):
    for verb, name, options, family in matrix(table, short):
        yield run(guests, f'{verb} {name}', program(verb, options),
                  address=FAMILIES[family])


def perftest(kind, guests, short):
    yield from cross({verb: row for verb, row in MATRIX.items()
                      if verb.startswith(kind)}, guests, short)
    for verb, name, options in MORE:
        # All sizes take long; the short form has those of WRITE.
        if verb.startswith(kind) and not (short and '-a ' in options and kind != 'write'):
            yield run(guests, f'{verb} {name}', program(verb, f'{options} -m 1024'))


# Its tests that can use rdma_cm: without, it knows no GIDs. Some check data or values.
QPERF = ('rc_bw', 'rc_bi_bw', 'rc_lat', 'rc_rdma_read_bw', 'rc_rdma_read_lat',
         'rc_rdma_write_bw', 'rc_rdma_write_lat', 'rc_rdma_write_poll_lat',
         'rc_compare_swap_mr', 'rc_fetch_add_mr', 'ver_rc_compare_swap',
         'ver_rc_fetch_add')


def qperf(guests, _):
    server = guests[1].start('qperf -lp 19765', 600)
    guests[1].wait_until('netstat -ltn | grep -q ":19765 "')
    for test in QPERF:
        # Its server says its port before it calls rdma_listen: a request that comes
        # between is rejected (invalid service ID).
        for _ in range(5):
            result = guests[0].run(f'qperf -lp 19765 -cm1 -t 1 -m 1024 {links.ipv4(1)} '
                                   f'{test}', 30)
            if 'Event rejected' not in result.output:
                break
        yield case(test, result.status == 0 and ' = ' in result.output, result.output)
    guests[1].run('killall qperf')
    server.wait()


def over_udp(guests, _):
    """The short forms of all kinds."""
    for kind in KINDS:
        yield from perftest(kind, guests, True)


SUITES = [*(Suite(f'perftest-{kind}', 2, functools.partial(perftest, kind),
                  about=('perftest',), devices=STACKS) for kind in KINDS),
          Suite('perftest-udp', 2, over_udp, about=('perftest',),
                devices=('mlx5',), short=(), link='udp'),
          # interop-6.1 has WRITE with immediate data.
          Suite('perftest-immediate', 2, functools.partial(cross, IMMEDIATE),
                about=('perftest',), devices=STACKS, short=(), release='trixie',
                kernel='6.12'),
          Suite('qperf', 2, qperf, ('qperf',), about=('qperf',), devices=STACKS,
                short=()),
          Suite('qperf-udp', 2, qperf, about=('qperf',), devices=('mlx5',), short=(),
                link='udp')]
