# SPDX-License-Identifier: GPL-2.0-or-later
"""What the suites of others miss: one table of expectations of the verbs, ours.

The tests are in the folder semantics and run in the guest.
"""
import links
from pathlib import Path
from report import Case
from stacks import Suite

FOLDER = Path(__file__).resolve().parent / 'semantics'
GROUPS = ('transitions',)


def inside(one, group):
    """The cases of one file."""
    result = one.run(f'cd /tmp/semantics && python3 run.py {links.DEVICE} 1 {group}', 600)
    for line in result.output.splitlines():
        verdict, name, *why = line.split(' ', 2)
        if verdict in ('ok', 'fail', 'skip'):
            yield Case(name, verdict, ' '.join(why))
    if result.status:
        yield Case(f'{group}/(to the end)', 'fail',
                   f'status {result.status}\n{result.output[-2000:]}')


def cases(guests, _):
    one = guests[0]
    one.check('mkdir -p /tmp/semantics')
    for file in FOLDER.glob('*.py'):
        one.put(file, f'/tmp/semantics/{file.name}')
    for group in GROUPS:
        yield from inside(one, group)


SUITES = [Suite('semantics', 1, cases)]
