# SPDX-License-Identifier: GPL-2.0-or-later
"""Check that includes and calls only point downwards, room by room.

A folder of the engine or of the device is a room. A file includes headers of its own
room and of rooms below it. In the objects, no call goes to a room above, and no files
call each other in a circle; the engine has no data that changes, its names begin with
ernic_, and it calls nothing of the host but OUTSIDE. Calls and data are read from
the symbols of the object files, so none is overlooked.
"""
import functools
import re
import subprocess
from collections import defaultdict
from pathlib import Path

import house

ENGINE = 'hw/rdma-ernic/engine'
DEVICE = 'hw/rdma-ernic'
CONTRACT = 'include/hw/rdma-ernic'

# Rooms of the engine, lowest first; rooms of one row do not see each other. The room
# '' is the engine's own folder.
ROOMS = [['contract'], ['base'], ['wire'], ['timing'], ['objects'], ['interfaces'],
         ['steering'], ['transport'], ['interfaces/common'],
         ['interfaces/verbs', 'interfaces/pg332', 'interfaces/mlx5/layout'],
         ['interfaces/mlx5/command'], ['interfaces/mlx5/port'], ['interfaces/mlx5/rdma'],
         ['interfaces/mlx5/eth'], ['interfaces/mlx5'],
         [''], ['state']]
LEVEL = {room: level for level, row in enumerate(ROOMS) for room in row}

# Rooms of the device, lowest first. The engine is below all of them.
DEVICE_ROOMS = [['profiles', 'capture', 'compat'], ['fabric'], ['device'], ['links'],
                ['links/udp', 'links/shm'], ['net'], ['bars/qdma', 'bars/xib'], ['bars'],
                ['pci']]
DEVICE_LEVEL = {room: level for level, row in enumerate(DEVICE_ROOMS) for room in row}

# Headers of the engine that a room of the device may include, besides the contract.
COMMON = {'engine/engine.h', 'engine/base/budget.h', 'engine/base/env.h',
          'engine/base/types.h'}
ENGINE_OF = {
    'bars': COMMON,
    'bars/qdma': {'engine/base/budget.h'},
    'bars/xib': {'engine/base/axi_dma.h', 'engine/base/budget.h'},
    'capture': {'engine/base/types.h', 'engine/timing/timing_trace.h'},
    'device': COMMON | {'engine/state/precopy.h', 'engine/timing/profile.h'},
    'fabric': {'engine/base/types.h', 'engine/trace.h', 'engine/base/pages.h',
               'engine/base/budget.h'},
    'links': COMMON,
    'links/shm': COMMON | {'engine/wire/frame.h'},
    'links/udp': COMMON | {'engine/wire/frame.h', 'engine/base/drop.h',
                           'engine/base/ib_spec.h'},
    # The network card carries frames, looks at checksums and divides large packets.
    'net': COMMON | {'engine/wire/frame.h', 'engine/wire/inet.h',
                     'engine/wire/segmentation.h'},
    'pci': COMMON | {'engine/timing/profile.h', 'engine/timing/timing_count.h',
                     'engine/timing/timing_trace.h'},
}
# Plain C without QEMU and without verbs: tests and benchmark run them as they are.
PLAIN = {'links/udp/socket', 'links/udp/peers', 'links/shm/close', 'links/shm/folder',
         'links/shm/owners', 'links/shm/pair', 'links/shm/port', 'links/shm/ring',
         'links/shm/stations', 'capture/output',
         'capture/pcapng', 'capture/timing_file', 'capture/timing_usage',
         'fabric/cable', 'fabric/switch', 'fabric/switch_port', 'fabric/switch_state',
         'fabric/archive', 'fabric/carried'}
PLAIN_ENGINE = {'engine/base/types.h', 'engine/timing/timing_trace.h', 'engine/trace.h',
                'engine/wire/frame.h', 'engine/base/ib_spec.h', 'engine/base/pages.h',
                'engine/base/budget.h'}

# QEMU's headers that moved between the versions that the device is built for.
COMPAT = 'hw/rdma-ernic/compat/qemu.h'

# Allowed everywhere in the engine.
PURE = {'qemu/osdep.h', 'qemu/bswap.h', 'trace.h', 'glib.h'}
# Only in engine/trace.h itself.
GENERATED = 'trace/trace-hw_rdma_ernic_engine.h'
# Only where a library computes the ICRC, and where pages of the host are used.
LIBRARIES = {'icrc.c': {'isa-l/crc.h', 'isa-l.h', 'libdeflate.h', 'zlib.h'},
             'pages.c': {'sys/mman.h', 'unistd.h'}}
# Only in the guest contract, which kernel and user space read too.
CONTRACT_HEADERS = {'linux/types.h', 'linux/build_bug.h', 'stdint.h', 'stddef.h',
                    'assert.h', 'standard-headers/linux/types.h'}

# The functions of the host that the engine calls: no clock, no random number, no output,
# no way out of the process, no waiting. Builds with fortified sources add __ and _chk.
OUTSIDE = re.compile(
    r'g_(ascii|assert|byte_array|free|malloc|mem|realloc|str|try)\w*|'
    r'mem(chr|cmp|cpy|move|set)|bcmp|str(chr|len|n?cmp|spn)|v?snprintf|qsort|'
    r'bsearch|__assert_fail|__stack_chk_fail|__cpu_\w+|_GLOBAL_OFFSET_TABLE_|'
    r'crc32\w*|libdeflate_crc32|ernic_trace_(event|mode)')
# The functions for the host's pages.
PAGES = re.compile('madvise|mmap(64)?|mprotect|munmap|sysconf')

INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.M)


def includes(path):
    """(line, header, bracket) of each include."""
    text = path.read_text(encoding='utf-8')
    for m in INCLUDE.finditer(text):
        yield house.line_of(text, m.start(1)), m[2], m[1]


def room_of(name):
    """The room of a file, named from the folder of the engine or of the device."""
    return '' if '/' not in name else name.rsplit('/', 1)[0]


def sees(room, other):
    """Whether a file of @room in the engine may use @other."""
    return room == other or LEVEL[other] < LEVEL[room]


# ---- includes: each function says why one is wrong, or None --------------------

def engine_include(root, path, header, _):
    name = path.relative_to(root / ENGINE).as_posix()
    if name == 'trace.h':
        return None if header == GENERATED else f'trace.h includes {header}'
    if path.suffix == '.h' and header == 'qemu/osdep.h':
        return 'a header includes qemu/osdep.h'
    header = header.removeprefix(ENGINE + '/')
    if header in PURE or (root / 'include' / header).exists():
        return None
    if not (root / ENGINE / header).exists():
        return None if header in LIBRARIES.get(path.name, ()) \
            else f'{header} is neither ours nor a pure header'
    room = room_of(name)
    return None if sees(room, room_of(header)) else f"room '{room}' includes {header}"


def contract_include(root, path, header, _):
    allowed = header in CONTRACT_HEADERS | PURE \
        or path.stem == 'ernic_abi' and Path(header).stem.startswith('ernic_abi_') \
        or path.stem != 'ernic_abi' and ((root / 'include' / header).exists()
                                         or (path.parent / header).exists())
    return None if allowed else f'the guest contract includes {header}'


@functools.cache
def moved(root):
    """The headers that COMPAT includes by the version of QEMU."""
    compat, depth, found = root / COMPAT, 0, set()
    text = compat.read_text(encoding='utf-8') if compat.exists() else ''
    for line in text.splitlines():
        depth += line.startswith('#if') - line.startswith('#endif')
        header = INCLUDE.match(line)
        if header and depth > 1:            # within the guard of the file
            found.add(header[2])
    return found


def device_include(root, path, header, bracket):
    name = path.relative_to(root / DEVICE)
    if header in moved(root) and path != root / COMPAT:
        return f'{header} is not in every QEMU: include compat/qemu.h'
    room = room_of(name.as_posix())
    engine = header if header.startswith('engine/') else f'engine/{header}'
    of_engine = (root / DEVICE / engine).exists()
    if name.with_suffix('').as_posix() in PLAIN:
        if bracket == '<' or header in {'qemu/osdep.h', 'qemu/bswap.h', 'glib.h'} \
                or header.rsplit('.', 1)[0] in PLAIN \
                or (of_engine and engine in PLAIN_ENGINE):
            return None
        return f'a plain file includes {header}'
    if of_engine and engine not in ENGINE_OF[room]:
        return f"room '{room}' of the device includes {header}"
    if bracket == '"' and (root / DEVICE / header).exists() and not of_engine \
            and not above(room, room_of(header)):
        return f"room '{room}' of the device includes {header}, which is above it"
    return None


def above(room, other):
    """Whether a file of @room in the device may use @other: the engine is below all."""
    return room == other or other not in DEVICE_LEVEL \
        or DEVICE_LEVEL[other] < DEVICE_LEVEL[room]


def misplaced(root, path):
    """The fault of a file as a whole, or None."""
    name = path.relative_to(root / DEVICE)
    if name.parts[0] != 'engine':
        return None if room_of(name.as_posix()) in DEVICE_LEVEL \
            else 'in no room of the device'
    if room_of(path.relative_to(root / ENGINE).as_posix()) not in LEVEL:
        return 'in no room: list it in scripts/checks/layers.py'
    first = next(includes(path), (0, '', ''))[1]
    return 'first include is not qemu/osdep.h' \
        if path.suffix == '.c' and first != 'qemu/osdep.h' else None


def check_includes(root):
    """How many files there are, and what is wrong with their includes."""
    findings, count = [], 0
    for path in sorted([*(root / DEVICE).rglob('*.[ch]'),
                        *(root / CONTRACT).rglob('*.h')]):
        if path == root / DEVICE / 'trace.h':
            continue
        count += 1
        shown, rule = path.relative_to(root), contract_include
        if path.is_relative_to(root / DEVICE):
            inside = path.is_relative_to(root / ENGINE)
            rule = engine_include if inside else device_include
            why = misplaced(root, path)
            if why:
                findings.append(f'{shown}:1: {why}')
            if why and 'in no room' in why:
                continue
        for line, header, bracket in includes(path):
            why = rule(root, path, header, bracket)
            if why:
                findings.append(f'{shown}:{line}: {why}')
    return count, findings


# ---- symbols --------------------------------------------------------------------

def symbols(root, files):
    """(file, symbol, kind, section) of every symbol of the objects of @files."""
    stems = {re.sub(r'\W', '_', p.relative_to(root / DEVICE).as_posix()):
             p.relative_to(root / DEVICE).with_suffix('').as_posix()
             for p in (root / DEVICE).rglob('*.c')}
    text = subprocess.run(['nm', '-A', '-f', 'sysv', *files], capture_output=True,
                          text=True, check=True).stdout
    for line in text.splitlines():
        if '|' in line:
            where, _, kind, *_, section = map(str.strip, line.split('|'))
            file, name = where.rsplit(':', 1)
            file = re.split('[:/]', file)[-1].removesuffix('.o')
            stem = re.sub(r'\W', '_', file).split('hw_rdma_ernic_', 1)[-1]
            if stem in stems:
                yield stems[stem], name, kind, section


def check_calls(tree, used, defined, functions, allowed):
    """How many files have symbols, and what is wrong with their calls. used: the names
    that each uses; defined: the file of each name; functions: those names that may be
    called; allowed(file, to): whether it may. Tables name functions and other tables,
    so a circle is one of calls."""
    calls = {file: defaultdict(set) for file in sorted(used)}
    for file, names in used.items():
        for name in sorted(names & defined.keys()):
            calls[file][defined[name]].add(name)
    findings = [] if any(calls.values()) else [f'{tree}: no call found']
    findings += [f'{tree}/{file}.c:1: calls {sorted(names)} of {to}'
                 for file in calls for to, names in sorted(calls[file].items())
                 if not allowed(file, to)]
    way = house.circle({file: [to for to, names in others.items() if names & functions]
                        for file, others in calls.items()})
    if way:
        findings.append(f'{tree}: a circle of calls: ' + ' '.join(sorted(set(way))))
    return len(calls), findings


def check_device(root, build):
    """Calls of the device's files, from the objects of QEMU's @build."""
    defined, functions, used = {}, set(), defaultdict(set)
    objects = sorted(build.glob('hw/rdma-ernic/libernic.a.p/*.o'))
    for file, name, kind, _ in symbols(root, objects):
        if kind == 'U':
            used[file].add(name)
        elif kind in 'TDRBC':
            defined[name] = file
            functions |= {name} if kind == 'T' else set()
    return check_calls(DEVICE, used, defined, functions,
                       lambda file, to: file.startswith('engine/')
                       or above(room_of(file), room_of(to)))


def check_symbols(root, library):
    findings, defined, functions, used = [], {}, set(), defaultdict(set)
    for file, name, kind, section in symbols(root, [library]):
        file = file.removeprefix('engine/')
        if kind == 'U':
            used[file].add(name)
        elif kind in 'TDRBC':
            defined[name] = file
            functions |= {name} if kind == 'T' else set()
            if not name.startswith('ernic_'):
                findings.append(f'{ENGINE}/{file}.c:1: {name} crosses a file without'
                                ' ernic_')
        # What the linker relocates is const afterwards.
        if kind in 'dDbBC' and not section.startswith('.data.rel.ro'):
            findings.append(f'{ENGINE}/{file}.c:1: {name} is data that changes')
    for file, names in sorted(used.items()):
        for name in sorted(names - defined.keys()):
            plain = re.sub(r'^__(\w+)_chk$', r'\1', name)
            if not OUTSIDE.fullmatch(plain) \
                    and not (file == 'base/pages' and PAGES.fullmatch(plain)):
                findings.append(f'{ENGINE}/{file}.c:1: calls {name} of the host')
    return findings + check_calls(ENGINE, used, defined, functions, lambda file, to: sees(
        room_of(file), room_of(to)))[1]


def check(root, built=None):
    """@built: the engine's static library, or QEMU's build folder."""
    if built and Path(built).is_dir():
        return check_device(root, Path(built))
    count, findings = check_includes(root)
    return count, findings + (check_symbols(root, built) if built else [])
