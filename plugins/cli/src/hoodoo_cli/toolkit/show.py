"""What the commands print with: tables that fit, sizes, times, progress."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import typer
from hoodoo.errors import ConfigError
from hoodoo.model.findings import Progress, silent
from hoodoo.timeline.instants import to_datetime
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bars
from rich.table import Table
from rich.text import Text

# Where it is not a terminal that is written to, lines are as long as this at most.
_PIPED = 160
_UNITS = ("B", "KB", "MB", "GB", "TB", "PB")
_AGES = (("d", 86_400), ("h", 3_600), ("min", 60))


def console(stderr: bool = False) -> Console:
    """Prints to the terminal as wide as it is; elsewhere plain, for other programs to read."""
    found = Console(stderr=stderr)
    if not found.is_terminal and "COLUMNS" not in os.environ:
        found = Console(stderr=stderr, width=_PIPED)
    return found


def grid(*columns: str, right: Sequence[str] = (), fold: Sequence[str] = ()) -> Table:
    """A table without lines; ``right`` columns are aligned there. Where the terminal is too narrow,
    ``fold`` columns take more lines, and words that are too long end with dots; others stay
    whole."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in columns:
        side: Literal["left", "right"] = "right" if name in right else "left"
        # Rich narrows columns that may wrap before it narrows others.
        table.add_column(name, justify=side, overflow="ellipsis", no_wrap=name not in fold)
    return table


def put(out: Console, table: Table) -> None:
    """Print a :func:`grid`; to a pipe, without spaces at the ends of lines."""
    for column in table.columns:
        if column.no_wrap:
            cells = (cell for cell in column.cells if isinstance(cell, Text))
            title = len(str(column.header))
            column.min_width = max((title, *(cell.cell_len for cell in cells)))
    if out.is_terminal:
        out.print(table)
        return
    with out.capture() as printed:
        out.print(table)
    for line in printed.get().splitlines():
        out.print(line.rstrip(), markup=False, highlight=False, soft_wrap=True)


def pairs(values: Mapping[str, str], style: str = "bold") -> Table:
    """A line for each name and its value, which takes more lines where it is long, and stays
    whole."""
    table = grid("name", "value", fold=("value",))
    table.show_header = False
    table.columns[1].overflow = "fold"
    for name, value in values.items():
        table.add_row(text(name, style), text(value))
    return table


def room(out: Console, table: Table) -> int:
    """How many columns of the terminal are left beside the table; negative where it is too
    narrow."""
    wide = out.options.update(width=1000)
    return out.width - out.measure(table, options=wide).maximum


def text(value: object, style: str = "") -> Text:
    """Text, because square brackets in plain strings would be read as markup."""
    return Text(str(value), style=style)


def say(out: Console, line: object = "", style: str = "") -> None:
    """One line, which a narrow terminal folds between words."""
    out.print(text(line, style), highlight=False)


def put_json(value: Any) -> None:
    typer.echo(json.dumps(value, indent=2))


def size(number: int | None) -> str:
    """Bytes, with three digits or so: ``1.25 MB`` is 1,250,000."""
    if number is None:
        return "-"
    value, unit = float(number), 0
    while value >= 999.5 and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    if unit == 0:
        return f"{number} B"
    return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f} {_UNITS[unit]}"


def count(number: int, what: str) -> str:
    """``1 file``, ``2,000 files``."""
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def amount(number: int) -> str:
    """A number in a table: nothing for zero, which is not worth reading."""
    return f"{number:,}" if number else ""


def age(seconds: float) -> str:
    """``3 d``, ``2 h``, ``5 min``, ``12 s``, ``0.4 s``."""
    for unit, length in _AGES:
        if seconds >= length:
            return f"{int(seconds // length)} {unit}"
    return f"{seconds:.1f} s" if seconds < 10 else f"{int(seconds)} s"


def took(requested: str, completed: str | None) -> str:
    """How long an instant took; empty where that is not known."""
    if completed is None or requested.startswith("0000"):  # of a bootstrap
        return ""
    try:
        passed = to_datetime(completed) - to_datetime(requested)
    except ConfigError:
        return ""
    return age(max(0.0, passed.total_seconds()))


@contextmanager
def progress() -> Iterator[Progress]:
    """Bars on the error stream while something long goes on; nothing where that is no terminal."""
    out = Console(stderr=True)
    if not out.is_terminal:
        yield silent
        return
    columns = (TextColumn("{task.description:<10}"), BarColumn(), MofNCompleteColumn())
    with Bars(*columns, console=out, transient=True) as bars:
        tasks: dict[str, Any] = {}

        def report(step: str, done: int, total: int) -> None:
            if step not in tasks:
                tasks[step] = bars.add_task(step, total=total)
            bars.update(tasks[step], completed=done, total=total)

        yield report


@contextmanager
def counter(what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Counts rows on the error stream while something long goes on; nothing where that is no
    terminal. It gives a function to call with the number of rows that were added."""
    out = Console(stderr=True)
    if not out.is_terminal:
        yield lambda rows: None
        return
    columns = (TextColumn("{task.description}"), TextColumn("{task.completed:,.0f} rows"))
    bar = () if total is None else (BarColumn(),)
    with Bars(*columns, *bar, console=out, transient=True) as bars:
        task = bars.add_task(what, total=total)
        yield lambda rows: bars.advance(task, rows)


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Shows on the error stream that something long goes on; nothing where that is no terminal."""
    out = Console(stderr=True)
    if not out.is_terminal:
        yield
        return
    with out.status(what):
        yield
