"""Hashes, rings and their files are those of Hudi 1.2; the contract suites."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hoodoo
import numpy as np
import pyarrow as pa
import pytest
from hoodoo.hookspecs.clustering_updates import ClusteringUpdates
from hoodoo.testing.contracts.clustering_updates import ClusteringUpdatesContract
from hoodoo.testing.contracts.path_index import PathIndexContract
from hoodoo_hashing import stored
from hoodoo_hashing.key_texts import key_texts
from hoodoo_hashing.ring import DELETE, MOST, NORMAL, REPLACE, Node, Ring, first_ring
from hoodoo_hashing.updates import Duplicate
from hoodoo_hashing.xxhash32 import xxhash32

# What HashID.getXXHash32(text, 0) answers, of hudi-spark3.5-bundle 1.2.0.
HASHES = {
    "": 46947589, "a": 1426945110, "abc": 852579327, "1": -1225996110,
    "12345678901234567": -960725764, "é/b c=%:": 1446536006, "𝄞": 1995045971,
    "f1:v1,f2:v2": -650130107, "x" * 100: 1272122682, "key-7": -1216505550,
}  # fmt: skip
# What KeyGenUtils.extractRecordKeysByFields answers there, joined.
TEXTS = [
    ("7", "a", "7"), ("id:7", "id", "id:7"), ("a:1,b:2", "a", "1"), ("a:1,b:2", "b,a", "12"),
    ("a:1,b:2", "id", "a:1,b:2"), ("a:__null__,b:2", "a", "null"),
    ("a:__null__,b:2", "b,a", "null2"), ("a:__empty__,b:2", "a", ""),
    ("a:__empty__,b:2", "a,b", "2"), ("a:1,2,b:3", "a", "1,2"), ("a:1,2,b:3", "a,b", "1,23"),
    ("a:x:y,b:z", "a,b", "x:yz"), ("b:c,d", "a", "b:c,d"), ("b:c,d", "b", "c,d"),
]  # fmt: skip
# As Spark Hudi wrote it for the path `eu`.
FIRST_OF_EU = """{
  "version" : 0,
  "partitionPath" : "eu",
  "instant" : "00000000000000",
  "numBuckets" : 4,
  "seqNo" : 0,
  "nodes" : [ {
    "value" : 536870912,
    "fileIdPrefix" : "fdbdad5d-9452-3666-9c9a-14fb74489d8b",
    "tag" : "NORMAL"
  }, {
    "value" : 1073741824,
    "fileIdPrefix" : "979a6b26-39f3-35e7-937f-607407ab65bf",
    "tag" : "NORMAL"
  }, {
    "value" : 1610612736,
    "fileIdPrefix" : "6fef1968-d2f0-35e6-8728-6fe13f23bf09",
    "tag" : "NORMAL"
  }, {
    "value" : 2147483647,
    "fileIdPrefix" : "3813ef5e-c427-3b1c-80ae-04908613c1e1",
    "tag" : "NORMAL"
  } ]
}"""


def test_hashes() -> None:
    found = xxhash32(pa.array(list(HASHES)))
    assert found.view(np.int32).tolist() == list(HASHES.values())
    sliced = pa.array(["zz", *HASHES, "y"]).slice(1, len(HASHES))
    assert (xxhash32(sliced) == found).all()


@pytest.mark.parametrize(("key", "fields", "text"), TEXTS)
def test_what_of_a_key_is_hashed(key: str, fields: str, text: str) -> None:
    assert key_texts(pa.array(["zz", key]), fields.split(",")).to_pylist() == ["zz", text]


def test_the_first_ring_of_a_path() -> None:
    made = stored.unwritten("eu", 4)
    assert made.encode().decode() == FIRST_OF_EU
    assert first_ring("eu", 4) == made.ring
    assert [n.value for n in first_ring("", 1).nodes] == [MOST]


def test_splitting_and_merging() -> None:
    ring = Ring.of([Node(100, "a"), Node(200, "b"), Node(1000, "c")])
    assert ring.halves(1, ["x", "y"]) == (Node(150, "x", REPLACE), Node(200, "y", REPLACE))
    around = ring.halves(0, ["x", "y"])  # owns what is after the last one, too
    assert around is not None and around[0].value == ((1000 + 100 + MOST + 1) >> 1) & MOST
    assert Ring.of([Node(1, "a"), Node(2, "b")]).halves(1, ["x", "y"]) is None
    children = ring.merged([0, 1], "n")
    assert children == (Node(100, None, DELETE), Node(200, "n", REPLACE))
    assert ring.with_children(children).nodes == (Node(200, "n", NORMAL), Node(1000, "c"))


class TestConsistentHashing(PathIndexContract):
    @pytest.fixture
    def table(self, tmp_path: Path) -> Any:
        return hoodoo.create(
            str(tmp_path / "t"), pa.schema([("id", pa.string()), ("p", pa.string()), ("ts", pa.int64())]), name="t",
            record_key="id", partition_by="p", ordering="ts", table_type="MERGE_ON_READ",
            index="consistent_bucket", options={"hoodie.bucket.index.num.buckets": 5},
        )  # fmt: skip


class TestDuplicate(ClusteringUpdatesContract):
    @pytest.fixture
    def updates(self) -> ClusteringUpdates:
        return Duplicate()
