"""The report ``layout`` as bars: where the least and greatest value of each file lie between those
of the table."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from attrs import asdict

# So many bars can be told apart on a page.
MOST = 400


def bars(report: Any) -> dict[str, Any]:
    """The files of a layout report of one column, by their least value; evenly chosen where they
    are too many."""
    known = [file for file in report.files if file.bounds[0] is not None]
    ends = [end for file in known for end in file.bounds[0]]
    numeric = bool(ends) and all(_is_number(end) for end in ends)
    place = _places(ends, numeric)
    known.sort(key=lambda file: (place[file.bounds[0][0]], place[file.bounds[0][1]]))
    step = max(1, -(-len(known) // MOST))
    return {
        "column": report.columns[0],
        "scale": "value" if numeric else "rank",
        "least": _text(min(ends)) if ends else None,
        "greatest": _text(max(ends)) if ends else None,
        "figures": asdict(report.figures[0]),
        "known": len(known),
        "bars": [
            {
                "partition": file.partition,
                "file_id": file.file_id,
                "instant": file.instant,
                "bytes": file.bytes,
                "rows": file.rows,
                "least": _text(file.bounds[0][0]),
                "greatest": _text(file.bounds[0][1]),
                "from": place[file.bounds[0][0]],
                "to": place[file.bounds[0][1]],
            }
            for file in known[::step]
        ],
    }


def _places(ends: Sequence[Any], numeric: bool) -> dict[Any, float]:
    """Between 0 and 1: numbers and times by their value, others by their rank."""
    values = sorted(set(ends))
    at = [_number(value) if numeric else float(n) for n, value in enumerate(values)]
    span = (at[-1] - at[0]) if at else 0.0
    return {
        value: round((where - at[0]) / span, 5) if span > 0 else 0.5
        for value, where in zip(values, at)
    }


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, Decimal, date)) and not isinstance(value, bool)


def _number(value: Any) -> float:
    if isinstance(value, datetime):
        return (value.replace(tzinfo=None) - datetime(1970, 1, 1)).total_seconds()
    return float(value.toordinal()) if isinstance(value, date) else float(value)


def _text(value: Any) -> str:
    if isinstance(value, (float, Decimal)) and value == 0:
        value = abs(value)  # footers of Parquet have -0.0 for the least of zeros
    text = value.hex() if isinstance(value, bytes) else str(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
