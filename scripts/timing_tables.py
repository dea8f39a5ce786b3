# SPDX-License-Identifier: GPL-2.0-or-later
"""The tables of docs/timing.md, in Markdown."""
import re

CARD = 'ernic-200mhz-100g'
NIC = 'generic-100g'
OPS = ['WRITE', 'SEND', 'READ']
LENGTHS = [8, 64, 256, 4096, 65536]


def bytes_name(value):
    for unit, size in ('Mi', 1 << 20), ('Ki', 1 << 10):
        if value >= size:
            return f'{value // size} {unit}B'
    return f'{value} B'


def table(head, rows, left=1):
    """left: columns of text; others have numbers, but for a last one without a head."""
    align = ['---'] * left + ['---:'] * (len(head) - left)
    if not head[-1]:
        align[-1] = '---'
    lines = [head, align, *rows]
    return ''.join('| ' + ' | '.join(line) + ' |\n' for line in lines)


def rows(data):
    """Model against hardware, and the mean error."""
    lines, errors = [], {'fitted': [], 'predicted': []}
    for name, conditions, model, hardware, error, how, parameter, source, *_ \
            in data.of('row'):
        error = float(error)
        if how in errors:
            errors[how].append(abs(error))
        note = f'fitted: `{parameter}`' if parameter else how
        lines.append([name, conditions, model, hardware, f'{error:+.2f} %',
                      f'{note}; {source}'])
    both = data.of('both')[0]
    lines.append(['both ways at once', '64 KiB, 64 Gb/s offered each way', both[0],
                  '64.00', '', 'keeps up; RF'])
    every = errors['fitted'] + errors['predicted']
    return table(['Test', 'Conditions', 'Model', 'Hardware', 'Error', ''], lines, 2) + (
        f'\nThe mean error is {sum(every) / len(every):.2f} %, of the'
        f' {len(errors["predicted"])} predicted rows'
        f' {sum(errors["predicted"]) / len(errors["predicted"]):.2f} %.\n')


def latency(data):
    lines = [[op] + [data.of('latency', op, str(n))[0][0] for n in LENGTHS]
             for op in OPS]
    return table([''] + [bytes_name(n) for n in LENGTHS], lines)


def make_up(data):
    """A column for each request; the hops of all of them, in their order."""
    cases = [('WRITE', 8), ('WRITE', 64), ('SEND', 64), ('READ', 64), ('READ', 4096)]
    hops = [data.of('hop', op, str(n)) for op, n in cases]
    # The card comes twice: first the request's way, then the answer's.
    keyed = []
    for of_case in hops:
        turned, column = False, {}
        for end, stage, ns in of_case:
            turned |= end == 'other'
            column[end if end == 'other' else 'back' if turned else 'card', stage] = ns
        keyed.append(column)
    names = {'card': 'card', 'other': 'NIC', 'back': 'card, answer'}
    order = {'other': ['receive', 'rx-context', 'key', 'dma-write', 'ack', 'tx-context',
                       'read-response', 'dma-read', 'build', 'icrc', 'mac'],
             'card': ['doorbell', 'arbiter', 'wqe', 'tx-context', 'dma-read', 'build',
                      'icrc', 'mac'],
             'back': ['receive', 'rx-context', 'dma-write', 'cqe']}
    lines = []
    for end in 'card', 'other', 'back':
        for stage in order[end]:
            label = f'`{stage}`' + (', wire' if stage == 'mac' else '')
            lines.append([names[end], label]
                         + [column.pop((end, stage), '') for column in keyed])
    assert not any(keyed), keyed
    totals = [f'{sum(float(ns) for *_, ns in of_case):.1f}' for of_case in hops]
    lines.append(['total', ''] + totals)
    return table(['', ''] + [f'{op} {bytes_name(n)}' for op, n in cases], lines, 2)


def batching(data):
    lines = [[op] + [ns for _, ns in data.of('eight', CARD, op)] for op in OPS]
    return table(['', '1', '2', '4', '8'], lines)


def guesses(data):
    changes = list(dict.fromkeys(change for change, *_ in data.of('eight-if')))
    return table(['WRITE', '1', '2', '4', '8'],
                 [[f'`{change}`' if '=' in change else change]
                  + [ns for _, ns in data.of('eight-if', change)] for change in changes])


def wrong_keys(page, profile):
    """Keys that only one of the page's table and a profile has, or with another unit."""
    rows = page.partition('<!-- keys -->')[2].partition('<!-- end -->')[0]
    known = {key: units
             for keys, units in re.findall(r'^\| `(.*)` \| (.*) \| ', rows, re.M)
             for key in keys.split('` `')}
    units = re.findall(r'^(\S+) += \d+ (\S+)', profile, re.M)
    return sorted(set(known) - {key for key, _ in units}) + [
        key for key, unit in units
        if {'cycle': 'cycles'}.get(unit, unit) not in known.get(key, '').split()]


def batch_rate(data):
    batches = ['1', '2', '4', '8', '16']
    lines = [[f'`{name}`', op, depth]
             + [data.of('batch-rate', name, op, depth, n)[0][0] for n in batches]
             for name in (CARD, NIC) for depth in ('16', '64') for op in OPS]
    return table(['', '', 'posted'] + batches, lines, 2)


def profiles(data):
    lines = []
    for name in (CARD, 'ernic-250mhz-100g', 'generic-25g', NIC, 'generic-400g'):
        longest = [data.of('rate', name, 'card', op)[-1][1] for op in OPS]
        short = [data.of('messages', name, op)[0][0] for op in OPS]
        lines.append([f'`{name}`'] + longest + short)
    return table(['', 'WRITE 1 MiB', 'SEND', 'READ', 'WRITE 64 B', 'SEND', 'READ'], lines)


def what_ifs(data):
    return table(['Changed', 'Limit', 'Formula', 'Model'],
                 [[f'`{change}`' if '=' in change else change, *words]
                  for change, *words in data.of('what-if')], 2)


def effects(data):
    return table(['Effect', 'Changed', 'Seen in', 'Expected', 'Model'],
                 data.of('effect'), 3)


ALL = {'rows': rows, 'what-if': what_ifs, 'latency': latency, 'make-up': make_up,
       'batching': batching, 'batch-rate': batch_rate, 'profiles': profiles,
       'effects': effects, 'guesses': guesses}
