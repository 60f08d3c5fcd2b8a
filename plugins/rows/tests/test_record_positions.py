"""Record positions: blocks of log files say which rows of the base file they change, where the index
has looked there, and a read merges by them. What is read is what keys would give."""

from __future__ import annotations

import base64
import random
from pathlib import Path
from typing import Any

import hoodoo
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from attrs import evolve
from hoodoo import Table
from hoodoo.kernel.log_files import log_files
from hoodoo.model.log_block import BlockKind, Header, LogBlock
from hoodoo.model.meta import RECORD_KEY
from hoodoo_formats.log.writer import LogWriter
from hoodoo_rows.api import Reads
from hoodoo_rows.merge import log_rows
from hoodoo_rows.write import tagging
from met_by_number import met_by_number
from pyroaring import BitMap64

SCHEMA = "id string, region string, ts bigint, v string"
BY_KEYS = {"hoodie.merge.use.record.positions": "false"}
LOOKING = ("simple", "global_simple", "bloom", "global_bloom")
Rows = dict[str, tuple[str, int, str]]


def made(path: Path, index: str = "simple", **more: Any) -> Table:
    options = {"hoodie.metadata.enable": "false", **more.pop("options", {})}
    return hoodoo.create(
        str(path), SCHEMA, name="t", record_key="id", ordering="ts", partition_by="region",
        table_type="mor", index=index, options=options, **more,
    )  # fmt: skip


def table_of(rows: Rows) -> pa.Table:
    return pa.table(
        {
            "id": pa.array(list(rows), pa.string()),
            "region": [region for region, _, _ in rows.values()],
            "ts": pa.array([ts for _, ts, _ in rows.values()], pa.int64()),
            "v": [v for _, _, v in rows.values()],
        }
    )


def many(count: int, ts: int, v: str, step: int = 1) -> Rows:
    return {f"k{n:05d}": ("ab"[n % 2], ts, f"{v}{n}") for n in range(0, count, step)}


def blocks(path: Path) -> list[tuple[LogBlock, pa.Table, str]]:
    """The blocks of the newest slices, their rows, and the path of the base file."""
    table = hoodoo.open(str(path))
    found = []
    for one in table.file_slices():
        for log in one.log_files:
            with log_files(table.config).reader(table.handle.storage, log.path) as reader:
                for block in reader.blocks:
                    read = reader.rows(block) if block.is_data else reader.deletes(block, [])
                    base = "" if one.base_file is None else one.base_file.path
                    found.append((block, read, base))
    return found


def shown(table: Table, **how: Any) -> list[str]:
    return sorted(map(str, table.read(**how).to_arrow().to_pylist()))


def by_keys(path: Path) -> Table:
    return hoodoo.open(str(path), options=BY_KEYS)


@pytest.mark.parametrize("index", LOOKING)
@pytest.mark.parametrize("version", [8, 9])
def test_blocks_say_the_rows_that_they_change(tmp_path: Path, index: str, version: int) -> None:
    table = made(tmp_path / "t", index, table_version=version)
    table.upsert(table_of(many(100, 1, "old")))
    given = list(many(100, 2, "new", 7).items())
    random.Random(7).shuffle(given)
    table.upsert(table_of(dict(given)))
    table.delete(table_of(many(20, 3, "", 3)).select(["id", "region"]))
    found = blocks(tmp_path / "t")
    assert {block.kind for block, _, _ in found} == {BlockKind.PARQUET, BlockKind.DELETE}
    for block, rows, base in found:
        assert block.headers[Header.BASE_FILE_INSTANT] in base
        text = block.headers[Header.RECORD_POSITIONS]
        at = list(BitMap64.deserialize(base64.b64decode(text)))
        stored = pa.parquet.read_table(tmp_path / "t" / base).column(RECORD_KEY)
        name = "record_key" if block.kind == BlockKind.DELETE else RECORD_KEY
        assert stored.take(at).to_pylist() == rows.column(name).to_pylist()
    assert shown(hoodoo.open(str(tmp_path / "t"))) == shown(by_keys(tmp_path / "t"))


@pytest.mark.parametrize("index", ["bucket", "record_index"])
def test_who_does_not_look_says_nothing(tmp_path: Path, index: str) -> None:
    table = made(tmp_path / "t", index, options={"hoodie.metadata.enable": "true"})
    table.upsert(table_of(many(20, 1, "old")))
    table.upsert(table_of(many(20, 2, "new", 3)))
    assert all(
        Header.RECORD_POSITIONS not in block.headers for block, _, _ in blocks(tmp_path / "t")
    )


def test_the_option_and_version_6(tmp_path: Path) -> None:
    off = {"hoodie.write.record.positions": "false"}
    for name, version, options in (("off", 9, off), ("six", 6, {})):
        path = tmp_path / name
        table = made(path, table_version=version)
        table.upsert(table_of(many(20, 1, "old")))
        hoodoo.open(str(path), options=options).upsert(table_of(many(20, 2, "new", 3)))
        assert blocks(path)
        for block, _, _ in blocks(path):
            assert not {Header.RECORD_POSITIONS, Header.BASE_FILE_INSTANT} & block.headers.keys()


def test_a_property_of_the_table_is_read(tmp_path: Path) -> None:
    """Hudi's configuration of writes, as a table of another writer may have it in its properties."""
    table = made(tmp_path / "t")
    table.upsert(table_of(many(20, 1, "old")))
    with (tmp_path / "t/.hoodie/hoodie.properties").open("a") as properties:
        properties.write("hoodie.write.record.positions=false\n")
    hoodoo.open(str(tmp_path / "t")).upsert(table_of(many(20, 2, "new", 3)))
    assert {Header.RECORD_POSITIONS in block.headers for block, _, _ in blocks(tmp_path / "t")} == {
        False
    }


def test_a_read_meets_by_number_only_where_all_blocks_say_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = made(tmp_path / "t")
    table.upsert(table_of({k: ("a", ts, v) for k, (_, ts, v) in many(50, 1, "old").items()}))
    newer = {k: ("a", ts, v) for k, (_, ts, v) in many(50, 2, "new", 5).items()}
    hoodoo.open(str(tmp_path / "t")).upsert(table_of(newer))
    found = met_by_number(monkeypatch)
    expected = shown(by_keys(tmp_path / "t"))
    assert found == [False]
    assert shown(hoodoo.open(str(tmp_path / "t"))) == expected
    assert found.pop() is True
    off = {"hoodie.write.record.positions": "false"}
    hoodoo.open(str(tmp_path / "t"), options=off).upsert(table_of({"k00001": ("a", 9, "last")}))
    found.clear()
    assert "last" in str(shown(hoodoo.open(str(tmp_path / "t"))))
    assert found == [False]


def test_columns_that_were_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other names in older files move no rows."""
    table = made(tmp_path / "t")
    table.upsert(table_of(many(40, 1, "old")))
    table.upsert(table_of(many(40, 2, "new", 3)))
    table.alter(rename={"v": "w"})
    found = met_by_number(monkeypatch)
    expected = shown(by_keys(tmp_path / "t"))
    assert set(found) == {False} and "'w': 'new3'" in str(expected)
    found.clear()
    assert shown(hoodoo.open(str(tmp_path / "t"))) == expected
    assert set(found) == {True}


def test_another_base_file_is_not_theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Log files that lie beside a base file of another instant than they say."""
    table = made(tmp_path / "t")
    table.upsert(table_of(many(40, 1, "old")))
    table.upsert(table_of(many(40, 2, "new", 3)))
    expected = shown(by_keys(tmp_path / "t"))
    found = met_by_number(monkeypatch)
    real = log_rows.base_rows
    monkeypatch.setattr(log_rows, "base_rows", lambda c, r, i: real(c, r, "20200101000000000"))
    assert shown(hoodoo.open(str(tmp_path / "t"))) == expected
    assert set(found) == {False}


def test_keys_that_a_file_has_twice_have_no_number(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    twice = table_of({"x": ("a", 1, "one"), "y": ("a", 1, "two")})
    table.bulk_insert(pa.concat_tables([twice, twice.slice(0, 1)]))
    table.upsert(table_of({"x": ("a", 2, "new"), "y": ("a", 2, "newer")}))
    (found,) = blocks(tmp_path / "t")
    assert Header.RECORD_POSITIONS not in found[0].headers
    assert [v for v in table.read().to_arrow().column("v").to_pylist()].count("new") == 2


def test_numbers_that_can_not_be_are_not_gone_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fewer numbers than rows, and text that is none."""
    table = made(tmp_path / "t")
    table.upsert(table_of(many(40, 1, "old")))
    table.upsert(table_of(many(40, 2, "new", 3)))
    expected = shown(by_keys(tmp_path / "t"))
    real = log_rows.base_rows
    with monkeypatch.context() as patch:
        patch.setattr(log_rows, "base_rows", lambda *a: [n[1:] for n in real(*a) or []])
        assert shown(hoodoo.open(str(tmp_path / "t"))) == expected
    block, _, _ = blocks(tmp_path / "t")[0]
    instant = block.headers[Header.BASE_FILE_INSTANT]
    (one,) = [s for s in table.file_slices() if s.log_files][:1]
    with log_files(table.config).reader(table.handle.storage, one.log_files[0].path) as reader:
        assert reader.base_rows(block, instant) is not None  # type: ignore[attr-defined]
        for text in ("", "AA==", "not base 64", "////////"):
            damaged = evolve(block, headers={**block.headers, Header.RECORD_POSITIONS: text})
            assert reader.base_rows(damaged, instant) is None  # type: ignore[attr-defined]


def test_rows_that_the_base_file_has_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers from behind its end are of another file: keys decide, and no row comes twice."""
    table = made(tmp_path / "t")
    table.upsert(table_of(many(40, 1, "old")))
    real = LogWriter.at_rows
    with monkeypatch.context() as patch:
        patch.setattr(LogWriter, "at_rows", lambda w, i, rows: real(w, i, rows + 1000))
        table.upsert(table_of(many(40, 2, "new", 3)))
    found = met_by_number(monkeypatch)
    assert shown(hoodoo.open(str(tmp_path / "t"))) == shown(by_keys(tmp_path / "t"))
    assert True in found
    assert table.read().count() == 40


def test_the_option_holds_for_what_is_made_of_a_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = made(tmp_path / "t")
    table.upsert(table_of(many(40, 1, "old")))
    table.upsert(table_of(many(40, 2, "new", 3)))
    found = met_by_number(monkeypatch)
    for opened, by_number in ((table, True), (by_keys(tmp_path / "t"), False)):
        scan = opened.read()
        plan = Reads.narrowed(scan.source, scan.plan, ["v"])
        assert evolve(scan, plan=plan).count() == 40
        assert set(found) == {by_number}
        found.clear()


READS = {
    "read": lambda table: table.read(),
    "head": lambda table: table.head(40),
    "snapshot": lambda table: table.query("snapshot"),
    "incremental": lambda table: table.incremental(since=0),
    "changes": lambda table: table.changes(since=1),
    "locate": lambda table: table.locate({"id": ["k00000", "k00001"]}),
}


@pytest.mark.parametrize("how", READS)
@pytest.mark.parametrize("said_by", ["option", "property"])
def test_the_option_holds_for_each_kind_of_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, said_by: str
) -> None:
    table = made(tmp_path / "t")
    table.upsert(table_of(many(40, 1, "old")))
    table.upsert(table_of(many(40, 2, "new", 3)))
    found = met_by_number(monkeypatch)

    def rows(opened: Table) -> list[str]:
        read = READS[how](opened)
        return sorted(
            map(str, (read.to_arrow() if hasattr(read, "to_arrow") else read).to_pylist())
        )

    expected = rows(table)
    assert expected and set(found) == {True}
    found.clear()
    if said_by == "property":
        with (tmp_path / "t/.hoodie/hoodie.properties").open("a") as properties:
            properties.write("hoodie.merge.use.record.positions=false\n")
    opened = by_keys(tmp_path / "t") if said_by == "option" else hoodoo.open(str(tmp_path / "t"))
    assert rows(opened) == expected
    assert set(found) == {False}


def test_the_option_holds_for_what_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A statement stores for good what it has read."""
    table = made(tmp_path / "t")
    table.upsert(table_of(many(40, 1, "old")))
    table.upsert(table_of(many(40, 2, "new", 3)))
    found = met_by_number(monkeypatch)
    by_keys(tmp_path / "t").update({"v": "'changed'"}, where="ts = 2")
    assert found and set(found) == {False}
    values = table.read(columns=["v"]).to_arrow().column("v").to_pylist()
    assert values.count("changed") == 14


def test_file_groups_of_two_paths_that_have_one_file_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So are buckets named of writers that do not block each other, by Spark Hudi and Flink."""
    fixed = "00000000-0000-0000-0000-000000000000"
    monkeypatch.setattr(tagging, "new_uuid", lambda *_: fixed)
    one = {"hoodie.bucket.index.num.buckets": "1"}
    table = made(tmp_path / "t", "bucket", options=one)
    table.bulk_insert(table_of({f"k{n}": ("a", 1, "") for n in range(5)}))
    table.bulk_insert(table_of({f"k{n}": ("b", 1, "") for n in (4, 2, 0, 3, 1)}))
    assert [s.file_id for s in table.file_slices()] == [f"{fixed}-0"] * 2
    hoodoo.open(str(tmp_path / "t")).delete(pa.table({"id": ["k1"]}))
    expected = sorted((f"k{n}", path) for n in (0, 2, 3, 4) for path in "ab")
    for opened in (hoodoo.open(str(tmp_path / "t")), by_keys(tmp_path / "t")):
        rows = opened.read(columns=["id", "region"]).to_arrow().to_pylist()
        assert sorted((row["id"], row["region"]) for row in rows) == expected
    assert sorted(rows.num_rows for _, rows, _ in blocks(tmp_path / "t")) == [1, 1]


def test_row_groups_that_a_filter_rules_out(tmp_path: Path) -> None:
    """A filter skips row groups, where log rows stand alone: numbers count from the file's begin."""
    small = {"hoodie.parquet.block.size": "4096"}
    table = made(
        tmp_path / "t", options={**small, "hoodie.write.record.merge.mode": "COMMIT_TIME_ORDERING"}
    )
    count = 4000
    old = {f"k{n:05d}": ("a", n, f"old{n}") for n in range(count)}
    hoodoo.open(str(tmp_path / "t"), options=small).bulk_insert(table_of(old))
    (base,) = [s.base_file.path for s in table.file_slices()]
    assert pa.parquet.ParquetFile(tmp_path / "t" / base).metadata.num_row_groups > 2
    newer = {k: ("a", ts, "new") for n, (k, (_, ts, _)) in enumerate(old.items()) if n % 9 == 0}
    hoodoo.open(str(tmp_path / "t"), options=small).upsert(table_of(newer))
    for where in (pc.field("ts") > count - 100, pc.field("ts") < 10, pc.field("v") == "new"):
        found = shown(hoodoo.open(str(tmp_path / "t")), where=where)
        assert found and found == shown(by_keys(tmp_path / "t"), where=where)


def merged_logs(path: Path) -> None:
    """A log compaction of slices with two blocks or more."""
    few = {"hoodie.log.compaction.blocks.threshold": "2"}
    hoodoo.open(str(path), options=few).run("logcompaction")


def three_times(path: Path) -> list[str]:
    """Written three times, with deletes; its rows."""
    table = made(path)
    table.upsert(table_of(many(40, 1, "old")))
    table.upsert(table_of(many(40, 2, "new", 3)))
    table.delete(table_of(many(40, 2, "new", 7)).select(["id", "region"]))
    table.upsert(table_of(many(40, 3, "newer", 5)))
    return shown(by_keys(path))


def test_a_compaction_merges_by_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, looked = pc.index_in, list[int]()
    for options in ({}, BY_KEYS):
        path = tmp_path / str(len(options))
        expected = three_times(path)
        table = hoodoo.open(str(path), options=options)
        with monkeypatch.context() as patch:  # keys are looked up among those that wait
            patch.setattr(pc, "index_in", lambda *a, **k: looked.append(1) or real(*a, **k))
            table.compact()
        assert bool(looked) == bool(options)
        assert not blocks(path) and shown(hoodoo.open(str(path))) == expected


def test_a_compaction_of_numbers_of_another_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a read: keys decide."""
    real = LogWriter.at_rows
    with monkeypatch.context() as patch:
        patch.setattr(LogWriter, "at_rows", lambda w, i, rows: real(w, i, rows + 1000))
        expected = three_times(tmp_path / "t")
    hoodoo.open(str(tmp_path / "t")).compact()
    assert shown(hoodoo.open(str(tmp_path / "t"))) == expected


def test_a_log_compaction_keeps_the_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = three_times(tmp_path / "t")
    merged_logs(tmp_path / "t")
    made_of = [b for b, _, _ in blocks(tmp_path / "t") if Header.COMPACTED_BLOCK_TIMES in b.headers]
    assert {b.kind for b in made_of} >= {BlockKind.DELETE} and len(made_of) == 4
    assert all(Header.RECORD_POSITIONS in b.headers for b in made_of)
    found = met_by_number(monkeypatch)
    assert shown(hoodoo.open(str(tmp_path / "t"))) == expected
    assert set(found) == {True}
    assert shown(by_keys(tmp_path / "t")) == expected


@pytest.mark.parametrize("wrong", ["one for all", "another each time"])
def test_a_log_compaction_goes_by_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    """Numbers that contradict the keys are not passed on, and lose no row."""
    real, turn = LogWriter.at_rows, iter(range(1000))

    def shifted(writer: LogWriter, instant: str, rows: Any) -> None:
        real(writer, instant, rows + (next(turn) if wrong == "another each time" else 0))

    with monkeypatch.context() as patch:
        patch.setattr(LogWriter, "at_rows", shifted)
        if wrong == "one for all":
            patch.setattr(
                LogWriter,
                "at_rows",
                lambda w, i, rows: real(w, i, np.arange(len(rows), dtype=np.int64)),
            )
        expected = three_times(tmp_path / "t")
    merged_logs(tmp_path / "t")
    made_of = [b for b, _, _ in blocks(tmp_path / "t") if Header.COMPACTED_BLOCK_TIMES in b.headers]
    assert made_of and not any(Header.RECORD_POSITIONS in b.headers for b in made_of)
    assert shown(by_keys(tmp_path / "t")) == shown(hoodoo.open(str(tmp_path / "t"))) == expected


@pytest.mark.sampled(2)
@pytest.mark.parametrize("index", LOOKING)
@pytest.mark.parametrize("mode", ["EVENT_TIME_ORDERING", "COMMIT_TIME_ORDERING"])
@pytest.mark.parametrize("virtual", [False, True])
def test_histories(tmp_path: Path, index: str, mode: str, virtual: bool) -> None:
    """Random upserts, partial ones, deletes and compactions: keys and numbers give the same."""
    chance = random.Random(f"{index} {mode} {virtual}")
    options = {"hoodie.write.record.merge.mode": mode}
    if virtual:
        options["hoodie.populate.meta.fields"] = "false"
    made(tmp_path / "t", index, options=options)

    def some() -> Rows:
        keys = chance.sample(range(60), chance.randint(1, 25))
        return {
            f"k{n:05d}": ("ab"[n % 2], chance.randint(1, 9), f"{chance.random():.3f}") for n in keys
        }

    def step(table: Table) -> None:
        drawn = chance.random()
        if drawn < 0.55:
            table.upsert(table_of(some()))
        elif drawn < 0.7 and not virtual:
            table.upsert(
                table_of(some()).select(["id", "region", "ts"]),
            )
        elif drawn < 0.9:
            table.delete(table_of(some()).select(["id", "region"]))
        else:
            before = shown(by_keys(tmp_path / "t"))
            table.compact() if drawn < 0.95 else merged_logs(tmp_path / "t")
            assert shown(by_keys(tmp_path / "t")) == before

    for _ in range(12):
        step(hoodoo.open(str(tmp_path / "t")))
        for columns in (None, ["v"], ["id", "v"], ["_hoodie_record_key", "ts"]):
            if virtual and columns is not None and columns[0].startswith("_"):
                continue
            found = shown(hoodoo.open(str(tmp_path / "t")), columns=columns)
            assert found == shown(by_keys(tmp_path / "t"), columns=columns)
    assert np.any(
        [Header.RECORD_POSITIONS in b.headers for b, _, _ in blocks(tmp_path / "t")] or [True]
    )
