#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Print the C source that has the texts of timing profiles.

usage: embed.py FILE.profile...
"""
import sys
from pathlib import Path


def c_string(line):
    return '"' + line.replace('\\', '\\\\').replace('"', '\\"') + '\\n"'


def main():
    print('#include "qemu/osdep.h"')
    print('#include "engine/timing/profile.h"\n')
    print('const ErnicProfileText ernic_profiles[] = {')
    for path in sorted(Path(arg) for arg in sys.argv[1:]):
        print(f'    {{ "{path.stem}",')
        for line in path.read_text(encoding='utf-8').splitlines():
            print('      ' + c_string(line))
        print('    },')
    print('    { NULL, NULL }\n};')


main()
