# SPDX-License-Identifier: GPL-2.0-or-later
"""Folders, verdicts and ends of tests/guest and tests/life, without a machine."""
import os
import select
import signal
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import folders
import guest
import programs
import test_shell

TESTS = Path(__file__).resolve().parents[1]
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


# As QEMU does, its child ends when it has the time to handle SIGTERM.
STOPPED = """import guest, subprocess, sys, time
child = 'import os, signal, sys, time; '
child += 'signal.signal(signal.SIGTERM, sys.exit); '
child += 'print(os.getpid(), flush=True); time.sleep(100)'
subprocess.Popen([sys.executable, '-c', child], preexec_fn=guest.die_with_parent,
                 start_new_session=True)
time.sleep(100)
"""


def test_stopped():
    """A machine that a test has stopped ends with that test."""
    with subprocess.Popen([sys.executable, '-c', STOPPED], text=True,
                          cwd=Path(guest.__file__).parent,
                          stdout=subprocess.PIPE) as parent:
        pid = int(parent.stdout.readline())
        os.kill(pid, signal.SIGSTOP)
        parent.kill()
    end_of = os.pidfd_open(pid) if Path(f'/proc/{pid}').exists() else None
    gone = end_of is None or bool(select.select([end_of], [], [], 20)[0])
    if not gone:
        os.kill(pid, signal.SIGKILL)
    assert gone


@pytest.fixture(name='ended')
def fixture_ended(tmp_path):
    """A guest whose QEMU has ended with status 0."""
    one = guest.Guest.__new__(guest.Guest)
    one.name = 'guest1'
    one.console, one.log = tmp_path / 'console', tmp_path / 'log'
    one.socket = socket.socket(socket.AF_UNIX)
    # pylint: disable-next=consider-using-with
    one.process = subprocess.Popen(['true'])
    one.process.wait()
    return one


def test_panic(ended):
    """It is found, although QEMU ends well, and no command can ask for the log."""
    text = 'Kernel panic - not syncing: Fatal exception'
    ended.console.write_text(f'[   12.0] {text}\n')
    assert ended.stop().startswith(f'guest1: {text}\n')
    with pytest.raises(AssertionError, match=text):
        programs.test_log([ended])


def test_no_panic(ended):
    """A test may let a guest end."""
    ended.console.write_text('[   12.0] reboot: Power down\n')
    assert not ended.stop()
    programs.test_log([ended])


class Fetching:
    """A guest that fetches the right file, again and again, with a status at the end."""

    def __init__(self, status):
        self.result = guest.Result(status, 'sum  -\n')

    def start(self, *_):
        return self

    def wait(self):
        return self.result

    def check(self, _):
        return self.result.output


def test_traffic():
    """One that does not end is found, although all that came before was right."""
    with test_shell.traffic([Fetching(0), Fetching(0)]):
        pass
    with pytest.raises(AssertionError, match='124'):
        with test_shell.traffic([Fetching(0), Fetching(124)]):
            pass


@pytest.mark.parametrize('error', [IndexError, FileNotFoundError, ProcessLookupError])
def test_end_of_qemu(error, monkeypatch, tmp_path):
    """QEMU may end between the last answer of its monitor and the look at its memory."""
    monkeypatch.syspath_prepend(TESTS / 'life')
    monkeypatch.syspath_prepend(TESTS / 'common')
    monkeypatch.syspath_prepend(TESTS / 'repeat')
    import test_life

    def memory(_, sizes=iter([4096, 8192])):
        if size := next(sizes, None):
            return size
        raise error
    monkeypatch.setattr(test_life, 'memory', memory)
    (tmp_path / 'text').write_text('')
    found = test_life.ask(SimpleNamespace(execute=lambda _: None), 1, tmp_path / 'text')
    assert [size for _, size in found[0]] == [4096, 8192]
