# SPDX-License-Identifier: GPL-2.0-or-later
"""Check what checkpatch does not: lengths, headers, and text that is not C.

The guest's side follows the style of its host; for it only the rules of TEXT hold.
"""
import ast
import re

import house

MAX_FILE, MAX_FUNCTION, MAX_LINE = 800, 70, 90
CORE = 'hw/rdma-ernic/engine/'
C_TREES = ('hw/', 'include/', 'tests/')
SUFFIXES = {'.c': 'c', '.h': 'c', '.py': 'python', '.sh': 'shell', '.build': 'build',
            '.inc': 'rows'}
SPDX = 'SPDX-License-Identifier: '
IDEA = re.compile(rf'/\*\n \* {SPDX}.*\n \*\n \* ')
GUARD = re.compile(r'[^#]*#ifndef (\w+)\n#define \1\n')
FUNCTION = re.compile(r'^(\w[^;{}#"]*\))\n\{\n.*?^\}', re.M | re.S)
HEADER_FUNCTION = re.compile(r'^static inline\b[^;{=(]*?(\w+)\(', re.M)

# (pattern, message). All files; then C with its comments; then without them.
TEXT = [(re.compile(pattern, re.M), message) for pattern, message in (
    (r'[ \t\r]+$', 'trailing blank'),
    (r'(?<![\w.$}])/(?:home|Users|root|work)/\w', "path of a developer's machine"),
    (r'(?<!\n)\Z|\n\n\Z', 'file does not end in one newline'))]
COMMENTS = [(re.compile(pattern, re.M), message) for pattern, message in (
    (r'^[ \t]*/\*[*\- ]*[^\s*\-](?:(?!\*/).)*$',
     'text after the opening of a long comment'),
    (r'^ +\*+ (?:(?!\*/|/\*).)*\S.*\*/$', 'text before the end of a long comment'))]
CODE = [(re.compile(pattern, re.M), message) for pattern, message in (
    (r'(?<![\w.>])(?:v?sprintf|strcpy|strcat|gets)\s*\(',
     'a string function without bounds'),
    (r'[^\s(\[{,]\s+,', 'space before a comma'),
    (r'\bsizeof\s+\w', 'sizeof without ('),
    (r'\b(?:NULL|true|false)\s*[!=]=', 'constant on the left'),
    (r'[!=]=\s*(?:true|false)\b', 'comparison with true or false'),
    (r'\bdo(?! \{)$', 'no braces after do'),
    (r'^\s+(?:if|for|while) \([^{]*\)\s*\\\n(?!.*\{)', 'no braces in a macro'),
    (r'^ {20,}(?:if|for|while|switch|do)\b.*\{$', 'nested deeper than 4'),
    (r'^typedef (?:struct|union|enum)\b[^;{]*\{(?:[^}]*|(?s:.*?)\n)\}'
     r' (?:QEMU_\w+ )?[a-z]\w*;', 'type name is not CamelCase'))]


def matches(rules, text):
    return [(house.line_of(text, m.start()), message)
            for pattern, message in rules for m in pattern.finditer(text)]


def check_code(lines):
    if not any(SPDX in line for line in lines[:5]):
        yield 1, 'no SPDX header in the first lines'
    if len(lines) - 1 > MAX_FILE:
        yield 1, f'{len(lines) - 1} lines, more than {MAX_FILE}'
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_LINE:
            yield number, f'{len(line)} columns, more than {MAX_LINE}'
        if '\t' in line:
            yield number, 'tab'


def check_c(name, text):
    code = house.code(text)
    yield from matches(COMMENTS, text)
    yield from matches(CODE, code)
    yield from ((house.line_of(text, m.start()), '// comment')
                for m in house.TEXT.finditer(text) if m[0].startswith('//'))
    if name.endswith('.h') and not name.endswith('/trace.h') and not GUARD.match(code):
        yield 1, 'no include guard'
    for m in FUNCTION.finditer(code):
        lines = m[0].count('\n') + 1
        if lines > MAX_FUNCTION:
            yield (house.line_of(code, m.start()),
                   f'{lines} lines, more than {MAX_FUNCTION}: {m[1]}')
    if name.startswith(CORE):
        if not IDEA.match(text):
            yield 1, 'header is not: SPDX line, blank, the idea of the file'
        for m in HEADER_FUNCTION.finditer(code if name.endswith('.h') else ''):
            if not m[1].startswith('ernic_'):
                yield (house.line_of(code, m.start()),
                       f'{m[1]} crosses a file without ernic_')


def check_python(text, executable):
    if executable and not text.startswith('#!/usr/bin/env python3\n'):
        yield 1, 'first line is not #!/usr/bin/env python3'
    try:
        tree = ast.parse(text)
    except SyntaxError as e:
        yield e.lineno or 1, f'syntax error: {e.msg}'
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            lines = node.end_lineno - node.lineno + 1
            if lines > MAX_FUNCTION:
                yield node.lineno, f'{node.name}: {lines} lines, more than {MAX_FUNCTION}'


def check_shell(name, lines):
    if name.startswith('ci/'):          # a guest has no bash
        if 'set -e' not in lines:
            yield 1, 'no "set -e"'
        return
    if lines[0] not in ('#!/bin/bash', '#!/usr/bin/env bash'):
        yield 1, 'shell scripts are written for bash'
    if 'set -euo pipefail' not in lines:
        yield 1, 'no "set -euo pipefail"'


def language_of(path, name, first):
    """Decides by its name or its first line; None: text."""
    found = SUFFIXES.get(path.suffix)
    if found == 'c':
        return found if name.startswith(C_TREES) else None
    m = re.match(r'#!.*?\b(python|(?:ba)?sh\b)', first)
    return found or (m and ('python' if m[1] == 'python' else 'shell'))


def check_file(path, name):
    try:
        text = path.read_text(encoding='utf-8')
    except UnicodeDecodeError:
        return [(1, 'not UTF-8')] if path.suffix in {*SUFFIXES, '.md', '.json'} else []
    lines = text.split('\n')
    language = language_of(path, name, lines[0])
    found = matches(TEXT, text)
    if language:
        found += check_code(lines)
    if language == 'c':
        found += check_c(name, text)
    elif language == 'python':
        found += check_python(text, path.stat().st_mode & 0o100)
    elif language == 'shell':
        found += check_shell(name, lines)
    return found


def check(root):
    findings, count = [], 0
    for path in house.files(root):
        name = path.relative_to(root).as_posix()
        count += 1
        findings += [f'{name}:{line}: {why}' for line, why in check_file(path, name)]
    return count, findings
