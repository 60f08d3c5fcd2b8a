"""SQL on the page of a table: queries alone, within bounds of rows, time and memory; the page stays whatever they do."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hoodoo_cli.ui import query
from ui_tables import ODD, create, get, rows, served

QUERY = "SELECT city, count(*) AS n, max(ts) AS ts FROM trips GROUP BY city ORDER BY city"


def ask(server: Any, text: str, **headers: str) -> tuple[int, Any]:
    status, _, found = get(server, f"api/sql?text={quote(text)}", **headers)
    return status, found


def files(path: Path) -> set[str]:
    return {str(one) for one in path.rglob("*")}


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the machine has other work, too."""
    monkeypatch.setattr(query, "SECONDS", 400.0)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    table = create(tmp_path / "t", "MERGE_ON_READ")
    table.upsert(rows(range(600), 1, ("oslo", "rome")))
    table.upsert(rows(range(10), 2, ("oslo", "rome")))
    create(tmp_path / "other").upsert(rows(range(3), 1))
    return tmp_path


def test_queries(place: Path) -> None:
    with served(place / "t") as server:
        status, found = ask(server, QUERY)
        assert status == 200 and found["rows"] == [["oslo", "300", "2"], ["rome", "300", "2"]]
        assert (found["columns"], found["numeric"]) == (["city", "n", "ts"], [False, True, True])
        _, many = ask(server, "-- all\n/* of\nthem */ (SELECT id, id FROM trips)")
        assert (len(many["rows"]), many["total"]) == (query.MOST_ROWS, 600)
        assert many["columns"] == ["id", "id"] and len(many["rows"][0]) == 2
        _, past = ask(server, "SELECT max(ts) FROM trips VERSION AS OF '1'")
        assert past["rows"] == [["1"]]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("DELETE FROM trips WHERE id = 1", "changes nothing"),
        ("ALTER TABLE trips ADD COLUMNS (x int)", "changes nothing"),
        ("/* SELECT */ DROP TABLE trips", "changes nothing"),
        ("WITH x AS (SELECT 99 AS id) INSERT INTO trips SELECT id, 'a', 1 FROM x", "looking only"),
        ("SELECT 1; DELETE FROM trips", "one at a time"),
        ("SELECT * FROM read_text('/etc/hostname')", "READ_TEXT"),
        ("SELECT getenv('HOME')", "getenv"),
        ("SELECT * FROM hudi.`{other}`", "is not among"),
        ("SELECT * FROM hudi_table_changes('{other}', 'latest_state', 'earliest')", "hudi_table"),
        ("SELECT nope FROM trips", "nope"),
        ("SELECT 1 +", "SQL"),
    ],
)
@pytest.mark.sampled(1, among="long")
def test_nothing_else_runs(place: Path, text: str, said: str) -> None:
    before = files(place)
    with served(place / "t") as server:
        status, found = ask(server, text.replace("{other}", str(place / "other")))
    assert (
        status >= 400 and said.lower() in f"{found['obj']} {found['rule']} {found['fix']}".lower()
    ), found
    assert found["fix"]
    assert files(place) == before


def test_what_takes_too_long_is_ended(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query, "SECONDS", 3.0)
    many = (
        "SELECT count(*) FROM trips a, trips b, trips c, trips d WHERE a.id + b.id <> c.id * d.id"
    )
    with served(place / "t") as server:
        begun = time.monotonic()
        status, found = ask(server, many)
        assert status == 400 and "longer than 3 seconds" in found["rule"]
        assert time.monotonic() - begun < 60
        assert get(server, "api/live")[0] == 200


def test_what_takes_too_much_memory_is_ended(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query, "BYTES", 600 << 20)
    many = "SELECT a.id + b.id AS x, c.city, a.city FROM trips a, trips b, trips c"
    with served(place / "t") as server:
        status, found = ask(server, many)
        assert status >= 400 and "memory" in found["rule"].lower(), found
        assert found["fix"].startswith("Ask for less")
        assert get(server, "api/live")[0] == 200


def test_few_run_at_once(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with served(place / "t") as server:
        for _ in range(2):
            query._running.acquire()
        try:
            status, found = ask(server, "SELECT 1")
        finally:
            for _ in range(2):
                query._running.release()
        assert status == 400 and "running" in found["rule"]
        assert ask(server, "SELECT 1 AS one")[1]["rows"] == [["1"]]


def test_other_pages_may_not_ask(place: Path) -> None:
    with served(place / "t") as server:
        status, _ = ask(server, "SELECT 1", **{"Sec-Fetch-Site": "cross-site"})
        assert status == 403
        assert ask(server, "SELECT 1", **{"Sec-Fetch-Site": "same-origin"})[0] == 200


def test_a_table_of_any_name(tmp_path: Path) -> None:
    table = create(tmp_path / "t", name="trips")
    table.handle.change_properties({"hoodie.table.name": ODD})
    table.upsert(rows(range(4), 1))
    with served(tmp_path / "t") as server:
        assert ask(server, f"SELECT count(*) AS n FROM `{ODD}`")[1]["rows"] == [["4"]]
