# SPDX-License-Identifier: GPL-2.0-or-later
"""The pictures of docs/timing.md: the data that each shows, and its drawing."""
import matplotlib
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyBboxPatch
from matplotlib.ticker import FuncFormatter

from timing_tables import CARD, NIC, OPS, bytes_name

# Okabe and Ito's colours, which colour-blind readers can distinguish too.
BLUE, ORANGE, GREEN, RED = '#0072b2', '#e69f00', '#009e73', '#d55e00'
SKY, PINK, YELLOW, GREY, INK = '#56b4e9', '#cc79a7', '#f0e442', '#999999', '#222222'
COLOUR = {'WRITE': BLUE, 'SEND': ORANGE, 'READ': GREEN}

matplotlib.rcParams.update({
    'font.size': 9, 'axes.titlesize': 10, 'axes.titleweight': 'bold',
    'axes.edgecolor': INK, 'axes.grid': True, 'axes.axisbelow': True,
    'grid.color': '#dddddd', 'axes.spines.top': False,
    'axes.spines.right': False, 'legend.frameon': False})


def figure(height, columns=1, widths=None):
    """A figure of 9 inches' width, and its axes from left to right."""
    fig = Figure(figsize=(9, height), layout='constrained')
    return fig, fig.subplots(1, columns, squeeze=False, width_ratios=widths)[0]


def sizes_axis(axes, sizes, name=bytes_name):
    """x in powers of two, every second one named; y from 0."""
    axes.set_xscale('log', base=2)
    axes.set_xticks(sizes[::2])
    axes.xaxis.set_major_formatter(FuncFormatter(lambda n, _: name(int(n))))
    axes.minorticks_off()
    axes.set_ylim(bottom=0)


def legend(fig, handles, columns=5):
    """A legend below the axes, which leave it the room of its lines."""
    room = (0.1 + 0.2 * -(-len(handles) // columns)) / fig.get_figheight()
    fig.get_layout_engine().set(rect=(0, room, 1, 1 - room))
    fig.legend(handles=handles, loc='lower center', ncols=columns)


def pairs(lines):
    """[number, number] of each line of data."""
    return [[int(n), float(value)] for n, value in lines]


def curve(axes, points, **style):
    return axes.plot(*zip(*points), **style)[0]


# ---- curves -------------------------------------------------------------------

def throughput_data(data):
    shown = {}
    for end in 'card', 'other':
        shown[end] = {
            'model': {op: pairs(data.of('rate', CARD, end, op)) for op in OPS},
            'hardware': [[op, int(size), float(hardware)] for
                         _, _, _, hardware, _, how, _, _, of, op, size in data.of('row')
                         if of == end and how != 'quoted']}
    return shown


def throughput(shown):
    fig, both = figure(3.6, 2)
    for axes, end, title in zip(both, ('card', 'other'), ('the card', 'its peer')):
        axes.set(title=f'Posted by {title}, 64 requests under way',
                 ylabel='Gb/s of payload', ylim=(0, 100))
        handles = [curve(axes, points, color=COLOUR[op], label=op)
                   for op, points in shown[end]['model'].items()]
        sizes_axis(axes, [n for n, _ in shown[end]['model']['WRITE']])
        for op, size, hardware in shown[end]['hardware']:
            axes.plot(size, hardware, 'D', color=COLOUR[op], markeredgecolor=INK)
    legend(fig, handles + [Line2D([], [], marker='D', color='white', label='hardware',
                                  markeredgecolor=INK)])
    return fig


PROFILES = {'ernic-200mhz-100g': BLUE, 'ernic-250mhz-100g': ORANGE,
            'generic-25g': GREEN, 'generic-100g': RED, 'generic-400g': PINK}


def profiles_data(data):
    return {op: {name: pairs(data.of('rate', name, 'card', op)) for name in PROFILES}
            for op in ('WRITE', 'READ')}


def profiles(shown):
    fig, both = figure(3.6, 2)
    for axes, (op, curves) in zip(both, shown.items()):
        axes.set(title=f'{op}, 64 requests under way', ylabel='Gb/s of payload')
        handles = [curve(axes, points, color=PROFILES[name], label=name)
                   for name, points in curves.items()]
        sizes_axis(axes, [n for n, _ in curves[CARD]])
    legend(fig, handles)
    return fig


def batching_data(data):
    return {name: {op: pairs(data.of('burst', name, op)) for op in OPS}
            for name in (CARD, NIC)}


def batching(shown):
    fig, both = figure(3.4, 2)
    for axes, name, title in zip(both, (CARD, NIC),
                                 ('two ERNIC cards', 'two NICs behind PCIe')):
        axes.set(title=f'64 messages of 64 bytes, {title}', ylabel='us', ylim=(0, 30),
                 xlabel='messages per doorbell')
        handles = [curve(axes, [(n, ns / 1000) for n, ns in points], color=COLOUR[op],
                         label=op) for op, points in shown[name].items()]
        sizes_axis(axes, [n for n, _ in shown[name]['WRITE'] for _ in (0, 1)], str)
    legend(fig, handles)
    return fig


# ---- latency ------------------------------------------------------------------

# The parts of a latency, by stage.
PARTS = {'doorbell': (GREY, ['doorbell']),
         'request fetched': (ORANGE, ['arbiter', 'wqe']),
         'contexts, keys': (YELLOW, ['tx-context', 'rx-context', 'key',
                                     'read-response']),
         'memory, read': (GREEN, ['dma-read']),
         'ack, build, icrc': (SKY, ['ack', 'build', 'icrc']),
         'mac, wire': (BLUE, ['mac']),
         'receive': (PINK, ['receive']),
         'memory, written': (RED, ['dma-write']),
         'completion': (INK, ['cqe'])}


def parts(data, op, size):
    """ns in each of PARTS."""
    hops = data.of('hop', op, size)
    return [round(sum(float(ns) for _, stage, ns in hops if stage in stages), 3)
            for _, stages in PARTS.values()]


def latency_data(data):
    return {'whole': {op: pairs(data.of('latency', op)) for op in OPS},
            'parts': {size: {op: parts(data, op, size) for op in OPS}
                      for size in ('8', '256', '1024', '4096')}}


def latency(shown):
    fig, (left, right) = figure(4.2, 2, widths=(2, 3))
    left.set(title='One request at a time', ylabel='us, doorbell to completion')
    lines = [curve(left, [(n, ns / 1000) for n, ns in points], color=COLOUR[op],
                   label=op, linewidth=3 if op == 'WRITE' else 1.5)
             for op, points in shown['whole'].items()]
    sizes_axis(left, [n for n, _ in shown['whole']['WRITE']])
    left.legend(handles=lines)

    right.set(title='Parts of the latency', ylabel='ns')
    right.grid(axis='x', visible=False)
    at = [group * 3.7 + k for group in range(len(shown['parts']))
          for k in range(len(OPS))]
    bars = [column for by_op in shown['parts'].values() for column in by_op.values()]
    bottom = [0] * len(bars)
    for k, (name, (colour, _)) in enumerate(PARTS.items()):
        right.bar(at, [bar[k] for bar in bars], 0.85, bottom, color=colour,
                  edgecolor='white', linewidth=0.5, label=name)
        bottom = [b + bar[k] for b, bar in zip(bottom, bars)]
    labels = [f'{op[0]}\n{bytes_name(int(size))}' if k == 1 else op[0]
              for size, by_op in shown['parts'].items() for k, op in enumerate(by_op)]
    right.set_xticks(at, labels)
    right.tick_params(axis='x', length=0)
    legend(fig, right.get_legend_handles_labels()[0])
    return fig


# ---- the stages ---------------------------------------------------------------

# Where each stage stands: column and row; and the stages that feed others.
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
BOX, STEP = (1.04, 0.66), (1.27, 1.2)


def at(name, dx=0.5, dy=0.0):
    """A point of a stage's box, or beside it, in shares of its size."""
    column, row = PLACE[name]
    return STEP[0] * column + BOX[0] * dx, STEP[1] * row + BOX[1] * dy


# Arrows of what enters and leaves: text and its side; from where to where; colour.
OUTSIDE = [
    ("software's store", 'left', at('doorbell', dy=-0.7), at('doorbell'), INK),
    ('payload from memory', 'left', at('dma-read', dy=-0.7), at('dma-read'), GREY),
    ('to the peer', 'right', at('mac', 0.8, 1), at('mac', 0.8, 1.7), INK),
    ('from the peer', 'right', at('receive', 0.8, -0.7), at('receive', 0.8), INK),
    ('payload to memory', 'left', at('dma-write', dy=1), at('dma-write', dy=1.6), GREY),
    ('report to software', 'left', at('interrupt', dy=1), at('interrupt', dy=1.6), INK)]


def pipeline_data(data):
    return {name: data.of('cost', name)[0] for name in PLACE}


def arrow(axes, start, end, **style):
    axes.annotate('', end, start, arrowprops={
        'arrowstyle': '-|>', 'shrinkA': 0, 'shrinkB': 0, 'linewidth': 1, **style})


def edge(name, towards):
    """The point of a stage's box on the side of another."""
    (column, row), (to_column, to_row) = PLACE[name], PLACE[towards]
    if column != to_column:
        return at(name, to_column > column, 0.5 + 0.15 * (to_row - row))
    return at(name, 0.5, to_row > row)


def pipeline(shown):
    fig, (axes,) = figure(4.6)
    axes.set(xlim=(-0.1, at('mac', 1.1)[0]), ylim=(at('cqe', dy=2.15)[1], -0.5))
    axes.axis('off')
    for a, b in WAYS:
        arrow(axes, edge(a, b), edge(b, a), color=INK)
    for name, (latency_ns, work) in shown.items():
        axes.add_patch(FancyBboxPatch(
            at(name, 0), *BOX, boxstyle='round,pad=0,rounding_size=0.06', edgecolor=INK,
            facecolor='#e8f1fa' if PLACE[name][1] < 2 else '#fdf0dc'))
        for dy, text, style in ((0.08, name, {'weight': 'bold', 'size': 8.5}),
                                (0.34, f'{latency_ns} ns', {'size': 8}),
                                (0.58, work.replace(' + ', '\n+ '), {'size': 7})):
            axes.text(*at(name, dy=dy), text, ha='center', va='top', **style)
    for text, side, start, end, colour in OUTSIDE:
        arrow(axes, start, end, color=colour)
        shift = 0.1 if side == 'left' else -0.1
        axes.text(start[0] + shift, (start[1] + end[1]) / 2, text, ha=side, va='center')
    # A request that came may have to be answered.
    (x, y), (to_x, to_y) = at('key', 0.9), at('ack', 0.8, 1)
    middle = (y + to_y) / 2
    axes.plot([x, x, to_x], [y, middle, middle], '--', color=GREY, linewidth=1)
    arrow(axes, (to_x, middle), (to_x, to_y), color=GREY)
    axes.text((x + to_x) / 2, middle - 0.06, 'ACK, NAK, CNP, response to a READ',
              ha='center')
    axes.text(*at('dma-write', dy=2), f'latency and work of each stage: profile {CARD}',
              ha='center', color='#666666')
    return fig


# ---- a trace ------------------------------------------------------------------

def trace_data(data):
    """The first requests of the trace, in ns from their beginning."""
    threads = {(e['pid'], e['tid']): e['args']['name'] for e in data.trace
               if e['ph'] == 'M' and e['name'] == 'thread_name'}
    first = [e for e in data.trace if e['ph'] == 'b'][:4]
    ends = {e['id']: e['ts'] for e in data.trace if e['ph'] == 'e'}
    start = min(e['ts'] for e in first)
    limit = max(ends[e['id']] for e in first) + 0.2

    def ns(us):
        return round(us * 1000, 3)

    def owner(event):
        number = event['args'].get('request', event['args'].get('psn', 9))
        return number if number < 4 and event['name'] != 'doorbell' else None

    work = [e for e in data.trace if e['ph'] == 'X' and e['ts'] < limit]
    tracks = sorted({(e['pid'], e['tid']) for e in work})
    way = [e for e in data.trace if e.get('cat') == 'request' and e['ph'] in 'stf'
           and e['id'] == first[0]['id']]
    return {
        'tracks': [f'{"card" if pid == 1 else "other"}: {threads[pid, tid]}'
                   for pid, tid in tracks],
        'work': [[tracks.index((e['pid'], e['tid'])), ns(e['ts'] - start), ns(e['dur']),
                  owner(e)] for e in work],
        'way': [[ns(e['ts'] - start), tracks.index((e['pid'], e['tid']))]
                for e in sorted(way, key=lambda e: e['ts'])],
        'requests': [[ns(e['ts'] - start), ns(ends[e['id']] - e['ts'])] for e in first],
        'end': ns(limit - start)}


def trace(shown):
    fig, (axes,) = figure(5.2)
    colours = [BLUE, ORANGE, GREEN, PINK]
    rows = len(shown['tracks']) + len(shown['requests'])
    axes.set(xlim=(0, shown['end']), ylim=(rows - 0.4, -0.6), xlabel='ns',
             title='WRITEs of 64 bytes, four for a doorbell')
    axes.set_yticks(range(rows), shown['tracks'] + [
        f'card: QP 2, request {k}' for k in range(len(shown['requests']))])
    axes.tick_params(axis='y', length=0)
    axes.grid(axis='y', visible=False)
    for row in range(len(shown['tracks'])):
        axes.axhspan(row - 0.42, row + 0.42, color='#f4f4f4', zorder=0)
    for row, start, length, owner in shown['work']:
        axes.broken_barh([(start, max(length, 6))], (row - 0.42, 0.84), linewidth=0,
                         facecolor=GREY if owner is None else colours[owner])
    for (x, a), (to_x, b) in zip(shown['way'], shown['way'][1:]):
        arrow(axes, (x + 3, a), (to_x + 3, b), color=INK, linewidth=0.8)
    for k, (start, length) in enumerate(shown['requests']):
        row = len(shown['tracks']) + k
        axes.broken_barh([(start, length)], (row - 0.42, 0.84), facecolor=colours[k])
    return fig


# By name: the data of a picture, which is plain lists and dictionaries, and its drawing.
ALL = {'pipeline': (pipeline_data, pipeline),
       'throughput': (throughput_data, throughput),
       'latency': (latency_data, latency), 'batching': (batching_data, batching),
       'profiles': (profiles_data, profiles), 'trace': (trace_data, trace)}
