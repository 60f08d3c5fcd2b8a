"""Entries as Hudi's sync tools make them for Hive and AWS Glue: input formats, serdes, databases,
names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TypeVar

from attrs import frozen
from hoodoo.errors import ConfigError

from hoodoo_catalogs import options
from hoodoo_catalogs.hookspecs.catalog import CatalogTable, Column

T = TypeVar("T")
_HUDI = "org.apache.hudi.hadoop."
_PARQUET = "org.apache.hadoop.hive.ql.io.parquet."
INPUTS = {
    "snapshot": f"{_HUDI}HoodieParquetInputFormat",
    "read_optimized": f"{_HUDI}HoodieParquetInputFormat",
    "realtime": f"{_HUDI}realtime.HoodieParquetRealtimeInputFormat",
}
OUTPUT = f"{_PARQUET}MapredParquetOutputFormat"
SERDE = f"{_PARQUET}serde.ParquetHiveSerDe"
_STORED = {view: (made, OUTPUT, SERDE) for view, made in INPUTS.items()}
_LAZY = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
# As Iceberg's own catalogs and Spark's Delta make entries: the parameters tell readers what it is.
_OTHERS = {
    "iceberg": (
        "org.apache.hadoop.mapred.FileInputFormat",
        "org.apache.hadoop.mapred.FileOutputFormat",
        _LAZY,
    ),
    "delta": (
        "org.apache.hadoop.mapred.SequenceFileInputFormat",
        "org.apache.hadoop.hive.ql.io.HiveSequenceFileOutputFormat",
        _LAZY,
    ),
}
AS_RO = "hoodie.query.as.ro.table"
_NAME = re.compile(r"\w+", re.ASCII)


@frozen
class Name:
    """``database.table``, in lower case, as Hive and Glue have them."""

    database: str
    table: str

    @classmethod
    def of(cls, name: str) -> Name:
        """ConfigError for a name that they cannot have."""
        database, _, table = name.rpartition(".")
        if not _NAME.fullmatch(table) or not _NAME.fullmatch(database or "default"):
            raise ConfigError(
                f"table name {name!r}",
                "may have letters, digits and underscores only, and one dot between database "
                "and table.",
                f"Choose another name: {options.DATABASE.key} and {options.TABLE.key}, or "
                "database.table.",
            )
        return cls((database or "default").lower(), table.lower())

    def __str__(self) -> str:
        return f"{self.database}.{self.table}"


def stored_as(table: CatalogTable) -> tuple[str, str, str]:
    """The classes of Hive that an entry names: input format, output format, serde."""
    if table.provider not in (*_OTHERS, "hudi"):
        raise ConfigError(
            f"table name {table.name!r}",
            f"would be an entry of {table.provider}, which readers of Hive's entries do not know.",
            f"Publish the table as {' or '.join(_OTHERS)}.",
        )
    return _OTHERS.get(table.provider) or _STORED[table.view]


def provider_of(parameters: Mapping[str, str]) -> str:
    """The format whose metadata readers of an entry with these parameters use."""
    kind = parameters.get("table_type", "").lower()
    named = parameters.get("spark.sql.sources.provider", "").lower()
    return next((one for one in _OTHERS if one in (kind, named)), "hudi")


def serde_parameters(table: CatalogTable, more: str) -> dict[str, str]:
    """Those of the serde; ``more``: lines ``key=value``."""
    if table.provider in _OTHERS:
        return {"serialization.format": "1", "path": table.location}
    pairs = (line.partition("=") for line in more.splitlines() if line.strip())
    return {
        "serialization.format": "1",
        "path": table.location,
        AS_RO: "true" if table.view == "read_optimized" else "false",
        **{key.strip(): value.strip() for key, _, value in pairs},
    }


def view_of(input_format: str, serde: Mapping[str, str]) -> str:
    """The view that a stored entry shows."""
    if input_format == INPUTS["realtime"]:
        return "realtime"
    return "read_optimized" if serde.get(AS_RO) == "true" else "snapshot"


def lower(columns: tuple[Column, ...]) -> tuple[Column, ...]:
    """With names in lower case."""
    return tuple(Column(c.name.lower(), c.type, c.comment) for c in columns)


def batches(items: list[T], most: int) -> Iterator[list[T]]:
    """``items``, at most so many at a time."""
    for at in range(0, len(items), most):
        yield items[at : at + most]
