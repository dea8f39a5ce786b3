# SPDX-License-Identifier: GPL-2.0-or-later
"""The pictures of docs/timing.md."""
from chart import (BLUE, GREEN, GREY, GRID, INK, ORANGE, PINK, RED, SKY, YELLOW, Plot,
                   Svg, bytes_name, legend)
from timing_tables import CARD, NIC, OPS

COLOUR = {'WRITE': BLUE, 'SEND': ORANGE, 'READ': GREEN}
HARDWARE = ('hardware', RED, 'mark')
STAGES = ['mmio', 'command', 'doorbell', 'arbiter', 'wqe', 'ack', 'tx-context',
          'read-response', 'dma-read', 'build', 'icrc', 'mac', 'receive', 'rx-context',
          'key', 'dma-write', 'cqe', 'interrupt']

# The parts of a latency, by stage.
PARTS = [('doorbell', GREY, ['doorbell']),
         ('request fetched', ORANGE, ['arbiter', 'wqe']),
         ('contexts, keys', YELLOW, ['tx-context', 'rx-context', 'key',
                                     'read-response']),
         ('memory, read', GREEN, ['dma-read']),
         ('ack, build, icrc', SKY, ['ack', 'build', 'icrc']),
         ('mac, wire', BLUE, ['mac']),
         ('receive', PINK, ['receive']),
         ('memory, written', RED, ['dma-write']),
         ('completion', INK, ['cqe'])]


def rates(data, name, end, op):
    return [(int(n), float(rate)) for n, rate in data.of('rate', name, end, op)]


def throughput(data):
    svg = Svg(900, 400, 'Throughput against message size')
    for k, (end, title) in enumerate((('card', 'asked for by the card'),
                                      ('other', 'asked for by its peer'))):
        sizes = [n for n, _ in rates(data, CARD, end, 'WRITE')]
        plot = Plot(svg, (60 + 450 * k, 50, 370, 270), sizes, 100, 'Gb/s of payload',
                    f'One queue pair, 64 under way, {title}', step=2)
        for op in OPS:
            plot.curve(rates(data, CARD, end, op), COLOUR[op])
        for _, _, _, hardware, _, how, _, _, of, op, size in data.of('row'):
            if of == end and how != 'quoted':
                plot.mark(int(size), float(hardware), COLOUR[op])
    legend(svg, 240, 370, [(op, COLOUR[op], None) for op in OPS] + [HARDWARE])
    return svg


def profiles(data):
    svg = Svg(900, 400, 'Throughput of other profiles')
    names = [('ernic-200mhz-100g', BLUE), ('ernic-250mhz-100g', ORANGE),
             ('generic-25g', GREEN), ('generic-100g', RED), ('generic-400g', PINK)]
    for k, op in enumerate(('WRITE', 'READ')):
        sizes = [n for n, _ in rates(data, CARD, 'card', op)]
        plot = Plot(svg, (60 + 450 * k, 50, 370, 270), sizes, 400, 'Gb/s of payload',
                    f'{op}, one queue pair, 64 under way', step=2)
        for name, colour in names:
            plot.curve(rates(data, name, 'card', op), colour)
    legend(svg, 40, 370, [(name, colour, None) for name, colour in names], 170)
    return svg


def parts(data, op, size):
    """ns in each of PARTS."""
    hops = data.of('hop', op, size)
    return [sum(float(ns) for _, stage, ns in hops if stage in stages)
            for _, _, stages in PARTS]


def latency(data):
    svg = Svg(900, 445, 'Latency against message size')
    sizes = [int(n) for n, _ in data.of('latency', 'WRITE')]
    plot = Plot(svg, (60, 50, 260, 290), sizes, 10, 'us, doorbell to completion',
                'One request at a time', step=2)
    for op in OPS:
        plot.curve([(int(n), float(ns) / 1000) for n, ns in data.of('latency', op)],
                   COLOUR[op])
    legend(svg, 60, 385, [(op, COLOUR[op], None) for op in OPS], 90)
    left, upper, height, top = 380, 50, 290, 3500
    svg.text(left + 250, upper - 10, 'Parts of the latency', 13, 'middle', bold=True)
    for ns in range(0, top + 1, 500):
        y = upper + height * (1 - ns / top)
        svg.line([(left, y), (left + 500, y)], GRID)
        svg.text(left - 6, y + 4, str(ns), 11, 'end')
    svg.text(left - 38, upper + height / 2, 'ns', 12, 'middle', turned=True)
    x = left + 14
    for size in '8', '256', '1024', '4096':
        for op in OPS:
            y = upper + height
            for (_, colour, _), ns in zip(PARTS, parts(data, op, size)):
                y -= height * ns / top
                svg.rect(x, y, 28, height * ns / top, colour, 'white')
            svg.text(x + 14, upper + height + 13, op[0], 10, 'middle')
            x += 34
        svg.text(x - 54, upper + height + 28, bytes_name(int(size)), 11, 'middle')
        x += 20
    for k, (name, colour, _) in enumerate(PARTS):
        legend(svg, 376 + 170 * (k % 3), 390 + 20 * (k // 3), [(name, colour, 'box')])
    return svg


def batching(data):
    svg = Svg(900, 400, 'Messages per doorbell')
    for k, (name, title, top) in enumerate(((CARD, 'two ERNIC cards', 30),
                                            (NIC, 'two NICs behind PCIe', 30))):
        points = {op: [(int(n), float(ns) / 1000) for n, ns in
                       data.of('burst', name, op)] for op in OPS}
        plot = Plot(svg, (60 + 450 * k, 50, 370, 270), [n for n, _ in points['WRITE']],
                    top, 'us', f'64 messages of 64 bytes, {title}', xname=str)
        for op in OPS:
            plot.curve(points[op], COLOUR[op])
        svg.text(245 + 450 * k, 355, 'messages per doorbell', 12, 'middle')
    legend(svg, 300, 385, [(op, COLOUR[op], None) for op in OPS])
    return svg


# Stages where they stand in the picture: column and row; and who feeds whom.
PLACE = {'mmio': (1, 1), 'command': (0, 2),
         'doorbell': (0, 0), 'arbiter': (0, 1), 'wqe': (1, 0), 'ack': (2, 1),
         'tx-context': (2, 0), 'read-response': (3, 1), 'dma-read': (4, 0),
         'build': (5, 0), 'icrc': (5, 1), 'mac': (6, 0),
         'receive': (6, 2), 'rx-context': (5, 2), 'key': (4, 2), 'dma-write': (3, 2),
         'cqe': (2, 2), 'interrupt': (1, 2)}
WAYS = [('doorbell', 'arbiter'), ('arbiter', 'wqe'), ('wqe', 'tx-context'),
        ('ack', 'tx-context'), ('tx-context', 'dma-read'),
        ('tx-context', 'read-response'), ('read-response', 'dma-read'),
        ('dma-read', 'build'), ('build', 'icrc'), ('icrc', 'mac'),
        ('receive', 'rx-context'),
        ('rx-context', 'key'), ('key', 'dma-write'), ('dma-write', 'cqe'),
        ('cqe', 'interrupt')]


def edge(place, towards):
    """The point of a stage's box on the side of another."""
    (column, row), (to_column, to_row) = place, towards
    x, y = 20 + 125 * column, 60 + 105 * row
    if column != to_column:
        return x + (100 if to_column > column else 0), y + 26 + 8 * (to_row - row)
    return x + 50, y + (52 if to_row > row else 0)


def pipeline(data):
    svg = Svg(900, 400, 'The stages of the model')
    for a, b in WAYS:
        svg.line([edge(PLACE[a], PLACE[b]), edge(PLACE[b], PLACE[a])], arrow=True)
    for name, (column, row) in PLACE.items():
        x, y = 20 + 125 * column, 60 + 105 * row
        latency_ns, work = data.of('cost', name)[0]
        svg.rect(x, y, 100, 52, '#e8f1fa' if row < 2 else '#fdf0dc', INK, 5)
        svg.text(x + 50, y + 17, name, 12, 'middle', bold=True)
        svg.text(x + 50, y + 32, f'{latency_ns} ns', 10, 'middle')
        svg.text(x + 50, y + 45, work, 9, 'middle')
    wire = 20 + 125 * 6 + 50
    svg.line([(wire + 30, 112), (wire + 30, 141)], arrow=True)
    svg.text(wire + 24, 132, 'to the peer', 11, 'end')
    svg.line([(wire + 30, 241), (wire + 30, 270)], arrow=True)
    svg.text(wire + 24, 256, 'from the peer', 11, 'end')
    svg.line([(70, 30), (70, 60)], arrow=True)
    svg.text(78, 42, "software's store", 11)
    svg.line([(570, 30), (570, 60)], GREY, arrow=True)
    svg.text(578, 42, 'payload out of memory', 11)
    svg.line([(445, 322), (445, 352)], GREY, arrow=True)
    svg.text(445, 368, 'payload into memory', 11, 'middle')
    svg.line([(195, 322), (195, 352)], arrow=True)
    svg.text(195, 368, 'report to software', 11, 'middle')
    # A request that came may have to be answered.
    svg.line([(620, 270), (620, 235), (320, 235), (320, 217)], GREY, 1, '5,4', True)
    svg.text(470, 229, 'ACK, NAK, CNP, response to a READ', 11, 'middle')
    svg.text(450, 392, f'latency, and what each thing costs: profile {CARD}', 11,
             'middle', GREY)
    return svg


def trace(data):
    """The first requests of the trace, as a viewer shows them."""
    threads = {(e['pid'], e['tid']): e['args']['name'] for e in data.trace
               if e['ph'] == 'M' and e['name'] == 'thread_name'}
    first = [e for e in data.trace if e['ph'] == 'b'][:4]
    ids = {e['id'] for e in first}
    start = min(e['ts'] for e in first)
    ends = {e['id']: e['ts'] for e in data.trace if e['ph'] == 'e' and e['id'] in ids}
    end = max(ends.values()) + 0.2
    svg = Svg(900, 520, 'The beginning of a trace')
    left, width, high = 150, 730, 17

    def x(ts):
        return left + width * (ts - start) / (end - start)

    used = {(e['pid'], e['tid']) for e in data.trace
            if e['ph'] == 'X' and e['ts'] < end}
    tracks = sorted(used)
    top = {track: 30 + 20 * i + 12 * (track[0] - 1) for i, track in enumerate(tracks)}
    colours = [BLUE, ORANGE, GREEN, PINK]
    for track, y in top.items():
        svg.rect(left, y, width, high, '#f4f4f4')
        device = 'card' if track[0] == 1 else 'other'
        svg.text(left - 8, y + 13, f'{device}: {threads[track]}', 11, 'end')
    for e in data.trace:
        if e['ph'] == 'X' and e['ts'] < end:
            k = e['args'].get('request', e['args'].get('psn', 9))
            colour = colours[k] if k < 4 and e['name'] != 'doorbell' else GREY
            svg.rect(x(e['ts']), top[e['pid'], e['tid']],
                     max(x(e['ts'] + e['dur']) - x(e['ts']), 1.5), high, colour)
    arrows = sorted((e for e in data.trace if e.get('cat') == 'request'
                     and e['ph'] in 'stf' and e['id'] == first[0]['id']),
                    key=lambda e: e['ts'])
    points = [(x(e['ts']) + 1, top[e['pid'], e['tid']] + high / 2) for e in arrows]
    for a, b in zip(points, points[1:]):
        svg.line([a, b], arrow=True)
    y = max(top.values()) + 36
    for k, e in enumerate(first):
        svg.text(left - 8, y + 13, 'card: QP 2' if not k else '', 11, 'end')
        svg.rect(x(e['ts']), y, x(ends[e['id']]) - x(e['ts']), high, colours[k])
        svg.text(x(e['ts']) + 6, y + 13, f'request {k}', 11, fill='white')
        y += 20
    for ns in range(0, int((end - start) * 1000), 250):
        svg.text(x(start + ns / 1000), y + 16, f'{ns}', 11, 'middle')
        svg.line([(x(start + ns / 1000), 26), (x(start + ns / 1000), y + 4)], GRID)
    svg.text(left + width, 18, 'WRITEs of 64 bytes, four for a doorbell; ns', 12, 'end')
    return svg


ALL = {'pipeline': pipeline, 'throughput': throughput, 'latency': latency,
       'batching': batching, 'profiles': profiles, 'trace': trace}
