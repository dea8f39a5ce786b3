# SPDX-License-Identifier: GPL-2.0-or-later
"""Folders of tests/guest, without a machine."""
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import folders

PREFIX = f'ernic-test-{os.getpid()}.'
# Makes a folder, says its name, and removes it at its end.
OWNER = f"""import folders, time
folders.end_at_sigterm()
folder = folders.make('{PREFIX}')
try:
    print(folder, flush=True)
    time.sleep(100)
finally:
    folders.remove(folder)
"""


@pytest.fixture(name='owner')
def fixture_owner():
    """Starts a process with a folder; both."""
    all_of_them = []

    def start():
        # pylint: disable-next=consider-using-with
        process = subprocess.Popen([sys.executable, '-c', OWNER], text=True,
                                   cwd=Path(folders.__file__).parent,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        all_of_them.append(process)
        return process, Path(process.stdout.readline().strip())
    yield start
    for process in all_of_them:
        process.kill()
        process.communicate()


def old(folder):
    os.utime(folder / folders.LOCK, (0, 0))


def end(process, number):
    process.send_signal(number)
    process.wait(60)


def test_ended(owner):
    """By SIGTERM: its folder goes."""
    process, folder = owner()
    assert folder.is_dir()
    end(process, signal.SIGTERM)
    assert not folder.exists()


def test_killed(owner):
    """The next one removes its folder, and none that has an owner or is new."""
    (killed, left), (_, used), (other, new) = (owner() for _ in range(3))
    for process, folder in (killed, left), (other, new):
        end(process, signal.SIGKILL)
        assert folder.is_dir()
    old(left)
    old(used)
    _, last = owner()
    assert not left.exists() and used.is_dir() and new.is_dir() and last.is_dir()
    old(new)
    folders.remove_left(PREFIX)
    assert not new.exists()
