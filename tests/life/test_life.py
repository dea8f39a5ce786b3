#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest's second processor accesses functions without a pause. Prints TAP.

usage: test_life.py [--asan | --tsan] [--rounds N] [--seconds N]

Each round is a machine with a function for each row of second.c's table, which the first
processor resets and ejects meanwhile, while user logic floods two of them. It fails if
QEMU ends by itself, or if a sanitizer reports an error. Then the functions have the
greatest limits, and the monitor has to answer in time, first beside idle functions, then
beside functions that exchange data, which go on and take no more memory. QEMU names the
program; --asan and --tsan build one with that sanitizer.
"""
import argparse
import contextlib
import os
import random
import re
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / name) for name in ('common', 'guest', 'repeat')]
import bare                                         # noqa: E402
import checks                                       # noqa: E402
from find_qemu import find_qemu                     # noqa: E402
from monitor import GuestError, Monitor             # noqa: E402

MACHINE = ('-M pc -m 64 -smp 2 -object iothread,id=io0'
           ' -device ernic-wire,id=w0,ports=4'
           ' -chardev socket,id=logic0,path=logic0,server=on,wait=off'
           ' -chardev socket,id=logic1,path=logic1,server=on,wait=off')
ACCEL = 'tcg,thread=multi'
# The record of calls of the thread sanitizer grows each time that a processor leaves a
# block for an access.
TSAN_ACCEL = ACCEL + ',one-insn-per-tb=on'
SECONDS = 180                           # of a round, on the slowest of hosts
# GLib's slices go from thread to thread by locks that the thread sanitizer does not see.
ENVIRONMENT = {
    'ASAN_OPTIONS': 'detect_leaks=0', 'G_SLICE': 'always-malloc',
    'TSAN_OPTIONS': f'suppressions={HERE / "tsan.supp"}:hard_rss_limit_mb=8192',
}

UDP = 'roce-udp=127.0.0.1:0'
POLLS = f'{UDP},engine-poll-us=1000'
MAIN_LOOP = 'engine-thread=off'
PG332 = 'ernic-version=3.1'
MLX5 = 'interface=mlx5'
EVENTS = f'iothread=io0,{UDP},ioeventfd=on'
SHELL = 'shell=reconic,card-memory=1M'
# The properties of the function that each row of second.c accesses, in its order, from
# slot 2 on. Bus 0 has no slot for one more.
FUNCTIONS = {
    'doorbell': '', 'doorbell-iothread': f'iothread=io0,{UDP}',
    'doorbell-timing': 'timing=on', 'cmd_pi': MAIN_LOOP,
    'cmd_pi-iothread': f'iothread=io0,{POLLS}',
    'control': 'wire=w0', 'control-udp': POLLS, 'status': '',
    'status-timing': 'timing=on',
    'tx_pi': 'wire=w0', 'tx_pi-udp': UDP, 'rx_arm': '',
    'pg332': f'{PG332},user-logic=logic0',
    'pg332-doorbell': f'{PG332},timing=on,user-logic=logic1', 'pg332-side': PG332,
    'shell': SHELL, 'shell-reset': SHELL, 'shell-qdma': SHELL,
    'card-memory': f'{PG332},card-memory=1M', 'device-memory': '', 'msix': '',
    'command': '', 'reset': MAIN_LOOP,
    'mlx5-command': f'{MLX5},wire=w0',
    'mlx5-command-iothread': f'{MLX5},iothread=io0,{UDP}', 'mlx5-interface': MLX5,
    'mlx5-blueflame': f'{MLX5},{POLLS}', 'mlx5-health': MLX5,
    'mlx5-events': f'{MLX5},{EVENTS}', 'verbs-events': EVENTS,
}
# The rows of traffic.c, whose accesses end no connection, and its partners.
PARTNERS = ('mlx5-events', 'verbs-events')
TRAFFIC = ('doorbell', 'doorbell-iothread', 'cmd_pi', 'cmd_pi-iothread', 'status',
           'tx_pi', 'rx_arm', 'device-memory', 'msix', 'command', 'mlx5-command',
           'mlx5-command-iothread', 'mlx5-blueflame', 'mlx5-health', *PARTNERS)
TRACE = ['-trace', 'ernic_pci_page_*', '-D', 'log']

# Limits that the interface has, by properties that the function is given.
GREATEST = {PG332: 'max-qp=2048', SHELL: '', MLX5: 'max-qp=16384,max-cq=16384'}
VERBS = 'max-qp=16384,max-cq=16384,max-pd=16384,max-uctx=1024'
# The monitor has to answer half of the time and 9 times of 10 so soon, in seconds, beside
# what the host takes.
USUAL, SLOW = 0.005, 0.020
RUNS = 3                                # as many as a function has to be late in
SHARE = 20                              # traffic keeps that part of its rate
GROWTH = 4 << 20                        # bytes of QEMU's memory, in a window
# Of a monitor whose machine is off, and of a process that ends.
ENDED = (EOFError, OSError, IndexError)


def in_a_lab(properties):
    """The same with another link."""
    links = ('roce-udp=', 'wire=')
    return ','.join([*(one for one in properties.split(',')
                       if one and not one.startswith(links)), 'lab=lab'])


def start(args, program, folder, more=lambda properties: '', words=(), rows=FUNCTIONS):
    """QEMU with the functions of these rows; more(properties): further ones of one."""
    folder.mkdir()
    devices = []
    for slot, (name, properties) in enumerate(FUNCTIONS.items(), 2):
        if name not in rows:
            continue
        if rows is TRAFFIC:
            properties = in_a_lab(properties)
        given = filter(None, [f'ernic,interface=verbs,id={name},addr={slot:x}',
                              properties, more(properties)])
        devices += ['-device', ','.join(given)]
    return subprocess.Popen(
        [*bare.LIMITED, str(args.seconds), args.qemu, '-accel', args.accel,
         *MACHINE.split(), *bare.TEXT, *devices, *words, '-kernel', program],
        cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=os.environ | ENVIRONMENT)


def end(run, folder, wanted):
    """wanted: the words that the program writes."""
    stderr = run.communicate()[1]
    text = (folder / 'text').read_text().split()
    assert run.returncode == 0, (f'QEMU ended with {run.returncode} in {text[-1:]}:\n'
                                 + stderr[:4000])
    assert 'Sanitizer' not in stderr, stderr[:4000]
    assert text == wanted, text[-3:]


def flood(path, ended, sent):
    """User logic that sends records without a pause, and hangs up within one."""
    while not ended.wait(0.01):
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as peer:
            peer.settimeout(0.05)
            peer.connect(str(path))
            for _ in range(random.randrange(1000)):
                peer.sendall(struct.pack('<BxHI', random.randrange(6),
                                         random.randrange(4), random.randrange(20)))
            peer.sendall(b'\3\0\2')
            sent.add(path)


def check_events(log):
    """A page that loses its event is rung once more: further ones were doorbells."""
    for name in (name for name, properties in FUNCTIONS.items() if EVENTS in properties):
        rung = log.count(f'ernic_pci_page_rung {name} ')
        lost = len(re.findall(f'ernic_pci_page_event {name} page [0-9]+ on 0', log))
        assert rung > lost, f'{name}: {rung} pages were rung, {lost} lost their event'


def run_round(args, program, folder):
    ended, sent = threading.Event(), set()
    run = start(args, program, folder, words=TRACE)
    logic = [threading.Thread(target=flood, args=(folder / name, ended, sent))
             for name in ('logic0', 'logic1')]
    for one in logic:
        one.start()
    try:
        end(run, folder, [*FUNCTIONS, 'end'])
    finally:
        ended.set()
        for one in logic:
            one.join()
    assert len(sent) == len(logic), 'user logic was not heard'
    check_events((folder / 'log').read_text())


def greatest(properties):
    return next((limits for key, limits in GREATEST.items() if key in properties), VERBS)


def connect(path):
    for _ in range(600):
        if path.exists():
            return Monitor(path)
        time.sleep(0.05)
    raise GuestError(f'no {path}')


def memory(pid):
    """Bytes of the host's memory that the child of a process has."""
    child = Path(f'/proc/{pid}/task/{pid}/children').read_text().split()[0]
    return int(Path(f'/proc/{child}/statm').read_text().split()[1]) * 4096


def ask(monitor, pid, text):
    """Seconds that the monitor took for each of its answers, with QEMU's memory then, by
    the number of words that the guest had written: an answer counts in each window that
    it was waited for in."""
    answers, words = {}, 0
    try:
        while True:
            begun = time.monotonic()
            monitor.execute('query-status')
            seconds, before = time.monotonic() - begun, words
            words = len(text.read_text().split())
            for window in range(before, words + 1):
                answers.setdefault(window, []).append((seconds, memory(pid)))
    except (GuestError, *ENDED):
        return answers


def deciles(answers):
    """The times that half of the answers in one window, 9 of 10, and all took at most."""
    times = sorted(seconds for seconds, _ in answers)
    return [times[min(int(len(times) * part), len(times) - 1)] for part in (0.5, 0.9, 1)]


def observe(args, program, folder, rows):
    """The words of a guest, and the answers of the monitor in the windows after them."""
    run = start(args, program, folder, greatest, ['-qmp', 'unix:qmp,server=on,wait=off'],
                rows)
    monitor = connect(folder / 'qmp')
    answers = ask(monitor, run.pid, folder / 'text')
    with contextlib.suppress(*ENDED):
        monitor.close()
    words = (folder / 'text').read_text().split()
    end(run, folder, words)
    assert words[-1] == 'end', words[-4:]
    assert [word for word in words if word in FUNCTIONS] == [
        name for name in rows if rows is FUNCTIONS or name not in PARTNERS]
    return words, answers


def judge_answers(name, idle, busy):
    """The line of a row, and whether the monitor answered in time."""
    idle, busy = deciles(idle), deciles(busy)
    words = [' '.join(f'{one * 1e3:.2f}' for one in window) for window in (busy, idle)]
    return (f'{name}: half, 9 of 10 and all answers in {words[0]} ms; '
            f'without accesses in {words[1]} ms',
            busy[0] <= USUAL + 3 * idle[0] and busy[1] <= SLOW + 3 * idle[1])


def judge_traffic(moved, busy):
    """The same of the rates of messages of both directions, each without and with
    accesses, and of the memory in the window with accesses."""
    grown = max(size for _, size in busy) - busy[0][1]
    return (f'rates of messages {moved}, memory grew by {grown >> 10} KiB',
            all(moved[at + 1] * SHARE >= moved[at] for at in (0, 2)) and grown <= GROWTH)


def late(args, program, folder, rows):
    """The functions beside whose accesses the monitor answered too late in a run, or
    whose traffic stopped. Before each there is a window without accesses."""
    words, answers = observe(args, program, folder, rows)
    found = {}
    for name in (word for word in words if word in FUNCTIONS):
        at = words.index(name)
        line, good = judge_answers(name, answers[at], answers[at + 1])
        if rows is TRAFFIC:
            moved = [int(word, 16) for word in words[at + 2:at + 6]]
            more, goes_on = judge_traffic(moved, answers[at + 1])
            line, good = f'{line}; {more}', good and goes_on
        print('#', line, flush=True)
        if not good:
            found[name] = line
    return found


def check_answers(args, program, folder, rows=FUNCTIONS):
    """A function is at fault if it is late in each run: the host pauses any of them."""
    found, always = [], set(rows)
    while len(found) < RUNS and always:
        found.append(late(args, program, folder / f'of-{program.name}{len(found)}', rows))
        always &= set(found[-1])
    assert not always, '\n'.join(one[name] for name in always for one in found)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--asan', action='store_const', dest='kind', const='--asan')
    parser.add_argument('--tsan', action='store_const', dest='kind', const='--tsan')
    parser.add_argument('--rounds', type=int, default=2)
    parser.add_argument('--seconds', type=int, default=SECONDS)
    args = parser.parse_args()
    args.qemu = find_qemu(*filter(None, [args.kind]))
    args.accel = TSAN_ACCEL if args.kind == '--tsan' else ACCEL
    what = 'accesses while the other processor resets and ejects'
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        race, bounds, traffic = (
            bare.build(folder / name, HERE / 'ap.S', HERE / 'second.c',
                       HERE / f'{name}.c', 'driver.c', 'mlx5.c', 'seen.c')
            for name in ('race', 'bounds', 'traffic'))
        todo = [(what, lambda n=n: run_round(args, race, folder / str(n)))
                for n in range(args.rounds)]
        if not args.kind:
            todo += [('the monitor answers beside the other processor',
                      lambda: check_answers(args, bounds, folder)),
                     ('it does beside traffic, which goes on',
                      lambda: check_answers(args, traffic, folder, TRAFFIC))]
        return checks.run(todo)


if __name__ == '__main__':
    sys.exit(main())
