# SPDX-License-Identifier: GPL-2.0-or-later
"""QEMU's machine protocol (QMP), by the Python package of QEMU's source."""
import asyncio
import functools
import importlib
import os
import sys
import time
from pathlib import Path

SECONDS = 30                    # for an answer
# QEMU may send an event before its greeting, or before the end of the negotiation.
CONNECTS = 10
CACHE = Path(os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache') / 'rdma-ernic'


class GuestError(Exception):
    """A guest did not start or went away, or a command failed."""


@functools.cache
def package():
    """qemu.qmp of the source that QEMU was built from, or else of the package qemu-ernic
    or of the cached source."""
    places = [Path(os.environ.get('QEMU', '')).absolute().parent.parent / 'qemu/python',
              Path(__file__).resolve().parents[2] / 'qemu/python',
              *sorted(CACHE.glob('source-*/python'))]
    place = next((place for place in places if (place / 'qemu/qmp').exists()), None)
    if not place:
        raise GuestError('no python/qemu/qmp beside QEMU or in the cache of '
                           'scripts/qemu-tree')
    sys.path.append(str(place))
    importlib.import_module('qemu.qmp.legacy')
    return importlib.import_module('qemu.qmp')


class Monitor:
    """A connection to the socket at path. Each has an event loop of its own, so that
    threads may use different ones."""

    def __init__(self, path):
        qmp = package()
        asyncio.set_event_loop(asyncio.new_event_loop())
        for left in reversed(range(CONNECTS)):
            self.protocol = qmp.legacy.QEMUMonitorProtocol(str(path))
            self.protocol.settimeout(SECONDS)
            try:
                self.protocol.connect()
                break
            except qmp.ConnectError as e:
                if not left or isinstance(e.exc, (OSError, EOFError)):
                    raise ConnectionError(f'{path}: {e}') from e

    def execute(self, command, **arguments):
        """Run a command; the value that it returns."""
        try:
            return self.protocol.cmd(command, **arguments)
        except (package().QMPError, asyncio.TimeoutError) as e:
            raise GuestError(f'{command}: {e or "no answer"}') from e

    def human(self, line):
        return self.execute('human-monitor-command', **{'command-line': line})

    def settimeout(self, seconds):
        self.protocol.settimeout(seconds)

    def migrated(self, seconds=600):
        """Wait until the state has been saved or loaded."""
        end = time.monotonic() + seconds
        while (found := self.execute('query-migrate')).get('status') != 'completed':
            if found.get('status') == 'failed' or time.monotonic() > end:
                raise GuestError(f'migration: {found}')
            time.sleep(0.02)

    def close(self):
        self.protocol.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
