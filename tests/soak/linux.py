# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows with Linux in the machines: the driver cleans up after processes and devices."""
import itertools
import re
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import report
from machine import TESTS, Wrong, guest

import links                                                    # noqa: E402
import programs                                                 # noqa: E402
import test_driver                                              # noqa: E402

HERE = Path(__file__).resolve().parent
INSIDE = (TESTS / 'guest/inside/rig.py', HERE / 'inside/killed.py')
BATCH = 20                      # kills of a round, in each guest
MEMORY = ['-object', f'memory-backend-memfd,id=ram,size={guest.MEMORY_MIB}M,share=on',
          '-machine', 'memory-backend=ram']
PINGS = '/tmp/pings'
OBJECTS = ('pd', 'cq', 'qp', 'cm_id', 'mr', 'ctx', 'srq')


def apart(link):
    """The link, with the guest's memory counted apart from QEMU's own."""
    def options(n, folder, of=link.options):
        return [*MEMORY, *of(n, folder)]
    link.options = options
    return link


def objects(one):
    """The number of objects of each kind that the kernel has."""
    found = re.search(r'ernic0: (.*)', one.check('rdma resource'))[1].split()
    return dict(zip(found[::2], map(int, found[1::2])))


def account(guests):
    """Memory that the devices have for objects of the guests, in bytes."""
    return sum(links.statistics(one)['memory']['used'] for one in guests)


def start_pings(guests):
    """rping between the guests, which compares the data; it starts again when it ends."""
    server = guests[1].start(
        f'while :; do rping -s -P -a {links.ipv4(1)}; sleep 0.1; done', 1 << 20)
    guests[1].wait_until(programs.RPING.listens)
    client = guests[0].start(
        f'while :; do rping -c -a {links.ipv4(1)} -v -V -C 1000000 >>{PINGS}; '
        'echo end >>/tmp/ends; sleep 0.1; done', 1 << 20)
    # A line of output for each ping, and a file that is written in blocks.
    guests[0].wait_until(f'[ -s {PINGS} ]', guest.BOOT_SECONDS)
    return [client, server]


def pings(guests):
    return int(guests[0].check(f'grep -c "ping data" {PINGS}'))


def end(jobs):
    for job in jobs:
        job.kill()
    for job in jobs:
        job.wait()


def kill_round(one, seed):
    """A round in one guest; the two numbers of its report."""
    result = one.run(f'cd /tmp && python3 killed.py {BATCH} {seed} 300', 330)
    words = result.output.split()
    if result.status or words[:1] != ['killed']:
        raise Wrong(f'{one.name}: status {result.status}: {result.output}')
    return int(words[1]), int(words[3])


def kills(link, result, more):
    """Both guests kill processes with queue pairs at the same time, beside rping."""
    with guest.Guests(2, apart(link()), guest.find_image()) as guests:
        links.up(guests)
        for one in guests:
            for file in INSIDE:
                one.put(file, f'/tmp/{file.name}')
            one.check('dmesg -c')
        before = [objects(one) for one in guests]
        charged = account(guests)
        jobs = start_pings(guests)
        used = 0
        while more():
            with ThreadPoolExecutor(len(guests)) as pool:
                found = list(pool.map(kill_round, guests,
                                      itertools.count(2 * result.rounds)))
            result.rounds += sum(killed for killed, _ in found)
            used += sum(moved for _, moved in found)
            result.samples.append(report.sample(one.process.pid for one in guests))
        check_used(used, result.rounds)
        result.verified = used + pings(guests)
        check_pings(guests)
        end(jobs)
        result.left = left(guests, before)
        result.bytes = account(guests) - charged
        for one in guests:
            test_driver.quiet(one)


def check_used(used, killed):
    """Nine of ten live until they move data, and a little longer."""
    if 2 * used < killed:
        raise Wrong(f'only {used} of {killed} processes had moved data')


def check_pings(guests):
    """The traffic beside has gone on without an end."""
    if guests[0].run('[ -e /tmp/ends ]').status == 0:
        raise Wrong('rping ended: ' + guests[0].check(f'tail -n 5 {PINGS}'))


def left(guests, before):
    """How many objects more than before, also at the device."""
    for one in guests:
        one.check('timeout 30 sh -c "while rdma resource show qp | grep -q python3; '
                  'do sleep 0.1; done"', 40)
    found = 0
    for one, first in zip(guests, before):
        now = objects(one)
        found += sum(max(0, now[name] - first[name]) for name in OBJECTS if name in now)
    return found


def replugs(result, more):
    """The driver's device is unplugged and plugged in while a program uses it."""
    with guest.Guests(1, apart(test_driver.Plugged()), guest.find_image()) as guests:
        one, = guests
        one.put_programs()
        one.check(test_driver.UP)
        before = [objects(one)]
        charged = account(guests)
        job = test_driver.traffic(one, '1000000 1000000 >/tmp/rounds', 1 << 20)
        monitor = one.monitor()
        while more():
            test_driver.ready(one, '/tmp/rounds', result.rounds + 1)
            test_driver.unplug(monitor, 'nic')
            monitor.execute('device_add', **guests.link.plugged())
            one.wait_until(f'[ -e {links.PORT} ]')
            one.check(test_driver.UP)
            result.samples.append(report.sample([one.process.pid]))
            result.rounds += 1
        monitor.close()
        test_driver.ready(one, '/tmp/rounds', result.rounds + 1)
        end([job])
        text = one.check('cat /tmp/rounds')
        ends = re.findall(r'^writes (\d+) end (.*)$', text, re.M)
        if bad := [why for _, why in ends if why != 'gone']:
            raise Wrong(f'traffic ended: {bad}')
        result.verified = sum(int(writes) for writes, _ in ends)
        result.left = left(guests, before)
        result.bytes = account(guests) - charged
        test_driver.quiet(one)


# The fields of rows.Row without the interface.
ROWS = (
    ('process kills', 'UDP', partial(kills, links.Udp), (100, 5000, 5000), 12),
    ('process kills', 'netdev', partial(kills, links.Netdev), (0, 5000, 5000), 12),
    ('unplug under Linux', '-', replugs, (2, 60, 1000), 6),
)
