# SPDX-License-Identifier: GPL-2.0-or-later
"""Connections with the programs' own timeouts outlast the pauses of a peer.

A pause is SIGSTOP, as a host that is busy with something else, or "stop" by the monitor,
as the end of a migration.
"""
import collections
import contextlib
import functools
import os
import random
import signal
import threading
import time

import links
import mlx5
import programs
import storage
from programs import Program
from suite import Suite, named, ours

SECONDS = (0.2, 1.5, 4)         # of the pauses
GAP = (0.3, 0.8)                # seconds between them, at random
KERNEL = '6.12-cloud'           # of the guests with the mlx5 interface
MIB = 32                        # of the NVMe disk
FELT = collections.Counter()    # repeated packets and timeouts, by the guests' folder
PROGRAMS = [Program('ibv_rc_pingpong', programs.PINGPONG, '-e -n 10000'),
            Program('ibv_srq_pingpong', programs.PINGPONG, '-n 10000'),
            Program('rping', programs.RPING, '-C 3000 -S 65000'),
            Program('ib_send_bw', programs.BANDWIDTH, '-s 65536 -n 6000'),
            Program('ib_read_lat', programs.LATENCY, '-n 20000'),
            Program('ib_write_bw', programs.BANDWIDTH, '-q 4 -n 6000')]
# The set of the short form, and the names of its tests that only the long form has.
SHORT = 'verbs-udp'
LONG = 'ibv_srq_pingpong rping ib_read_lat ib_write_bw'
LINKS = {'verbs': (links.Udp(), links.Netdev(), links.Lab()),
         'mlx5': (mlx5.Lab(), mlx5.Udp(), mlx5.Netdev())}


def suites():
    """The short form has one link, and some of the programs."""
    tests = [named(program.name, check_program, program) for program in PROGRAMS]
    for interface, on in LINKS.items():
        for link in on:
            machines = (ours(2, link, '6.1') if interface == 'verbs' else
                        functools.partial(mlx5.start, KERNEL, link))
            yield Suite(f'pauses-{interface}-{link.name}', machines,
                        [test_up] * (interface == 'verbs')
                        + [*tests, test_nvme, test_felt, programs.test_log],
                        *([LONG, 'the other programs']
                          if f'{interface}-{link.name}' == SHORT else
                          ['*', f'pauses-{SHORT}: the engine is the same']))


@contextlib.contextmanager
def paused(one, way):
    if way == 'stop':
        links.qemu(one, 'stop')
    else:
        os.kill(one.process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        if way == 'stop':
            links.qemu(one, 'cont')
        else:
            os.kill(one.process.pid, signal.SIGCONT)


def pause_in_turn(guests, done):
    """All pauses, in an order and in guests that chance chooses; done: of those made."""
    for seconds in random.sample(SECONDS, len(SECONDS)):
        time.sleep(random.uniform(*GAP))
        one, way = random.choice(guests), random.choice(('stop', 'SIGSTOP'))
        with paused(one, way):
            time.sleep(seconds)
        done.append(f'{one.name} {way} {seconds} s')


def know_each_other(guests):
    """Linux gives a neighbour 3 s to answer, less than some of the pauses."""
    macs = [one.check(f'cat /sys/class/net/{links.INTERFACE}/address').strip()
            for one in guests]
    for n, one in enumerate(guests):
        one.check(f'ip neigh replace {links.ipv4(1 - n)} lladdr {macs[1 - n]} '
                  f'dev {links.INTERFACE} nud permanent')


def repeats(guests):
    return sum(links.statistics(one)[name] for one in guests
               for name in ('ack_timeouts', 'retransmits'))


@contextlib.contextmanager
def pauses(guests):
    """All pauses, while what happens inside goes on: it has to as long as they run."""
    know_each_other(guests)
    done = []
    before = repeats(guests)
    thread = threading.Thread(target=pause_in_turn, args=(guests, done))
    thread.start()
    try:
        yield thread.is_alive
    finally:
        thread.join()
    print('# ' + ', '.join(done), flush=True)
    assert len(done) == len(SECONDS), 'a guest could not be paused'
    FELT[guests.folder] += repeats(guests) - before


def test_up(guests):
    links.up(guests, links.MTU)


def check_program(guests, program):
    with pauses(guests) as run:
        while run():
            programs.check(guests, program)


def test_nvme(guests):
    """A disk of one guest in the other is written, and read back."""
    guests[0].check('modprobe -a configfs nvmet-rdma && '
                    f'mount -t configfs none {storage.CONFIG} && '
                    f'truncate -s {MIB}M /dev/shm/nvme && {storage.NVME.target}', 60)
    guests[1].check(storage.NVME.initiator, 60)
    guests[1].check(f'dd if=/dev/urandom of=/dev/shm/data bs=1M count={MIB}', 60)
    with pauses(guests) as run:
        while run():
            guests[1].check(f'''
                cd /dev/shm &&
                dd if=data of={storage.NVME.path} bs=64k oflag=direct conv=fsync &&
                dd if={storage.NVME.path} of=back bs=64k iflag=direct count={MIB * 16} &&
                cmp data back''', 200)
    guests[1].check(storage.NVME.end, 60)


def test_felt(guests):
    """During the pauses queue pairs waited for an answer in vain, and sent again. Not all
    did: a pause may hit a program that starts, or the guest that sends."""
    assert FELT[guests.folder] > 0, FELT
