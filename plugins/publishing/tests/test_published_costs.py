"""What a commit costs in other formats follows what it changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hoodoo
import pytest
from hoodoo.testing.stores import Delegating
from hoodoo_publishing import participant
from hoodoo_publishing.iceberg import metadata, remembered
from open_readers import SCHEMA, check, some_rows

FOLDER = "metadata/"


class Counting(Delegating):
    """Notes the manifests that are read."""

    read: list[str]

    def around(self, op: str, path: str, call: Any) -> Any:
        if op == "get" and path.startswith(FOLDER) and path.endswith(".avro"):
            self.read += [] if path.startswith(f"{FOLDER}snap-") else [path]
        return call()


def made(path: Path, **options: str) -> hoodoo.Table:
    given = {"hoodoo.open.formats": "iceberg,delta", "hoodie.metadata.enable": "false", **options}
    return hoodoo.create(
        str(path), SCHEMA, record_key="id", partition_by="n", options=given, table_version=9
    )


def test_manifests_that_lose_no_file_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process remembers the files of all, and the entries of few."""
    monkeypatch.setattr(remembered, "_KNOWN", 1)
    table = made(tmp_path / "t", **{"hoodie.clean.automatic": "false"})
    for value in range(8):
        table.upsert(some_rows([value], value))
    store = Counting(table.handle.storage)
    store.read = []
    table.handle.storage = store
    table.upsert(some_rows([3], 3))
    assert len(store.read) == 1
    check(table)


def test_a_manifest_that_others_replaced_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is deleted between the look at the metadata and the commit: the look is repeated."""
    monkeypatch.setattr(remembered, "_KNOWN", 1)
    monkeypatch.setattr(metadata, "_SNAPSHOTS", 1)
    table = made(tmp_path / "t", **{"hoodie.clean.automatic": "false"})
    for value in range(3):
        table.upsert(some_rows([value], value))
    without, others = metadata.without_files, [1]

    def late(*given: Any) -> Any:
        if others:
            others.pop()
            hoodoo.open(table.path).upsert(some_rows([0], 0))
        return without(*given)

    monkeypatch.setattr(metadata, "without_files", late)
    table.upsert(some_rows([0, 1, 2], 1))
    assert not others
    check(table)


def test_a_damaged_manifest_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "_KNOWN", 1)
    table = made(tmp_path / "t", **{"hoodie.clean.automatic": "false"})
    for value in range(3):
        table.upsert(some_rows([value], value))
    for file in (tmp_path / "t/metadata").glob("*.avro"):
        file.unlink()
    with pytest.warns(hoodoo.errors.HoodooWarning, match="Delete the folder metadata"):
        table.upsert(some_rows([0], 0))
    assert table.read().count() == 3


def test_what_a_clean_has_published_is_not_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = made(tmp_path / "t", **{"hoodie.clean.commits.retained": "1"})
    for _ in range(3):
        table.upsert(some_rows([1], 7))
    calls: list[str] = []
    sync = participant.sync

    def counted(form: Any, *given: Any) -> Any:
        calls.append(form.name)
        return sync(form, *given)

    monkeypatch.setattr(participant, "sync", counted)
    assert table.upsert(some_rows([1], 7)).instant
    assert table.timeline().completed()[-1].action == "clean"
    assert sorted(calls) == ["delta", "iceberg"]
    check(table)
