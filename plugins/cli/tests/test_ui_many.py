"""The page of many tables over HTTP: rows that follow them, the page of each, who may see it."""

from __future__ import annotations

import http.client
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import hoodoo
import pytest
from hoodoo.errors import ConfigError
from hoodoo_cli.toolkit.prices import Prices
from hoodoo_cli.ui.server import PageServer
from hoodoo_cli.ui.shown import ShownTable
from hoodoo_cli.ui.tables import ManyTables
from ui_tables import create, get, rows, said

TOKEN = "a-long-token"


@contextmanager
def page(place: Path, every: float = 0.0, token: str = "") -> Iterator[PageServer]:
    server = PageServer(
        ManyTables(str(place), prices=Prices.of(["1000"]), every=every), token=token
    )
    server.start()
    try:
        yield server
    finally:
        server.stop()


def until(server: PageServer, ready: Callable[[Any], Any]) -> Any:
    end = time.monotonic() + 60
    while not ready(found := said(server, "api/tables")):
        assert time.monotonic() < end, found
        time.sleep(0.02)
    return found


def whole(found: Any) -> bool:
    return bool(found["listed"] and not found["waiting"])


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    create(tmp_path / "lake/a").upsert(rows(range(10), 1))
    create(tmp_path / "lake/b", "MERGE_ON_READ")
    return tmp_path / "lake"


def test_rows_follow_the_tables(lake: Path) -> None:
    with page(lake) as server:
        first, second = until(server, whole)["rows"]
        assert (first["name"], first["summary"]["rows"], first["state"]) == ("a", 10, "ok")
        assert first["summary"]["cost"] == pytest.approx(first["summary"]["bytes"] / 1e6)
        assert second["summary"]["last_commit"] is None
        mark = said(server, "api/tables")["mark"]
        assert "rows" not in said(server, f"api/tables?mark={mark}")
        hoodoo.open(lake / "a").upsert(rows(range(10, 13), 2))
        until(server, lambda found: found["rows"][0]["summary"]["rows"] == 13)
        create(lake / "c")
        until(server, lambda found: len(found["rows"]) == 3 and whole(found))
        (lake / "c/.hoodie/hoodie.properties").unlink()
        assert (
            until(server, lambda found: found["rows"][2]["error"])["rows"][2]["state"] == "damaged"
        )
        lake.rename(lake.with_name("moved"))  # a listing that has begun may see less
        assert "does not exist" in until(server, lambda found: found["error"])["error"]
        lake.with_name("moved").rename(lake)
        until(server, lambda found: not found["error"])


def test_a_listing_that_fails_leaves_the_rows(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*given: Any) -> Any:
        raise ConfigError("place lake", "does not answer.", "Wait.")

    with page(lake) as server:
        until(server, whole)
        monkeypatch.setattr("hoodoo_cli.ui.tables.tables_of", fails)
        found = until(server, lambda found: found["error"])
        assert len(found["rows"]) == 2 and "does not answer" in found["error"]


def test_a_table_that_fails_is_a_row_and_is_asked_again(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = hoodoo.open

    def failing(path: str, options: Any) -> Any:
        if path.endswith("/a"):
            raise KeyError("x")
        return real(path, options)

    monkeypatch.setattr("hoodoo.open", failing)
    with page(lake) as server:
        found = until(server, lambda found: whole(found) and found["rows"][1].get("summary"))
        assert found["rows"][0]["state"] == "failed" and "KeyError" in found["rows"][0]["error"]
        monkeypatch.setattr("hoodoo.open", real)
        until(server, lambda found: found["rows"][0].get("summary"))


@pytest.mark.sampled(1, among="long")
def test_a_row_leads_to_the_page_of_the_table(lake: Path) -> None:
    with page(lake) as server:
        assert "many.js" in get(server, "")[2]
        number = until(server, whole)["rows"][0]["id"]
        assert "page.js" in get(server, f"table/{number}/")[2]
        for name in ("page.css", "parts.js", "page.js"):
            assert get(server, f"table/{number}/{name}")[0] == 200
        assert said(server, f"table/{number}/api/table")["path"].endswith("/a")
        assert get(server, "table/nothing/")[0] == get(server, f"table/{number}")[0] == 404
    with page(lake) as again:  # the address of a table is the same after a start
        assert said(again, f"table/{number}/api/stats")["rows"] == 10


def test_few_tables_are_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hoodoo_cli.ui.tables._OPEN", 2)
    for name in "abc":
        create(tmp_path / name)
    with page(tmp_path) as server:
        for row in until(server, whole)["rows"]:
            said(server, f"table/{row['id']}/api/live")
        assert isinstance(server.shown, ManyTables) and len(server.shown._shown) == 2


def test_nothing_is_listed_while_nobody_looks(lake: Path) -> None:
    now = [0.0]
    shown = ManyTables(str(lake), every=60, clock=lambda: now[0])
    while not whole(shown.tables()):
        time.sleep(0.01)
    create(lake / "new")
    assert len(shown.tables()["rows"]) == 2
    now[0] = 61.0
    while len(shown.tables()["rows"]) == 2:
        time.sleep(0.01)
    shown.stop()
    assert len(shown.tables()["rows"]) == 3


# --- a commit and its files, rows
@pytest.mark.parametrize("version", [6, 9])
def test_a_commit_opens_its_files(tmp_path: Path, version: int) -> None:
    table = create(tmp_path / "t", "MERGE_ON_READ", table_version=version)
    table.upsert(rows(range(4), 1))
    table.upsert(rows(range(2), 2))
    table.schedule("compaction")
    shown = ShownTable(str(tmp_path / "t"))
    first, second, plan = table.timeline().instants
    found = shown.commit(first.requested, first.action)
    assert [(one["partition"], one["inserted"]) for one in found["files"]] == [
        ("oslo", 2),
        ("rome", 2),
    ]
    assert found["operation"] == "upsert" and found["total"] == 2
    assert ("Rows", "4 inserted, 0 updated, 0 deleted") in found["facts"]
    assert all(not key.startswith("hoodoo.") and key != "schema" for key, _ in found["facts"])
    assert (
        sum(one["updated"] for one in shown.commit(second.requested, second.action)["files"]) == 2
    )
    planned = shown.commit(plan.requested, plan.action)
    assert planned["state"] == "requested" and planned["total"] == 2
    with pytest.raises(ConfigError, match="is not on the timeline"):
        shown.commit("20200101000000000", "commit")


def test_an_archived_commit_and_a_clean_open_their_files(tmp_path: Path) -> None:
    keep = {"hoodie.keep.min.commits": "3", "hoodie.keep.max.commits": "4"}
    table = create(tmp_path / "t", options={"hoodie.clean.commits.retained": "1", **keep})
    first = table.upsert(rows(range(4), 0)).instant
    for ts in range(1, 7):
        table.upsert(rows(range(4), ts))
    shown = ShownTable(str(tmp_path / "t"))
    assert first not in {one.requested for one in table.timeline().instants}
    found = shown.commit(first, "commit")
    assert found["state"] == "archived" and found["total"] == 2
    clean = next(one for one in table.timeline().instants if one.action == "clean")
    assert shown.commit(clean.requested, "clean")["files"][0]["file"].endswith(".parquet")


def test_files_and_rows_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hoodoo_cli.ui.opened.MOST_FILES", 1)
    table = create(tmp_path / "t")
    commit = table.upsert(rows(range(200), 1))
    shown = ShownTable(str(tmp_path / "t"))
    found = shown.commit(commit.instant, "commit")
    assert (len(found["files"]), found["total"]) == (1, 2)
    assert len(shown.rows(100)["rows"]) == 100
    some = shown.rows(5, "id = 7")
    assert some == {
        "columns": ["id", "city", "ts"],
        "all_columns": 3,
        "numeric": [True, False, True],
        "rows": [["7", "rome", "1"]],
    }
    for wrong in ((0, ""), (101, ""), (5, "nothing = 1"), (5, "id = (select 1)")):
        with pytest.raises(hoodoo.errors.HoodooError):
            shown.rows(*wrong)


# --- to whom
def asked(server: PageServer, path: str, **headers: str) -> tuple[int, Any]:
    line = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    line.request("GET", path, headers=headers)
    answer = line.getresponse()
    line.close()
    return answer.status, answer.headers


def test_a_token_is_asked_for(lake: Path) -> None:
    with page(lake, token=TOKEN) as server:
        for path in (
            "/",
            "/api/tables",
            "/table/x/api/rows",
            "/page.css",
            "/?token=other",
            "/?token=",
        ):
            assert asked(server, path)[0] == 401, path
        assert asked(server, "/", Cookie=f"hoodoo_ui_{server.port}=other")[0] == 401
        assert asked(server, "/", Authorization="Bearer other")[0] == 401
        assert asked(server, "/", Authorization=f"Bearer {TOKEN}")[0] == 200
        status, headers = asked(server, f"/table/x/?token={TOKEN}&a=1")
        assert (status, headers["Location"]) == (303, "/table/x/?a=1")
        cookie = headers["Set-Cookie"]
        assert "HttpOnly" in cookie and "SameSite" in cookie
        assert asked(server, "/api/tables", Cookie=cookie.split(";")[0])[0] == 200
        # Who has it may come by the name of a proxy.
        assert asked(server, "/", Cookie=cookie.split(";")[0], Host="tables.example.org")[0] == 200
        for path in ("//evil.example/", "/\\evil.example/"):
            assert asked(server, f"{path}?token={TOKEN}")[1]["Location"] == "/evil.example/"


@pytest.mark.sampled(1, among="long")
def test_another_address_than_loopback_has_a_token(lake: Path) -> None:
    command = [sys.executable, "-m", "hoodoo", "ui", str(lake), "--host", "0.0.0.0"]
    for given in (TOKEN, ""):
        environment = {
            **os.environ,
            "COLUMNS": "300",
            **({"HOODOO_UI_TOKEN": given} if given else {}),
        }
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
        ) as process:
            assert process.stdout is not None
            address, _, token = process.stdout.readline().strip().partition("?token=")
            process.kill()
        assert address.startswith("http://0.0.0.0:")
        assert token == given or (not given and len(token) > 20)


@pytest.mark.parametrize("token", ["short", "with space or;semicolon"])
def test_tokens_that_are_none(
    lake: Path, run: Any, monkeypatch: pytest.MonkeyPatch, token: str
) -> None:
    monkeypatch.setenv("HOODOO_UI_TOKEN", token)
    code, _, err = run("ui", lake)
    assert code == 2 and "HOODOO_UI_TOKEN" in err
