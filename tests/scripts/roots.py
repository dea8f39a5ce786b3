# SPDX-License-Identifier: GPL-2.0-or-later
"""New roots of Debian, which have nothing but apt and its dependencies, and scripts that
run in them."""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'guest/image'))
import packages                 # noqa: E402

# Run the file /script of the root. Guests need room in /dev/shm.
RUN = ['mount -t tmpfs -o mode=1777 tmpfs "$1/dev/shm"',
       'status=0; env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$1" bash /script ||'
       ' status=$?; umount "$1/dev/shm"; exit $status']


def sources(folder, release):
    """A file that names the release alone."""
    packages.read_lists(release)
    text = (packages.CACHE / f'apt-{release}/debian.sources').read_text()
    file = folder / 'debian.sources'
    file.write_text(re.sub('^Suites: .*', f'Suites: {release}', text, flags=re.M))
    return file


def clone(folder):
    """This repository, as its users get it."""
    subprocess.run(['git', 'clone', '-q', '--depth', '1', f'file://{ROOT}', folder],
                   check=True)


def run(release, folder, script, before=(), after=()):
    """(exit status, output) of a script in a new root. before, after: further hooks of
    mmdebstrap. The folder gets the files that this needs."""
    (folder / 'script').write_text(script)
    hooks = [*before, f'copy-in {folder}/script /', *RUN, *after]
    log = folder / 'log'
    with open(log, 'wb') as out:
        status = subprocess.run(
            ['mmdebstrap', '--quiet', '--variant=apt',
             *(f'--customize-hook={hook}' for hook in hooks), release, '/dev/null',
             sources(folder, release)], stdout=out, stderr=out, check=False).returncode
    return status, log.read_text(errors='replace')
