# SPDX-License-Identifier: GPL-2.0-or-later
"""rdma-core's own Python tests, without those of other vendors' devices: of the releases
of Debian, and of the one that is being made, which has the newest rdma-core."""
import guest
import links
from report import Case
from stacks import Suite

# Only tests of the provider: the others are the same as in the first release.
FEW = ('test_cqex', 'test_device', 'test_mr', 'test_parent_domain', 'test_pd',
       'test_qpex', 'test_srq')


def cases(guests, modules):
    """The cases of these modules, or of all."""
    one = guests[0]
    one.check('echo 32 >/proc/sys/vm/nr_hugepages')     # of 2 MiB, for some tests
    one.put(guest.INSIDE / 'pyverbs_suite.py', '/tmp/pyverbs_suite.py')
    result = one.run(f'python3 /tmp/pyverbs_suite.py {links.DEVICE} 1 '
                     + ' '.join(modules), 900)
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


def suite_of(release, name, kernel='', few=(), short=True):
    return Suite(name, 1, lambda guests, brief: cases(guests, few if brief else ()),
                 about=('rdma-core',), release=release, kernel=kernel, short=short)


SUITES = [suite_of('bookworm', 'rdma-core'),
          suite_of('trixie', 'rdma-core-trixie', '6.12', FEW),
          suite_of('forky', 'rdma-core-forky', '6.12', short=False)]
