"""Lines over logarithmic axes, as SVG. What needs no library needs no dependency."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

Points = Sequence[tuple[float, float]]

_WIDTH, _HEIGHT = 720, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 160, 40, 50
_COLOURS = ("#1b6ca8", "#c2452d", "#3c8d40", "#7a4ea3")
_DASHES = ("", "", "2 5", "6 4")


def save(
    path: str, title: str, across: str, up: str, lines: Mapping[str, Points], mark: float | None
) -> None:
    """``lines``: positive points by name; ``mark``: a place on the lower axis that a line stands on."""
    span_x = _decades(x for points in lines.values() for x, _ in points)
    span_y = _decades(y for points in lines.values() for _, y in points)

    def at_x(x: float) -> float:
        return _LEFT + (math.log10(x) - span_x[0]) / (span_x[1] - span_x[0]) * (
            _WIDTH - _LEFT - _RIGHT
        )

    def at_y(y: float) -> float:
        return (
            _HEIGHT
            - _BOTTOM
            - (math.log10(y) - span_y[0]) / (span_y[1] - span_y[0]) * (_HEIGHT - _TOP - _BOTTOM)
        )

    right, low = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    parts = [_text((_LEFT + right) / 2, 22, title, "middle", 15)]
    for power in range(span_x[0], span_x[1] + 1):
        x = at_x(10.0**power)
        parts += [_line(x, _TOP, x, low), _text(x, low + 18, f"{10.0**power:g}", "middle")]
    for power in range(span_y[0], span_y[1] + 1):
        y = at_y(10.0**power)
        parts += [_line(_LEFT, y, right, y), _text(_LEFT - 8, y + 4, f"{10.0**power:g}", "end")]
    parts.append(_text((_LEFT + right) / 2, _HEIGHT - 10, across, "middle"))
    parts.append(
        f'<g transform="translate(18 {(_TOP + low) / 2}) rotate(-90)">{_text(0, 0, up, "middle")}</g>'
    )
    if mark is not None:
        parts += [
            _line(at_x(mark), _TOP, at_x(mark), low, "#555", "4 3"),
            _text(at_x(mark) - 5, low - 8, f"{mark:.2g}", "end"),
        ]
    for number, (name, points) in enumerate(lines.items()):
        colour, dash = _COLOURS[number % 4], _DASHES[number % 4]
        drawn = " ".join(f"{at_x(x):.1f},{at_y(y):.1f}" for x, y in points)
        parts.append(
            f'<polyline points="{drawn}" fill="none" stroke="{colour}" stroke-width="2.5"'
            f' stroke-dasharray="{dash}"/>'
        )
        y = _TOP + 12 + 22 * number
        parts += [
            _line(right + 12, y, right + 40, y, colour, dash, 2.5),
            _text(right + 46, y + 4, name, "start"),
        ]
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    body = "\n".join(parts)
    Path(path).write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
        f' font-family="sans-serif" font-size="12">\n<rect width="100%" height="100%" fill="#fff"/>\n'
        f"{body}\n</svg>\n"
    )


def _decades(values: object) -> tuple[int, int]:
    found = [math.log10(v) for v in values]  # type: ignore[attr-defined]  # any iterable of floats
    low, high = math.floor(min(found)), math.ceil(max(found))
    return low, max(high, low + 1)


def _text(x: float, y: float, text: str, anchor: str, size: int = 12) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">'
        f"{escape(text)}</text>"
    )


def _line(
    x1: float,
    y1: float,
    x2: float,
    y2: float,
    colour: str = "#ddd",
    dash: str = "",
    width: float = 1,
) -> str:
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"'
        f' stroke-dasharray="{dash}" stroke-width="{width}"/>'
    )
