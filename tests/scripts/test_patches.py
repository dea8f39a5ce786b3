# SPDX-License-Identifier: GPL-2.0-or-later
"""The patches of QEMU are mails that QEMU's maintainers could take as they are."""
import email
import email.utils
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OLDEST = '10.0'
# The short form fetches one source only.
SERIES = sorted(folder.name[len('qemu-'):] for folder in ROOT.glob('scripts/qemu-1*')
                if folder.name == f'qemu-{OLDEST}' or os.environ.get('ERNIC_LONG'))
# One that changes nothing takes away that of an earlier series.
PATCHES = sorted(patch for patch in ROOT.glob('scripts/qemu-*/*.patch')
                 if '\n+++ ' in patch.read_text())
TRAILER = re.compile(r'^([A-Z][a-z-]+): (.*)$', re.M)


def output(*command, **options):
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.STDOUT, check=False, **options)
    assert done.returncode == 0, done.stdout
    return done.stdout


def source(series):
    """The folder with QEMU's source."""
    return Path(output(ROOT / 'scripts/qemu-tree', '--source',
                       env={**os.environ, 'QEMU_SERIES': series}).splitlines()[-1])


def applied(series):
    """The patches that scripts/qemu-tree applies, in its order."""
    names = {patch.name: patch for one in SERIES if one <= series
             for patch in ROOT.glob(f'scripts/qemu-{one}/*.patch')}
    return sorted(set(names.values()) & set(PATCHES))


@pytest.mark.parametrize('patch', PATCHES, ids=lambda patch: '/'.join(patch.parts[-2:]))
def test_mail(patch):
    """Each patch has the fields of a mail, a reason, a signature and a true diffstat."""
    mail = email.message_from_string(patch.read_text())
    assert re.fullmatch(r'\[PATCH\] [\w./-]+: [a-z][^.].*[^.]', mail['Subject'])
    assert len(mail['Subject']) <= len('[PATCH] ') + 75
    assert email.utils.parsedate(mail['Date'])
    body, line, rest = mail.get_payload().partition('\n---\n')
    reason, _, trailers = body.rpartition('\n\n')
    assert len(reason.split()) > 15 and max(map(len, body[:len(reason)].split('\n'))) < 82
    assert not TRAILER.sub('', trailers).strip(), trailers
    trailers = TRAILER.findall(trailers)
    assert ('Signed-off-by', mail['From']) in trailers
    for name, value in trailers:
        assert name in ('Fixes', 'Signed-off-by')
        assert name != 'Fixes' or re.fullmatch(r'[0-9a-f]{12} \(".+"\)', value)
    stat, _, _ = rest.partition('\ndiff --git ')
    # In a folder of a repository git leaves out the files outside of the folder.
    found = output('git', '-C', ROOT, 'apply', '--stat', patch)
    assert line and stat.split() == found.split()


@pytest.mark.parametrize('series', SERIES)
def test_applies(series, tmp_path):
    """git am takes them, in the order of scripts/qemu-tree, with the content that patch
    makes of the source."""
    tree, patches = source(series), applied(series)
    git = ['git', '-C', tmp_path / 'git', '-c', 'user.name=x', '-c', 'user.email=x@x']
    for file in {name for patch in patches
                 for name in re.findall(r'^\+\+\+ b/(.*)', patch.read_text(), re.M)}:
        for copy in tmp_path / 'git' / file, tmp_path / 'patch' / file:
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(tree / file, copy)
    output(*git, 'init', '-q')
    output(*git, 'add', '.')
    output(*git, 'commit', '-q', '-m', 'QEMU')
    output(*git, 'am', '-q', *patches)
    for patch in patches:
        with open(patch, encoding='utf-8') as file:
            output('patch', '-d', tmp_path / 'patch', '-p1', '-f', '-s', '-F', '0',
                   '--no-backup-if-mismatch', stdin=file)
    output('diff', '-r', '-x', '.git', tmp_path / 'git', tmp_path / 'patch')


@pytest.mark.parametrize('series', SERIES)
def test_checkpatch(series):
    """QEMU's script finds nothing."""
    for patch in applied(series):
        output('perl', source(series) / 'scripts/checkpatch.pl', '--no-tree', '--terse',
               patch)
