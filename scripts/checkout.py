# SPDX-License-Identifier: GPL-2.0-or-later
"""The checkout that a check is about: its command line, its files."""
import argparse
from pathlib import Path

# Folders of git and of builds, and folders of data.
SKIP = {'.git', 'build', '__pycache__', 'corpus', 'captures'}


def parser(doc):
    """A parser with the first line of doc, and ROOT as the first argument."""
    made = argparse.ArgumentParser(description=doc.split('\n', maxsplit=1)[0])
    made.add_argument('root', nargs='?', type=Path, default='.', metavar='ROOT',
                      help='the checkout (default: the current folder)')
    return made


def files(root):
    """Every file of the checkout but the licence's text, data and links."""
    for path in sorted(root.rglob('*')):
        if SKIP & set(path.relative_to(root).parts) or path.name == 'COPYING':
            continue
        if path.is_file() and not path.is_symlink():
            yield path
