# SPDX-License-Identifier: GPL-2.0-or-later
"""Two Linux guests with the device, and RDMA programs between them."""
import argparse
import errno
import os
import select
import signal
import socket
import subprocess
import sys
import termios
import time
import tty
from pathlib import Path
from typing import Callable, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / 'tests/guest'))

import disk                     # noqa: E402
import ernic                    # noqa: E402
import guest                    # noqa: E402
import links                    # noqa: E402
import mlx5                     # noqa: E402
import programs                 # noqa: E402
import stock                    # noqa: E402
from monitor import CACHE       # noqa: E402

# Where the machines of a running --shell are.
RUNNING = CACHE / 'demo'
LINKS = ('lab', 'netdev', 'udp')
SHOWN = LINKS[:2]
# The package qemu-ernic has this file and those that it needs, and a program of its own.
INSTALLED = not (ROOT / 'scripts/install-packages').exists()
PROGRAM = 'qemu-ernic-demo' if INSTALLED else 'scripts/demo'
MTU = 9000                      # of Ethernet, for a path MTU of 4096
ESCAPE = b'\x1d'                # Ctrl-]


class Failure(Exception):
    """Ends the demo, with the reason in a sentence."""


# ---- the interfaces ------------------------------------------------------------------

class Interface(NamedTuple):
    guests: Callable            # its machines: a class like guest.Guests
    kernels: list               # the first one is the default
    find_image: Callable        # of a kernel
    links: dict                 # by name: its class
    up: Callable                # gives the guests what they need
    outcomes: Callable          # yields (name, function that runs it) for the guests
    commands: Callable          # to try at the prompts: of guest2, then of guest1


def verbs_up(guests):
    links.up(guests, MTU)


def stock_up(guests):
    mlx5.prepare(guests)
    links.up(guests, MTU)


def verbs_outcomes(guests):
    yield 'ibv_devinfo', lambda: programs.devinfo(guests[0])
    for program in programs.PROGRAMS:
        yield program.name, lambda program=program: programs.run(guests, program)


def verbs_commands(guests):
    index = [programs.gid_index(one, links.ipv4(n)) for n, one in enumerate(guests)]
    return f'ibv_rc_pingpong -g {index[1]}', f'ibv_rc_pingpong -g {index[0]} guest2'


def ernic_commands(_):
    return 'ernic-user serve', f'ernic-user write {links.ipv4(1)} --count 200 --batch 63'


def classes(module):
    """The links of a module, by name."""
    return {kind.name: kind for kind in (module.Lab, module.Netdev, module.Udp)}


OURS = (guest.Guests, ['6.1', '6.12'], guest.find_image)
INTERFACES = {
    'verbs': Interface(*OURS, classes(links), verbs_up, verbs_outcomes, verbs_commands),
    'ernic': Interface(*OURS, classes(ernic), ernic.up, ernic.shown, ernic_commands),
    'stock': Interface(stock.StockGuests, ['6.12-cloud', *stock.KERNELS],
                       stock.find_image, classes(mlx5), stock_up, verbs_outcomes,
                       verbs_commands),
    'disk': Interface(disk.DiskGuests, list(disk.RELEASES), disk.find_image,
                      classes(mlx5), disk.up, verbs_outcomes, verbs_commands)}


# ---- the show -------------------------------------------------------------------

def say(text='', end='\n'):
    print(text, end=end, flush=True)


def boot(interface, link, image, shell=False):
    say(f'Booting two guests, joined by the {link} link ... ', end='')
    guests = interface.guests(2, interface.links[link](), image, shell,
                              cold='the first run has to be short' if INSTALLED else '')
    try:
        interface.up(guests)
    except BaseException:
        guests.close()
        raise
    say(f'{max(guests.boot_seconds):.1f} s')
    return guests


def show(interface, link, image, rows):
    """Run everything on a link; adds rows to the table."""
    with boot(interface, link, image) as guests:
        for name, run in interface.outcomes(guests):
            say(f'  {name:18}', end='')
            outcome = run()
            if outcome.reason:
                say(f'FAILED: {outcome.reason}')
                say('    ' + outcome.output.strip().replace('\n', '\n    '))
            else:
                say(outcome.figure)
            rows.append((name, link, 'failed' if outcome.reason else 'ok',
                         outcome.reason or outcome.figure))


def table(rows):
    say()
    for name, link, result, figure in [('program', 'link', 'result', 'figure'), *rows]:
        say(f'{name:18}{link:8}{result:8}{figure}')
    failed = sum(row[2] != 'ok' for row in rows)
    say(f'\n{len(rows) - failed} of {len(rows)} worked.'
        + ('' if failed else f' {PROGRAM} --shell leaves you in the guests.'))
    return 1 if failed else 0


def demo(interface, names, image):
    rows = []
    for name in names:
        try:
            show(interface, name, image, rows)
        except guest.GuestError as e:
            say(f'\n{e}')
            rows.append(('(the guests)', name, 'failed', str(e).splitlines()[0]))
    return table(rows)


# ---- prompts --------------------------------------------------------------------

def pump(console):
    """Terminal to console and back, until Ctrl-] or the end of either."""
    while True:
        ready = select.select([0, console], [], [])[0]
        if console in ready:
            if not (data := console.recv(65536)):
                return
            os.write(1, data)
        if 0 in ready:
            keys, escape, _ = os.read(0, 1024).partition(ESCAPE)
            console.sendall(keys)
            if escape or not keys:
                return


def prompt(folder, number):
    """The prompt of a guest in this terminal."""
    saved = termios.tcgetattr(0)
    with socket.socket(socket.AF_UNIX) as console:
        try:
            console.connect(str(folder / f'guest{number}.serial'))
        except OSError:
            raise Failure('that guest does not run (any more)') from None
        say(f'-- guest{number}; Ctrl-] leaves')
        console.sendall(b'\n')
        try:
            tty.setraw(0)
            pump(console)
        finally:
            termios.tcsetattr(0, termios.TCSADRAIN, saved)
    say()


def attach(number):
    if not RUNNING.exists():
        raise Failure(f'no {PROGRAM} --shell runs')
    if not sys.stdin.isatty():
        raise Failure('--attach needs a terminal')
    prompt(RUNNING.resolve(), number)
    return 0


def runs():
    """A --shell that was killed leaves its folder, with sockets that nobody has."""
    with socket.socket(socket.AF_UNIX) as console:
        console.setblocking(False)
        error = console.connect_ex(str(RUNNING.resolve() / 'guest1.serial'))
    return error not in (errno.ECONNREFUSED, errno.ENOENT)


def shell(interface, link, image):
    if runs():
        raise Failure(f'a {PROGRAM} --shell runs already; --attach 1 goes there')
    with boot(interface, link, image, shell=True) as guests:
        RUNNING.unlink(missing_ok=True)
        RUNNING.symlink_to(guests.folder)
        try:
            first, then = interface.commands(guests)
            say('The guests know each other as guest1 and guest2; try in guest2:\n'
                f'    {first}\n'
                'and then in guest1:\n'
                f'    {then}\n'
                f'In a second terminal, {PROGRAM} --attach 2 gives the other prompt.')
            if sys.stdin.isatty():
                prompt(guests.folder, 1)
            else:
                say('No terminal here: the guests run until Ctrl-C.')
                while all(one.process.poll() is None for one in guests):
                    time.sleep(1)
        finally:
            RUNNING.unlink(missing_ok=True)
    say('The guests are gone.')
    return 0


# ---- command line ---------------------------------------------------------------

def prepare(interface, kernel):
    """Install and build whatever is missing; return the guests' image."""
    if not INSTALLED:
        subprocess.run([ROOT / 'scripts/install-packages'], check=True)
        say('Building QEMU with the device, unless it is there ...')
        os.environ['QEMU'] = guest.find_qemu()
    guest.check_qemu(guest.find_qemu())
    say('Building the guest image, unless it is there ...')
    return interface.find_image(kernel)


def main():
    parser = argparse.ArgumentParser(prog=PROGRAM, description=__doc__)
    kinds = ['stock'] if INSTALLED else ['ours', 'stock', 'disk']
    parser.add_argument('--guest', choices=kinds, default=kinds[0],
                        help="stock: guests of Debian's packages alone, whose mlx5 driver"
                        ' drives the device; disk: the same, installed on a disk from'
                        ' which they boot; ours: with the driver of this project')
    parser.add_argument('--interface', choices=['verbs', 'ernic'], default='verbs',
                        help="verbs: Debian's RDMA programs; ernic: a program that"
                        " drives AMD's Embedded RDMA NIC's registers (default: verbs)")
    parser.add_argument('--link', choices=LINKS,
                        help='lab, everything through shared memory; netdev, through a'
                        ' netdev of QEMU; udp, RoCEv2 through UDP sockets of the host'
                        f' (default: {" and ".join(SHOWN)})')
    parser.add_argument('--kernel', choices=stock.KERNELS,
                        help='of the guests (default: 6.1, with --guest stock'
                        ' 6.12-cloud, with --guest disk 6.12); guests of ours have 6.1'
                        ' or 6.12, those with a disk also testing')
    parser.add_argument('--shell', action='store_true',
                        help='no programs: a prompt in each guest')
    parser.add_argument('--attach', type=int, choices=[1, 2],
                        help='in a second terminal: that guest of a --shell')
    options = parser.parse_args()
    if options.attach:
        return attach(options.attach)
    if options.guest != 'ours' and options.interface != 'verbs':
        parser.error(f'--guest {options.guest} has no other interface')
    name = options.interface if options.guest == 'ours' else options.guest
    interface = INTERFACES[name]
    kernel = options.kernel or interface.kernels[0]
    if kernel not in interface.kernels:
        parser.error(f'--guest {options.guest} has no kernel {kernel}')
    image = prepare(interface, kernel)
    if options.shell:
        return shell(interface, options.link or LINKS[0], image)
    return demo(interface, [options.link] if options.link else SHOWN, image)


if __name__ == '__main__':
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print(f'\n{PROGRAM}: stopped; nothing is left running', file=sys.stderr)
        sys.exit(130)
    except (Failure, OSError, guest.GuestError, subprocess.CalledProcessError) as e:
        sys.exit(f'{PROGRAM}: {e}')
