"""Layout drawn: a bar for each file over the values that it holds, before and after; of two columns
also a rectangle in their plane."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from xml.sax.saxutils import escape

from attrs import frozen
from hoodoo.errors import ConfigError

from hoodoo_clustering.layout.axis import Axis, axis_of, thinned
from hoodoo_clustering.layout.figures import ColumnFigures, Layout

_MARGIN, _GAP = 32, 44
_TITLE, _HEAD, _FOOT = 72, 66, 58
_WIDE, _NARROW = 860, 460
_SQUARE, _LEAST, _MOST = 360, 96, 320
_LETTER = 6.4  # of the labels, 11 pixels high
_MOST_BAR = 11.0
_THINNEST = 0.9
_MANY = 300

_STYLE = """
text { font-family: system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif;
  fill: #24303c; }
.paper { fill: #ffffff; } .panel { fill: #f4f6f8; }
.title { font-size: 17px; font-weight: 600; }
.head { font-size: 13px; font-weight: 600; }
.said, .label { font-size: 11px; fill: #5b6975; }
.grid { stroke: #dde3e8; stroke-width: 1; fill: none; }
.before { fill: #8795a3; stroke: #8795a3; } .after { fill: #1f7a8c; stroke: #1f7a8c; }
.bar { stroke: none; fill-opacity: 0.85; }
.box { fill-opacity: 0.10; stroke-opacity: 0.75; stroke-width: 0.8; }
.many { fill-opacity: 0.04; stroke-opacity: 0.12; }
@media (prefers-color-scheme: dark) {
  text { fill: #e4e9ee; } .paper { fill: #14191f; } .panel { fill: #1c232b; }
  .said, .label { fill: #98a5b1; } .grid { stroke: #2c3640; }
  .before { fill: #7d8a97; stroke: #7d8a97; } .after { fill: #45b3c6; stroke: #45b3c6; }
}
"""


def svg(before: Layout, after: Layout | None = None, columns: Sequence[str] | None = None) -> str:
    """A picture of ``columns`` (all that the layouts have), as the text of an SVG file. ``after``
    is drawn beside ``before`` on the same axes; without it there is one half.

    Raises ConfigError for a column that the layouts don't have."""
    chosen = before.columns if columns is None else tuple(columns)
    halves = [before] if after is None else [before, after]
    for layout in halves:
        for column in chosen:
            if column not in layout.columns:
                raise ConfigError(
                    f"column {column!r}",
                    "the layout was not made of it.",
                    f"Name some of {', '.join(layout.columns)}.",
                )
    axes = {column: _axis(halves, column) for column in chosen}
    picture = _Picture(halves, _WIDE if after is None else _NARROW)
    body = list(picture.title(", ".join(chosen)))
    if len(chosen) == 2:
        body += picture.row(_SQUARE, [_Plane(chosen[0], chosen[1], axes)] * len(halves))
    for column in chosen:
        most = max(_count(layout, column) for layout in halves)
        height = min(_MOST, max(_LEAST, most * 14))
        body += picture.row(height, [_Bars(column, axes[column])] * len(halves))
    return picture.whole(body)


@frozen
class _Area:
    left: float
    top: float
    width: float
    height: float

    def x(self, at: float) -> float:
        return self.left + 6 + at * (self.width - 12)

    def y(self, at: float) -> float:
        return self.top + self.height - 6 - at * (self.height - 12)


class _Picture:
    """Rows of panels, one for each layout."""

    def __init__(self, halves: Sequence[Layout], width: int) -> None:
        self.halves, self.width = halves, width
        self.top = float(_TITLE)
        self.kinds = ("after",) if len(halves) == 1 else ("before", "after")

    def title(self, columns: str) -> Iterator[str]:
        table = self.halves[0].table
        yield _text(_MARGIN, 34, "title", _cut(f"{table}: where the values of {columns} are", 70))
        yield _text(
            _MARGIN,
            54,
            "said",
            "a bar for each file, from its least to its greatest value, sorted by the least",
        )

    def row(self, height: float, panels: Sequence[_Bars | _Plane]) -> Iterator[str]:
        for n, (layout, panel) in enumerate(zip(self.halves, panels, strict=True)):
            left = _MARGIN + n * (self.width + _GAP)
            shift = panel.left
            area = _Area(left + shift, self.top + _HEAD, self.width - shift, height)
            head = f"{panel.name}, {self._when(n)}"
            yield _text(left, self.top + 16, "head", head)
            for line, said in enumerate(panel.said(layout)):
                yield _text(left, self.top + 34 + 16 * line, "said", said)
            yield _rect("panel", area.left, area.top, area.width, area.height)
            yield from panel.draw(layout, area, self.kinds[n])
        self.top += _HEAD + height + _FOOT

    def _when(self, half: int) -> str:
        point = self.halves[half].as_of
        said = "now" if point is None else f"as of {_moment(point)}"
        if len(self.halves) == 1:
            return said
        return self.kinds[half] if point is None else f"{self.kinds[half]} ({said})"

    def whole(self, body: Sequence[str]) -> str:
        count = len(self.halves)
        width = 2 * _MARGIN + count * self.width + (count - 1) * _GAP
        height = self.top + 4
        size = f'width="{width}" height="{_n(height)}" viewBox="0 0 {width} {_n(height)}"'
        first = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">'
        paper = _rect("paper", 0, 0, width, height)
        return "\n".join([first, f"<style>{_STYLE}</style>", paper, *body, "</svg>", ""])


@frozen
class _Bars:
    column: str
    axis: Axis
    left: float = 0

    @property
    def name(self) -> str:
        return _cut(self.column, 24)

    def said(self, layout: Layout) -> Iterator[str]:
        figures = _figures(layout, self.column)
        sizes = layout.sizes
        unknown = f" ({figures.unknown:,} of unknown values)" if figures.unknown else ""
        files = f"{_plural(sizes.count, 'file')}{unknown}, {_bytes(sizes.bytes)}"
        yield f"{files}, the median of {_bytes(sizes.median)}"
        yield (
            f"a value is in {_about(figures.depth)} files on average, {figures.deepest:,} at most; "
            f"{figures.overlapping:.0%} of pairs overlap"
        )

    def draw(self, layout: Layout, area: _Area, kind: str) -> Iterator[str]:
        yield from _below(self.axis, area, self.axis.kind)
        known = sorted(_known(layout, self.column), key=lambda ends: ends)
        step = min(_MOST_BAR, (area.height - 12) / max(1, len(known)))
        thick = max(_THINNEST, step * 0.72)
        paths = []
        for n, (low, high) in enumerate(known):
            x, right = area.x(self.axis.place(low)), area.x(self.axis.place(high))
            wide = max(1.5, right - x)
            y = area.top + 6 + n * step
            paths.append(f"M{_n(x)} {_n(y)}h{_n(wide)}v{_n(thick)}h{_n(-wide)}z")
        if paths:
            yield f'<path class="bar {kind}" d="{"".join(paths)}"/>'


@frozen
class _Plane:
    across: str
    upward: str
    axes: dict[str, Axis]
    left: float = 104  # for the labels of the second column

    @property
    def name(self) -> str:
        return _cut(f"{self.across} and {self.upward}", 26)

    def said(self, layout: Layout) -> Iterator[str]:
        yield f"across: {_cut(self.across, 30)}; upward: {_cut(self.upward, 30)}"
        yield f"a rectangle for each of {_plural(len(list(self._boxes(layout))), 'file')}"

    def draw(self, layout: Layout, area: _Area, kind: str) -> Iterator[str]:
        yield from _below(self.axes[self.across], area, self.axes[self.across].kind)
        yield from _beside(self.axes[self.upward], area)
        across, upward = self.axes[self.across], self.axes[self.upward]
        boxes = list(self._boxes(layout))
        # So many on top of each other would be one dark square.
        faint = " many" if len(boxes) > _MANY else ""
        for (left, right), (low, high) in boxes:
            x, y = area.x(across.place(left)), area.y(upward.place(high))
            wide = max(2.0, area.x(across.place(right)) - x)
            tall = max(2.0, area.y(upward.place(low)) - y)
            yield _rect(f"box {kind}{faint}", x, y, wide, tall)

    def _boxes(self, layout: Layout) -> Iterator[tuple[Any, Any]]:
        at = [layout.columns.index(column) for column in (self.across, self.upward)]
        for file in layout.files:
            one, other = (file.bounds[n] for n in at)
            if one is not None and other is not None:
                yield one, other


def _below(axis: Axis, area: _Area, note: str) -> Iterator[str]:
    bottom = area.top + area.height
    for at, text in thinned(axis.ticks(8), area.width - 12, _room):
        x = area.x(at)
        yield f'<path class="grid" d="M{_n(x)} {_n(area.top)}V{_n(bottom)}"/>'
        # At the ends of the axis a label stays inside of the panel.
        half = len(text) * _LETTER / 2
        anchor = "middle"
        if x - half < area.left:
            x, anchor = area.left, "start"
        elif x + half > area.left + area.width:
            x, anchor = area.left + area.width, "end"
        yield _text(x, bottom + 16, "label", text, anchor)
    if note:
        yield _text(area.left + area.width, bottom + 32, "label", note, "end")


def _beside(axis: Axis, area: _Area) -> Iterator[str]:
    for at, text in thinned(axis.ticks(8), area.height - 12, lambda text: 20):
        y = area.y(at)
        yield f'<path class="grid" d="M{_n(area.left)} {_n(y)}H{_n(area.left + area.width)}"/>'
        yield _text(area.left - 8, y + 4, "label", text, "end")


def _room(text: str) -> float:
    return (len(text) + 2) * _LETTER


def _axis(halves: Sequence[Layout], column: str) -> Axis:
    return axis_of(end for layout in halves for ends in _known(layout, column) for end in ends)


def _known(layout: Layout, column: str) -> list[tuple[Any, Any]]:
    at = layout.columns.index(column)
    found = (file.bounds[at] for file in layout.files)
    return [ends for ends in found if ends is not None]


def _count(layout: Layout, column: str) -> int:
    return len(_known(layout, column))


def _figures(layout: Layout, column: str) -> ColumnFigures:
    return layout.figures[layout.columns.index(column)]


def _text(x: float, y: float, kind: str, text: str, anchor: str = "start") -> str:
    side = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text class="{kind}" x="{_n(x)}" y="{_n(y)}"{side}>{escape(text)}</text>'


def _rect(kind: str, x: float, y: float, wide: float, tall: float) -> str:
    ends = f'x="{_n(x)}" y="{_n(y)}" width="{_n(wide)}" height="{_n(tall)}"'
    return f'<rect class="{kind}" {ends}/>'


def _n(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _plural(number: int, what: str) -> str:
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def _about(number: float) -> str:
    return f"{number:,.1f}" if number < 99.95 else f"{number:,.0f}"


def _moment(instant: str) -> str:
    """``2024-01-05 12:30:00``, in the table's own time, for people."""
    if len(instant) < 14 or not instant.strip("0"):
        return instant
    day, clock = instant[:8], instant[8:14]
    return f"{day[:4]}-{day[4:6]}-{day[6:]} {clock[:2]}:{clock[2:4]}:{clock[4:]}"


def _bytes(number: int) -> str:
    value, units = float(number), iter(("B", "KB", "MB", "GB", "TB", "PB"))
    unit = next(units)
    while value >= 999.5:
        value, unit = value / 1000, next(units, "EB")
    return f"{value:.3g} {unit}"
