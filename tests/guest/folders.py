# SPDX-License-Identifier: GPL-2.0-or-later
"""Folders of a test in /tmp, until its end. One that was killed cannot remove its own:
the next test does."""
import contextlib
import fcntl
import os
import shutil
import signal
import tempfile
import time
from pathlib import Path

LOCK = 'lock'                   # in each folder; its process holds it
MAKING = 60                     # seconds; a folder that is newer may have no lock yet
held = {}                       # the locks of the folders of this process


def make(prefix):
    remove_left(prefix)
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    # pylint: disable-next=consider-using-with
    held[folder] = open(folder / LOCK, 'w', encoding='ascii')
    fcntl.flock(held[folder], fcntl.LOCK_EX)
    return folder


def remove(folder):
    """With all that is in it. A file may be another user's: then it stays."""
    shutil.rmtree(folder, ignore_errors=True)
    if lock := held.pop(folder, None):
        lock.close()


def remove_left(prefix):
    """This user's folders that no process holds any more."""
    for lock in Path(tempfile.gettempdir()).glob(f'{prefix}*/{LOCK}'):
        with contextlib.suppress(OSError):
            found = lock.stat()
            if (found.st_uid != os.getuid()
                    or found.st_mtime + MAKING > time.time()):
                continue
            with open(lock, encoding='ascii') as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(lock.parent, ignore_errors=True)


def end_at_sigterm():
    """As at Ctrl-C: meson ends its tests by that, and soon by SIGKILL."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
