"""``hoodoo sql``: statements over one table and over several, rows in each form."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo_cli.commandline import main

pytestmark = pytest.mark.sampled(4)

SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string()), ("fare", pa.float64())])
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("COLUMNS", "80")

    def one(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as caught:
            main(["sql", *(str(argument) for argument in arguments)])
        printed = capsys.readouterr()
        return int(caught.value.code or 0), printed.out, printed.err

    return one


@pytest.fixture(params=["COPY_ON_WRITE", "MERGE_ON_READ"])
def trips(tmp_path: Path, request: pytest.FixtureRequest) -> hoodoo.Table:
    table = hoodoo.create(
        str(tmp_path / "trips"),
        SCHEMA,
        record_key="id",
        partition_by="city",
        table_type=request.param,
    )
    table.upsert(pa.table([[1, 2, 3], ["oslo", "rome", "oslo"], [1.5, 2.5, None]], schema=SCHEMA))
    return table


def said(found: tuple[int, str, str]) -> Any:
    code, out, err = found
    assert (code, err) == (0, "")
    return json.loads(out)


def test_select(run: Run, trips: hoodoo.Table) -> None:
    statement = "SELECT city, count(*) AS rides FROM trips GROUP BY city ORDER BY city"
    assert run(statement, trips.path) == (0, "city  rides\noslo      2\nrome      1\n", "")
    wanted = [{"city": "oslo", "rides": 2}, {"city": "rome", "rides": 1}]
    assert said(run(statement, trips.path, "--json")) == wanted
    assert said(run(statement.replace("trips", "t"), f"t={trips.path}", "--json")) == wanted
    assert (
        run(statement, trips.path, "--output", "csv")[1] == '"city","rides"\n"oslo",2\n"rome",1\n'
    )
    assert run("SELECT * FROM trips WHERE id = 9", trips.path)[1] == "No rows.\n"


def test_several_tables_and_files(run: Run, trips: hoodoo.Table, tmp_path: Path) -> None:
    (tmp_path / "cities.csv").write_text("name,country\noslo,NO\nrome,IT\n")
    found = said(
        run(
            "SELECT t.id, c.country FROM trips t JOIN cities c ON t.city = c.name ORDER BY t.id",
            trips.path, tmp_path / "cities.csv", "--json",
        )
    )  # fmt: skip
    assert [row["country"] for row in found] == ["NO", "IT", "NO"]


def test_changes(run: Run, trips: hoodoo.Table) -> None:
    code, out, _ = run("UPDATE trips SET fare = 9 WHERE id = 3", trips.path)
    assert code == 0 and out.endswith(": 1 updated.\n")
    assert said(run("DELETE FROM trips WHERE id = 1", trips.path, "--json"))["deleted"] == 1
    assert run("DELETE FROM trips WHERE id = 1", trips.path)[1] == "There was nothing to change.\n"
    assert trips.read(["fare"], where="id = 3").to_pylist() == [{"fare": 9.0}]


def test_a_script(run: Run, trips: hoodoo.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """Semicolons within text and comments do not end a statement."""
    script = (
        "-- first; the insert\nINSERT INTO trips VALUES (7, 'a;b', 1.0);\n"
        "SELECT city FROM trips WHERE city = 'a;b';;\n"
    )
    monkeypatch.setattr(sys, "stdin", io.StringIO(script))
    code, out, err = run("-", trips.path)
    assert (code, err) == (0, "")
    assert [line.rstrip() for line in out.splitlines()[1:]] == ["city", "a;b"]


@pytest.mark.parametrize(
    ("statement", "word"),
    [
        ("SELEKT 1", "SELEKT"),
        ("SELECT * FROM nothing", "nothing"),
        ("SELECT town FROM trips", "town"),
        ("DROP TABLE trips", "kind"),
        ("SELECT 'x", "SQL"),
    ],
)
def test_errors_are_one_sentence(run: Run, trips: hoodoo.Table, statement: str, word: str) -> None:
    code, out, err = run(statement, trips.path)
    assert (code, out) == (2, "") and word in err and "Traceback" not in err


def test_names_are_given_once(run: Run, trips: hoodoo.Table) -> None:
    code, _, err = run("SELECT 1 FROM trips", trips.path, trips.path)
    assert code == 2 and "NAME=PATH" in err


def test_columns_of_the_same_name(run: Run, trips: hoodoo.Table) -> None:
    statement = "SELECT x.id, y.id, x.city AS id_1, y.city AS id FROM trips x JOIN trips y ON x.id + 1 = y.id WHERE x.id = 1"
    found = said(run(statement, trips.path, "--json"))
    assert found == [{"id": 1, "id_2": 2, "id_1": "oslo", "id_3": "rome"}]
    assert run(statement, trips.path)[1] == "id  id_2  id_1  id_3\n 1     2  oslo  rome\n"
    assert run(statement, trips.path, "--output", "csv")[1].startswith('"id","id_2","id_1","id_3"')


@pytest.mark.parametrize("second", ["SELEC 1", "SELECT 1 FROM", "DROP TABLE trips", "SELECT 'a"])
def test_none_runs_if_one_can_not_be_read(run: Run, trips: hoodoo.Table, second: str) -> None:
    code, out, err = run(f"DELETE FROM trips; {second}; SELECT 1", trips.path)
    assert (code, out) == (2, "") and "statement" in err
    assert trips.read().count() == 3


@pytest.mark.parametrize("statement", ["", " ; ;", "/* nothing */"])
def test_no_statement(run: Run, trips: hoodoo.Table, statement: str) -> None:
    code, out, err = run(statement, trips.path)
    assert (code, out) == (2, "") and "is empty" in err


def test_several_statements_are_one_document(run: Run, trips: hoodoo.Table, tmp_path: Path) -> None:
    script = "SELECT id FROM trips WHERE id = 9; DELETE FROM trips WHERE id = 1; SELECT count(*) AS n FROM trips"
    found = said(run(script, trips.path, "--json"))
    assert (found[0], found[1]["deleted"], found[2]) == ([], 1, [{"n": 2}])
    again = said(run(script, trips.path, "--output", "json"))
    assert (again[1]["deleted"], again[2]) == (0, [{"n": 2}])
    script = "DELETE FROM trips; SELECT 1 AS a FROM trips; SELECT 2 AS a FROM trips"
    code, out, err = run(script, trips.path, "--output", tmp_path / "a.csv")
    assert (code, out) == (2, "") and "2 queries" in err
    assert trips.read().count() == 2


def test_a_missing_directory_is_one_sentence(run: Run, trips: hoodoo.Table, tmp_path: Path) -> None:
    code, out, err = run("SELECT * FROM trips", trips.path, "--output", tmp_path / "no" / "a.csv")
    assert (code, out) == (2, "") and "Fix:" in err and "Traceback" not in err


def test_a_table_that_is_not_given_is_named_behind_the_statement(
    run: Run, trips: hoodoo.Table
) -> None:
    statement = "SELECT count(*) AS n FROM trips"
    code, _, err = run(statement)
    assert code and 'hoodoo sql "..." trips=PATH' in err
    assert said(run(statement, f"trips={trips.path}", "--json")) == [{"n": 3}]
    assert "trips=PATH" in run("DELETE FROM trips")[2]
