"""The standard hashes of record keys."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hoodoo_metadata.hookspecs.index_hash import KeyHash
from hoodoo_metadata.partitions.record_index.hashes import JavaHash, MixedHash
from hoodoo_metadata.table.layout import group_of
from hoodoo_metadata.testing.index_hash import KeyHashContract


class TestJavaHash(KeyHashContract):
    @pytest.fixture
    def key_hash(self) -> KeyHash:
        return JavaHash()


class TestMixedHash(KeyHashContract):
    @pytest.fixture
    def key_hash(self) -> KeyHash:
        return MixedHash()


def test_java_is_what_the_record_index_goes_by() -> None:
    keys = pa.array([f"k{n}" for n in range(500)])
    assert [n % 7 for n in JavaHash().spread(keys).to_pylist()] == group_of(keys, 7).tolist()
