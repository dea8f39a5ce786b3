# SPDX-License-Identifier: GPL-2.0-or-later
"""The host unplugs the cable and plugs it in while this waits."""
from pathlib import Path


def port(rig):
    Path('waits').touch()
    found = rig.events(('PORT_ERR', 'PORT_ACTIVE'), seconds=30)
    reported = [name for name in found if name.startswith('PORT_')]
    assert reported == ['PORT_ERR', 'PORT_ACTIVE'], found


def cases():
    yield 'PORT_ERR,PORT_ACTIVE', port, ()
