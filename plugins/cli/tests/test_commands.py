"""The commands about a table: what they print, as text and as JSON, and what they do."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.model.meta import META_COLUMNS
from hoodoo_cli.commandline import main
from hoodoo_rows.testing.tables import Maker

pytestmark = pytest.mark.sampled(4)

SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string()), ("ts", pa.int64())])
Run = Callable[..., tuple[int, str, str]]

rows = Maker(SCHEMA, "ts", city=("oslo", "rome"))


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("COLUMNS", "120")

    def one(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as caught:
            main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return int(caught.value.code or 0), said.out, said.err

    return one


def create(path: Path, kind: str = "COPY_ON_WRITE", version: int = 9) -> hoodoo.Table:
    return hoodoo.create(
        str(path),
        SCHEMA,
        name="trips",
        record_key="id",
        partition_by="city",
        ordering="ts",
        table_type=kind,
        table_version=version,
    )


@pytest.fixture(params=[6, 9])
def trips(tmp_path: Path, request: pytest.FixtureRequest) -> hoodoo.Table:
    """Ten rows, of which five were updated, and one was deleted."""
    table = create(tmp_path / "trips", version=request.param)
    table.upsert(rows(range(10), 1))
    table.upsert(rows(range(5), 2))
    table.delete([9])
    return table


def said(found: tuple[int, str, str]) -> Any:
    code, out, err = found
    assert (code, err) == (0, "")
    return json.loads(out)


# --- timeline ---------------------------------------------------------------------------------------
def test_timeline(trips: hoodoo.Table, run: Run) -> None:
    done = trips.timeline().writes()
    code, out, err = run("timeline", trips.path)
    lines = out.splitlines()
    assert (code, err, len(lines)) == (0, "", 4)
    header = lines[0].split()
    assert header[:2] == ["instant", "action"] and header[-5:] == [
        "ins",
        "upd",
        "del",
        "files",
        "size",
    ]
    assert [line.split()[0] for line in lines[1:]] == [i.requested for i in reversed(done)]
    assert lines[2].split()[-3:-1] != [] and "upsert" in lines[2] and " 5 " in lines[2]


def test_timeline_as_json(trips: hoodoo.Table, run: Run) -> None:
    found = said(run("timeline", "--json", trips.path))
    assert [(r["operation"], r["inserted"], r["updated"], r["deleted"]) for r in found] == [
        ("delete", 0, 0, 1),
        ("upsert", 0, 5, 0),
        ("upsert", 10, 0, 0),
    ]
    assert set(found[0]) == {
        "requested", "completed", "action", "state", "archived", "operation", "inserted", "updated",
        "deleted", "unmerged", "files", "bytes", "detail",
    }  # fmt: skip
    assert (found[0]["completed"] is None) == (trips.config.version == 6)


def test_newest_and_pending(trips: hoodoo.Table, run: Run) -> None:
    _, out, _ = run("timeline", "--limit", 1, trips.path)
    assert out.splitlines()[-1] == "... and 2 older (--limit 0 shows all)"
    assert len(said(run("timeline", "--limit", 0, "--json", trips.path))) == 3
    _, out, _ = run("timeline", "--pending", trips.path)
    assert out == "trips: nothing is pending.\n"


def test_archived_instants(trips: hoodoo.Table, run: Run) -> None:
    for number in range(4):
        trips.upsert(rows(range(3), 3 + number))
    options = (
        "hoodie.clean.commits.retained=1",
        "hoodie.keep.min.commits=2",
        "hoodie.keep.max.commits=3",
    )
    given = [argument for option in options for argument in ("-o", option)]
    code, out, _ = run("clean", trips.path, *given)
    assert code == 0 and out.startswith("Clean 20") and " deleted." in out
    found = said(run("archive", "--json", trips.path, *given))
    assert found["instants"]
    active = said(run("timeline", "--json", "--limit", 0, trips.path))
    every = said(run("timeline", "--json", "--limit", 0, "--all", trips.path))
    gone = {instant["requested"] for instant in found["instants"]}
    assert {row["requested"] for row in every if row["archived"]} == gone
    assert len(every) == len(active) + len(gone)
    assert [r["inserted"] for r in every if r["operation"] == "upsert"][-1] == 10
    assert run("verify", trips.path)[0] == 0


# --- files ------------------------------------------------------------------------------------------
def test_files(trips: hoodoo.Table, run: Run) -> None:
    code, out, err = run("files", trips.path)
    assert (code, err) == (0, "")
    assert "oslo/" in out and "rome/" in out
    assert out.splitlines()[-1].startswith("2 file slices, 2 file groups, 2 partitions; ")
    newest = {s.base_file.name for s in trips.file_slices() if s.base_file}
    found = said(run("files", "--json", trips.path))
    assert {row["base_file"] for row in found} == newest
    assert set(found[0]) == {
        "partition", "file_id", "instant", "base_file", "base_bytes", "log_files", "log_bytes",
        "newest", "replaced_by", "bytes",
    }  # fmt: skip


def test_older_files(trips: hoodoo.Table, run: Run) -> None:
    first, second, third = (i.requested for i in trips.timeline().writes())
    every = said(run("files", "--all", "--json", "--partition", "rome", trips.path))
    assert [(row["instant"], row["newest"]) for row in every] == [
        (third, True),
        (second, False),
        (first, False),
    ]
    then = said(run("files", "--as-of", second, "--json", trips.path))
    assert {row["instant"] for row in then} == {second}
    _, out, _ = run("files", "--all", "--limit", 1, trips.path)
    assert "... and 4 more" in out
    _, out, _ = run("files", "--partition", "paris", trips.path)
    assert out == "trips: there are no files in partition paris.\n"


def test_log_files(tmp_path: Path, run: Run) -> None:
    table = create(tmp_path / "t", "MERGE_ON_READ")
    table.upsert(rows(range(10), 1))
    table.upsert(rows(range(5), 2))
    _, out, _ = run("files", table.path)
    assert out.splitlines()[0].split()[-4:] == ["file", "logs", "log", "size"]
    found = said(run("stats", "--json", table.path))
    assert found["log_files"]["count"] == 2
    assert found["log_ratio"] == found["log_files"]["bytes"] / found["base_files"]["bytes"]
    _, out, _ = run("compact", table.path)
    assert out.endswith(": 2 base files written.\n")
    assert run("compact", table.path)[1] == "Nothing to compact.\n"
    assert said(run("stats", "--json", table.path))["log_files"]["count"] == 0


# --- stats ------------------------------------------------------------------------------------------
def test_stats(trips: hoodoo.Table, run: Run, tmp_path: Path) -> None:
    found = said(run("stats", "--json", trips.path))
    files = list((tmp_path / "trips").rglob("*.parquet"))
    assert found["bytes"] == sum(file.stat().st_size for file in files)
    assert (found["rows"], found["partitions"], found["file_groups"], found["slices"]) == (
        9,
        2,
        2,
        5,
    )
    assert found["slices_per_group"] == 2.5
    newest = sum(s.size for s in trips.file_slices())
    assert (found["newest_bytes"], found["older_bytes"]) == (newest, found["bytes"] - newest)
    written = found["written"]
    assert (written["commits"], written["bytes"]) == (3, found["bytes"])
    assert written["changed_rows"] == 16
    assert written["amplification"] == written["bytes"] / written["changed_bytes"] > 1
    assert found["small_files"] == 2
    code, out, _ = run("stats", trips.path)
    assert code == 0 and "rows        9" in out and "write amplification" in out


def test_what_a_clean_would_free(trips: hoodoo.Table, run: Run) -> None:
    option = ("-o", "hoodie.clean.commits.retained=1")
    would = said(run("stats", "--json", trips.path, *option))
    assert 0 < would["cleanable_bytes"] <= would["older_bytes"]
    run("clean", trips.path, *option)
    now = said(run("stats", "--json", trips.path, *option))
    assert now["bytes"] == would["bytes"] - would["cleanable_bytes"]
    assert now["cleanable_bytes"] == 0
    assert run("clean", trips.path, *option)[1] == "Nothing to clean.\n"


def test_replaced_and_uncommitted_bytes(trips: hoodoo.Table, run: Run, tmp_path: Path) -> None:
    before = said(run("stats", "--json", trips.path))
    trips.delete_partitions("rome")
    file = next((tmp_path / "trips").glob("oslo/*.parquet"))
    stray = file.with_name(f"{file.name.rpartition('_')[0]}_20990101000000000.parquet")
    stray.write_bytes(b"x" * 1234)
    found = said(run("stats", "--json", trips.path))
    assert found["uncommitted_bytes"] == 1234 and found["file_groups"] == 1
    assert found["bytes"] == before["bytes"] + 1234
    assert 0 < found["replaced_bytes"] < before["bytes"]


# --- what changes the table -------------------------------------------------------------------------
def test_savepoint_and_restore(trips: hoodoo.Table, run: Run) -> None:
    before = trips.read().to_arrow().sort_by("id")
    newest = trips.timeline().writes()[-1].requested
    assert run("savepoint", trips.path, "--comment", "as it was")[1] == f"Savepoint {newest}.\n"
    trips.upsert(rows(range(20), 9))
    (kept,) = said(run("savepoint", trips.path, "--list", "--json"))
    assert (kept["instant"], kept["comment"], kept["files"]) == (newest, "as it was", 2)
    assert "as it was" in run("savepoint", trips.path, "--list")[1]
    code, out, _ = run("restore", trips.path, newest, "--yes")
    assert code == 0 and out.startswith("Restore 20") and f"The table is at {newest}." in out
    assert trips.read().to_arrow().sort_by("id") == before
    out = run("savepoint", trips.path, newest, "--delete")[1]
    assert out == f"Savepoint {newest} deleted.\n"
    assert run("savepoint", trips.path, "--list")[1] == "There are no savepoints.\n"
    assert run("verify", trips.path)[0] == 0


def test_rollback(trips: hoodoo.Table, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("rollback", trips.path)[1] == "Nothing to undo.\n"
    newest = trips.timeline().writes()[-1].requested
    monkeypatch.setattr("typer.confirm", lambda question, **_: asked.append(question))
    asked: list[str] = []
    code, out, _ = run("rollback", trips.path, newest)
    assert code == 0 and f" of {newest}: " in out
    assert asked == [f"Undo {newest} of trips permanently?"]
    assert trips.read().count() == 10
    assert run("verify", trips.path)[0] == 0


@pytest.mark.parametrize("typed", ["n\n", ""])
def test_nobody_agrees(
    typed: str, trips: hoodoo.Table, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    newest = trips.timeline().writes()[-1].requested
    before = trips.timeline().instants
    for command in ("restore", "rollback"):
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        assert run(command, trips.path, newest)[0] == 1
    assert trips.timeline().instants == before


# --- errors -----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "command",
    [
        "timeline", "files", "stats", "verify", "clean", "archive", "compact", "savepoint",
        "rollback", "restore",
    ],
)  # fmt: skip
def test_no_table(command: str, tmp_path: Path, run: Run) -> None:
    more = ("20250101000000000", "--yes") if command == "restore" else ()
    code, out, err = run(command, tmp_path, *more)
    assert (code, out) == (2, "")
    assert "there is no .hoodie directory" in err and len(err.splitlines()) == 1


def test_empty_tables(tmp_path: Path, run: Run) -> None:
    table = create(tmp_path / "t")
    assert run("timeline", table.path)[1] == "trips: nothing has been written yet.\n"
    assert run("files", table.path)[1] == "trips: there are no files.\n"
    assert "no files yet" in run("stats", table.path)[1]
    assert run("verify", table.path)[0] == 0
    assert run("clean", table.path)[1] == "Nothing to clean.\n"
    assert run("archive", table.path)[1] == "Nothing to archive.\n"


@pytest.mark.parametrize("columns", [70, 80, 100, 140])
def test_no_line_is_longer_than_the_terminal(
    columns: int, trips: hoodoo.Table, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    trips.savepoint(
        comment="kept because of the move to another warehouse, until the end of the year"
    )
    monkeypatch.setenv("COLUMNS", str(columns))
    for command in (("timeline",), ("files", "--all"), ("stats",), ("verify",)):
        code, out, _ = run(*command, trips.path)
        assert code == 0
        assert max(map(len, out.splitlines())) <= columns, command
    out = run("timeline", trips.path)[1]
    assert all(i.requested in out for i in trips.timeline().writes())


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_virtual_keys(tmp_path: Path, run: Run, kind: str) -> None:
    table = create(tmp_path / "t", kind)
    table.upsert(rows(range(10), 1))
    table.upsert(rows(range(5), 2))
    code, out, _ = run("enable-virtual-keys", table.path, "--keep", "_hoodie_commit_time")
    assert (code, out) == (
        0,
        "The record keys of trips are virtual. Meta columns that rows store: _hoodie_commit_time.\n",
    )
    code, out, _ = run("rewrite-keys", table.path)
    assert (code, out) == (0, "2 file groups rewritten in 1 commit.\n")
    assert run("rewrite-keys", table.path)[1] == "Nothing to rewrite.\n"
    code, out, _ = run("rewrite-keys", table.path, "--json")
    assert json.loads(out) == {"instants": [], "groups": 0, "left": []}
    assert hoodoo.open(table.path).read().count() == 10
    code, _, err = run("rewrite-keys", table.path, "--stored")
    assert code and "can't be stored ones again" in " ".join(err.split())


def test_virtual_keys_and_back(tmp_path: Path, run: Run) -> None:
    table = create(tmp_path / "t")
    table.upsert(rows(range(10), 1))
    keep = [word for name in META_COLUMNS for word in ("--keep", name)]
    code, out, _ = run("enable-virtual-keys", table.path, *keep, "--json")
    assert code == 0 and json.loads(out) == {"virtual": True, "kept": sorted(META_COLUMNS)}
    code, out, _ = run("rewrite-keys", table.path, "--stored")
    assert (code, out) == (0, "The record keys of trips are stored ones.\n")
    assert hoodoo.open(table.path).config.populate_meta_fields


def test_rewriting_keys_says_how_far_it_is(tmp_path: Path) -> None:
    table = create(tmp_path)
    table.upsert(rows(range(10), 1))
    told: list[tuple[str, int, int]] = []
    table.rewrite_keys(progress=lambda *step: told.append(step))
    assert told == [("rewrite", 0, 2), ("rewrite", 2, 2)]
