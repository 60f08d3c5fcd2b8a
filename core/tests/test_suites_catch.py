"""Contract suites catch plugins that are wrong where few look: stores among processes, key generators that lie."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hoodoo.testing.contracts.key_generator import KeyGeneratorContract
from hoodoo.testing.contracts.storage import StorageContract
from hoodoo.testing.directory import DirectoryStorage

SOURCE = """
import threading, time
from hoodoo.testing.directory import DirectoryStorage

_LOCK = threading.Lock()

class LocksThreads(DirectoryStorage):
    # Excludes the threads of its process, and no other process. Two processes meet once between
    # the look and the put, however the machine divides its time.
    def put_if_absent(self, path, data):
        with _LOCK:
            if self.head(path) is not None:
                return False
            if path == "processes/0":
                self._meet(data)
            self.put(path, data)
            return True

    def _meet(self, me):
        end = time.monotonic() + 60
        self.put(f"met/{me.decode()}", b"")
        while len(self.list("met")) < 2 and time.monotonic() < end:
            time.sleep(0.001)
"""


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A module that another process can import."""
    (tmp_path / "of_suites_catch.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("of_suites_catch")
    del sys.modules["of_suites_catch"]


def test_a_store_that_excludes_threads_alone_is_caught(made: Any, tmp_path: Path) -> None:
    suite = StorageContract()
    store = made.LocksThreads(str(tmp_path / "threads"))
    suite.test_put_if_absent_has_one_winner(store)
    with pytest.raises(AssertionError, match="two winners"):
        suite.test_put_if_absent_has_one_winner_among_processes(store)


def test_a_store_that_excludes_processes_passes(tmp_path: Path) -> None:
    store = DirectoryStorage(str(tmp_path / "right"))
    StorageContract().test_put_if_absent_has_one_winner_among_processes(store)


class ByCity:
    """Its paths lack what its columns have: how letters are written, or the time of a day."""

    record_key_fields = ("id",)
    partition_fields: tuple[str, ...] = ("city",)

    def record_keys(self, rows: pa.RecordBatch) -> pa.Array:
        return rows.column("id").cast(pa.string())

    def partition_paths(self, rows: pa.RecordBatch) -> pa.Array:
        return pc.coalesce(pc.utf8_lower(rows.column("city")), "none")

    def partition_values(self, path: str, schema: pa.Schema) -> dict[str, Any] | None:
        return {} if path == "none" else {"city": path}


class ByDay(ByCity):
    partition_fields = ("at",)

    def partition_paths(self, rows: pa.RecordBatch) -> pa.Array:
        return pc.coalesce(pc.strftime(rows.column("at"), "%Y-%m-%d"), "none")

    def partition_values(self, path: str, schema: pa.Schema) -> dict[str, Any] | None:
        if path == "none":
            return {}
        kind = schema.field("at").type
        return {"at": pa.scalar(path).cast(pa.timestamp("s")).cast(kind).as_py()}


@pytest.mark.parametrize("generator", [ByCity(), ByDay()], ids=lambda one: type(one).__name__)
def test_a_key_generator_whose_partition_values_lie_is_caught(generator: Any) -> None:
    """Although they are true of the rows that its author has thought of."""
    days = pa.array([0, 86400_000_000, 0, 86400_000_000], pa.timestamp("us"))
    rows = pa.RecordBatch.from_pydict(
        {"id": pa.array([1, 2, 3, 4]), "city": pa.array(["oslo", "rome"] * 2), "at": days}
    )
    stored = rows.to_pylist()
    for path, row in zip(generator.partition_paths(rows).to_pylist(), stored, strict=True):
        for name, value in (generator.partition_values(path, rows.schema) or {}).items():
            assert row[name] == value
    with pytest.raises(AssertionError):
        KeyGeneratorContract().test_partition_values_are_true_of_every_row(generator, rows)
