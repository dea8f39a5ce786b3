# SPDX-License-Identifier: GPL-2.0-or-later
"""Check that every file that README.md and docs/ name in backticks or link to exists.

A link to a section (page.md#section, or #section) needs a heading of that name. A file
NAME.h or NAME.c, also with its room as in transport/qp.h, is one of the device, of its
contract or of the tests; any other name with a slash is a path from the root.

The scores in README.md and docs/conformance-results.md agree with the table of results.
"""
import re
import sys
from pathlib import Path

import house

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / 'tests/conformance'))
import table                                        # noqa: E402

NAME = re.compile(r'`([\w.-]+(?:/[\w.-]+)*/?)`|\]\(([^)#:]*)(?:#([^)]+))?\)')
HEADING = re.compile(r'^#+ (.*)$', re.M)
OURS = re.compile(r'(?:include|hw|tests|scripts|docs|guest)/')
FOLDERS = 'hw/rdma-ernic', 'hw/rdma-ernic/engine', 'include/hw/rdma-ernic', 'tests'


def sections(path):
    """The anchors of a page, as GitHub derives them."""
    return [re.sub(r'[^\w -]', '', heading).strip().lower().replace(' ', '-')
            for heading in HEADING.findall(path.read_text(encoding='utf-8'))]


def fault(root, page, name, link, section):
    """The fault of a name in backticks or of a link, or None."""
    if name:
        file = re.search(r'\.[ch]$', name) and (
            '/' not in name or any((root / folder / name.split('/')[0]).is_dir()
                                   for folder in FOLDERS[:2]))
        if OURS.match(name):
            there = (root / name).exists()
        else:
            there = not file or any(any((root / folder).rglob(name))
                                    for folder in FOLDERS)
        return None if there else f'{name} is not there'
    target = page.parent / link if link else page
    if not target.exists():
        return f'{link} is not there'
    if section and section not in sections(target):
        return f'{link}#{section} is no section'
    return None


def check(root):
    findings, count = [], 0
    for page in sorted([*root.glob('README.md'), *(root / 'docs').rglob('*.md')]):
        text = page.read_text(encoding='utf-8')
        for m in NAME.finditer(text):
            count += 1
            why = fault(root, page, *m.groups())
            if why:
                findings.append(f'{page.relative_to(root)}:'
                                f'{house.line_of(text, m.start())}: {why}')
    if (root / table.PAGE).exists():
        findings += [f'{page}: the score differs from the table of results in'
                     f' {table.PAGE}' for page in table.stale(root)]
    return count, findings
