"""INSERT OVERWRITE: what the rows of a statement replace, as Spark Hudi has it."""

from __future__ import annotations

from typing import Any

from hoodoo.errors import ConfigError
from hoodoo.options.write import OVERWRITES
from hoodoo.table.table import Table
from hoodoo_rows.api import Commit

from hoodoo_statements.partition_spec import (
    PartitionSpec,
    partition_columns,
    partition_paths,
)

STATIC, DYNAMIC = "static", "dynamic"
_OF_SPARK = "spark.sql.sources.partitionOverwriteMode"


def overwrite(table: Table, data: Any, spec: PartitionSpec, spark: Any, engine: Any) -> Commit:
    """Replace rows by ``data``, as one commit: the partition that ``spec`` names with all its
    values, else the whole table; in the mode ``dynamic`` the partition paths that rows arrive in.

    ConfigError where ``spec`` names a part of the values, and the mode is static: partition paths
    without a new row would have to go."""
    columns, mode = partition_columns(table), _mode(table, spark)
    if not columns or (not spec.values and mode == STATIC):
        commit: Commit = table.insert_overwrite_table(data, engine=engine)
        return commit
    lacking = [name for name in columns if name not in spec.values]
    if lacking and mode == STATIC:
        raise ConfigError(
            f"INSERT OVERWRITE of {table.config.name}",
            f"names no value of {lacking[0]}, and may replace paths in which no row arrives.",
            f"Set {OVERWRITES.key}={DYNAMIC} to replace those in which rows arrive; or DELETE "
            "the others first.",
        )
    if not lacking and _is_empty(data):
        paths = PartitionSpec(spec.values).paths(table, partition_paths(table))
        if paths:
            commit = table.delete_partitions(paths)
            return commit
    commit = table.insert_overwrite(data, engine=engine)
    return commit


def _mode(table: Table, spark: Any) -> str:
    """What the table's options say, else the session of Spark, else the default."""
    given = OVERWRITES.given(table.handle.options)
    if given is None and spark is not None:
        given = OVERWRITES.parse(spark.conf.get(_OF_SPARK, OVERWRITES.default), _OF_SPARK)
    return OVERWRITES.initial if given is None else given


def _is_empty(data: Any) -> bool:
    return not data.num_rows if hasattr(type(data), "num_rows") else not data.limit(1).count()
