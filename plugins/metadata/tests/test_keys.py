"""Keys of the metadata table: hashes from the specification, keys from real tables."""

from __future__ import annotations

import pytest
from hoodoo_metadata.table.keys import column_key, column_prefix, file_key, partition_key
from hoodoo_metadata.table.xxh64 import SEED, xxh64

SPAM = b"Nobody inspects the spammish repetition"


@pytest.mark.parametrize(
    ("data", "seed", "digest"),
    [
        (b"", 0, "ef46db3751d8e999"),
        (b"a", 0, "d24ec4f1a98c6e5b"),
        (b"abc", 0, "44bc2cf5ad770999"),
        (SPAM, 0, "fbcea83c8a378bf1"),
        (b"xxhash", 20141025, "b559b98d844e0635"),
    ],
)
def test_xxh64(data: bytes, seed: int, digest: str) -> None:
    assert xxh64(data, seed).hex() == digest


def test_every_length_hashes_apart() -> None:
    data = bytes(range(200))
    assert len({xxh64(data[:n]) for n in range(200)}) == 200
    assert xxh64(b"x") == xxh64(b"x", SEED) != xxh64(b"x", 0)


def test_keys() -> None:
    file = "b5f376f3-c7d2-40c9-b867-75a98f6a26be-0_1-27-53_20260307162504409.parquet"
    stored = "/m6lxu4Dh5w=431THTTwO5Q=V4z2ncHSnSnzuLNScMrN9Q=="
    assert column_key("currency", "region=us", file) == stored
    assert column_prefix("currency") == stored[:12]
    assert column_prefix("currency", "region=us") == stored[:24]
    assert partition_key("currency", "region=us") == stored[:24]


def test_a_table_without_partitions() -> None:
    assert file_key("") == file_key(".") == "."
    assert file_key("a/b") == "a/b"
    assert column_key("c", "", "f") == column_key("c", ".", "f")
