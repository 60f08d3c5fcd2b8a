"""What readers of query types answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from hoodoo.kernel.answers import shapes
from hoodoo.kernel.answers.declared import part, rule
from hoodoo.kernel.answers.seam import Ask, iterated
from hoodoo.kernel.answers.wrong import Wrong, says


@rule("QueryPlan.reader")
def _reader(answer: Any, ask: Ask, *args: Any) -> Any:
    return part(answer, ask, "unit_reader", ask.inner.schema)


@rule("UnitReader.rows")
def _rows(answer: Any, ask: Ask, *args: Any) -> Iterator[pa.RecordBatch]:
    if not isinstance(answer, Iterator):
        raise Wrong(says(answer), "an iterator of record batches")
    return iterated(answer, ask, _batch)


def _batch(batch: Any, ask: Ask) -> pa.RecordBatch:
    if not isinstance(batch, pa.RecordBatch):
        raise Wrong(says(batch), "a pyarrow.RecordBatch")
    shapes.schema(batch.schema, ask.terms, "the schema of the plan")
    return batch
