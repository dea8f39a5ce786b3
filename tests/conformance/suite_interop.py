# SPDX-License-Identifier: GPL-2.0-or-later
"""The device and soft-RoCE (rdma_rxe over virtio-net) on a network that may lose frames.

guests[0] has the device, guests[1] soft-RoCE, on the kernel in the suite's name.
"""
import itertools
import re
from pathlib import Path

import guest
import links
import programs
import stacks
from relay import Relay
from report import Case
from stacks import Suite
from suite_utilities import CM, FAMILIES, case, mckey, run

HERE = Path(__file__).resolve().parent
ENDS = ('ernic', 'rxe')         # guests[0], guests[1]
KINDS = ('RC', 'UC', 'UD')
MTUS = (256, 512, 1024, 2048, 4096)
PORT = 5002                     # of tests/conformance/inside/peer.py
SECONDS = 1500
LOSS = 0.01
MIB, SHORT_MIB = 128, 8         # by each of SEND, WRITE, READ, in each direction;
BULK = (4096, 'ipv4')           # the former here only
# Requests that soft-RoCE has in one of the two kernels only, and does not send again
# as they were (peer.py: WORDS, DEVIATIONS).
WORDS = {'6.1': (), '6.12': ('atomic_write', 'odd_word')}
# Path MTU, family: of the short form; of the cases with loss.
SHORT = {'6.1': [(1024, 'ipv4'), (4096, 'ipv6')], '6.12': [(1024, 'ipv4')]}
LOSSY_SHORT = [(1024, 'ipv4')]
LOSSY = [(256, 'ipv4'), (1024, 'ipv4'), (1024, 'ipv6'), (4096, 'ipv4'), (4096, 'ipv6')]
# Programs of rdma_cm whose end does not depend on one datagram.
SURE = ('rping', 'ucmatose', 'rstream')
# The counter of retransmissions after a loss.
RXE_COUNTER = (f'/sys/class/infiniband/{links.DEVICE}/ports/1/hw_counters/'
               'completer_retry_err')


class Wire(links.Link):
    """The device in the first guest, virtio-net for rdma_rxe in the second."""

    name = 'interop'

    def __init__(self, rxe_kernel):
        self.rxe_kernel = rxe_kernel

    def options(self, n, folder):
        if n == 0:
            self.relay = Relay(folder)
        model = 'ernic' if n == 0 else 'virtio-net-pci'
        return [*self.relay.options(n), '-device',
                f'{model},id=nic,netdev=wire,mac={links.mac(n)}']

    def close(self):
        self.relay.close()


def start(kernel, rxe_kernel):
    """Start both guests, whose RDMA devices have the same name for the commands."""
    images = [stacks.image(kernel, ()), stacks.image(rxe_kernel, ())]
    guests = guest.Guests(2, Wire(rxe_kernel), images)
    try:
        links.up(guests, stacks.MTU)
        guests[1].check(f'modprobe rdma_rxe && rdma link add {links.DEVICE} type rxe '
                        f'netdev {links.INTERFACE}')
        for one in guests:
            one.put(HERE / 'inside/peer.py', '/tmp/peer.py')
            programs.wait_until(one, 'ibv_devinfo -v | grep -q PORT_ACTIVE')
    except BaseException:
        guests.close()
        raise
    return guests


# ---- every kind of request --------------------------------------------------------

def peer(guests, mtu, family, forms, mib=SHORT_MIB, note=''):
    """Yield the cases of tests/conformance/inside/peer.py; forms: 'RC', 'RC/bulk'."""
    words = [f'{form.split("/")[0]}/{mtu}{form[2:]}' for form in forms]
    loss = '--loss' if guests.link.relay.loss else ''
    commands = [f'python3 /tmp/peer.py {links.DEVICE} '
                f'{programs.gid_index(one, FAMILIES[family](n))} {" ".join(words)} '
                f'--mib {mib} {loss}' for n, one in enumerate(guests)]
    called = guests[1].start(commands[1], SECONDS)
    programs.wait_until(guests[1], f'netstat -ltn | grep -q ":{PORT} "', 60)
    calling = guests[0].start(f'{commands[0]} --at {links.ipv4(1)}', SECONDS)
    for job, name in ((calling, 'ernic'), (called, 'rxe')):
        result = job.wait()
        lines = re.findall(r'^(ok|not ok) (\w+)/\d+\S* (\w+)(.*)', result.output, re.M)
        for good, kind, request, why in lines:
            yield case(f'{note}{kind} {mtu} {family} {request} from {name}', good == 'ok',
                       why)
        words = [request for _, _, request, _ in lines if request in WORDS['6.12']]
        wanted = () if loss and name == 'rxe' else WORDS[guests.link.rxe_kernel]
        if 'RC' in forms and words != [*wanted]:
            yield Case(f'{note}RC {mtu} {family} ATOMIC WRITE from {name}', 'fail',
                       f'There was {words}.')
        wrong = any(good != 'ok' for good, *_ in lines)
        if not lines or result.status != wrong:
            yield Case(f'{note}{" ".join(words)} {family} from {name}', 'fail',
                       f'status {result.status}\n{result.output}')


# ---- programs ---------------------------------------------------------------------

def swapped(address):
    return lambda n: address(1 - n)


def facing(guests, server, *addresses):
    """The guests, the server in the second place, and their addresses."""
    if server == 'rxe':
        return guests, *addresses
    return guests[::-1], *map(swapped, addresses)


def both_ways(guests, rows, note=''):
    """The programs with the server at either end; rows: Program, options, family."""
    for (program, options, family), server in itertools.product(rows, ENDS):
        ends, address, tcp = facing(guests, server, FAMILIES[family], links.ipv4)
        yield run(ends, f'{note}{program.name} {family} to {server}', program, options,
                  address, tcp)


def multicast(guests):
    for listener in ENDS:
        ends, address = facing(guests, listener, links.ipv4)
        yield mckey(ends, f'mckey to {listener}', address)


def program_rows(short):
    # Of the former two perftest would have rdma_rxe's 128 under way; the device has 16.
    # To 16 queue pairs at once rdma_rxe of a busy host may not answer in time.
    options = {'ib_read_bw': '-o 16', 'ib_atomic_bw': '-o 16', 'ibv_srq_pingpong': '-q 4'}
    if short:
        names = ('rping', 'ib_write_bw', 'ib_read_bw', 'ucmatose', 'udaddy')
        return [(programs.BY_NAME[name], options.get(name, ''), 'ipv4') for name in names]
    chosen = [*(one for one in programs.PROGRAMS if one.name != 'rping'), *CM]
    return [(one, options.get(one.name, ''), family)
            for one in chosen for family in FAMILIES]


# ---- loss -------------------------------------------------------------------------

def counters(guests):
    """Frames lost on the way from each guest, and packets that each sent again."""
    statistics = links.qemu(guests[0], 'qom-get', path=links.NIC, property='statistics')
    sent_again = [statistics['retransmits'], int(guests[1].check(f'cat {RXE_COUNTER}'))]
    return [count.lost for count in guests.link.relay.counts], sent_again


def lossy(guests, short):
    """RC: nothing is missing. UC, UD: messages that arrive are whole. And frames were
    lost. In the short form only the cases that move much.
    """
    forms = ['RC/bulk', 'UC/loss', 'UD/loss']
    before = counters(guests)
    guests.link.relay.loss = LOSS
    try:
        for mtu, family in LOSSY_SHORT if short else LOSSY:
            yield from peer(guests, mtu, family, forms if short else ['RC', *forms],
                            MIB if (mtu, family) == BULK else SHORT_MIB, 'loss: ')
        yield from both_ways(guests, [(program, '', 'ipv4') for program in CM
                                      if program.name in SURE and not short], 'loss: ')
    finally:
        guests.link.relay.loss = 0
    after = counters(guests)
    for what, old, new in zip(('lost on the way from', 'sent again by'), before, after):
        for n, name in enumerate(ENDS):
            yield case(f'loss: packets {what} {name}', new[n] > old[n],
                       f'{old[n]} before, {new[n]} after')
    print(f'# packets lost: {after[0]}, sent again: {after[1]}', flush=True)


def cases(guests, short, rxe_kernel):
    rows = SHORT[rxe_kernel] if short else itertools.product(MTUS, FAMILIES)
    for mtu, family in rows:
        yield from peer(guests, mtu, family, KINDS)
    if not short or rxe_kernel == '6.1':
        yield from both_ways(guests, program_rows(short))
        yield from multicast(guests)
    yield from lossy(guests, short)


def suite(rxe_kernel):
    return Suite(f'interop-{rxe_kernel}', 2,
                 lambda guests, short: cases(guests, short, rxe_kernel), rxe=False,
                 start=lambda kernel: start(kernel, rxe_kernel))


SUITES = [suite('6.1'), suite('6.12')]
