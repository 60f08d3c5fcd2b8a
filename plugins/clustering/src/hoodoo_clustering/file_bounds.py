"""The least and greatest values of columns of a file under construction, and their way to the
driver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from attrs import define, field

from hoodoo_clustering.hookspecs.clustering import Bounds
from hoodoo_clustering.leaves import leaf


@define
class FileBounds:
    """Of ``columns``. NaN counts only where nothing else is there; nested columns have no
    bounds."""

    columns: tuple[str, ...]
    _found: dict[str, list[pa.Scalar]] = field(factory=dict)

    def add(self, rows: pa.Table) -> None:
        for name in self.columns:
            ends = self._found.setdefault(name, [])
            for chunk in leaf(rows, name).chunks:
                ends += _ends(chunk)

    def pack(self) -> bytes:
        """Arrow IPC, so that values keep their types."""
        columns = {
            name: _ends(pa.array(ends, ends[0].type)) for name, ends in self._found.items() if ends
        }
        table = pa.table({name: pa.array(ends, ends[0].type) for name, ends in columns.items()})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        return sink.getvalue().to_pybytes()


def unpack(data: bytes, columns: Sequence[str]) -> Mapping[str, Bounds]:
    """The inverse of :meth:`FileBounds.pack`."""
    table = pa.ipc.open_stream(data).read_all()
    found: dict[str, Bounds] = dict.fromkeys(columns)
    for name in table.schema.names:
        low, high = table.column(name).to_pylist()
        found[name] = (low, high)
    return found


def _ends(values: pa.Array) -> list[pa.Scalar]:
    """[least, greatest]; nothing for nulls alone, and for what has no order."""
    if pa.types.is_dictionary(values.type):
        values = values.dictionary.take(pc.unique(values.indices))
    if pa.types.is_nested(values.type) or values.null_count == len(values):
        return []
    if pa.types.is_floating(values.type):
        numbers = values.filter(pc.invert(pc.is_nan(values)))
        if not len(numbers):
            one = values.drop_null()[0]
            return [one, one]
        values = numbers
    found = pc.min_max(values)
    return [found["min"], found["max"]]
