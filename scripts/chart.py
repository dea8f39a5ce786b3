# SPDX-License-Identifier: GPL-2.0-or-later
"""Plain charts as SVG: the same numbers give the same bytes."""
import math
from xml.sax.saxutils import escape

# Okabe and Ito's colours, which colour-blind readers can distinguish too.
BLUE, ORANGE, GREEN, RED = '#0072b2', '#e69f00', '#009e73', '#d55e00'
SKY, PINK, YELLOW, GREY = '#56b4e9', '#cc79a7', '#f0e442', '#999999'
INK, GRID = '#222222', '#dddddd'


def number(value):
    text = f'{value:.1f}'
    return text[:-2] if text.endswith('.0') else text


class Svg:
    """A picture of so many pixels; elements are drawn in the order of the calls."""

    def __init__(self, width, height, title):
        self.size, self.title, self.items = (width, height), title, []
        self.rect(0, 0, width, height, 'white')

    def add(self, name, text=None, **attributes):
        words = [name]
        for key, value in attributes.items():
            if value is not None:
                value = number(value) if isinstance(value, (int, float)) else value
                words.append(f'{key.rstrip("_").replace("_", "-")}="{value}"')
        head = ' '.join(words)
        self.items.append(f'<{head}/>' if text is None
                          else f'<{head}>{escape(text)}</{name}>')

    def rect(self, x, y, width, height, fill, stroke=None, rx=None):
        self.add('rect', x=x, y=y, width=width, height=height, fill=fill,
                 stroke=stroke, rx=rx)

    def line(self, points, stroke=INK, width=1.0, dash=None, arrow=False):
        self.add('polyline', fill='none', stroke=stroke, stroke_width=width,
                 points=' '.join(f'{number(x)},{number(y)}' for x, y in points),
                 stroke_dasharray=dash, marker_end='url(#arrow)' if arrow else None)

    def diamond(self, x, y, fill, size=6):
        at = [(x, y - size), (x + size, y), (x, y + size), (x - size, y)]
        self.add('polygon', fill=fill, stroke=INK, stroke_width=1,
                 points=' '.join(f'{number(a)},{number(b)}' for a, b in at))

    def text(self, x, y, text, size=12, anchor='start', fill=INK, bold=False,
             turned=False):
        self.add('text', text, x=x, y=y, font_size=size, fill=fill,
                 text_anchor=None if anchor == 'start' else anchor,
                 font_weight='bold' if bold else None,
                 transform=f'rotate(-90 {number(x)} {number(y)})' if turned else None)

    def __str__(self):
        width, height = self.size
        return '\n'.join([
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}"'
            f' height="{height}" viewBox="0 0 {width} {height}"'
            ' font-family="sans-serif">',
            '<!-- SPDX-License-Identifier: GPL-2.0-or-later; scripts/plot-timing -->',
            f'<title>{escape(self.title)}</title>',
            '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4"'
            ' markerWidth="7" markerHeight="7" orient="auto">'
            f'<path d="M0,0 L8,4 L0,8 z" fill="{INK}"/></marker></defs>',
            *self.items, '</svg>', ''])


def bytes_name(value):
    for unit, size in ('Mi', 1 << 20), ('Ki', 1 << 10):
        if value >= size:
            return f'{value // size} {unit}B'
    return f'{value} B'


class Plot:
    """Axes in a part of a picture: x in powers of 2, y from 0 on."""

    def __init__(self, svg, box, xs, top, ylabel, title, xname=bytes_name, step=1):
        self.svg, self.box, self.xs, self.top = svg, box, xs, top
        left, upper, width, height = box
        svg.text(left + width / 2, upper - 10, title, 13, 'middle', bold=True)
        svg.text(left - 38, upper + height / 2, ylabel, 12, 'middle', turned=True)
        for k in range(6):
            value = top * k / 5
            y = self.y(value)
            svg.line([(left, y), (left + width, y)], GRID)
            svg.text(left - 6, y + 4, f'{value:g}', 11, 'end')
        for value in xs[::step]:
            svg.line([(self.x(value), upper), (self.x(value), upper + height)], GRID)
            svg.text(self.x(value), upper + height + 16, xname(value), 11, 'middle')
        svg.line([(left, upper), (left, upper + height),
                  (left + width, upper + height)])

    def x(self, value):
        first, last = math.log2(self.xs[0]), math.log2(self.xs[-1])
        share = (math.log2(value) - first) / (last - first)
        return self.box[0] + self.box[2] * share

    def y(self, value):
        return self.box[1] + self.box[3] * (1 - value / self.top)

    def curve(self, points, stroke, dash=None):
        self.svg.line([(self.x(x), self.y(y)) for x, y in points], stroke, 2, dash)

    def mark(self, x, y, fill):
        self.svg.diamond(self.x(x), self.y(y), fill)


def legend(svg, x, y, entries, step=110):
    """Entries (name, colour, dash), or (name, colour, 'mark'), or 'box', in a row."""
    for name, colour, kind in entries:
        if kind == 'mark':
            svg.diamond(x + 11, y - 4, colour)
        elif kind == 'box':
            svg.rect(x + 4, y - 11, 14, 13, colour, INK)
        else:
            svg.line([(x, y - 4), (x + 22, y - 4)], colour, 2, kind)
        svg.text(x + 28, y, name, 12)
        x += step
