# SPDX-License-Identifier: GPL-2.0-or-later
"""The files of a checkout, for the checks."""

# Folders of git and of builds, and folders of data.
SKIP = {'.git', 'build', '__pycache__', 'corpus', 'captures'}


def files(root):
    """Every file of the checkout but the licence's text, data and links."""
    for path in sorted(root.rglob('*')):
        if SKIP & set(path.relative_to(root).parts) or path.name == 'COPYING':
            continue
        if path.is_file() and not path.is_symlink():
            yield path
