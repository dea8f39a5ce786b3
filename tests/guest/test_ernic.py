# SPDX-License-Identifier: GPL-2.0-or-later
"""The ERNIC face in guests: its program, alone and against queue pairs of verbs."""

import ernic
import links
from ernic import OPERATIONS, SHAPES
from suite import Suite, named, ours

KERNEL = '6.1'
# The ends with queues and data in the card's memory: client, server.
MEMORIES = {'card': ('--memory card', '--memory card'),
            'card_to_host': ('--memory card', ''),
            'host_to_card': ('', '--memory card'),
            'queues_on_card': ('--queues card', '--queues card'),
            'data_on_card': ('--data card', '--data card')}


def suites():
    """With one kernel, of which the device is independent."""
    udp = ernic.Udp(('3.1', '4.0', '4.2', 'reconic', 'reconic-4.0', 'reconic-4.2'))
    netdev = ernic.Netdev(('3.1', '4.2', 'reconic'))
    return [
        between(udp, [
            *matrix(udp, '3.1', SHAPES), *memories(udp, '3.1', MEMORIES),
            *polls(udp, '3.1'),
            *matrix(udp, 'reconic', SHAPES), *memories(udp, 'reconic', ['card']),
            *(test for card in ('4.0', '4.2', 'reconic-4.0', 'reconic-4.2')
              for test in matrix(udp, card, ['batch'])),
            *memories(udp, '4.2', ['card']), *verbs(), *rules()]),
        between(netdev, [
            *matrix(netdev, '3.1', SHAPES), *matrix(netdev, '4.2', ['batch']),
            *matrix(netdev, 'reconic', ['batch']), *verbs()]),
        between(ernic.SoftRoce(['3.1']), [test_rxe, *verbs()])]


def between(link, tests):
    return Suite(f'ernic-{link.name}-{KERNEL}', ours(2, link, KERNEL),
                 [test_up, *tests])


def test_up(guests):
    ernic.up(guests)


def test_rxe(guests):
    ernic.soft_roce(guests[1])


def check(outcome):
    assert not outcome.reason, f'{outcome.reason}\n{outcome.output}'
    print(f'# {outcome.figure}', flush=True)


def run_one(guests, what, options, server):
    check(ernic.run(guests, what, options, server))


def one(link, card, name, what, options, server=''):
    number = f' --card {link.index(card)}'
    return named(f'{card}_{what}_{name}', run_one, what, options + number,
                 server + number)


def matrix(link, card, shapes):
    return [one(link, card, shape, what, SHAPES[shape])
            for shape in shapes for what in OPERATIONS]


def memories(link, card, names):
    return [one(link, card, name, what, f'{SHAPES["odd"]} {MEMORIES[name][0]}',
                MEMORIES[name][1])
            for name in names for what in OPERATIONS]


def polls(link, card):
    """Doorbells in memory give the same indices as the registers."""
    return [one(link, card, 'poll_memory', what, f'{SHAPES["batch"]} --poll memory',
                '--poll memory') for what in OPERATIONS]


def run_to_verbs(guests, what):
    check(ernic.run_to_verbs(guests, what, SHAPES['odd']))


def run_from_verbs(guests, what):
    check(ernic.run_from_verbs(guests, what, '20 5003'))


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
    run_one(guests, what, SHAPES[shape], '')
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
