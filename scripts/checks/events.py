# SPDX-License-Identifier: GPL-2.0-or-later
"""Check that trace calls and trace-events agree.

Every trace_NAME() that the engine calls is an event, every event is called, and
every ernic_trace_count("NAME") of a test names an event.
"""
import re

import house

# The engine's events, and the device's: the first folder with the file's path in it is
# the one whose events a file may call. The switch of the network is plain C, as the
# engine is, and its events are among the engine's.
FOLDERS = ['hw/rdma-ernic/engine', 'hw/rdma-ernic']
OF_THE_ENGINE = {'hw/rdma-ernic/fabric/switch.c'}
EVENT = re.compile(r'^([a-z0-9_]+)\(', re.M)
CALL = re.compile(r'\btrace_(ernic_[a-z0-9_]+)\s*\(')
COUNT = re.compile(r'\bernic_trace_count\(\s*"([a-z0-9_]*)"')
COMMENT = re.compile(r'/\*.*?\*/', re.S)


def folder_of(name):
    return FOLDERS[0] if name in OF_THE_ENGINE else next(
        folder for folder in FOLDERS if name.startswith(folder + '/'))


def check(root):
    events, called, findings = {}, set(), []
    for folder in FOLDERS:
        file = root / folder / 'trace-events'
        for name in EVENT.findall(file.read_text()) if file.exists() else ():
            if name in events:
                findings.append(f'{folder}/trace-events: {name} is an event of another'
                                ' folder')
            events[name] = folder

    def look(pattern, path, name, allowed):
        text = COMMENT.sub(house.blank, path.read_text(encoding='utf-8'))
        for m in pattern.finditer(text):
            called.add(m[1])
            if not allowed(m[1]):
                findings.append(f'{name}:{house.line_of(text, m.start())}: {m[0]} is no'
                                ' event')

    for path in sorted((root / FOLDERS[-1]).rglob('*.[ch]')):
        name = path.relative_to(root).as_posix()
        look(CALL, path, name, lambda event: events.get(event) == folder_of(name))
    findings += [f'{events[event]}/trace-events: {event} is never called'
                 for event in events.keys() - called]
    for path in sorted((root / 'tests').rglob('*.[ch]')):
        look(COUNT, path, path.relative_to(root), events.__contains__)
    return len(events), findings
