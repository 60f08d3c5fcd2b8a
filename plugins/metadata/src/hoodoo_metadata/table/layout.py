"""Partitions of the metadata table, their file groups, and which group holds a key.

Source: features page 1.2 and 1.3; ``HoodieTableMetadataUtil`` of Hudi 1.2.0.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from hoodoo.errors import ConfigError
from hoodoo_rows.model.java_hash import string_hash

FILES = "files"
COLUMN_STATS = "column_stats"
PARTITION_STATS = "partition_stats"
BLOOM_FILTERS = "bloom_filters"
RECORD_INDEX = "record_index"
# How the names of partitions begin that Hudi must not come to know of.
OWN_PREFIX = "hoodoo_"
# How the names of secondary indexes begin.
SECONDARY = "secondary_index_"
# A property of the table: those that Hoodoo keeps, as `partition:column`; what another engine made,
# it does not.
KEPT = "hoodoo.metadata.secondary"
# How those of Hudi's expression indexes do.
EXPRESSION = "expr_index_"
# Hoodoo's own: a record index whose buckets get more file groups as they grow.
GROWING_INDEX = "hoodoo_record_index"
# The record indexes of a table with virtual keys, global and of partition paths: as Hudi's, which
# Spark Hudi would not keep of such keys, and go by all the same.
VIRTUAL_INDEX = "hoodoo_virtual_record_index"
VIRTUAL_PATH_INDEX = "hoodoo_virtual_partitioned_record_index"
VIRTUAL_INDEXES = (VIRTUAL_INDEX, VIRTUAL_PATH_INDEX)
OWN_INDEXES = (GROWING_INDEX, *VIRTUAL_INDEXES)
INDEXES = (RECORD_INDEX, *OWN_INDEXES)
# The names of indexes, and the partition that holds each; that of a record index where keys are
# virtual.
PARTITIONED, GROWING = "partitioned_record_index", "growing_record_index"
STORED = {RECORD_INDEX: RECORD_INDEX, PARTITIONED: RECORD_INDEX, GROWING: GROWING_INDEX}
STORED_OF_VIRTUAL = {
    RECORD_INDEX: VIRTUAL_INDEX,
    PARTITIONED: VIRTUAL_PATH_INDEX,
    GROWING: GROWING_INDEX,
}
# Which index lies in a partition of Hoodoo's own.
INDEX_OF = {partition: index for index, partition in STORED_OF_VIRTUAL.items()}

_PREFIXES = {
    FILES: "files-",
    COLUMN_STATS: "col-stats-",
    PARTITION_STATS: "partition-stats-",
    BLOOM_FILTERS: "bloom-filters-",
    RECORD_INDEX: "record-index-",
}
# What Hudi's PartitionPathEncodeUtils writes as %XX in a file name.
_ESCAPED = frozenset(map(chr, range(32))) | frozenset("\"#%'*/:=?\\\x7f{[]^_-")


def group_id(partition: str, number: int, data_partition: str | None = None) -> str:
    """The file id of the ``number``-th file group, from 0 on, of ``partition``:
    ``record-index-0007-0``.

    ``data_partition``: of a record index that is partitioned, the partition path of the rows; the
    groups of each are numbered by themselves. Raises ConfigError for a partition of another kind.
    """
    prefix = _PREFIXES.get(partition)
    if prefix is None and (
        is_own(partition) or is_secondary(partition) or is_expression(partition)
    ):
        prefix = f"{partition.replace('_', '-')}-"
    if prefix is None:
        raise ConfigError(
            f"metadata table partition {partition!r}",
            "a partition of this kind is not kept here.",
            f"Name one of {', '.join(_PREFIXES)}.",
        )
    within = "" if data_partition is None else f"{_escape(data_partition)}-"
    return f"{prefix}{within}{number:04d}-0"


def is_own(partition: str) -> bool:
    """Whether a partition is Hoodoo's, which Hudi must not come to know of."""
    return partition.startswith(OWN_PREFIX)


def is_secondary(partition: str) -> bool:
    """Whether a partition is a secondary index."""
    return partition.startswith(SECONDARY)


def is_expression(partition: str) -> bool:
    """Whether a partition is an index of an expression."""
    return partition.startswith(EXPRESSION)


def path_prefix(data_partition: str) -> str:
    """How the file ids of a partitioned record index begin that are for rows of this partition
    path."""
    return f"{_PREFIXES[RECORD_INDEX]}{_escape(data_partition)}-"


def _escape(path: str) -> str:
    return "".join(f"%{ord(c):02X}" if c in _ESCAPED else c for c in path)


def group_of(keys: pa.Array, groups: int) -> npt.NDArray[np.int32]:
    """The number of the file group, of ``groups``, that holds each key (string, or binary in
    UTF-8)."""
    if groups == 1:
        return np.zeros(len(keys), np.int32)
    # In 64 bits there is no integer whose absolute value can't be had; Java's remainder gives the
    # same.
    return (np.abs(string_hash(keys).astype(np.int64)) % groups).astype(np.int32)


def estimated_groups(
    rows: int,
    *,
    least: int = 10,
    most: int = 10_000,
    growth: float = 2.0,
    group_bytes: int = 1 << 30,
    entry_bytes: int = 48,
) -> int:
    """How many file groups a record index of ``rows`` keys is made with; it stays so.

    ``growth``: how many times the rows the table may come to have; ``group_bytes`` the size that a
    group may reach, ``entry_bytes`` that of one entry.
    """
    if least == most and least:
        return least
    expected = math.ceil(np.float32(rows) * np.float32(growth))  # Java multiplies in 32 bits
    groups = expected // max(1, group_bytes // max(1, entry_bytes))
    return max(1, min(most, max(least, groups)))
