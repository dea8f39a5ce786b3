# SPDX-License-Identifier: GPL-2.0-or-later
"""Inputs of QEMU's fuzzer: the bytes of a script, the translation of a qtest's log, and
the tables of tests/fuzz and tests/fuzz/qemu."""
import re
import runpy
import subprocess
from pathlib import Path

import pytest

import script

ROOT = Path(__file__).resolve().parents[2]
FUZZ = ROOT / 'tests/fuzz/qemu'

LOG = b'''# starting QEMU: exec qemu-system-x86_64 -M pc -device ernic,id=a,addr=05.0 %s
[R +0.1] outl 0xcf8 0x80002818
[R +0.1] outl 0xcfc 0xffffffff
[R +0.1] outl 0xcfc 0xe0100000
[R +0.1] outl 0xcf8 0x80002804
[R +0.1] outw 0xcfc 0x6
[R +0.1] write 0x1000 0x2 0xabcd
[R +0.1] memset 0x2000 0x40 0x5
[S +0.1] OK
[R +0.1] write 0xe0100010 0x4 0x01000000
[R +0.1] read 0xe010000c 0x4
'''
POLL = b'[R +0.1] clock_step 1000\n' * 10 + b'[R +0.1] write 0xe0100044 0x4 0x02000000\n'
MONITOR = (b'{"execute": "qom-set", "arguments": {"path": "a0", "property": "add-peer", '
           b'"value": "10.0.0.1=127.0.0.1:4000"}}\n{"execute": "migrate"}\n')


def translate(folder, log):
    """The operations that the log becomes, and its interface. There is a second input,
    which goes on where this one ends."""
    (folder / 'log').write_bytes(log)
    subprocess.run([FUZZ / 'from-qtest.py', folder / 'out', folder / 'log'], check=True)
    found = sorted((folder / 'out').glob('*/*'), key=lambda path: path.stat().st_size)
    assert len(found) == 2 and found[1].read_bytes().startswith(found[0].read_bytes())
    return found[0].read_bytes().split(script.SEPARATOR), found[0].parent.name


def expected():
    s = script.Script()
    s.config_write(0, 4, 6, 2)
    s.ram(0x1000, b'\xab\xcd')
    s.fill(0x2000, 0x40, 5)
    s.write(0, 2, 0x10, 1)
    s.read(0, 2, 0xc)
    return s


def test_log_to_script(tmp_path):
    """Accesses become operations on a device, a BAR and an offset; sizing does not."""
    ops, interface = translate(tmp_path, LOG % b'')
    assert ops == expected().ops, ops
    assert interface == 'verbs'


def test_polls(tmp_path):
    """Of equal polls a few remain, and the time of the others."""
    ops, _ = translate(tmp_path, LOG % b'' + POLL)
    s = expected()
    for ns in (1000, 1000, 1000, 1000, 6000):
        s.step(ns)
    s.write(0, 2, 0x44, 2)
    assert ops == s.ops, ops


def test_monitor(tmp_path):
    """Commands of the user become operations; the port is that of the device."""
    ops, _ = translate(tmp_path, LOG % b'' + MONITOR)
    s = expected()
    s.peer(0, '10.0.0.1', 0)
    s.migrate(0)
    assert ops == s.ops, ops


@pytest.mark.parametrize('words, interface', [(b'ernic-version=4.0', 'pg332'),
                                         (b'shell=reconic', 'reconic')])
def test_interfaces(tmp_path, words, interface):
    """The properties decide which folder an input belongs to."""
    assert translate(tmp_path, LOG % (b'-global ernic.' + words))[1] == interface


def test_separators():
    """No operand splits an operation, and a limit cuts between operations."""
    s = script.Script()
    s.ram(0, b'xxFUZZyy')
    s.reset(0)
    assert len(s.pack().split(script.SEPARATOR)) == 2
    assert s.pack(limit=len(s.ops[0]) + 1) == s.ops[0].replace(b'FUZZ', b'FUZz')


def test_numbers_of_operations():
    """The table of ops.c has the operations of script.py in their order."""
    text = (FUZZ / 'ops.c').read_text()
    table = re.search(r'ops\[\]\)\(.*?\{(.*?)\}', text, re.S).group(1)
    for number, name in enumerate(re.findall(r'op_(\w+)', table)):
        assert getattr(script, name.upper()) == number, name


def test_every_property():
    """The configurations have each property that changes the code that runs."""
    text = (FUZZ / 'configurations').read_text()
    for word in ('roce-udp=', 'netdev=', 'wire=', 'ports=', 'timing=on', 'timing-trace=',
                 'timing-profile=', 'iothread=', 'device-memory=0', 'card-memory=',
                 'shell=reconic', 'ernic-version=3.1', 'ernic-version=4.0',
                 'ernic-version=4.2', 'ernic-strict=report', 'ernic-strict=enforce',
                 'loss=', 'dump=', 'user,', 'dgram,', 'hubport,'):
        assert word in text, word
    for line in text.splitlines():
        if line and not line.startswith('#'):
            _, folders, _ = line.split('|')
            for folder in folders.split():
                assert any((FUZZ / 'corpus' / folder).iterdir()), folder


def test_every_check():
    """Each check of the harness has a target that proves it."""
    sources = ''.join(path.read_text() for path in FUZZ.parent.glob('*.c'))
    names = set(re.findall(r'fuzz_(?:fail|break)\("([a-z0-9-]+)"', sources))
    table = runpy.run_path(str(FUZZ.parent / 'run'))['CHECKS']
    proven = {name for checks in table.values() for name in checks.split()}
    assert names and names <= proven, names - proven
