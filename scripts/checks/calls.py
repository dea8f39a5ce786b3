# SPDX-License-Identifier: GPL-2.0-or-later
"""Check that calls between the C files of a folder do not go in a circle.

A file calls another if it names a function or an object that the other defines with
external linkage, itself or through an inline function or a macro of a header. Taking an
address counts. The folders are those of the guest's drivers, of the provider and of
ernic-user. A header for user space (FOR_USERS) must not define functions: it describes
data.
"""
import re

import house

FOLDERS = ('guest/linux/ernic', 'guest/linux/shell', 'guest/rdma-core',
           'guest/ernic-user')
FOR_USERS = ('guest/linux/ernic/ernic-abi.h',)

DIRECTIVE = re.compile(r'^[ \t]*#(?:\\\n|[^\n])*', re.M)
MACRO = re.compile(r'^[ \t]*#[ \t]*define[ \t]+(\w+)((?:\\\n|[^\n])*)', re.M)
INLINE = re.compile(
    r'^static inline\b[^;{}]*?(\w+)\([^;{}]*\)\s*(\{.*?^\}|\{[^\n]*\}$)', re.M | re.S)
# Definitions begin in column 0: a function with its body, an object with its value.
FUNCTION = re.compile(r'^(?!static\b|typedef\b)\w[\w\s*]*?(\w+)\([^;{}=]*\)\s*\{', re.M)
OBJECT = re.compile(
    r'^(?!static\b|extern\b|typedef\b)\w[\w\s*]*?(\w+)(?:\[[^\]]*\])*\s*=', re.M)
NAME = re.compile(r'\b[a-zA-Z_]\w*\b')


def code(path):
    """The text of a file without comments, strings and directives."""
    return DIRECTIVE.sub('', house.code(path.read_text()))


def names(text):
    return set(NAME.findall(text))


def headers(files):
    """The names in each inline function and macro."""
    found = {}
    for path in files:
        for name, body in (MACRO.findall(house.code(path.read_text()))
                           + INLINE.findall(code(path))):
            found.setdefault(name, set()).update(names(body))
    return found


def expanded(used, through):
    """The names, and those that they stand for, however often."""
    todo = set(used)
    while todo:
        more = set().union(*(through.get(name, set()) for name in todo))
        todo = more - used
        used = used | more
    return used


def calls(folder):
    """The files that each file calls, each with a name that shows it."""
    texts = {path: code(path) for path in sorted(folder.glob('*.c'))}
    through = headers(sorted(folder.glob('*.h')))
    owner = {name: path for path, text in texts.items()
             for name in FUNCTION.findall(text) + OBJECT.findall(text)}
    graph = {path: {} for path in texts}
    for path, text in texts.items():
        for name in sorted(expanded(names(text), through) & owner.keys()):
            if owner[name] != path:
                graph[path].setdefault(owner[name], name)
    return graph


def check(root):
    findings, count = [], 0
    for folder in FOLDERS:
        graph = calls(root / folder)
        count += len(graph)
        way = house.circle(graph)
        if way:
            steps = [f'{path.name} calls {other.name} ({graph[path][other]})'
                     for path, other in zip(way, way[1:])]
            findings.append(f'{folder}: calls in a circle: ' + ', '.join(steps))
    for name in FOR_USERS:
        if (root / name).exists():
            count += 1
            if re.search(r'\binline\b', code(root / name)):
                findings.append(f'{name}: defines a function')
    return count, findings
