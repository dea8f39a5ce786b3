#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Make the pictures and tables of docs/timing.md from the timing program's output."""
import argparse
import hashlib
import io
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from PIL import Image, PngImagePlugin

import timing_pictures
import timing_tables

PAGE = 'docs/timing.md'
IMAGES = 'docs/images'
WHOLE = 'generic-100g.profile'  # which has every key


class Data:
    """The lines of --data, by their first word, and the events of --trace."""

    def __init__(self, program, profiles):
        self.profiles = profiles
        text = subprocess.run([program, profiles, '--data'], text=True, check=True,
                              stdout=subprocess.PIPE).stdout
        self.lines = defaultdict(list)
        for line in text.splitlines():
            kind, *words = line.split('\t')
            self.lines[kind].append(words)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / 'trace.json'
            subprocess.run([program, profiles, '--trace', path], check=True,
                           stdout=subprocess.DEVNULL)
            self.trace = json.loads(path.read_text())

    def of(self, kind, *words):
        """The rest of the lines that begin so."""
        n = len(words)
        found = [line[n:] for line in self.lines[kind] if line[:n] == list(words)]
        if not found:
            raise SystemExit(f'plot-timing: no data of {kind} {words}')
        return found


def fill_in(page, tables):
    """@page with new text between <!-- NAME --> and <!-- end -->."""
    for name, text in tables.items():
        begin, end = f'<!-- {name} -->\n', '<!-- end -->'
        head, found, rest = page.partition(begin)
        if not found or end not in rest:
            raise SystemExit(f'{PAGE}: no place for "{name}"')
        page = head + begin + text + end + rest.partition(end)[2]
    return page


class Picture:
    """A picture with its data, whose digest is in the file: the bytes of a picture
    depend on the version of matplotlib, the data does not."""

    def __init__(self, name, data):
        series, self.draw = timing_pictures.ALL[name]
        self.shown = series(data)
        text = json.dumps(self.shown, sort_keys=True)
        self.digest = 'sha256:' + hashlib.sha256(text.encode()).hexdigest()

    def write(self, path):
        """64 colours are enough, and a third of the bytes."""
        drawn, about = io.BytesIO(), PngImagePlugin.PngInfo()
        self.draw(self.shown).savefig(drawn, format='png', dpi=100)
        for key, text in (('Source', 'scripts/plot-timing'), ('Comment', self.digest),
                          ('Copyright', 'SPDX-License-Identifier: GPL-2.0-or-later')):
            about.add_text(key, text)
        Image.open(drawn).convert('RGB').quantize(64).save(path, optimize=True,
                                                           pnginfo=about)

    def fault(self, path):
        """Why the file is not this picture, or None."""
        if not path.exists():
            return 'missing'
        return None if self.digest.encode() in path.read_bytes() else 'of other data'


def check(files, page, text, keys):
    """Prints TAP: whether the pictures and the page are up to date."""
    results = [(path.name, picture.fault(path)) for path, picture in files.items()]
    results.append((page.name, None if page.read_text(encoding='utf-8') == text
                    else 'other tables'))
    results.append(('the table of keys', keys and f'by hand: {keys}'))
    print(f'1..{len(results)}')
    for number, (name, fault) in enumerate(results, 1):
        print(f'{"not " if fault else ""}ok {number} - {name} is up to date')
        if fault:
            print(f'# {fault}; scripts/plot-timing writes the others')
    return 1 if any(fault for _, fault in results) else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('root', type=Path, metavar='ROOT')
    parser.add_argument('program', metavar='ERNIC-TIMING')
    parser.add_argument('--check', action='store_true',
                        help='print TAP: are pictures and tables up to date?')
    args = parser.parse_args()
    data = Data(args.program, args.root / 'hw/rdma-ernic/profiles')
    files = {args.root / IMAGES / f'timing-{name}.png': Picture(name, data)
             for name in timing_pictures.ALL}
    page = args.root / PAGE
    text = fill_in(page.read_text(encoding='utf-8'),
                   {name: make(data) for name, make in timing_tables.ALL.items()})
    if args.check:
        profile = (data.profiles / WHOLE).read_text(encoding='utf-8')
        return check(files, page, text, timing_tables.wrong_keys(text, profile))
    for path, picture in files.items():
        picture.write(path)
        print(path.relative_to(args.root))
    page.write_text(text, encoding='utf-8')
    print(PAGE)
    return 0


if __name__ == '__main__':
    sys.exit(main())
