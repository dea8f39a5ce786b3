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
sys.path.insert(0, str(HERE.parent / 'common'))
from find_qemu import find_qemu                     # noqa: E402

REPEAT = HERE.parent / 'repeat'
CFLAGS = ('-m32 -march=i686 -O2 -Wall -Wextra -Werror -ffreestanding -fno-pie -static'
          ' -fno-stack-protector -fcf-protection=none -mgeneral-regs-only -nostdlib'
          ' -fno-asynchronous-unwind-tables -no-pie -Wl,--build-id=none')
MACHINE = ('-M pc -m 64 -smp 2 -nodefaults -display none'
           ' -chardev file,id=text,path=text -device isa-debugcon,chardev=text'
           ' -object iothread,id=io0 -device ernic-wire,id=w0,ports=4')
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


def build(folder):
    """Builds the guest program; returns its path."""
    program = folder / 'race'
    sources = [HERE / 'ap.S', HERE / 'race.c', REPEAT / 'start.S', REPEAT / 'io.c',
               REPEAT / 'seen.c']
    subprocess.run(['gcc', *CFLAGS.split(), '-I', HERE.parent.parent / 'include',
                    '-I', REPEAT, '-T', REPEAT / 'guest.ld', '-o', program, *sources],
                   check=True)
    return program


def run_round(args, program, folder):
    folder.mkdir()
    devices = []
    for name, properties in FUNCTIONS.items():
        devices += ['-device', f'ernic,id={name}' + (properties and f',{properties}')]
    run = subprocess.run(
        ['timeout', '-s', 'KILL', str(args.seconds), args.qemu,
         '-accel', args.accel, *MACHINE.split(), *devices, '-kernel', program],
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
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        program = build(Path(name))
        print(f'1..{args.rounds}')
        for number in range(1, args.rounds + 1):
            what = f'{number} - accesses while the other processor resets and ejects'
            try:
                run_round(args, program, Path(name) / str(number))
                print(f'ok {what}', flush=True)
            except AssertionError as e:
                failed += 1
                print(f'not ok {what}')
                print('\n'.join(f'# {line}' for line in str(e).splitlines()), flush=True)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
