# SPDX-License-Identifier: GPL-2.0-or-later
"""The device and another one on a network that may lose frames.

guests[0] has the device: the verbs interface, or the mlx5 interface in a stock guest.
guests[1] has soft-RoCE (rdma_rxe over virtio-net) on the kernel in the suite's name, or
in `interop-verbs` the verbs interface.
"""
import itertools
import re

import guest
import links
import mlx5
import programs
import stacks
import stock
from relay import Relayed
from report import Case, case
from stacks import Suite
from suite_utilities import CM, FAMILIES, mckey, run

KINDS = ('RC', 'UC', 'UD')
MTUS = (256, 512, 1024, 2048, 4096)
PORT = 5002                     # of tests/conformance/inside/peer.py
SECONDS = 1500
LOSS = 0.01
# MiB by each of SEND, WRITE, READ, in each direction; the first here only.
MIB, SHORT_MIB, SHORT_LOSSY_MIB = 128, 8, 1
BULK = (4096, 'ipv4')
# Requests of RC that not every pair of devices has (peer.py: can()). soft-RoCE has
# ATOMIC WRITE in one of the two kernels only, and does not send it again as it was. The
# mlx5 interface has no ATOMIC WRITE.
WORDS = ('atomic_write', 'odd_word')
WITHOUT = {'mlx5': WORDS, 'rxe-6.1': WORDS}
LOSES = {'rxe-6.12': WORDS}
SOME = (*WORDS, 'send_inv')
# Path MTU, family: of the short form; of the cases with loss.
SHORT = {'ernic': [(4096, 'ipv6')], 'mlx5': [(4096, 'ipv4')]}
LOSSY_SHORT = [(1024, 'ipv4')]
LOSSY = [(256, 'ipv4'), (1024, 'ipv4'), (1024, 'ipv6'), (4096, 'ipv4'), (4096, 'ipv6')]
# Programs of rdma_cm whose end does not depend on one datagram.
SURE = ('rping', 'ucmatose', 'rstream')
# The counter of retransmissions after a loss.
RXE_COUNTER = f'{links.PORT}/hw_counters/completer_retry_err'


class Wire(Relayed):
    """names: of the devices in the two guests."""

    name = 'interop'

    def __init__(self, names):
        self.names = names

    def options(self, n, folder):
        kind, more = {'mlx5': (mlx5.Netdev, ',retry-time=1000'),
                      'ernic': (links.Netdev, ',retry-time=1000')}.get(
                          self.names[n], (links.SoftRoce, ''))
        return [*self.wire(n, folder), *kind.words, '-device',
                f'{kind.device},id=nic,netdev=wire,mac={links.mac(n)}{more}']


def image(name):
    if name == 'mlx5':
        return stock.find_image('6.1', (*stock.PACKAGES, 'python3-pyverbs'))
    return stacks.image(name.partition('-')[2] or '6.1', ())


def start(names):
    """Start both guests, whose RDMA devices have the same name for the commands."""
    def up(guests):
        if names[0] == 'mlx5':
            mlx5.prepare(guests[:1])
        links.up(guests, stacks.MTU)
        if names[1] != 'ernic':
            guests[1].check(links.ADD_SOFT_ROCE)
        for one in guests:
            one.put_programs(programs.PEER)
            one.wait_until('ibv_devinfo -v | grep -q PORT_ACTIVE')

    return guest.Guests(2, Wire(names), [image(name) for name in names],
                        kinds=[stock.StockGuest if name == 'mlx5' else guest.Guest
                               for name in names], up=up)


def end_names(guests):
    """For the names of cases: ernic, mlx5 or rxe."""
    return [name.partition('-')[0] for name in guests.link.names]


# ---- every kind of request --------------------------------------------------------

def wanted(names, n, loss):
    """The requests of SOME that end n sends to the other one."""
    other = names[1 - n]
    return {request for request in SOME
            if not (request in WORDS and request in WITHOUT.get(names[n], ()))
            and request not in WITHOUT.get(other, ())
            and not (loss and request in LOSES.get(names[n], ()))}


def peer(guests, mtu, family, forms, mib=SHORT_MIB, note=''):
    """Yield the cases of tests/conformance/inside/peer.py; forms: 'RC', 'RC/bulk'."""
    words = [f'{form.split("/")[0]}/{mtu}{form[2:]}' for form in forms]
    loss = '--loss' if guests.link.relay.loss else ''
    commands = [f'python3 /tmp/inside/peer.py {links.DEVICE} '
                f'{programs.gid_index(one, FAMILIES[family](n))} {" ".join(words)} '
                f'--mib {mib} {loss}' for n, one in enumerate(guests)]
    called = guests[1].start(commands[1], SECONDS)
    guests[1].wait_until(f'netstat -ltn | grep -q ":{PORT} "', 200)
    calling = guests[0].start(f'{commands[0]} --at {links.ipv4(1)}', SECONDS)
    for n, (job, name) in enumerate(zip((calling, called), end_names(guests))):
        result = job.wait()
        lines = re.findall(r'^(ok|not ok) (\w+)/\d+\S* (\w+)(.*)', result.output, re.M)
        for good, kind, request, why in lines:
            yield case(f'{note}{kind} {mtu} {family} {request} from {name}', good == 'ok',
                       why)
        some = {request for _, _, request, _ in lines if request in SOME}
        if 'RC' in forms and some != wanted(guests.link.names, n, loss):
            yield Case(f'{note}RC {mtu} {family} requests from {name}', 'fail',
                       f'There was {some}.')
        wrong = any(good != 'ok' for good, *_ in lines)
        if not lines or result.status != wrong:
            yield Case(f'{note}{" ".join(words)} {family} from {name}', 'fail',
                       f'status {result.status}\n{result.output}')


# ---- programs ---------------------------------------------------------------------

def swapped(address):
    return lambda n: address(1 - n)


def facing(guests, server, *addresses):
    """The guests, the server in the second place, and their addresses."""
    if server == 1:
        return guests, *addresses
    return guests[::-1], *map(swapped, addresses)


def both_ways(guests, rows, note=''):
    """The programs with the server at either end; rows: Program, options, family."""
    for (program, options, family), (server, name) in itertools.product(
            rows, enumerate(end_names(guests))):
        ends, address, tcp = facing(guests, server, FAMILIES[family], links.ipv4)
        yield run(ends, f'{note}{program.name} {family} to {name}', program, options,
                  address, tcp)


def multicast(guests):
    for listener, name in enumerate(end_names(guests)):
        ends, address = facing(guests, listener, links.ipv4)
        yield mckey(ends, f'mckey to {name}', address)


def program_rows(short):
    # Of the former two perftest would have rdma_rxe's 128 under way; the device has 16.
    # To 16 queue pairs at once rdma_rxe of a busy host may not answer in time.
    options = {'ib_read_bw': '-o 16', 'ib_atomic_bw': '-o 16', 'ibv_srq_pingpong': '-q 4'}
    if short:
        names = ('rping', 'ib_write_bw', 'ib_read_bw', 'ucmatose', 'udaddy')
        few = {'ib_write_bw': ' -n 200', 'ib_read_bw': ' -n 200'}
        return [(programs.BY_NAME[name], options.get(name, '') + few.get(name, ''),
                 'ipv4') for name in names]
    chosen = [*(one for one in programs.PROGRAMS if one.name != 'rping'), *CM]
    return [(one, options.get(one.name, ''), family)
            for one in chosen for family in FAMILIES]


# ---- loss -------------------------------------------------------------------------

def sent_again(one, name):
    """The packets that the guest with a device of that name sent again."""
    if name == 'rxe':
        return int(one.check(f'cat {RXE_COUNTER}'))
    return links.statistics(one)['retransmits']


def counters(guests):
    """Frames lost on the way from each guest, and packets that each sent again."""
    return (list(guests.link.relay.lost),
            [sent_again(*end) for end in zip(guests, end_names(guests))])


def lossy(guests, short):
    """RC: nothing is missing. UC, UD: messages that arrive are whole. And frames were
    lost. In the short form only the cases that move much.
    """
    forms = ['RC/bulk', 'UC/loss', 'UD/loss']
    before = counters(guests)
    guests.link.relay.loss = LOSS
    try:
        for mtu, family in LOSSY_SHORT if short else LOSSY:
            mib = (SHORT_LOSSY_MIB if short else MIB if (mtu, family) == BULK else
                   SHORT_MIB)
            yield from peer(guests, mtu, family, forms if short else ['RC', *forms], mib,
                            'loss: ')
        yield from both_ways(guests, [(program, '', 'ipv4') for program in CM
                                      if program.name in SURE and not short], 'loss: ')
    finally:
        guests.link.relay.loss = 0
    after = counters(guests)
    for what, old, new in zip(('lost on the way from', 'sent again by'), before, after):
        for n, name in enumerate(end_names(guests)):
            yield case(f'loss: packets {what} {name}', new[n] > old[n],
                       f'{old[n]} before, {new[n]} after')
    print(f'# packets lost: {after[0]}, sent again: {after[1]}', flush=True)


def cases(guests, short):
    names = guests.link.names
    rows = SHORT[names[0]] if short else itertools.product(MTUS, FAMILIES)
    for mtu, family in rows:
        yield from peer(guests, mtu, family, KINDS)
    if not short or names[0] == 'ernic':
        yield from both_ways(guests, program_rows(short))
        yield from multicast(guests)
        yield from lossy(guests, short)


def suite(name, other, devices, short):
    return Suite(f'interop-{name}', 2, cases, devices=devices, short=short,
                 start=lambda stack: start((stack, other)))


SUITES = [suite('6.1', 'rxe-6.1', ('ernic', 'mlx5'), ('ernic', 'mlx5')),
          suite('6.12', 'rxe-6.12', ('ernic', 'mlx5'), ()),
          suite('verbs', 'ernic', ('mlx5',), ())]
