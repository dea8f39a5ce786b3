# SPDX-License-Identifier: GPL-2.0-or-later
"""rdma-core's own Python tests, without those of other vendors' devices: of the releases
of Debian, and of the one that is being made, which has the newest rdma-core."""
import guest
import links
from report import RESULT, Case
from stacks import STACKS, Suite

# A stock guest has the tests as they are in their package.
UNPACK = ('test -d /usr/share/rdma-core-tests/tests || { '
          'mkdir -p /usr/share/rdma-core-tests && '
          'cp -r /usr/share/doc/rdma-core/tests /usr/share/rdma-core-tests && '
          'find /usr/share/rdma-core-tests -name "*.gz" -exec gunzip {} +; }')
# A resize by Linux's mlx5 driver drops entries.
PROVOKED = ('MODIFY_CQ(0x403) op_mod(0x1) failed, status bad resource state',
            'MODIFY_CQ (0x403) op_mod 0x1: the object is in another state')
SECONDS = 1800                  # the host may be busy
STOCK = ('python3-pyverbs', 'rdma-core')


def cases(guests, _):
    one = guests[0]
    one.check(UNPACK)
    one.check('echo 32 >/proc/sys/vm/nr_hugepages')     # of 2 MiB, for some tests
    one.put(guest.INSIDE / 'pyverbs_suite.py', '/tmp/pyverbs_suite.py')
    result = one.run(f'python3 /tmp/pyverbs_suite.py {links.DEVICE} 1', SECONDS)
    yield 'one program with all cases'
    said = ''
    for line in result.output.splitlines():
        if found := RESULT.fullmatch(line):
            yield Case(found[2], found[1], said if found[1] == 'fail' else found[3])
            said = ''
        else:
            said += line + '\n'
    if result.status:
        yield Case('(to the end)', 'fail', f'status {result.status}\n{said}')


def suite_of(release, name, kernel='6.1', **more):
    return Suite(name, 1, cases, about=('rdma-core',), devices=STACKS, release=release,
                 kernel=kernel, stock=STOCK, provoked=PROVOKED, **more)


SUITES = [suite_of('bookworm', 'rdma-core', short=()),
          suite_of('trixie', 'rdma-core-trixie', '6.12'),
          suite_of('forky', 'rdma-core-forky', '6.12', short=())]
