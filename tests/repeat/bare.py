# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs without an operating system."""
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
CFLAGS = ('-m32 -march=i686 -O2 -Wall -Wextra -Werror -ffreestanding -fno-pie -static'
          ' -fno-stack-protector -fcf-protection=none -mgeneral-regs-only -nostdlib'
          ' -fno-asynchronous-unwind-tables -no-pie -Wl,--build-id=none')
# A command that ends after so many seconds, and with the process that starts it.
LIMITED = ('setpriv', '--pdeathsig=TERM', 'timeout', '-s', 'KILL')
# Its text goes to the file "text" of the working directory.
TEXT = ('-display', 'none', '-nodefaults', '-chardev', 'file,id=text,path=text',
        '-device', 'isa-debugcon,chardev=text')


def build(program, *sources):
    """Builds a program of files of this folder, or of other paths; returns its path."""
    subprocess.run(['gcc', *CFLAGS.split(), '-I', HERE.parents[1] / 'include', '-I', HERE,
                    '-T', HERE / 'guest.ld', '-o', program,
                    *(HERE / source for source in ('start.S', 'io.c', *sources))],
                   check=True)
    return program
