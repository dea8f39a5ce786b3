# SPDX-License-Identifier: GPL-2.0-or-later
"""The verdict and the table of the soaks: tests/soak/report.py. Meson has all events."""
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

SOAK = Path(__file__).resolve().parents[1] / 'soak'
sys.path.insert(0, str(SOAK))   # before the other report.py
import report                   # noqa: E402

ROW = SimpleNamespace(what='flap', interface='verbs', link='UDP')
MIB = 1 << 10                   # in KiB


def result(samples, rounds=10, verified=100, full=10, times=10):
    """times: how often each sample is taken."""
    one = report.Result(ROW, rounds, full)
    one.samples = [report.Sample(memory, code[0] if code else 0, files)
                   for memory, files, *code in samples for _ in range(times)]
    one.rounds, one.verified = rounds, verified
    return one


def errors(one):
    one.judge()
    return one.errors


def test_flat():
    """Memory that fills at the start, and changes a little later, has not grown."""
    samples = [(20 * MIB, 5), (60 * MIB, 10)] + 7 * [(100 * MIB, 10)]
    assert not errors(result(samples + [(103 * MIB, 11)]))


def test_grows():
    memory = [((100 + 5 * n) * MIB, 10) for n in range(10)]
    files = [(100 * MIB, 10 + n) for n in range(10)]
    assert 'memory grew' in errors(result(memory))[0]
    assert 'open files grew' in errors(result(files))[0]


def test_short():
    """In a row of a few rounds memory may fill by more."""
    first = (100 * MIB, 10)
    for last, good in ((111, True), (113, False)):
        for times, settled in ((1, False), (30, True)):
            found = errors(result([first, (last * MIB, 10)], times=times))
            assert bool(found) != (good and not settled), (last, times, found)


def test_code():
    """TCG's code may grow, and memory by a fifth of it; the two are separate."""
    at = [(100 * MIB, 10, 200 * MIB)] * 5
    assert not errors(result(at + [(104 * MIB, 10, 300 * MIB)]))
    assert not errors(result(at + [(118 * MIB, 10, 300 * MIB)]))
    assert 'memory grew' in errors(result(at + [(126 * MIB, 10, 300 * MIB)]))[0]
    assert 'memory grew' in errors(result(at + [(106 * MIB, 10, 200 * MIB)]))[0]
    smaps = ('7f0a20000000-7f0a5ffff000 rwxp 00000000 00:00 0 \n'
             'Rss:     900 kB\nAnonymous:     800 kB\nVmFlags: rd wr ex mr\n'
             '559db1df5000-559db2129000 rw-p 00000000 00:00 0   [heap]\n'
             'Rss:     300 kB\nAnonymous:     200 kB\nVmFlags: rd wr mr\n')
    assert report.anonymous(smaps) == (200, 800)


def test_end():
    """Objects or bytes are left; no round, or no message that was verified."""
    for name, value, error in (('left', 1, '1 objects and 0 bytes are left'),
                               ('bytes', 64, '0 objects and 64 bytes are left'),
                               ('rounds', 0, 'no round ended'),
                               ('verified', 0, 'nothing was verified')):
        one = result([(1, 1)])
        setattr(one, name, value)
        assert errors(one) == [error]


def test_used():
    """Processes that were killed have moved data, most of them."""
    import linux
    linux.check_used(18, 20)
    with pytest.raises(linux.Wrong, match='only 0 of 20'):
        linux.check_used(0, 20)


def test_table():
    """A reduced number of rounds shows the full one; an error is counted."""
    full, reduced = result([(MIB, 1)]), result([(MIB, 1)], rounds=3)
    reduced.errors = ['wrong']
    for one in full, reduced:
        one.judge()
    lines = report.table('today', [full, reduced])
    assert lines[0] == 'today' and '| 10 ' in lines[4] and ' of ' not in lines[4]
    assert '| 3 of 10 ' in lines[5] and '| 1      |' in lines[5], lines[5]


def test_sample():
    """A sample adds up two processes."""
    one, two = report.sample(['self']), report.sample(['self', 'self'])
    assert one.memory > 1000 and one.files > 2
    assert two.memory > 1.5 * one.memory and two.files >= 2 * one.files - 2


def test_events():
    rows = subprocess.run([SOAK / 'run', '--long', '--list'], check=True, text=True,
                          stdout=subprocess.PIPE).stdout.splitlines()
    text = (SOAK / 'meson.build').read_text(encoding='utf-8')
    assert set(re.findall(r"^    '(.+)': \d+", text, re.M)) == {
        'self-test', *(row.rsplit(' ', 2)[0] for row in rows)}
