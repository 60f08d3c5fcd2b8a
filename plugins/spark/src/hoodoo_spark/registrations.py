"""What hoodoo-spark offers. Imports nothing heavy: discovery reads it in every process."""

from __future__ import annotations

from typing import Any

from hoodoo import hookimpl
from hoodoo.hookspecs import Registration

from hoodoo_spark.options import COMMIT_BYTES, DRIVER_BYTES, SMALL_BYTES, SMALL_READS, STREAMING


@hookimpl
def hoodoo_engines() -> list[Registration]:
    return [
        Registration(
            "spark",
            "hoodoo_spark.near:from_settings",
            aliases=("pyspark", "source:pyspark"),
            options=(*STREAMING, COMMIT_BYTES, SMALL_BYTES, SMALL_READS, DRIVER_BYTES),
            summary="Python workers of a Spark cluster, fed with Arrow; needs no jar.",
        )
    ]


@hookimpl
def hoodoo_functions() -> list[Registration]:
    return [
        Registration(
            "spark_view",
            "hoodoo_spark.views:spark_view",
            summary="A table as a view for Spark's SQL, which shows the newest commits.",
        )
    ]


@hookimpl
def hoodoo_arrow_schema(schema: Any) -> Any:
    if not type(schema).__module__.startswith("pyspark."):
        return None
    from hoodoo_spark.engine import is_dataframe
    from hoodoo_spark.types import arrow_schema

    return None if is_dataframe(schema) else arrow_schema(schema)


@hookimpl
def hoodoo_dataframe(kind: str, scan: Any, session: Any) -> Any:
    if kind != "pyspark":
        return None
    from hoodoo_spark.dataframe import to_dataframe

    return to_dataframe(scan, session)


@hookimpl(optionalhook=True)
def hoodoo_checks() -> list[Registration]:
    return [
        Registration(
            "spark",
            "hoodoo_spark.check:SparkCheck.from_settings",
            summary="PySpark, pandas, Java, the Python of workers",
        )
    ]
