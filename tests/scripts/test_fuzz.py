# SPDX-License-Identifier: GPL-2.0-or-later
"""The tables of tests/fuzz and tests/fuzz/qemu have all that they are for, and a fuzzer
that executes nothing fails."""
import re
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

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


@pytest.mark.parametrize('kind, says', (
    ('Run', 'stat::number_of_executed_units: {}'), ('Replay', '{} executions')))
def test_executions(tmp_path, kind, says):
    """A run of a program that succeeds, but has not executed each input, has failed."""
    program = tmp_path / 'program'
    options = SimpleNamespace(work=tmp_path, program=program, seconds=0, seed=1, number=0)
    row = ('name', 'verbs', '')
    kind = runpy.run_path(str(FUZZ / 'qemu/run'))[kind]
    full = len(list((FUZZ / 'qemu/corpus/verbs').iterdir()))
    for executed, ok in ((full, True), (full - 1, False), (1, False), (0, False),
                         ('no', False)):
        text = says.format(executed)
        program.write_text(f'#!/bin/sh\necho "{text}" | tee /dev/stderr\n')
        program.chmod(0o755)
        assert kind(options, row).execute().ok == ok, text
    row = ('name', '', '')                      # without a corpus
    program.write_text(f'#!/bin/sh\necho "{says.format(0)}" | tee /dev/stderr\n')
    assert not kind(options, row).execute().ok
