"""Rewriting files: other options reach old files, and everything else stays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hoodoo.errors import HoodooError, OptionConflictError, SchemaError, UnknownOptionError
from hoodoo_services import rewrite as module

pytestmark = pytest.mark.sampled(2)

COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"
SCHEMA = pa.schema(
    [("id", pa.int64()), ("v", pa.string()), ("ts", pa.int64()), ("region", pa.string())]
)
GZIP = {"hoodie.parquet.compression.codec": "gzip"}


def batch(ids: range, text: str, ts: int) -> pa.Table:
    columns = [[*ids], [text] * len(ids), [ts] * len(ids), ["a" if i % 2 else "b" for i in ids]]
    return pa.table(columns, schema=SCHEMA)


def made(path: Path, kind: str = COW, version: int = 9, **more: Any) -> hoodoo.Table:
    """Two partitions; some rows were updated: in a table that is merged on read these are in logs."""
    table = hoodoo.create(
        str(path), SCHEMA, record_key="id", partition_by="region", ordering="ts", table_type=kind,
        table_version=version, **more,
    )  # fmt: skip
    table.upsert(batch(range(40), "old", 1))
    table.upsert(batch(range(0, 20, 3), "new", 2))
    return table


def codecs(table: hoodoo.Table) -> dict[str, str]:
    """By partition path."""
    root = Path(table.path.removeprefix("file://"))
    found = {}
    for slice_ in table.file_slices():
        if slice_.base_file is not None:
            footer = pq.ParquetFile(root / slice_.base_file.path).metadata
            found[slice_.partition_path] = footer.row_group(0).column(5).compression
    return found


def whole(table: hoodoo.Table, **more: Any) -> list[str]:
    """All rows, the times of their commits and their places."""
    columns = ["_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_record_key", *SCHEMA.names]
    return sorted(map(repr, table.read(columns=columns, **more).to_arrow().to_pylist()))


@pytest.mark.parametrize("index", ["simple", "record_index", "bucket"])
@pytest.mark.parametrize("version", [6, 8, 9])
@pytest.mark.parametrize("kind", [COW, MOR])
def test_another_codec(tmp_path: Path, kind: str, version: int, index: str) -> None:
    table = made(tmp_path, kind, version, index=index)
    groups = {(s.partition_path, s.file_id) for s in table.file_slices()}
    before, last = whole(table), table.timeline().writes()[-1].requested
    table.savepoint()
    then = whole(table, as_of=last)
    told: list[tuple[str, int, int]] = []
    done = table.rewrite(GZIP, progress=lambda *said: told.append(said))
    assert done.done and done.groups == len(groups) and done.instants and not done.left
    assert told[0] == ("rewrite", 0, len(groups)) and told[-1][1:] == (len(groups), len(groups))
    assert set(codecs(table).values()) == {"GZIP"}
    assert groups == {(s.partition_path, s.file_id) for s in table.file_slices()}
    assert whole(table) == before and whole(table, as_of=last) == then
    assert table.incremental(since=last).to_arrow().num_rows == 0
    assert table.changes(since=last).to_arrow().num_rows == 0
    table.clean(commits_retained=1)
    assert whole(table, as_of=last) == then, "of a savepoint"
    table.upsert(batch(range(2, 4), "more", 3))
    table.delete([5])
    assert {row["id"] for row in table.read(where="v = 'more'").to_pylist()} == {2, 3}
    assert table.count() == 39 and table.run("check_index").same and table.verify().ok


@pytest.mark.parametrize("kind", [COW, MOR])
def test_what_is_chosen(tmp_path: Path, kind: str) -> None:
    table = made(tmp_path, kind)
    files = {p for p in tmp_path.rglob("*") if p.is_file()}
    found = table.rewrite(GZIP, dry_run=True)
    assert (found.groups, found.instants, found.done) == (2, (), False) and found.bytes > 0
    assert {p for p in tmp_path.rglob("*") if p.is_file()} == files
    assert table.rewrite(GZIP, partitions="a").groups == 1
    assert codecs(table)["a"] == "GZIP" != codecs(table)["b"]
    assert table.rewrite(GZIP, where="region = 'a'").groups == 0, "is rewritten"
    assert table.rewrite(GZIP, "region = 'b'").groups == 1
    assert set(codecs(table).values()) == {"GZIP"}
    assert table.rewrite(GZIP) == table.rewrite(GZIP, partitions=["a", "nowhere"])
    assert table.rewrite(GZIP, again=True).groups == 2
    assert table.rewrite({"hoodie.parquet.compression.codec": "snappy"}).groups == 2
    assert set(codecs(table).values()) == {"SNAPPY"}


def test_a_call_that_died_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups that it has rewritten, or that a writer has written since, are left out."""
    table = made(tmp_path)
    monkeypatch.setattr(module, "GROUPS", 1)
    real, commits = module.Writes.files, []

    def cut_short(*given: Any) -> Any:
        if commits:
            raise KeyboardInterrupt
        commits.append(real(*given))
        return commits[0]

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(module.Writes, "files", cut_short)
        table.rewrite(GZIP)
    assert sorted(codecs(table).values()) == ["GZIP", "ZSTD"]
    table = hoodoo.open(str(tmp_path))
    done = table.rewrite(GZIP)
    assert done.groups == len(done.instants) == 1
    table.upsert(batch(range(1), "later", 3))
    assert table.rewrite(GZIP).groups == 0
    assert table.rewrite(GZIP, again=True).groups == 2


@pytest.mark.parametrize("kind", [COW, MOR])
def test_files_of_other_columns(tmp_path: Path, kind: str) -> None:
    table = made(tmp_path, kind)
    assert table.rewrite(evolved=True).groups == 0, "all have the columns of the table"
    table.alter(rename={"v": "w"})
    table.upsert(pa.table({"id": [1], "w": ["last"], "ts": [9], "region": ["a"]}))
    before = sorted(map(repr, table.read().to_pylist()))
    done = table.rewrite(evolved=True)
    # A write copies the whole file; a log file leaves it as it is.
    assert done.groups == (1 if kind == COW else 2)
    for slice_ in table.file_slices():
        assert slice_.base_file is not None
        assert "w" in pq.ParquetFile(tmp_path / slice_.base_file.path).schema_arrow.names
    assert sorted(map(repr, table.read().to_pylist())) == before
    table.alter(add={"more": "string"})
    assert table.rewrite(GZIP, evolved=True, partitions="a").groups == 1
    assert table.rewrite(GZIP, evolved=True).groups == 1, "these have the columns of the table now"
    assert table.rewrite(evolved=True).groups == 0
    assert table.verify().ok


def test_virtual_keys(tmp_path: Path) -> None:
    table = made(tmp_path)
    assert table.rewrite(virtual_keys=True).groups == 2
    assert not table.config.populate_meta_fields
    assert table.rewrite(virtual_keys=True).groups == 0
    assert table.rewrite_keys().groups == 0 and table.count() == 40


def test_larger_files(tmp_path: Path) -> None:
    table = made(tmp_path)
    for number in range(3):
        table.bulk_insert(batch(range(100 + number * 10, 110 + number * 10), "bulk", 1))
    slices, before = len(table.file_slices()), whole(table)
    done = table.rewrite(GZIP, target_file_size=1 << 20)
    assert len(table.file_slices()) == 2 < slices
    assert set(codecs(table).values()) == {"GZIP"} and done.done and not done.left
    assert whole(table) == before and table.verify().ok


def test_groups_of_a_pending_plan_are_left(tmp_path: Path) -> None:
    table = made(tmp_path)
    planned = table.schedule_clustering(columns="ts", partitions="a")
    assert planned is not None
    assert [path for path, _file_id in table.rewrite(GZIP).left] == ["a"]
    table.run_clustering(planned)
    assert not table.rewrite(GZIP).left


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"options": {"hoodie.parquet.codec": "gzip"}}, UnknownOptionError, "knows this option"),
        ({"options": {"hoodie.parquet.compression.codec": "brown"}}, HoodooError, "brown"),
        ({"options": {"hoodie.table.type": MOR}}, OptionConflictError, "hoodie.table.type"),
        ({"where": "nothing = 1"}, SchemaError, "nothing"),
    ],
)
def test_what_is_refused(
    tmp_path: Path, arguments: dict[str, Any], error: type[HoodooError], says: str
) -> None:
    table = made(tmp_path)
    writes = len(table.timeline().instants)
    with pytest.raises(error, match=says) as caught:
        table.rewrite(**arguments)
    assert caught.value.fix
    assert len(table.timeline().instants) == writes


@pytest.mark.spark
def test_on_spark(tmp_path: Path) -> None:
    table = made(tmp_path, MOR)
    before = whole(table)
    assert table.rewrite(GZIP, engine="spark").groups == 2
    assert set(codecs(table).values()) == {"GZIP"} and whole(table) == before
