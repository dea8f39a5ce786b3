#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Give check-commits.py repositories with good and bad messages. Prints TAP."""
import subprocess
import sys
import tempfile
from pathlib import Path

import cases

SCRIPT = Path(__file__).resolve().parents[2] / 'scripts' / 'check-commits.py'
SIGNED = '\n\nSigned-off-by: A Name <a@example.org>\n'

# (name, messages after the base, exit status, expected words)
CASES = [
    ('no commits', [], 0, '0 commits, 0 findings'),
    ('a good one', ['core: do it' + SIGNED], 0, '1 commits, 0 findings'),
    ('a body', ['core: do it\n\nBecause.' + SIGNED], 0, '1 commits, 0 findings'),
    ('75 characters', ['x' * 75 + SIGNED], 0, '1 commits, 0 findings'),
    ('76 characters', ['x' * 76 + SIGNED], 1, 'subject of 76 characters'),
    ('the older of two', ['x' * 99 + SIGNED, 'core: do it' + SIGNED], 1,
     'subject of 99 characters'),
    ('no sign-off', ['core: do it\n'], 1, 'no Signed-off-by'),
    ('no address', ['core: do it\n\nSigned-off-by: me\n'], 1, 'no Signed-off-by'),
    ('not at the start of a line', ['core: do it\n\nno Signed-off-by: A <a@b>\n'], 1,
     'no Signed-off-by'),
    ('a subject that goes on', ['core: do\nit' + SIGNED], 1, 'no empty line'),
]


def git(root, *args, text=None):
    name = ['-c', 'user.name=A', '-c', 'user.email=a@example.org']
    return subprocess.run(['git', '-C', root, *name, *args], input=text, text=True,
                          check=True, capture_output=True).stdout.strip()


def repository(root, messages):
    """Commits with these messages on top of one; return that one."""
    git(root, 'init', '-q')
    commits = []
    for message in ['before the rules\n', *messages]:
        git(root, 'commit', '-q', '--allow-empty', '--cleanup=verbatim', '-F', '-',
            text=message)
        commits.append(git(root, 'rev-parse', 'HEAD'))
    return commits[0]


def check(root, base):
    run = subprocess.run([sys.executable, SCRIPT, root, '--base', base], text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return run.returncode, run.stdout


def checked(messages, status, words):
    with tempfile.TemporaryDirectory() as root:
        got, output = check(root, repository(root, messages))
    assert got == status and words in output, f'status {got}: {output}'


def without_history(kind):
    """The check of a tree whose history is not there is skipped."""
    with tempfile.TemporaryDirectory() as name:
        full, tree = Path(name) / 'full', Path(name) / 'tree'
        full.mkdir()
        base = repository(full, ['one\n', 'two\n'])
        if kind == 'shallow clone':
            git(name, 'clone', '-q', '--depth', '1', f'file://{full}', 'tree')
        else:
            tree.mkdir()
        got, output = check(tree, base)
    assert got == 77 and 'skipped' in output, f'status {got}: {output}'


def main():
    return cases.run([(name, checked, *rest) for name, *rest in CASES] + [
        (kind, without_history, kind) for kind in ('shallow clone', 'no repository')])


if __name__ == '__main__':
    sys.exit(main())
