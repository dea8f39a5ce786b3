# SPDX-License-Identifier: GPL-2.0-or-later
"""A busy host: twelve loops compete with two guests, and some of them come in bursts
with a higher priority. No connection ends, with a loss of 1 % either."""
import contextlib
import functools
import os
import random
import signal
import subprocess
import threading

import guest
import links
import mlx5
import programs
from programs import Program
from relay import Relayed
from suite import Suite, named, ours

LOOPS, BURSTS = 12, 4           # BURSTS of the LOOPS have a higher priority, and pauses
NICE = -5                       # needs root; without it they have the usual one
ON, OFF = (0.2, 2), (0.5, 3)    # seconds of a burst, and between two
ROUNDS = int(os.environ.get('ERNIC_ROUNDS', 200))
LOSS = 0.01
RUNS = max(ROUNDS // 10, 1)     # of the demo
DEMO_SECONDS = 900              # of a demo whose images are new
# Both ends of a program of perftest wait for each other before they end. The others end
# when they have all messages: if the network then loses the last ACK, or the request to
# disconnect, nobody is there to repeat it. So these do not run with losses. Nor does
# ib_send_lat -e: its two CQs share a completion channel, and it takes the first event
# for one of the send queue's CQ, but if an ACK is lost, the reply completes before.
PERFTEST = [Program('ib_send_bw', programs.BANDWIDTH, '-s 65536 -n 200'),
            Program('ib_read_lat', programs.LATENCY, '-e -n 500'),
            Program('ib_write_bw', programs.BANDWIDTH, '-q 4 -n 200'),
            Program('ib_send_lat', programs.LATENCY, '-n 500')]
PROGRAMS = [Program('ibv_rc_pingpong', programs.PINGPONG, '-e -n 500'),
            Program('ibv_srq_pingpong', programs.PINGPONG, '-n 200'),
            Program('rping', programs.RPING, '-C 100'),
            Program('ib_send_lat', programs.LATENCY, '-e -n 500'), *PERFTEST]


MACHINES = {'udp': ours(2, links.Udp(), '6.1'), 'loss': ours(2, Relayed(), '6.1'),
            'mlx5': functools.partial(mlx5.start, '6.12-cloud', mlx5.Lab(), links.MTU)}


def suites():
    for name, machines in MACHINES.items():
        up = [named('up', links.up, links.MTU)] * (name != 'mlx5')
        yield Suite(f'busy-host-{name}', machines, [*up, named('rounds', check_rounds)],
                    '*', 'the suites pauses-*, which stop a guest')
    yield Suite('busy-host-demo', functools.partial(contextlib.nullcontext, ()),
                [named('demo', check_demo)], '*',
                'the suites pauses-*, which stop a guest')


class Loops:
    """The loops, each in a session of its own, as others' work is."""

    def __init__(self):
        self.over = threading.Event()
        self.all = [subprocess.Popen(['setpriv', '--pdeathsig=KILL', 'sh', '-c',
                                      'while :; do :; done'], start_new_session=True)
                    for _ in range(LOOPS)]
        for one in self.all[:BURSTS]:
            with contextlib.suppress(PermissionError):
                os.setpriority(os.PRIO_PROCESS, one.pid, NICE)
        self.thread = threading.Thread(target=self.bursts)

    def bursts(self):
        while not self.over.is_set():
            for number, wait in ((signal.SIGCONT, ON), (signal.SIGSTOP, OFF)):
                for one in self.all[:BURSTS]:
                    one.send_signal(number)
                self.over.wait(random.uniform(*wait))

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        for one in self.all:
            one.kill()
            one.wait()


def check_rounds(guests):
    """Each round is a program; all that failed are reported."""
    chosen = PROGRAMS
    if isinstance(guests.link, Relayed):
        guests.link.relay.loss, chosen = LOSS, PERFTEST
    bad = []
    with Loops():
        for n in range(ROUNDS):
            program = chosen[n % len(chosen)]
            outcome = programs.run(guests, program)
            if outcome.reason:
                bad.append(f'round {n}: {program.name}: {outcome.reason}\n'
                           + outcome.output)
    assert not bad, f'{len(bad)} of {ROUNDS} rounds failed\n' + '\n'.join(bad)


def check_demo(_):
    """The demo of a new user works each time."""
    bad = []
    with Loops():
        for n in range(RUNS):
            try:
                subprocess.run([guest.ROOT / 'scripts/demo', '--guest', 'stock'],
                               capture_output=True, text=True, check=True,
                               stdin=subprocess.DEVNULL, timeout=DEMO_SECONDS)
            except subprocess.SubprocessError as e:
                bad.append(f'run {n}: {e}\n{e.stdout}{e.stderr}')
    assert not bad, f'{len(bad)} of {RUNS} runs failed\n' + '\n'.join(bad)
