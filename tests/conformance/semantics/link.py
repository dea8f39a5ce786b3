# SPDX-License-Identifier: GPL-2.0-or-later
"""The host unplugs the cable and plugs it in while this waits."""
from pathlib import Path


def port(rig):
    for event in ('PORT_ERR', 'PORT_ACTIVE'):
        Path(event).touch()
        found = rig.events((event,), seconds=30)
        assert [name for name in found if name.startswith('PORT_')] == [event], found


def cases():
    yield 'PORT_ERR,PORT_ACTIVE', port, ()
