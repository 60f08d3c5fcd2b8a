"""``hoodoo serve`` is killed at random moments while others write: nothing is lost, doubled or stuck."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import hoodoo
import process_writers
import pytest
from crash_trials import age_temporaries
from effort import MORE
from hoodoo_standard.storage.local import LocalStorage
from process_writers import HOT, own_key
from tables import SCHEMA, rows
from test_processes import _acknowledged, _by_hudi, _notes
from trials import REPORTS, SEED, leaks
from world import rows_of

COMMAND = [sys.executable, "-c", "from hoodoo_cli.commandline import main; main()"]
# Everything is due all the time.
OPTIONS = {
    "hoodie.compact.inline.max.delta.commits": "2",
    "hoodie.clustering.async.enabled": "true",
    "hoodie.clustering.async.max.commits": "2",
    "hoodie.clustering.plan.strategy.sort.columns": "id",
    "hoodie.clean.commits.retained": "3",
    "hoodie.keep.min.commits": "5",
    "hoodie.keep.max.commits": "7",
}
# Writers leave all of it to the process that serves.
WRITING = {
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
    # A clustering whose process was killed waits for the next one, and gives way to writers meanwhile.
    "hoodie.clustering.updates.strategy": "allow",
}
# Seconds in which there has to be another write that is acknowledged, however busy the machine is.
STUCK = 300.0


def _serve(path: Path, *more: str) -> list[str]:
    options = [text for key, value in OPTIONS.items() for text in ("-o", f"{key}={value}")]
    return [*COMMAND, "serve", str(path), "--every", "0.1", *options, *more]


def _killed(path: Path, chance: random.Random, where: str) -> int:
    """Serve the table, and kill it in the time in which it would start once more, or twice; how many services ended."""
    with subprocess.Popen(
        _serve(path), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as serving:
        began = time.monotonic()
        assert serving.stdout is not None
        assert serving.stdout.readline().startswith("Serving"), where
        with suppress(subprocess.TimeoutExpired):
            code = serving.wait(chance.uniform(0.0, 2.0) * (time.monotonic() - began))
            raise AssertionError(f"it ended by itself, with {code} ({where})")
        serving.kill()
        return sum(" in " in line for line in serving.stdout)


@pytest.mark.parametrize("merged", [True, False] if MORE else [True], ids=str)
@pytest.mark.sampled(2, among="long")
def test_killed_while_others_write(tmp_path: Path, merged: bool) -> None:
    chance = random.Random(f"{SEED} {merged}")
    kills, writers, writes = (50, 4, 20) if MORE else (3, 2, 4)
    path, notes, end = tmp_path / "table", tmp_path / "notes", tmp_path / "end"
    hoodoo.create(
        str(path), SCHEMA, name="t", record_key="id", partition_by="region", ordering="ts",
        table_type="MERGE_ON_READ" if merged else "COPY_ON_WRITE", options=WRITING,
    )  # fmt: skip
    hoodoo.open(str(path), WRITING).upsert(rows({HOT: "a", 2: "b"}, "old", 1))
    notes.mkdir()
    program = [sys.executable, process_writers.__file__, str(path), str(notes)]
    where, killed, did = f"HOODOO_CRASH_SEED={SEED}", 0, 0
    with subprocess.Popen(
        [*program, str(writers), str(writes), str(SEED), json.dumps(WRITING), str(end)],
        stdout=subprocess.DEVNULL,
    ) as spawner:
        try:
            acknowledged, moved = 0, time.monotonic()
            while killed < kills:
                did += _killed(path, chance, where)
                killed += 1
                assert spawner.poll() is None, f"a writer has failed ({where})"
                if (now := _acknowledged(notes)) > acknowledged:
                    acknowledged, moved = now, time.monotonic()
                assert time.monotonic() < moved + STUCK, f"it is stuck ({where})"
        finally:
            end.touch()
        assert spawner.wait(STUCK) == 0, where
    assert all(len(_notes(notes / str(n))) >= writes for n in range(writers)), where
    # What was killed is finished by the next one, and by nobody's hand.
    age_temporaries(path)
    last = subprocess.run([*_serve(path), "--once"], capture_output=True, text=True, timeout=STUCK)
    assert last.returncode == 0, (last.stdout, last.stderr, where)
    table = hoodoo.open(str(path))
    found = rows_of(table)
    values = {key: text for key, text, _ in found}
    assert len(values) == len(found), f"a key is there twice ({where})"
    told = [note for n in range(writers) for note in _notes(notes / str(n))]
    assert {n["own"]: n["text"] for n in told}.items() <= values.items(), where
    turns = [range(len(_notes(notes / str(n)))) for n in range(writers)]
    possible = {own_key(n, turn) for n in range(writers) for turn in turns[n]}
    common = {1000 + turn for turn in max(turns, key=len)}
    assert values.keys() <= possible | common | {HOT, 2}, where
    assert not table.verify().findings, where
    kinds = Counter(i.action for i in table.timeline().instants)
    if merged:
        table.compact()
    assert _by_hudi(path) == found, where
    table.clean(commits_retained=1)
    assert leaks(LocalStorage(str(path), durable=False)) == [], where
    REPORTS.append(
        f"serve killed {killed} times beside {writers} writers that went on, "
        f"{'merged on read' if merged else 'copy on write'}: {len(told)} writes, {did} services ended; on the timeline at the end "
        + ", ".join(f"{count} {name}" for name, count in sorted(kinds.items()))
        + f" ({where})"
    )
