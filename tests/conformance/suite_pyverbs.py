# SPDX-License-Identifier: GPL-2.0-or-later
"""rdma-core's own Python tests, without those of other vendors' devices."""
import guest
import links
from report import Case
from stacks import Suite


def cases(guests, _):
    one = guests[0]
    one.check('echo 32 >/proc/sys/vm/nr_hugepages')     # of 2 MiB, for some tests
    one.put(guest.INSIDE / 'pyverbs_suite.py', '/tmp/pyverbs_suite.py')
    result = one.run(f'python3 /tmp/pyverbs_suite.py {links.DEVICE} 1', 900)
    said = ''
    for line in result.output.splitlines():
        words = line.split(maxsplit=2)
        if len(words) > 1 and words[0] in ('ok', 'fail', 'skip'):
            why = words[2] if len(words) > 2 else ''
            yield Case(words[1], words[0], said if words[0] == 'fail' else why)
            said = ''
        else:
            said += line + '\n'
    if result.status:
        yield Case('(to the end)', 'fail', f'status {result.status}\n{said}')


SUITES = [Suite('rdma-core', 1, cases, about=('rdma-core',))]
