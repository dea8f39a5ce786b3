# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that run inside guests find what they are for; pyverbs is empty classes."""
import importlib
import sys
import zlib
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

TESTS = Path(__file__).resolve().parents[1]


class Stub(ModuleType):
    """Constants are numbers, errors are exceptions, all else are empty classes."""

    __path__ = []

    def __getattr__(self, name):
        if name.startswith('__'):
            raise AttributeError(name)
        if name.upper() == name and len(name) > 4:
            return zlib.crc32(name.encode())
        return type(name, (Exception if name.endswith('Error') else object,), {})


@pytest.fixture(name='load')
def fixture_load(monkeypatch):
    """Loads a program by its path below tests."""
    for name in ('', '.addr', '.base', '.cq', '.device', '.enums', '.flow', '.mr',
                 '.pd', '.pyverbs_error', '.qp', '.srq', '.wq', '.wr', '.xrcd'):
        monkeypatch.setitem(sys.modules, f'pyverbs{name}', Stub(f'pyverbs{name}'))
    monkeypatch.setattr(sys.modules['pyverbs'], 'enums', sys.modules['pyverbs.enums'],
                        raising=False)
    for name in ('rig', 'raw'):
        monkeypatch.delitem(sys.modules, name, raising=False)

    def load(path):
        spec = spec_from_file_location('program', TESTS / path)
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    yield load
    for name in ('rig', 'raw'):
        sys.modules.pop(name, None)


def ends(program, written):
    """Two that have the methods of peer.py's, but no network. written: whether WRITEs
    change memory."""
    class End:
        mtu, kind, head = 256, 'RC', 0
        peer = {'rkey': 0, 'address': 0}

        def __init__(self):
            self.memory, self.opcodes = bytearray(1 << 16), []
            self.mr = SimpleNamespace(
                write=lambda data, length, at: self.put(at, data),
                read=lambda length, at: bytes(self.memory[at:at + length]))

        fill, digest = program.End.fill, program.End.digest

        def put(self, at, data):
            self.memory[at:at + len(data)] = data

        def post(self, length, request, _, place, offset=0):
            if request == 'wr_rdma_read':
                self.put(offset, other.memory[place:place + length])
                self.opcodes.append(program.e.IBV_WC_RDMA_READ)
            else:
                if written:
                    other.put(place, self.memory[offset:offset + length])
                self.opcodes.append(program.e.IBV_WC_RDMA_WRITE)

        def completion(self):
            return {'status': program.e.IBV_WC_SUCCESS, 'opcode': self.opcodes.pop(0)}

    other = End()
    return End(), other


def test_many(load):
    """WRITEs among READs reach the memory of the other end."""
    peer = load('conformance/inside/peer.py')
    peer.many(*ends(peer, True))
    with pytest.raises(AssertionError, match='digest at the other end'):
        peer.many(*ends(peer, False))


def test_all_good(load):
    """A completion that does not come is no success."""
    provider = load('guest/inside/provider.py')
    rig = importlib.import_module('rig')
    good = SimpleNamespace(wr_id=1, status=0)
    rig.STATUS_NAMES[0] = 'SUCCESS'
    provider.all_good([good, good], 2)
    with pytest.raises(AssertionError):
        provider.all_good([good], 2)


def test_fatal(load, monkeypatch):
    """The events of a device that fails come one by one."""
    fatal = load('conformance/semantics/fatal.py')
    rig = importlib.import_module('rig')
    names = ['DEVICE_FATAL', 'QP_FATAL', None, 'QP_FATAL', None, 'WQ_FATAL']

    def get_async_event():
        name = names.pop(0) if names else None
        if name is None:
            raise rig.PyverbsRDMAError
        return SimpleNamespace(ack=lambda: None, event_type=name)

    class Names(dict):
        def __missing__(self, name):
            return name

    def refuse(*_):
        raise fatal.PyverbsRDMAError
    monkeypatch.setattr(rig, 'EVENT_NAMES', Names())
    monkeypatch.setattr(fatal, 'CQ', refuse)
    monkeypatch.setattr(fatal.os.path, 'exists', lambda _: True)
    monkeypatch.setattr(fatal.os, 'readlink', lambda _: '0000:01:00.0')
    monkeypatch.setattr(fatal.subprocess, 'run', lambda *_, **__: None)
    close = SimpleNamespace(close=lambda: None)
    end = SimpleNamespace(post=lambda: None, qp=close, cq=close)
    monkeypatch.setattr(fatal, 'pair', lambda _: (end, end))
    monkeypatch.setattr(fatal, 'raw', SimpleNamespace(
        make_wq=lambda *_: close, to=lambda *_: None, RDY=0))
    one = rig.Rig.__new__(rig.Rig)
    one.ctx = SimpleNamespace(name='ernic0', get_async_event=get_async_event)
    one.mr = one.pd = close
    fatal.device_fatal(one)
