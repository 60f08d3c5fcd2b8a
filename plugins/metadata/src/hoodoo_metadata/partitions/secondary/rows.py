r"""Secondary: the partitions ``secondary_index_*``, which say which record keys have a value of a
column, as Hudi's do.

An entry's key is the value, ``$`` and the record key, each with ``\\`` before what would be
mistaken. Its file group is told by the hash of all up to the ``$``, in Hudi's first version of
these indexes by that of the whole key. Values are texts as Java writes them. Source:
``SecondaryIndexKeyUtils`` of Hudi, and tables of Hudi 1.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from hoodoo.model.config import TableConfig
from hoodoo_rows.model.java_hash import string_hash

from hoodoo_metadata.partitions.record_index.groups import IndexGroups
from hoodoo_metadata.table.layout import KEPT as KEPT
from hoodoo_metadata.table.layout import SECONDARY, is_expression, is_secondary
from hoodoo_metadata.table.schema import KEY_OF_VALUE, encode_row

LIVE = encode_row({"type": KEY_OF_VALUE, "SecondaryIndexMetadata": {"isDeleted": False}})
DEAD = encode_row({"type": KEY_OF_VALUE, "SecondaryIndexMetadata": {"isDeleted": True}})
_NULL = "\0"
_PREFIX = r"(?s)^(?P<prefix>(?:[^\\$]|\\.)*\$)(?P<key>.*)$"


def secondaries(config: TableConfig) -> Mapping[str, str]:
    """Partition -> column, of the secondary indexes that Hoodoo keeps."""
    return {
        name: column for name, column in indexes_of_columns(config).items() if is_secondary(name)
    }


def expressions(config: TableConfig) -> Mapping[str, str]:
    """The same of the indexes of an expression, with the column that it is of."""
    return {
        name: column for name, column in indexes_of_columns(config).items() if is_expression(name)
    }


def indexes_of_columns(config: TableConfig) -> Mapping[str, str]:
    """Both."""
    pairs = (text.partition(":") for text in (config.get(KEPT) or "").split(","))
    return {name: column for name, _colon, column in pairs if column}


def noted(kept: Mapping[str, str]) -> str | None:
    """The property that says so."""
    return ",".join(f"{name}:{column}" for name, column in sorted(kept.items())) or None


def partition_of(name: str) -> str:
    """The partition of the index that is called ``name``."""
    return name if is_secondary(name) else f"{SECONDARY}{name}"


def is_indexable(kind: pa.DataType) -> bool:
    """Whether all writers have values of a type as one text."""
    return pa.types.is_string(kind) or pa.types.is_integer(kind) or pa.types.is_date32(kind)


def prefixes(values: pa.Array) -> pa.Array:
    """How the entries of ``values`` begin."""
    if pa.types.is_date32(values.type):
        values = values.cast(pa.int32())
    return pc.binary_join_element_wise(_escaped(values.cast(pa.string())), "$", "")


def entry_keys(values: pa.Array, record_keys: pa.Array) -> pa.Array:
    """The keys of the entries of rows."""
    return pc.binary_join_element_wise(prefixes(values), _escaped(record_keys), "")


def record_keys_of(keys: pa.Array) -> pa.Array:
    """The record keys that entries name."""
    found = pc.extract_regex(keys.cast(pa.string()), _PREFIX).field("key")
    plain = pc.replace_substring_regex(found, r"(?s)\\(.)", r"\1")
    return pc.if_else(pc.equal(found, _NULL), pa.scalar(None, pa.string()), plain)


@frozen
class PrefixHash:
    """The hash of what an entry's key begins with
    (:class:`hoodoo_metadata.hookspecs.index_hash.KeyHash`)."""

    def spread(self, keys: pa.Array) -> pa.Array:
        found = pc.extract_regex(keys.cast(pa.string()), _PREFIX).field("prefix")
        return pa.array(np.abs(string_hash(found).astype(np.int64)))


def groups_of(config: TableConfig, file_ids: Iterable[str]) -> IndexGroups:
    """Which of the file groups an entry belongs to."""
    by_value = config.traits.has_second_indexes
    return IndexGroups(tuple(file_ids), hash=PrefixHash() if by_value else None)


def _escaped(texts: pa.Array) -> pa.Array:
    for char in ("\\", "$", "\0"):
        texts = pc.replace_substring(texts, char, f"\\{char}")
    return texts.fill_null(_NULL)
