"""A row that was deleted by key does not come back in a table that is merged on read, whatever comes later."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hoodoo
import hudi
import pyarrow as pa
import pytest
from hoodoo.hookspecs.merger import Merged
from hoodoo.testing.steps import before

SCHEMA = pa.schema([("id", pa.int64()), ("ts", pa.int64()), ("v", pa.string())])
DEAD = "_hoodie_is_deleted"
INDEXES = ("simple", "bloom", "global_simple", "bucket", "record_index")
versions = pytest.mark.parametrize("version", [6, 9])
indexes = pytest.mark.parametrize("index", INDEXES)
late = {"id": 1, "ts": 3, "v": "late"}


def create(path: Path, index: str = "simple", version: int = 9, **more: Any) -> hoodoo.Table:
    options = {"hoodie.bucket.index.num.buckets": 1} if index == "bucket" else {}
    given: dict[str, Any] = {"ordering": "ts", "table_type": "MERGE_ON_READ", **more}
    return hoodoo.create(
        str(path / "t"), SCHEMA, record_key="id", index=index, table_version=version, options=options, **given
    )  # fmt: skip


def stored(table: hoodoo.Table) -> hoodoo.Table:
    """Two rows in a base file."""
    table.upsert([{"id": 1, "ts": 10, "v": "erased"}, {"id": 2, "ts": 10, "v": "other"}])
    table.compact()
    return table


def seen(table: hoodoo.Table) -> list[str]:
    """The values, as both readers show them."""
    found = sorted(hoodoo.open(table.path).read(["v"]).to_arrow().column("v").to_pylist())
    batches = hudi.HudiTableBuilder.from_base_uri(table.path).build().read(hudi.HudiReadOptions())
    theirs = sorted(v for batch in batches for v in batch.column("v").to_pylist())
    assert theirs == found
    return found


@indexes
@versions
def test_a_late_row_after_a_delete_has_its_own_values(
    tmp_path: Path, index: str, version: int
) -> None:
    table = stored(create(tmp_path, index, version))
    table.delete([1])
    commit = table.upsert([late])
    assert seen(table) == ["late", "other"]
    assert (commit.inserted, commit.updated, commit.deleted, commit.unmerged) == (1, 0, 0, 0)
    table.compact()
    assert seen(table) == ["late", "other"] and table.verify().ok


@indexes
@versions
def test_a_late_mark_after_a_delete_does_nothing(tmp_path: Path, index: str, version: int) -> None:
    table = stored(create(tmp_path, index, version))
    table.delete([1])
    commit = table.upsert([{**late, DEAD: True}])
    assert (commit.inserted, commit.updated, commit.deleted) == (0, 0, 0)
    assert seen(table) == ["other"]
    table.compact()
    assert seen(table) == ["other"]


@versions
def test_a_late_row_under_a_pending_compaction(tmp_path: Path, version: int) -> None:
    """The base file that it will make has the newer row, which is deleted after the plan."""
    table = stored(create(tmp_path, "bucket", version))
    table.upsert([{"id": 1, "ts": 20, "v": "erased, too"}])
    planned = table.schedule_compaction()
    table.delete([1])
    table.upsert([{"id": 1, "ts": 15, "v": "late"}])
    assert sorted(table.read(["v"]).to_arrow().column("v").to_pylist()) == ["late", "other"]
    table.run_compaction(planned)
    assert seen(table) == ["late", "other"]
    table.upsert([{"id": 1, "ts": 16, "v": "next"}])
    table.compact()
    assert seen(table) == ["next", "other"] and table.verify().ok


@pytest.mark.sampled(1)
@pytest.mark.parametrize("ordering", [None, "ts"])
@pytest.mark.parametrize("index", ["simple", "bucket"])
@pytest.mark.parametrize("how", ["delete", "mark"])
def test_a_partial_row_after_a_delete_gets_no_value_of_the_erased_row(
    tmp_path: Path, ordering: str | None, index: str, how: str
) -> None:
    table = stored(create(tmp_path, index, ordering=ordering, merger="partial"))
    if how == "delete":
        table.delete([1])
    else:
        table.upsert(pa.table({"id": [1], "ts": [11], DEAD: [True]}))
    table.upsert(pa.table({"id": [1], "ts": [12]}))
    rows = {row["id"]: row["v"] for row in table.read(["id", "v"]).to_arrow().to_pylist()}
    assert rows == {1: None, 2: "other"}
    table.compact()
    rows = {row["id"]: row["v"] for row in table.read(["id", "v"]).to_arrow().to_pylist()}
    assert rows == {1: None, 2: "other"}


class Joins:
    """Both values, joined."""

    merge_mode = "CUSTOM"
    strategy_id = "755b420a-d5a4-488b-a84f-dd2cfc963c83"
    columns = None

    def merge(self, older: pa.Table, newer: pa.Table) -> Merged:
        texts = [
            f"{a}+{b}" for a, b in zip(older["v"].to_pylist(), newer["v"].to_pylist(), strict=True)
        ]
        at = newer.schema.get_field_index("v")
        return Merged(
            rows=newer.set_column(at, newer.schema.field(at), pa.array(texts, pa.string()))
        )


@pytest.mark.parametrize("how", ["delete", "mark"])
def test_a_merger_that_builds_rows_is_not_given_the_erased_row(tmp_path: Path, how: str) -> None:
    table = stored(create(tmp_path, merger=Joins()))
    if how == "delete":
        table.delete([1])
    else:
        table.upsert([{"id": 1, "ts": 11, "v": "mark", DEAD: True}])
    table.upsert([late])
    assert sorted(table.read(["v"]).to_arrow().column("v").to_pylist()) == ["late", "other"]


def test_a_mark_that_won_is_compared_with_later_rows_until_it_is_compacted(tmp_path: Path) -> None:
    """As in Hudi: it has an ordering value, and a delete by key has none."""
    table = stored(create(tmp_path))
    table.upsert([{"id": 1, "ts": 11, "v": "", DEAD: True}])
    table.upsert([late])
    assert seen(table) == ["other"]
    table.compact()
    table.upsert([late])
    assert seen(table) == ["late", "other"]


@pytest.mark.parametrize("first", ["delete", "late row"])
def test_writers_that_append_beside_each_other_erase_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    """With ``log_appends`` both may put log files into a bucket; of a delete by key one of them has to know."""
    options = {"hoodie.write.lock.conflict.resolution.strategy": "log_appends"}
    path = stored(create(tmp_path, "bucket")).path

    def other() -> None:
        table = hoodoo.open(path, options)
        table.delete([1]) if first == "delete" else table.upsert([late])

    table = hoodoo.open(path, options)
    with before("complete", other):
        table.upsert([late]) if first == "delete" else table.delete([1])
    assert seen(table) == (["late", "other"] if first == "delete" else ["other"])


def test_services_insert_nothing(tmp_path: Path) -> None:
    """In the timeline, as in the commit and its event."""
    table = stored(create(tmp_path))
    table.upsert([{"id": 1, "ts": 11, "v": "new"}])
    table.compact()
    commits = [table.cluster()]
    for row in table.report("timeline").rows:
        if row.operation in ("compact", "cluster"):
            assert (row.inserted, row.updated, row.deleted, row.unmerged) == (0, 0, 0, 0), row
    assert [(c.inserted, c.updated, c.deleted) for c in commits] == [(0, 0, 0)]


def test_rows_in_log_files_are_counted_as_unmerged(tmp_path: Path) -> None:
    """A late row that loses is no update: the count says that it is of rows that were written."""
    table = stored(create(tmp_path))
    commit = table.upsert([late])
    assert (commit.inserted, commit.updated, commit.unmerged) == (0, 1, 1)
    assert "1 of them in log files, not merged yet" in commit._repr_html_()
    assert commit.figures["rows_unmerged"] == 1
    (row,) = table.report("timeline", limit=1).rows
    assert (row.inserted, row.updated, row.unmerged) == (0, 1, 1)
    # A base file that is rewritten knows: of the same rows, and one that fills the file.
    table.compact()
    commit = table.upsert([late, {"id": 3, "ts": 1, "v": "new"}])
    assert (commit.inserted, commit.updated, commit.unmerged) == (1, 0, 0)
