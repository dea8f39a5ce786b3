# SPDX-License-Identifier: GPL-2.0-or-later
"""tests/mutants/run: when a defect counts as found."""
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

run = SimpleNamespace(**runpy.run_path(
    str(Path(__file__).resolve().parents[1] / 'mutants/run')))
OLD, NEW = 'good\n', 'bad\n'
MESON = """project('x')
sh = find_program('sh')
test('quick', sh, args: ['-c', 'exit 1'], suite: 's')
test('slow', sh, args: ['-c', 'exec sleep 100'], suite: 's', timeout: 1)
test('guests', sh, args: ['-c', 'echo 1..2; echo ok 1 - guests/a; exec sleep 100'],
     suite: 'guest', protocol: 'tap', timeout: 1)
"""


def found(folder, with_defect, without=True):
    """Whether a defect counts as found. A result of the test: it passes, or an
    exception."""
    class Copy:
        root = folder

        def passes(self, *_):
            text = (folder / 'file').read_text()
            result = {OLD: without, NEW: with_defect}[text]
            if isinstance(result, Exception):
                raise result
            return result

    (folder / 'file').write_text(OLD)
    try:
        run.check(Copy(), run.Mutant('name', ('unit', 'test'), 'file', OLD, NEW))
        return True
    except Exception:           # pylint: disable=broad-exception-caught
        return False
    finally:
        assert (folder / 'file').read_text() == OLD


def test_found(tmp_path):
    assert found(tmp_path, False)
    assert not found(tmp_path, True)
    assert not found(tmp_path, run.Broken())


def test_late(tmp_path):
    """The test does not end: because of the defect, or because of the host."""
    assert found(tmp_path, run.Late())
    assert not found(tmp_path, run.Late(), run.Late())
    assert not found(tmp_path, run.Late(), False)


def test_meson(tmp_path):
    """A test that fails, one that does not end, and one that hangs after the test of
    interest, or before."""
    (tmp_path / 'meson.build').write_text(MESON)
    copy = run.Copy(tmp_path)
    assert not copy.passes('s', 'quick')
    with pytest.raises(run.Late):
        copy.passes('s', 'slow')
    assert copy.passes('guest', 'guests/a')
    with pytest.raises(run.Late):
        copy.passes('guest', 'guests/b')


def test_command(tmp_path):
    assert run.Copy(tmp_path).run('sleep', '100', timeout=0.1)[0] == run.LATE
