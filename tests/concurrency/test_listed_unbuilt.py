"""Partitions of the metadata table that the properties list, and of which nothing is committed, whoever listed them:
another engine, say, that had looked at the properties before a build began, which has died since."""

from __future__ import annotations

import warnings
from pathlib import Path

import hoodoo
import pyarrow.compute as pc
import pytest
from hoodoo.testing.directory import DirectoryStorage
from hoodoo.testing.stores import Crash, GatedStorage
from hoodoo.testing.tables import opened_in
from hoodoo_metadata.table.metadata_table import BUILDING, LISTED, OWN_BUILDING, OWN_LISTED, listed
from hoodoo_standard.engine.local import LocalEngine
from tables import Kind, create, rows

# Where the build dies: when it has wiped, when its instants are there, and when some of its files are.
ENDS = {
    "wiped": ("put_if_absent", ".deltacommit.requested"),
    "begun": ("put_file_if_absent", ""),
    "built": ("put_if_absent", "/ledger/"),
}


PARTITIONS = ("files", "column_stats", "record_index", "bloom_filters")


def dies(path: Path, partition: str, end: str) -> None:
    """A build of ``partition`` dies; then the properties are what they were before it."""
    op, text = ENDS[end]
    dead: list[str] = []

    def gate(done: str, where: str) -> None:
        inside = text == "/ledger/" or where.startswith(".hoodie/metadata")
        if dead or (done == op and inside and text in where):
            dead.append(where)
            raise Crash(where)

    before = hoodoo.open(str(path)).config
    store = GatedStorage(DirectoryStorage(str(path)), gate)
    with pytest.raises(Crash):
        opened_in(store, engine=LocalEngine(1)).rebuild_index(partition)
    keys = (LISTED, BUILDING, OWN_LISTED, OWN_BUILDING)
    hoodoo.open(str(path)).handle.change_properties({key: before.get(key) for key in keys})


def found(path: Path, where: pc.Expression | None = None) -> list[tuple[int, str]]:
    read = hoodoo.open(str(path)).read(columns=["id", "v"], where=where).to_arrow()
    return sorted(zip(read.column("id").to_pylist(), read.column("v").to_pylist()))


@pytest.mark.sampled(6)
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize(
    ("version", "partition"),
    [
        *((version, name) for version in (6, 9) for name in PARTITIONS),
        (9, "secondary_index_by_v"),
        (9, "growing_record_index"),
    ],
)
def test_what_is_listed_and_not_built(
    tmp_path: Path, partition: str, merged: bool, version: int, end: str
) -> None:
    index = "growing_record_index" if partition.startswith("growing") else "record_index"
    path = tmp_path / "t"
    options = {"hoodie.metadata.enable": True, "hoodie.metadata.index.bloom.filter.enable": True}
    table = create(path, Kind(merged, version, index), options)
    table.upsert(rows({n: "abcde"[n % 5] for n in range(20)}, "u", 1))
    if partition.startswith("secondary"):
        table.create_index("by_v", "v")
    table.upsert(rows({1: "b", 2: "c"}, "v", 2))
    ready = {*listed(table.config)}
    expected = sorted((n, "v" if n in (1, 2) else "u") for n in range(20))
    dies(path, partition, end)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert found(path) == expected
        assert found(path, pc.field("id") == 1) == [(1, "v")]
        assert found(path, pc.field("v") == "v") == [(1, "v"), (2, "v")]
        hoodoo.open(str(path)).upsert(rows({1: "b", 30: "a"}, "w", 3))
        expected = sorted({**dict(expected), 1: "w", 30: "w"}.items())
        assert found(path) == expected
    hoodoo.open(str(path)).upsert(rows({2: "c", 31: "b"}, "x", 4))
    now = hoodoo.open(str(path))
    assert {*listed(now.config)} == ready
    assert found(path) == sorted({**dict(expected), 2: "x", 31: "x"}.items())
    assert found(path, pc.field("v") == "v") == []
    assert not now.verify().findings
