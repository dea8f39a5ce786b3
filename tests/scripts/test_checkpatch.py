#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""scripts/checks/checkpatch refuses each of these lines. Prints TAP."""
import subprocess
import sys
import tempfile
from pathlib import Path

import cases

SCRIPT = Path(__file__).resolve().parents[2] / 'scripts/checks/checkpatch'
GOOD = """/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"

int f(int a)
{
    if (a) {
        a++;
    }
    %s
    return a;
}
"""
LINES = ('if (a)\n        a++;', 'for (;;)\n        a++;', 'while (a)\n        a--;',
         'if (a) {\n    } else\n        a--;', 'if (a)\n    {\n    }',
         'if (a) {\n    }\n    else {\n    }', 'if(a) {\n    }', 'if (a){\n    }',
         'f(a,a);', 'int* b;', 'Type * b;', 'a = sizeof (a);', 'a++;;', 'return(a);',
         'a = a==1;', 'a = a &&b;', 'a++; // why', '\ta++;', 'a++; ')
MANY = {'hw/a.c': GOOD % 'a++;', 'include/b.h': GOOD % 'return(a);'}


def checked(tree, fault):
    """Every file is read, and the one with a fault is named."""
    with tempfile.TemporaryDirectory() as root:
        good = {'hw/good.c': GOOD % 'a--;', 'include/good.h': GOOD % 'a--;'}
        for name, text in {**good, **tree}.items():
            path = Path(root, name)
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding='utf-8')
        run = subprocess.run([SCRIPT, root], text=True, capture_output=True, check=False)
    assert run.returncode == (1 if fault else 0), run.stdout + run.stderr
    assert (fault or 'files') in run.stdout, run.stdout


def all_lines():
    """One run for all of them: a file for each."""
    tree = {f'hw/{n}.c': GOOD % line for n, line in enumerate(LINES)}
    with tempfile.TemporaryDirectory() as root:
        Path(root, 'hw').mkdir()
        for name, text in tree.items():
            Path(root, name).write_text(text, encoding='utf-8')
        run = subprocess.run([SCRIPT, root, *tree], text=True, capture_output=True,
                             check=False)
    assert run.returncode == 1, run.stderr
    missed = [line for n, line in enumerate(LINES) if f'hw/{n}.c:' not in run.stdout]
    assert not missed, missed


if __name__ == '__main__':
    sys.exit(cases.run([('accepts', checked, {}, None),
                        ('a header of the contract', checked, MANY, 'include/b.h:'),
                        ('every line', all_lines)]))
