"""Whether an index knows where rows are, asked of a sample of keys or of all: in verify, and by its action."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from attrs import frozen
from hoodoo.errors import CallError
from hoodoo.hookspecs.engine import Stream
from hoodoo.hookspecs.index import LOCATIONS_SCHEMA, IndexContext
from hoodoo_cli.commandline import main
from hoodoo_standard.index.simple import SimpleIndex
from indexed_tables import create, rows

pytestmark = pytest.mark.sampled(4)

INDEXES = [
    "simple", "global_simple", "bloom", "global_bloom", "record_index", "partitioned_record_index",
    "growing_record_index",
]  # fmt: skip


@frozen
class Forgetful:
    """A simple index that finds no k3, and says of k5 that it lies where k0 does."""

    is_global: bool = False
    moves_partitions: bool = False

    def locate(self, keys: Stream, context: IndexContext) -> Stream:
        engine = context.engine
        found = engine.collect(SimpleIndex().locate(keys, context))
        key = found.column("record_key")
        there = found.filter(pc.not_equal(key, "k3")).to_pylist()
        first = context.slices[0]
        for row in there:
            if row["record_key"] == "k5":
                row |= {"partition_path": first.partition_path, "file_id": first.file_id}
        return engine.source(pa.Table.from_pylist(there, LOCATIONS_SCHEMA))


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("index", INDEXES)
def test_whole_tables(tmp_path: Path, index: str, kind: str) -> None:
    table = create(tmp_path, index, table_type=kind)
    table.upsert(rows(range(40), 1))
    table.upsert(rows(range(20, 60), 2))
    table.delete(rows(range(0, 60, 7), 3))
    left = table.read().count()
    for sample, looked in ((None, left), (10, 10), (1000, left)):
        found = table.run("check_index", sample=sample)
        assert found.same and found.found == (looked, looked)
    report = table.verify(sample=10)
    assert report.ok and report.checked.keys == 10
    assert table.verify(sample=10, quick=True).checked.keys == 0


def test_keys_that_are_there_twice(tmp_path: Path) -> None:
    """An index that has room for one place names one of them."""
    table = create(tmp_path, "record_index")
    table.append(rows(range(6), 1))
    table.append(rows(range(3), 2))
    for index in ("record_index", "global_simple"):
        for sample in (None, 4):
            assert table.run("check_index", sample=sample, index=index).same


def test_what_is_wrong_is_found(tmp_path: Path) -> None:
    create(tmp_path, "simple").upsert(rows(range(12), 1))
    table = hoodoo.open(str(tmp_path), index=Forgetful())
    found = table.run("check_index")
    wrong = {(r["record_key"], r["found_by"]) for r in found.differences.to_pylist()}
    assert ("k3", 0) in wrong and {key for key, _ in wrong} == {"k3", "k5"}
    report = table.verify(sample=100)
    assert report.kinds == ("index.keys",) and "'k" in report.findings[0].rule
    assert table.verify().ok  # reads the keys, and asks no index that stores none
    with pytest.raises(CallError, match="sample=0"):
        table.verify(sample=0)


def test_the_record_index_that_lacks_keys(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = create(tmp_path, "record_index")
    table.upsert(rows(range(12), 1))
    (tmp_path / ".hoodie/metadata/record_index").rename(tmp_path / "gone")
    codes: list[Any] = []
    for arguments in (["--sample", "5"], ["--sample", "5", "--json"]):
        with pytest.raises(SystemExit) as caught:
            main(["verify", str(tmp_path), *arguments])
        codes.append(caught.value.code)
    assert codes == [1, 1]
    printed = capsys.readouterr().out
    kinds = [f["kind"] for f in json.loads(printed[printed.index("{") :])["findings"]]
    assert "index.keys" in kinds


def test_it_changes_nothing(tmp_path: Path) -> None:
    """Not even what writers that died have left."""
    table = create(tmp_path, "simple")
    table.upsert(rows(range(12), 1))
    left = tmp_path / ".hoodie/timeline/20200101000000000.commit.requested"
    left.write_bytes(b"")
    before = sorted(str(p) for p in tmp_path.rglob("*"))
    assert table.run("check_index", sample=5).same
    assert table.locate(["k3"]).num_rows == 1
    assert table.locate(["k3"], as_of=table.timeline().writes()[0].requested).num_rows == 1
    assert sorted(str(p) for p in tmp_path.rglob("*")) == before
