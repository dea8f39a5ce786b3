# SPDX-License-Identifier: GPL-2.0-or-later
"""Check the table of the specification's statements, docs/sentences.md.

Each text has all its statements, in order, and each of them a test that exists and is
built, or the reason why there is none.
"""
import re

TABLE = 'docs/sentences.md'
# The number of statements by the letter of their text.
STATEMENTS = {'T': 20, 'Z': 23, 'R': 28, 'U': 24, 'S': 28}
TESTS = 'tests/unit', 'tests/qtest'

ROW = re.compile(r'\| ([A-Z])(\d+) \| (.+) \| (.+) \|')
TEST = re.compile(r'`(/[^`]+)`')
# The first argument of a macro that adds a test.
MACRO = re.compile(r'\b[A-Z_]*(?:TESTS?|TEST_BY|KINDS|ADD)\(\s*"(/[^"\s]+)"')
COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|("(?:\\.|[^"\\\n])*")', re.DOTALL)
REASON = re.compile(r'none: \S+')


def built(root, path):
    """Whether the meson.build of the file's suite names it, in the list of its folder."""
    suite = next(suite for suite in TESTS if path.is_relative_to(root / suite))
    name = re.sub(r'^(test|ernic)-|-test$', '', path.stem)
    meson = root / suite / 'meson.build'
    if not meson.exists():
        return False
    text = re.sub(r'#.*', '', meson.read_text(encoding='utf-8'))
    folder = path.parent.relative_to(root / suite).as_posix()
    if folder != '.':
        lists = re.findall(rf"'{re.escape(folder)}': \[([^]]*)\]", text)
    else:
        lists = re.findall(r'foreach name : \[([^]]*)\]|(\bfiles\([^)]*\))', text)
        lists = [''.join(found) for found in lists]
    return any(f"'{name}'" in found or f"'{path.name}'" in found for found in lists)


def tests(root):
    """The paths of all tests that are built."""
    found = set()
    for suite in TESTS:
        for path in (root / suite).rglob('*.c'):
            text = path.read_text(encoding='utf-8')
            names = MACRO.findall(COMMENT.sub(lambda found: found[1] or ' ', text))
            if names and built(root, path):
                found.update(names)
    return found


def check(root):
    text = (root / TABLE).read_text(encoding='utf-8')
    known, seen, findings = tests(root), dict.fromkeys(STATEMENTS, 0), []
    said = {}
    for line, row in enumerate(text.splitlines(), 1):
        found = ROW.fullmatch(row)
        if not found:
            if re.match(r'\| [A-Z]\d', row):
                findings.append(f'{TABLE}:{line}: not a statement and its test')
            continue
        letter, number, sentence, test = found.groups()
        if said.setdefault(sentence, letter + number) != letter + number:
            findings.append(f'{TABLE}:{line}: {letter}{number} says the same as'
                            f' {said[sentence]}')
        seen[letter] = seen.get(letter, 0) + 1
        if int(number) != seen[letter]:
            findings.append(f'{TABLE}:{line}: {letter}{number} follows'
                            f' {letter}{seen[letter] - 1}')
        names = TEST.findall(test)
        if not names and not REASON.match(test):
            findings.append(f'{TABLE}:{line}: {letter}{number} has no test')
        findings += [f'{TABLE}:{line}: there is no test {name}' for name in names
                     if name not in known]
    findings += [f'{TABLE}: {seen[letter]} statements {letter}, not'
                 f' {STATEMENTS.get(letter, 0)}' for letter in seen
                 if seen[letter] != STATEMENTS.get(letter, 0)]
    return sum(seen.values()), findings
