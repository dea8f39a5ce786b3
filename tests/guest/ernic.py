# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests with the ERNIC interface, and the program that drives it (guest/ernic-user)."""
import functools
import re
from typing import NamedTuple

import links
import programs

PORT = 5003                     # of ernic-user and its peers
SECONDS = 60
PAGES = 8                       # of 2 MiB; ernic-user takes three
FIGURE = re.compile(r'[\d.]+ us each, [\d.]+ MB/s, verified')
OPERATIONS = ('send', 'write', 'read')
# Requests one at a time, and in batches that wrap round the queue.
SHAPES = {'single': '--count 16 --size 4096',
          'batch': '--count 200 --batch 63 --size 16384',
          'odd': '--count 20 --batch 7 --size 5003'}
LISTENS = f'netstat -ltn | grep -q ":{PORT} "'


class Card(NamedTuple):
    """A function with the interface: its properties for QEMU."""

    name: str
    properties: str


# In the order of their slots, which ernic-user counts.
CARDS = {card.name: card for card in (
    Card('3.1', 'ernic-version=3.1,card-memory=16M,ernic-strict=report'),
    Card('4.0', 'ernic-version=4.0,card-memory=16M'),
    Card('4.2', 'ernic-version=4.2,card-memory=16M'),
    Card('reconic', 'shell=reconic,card-memory=16M'),
    Card('reconic-4.0', 'shell=reconic,ernic-version=4.0,card-memory=16M'),
    Card('reconic-4.2', 'shell=reconic,ernic-version=4.2,card-memory=16M'))}


class Cards(links.Link):
    """Several functions in each guest, each connected to its counterpart.

    The first is the guest's network card as well, its id "nic"; the others are nic1, ...
    """

    cold = 'ernic-user finds its functions by their slots'

    def __init__(self, cards=('3.1', 'reconic')):
        self.cards = cards

    def options(self, n, folder):
        words = [*self.network(n, folder)]
        for i, card in enumerate(self.cards):
            network = '' if i else f'{self.netdev},mac={links.mac(n)}'
            before, roce = self.roce(i, n, folder)
            words += [*before, '-device', f'ernic,id=nic{i or ""},'
                      f'{CARDS[card].properties}{network}{roce}']
        return words

    netdev = ',netdev=wire'

    def network(self, n, folder):
        return links.wire(n, folder)

    def index(self, card):
        """For ernic-user --card."""
        return self.cards.index(card)


class Netdev(Cards):
    name = 'netdev'

    def roce(self, i, n, folder):
        """Words for QEMU, and properties of function i of guest n."""
        if i == 0:
            return [], ''
        return links.wire(n, folder, f'roce{i}.'), f',netdev=roce{i}.'


class Lab(Cards):
    """A lab for each function and its counterpart, because all have the same address."""

    name = 'lab'
    netdev = ''

    def network(self, _n, _folder):
        return ()

    def roce(self, i, _n, folder):
        return [], f',lab={folder / f"lab{i}"}'


class Udp(Cards):
    name = 'udp'

    def roce(self, _i, _n, _folder):
        return [], ',roce-udp=127.0.0.1:0'

    def join(self, guests):
        paths = [links.NIC + str(i or '') for i in range(len(self.cards))]
        for path in paths:
            ports = [links.qemu(one, 'qom-get', path=path, property='roce-port')
                     for one in guests]
            for one in guests:
                for n, port in enumerate(ports):
                    links.qemu(one, 'qom-set', path=path, property='add-peer',
                               value=f'{links.ipv4(n)}=127.0.0.1:{port}')


class SoftRoce(Netdev):
    """The device in the first guest, virtio-net for rdma_rxe in the second."""

    name = 'rxe'

    def options(self, n, folder):
        if n:
            return links.SoftRoce().options(n, folder)
        return super().options(n, folder)


def up(guests):
    """Addresses, huge pages, and the peer by libibverbs."""
    links.up(guests, 9000)
    for one in guests:
        one.check(f'echo {PAGES} >/proc/sys/vm/nr_hugepages')
        one.put_programs()


def soft_roce(one):
    one.check(links.ADD_SOFT_ROCE)


def between(client, server):
    """Run server and client (guest, command); the Outcome, like programs.run()."""
    client, server = programs.meet(client, server, LISTENS, SECONDS)
    if not client:
        return programs.Outcome('the server did not start', '', server.output)
    output = f'--- client\n{client.output}--- server\n{server.output}'
    figure = FIGURE.search(client.output)
    if client.status or server.status or not figure:
        return programs.Outcome(f'status {client.status} and {server.status}', '', output)
    return programs.Outcome('', figure[0], output)


def run(guests, what, options='', server=''):
    """ernic-user in guests[0], its peer in guests[1], each with further options."""
    return between((guests[0], f'ernic-user {what} {links.ipv4(1)} {options}'),
                   (guests[1], f'ernic-user serve {server}'))


def check(guests, what, options='', server=''):
    """That works."""
    programs.good(run(guests, what, options, server))


def stream(one, options):
    """Frames through the QDMA of one function and back; the figures."""
    output = one.check(f'ernic-user stream {options}', 2 * SECONDS)
    return FIGURE.search(output)[0]


def verbs(one, what='serve', options=''):
    """The command for a queue pair of libibverbs in that guest."""
    return (f'python3 /tmp/inside/ernic_peer.py {links.DEVICE} '
            f'{programs.own_gid(one)} {what} {options}')


def run_to_verbs(guests, what, options='', card=''):
    return between((guests[0], f'ernic-user {what} {links.ipv4(1)} {options} {card}'),
                   (guests[1], verbs(guests[1])))


def run_from_verbs(guests, what, options='', card=''):
    """guests[1] asks guests[0]."""
    return between((guests[1], verbs(guests[1], what, f'{links.ipv4(0)} {options}')),
                   (guests[0], f'ernic-user serve {card}'))


def shown(guests):
    """Yield (name, function that runs it) for scripts/demo."""
    reconic = f' --card {guests.link.index("reconic")}'
    for what in OPERATIONS:
        for name, options, server in (
                (what, SHAPES['single'], ''), (f'{what} batch', SHAPES['batch'], ''),
                (f'reconic {what}', SHAPES['batch'] + reconic, reconic)):
            yield name, functools.partial(run, guests, what, options, server)
        yield f'{what} to verbs', functools.partial(run_to_verbs, guests, what,
                                                    SHAPES['batch'])
        yield f'{what} from verbs', functools.partial(run_from_verbs, guests, what,
                                                      '200 16384')
