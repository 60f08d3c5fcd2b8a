"""Steps keep their word: what they return has the schema that they declare."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from hoodoo.errors import PluginError
from hoodoo.hookspecs.engine import Step
from hoodoo.model.schema.conform import conform


def returned(batches: Iterator[pa.RecordBatch], step: Step) -> Iterator[pa.RecordBatch]:
    """What ``step`` returns, in exactly the schema that it declares.

    Columns are put in order by name and cast. Raises PluginError where a column lacks or is one too
    many, SchemaError where a value does not fit.
    """
    schema = step.out_schema
    names = set(schema.names)
    for batch in batches:
        if batch.schema.equals(schema, check_metadata=True):
            yield batch
            continue
        wrong = names.symmetric_difference(batch.schema.names)
        if wrong:
            name = min(wrong)
            raise PluginError(
                f"step {type(step).__qualname__}",
                f"{'does not return' if name in names else 'returns an undeclared'} column "
                f"{name!r}; it declares {schema.names} and returned {batch.schema.names}.",
                "Return exactly the columns of out_schema.",
            )
        yield conform(batch, schema)
