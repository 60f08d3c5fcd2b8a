"""Losers of a direct write (bulk insert, append), whose files no plan names: what they leave."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest
from attrs import evolve
from crash_leaks import leaks
from crash_trials import VERSIONS, check_next_write, copied, opened, rows, state
from hoodoo.errors import CommitConflictError
from hoodoo.storage.api import Entry, Storage
from hoodoo.testing.stores import Delegating
from hoodoo_standard.storage.local import LocalStorage
from test_zombies import Attempt, WatchingEngine, _data

Tables = Callable[..., Path]
PATH = "_hoodie_partition_path"
PATIENCE = 300  # seconds, of a wait that never lasts


class Held(Delegating):
    """The task's second look at the door, which is the one after its put, waits for ``go``."""

    def __init__(self, inner: Storage, go: threading.Event) -> None:
        super().__init__(inner)
        self.go = go
        self.put = threading.Event()
        self.looks = 0

    def head(self, path: str) -> Entry | None:
        if path.endswith("/open"):
            self.looks += 1
            if self.looks == 2:
                self.put.set()
                assert self.go.wait(PATIENCE)
        return super().head(path)


def held(attempt: Attempt, target: Path, go: threading.Event) -> tuple[Attempt, Held]:
    storage = Held(LocalStorage(str(target), durable=False), go)
    return evolve(attempt, step=evolve(attempt.step, storage=storage)), storage


@pytest.mark.sampled(1)
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("when", ["the publish", "the next write"])
def test_a_loser_that_saw_other_rows(
    tables: Tables, tmp_path: Path, version: int, when: str
) -> None:
    """It had looked at the door before the publish and puts its file after it: that file goes."""
    target = copied(tables(version), tmp_path / "trial")
    engine = WatchingEngine(1)
    table = opened(target, engine=engine)
    table.bulk_insert(rows({901: "x", 902: "y"}, "late", 1))
    (attempt,) = engine.attempts
    if when == "the next write":
        opened(target).upsert(rows({903: "z"}, "between", 1))
    found, files = state(target), _data(target)
    elsewhere = []
    for batch in attempt.batches:
        at = batch.schema.get_field_index(PATH)
        elsewhere.append(batch.set_column(at, PATH, pa.array(["elsewhere"] * batch.num_rows)))

    class Stale(Delegating):
        looks = 0

        def head(self, path: str) -> Entry | None:
            if path.endswith("/open"):
                self.looks += 1
                if self.looks == 1:
                    return Entry(path)
            return super().head(path)

    storage = Stale(LocalStorage(str(target), durable=False))
    late = evolve(attempt, batches=elsewhere, step=evolve(attempt.step, storage=storage))
    with pytest.raises(CommitConflictError, match="after another attempt"):
        late.run()
    assert storage.looks == 2, "it was refused before its put: this proves nothing"
    assert _data(target) == files and state(target) == found
    check_next_write(target, found, when)
    assert leaks(target) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_a_loser_whose_file_the_winner_found(tables: Tables, tmp_path: Path, version: int) -> None:
    """It was first with its file, and last to look: the file is the commit's by then, and stays."""
    target = copied(tables(version), tmp_path / "trial")
    go = threading.Event()
    losers: list[Future[list[pa.RecordBatch]]] = []
    with ThreadPoolExecutor(1) as pool:

        def twice(attempt: Attempt) -> list[pa.RecordBatch]:
            loser, storage = held(attempt, target, go)
            losers.append(pool.submit(loser.run))
            assert storage.put.wait(PATIENCE)
            return attempt.run()

        commit = opened(target, engine=WatchingEngine(1, attempt=twice)).bulk_insert(
            rows({901: "x", 902: "y"}, "late", 1)
        )
        found, files = state(target), _data(target)
        assert set(commit.files) <= set(files) and commit.inserted == 2
        go.set()
        (loser,) = losers
        with pytest.raises(CommitConflictError, match="after another attempt"):
            loser.result(PATIENCE)
    assert _data(target) == files and state(target) == found
    check_next_write(target, found, "after")
    assert leaks(target) == []
