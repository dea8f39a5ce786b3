# SPDX-License-Identifier: GPL-2.0-or-later
"""Check that every event of the files trace-events is called. The compiler finds calls
of what is no event of the folder, and ernic_trace_count() names of none.
"""
import re

import house

DEVICE = 'hw/rdma-ernic'
FILES = (f'{DEVICE}/engine/trace-events', f'{DEVICE}/trace-events')
EVENT = re.compile(r'^([a-z0-9_]+)\(', re.M)


def check(root):
    events = {name: file for file in FILES if (root / file).exists()
              for name in EVENT.findall((root / file).read_text())}
    called = {name for path in (root / DEVICE).rglob('*.[ch]') for name in
              re.findall(r'\btrace_(ernic_\w+)\s*\(', house.code(path.read_text()))}
    return len(events), [f'{events[name]}: {name} is never called'
                         for name in events.keys() - called]
