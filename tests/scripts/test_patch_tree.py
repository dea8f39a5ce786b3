#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What patch-tree makes of trees with patches, with others, or some by hand. TAP."""
import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / 'scripts' / 'patch-tree'
LINES = [f'line {number}\n' for number in range(20)]


def patch(number, new, old=None):
    """A patch that replaces one line, which was old."""
    old = old or f'line {number}'
    return (f'why\n--- a/file\n+++ b/file\n@@ -{number},3 +{number},3 @@\n'
            f' {LINES[number - 1]}-{old}\n+{new}\n {LINES[number + 1]}')


def text(**lines):
    """The file with other lines: line5='new'."""
    return ''.join(lines.get(f'line{number}', line.rstrip()) + '\n'
                   for number, line in enumerate(LINES))


FIVE, FIVE_AGAIN, NINE = patch(5, 'five'), patch(5, 'fünf'), patch(9, 'nine')
STACKED = patch(5, 'six', old='five')
BOTH = NINE + patch(5, 'x', old='not there')

# (what, file, [(patches, file afterwards; None: refused, nothing changed)...])
CASES = [
    ('no patches', text(), [([], text())]),
    ('one', text(), [([FIVE], text(line5='five'))]),
    ('one, twice', text(), [([FIVE], text(line5='five'))] * 2),
    ('one more, one less', text(), [([FIVE], text(line5='five')),
                                    ([FIVE, NINE], text(line5='five', line9='nine')),
                                    ([NINE], text(line9='nine')),
                                    ([], text())]),
    ('a changed one, there and back', text(), [([FIVE], text(line5='five')),
                                               ([FIVE_AGAIN], text(line5='fünf')),
                                               ([FIVE], text(line5='five'))]),
    ('one on top of another', text(), [([FIVE, STACKED], text(line5='six'))] * 2 +
     [([FIVE], text(line5='five')), ([FIVE, STACKED], text(line5='six')), ([], text())]),
    ('by hand before', text(line5='five'), [([FIVE], text(line5='five')), ([], text())]),
    ('moved lines', 'new\n' + text(), [([FIVE], 'new\n' + text(line5='five'))]),
    ('what does not fit', text(line5='other'), [([FIVE], None)]),
    ('half of it fits', text(), [([BOTH], None)]),
    ('context that differs', text(line4='other', line6='other'), [([FIVE], None)]),
    ('no patch', text(), [(['no patch\n'], None)]),
]


def run(tree, patches):
    for number, content in enumerate(patches):
        (tree / f'{number}.patch').write_text(content)
    result = subprocess.run(
        [SCRIPT, tree / 'tree', *(tree / f'{n}.patch' for n in range(len(patches)))],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return result.returncode, result.stdout


def files(tree):
    return sorted(path.name for path in tree.iterdir() if path.name != '.patches')


def wrong(tree, steps):
    """What went wrong, or None."""
    before, last = (tree / 'tree/file').read_text(), None
    for patches, want in steps:
        stamp = (tree / 'tree/file').stat().st_mtime_ns
        status, said = run(tree, patches)
        got = (tree / 'tree/file').read_text()
        if got != (before if want is None else want) or files(tree / 'tree') != ['file']:
            return f'{files(tree / "tree")} {got!r}: {said}'
        if want is None and (status != 1 or 'does not apply to' not in said):
            return f'not refused: {status} {said}'
        if want is not None and status != 0:
            return f'status {status}: {said}'
        if patches == last and (said or stamp != (tree / 'tree/file').stat().st_mtime_ns):
            return f'not left alone: {said}'
        before, last = got, patches
    return None


def interrupted(tree, copy):
    """A call that ended between a patch and its copy: one is there without the other."""
    run(tree, [FIVE])
    if copy:
        (tree / 'tree/file').write_text(text())
    else:
        (tree / 'tree/.patches/01-0.patch').unlink()
    return wrong(tree, [([FIVE_AGAIN if copy else FIVE],
                         text(line5='fünf' if copy else 'five')), ([], text())])


def taken_by_hand(tree):
    """A line that was patched and then changed is not given up for lost."""
    run(tree, [FIVE])
    (tree / 'tree/file').write_text(text(line5='mine'))
    return wrong(tree, [([FIVE_AGAIN], None)])


def main():
    cases = [(what, content, lambda tree, steps=steps: wrong(tree, steps))
             for what, content, steps in CASES]
    cases += [('a copy without its patch', text(), lambda tree: interrupted(tree, True)),
              ('a patch without its copy', text(), lambda tree: interrupted(tree, False)),
              ('changed by hand afterwards', text(), taken_by_hand)]
    print(f'1..{len(cases)}')
    failed = 0
    for number, (what, content, function) in enumerate(cases, 1):
        with tempfile.TemporaryDirectory() as name:
            (Path(name) / 'tree').mkdir()
            (Path(name) / 'tree/file').write_text(content)
            told = function(Path(name))
        print(f'{"not " if told else ""}ok {number} - {what}')
        for line in (told or '').splitlines():
            print(f'# {line}')
        failed += bool(told)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
