"""``hoodoo diff`` and ``hoodoo history``: rows and keys over time, in tables of each kind."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo_cli.commandline import main
from hoodoo_history.between import difference
from hoodoo_history.one_key import key_history
from hoodoo_rows.testing.tables import Maker
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.sampled(4)

SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string()), ("ts", pa.int64())])
KINDS: dict[str, dict[str, Any]] = {
    "cow6": {"table_version": 6},
    "cow9": {},
    "mor6": {"table_type": "MERGE_ON_READ", "table_version": 6},
    "mor9": {"table_type": "MERGE_ON_READ"},
    "virtual": {"options": {"hoodie.populate.meta.fields": "false"}},
    "change data": {"options": {"hoodie.table.cdc.enabled": "true"}},
}
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("COLUMNS", "80")

    def one(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as caught:
            main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return int(caught.value.code or 0), printed.out, printed.err

    return one


rows = Maker(SCHEMA, "ts", city=("oslo", "rome"))


@pytest.fixture(params=KINDS)
def table(tmp_path: Path, request: pytest.FixtureRequest) -> hoodoo.Table:
    """Ten rows; five are updated, two come in, one is deleted, and one is deleted and comes back as it was."""
    found = hoodoo.create(
        str(tmp_path / "t"), SCHEMA, name="trips", record_key="id", partition_by="city", ordering="ts", **KINDS[request.param]
    )  # fmt: skip
    found.upsert(rows(range(10), 1))
    found.upsert(rows(range(5), 2))
    found.upsert(rows(range(10, 12), 1))
    found.delete([8, 9])
    found.insert(rows(range(9, 10), 1))
    return found


def said(found: tuple[int, str, str]) -> Any:
    code, out, err = found
    assert (code, err) == (0, "")
    return json.loads(out)


# --- diff -----------------------------------------------------------------------------------------
def test_diff(run: Run, table: hoodoo.Table) -> None:
    first, second, *_ = (instant.requested for instant in table.timeline().writes())
    for arguments in ((), ("--snapshots",)):
        found = said(run("diff", table.path, first, "--json", *arguments))
        assert (found["added"], found["changed"], found["removed"]) == (2, 5, 1)
        changes = {row["change"]: row for row in found["rows"]}
        assert changes["removed"]["before"] == {"id": 8, "city": "oslo", "ts": 1}
        assert changes["removed"]["after"] is None and changes["added"]["before"] is None
        assert (changes["changed"]["before"]["ts"], changes["changed"]["after"]["ts"]) == (1, 2)
        found = said(run("diff", table.path, first, second, "--json", *arguments))
        assert (found["added"], found["changed"], found["removed"]) == (0, 5, 0)
        found = said(run("diff", table.path, "earliest", "--json", "-n", 1, *arguments))
        assert found["added"] == 11 and len(found["rows"]) == 1


def test_diff_as_lines(run: Run, table: hoodoo.Table) -> None:
    first = table.timeline().writes()[0].requested
    _, out, _ = run("diff", table.path, first, "-n", 20)
    lines = out.splitlines()
    assert lines[0] == "trips: 2 added, 5 changed, 1 removed."
    assert sorted(line[0] for line in lines[1:]) == sorted("++~~~~~-")
    assert "~ id=3, city=rome, ts: 1 -> 2" in lines and "- id=8, city=oslo, ts=1" in lines
    _, out, _ = run("diff", table.path, first, "-n", 2)
    assert out.splitlines()[-1] == "... and 6 more (--number shows more)"


def test_diff_of_some_rows(run: Run, table: hoodoo.Table) -> None:
    first = table.timeline().writes()[0].requested
    found = said(run("diff", table.path, first, "--where", "city = 'rome'", "--json"))
    assert (found["added"], found["changed"], found["removed"]) == (1, 2, 0)


@pytest.mark.parametrize("kind", ["cow6", "cow9", "mor9", "virtual"])
def test_diff_across_other_names_of_columns(tmp_path: Path, kind: str) -> None:
    """Rows have the names of the end of the range, whether changes or snapshots are compared."""
    first = [{"id": 1, "a": 1.0}, {"id": 2, "a": 2.0}]
    table = hoodoo.create(str(tmp_path / "t"), first, record_key="id", **KINDS[kind])
    table.alter(rename={"a": "b"})
    table.upsert([{"id": 1, "b": 5.0}])
    table.alter(rename={"b": "c"}, add={"more": "bigint"})
    table.upsert([{"id": 2, "c": 7.0, "more": 1}])
    points = [found.requested for found in table.timeline().writes()]
    for snapshots in (False, True):

        def between(since: int, until: int | None, snapshots: bool = snapshots) -> list[Any]:
            end = None if until is None else points[until]
            found = difference(table.handle, points[since], end, snapshots=snapshots)
            by_changes = kind != "virtual" and not snapshots  # which have no stored keys
            assert found.by == ("changes" if by_changes else "snapshots")
            shown = [(row["before"], row["after"]) for row in found.rows]
            return sorted(shown, key=lambda pair: pair[1]["id"])

        one = ({"id": 1, "b": 1.0}, {"id": 1, "b": 5.0})
        assert between(0, 2) == [one] and between(0, 1) == []
        now = ({"id": 2, "c": 2.0, "more": None}, {"id": 2, "c": 7.0, "more": 1})
        then = ({"id": 1, "c": 1.0, "more": None}, {"id": 1, "c": 5.0, "more": None})
        assert between(0, None) == [then, now] and between(2, 4) == [now]
    assert [row["after"] for row in difference(table.handle, "0", "1").rows] == first


@pytest.mark.parametrize("moves", ["true", "false"])
@pytest.mark.parametrize("kind", ["cow9", "mor9"])
def test_diff_of_rows_whose_partition_changes(tmp_path: Path, kind: str, moves: str) -> None:
    """An index over all partitions leaves them where they are, or moves them: they count once, and both ways agree."""
    options = {"hoodie.record.index.update.partition.path": moves}
    table = hoodoo.create(
        str(tmp_path / "t"), SCHEMA, record_key="id", partition_by="city", index="record_index", options=options, **KINDS[kind]
    )  # fmt: skip
    first = table.upsert(pa.table([[1, 2], ["oslo", "rome"], [1, 1]], SCHEMA)).instant
    table.upsert(pa.table([[1, 3], ["rome", "oslo"], [2, 2]], SCHEMA))
    table.delete([2])
    table.upsert(pa.table([[1, 3], ["bonn", "rome"], [3, 3]], SCHEMA))
    for since in ("earliest", first):
        one, other = (difference(table.handle, since, None, snapshots=how) for how in (True, False))
        assert one.counts == other.counts and sum(other.counts.values()) == len(other.rows)
        pairs = [
            {(row["change"], str(row["before"]), str(row["after"])) for row in found.rows}
            for found in (one, other)
        ]
        assert pairs[0] == pairs[1]


@pytest.mark.parametrize("kind", ["cow6", "cow9", "mor9"])
def test_diff_of_a_key_that_is_there_twice(tmp_path: Path, kind: str) -> None:
    table = hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key="id", **KINDS[kind])
    for ts in (1, 2):
        table.append(rows(range(2), ts))
    found = difference(table.handle, "earliest", None)
    assert found.counts["added"] == table.read().count() == 4
    assert sorted(str(row["after"]["ts"]) for row in found.rows) == ["1", "1", "2", "2"]


def test_where_cleaned_files_are_needed(run: Run, tmp_path: Path) -> None:
    """Neither changes nor snapshots can be read: the error is that of the changes."""
    table = hoodoo.create(
        str(tmp_path / "t"), SCHEMA, record_key="id", options={"hoodie.clean.commits.retained": "1"}
    )
    for ts in range(4):
        table.upsert(rows(range(3), ts))
    first = table.timeline().writes()[0].requested
    table.clean()
    code, out, err = run("diff", table.path, first)
    assert (code, out) == (2, "") and "clean" in err
    code, out, _ = run("history", table.path, 1)
    assert code == 0 and "can't be read" in out


@pytest.mark.parametrize("point", ["yesterday", "2026-01-01T00:00:00"])
def test_points_that_are_none(run: Run, table: hoodoo.Table, point: str) -> None:
    code, _, err = run("diff", table.path, point)
    assert code == 2 and "point in time" in err and err.count("\n") == 1


@settings(max_examples=15, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["upsert", "delete"]), st.lists(st.integers(0, 5), min_size=1, max_size=4, unique=True)),
        min_size=1, max_size=5,
    ),
    st.sampled_from(["COPY_ON_WRITE", "MERGE_ON_READ"]),
)  # fmt: skip
def test_both_ways_agree(
    tmp_path_factory: Any, steps: list[tuple[str, list[int]]], kind: str
) -> None:
    """The changes of commits, taken together, are the difference of the snapshots."""
    path = str(tmp_path_factory.mktemp("agree") / "t")
    table = hoodoo.create(path, SCHEMA, record_key="id", partition_by="city", table_type=kind)
    table.upsert(rows(range(3), 0))
    first = table.timeline().writes()[0].requested
    for ts, (operation, ids) in enumerate(steps):
        if operation == "delete":
            table.delete(ids)
        else:
            table.upsert(
                pa.table([ids, [("oslo", "rome")[i % 2] for i in ids], [ts % 2] * len(ids)], SCHEMA)
            )
    one = difference(table.handle, first, None, most=99)
    other = difference(table.handle, first, None, most=99, snapshots=True)
    assert one.counts == other.counts

    def listed(found: Any) -> list[str]:
        return sorted(json.dumps(dict(row), sort_keys=True) for row in found.rows)

    assert listed(one) == listed(other)


# --- history --------------------------------------------------------------------------------------
def test_history(run: Run, table: hoodoo.Table) -> None:
    writes = [instant.requested for instant in table.timeline().writes()]
    found = said(run("history", table.path, 3, "--json"))
    assert [(e["instant"], e["what"]) for e in found["events"]] == [
        (writes[0], "inserted"), (writes[1], "updated")
    ]  # fmt: skip
    assert found["events"][1]["before"]["ts"] == 1 and found["events"][1]["after"]["ts"] == 2
    found = said(run("history", table.path, 9, "--json"))
    assert [e["what"] for e in found["events"]] == ["inserted", "deleted", "inserted"]
    if table.config.populate_meta_fields:
        files = {
            path for commit in table.timeline().writes() for path in [commit.requested] if path
        }
        assert all(e["partition"] == "rome" and e["instant"] in files for e in found["events"])
        # The token of a log file has the time of day as a number: before ten o'clock, without its zeros in front.
        assert all(e["instant"][-9:].lstrip("0") in e["file"] for e in found["events"])
    code, out, _ = run("history", table.path, 77)
    assert code == 1 and "77" in out


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("index", [None, "record_index", "bucket"])
def test_a_row_comes_back(tmp_path: Path, kind: str, index: str | None) -> None:
    """With a log file, Hudi counts it as an update, because the base file has the key."""
    found = KINDS[kind]
    if index == "record_index" and kind == "virtual":
        pytest.skip("keys that are not stored have no record index")
    table = hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key="id", index=index, **found)
    table.upsert(rows(range(3), 1))
    table.delete([1])
    for ts in (2, 3):
        table.upsert(rows(range(3), ts))
    events = key_history(table.handle, "1").events
    assert [event.what for event in events] == ["inserted", "deleted", "inserted", "updated"]


def test_history_of_a_table_that_can_not_be_read(run: Run, tmp_path: Path) -> None:
    table = hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key="id")
    table.upsert(rows(range(3), 1))
    properties = tmp_path / "t" / ".hoodie" / "hoodie.properties"
    properties.write_text(properties.read_text() + "hoodie.table.base.file.format=LANCE\n")
    code, out, err = run("history", table.path, 1)
    assert (code, out) == (2, "") and "LANCE" in err


def test_history_as_lines(run: Run, table: hoodoo.Table) -> None:
    _, out, _ = run("history", table.path, 3, "--columns", "ts")
    assert "inserted\n" in out and "  ts: 1 -> 2\n" in out and "city=" not in out
    _, out, _ = run("history", table.path, 9, "--limit", 1)
    assert out.startswith("2 older events")
    code, _, err = run("history", table.path, "abc")
    assert code == 2 and "int64" in err
    code, _, err = run("history", table.path, 3, "--columns", "ts,nope")
    assert code == 2 and "column nope" in err


def test_services_move_a_row(run: Run, tmp_path: Path) -> None:
    table = hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key="id", table_type="MERGE_ON_READ")
    table.upsert(rows(range(3), 1))
    table.upsert(rows(range(3), 2))
    table.compact()
    found = said(run("history", table.path, 1, "--json"))
    assert [e["what"] for e in found["events"]] == ["inserted", "updated", "rewritten"]
    assert found["events"][2]["file"].endswith(".parquet")


def test_keys_of_several_columns(run: Run, tmp_path: Path) -> None:
    table = hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key=["id", "city"])
    table.upsert(pa.table([[1, 1], ["a,b:c", "x"], [1, 1]], SCHEMA))
    found = said(run("history", table.path, "id:1,city:a,b:c", "--json"))
    assert [e["after"]["city"] for e in found["events"]] == ["a,b:c"]
    code, _, err = run("history", table.path, "1")
    assert code == 2 and "id:VALUE,city:VALUE" in err


def test_generated_keys(run: Run, tmp_path: Path) -> None:
    table = hoodoo.create(str(tmp_path / "t"), SCHEMA)
    table.insert(rows(range(3), 1))
    key = table.read(["_hoodie_record_key"], where="id = 1").to_pylist()[0]["_hoodie_record_key"]
    found = said(run("history", table.path, key, "--json"))
    assert [e["after"]["id"] for e in found["events"]] == [1]


def test_history_of_a_row_whose_first_files_are_cleaned(run: Run, tmp_path: Path) -> None:
    """The row says which commit wrote it, and the commit whether it only inserted rows."""
    options = {"hoodie.cleaner.commits.retained": 1, "hoodie.clean.automatic": True}
    table = hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key="id", options=options)
    table.upsert(rows(range(3), 1))
    table.upsert(rows([2], 2))
    for ts in range(3, 8):
        table.upsert(rows([0], ts))
    writes = [instant.requested for instant in table.timeline().writes()]
    events = key_history(table.handle, "1").events
    assert [(event.instant, event.what, event.before) for event in events] == [
        (writes[0], "inserted", None)
    ]
    assert events[0].after is not None and events[0].after["ts"] == 1
    found = said(run("history", table.path, 2, "--json"))
    # Whether this one was there before is not known.
    assert [(e["instant"], e["what"]) for e in found["events"]] == [(writes[1], "written")]
    assert found["unread_commits"]
    code, out, _ = run("history", table.path, 1)
    assert code == 0 and "inserted" in out
    events = key_history(table.handle, "0").events
    assert events[0].what == "written" and {event.what for event in events[1:]} == {"updated"}


@pytest.mark.parametrize("kind", KINDS)
def test_history_of_a_row_whose_first_writes_are_archived(tmp_path: Path, kind: str) -> None:
    """Whether the key was there when the active timeline began, its first rows say."""
    small = {
        "hoodie.keep.min.commits": 3,
        "hoodie.keep.max.commits": 4,
        "hoodie.clean.automatic": True,
    }
    options = {**small, "hoodie.cleaner.commits.retained": 2}
    table = hoodoo.create(
        str(tmp_path / "t"),
        SCHEMA,
        record_key="id",
        ordering="ts",
        **{**KINDS[kind], "options": {**options, **KINDS[kind].get("options", {})}},
    )
    for ts in range(1, 12):
        table.upsert(rows(range(3), ts))
    writes = [instant.requested for instant in table.timeline().writes()]
    assert len(writes) < 11, "nothing was archived"
    found = key_history(table.handle, "1").events
    assert [event.instant for event in found[-2:]] == writes[-2:]
    assert [event.after["ts"] for event in found[-2:] if event.after] == [10, 11]


@pytest.mark.parametrize("kind", KINDS)
def test_history_of_a_renamed_column(tmp_path: Path, kind: str) -> None:
    table = hoodoo.create(
        str(tmp_path / "t"), SCHEMA, record_key="id", ordering="ts", **KINDS[kind]
    )
    table.upsert(rows(range(3), 1))
    table.alter(rename={"city": "town"}, add={"note": pa.string()})
    (row,) = table.read(where="id = 1").to_pylist()
    table.upsert([{**row, "ts": 2}])
    found = key_history(table.handle, "1").events
    assert [event.what for event in found] == ["inserted", "updated"]
    for event in found:
        assert event.after is not None and event.after["town"] and "city" not in event.after
        assert event.after["note"] is None
    assert key_history(table.handle, "2").events[0].after["town"]  # type: ignore[index]
