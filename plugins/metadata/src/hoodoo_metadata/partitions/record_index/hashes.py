"""Hashes of record keys, for the buckets of a growing record index."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from attrs import frozen
from hoodoo.hookspecs.registration import Settings
from hoodoo_rows.model.java_hash import string_hash


@frozen
class JavaHash:
    """Java's: what Hudi's own record index goes by. Texts that differ in their last characters
    alone spread evenly; it takes no effort to make many that collide."""

    @classmethod
    def from_settings(cls, settings: Settings) -> JavaHash:
        return cls()

    def spread(self, keys: pa.Array) -> pa.Array:
        return pa.array(np.abs(string_hash(keys).astype(np.int64)))


@frozen
class MixedHash:
    """Java's, with its bits mixed (the end of murmur3): for keys of few characters, or few distinct
    ones."""

    @classmethod
    def from_settings(cls, settings: Settings) -> MixedHash:
        return cls()

    def spread(self, keys: pa.Array) -> pa.Array:
        h = string_hash(keys).view(np.uint32).copy()
        h ^= h >> np.uint32(16)
        h *= np.uint32(0x85EBCA6B)
        h ^= h >> np.uint32(13)
        h *= np.uint32(0xC2B2AE35)
        h ^= h >> np.uint32(16)
        return pa.array(h.astype(np.int64))
