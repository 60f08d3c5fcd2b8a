"""Rows on the screen: as a table that fits, as CSV, as JSON, or into a file."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa
import typer
from hoodoo.errors import ConfigError
from rich.console import Console

from hoodoo_cli.toolkit import show
from hoodoo_cli.toolkit.values import cell, rows_of
from hoodoo_cli.toolkit.written_files import write_rows

FORMS = ("table", "csv", "json", "jsonl")
# Cells are as long as this at most; where they do not fit beside each other, shorter.
_WIDTHS = (60, 30, 16)


def form_of(output: str | None, as_json: bool) -> str:
    """How rows are printed: one of :data:`FORMS`, or the path of a file."""
    if not as_json:
        return output or "table"
    if output not in (None, "json"):
        raise ConfigError(f"--output {output}", "differs from --json.", "Give one of the two.")
    return "json"


def put_rows(
    schema: pa.Schema,
    batches: Iterable[pa.RecordBatch],
    output: str | None = None,
    as_json: bool = False,
    options: Mapping[str, str] | None = None,
    empty: str = "No rows.",
) -> int:
    """Print rows in the form of ``--output``: ``table``, ``csv``, ``json``, ``jsonl`` or a file,
    and return their number. Only a table has to be in memory."""
    form = form_of(output, as_json)
    names = _differing(schema.names)
    if names != schema.names:
        schema = pa.schema([f.with_name(name) for f, name in zip(schema, names, strict=True)])
        batches = (batch.rename_columns(names) for batch in batches)
    if form == "table":
        batches = list(batches)
        return put_table(pa.Table.from_batches(batches, schema), empty)
    if form == "json":
        return _json_list(batches)
    if form in FORMS:
        sys.stdout.flush()
        return write_rows("-", schema, batches, {}, form)
    count = write_rows(form, schema, batches, options or {})
    show.say(show.console(stderr=True), f"{show.count(count, 'row')} in {form}.", "dim")
    return count


def _differing(names: list[str]) -> list[str]:
    """Names of which no two are the same, such as a join may give: the second ``id`` becomes
    ``id_1``."""
    found: dict[str, None] = {}
    for name in names:
        new, number = name, 0
        while new in found or (number and new in names):
            number += 1
            new = f"{name}_{number}"
        found[new] = None
    return list(found)


def put_table(rows: pa.Table, empty: str = "No rows.") -> int:
    """A line for each row; where the columns do not fit, a block for each row."""
    out = show.console()
    if not rows.num_rows:
        show.say(out, empty, "dim")
        return 0
    values = rows_of(rows)
    numbers = [f.name for f in rows.schema if _is_number(f.type)]
    for most in _WIDTHS:
        grid = show.grid(*rows.column_names, right=numbers)
        for row in values:
            grid.add_row(*(_shown(value, most) for value in row.values()))
        if show.room(out, grid) >= 0 and not _cut(values, most):
            show.put(out, grid)
            return len(values)
    _blocks(out, values)
    return len(values)


def _cut(values: list[dict[str, Any]], most: int) -> bool:
    """Whether cells would lose their ends although a block has room for more of them."""
    return most < _WIDTHS[0] and any(
        len(cell(value)) > most for row in values for value in row.values()
    )


def _shown(value: Any, most: int) -> Any:
    return show.text(cell(value, most), "dim" if value is None else "")


def _blocks(out: Console, values: list[dict[str, Any]]) -> None:
    for number, row in enumerate(values):
        if number:
            show.say(out)
        show.put(out, show.pairs({name: cell(value, 2_000) for name, value in row.items()}))


def _is_number(kind: pa.DataType) -> bool:
    t = pa.types
    return bool(t.is_integer(kind) or t.is_floating(kind) or t.is_decimal(kind))


def _json_list(batches: Iterable[pa.RecordBatch]) -> int:
    count = 0
    for row in _json_rows(batches):
        typer.echo(("[\n" if not count else ",\n") + row, nl=False)
        count += 1
    typer.echo("\n]" if count else "[]")
    return count


def _json_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[str]:
    for batch in batches:
        for row in rows_of(batch):
            yield "  " + json.dumps(row, ensure_ascii=False)
