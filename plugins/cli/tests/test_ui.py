"""The page of a table over HTTP: what each address answers, to whom, and that nothing is changed."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Any

import hoodoo
import pytest
from hoodoo.errors import ConfigError, NotATableError, StorageError
from hoodoo.kernel.resolve import resolve
from hoodoo.timeline import heartbeat
from hoodoo_cli.commandline import main
from hoodoo_cli.ui.read_only import ReadOnlyStorage
from hoodoo_cli.ui.server import _KINDS, PageServer, is_loopback
from hoodoo_cli.ui.services import Health
from hoodoo_cli.ui.shown import ShownTable
from ui_tables import ODD, create, get, rows, said, served

REPORTS = ("table", "stats", "files", "timeline", "partitions", "layout?column=id")


def everything(root: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in root.rglob("*") if path.is_file()}


# --- what it says -----------------------------------------------------------------------------------
def test_an_empty_table(tmp_path: Path) -> None:
    create(tmp_path / "t")
    with served(tmp_path / "t") as server:
        live = said(server, "api/live")
        assert (live["instants"], live["newest"], live["pending"]) == (0, None, [])
        assert said(server, "api/stats")["rows"] == 0
        assert said(server, "api/files")["bins"] == []
        assert said(server, "api/timeline")["rows"] == []
        assert said(server, "api/partitions")["total"] == 0
        assert said(server, "api/layout?column=id")["bars"] == []
        table = said(server, "api/table")
        assert [column["name"] for column in table["columns"]] == ["id", "city", "ts"]
        assert table["layout_column"] == "ts"


@pytest.mark.sampled(1, among="long")
@pytest.mark.parametrize("version", [6, 9])
def test_partitions(tmp_path: Path, version: int) -> None:
    table = create(tmp_path / "t", table_version=version)
    table.upsert(rows(range(30), 1, ("oslo", "rome", "rome")))
    table.upsert(rows(range(3), 2, ("oslo", "rome", "rome")))
    table.delete([3])
    with served(tmp_path / "t") as server:
        found = said(server, "api/partitions")
        assert [(r["partition"], r["rows"], r["file_groups"]) for r in found["rows"]] == [
            ("oslo", 9, 1),
            ("rome", 20, 1),
        ]
        assert sum(r["bytes"] for r in found["rows"]) == said(server, "api/stats")["newest_bytes"]
        first = said(server, "api/partitions?order=rows&limit=1")
        assert [r["partition"] for r in first["rows"]] == ["rome"] and first["total"] == 2
        second = said(server, "api/partitions?order=rows&limit=1&offset=1")
        assert [r["partition"] for r in second["rows"]] == ["oslo"]
        assert [r["partition"] for r in said(server, "api/partitions?prefix=ro")["rows"]] == [
            "rome"
        ]
        history = said(server, "api/timeline?limit=2")
        assert history["total"] == 3 and [r["deleted"] for r in history["rows"]] == [1, 0]
        assert all(r["began"] for r in history["rows"])
        sizes = said(server, "api/files")
        assert sum(one["base"] for one in sizes["bins"]) == 2 == len(sizes["smallest"])
        for one in sizes["smallest"]:
            at = [b for b in sizes["bins"] if b["low"] <= one["base_bytes"] < b["high"]]
            assert len(at) == 1 and at[0]["base"]
        bars = said(server, "api/layout?column=id")
        assert [(b["least"], b["greatest"]) for b in bars["bars"]] == [("0", "27"), ("1", "29")]
        assert (bars["bars"][0]["from"], bars["bars"][1]["to"]) == (0.0, 1.0)
        only = said(server, "api/layout?column=city&partition=rome")
        assert [(b["least"], b["greatest"]) for b in only["bars"]] == [("rome", "rome")]


def test_it_says_what_the_commands_say(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    create(tmp_path / "t").upsert(rows(range(10), 1))

    def command(name: str) -> Any:
        with pytest.raises(SystemExit):
            main([name, "--json", str(tmp_path / "t")])
        return json.loads(capsys.readouterr().out)

    with served(tmp_path / "t") as server:
        shown = {**said(server, "api/stats"), "cleanable_bytes": None}
        assert shown.pop("mark") and shown == {**command("stats"), "cleanable_bytes": None}
        history = said(server, "api/timeline")["rows"]
        asked = command("timeline")
        assert [{key: row[key] for key in asked[0]} for row in history] == asked
        by_size = sorted(command("files"), key=lambda row: row["base_bytes"])
        assert said(server, "api/files")["smallest"] == by_size


def test_logs_and_a_pending_compaction(tmp_path: Path) -> None:
    table = create(tmp_path / "t", "MERGE_ON_READ")
    table.upsert(rows(range(10), 1))
    table.upsert(rows(range(5), 2))
    plan = table.schedule("compaction")
    with served(tmp_path / "t") as server:
        live = said(server, "api/live")
        assert [(p["requested"], p["action"], p["writer"]) for p in live["pending"]] == [
            (plan, "compaction", "planned")
        ]
        assert said(server, "api/timeline")["rows"][0]["state"] == "requested"
        found = said(server, "api/partitions")["rows"]
        assert [row["log_files"] for row in found] == [1, 1] and all(r["log_bytes"] for r in found)
        assert sum(one["logs"] for one in said(server, "api/files")["bins"]) == 2
        assert said(server, "api/layout?column=id")["figures"]["unknown"] == 2
        table.run_planned("compaction", instant=plan)
        assert said(server, "api/live")["pending"] == []


def test_a_record_index(tmp_path: Path) -> None:
    table = create(tmp_path / "t", index="record_index", options={"hoodie.metadata.enable": "true"})
    table.upsert(rows(range(10), 1))
    with served(tmp_path / "t") as server:
        assert "record_index" in said(server, "api/table")["metadata_partitions"]
        assert said(server, "api/stats")["rows"] == 10
        assert [r["rows"] for r in said(server, "api/partitions")["rows"]] == [5, 5]


def test_the_column_that_the_table_is_clustered_by(tmp_path: Path) -> None:
    table = create(tmp_path / "t")
    table.upsert(rows(range(10), 1))
    clustered = hoodoo.open(
        str(tmp_path / "t"), {"hoodie.clustering.plan.strategy.sort.columns": "city"}
    )
    assert clustered.run("clustering").instant
    with served(tmp_path / "t") as server:
        assert said(server, "api/table")["layout_column"] == "city"


def test_values_without_a_scale_are_in_their_order(tmp_path: Path) -> None:
    create(tmp_path / "t").upsert(rows(range(9), 1, ("a", "b", "c")))
    with served(tmp_path / "t") as server:
        found = said(server, "api/layout?column=city")
        assert found["scale"] == "rank"
        assert [(b["least"], b["from"]) for b in found["bars"]] == [("a", 0), ("b", 0.5), ("c", 1)]


def test_zero_has_no_sign(tmp_path: Path) -> None:
    """Footers of Parquet have -0.0 for the least of zeros, and the axis began there."""
    table = hoodoo.create(str(tmp_path / "t"), "id bigint, fare double", record_key="id")
    table.upsert([{"id": 1, "fare": 0.0}, {"id": 2, "fare": 1.5}])
    with served(tmp_path / "t") as server:
        found = said(server, "api/layout?column=fare")
        assert (found["least"], found["bars"][0]["least"], found["greatest"]) == (
            "0.0",
            "0.0",
            "1.5",
        )


@pytest.mark.sampled(1, among="long")
def test_a_new_commit_has_another_mark(tmp_path: Path) -> None:
    table = create(tmp_path / "t")
    table.upsert(rows(range(4), 1))
    with served(tmp_path / "t") as server:
        before = said(server, "api/live")
        assert said(server, "api/live")["mark"] == before["mark"]
        assert said(server, "api/stats") == said(server, "api/stats")
        assert said(server, "api/stats")["mark"] == before["mark"]
        table.upsert(rows(range(4, 10), 2))
        now = said(server, "api/live")
        assert now["mark"] != before["mark"] and now["instants"] == before["instants"] + 1


# --- who is at work ---------------------------------------------------------------------------------
def test_the_signs_of_life(tmp_path: Path) -> None:
    table = create(tmp_path / "t")
    table.upsert(rows(range(4), 1))
    storage, instant = table.handle.storage, "20300101000000000"
    storage.put(f".hoodie/timeline/{instant}.commit.requested", b"")
    with served(tmp_path / "t") as server:

        def writer() -> Any:
            return said(server, "api/live")["pending"][0]["writer"]

        assert writer() == "gone"
        path = f"{heartbeat.FOLDER}/{instant}"
        storage.put(path, json.dumps(heartbeat.identity()).encode())
        assert writer() == "lives"
        storage.put(path, json.dumps({**heartbeat.identity(), "pid": 2**22 + 1}).encode())
        assert writer() == "gone"
        storage.put(path, json.dumps({"host": "elsewhere/1/2", "pid": 7, "interval": 60}).encode())
        assert writer() == "seen"
        os.utime(tmp_path / "t" / path, (0, 0))
        assert writer() == "silent"
        assert said(server, "api/live")["pending"][0]["host"] == "elsewhere"


def test_the_lock_of_the_process_that_serves(tmp_path: Path) -> None:
    table = create(tmp_path / "t")
    lock = resolve("lock", "conditional_put").instance
    with served(tmp_path / "t") as server:
        held = lock.acquire(table.handle.storage, "services", 0.0)
        assert held is not None
        found = said(server, "api/live")["locks"]
        assert [(one["name"], one["writer"], one["pid"]) for one in found] == [
            ("services", "lives", os.getpid())
        ]
        held.release()
        assert said(server, "api/live")["locks"] == []


@pytest.mark.sampled(1, among="long")
@pytest.mark.parametrize("status", [200, 503])
def test_the_health_of_a_process_that_serves(tmp_path: Path, status: int) -> None:
    create(tmp_path / "t")
    tables = {"/t": {"well": status == 200, "role": "leads", "seconds_since_last_round": 1.5}}

    class Serving(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps({"well": status == 200, "tables": tables}).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None: ...

    serving = HTTPServer(("127.0.0.1", 0), Serving)
    threading.Thread(target=serving.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{serving.server_address[1]}/health"
    with served(tmp_path / "t", address) as server:
        found = said(server, "api/live")["health"]
        assert found == [{"url": address, "well": status == 200, "tables": tables}]
        serving.shutdown()
        serving.server_close()
        assert "no answer" in said(server, "api/live")["health"][0]["error"]


@pytest.mark.parametrize("url", ["file:///etc/hostname", "127.0.0.1:9400", "http://"])
def test_health_is_an_http_address(url: str) -> None:
    with pytest.raises(ConfigError, match="--health"):
        Health.at(url)


# --- to whom ----------------------------------------------------------------------------------------
def test_it_listens_on_loopback_only(tmp_path: Path) -> None:
    create(tmp_path / "t")
    with served(tmp_path / "t") as server:
        assert server._server is not None
        assert server._server.server_address[0] == "127.0.0.1"
        # All of 127.0.0.0/8 is this machine: another address of it is not listened at.
        with pytest.raises(OSError), socket.create_connection(("127.0.0.2", server.port), 2):
            pass


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("host", "status"),
    [("127.0.0.1", 200), ("localhost:80", 200), ("[::1]:80", 200), ("evil.example", 403), ("10.0.0.7", 403)],
)  # fmt: skip
def test_names_of_elsewhere_are_refused(tmp_path: Path, host: str, status: int) -> None:
    """A page of elsewhere may give its own name this machine's address, and ask."""
    create(tmp_path / "t")
    with served(tmp_path / "t") as server:
        for path in ("", "api/table"):
            assert get(server, path, Host=host)[0] == status


def test_who_says_nothing_holds_no_thread_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hoodoo_cli.ui.server.IDLE", 0.2)
    create(tmp_path / "t")
    with (
        served(tmp_path / "t") as server,
        socket.create_connection(("127.0.0.1", server.port), 30) as silent,
    ):
        assert silent.recv(1) == b""


def test_loopback() -> None:
    inside = [host for host in ("127.0.0.1", "127.9.9.9", "::1", "localhost") if is_loopback(host)]
    assert len(inside) == 4
    assert not any(map(is_loopback, ("0.0.0.0", "::", "10.0.0.1", "example.org", "")))


@pytest.mark.sampled(1, among="long")
def test_another_address_is_warned_of(tmp_path: Path) -> None:
    table = create(tmp_path / "t")
    found = ended(run_ui(table.path, "--host", "0.0.0.0"))
    assert "without encryption" in " ".join(found.split())
    assert "encryption" not in ended(run_ui(table.path))


def test_nothing_but_questions(tmp_path: Path) -> None:
    create(tmp_path / "t")
    with served(tmp_path / "t") as server:
        for method in ("POST", "PUT", "DELETE"):
            assert get(server, "api/table", method)[0] == 501
        assert get(server, "api/table", "HEAD")[0] == 200
        for path in ("nothing", "api/nothing", "../setup.cfg", "page/../../x", "%2e%2e/x"):
            assert get(server, path)[0] == 404


def test_wrong_questions_have_a_sentence(tmp_path: Path) -> None:
    create(tmp_path / "t").upsert(rows(range(4), 1))
    with served(tmp_path / "t") as server:
        for path in (
            "timeline?limit=0", "timeline?limit=1001", "timeline?limit=x", "partitions?order=x", "layout",
            "layout?column=nothing",
        ):  # fmt: skip
            status, _, found = get(server, f"api/{path}")
            assert status == 400 and found["rule"], path


# --- what is refused ----------------------------------------------------------------------------------
def test_a_table_that_goes_away_and_comes_back(tmp_path: Path) -> None:
    path, kept = tmp_path / "t", tmp_path / "kept"
    create(path).upsert(rows(range(4), 1))
    with served(path) as server:
        assert said(server, "api/stats")["rows"] == 4
        path.rename(kept)
        for report in ("live", *REPORTS):
            status, _, found = get(server, f"api/{report}")
            assert (status, found["error"]) == (404, "NotATableError"), report
        kept.rename(path)
        assert said(server, "api/stats")["rows"] == 4
        shutil.rmtree(path)
        create(path, name="another")
        assert said(server, "api/table")["name"] == "another"


def test_nothing_is_changed(tmp_path: Path) -> None:
    table = create(tmp_path / "t", "MERGE_ON_READ", options={"hoodie.metadata.enable": "true"})
    table.upsert(rows(range(10), 1))
    table.upsert(rows(range(5), 2))
    table.schedule("compaction")
    told = {"host": "elsewhere/1/2", "pid": 7}
    folder = tmp_path / "t" / heartbeat.FOLDER
    folder.mkdir(exist_ok=True)
    (folder / table.timeline().pending()[0].requested).write_text(json.dumps(told))
    before = everything(tmp_path)
    with served(tmp_path / "t") as server:
        for report in ("live", *REPORTS, "timeline?archived=1"):
            said(server, f"api/{report}")
    assert everything(tmp_path) == before


def test_a_store_for_looking(tmp_path: Path) -> None:
    storage = create(tmp_path / "t").handle.storage
    shut: Any = ReadOnlyStorage(storage)
    assert shut.get(".hoodie/hoodie.properties") == storage.get(".hoodie/hoodie.properties")
    assert shut.root == storage.root
    for call in (
        lambda: shut.put("x", b""), lambda: shut.put_if_absent("x", b""), lambda: shut.delete("x"),
        lambda: shut.put_file_if_absent("x", "y"), lambda: shut.delete_prefix("x"),
    ):  # fmt: skip
        with pytest.raises(StorageError, match="looking only"):
            call()


def test_secrets_are_hidden(tmp_path: Path) -> None:
    table = create(tmp_path / "t")
    table.handle.change_properties({"hoodie.x.secret.key": "s3cr3t", "hoodie.x.password": "s3cr3t"})
    with served(tmp_path / "t") as server:
        found = get(server, "api/table")[2]
        assert "s3cr3t" not in json.dumps(found)
        assert found["properties"]["hoodie.table.name"] == "trips"
        assert found["properties"]["hoodie.table.recordkey.fields"] == "id"


def test_odd_names_are_data(tmp_path: Path) -> None:
    """They come as JSON, which no browser takes for a page."""
    create(tmp_path / "t").upsert(rows(range(4), 1, (ODD, "a b&c")))
    with served(tmp_path / "t") as server:
        _status, headers, found = get(server, "api/partitions")
        assert [r["partition"] for r in found["rows"]] == [ODD, "a b&c"]
        assert headers["Content-Type"] == "application/json"
        assert headers["X-Content-Type-Options"] == "nosniff"
        refused = get(server, f"api/{ODD.replace(' ', '%20')}")
        assert refused[0] == 404 and refused[1]["Content-Type"] == "application/json"


# --- the files of the page ------------------------------------------------------------------------
def test_the_page_asks_nobody_else(tmp_path: Path) -> None:
    create(tmp_path / "t")
    with served(tmp_path / "t") as server:
        status, headers, page = get(server, "")
        policy = headers["Content-Security-Policy"]
        assert status == 200 and "default-src 'none'" in policy and "unsafe" not in policy
        named = set(re.findall(r'(?:src|href)="([^"#]+)"', page))
        assert named == {"page.css", "parts.js", "page.js", "icon.svg", "../../"}
        for name in named - {"../../"}:
            assert get(server, name)[0] == 200


def test_the_page_has_no_external_address_and_makes_no_markup() -> None:
    folder = files("hoodoo_cli.ui").joinpath("page")
    texts = {one.name: one.read_text("utf-8") for one in folder.iterdir()}
    assert set(texts) == set(_KINDS)
    for name, text in texts.items():
        # The names of XML's vocabulary are no addresses that anybody asks.
        found = text.replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"(?:https?:)?//[\w-]+\.\w|@import|url\(|data:", found), name
    wild = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function"
    for name, text in texts.items():
        markup = r"<script(?! src)|<style|\son\w+=|\sstyle=" if name.endswith(".html") else wild
        assert not re.search(markup, text), name


# --- what it costs ------------------------------------------------------------------------------------
@pytest.mark.sampled(1, among="long")
def test_a_look_costs_the_same_for_any_table(tmp_path: Path) -> None:
    def looks(name: str, commits: int, cities: int) -> Counter[str]:
        table = create(tmp_path / name)
        for n in range(commits):
            table.upsert(rows(range(cities), n, tuple(f"c{i}" for i in range(cities))))
        shown = ShownTable(table.path)
        shown.live()
        assert shown._opened is not None
        inner = shown._opened.handle.storage._inner  # type: ignore[attr-defined]
        asked: Counter[str] = Counter()

        class Counting:
            def __getattr__(self, name: str) -> Any:
                asked[name] += name in ("list", "get", "head", "open", "names")
                return getattr(inner, name)

        shown._opened.handle.storage._inner = Counting()  # type: ignore[attr-defined]
        shown.live()
        return asked

    small, large = looks("small", 1, 2), looks("large", 6, 40)
    assert small == large and small.total() <= 8


def test_reports_are_made_once_for_a_state(tmp_path: Path) -> None:
    table = create(tmp_path / "t")
    table.upsert(rows(range(4), 1))
    now = [0.0]
    shown = ShownTable(table.path, clock=lambda: now[0])
    made: list[str] = []

    def slow(opened: Any, timeline: Any) -> dict[str, Any]:
        made.append("made")
        now[0] += 2.0
        return {}

    first = shown._made(("x",), slow)
    assert shown._made(("x",), slow) == first and made == ["made"]
    table.upsert(rows(range(4), 2))
    now[0] += 17.0  # nine times as long as it took are 18 seconds
    assert shown._made(("x",), slow) == first and made == ["made"]
    now[0] += 2.0
    assert shown._made(("x",), slow)["mark"] != first["mark"] and made == ["made"] * 2


def test_footers_are_opened_up_to_a_limit(tmp_path: Path) -> None:
    table = create(tmp_path / "t")
    table.upsert(rows(range(6), 1, ("a", "b", "c")))
    table.append(rows(range(100, 104), 2, ("z",)))
    for n in range(6):  # the first commits are archived
        table.upsert(rows(range(100, 102), 3 + n, ("z",)))
    keep = {"hoodie.clean.commits.retained": "1", "hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3"}  # fmt: skip
    other = hoodoo.open(table.path, keep)
    other.clean()
    assert other.archive().instants
    assert table.report("stats").rows == table.report("stats", footers=3).rows == 10
    assert table.report("stats", footers=2).rows is None
    few = {row.partition: row.rows for row in table.report("partitions", footers=2)}
    assert few == {"a": None, "b": None, "c": None, "z": 4}
    assert {r.partition: r.rows for r in table.report("partitions")} == {
        "a": 2,
        "b": 2,
        "c": 2,
        "z": 4,
    }


# --- the command ----------------------------------------------------------------------------------------
def run_ui(*arguments: str) -> subprocess.Popen[str]:
    code = "from hoodoo_cli.commandline import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", code, "ui", *arguments], text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def ended(process: subprocess.Popen[str]) -> str:
    """Ctrl-C, as soon as it listens; what it said."""
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if "Ctrl-C ends it" in line:
            process.send_signal(signal.SIGINT)
            break
    lines += process.stdout.readlines()
    process.stdout.close()
    assert process.wait(30) == 0, lines
    return "".join(lines)


@pytest.mark.sampled(1, among="long")
def test_the_command(tmp_path: Path) -> None:
    table = create(tmp_path / "t")
    found = ended(run_ui(table.path, "--port", "0", "--no-open"))
    assert re.match(r"http://127\.0\.0\.1:\d{4,5}/\n", found), found
    assert "Traceback" not in found


@pytest.mark.sampled(1, among="long")
def test_what_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(NotATableError):
        ShownTable(str(tmp_path / "none")).live()
    process = run_ui(str(tmp_path / "none"))
    assert "holds no" in process.communicate(timeout=60)[0] or process.returncode == 2
    assert process.returncode == 2


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    create(tmp_path / "t")
    with served(tmp_path / "t") as server, pytest.raises(ConfigError, match="can't be listened"):
        PageServer(ShownTable(str(tmp_path / "t")), port=server.port).start()
