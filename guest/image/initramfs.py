# SPDX-License-Identifier: GPL-2.0-or-later
"""Parts of a guest's image: modules with what they need, the archive, the kernel."""
import lzma
import os
import stat
import struct
from pathlib import Path

from packages import LIB, run


def in_image(root, program, *arguments, name=None):
    """Run a program of the image, by that name, with its libraries; no chroot."""
    environment = dict(os.environ, PYTHONHOME=str(root / 'usr'))
    return run([root / 'usr/lib64/ld-linux-x86-64.so.2', '--library-path',
                root / LIB, '--argv0', name or program, program, *arguments],
               env=environment)


def needed_modules(folder, names):
    """Paths of these modules and all that they need, below the folder of a kernel."""
    deps, by_name = {}, {}
    for line in (folder / 'modules.dep').read_text().splitlines():
        path, rest = line.split(':')
        deps[path] = rest.split()
        by_name[Path(path).name.split('.')[0].replace('-', '_')] = path
    soft = {}
    for line in (folder / 'modules.softdep').read_text().splitlines():
        if line.startswith('softdep '):
            name, *others = line.split()[1:]
            soft.setdefault(name, []).extend(o for o in others if not o.endswith(':'))
    wanted, paths = list(names), set()
    while wanted:
        name = wanted.pop().replace('-', '_')
        path = by_name.get(name)
        if path is None or path in paths:
            continue                    # built in, or an alias
        for one in [path, *deps[path]]:
            paths.add(one)
            wanted += soft.get(Path(one).name.split('.')[0].replace('-', '_'), [])
    return sorted(paths)


def cpio_entry(name, mode, data=b'', device=(0, 0), number=[0]):
    number[0] += 1
    raw = name.encode() + b'\0'
    fields = [number[0], mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(raw), 0]
    head = b'070701' + b''.join(b'%08X' % field for field in fields) + raw
    return head + b'\0' * (-len(head) % 4) + data + b'\0' * (-len(data) % 4)


def cpio(roots, without=()):
    """Yield an archive (newc) of what is below the roots, owned by root."""
    seen = set()
    for root in roots:
        for path in sorted(root.rglob('*')):
            name = str(path.relative_to(root))
            if name in seen or name == '.complete' or name.startswith(tuple(without)):
                continue
            seen.add(name)
            mode = path.lstat().st_mode
            if stat.S_ISLNK(mode):
                yield cpio_entry(name, mode, os.readlink(path).encode())
            elif stat.S_ISDIR(mode):
                yield cpio_entry(name, stat.S_IFDIR | 0o755)
            elif stat.S_ISREG(mode):
                yield cpio_entry(name, mode & ~0o6000, path.read_bytes())
    for name in ('dev', 'proc', 'sys', 'run', 'tmp', 'root'):
        if name not in seen:
            yield cpio_entry(name, stat.S_IFDIR | 0o755)
    yield cpio_entry('dev/console', stat.S_IFCHR | 0o600, device=(5, 1))
    yield cpio_entry('TRAILER!!!', 0)


def kernel_file(root):
    """Where the packages of a kernel have it: newer ones beside the modules."""
    return next(path for pattern in ('boot/vmlinuz-*', 'usr/lib/modules/*/vmlinuz')
                for path in root.glob(pattern))


def put_kernel(file, target):
    """The kernel as an ELF file, which starts at once: inside the emulated machine
    its decompression takes half of the boot. Anything but xz stays as it is."""
    data = file.read_bytes()
    setup_sectors = data[0x1f1]             # Linux' boot protocol
    offset, length = struct.unpack_from('<II', data, 0x248)
    payload = data[(setup_sectors + 1) * 512 + offset:][:length]
    if payload.startswith(b'\xfd7zXZ\0'):
        data = lzma.LZMADecompressor().decompress(payload)
    target.write_bytes(data)
