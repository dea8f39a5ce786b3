# SPDX-License-Identifier: GPL-2.0-or-later
"""The prompts of scripts/demo --shell, with guests that boot for it."""
import contextlib
import signal
import socket
import subprocess
import time

import pytest

import guest
import mlx5
import stock
from monitor import CACHE
from suite import Suite, named

READY = 'gives the other prompt.'


def suites():
    yield Suite('demo-shell', lambda: contextlib.nullcontext([]),
                [*(named(kind, check_prompts, kind) for kind in ('ours', 'stock')),
                 test_panic])


class Broken(stock.StockGuest):
    words = 'rdinit=/nowhere '


class BrokenGuests(stock.StockGuests):
    kind = Broken


def test_panic(_):
    """A guest that does not start says why in one line."""
    with pytest.raises(guest.GuestError, match='^guest1: Kernel panic - not syncing: '):
        BrokenGuests(1, mlx5.Lab(), stock.find_image('6.12-cloud'), cold='it panics')


def said(console, *texts):
    """Wait for these on a guest's console."""
    seen, end = '', time.monotonic() + guest.SECONDS
    while not all(text in seen for text in texts):
        console.settimeout(end - time.monotonic())
        seen += console.recv(4096).decode(errors='replace')


def check_prompts(_, kind):
    """Both guests execute what is typed; SIGTERM ends them."""
    with subprocess.Popen([guest.ROOT / 'scripts/demo', '--guest', kind, '--shell'],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True) as demo:
        try:
            output = ''
            for line in demo.stdout:
                output += line
                if READY in line:
                    break
            assert READY in output, output
            for n in 1, 2:
                with socket.socket(socket.AF_UNIX) as console:
                    console.connect(str(CACHE / f'demo/guest{n}.serial'))
                    # The echo of the line has quotes, the answer has none.
                    console.sendall(b"\necho typ''ed; hostname\n")
                    said(console, 'typed', f'guest{n}')
            demo.send_signal(signal.SIGTERM)
            output += demo.stdout.read()
            assert 'nothing is left running' in output, output
            assert demo.wait(guest.SECONDS) != 0 and not (CACHE / 'demo').exists()
        finally:
            demo.kill()
