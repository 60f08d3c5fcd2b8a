"""Virtual keys of files that Spark reads itself: a row whose key can't be made fails the query, as
RFC-21 asks."""

from __future__ import annotations

from functools import reduce
from operator import and_, or_
from typing import Any

import pyarrow as pa
from hoodoo.errors import NullKeyError
from hoodoo.hookspecs.key_generator import KeyGenerator

from hoodoo_spark.session import functions as functions_of


def refused_nulls(keys: Any, generator: KeyGenerator, schema: pa.Schema, shape: Any) -> Any:
    """A DataFrame of the columns ``shape`` without any row, that fails where a row of ``keys``, a
    DataFrame of the files' key columns (``schema``), has no key.

    Spark's reader leaves out the row groups whose statistics rule nulls out, so that these columns
    are not read."""
    F = functions_of(keys.sparkSession)
    fields = generator.record_key_fields
    names = [f"`{name}`" if name in schema.names else name for name in fields]
    null = reduce(
        or_ if refuses_one(generator, schema) else and_, (F.col(n).isNull() for n in names)
    )
    message = F.lit(
        f"record key, columns {', '.join(fields)}: is null in a row of the table. Fix: Restore the "
        "key columns to their state before the change: keys are computed from them."
    )
    # The condition stands alone, too, for the reader to see it.
    failing = keys.where(null).where(
        F.when(null, F.raise_error(message).cast("boolean")).otherwise(F.lit(False))
    )
    return failing.select(*[F.lit(None).cast(f.dataType).alias(f.name) for f in shape])


def refuses_one(generator: KeyGenerator, schema: pa.Schema) -> bool:
    """Whether null in one column of several is no key for ``generator``, of a table whose key
    columns are ``schema``."""
    if len(schema) < 2:
        return True
    try:
        first, *others = schema
        row = [pa.nulls(1, first.type), *(_filled(field.type) for field in others)]
        generator.record_keys(pa.RecordBatch.from_arrays(row, schema=schema))
    except NullKeyError:
        return True
    except pa.ArrowException:  # a type that takes no number
        return False
    return False


def _filled(kind: pa.DataType) -> pa.Array:
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        return pa.array([1], pa.int32()).cast(kind)
    return pa.array([1], pa.int64()).cast(kind)
