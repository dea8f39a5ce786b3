#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest resets and ejects functions that its other processor accesses. Prints TAP.

usage: test_life.py [--asan | --tsan] [--rounds N] [--seconds N]

Each round is a machine with a function for each row of race.c's table. It fails if QEMU
ends by itself, or if a sanitizer reports an error. QEMU names the program; --asan and
--tsan build one with that sanitizer.
"""
import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / 'common'), str(HERE.parent / 'repeat')]
import bare                                         # noqa: E402
from find_qemu import find_qemu                     # noqa: E402

MACHINE = ('-M pc -m 64 -smp 2 -object iothread,id=io0'
           ' -device ernic-wire,id=w0,ports=4')
ACCEL = 'tcg,thread=multi'
# The record of calls of the thread sanitizer grows each time that a processor leaves a
# block for an access.
TSAN_ACCEL = ACCEL + ',one-insn-per-tb=on'
SECONDS = 180                           # of a round, on the slowest of hosts

UDP = 'roce-udp=127.0.0.1:0'
MAIN_LOOP = 'engine-thread=off'
PG332 = 'ernic-version=3.1'
MLX5 = 'personality=mlx5'
SHELL = 'shell=reconic,card-memory=1M'
# The properties of the function that each row of race.c accesses, in its order.
FUNCTIONS = {
    'doorbell': '', 'doorbell-iothread': f'iothread=io0,{UDP}',
    'doorbell-timing': 'timing=on', 'cmd_pi': MAIN_LOOP,
    'cmd_pi-iothread': f'iothread=io0,{UDP}',
    'control': 'wire=w0', 'control-udp': UDP, 'status': '', 'status-timing': 'timing=on',
    'tx_pi': 'wire=w0', 'tx_pi-udp': UDP, 'rx_arm': '', 'pg332': PG332,
    'pg332-doorbell': f'{PG332},timing=on', 'pg332-side': PG332, 'shell': SHELL,
    'shell-reset': SHELL, 'shell-pg332': SHELL, 'shell-qdma': SHELL,
    'card-memory': f'{PG332},card-memory=1M', 'device-memory': '', 'msix-table': '',
    'msix-pending': '', 'command': '', 'reset': MAIN_LOOP,
    'mlx5-command': f'{MLX5},wire=w0',
    'mlx5-command-iothread': f'{MLX5},iothread=io0,{UDP}', 'mlx5-interface': MLX5,
    'mlx5-blueflame': f'{MLX5},{UDP}', 'mlx5-health': MLX5,
}


def run_round(args, program, folder):
    folder.mkdir()
    devices = []
    for name, properties in FUNCTIONS.items():
        devices += ['-device', f'ernic,id={name}' + (properties and f',{properties}')]
    run = subprocess.run(
        ['timeout', '-s', 'KILL', str(args.seconds), args.qemu, '-accel', args.accel,
         *MACHINE.split(), *bare.TEXT, *devices, '-kernel', program],
        cwd=folder, text=True, capture_output=True, check=False,
        env=os.environ | {'ASAN_OPTIONS': 'detect_leaks=0'})
    text = (folder / 'text').read_text().split()
    assert run.returncode == 0, (f'QEMU ended with {run.returncode} in {text[-1:]}:\n'
                                 + run.stderr[:4000])
    assert 'Sanitizer' not in run.stderr, run.stderr[:4000]
    assert text == [*FUNCTIONS, 'end'], text[-3:]


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
        program = bare.build(folder / 'race', HERE / 'ap.S', HERE / 'race.c', 'seen.c')
        return bare.run([(what, lambda n=n: run_round(args, program, folder / str(n)))
                         for n in range(args.rounds)])


if __name__ == '__main__':
    sys.exit(main())
