"""Writers that are processes: what is acknowledged stays, and no key is there twice; some are killed.

Success per attempt is printed at the end, beside 1/N: what is left where all begin at once and every
loser begins again at once.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import hoodoo
import process_writers
import pytest
from crash_trials import age_temporaries
from hoodoo.kernel.archived import load_archived
from hoodoo_standard.storage.local import LocalStorage
from process_writers import HOT, own_key
from tables import BUCKETS, SCHEMA, rows
from trials import REPORTS, SEED, leaks
from world import State, rows_of

pytestmark = pytest.mark.sampled(4, among="schedules")

STUCK = 1800.0  # seconds: 32 processes on a machine that has other work, too


def _by_hudi(path: Path) -> State:
    import hudi

    found: list[Any] = []
    for batch in hudi.HudiTableBuilder.from_base_uri(str(path)).build().read():
        found += zip(*(batch.column(n).to_pylist() for n in ("id", "v", "region")))
    return tuple(sorted(found))


def _run(path: Path, notes: Path, count: int, writes: int, killed: int) -> list[int]:
    """Let them write; ``killed`` of them are killed, when there are as many notes as the seed says."""
    chance = random.Random(SEED)
    program = [sys.executable, process_writers.__file__]
    arguments = [str(path), str(notes), str(count), str(writes), str(SEED)]
    notes.mkdir()
    told = notes.with_name("errors")
    with (
        told.open("w") as errors,
        subprocess.Popen(
            [*program, *arguments], stdout=subprocess.PIPE, stderr=errors, text=True
        ) as spawner,
    ):
        assert spawner.stdout is not None
        pids = [int(spawner.stdout.readline()) for _ in range(count)]
        victims = chance.sample(range(count), killed)
        for victim in victims:
            enough = chance.randrange(1, (count - killed) * writes)
            while spawner.poll() is None and _acknowledged(notes) < enough:
                with suppress(subprocess.TimeoutExpired):
                    spawner.wait(0.02)
            with suppress(ProcessLookupError):
                os.kill(pids[victim], signal.SIGKILL)
        assert spawner.wait(STUCK) == 0, told.read_text()
    return victims


def _acknowledged(notes: Path) -> int:
    return sum(len(path.read_text().splitlines()) for path in notes.iterdir())


def _notes(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.mark.parametrize(
    ("count", "killed", "merged"),
    [
        pytest.param(2, 0, False, id="2-0-cow"),
        pytest.param(2, 0, True, id="2-0-mor"),
        pytest.param(8, 3, False, id="8-3-cow"),
        pytest.param(8, 3, True, id="8-3-mor"),
        pytest.param(32, 8, False, id="32-8-cow", marks=pytest.mark.trial),
        pytest.param(32, 8, True, id="32-8-mor", marks=pytest.mark.trial),
    ],
)
def test_processes(tmp_path: Path, count: int, killed: int, merged: bool) -> None:
    path, notes = tmp_path / "table", tmp_path / "notes"
    hoodoo.create(
        str(path), SCHEMA, name="t", record_key="id", partition_by="region", ordering="ts",
        table_type="MERGE_ON_READ" if merged else "COPY_ON_WRITE",
        index="bucket" if merged else "simple", options=BUCKETS if merged else {},
    )  # fmt: skip
    writes = 3
    hoodoo.open(str(path)).upsert(rows({HOT: "a", 2: "b"}, "old", 1))
    victims = _run(path, notes, count, writes, killed)
    told = [_notes(notes / str(number)) for number in range(count)]
    assert all(len(told[n]) == writes for n in range(count) if n not in victims)
    acknowledged = [note for mine in told for note in mine]
    table = hoodoo.open(str(path))
    age_temporaries(path)
    table.upsert(rows({3: "b"}, "last", 9))
    found = rows_of(table)
    where = f"HOODOO_CRASH_SEED={SEED}"
    values = {key: text for key, text, _ in found}
    assert len(values) == len(found), f"a key is there twice ({where})"
    assert {n["own"]: n["text"] for n in acknowledged}.items() <= values.items(), where
    possible = {own_key(n, turn) for n in range(count) for turn in range(writes)}
    assert values.keys() <= possible | {HOT, 2, 3} | {1000 + t for t in range(writes)}, where
    # The hot row is that of the last one to complete: of an acknowledged write, or of a dead one.
    archived = load_archived(LocalStorage(str(path)), table.config)
    order = {w.requested: w.completion_order for w in (*archived, *table.timeline().writes())}
    hot = [n for n in acknowledged if n["hot"]]
    last = max(hot, key=lambda n: order[n["instant"]])["text"] if hot else "old"
    by_dead = int(values[HOT].partition("-")[0]) in victims if values[HOT] != "old" else False
    assert values[HOT] == last or by_dead, where
    if not (merged and archived):  # it does not see log rows of archived commits
        assert _by_hudi(path) == found, where
    if merged:
        table.compact()
        assert _by_hudi(path) == found, where
    table.clean(commits_retained=1)
    table.clean("by_versions", fileversions_retained=1)  # those of archived commits, too
    assert leaks(LocalStorage(str(path), durable=False)) == [], where
    assert rows_of(table) == found
    attempts = sum(n["attempts"] for n in acknowledged)
    kind = "merged on read, one bucket" if merged else "copy on write"
    REPORTS.append(
        f"{count} writer processes, {killed} killed, {kind}: {len(acknowledged)} writes in "
        f"{attempts} attempts, {len(acknowledged) / attempts:.2f} a attempt beside 1/N = {1 / count:.2f} ({where})"
    )
