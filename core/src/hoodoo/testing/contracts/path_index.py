"""What an index promises whose buckets differ from partition path to partition path, as tests.

Usage::

    class TestMine(PathIndexContract):
        @pytest.fixture
        def table(self, tmp_path):
            return hoodoo.create(...)     # with the index, and the columns id, p and ts
"""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hoodoo.hookspecs.index import ComputedIndex, IndexContext, LookupIndex, PathBuckets, PathIndex
from hoodoo.kernel.resolve import resolve


class PathIndexContract:
    """Subclass, and answer the fixture ``table``: one with the index, partitioned by ``p``, with
    the key ``id``."""

    @pytest.fixture
    def table(self) -> Any:
        raise NotImplementedError("override the fixture `table`")

    @pytest.fixture
    def index(self, table: Any) -> PathIndex:
        found: PathIndex = table.handle.plugins().index
        return found

    def context(self, table: Any) -> IndexContext:
        handle = table.handle
        return IndexContext(
            resolve("engine", "local").instance, handle.storage, table.file_slices(),
            handle.plugins().file_format, timeline=table.timeline(),
        )  # fmt: skip

    def keys(self, count: int = 500) -> tuple[pa.Array, pa.Array]:
        odd = ["a", "é/b c=%:", "𝄞", " ", "f1:v1,f2:v2", "x" * 5000, "b:c,d", ""]
        keys = [*odd, *(f"key-{i}" for i in range(count))]
        return pa.array(keys), pa.array([f"p{n % 3}" for n in range(len(keys))])

    def test_obeys_the_protocol(self, index: PathIndex) -> None:
        assert isinstance(index, PathIndex)
        assert not isinstance(index, LookupIndex | ComputedIndex)
        assert pickle.loads(pickle.dumps(index)) == index

    def test_every_key_has_a_bucket_with_a_place(self, table: Any, index: PathIndex) -> None:
        keys, paths = self.keys()
        buckets = index.in_paths(self.context(table), ["p0", "p1", "p2"])
        assert isinstance(buckets, PathBuckets)
        found = buckets.bucket(keys, paths)
        assert found.type == pa.int32() and found.null_count == 0 and len(found) == len(keys)
        assert np.asarray(found).min() >= 0 and np.asarray(found).max() < buckets.buckets
        assert buckets.second(keys, paths) is None
        places = {
            (path, bucket): buckets.place(path, bucket).file_id
            for path, bucket in zip(paths.to_pylist(), found.to_pylist(), strict=True)
        }
        assert len(set(places.values())) == len(places), "a file group of two buckets"
        assert not any("_" in one or "/" in one for one in places.values())
        assert len(buckets.bucket(keys.slice(0, 0), paths.slice(0, 0))) == 0

    def test_answers_the_same_elsewhere_and_in_pieces(self, table: Any, index: PathIndex) -> None:
        keys, paths = self.keys()
        buckets = index.in_paths(self.context(table), ["p0", "p1", "p2"])
        whole = buckets.bucket(keys, paths)
        other = pickle.loads(pickle.dumps(buckets))
        parts = [other.bucket(keys.slice(n, 7), paths.slice(n, 7)) for n in range(0, len(keys), 7)]
        assert pa.concat_arrays(parts) == whole

    def test_a_write_finds_what_was_said_before_it(self, table: Any, index: PathIndex) -> None:
        keys, paths = self.keys()
        before = index.in_paths(self.context(table), ["p0", "p1", "p2"])
        rows = pa.table(
            {"id": keys, "p": paths, "ts": pa.array(np.ones(len(keys), np.int64))}
        ).filter(pc.not_equal(pc.binary_length(keys), 0))
        table.upsert(rows)
        after = index.in_paths(self.context(table), ["p0", "p1", "p2"])
        assert after.bucket(keys, paths) == before.bucket(keys, paths)
        ids = {s.file_id for s in table.file_slices()}
        found = after.bucket(keys, paths).to_pylist()
        named = zip(paths.to_pylist(), found, strict=True)
        assert ids <= {after.place(path, bucket).file_id for path, bucket in named}
        table.upsert(rows)
        assert table.read().to_arrow().num_rows == rows.num_rows

    def test_rows_in_the_place_of_others_have_other_file_groups(
        self, table: Any, index: PathIndex
    ) -> None:
        keys, paths = self.keys()
        rows = pa.table({"id": keys, "p": paths, "ts": pa.array(np.ones(len(keys), np.int64))})
        rows = rows.filter(pc.not_equal(pc.binary_length(keys), 0))
        table.upsert(rows)
        before = {s.file_id for s in table.file_slices()}
        table.insert_overwrite(rows)
        assert before.isdisjoint(s.file_id for s in table.file_slices())
        table.upsert(rows)
        assert table.read().to_arrow().num_rows == rows.num_rows
