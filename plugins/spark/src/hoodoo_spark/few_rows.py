"""Few rows: those of a query that names values of a column, read in this process.

Spark needs some 0.1 s for any query that reads a file. Where a filter names values (``=``, ``in``)
and few row groups can have them, the rows are read here instead, and Spark gets them with the
query, as it gets the rows of ``VALUES``."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hoodoo.log import get_logger
from hoodoo_rows.api import Reads, Scan, StoredFiles

from hoodoo_spark.session import is_connect
from hoodoo_spark.types import spark_schema

_log = get_logger(__name__)
# A read ends as it has more, and Spark reads the files then: what was read for nothing is little.
MOST_ROWS, MOST_BYTES = 10_000, 8 << 20
# Of more files, or of more rows in row groups that can match, tasks of Spark are the faster ones.
MOST_FILES, MOST_STORED = 16, 500_000


def few_rows(scan: Scan, spark: Any) -> Any | None:
    """The rows of ``scan``, the filter of which is the query's own, as a DataFrame; None where they
    are not certain to be few, and where Spark lacks a way from Arrow data."""
    import pyspark

    plan, spec = scan.plan, scan.plan.spec
    if (
        spec.where is None
        or not spec.again  # a user's own read is lazy
        or not spec.columns
        or is_connect(spark)
        or int(pyspark.__version__.partition(".")[0]) < 4
        or len(plan.slices) > MOST_FILES
        or not all(_is_plain(field.type) for field in scan.schema)
        or not any(
            StoredFiles.named_values(spec.where, plan.stored, name) is not None
            for name in set(spec.where_columns) - {*scan.source.config.partition_fields}
        )
        or Reads.row_counts(scan)[1] > MOST_STORED
    ):
        return None
    found: list[pa.RecordBatch] = []
    rows = size = 0
    batches: Any = scan.to_batches()  # a generator: closing it closes the files
    try:
        for batch in batches:
            found.append(batch)
            rows, size = rows + batch.num_rows, size + batch.nbytes
            if rows > MOST_ROWS or size > MOST_BYTES:
                return None
    finally:
        batches.close()
    _log.debug("spark.few_rows", table=plan.table, rows=rows, files=len(plan.slices))
    schema = spark_schema(scan.schema)
    if not rows:
        return spark.createDataFrame([], schema)
    return spark.createDataFrame(pa.Table.from_batches(found, found[0].schema), schema)


def _is_plain(kind: pa.DataType) -> bool:
    """Whether values of the type mean the same to Spark, whatever its settings are."""
    return (
        pa.types.is_boolean(kind)
        or pa.types.is_signed_integer(kind)
        or kind in (pa.float32(), pa.float64(), pa.string(), pa.binary(), pa.date32())
        or pa.types.is_decimal128(kind)
        or (pa.types.is_timestamp(kind) and kind.unit == "us" and kind.tz in (None, "UTC"))
    )
