"""What hoodoo-frames offers. Imports nothing heavy: discovery reads it in every process."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hoodoo import hookimpl
from hoodoo.hookspecs import Registration


@hookimpl
def hoodoo_functions() -> Iterable[Registration]:
    return [
        Registration(
            "aio",
            "hoodoo_frames.aio:aio",
            summary="A table whose methods are awaited; threads do the work.",
        ),
        Registration(
            "scan_polars",
            "hoodoo_frames.lazy:scan_polars",
            summary="A table as a polars LazyFrame: columns, filters and limits reach the files.",
        ),
        Registration(
            "convert",
            "hoodoo_frames.convert.call:convert",
            summary="Parquet files, a Delta Lake or an Iceberg table, copied into a new table.",
        ),
        Registration(
            "Scan.to_dataset",
            "hoodoo_frames.dataset:to_dataset",
            summary="A read as a pyarrow Dataset: DuckDB and others push columns and filters into "
            "it.",
        ),
        Registration(
            "Scan.to_duckdb",
            "hoodoo_frames.duck:to_duckdb",
            summary="A relation of DuckDB, which reads plain Parquet files by itself.",
        ),
        Registration(
            "Scan.limit", "hoodoo_frames.limited:limit", summary="A read of the first rows."
        ),
        Registration(
            "Scan.to_pandas",
            "hoodoo_frames.eager:to_pandas",
            summary="A pandas DataFrame.",
            verbs={"to_pandas": "hoodoo_frames.verbs:to_pandas"},
        ),
        Registration(
            "Scan.to_polars",
            "hoodoo_frames.eager:to_polars",
            summary="A polars DataFrame.",
            verbs={"to_polars": "hoodoo_frames.verbs:to_polars"},
        ),
    ]


@hookimpl
def hoodoo_commands() -> Iterable[Registration]:
    return [
        Registration(
            "convert",
            "hoodoo_frames.commands.convert:convert",
            summary="Copy a directory of Parquet files, a Delta Lake table or an Iceberg table "
            "into a new table.",
        )
    ]


@hookimpl
def hoodoo_arrow_data(data: Any, schema: Any, keys: Any) -> Any:
    from hoodoo_frames.arriving import arrow_data

    return arrow_data(data, schema, keys)


@hookimpl
def hoodoo_arrow_schema(schema: Any) -> Any:
    if not type(schema).__module__.startswith("polars."):
        return None
    from hoodoo_frames.arriving import arrow_schema

    return arrow_schema(schema)
