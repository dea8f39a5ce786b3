# SPDX-License-Identifier: GPL-2.0-or-later
"""Check comments, messages and pages for words that read badly.

Of C only comments and strings are searched; elsewhere code too, so that the patterns
leave out calls and names with parts. Nothing is found in a sentence that no pattern
knows; a reviewer still has to read it.
"""
import re

import house

C_FILES = ('.c', '.h', '.inc')
# Texts of others, data, and texts that the check has to refuse.
SKIP = ('COPYING', 'tests/data/', 'tests/oracle/frames/', 'docs/images/',
        'scripts/checks/prose.py', 'tests/scripts/test_checks.py')
# "behind" is for place: only these words may follow it. Otherwise the word is "after".
PLACES = ('PCIe|PCI Express|bridges?|ports?|switch(?:es)?|IOMMU|NAT|firewalls?|routers?|'
          'BARs?|pages?|windows?|tables?|registers?|head(?:er)?s?|payload|prefix(?:es)?|'
          'tags?|pointers?|PSN|BTH|seam')
NEAR = (r'(?:\s+(?!(?:it|them|and|or|but|is|are|was|were|that|what|which|who)\b)'
        r'[\w@\'-]+){0,4}?\s+')
# Before a word and after it: no part of a name, no call and no assignment.
BEFORE, AFTER = r'(?<![\w@.>/-])', r'(?![\w(/-]|\.\w| [-+|&]?=|->)'
RULES = [(re.compile(pattern), message) for pattern, message in (
    (rf'{BEFORE}(?:re)?(?i:tells?|told|telling)\b{AFTER}',
     'say "report", "say" or "show"'),
    (rf'{BEFORE}(?<!left )(?<!lag )(?<!lags )(?<!fall )(?<!falls )(?i:behind)\b{AFTER}'
     rf'(?!{NEAR}(?i:{PLACES})\b)', 'in time and in a sequence it is "after"'),
    (r'(?:/\*\s*|[.!?:;]\s+|\n[ \t]*\n[ \t]*|(?:\A|\n) *(?:[-*]|\d+\.) +|'
     r'\| +|"|\A\s*)(?:Who|What)(?:ever)?\b(?![^.!?]*\?)',
     'a sentence names its subject'))]
PAGE_CODE = re.compile(
    r'^ *```(?s:.*?)^ *```|^(?: {4}|\t)(?! *[-*\d]).*$|^#+ .*$|'
    r'^\|.*(?=\n\|[ :|-]+$)', re.M)
TICKS = re.compile(r'`[^`\n]*(?:\n[^`\n]+)?`')
# The end of a question; a comment or docstring of other languages than C.
QUESTION = re.compile(r'(\w+)[)\]"\']*\?(?=[)"\']*(?:\s|\*/|\Z))')
REMARK = re.compile(r'"""(?s:.*?)"""|(?<!\S)# [^\n]*')
LEADER = re.compile(r'^([ \t]*)(?:\*(?!/)|#(?!!)|//)', re.M)


def c_texts(text):
    """Comments and strings alone."""
    parts, end = [], 0
    for m in house.TEXT.finditer(text):
        parts += [re.sub(r'[^\n]', ' ', text[end:m.start()]), m[0]]
        end = m.end()
    return ''.join(parts)


def questions(name, text):
    """Comments say what is so; a reader should not have to find out the answer."""
    kind = house.TEXT if name.endswith(C_FILES) else REMARK
    for part in kind.finditer(TICKS.sub(house.blank, text)):
        if part[0].startswith(('/', '#', '"""')):
            for m in QUESTION.finditer(part[0]):
                line = house.line_of(text, part.start() + m.start())
                yield f'{name}:{line}: "{m[1]}?": a comment is a statement'


def findings_of(name, text):
    if name.endswith('.md'):
        text = PAGE_CODE.sub(house.blank, text)
    elif name.endswith(C_FILES):
        text = c_texts(text)
    text = TICKS.sub(house.blank, text)
    text = LEADER.sub(lambda m: m[1] + ' ' * (len(m[0]) - len(m[1])), text)
    for pattern, message in RULES:
        for m in pattern.finditer(text):
            word = re.search(r'\w+$', m[0])[0]
            yield f'{name}:{house.line_of(text, m.end())}: "{word}": {message}'


def check(root):
    findings, count = [], 0
    for path in house.files(root):
        name = path.relative_to(root).as_posix()
        if name.startswith(SKIP):
            continue
        try:
            text = path.read_text(encoding='utf-8')
        except UnicodeDecodeError:
            continue
        count += 1
        findings += findings_of(name, text)
        if not name.endswith('.md'):
            findings += questions(name, text)
    return count, findings
