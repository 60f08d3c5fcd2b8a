"""Rows of one file: Parquet, JSON lines, CSV, Avro. Types come from the schema, else from the
table, else from the file."""

from __future__ import annotations

import codecs
import io
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, field, frozen
from hoodoo.errors import ConfigError, HoodooError
from hoodoo.model.schema.avro import arrow_schema
from hoodoo.storage.api import Storage
from hoodoo_cli.toolkit import data_files, text_files

from hoodoo_ingest.hookspecs.source import BAD_ROWS

FORMATS = ("parquet", "jsonl", "csv", "avro")
_BLOCK = 8 << 20
# What parsers raise of bytes in memory. An error of the store is none of these rows.
_BAD = (pa.ArrowException, HoodooError, UnicodeDecodeError, ValueError, OSError, EOFError)


@frozen
class Form:
    """How files are read. ``exact``: the rows get the columns of ``schema``, and no others; else it
    has the types of columns that are known. ``keys``: rows without a value in all of them are
    bad."""

    schema: pa.Schema | None = None
    exact: bool = False
    format: str | None = None
    delimiter: str = ","
    keys: tuple[str, ...] = ()


@frozen
class Bad:
    """Rows that can't be read, at most ``limit`` of them and one more."""

    limit: int
    rows: list[dict[str, str | None]] = field(factory=list)

    def add(self, place: str, row: str | None, error: object) -> None:
        self.rows.append({"place": place, "row": row, "error": " ".join(str(error).split())})

    @property
    def enough(self) -> bool:
        return len(self.rows) > self.limit

    def table(self) -> pa.Table:
        return pa.Table.from_pylist(self.rows, schema=BAD_ROWS)


def format_of(path: str, given: str | None) -> str:
    """The format of a file: ``given``, or that of its name. ConfigError if neither says it."""
    if given is not None:
        return given
    if path.lower().endswith(".avro"):
        return "avro"
    try:
        found = data_files.kind_of(path)
    except ConfigError:
        found = ""
    if found not in FORMATS:
        raise ConfigError(
            f"file {path}",
            "has a name that does not show its format.",
            f"Give format = one of {', '.join(FORMATS)} in section [source], or a pattern that it "
            "does not match.",
        )
    return found


def put_together(parts: list[pa.Table], form: Form) -> pa.Table:
    """The rows of all files. Columns without any value get the type of the table, or are texts.
    ArrowException for types that do not go together."""
    rows = pa.concat_tables(parts, promote_options="permissive")
    types = {f.name: f.type for f in form.schema or ()}
    for at, one in enumerate(rows.schema):
        if pa.types.is_null(one.type):
            kind = types.get(one.name, pa.string())
            rows = rows.set_column(at, one.name, rows.column(at).cast(kind))
    return rows


def read_file(storage: Storage, path: str, form: Form, bad: Bad) -> pa.Table | None:
    """The rows of a file; None if it has none. What can't be read is added to ``bad``."""
    place = f"{storage.root}/{path}"
    kind = format_of(path, form.format)
    data = storage.get(path)
    try:
        if kind == "parquet":
            return _shaped(_parquet(data), form, place, bad)
        packing = data_files.packing_of(path)
        if packing is not None:
            data = pa.CompressedInputStream(pa.BufferReader(data), packing).read()
        if kind == "avro":
            return _shaped(_avro(data), form, place, bad)
    except _BAD as error:  # nothing of such a file can be used
        bad.add(place, None, error)
        return None
    data = data.removeprefix(codecs.BOM_UTF8)
    if not data.strip():
        return None
    found = _lines(data, _Json() if kind == "jsonl" else _Csv.of(data), form, place, bad)
    if found is None or not (found.num_rows or form.schema):
        return None
    return _shaped(found, form, place, bad)


def _parquet(data: bytes) -> pa.Table:
    from pyarrow import parquet

    return parquet.read_table(pa.BufferReader(data))


def _avro(data: bytes) -> pa.Table:
    reader = fastavro.reader(io.BytesIO(data))
    kinds = arrow_schema(str(reader.metadata["avro.schema"]), "Avro file")
    return pa.Table.from_pylist(list(reader), schema=kinds)


def _shaped(rows: pa.Table, form: Form, place: str, bad: Bad) -> pa.Table:
    """The columns of an exact schema, in its types; rows without a value that it needs are bad, and
    so are those without a key."""
    whole = rows
    if form.schema is not None and form.exact:
        columns = {
            f.name: rows[f.name].cast(f.type)
            if f.name in rows.schema.names
            else pa.nulls(rows.num_rows, f.type)
            for f in form.schema
        }
        needed = [f.name for f in form.schema if not f.nullable]
        whole = pa.table(columns)
        lacking = _joined(pc.or_, [pc.is_null(whole[name]) for name in needed])
        why = f"it lacks one of the columns {', '.join(needed)}"
        rows, whole = _without(lacking, why, rows, whole, place, bad)
        whole = whole.cast(form.schema)
    if form.keys and set(form.keys) <= set(whole.schema.names):
        lacking = _joined(pc.and_, [_is_empty(whole[name]) for name in form.keys])
        why = f"its record key ({', '.join(form.keys)}) is null or empty"
        rows, whole = _without(lacking, why, rows, whole, place, bad)
    return whole


def _joined(join: Callable[[Any, Any], Any], parts: list[Any]) -> Any:
    return reduce(join, parts) if parts else None


def _is_empty(column: Any) -> Any:
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return pc.fill_null(pc.equal(column, ""), True)
    return pc.is_null(column)


def _without(
    lacking: Any, why: str, rows: pa.Table, whole: pa.Table, place: str, bad: Bad
) -> tuple[pa.Table, pa.Table]:
    """Both without the rows that are ``lacking``, which are bad, as ``rows`` has them."""
    if lacking is None or not pc.any(lacking).as_py():
        return rows, whole
    at = pc.indices_nonzero(lacking).slice(0, bad.limit + 1)
    for row in rows.take(at).to_pylist():
        bad.add(place, repr(row), why)
    good = pc.invert(lacking)
    return rows.filter(good), whole.filter(good)


# --- lines ----------------------------------------------------------------------------------------
@frozen
class _Json:
    """An object on each line."""

    head: bytes = b""

    def records(self, data: bytes) -> list[bytes]:
        return data.split(b"\n")

    def parse(self, data: bytes, form: Form) -> pa.Table:
        from pyarrow import json

        def parsed(kinds: pa.Schema | None) -> pa.Table:
            return json.read_json(
                pa.BufferReader(data),
                json.ReadOptions(block_size=max(_BLOCK, _longest(data) + 1)),
                json.ParseOptions(
                    explicit_schema=kinds,
                    unexpected_field_behavior="ignore" if form.exact else "infer",
                ),
            )

        # Arrow takes texts for timestamps, and for dates and times numbers alone.
        texts, moments = _instead(form.schema, lambda kind: pa.string(), pa.types.is_timestamp)
        try:
            return _cast(parsed(texts), moments)
        except pa.ArrowInvalid:
            numbers, moments = _instead(form.schema, _number)
            if not form.exact or not moments:  # the Avro schema says the unit of numbers
                raise
            return _cast(parsed(numbers), moments)


@frozen
class _Csv:
    """A first line of names, which ``head`` is."""

    head: bytes

    @classmethod
    def of(cls, data: bytes) -> _Csv:
        end = data.find(b"\n") + 1
        return cls(data[: end or len(data)])

    def records(self, data: bytes) -> list[bytes]:
        """Lines after the first; those within quotes are one."""
        lines = data[len(self.head) :].split(b"\n")
        quotes = np.cumsum(pc.count_substring(pa.array(lines, pa.binary()), '"').to_numpy())
        ends = np.flatnonzero(quotes % 2 == 0)
        if len(ends) in (0, len(lines)):
            return lines
        starts = np.concatenate(([0], ends[:-1] + 1))
        return [b"\n".join(lines[a : b + 1]) for a, b in zip(starts, ends, strict=True)]

    def parse(self, data: bytes, form: Form) -> pa.Table:
        file = text_files.csv(pa.BufferReader(data), form.schema, form.delimiter)
        rows = pa.Table.from_batches(file.batches(), file.schema)
        known = form.schema.names if form.schema is not None else ()
        for at, name in enumerate(rows.column_names):
            if name not in known and rows.column(at).null_count == rows.num_rows:
                rows = rows.set_column(at, name, pa.nulls(rows.num_rows))
        return rows


def _lines(data: bytes, how: _Json | _Csv, form: Form, place: str, bad: Bad) -> pa.Table | None:
    """The rows of all lines that can be parsed. A file with bad ones is parsed in halves, and these
    again, until the bad lines are alone: it costs more with their number, and nothing without."""
    try:
        return how.parse(data, form)
    except _BAD as error:
        first = error
    records, known = how.records(data), len(bad.rows)
    before = 2 if how.head else 1
    found: list[pa.Table] = []
    parts = [(0, len(records))]
    while parts and not bad.enough:
        low, high = parts.pop()
        some = b"\n".join(records[low:high])
        if not some.strip():
            continue
        try:
            found.append(how.parse(how.head + some, form))
        except _BAD as error:
            if high - low == 1:
                bad.add(f"{place}:{low + before}", some.decode("utf-8", "replace"), error)
            else:
                middle = (low + high) // 2
                parts += [(middle, high), (low, middle)]
            continue
        if not form.exact:  # the types of the others, too
            types = [*(form.schema or ()), *found[-1].schema]
            known_types = {f.name: f for f in reversed(types) if not pa.types.is_null(f.type)}
            form = evolve(form, schema=pa.schema(known_types.values()))
    # Each half alone is right: the types of the first block do not fit the others.
    if len(bad.rows) == known:
        bad.add(place, None, first)
        return None
    return pa.concat_tables(found, promote_options="permissive") if found else None


def _longest(data: bytes) -> int:
    """The length of the longest line, or less if none is longer than a block."""
    if len(data) <= _BLOCK:
        return 0
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))
    edges = np.concatenate(([-1], ends, [len(data)]))
    return int(np.diff(edges).max())


def _instead(
    schema: pa.Schema | None,
    other: Callable[[pa.DataType], pa.DataType],
    but: Callable[[pa.DataType], bool] = lambda kind: False,
) -> tuple[pa.Schema | None, Mapping[str, pa.DataType]]:
    """The schema with other types in place of moments, ``but`` some, and what these are."""
    if schema is None:
        return None, {}
    moments = {f.name: f.type for f in schema if pa.types.is_temporal(f.type) and not but(f.type)}
    fields = [f.with_type(other(f.type)) if f.name in moments else f for f in schema]
    return pa.schema(fields), moments


def _number(kind: pa.DataType) -> pa.DataType:
    return pa.int32() if kind.bit_width == 32 else pa.int64()


def _cast(rows: pa.Table, types: Mapping[str, pa.DataType]) -> pa.Table:
    for name, kind in types.items():
        at = rows.schema.get_field_index(name)
        column = rows.column(at)
        if pa.types.is_time(kind) and pa.types.is_string(column.type):  # no cast of Arrow
            moments = pc.binary_join_element_wise("1970-01-01", column, "T")
            column = moments.cast(pa.timestamp(kind.unit))
        rows = rows.set_column(at, name, column.cast(kind))
    return rows
