"""Steps keep their word: what they return has the schema that they declare."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
from hoodoo.errors import PluginError
from hoodoo.hookspecs.engine import Step

from hoodoo_rows.model.conform import conform

if TYPE_CHECKING:
    _Batches = map[pa.RecordBatch]
else:
    _Batches = map


class returned(_Batches):
    """What ``step`` returns, ``batches``, in exactly the schema that it declares. ``source`` are
    the batches as they came.

    Columns are put in order by name and cast. Raises PluginError where a column lacks or is one too
    many, SchemaError where a value does not fit. (No generator: what looks at each batch when it
    has come is not on the stack while it is made.)"""

    source: Iterator[pa.RecordBatch]

    def __new__(cls, batches: Iterator[pa.RecordBatch], step: Step) -> returned:
        schema = step.out_schema
        found = super().__new__(cls, partial(_declared, step, schema), batches)
        found.source = batches
        return found


def _declared(step: Step, schema: pa.Schema, batch: pa.RecordBatch) -> pa.RecordBatch:
    if batch.schema.equals(schema, check_metadata=True):
        return batch
    names = set(schema.names)
    wrong = names.symmetric_difference(batch.schema.names)
    if wrong:
        name = min(wrong)
        raise PluginError(
            f"step {type(step).__qualname__}",
            f"{'does not return' if name in names else 'returns an undeclared'} column "
            f"{name!r}; it declares {schema.names} and returned {batch.schema.names}.",
            "Return exactly the columns of out_schema.",
        )
    return conform(batch, schema)
