#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The same machine twice under -icount, byte for byte, on an idle and a busy host.

usage: test_repeat.py QEMU

The guest (main.c) drives functions that a wire joins, and tells when it saw what.
"""
import json
import os
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
CFLAGS = ('-m32 -march=i686 -O2 -Wall -Wextra -Werror -ffreestanding -fno-pie -static'
          ' -fno-stack-protector -fcf-protection=none -mgeneral-regs-only -nostdlib'
          ' -fno-asynchronous-unwind-tables -no-pie -Wl,--build-id=none')
MACHINE = ('-M pc -m 32 -accel tcg -icount shift=0,sleep=off -nodefaults -display none'
           ' -rtc base=2026-01-01,clock=vm -no-shutdown -qmp stdio'
           ' -chardev file,id=text,path=text -device isa-debugcon,chardev=text')
TIMED = 'timing=on,timing-trace=trace.json'
SECONDS = 120                           # of a run, on the slowest of hosts
PRODUCTS = ('text', 'wire.pcapng', 'trace.json', 'statistics')


class Case(NamedTuple):
    """A machine; counts: (device, part, counter) that are not 0 in the end."""

    name: str
    wire: str
    functions: int
    nic: str
    counts: tuple


LOSSES = 'flight=500ns,loss=0.02,reorder=0.02,reorder-max=2us,seed='
INCAST = ('ports=4,flight=500ns,latency=300ns,queue=200K,kmin=5K,kmax=40K,pmax=0.5,'
          'seed=3')
LOST = (('w0', 'port0', 'lost'), ('w0', 'port0', 'held_up'), ('net1', '', 'retransmits'))
MARKED = (('w0', 'port0', 'marks'), ('net0', '', 'rx_ecn_marked'),
          ('net1', '', 'rx_cnps'))
MOVED = (('net0', '', 'rx_packets'), ('net1', '', 'rx_packets'))
CASES = (
    Case('a cable, with the timing model', 'flight=500ns', 2, TIMED, MOVED),
    Case('a cable', 'flight=500ns', 2, 'timing=off', MOVED),
    Case('losses, with the timing model', LOSSES + '3', 2, TIMED, LOST),
    Case('losses', LOSSES + '3', 2, 'timing=off', LOST),
    Case('a switch, with the timing model', INCAST, 4, TIMED, MARKED),
    Case('a switch', INCAST, 4, 'timing=off', MARKED),
)


def build(folder):
    """Returns the program that the guest is."""
    program = folder / 'guest'
    sources = [HERE / name for name in ('start.S', 'io.c', 'driver.c', 'main.c')]
    subprocess.run(['gcc', *CFLAGS.split(), '-I', HERE.parent.parent / 'include', '-T',
                    HERE / 'guest.ld', '-o', program, *sources], check=True)
    return program


class Monitor:
    """QMP over pipes."""

    def __init__(self, process):
        self.process = process
        self.events = []
        self.read()                     # the greeting
        self.run('qmp_capabilities')

    def read(self):
        line = self.process.stdout.readline()
        assert line, 'QEMU has ended'
        return json.loads(line)

    def run(self, command, **arguments):
        print(json.dumps({'execute': command, 'arguments': arguments}),
              file=self.process.stdin, flush=True)
        while 'event' in (answer := self.read()):
            self.events.append(answer['event'])
        assert 'return' in answer, answer
        return answer['return']

    def wait(self, event):
        while event not in self.events:
            self.events.append(self.read().get('event'))


def run(qemu, program, folder, case):
    """Returns what came of it: PRODUCTS, as bytes."""
    folder.mkdir()
    devices = ['-device', f'ernic-wire,id=w0,dump=wire.pcapng,{case.wire}']
    names = [f'net{i}' for i in range(case.functions)]
    for name in names:
        devices += ['-device', f'ernic,id={name},wire=w0,{case.nic}']
    with subprocess.Popen(['timeout', str(SECONDS), qemu, *MACHINE.split(), *devices,
                           '-kernel', program], cwd=folder, text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            monitor = Monitor(process)
            monitor.wait('STOP')
            statistics = {name: monitor.run('qom-get', path=name, property='statistics')
                          for name in ['w0', *names]}
            monitor.run('quit')
        except AssertionError as e:
            raise AssertionError(f'{e}; the guest said:\n'
                                 + (folder / 'text').read_text()[-500:]) from e
    check_sane(case, (folder / 'text').read_text(), statistics)
    (folder / 'statistics').write_text(json.dumps(statistics, indent=1))
    return {name: (folder / name).read_bytes() for name in PRODUCTS
            if (folder / name).exists()}


def check_sane(case, text, statistics):
    """It did what it is there for."""
    lines = text.splitlines()
    assert lines and lines[-1].strip() == 'end', f'the guest said {lines[-3:]}'
    assert lines[0].split() == ['functions', str(case.functions)], lines[0]
    for device, part, counter in case.counts:
        of = statistics[device]
        assert (of[part] if part else of)[counter] > 0, f'{device}: no {counter}'


def check_same(a, b):
    """What differs is told, text with the first of its lines that does."""
    assert a.keys() == b.keys(), f'{sorted(a)}, then {sorted(b)}'
    for name, first in a.items():
        if first == b[name]:
            continue
        differ = [pair for pair in zip(first.splitlines(), b[name].splitlines())
                  if pair[0] != pair[1]]
        raise AssertionError(f'{name} is another: {differ[:1]}')


@contextmanager
def busy_host():
    """Twice as many processes that do nothing as there are processors."""
    idlers = [subprocess.Popen([sys.executable, '-c', 'while True: pass'])
              for _ in range(2 * (os.cpu_count() or 1))]
    try:
        yield
    finally:
        for one in idlers:
            one.kill()
            one.wait()


def check_case(qemu, program, folder, case):
    first = run(qemu, program, folder / 'first', case)
    assert ('trace.json' in first) == ('trace' in case.nic), sorted(first)
    check_same(first, run(qemu, program, folder / 'second', case))
    with busy_host():
        check_same(first, run(qemu, program, folder / 'busy', case))


def check_seed(qemu, program, folder):
    """Chance has a part in it, or the comparison would be of nothing."""
    runs = [run(qemu, program, folder / seed, CASES[3]._replace(wire=LOSSES + seed))
            for seed in ('3', '4')]
    for name in runs[0]:
        assert runs[0][name] != runs[1][name], f'{name} is the same with another seed'


def main():
    qemu = Path(sys.argv[1]).resolve()
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        program = build(Path(name))
        checks = [(f'the same three times: {case.name}',
                   lambda folder, case=case: check_case(qemu, program, folder, case))
                  for case in CASES]
        checks.append(('another seed is another run',
                       lambda folder: check_seed(qemu, program, folder)))
        print(f'1..{len(checks)}')
        for number, (what, check) in enumerate(checks, 1):
            folder = Path(name) / str(number)
            folder.mkdir()
            try:
                check(folder)
                print(f'ok {number} - {what}', flush=True)
            except AssertionError as e:
                failed += 1
                print(f'not ok {number} - {what}')
                print('\n'.join(f'# {line}' for line in str(e).splitlines()), flush=True)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
