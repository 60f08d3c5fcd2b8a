"""Named: the values of a column that a filter names by `=`, `in`, `and` and `or`, however many.

Arrow proves of a list of more than 50 values nothing, so the filter is read in the form in which
Arrow writes it down: calls within each other, and their values aside. What is not known of that
form may be anything."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen

# A line of the form, as Arrow prints it.
_LINE = re.compile(r"(\w+): '(.*)'")
_START = "-- schema metadata --\n"


def named_values(where: pc.Expression, schema: pa.Schema, column: str) -> pa.Array | None:
    """The values of ``column`` beside which alone ``where`` can be true, each once and in order;
    None where it may be true beside others, or of null."""
    kind = schema.field(column).type
    if any("\n" in name for name in schema.names):
        return None  # it would be taken for more than one line
    try:
        _make, (buffer,) = where.__reduce__()
        reader = pa.ipc.open_file(buffer)
        text = reader.schema.to_string(truncate_metadata=False).partition(_START)[2]
        lines = [_LINE.fullmatch(line) for line in text.splitlines()]
        if not lines or None in lines:
            return None
        marks = iter([(line[1], line[2]) for line in lines if line is not None])
        first, call = next(marks)
        if first != "call":
            return None
        return _Form(column, kind, reader.get_batch(0)).values(call, marks)
    except (pa.ArrowException, AttributeError, LookupError, StopIteration, TypeError, ValueError):
        return None  # another release of Arrow may have another form


@frozen
class _Form:
    column: str
    kind: pa.DataType
    batch: pa.RecordBatch

    def values(self, call: str, marks: Iterator[tuple[str, str]]) -> pa.Array | None:
        """What ``call`` lets the column be; ``marks`` are of all up to its end."""
        fields: list[str] = []
        within: list[pa.Array | None] = []
        given: list[pa.Array] = []
        for mark, text in marks:
            if mark == "end":
                break
            if mark == "call":
                within.append(self.values(text, marks))
            elif mark == "nested_field_ref":  # of a field within a column
                within.append(None)
                for _ in range(int(text)):
                    next(marks)
            elif mark == "field_ref":
                fields.append(text)
            elif mark == "literal":
                given.append(self.batch.column(int(text)))
            elif mark == "options" and call == "is_in":
                given.append(self.batch.column(int(text)).field("value_set").flatten())
        if call in ("and", "and_kleene", "or", "or_kleene"):
            if fields or given or len(within) != 2:
                return None
            return _either(*within) if call.startswith("or") else _both(*within)
        if call in ("equal", "is_in") and fields == [self.column] and len(given) == 1:
            return None if within else self._typed(given[0])
        return None

    def _typed(self, values: pa.Array) -> pa.Array | None:
        kinds = [pa.types.is_string, pa.types.is_large_string]
        if pa.types.is_integer(self.kind):
            kinds = [pa.types.is_integer]
        elif not pa.types.is_string(self.kind):
            kinds = [self.kind.equals]
        if values.null_count or not any(known(values.type) for known in kinds):
            return None
        return _sorted(values.cast(self.kind))


def _sorted(values: pa.Array) -> pa.Array:
    return pc.unique(values).sort()


def _either(one: Any, other: Any) -> Any:
    return None if one is None or other is None else _sorted(pa.concat_arrays([one, other]))


def _both(one: Any, other: Any) -> Any:
    if one is None or other is None:
        return other if one is None else one
    return one.filter(pc.is_in(one, other))
