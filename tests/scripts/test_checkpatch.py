# SPDX-License-Identifier: GPL-2.0-or-later
"""scripts/checks/checkpatch refuses each of these lines."""
import subprocess
import time
from pathlib import Path

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


def run(root, tree):
    for name, text in tree.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text, encoding='utf-8')
    return subprocess.run([SCRIPT, root], text=True, capture_output=True, check=False)


def test_lines(tmp_path):
    """Good files are accepted, and read once; then those with a fault are named, and no
    others, also when they were read before."""
    new = f'f({time.time_ns()});'
    good = {'hw/good.c': GOOD % new, 'include/good.h': GOOD % new}
    for read in 2, 0:
        done = run(tmp_path, good)
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout == f'2 files, of which {read} were read\n', done.stdout
    wrong = {f'include/{n}.h': GOOD % line for n, line in enumerate(LINES)}
    for _ in range(2):
        done = run(tmp_path, wrong)
        assert done.returncode == 1 and 'good.' not in done.stdout, done.stderr
        missed = [text for name, text in wrong.items() if f'{name}:' not in done.stdout]
        assert not missed, missed
