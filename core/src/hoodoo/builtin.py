"""What hoodoo-core itself offers, through the same door as everybody else."""

from __future__ import annotations

from hoodoo.hookspecs import Option, Registration, Settings, hookimpl
from hoodoo.model.config import KEPT_META, POPULATE, VIRTUAL
from hoodoo.model.virtual_keys import CLASS, COLUMNS, CONCATENATOR
from hoodoo.storage.api import Storage

THREADS = Option("hoodoo.local.threads", "Partitions at a time; by default one per core.")
SERIALIZER = Option("hoodoo.serializer", "How rows are packed between tasks.", "arrow")
PARQUET = (
    Option("hoodie.parquet.compression.codec", "zstd, snappy, gzip, lz4 or uncompressed.", "zstd"),
    Option("hoodie.parquet.block.size", "Bytes of a row group.", str(120 << 20)),
    Option("hoodie.parquet.page.size", "Bytes of a page.", str(1 << 20)),
    Option("hoodie.parquet.dictionary.enabled", "Encode with dictionaries.", "true"),
    Option("hoodie.parquet.bloom.filter.enabled", "Put a bloom filter in the footer.", "true"),
    Option("hoodie.bloom.index.filter.type", "SIMPLE or DYNAMIC_V0.", "DYNAMIC_V0"),
    Option("hoodie.index.bloom.fpp", "Rate of false positives.", "0.000000001"),
    Option("hoodie.index.bloom.num_entries", "Keys that the bloom filter is made for at first."),
    Option("hoodie.bloom.index.filter.dynamic.max.entries", "Keys that it may grow to."),
)

VIRTUAL_KEYS = (
    Option(
        POPULATE, "false: record keys are virtual, rows don't store their meta columns.",
        "true", table_property=True,
    ),
    Option(
        VIRTUAL, "Record keys are virtual (RFC-21): not stored, but made of their columns.",
        "false", table_property=True,
    ),
    Option(COLUMNS, "The columns of a virtual key; the same as record_key."),
    Option(CLASS, "The key generator of a virtual key; the same as key_generator."),
    Option(CONCATENATOR, "What is between the columns of a virtual key.", table_property=True),
    Option(
        KEPT_META, "The meta columns that rows of a table with virtual keys store all the same; "
        "by default _hoodie_commit_time where RFC-21's setting made it so.",
        table_property=True,
    ),
)  # fmt: skip


@hookimpl
def hoodoo_storages() -> list[Registration]:
    return [
        Registration(
            "file",
            local_storage,
            aliases=("", "local"),
            summary="Files of this host, or of a file system mounted on all of them.",
        )
    ]


@hookimpl
def hoodoo_engines() -> list[Registration]:
    return [
        Registration(
            "local",
            "hoodoo.engine.local:LocalEngine.from_settings",
            options=(THREADS,),
            summary="Threads of this process: no JVM, for tests, notebooks and small tables.",
        )
    ]


@hookimpl
def hoodoo_serializers() -> list[Registration]:
    return [
        Registration(
            "arrow",
            "hoodoo.engine.arrow_serializer:ArrowSerializer.from_settings",
            options=(SERIALIZER,),
            summary="Packed record batches, as they lie in memory.",
        )
    ]


@hookimpl
def hoodoo_file_formats() -> list[Registration]:
    return [
        Registration(
            "PARQUET",
            "hoodoo.files.parquet:ParquetFormat.from_settings",
            options=(*PARQUET, *VIRTUAL_KEYS),
            summary="Parquet with Hudi's footer: bloom filter and record-key range.",
        )
    ]


def local_storage(settings: Settings) -> Storage:
    """The local store at the option ``hoodoo.storage.uri`` (set by whoever opens the table)."""
    from hoodoo.storage.local import LocalStorage

    return LocalStorage(settings.options.get("hoodoo.storage.uri", ""))
