"""DataFrames out: Spark's own Parquet reader where it can, Arrow tasks where it can't."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from attrs import frozen
from hoodoo.hookspecs.engine import Step
from hoodoo.model.schema.conform import conform

from hoodoo_spark.runner import Link, Reader, as_function, linked
from hoodoo_spark.session import functions
from hoodoo_spark.stream import of_payloads
from hoodoo_spark.types import has_time, spark_schema, task_schema

# Spark's column of what it knows of a row's file, where the rows have no column of this name.
FILE_OF_ROW = "_metadata"


def read_parquet_paths(
    spark: Any, root: str, schema: Any, partition_dirs: Sequence[str], file_names: Sequence[str]
) -> Any:
    """A DataFrame of the Parquet files called ``file_names`` below ``root``/``partition_dirs``.

    ``schema`` (StructType or pyarrow.Schema) is what the files have; nothing is inferred. The
    directories are listed by Spark and filtered by name, because a list of many paths is planned
    path by path: 10,000 of them take 20 s, this way 2 to 3 s. Names are unique below ``root``.
    """
    F = functions(spark)
    struct = spark_schema(schema) if isinstance(schema, pa.Schema) else schema
    if not file_names or not partition_dirs:
        return spark.createDataFrame([], struct)
    frame = (
        spark.read.schema(struct)
        .option("recursiveFileLookup", "true")
        .option("mergeSchema", "false")
        # Files of Hudi's writers say so where they hold dates of the old calendar; others are new.
        .option("datetimeRebaseMode", "CORRECTED")
        .option("int96RebaseMode", "CORRECTED")
        # The files are those that the timeline names: without one of them the answer is wrong.
        .option("ignoreMissingFiles", "false")
        .option("ignoreCorruptFiles", "false")
        .parquet(*[_literal(_below(root, path)) for path in _outermost(partition_dirs)])
    )
    return frame.where(_named(F.col(f"{FILE_OF_ROW}.file_name"), file_names))


def has_file_names(spark: Any) -> bool:
    """Whether Spark's Parquet reader tells the name of a row's file in this session: the first
    version of its sources, which is the default, does."""
    sources = spark.conf.get("spark.sql.sources.useV1SourceList", "parquet")
    return "parquet" in (name.strip().lower() for name in sources.split(","))


def _named(column: Any, names: Sequence[str]) -> Any:
    return column.isin(list(names))


def _below(root: str, path: str) -> str:
    return f"{root.rstrip('/')}/{path.strip('/')}" if path.strip("/") else root


def _outermost(paths: Sequence[str]) -> list[str]:
    """Without directories that lie below another one: those would be listed, and read, twice."""
    found: list[str] = []
    for path in sorted({path.strip("/") for path in paths}, key=lambda p: p.split("/")):
        if not found or not (found[-1] == "" or path.startswith(found[-1] + "/")):
            found.append(path)
    return found


def _literal(path: str) -> str:
    """``path`` with the characters escaped that Spark would take for a pattern."""
    return "".join("\\" + c if c in "\\*?[]{}" else c for c in path)


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
    # Spark takes times of day in one unit only.
    other = task_schema(struct) if any(has_time(f.type) for f in step.out_schema) else None
    return found.df.mapInArrow(as_function(_Scan(found.read, step, other)), struct)
