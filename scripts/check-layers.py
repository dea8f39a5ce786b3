#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Check that includes and calls only point downwards, room by room.

usage: check-layers.py [ROOT [LIBRARY]]

A folder of the engine is a room. A file includes headers of its own room and of
rooms below it. With LIBRARY, the engine's static library, calls are checked as well:
no call goes to a room above, and no files call each other in a circle. Calls and
tables are read from the symbols of the object files, so none is overlooked.
"""
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

CORE = 'hw/rdma-ernic/core'
FRONT = 'hw/rdma-ernic'
CONTRACT = 'include/hw/rdma-ernic'

# Rooms of the engine, lowest first; rooms of one row do not see each other. The room
# '' is the engine's own folder.
ROOMS = [['contract'], ['base'], ['wire'], ['timing'], ['objects'], ['faces'],
         ['steering'], ['transport'], ['faces/verbs', 'faces/pg332', 'faces/mlx5'],
         [''], ['state']]
LEVEL = {room: level for level, row in enumerate(ROOMS) for room in row}

# Still wrong: (file or room, file or room). None may be added; one that is right goes.
KNOWN_INCLUDES = set()
KNOWN_CALLS = set()
KNOWN_CIRCLES = []

# Headers of the engine that a room of the device may include, besides the contract.
FACE = {'core/engine.h', 'core/base/env.h', 'core/base/types.h'}
FRONT_ROOMS = {
    'pci': FACE | {'core/timing/profile.h', 'core/timing/timing_count.h',
                   'core/timing/timing_trace.h'},
    'faces': FACE,
    # The netdev link carries frames.
    'links': FACE | {'core/wire/frame.h', 'core/base/drop.h', 'core/base/ib_spec.h'},
    'qdma': set(),
    'files': {'core/base/types.h', 'core/timing/timing_trace.h'},
    # Frames have pages of their own.
    'network': {'core/base/types.h', 'core/trace.h', 'core/base/block.h',
                'core/base/pages.h'},
}
# Plain C without QEMU and without verbs: tests and benchmark run them as they are.
PLAIN = {'links/udp_socket', 'links/gid_map', 'links/shm_close', 'links/shm_folder',
         'links/shm_owners', 'links/shm_pair', 'links/shm_port', 'links/shm_ring',
         'files/pcapng', 'files/timing_file', 'files/timing_usage',
         'network/cable', 'network/switch', 'network/switch_port', 'network/switch_state',
         'network/archive', 'network/carried'}
PLAIN_FACE = {'core/base/types.h', 'core/timing/timing_trace.h', 'core/trace.h',
              'core/wire/frame.h', 'core/base/ib_spec.h', 'core/base/block.h',
              'core/base/pages.h'}

# Allowed everywhere in the engine.
PURE = {'qemu/osdep.h', 'qemu/bswap.h', 'trace.h', 'glib.h'}
# Only in core/trace.h itself.
GENERATED = 'trace/trace-hw_rdma_ernic_core.h'
# Only where a library computes the ICRC, and where pages of the host are used.
LIBRARIES = {'icrc.c': {'isa-l/crc.h', 'isa-l.h', 'libdeflate.h', 'zlib.h'},
             'pages.c': {'sys/mman.h', 'unistd.h'}}
# Only in the guest contract, which kernel and user space read too.
CONTRACT_HEADERS = {'linux/types.h', 'linux/build_bug.h', 'stdint.h', 'stddef.h',
                    'assert.h', 'standard-headers/linux/types.h'}

INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')


def includes(path, brackets='"<'):
    text = path.read_text(encoding='utf-8')
    for number, line in enumerate(text.splitlines(), 1):
        m = INCLUDE.match(line)
        if m and m[1] in brackets:
            yield number, m[2]


def room_of(name):
    """The room of a file of the engine, named from core/."""
    return '' if '/' not in name else name.rsplit('/', 1)[0]


def sees(room, other):
    """May a file of @room use @other?"""
    return room == other or LEVEL[other] < LEVEL[room]


class Layers:
    def __init__(self, root):
        self.root = root
        self.found, self.count, self.excused = [], 0, set()

    def say(self, path, line, why):
        self.found.append(f'{path}:{line}: {why}')

    def check_first(self, path, name):
        """.c files of the engine start with qemu/osdep.h, headers never include it."""
        names = [header for _, header in includes(path)]
        if path.suffix == '.c' and names[:1] != ['qemu/osdep.h']:
            self.say(name, 1, 'first include is not qemu/osdep.h')
        if path.suffix == '.h' and 'qemu/osdep.h' in names:
            self.say(name, 1, 'a header includes qemu/osdep.h')

    def core_include(self, path, name, header):
        """Why this include of the engine is wrong, or None."""
        if path.name == 'trace.h':
            return None if header == GENERATED else f'trace.h includes {header}'
        header = header.removeprefix(CORE + '/')
        if header in PURE:
            return None
        if (self.root / 'include' / header).exists():
            return None
        if not (self.root / CORE / header).exists():
            if header in LIBRARIES.get(path.name, ()):
                return None
            return f'{header} is neither ours nor a pure header'
        room, other = room_of(name), room_of(header)
        if sees(room, other):
            return None
        if (name, header) in KNOWN_INCLUDES:
            self.excused.add((name, header))
            return None
        return f"room '{room}' includes {header}"

    def contract_include(self, path, header):
        if header in CONTRACT_HEADERS or header in PURE:
            return None
        stem = Path(header).stem
        if path.stem == 'ernic_abi' and not stem.startswith('ernic_abi_'):
            return f'the guest contract includes {header}'
        if (self.root / 'include' / header).exists() or (path.parent / header).exists():
            return None
        return f'the guest contract includes {header}'

    def check_core(self):
        for path in sorted((self.root / CORE).rglob('*.[ch]')):
            name = path.relative_to(self.root / CORE).as_posix()
            shown = path.relative_to(self.root)
            self.count += 1
            if room_of(name) not in LEVEL:
                self.say(shown, 1, 'in no room: list it in check-layers.py')
                continue
            self.check_first(path, shown)
            for number, header in includes(path):
                why = self.core_include(path, name, header)
                if why:
                    self.say(shown, number, why)
        for path in sorted((self.root / CONTRACT).rglob('*.h')):
            self.count += 1
            for number, header in includes(path):
                why = self.contract_include(path, header)
                if why:
                    self.say(path.relative_to(self.root), number, why)

    def front_include(self, name, header, system):
        """Why this include of the device is wrong, or None."""
        room, stem = name.split('/')[0], name.rsplit('.', 1)[0]
        core = header if header.startswith('core/') else f'core/{header}'
        ours = (self.root / FRONT / core).exists()
        if stem in PLAIN:
            if system or header in {'qemu/osdep.h', 'qemu/bswap.h', 'glib.h'} \
                    or header.rsplit('.', 1)[0] in PLAIN or (ours and core in PLAIN_FACE):
                return None
            return f'a plain file includes {header}'
        if ours and core not in FRONT_ROOMS[room]:
            return f"room '{room}' of the device includes {header}"
        return None

    def check_front(self):
        for path in sorted((self.root / FRONT).rglob('*.[ch]')):
            name = path.relative_to(self.root / FRONT).as_posix()
            if name.startswith('core/') or name == 'trace.h':
                continue
            self.count += 1
            if name.split('/')[0] not in FRONT_ROOMS:
                self.say(path.relative_to(self.root), 1, 'in no room of the device')
                continue
            system = {header for _, header in includes(path, '<')}
            for number, header in includes(path):
                why = self.front_include(name, header, header in system)
                if why:
                    self.say(path.relative_to(self.root), number, why)

    # ---- calls ------------------------------------------------------------------

    def check_calls(self, library):
        defined, used = symbols(library, self.root)
        calls = defaultdict(lambda: defaultdict(set))
        for file, names in used.items():
            for symbol in names:
                to = defined.get(symbol)
                if to and to != file:
                    calls[file][to].add(symbol)
        if not calls:
            self.say(library, 1, 'no call found')
        for file in sorted(calls):
            for to, names in sorted(calls[file].items()):
                if sees(room_of(file), room_of(to)):
                    continue
                if (file, to) in KNOWN_CALLS:
                    self.excused.add((file, to))
                    continue
                self.say(f'{CORE}/{file}.c', 1, f'calls {sorted(names)} of {to}')
        for circle in circles(calls):
            text = ' '.join(sorted(circle))
            if text in KNOWN_CIRCLES:
                self.excused.add(text)
                continue
            self.say(CORE, 1, f'a circle of calls: {text}')

    def check_known(self, calls):
        """An exception that nothing needs is a finding."""
        known = set(KNOWN_INCLUDES)
        if calls:
            known |= KNOWN_CALLS | set(KNOWN_CIRCLES)
        for row in sorted(known - self.excused, key=str):
            self.say('scripts/check-layers.py', 1, f'no longer needed: {row}')


def symbols(library, root):
    """Where each symbol is defined, and which of them each object file uses."""
    stems = {re.sub(r'[^A-Za-z0-9.]', '_', p.relative_to(root / CORE).as_posix()):
             p.relative_to(root / CORE).with_suffix('').as_posix()
             for p in (root / CORE).rglob('*.c')}
    text = subprocess.run(['nm', '-A', library], capture_output=True, text=True,
                          check=True).stdout
    defined, used = {}, defaultdict(set)
    for line in text.splitlines():
        where, rest = line.rsplit(':', 1)
        mangled = where.rsplit(':', 1)[-1].removesuffix('.o')
        mangled = re.sub(r'[^A-Za-z0-9.]', '_', mangled).split('_core_', 1)[-1]
        kind, name = rest.split()[-2:]
        if kind == 'U':
            used[stems[mangled]].add(name)
        elif kind in 'TDRBC':
            defined[name] = stems[mangled]
    return defined, used


def circles(calls):
    """Tarjan's strongly connected components of more than one file."""
    index, low, stack, found = {}, {}, [], []

    def visit(v):
        index[v] = low[v] = len(index)
        stack.append(v)
        for w in sorted(calls[v]):
            if w not in index:
                visit(w)
            if w in stack:
                low[v] = min(low[v], low[w])
        if low[v] == index[v]:
            at = stack.index(v)
            if len(stack) - at > 1:
                found.append(stack[at:])
            del stack[at:]

    for v in sorted(calls):
        if v not in index:
            visit(v)
    return found


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else '.')
    library = sys.argv[2] if len(sys.argv) > 2 else None
    layers = Layers(root)
    layers.check_core()
    layers.check_front()
    if library:
        layers.check_calls(library)
    if (root / 'scripts').is_dir():
        layers.check_known(library)
    for line in layers.found:
        print(line)
    if layers.count == 0:
        print(f'{root}: no file of the engine found')
    print(f'check-layers: {layers.count} files, {len(layers.found)} findings')
    return 1 if layers.found or not layers.count else 0


if __name__ == '__main__':
    sys.exit(main())
