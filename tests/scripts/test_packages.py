# SPDX-License-Identifier: GPL-2.0-or-later
"""The cache of guest/image/packages.py: each folder is made once, by one process
that others wait for only if they want the same; and old ones go."""
import os
import sys
import threading
from pathlib import Path

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
