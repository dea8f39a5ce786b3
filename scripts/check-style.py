#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Check the house rules of style on every file of the checkout.

C follows QEMU's style (4 spaces, braces everywhere, block comments); the engine
has rules of its own: no clock, no chatter, no abort, no state outside its structs.
"""
import ast
import re
import sys

import checkout

MAX_FILE, MAX_FUNCTION, MAX_LINE, MAX_DEPTH = 800, 70, 90, 5
CORE = 'hw/rdma-ernic/core/'
C_TREES = ('hw/', 'include/', 'tests/')
CODE = {'.c', '.h', '.inc', '.py', '.sh', '.build'}
TEXT = CODE | {'.md', '.rst', '.txt', '.yml', '.json'}

SPDX = 'SPDX-License-Identifier: '
DEV_PATH = re.compile(r'(?<![\w.$}])/(?:home|Users|root|work)/\w')

BANNED = {
    'a string function without bounds': 'sprintf vsprintf strcpy strcat gets',
}
BANNED_CORE = {
    'a clock': 'time clock gettimeofday clock_gettime g_get_monotonic_time'
               ' g_get_real_time qemu_clock_get_ns',
    'randomness': 'rand random srand srandom g_random_int g_random_double'
                  ' g_random_int_range',
    'output': 'printf fprintf vprintf vfprintf puts fputs putchar perror g_print'
              ' g_printerr g_message g_warning g_critical g_debug g_info'
              ' error_report warn_report info_report error_printf qemu_log',
    'the C allocator (GLib has g_new0)': 'malloc calloc realloc free strdup alloca'
                                         ' g_alloca',
    'a way out of the process': 'abort exit _exit g_error raise kill longjmp',
    'waiting': 'sleep usleep nanosleep g_usleep select poll',
}
TYPE = r'(?:char|void|int|bool|unsigned|size_t|u?int\d+_t|Ernic\w+|G[A-Z][a-z]\w+)'


def word_call(names):
    return re.compile(r'(?<![\w.>])(' + '|'.join(names.split()) + r')\s*\(')


# Findings by pattern on code without comments and strings.
C_LINES = [(word_call(names), f'{what}: {{}}') for what, names in BANNED.items()]
C_LINES += [
    (re.compile(r'\b(if|for|while|switch)\('), 'no space after {}'),
    (re.compile(r'\)\{'), 'no space before {{'),
    (re.compile(r',[^\s)\\]'), 'no space after a comma'),
    (re.compile(r'[^\s(\[{,]\s+,'), 'space before a comma'),
    (re.compile(rf'\b({TYPE}) ?\*+ +\w'), 'the * of a pointer belongs to its name'),
    (re.compile(r'\bsizeof\s+[^\s(]|\bsizeof \('), 'sizeof without, or apart from, ('),
    (re.compile(r';;'), 'doubled semicolon'),
    (re.compile(r'\breturn\('), 'no space after return'),
    (re.compile(r'[\w)\]](==|!=|<=|>=|&&|\|\|)|(?<![<>])(==|!=|<=|>=|&&|\|\|)[\w(]'),
     'no space around an operator'),
    (re.compile(r'\b(NULL|true|false)\s*[!=]='), 'constant on the left'),
    (re.compile(r'[!=]=\s*(true|false)\b'), 'comparison with {}'),
]
CORE_LINES = [(word_call(names), f'{what}: {{}}')
              for what, names in BANNED_CORE.items()]

TOKENS = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'',
                    re.S)
DIRECTIVE = re.compile(r'^[ \t]*#(?:[^\n]*\\\n)*[^\n]*', re.M)
KEYWORD = re.compile(r'\b(if|for|while|switch|else|do)\b')
# These may stand beside a declarator and do not make it const.
BOUNDS = re.compile(r'\[.*|__attribute__\(\(.*?\)\)|QEMU_ALIGNED\(.*?\)', re.S)
TYPEDEF = re.compile(r'^typedef (?:struct|union|enum)\b')


def blank(match):
    """Spaces in place of the text, so that lines and columns stay."""
    return re.sub(r'[^\n]', ' ', match[0])


def strip(text):
    """The code alone: comments and the insides of strings become spaces."""
    def one(m):
        s = m[0]
        if s[0] == '/':
            return blank(m)
        return s[0] + ' ' * (len(s) - 2) + s[0]
    return TOKENS.sub(one, text)


class Source:
    """One file and what was found in it."""

    def __init__(self, root, path):
        self.name = path.relative_to(root).as_posix()
        self.suffix, self.found = path.suffix, []
        self.executable = path.stat().st_mode & 0o100
        self.core = self.name.startswith(CORE)
        data = path.read_bytes()
        try:
            self.text = data.decode('utf-8')
        except UnicodeDecodeError:
            self.text = None
            return
        self.lines = self.text.split('\n')

    def say(self, line, message):
        self.found.append((self.name, line, message))

    def at(self, text, pos, message):
        self.say(text.count('\n', 0, pos) + 1, message)


def check_text(src):
    for number, line in enumerate(src.lines, 1):
        if line.endswith((' ', '\t', '\r')):
            src.say(number, 'trailing blank')
        if DEV_PATH.search(line):
            src.say(number, "path of a developer's machine")
    if src.text and (src.lines[-1] or src.text.endswith('\n\n')):
        src.say(len(src.lines), 'file does not end in one newline')


def check_code(src):
    if not any(SPDX in line for line in src.lines[:5]):
        src.say(1, 'no SPDX header in the first lines')
    if len(src.lines) - 1 > MAX_FILE:
        src.say(1, f'{len(src.lines) - 1} lines, more than {MAX_FILE}')
    for number, line in enumerate(src.lines, 1):
        if len(line) > MAX_LINE:
            src.say(number, f'{len(line)} columns, more than {MAX_LINE}')
        if '\t' in line:
            src.say(number, 'tab')


def starts_line(text, pos):
    return not text[text.rfind('\n', 0, pos) + 1:pos].strip()


def check_comments(src):
    for m in TOKENS.finditer(src.text):
        if m[0].startswith('//'):
            src.at(src.text, m.start(), '// comment')
        elif '\n' in m[0] and starts_line(src.text, m.start()):
            if m[0].split('\n')[0].strip(' *-/'):
                src.at(src.text, m.start(), 'text after the opening of a long comment')
            if m[0].split('\n')[-1].strip() != '*/':
                src.at(src.text, m.start(), 'text before the end of a long comment')


def check_header(src):
    if src.core:
        if (src.lines[0] != '/*' or not src.lines[1].startswith(' * ' + SPDX)
                or src.lines[2] != ' *' or not src.lines[3].startswith(' * ')):
            src.say(1, 'header is not: SPDX line, blank, the idea of the file')
    if src.suffix == '.h' and not src.name.endswith('/trace.h'):
        directives = [line for line in src.lines if line.startswith('#')][:2]
        words = ' '.join(directives).split()
        if words[:1] != ['#ifndef'] or words[2:3] != ['#define'] \
                or words[1] != words[3]:
            src.say(1, 'no include guard')


def check_patterns(src, code):
    rules = C_LINES + (CORE_LINES if src.core else [])
    for number, line in enumerate(code.split('\n'), 1):
        if line.lstrip().startswith('#'):
            continue
        for pattern, message in rules:
            m = pattern.search(line)
            if m:
                groups = [g for g in m.groups() if g] or ['']
                src.say(number, message.format(groups[0]))


def closing(code, pos):
    """The position after the parenthesis that closes the one at @pos."""
    depth = 0
    for i in range(pos, len(code)):
        depth += {'(': 1, ')': -1}.get(code[i], 0)
        if depth == 0:
            return i + 1
    return len(code)


def check_braces(src, code):
    code = code.replace('\\\n', ' \n')
    for m in KEYWORD.finditer(code):
        word, before = m[1], code[:m.start()].rstrip()
        if re.search(r'#\s*$', code[:m.start()].rsplit('\n', 1)[-1]):
            continue
        if word in ('else', 'do'):
            after = m.end()
        elif code[m.end():m.end() + 2].lstrip().startswith('('):
            after = closing(code, code.index('(', m.end()))
        else:
            continue
        rest = code[after:]
        if word == 'while' and before.endswith('}') \
                and not rest.lstrip().startswith('{'):
            continue                            # the end of do { } while ()
        if word == 'else':
            if not re.search(r'}[ ]$', code[:m.start()]):
                src.at(code, m.start(), 'else is not on the line of the brace')
            if re.match(r' if \(', rest):
                continue
        if not rest.lstrip().startswith('{'):
            src.at(code, m.start(), f'no braces after {word}')
        elif not rest.startswith(' {'):
            src.at(code, m.start(), f'brace of {word} on another line')


def check_depth(src, code):
    depth = 0
    for i, c in enumerate(code):
        depth += {'{': 1, '}': -1}.get(c, 0)
        if c == '{' and depth == MAX_DEPTH + 1:
            src.at(code, i, f'nested deeper than {MAX_DEPTH - 1}')


def top_level(code):
    """(start, text, body, end) of each statement and function outside braces."""
    start = i = depth = 0
    body = None
    while i < len(code):
        c = code[i]
        if c in '({[':
            if c == '{' and depth == 0:
                body = i
            depth += 1
        elif c in ')}]':
            depth -= 1
        ends = depth == 0 and (c == ';' or
                               (c == '}' and is_function(code[start:body])))
        if ends:
            yield start, code[start:i + 1], body, i
            start, body = i + 1, None
        i += 1


def is_function(signature):
    text = signature.rstrip()
    return text.endswith(')') and '=' not in text


def check_function(src, code, start, body, end):
    signature = code[start:body]
    lead = len(signature) - len(signature.lstrip())
    lines = code.count('\n', start + lead, end) + 1
    name = re.search(r'(\w+)\s*\(', signature)
    label = name[1] if name else '?'
    if lines > MAX_FUNCTION:
        src.at(code, start + lead, f'{label}: {lines} lines, more than {MAX_FUNCTION}')
    if body and code[body - 1] != '\n':
        src.at(code, body, f'{label}: the brace of a function stands in column 1')
    if not src.core:
        return
    if (src.suffix == '.h' or not re.search(r'\bstatic\b', signature)) \
            and not label.startswith('ernic_'):
        src.at(code, start + lead, f'{label}: crosses a file without ernic_')
    for m in re.finditer(r'\bstatic\b([^;=]*)', code[body:end]):
        if not is_const(m[1]):
            src.at(code, body + m.start(), f'{label}: static variable is not const')


def is_const(declarator):
    """Whether the thing that is declared, not what it points at, is const."""
    declarator = BOUNDS.sub('', declarator)
    return bool(re.search(r'\bconst\b', declarator.rsplit('*', 1)[-1]))


def check_variable(src, code, start, text, body):
    statement = text.strip()
    where = start + len(text) - len(text.lstrip())
    if TYPEDEF.match(statement) and body is not None:
        name = re.search(r'}\s*(?:QEMU_\w+(?:\(.*?\))?\s*)?(\w+)', statement)
        if not name or not re.match(r'[A-Z][A-Za-z0-9]*$', name[1]):
            src.at(code, where, 'type name is not CamelCase')
    if not src.core or re.match(r'typedef\b|;|$', statement):
        return
    if body is not None and re.search(r'}\s*(?:QEMU_PACKED)?\s*;$', statement) \
            and not re.search(r'=', text[:body - start]):
        return                                  # struct, union or enum alone
    head = re.sub(r'{.*', '', statement.split('=')[0], flags=re.S).rstrip('; \n')
    head = head if re.search(r'\(\s*\*', head) else BOUNDS.sub('', head).strip()
    if re.match(r'(?:struct|union|enum) \w+$', head):
        return
    pointer = re.match(r'[^(]*\(\s*\*\s*(const\b)?', head)
    if '(' in head and not pointer:
        return                                  # prototype or macro
    if pointer and not pointer[1] and not head.startswith('extern'):
        src.at(code, where, 'variable of file scope is not const')
    elif not pointer and not is_const(head):
        src.at(code, where, 'variable of file scope is not const')


def check_c(src):
    code = strip(src.text)
    check_header(src)
    check_comments(src)
    check_patterns(src, code)
    check_braces(src, code)
    code = DIRECTIVE.sub(blank, code)
    check_depth(src, code)
    for start, text, body, end in top_level(code):
        if body is not None and text.rstrip().endswith('}'):
            check_function(src, code, start, body, end)
        else:
            check_variable(src, code, start, text, body)


def check_python(src):
    try:
        tree = ast.parse(src.text)
    except SyntaxError as e:
        src.say(e.lineno or 1, f'syntax error: {e.msg}')
        return
    if src.executable and src.lines[0] != '#!/usr/bin/env python3':
        src.say(1, 'first line is not #!/usr/bin/env python3')
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            lines = node.end_lineno - node.lineno + 1
            if lines > MAX_FUNCTION:
                src.say(node.lineno, f'{node.name}: {lines} lines, more than '
                        f'{MAX_FUNCTION}')


def check_shell(src):
    if src.lines[0] not in ('#!/bin/bash', '#!/usr/bin/env bash'):
        src.say(1, 'shell scripts are written for bash')
    if 'set -euo pipefail' not in src.lines:
        src.say(1, 'no "set -euo pipefail"')


def kind(src):
    """The language of the file, by its name or its first line."""
    if src.suffix in ('.c', '.h'):
        return 'c'
    if src.suffix == '.py' or re.match(r'#!.*python', src.lines[0]):
        return 'python'
    if src.suffix == '.sh' or re.match(r'#!.*\b(ba)?sh\b', src.lines[0]):
        return 'shell'
    return {'.build': 'build', '.inc': 'rows'}.get(src.suffix, 'text')


def check_file(src):
    if src.text is None:
        if src.suffix in TEXT:
            src.say(1, 'not UTF-8')
        return
    language = kind(src)
    if language == 'c' and not src.name.startswith(C_TREES):
        language = 'text'                       # the guest's side follows its host
    check_text(src)
    if language != 'text':
        check_code(src)
    checks = {'c': check_c, 'python': check_python, 'shell': check_shell}
    if language in checks:
        checks[language](src)


def main():
    root = checkout.parser(__doc__).parse_args().root
    count = total = 0
    for path in checkout.files(root):
        src = Source(root, path)
        check_file(src)
        count += 1
        total += len(src.found)
        for name, line, message in src.found:
            print(f'{name}:{line}: {message}')
    print(f'check-style: {count} files, {total} findings')
    return 1 if total or not count else 0


if __name__ == '__main__':
    sys.exit(main())
