#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The same machine twice under -icount, byte for byte, on an idle and a busy host.

usage: test_repeat.py [PART]     the checks in whose name PART occurs

The guest drives functions that a wire joins, by the verbs interface (main.c), the ERNIC
interface (ernic-main.c) or the mlx5 interface (mlx5-main.c), and reports what it
saw, and when.
"""
import json
import os
import struct
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / 'common'), str(HERE.parent / 'guest')]
import bare                                         # noqa: E402
import checks                                       # noqa: E402
from find_qemu import find_qemu                     # noqa: E402
from monitor import Monitor                         # noqa: E402

MACHINE = ('-M pc -m 32 -accel tcg -icount shift=0,sleep=off -no-shutdown'
           ' -rtc base=2026-01-01,clock=vm -qmp unix:qmp,server=on,wait=off')
TIMED = 'timing=on,timing-trace=trace.json'
ERNIC = 'ernic-version=3.1,ernic-qps=8,'
MLX5 = 'interface=mlx5'
SOURCES = {'verbs': ('driver.c', 'main.c'), 'ernic': ('ernic.c', 'ernic-main.c'),
           'mlx5': ('mlx5.c', 'mlx5-main.c'), 'flood': ('driver.c', 'flood.c')}
SECONDS = 120                           # of a run, on the slowest of hosts
STOPS = 500
TRIES = 5
PRODUCTS = ('text', 'wire.pcapng', 'trace.json', 'statistics')


class Case(NamedTuple):
    """A machine. counts: (device, part, counter) that must not be 0 at the end."""

    name: str
    wire: str
    functions: int
    nic: str
    counts: tuple
    program: str = 'verbs'              # of SOURCES


LOSSES = 'rate=100G,flight=500ns,loss=0.02,reorder=0.02,reorder-max=2us,seed='
INCAST = ('ports=4,flight=500ns,latency=300ns,queue=200K,kmin=5K,kmax=40K,pmax=0.5,'
          'seed=3')
LOST = (('w0', 'port0', 'lost'), ('w0', 'port0', 'held_up'), ('net1', '', 'retransmits'))
MARKED = (('w0', 'port0', 'marks'), ('net0', '', 'rx_ecn_marked'),
          ('net1', '', 'rx_cnps'))
MOVED = (('net0', '', 'rx_packets'), ('net1', '', 'rx_packets'))
PG332_MOVED = (('net0', 'pg332', 'rx_packets'), ('net1', 'pg332', 'rx_packets'))
PG332_LOST = (('w0', 'port0', 'lost'), ('w0', 'port0', 'held_up'),
              ('net0', 'pg332', 'retransmits'), ('net1', 'pg332', 'retransmits'))
CASES = (
    Case('a cable, with the timing model', 'flight=500ns', 2, TIMED, MOVED),
    Case('a cable', 'flight=500ns', 2, 'timing=off', MOVED),
    Case('losses, with the timing model', LOSSES + '3', 2, TIMED, LOST),
    Case('losses', LOSSES + '3', 2, 'timing=off', LOST),
    Case('a switch, with the timing model', INCAST, 4, TIMED, MARKED),
    Case('a switch', INCAST, 4, 'timing=off', MARKED),
    Case('the ERNIC interface, with the timing model', 'flight=500ns', 2, ERNIC + TIMED,
         PG332_MOVED, 'ernic'),
    Case('the ERNIC interface', 'flight=500ns', 2, ERNIC + 'timing=off', PG332_MOVED,
         'ernic'),
    Case('the ERNIC interface and losses, with the timing model', LOSSES + '3', 2,
         ERNIC + TIMED, PG332_LOST, 'ernic'),
    Case('the ERNIC interface and losses', LOSSES + '3', 2, ERNIC + 'timing=off',
         PG332_LOST, 'ernic'),
    Case('the mlx5 interface', 'flight=500ns', 2, MLX5, MOVED, 'mlx5'),
    Case('the mlx5 interface and losses', LOSSES + '3', 2, MLX5, LOST, 'mlx5'),
)


# More work than a host can do in SECONDS.
FLOOD = Case('requests of 2 GiB to itself', 'flight=500ns', 1, 'timing=off', (), 'flood')


def of_the_guest(statistics):
    """Removes the counters that depend on the time of the query."""
    if not isinstance(statistics, dict):
        return statistics
    asked = {'idle', 'now'}
    if statistics.get('since') == statistics.get('now'):
        asked.add('since')              # of a model that has had nothing to do
    return {name: of_the_guest(value) for name, value in statistics.items()
            if name not in asked}


class Machine:
    """A QEMU process with its own new folder; more: further arguments."""

    def __init__(self, qemu, programs, folder, case, *more):
        folder.mkdir()
        self.folder, self.case = folder, case
        self.names = ['w0'] + [f'net{i}' for i in range(case.functions)]
        devices = ['-device', f'ernic-wire,id=w0,dump=wire.pcapng,{case.wire}']
        for name in self.names[1:]:
            devices += ['-device', f'ernic,interface=verbs,id={name},wire=w0,{case.nic}']
        # pylint: disable-next=consider-using-with
        self.process = subprocess.Popen(
            [*bare.LIMITED, str(SECONDS), qemu, *MACHINE.split(), *bare.TEXT, *devices,
             '-kernel', programs[case.program], *more], cwd=folder)
        self.monitor = self.connect()
        self.events = []

    def connect(self):
        while self.process.poll() is None:
            try:
                return Monitor(self.folder / 'qmp')
            except OSError:                     # not there yet
                time.sleep(0.01)
        raise AssertionError('QEMU has ended')

    def qmp(self, command, **arguments):
        return self.monitor.execute(command, **arguments)

    def has_sent(self, event):
        self.events += [one['event'] for one in self.monitor.protocol.get_events()]
        return event in self.events

    def stop(self):
        """Returns whether it had not ended yet. The events of its end are there when the
        second command is answered."""
        self.qmp('stop')
        self.qmp('query-status')
        return not self.has_sent('SHUTDOWN')

    def wait(self, event):
        while not self.has_sent(event):
            self.events.append(self.monitor.protocol.pull_event(wait=SECONDS)['event'])

    def statistics(self):
        return {name: self.qmp('qom-get', path=name, property='statistics')
                for name in self.names}

    def text(self):
        return (self.folder / 'text').read_text()

    def finish(self):
        """Runs the machine to its end; returns PRODUCTS as bytes."""
        self.wait('SHUTDOWN')
        self.wait('STOP')
        statistics = self.statistics()
        self.close()
        check_counts(self.case, statistics)
        (self.folder / 'statistics').write_text(
            json.dumps(of_the_guest(statistics), indent=1))
        return {name: (self.folder / name).read_bytes() for name in PRODUCTS
                if (self.folder / name).exists()}

    def close(self):
        self.monitor.close()
        self.process.terminate()
        self.process.wait()


def run(qemu, programs, folder, case):
    """Runs a machine; returns PRODUCTS as bytes."""
    machine = Machine(qemu, programs, folder, case)
    try:
        products = machine.finish()
    except Exception as e:
        machine.close()
        raise AssertionError(f'{e!r}; the guest said:\n{machine.text()[-500:]}') from e
    check_text(case, machine.text())
    return products


def check_text(case, text):
    """The guest's program has reached its end."""
    lines = text.splitlines()
    assert lines and lines[-1].strip() == 'end', f'the guest said {lines[-3:]}'
    assert lines[0].split() == ['functions', str(case.functions)], lines[0]


def check_counts(case, statistics):
    """The events that the case is for have happened."""
    for device, part, counter in case.counts:
        of = statistics[device]
        assert (of[part] if part else of)[counter] > 0, f'{device}: no {counter}'


def check_same(a, b):
    """Report a difference; of a text, the first line that differs."""
    assert a.keys() == b.keys(), f'{sorted(a)}, then {sorted(b)}'
    for name, first in a.items():
        if first == b[name]:
            continue
        differ = [pair for pair in zip(first.splitlines(), b[name].splitlines())
                  if pair[0] != pair[1]]
        raise AssertionError(f'{name} is another: {differ[:1]}')


@contextmanager
def busy_host():
    """Keeps the host busy with two processes per processor."""
    idlers = [subprocess.Popen(['setpriv', '--pdeathsig=KILL', sys.executable, '-c',
                                'while True: pass'])
              for _ in range(2 * (os.cpu_count() or 1))]
    try:
        yield
    finally:
        for one in idlers:
            one.kill()
            one.wait()


def check_case(qemu, programs, folder, case):
    first = run(qemu, programs, folder / 'first', case)
    assert ('trace.json' in first) == ('trace' in case.nic), sorted(first)
    check_same(first, run(qemu, programs, folder / 'second', case))
    with busy_host():
        check_same(first, run(qemu, programs, folder / 'busy', case))


def under_way(statistics):
    """The number of frames on the wire."""
    ports = statistics['w0'].values()
    return sum(p['rx_frames'] for p in ports) - sum(
        p[name] for p in ports
        for name in ('tx_frames', 'lost', 'tail_drops', 'filtered', 'unplugged'))


def stop_in_traffic(machine):
    """Stops the machine at a moment with frames on the wire. False: it ended before."""
    while machine.stop():
        if under_way(machine.statistics()) > 0:
            return True
        machine.qmp('cont')
    machine.close()
    return False


def stopped_in_traffic(qemu, programs, folder, case):
    """On a busy host a machine may end before the next command reaches it."""
    for n in range(TRIES):
        machine = Machine(qemu, programs, folder / f'first{n}', case)
        if stop_in_traffic(machine):
            return machine
    raise AssertionError('it was never stopped with frames on the wire')


def save(machine):
    """Saves the machine to a file of its folder, and ends it."""
    path = machine.folder / 'state'
    machine.qmp('migrate', uri=f'file:{path}')
    machine.monitor.migrated()
    machine.close()
    return path


def restore(machine, path):
    """Resumes a saved machine, without QEMU's announcements, which add frames."""
    machine.qmp('migrate-set-parameters', **{'announce-rounds': 0})
    machine.qmp('migrate-incoming', uri=f'file:{path}')
    while (status := machine.qmp('query-status')['status']) == 'inmigrate':
        time.sleep(0.01)
    assert status == 'paused', status
    machine.events.clear()
    machine.qmp('cont')


def time_of(block):
    """The time in ns at which a frame was captured."""
    high, low = struct.unpack_from('<II', block, 12)
    return high << 32 | low


def frames(capture):
    """Returns the frame blocks of a pcapng file; those of the same ns have no order."""
    at, found = 0, []
    while at < len(capture):
        kind, length = struct.unpack_from('<II', capture, at)
        if kind == 6:
            found.append(capture[at:at + length])
        at += length
    return sorted(found, key=lambda block: (time_of(block), block))


def check_saved(qemu, programs, folder, case):
    """A machine saved with frames on the wire continues identically after restore."""
    whole = run(qemu, programs, folder / 'whole', case)
    first = stopped_in_traffic(qemu, programs, folder, case)
    state = save(first)
    second = Machine(qemu, programs, folder / 'second', case, '-incoming', 'defer')
    restore(second, state)
    rest = second.finish()
    text = first.text() + second.text()
    check_text(case, text)
    check_same({name: whole[name] for name in ('text', 'statistics')},
               {'text': text.encode(), 'statistics': rest['statistics']})
    both = (first.folder / 'wire.pcapng').read_bytes() + rest['wire.pcapng']
    assert frames(both) == frames(whole['wire.pcapng']), 'other frames'


def check_stopped(qemu, programs, folder, case):
    """A machine that is stopped again and again continues identically each time."""
    whole = run(qemu, programs, folder / 'whole', case)
    machine = stopped_in_traffic(qemu, programs, folder, case)
    machine.qmp('cont')
    for _ in range(STOPS - 1):
        if not machine.stop():
            break
        machine.qmp('cont')
    rest = machine.finish()
    check_text(case, machine.text())
    # A stop writes the events so far to trace.json, which changes their order.
    for products in (whole, rest):
        del products['trace.json']
        products['wire.pcapng'] = b''.join(frames(products['wire.pcapng']))
    check_same(whole, rest)


def check_seed(qemu, programs, folder, case):
    """Another seed gives another run: the runs that are compared do use chance."""
    runs = [run(qemu, programs, folder / seed, case._replace(wire=LOSSES + seed))
            for seed in ('3', '4')]
    for name in runs[0]:
        assert runs[0][name] != runs[1][name], f'{name} is the same with another seed'


def check_flood(qemu, programs, folder, case):
    """The guest goes on, and the monitor answers, while the device has work."""
    machine = Machine(qemu, programs, folder / 'flood', case)
    for _ in range(STOPS):
        if machine.has_sent('SHUTDOWN'):
            break
        machine.qmp('query-status')
    machine.finish()
    text = machine.text()
    check_text(case, text)
    assert text.splitlines()[1].split() == ['completed', '0'], f'the guest said {text}'


CHECKS = (
    ('the same three times', check_case, lambda case: case != FLOOD),
    ('saved and restored', check_saved, lambda case: TIMED in case.nic),
    ('stopped and continued', check_stopped, lambda case: TIMED in case.nic),
    ('another seed is another run', check_seed,
     lambda case: case.wire.startswith(LOSSES)),
    ('time goes on', check_flood, lambda case: case == FLOOD),
)


def main():
    binary, part = find_qemu(), ''.join(sys.argv[1:2])
    os.environ['QEMU'] = str(binary)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        programs = {program: bare.build(folder / program, 'seen.c', *sources)
                    for program, sources in SOURCES.items()}
        todo = []
        for what, check, wanted in CHECKS:
            for case in filter(wanted, CASES + (FLOOD,)):
                if what.startswith(part):
                    own = folder / str(len(todo))
                    own.mkdir()
                    todo.append((f'{what}: {case.name}',
                                 partial(check, binary, programs, own, case)))
        assert todo, f'no check begins with {part}'
        return checks.run(todo)


if __name__ == '__main__':
    sys.exit(main())
