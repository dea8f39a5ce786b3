#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Check that trace calls and trace-events agree.

Every trace_NAME() that the engine calls is an event, every event is called, and
every ernic_trace_count("NAME") of a test names an event.
"""
import re
import sys

import checkout

# The engine's events, and the device's: the first folder with the file's path in it is
# the one whose events a file may call. The switch of the network is plain C, as the
# engine is, and its events are among the engine's.
FOLDERS = ['hw/rdma-ernic/core', 'hw/rdma-ernic']
OF_THE_ENGINE = {'hw/rdma-ernic/network/switch.c'}
EVENT = re.compile(r'^([a-z0-9_]+)\(')
CALL = re.compile(r'\btrace_(ernic_[a-z0-9_]+)\s*\(')
COUNT = re.compile(r'\bernic_trace_count\(\s*"([a-z0-9_]*)"')
COMMENT = re.compile(r'/\*.*?\*/', re.S)


def find(pattern, path):
    """(name, line) of every match outside comments."""
    text = COMMENT.sub(lambda m: '\n' * m[0].count('\n'),
                       path.read_text(encoding='utf-8'))
    for m in pattern.finditer(text):
        yield m[1], text.count('\n', 0, m.start()) + 1


def folder_of(path):
    if path in OF_THE_ENGINE:
        return FOLDERS[0]
    return next(f for f in FOLDERS if path.startswith(f + '/'))


def check_folder(root, folder):
    """Findings in one folder, and its events by name."""
    found, called, events = [], set(), {}
    events_file = root / folder / 'trace-events'
    if not events_file.exists():
        return found, events
    for number, line in enumerate(events_file.read_text().splitlines(), 1):
        m = EVENT.match(line)
        if m:
            events[m[1]] = number
    for path in sorted((root / 'hw/rdma-ernic').rglob('*.[ch]')):
        if folder_of(path.relative_to(root).as_posix()) != folder:
            continue
        for name, number in find(CALL, path):
            called.add(name)
            if name not in events:
                found.append((path, number, f'trace_{name} is no event'))
    for name, number in events.items():
        if name not in called:
            found.append((events_file, number, f'{name} is never called'))
    return found, events


def check(root):
    found, events = [], {}
    for folder in FOLDERS:
        more, of_folder = check_folder(root, folder)
        found += more
        for name in of_folder.keys() & events.keys():
            found.append((root / folder / 'trace-events', of_folder[name],
                          f'{name} is an event of another folder'))
        events.update(of_folder)
    for path in sorted((root / 'tests').rglob('*.[ch]')):
        if path.name == 'test-trace.c':     # has events of its own
            continue
        for name, number in find(COUNT, path):
            if name not in events:
                found.append((path, number, f'{name} is no event'))
    return found, len(events)


def main():
    root = checkout.parser(__doc__).parse_args().root
    found, count = check(root)
    for path, number, why in found:
        print(f'{path.relative_to(root)}:{number}: {why}')
    print(f'check-trace: {count} events, {len(found)} findings')
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
