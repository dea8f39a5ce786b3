# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that run inside guests find what they are for; pyverbs is a stub."""
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


def test_all_good(load):
    """A completion that does not come is no success."""
    provider = load('guest/inside/provider.py')
    rig = importlib.import_module('rig')
    good = SimpleNamespace(wr_id=1, status=0)
    rig.STATUS_NAMES[0] = 'SUCCESS'
    provider.all_good([good, good], 2)
    with pytest.raises(AssertionError):
        provider.all_good([good], 2)
