# SPDX-License-Identifier: GPL-2.0-or-later
"""The ERNIC interface in guests: its program, alone and against queue pairs of verbs.

The short form has each pair of card, operation, shape, place of memory and way to poll;
the long form has the combinations of three.
"""
import ernic
import links
import programs
from ernic import OPERATIONS, SHAPES
from suite import Suite, name_of, named, ours

KERNEL = '6.1'
# The ends with queues and data in the card's memory: client, server.
MEMORIES = {'host': ('', ''), 'card': ('--memory card', '--memory card'),
            'card_to_host': ('--memory card', ''),
            'host_to_card': ('', '--memory card'),
            'queues_on_card': ('--queues card', '--queues card'),
            'data_on_card': ('--data card', '--data card')}


def suites():
    """With one kernel, of which the device is independent."""
    udp = ernic.Udp(tuple(ernic.CARDS))
    netdev = ernic.Netdev(('3.1', '4.2', 'reconic'))
    product = [
        *matrix(udp, '3.1', SHAPES), *matrix(udp, 'reconic', SHAPES),
        *(test for card in ('4.0', '4.2', 'reconic-4.0', 'reconic-4.2')
          for test in matrix(udp, card, ['batch'])),
        *(row(udp, card, what, 'odd', memory) for card, memories in (
            ('3.1', list(MEMORIES)[1:]), ('reconic', ['card']), ('4.2', ['card']))
          for memory in memories for what in OPERATIONS),
        *(row(udp, '3.1', what, 'batch', 'host', 'memory') for what in OPERATIONS)]
    short = [*pairs(udp), *streams(udp)]
    names = set(map(name_of, short))
    product = [test for test in product if name_of(test) not in names]
    return [
        between(udp, [*short, *verbs(), *rules(), *product],
                ' '.join(map(name_of, product)), 'the pairs of the same suite'),
        between(netdev, [
            *matrix(netdev, '3.1', SHAPES), *matrix(netdev, '4.2', ['batch']),
            *matrix(netdev, 'reconic', ['batch']), *verbs(), *streams(netdev)],
            '*', 'ernic-udp-6.1 has the registers, netdev-6.1 the link'),
        between(ernic.SoftRoce(['3.1']), [test_rxe, *verbs()], '*',
                'ernic-udp-6.1 has the registers, interop-6.1-ernic soft-RoCE')]


def between(link, tests, *long):
    return Suite(f'ernic-{link.name}-{KERNEL}', ours(2, link, KERNEL),
                 [test_up, *tests, programs.test_log], *long)


def test_up(guests):
    ernic.up(guests)


def test_rxe(guests):
    ernic.soft_roce(guests[1])


def row(link, card, what, shape, memory='host', poll='registers'):
    """Polling memory, where doorbells are written, gives the same as the registers."""
    words = f' --card {link.index(card)}' + ' --poll memory' * (poll == 'memory')
    client, server = MEMORIES[memory]
    return named(f'{card}_{what}_{shape}_{memory}_{poll}', ernic.check, what,
                 f'{SHAPES[shape]} {client}{words}', f'{server}{words}')


def matrix(link, card, shapes):
    return [row(link, card, what, shape) for shape in shapes for what in OPERATIONS]


def run_stream(guests, options):
    ernic.stream(guests[0], options)


def streams(link):
    """Frames through the QDMA of RecoNIC's shell, over two queues, and back."""
    card = f'--card {link.index("reconic")}'
    return [named(f'stream_{size}', run_stream, f'--count {count} --size {size} {card}')
            for size, count in ((60, 1000), (300, 100000), (4096, 5000))]


def pairs(link):
    """Every operation on every card; the other choices take turns."""
    def turn(card, what, memory):
        return row(link, list(ernic.CARDS)[card], OPERATIONS[what],
                   list(SHAPES)[(card + what) % len(SHAPES)],
                   list(MEMORIES)[memory % len(MEMORIES)],
                   ('registers', 'memory')[(card // 3 + what) % 2])

    return [*(turn(card, what, card - what) for card in range(len(ernic.CARDS))
              for what in range(len(OPERATIONS))),
            *(turn(0, memory % 3, memory) for memory in (1, 2, 3)),
            *(turn(card, card % 3, 0) for card in (3, 4, 5))]


def run_to_verbs(guests, what):
    programs.good(ernic.run_to_verbs(guests, what, SHAPES['odd']))


def run_from_verbs(guests, what):
    programs.good(ernic.run_from_verbs(guests, what, '20 5003'))


def verbs():
    """A queue pair of libibverbs in guests[1], as server and as client."""
    return [named(f'{what}_{way}_verbs', function, what)
            for way, function in (('to', run_to_verbs), ('from', run_from_verbs))
            for what in OPERATIONS]


def broken(one_guest):
    """How often each of PG332's rules was broken."""
    rules = links.qemu(one_guest, 'qom-get', path=links.NIC, property='ernic-violations')
    return {name: row['count'] for name, row in rules.items()}


def rules_of(guests, what, shape, client, server):
    """The rules that its two ends break, and no others."""
    before = [broken(one_guest) for one_guest in guests]
    ernic.check(guests, what, SHAPES[shape])
    for was, one_guest, expected in zip(before, guests, (client, server)):
        seen = {name for name, count in broken(one_guest).items() if count > was[name]}
        # As RecoNIC does: counts that are not 0 are not written again.
        seen -= {'retry-counts'}
        assert seen == {'qp1-first', *expected}, (one_guest.name, seen)


def rules():
    """Lengths and addresses that are no multiple of 64 bytes, which hardware refuses."""
    return [named(f'rules_{what}_{shape}', rules_of, what, shape, client, server)
            for what, shape, client, server in (
                ('send', 'odd', (), ()),
                ('write', 'batch', (), ()),
                ('write', 'odd', (), ('peer-write-length', 'peer-alignment')),
                ('read', 'single', (), ()),
                ('read', 'odd', ('wqe-read-length',), ('peer-alignment',)))]
