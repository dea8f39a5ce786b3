#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Check the messages of the commits after BASE.

A subject has at most 75 characters, an empty line follows it, and the message has a
Signed-off-by. Where the history is missing, as in an export or a shallow clone, nothing
is checked and the exit status is 77.
"""
import re
import subprocess
import sys

import checkout

BASE = 'dbe38498afbcba3dbb1efd096c120a1aafb2ddf6'   # the last one before these rules
MAX_SUBJECT = 75
SIGNED = re.compile(r'^Signed-off-by: \S.* <\S+@\S+>$', re.M)
SKIP = 77


def faults(message):
    """A phrase for each fault of a message."""
    subject, _, rest = message.partition('\n')
    if len(subject) > MAX_SUBJECT:
        yield f'subject of {len(subject)} characters, more than {MAX_SUBJECT}'
    if rest and not rest.startswith('\n'):
        yield 'no empty line after the subject'
    if not SIGNED.search(message):
        yield 'no Signed-off-by'


def messages(root, base):
    """(commit, message) of every commit after base, merges left out."""
    git = ['git', '-C', root]
    subprocess.run([*git, 'merge-base', '--is-ancestor', base, 'HEAD'], check=True,
                   capture_output=True, text=True)
    log = subprocess.run([*git, 'log', '--no-merges', '--format=%h%n%B%x00',
                          f'{base}..HEAD'], check=True, capture_output=True, text=True)
    for entry in filter(None, map(str.strip, log.stdout.split('\0'))):
        commit, _, message = entry.partition('\n')
        yield commit, message


def main():
    parser = checkout.parser(__doc__)
    parser.add_argument('--base', default=BASE)
    args = parser.parse_args()
    try:
        commits = list(messages(args.root, args.base))
    except (FileNotFoundError, subprocess.CalledProcessError) as e:
        reason = (getattr(e, 'stderr', '') or '').strip() or 'not a commit before HEAD'
        print(f'check-commits: skipped, no history after {args.base[:12]}: {reason}')
        return SKIP
    total = 0
    for commit, message in commits:
        for fault in faults(message):
            print(f'{commit}: {fault}')
            total += 1
    print(f'check-commits: {len(commits)} commits, {total} findings')
    return 1 if total else 0


if __name__ == '__main__':
    sys.exit(main())
