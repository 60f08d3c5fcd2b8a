"""A partition of the metadata table is made while two others write, and its process ends at any operation.

Nobody waits for it, reads and writes are right at once, and the next writer completes what is left or rebuilds it.
Or it is made within a write that looked at the table before, whose process ends, or does not.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import hoodoo
import pytest
from crash_leaks import leaks
from crash_trials import (
    COUNT,
    NEXT,
    SCHEMA,
    SEED,
    WHEN,
    State,
    age_temporaries,
    copied,
    mutations,
    opened,
    ours,
    rows,
    state,
)
from effort import MORE, effort
from hoodoo.errors import CommitConflictError
from hoodoo.storage.api import Storage
from hoodoo.testing.stores import Crash, CrashingStorage, Delegating, RecordingStorage
from hoodoo.timeline import properties
from hoodoo_metadata.table.metadata_table import building, listed
from metadata_tables import FILES, KINDS

NAMES = {
    "files": "files",
    "column_stats": "column_stats",
    "partition_stats": "partition_stats",
    "bloom_filters": "bloom_filters",
    "record_index": "record_index",
    "growing_record_index": "hoodoo_record_index",
}
CASES = [(name, kind) for name in NAMES for kind in KINDS]
TRIALS = effort(1, 12)
Act = Callable[[Path], object]
WRITERS: tuple[Act, ...] = (
    lambda path: opened(path).upsert(rows({1: "a", 3: "b", 7: "c"}, "first", 5)),
    lambda path: opened(path).delete(rows({2: "a", 4: "b"}, "", 6)),
)


def some(count: int) -> list[tuple[str, str]]:
    """So many cases, other ones in each run; or all."""
    return CASES if MORE else random.Random(SEED).sample(CASES, count)


class At(Delegating):
    """The n-th of ``acts`` happens before the operation that changes something of that number."""

    def __init__(self, inner: Storage, acts: Mapping[int, Callable[[], object]]) -> None:
        super().__init__(inner)
        self.acts, self.count = dict(acts), 0

    def around(self, op: str, path: str, call: Callable[[], Any]) -> Any:
        if op.startswith(("put", "delete")):
            self.count += 1
            act = self.acts.pop(self.count, None)
            if act is not None:
                act()
        return call()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A table that has all partitions, made once for each kind. Its own index is none of them."""
    below = tmp_path_factory.mktemp("building")

    def table(kind: str) -> Path:
        path = below / kind
        if not path.exists():
            hoodoo.create(
                str(path), SCHEMA, name="t", record_key="id", partition_by="region", ordering="ts", index="global_simple",
                table_type="MERGE_ON_READ" if kind == "on-read" else "COPY_ON_WRITE",
                options={**FILES, "hoodie.metadata.enable": "true"},
            )  # fmt: skip
            written = opened(path)
            written.insert(rows({1: "a", 2: "a", 3: "b", 4: "b", 5: "b"}, "old", 1))
            for name in ("record_index", "growing_record_index"):
                opened(path).rebuild_index(name)
            opened(path).upsert(rows({2: "a", 6: "b"}, "late", 2))
        return path

    return table


def expected(base: Path, tmp_path: Path, done: int) -> State:
    """The rows once the first ``done`` of the writers have written."""
    target = copied(base, tmp_path / "expected")
    for act in WRITERS[:done]:
        act(target)
    return ours(target)


def check(target: Path, allowed: State, where: str) -> None:
    """At once, and after the next write, which finds every partition or makes it."""
    assert ours(target) == allowed, where
    assert not set(building(opened(target).config)) & set(listed(opened(target).config)), where
    age_temporaries(target)
    key, text, region = NEXT
    opened(target).upsert(rows({key: region}, text, 9))
    assert state(target) == tuple(sorted([*allowed, NEXT])), where
    config = opened(target).config
    assert set(listed(config)) == set(NAMES.values()), f"{where}: {listed(config)}"
    assert not building(config), where
    report = opened(target).verify()
    assert report.ok, f"{where}: {[str(f) for f in report.findings]}"
    # By the indexes that were made, too.
    for index in ("record_index", "growing_record_index"):
        assert opened(target).run("check_index", index=index).same, f"{where}: {index}"
    # What was caught up with is of instants whose commits were complete, and do not name it.
    assert [x for x in leaks(target) if "of the metadata table" not in x] == [], where
    COUNT.trials += 1


def build(
    path: Path, name: str, places: tuple[int, ...], wrap: Callable[[Storage], Storage]
) -> int:
    """Make the partition ``name``; each of the writers writes before the operation of its place. How many did."""
    done: list[int] = []

    def writes(number: int) -> Callable[[], object]:
        return lambda: (WRITERS[number](path), done.append(number))

    acts = {at: writes(number) for number, at in enumerate(places)}
    with suppress(Crash):
        opened(path, lambda inner: At(wrap(inner), acts)).rebuild_index(name)
    return len(done)


def recorded(path: Path, name: str, places: tuple[int, ...] = ()) -> tuple[tuple[str, str], ...]:
    """The operations of making it."""
    seen: list[RecordingStorage] = []

    def wrap(inner: Storage) -> Storage:
        seen.append(RecordingStorage(inner))
        return seen[0]

    done = build(path, name, places, wrap)
    assert done == len(places)
    return tuple(seen[0].mutations)


@pytest.mark.sampled(1, among="long")
@pytest.mark.parametrize(("name", "kind"), some(1))
def test_killed_while_two_write(
    made: Callable[[str], Path], tmp_path: Path, local_temporaries: Path, name: str, kind: str
) -> None:
    chance = random.Random(f"{SEED} {name} {kind}")
    base, target = made(kind), tmp_path / "trial"
    count = len(recorded(copied(base, target), name))
    for _ in range(TRIALS):
        places = tuple(sorted(chance.sample(range(1, count + 1), 2)))
        steps = recorded(copied(base, target), name, places)
        check(target, expected(base, tmp_path, 2), f"{name} {places} whole")
        at, when = chance.randrange(len(steps)) + 1, chance.choice(WHEN)
        if (
            steps[at - 1][1] == properties.PATH
        ):  # put in one step: a writer may just have taken its backup away
            when = "before"
        where = f"{name}, writers at {places}, {when} {at}: {steps[at - 1]}, seed {SEED}"
        ends = partial(CrashingStorage, at=at, when=when)
        done = build(copied(base, target), name, places, ends)
        check(target, expected(base, tmp_path, done), where)


def write(path: Path, wrap: Callable[[Storage], Storage] | None = None) -> None:
    opened(path, wrap).upsert(rows({1: "a", 3: "b", 7: "c"}, "first", 5))


@pytest.mark.skipif(not MORE, reason="takes minutes")
@pytest.mark.parametrize(("name", "kind"), CASES)
def test_made_within_a_write(
    made: Callable[[str], Path], tmp_path: Path, local_temporaries: Path, name: str, kind: str
) -> None:
    """Who looked at the table before the partition was complete keeps it, or writes nothing."""
    chance = random.Random(f"{SEED} {name} {kind} within")
    base, target = made(kind), tmp_path / "trial"
    steps = mutations(
        base, target, lambda table: table.upsert(rows({1: "a", 3: "b", 7: "c"}, "first", 5))
    )
    new, old = ours(target), ours(base)
    for _ in range(TRIALS):
        copied(base, target)
        at, end, when = (
            chance.randrange(len(steps)) + 1,
            chance.randrange(len(steps)) + 1,
            chance.choice(WHEN),
        )
        ends = partial(CrashingStorage, at=end, when=when) if chance.random() < 0.5 else plain
        where = f"{name} made before {at}: {steps[at - 1]}, ends {when} {end}, seed {SEED}"
        acts = {at: partial(_make, target, name)}
        allowed = {new}
        try:
            write(target, partial(_within, ends, acts))
        except Crash:
            allowed = {old, new}
        except CommitConflictError:
            allowed = {old}
        found = ours(target)
        assert found in allowed, where
        check(target, found, where)


def _make(path: Path, name: str) -> None:
    opened(path).rebuild_index(name)


def _within(
    ends: Callable[[Storage], Storage], acts: Mapping[int, Callable[[], object]], inner: Storage
) -> Storage:
    return At(ends(inner), acts)


def plain(inner: Storage) -> Storage:
    return inner
