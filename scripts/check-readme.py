#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Check that every file that README.md and docs/ name in backticks or link to exists.

A link to a section (page.md#section, or #section) needs a heading of that name.
The scores in README.md and docs/conformance.md have to agree with the table of results
in docs/conformance.md.

NAME.h, NAME.c, also with its room as in transport/qp.h, is a file of the device, of its
contract or of the tests; any other name with a slash is a path from the root.
"""
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / 'tests/conformance'))

import checkout                                     # noqa: E402
import table                                        # noqa: E402

FRONT = 'hw/rdma-ernic'
NAME = re.compile(r'`([\w.-]+(?:/[\w.-]+)*/?)`|\]\(([^)#:]+)(?:#[^)]*)?\)')
SECTION = re.compile(r'\]\(([^)#:]*)#([^)]+)\)')
HEADING = re.compile(r'^#+ (.*)$', re.M)
OURS = re.compile(r'^(?:include|hw|tests|scripts|docs|guest)/')


def exists(root, page, name, link):
    if link:
        return (page.parent / name).exists()
    if OURS.match(name):
        return (root / name).exists()
    room = name.split('/')[0] if '/' in name else '.'
    if not re.search(r'\.[ch]$', name) or (room != '.' and not any(
            (root / d / room).is_dir() for d in (FRONT, FRONT + '/core'))):
        return True
    return any(any((root / d).rglob(name))
               for d in (FRONT, 'include/hw/rdma-ernic', 'tests'))


def has_section(path, section):
    """Does the page have a heading with this anchor, as GitHub derives it?"""
    text = path.read_text(encoding='utf-8')
    return any(re.sub(r'[^\w -]', '', m[1]).strip().lower().replace(' ', '-') == section
               for m in HEADING.finditer(text))


def main():
    root = checkout.parser(__doc__).parse_args().root
    pages = [root / 'README.md']
    pages += sorted(p for s in ('md', 'rst') for p in (root / 'docs').rglob(f'*.{s}'))
    found = names = 0
    for page in pages:
        text = page.read_text(encoding='utf-8') if page.exists() else ''
        for m in NAME.finditer(text):
            names += 1
            name = m[1] or m[2]
            if not exists(root, page, name, m[2]):
                line = text.count('\n', 0, m.start()) + 1
                print(f'{page.relative_to(root)}:{line}: {name} is not there')
                found += 1
        for m in SECTION.finditer(text):
            target = page.parent / m[1] if m[1] else page
            if target.exists() and not has_section(target, m[2]):
                line = text.count('\n', 0, m.start()) + 1
                print(f'{page.relative_to(root)}:{line}: {m[1]}#{m[2]} is no section')
                found += 1
    for page in table.stale(root) if (root / table.PAGE).exists() else ():
        print(f'{page}: the score differs from the table of results in {table.PAGE}')
        found += 1
    print(f'check-readme: {len(pages)} pages, {names} names, {found} findings')
    return 1 if found or not names else 0


if __name__ == '__main__':
    sys.exit(main())
