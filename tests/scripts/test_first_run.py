# SPDX-License-Identifier: GPL-2.0-or-later
"""README's first command in a new root of Debian, which has nothing but apt and its
dependencies: by root, who installs the packages, and then by an ordinary user."""
import re

import pytest

import roots

# Seconds to the first result of a second run: 20 on a quiet host. A busy one takes
# several times as long.
LIMIT = 120
# Runs of the command, and lines of their output with the name and the seconds of the run.
# The user has what root has fetched, and builds QEMU in a checkout of its own.
SCRIPT = r'''
set -eo pipefail
try()
{
    local name=$1 start=$SECONDS
    shift
    "$@" 2>&1 | while IFS= read -r line; do
        echo "$name $((SECONDS - start)) $line"
    done
}
rm -rf /var/lib/apt/lists/*
export HOME=/srv/root
cd $HOME/rdma-ernic
for n in first second; do
    try root-$n @COMMAND@
done
useradd -m -d /srv/user user
mkdir /srv/user/.cache
mv $HOME/.cache/rdma-ernic /srv/user/.cache
mv $HOME/rdma-ernic /srv/user
export HOME=/srv/user
chown -R user: $HOME
cd $HOME/rdma-ernic
for n in first second; do
    try user-$n setpriv --reuid user --regid user --init-groups @COMMAND@
done
'''
RUNS = ['root-first', 'root-second', 'user-first', 'user-second']


def command():
    text = (roots.ROOT / 'README.md').read_text()
    return re.search(r'^ {4}(scripts/demo [^#\n]*[^#\s])', text, re.M)[1]


@pytest.mark.parametrize('release', ['bookworm', 'trixie'])
def test_first_run(release, tmp_path):
    """All programs work in all runs. The first one says how far it is, and the second one
    is soon in the guests."""
    roots.clone(tmp_path / 'rdma-ernic')
    status, said = roots.run(
        release, tmp_path, SCRIPT.replace('@COMMAND@', command()),
        ['mkdir "$1/srv/root"', f'copy-in {tmp_path}/rdma-ernic /srv/root'])
    for name in RUNS:
        first = re.search(rf'^{name} (\d+) +ibv_devinfo ', said, re.M)
        end = re.search(rf'^{name} (\d+) (\d+) of \2 worked', said, re.M)
        assert first and end, said[-4000:]
        print(f'{release}, {name}: {first[1]} s to the first result, {end[1]} s in all')
        if name.endswith('second'):
            assert int(first[1]) < LIMIT
    assert status == 0, said[-4000:]
    assert re.search(r'^root-first \d+ qemu-tree: step \d+ of \d+, about \d+ s left$',
                     said, re.M)
