#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Check the prose of comments, messages and pages for constructions that read badly.

--all checks every text file, also those that CLEAN does not name yet; PATHs restrict the
check to the files whose names begin so.

The comments and strings of code are checked, and pages without the code in them. Nothing
is found in a sentence that the patterns do not know; a reviewer still has to read it.
"""
import ast
import io
import re
import sys
import tokenize

import checkout

# Files that are clean and stay so, and folders, with a slash at the end.
CLEAN = (
    '.ci/',
    'README.md',
    'docs/architecture.md',
    'docs/conformance.md',
    'docs/device.md',
    'docs/ernic-face.md',
    'docs/ernic-rules.md',
    'docs/linux-guest.md',
    'docs/mlx5-face.md',
    'docs/qp-states.md',
    'docs/registers.md',
    'docs/security.md',
    'docs/testing.md',
    'docs/timing.md',
    'docs/user-guide.md',
    'docs/verbs-face.md',
    'guest/',
    'hw/rdma-ernic/Kconfig',
    'hw/rdma-ernic/core/base/',
    'hw/rdma-ernic/core/engine.',
    'hw/rdma-ernic/core/faces/',
    'hw/rdma-ernic/core/objects/',
    'hw/rdma-ernic/core/state/',
    'hw/rdma-ernic/core/steering/',
    'hw/rdma-ernic/core/timing/',
    'hw/rdma-ernic/core/trace-events',
    'hw/rdma-ernic/core/transport/',
    'hw/rdma-ernic/faces/',
    'hw/rdma-ernic/files/',
    'hw/rdma-ernic/links/',
    'hw/rdma-ernic/meson.build',
    'hw/rdma-ernic/network/',
    'hw/rdma-ernic/pci/',
    'hw/rdma-ernic/profiles/',
    'include/',
    'meson.build',
    'meson_options.txt',
    'scripts/',
    'tests/bench/',
    'tests/common/',
    'tests/conformance/',
    'tests/fuzz/',
    'tests/guest/',
    'tests/life/',
    'tests/oracle/',
    'tests/qtest/ernic-attack-test.c',
    'tests/qtest/ernic-card.c',
    'tests/qtest/ernic-card.h',
    'tests/qtest/ernic-command-test.c',
    'tests/qtest/ernic-counters-test.c',
    'tests/qtest/ernic-life-test.c',
    'tests/qtest/ernic-link-test.c',
    'tests/qtest/ernic-memory-test.c',
    'tests/qtest/ernic-net-test.c',
    'tests/qtest/ernic-pci-test.c',
    'tests/qtest/ernic-pg332-test.c',
    'tests/qtest/ernic-property-test.c',
    'tests/qtest/ernic-raw-test.c',
    'tests/qtest/ernic-shell-test.c',
    'tests/qtest/ernic-side-test.c',
    'tests/qtest/ernic-stream-test.c',
    'tests/qtest/ernic-strict-test.c',
    'tests/qtest/ernic-test.c',
    'tests/qtest/ernic-trace-test.c',
    'tests/qtest/ernic-transfer-test.c',
    'tests/qtest/ernic-wire-test.c',
    'tests/qtest/ernic.c',
    'tests/qtest/ernic.h',
    'tests/qtest/meson.build',
    'tests/repeat/',
    'tests/scripts/',
    'tests/shim/',
    'tests/sim/',
    'tests/soak/',
    'tests/timing/',
    'tests/unit/',
)
# Texts of others, and data.
SKIP = ('COPYING', 'tests/data/', 'tests/oracle/frames/', 'docs/images/')
# These hold the patterns, or texts that the check has to refuse.
EXAMPLES = ('scripts/check-prose.py', 'tests/scripts/test_checks.py')

# "behind" is for place: only these words may follow it. Otherwise the word is "after".
PLACES = ('PCIe|PCI Express|bridges?|ports?|switch(?:es)?|IOMMU|NAT|firewalls?|routers?|'
          'BARs?|pages?|windows?|tables?|registers?|head(?:er)?s?|payload|prefix(?:es)?|'
          'tags?|pointers?|PSN|BTH|seam')
NEAR = (r'(?:\s+(?!(?:it|them|and|or|but|is|are|was|were|that|what|which|who)\b)'
        r'[\w@\'-]+){0,4}?\s+')
BEHIND = re.compile(rf'(?<!@)(?<!\bleft )(?<!\blag )(?<!\blags )(?<!\bfalls )(?<!\bfall )'
                    rf'\bbehind\b(?!{NEAR}(?:{PLACES})\b)', re.I)
TELL = re.compile(r'\b(?:re)?(?:tells?|told|telling)\b', re.I)
# At the beginning of a text, a paragraph, an item, a cell of a table or a sentence.
BEGIN = r'(?:\A|\n\s*\n|(?:\A|\n)\s*(?:[-*]|\d+\.)\s|\|\s|[.!?:;]["\')*]*\s)["\'(*]*\s*'
CLAUSE = re.compile(BEGIN + r'(?P<word>Who|Whoever|What|Whatever)\b(?P<rest>[^.!?]*.?)')
RULES = [
    (TELL, '"{}": say "report", "say" or "show"'),
    (BEHIND, '"{}" is for a place; in time and in a sequence it is "after"'),
    (CLAUSE, 'sentence begins with "{}": name the subject'),
]

# Comments and strings of C; strings that one follows another are one text.
C_STRING = r'"(?:\\.|[^"\\\n])*"'
C_TEXT = re.compile(r'/\*(?P<comment>.*?)\*/|//(?P<line>[^\n]*)|'
                    rf'(?P<string>{C_STRING}(?:\s*{C_STRING})*)|'
                    r"'(?:\\.|[^'\\\n])*'", re.S)
# A name with parts, such as that of a test: no prose.
C_NAME = re.compile(r'[\w%.]*(?:[-/][\w%.]*)+')
SHELL_TEXT = re.compile(r'(?:^|(?<=\s))#(?P<comment>[^\n]*)|(?P<string>"(?:\\.|[^"\\])*"|'
                        r"'[^']*')", re.M)
HEADING = re.compile(r'^(?:#+ .*|[^\n]*\n(?:===+|---+)$)', re.M)
TABLE_HEAD = re.compile(r'^\|[^\n]*(?=\n\|[ :|-]+$)', re.M)
NOT_PROSE = [re.compile(r'^ *```.*?^ *```', re.M | re.S), re.compile(r'<!--.*?-->', re.S),
             re.compile(r'^(?: {4}|\t)(?![ ]*[-*\d]).*$', re.M),
             re.compile(r'`[^`\n]*(?:\n[^`\n]+)?`'),
             re.compile(r'\]\([^)]*\)'), HEADING, TABLE_HEAD]


def spaces(match):
    """Blanks in place of a match, so that its lines stay."""
    return re.sub(r'[^\n]', ' ', match[0])


def c_texts(text):
    for m in C_TEXT.finditer(text):
        line = text.count('\n', 0, m.start()) + 1
        if m['comment'] is not None:
            yield line, re.sub(r'(?m)^[ \t]*\*', ' ', m['comment'].lstrip('*'))
        elif m['line']:
            yield line, m['line']
        elif m['string']:
            string = re.sub(r'"\s*"', '', m['string'][1:-1])
            if not C_NAME.fullmatch(string):
                yield line, string


def joined(comments):
    """(line, text) of comments on lines that follow each other, as one."""
    start, lines = 0, []
    for line, comment in comments:
        if lines and line != start + len(lines):
            yield start, '\n'.join(lines)
            lines = []
        if not lines:
            start = line
        lines.append(comment.lstrip('#'))
    if lines:
        yield start, '\n'.join(lines)


def python_texts(text):
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    yield from joined((t.start[0], t.string) for t in tokens
                      if t.type == tokenize.COMMENT)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.JoinedStr):
            # The parts are visited alone, too: only the first one begins a sentence.
            for part in node.values[1:]:
                if isinstance(part, ast.Constant):
                    part.value = f' {part.value}'
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def hash_texts(text):
    """Comments and strings of a shell script, a build file and the like."""
    found = [(text.count('\n', 0, m.start()) + 1, m) for m in SHELL_TEXT.finditer(text)]
    yield from joined((line, m['comment']) for line, m in found
                      if m['comment'] is not None)
    for line, m in found:
        if m['string']:
            yield line, m['string'][1:-1]


def page_texts(text):
    for pattern in NOT_PROSE:
        text = pattern.sub(spaces, text)
    yield 1, text


def texts(path, text):
    """(line, text) of every piece of prose in a file."""
    first = text.split('\n', 1)[0]
    if path.suffix in ('.c', '.h', '.S', '.ld'):
        return c_texts(text)
    if path.suffix == '.py' or re.match(r'#!.*python', first):
        return python_texts(text)
    if path.suffix in ('.md', '.rst'):
        return page_texts(text)
    return hash_texts(text)


def findings(path, text):
    for start, piece in texts(path, text):
        for pattern, message in RULES:
            for m in pattern.finditer(piece):
                found = m.groupdict()
                if found and found['rest'].endswith('?'):
                    continue
                at = m.start('word') if found else m.start()
                yield (start + piece.count('\n', 0, at),
                       message.format(found.get('word') or m[0]))


def main():
    parser = checkout.parser(__doc__)
    parser.add_argument('--all', action='store_true',
                        help='also files that CLEAN does not name yet')
    parser.add_argument('path', nargs='*', metavar='PATH')
    args = parser.parse_args()
    count = total = 0
    for path in checkout.files(args.root):
        name = path.relative_to(args.root).as_posix()
        if name.startswith(SKIP) or name in EXAMPLES \
                or not name.startswith('' if args.all else CLEAN) \
                or not name.startswith(tuple(args.path) or ''):
            continue
        try:
            text = path.read_text(encoding='utf-8')
        except UnicodeDecodeError:
            continue
        count += 1
        for line, message in sorted(set(findings(path, text))):
            print(f'{name}:{line}: {message}')
            total += 1
    print(f'check-prose: {count} files, {total} findings')
    return 1 if total or not count else 0


if __name__ == '__main__':
    sys.exit(main())
