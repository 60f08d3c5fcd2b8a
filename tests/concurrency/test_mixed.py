"""Writers, restores, rewritten keys and services, all at one table: what was acknowledged and not undone is there."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import hoodoo
import pytest
from attrs import Factory, define, frozen
from effort import effort
from hoodoo.errors import CommitConflictError, ConfigError
from hoodoo.table.table import Table
from hoodoo_serve.serving import Serving
from hoodoo_serve.table_services import Round, TableServices
from process_writers import HOT, own_key
from tables import SCHEMA, rows
from test_processes import _by_hudi
from test_serve import OPTIONS, WRITING
from trials import REPORTS, SEED
from world import rows_of

SECONDS = effort(6, 90)


@frozen
class Note:
    """An acknowledged write of these ``values`` (key -> region); ``turn`` orders it among all."""

    instant: str
    turn: int
    values: Mapping[int, str]
    text: str


@define
class Attack:
    """Threads at the table at ``path``, until the time is over. ``errors`` are those that nobody may see."""

    path: Path
    notes: list[Note] = Factory(list)
    errors: list[str] = Factory(list)
    counts: Counter[str] = Factory(Counter)
    _turn: int = 10
    _lock: threading.Lock = Factory(threading.Lock)
    _end: threading.Event = Factory(threading.Event)

    def run(self, *loops: Callable[[], object]) -> None:
        """Each in a thread of its own, again and again."""
        threads = [threading.Thread(target=self._looped, args=(loop,)) for loop in loops]
        serving = Serving([TableServices(str(self.path), OPTIONS)], every=0.1, seen=self._served)
        serving.start()
        for thread in threads:
            thread.start()
        self._end.wait(SECONDS)
        self._end.set()
        for thread in threads:
            thread.join()
        serving.stop()
        assert serving.wait(300)

    def writer(self, number: int) -> Callable[[], object]:
        """Keys of its own, and a row that all write."""
        chance = random.Random(f"{SEED} {number}")
        turns = iter(range(100_000))

        def write() -> None:
            table = hoodoo.open(str(self.path), WRITING)
            for _ in range(3):  # a handle lives through what others do
                with self._lock:
                    self._turn = turn = self._turn + 1
                keys = [own_key(number, next(turns) // chance.randint(1, 3)), HOT]
                values, text = dict.fromkeys(keys, "a"), f"{number}-{turn}"
                commit = table.upsert(rows(values, text, turn))
                self.notes.append(Note(commit.instant, turn, values, text))
                self.counts["writes"] += 1

        return write

    def restores(self) -> Callable[[], object]:
        chance = random.Random(f"{SEED} restores")

        def restore() -> None:
            self._end.wait(chance.uniform(0.0, 1.0))
            table = self._opened()
            points = table.timeline().writes()[-4:-1]
            if points:
                with suppress(ConfigError):  # cleaned, or archived since
                    table.restore(chance.choice(points).requested)
                    self.counts["restores"] += 1

        return restore

    def rewritten_keys(self) -> None:
        self._end.wait(0.3)
        self._opened().rewrite_keys()
        self.counts["rewritten"] += 1

    def _opened(self) -> Table:
        return hoodoo.open(str(self.path), WRITING)

    def _looped(self, loop: Callable[[], object]) -> None:
        while not self._end.is_set():
            try:
                loop()
            except CommitConflictError:
                self.counts["conflicts"] += 1
            except BaseException as error:
                self.errors.append(f"{type(error).__name__}: {error}")
                raise

    def _served(self, path: str, found: Round) -> None:
        self.counts["services"] += sum(ran.done for ran in found.ran)
        for ran in found.ran:
            if ran.error and not issubclass(getattr(hoodoo.errors, ran.error), CommitConflictError):
                self.errors.append(f"{ran.what}: {ran.error}: {ran.why}")

    def expected(self, table: Table) -> dict[int, str]:
        """The rows of what no restore has undone, by what restores say of themselves."""
        line, storage = table.timeline(), table.handle.storage
        undone = {
            gone
            for instant in line.instants
            if instant.action == "restore"
            for gone in line.contents(storage, instant)["instantsToRollback"]
        }
        stays = [note for note in self.notes if note.instant not in undone]
        stays.sort(key=lambda note: note.turn)
        return {key: note.text for note in stays for key in note.values}


@pytest.mark.parametrize("merged", [True, False], ids=["mor", "cow"])
@pytest.mark.sampled(2, among="long")
def test_all_at_one_table(tmp_path: Path, merged: bool) -> None:
    path = tmp_path / "table"
    hoodoo.create(
        str(path), SCHEMA, name="t", record_key="id", partition_by="region", ordering="ts",
        table_type="MERGE_ON_READ" if merged else "COPY_ON_WRITE", options=WRITING,
    )  # fmt: skip
    hoodoo.open(str(path), WRITING).upsert(rows({2: "b"}, "old", 1))
    attack, began = Attack(path), time.monotonic()
    attack.run(attack.writer(0), attack.writer(1), attack.restores(), attack.rewritten_keys)
    where = f"HOODOO_CRASH_SEED={SEED}"
    assert attack.errors == [], where
    # Who knows nothing of it needs no manual step.
    hoodoo.open(str(path)).upsert(rows({999_999: "b"}, "next", 1))
    table = hoodoo.open(str(path))
    found = rows_of(table)
    expected = {**attack.expected(table), 2: "old", 999_999: "next"}
    assert {key: text for key, text, _ in found} == expected, where
    assert len(found) == len(expected), where
    report = table.verify()
    assert report.ok, (where, [str(finding) for finding in report.findings])
    if merged:
        table.compact()
    assert _by_hudi(path) == found, where
    told = ", ".join(f"{count} {name}" for name, count in sorted(attack.counts.items()))
    REPORTS.append(f"all at one table, {time.monotonic() - began:.0f} s: {told} ({where})")
