"""The loops of the crash trials: a process that ends at one of the steps of an operation, one that ends once more in
the recovery, and a store that fails."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

from crash_trials import (
    SEED,
    WHEN,
    Mutations,
    Operation,
    Prepared,
    State,
    age_temporaries,
    copied,
    crash,
    mutations,
    opened,
    ours,
    state,
)
from effort import ALL
from hoodoo.errors import HoodooError, HoodooWarning
from hoodoo.storage.api import Storage
from hoodoo.testing.stores import MUTATING, OPERATIONS, FailingStorage, RecordingStorage
from hoodoo.timeline import properties

READING = OPERATIONS - MUTATING
# Whether later operations succeed, and whether the failed one was carried out.
HOW = {
    "once": (True, False),
    "once-answer-lost": (True, True),
    "for-good": (False, False),
    "for-good-answer-lost": (False, True),
}


def chosen(count: int, chance: Random, most: int | None) -> Sequence[int]:
    """The steps that are tried, from 1: so many of them, other ones in each run; or all."""
    every = range(1, count + 1)
    return every if ALL or most is None else sorted(chance.sample(every, min(count, most)))


def crashes(
    base: Path, act: Operation, steps: Mutations, target: Path, chance: Random, most: int | None,
    moments: Sequence[Any] = (),
) -> Iterator[tuple[Path, str]]:  # fmt: skip
    """``target``, a copy of ``base`` in which ``act`` has ended at one of its steps, and which, for messages.

    At each step after and in the middle of it, and before the first one, if all is tried; or at ``moments``; or at one
    of them.
    """
    for at in chosen(len(steps), chance, most):
        # What a store is before a step, it is after the one that precedes it.
        every = WHEN if at == 1 else tuple(when for when in WHEN if when != "before")
        for when in moments or (every if ALL else (chance.choice(WHEN),)):
            crash(copied(base, target), act, at, when)
            yield target, f"{when} operation {at}: {steps[at - 1]}, seed {SEED}"


def crashes_of(
    case: Prepared, tmp_path: Path, chance: Random, most: int | None, moments: Sequence[Any] = ()
) -> Iterator[tuple[Path, str]]:
    """The same of what has been run once."""
    return crashes(
        case.path, case.operation, case.mutations, tmp_path / "trial", chance, most, moments
    )


def crashes_again(
    case: Prepared, tmp_path: Path, chance: Random, times: int, recoveries: Sequence[Operation],
    age: bool = True,
) -> Iterator[tuple[Path, Operation, str]]:  # fmt: skip
    """A copy of the table in which the operation has ended at some step, and one of ``recoveries`` at one of its
    own; that recovery; and what it was, for messages. ``age``: temporary files are old when it begins."""
    for _ in range(case.steps if ALL else times):
        at, when = chance.randrange(case.steps) + 1, chance.choice(WHEN)
        recover = chance.choice(recoveries)
        crashed = copied(case.path, tmp_path / "crashed")
        crash(crashed, case.operation, at, when)
        if age:
            age_temporaries(crashed)
        steps = mutations(crashed, tmp_path / "recovered", recover)
        if not steps:
            continue
        step, then = chance.randrange(len(steps)) + 1, chance.choice(WHEN)
        target = copied(crashed, tmp_path / "trial")
        crash(target, recover, step, then)
        yield (
            target,
            recover,
            f"crash {when} {at}: {case.mutations[at - 1]}, then {then} {step}: {steps[step - 1]} of the "
            f"recovery, seed {SEED}",
        )


def crashes_at_each_step(
    case: Prepared, tmp_path: Path, chance: Random, most: int | None, recover: Operation
) -> Iterator[tuple[Path, str]]:
    """The same with a crash at each step of the operation; ``most``: so many of the steps of the recoveries, or all."""
    pairs = []
    for at in range(1, case.steps + 1):
        crashed = copied(case.path, tmp_path / f"crashed-{at}")
        crash(crashed, case.operation, at, chance.choice(WHEN))
        steps = mutations(crashed, tmp_path / "recovered", recover)
        pairs += [(at, step) for step in range(1, len(steps) + 1)]
    assert pairs
    for at, step in pairs if most is None else chance.sample(pairs, min(len(pairs), most)):
        when = chance.choice(WHEN)
        target = copied(tmp_path / f"crashed-{at}", tmp_path / "trial")
        crash(target, recover, step, when)
        yield target, f"crash {at}, then {when} operation {step} of the recovery, seed {SEED}"


def readable_state(path: Path) -> State:
    """The rows, by both readers; by Hoodoo alone where the package `hudi` can't: it does not know the copy of
    properties that are being written."""
    return (ours if (path / properties.BACKUP).exists() else state)(path)


def fails(
    path: Path, operation: Operation, at: int, where: str, check: Callable[[Any], None] | None = None,
    **how: Any,
) -> HoodooError | None:  # fmt: skip
    """Run ``operation`` on a store that fails at its ``at``-th request: the error, of no class but ours.

    ``check`` gets what the operation has returned. A service that fails behind a write is told of by a warning, which
    is no error: the rows have landed.
    """
    stores: list[FailingStorage] = []

    def failing(inner: Storage) -> Storage:
        stores.append(FailingStorage(inner, at, **how))
        return stores[0]

    error: HoodooError | None = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HoodooWarning)
        try:
            answer = operation(opened(path, failing))
            if check is not None:
                check(answer)
        except HoodooError as raised:  # any other class is a failure of the test
            error = raised
    assert stores[0].count >= at, f"{where}: there was no operation {at}"
    return error


def reads(case: Prepared, tmp_path: Path) -> list[tuple[str, str]]:
    """The reading requests of the operation."""
    stores: list[RecordingStorage] = []

    def record(inner: Storage) -> Storage:
        stores.append(RecordingStorage(inner))
        return stores[0]

    case.operation(opened(copied(case.path, tmp_path / "reads"), record))
    return [call for call in stores[0].calls if call[0] in READING]
