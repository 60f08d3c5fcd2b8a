"""Ranges of columns: collected while a file is written, stored as text, and read back.

Stored are the ends as a table of two rows, one column for each column of the file (fields of
structs: ``outer.inner``), in the types that they have, and the counts of nulls beside it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping

import pyarrow as pa
import pyarrow.compute as pc
from hoodoo.hookspecs.file_format import ColumnBounds

ENDS, NULLS = "hoodoo_arrow_format.ends", "hoodoo_arrow_format.nulls"
_LONGEST = 1024  # bytes of an end; a longer one would cost each reader more than it spares


class Ranges:
    """Of the rows of a file, as far as they have come."""

    def __init__(self) -> None:
        self._ends: dict[str, list[pa.Array]] = {}
        self._nulls: dict[str, int] = {}

    def add(self, rows: pa.RecordBatch) -> None:
        for name, values in leaves(rows):
            self._nulls[name] = self._nulls.get(name, 0) + values.null_count
            ends = _ends(values)
            if ends is not None:
                self._ends.setdefault(name, []).append(ends)

    def texts(self) -> dict[str, str]:
        """What is stored. A column of which an end is long has none."""
        kept = {}
        for name, found in self._ends.items():
            ends = _ends(pa.concat_arrays(found))
            if ends is not None and ends.nbytes <= 2 * _LONGEST:
                kept[name] = ends
        table = pa.table(list(kept.values()), names=list(kept))
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        return {
            ENDS: base64.b64encode(sink.getvalue()).decode("ascii"),
            NULLS: json.dumps(self._nulls),
        }


def read_ranges(texts: Mapping[str, str]) -> dict[str, ColumnBounds]:
    """The ranges in stored ``texts``; none of a file that another program has made."""
    if ENDS not in texts or NULLS not in texts:
        return {}
    with pa.ipc.open_stream(base64.b64decode(texts[ENDS])) as reader:
        table = reader.read_all()
    found = {}
    for name, nulls in json.loads(texts[NULLS]).items():
        at = table.schema.get_field_index(name)
        least, greatest = (None, None) if at < 0 else (table.column(at)[0], table.column(at)[1])
        found[name] = ColumnBounds(least, greatest, nulls)
    return found


def leaves(rows: pa.RecordBatch) -> Iterator[tuple[str, pa.Array]]:
    """Its columns, and the fields of structs, by their paths; no lists and no maps."""
    for field, column in zip(rows.schema, rows.columns, strict=True):
        yield from _leaves(field.name, column)


def _leaves(path: str, values: pa.Array) -> Iterator[tuple[str, pa.Array]]:
    if pa.types.is_struct(values.type):
        for field in values.type:
            yield from _leaves(f"{path}.{field.name}", pc.struct_field(values, field.name))
    elif not pa.types.is_nested(values.type):
        yield path, values


def _ends(values: pa.Array) -> pa.Array | None:
    """The least and the greatest value; None where there is none, or no order. NaN is no value."""
    if pa.types.is_floating(values.type):
        values = values.filter(pc.invert(pc.is_nan(values)), null_selection_behavior="drop")
    if values.null_count == len(values):
        return None
    try:
        found = pc.min_max(values)
    except pa.ArrowNotImplementedError:
        return None
    return pa.concat_arrays([pa.repeat(found[end], 1) for end in ("min", "max")])
