"""Another process has other hashes of texts: what goes by them answers otherwise there, and contract suites see it."""

from __future__ import annotations

import zlib

import pyarrow as pa
import pytest
from attrs import frozen
from hoodoo.testing.another_process import answered

KEYS = pa.array([f"key-{number}" for number in range(50)])


@frozen
class ByHash:
    def bucket(self, keys: pa.Array) -> pa.Array:
        return pa.array([hash(key) % 64 for key in keys.to_pylist()])


@frozen
class ByChecksum:
    def bucket(self, keys: pa.Array) -> pa.Array:
        return pa.array([zlib.crc32(key.encode()) % 64 for key in keys.to_pylist()])

    def fails(self, keys: pa.Array) -> pa.Array:
        raise ValueError("on purpose")


def test_hashes_of_texts_are_others_there() -> None:
    found = answered(ByHash(), "bucket", KEYS, None)
    assert found is not None and found != ByHash().bucket(KEYS)
    assert answered(ByChecksum(), "bucket", KEYS, None) == ByChecksum().bucket(KEYS)


def test_an_error_there_is_one_here() -> None:
    with pytest.raises(AssertionError, match="on purpose"):
        answered(ByChecksum(), "fails", KEYS, None)


def test_a_class_that_can_not_be_imported_there() -> None:
    local = type("Local", (), {"__module__": "nowhere"})
    with pytest.raises(Exception, match="nowhere|Local"):
        answered(local(), "bucket", KEYS, None)  # nor can it be pickled
