"""Keys of the metadata table's rows, partition by partition.

The key of a row of ``record_index`` is the record key itself.
"""

from __future__ import annotations

import functools
import hashlib
from base64 import b64encode

import pyarrow as pa
import pyarrow.compute as pc

from hoodoo_metadata.table.xxh64 import xxh64

# The partition path of a table that has no partitions, in keys.
NON_PARTITIONED = "."


def file_key(partition_path: str) -> str:
    """The key in ``files`` of the list of files of a partition."""
    return partition_path or NON_PARTITIONED


def column_key(column: str, partition_path: str, file_name: str) -> str:
    """The key in ``column_stats`` of what a file holds in a column."""
    name = hashlib.md5(file_name.encode(), usedforsecurity=False).digest()
    return _hashed(column) + _hashed(file_key(partition_path)) + b64encode(name).decode()


def filter_key(partition_path: str, file_name: str) -> str:
    """The key in ``bloom_filters`` of the filter of a base file."""
    name = hashlib.md5(file_name.encode(), usedforsecurity=False).digest()
    return _hashed(file_key(partition_path)) + b64encode(name).decode()


def column_prefix(column: str, partition_path: str | None = None) -> str:
    """How the keys in ``column_stats`` of a column begin: in all partitions, or in one."""
    return _hashed(column) + ("" if partition_path is None else _hashed(file_key(partition_path)))


def partition_key(column: str, partition_path: str) -> str:
    """The key in ``partition_stats`` of what a partition holds in a column."""
    return column_prefix(column, partition_path)


def expression_key(column: str, partition_path: str) -> str:
    """The key in an expression index of what a partition holds. ``column``: the one that the
    expression is of."""
    return column_prefix(column) + _OF_PARTITION + _hashed(file_key(partition_path))


@functools.lru_cache(65_536)
def _hashed(text: str) -> str:
    return b64encode(xxh64(text.encode())).decode()


# How the keys go on that are of partition paths in an expression index: after the column.
_OF_PARTITION = _hashed("__partition_stat__")


def are_of_partitions(keys: pa.Array) -> pa.Array:
    """Which of ``keys``, of an expression index, are of partition paths."""
    found = keys.cast(pa.string())
    short = pc.equal(pc.utf8_length(found), 3 * len(_OF_PARTITION))
    inner = pc.utf8_slice_codeunits(found, len(_OF_PARTITION), 2 * len(_OF_PARTITION))
    return pc.and_(short, pc.equal(inner, _OF_PARTITION))
