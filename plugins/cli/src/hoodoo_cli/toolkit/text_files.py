"""Rows in files of text: CSV and JSON lines. Types come from the table, or else from the first
block of the file."""

from __future__ import annotations

import codecs
import csv as python_csv
import json
from collections.abc import Iterator
from decimal import Decimal
from io import StringIO
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from hoodoo.errors import ConfigError, DataError

from hoodoo_cli.toolkit.data_file import DataFile
from hoodoo_cli.toolkit.values import array_of, is_nested, without_nulls

_BLOCK = 8 << 20
_HEADING = 64 << 10  # where the line of names is looked for
_NO_NUMBER = r"^\s*-?0[0-9]"  # codes, whose zeros have a meaning


def csv(source: pa.NativeFile, wanted: pa.Schema | None, delimiter: str) -> DataFile:
    """A first line of names; empty fields without quotes are null, and so are empty lines of a file
    with one column. Nested values are JSON, bytes are base64."""
    delimiter = {"\\t": "\t"}.get(delimiter, delimiter)
    if len(delimiter) != 1 or delimiter in '"\r\n' or not delimiter.isascii():
        raise ConfigError(
            f"--delimiter {delimiter!r}", "is no delimiter.", "Give one character of ASCII, or \\t."
        )
    head = _read(source, _BLOCK)
    types = {field.name: _in_text(field.type) for field in wanted or ()}
    one = _has_one_column(head, delimiter)
    types |= _corrected(head, types, delimiter, one)
    file = _open_csv(pa.PythonFile(_Chained(head, source), mode="r"), types, delimiter, one)
    schema = pa.schema([_wanted(field, wanted) for field in file.schema])
    return DataFile(schema, lambda: (_decoded(batch, schema) for batch in file))


def _has_one_column(head: bytes, delimiter: str) -> bool:
    """Then a null is an empty line. In other files empty lines are no rows."""
    first = StringIO(head[:_HEADING].decode("utf-8-sig", "replace"), newline="")
    try:
        return len(next(python_csv.reader(first, delimiter=delimiter), [])) == 1
    except python_csv.Error:  # an overlong name
        return False


def _open_csv(
    source: Any, types: dict[str, pa.DataType], delimiter: str, one: bool, **more: Any
) -> Any:
    from pyarrow import csv as reading

    block = more.pop("block_size", _BLOCK)
    return reading.open_csv(
        source,
        read_options=reading.ReadOptions(block_size=block),
        parse_options=reading.ParseOptions(
            delimiter=delimiter, newlines_in_values=True, ignore_empty_lines=not one
        ),
        convert_options=reading.ConvertOptions(
            column_types=types,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            **more,
        ),
    )


def _corrected(
    head: bytes, known: dict[str, pa.DataType], delimiter: str, one: bool
) -> dict[str, pa.DataType]:
    """Types of columns that Arrow would guess so that values change: numbers that start with zeros,
    such as postal codes, and integers of more than 64 bits, which become text; and columns without
    any value. DataError for text that is not UTF-8."""
    # Of a longer file only the whole lines of the start are looked at: the rest is a block of its
    # own.
    block = _BLOCK + 1 if len(head) < _BLOCK else _BLOCK - 1
    guess = _open_csv(pa.BufferReader(head), known, delimiter, one, block_size=block).schema
    found, numbers = {}, []
    for field in guess:
        if field.name in known:
            continue
        if pa.types.is_binary(field.type):
            raise DataError(
                f"column {field.name!r}",
                "is not in UTF-8.",
                "Convert the file: iconv -f latin1 -t utf-8, for example.",
            )
        if pa.types.is_null(field.type):
            found[field.name] = pa.string()
        elif pa.types.is_integer(field.type) or pa.types.is_floating(field.type):
            numbers.append(field.name)
    if not numbers or len(set(guess.names)) < len(guess.names):
        return found
    as_text = {**known, **dict.fromkeys(guess.names, pa.string())}
    more = {"block_size": block, "include_columns": numbers}
    texts = _open_csv(pa.BufferReader(head), as_text, delimiter, one, **more)
    first = pa.Table.from_batches([next(iter(texts))])
    for name in numbers:
        column = first[name]
        if pc.any(pc.match_substring_regex(column, _NO_NUMBER)).as_py():
            found[name] = pa.string()
        elif pa.types.is_floating(guess.field(name).type):
            whole = column.filter(pc.match_substring_regex(column, r"^\s*-?\d{19,}\s*$"))
            if any(not -(2**63) <= int(text) < 2**63 for text in whole.to_pylist()):
                found[name] = pa.string()
    return found


def _read(source: Any, size: int) -> bytes:
    """The next ``size`` bytes; fewer only at the end."""
    parts = []
    while size and (data := source.read(size)):
        parts.append(data)
        size -= len(data)
    return b"".join(parts)


class _Chained:
    """What was read of a file, and the rest of it, as one file."""

    closed = False

    def __init__(self, head: bytes, rest: Any) -> None:
        self._head, self._rest = pa.BufferReader(head), rest

    def read(self, size: int = -1) -> bytes:
        found: bytes = self._head.read(None if size < 0 else size)
        if size < 0:
            return found + self._rest.read()
        return found or self._rest.read(size)

    def close(self) -> None:
        self.closed = True


def json_lines(
    source: pa.NativeFile, wanted: pa.Schema | None, naive_is_utc: bool = False
) -> DataFile:
    """An object on each line. Columns that are not ``wanted`` have the types of the first block.
    Times without a zone are refused where the column has one, unless ``naive_is_utc``."""
    blocks = _blocks(source)
    first = next(blocks, b"").removeprefix(codecs.BOM_UTF8)
    known = list(wanted or ())
    rows = _objects(first)
    names = dict.fromkeys(name for row in rows for name in row)
    new = [name for name in names if name not in {field.name for field in known}]
    guessed = _guessed(rows, new)
    there = [field for field in known if field.name in names]
    if len(there) < len(known):
        there = known  # a column that is null everywhere may be left out of the file
    schema = pa.schema([*there, *guessed])
    exact = any(_has_decimals(field.type) for field in schema)

    def batches() -> Iterator[pa.RecordBatch]:
        for block in chain([first], blocks):
            batch = _batch(_objects(block, exact), schema, naive_is_utc)
            if batch.num_rows:
                yield batch

    return DataFile(schema, batches)


def _has_decimals(kind: pa.DataType) -> bool:
    """Whether numbers of JSON must keep all digits."""
    if not is_nested(kind):
        return bool(pa.types.is_decimal(kind))
    return any(_has_decimals(kind.field(at).type) for at in range(kind.num_fields))


def _in_text(kind: pa.DataType) -> pa.DataType:
    return pa.string() if is_nested(kind) or pa.types.is_binary(kind) else kind


def _wanted(field: pa.Field, wanted: pa.Schema | None) -> pa.Field:
    if wanted is None or field.name not in wanted.names:
        return field
    return wanted.field(field.name)


def _decoded(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    columns = []
    for column, field in zip(batch.columns, schema, strict=True):
        if column.type != field.type:
            texts = column.to_pylist()
            values = (
                [_nested(text, field.name) for text in texts] if is_nested(field.type) else texts
            )
            column = array_of(values, field)
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _nested(text: str | None, name: str) -> Any:
    if text is None:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"column {name!r}",
            f"has the value {text[:60]!r}, which is no JSON: {error}.",
            "Write nested values as JSON.",
        ) from error


def _blocks(source: pa.NativeFile) -> Iterator[bytes]:
    """Whole lines, of some megabytes at once."""
    rest = b""
    while data := source.read(_BLOCK):
        data = rest + data
        end = data.rfind(b"\n") + 1
        rest = data[end:]
        if end:
            yield data[:end]
    if rest:
        yield rest


def _objects(block: bytes, exact: bool = False) -> list[dict[str, Any]]:
    text = block.decode("utf-8")
    parse = json.JSONDecoder(parse_float=Decimal if exact else None).decode
    found: list[dict[str, Any]] = []
    if text.lstrip().startswith("["):
        raise DataError(
            "JSON",
            "is one list, and no object on each line.",
            "Write each row on a line of its own: `jq -c .[]` does it.",
        )
    for line in text.split("\n"):  # and no other line ends: text may contain them
        if not line.strip():
            continue
        try:
            row = parse(line)
        except (ValueError, RecursionError) as error:
            raise DataError(
                f"line {line[:60]!r}", f"is no JSON: {error}.", "Write an object on each line."
            ) from error
        if not isinstance(row, dict):
            raise DataError(
                f"line {line[:60]!r}", "is no JSON object.", "Write an object on each line."
            )
        found.append(row)
    return found


def _guessed(rows: list[dict[str, Any]], names: list[str]) -> list[pa.Field]:
    """The types of columns that are not known."""
    found = []
    for name in names:
        try:
            kind = pa.array([row.get(name) for row in rows]).type
        except (pa.ArrowException, ValueError, OverflowError) as error:
            raise DataError(
                f"column {name!r}",
                f"has values that no type fits ({error}).",
                "Create the table first, with --schema.",
            ) from error
        found.append(pa.field(name, without_nulls(kind)))
    return found


def _batch(rows: list[dict[str, Any]], schema: pa.Schema, naive_is_utc: bool) -> pa.RecordBatch:
    known = set(schema.names)
    for row in rows:
        for name in row.keys() - known:
            raise DataError(
                f"column {name!r}",
                "appears late in the file, so that its type is not known.",
                "Create the table first, with --schema; or add the column to the first line.",
            )
    columns = [
        array_of([row.get(field.name) for row in rows], field, naive_is_utc) for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
