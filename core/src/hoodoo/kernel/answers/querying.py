"""What query types answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from hoodoo.hookspecs.query_type import QueryPlan, UnitReader
from hoodoo.kernel.answers import shapes
from hoodoo.kernel.answers.seam import Ask, Kind, iterated, wrapped
from hoodoo.kernel.answers.wrong import Wrong, says


def _plan(answer: Any, ask: Ask, *args: Any, **arguments: Any) -> Any:
    if not isinstance(answer, QueryPlan):
        raise Wrong(says(answer), "a QueryPlan")
    return wrapped(QUERY_PLAN, answer, ask.who)


def _schema(answer: Any, ask: Ask) -> pa.Schema:
    if not isinstance(answer, pa.Schema):
        raise Wrong(says(answer), "a pyarrow.Schema")
    return answer


def _reader(answer: Any, ask: Ask, *args: Any) -> Any:
    if not isinstance(answer, UnitReader):
        raise Wrong(says(answer), "a UnitReader")
    return wrapped(UNIT_READER, answer, ask.who, ask.inner.schema)


def _rows(answer: Any, ask: Ask, *args: Any) -> Iterator[pa.RecordBatch]:
    if not isinstance(answer, Iterator):
        raise Wrong(says(answer), "an iterator of record batches")
    return iterated(answer, ask, _batch)


def _batch(batch: Any, ask: Ask) -> pa.RecordBatch:
    if not isinstance(batch, pa.RecordBatch):
        raise Wrong(says(batch), "a pyarrow.RecordBatch")
    shapes.schema(batch.schema, ask.terms, "the schema of the plan")
    return batch


QUERY_TYPE = Kind("query_type", methods={"plan": _plan})
QUERY_PLAN = Kind(
    "query_plan",
    properties={
        "schema": _schema,
        "units": lambda answer, ask: shapes.items(answer, object, "a tuple of units"),
    },
    methods={"brief": lambda answer, ask: shapes.text(answer), "reader": _reader},
)
UNIT_READER = Kind("unit_reader", methods={"rows": _rows}, travels=True)
