# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether an accelerator of QEMU runs guests on this machine."""
import os
import subprocess
import zlib
from pathlib import Path

import guest
import stock
from monitor import CACHE

KERNEL = '6.12-cloud'
BOOT_SECONDS = 40
LATE = f'a kernel does not boot in {BOOT_SECONDS} s'


def obstacle(accel):
    """Why it cannot be used; '': it can. The answer of the boot is kept for this QEMU
    until the host boots again; permissions change before that, and a host that was too
    busy may not be later."""
    if accel == 'kvm' and (why := no_access()):
        return why
    boot = Path('/proc/sys/kernel/random/boot_id').read_text().strip()
    qemu = guest.find_qemu()
    about = os.stat(qemu)
    build = zlib.crc32(f'{qemu} {about.st_size} {about.st_mtime_ns}'.encode())
    kept = CACHE / f'{accel}-{boot}-{build:08x}'
    if not kept.exists():
        why = find_obstacle(accel)
        if why == LATE:
            return why
        for old in CACHE.glob(f'{accel}-*-*-*-*-*'):
            if boot not in old.name:
                old.unlink(missing_ok=True)
        new = Path(f'{kept}.new')
        new.write_text(why)
        new.rename(kept)
    return kept.read_text()


def no_access():
    try:
        os.close(os.open('/dev/kvm', os.O_RDWR))
    except PermissionError:
        return '/dev/kvm: no permission; add this user to the group kvm, and log in again'
    except OSError as e:
        return f'/dev/kvm: {e.strerror}'
    return ''


def find_obstacle(accel, kernel=KERNEL):
    """Some machines have a /dev/kvm under which no kernel runs: one without the device
    boots until it panics without a first process."""
    image = stock.find_image(kernel)
    command = [guest.find_qemu(), '-machine', 'q35', '-m', '512', '-nodefaults',
               '-nographic', '-no-reboot', '-serial', 'stdio', '-accel', accel,
               '-kernel', image / 'kernel', '-initrd', image / 'initrd',
               '-append', 'console=ttyS0 panic=-1 rdinit=/bin/true']
    try:
        done = subprocess.run(list(map(str, command)), timeout=BOOT_SECONDS, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, errors='replace', check=False)
    except subprocess.TimeoutExpired:
        return LATE
    if 'Kernel panic' not in done.stdout:
        return f'a kernel does not boot: {done.stdout.strip()[-200:]}'
    return ''
