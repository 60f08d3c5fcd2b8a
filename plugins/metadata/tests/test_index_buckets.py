"""Buckets of a record index, by the public API: how many there are, whose hash leads to them, which of them take new
entries, and how they are looked into."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import PluginError
from hoodoo.kernel.registry import kernel
from hoodoo.testing.distributions import fake_distribution
from hoodoo.testing.stores import Delegating
from hoodoo_metadata.partitions.record_index import index as record_index
from hoodoo_metadata.partitions.record_index.index import Bucket, RecordIndex
from hoodoo_metadata.table.layout import GROWING_INDEX
from hoodoo_metadata.table.slice import Layer, layers
from hoodoo_rows.testing.metered import MeteredEngine
from hoodoo_standard.engine.local import LocalEngine
from hoodoo_standard.storage.local import LocalStorage
from indexed_tables import create, lying, rows, told

pytestmark = pytest.mark.sampled(4)

GLOBAL, PATHS = "hoodie.metadata.global.record.level.index.", "hoodie.metadata.record.level.index."
OLDER, OLDER_PATHS = "hoodie.metadata.record.index.", "hoodie.metadata.partitioned.record.index."
SELDOM = {"hoodie.metadata.compact.max.delta.commits": "1000"}
# The hash of somebody else: keys are k and a number.
HASH = """
import pyarrow as pa
from hoodoo import hookimpl
from hoodoo.hookspecs.registration import Registration


class ByNumber:
    def spread(self, keys):
        return pa.array([int(key[1:]) for key in keys.to_pylist()], pa.int64())


@hookimpl
def hoodoo_index_hashes():
    return [Registration("acme_number", lambda settings: ByNumber())]
"""


def opened(path: Path, partition: str) -> RecordIndex:
    timeline = hoodoo.open(str(path)).timeline()
    return RecordIndex.open(LocalStorage(str(path)), timeline, partition=partition)


def files(path: Path, partition: str) -> dict[str, set[str]]:
    """The files of each file group of an index."""
    found: dict[str, set[str]] = {}
    for file in (path / ".hoodie/metadata" / partition).iterdir():
        if "record-index" in file.name:
            found.setdefault(file.name.lstrip(".").split("_")[0], set()).add(file.name)
    return found


# --- how many ------------------------------------------------------------------------------------
# An entry is taken for 48 bytes: 99 keys that are to double need 9 file groups of 1,056 bytes.
@pytest.mark.parametrize(
    ("options", "groups"),
    [
        ({}, 10),
        ({f"{GLOBAL}min.filegroup.count": "3"}, 3),
        ({f"{OLDER}min.filegroup.count": "4"}, 4),
        ({f"{GLOBAL}min.filegroup.count": "1", f"{OLDER}max.filegroup.size": "1056"}, 9),
        (
            {f"{GLOBAL}min.filegroup.count": "1", f"{OLDER}max.filegroup.size": "1056",
             f"{OLDER}growth.factor": "0.5"}, 2,
        ),
        (
            {f"{GLOBAL}min.filegroup.count": "1", f"{OLDER}max.filegroup.size": "1056",
             f"{GLOBAL}max.filegroup.count": "5"}, 5,
        ),
        (
            {f"{OLDER}min.filegroup.count": "1", f"{OLDER}max.filegroup.size": "1056",
             f"{OLDER}max.filegroup.count": "6"}, 6,
        ),
    ],
    ids=str,
)  # fmt: skip
def test_options_say_how_many_there_are(
    tmp_path: Path, options: dict[str, str], groups: int
) -> None:
    create(tmp_path / "t", "global_simple").upsert(rows(range(99), 1))
    table = hoodoo.open(str(tmp_path / "t"), options)
    table.rebuild_index("record_index")
    assert len(files(tmp_path / "t", "record_index")) == groups
    assert told(tmp_path / "t", lying(tmp_path / "t")) == lying(tmp_path / "t")


@pytest.mark.parametrize(
    ("options", "groups"),
    [
        ({}, 1),
        ({f"{PATHS}min.filegroup.count": "2"}, 2),
        ({f"{OLDER_PATHS}min.filegroup.count": "3"}, 3),
        ({f"{OLDER}max.filegroup.size": "352"}, 9),  # 33 keys in each path
        ({f"{OLDER}max.filegroup.size": "352", f"{PATHS}max.filegroup.count": "4"}, 4),
        ({f"{OLDER}max.filegroup.size": "352", f"{OLDER_PATHS}max.filegroup.count": "5"}, 5),
    ],
    ids=str,
)
def test_options_say_how_many_there_are_for_each_path(
    tmp_path: Path, options: dict[str, str], groups: int
) -> None:
    create(tmp_path / "t", "simple").upsert(rows(range(99), 1))
    table = hoodoo.open(str(tmp_path / "t"), options)
    table.rebuild_index("partitioned_record_index")
    made = files(tmp_path / "t", "record_index")
    assert {name: sum(f"-{name}-" in group for group in made) for name in ("p0", "p1", "p2")} == (
        dict.fromkeys(("p0", "p1", "p2"), groups)
    )
    assert hoodoo.open(str(tmp_path / "t")).verify().findings == ()


# --- whose hash ----------------------------------------------------------------------------------
@pytest.fixture
def numbered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    folder = fake_distribution(
        tmp_path / "installed", "acme", entry_points={"acme": "acme_number"},
        modules={"acme_number": HASH},
    )  # fmt: skip
    with monkeypatch.context() as patch:
        patch.syspath_prepend(str(folder))
        kernel.cache_clear()
        yield
    kernel.cache_clear()


@pytest.mark.parametrize("scaling", ["file_groups", "bucket_groups"])
@pytest.mark.usefixtures("numbered")
def test_a_hash_of_the_users_own(tmp_path: Path, scaling: str) -> None:
    path = tmp_path / "t"
    options = {
        "hoodoo.index.hash": "acme_number", "hoodoo.index.buckets": "3", "hoodoo.index.bucket.cap": "10",
        "hoodoo.index.scaling": scaling,
    }  # fmt: skip
    table = create(path, "growing_record_index", options=options)
    for first in range(0, 60, 15):
        table.upsert(rows(range(first, first + 15), 1))
    table = hoodoo.open(str(path))  # found by the name in the table
    assert table.upsert(rows(range(50, 70), 2)).updated == 10
    index = opened(path, GROWING_INDEX)
    for number, slices in enumerate(index.buckets):
        assert len(slices) > 1
        bucket = Bucket(index.storage, slices, growing=index.growing)
        keys = [k for part in bucket.entries() for k in part.column("record_key").to_pylist()]
        assert sorted(keys) == sorted(f"k{n}" for n in range(70) if n % 3 == number)
    table.delete(["k3", "k4"])
    assert told(path, [f"k{n}" for n in range(80)], partition=GROWING_INDEX) == lying(path)
    assert table.verify().findings == ()


@pytest.mark.usefixtures("numbered")
def test_a_hash_that_nobody_offers_any_more(tmp_path: Path) -> None:
    create(tmp_path / "t", "growing_record_index", options={"hoodoo.index.hash": "acme_number"})
    hoodoo.open(str(tmp_path / "t")).upsert(rows(range(3), 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [p for p in sys.path if not p.startswith(str(tmp_path))])
        kernel.cache_clear()
        with pytest.raises(PluginError, match="acme_number"):
            hoodoo.open(str(tmp_path / "t")).upsert(rows(range(3), 2))


# --- which of them take new entries --------------------------------------------------------------
@pytest.mark.parametrize("scaling", ["file_groups", "bucket_groups"])
def test_what_is_sealed_takes_nothing_more(tmp_path: Path, scaling: str) -> None:
    """Neither new keys, nor tombstones of those that it has, nor these keys when they come again."""
    path = tmp_path / "t"
    options = {
        "hoodoo.index.buckets": "2", "hoodoo.index.bucket.cap": "10", "hoodoo.index.scaling": scaling,
        "hoodoo.index.scaling.factor": "1", **SELDOM,
    }  # fmt: skip
    table = create(path, "growing_record_index", options=options)
    before, sealed = files(path, GROWING_INDEX), 0
    for n in range(12):
        if n % 3:
            table.upsert(rows(range(10 * n, 10 * n + 10), 1))
        elif n:
            table.delete([f"k{10 * n - 20}", f"k{10 * n - 19}"])
            table.upsert(rows([10 * n - 20], 2))
        now = files(path, GROWING_INDEX)
        for group in (name for name in now if now[name] != before.get(name)):
            bucket, _, number = group.rpartition("-")
            alike = [g for g in before if scaling == "bucket_groups" or g.startswith(f"{bucket}-")]
            newest = max((int(g.rpartition("-")[2]) for g in alike), default=0)
            assert int(number) >= newest, (group, sorted(before))
            sealed += int(number) > newest
        before = now
    assert sealed >= 4
    assert told(path, [f"k{n}" for n in range(130)], partition=GROWING_INDEX) == lying(path)


# --- how they are looked into --------------------------------------------------------------------
def test_hfiles_of_a_bucket_are_looked_into_at_the_same_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t"
    few = {f"{GLOBAL}min.filegroup.count": "1", f"{GLOBAL}max.filegroup.count": "1"}
    table = create(path, options={**few, **SELDOM})
    found: tuple[Layer, ...] = ()
    while len(found) < 4:
        table.upsert(rows(range(10 * len(found), 10 * len(found) + 10), 1))
        index = opened(path, "record_index")
        ((slice_,),) = index.buckets
        found = layers(index.storage, slice_)
    where, met, look = lying(path), threading.Barrier(4, timeout=60), Layer.get

    def together(self: Layer, *given: Any, **more: Any) -> pa.Table:
        met.wait()  # who comes alone waits in vain
        return look(self, *given, **more)

    monkeypatch.setattr(Layer, "get", together)
    monkeypatch.setattr(
        "hoodoo_metadata.partitions.record_index.bucket.layers", lambda *_: found[:4]
    )
    located = Bucket(Far(index.storage), (slice_,)).get_record_locations(pa.array(sorted(where)))
    assert located.num_rows >= 30


class Far(Delegating):
    """Operations on it wait for a network."""

    at_once = 4


@pytest.mark.parametrize(("buckets", "dealt"), [(3, 3), (10, 4)])
def test_buckets_are_dealt_to_two_tasks_for_each_core(
    tmp_path: Path, buckets: int, dealt: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    deal = record_index._dealt

    def counted(*given: Any) -> Any:
        payloads = deal(*given)
        asked.append(len(payloads))
        return payloads

    table = create(tmp_path / "t", options={f"{GLOBAL}min.filegroup.count": str(buckets)})
    table.upsert(rows(range(200), 1))
    monkeypatch.setattr(record_index, "_dealt", counted)
    assert table.upsert(rows(range(200), 2), engine=LocalEngine(2)).updated == 200
    assert asked == [dealt]


@pytest.mark.parametrize("index", ["record_index", "partitioned_record_index"])
def test_many_asked_keys_are_exchanged_by_bucket(
    tmp_path: Path, index: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than a task is to hold: each bucket gets its own alone."""
    table = create(tmp_path / "t", index)
    table.upsert(rows(range(50), 1))
    counts = []
    for most in (record_index._SIDE_BYTES, 0):
        monkeypatch.setattr(record_index, "_SIDE_BYTES", most)
        engine = MeteredEngine(LocalEngine(2))
        assert table.upsert(rows(range(40, 50), 2), engine=engine).updated == 10
        counts.append([exchange.read().rows for exchange in engine.exchanges].count(10))
    assert counts[1] == counts[0] + 1
