"""What is scraped of a process that writes to a table, through the entry point."""

from __future__ import annotations

import sys
import urllib.request
from pathlib import Path
from subprocess import run

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import HoodooError
from hoodoo.hookspecs.observer import Event
from hoodoo_prometheus_metrics.metrics import Metrics
from prometheus_client import REGISTRY, CollectorRegistry, start_http_server

ROWS = pa.table({"id": [1, 2], "city": ["oslo", "bergen"]})


def count(name: str, table: hoodoo.Table, action: str, **labels: str) -> float | None:
    of = {"table": "trips", "location": table.path, "action": action, **labels}
    return REGISTRY.get_sample_value(name, of)


@pytest.fixture
def table(tmp_path: Path) -> hoodoo.Table:
    return hoodoo.create(
        str(tmp_path / "trips"), ROWS.schema, record_key="id", partition_by="city"
    )  # fmt: skip


def test_a_write_is_counted(table: hoodoo.Table) -> None:
    commit = table.insert(ROWS)
    table.upsert(ROWS)
    assert count("hoodoo_actions_total", table, "write", outcome="done") == 2
    assert count("hoodoo_rows_total", table, "write", change="inserted") == 2
    assert count("hoodoo_rows_total", table, "write", change="updated") == 2
    assert count("hoodoo_files_total", table, "write", change="added") == 2 * len(commit.files)
    assert count("hoodoo_partitions_total", table, "write") == 4
    assert count("hoodoo_action_seconds_count", table, "write", outcome="done") == 2
    written = sum(f.stat().st_size for f in Path(table.path[7:]).glob("*/*.parquet"))
    assert count("hoodoo_written_bytes_total", table, "write") == written
    assert count("hoodoo_actions_running", table, "write") == 0
    assert count("hoodoo_action_last_done_timestamp_seconds", table, "write")


def test_a_failure_is_counted_by_its_class(table: hoodoo.Table) -> None:
    with pytest.raises(HoodooError) as caught:
        table.delete_partitions("nowhere")
    error = type(caught.value).__name__
    assert count("hoodoo_actions_total", table, "write", outcome="failed") == 1
    assert count("hoodoo_action_errors_total", table, "write", error=error) == 1
    assert count("hoodoo_actions_running", table, "write") == 0


def test_services_are_counted_by_their_action(table: hoodoo.Table) -> None:
    table.insert(ROWS)
    table.clean()
    assert count("hoodoo_actions_total", table, "clean", outcome="skipped") == 1
    table.savepoint()
    assert count("hoodoo_actions_total", table, "savepoint", outcome="done") == 1


def test_it_is_scraped_over_http(table: hoodoo.Table) -> None:
    table.insert(ROWS)
    server, thread = start_http_server(0, addr="127.0.0.1")
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/metrics") as answer:
            page = answer.read().decode()
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    labels = f'action="write",location="{table.path}",outcome="done",table="trips"'
    assert f"hoodoo_actions_total{{{labels}}} 1.0" in page


def test_what_is_unknown_is_not_counted() -> None:
    registry = CollectorRegistry()
    metrics = Metrics(registry)
    metrics.observe(Event("sort.done", "t"))
    of = {"table": "t", "location": "", "action": "sort"}
    assert registry.get_sample_value("hoodoo_actions_total", {**of, "outcome": "done"}) == 1
    assert registry.get_sample_value("hoodoo_files_total", {**of, "change": "added"}) is None
    assert registry.get_sample_value("hoodoo_actions_running", of) is None


def test_discovery_does_not_import_the_library() -> None:
    code = "import sys, hoodoo_prometheus_metrics.plugin\nassert 'prometheus_client' not in sys.modules"
    run([sys.executable, "-c", code], check=True)
