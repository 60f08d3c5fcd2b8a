"""A backup is a state that the table had; tags and clones."""

from __future__ import annotations

import os
import random
import shutil
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hoodoo.errors import (
    CommitConflictError,
    ConfigError,
    CorruptTableError,
    HoodooError,
    TableExistsError,
    UnsupportedTableError,
)
from hoodoo.testing.stores import Crash, CrashingStorage, GatedStorage
from hoodoo_cli.commandline import main
from hoodoo_copies.backup import MANIFESTS, Copy
from hoodoo_standard.storage.local import LocalStorage

SEED = int(os.environ.get("HOODOO_SEED", "0") or 0)
SCHEMA = pa.schema([("id", pa.int64()), ("v", pa.string()), ("region", pa.string())])
KINDS = [("COPY_ON_WRITE", 9), ("MERGE_ON_READ", 9), ("MERGE_ON_READ", 6)]
FREQUENT = {"hoodie.clean.commits.retained": "1", "hoodie.keep.min.commits": "2",
            "hoodie.keep.max.commits": "3"}  # fmt: skip


def made(path: Path, kind: str = "COPY_ON_WRITE", version: int = 9, **how: Any) -> hoodoo.Table:
    table = hoodoo.create(str(path), SCHEMA, record_key="id", partition_by="region", table_type=kind,
                          table_version=version, **how)  # fmt: skip
    for number in range(4):
        write(table, number)
    return table


def write(table: hoodoo.Table, number: int) -> None:
    table.upsert(
        [{"id": i, "v": f"{number}", "region": "ab"[i % 2]} for i in range(number, number + 5)]
    )


def state(path: Path | str) -> Any:
    found = hoodoo.open(str(path)).read().to_arrow().to_pylist()
    return sorted((row["id"], row["v"]) for row in found)


def refused(kind: type[HoodooError], call: Any) -> str:
    with pytest.raises(kind) as caught:
        call()
    assert caught.value.obj and caught.value.rule and caught.value.fix
    return str(caught.value)


# --- tags and clones --------------------------------------------------------------------------------
def test_a_tag_keeps_a_state(tmp_path: Path) -> None:
    table = made(tmp_path / "t", options=FREQUENT)
    before = state(tmp_path / "t")
    at = table.tag("eom-11")
    assert table.tag("eom-11", at) == at
    for number in range(4, 9):
        write(table, number)
    found = hoodoo.open(str(tmp_path / "t")).read(as_of="eom-11").to_arrow().to_pylist()
    assert sorted((row["id"], row["v"]) for row in found) == before
    assert table.tags() == {"eom-11": at} and [s.instant for s in table.savepoints()] == [at]
    table.untag("eom-11")
    assert table.tags() == {} and table.savepoints() == ()


def test_a_deleted_savepoint_takes_its_tags_along(tmp_path: Path) -> None:
    """Else ``as_of`` leads to a state whose files a clean may delete."""
    table = hoodoo.create(tmp_path / "t", [{"id": 1}], record_key="id")
    first = table.tag("one")
    table.upsert([{"id": 2}])
    other = table.tag("two")
    with pytest.raises(SystemExit) as ended:
        main(["savepoint", str(tmp_path / "t"), first, "--delete"])
    assert not ended.value.code
    assert hoodoo.open(tmp_path / "t").tags() == {"two": other}
    with pytest.raises(ConfigError):
        table.read(as_of="one")
    table.delete_savepoint(other)
    assert (table.tags(), table.savepoints()) == ({}, ())


def test_what_is_no_tag(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    point = table.savepoint(comment="of my own")
    table.tag("one")
    table.tag("two")
    assert "no name" in refused(ConfigError, lambda: table.tag("2024-01-01"))
    write(table, 9)
    assert "already" in refused(ConfigError, lambda: table.tag("one"))
    assert "not in this table" in refused(ConfigError, lambda: table.untag("three"))
    refused(ConfigError, lambda: table.read(as_of="three"))
    table.untag("one")
    table.untag("two")
    assert [one.instant for one in table.savepoints()] == [point], "it was there before"


@pytest.mark.sampled(1, among="long")
@pytest.mark.parametrize(("kind", "version"), KINDS)
def test_a_clone(tmp_path: Path, kind: str, version: int) -> None:
    table = made(tmp_path / "t", kind, version, index="record_index" if version == 9 else None)
    before = state(tmp_path / "t")
    table.tag("then")
    write(table, 20)
    clone = table.clone(tmp_path / "c", as_of="then")
    assert state(tmp_path / "c") == before and clone.verify().ok
    assert clone.config.metadata_partitions == table.config.metadata_partitions
    assert clone.tags() == {}
    refused(TableExistsError, lambda: table.clone(tmp_path / "c"))
    assert "files" in refused(
        UnsupportedTableError, lambda: table.clone(tmp_path / "d", shallow=True)
    )


def test_a_clone_is_in_no_catalog_of_its_table(tmp_path: Path) -> None:
    """Its commits would be refused there, one warning each."""
    lake = f"{tmp_path}/lake"
    places = {"hoodoo.catalogs": f"{lake}#t", "hoodoo.open.catalogs": f"delta={lake}#delta"}
    table = made(tmp_path / "t", options={"hoodoo.open.formats": "delta", **places})
    clone = table.clone(str(tmp_path / "clone"))
    assert clone.config.get("hoodoo.open.formats") == "delta"
    assert not {*places} & {*clone.config.properties}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write(clone, 9)
    known = hoodoo.catalog(lake)
    assert {known.entry(name).location for name in known.tables()} == {table.path}


def test_a_clone_after_a_property_became_another(tmp_path: Path) -> None:
    """The options by which the table was opened do not contradict it."""
    number = "hoodie.bucket.index.num.buckets"
    table = made(tmp_path / "t", index="bucket", options={number: "2"})
    rows = table.count()
    table.handle.change_properties({number: "3"})
    clone = table.clone(tmp_path / "c")
    assert (clone.config.get(number), clone.count()) == ("3", rows)


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_a_clone_has_the_columns_of_its_state(tmp_path: Path, kind: str) -> None:
    """Columns that were dropped came back, a new order was lost, and after a new name there was an
    error, which left an empty table behind."""
    table = made(tmp_path / "t", kind)
    table.tag("before")
    table.alter(add={"more": "int"}, rename={"v": "value"}, reorder=["region"])
    table.upsert([{"id": 1, "value": "new", "region": "b", "more": 7}])
    table.tag("then")
    rows = table.read().to_arrow().sort_by("id")
    table.alter(drop=["value"])
    for number, (state_of, names) in enumerate([
        ("before", ["id", "v", "region"]), ("then", ["region", "id", "value", "more"]),
        (None, ["region", "id", "more"]),
    ]):  # fmt: skip
        table.clone(tmp_path / f"c{number}", as_of=state_of)
        clone = hoodoo.open(str(tmp_path / f"c{number}"))
        assert clone.schema.names == clone.read().to_arrow().schema.names == names
        if number:
            assert clone.read().to_arrow().sort_by("id").equals(rows.select(names))
            assert clone.upsert(rows.slice(0, 2).select(names)).updated == 2


# --- backups ----------------------------------------------------------------------------------------
@pytest.mark.sampled(1, among="long")
@pytest.mark.parametrize(("kind", "version"), KINDS)
def test_a_backup_follows_the_table(tmp_path: Path, kind: str, version: int) -> None:
    path, copy = tmp_path / "t", tmp_path / "b"
    table = made(path, kind, version, options={"hoodie.metadata.enable": "true"})
    for number in range(5, 12):
        done = table.backup(copy)
        assert done.copied and state(copy) == state(path)
        assert hoodoo.open(str(copy)).verify().ok
        table = hoodoo.open(str(path), FREQUENT)
        write(table, number)
        if number == 7:
            _ = table.compact() if kind == "MERGE_ON_READ" else table.cluster(columns=["id"])
        if number == 9:
            table.rollback(table.upsert([{"id": 1, "v": "undone", "region": "a"}]).instant)
    assert table.backup(copy, verify=True).copied and state(copy) == state(path)
    assert table.savepoints() == ()
    again = hoodoo.restore_backup(str(copy), str(tmp_path / "r"))
    assert again.config.metadata_partitions == table.config.metadata_partitions
    write(again, 30)
    write(hoodoo.open(str(path)), 30)
    assert state(tmp_path / "r") == state(path) and again.verify().ok


def test_a_clean_in_between(tmp_path: Path) -> None:
    """A writer that cleans after each step of the copy: the look is repeated."""
    path, copy = tmp_path / "t", tmp_path / "b"
    made(path)
    table, left = hoodoo.open(str(path)), [6]

    def gate(op: str, name: str) -> None:
        if left[0] and op == "put_file_if_absent" and name.endswith(".parquet"):
            left[0] -= 1
            write(hoodoo.open(str(path), FREQUENT), 40 + left[0])

    done = Copy(table.handle, GatedStorage(LocalStorage(str(copy)), gate)).run(True)
    assert not left[0] and done.point and state(copy) == state(path)
    assert hoodoo.open(str(copy)).verify().ok


@pytest.mark.parametrize(("kind", "version"), KINDS)
@pytest.mark.parametrize("all_of_them", [False, pytest.param(True, marks=pytest.mark.trial)])
def test_crash_and_repeat(tmp_path: Path, kind: str, version: int, all_of_them: bool) -> None:
    """No rows are seen but those of a state that was; the repeated call ends it."""
    path, base, trial = tmp_path / "t", tmp_path / "base", tmp_path / "trial"
    table = made(path, kind, version)
    table.backup(base)
    states = [state(base)]
    for number in range(5, 8):
        write(hoodoo.open(str(path), FREQUENT), number)
        states.append(state(path))
    whole = CrashingStorage(LocalStorage(str(shutil.copytree(base, tmp_path / "whole"))))
    Copy(hoodoo.open(str(path)).handle, whole).run(False)
    chance, every = random.Random(f"{SEED} {kind}"), range(1, whole.count + 1)
    for at in every if all_of_them else sorted(chance.sample(every, 4)):
        shutil.rmtree(trial, ignore_errors=True)
        shutil.copytree(base, trial)
        when: Any = chance.choice(["before", "after", "torn"])
        storage = CrashingStorage(LocalStorage(str(trial)), at, when)
        with pytest.raises(Crash):
            Copy(hoodoo.open(str(path)).handle, storage).run(False)
        with suppress(CorruptTableError):  # the files of a state in between have been cleaned
            assert state(trial) in states, (at, when)
        hoodoo.open(str(path)).backup(trial, verify=True)
        assert state(trial) == states[-1], (at, when)
        assert hoodoo.open(str(trial)).verify().ok, (at, when)
    assert hoodoo.open(str(path)).savepoints() == ()


def test_what_is_no_place_for_a_backup(tmp_path: Path) -> None:
    table, other = made(tmp_path / "t"), made(tmp_path / "o")
    copy = tmp_path / "b"
    assert "itself" in refused(ConfigError, lambda: table.backup(tmp_path / "t"))
    os.symlink(tmp_path / "t", tmp_path / "link")
    for place in ("t/copy", "link/copy/c"):  # each backup would have copied the one before
        assert "within" in refused(ConfigError, lambda p=place: table.backup(tmp_path / p))
        assert "within" in refused(ConfigError, lambda p=place: table.clone(tmp_path / p))
    assert "within" in refused(ConfigError, lambda: table.clone(tmp_path))
    assert not (tmp_path / "t" / "copy").exists() and not (tmp_path / ".hoodie").exists()
    assert "not empty" in refused(ConfigError, lambda: table.backup(tmp_path / "o"))
    table.backup(copy)
    assert "another table" in refused(ConfigError, lambda: other.backup(copy))
    assert "no backup" in refused(
        ConfigError, lambda: hoodoo.restore_backup(str(tmp_path / "o"), str(tmp_path / "r"))
    )
    (copy / ".hoodie" / "timeline" / "20300101000000000.commit.requested").touch()
    assert "written to" in refused(ConfigError, lambda: table.backup(copy))


@pytest.mark.parametrize(("kind", "version"), KINDS)
def test_a_backup_is_not_written_to(tmp_path: Path, kind: str, version: int) -> None:
    """Nor by services: the next backup was refused then."""
    path, copy = tmp_path / "t", tmp_path / "b"
    table = made(path, kind, version)
    table.backup(copy)
    files = {file: file.read_bytes() for file in copy.rglob("*") if file.is_file()}
    found = hoodoo.open(str(copy), FREQUENT)
    calls: list[Any] = [
        lambda: write(found, 9), lambda: found.delete(where="id = 1"), found.clean, found.archive,
        found.savepoint, lambda: found.tag("x"), lambda: found.alter(add={"w": "int"}),
        lambda: found.cluster(columns=["id"]), lambda: found.rollback(-1),
        lambda: found.rebuild_index("record_index"), lambda: found.restore(1),
        lambda: found.erase(where="id = 1"),
        lambda: found.downgrade(8) if version == 9 else found.upgrade(9),
    ]  # fmt: skip
    calls += [found.compact if kind == "MERGE_ON_READ" else lambda: found.publish("delta")]
    for call in calls:
        said = refused(UnsupportedTableError, call)
        assert "backup" in said and "hoodoo.restore_backup(" in said
    assert files == {file: file.read_bytes() for file in copy.rglob("*") if file.is_file()}
    with pytest.raises(SystemExit) as ended:
        main(["serve", "--from", str(tmp_path), "--once"])
    assert not ended.value.code
    assert files == {file: file.read_bytes() for file in copy.rglob("*") if file.is_file()}
    write(hoodoo.open(str(path)), 9)
    assert table.backup(copy).copied and state(copy) == state(path)
    assert found.backup(tmp_path / "bb").copied and state(tmp_path / "bb") == state(path)
    write(hoodoo.restore_backup(str(tmp_path / "bb"), str(tmp_path / "r")), 20)
    write(found.clone(tmp_path / "c"), 20)


def test_lists_mark_backups(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made(tmp_path / "t").backup(tmp_path / "b")
    for command in ("ls", "stats"):
        with pytest.raises(SystemExit):
            main([command, str(tmp_path)])
        lines = capsys.readouterr().out.splitlines()
        assert [line.split()[0] for line in lines if "backup" in line] == ["b"], (command, lines)


@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_a_backup_has_all_rows(tmp_path: Path, kind: str) -> None:
    """Those of a bootstrapped table lie in its source, which may go."""
    (tmp_path / "source").mkdir()
    pq.write_table(pa.table({"id": [1, 2], "v": ["a", "b"]}), tmp_path / "source" / "a.parquet")
    how: Any = {"record_key": "id", "partition_by": [], "table_type": kind}
    table = hoodoo.bootstrap(tmp_path / "source", tmp_path / "t", **how)
    said = refused(UnsupportedTableError, lambda: table.backup(tmp_path / "b"))
    assert "lie in 1 file of the source" in said and "table.cluster(" in said
    assert not (tmp_path / "b").exists()
    table.cluster(order="linear", columns=["id"])
    table.backup(tmp_path / "b")
    shutil.rmtree(tmp_path / "source")
    hoodoo.restore_backup(str(tmp_path / "b"), str(tmp_path / "r"))
    assert state(tmp_path / "b") == state(tmp_path / "r") == [(1, "a"), (2, "b")]


def test_a_process_that_ended_at_once(tmp_path: Path) -> None:
    """It has left a folder, and no file of the backup."""
    table, copy = made(tmp_path / "t"), tmp_path / "b"
    with pytest.raises(Crash):
        Copy(table.handle, CrashingStorage(LocalStorage(str(copy)), 1, "torn")).run(False)
    assert copy.exists() and table.backup(copy).copied
    assert state(copy) == state(tmp_path / "t")


def test_damage_of_a_backup_is_found_and_mended(tmp_path: Path) -> None:
    table, copy = made(tmp_path / "t"), tmp_path / "b"
    table.backup(copy)
    file = next(copy.rglob("*.parquet"))
    file.write_bytes(b"x" * file.stat().st_size)
    assert "SHA-256" in refused(CorruptTableError, lambda: table.backup(copy, verify=True))
    file.unlink()
    assert table.backup(copy, verify=True).copied == 1
    assert state(copy) == state(tmp_path / "t")


@pytest.mark.sampled(1, among="long")
def test_cleans_without_end(tmp_path: Path) -> None:
    table, copy = made(tmp_path / "t"), tmp_path / "b"

    def gate(op: str, name: str) -> None:
        if op == "list" and not name:
            write(hoodoo.open(str(tmp_path / "t"), FREQUENT), 50)

    gated = GatedStorage(LocalStorage(str(copy)), gate)
    assert "Repeat" in refused(CommitConflictError, lambda: Copy(table.handle, gated).run(False))
    assert table.savepoints() == () and (copy / MANIFESTS).exists()
