"""Partition paths are left out of a read only where rows are known to lie where their columns say."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from attrs import evolve
from hoodoo.hookspecs import engine as engine_family
from hoodoo.model.instant import State
from hoodoo.timeline import properties
from hoodoo.timeline.layouts import LAYOUTS
from hoodoo.timeline.snapshot import Snapshot
from hoodoo_rows.placement import FOLLOWS, rows_follow_columns
from hoodoo_rows.testing.tables import Tuples
from hoodoo_standard.storage.local import LocalStorage

pytestmark = pytest.mark.sampled(4)

TYPES = ("COPY_ON_WRITE", "MERGE_ON_READ")
SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string()), ("v", pa.int64())])
# Index, version, options: those that leave a key where it lies.
STAYING: list[tuple[str, int, dict[str, str]]] = [
    ("record_index", 9, {}),
    ("growing_record_index", 9, {}),
    ("global_simple", 9, {"hoodie.simple.index.update.partition.path": "false"}),
    ("global_simple", 6, {"hoodie.simple.index.update.partition.path": "false"}),
    ("global_bloom", 9, {"hoodie.bloom.index.update.partition.path": "false"}),
    ("global_bloom", 6, {"hoodie.bloom.index.update.partition.path": "false"}),
]
CITIES = ("a", "b", "c")


@pytest.fixture(autouse=True, params=["few keys", "many keys"])
def keys(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The keys of a write are with the driver, or its tasks are asked."""
    if request.param == "many keys":
        monkeypatch.setattr(engine_family, "RESULT_BYTES", 0)


rows = Tuples(SCHEMA)


def made(
    path: Path, index: str, version: int, options: dict[str, str], **more: Any
) -> hoodoo.Table:
    return hoodoo.create(
        str(path), SCHEMA, record_key="id", partition_by="city", index=index,
        table_version=version, options=options, **more,
    )  # fmt: skip


def follows(table: hoodoo.Table) -> bool:
    return rows_follow_columns(Snapshot(LocalStorage(table.path), table.timeline()))


def answers(read: Callable[..., Any]) -> Iterator[tuple[Any, Any]]:
    """Filtered while reading, and afterwards."""
    for city in CITIES:
        where = pc.field("city") == city
        yield ids(read(where=where)), ids(read(), city)


def ids(scan: Any, city: str | None = None) -> list[Any]:
    table = scan.to_arrow()
    if city is not None:
        table = table.filter(pc.field("city") == city)
    return sorted(zip(table["id"].to_pylist(), table["v"].to_pylist(), strict=True))


def changed(scan: Any, city: str | None = None) -> list[Any]:
    found = [
        (row["op"], json.dumps([row["before"], row["after"]]))
        for row in scan.to_arrow().to_pylist()
        if city is None
        or any(image and image["city"] == city for image in (row["before"], row["after"]))
    ]
    return sorted(found)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize(("index", "version", "options"), STAYING)
def test_fault_a1_a_filter_on_the_partition_column_finds_rows_that_stayed(
    tmp_path: Path, kind: str, index: str, version: int, options: dict[str, str]
) -> None:
    table = made(tmp_path / "t", index, version, options, table_type=kind)
    first = table.upsert(rows((1, "a", 1), (2, "a", 1), (3, "c", 1))).instant
    assert follows(table)
    reader = hoodoo.open(table.path)  # opened before
    moved = table.upsert(rows((1, "b", 2), (3, "c", 2))).instant
    assert table.read(where=pc.field("city") == "b").count() == 1
    for one in (reader, hoodoo.open(table.path, options)):
        assert not follows(one)
        for point in (None, first, moved):
            for found, right in answers(lambda p=point, t=one, **w: t.read(as_of=p, **w)):
                assert found == right, point
        for found, right in answers(lambda t=one, **w: t.incremental(first, **w)):
            assert found == right
        for city in CITIES:
            found = changed(one.changes(first, where=pc.field("city") == city))
            assert found == changed(one.changes(first), city)
    at = Path(tmp_path / "t/.hoodie/hoodie.properties")
    before = at.read_bytes()
    table.upsert(rows((4, "a", 4), (1, "c", 4)))
    assert at.read_bytes() == before  # said once
    if kind == "MERGE_ON_READ":
        table.compact()
    for found, right in answers(table.read):
        assert found == right
    assert properties.load(LocalStorage(table.path)).get(FOLLOWS) == "false"
    assert table.verify().findings == ()


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize(
    ("index", "version"),
    [("simple", 9), ("simple", 6), ("bloom", 9), ("bucket", 9), ("record_index", 9), ("global_simple", 6)],
)  # fmt: skip
def test_partitions_are_left_out_where_nothing_stayed(
    tmp_path: Path, kind: str, index: str, version: int
) -> None:
    more = {"hoodie.bucket.index.num.buckets": "2"} if index == "bucket" else {}
    table = made(tmp_path / "t", index, version, more, table_type=kind)
    table.upsert(rows((1, "a", 1), (2, "b", 1), (3, "c", 1)))
    table.upsert(rows((1, "a", 2), (2, "b", 2)))
    table.delete([3]) if index in ("global_simple", "record_index") else table.append(
        rows((9, "c", 1))
    )
    table.insert_overwrite(rows((7, "c", 1)))
    if index != "bucket":
        table.cluster(columns="v")
    if kind == "MERGE_ON_READ":
        table.upsert(rows((1, "a", 3)))
        table.compact()
    plan = hoodoo.open(table.path).read(where=pc.field("city") == "a").plan
    assert {s.partition_path for s in plan.slices} == {"a"}
    assert follows(table)


def test_a_global_index_that_moves_keys_keeps_them_where_their_columns_say(tmp_path: Path) -> None:
    options = {"hoodie.record.index.update.partition.path": "true"}
    table = made(tmp_path / "t", "record_index", 9, options)
    table.upsert(rows((1, "a", 1), (2, "a", 1)))
    table.upsert(rows((1, "b", 2)))
    plan = table.read(where=pc.field("city") == "b").plan
    assert [s.partition_path for s in plan.slices] == ["b"]


def test_a_stranger_on_the_timeline_takes_the_certainty_away(tmp_path: Path) -> None:
    table = made(tmp_path / "t", "simple", 9, {})
    table.upsert(rows((1, "a", 1), (2, "b", 1)))
    assert follows(table)
    second = table.upsert(rows((1, "a", 2))).instant
    forget(Path(table.path), second)  # as a commit of another program
    assert not follows(hoodoo.open(table.path))
    for value in range(3):  # nor does a later commit of ours bring it back
        hoodoo.open(table.path).upsert(rows((1, "a", value)))
        assert not follows(hoodoo.open(table.path))


def test_a_service_of_a_stranger_changes_nothing(tmp_path: Path) -> None:
    table = made(tmp_path / "t", "simple", 9, {})
    table.upsert(rows((1, "a", 1), (2, "a", 1)))
    table.cluster(columns="v")
    assert follows(hoodoo.open(table.path))
    table.upsert(rows((1, "a", 2)))
    assert follows(hoodoo.open(table.path))


@pytest.mark.parametrize("kind", TYPES)
def test_of_a_table_that_does_not_say_footers_leave_files_out(tmp_path: Path, kind: str) -> None:
    table = made(tmp_path / "t", "simple", 9, {}, table_type=kind)
    table.upsert(rows((1, "a", 1), (2, "b", 1)))
    table.upsert(rows((1, "a", 2), (2, "b", 2)))
    storage = LocalStorage(table.path)
    properties.update(storage, properties.load(storage), {FOLLOWS: None})
    table = hoodoo.open(table.path)
    plan = table.read(where=pc.field("city") == "a").plan
    assert len(plan.slices) == (1 if kind == "COPY_ON_WRITE" else 2)  # merged rows have no footer
    assert table.read(where=pc.field("city") == "a").count() == 1
    table.upsert(rows((1, "a", 2)))
    assert not follows(hoodoo.open(table.path))


def test_what_was_archived_stays_known(tmp_path: Path) -> None:
    options = {
        "hoodie.keep.min.commits": "3", "hoodie.keep.max.commits": "4",
        "hoodie.clean.commits.retained": "1",
    }  # fmt: skip
    table = made(tmp_path / "t", "simple", 9, {})
    table = hoodoo.open(table.path, options)
    for value in range(12):
        table.upsert(rows((1, "a", value), (2, "b", value)))
    assert len(table.timeline().writes()) < 12
    assert follows(table)


def forget(path: Path, instant: str) -> None:
    """The commit of ``instant`` no longer says where its rows lie."""
    table = hoodoo.open(str(path))
    done = table.timeline().find(instant)
    assert done is not None and done.state is State.COMPLETED
    storage = LocalStorage(str(path))
    metadata = table.timeline().metadata(storage, done)
    extra = {k: v for k, v in metadata.extra.items() if k != FOLLOWS}
    content = LAYOUTS[2].encode_commit(evolve(metadata, extra=extra), done.action)
    storage.put(table.timeline().path(done), content)
