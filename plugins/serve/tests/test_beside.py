"""Services in a thread beside the writer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import hoodoo
import pytest
from hoodoo_serve.beside import wait_for
from served_rows import SCHEMA, rows

Made = Callable[..., hoodoo.Table]


def test_a_compaction_beside_the_writer(made: Made) -> None:
    path = made(deltas=0).path
    table = hoodoo.open(path, {"hoodie.datasource.compaction.async.enable": "true"})
    for ts in range(8):
        table.upsert(rows(range(5), ts))
    table.run("services_beside")
    assert any(instant.action == "commit" for instant in table.timeline().instants)
    assert table.read(columns=["ts"]).to_arrow()["ts"].to_pylist() == [7] * 5
    assert table.verify().ok


@pytest.mark.parametrize("key", ["hoodie.clustering.async.enabled", "hoodie.datasource.clustering.async.enable"])  # fmt: skip
def test_a_clustering_beside_the_writer(tmp_path: Path, key: str) -> None:
    path = str(tmp_path / "t")
    hoodoo.create(path, SCHEMA, name="t", record_key="id", ordering="ts")
    options = {
        key: "true", "hoodie.clustering.async.max.commits": "2",
        "hoodie.clustering.plan.strategy.sort.columns": "v",
        "hoodie.clustering.updates.strategy": "allow",  # the clustering gives way to the writer
    }  # fmt: skip
    table = hoodoo.open(path, options)
    for ts in range(6):
        table.upsert(rows(range(5), ts))
    table.run("services_beside")
    assert any(instant.action == "replacecommit" for instant in table.timeline().instants)
    assert table.read(columns=["ts"]).to_arrow()["ts"].to_pylist() == [5] * 5
    assert table.verify().ok


def test_nobody_asked_for_it(made: Made) -> None:
    table = made(deltas=8)
    wait_for(table.path)
    assert {instant.action for instant in table.timeline().instants} == {"deltacommit"}


def test_cleaning_and_archiving_beside_the_writer(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    hoodoo.create(path, SCHEMA, name="t", record_key="id", ordering="ts")
    options = {
        "hoodie.clean.async.enabled": "true", "hoodie.archive.async": "true",
        "hoodie.clean.commits.retained": "1", "hoodie.keep.min.commits": "3",
        "hoodie.keep.max.commits": "4",
    }  # fmt: skip
    table = hoodoo.open(path, options)
    before = table.handle.after_writes.due()
    assert {"cleaning", "archiving"}.isdisjoint(service.what for service in before)
    for ts in range(8):
        table.upsert(rows(range(5), ts))
    table.run("services_beside")
    assert any(instant.action == "clean" for instant in table.timeline().instants)
    assert len(table.timeline().writes()) <= 4
    assert table.read(columns=["ts"]).to_arrow()["ts"].to_pylist() == [7] * 5
    assert table.verify().ok


def test_one_of_the_two_beside_the_writer(tmp_path: Path) -> None:
    """What nobody asked for beside the writer stays in the write, and what is switched off is not done."""
    path = str(tmp_path / "t")
    hoodoo.create(path, SCHEMA, name="t", record_key="id", ordering="ts")
    options = {
        "hoodie.clean.async": "true", "hoodie.clean.automatic": "false",
        "hoodie.clean.commits.retained": "1",
    }  # fmt: skip
    table = hoodoo.open(path, options)
    assert "archiving" in [service.what for service in table.handle.after_writes.due()]
    for ts in range(4):
        table.upsert(rows(range(5), ts))
    table.run("services_beside")
    assert {instant.action for instant in table.timeline().instants} == {"commit"}
