"""Whether the integers of a table survive as floating numbers: looked at before their columns
become those."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import or_

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from hoodoo.errors import SchemaError
from hoodoo.hookspecs.engine import Engine, Task
from hoodoo.hookspecs.read_source import ReadSource
from hoodoo.options.table import WIDEN_INTEGERS

from hoodoo_rows.model.whole_numbers import LOSSLESS_BITS
from hoodoo_rows.read.scan import Scan
from hoodoo_rows.read.step import payloads
from hoodoo_rows.write.evolve import holds_outgrown

_FOUND = pa.schema([("column", pa.string()), ("value", pa.int64()), ("rows", pa.int64())])


def refuse_inexact(source: ReadSource, engine: Engine, grown: pa.Schema) -> None:
    """SchemaError where a row that ``source`` shows has an integer that its type in ``grown`` does
    not hold exactly.

    ``grown`` are columns as they are to become. The engine's tasks read these columns alone, and of
    files that say so in their statistics only the row groups that have large numbers."""
    stored = Scan.of(source, columns=grown.names)
    where = None
    if all(pa.types.is_integer(field.type) for field in stored.schema):
        where = reduce(or_, (_large(field) for field in grown))
    scan = Scan.of(source, columns=grown.names, where=where)
    if not scan.plan.slices:
        return
    rows = engine.tasks(payloads(scan.plan.slices, engine.parallelism))
    found = engine.collect(engine.map(engine.map(rows, scan.step), FindInexact(grown)))
    if found.num_rows:
        name, value = found.column("column")[0].as_py(), found.column("value")[0].as_py()
        was = scan.schema.field(name).type
        raise SchemaError(
            f"column {name}",
            f"it would become {grown.field(name).type} instead of {was}, which does not hold its "
            "stored "
            f"value {value} exactly.",
            f"Leave {WIDEN_INTEGERS.key} out, and give whole numbers.",
        )


@frozen
class FindInexact:
    """Step: rows with columns of ``grown``, in their types of now -> of each column that would lose
    a digit one such value, and how many of them the batch has."""

    grown: pa.Schema

    @property
    def out_schema(self) -> pa.Schema:
        """The column and the value that was found."""
        return _FOUND

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for field in self.grown:
                lossy = list(_lossy(batch.column(field.name), field.type))
                if lossy:
                    count = sum(map(len, lossy))
                    row = {"column": field.name, "value": lossy[0][0].as_py(), "rows": count}
                    yield pa.RecordBatch.from_pylist([row], schema=_FOUND)


def _large(field: pa.Field) -> pc.Expression:
    most = pa.scalar(2 ** LOSSLESS_BITS[field.type.bit_width], pa.int64())
    column = pc.field(field.name).cast(pa.int64())
    return (column > most) | (column < pc.scalar(-most.as_py()))


def _lossy(array: pa.Array, kind: pa.DataType) -> Iterator[pa.Array]:
    """The values at any depth of ``array`` that ``kind`` does not hold; only arrays that have
    some."""
    t = pa.types
    if not holds_outgrown(array.type, kind):
        return
    if t.is_struct(kind):
        after = {field.name: field.type for field in kind}
        for field, child in zip(array.type, array.flatten(), strict=True):
            if field.name in after:
                yield from _lossy(child, after[field.name])
    elif t.is_list(kind):
        yield from _lossy(array.flatten(), kind.value_type)
    elif t.is_map(kind):
        yield from _lossy(array.items, kind.item_type)
    elif len(found := _inexact(array, kind)):
        yield found


def _inexact(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Those of the integers ``array`` that the floating type ``kind`` does not hold exactly."""
    whole = np.asarray(pc.fill_null(array.cast(pa.int64()), 0))
    near = whole.astype(kind.to_pandas_dtype()).astype(np.float64)
    fits = np.abs(near) < 2.0**63  # else it could not be an int64 again
    same = np.where(fits, near, 0).astype(np.int64) == whole
    # The least int64 is a power of two, and exact.
    return array.filter(pa.array(~((fits & same) | (whole == np.iinfo(np.int64).min))))
