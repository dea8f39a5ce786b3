# SPDX-License-Identifier: GPL-2.0-or-later
"""The cache of guest/image/packages.py: each folder is made once, by one process
that others wait for only if they want the same; old ones go, half ones do not stay."""
import os
import subprocess
import sys
import threading
from pathlib import Path
from unittest import mock

import pytest

import monitor
import saved

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'guest/image'))
import packages                 # noqa: E402


def test_a_folder_is_made_once(tmp_path):
    made = []
    for _ in range(2):
        assert packages.once(tmp_path / 'image-a', made.append) == tmp_path / 'image-a'
    assert made == [tmp_path / 'image-a']


def test_who_wants_another_folder_does_not_wait(tmp_path):
    made = []

    def make(folder):
        packages.once(tmp_path / 'image-b', made.append)
        again = threading.Thread(target=packages.once, args=(folder, made.append))
        again.start()
        again.join(0.2)
        assert again.is_alive()
        waits.append(again)

    waits = []
    packages.once(tmp_path / 'image-a', make)
    waits[0].join()
    assert made == [tmp_path / 'image-b']


def test_the_folders_that_were_used_last_stay(tmp_path):
    names = [f'image-{n}' for n in range(packages.KEPT + 2)]
    for seconds, name in enumerate(['other-image-0', *names]):
        mark = packages.once(tmp_path / name, lambda folder: None) / '.complete'
        os.utime(mark, (seconds, seconds))
        packages.once(tmp_path / names[0], lambda folder: None)
    left = {folder.name for folder in tmp_path.iterdir() if folder.is_dir()}
    assert left == {'other-image-0', names[0], *names[3:]}


FULL = ['dd', 'if=/dev/zero', 'of=/dev/full', 'count=1']


def fail(*_):
    packages.run(FULL)


def test_half_a_folder_does_not_stay(tmp_path, monkeypatch):
    """A full disk is an error of its own; nothing is left that a later run believes."""
    monkeypatch.setattr(packages, 'CACHE', tmp_path)
    monkeypatch.setenv('LC_ALL', 'de_DE.UTF-8')
    for make in (lambda: packages.once(tmp_path / 'image-a', fail),
                 lambda: packages.chosen('kernel', fail)):
        with pytest.raises(OSError, match=f'No space left on device: .{tmp_path}.$'):
            make()
    assert all(file.suffix == '.lock' for file in tmp_path.iterdir())
    (tmp_path / 'kernel.new').symlink_to('/dev/full')
    with pytest.raises(OSError, match='No space'):
        packages.chosen('kernel', lambda: ['linux'])
    assert not (tmp_path / 'kernel').exists()


def test_half_a_state_does_not_stay(tmp_path):
    """Of a machine that tests/guest/saved.py saves."""
    kind = mock.MagicMock()
    kind.return_value.monitor.return_value.migrated.side_effect = monitor.GuestError
    (tmp_path / 'state.new').touch()
    with pytest.raises(monitor.GuestError):
        saved.save(kind, 'qemu', 'image', 512, 1, tmp_path / 'state')
    assert not list(tmp_path.iterdir())


def test_full_disk(tmp_path):
    """guest/image/build.py says so in one line."""
    (tmp_path / 'apt-get').write_text('#!/bin/sh\nexec ' + ' '.join(FULL) + '\n')
    (tmp_path / 'apt-get').chmod(0o755)
    script = Path(packages.__file__).with_name('build.py')
    done = subprocess.run(
        [script, '--stock', '6.12'], text=True, capture_output=True, check=False,
        env={**os.environ, 'XDG_CACHE_HOME': str(tmp_path / 'cache'),
             'PATH': f'{tmp_path}:{os.environ["PATH"]}'})
    assert done.returncode == 1 and not done.stdout
    assert done.stderr == ('guest/image: No space left on device: '
                           f'{tmp_path}/cache/rdma-ernic/image\n')
