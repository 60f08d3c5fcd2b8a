"""A Column of Spark as text: what it means is then computed as any other text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from hoodoo.errors import ConfigError, SchemaError

from hoodoo_statements.text.scope import SOURCE, TARGET


def is_column(value: Any) -> bool:
    """Whether ``value`` is a Column of PySpark, of whichever version."""
    kind = type(value)
    return kind.__name__ == "Column" and kind.__module__.split(".")[0] == "pyspark"


def text_of(column: Any, what: str, target: pa.Schema | None, source: pa.Schema | None) -> str:
    """SQL that means what ``column`` does over the columns of the table and of the source, as Spark
    resolves it; no job runs. ConfigError for columns of Spark Connect, and such as call Python;
    SchemaError for columns that are not there."""
    if getattr(column, "_jc", None) is None:
        raise ConfigError(
            f"{what} {column}", "is a column of Spark Connect, which has no text.", _INSTEAD
        )
    from pyspark.errors import AnalysisException
    from pyspark.sql import SparkSession
    from pyspark.sql.pandas.types import from_arrow_schema

    spark = SparkSession.getActiveSession()
    if spark is None:
        raise ConfigError(
            f"{what} {column}", "is a Column, and there is no session of Spark.", _INSTEAD
        )
    frame = None
    for side, schema in ((TARGET, target), (SOURCE, source)):
        if schema is not None:
            empty = spark.createDataFrame([], from_arrow_schema(schema)).alias(side)
            frame = empty if frame is None else frame.crossJoin(empty)
    assert frame is not None
    try:
        resolved = frame.select(column)._jdf.queryExecution().analyzed().projectList().apply(0)
    except AnalysisException as error:
        said = str(error).splitlines()[0]
        raise SchemaError(f"{what} {column}", f"can't be resolved: {said}", "Change it.") from None
    expression = resolved.child() if _name(resolved) == "Alias" else resolved
    if any(_name(node) in ("PythonUDF", "ScalaUDF") for node in _nodes(expression)):
        raise ConfigError(f"{what} {column}", "calls a function of Python.", _UDF)
    text = str(expression.sql())
    zone = spark.conf.get("spark.sql.session.timeZone")
    if zone in ("UTC", "Etc/UTC", "GMT", "Z"):
        return text
    part = _by_the_clock(spark, expression)
    if part is not None:
        raise ConfigError(
            f"{what} {column}",
            f"depends on the session's time zone, {zone}, in {part}; statements are in UTC.",
            "Give it as text, whose times are in UTC, such as \"at > timestamp '2024-01-01 "
            "00:00:00'\", or set "
            "spark.sql.session.timeZone to UTC.",
        )
    if "TIMESTAMP '" in text:
        raise ConfigError(
            f"{what} {column}",
            f"has a moment, which Spark writes in the session's time zone {zone}.",
            "Give it as text in UTC, such as \"at > timestamp '2024-01-01 00:00:00'\".",
        )
    return text


def _by_the_clock(spark: Any, expression: Any) -> str | None:
    """SQL of a part that the session's time zone decides on, such as ``to_date(at)``: statements
    are in UTC."""
    zoned = spark._jvm.java.lang.Class.forName(
        "org.apache.spark.sql.catalyst.expressions.TimeZoneAwareExpression"
    )
    for node in _nodes(expression):
        if _name(node) == "Cast":
            if node.needsTimeZone():  # between texts, dates and moments
                return str(node.sql())
        elif zoned.isInstance(node):
            return str(node.sql())
    return None


def _nodes(expression: Any) -> Iterator[Any]:
    yield expression
    children = expression.children()
    for n in range(children.size()):
        yield from _nodes(children.apply(n))


def _name(node: Any) -> str:
    return str(node.getClass().getSimpleName())


_INSTEAD = 'Give it as text, such as "fare > 10".'
_UDF = "Compute it in a DataFrame, and merge that: table.merge(df, on=...)."
