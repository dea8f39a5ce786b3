# SPDX-License-Identifier: GPL-2.0-or-later
"""Shared by the checks: files of a checkout, C without its texts, a report."""
import graphlib
import re

# Folders of git and of builds, and folders of data.
SKIP = {'.git', 'build', '__pycache__', 'corpus', 'captures'}
TEXT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def files(root):
    """Every file of the checkout but the licence's text, data and links."""
    for path in sorted(root.rglob('*')):
        if SKIP & set(path.relative_to(root).parts) or path.name == 'COPYING':
            continue
        if path.is_file() and not path.is_symlink():
            yield path


def blank(match):
    """Blanks in place of a match, so that lines and columns stay."""
    return re.sub(r'[^\n]', ' ', match[0])


def code(text):
    """C without comments, and with blanks in its strings."""
    return TEXT.sub(lambda m: blank(m) if m[0][0] == '/' else
                    m[0][0] + ' ' * (len(m[0]) - 2) + m[0][0], text)


def line_of(text, position):
    return text.count('\n', 0, position) + 1


def circle(graph):
    """The nodes of a circle, each of which calls the next; nothing: there is none."""
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return error.args[1][::-1]
    return []


def run(check, *arguments):
    """Report the findings of a check, which returns how much it has seen, and them."""
    count, findings = check(*arguments)
    for finding in findings:
        print(finding)
    print(f'{count} checked, {len(findings)} findings')
    return 0 if count and not findings else 1
