# SPDX-License-Identifier: GPL-2.0-or-later
"""The tables of tests/fuzz and tests/fuzz/qemu have all that they are for."""
import re
import runpy
from pathlib import Path

FUZZ = Path(__file__).resolve().parents[1] / 'fuzz'


def test_every_property():
    """The configurations have each property that changes the code that runs."""
    text = (FUZZ / 'qemu/configurations').read_text()
    for word in ('roce-udp=', 'netdev=', 'wire=', 'ports=', 'timing=on', 'timing-trace=',
                 'timing-profile=', 'iothread=', 'device-memory=0', 'card-memory=',
                 'shell=reconic', 'ernic-version=3.1', 'ernic-version=4.0',
                 'ernic-version=4.2', 'ernic-strict=report', 'ernic-strict=enforce',
                 'loss=', 'dump=', 'user,', 'dgram,', 'hubport,'):
        assert word in text, word


def test_every_check():
    """Each check of the harness has a target that proves it."""
    sources = ''.join(path.read_text() for path in FUZZ.glob('*.c'))
    names = set(re.findall(r'fuzz_(?:fail|break)\("([a-z0-9-]+)"', sources))
    table = runpy.run_path(str(FUZZ / 'run'))['CHECKS']
    proven = {name for checks in table.values() for name in checks.split()}
    assert names and names <= proven, names - proven
