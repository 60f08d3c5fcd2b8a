"""What every hash of record keys has to keep. Subclass it and give the fixture ``key_hash``."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pytest

from hoodoo_metadata.hookspecs.index_hash import KeyHash

KEYS = [*(f"key-{n:06d}" for n in range(2000)), "", "a", "ä", "漢字", "\U0001f600", "x" * 5000]


class KeyHashContract:
    """``key_hash``: the hash."""

    @pytest.fixture
    def key_hash(self) -> KeyHash:
        raise NotImplementedError

    def test_numbers_are_of_the_kind(self, key_hash: KeyHash) -> None:
        found = key_hash.spread(pa.array(KEYS))
        assert found.type == pa.int64()
        assert len(found) == len(KEYS)
        assert not found.null_count
        assert np.asarray(found).min() >= 0

    def test_equal_keys_have_equal_numbers(self, key_hash: KeyHash) -> None:
        """Whatever stands beside them, in whatever order, in another process."""
        known = dict(zip(KEYS, key_hash.spread(pa.array(KEYS)).to_pylist(), strict=True))
        turned = pickle.loads(pickle.dumps(key_hash)).spread(pa.array(KEYS[::-1]))
        assert dict(zip(KEYS[::-1], turned.to_pylist(), strict=True)) == known
        for key in KEYS[-6:]:
            assert key_hash.spread(pa.array([key])).to_pylist() == [known[key]]

    def test_no_keys(self, key_hash: KeyHash) -> None:
        assert len(key_hash.spread(pa.array([], pa.string()))) == 0

    def test_buckets_fill_about_evenly(self, key_hash: KeyHash) -> None:
        counts = np.bincount(np.asarray(key_hash.spread(pa.array(KEYS))) % 10, minlength=10)
        assert counts.min() > 0
        assert counts.max() < len(KEYS) / 2
