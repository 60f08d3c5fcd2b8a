"""Many tables in one process: those of a place, what appears and goes away; metrics of each."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import hoodoo
import pytest
from hoodoo_serve.health import Health, Metrics
from hoodoo_serve.places import Places
from hoodoo_serve.serving import Serving
from hoodoo_serve.table_services import Round, TableServices
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as open_metrics
from served_rows import rows
from test_serving import COMMAND, asked, line, started

Made = Callable[..., hoodoo.Table]


def make(path: str) -> TableServices:
    return TableServices(path, {}, holds=False, measures=True)


@contextmanager
def serving(*places: Path, every: float = 0.1) -> Iterator[tuple[Serving, Places, Metrics]]:
    metrics = Metrics(CollectorRegistry())
    found = Serving([], every, seen=metrics.seen, gone=metrics.gone)
    watch = Places(found, [*map(str, places)], {}, make, 0.1, metrics.place)
    watch.look()
    found.start()
    watch.start()
    try:
        yield found, watch, metrics
    finally:
        watch.stop()
        found.stop()
        assert found.wait(60)


def until(ready: Callable[[], object]) -> None:
    end = time.monotonic() + 60
    while not ready():
        assert time.monotonic() < end
        time.sleep(0.01)


def value(metrics: Metrics, name: str, table: hoodoo.Table) -> float | None:
    return metrics.registry.get_sample_value(f"hoodoo_{name}", {"location": table.path})


@pytest.mark.sampled(1, among="long")
def test_tables_that_appear_are_taken_up_and_those_that_go_are_let_go(
    made: Made, tmp_path: Path
) -> None:
    first, gone = made("lake/first"), made("lake/gone", 1)
    with serving(tmp_path / "lake") as (found, watch, metrics):
        until(lambda: len(found.states()) == 2)
        assert value(metrics, "table_bytes", first)
        shutil.move(tmp_path / "lake/gone", tmp_path / "gone")
        made("new")  # elsewhere: it would be compacted between its writes
        (tmp_path / "lake/deep").mkdir()
        new = hoodoo.open((tmp_path / "new").rename(tmp_path / "lake/deep/new"))
        until(lambda: set(found.paths) == {first.path, new.path})
        until(lambda: new.timeline().writes()[-1].action == "commit")  # it has been compacted
        until(lambda: value(metrics, "table_log_files", new) == 0)
        until(lambda: gone.path not in generate_latest(metrics.registry).decode())
        assert gone.path not in found.states()
        listed = {"place": str(tmp_path / "lake")}
        at = metrics.registry.get_sample_value(
            "hoodoo_served_place_listed_timestamp_seconds", listed
        )
        assert at and time.time() - at < 60
        # A place that can't be listed changes nothing, and is said.
        shutil.move(tmp_path / "lake", tmp_path / "moved")
        until(lambda: watch.last[str(tmp_path / "lake")].error)
        assert len(found.paths) == 2
        health = Health(found, metrics, places=watch)
        live, well, said = health.state()
        assert live and not well and "does not exist" in json.dumps(said["places"])


def test_a_table_that_two_ways_lead_to_is_served_once(made: Made, tmp_path: Path) -> None:
    table = made("lake/t")
    (tmp_path / "link").symlink_to(tmp_path / "lake", target_is_directory=True)
    found = Serving([])
    places = [str(tmp_path / name) for name in ("link", "lake")]
    Places(found, places, {}, make).look()
    assert found.paths == (table.path,)


@pytest.mark.sampled(1, among="long")
def test_a_table_that_is_named_and_lies_in_a_place_is_served_once(
    made: Made, tmp_path: Path
) -> None:
    named, other = made("lake/named"), made("lake/other")
    done = subprocess.run(
        [*COMMAND, "lake/named", named.path, "--from", "lake", "--once", "--json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert set(json.loads(done.stdout)) == {"lake/named", other.path}
    found = Serving([make(str(tmp_path / "lake/named"))])
    watch = Places(found, [str(tmp_path / "lake")], {}, make, named=found.paths)
    watch.look()
    assert set(found.paths) == {str(tmp_path / "lake/named"), other.path}
    shutil.move(named.path.removeprefix("file://"), tmp_path / "away")
    watch.look()
    assert len(found.paths) == 2  # a table that is named stays


@pytest.mark.sampled(1, among="long")
def test_a_line_that_fails_removes_no_table(made: Made, tmp_path: Path) -> None:
    tables = [made("lake/a"), made("lake/b")]
    lines = tmp_path / "lines"
    lines.write_text(str(tmp_path / "lake"))
    with serving(lines) as (found, watch, _):
        assert set(found.paths) == {table.path for table in tables}
        (tmp_path / "lake").rename(tmp_path / "away")
        until(lambda: watch.last[str(lines)].error)
        assert set(found.paths) == {table.path for table in tables}
        (tmp_path / "away").rename(tmp_path / "lake")
    lines.write_text(f"{tmp_path / 'lake'}\n{tmp_path / 'none'}")
    for more in (["--json"], []):
        done = subprocess.run(
            [*COMMAND, "--from", str(lines), "--once", *more], capture_output=True, text=True
        )
        assert done.returncode == 1 and "does not exist" in " ".join(done.stdout.split())


def test_one_that_fails_is_one_of_many(made: Made, tmp_path: Path) -> None:
    good, bad = made("lake/good"), made("lake/bad", 1)
    (tmp_path / "lake/bad/.hoodie/hoodie.properties").write_text("x")
    with serving(tmp_path / "lake") as (found, _, metrics):
        until(lambda: len(found.states()) == 2)
        assert (value(metrics, "service_failed", good), value(metrics, "service_failed", bad)) == (
            0,
            1,
        )
        live, well, _ = Health(found, metrics).state()
        assert live and not well


def test_figures(made: Made) -> None:
    metrics = Metrics(CollectorRegistry())
    table = made("t", 3)
    table.schedule("compaction")
    given = {"hoodoo.services.policies": "following", "hoodie.compact.inline": "false"}
    looks = TableServices(table.path, given, measures=True)
    metrics.seen(table.path, looks.round())
    assert value(metrics, "table_compaction_lag_commits", table) == 2
    assert value(metrics, "table_pending_instants", table) == 1
    for since in ("compaction_waits_since", "oldest_pending", "last_commit"):
        at = value(metrics, f"table_{since}_timestamp_seconds", table)
        assert at is not None and 0 <= time.time() - at < 600
    assert value(metrics, "table_clustering_lag_commits", table) is None
    table.run_planned("compaction", table.timeline().pending()[0].requested)
    metrics.seen(table.path, looks.round())
    looks.close()
    assert value(metrics, "table_log_files", table) == 0
    # What there is no more of has no time.
    assert value(metrics, "table_oldest_pending_timestamp_seconds", table) is None
    assert value(metrics, "table_compaction_waits_since_timestamp_seconds", table) is None
    assert open_metrics(metrics.registry).decode().endswith("# EOF\n")


def test_figures_are_made_again_for_a_changed_timeline_only(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, asked = made("t", 1), Counter[str]()
    real = hoodoo.Table.report

    def counted(self: hoodoo.Table, name: str, **more: object) -> object:
        asked[name] += 1
        return real(self, name, **more)

    monkeypatch.setattr(hoodoo.Table, "report", counted)
    looks = TableServices(table.path, {}, measures=True)
    for _ in range(3):
        assert looks.round().figures.rows == 5
    assert asked["summary"] == 1
    table.upsert(rows(range(5, 6), 9))
    assert looks.round().figures.week_rows == 6 and asked["summary"] == 2
    looks.close()


def test_a_lock_of_each_round_is_free_between(made: Made) -> None:
    table = made("t", 1)
    first, second = make(table.path), make(table.path)
    assert [first.round().role, second.round().role, first.round().role] == ["leads"] * 3
    holder = TableServices(table.path, {})
    assert (holder.round().role, first.round().role) == ("leads", "stands by")
    holder.close()


def test_few_threads_look_at_many_tables() -> None:
    """And each table has one round at a time, and as many as the others."""
    running, most, rounds = Counter[str](), Counter[str](), Counter[str]()
    lock = threading.Lock()

    class Looks(TableServices):
        def round(self) -> Round:
            with lock:
                running[self.path] += 1
                running["all"] += 1
                for name in (self.path, "all"):
                    most[name] = max(most[name], running[name])
            time.sleep(0.001)
            with lock:
                running[self.path] -= 1
                running["all"] -= 1
                rounds[self.path] += 1
            return Round("leads")

    before = threading.active_count()
    found = Serving([Looks(str(n), {}) for n in range(500)], every=0.5, at_once=3)
    found.start()
    assert threading.active_count() <= before + 3
    until(lambda: len(rounds) == 500 and min(rounds.values()) >= 2)
    found.stop()
    assert found.wait(60)
    assert most.pop("all") <= 3 and set(most.values()) == {1}


@pytest.mark.sampled(1, among="long")
def test_the_command(made: Made, tmp_path: Path) -> None:
    first, second = made("lake/a"), made("lake/b")
    lake = str(tmp_path / "lake")
    done = subprocess.run(
        [*COMMAND, "--from", lake, "--once", "--json"], capture_output=True, text=True
    )
    said = json.loads(done.stdout)
    assert done.returncode == 0 and said[first.path]["ran"] == said[second.path]["ran"]
    with started("--from", lake, "--every", "0.2", "--look", "0.2", "--port", "0") as process:
        url = line(process, "http://127.0.0.1:").strip().removesuffix("/health")
        line(process, "Serving 2 tables")
        third = made("lake/c")
        until(lambda: third.path in json.loads(asked(f"{url}/health")[1])["tables"])
        until(
            lambda: f'hoodoo_table_bytes{{location="{third.path}"}}' in asked(f"{url}/metrics")[1]
        )
        assert asked(f"{url}/live")[0] == 200
        assert "hoodoo_served_tables 3.0" in asked(f"{url}/metrics")[1]


@pytest.mark.sampled(1, among="long")
@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ([], "has no tables"),
        (["t", "--host", "0.0.0.0"], "needs a token"),
        (["t", "--look", "0"], "greater"),
    ],
)
def test_what_the_command_refuses(given: list[str], rule: str) -> None:
    done = subprocess.run([*COMMAND, *given, "--port", "0"], capture_output=True, text=True)
    assert done.returncode == 2 and rule in " ".join(done.stderr.split())


def test_a_token_is_asked_for() -> None:
    health = Health(Serving([]), Metrics(CollectorRegistry()), token="a-token")
    assert health.allows("metrics.example.org")
    answers = {
        given: health.knows(given) for given in ("", "Bearer x", "Basic a-token", "Bearer a-token")
    }
    assert [given for given, knows in answers.items() if knows] == ["Bearer a-token"]
    assert Health(Serving([]), Metrics(CollectorRegistry())).knows("")


# --- alerts and the board
MONITORING = Path(__file__).parents[1] / "src/hoodoo_serve/monitoring"
NAMES = re.compile(r"\bhoodoo_\w+")


def known() -> set[str]:
    metrics = Metrics(CollectorRegistry())
    text = generate_latest(metrics.registry).decode()
    names = set(re.findall(r"^# TYPE (\S+)", text, re.M))
    return names | {f"{name}_bucket" for name in names}


def test_alerts_and_the_board_ask_for_metrics_that_there_are() -> None:
    alerts = (MONITORING / "alerts.yml").read_text("utf-8")
    asked = {name for found in re.findall(r"expr: (.*)", alerts) for name in NAMES.findall(found)}
    board = json.loads((MONITORING / "grafana.json").read_text("utf-8"))
    exprs = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    asked |= {name for expr in exprs for name in NAMES.findall(expr)}
    assert len(asked) > 12 and asked <= known(), asked - known()


def test_alerts_are_whole() -> None:
    yaml = pytest.importorskip("yaml")
    groups = yaml.safe_load((MONITORING / "alerts.yml").read_text("utf-8"))["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    assert len({rule["alert"] for rule in rules}) == len(rules) == 8
    for rule in rules:
        assert rule.keys() == {"alert", "expr", "for", "labels", "annotations"}
        assert rule["expr"].count("(") == rule["expr"].count(")")
        assert rule["annotations"].keys() == {"summary", "description"}
    cases = yaml.safe_load(Path(__file__).with_name("alerts_test.yml").read_text("utf-8"))
    tried = json.dumps(cases)
    assert all(rule["alert"] in tried for rule in rules)


def test_alerts_fire_as_promtool_says(tmp_path: Path) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip(
            "there is no promtool: go install github.com/prometheus/prometheus/cmd/promtool"
        )
    for path in (MONITORING / "alerts.yml", Path(__file__).with_name("alerts_test.yml")):
        shutil.copy(path, tmp_path)
    for command in (["check", "rules", "alerts.yml"], ["test", "rules", "alerts_test.yml"]):
        done = subprocess.run([promtool, *command], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    metrics = Metrics(CollectorRegistry())
    metrics.seen("t", Round("leads"))
    text = generate_latest(metrics.registry)
    done_metrics = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True)
    assert done_metrics.returncode == 0, done_metrics.stderr


def test_panels_of_the_board_do_not_overlap() -> None:
    panels = json.loads((MONITORING / "grafana.json").read_text("utf-8"))["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken = Counter(
        (at["x"] + x, at["y"] + y)
        for panel in panels
        for at in [panel["gridPos"]]
        for x in range(at["w"])
        for y in range(at["h"])
    )
    assert set(taken.values()) == {1} and max(x for x, _ in taken) == 23
