"""Record indexes that scale by groups of buckets, and that are rebuilt with other buckets or another hash."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow.compute as pc
import pytest
from hoodoo.errors import ConfigError, HoodooError, PluginError
from hoodoo_metadata.table.layout import GROWING_INDEX
from hoodoo_metadata.table.metadata_table import mark_of
from indexed_tables import create, lying, rows, told

pytestmark = pytest.mark.sampled(4)

SMALL = {
    "hoodoo.index.buckets": "2",
    "hoodoo.index.bucket.cap": "10",
    "hoodie.metadata.compact.max.delta.commits": "3",
}


def groups_of(path: Path, index: str = GROWING_INDEX) -> set[str]:
    """The file ids of an index."""
    names = (p.name.lstrip(".") for p in (path / ".hoodie/metadata" / index).iterdir())
    return {name.split("_")[0] for name in names if "record-index" in name}


def right(path: Path, **how: Any) -> None:
    """The index says where the rows are, of each key, and of none that is gone."""
    where = lying(path)
    asked = [*where, *(f"k{n}" for n in range(0, 1000, 7))]
    assert told(path, asked, **how) == where
    assert hoodoo.open(str(path)).verify().findings == ()


@pytest.mark.parametrize(("factor", "groups"), [("1", 4), ("2", 3)])
def test_loaded_buckets_get_a_new_group_of_buckets(
    tmp_path: Path, factor: str, groups: int
) -> None:
    path = tmp_path / "t"
    scaled = {"hoodoo.index.scaling": "bucket_groups", "hoodoo.index.scaling.factor": factor}
    table = create(path, "growing_record_index", options={**SMALL, **scaled})
    for first in range(0, 80, 10):
        table.upsert(rows(range(first, first + 10), 1))
    found = groups_of(path)
    assert len({file_id.rsplit("-", 1)[1] for file_id in found}) >= groups, found
    right(path, partition=GROWING_INDEX)
    table.delete([f"k{n}" for n in range(0, 80, 7)])
    table.upsert(rows(range(0, 80, 14), 2))  # some of these come again, into a younger group
    table.compact_metadata()
    right(path, partition=GROWING_INDEX)
    assert table.compare_indexes("growing_record_index", "global_simple").same
    assert len(table.read(where=pc.field("id") == "k14").plan.slices) == 1


def test_a_growing_index_is_made_with_other_buckets_and_another_hash(tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = create(path, "growing_record_index", options=SMALL)
    table.upsert(rows(range(60), 1))
    with pytest.raises((ConfigError, PluginError), match="nonsense"):
        table.rebuild_index("growing_record_index", hash="nonsense")
    with pytest.raises(ConfigError, match="scaling"):
        table.rebuild_index("growing_record_index", scaling="nonsense")
    assert table.upsert(rows(range(60), 2)).updated == 60  # nothing was changed
    table.rebuild_index("growing_record_index", buckets=3, hash="mixed", cap=50)
    assert groups_of(path) == {f"hoodoo-record-index-v1-000{n}-0" for n in range(3)}
    right(path, partition=GROWING_INDEX)
    again = hoodoo.open(str(path))
    assert again.config.get("hoodoo.index.hash") == "mixed"
    assert (again.upsert(rows(range(50, 70), 3)).updated, groups_of(path)) == (10, groups_of(path))
    again.rebuild_index("growing_record_index")  # stays as it is
    assert groups_of(path) == {f"hoodoo-record-index-v1-000{n}-0" for n in range(3)}
    right(path, partition=GROWING_INDEX)


def test_hudis_record_indexes_get_another_number_of_file_groups(tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = create(path)
    table.upsert(rows(range(30), 1))
    table.rebuild_index("record_index", buckets=3)
    assert groups_of(path, "record_index") == {f"record-index-000{n}-0" for n in range(3)}
    assert hoodoo.open(str(path)).upsert(rows(range(20, 40), 2)).updated == 10
    right(path)
    table.rebuild_index("record_index", buckets=12, hash="java")
    assert len(groups_of(path, "record_index")) == 12
    right(path)
    other = create(tmp_path / "p", "partitioned_record_index")
    other.upsert(rows(range(30), 1))
    other.rebuild_index("partitioned_record_index", buckets=2)
    assert len(groups_of(tmp_path / "p", "record_index")) == 2 * 3
    assert other.upsert(rows(range(30), 2)).updated == 30
    assert other.verify().findings == ()


@pytest.mark.parametrize(
    ("name", "shape", "said"),
    [
        ("record_index", {"hash": "mixed"}, "Java's hash"),
        ("record_index", {"scaling": "bucket_groups"}, "growing_record_index"),
        ("record_index", {"buckets": 0}, "buckets"),
        ("files", {"buckets": 3}, "a record index is"),
        (None, {"buckets": 3}, "a record index is"),
    ],
)
def test_what_no_index_can_be_made_by(
    tmp_path: Path, name: str | None, shape: dict[str, Any], said: str
) -> None:
    table = create(tmp_path / "t")
    table.upsert(rows(range(5), 1))
    with pytest.raises(HoodooError, match=said):
        table.rebuild_index(name, **shape)
    assert table.upsert(rows(range(5), 2)).updated == 5


@pytest.mark.parametrize(
    ("index", "shape"),
    [("record_index", {"buckets": 2}), ("growing_record_index", {"buckets": 3, "hash": "mixed"})],
)
def test_writers_go_on_while_the_number_of_buckets_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, index: str, shape: dict[str, Any]
) -> None:
    """A writer that looked before puts its entries by the old number, has to look again, and commits before the index
    is complete."""
    from hoodoo_metadata.life import build
    from hoodoo_metadata.writer import MetadataWriter

    path = tmp_path / "t"
    table = create(path, "global_simple")
    table.upsert(rows(range(30), 1))
    table.rebuild_index(index)
    looked, wiped, written = threading.Event(), threading.Event(), threading.Event()
    begin, write = build._begin, MetadataWriter.begin

    def begin_then_wait(*given: Any) -> Any:
        made = begin(*given)
        wiped.set()
        assert written.wait(60)
        return made

    def wait_then_write(self: MetadataWriter, change: Any) -> Any:
        looked.set()
        assert wiped.wait(60)
        return write(self, change)

    def write_rows() -> None:
        try:
            hoodoo.open(str(path)).upsert(rows(range(20, 60), 2))
        finally:
            written.set()

    monkeypatch.setattr(MetadataWriter, "begin", wait_then_write)
    writer = threading.Thread(target=write_rows)
    writer.start()
    assert looked.wait(60)
    monkeypatch.setattr(build, "_begin", begin_then_wait)
    hoodoo.open(str(path)).rebuild_index(index, **shape)
    writer.join()
    assert len(lying(path)) == 60
    partition = GROWING_INDEX if index.startswith("growing") else index
    right(path, partition=partition)
    assert hoodoo.open(str(path)).upsert(rows(range(60), 3)).updated == 60


@pytest.mark.parametrize("step", ["_wipe", "_begin", "_beside"])
def test_whoever_dies_while_it_is_made_anew_leaves_it_to_the_next_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    from hoodoo_metadata.life import build

    class Died(BaseException):
        pass

    def die(*given: Any) -> None:
        raise Died

    path = tmp_path / "t"
    table = create(path, "growing_record_index", options=SMALL)
    table.upsert(rows(range(30), 1))
    with monkeypatch.context() as patched:
        patched.setattr(build, step, die)
        with pytest.raises(Died):
            table.rebuild_index("growing_record_index", buckets=3, scaling="bucket_groups")
    assert hoodoo.open(str(path)).upsert(rows(range(20, 40), 2)).updated == 10
    assert {f for f in groups_of(path) if f.endswith("-0")} == {
        f"hoodoo-record-index-v1-000{n}-0" for n in range(3)
    }
    right(path, partition=GROWING_INDEX)


def test_who_retires_it_ends_before_the_properties_say_so(tmp_path: Path) -> None:
    """The next write rebuilds it: its files are there, without what says that they are complete."""
    path = tmp_path / "t"
    table = create(path, "growing_record_index", options=SMALL)
    table.upsert(rows(range(60), 1))
    (path / ".hoodie/metadata" / mark_of(GROWING_INDEX)).unlink()
    hoodoo.open(str(path)).upsert(rows(range(50, 70), 2))
    right(path, partition=GROWING_INDEX)
