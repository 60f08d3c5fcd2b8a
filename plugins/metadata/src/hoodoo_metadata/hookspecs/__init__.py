"""The families that hoodoo-metadata works with, and brings: partitions of the metadata table,
hashes of record keys."""

from __future__ import annotations

from hoodoo_metadata.hookspecs import rules  # noqa: F401
from hoodoo_metadata.hookspecs.index_hash import FAMILY as INDEX_HASH
from hoodoo_metadata.hookspecs.metadata_partition import FAMILY as METADATA_PARTITION

__all__ = ["INDEX_HASH", "METADATA_PARTITION"]
