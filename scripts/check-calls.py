#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Check that calls between the C files of a folder do not go in a circle.

usage: check-calls.py [ROOT]

A file calls another if it names a function or an object that the other defines with
external linkage, itself or through an inline function or a macro of a header. Taking an
address counts. The folders are those of the guest's driver and of its provider. A header
for user space (FOR_USERS) must not define functions: it describes data.
"""
import re
import sys
from pathlib import Path

FOLDERS = ('guest/linux/ernic', 'guest/rdma-core')
FOR_USERS = ('guest/linux/ernic/ernic-abi.h',)

TEXT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
DIRECTIVE = re.compile(r'^[ \t]*#(?:\\\n|[^\n])*', re.M)
MACRO = re.compile(r'^[ \t]*#[ \t]*define[ \t]+(\w+)((?:\\\n|[^\n])*)', re.M)
INLINE = re.compile(
    r'^static inline\b[^;{}]*?(\w+)\([^;{}]*\)\s*(\{.*?^\}|\{[^\n]*\}$)', re.M | re.S)
# Definitions begin in column 0: a function with its body, an object with its value.
FUNCTION = re.compile(r'^(?!static\b|typedef\b)\w[\w\s*]*?(\w+)\([^;{}=]*\)\s*\{', re.M)
OBJECT = re.compile(
    r'^(?!static\b|extern\b|typedef\b)\w[\w\s*]*?(\w+)(?:\[[^\]]*\])*\s*=', re.M)
NAME = re.compile(r'\b[a-zA-Z_]\w*\b')


def blanked(path):
    """The text of a file without comments and strings."""
    return TEXT.sub(lambda found: re.sub(r'[^\n]', ' ', found[0]), path.read_text())


def code(path):
    """The same without directives."""
    return DIRECTIVE.sub('', blanked(path))


def names(text):
    return set(NAME.findall(text))


def headers(files):
    """Of each inline function and macro: the names in it."""
    found = {}
    for path in files:
        for name, body in MACRO.findall(blanked(path)) + INLINE.findall(code(path)):
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
    """Of each file: the files that it calls, each with a name that shows it."""
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


def circle(graph):
    """The files of a circle of calls, in their order; None: there is none."""
    done = set()

    def visit(path, way):
        if path in way:
            return way[way.index(path):]
        if path in done:
            return None
        for other in graph[path]:
            found = visit(other, way + [path])
            if found:
                return found
        done.add(path)
        return None

    for path in graph:
        found = visit(path, [])
        if found:
            return found
    return None


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else '.')
    findings = []
    count = 0
    for folder in FOLDERS:
        graph = calls(root / folder)
        count += sum(len(others) for others in graph.values())
        way = circle(graph)
        if way:
            steps = [f'{path.name} calls {other.name} ({graph[path][other]})'
                     for path, other in zip(way, way[1:] + way[:1])]
            findings.append(f'{folder}: calls in a circle: ' + ', '.join(steps))
    for name in FOR_USERS:
        if (root / name).exists() and re.search(r'\binline\b', code(root / name)):
            findings.append(f'{name}: defines a function')
    for line in findings:
        print(line)
    print(f'check-calls: {count} pairs of files, {len(findings)} findings')
    return 1 if findings else 0


if __name__ == '__main__':
    sys.exit(main())
