#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Check that each group of a queue pair's fields is written by the files that it names.

usage: check-writers.py [ROOT]

The header of the context names the writer above each group of fields. The sources of
the engine are searched for assignments to these fields: =, +=, ++, memset and copies
of a whole group. state/ loads all of them and is exempt. An assignment through a
pointer with another name than the ones below is not found.
"""
import re
import sys
from pathlib import Path

CORE = 'hw/rdma-ernic/core'
HEADER = 'objects/qp.h'
EXEMPT = 'state/'
# How the sources name the members of the context.
NAMES = {'ErnicSendQueue': 'sq', 'ErnicRecvQueue': 'rq', 'ErnicAckState': 'ack',
         'ErnicRdRes': 'rd', 'ErnicCc': 'cc', 'ErnicQp': 'qp'}
# Objects inside it, which are written by their own functions.
OBJECTS = {'wq', 'events', 'rd'}

STRUCT = re.compile(r'^(?:typedef )?struct (\w+) \{\n(.*?)^\}', re.M | re.S)
WRITER = re.compile(r'Writer: ([\w/]+)(?:, ([\w/]+))?(?:; reset: ([\w/]+))?\.')
PART = re.compile(r'/\*.*?\*/|[^;/]+;', re.S)
DECLARED = re.compile(r'\*?(\w+)(?:\[[^\]]*\])?\s*(?:,|;$)')
TEXT = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
ASSIGN = r'\s*(?:[-+*/%|&^]|<<|>>)?=(?!=)|\s*(?:\+\+|--)'


def fields(header):
    """{(name, field): files that may write it} and what is wrong with the header."""
    owners, wrong = {}, []
    for struct, body in STRUCT.findall(header):
        if struct not in NAMES:
            continue
        writers = None
        for part in PART.findall(body):
            if part.startswith('/*'):
                m = WRITER.search(' '.join(part.replace('*', ' ').split()))
                writers = tuple(filter(None, m.groups())) if m else writers
                continue
            for field in DECLARED.findall(part.strip().split(None, 1)[1]):
                if writers is None:
                    wrong.append(f'{struct}.{field} has no writer')
                else:
                    owners[NAMES[struct], field] = writers
    return owners, wrong


def may_write(file, writers):
    stem = file.rsplit('.', 1)[0]
    return any(stem == w or w.endswith('/') and file.startswith(w) for w in writers)


def patterns(owners):
    """(pattern, what it writes, writers of each field) for fields and whole groups."""
    groups = {name for name, _ in owners}
    for (name, field), writers in owners.items():
        if field in groups and field != 'rd':       # rd is a pointer
            continue
        part = '' if field in OBJECTS else r'(?:\.\w+)*'
        access = rf'\b{name}(?:\[[^\]]*\])?(?:\.|->){field}\b(?:\[[^\]]*\])?{part}'
        yield (re.compile(rf'{access}(?:{ASSIGN})|(?:\+\+|--)(?:[\w.]|->)*?{access}'
                          r'(?!\.|->)'), f'{name}.{field}', {writers})
    for name in sorted(groups - {'qp'}):
        copied = rf'\bqp->{name}\s*=(?!=)|' if name != 'rd' else ''
        yield (re.compile(rf'\bmem(?:set|cpy|move)\(\s*&?(?:qp->)?{name}\b(?!\.|->)|'
                          rf'{copied}[;{{}}]\s*\*{name}\s*=(?!=)'), f'all of {name}',
               {writers for (group, _), writers in owners.items() if group == name})


def check(root):
    core = root / CORE
    owners, found = fields((core / HEADER).read_text(encoding='utf-8'))
    found = [f'{CORE}/{HEADER}:1: {why}' for why in found]
    table = list(patterns(owners))
    for path in sorted(core.rglob('*.[ch]')):
        file = path.relative_to(core).as_posix()
        if file.startswith(EXEMPT):
            continue
        code = TEXT.sub(lambda m: re.sub(r'[^\n]', ' ', m[0]),
                        path.read_text(encoding='utf-8'))
        for pattern, what, writers in table:
            if all(may_write(file, some) for some in writers):
                continue
            for m in pattern.finditer(code):
                line = code.count('\n', 0, m.end()) + 1
                names = sorted({name for some in writers for name in some})
                found.append(f'{CORE}/{file}:{line}: writes {what}, which '
                             f'{" and ".join(names)} may write')
    return len(owners), found


def main():
    count, found = check(Path(sys.argv[1] if len(sys.argv) > 1 else '.'))
    if not count:
        found.append(f'{CORE}/{HEADER}:1: no field with a writer')
    for line in found:
        print(line)
    print(f'check-writers: {count} fields, {len(found)} findings')
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
