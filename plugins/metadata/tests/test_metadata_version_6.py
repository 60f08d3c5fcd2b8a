"""Metadata tables of table version 6: made, kept by every action, shared with writers that append."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hoodoo
import pyarrow.compute as pc
import pytest
from hoodoo.errors import CorruptTableError, UnsupportedTableError
from hoodoo_metadata import writer
from hoodoo_metadata.table import compact
from hoodoo_metadata.table.metadata_table import FOLDER
from hoodoo_standard.storage.local import LocalStorage
from indexed_tables import Asked, create, lying, rows, told

pytestmark = pytest.mark.sampled(4)

ALL = ("column_stats", "files", "record_index")
TYPES = ("COPY_ON_WRITE", "MERGE_ON_READ")
FEW = {"hoodie.metadata.global.record.level.index.min.filegroup.count": "2"}
OFTEN = {"hoodie.metadata.compact.max.delta.commits": "4"}


def made(path: Path, kind: str = "COPY_ON_WRITE", **options: str) -> hoodoo.Table:
    return create(path, table_version=6, table_type=kind, options={**FEW, **options})


def opened(path: Path, **options: str) -> hoodoo.Table:
    return hoodoo.open(str(path), options={**FEW, **options})


def right(path: Path, count: int, partitions: tuple[str, ...] = ALL) -> None:
    table = hoodoo.open(str(path))
    assert table.config.metadata_partitions == partitions
    assert table.read().to_arrow().num_rows == count
    where = lying(path)
    assert told(path, [*where, "nobody"]) == where
    assert table.verify().findings == ()


def logs(path: Path, partition: str) -> list[Path]:
    return sorted((path / FOLDER / partition).glob(".*.log.*"))


@pytest.mark.parametrize("kind", TYPES)
def test_every_action_keeps_it(tmp_path: Path, kind: str) -> None:
    table = made(tmp_path, kind, **{"hoodie.metadata.index.bloom.filter.enable": "true"})
    with_filters = ("bloom_filters", *ALL)
    right(tmp_path, 0, with_filters)
    for ts in range(6):  # compacted once in between
        opened(tmp_path, **OFTEN).upsert(rows(range(ts, ts + 9), ts))
    names = {p.name.rpartition(".")[0] for p in (tmp_path / FOLDER / ".hoodie").glob("*.commit")}
    assert names and all(len(n) == 20 and n.endswith("001") for n in names)
    table.delete(rows([3, 4], 9))
    right(tmp_path, 12, with_filters)
    if kind == "MERGE_ON_READ":
        table.compact()
    table.clean(commits_retained=1)
    opened(tmp_path).compact_metadata()
    table.insert_overwrite(rows([20], 9, "p0"))
    right(tmp_path, 9, with_filters)
    undone = opened(tmp_path).upsert(rows([20, 30], 10))
    opened(tmp_path).rollback(undone.instant)
    right(tmp_path, 9, with_filters)
    table.rebuild_index()
    begun = {p.name.split("_")[-1][17:20] for p in (tmp_path / FOLDER / "files").glob("*.hfile")}
    assert begun == {"010"}
    table.upsert(rows(range(3), 11))
    right(tmp_path, 10, with_filters)
    scan = hoodoo.open(str(tmp_path)).read(where=pc.field("part") == "p1")
    assert scan.to_arrow().num_rows == 4


def test_no_directory_is_listed(tmp_path: Path) -> None:
    made(tmp_path).upsert(rows(range(9), 1))
    store = Asked(LocalStorage(str(tmp_path)))
    table = hoodoo.Table(store, hoodoo.open(str(tmp_path)).config, {})
    assert table.read().to_arrow().num_rows == 9
    assert not [path for path in store.listed if not path.startswith(".hoodie")]


def test_what_it_cannot_have_is_refused(tmp_path: Path) -> None:
    for n, index in enumerate(("partitioned_record_index", "growing_record_index")):
        with pytest.raises(UnsupportedTableError, match=f"version 6: {index}"):
            create(tmp_path / str(n), index, table_version=6)
        assert not (tmp_path / str(n) / ".hoodie").exists()
    table = made(tmp_path / "t")
    for name in ("partition_stats", "partitioned_record_index", "growing_record_index"):
        with pytest.raises(UnsupportedTableError, match="version 6"):
            table.rebuild_index(name)
    right(tmp_path / "t", 0)


def test_a_compaction_that_is_planned_beside_a_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the write tells goes behind it: else nobody would read it."""
    made(tmp_path).upsert(rows(range(9), 1))
    put = writer.put_deltas

    def planned(*given: Any) -> Any:
        stats = put(*given)
        found = hoodoo.open(str(tmp_path))
        compact.schedule(LocalStorage(str(tmp_path)), found.timeline(), ALL)
        return stats

    monkeypatch.setattr(writer, "put_deltas", planned)
    opened(tmp_path).upsert(rows(range(6, 12), 2))
    monkeypatch.undo()
    starts = {p.name.partition("_")[2].partition(".")[0] for p in logs(tmp_path, "files")}
    assert sorted(s[17:] for s in starts) == ["", "001"]
    right(tmp_path, 12)
    opened(tmp_path).compact_metadata()
    right(tmp_path, 12)
    opened(tmp_path).upsert(rows(range(3), 3))
    right(tmp_path, 12)


def appended(path: Path) -> None:
    """The newest log file of each group is the end of the one before, as writers leave it whose store appends."""
    for partition in ALL:
        groups: dict[str, list[Path]] = {}
        for log in logs(path, partition):
            groups.setdefault(log.name.partition("_")[0], []).append(log)
        for found in groups.values():
            found.sort(key=lambda p: int(p.name.partition(".log.")[2].partition("_")[0]))
            if len(found) > 1:
                with found[-2].open("ab") as file:
                    file.write(found[-1].read_bytes())
                found[-1].unlink()


def test_blocks_of_several_instants_in_one_file(tmp_path: Path) -> None:
    """A rollback takes back those of its instant, and leaves the others."""
    table = made(tmp_path)
    table.upsert(rows(range(9), 1))
    undone = table.upsert(rows(range(6, 15), 2))
    appended(tmp_path)
    right(tmp_path, 15)
    before = len(logs(tmp_path, "files"))
    opened(tmp_path).rollback(undone.instant)
    assert len(logs(tmp_path, "files")) == before + 1  # the rollback block
    right(tmp_path, 9)
    opened(tmp_path).upsert(rows(range(12), 3))
    right(tmp_path, 12)


def test_a_torn_file_of_a_writer_that_died(tmp_path: Path) -> None:
    made(tmp_path).upsert(rows(range(9), 1))
    whole = logs(tmp_path, "files")[-1]
    torn = whole.with_name(whole.name.partition(".log.")[0] + ".log.7_0-1-2")
    torn.write_bytes(whole.read_bytes()[:40])
    right(tmp_path, 9)
    whole.write_bytes(whole.read_bytes()[:-40])  # one that a commit names
    with pytest.raises(CorruptTableError, match="rebuild-index"):
        hoodoo.open(str(tmp_path)).read().to_arrow()


def test_archiving_waits_for_a_compaction(tmp_path: Path) -> None:
    """What log files tell of an instant counts for Hudi while that is on the active timeline."""
    made(tmp_path)
    settings = {
        "hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3", "hoodie.clean.automatic": "false",
        "hoodie.archive.automatic": "false", "hoodie.clean.commits.retained": "1",
        "hoodie.metadata.compact.max.delta.commits": "99",
    }  # fmt: skip
    for ts in range(6):
        hoodoo.open(str(tmp_path), options=settings).upsert(rows(range(4), ts))
    table = hoodoo.open(str(tmp_path), options=settings)
    table.clean(commits_retained=1)
    held = table.archive()
    assert not held.instants and "compacted" in held.held
    table.compact_metadata()
    assert hoodoo.open(str(tmp_path), options=settings).archive().instants
    right(tmp_path, 4)
