"""DataFrames out of Arrow tasks, where Spark's own Parquet reader would give other rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from attrs import frozen
from hoodoo.hookspecs.engine import Step
from hoodoo_rows.model.conform import conform

from hoodoo_spark.runner import Link, Reader, as_function, linked
from hoodoo_spark.stream import of_payloads
from hoodoo_spark.types import has_other_form, spark_schema, task_schema


@frozen
class _Scan:
    read: Reader
    step: Step
    schema: pa.Schema | None = None  # Spark's own, where it is another than that of the step

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number, rows in self.read(batches):
            for batch in linked((Link(self.step),), rows, number):
                yield batch if self.schema is None else conform(batch, self.schema)


def arrow_scan(spark: Any, payloads: Sequence[bytes], step: Step, schema: Any = None) -> Any:
    """A DataFrame of what ``step`` makes of each payload, one task each, with real columns.

    ``schema`` (StructType, or None for that of ``step.out_schema``) names the same columns in the
    same order. An error in the step fails the task, and so the query, with the text of the error:
    a DataFrame of the user's columns has no place for error rows.
    """
    struct = spark_schema(step.out_schema) if schema is None else schema
    if isinstance(struct, pa.Schema):
        struct = spark_schema(struct)
    found = of_payloads(spark, payloads, lasting=True)
    # Spark takes times in one unit only.
    other = task_schema(struct) if any(has_other_form(f.type) for f in step.out_schema) else None
    return found.df.mapInArrow(as_function(_Scan(found.read, step, other)), struct)
