# SPDX-License-Identifier: GPL-2.0-or-later
"""Feed each check what it must accept and what it must refuse.

Every case is a small tree of files, with the text that the check has to say.
"""
import os
import subprocess

import pytest

import calls
import events
import house
import layers
import names
import prose
import sentences
import style
import writers

CORE = 'hw/rdma-ernic/engine/'
HEAD = ('/*\n * SPDX-License-Identifier: GPL-2.0-or-later\n *\n'
        ' * The idea of this file.\n */\n')
OSDEP = '#include "qemu/osdep.h"\n'
PYTHON = '#!/usr/bin/env python3\n# SPDX-License-Identifier: GPL-2.0-or-later\n'
BASH = '#!/bin/bash\n# SPDX-License-Identifier: GPL-2.0-or-later\n'

GOOD = HEAD + OSDEP + '''
typedef struct ErnicThing {
    uint32_t size;              /* bytes; a comment beside a field
                                   may go on */
    void (*done)(void *opaque);
} ErnicThing;

typedef enum { ERNIC_ONE, ERNIC_TWO } ErnicNumber;

struct hidden;

QEMU_BUILD_BUG_ON(sizeof(ErnicThing) != 16);

static const char *const names[] = {
    [ERNIC_ONE] = "one, // not a comment",
    [ERNIC_TWO] = "two",
};

static int (*const handlers[])(int) = { NULL };

static int plus(int a, int *b);

static int plus(int a, int *b)
{
    static const int table[] = { 1, 2 };

    do {
        a += table[0] * *b;
    } while (a < 3 && a != 2);
    if (a) {
        a = b ? -1 : 1;
    } else if (*b >= 2) {
        a <<= 2;
    } else {
        a = sizeof(int);
    }
    for (a = 0; a < 4; a++) {
        *b -= handlers[0](a);
    }
    return a;
}

int ernic_plus(int a)
{
    int b = strlen(names[0]);

    return plus(a, &b);
}
'''


def body(code):
    return GOOD + '\nvoid ernic_more(int a)\n{\n' + code + '\n}\n'


def core(text, name='psn.c'):
    return {CORE + name: text}


def lines(n):
    return ''.join(f'    a += {i};\n' for i in range(n))


# (check, expected text or None for "accepts", files)
STYLE = [
    (None, core(GOOD)),
    (None, {'scripts/x.py': PYTHON, 'scripts/x.sh': BASH + 'set -euo pipefail\n'}),
    (None, core(body(lines(66)))),
    ('lines, more than 70', core(body(lines(67)))),
    ('lines, more than 800', core(HEAD + OSDEP + '\n' * 796 + 'struct a;\n')),
    ('columns, more than 90', core(body('    a += 1;' + ' ' * 80 + '/* */'))),
    ('nested deeper', core(body('    ' * 5 + 'if (a) {'))),
    (None, core(body('    ' * 4 + 'if (a) {'))),
    (': tab', core(body('\ta++;'))),
    ('trailing blank', core(body('    a++; '))),
    ('trailing blank', {'README.md': 'text \n'}),
    ('does not end in one newline', core(GOOD + '\n')),
    ('does not end in one newline', core(GOOD[:-1])),
    ('no SPDX', core(GOOD.replace('SPDX-', ''))),
    ('no SPDX', {'meson.build': 'project()\n'}),
    ('no SPDX', core('ROW(a, 1)\n', 'rows.h.inc')),
    (None, core(HEAD + 'ROW(a, 1)\n', 'rows.h.inc')),
    ('no SPDX', {'scripts/x.py': '#!/usr/bin/env python3\n'}),
    ('the idea of the file', core(GOOD.replace(' * The idea of this file.\n', ''))),
    ('no include guard', core(HEAD + 'struct a;\n', 'psn.h')),
    ('// comment', core(body('    a++; // why'))),
    ('after the opening of a long', core(body('    /* a\n     * b\n     */'))),
    ('before the end of a long', core(body('    /*\n     * b */'))),
    ('developer', {'README.md': 'see ' + '/home' + '/someone/x\n'}),
    ('developer', core(body('    f("' + '/root' + '/x");'))),
    ('no braces after do', core(body('    do\n        a--;\n    while (a);'))),
    ('no braces in a macro', core(GOOD + '#define F(a)    \\\n    if (a)   \\\n'
                                  '        return;\n')),
    ('space before a comma', core(body('    f(a , a);'))),
    ('sizeof', core(body('    a = sizeof a;'))),
    ('constant on the left', core(body('    a = NULL == b;'))),
    ('comparison with true', core(body('    a = b == true;'))),
    ('string function', core(body('    sprintf(a, "b");'))),
    ('CamelCase', core(GOOD.replace('} ErnicThing;', '} ernic_thing;'))),
    ('crosses a file', core(HEAD + '#ifndef P\n#define P\nstatic inline int f(void)\n'
                            '{\n    return 1;\n}\n#endif\n', 'psn.h')),
    ('not UTF-8', core(GOOD.replace('"two"', '"\udcff"'))),
    ('first line is not', {'x.py': '#!/usr/bin/python\n' + PYTHON[23:]}),
    ('syntax error', {'x.py': PYTHON + 'def f(:\n'}),
    ('lines, more than 70', {'x.py': PYTHON + 'def f():\n' + '    f()\n' * 70}),
    ('pipefail', {'x.sh': BASH}),
    ('for bash', {'x.sh': BASH.replace('bash', 'sh') + 'set -euo pipefail\n'}),
    ('0 checked', {}),
]


def include(*headers):
    return HEAD + ''.join(f'#include "{h}"\n' for h in headers)


PSN = {CORE + 'wire/psn.h': HEAD, CORE + 'transport/qp.h': HEAD, CORE + 'engine.h': HEAD,
       CORE + 'objects/mr.h': HEAD, CORE + 'interfaces/verbs/doorbell.h': HEAD,
       CORE + 'base/types.h': HEAD, CORE + 'base/env.h': HEAD}
ABI = 'include/hw/rdma-ernic/'


def layered(name, *headers, more=''):
    """A tree in which one file of the engine includes @headers."""
    return {**PSN, CORE + name: include(*headers) + more}


def device(name, *headers, more=''):
    return {**PSN, 'hw/rdma-ernic/' + name: include(*headers) + more}


LAYERS = [
    (None, layered('wire/a.c', 'qemu/osdep.h', 'wire/psn.h', 'qemu/bswap.h', 'trace.h')),
    (None, layered('transport/a.c', 'qemu/osdep.h', 'transport/qp.h', 'objects/mr.h')),
    (None, layered('wire/icrc.c', 'qemu/osdep.h', more='#include <isa-l/crc.h>\n')),
    (None, device('pci/a.c', 'qemu/osdep.h', 'hw/pci/pci.h', 'engine/engine.h')),
    ('in no room', layered('surprise/a.c', 'qemu/osdep.h')),
    ('in no room of the device', device('surprise.c', 'qemu/osdep.h')),
    ("room 'wire' includes transport/qp.h",
     layered('wire/a.c', 'qemu/osdep.h', 'transport/qp.h')),
    ("room 'objects' includes engine.h",
     layered('objects/a.c', 'qemu/osdep.h', 'engine.h')),
    ("room 'base' includes wire/psn.h", layered('base/a.h', 'wire/psn.h')),
    ("room 'transport' includes interfaces/verbs",
     layered('transport/a.h', 'interfaces/verbs/doorbell.h')),
    ("room 'interfaces/pg332' includes interfaces/verbs",
     layered('interfaces/pg332/a.h', 'interfaces/verbs/doorbell.h')),
    ('neither ours nor', layered('wire/a.c', 'qemu/osdep.h', 'odd.h')),
    ('neither ours nor', layered('wire/a.c', 'qemu/osdep.h', 'hw/pci/pci.h')),
    ('neither ours nor', layered('wire/a.c', 'qemu/osdep.h',
                                 more='#include <sys/socket.h>\n')),
    ('neither ours nor', layered('wire/a.c', 'qemu/osdep.h',
                                 more='#  include <stdio.h>\n')),
    ('neither ours nor', layered('wire/a.c', 'qemu/osdep.h', more='#include <zlib.h>\n')),
    ('trace.h includes', layered('trace.h', 'transport/qp.h')),
    ('contract includes', {**PSN, ABI + 'ernic_abi.h': include('wire/psn.h')}),
    ('contract includes', {**PSN, ABI + 'ernic_abi.h': include('ernic_regs.h'),
                           ABI + 'ernic_regs.h': HEAD}),
    ('first include is not', layered('wire/a.c', 'wire/psn.h', 'qemu/osdep.h')),
    ('first include is not', layered('wire/a.c')),
    ('a header includes qemu/osdep.h', layered('wire/a.h', 'qemu/osdep.h')),
    ("room 'pci' of the device includes", device('pci/a.c', 'engine/transport/qp.h')),
    ('a plain file includes', device('links/udp/socket.c', 'engine/base/env.h')),
    ('a plain file includes', device('links/udp/socket.c', 'qemu/timer.h')),
    (None, {**device('links/udp/socket.c', 'qemu/osdep.h', 'engine/base/types.h',
                     'links/udp/peers.h', more='#include <sys/socket.h>\n'),
            'hw/rdma-ernic/links/udp/peers.h': HEAD}),
    (None, {**device('pci/a.c', 'qemu/osdep.h', 'device/b.h'),
            'hw/rdma-ernic/device/b.h': HEAD}),
    ('a.h is not in every QEMU', {
        **device('pci/a.c', 'qemu/osdep.h', 'new/a.h'), layers.COMPAT:
        HEAD + '#ifndef QEMU_H\n#if NEW\n#include "new/a.h"\n#endif\n#endif\n'}),
    (None, {**device('pci/a.c', 'qemu/osdep.h', 'hw/a.h'), layers.COMPAT:
            HEAD + '#ifndef QEMU_H\n#include "hw/a.h"\n#endif\n'}),
    ("room 'device' of the device includes pci/b.h, which is above it",
     {**device('device/a.c', 'qemu/osdep.h', 'pci/b.h'), 'hw/rdma-ernic/pci/b.h': HEAD}),
    ("room 'links/udp' of the device includes links/shm/b.h",
     {**device('links/udp/a.c', 'qemu/osdep.h', 'links/shm/b.h'),
      'hw/rdma-ernic/links/shm/b.h': HEAD}),
    ('0 checked', {'README.md': 'x\n'}),
]


def traced(events, code):
    return {CORE + 'trace-events': events, CORE + 'qp.c': code}


def sentence(text, name='scripts/x.c'):
    return {name: text}


def pages(text):
    return {'scripts/page.md': text}


TELL, BEHIND, WHAT = '"tell', 'it is "after"', '"What": a sentence names'
ASKS = '"full?": a comment is a statement'
PROSE = [
    (None, sentence('/* Reports it. */\nint tell = told;\nf("reports");\n')),
    (None, {**sentence('int a;\n'), 'tests/data/x.c': '/* tells */\n'}),
    (TELL, sentence('/* Returns it and tells why. */\n')),
    ('x.c:2: "retold"', sentence('\nf("retold");\n')),
    (TELL, sentence('f("a" /* b */\n  "tells");\n')),
    (None, sentence('add("/fault/told", f);\nadd("sent-behind", g);\n')),
    (TELL, sentence("print(f'{x} tells')\n", 'scripts/x.py')),
    (None, sentence('tell = f.tell()\n', 'scripts/x.py')),
    (TELL, sentence('#!/bin/bash\necho "tells $#"\n', 'scripts/x')),
    (TELL, pages('It tells.\n')),
    (None, pages('It is `told`.\n\n    $ tell\n\n```\ntell\n```\n')),
    (BEHIND, sentence('/* the request behind a READ */\n')),
    (BEHIND, sentence('/*\n * requests that stand behind\n * another */\n')),
    (None, sentence('/* a card behind PCIe, registers behind the whole window */\n')),
    (None, sentence('/* It lags behind the others. */\n')),
    # The name of a parameter is code.
    (None, sentence('/* It has @behind more requests. */\n')),
    (WHAT, sentence('/* It ends. What\n * differs is lost. */\n')),
    ('x.c:4', sentence('/*\n * It ends.\n *\n * Who asks waits.\n */\n')),
    (WHAT, sentence('# one\n# two: What differs\n', 'scripts/x.py')),
    (WHAT, pages('- What differs\n')),
    (WHAT, pages('| a | b |\n| --- | --- |\n| x | What differs |\n')),
    (None, pages('# What it is\n\n| What | a |\n| --- | --- |\n| x | y |\n')),
    (None, pages('What differs? Nobody knows what.\n')),
    (None, sentence('f("Whatnot is a word");\n')),
    (ASKS, sentence('/* Is it (or was it) full?*/\n')),
    (f'x.c:3: {ASKS}', sentence('/*\n * It ends. Is it\n * full? If so, 0.\n */\n')),
    (ASKS, sentence('f("//", \'"\'); // Is it full?\n')),
    (ASKS, sentence('"""Is it full? If so, 0."""\n', 'scripts/x.py')),
    (ASKS, sentence('f()     # Is it full?\n', 'scripts/x.py')),
    (None, sentence('/* Whether it is full: a ? b : c, or `a?`. */\n')),
    (None, sentence('a = b ? c : d;\nf("full? /* no */");\n')),
    (None, sentence("f('full?')\n", 'scripts/x.py')),
    (None, pages('Is it full?\n')),
    ('0 checked', {}),
]

NAMES = [
    (None, {'README.md': '`scripts/x` `psn.h` `rdma_rxe` [a](docs/a.md#b-cs-d)\n',
            'scripts/x': '', CORE + 'psn.h': '',
            'docs/a.md': "## B: `c`'s d\n[b](../scripts/x) [c](#b-cs-d)\n"}),
    ('README.md:2: docs/a.md#c is no section',
     {'README.md': '\n[a](docs/a.md#c)\n', 'docs/a.md': '# B\n\nc\n'}),
    ('docs/a.md:1: #c is no section', {'docs/a.md': '[a](#c)\n'}),
    ('scripts/x is not there', {'README.md': 'see `scripts/x`\n'}),
    ('psn.h is not there', {'README.md': 'see `psn.h`\n'}),
    ('docs/a.md is not there', {'README.md': '[a](docs/a.md)\n'}),
    ('docs/a.md:2: scripts/x', {'README.md': '`docs/a.md`\n',
                                'docs/a.md': '\n`scripts/x`\n'}),
    ('0 checked', {'README.md': 'x\n'}),
]

EVENT = 'ernic_a(int x) "x %d"\n'
TRACE = [
    (None, traced(EVENT, 'trace_ernic_a(1);')),
    ('0 checked', traced('', '')),
    ('ernic_a is never called', traced(EVENT, '/* trace_ernic_a(1) */')),
]

CONTEXT = """typedef struct ErnicSendQueue {
    /* Writer: transport/one. */
    uint32_t next, last;        /* a comment; with marks */
    /*
     * In words first. Writer: transport/two; reset: transport/life.
     */
    bool waits[4];
    ErnicWqe *wqe;
    ErnicLimits limits;
    ErnicWq wq;
} ErnicSendQueue;

struct ErnicQp {
    /* Writer: transport/create, interfaces/. */
    uint32_t pd;
    ErnicSendQueue sq;
};
"""


def writes(file, *lines, context=CONTEXT):
    """The header of the context, and a function of these lines in a file."""
    body = ''.join(f'    {line}\n' for line in lines)
    return {CORE + 'objects/qp.h': context,
            CORE + file: f'void f(ErnicQp *qp)\n{{\n{body}}}\n'}


WRITERS = [
    (None, writes('transport/one.c', 'qp->sq.next = sq->last++;', 'sq->next += 1;')),
    (None, writes('transport/one.h', 'sq->next = 1;')),
    (None, writes('transport/create.c', 'qp->pd = 1;')),
    (None, writes('transport/two.c', 'qp->sq.waits[i] |= true;', 'sq->wqe = NULL;')),
    (None, writes('transport/life.c', 'sq->waits[0] = false;')),
    (None, writes('interfaces/verbs/any.c', 'qp->pd = 1;')),
    (None, writes('state/load.c', 'qp->sq.next = 1;', 'memset(&qp->sq, 0, 4);')),
    # Reading, comparing, other fields of that name, comments and strings.
    (None, writes('transport/three.c', 'a = sq->next == 1 && sq->last != 2;',
                  'rq->next = sq->last;', '/* sq->next = 1; */', 'g("sq->next = 1");',
                  'sq->wqe->done = true;', 'sq->wq.ci++;', 'if (sq->next <= 2) {', '}')),
    ('checked, 1 findings', writes('transport/three.c', 'qp->sq.next = 1;')),
    ('three.c:3: writes sq.next, which transport/one may write',
     writes('transport/three.c', 'qp->sq.next = 1;')),
    ('writes sq.last', writes('transport/three.c', 'a = sq->next = sq->last = 1;')),
    ('writes sq.next', writes('transport/three.c', 'qp->sq.next++;')),
    ('writes sq.next', writes('transport/three.c', 'sq->next <<= 1;')),
    ('which transport/life and transport/two may write',
     writes('transport/one.c', 'sq->waits[2] = true;')),
    ('writes sq.limits', writes('transport/one.c', 'sq->limits.low.least = 1;')),
    ('writes sq.wq', writes('transport/one.c', 'sq->wq = *wq;')),
    ('writes sq.next', writes('objects/qp.c', 'e->qp[i].sq.next = 1;')),
    ('writes qp.pd', writes('transport/one.c', 'e->qp[i].pd = 1;')),
    ('writes all of sq', writes('transport/one.c', 'memset(&qp->sq, 0, sizeof(*sq));')),
    ('writes all of sq', writes('transport/one.c', '*sq = (ErnicSendQueue) { };')),
    ('ErnicSendQueue.next has no writer',
     writes('transport/one.c', 'f();', context=CONTEXT.replace('one.', 'one', 1))),
    ('0 checked', writes('transport/one.c', 'f();', context='')),
]


def built(room='engine/', **texts):
    """Files of the engine or the device that are compiled, with the calls they make."""
    return {'include/qemu/osdep.h': '',
            **{f'hw/rdma-ernic/{room}{path}.c': HEAD + OSDEP + text
               for path, text in texts.items()}}


def calling(*names):
    """A function that calls the others; a letter stands for a name of the engine."""
    name, *others = (f'ernic_{n}' if len(n) == 1 else n for n in names)
    return (f'int {name}(void);\n'
            + ''.join(f'int {other}(void);\n' for other in others)
            + f'int {name}(void)\n{{\n    return 0'
            + ''.join(f' + {other}()' for other in others) + ';\n}\n')


# The calls of a library that a compiler has made of two or three files.
LIBRARY = [
    (None, built(**{'transport/a': calling('a', 'b'), 'wire/b': calling('b')})),
    (None, built(**{'transport/a': calling('a', 'b'), 'transport/b': calling('b')})),
    ("wire/b.c:1: calls ['ernic_a'] of transport/a",
     built(**{'transport/a': calling('a'), 'wire/b': calling('b', 'a')})),
    ("calls ['ernic_table'] of transport/a", built(**{
        'transport/a': 'extern const int ernic_table[];\n'
                       'const int ernic_table[] = { 1 };\n',
        'wire/b': 'extern const int ernic_table[];\nint ernic_b(void);\n'
                  'int ernic_b(void)\n{\n    return ernic_table[0];\n}\n'})),
    ("calls ['ernic_a'] of interfaces/verbs/a",
     built(**{'interfaces/verbs/a': calling('a'),
              'interfaces/pg332/b': calling('b', 'a')})),
    ('a circle of calls: transport/a transport/b',
     built(**{'transport/a': calling('a', 'b'), 'transport/b': calling('b', 'a')})),
    ('a circle of calls: transport/a transport/b transport/c',
     built(**{'transport/a': calling('a', 'b'), 'transport/b': calling('b', 'c'),
              'transport/c': calling('c', 'a')})),
    (None, built(**{            # a table names what calls by it
        'transport/a': 'int ernic_b(void);\nextern int (*const ernic_table[])(void);\n'
                       'int (*const ernic_table[])(void) = { ernic_b };\n',
        'transport/b': 'extern int (*const ernic_table[])(void);\nint ernic_b(void);\n'
                       'int ernic_b(void)\n{\n    return ernic_table[0] != 0;\n}\n'})),
    ('plain crosses a file without', built(**{'wire/b': calling('plain')})),
    ('is data that changes', built(**{
        'wire/b': 'int ernic_b(void);\nint ernic_b(void)\n{\n'
                  '    static int last;\n    return last++;\n}\n'})),
    ('calls usleep of the host', built(**{'wire/b': calling('b', 'usleep')})),
    ('calls munmap of the host', built(**{'wire/b': calling('b', 'munmap')})),
    (None, built(**{'base/pages': calling('a', 'munmap'),
                    'wire/b': calling('b', 'a')})),
    ('no call found', built(**{'transport/a': calling('a'), 'wire/b': calling('b')})),
]


# The same of the device, in QEMU's build folder.
DEVICE = [
    (None, built('', **{'pci/a': calling('a', 'b'), 'device/b': calling('b', 'c'),
                        'engine/base/c': calling('c')})),
    ("device/b.c:1: calls ['ernic_a'] of pci/a",
     built('', **{'pci/a': calling('a'), 'device/b': calling('b', 'a')})),
    ('a circle of calls: net/a net/b',
     built('', **{'net/a': calling('a', 'b'), 'net/b': calling('b', 'a')})),
    ('no call found', built('', **{'net/a': calling('a'), 'net/b': calling('b')})),
]


def driver(**texts):
    """C files of the driver, by their stems, and a header."""
    return {'guest/linux/ernic/one.h': ONE_H,
            **{f'guest/linux/ernic/{stem}.c': text for stem, text in texts.items()}}


ONE_H = """int a(void);
int b(struct b *b);
static inline int through(void)
{
\treturn b(0);
}
#define again() \\
\tthrough()
extern const struct ops c_ops;
"""
A, B = 'int a(void)\n{\n\treturn 0;\n}\n', 'int b(struct b *b)\n{\n\treturn 0;\n}\n'
CALLS = [
    (None, driver(a=A, b=B + 'static int f(void)\n{\n\treturn a();\n}\n')),
    ('a.c calls b.c (b), b.c calls a.c (a)',
     driver(a=A + 'int f = b(0);\n', b=B + 'int g = a();\n')),
    # Through a macro and an inline function; by the address in a table.
    ('a.c calls b.c (b)', driver(a=A + 'int f = again();\n', b=B + 'int g = a();\n')),
    ('c.c calls a.c (a)', driver(
        a=A + 'const void *p = &c_ops;\n', c='const struct ops c_ops = { .a = a };\n')),
    ('c.c calls a.c (a)', driver(a=A + 'int f = b(0);\n', b=B + 'int g = c;\n',
                                 c='int c = a();\n')),
    ('guest/linux/shell: calls in a circle: a.c calls b.c (b)', {
        'guest/linux/shell/a.c': A + 'int f = b(0);\n',
        'guest/linux/shell/b.c': B + 'int g = a();\n'}),
    # Not calls: in comments and strings, of static functions, of other folders.
    (None, driver(a=A + '/* b() */\nconst char *f = "b";\n', b=B + 'int g = a();\n')),
    (None, driver(a=A + 'static ' + B + 'int f = b(0);\n',
                  c='static ' + B + 'int g = a();\n')),
    (None, {**driver(a=A + 'int f = b(0);\n'),
            'guest/rdma-core/b.c': B + 'int g = a();\n'}),
    ('ernic-abi.h: defines a function', {'guest/linux/ernic/ernic-abi.h':
                                         'static inline int a(void)\n{\n}\n'}),
    (None, {'guest/linux/ernic/ernic-abi.h': '/* inline */\nstruct a { int b; };\n'}),
]


def objects(root, folder, to):
    """Compile the files of a folder into another one, with the names that Meson gives."""
    to.mkdir(parents=True, exist_ok=True)
    for path in sorted((root / folder).rglob('*.c')):
        name = path.relative_to(root / folder).as_posix().replace('/', '_') + '.o'
        subprocess.run([*os.environ.get('CC', 'cc').split(), '-c', f'-I{root}/include',
                        '-o', to / name, path], check=True)
        yield to / name


def library(root):
    subprocess.run(['ar', 'rcs', root / 'engine.a',
                    *objects(root, '.', root / 'objects')], check=True)
    return root / 'engine.a'


def qemu(root):
    list(objects(root, 'hw/rdma-ernic', root / 'build/hw/rdma-ernic/libernic.a.p'))
    return root / 'build'


def statements(change=lambda rows: rows, meson="'pg332': ['good'],",
               test='TEST("/x/good", fn)'):
    """A table that is complete, but for a change; and the only test that it names."""
    rows = [f'| {letter}{i} | {letter}{i} is so | `/x/good` |'
            for letter, num in sentences.STATEMENTS.items() for i in range(1, num + 1)]
    return {'docs/sentences.md': '\n'.join(change(rows)) + '\n',
            'tests/unit/meson.build': meson,
            'tests/unit/pg332/test-good.c': f'{test}\n'}


SENTENCES = [
    (None, statements()),
    (None, statements(lambda rows: ['| T1 | it is so | none: advice |', *rows[1:]])),
    ('19 statements T, not 20', statements(lambda rows: rows[:19] + rows[20:])),
    ('T3 follows T1', statements(lambda rows: rows[:1] + rows[2:])),
    ('27 statements S, not 28', statements(lambda rows: rows[:-1])),
    ('statements X, not 0', statements(lambda rows: [*rows, rows[0].replace('T', 'X')])),
    ('there is no test /x/good', statements(test='TEST("/x/goods", fn)')),
    ('there is no test /x/good', statements(test='/* TEST("/x/good", fn) */')),
    ('there is no test /x/good', statements(test='// TEST("/x/good", fn)')),
    ('there is no test /x/good', statements(test='TEST("/x/goods", run("/x/good"))')),
    (None, statements(test='ROW_TEST(  "/x/good", "/*", rows, fn)')),
    (None, statements(meson="'mlx5': [], 'pg332': ['better',\n  'good'],  # now")),
    ('there is no test /x/good', statements(meson="'pg332': ['better'],")),
    ('there is no test /x/good', statements(meson="'mlx5': ['good'], 'pg332': [],")),
    ('there is no test /x/good', statements(meson="'pg332': [],  # 'pg332': ['good'],")),
    ('T2 says the same as T1', statements(
        lambda rows: [rows[0], rows[1].replace('T2 is', 'T1 is'), *rows[2:]])),
    ('T1 has no test', statements(lambda rows: ['| T1 | it is so | - |', *rows[1:]])),
    ('T1 has no test', statements(lambda rows: ['| T1 | it is so | none: |', *rows[1:]])),
    ('not a statement', statements(lambda rows: ['| T1 | it is so |', *rows])),
]


def of(check):
    return lambda root: house.run(check, root)


TABLES = {'style': (of(style.check), STYLE), 'layers': (of(layers.check), LAYERS),
          'layers of a library': (
              lambda root: house.run(layers.check, root, library(root)), LIBRARY),
          'layers of the device': (
              lambda root: house.run(layers.check, root, qemu(root)), DEVICE),
          'events': (of(events.check), TRACE), 'names': (of(names.check), NAMES),
          'prose': (of(prose.check), PROSE),
          'sentences': (of(sentences.check), SENTENCES),
          'calls': (of(calls.check), CALLS),
          'writers': (of(writers.check), WRITERS)}


@pytest.mark.parametrize('run, expect, tree', [
    pytest.param(run, expect, tree, id=f'{name} '
                 + (f'refuses {expect}' if expect else 'accepts'))
    for name, (run, table) in TABLES.items() for expect, tree in table])
def test_check(run, expect, tree, tmp_path, capsys):
    """The check accepts the tree, or refuses it with these words."""
    for path, text in tree.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(text.encode('utf-8', 'surrogateescape'))
        (tmp_path / path).chmod(0o755 if path.endswith(('.py', '.sh')) else 0o644)
    status, output = run(tmp_path), capsys.readouterr().out
    assert status == (0 if expect is None else 1), f'status {status}: {output}'
    assert expect is None or expect in output, output
