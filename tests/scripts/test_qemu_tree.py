# SPDX-License-Identifier: GPL-2.0-or-later
"""qemu-tree with a small imitation of QEMU's source: which device each checkout builds,
and that the source stays as it is."""
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Its "executable" prints the device's file and the file that patches change.
CONFIGURE = r'''#!/bin/sh
src=$(cd "$(dirname -- "$0")" && pwd)
grep -qx 'source rdma-ernic/Kconfig' "$src/hw/Kconfig" || exit 1
echo "$@" >arguments
cat >build.ninja <<END
rule join
  command = cat \$in >\$out && chmod +x \$out
build qemu-system-x86_64: join $src/hw/rdma-ernic/device $src/system/physmem.c
END
'''
SOURCE = {
    'VERSION': '10.0.99\n',
    'configs/devices/x86_64-softmmu/default.mak': '',
    'configure': CONFIGURE,
    'hw/Kconfig': 'source pci/Kconfig\n',
    'hw/meson.build': "subdir('pci')\n",
    'hw/pci/pci.c': '',
    'include/hw/pci.h': '',
    'include/qemu.h': '',
    'system/physmem.c': 'echo 1\necho 2\necho 3\n',
    'system/vl.c': '',
    'tests/qtest/fuzz/meson.build': '',
    'tests/qtest/meson.build': "tpmemu_files = []\n",
}
PATCH = '''--- a/system/physmem.c
+++ b/system/physmem.c
@@ -1,3 +1,3 @@
 echo 1
-echo 2
+echo {}
 echo 3
'''


def write(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def run_program(program):
    """The lines that it prints."""
    return subprocess.run(['sh', program], capture_output=True, text=True,
                          check=True).stdout.split()


class World:
    """A cache with an unpacked source and the tools, and checkouts beside it."""

    def __init__(self, folder):
        self.folder = folder
        self.cache = folder / 'cache/rdma-ernic'
        self.source = self.cache / 'source-10.0'
        write(self.source, SOURCE)
        (self.source / 'configure').chmod(0o755)
        (self.source / '.complete').touch()
        # Modules that only have a version, so that no tool is fetched.
        modules = 'tools/usr/lib/python3/dist-packages'
        write(self.cache, {'version': '10.0'} | {
            f'{modules}/{name}-9.0.dist-info/METADATA': f'Name: {name}\nVersion: 9.0\n'
            for name in ('meson', 'pycotap')})

    def checkout(self, name, patch=None):
        """A checkout whose device prints its name."""
        folder = self.folder / name
        write(folder, {'hw/rdma-ernic/device': f'echo {name}\n',
                       'include/hw/rdma-ernic/x.h': '',
                       'meson.build': "        version: '0.1',\n",
                       'tests/qtest/meson.build': ''})
        if patch:
            write(folder, {'scripts/qemu-10.0/x.patch': PATCH.format(patch)})
        (folder / 'scripts').mkdir(exist_ok=True)
        shutil.copy(ROOT / 'scripts/qemu-tree', folder / 'scripts')
        return folder

    def build(self, checkout, source=None, env=()):
        """The executable's path and what it prints."""
        env = {**os.environ, 'QEMU_SERIES': '', **dict(env)}
        env.pop('QEMU_SRC', None)
        env['XDG_CACHE_HOME'] = str(self.folder / 'cache')
        if source:
            env['QEMU_SRC'] = str(source)
        run = subprocess.run([checkout / 'scripts/qemu-tree'], env=env,
                             text=True, capture_output=True, check=False)
        assert run.returncode == 0, run.stderr
        program = Path(run.stdout.splitlines()[-1]) / 'qemu-system-x86_64'
        return program, run_program(program)


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def contents(folder):
    """Every path below it, with its kind, content and time."""
    return {path: (path.is_symlink(), path.is_file() and path.read_bytes(),
                   path.lstat().st_mtime_ns) for path in folder.rglob('*')}


def test_checkouts(world):
    """Each has its own build directory and device; the source is not changed. A second
    run builds nothing, a change of the device is built, and the directory of a checkout
    that no longer exists is removed, and no other."""
    source = contents(world.source)
    one, two = world.checkout('one'), world.checkout('two')
    first, text = world.build(one)
    assert text == ['one', '1', '2', '3'], text
    stamp = first.stat().st_mtime_ns
    second, text = world.build(two)
    assert text == ['two', '1', '2', '3'], text
    assert first.parent != second.parent, first
    assert world.build(one) == (first, ['one', '1', '2', '3'])
    assert first.stat().st_mtime_ns == stamp
    write(one, {'hw/rdma-ernic/device': 'echo new\n'})
    assert world.build(one)[1][0] == 'new'
    assert contents(world.source) == source
    shutil.rmtree(one)
    third = world.build(world.checkout('three'))[0]
    assert not first.parents[1].exists()
    assert second.exists() and third.exists()


def test_patches(world):
    """A patch is of one checkout alone; one that is changed or removed is undone. One
    that does not fit ends the run; the files that were built stay."""
    source = contents(world.source)
    one, two = world.checkout('one', 'patched'), world.checkout('two')
    program, text = world.build(one)
    stamp = program.stat().st_mtime_ns
    assert text == ['one', '1', 'patched', '3']
    assert world.build(two)[1] == ['two', '1', '2', '3']
    assert world.build(one)[0].stat().st_mtime_ns == stamp
    write(one, {'scripts/qemu-10.0/x.patch': PATCH.format('again')})
    assert world.build(one)[1] == ['one', '1', 'again', '3']
    (one / 'scripts/qemu-10.0/x.patch').unlink()
    assert world.build(one)[1] == ['one', '1', '2', '3']
    assert contents(world.source) == source
    write(one, {'scripts/qemu-10.0/x.patch': PATCH.replace('echo 1', 'no')})
    with pytest.raises(AssertionError, match='does not apply'):
        world.build(one)
    assert program.exists()


def test_caller_tree(world):
    """A tree of the caller's is not changed or patched; its changes are built."""
    mine = world.folder / 'mine'
    shutil.copytree(world.source, mine)
    before = contents(mine)
    one = world.checkout('one', 'patched')
    ours, _ = world.build(one)
    program, text = world.build(one, mine)
    assert text == ['one', '1', '2', '3'], text
    assert program != ours
    assert contents(mine) == before
    # An editor may replace the file.
    write(mine, {'new': 'echo 1\necho mine\n'})
    (mine / 'new').rename(mine / 'system/physmem.c')
    write(mine, {'hw/meson.build': "subdir('new')\n"})
    assert world.build(one, mine)[1] == ['one', '1', 'mine']
    view = program.parents[1] / 'qemu/hw/meson.build'
    assert view.read_text() == "subdir('new')\nsubdir('rdma-ernic')\n"


def test_old_tree(world):
    """A tree of an older series is refused in one line, and nothing is built."""
    write(world.source, {'VERSION': '7.2.19\n'})
    with pytest.raises(AssertionError, match='is QEMU 7.2.19; the device needs 10.0'):
        world.build(world.checkout('one'), world.source)
    assert not list(world.cache.glob('checkouts/*'))


def test_series(world):
    """Another series is built beside 10.0; its folder, and those between, replace patches
    and devices, and take patches away."""
    newer = world.cache / 'source-10.9'
    shutil.copytree(world.source, newer)
    write(newer, {'VERSION': '10.9.1\n'})
    write(world.cache, {'version-10.9': '10.9'})
    shutil.copytree(world.cache / 'tools', world.cache / 'tools-10.9')
    one = world.checkout('one', 'old')
    write(one, {'scripts/qemu-10.9/x.patch': PATCH.format('new'),
                'scripts/qemu-10.9/devices.mak': 'CONFIG_X=n\n'})
    series = {'QEMU_SERIES': '10.9'}
    first, text = world.build(one)
    assert text == ['one', '1', 'old', '3'], text
    assert 'rdma-ernic' not in (first.parent / 'arguments').read_text()
    second, text = world.build(one, env=series)
    assert text == ['one', '1', 'new', '3'], text
    assert second.parent != first.parent
    assert '--with-devices-x86_64=rdma-ernic' in (second.parent / 'arguments').read_text()
    assert (second.parents[1] / 'qemu/configs/devices/x86_64-softmmu/rdma-ernic.mak'
            ).read_text() == 'CONFIG_X=n\n'
    assert world.build(one)[0] == first
    for earlier in ('10.5', '11.0'):
        write(one, {f'scripts/qemu-{earlier}/x.patch': PATCH.format(earlier)})
    assert world.build(one, env=series)[1][2] == 'new'
    (one / 'scripts/qemu-10.9/x.patch').unlink()
    assert world.build(one, env=series)[1][2] == '10.5'
    write(one, {'scripts/qemu-10.9/x.patch': 'Not needed.\n'})
    assert world.build(one, env=series)[1][2] == '2'
    assert world.build(one)[0] == first
    # A series without a folder has no patch.
    assert world.build(world.checkout('two', 'old'), env=series)[1][2] == '2'
    for wrong in ('9.2', '10', 'newest'):
        with pytest.raises(AssertionError, match=f'QEMU_SERIES: {wrong} is not'):
            world.build(one, env={'QEMU_SERIES': wrong})


def test_compiled_once(world):
    """Checkouts share objects, also where Python has set a locale for one of them."""
    rule = 'cat \\$in >\\$out && chmod +x \\$out'
    more = 'ccache cc -MD -c -o x.o ../qemu/hw/rdma-ernic/x.c'
    write(world.source, {'configure': CONFIGURE.replace(rule, f'{rule} && {more}')})
    for name, locale in ('one', 'C'), ('two', 'C.UTF-8'):
        one = world.checkout(name)
        write(one, {'hw/rdma-ernic/x.c': 'int x;\n'})
        world.build(one, env={'LC_CTYPE': locale})
    said = subprocess.run(['ccache', '--print-stats'], text=True, check=True,
                          stdout=subprocess.PIPE,
                          env={**os.environ, 'CCACHE_DIR': str(world.cache / 'ccache')})
    assert '\ndirect_cache_hit\t1\n' in said.stdout, said.stdout


@pytest.mark.parametrize('version, fails', [('12', True), ('14', False), ('', False)])
def test_warnings(world, version, fails):
    """A warning ends the build with the compiler that is known to give none, and with no
    newer one: Debian 13's warns of libvfio-user's calloc()."""
    compiler = world.folder / 'cc'
    compiler.write_text(f'#!/bin/sh\n[ -z "{version}" ] || echo {version}\n')
    compiler.chmod(0o755)
    program, _ = world.build(world.checkout('one'), env={'CC': str(compiler)})
    arguments = (program.parent / 'arguments').read_text().split()
    assert ('--enable-werror' in arguments) == fails


# Two runs with a cache on a disk of its own, which is full when the first one compiles.
TWICE = '''
mkdir small
mount -t tmpfs -o size=2m tmpfs small
cp -a cache/. small
for size in 2m 300m; do
    mount -o remount,size=$size small
    XDG_CACHE_HOME=$PWD/small one/scripts/qemu-tree && break
    echo "status $?"
done
small/rdma-ernic/checkouts/one-*/build/qemu-system-x86_64
'''
NO_SPACE = 'qemu-tree: no space: the disk of {} is full; free some, or set XDG_CACHE'


def test_full_disk(world):
    """One line says so, without the end of a log, and the next run goes on."""
    one = world.checkout('one')
    write(one, {'hw/rdma-ernic/device': 'echo one\n' + '#\n' * (1 << 20)})
    done = subprocess.run(['unshare', '--map-root-user', '--mount', 'sh', '-c', TWICE],
                          cwd=world.folder, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False,
                          env={**os.environ, 'QEMU_SERIES': ''})
    first, _, then = done.stdout.partition('status 1\n')
    lines = first.splitlines()
    assert [line for line in lines if 'space' in line] == lines[-1:], done.stdout
    assert lines[-1].startswith(NO_SPACE.format(world.folder / 'small/rdma-ernic'))
    assert then.split()[-4:] == ['one', '1', '2', '3'] and not done.returncode, then


# Programs that fetch and unpack a source of 10.0.
FETCH = {
    'apt-cache': 'echo Version: 10.0.99',
    'apt-get': 'case "$*" in\n*indextargets*) echo "http://x trixie Debian|main" ;;\n'
               '*" source "*) touch qemu.dsc ;;\nesac',
    'df': 'echo Avail\necho 3',
    'dpkg-source': 'mkdir "$5" && touch "$5/file"\n'
                   'echo "No space left on device"; exit 1'}


def test_full_disk_source(world):
    """Nothing of a source is left that could not be unpacked."""
    shutil.rmtree(world.source)
    write(world.folder / 'bin', {name: f'#!/bin/sh\n{text}\n'
                                 for name, text in FETCH.items()})
    for file in (world.folder / 'bin').iterdir():
        file.chmod(0o755)
    path = f'{world.folder}/bin:{os.environ["PATH"]}'
    with pytest.raises(AssertionError, match=NO_SPACE.format(world.cache)) as raised:
        world.build(world.checkout('one'), env={'PATH': path})
    assert 'cannot unpack it' in str(raised.value)
    assert not list(world.cache.glob('source-*')) + list(world.cache.glob('fetch*'))
