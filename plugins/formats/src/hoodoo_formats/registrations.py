"""What hoodoo-formats offers. Factories are named, not imported, so that discovery stays cheap."""

from __future__ import annotations

from collections.abc import Iterable

from hoodoo import hookimpl
from hoodoo.hookspecs import Registration

from hoodoo_formats.options import CODEC, PARQUET_OPTIONS, RECORD_POSITIONS


@hookimpl
def hoodoo_file_formats() -> Iterable[Registration]:
    return [
        Registration(
            "PARQUET",
            "hoodoo_formats.parquet.format:ParquetFormat.from_settings",
            options=PARQUET_OPTIONS,
            summary="Parquet with Hudi's footer: bloom filter and record-key range.",
        )
    ]


@hookimpl
def hoodoo_log_formats() -> Iterable[Registration]:
    return [
        Registration(
            "HOODIE_LOG",
            "hoodoo_formats.log.log_format:HudiLog.from_settings",
            options=(RECORD_POSITIONS,),
            summary="Hudi's log files: blocks of rows, deletes and commands.",
        )
    ]


@hookimpl
def hoodoo_log_blocks() -> Iterable[Registration]:
    return [
        Registration(
            "parquet",
            "hoodoo_formats.log.parquet:ParquetBlocks.from_settings",
            options=(CODEC,),
            summary="Rows of a log file as Parquet: small, and read by columns.",
        ),
        Registration(
            "avro",
            "hoodoo_formats.log.avro:AvroBlocks.from_settings",
            summary="Rows of a log file as Avro.",
        ),
        Registration(
            "change_data",
            "hoodoo_formats.log.avro:ChangeBlocks.from_settings",
            aliases=("cdc",),
            summary="Logs of change data: what a commit did to rows, as Avro.",
        ),
    ]


@hookimpl(optionalhook=True)
def hoodoo_inspectors() -> Iterable[Registration]:
    module = "hoodoo_formats.inspectors"
    return [
        Registration(
            "log",
            f"{module}.log:LogInspector.from_settings",
            summary="log files",
        ),
        Registration(
            "parquet",
            f"{module}.parquet:ParquetInspector.from_settings",
            summary="base files, and other Parquet files",
        ),
    ]
