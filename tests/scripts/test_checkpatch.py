# SPDX-License-Identifier: GPL-2.0-or-later
"""scripts/checks/checkpatch refuses each of these lines."""
import subprocess
from pathlib import Path

import pytest

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


def run(root, tree, *names):
    for name, text in tree.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text, encoding='utf-8')
    return subprocess.run([SCRIPT, root, *names], text=True, capture_output=True,
                          check=False)


@pytest.mark.parametrize('tree, fault', [({}, None), (MANY, 'include/b.h:')],
                         ids=['accepts', 'a header of the contract'])
def test_tree(tmp_path, tree, fault):
    """Every file is read, and the one with a fault is named."""
    done = run(tmp_path, {'hw/good.c': GOOD % 'a--;', 'include/good.h': GOOD % 'a--;',
                          **tree})
    assert done.returncode == (1 if fault else 0), done.stdout + done.stderr
    assert (fault or 'files') in done.stdout, done.stdout


def test_lines(tmp_path):
    """One run for all of them: a file for each."""
    tree = {f'hw/{n}.c': GOOD % line for n, line in enumerate(LINES)}
    done = run(tmp_path, tree, *tree)
    assert done.returncode == 1, done.stderr
    missed = [line for n, line in enumerate(LINES) if f'hw/{n}.c:' not in done.stdout]
    assert not missed, missed
