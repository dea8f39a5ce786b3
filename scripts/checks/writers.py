# SPDX-License-Identifier: GPL-2.0-or-later
"""Check that each group of a queue pair's fields is written by the files that it names.

The header of the context names the writer above each group of fields. The sources of
the engine are searched for assignments to these fields: =, +=, ++, memset and copies
of a whole group. state/ loads all of them and is exempt. An assignment through a
pointer with another name than the ones below is not found.
"""
import re

import house

CORE = 'hw/rdma-ernic/engine'
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
    """(field or group, pattern, what it writes, writers of each field)."""
    groups = {name for name, _ in owners}
    for (name, field), writers in owners.items():
        if field in groups and field != 'rd':       # rd is a pointer
            continue
        part = '' if field in OBJECTS else r'(?:\.\w+)*'
        access = rf'\b{name}(?:\[[^\]]*\])?(?:\.|->){field}\b(?:\[[^\]]*\])?{part}'
        yield field, re.compile(
            rf'{access}(?:{ASSIGN})|(?:\+\+|--)(?:[\w.]|->)*?{access}(?!\.|->)'), \
            f'{name}.{field}', {writers}
    for name in sorted(groups - {'qp'}):
        copied = rf'\bqp->{name}\s*=(?!=)|' if name != 'rd' else ''
        yield name, re.compile(
            rf'\bmem(?:set|cpy|move)\(\s*&?(?:qp->)?{name}\b(?!\.|->)|'
            rf'{copied}[;{{}}]\s*\*{name}\s*=(?!=)'), f'all of {name}', \
            {writers for (group, _), writers in owners.items() if group == name}


def check(root):
    core = root / CORE
    owners, wrong = fields((core / HEADER).read_text(encoding='utf-8'))
    findings = [f'{CORE}/{HEADER}:1: {why}' for why in wrong]
    table = list(patterns(owners))
    for path in sorted(core.rglob('*.[ch]')):
        file = path.relative_to(core).as_posix()
        if file.startswith(EXEMPT):
            continue
        code = house.code(path.read_text(encoding='utf-8'))
        words = set(re.findall(r'\w+', code))
        for word, pattern, what, writers in table:
            if word not in words or all(may_write(file, some) for some in writers):
                continue
            names = ' and '.join(sorted({name for some in writers for name in some}))
            findings += [f'{CORE}/{file}:{house.line_of(code, m.end())}: writes {what},'
                         f' which {names} may write' for m in pattern.finditer(code)]
    return len(owners), findings
