# SPDX-License-Identifier: GPL-2.0-or-later
"""Two cards with a shell: guest/linux/shell drives each as a network card, and ernic-user
their ERNICs at the same time."""
import contextlib
import re
import time

import ernic
import guest
import links
import modules
import programs
import test_net
import test_suspend
from suite import LONG, Suite, ours, slow
from test_net import up

MODULE = 'ernic_shell'
DRIVER = f'/sys/bus/pci/drivers/{MODULE}'
NODE = '/dev/ernic-shell-*'
# What the driver logs of a descriptor whose buffer is nowhere, by shell.
FAILED = {'RecoNIC': 'descriptor error: 254 is', 'xib': 'MM2S error: 040'}
ALWAYS = '--count 16000000 --size 4096'         # longer than a test
TURNS = 13 if LONG else 2       # of 5 MiB each way: 65 MiB
PACKETS = 100                                   # more than a connection takes
SECOND = 'eth1'                                 # the interface of the second port
SECOND_ONLY = 'shell-6.1 has what is common; a second port is slow to start'
FLOWS = 64
HALTED = 'error: [14]00'         # of a channel of the AXI DMA
TRAFFIC_SECONDS = 300           # with what happens meanwhile; the host may be busy
# The key of the hash, so that the queues are the same in each run.
KEY = ':'.join(f'{i * 37 % 256:02x}' for i in range(1, 41))
SEND = f"""import socket
for port in range(5000, 5000 + {FLOWS}):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(('', port))
        one.sendto(b'to a queue', ('{{}}', 9))
"""


# Name of a shell in ethtool, and the card's properties for QEMU.
SHELLS = {'RecoNIC': 'shell=reconic,card-memory=16M,ernic-strict=report',
          'OpenNIC': 'shell=opennic,ernic-strict=report',
          'xib': 'shell=xib,ernic-strict=report'}


class Zeroing(guest.Guest):
    """Its kernel clears memory that is freed: what is used afterwards shows."""

    words = 'init_on_free=1 '


class Cards(links.Link):
    """Before another link: a card with a shell in each guest, of two processors, so that
    interrupts, polls and what ends them run at once."""

    words = ('-smp', '2')
    cold = ''
    vectors = {'ernic_shell-tx'}                # of the xib shell

    def __init__(self, *shells):
        self.shells = shells

    def options(self, n, folder):
        self.device = f'ernic,{SHELLS[self.shells[n]]}'
        return super().options(n, folder)


class Lab(Cards, links.Lab):
    """Two cards in memory that the machines share."""


class Netdev(Cards, links.Netdev):
    """Two cards at a netdev."""


class Ports(Netdev):
    """Two ports in each guest, eth0 and eth1: two cards, and two functions of one."""

    cold = 'the functions of a slot are there from the start'

    def options(self, n, folder):
        shell = SHELLS[self.shells[n]]
        second = f'ernic,{shell},addr=5.0'
        if self.shells[n] == 'OpenNIC':
            second = 'ernic,port-of=nic,addr=4.1'
        return [*self.words, *links.wire(n, folder),
                *links.wire(n, folder, 'wire1.'), '-device',
                f'ernic,{shell},addr=4.0,multifunction=on,id=nic,netdev=wire',
                '-device', f'{second},netdev=wire1.']


class Remapped(Netdev):
    """Behind an IOMMU, which remaps interrupts too: the function may have each of its
    vectors of MSI."""

    words = (*Cards.words, '-device', 'intel-iommu,intremap=on')
    vectors = {'ernic_shell-tx', 'ernic_shell-rx'}
    cold = 'the IOMMU is there from the start'


def suites():
    net = [test_load, test_net.test_ping, test_tcp, test_jumbo]
    more = [test_rdma, test_memory, test_both, test_one_program, test_reset, test_sleep,
            test_gone_queue, test_unbind, test_rules, test_error, test_unload]
    lab, netdev = Lab('RecoNIC', 'RecoNIC'), Netdev('RecoNIC', 'RecoNIC')
    mixed = Ports('RecoNIC', 'OpenNIC')
    ports = [test_second, test_spread, test_resize, test_other_port, test_functions,
             test_unbind_function, test_backwards, test_reload_ports, test_rules]
    axi = [*net, test_vectors, test_rdma_alone, test_both, test_one_program, test_halt,
           test_reset, test_sleep, test_unbind, test_error, test_reload,
           programs.test_log]
    return [Suite('shell-6.1', ours(2, lab, '6.1', kinds=[Zeroing, Zeroing]),
                  [*net, *more, programs.test_log]),
            Suite('shell-6.12', ours(2, netdev, '6.12'),
                  [*net, *more, programs.test_log], '*', 'shell-6.1'),
            Suite('shell-opennic-6.12', ours(2, mixed, '6.12'),
                  [*net, *ports, programs.test_log], '*', SECOND_ONLY),
            Suite('shell-xib-6.1', ours(2, Lab('xib', 'xib'), '6.1'), axi,
                  'one_program sleep error', 'shell-6.1'),
            Suite('shell-xib-6.12', ours(2, Remapped('xib', 'xib'), '6.12'), axi,
                  '*', 'shell-xib-6.1 and shell-6.1 have the tests')]


def load(one):
    one.check(f'insmod /tmp/{MODULE}.ko')


@slow('builds the driver of the shells')
def test_load(guests):
    for one, shell in zip(guests, guests.link.shells):
        modules.put(one, '--shell', (MODULE,))
        load(one)
        said = one.check(f'ethtool -i {links.INTERFACE}')
        assert f'driver: {MODULE}\n' in said and f'version: {shell}\n' in said, said
    up(guests)


def test_tcp(guests):
    """16 MiB each way at the same time; later tests have less."""
    for one in guests:
        programs.serve_file(one, 16)
    fetch(guests)
    for one in guests:
        one.check(f'head -c {2 << 20} /dev/urandom >/tmp/www/file')


def test_jumbo(guests):
    """The largest frames, which take three buffers."""
    up(guests, 9578)
    fetch(guests)
    up(guests)


def fetch(guests, address=links.ipv4):
    """The file of test_tcp, each way at the same time."""
    jobs = [one.start(programs.fetch_file(address(1 - n)))
            for n, one in enumerate(guests)]
    sums = [one.check('md5sum </tmp/www/file') for one in guests]
    assert [job.wait().output for job in jobs] == sums[::-1]


def test_rdma(guests):
    """Each operation, in memory of the driver and of the card."""
    for what in ernic.OPERATIONS:
        ernic.check(guests, what, ernic.SHAPES['batch'])
        ernic.check(guests, what, ernic.SHAPES['odd'], '--memory card')
        ernic.check(guests, what, f'{ernic.SHAPES["single"]} --memory card --poll memory')
    # What test_rules reads has reports: the program breaks rules of PG332.
    assert 'rule qp1-first' in guests[0].log.read_text(errors='replace')


def test_rdma_alone(guests):
    """Each operation, of a card without memory."""
    for what in ernic.OPERATIONS:
        for shape in ernic.SHAPES.values():
            ernic.check(guests, what, shape)


def test_vectors(guests):
    """Frames of both directions interrupt, each by its own vector if there are some."""
    for one in guests:
        said = one.check('grep ernic_shell /proc/interrupts')
        counts = {line.split()[-1]: sum(map(int, re.findall(r' (\d+)(?= )', line)))
                  for line in said.splitlines()}
        assert set(counts) == guests.link.vectors and min(counts.values()) > 100, said


def test_memory(guests):
    """The memory-mapped engines: tests/guest/inside/card_memory.py."""
    guests[0].put_programs()
    guests[0].check(f'python3 /tmp/inside/card_memory.py {TURNS}')


@contextlib.contextmanager
def traffic(guests, address=links.ipv4):
    """TCP of both directions meanwhile; nothing of it is lost, and all of it ends."""
    jobs = [one.start(f'rm -f /tmp/enough; until [ -e /tmp/enough ]; do '
                      f'{programs.fetch_file(address(1 - n))}; done', TRAFFIC_SECONDS)
            for n, one in enumerate(guests)]
    try:
        yield
    finally:
        for one in guests:
            one.check('touch /tmp/enough')
    results = [job.wait() for job in jobs]
    assert not any(result.status for result in results), [
        (result.status, result.output) for result in results]
    sums = [set(result.output.splitlines()) for result in results]
    files = [{one.check('md5sum </tmp/www/file').strip()} for one in guests]
    assert sums == files[::-1], (sums, files)


def test_both(guests):
    """TCP of both directions while the ERNICs exchange data."""
    with traffic(guests):
        for what in ernic.OPERATIONS:
            ernic.check(guests, what, '--count 2000 --batch 63 --size 16384')


def packets(one):
    return links.statistics(one)['pg332']['tx_packets']


def start_rdma(guests):
    """Requests without end, which are under way; the jobs of client and server."""
    server = guests[1].start('ernic-user serve')
    guests[1].wait_until(ernic.LISTENS)
    before = packets(guests[0])
    client = guests[0].start(f'ernic-user write {links.ipv4(1)} {ALWAYS}')
    while packets(guests[0]) < before + PACKETS:
        assert not client.done(), client.wait()
        time.sleep(0.05)
    return client, server


def test_one_program(guests):
    """A second one gets no access; a killed one leaves the ERNIC to the next."""
    client, server = start_rdma(guests)
    said = guests[0].run('ernic-user serve')
    assert said.status and 'busy' in said.output.lower(), said.output
    assert guests[0].run(f'rmmod {MODULE}').status, 'it was in use'
    client.kill()
    server.kill()
    if guests.link.shells[0] == 'xib':          # the other shells reset the ERNIC
        guests[0].put_programs()
        guests[0].check('python3 /tmp/inside/xib_state.py')
    ernic.check(guests, 'write', ernic.SHAPES['batch'])


def test_rules(guests):
    """The driver has broken no rule of the QDMA (ernic-strict)."""
    for one in guests:
        said = one.log.read_text(errors='replace')
        assert 'rule qdma-' not in said, said


def complains(one, wanted, most=1):
    """The kernel has logged this trouble, and no other one; most: how often."""
    found = programs.TROUBLE.findall(one.check('dmesg -c'))
    assert 1 <= len(found) <= most, found
    assert all(re.search(wanted, line) for line in found), found


def test_error(guests):
    """A descriptor with an address that is nowhere: reported, and all works again."""
    one = guests[0]
    said = one.check(f'ethtool -t {links.INTERFACE} offline')
    assert 'PASS' in said, said
    complains(one, FAILED[guests.link.shells[0]])
    one.wait_until(f'grep -q up /sys/class/net/{links.INTERFACE}/operstate')
    fetch(guests)


def test_halt(guests):
    """A channel of the AXI DMA halts under traffic: the driver resets and restarts it."""
    one, ups = guests[0], f'cat /sys/class/net/{links.INTERFACE}/carrier_up_count'
    one.put_programs()
    with traffic(guests):
        for channel in ('mm2s', 's2mm'):
            halted, before = f'{channel.upper()} {HALTED}', one.check(ups).strip()
            one.check(f'python3 /tmp/inside/axi_dma.py {channel}')
            one.wait_until(f'dmesg | grep -q "{halted}"')
            one.wait_until(f'[ $({ups}) -gt {before} ]')
    # The driver may have reset a channel before the last register is written, which lets
    # it halt once more.
    complains(one, HALTED, 4)


def loses_card(client, server):
    ended = client.wait()
    assert ended.status not in (0, 124), f'the program still has the card: {ended}'
    server.kill()


def test_reset(guests):
    """A reset of the function under traffic of both kinds."""
    client, server = start_rdma(guests)
    job = guests[1].start(programs.fetch_file(links.ipv4(0)))
    guests[0].check(f'echo 1 >/sys/class/net/{links.INTERFACE}/device/reset')
    assert job.wait().output == guests[0].check('md5sum </tmp/www/file')
    loses_card(client, server)
    ernic.check(guests, 'read', ernic.SHAPES['batch'])


def test_sleep(guests):
    """S3 takes the card from its program, and the interface comes back."""
    client, server = start_rdma(guests)
    test_suspend.suspend(guests[0])
    loses_card(client, server)
    guests[0].wait_until(f'grep -q up /sys/class/net/{links.INTERFACE}/operstate')
    fetch(guests)
    ernic.check(guests, 'read', ernic.SHAPES['batch'])


def test_gone_queue(guests):
    """A frame for a queue that ethtool has taken away is dropped."""
    one, interface = guests[0], links.INTERFACE
    modules.put(one, '--kverbs', ('direct',))
    one.check(f'ethtool -L {interface} combined 1')
    one.wait_until(f'grep -q up /sys/class/net/{interface}/operstate')
    before = int(lost(one, interface))
    said = one.run(f'insmod /tmp/direct.ko netdev={interface} queue=3').output
    assert 'canceled' in said.lower(), said
    assert int(lost(one, interface)) > before
    one.check(f'ethtool -L {interface} combined 2')
    fetch(guests)


def test_unbind(guests):
    """The driver leaves the function while both kinds of traffic run."""
    one = guests[0]
    client, server = start_rdma(guests)
    job = guests[1].start(programs.fetch_file(links.ipv4(0)))
    name = links.function(one)
    one.check(f'echo {name} >{DRIVER}/unbind')
    assert one.run(f'ls {NODE}').status, 'the character device stays'
    loses_card(client, server)
    job.kill()
    one.check(f'echo {name} >{DRIVER}/bind')
    up(guests)
    fetch(guests)
    ernic.check(guests, 'send', ernic.SHAPES['batch'])


def test_reload(guests):
    """And again, on both sides."""
    for one in guests:
        one.check(f'rmmod {MODULE}')
        load(one)
    up(guests)
    fetch(guests)


def test_unload(guests):
    """And again; without the driver the program has the function for itself."""
    test_reload(guests)
    for one in guests:
        one.check(f'rmmod {MODULE}')
        one.check(f'echo {ernic.PAGES} >/proc/sys/vm/nr_hugepages; '
                  'ernic-user stream --count 1000 --size 300')


def second(n):
    return f'10.0.1.{n + 1}'


def up_second(guests):
    for n, one in enumerate(guests):
        one.check(f'ip addr replace {second(n)}/24 dev {SECOND} && '
                  f'ip link set {SECOND} mtu 1500 up')
    for one in guests:
        one.wait_until(f'grep -q up /sys/class/net/{SECOND}/operstate')


def test_second(guests):
    """The second port has an interface of its own: both are used at once."""
    up_second(guests)
    with traffic(guests):
        fetch(guests, second)
        fetch(guests, second)


def by_queue(one, interface, direction):
    """Packets by queue."""
    said = one.check(f'ethtool -S {interface}')
    return [int(line.split()[-1]) for line in said.splitlines()
            if line.split()[0].startswith(direction)]


def lost(one, interface):
    return one.check(f'cat /sys/class/net/{interface}/statistics/tx_dropped')


def flows(other, one, interface, address):
    """How many datagrams of as many flows come to each queue of a guest; the other one
    sends by each of its queues."""
    sent, before = by_queue(other, interface, 'tx'), by_queue(one, interface, 'rx')
    gone = lost(other, interface)
    other.check(f'python3 -c "{SEND.format(address)}"')
    seen = []
    for _ in range(50):
        seen = [now - then for now, then in zip(by_queue(one, interface, 'rx'), before)]
        if sum(seen) >= FLOWS:
            break
        time.sleep(0.1)
    assert all(now > then for now, then in zip(by_queue(other, interface, 'tx'), sent))
    assert lost(other, interface) == gone, 'the shell has refused frames'
    return seen


def check_spread(guests, interface, address):
    other, one = guests
    other.check(f'ethtool -L {interface} combined 4')
    one.check(f'ethtool -L {interface} combined 4 && '
              f'ethtool -X {interface} equal 4 hkey {KEY}')
    assert KEY in one.check(f'ethtool -x {interface}')
    seen = flows(one, other, interface, address(0))
    assert sum(seen) >= FLOWS, seen
    seen = flows(other, one, interface, address(1))
    assert len(seen) == 4 and min(seen) >= FLOWS / 16, seen
    one.check(f'ethtool -X {interface} weight 0 0 1 0')
    seen = flows(other, one, interface, address(1))
    assert seen[2] >= FLOWS and sum(seen) - seen[2] <= FLOWS / 16, seen
    assert one.run(f'ethtool -L {interface} combined 2').status, 'the table has queue 2'
    one.check(f'ethtool -X {interface} default && ethtool -L {interface} combined 2')
    fetch(guests, address)
    one.check(f'ethtool -L {interface} combined 4')
    fetch(guests, address)


def test_spread(guests):
    """The table of each port spreads the flows over its queues."""
    check_spread(guests, links.INTERFACE, links.ipv4)
    check_spread(guests, SECOND, second)


def test_resize(guests):
    """Queues come and go under traffic, and the table changes."""
    one = guests[1]
    with traffic(guests, second), traffic(guests):
        for number in 1, 4, 2, 3, 4:
            one.check(f'ethtool -L {SECOND} combined {number} && '
                      f'ethtool -L {links.INTERFACE} combined {5 - number}')
            one.check(f'ethtool -X {SECOND} weight {"1 " * number}&& sleep 0.5 && '
                      f'ethtool -X {SECOND} default')
        one.check(f'ethtool -L {links.INTERFACE} combined 4')


def test_other_port(guests):
    """An error stops the queues of one port, the interrupt is that of the other one."""
    one = guests[1]
    changes = f'cat /sys/class/net/{links.INTERFACE}/carrier_changes'
    with traffic(guests):
        before = one.check(changes)
        said = one.check(f'ethtool -t {SECOND} offline')
        assert 'PASS' in said, said
    assert one.check(changes) == before, 'the first port stopped, too'
    complains(one, FAILED['RecoNIC'])
    up_second(guests)
    fetch(guests, second)


def test_functions(guests):
    """Reset of each function under traffic of the other, and sleep; the first one leaves
    the driver: the second follows."""
    one = guests[1]
    for interface, address in (links.INTERFACE, second), (SECOND, links.ipv4):
        with traffic(guests, address):
            one.check(f'echo 1 >/sys/class/net/{interface}/device/reset')
        fetch(guests)
        fetch(guests, second)
    test_suspend.suspend(one)
    fetch_both(guests)
    first = links.function(one)
    one.check(f'echo {first} >{DRIVER}/unbind')
    assert one.run(f'ls /sys/class/net/{SECOND}').status, 'the second port works alone'
    one.check(f'echo {first} >{DRIVER}/bind')
    fetch_both(guests)


def fetch_both(guests):
    guests[1].wait_until(f'ls /sys/class/net/{SECOND}')
    up(guests)
    up_second(guests)
    fetch(guests)
    fetch(guests, second)


def test_unbind_function(guests):
    """The second function leaves the driver: the first one works on."""
    one = guests[1]
    name = links.function(one, SECOND)
    with traffic(guests):
        one.check(f'echo {name} >{DRIVER}/unbind')
        one.check(f'echo 1 >/sys/class/net/{links.INTERFACE}/device/reset')
        one.check(f'echo {name} >{DRIVER}/bind')
    fetch_both(guests)


def test_backwards(guests):
    """The second function finds the driver before the first one: it waits for that. The
    functions are new ones, without a link between them."""
    one, bus = guests[1], '/sys/bus/pci'
    first, name = links.function(one), links.function(one, SECOND)
    one.check(f'echo 1 >{bus}/devices/{name}/remove && '
              f'echo 1 >{bus}/devices/{first}/remove && rmmod {MODULE} && '
              f'echo 1 >{bus}/rescan && echo 0 >{bus}/drivers_autoprobe')
    load(one)
    one.run(f'echo {name} >{bus}/drivers_probe')
    assert one.run(f'ls {bus}/devices/{name}/driver').status, 'it works alone'
    one.check(f'echo 1 >{bus}/drivers_autoprobe && echo {first} >{DRIVER}/bind')
    fetch_both(guests)


def test_reload_ports(guests):
    """The driver leaves both functions, and comes back."""
    guests[1].check(f'rmmod {MODULE}')
    load(guests[1])
    fetch_both(guests)
