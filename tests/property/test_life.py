"""Random lives of a table: writes, and cleans, archivings, savepoints, restores, rollbacks and
compactions between them; after every step each state that should be there is, and is right. Lives of an odd number
of steps note each replacecommit, and every step begins as in a new process, which goes by the note.

Each test tries 5 lives, with ``HOODOO_TRIALS=more`` 200.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from cluster_draws import PLAN_OR_RUN, Cluster
from effort import effort
from hoodoo.timeline import replaced_note
from hypothesis import HealthCheck, given, note, settings
from life_draws import (
    ARCHIVE,
    CLEAN,
    PAYLOAD,
    RESTORE,
    SAVEPOINT,
    UNDO,
    Service,
    Step,
    Try,
    life,
    lives,
)
from life_trial import Life
from table_draws import SCHEDULE, UPSERT, Draw, Op
from table_model import Setup

# In memory where there is room: conftest.py at the top says so.
_TEMPORARY = os.environ.get("PYTEST_DEBUG_TEMPROOT")


def trial(setup: Setup, steps: list[Step], thorough: bool = False) -> None:
    folder = Path(tempfile.mkdtemp(prefix="hoodoo-property-", dir=_TEMPORARY))
    try:
        with pytest.MonkeyPatch.context() as patch:
            if len(steps) % 2:
                patch.setattr(replaced_note, "MANY", 0)
            Life(setup, folder, thorough=thorough).live(steps)
    finally:
        shutil.rmtree(folder)


def tell(setup: Setup, steps: list[Step]) -> None:
    for line in (setup, *steps):
        note(repr(line))


many = settings(
    max_examples=effort(5, 200),
    deadline=None,
    print_blob=True,  # a failure prints what to decorate the test with to run it again
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
pytestmark = [
    pytest.mark.filterwarnings("ignore::hypothesis.errors.NonInteractiveExampleWarning"),
    pytest.mark.sampled,
]


@many
@given(setup=lives(), steps=life())
def test_lives(setup: Setup, steps: list[Step]) -> None:
    tell(setup, steps)
    trial(setup, steps)


@many
@given(setup=lives(merged=True), steps=life(merged=True))
def test_lives_that_are_merged_on_read(setup: Setup, steps: list[Step]) -> None:
    tell(setup, steps)
    trial(setup, steps)


# --- what these trials have found, or would find only now and then ------------------------------------
BY_HAND = (("hoodie.clean.automatic", "false"), ("hoodie.archive.automatic", "false"))
ONE, OTHER, BOTH = (Draw(1, payload=5),), (Draw(3, payload=6),), (Draw(1, payload=7), Draw(3))


def table(version: int, merged: bool, **more: object) -> Setup:
    found = {"merge_on_read": merged, "payload": PAYLOAD, "more": BY_HAND, **more}
    return Setup(version, **found)  # type: ignore[arg-type]


@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize("version", [9, 6])
def test_every_range_over_a_savepoint(version: int, merged: bool) -> None:
    """The timeline does not begin with a write that a savepoint keeps."""
    steps: list[Step] = [Op(UPSERT, ONE), Service(SAVEPOINT), Op(UPSERT, OTHER), Op(UPSERT, BOTH)]
    trial(table(version, merged), steps, thorough=True)


@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize("version", [9, 6])
def test_a_clean_that_finds_nothing_says_nothing_of_the_next(version: int, merged: bool) -> None:
    """It would have left more than the clean of the last write does, which goes by the table's options."""
    more = (("hoodie.clean.commits.retained", "1"), ("hoodie.archive.automatic", "false"))
    overwritten = [Op("insert_overwrite_table", ONE), Op("insert_overwrite_table", ONE)]
    steps: list[Step] = [*overwritten, Service(CLEAN, much=2)]
    trial(table(version, merged, more=more), steps, thorough=True)


@pytest.mark.parametrize("service", [Cluster(PLAN_OR_RUN, logs=True), Op(SCHEDULE)])
@pytest.mark.parametrize("version", [9, 6])
def test_a_service_outlives_the_write_that_it_completed_behind(
    version: int, service: Cluster | Op
) -> None:
    """Planned before the write, run after it; then the write is undone by a restore to the service."""
    steps: list[Step] = [Op(UPSERT, ONE), Op(UPSERT, ONE), service, Op(UPSERT, OTHER), service]
    trial(table(version, True), [*steps, Service(RESTORE, 1)], thorough=True)


@pytest.mark.parametrize("step", [SAVEPOINT, RESTORE, UNDO])
@pytest.mark.parametrize("version", [9, 6])
def test_cleaned_after_it_was_replaced_long_ago(version: int, step: str) -> None:
    """The clean that took the files is on the timeline, what replaced them is archived."""
    more = {"clean.commits.retained": "1", "keep.min.commits": "1", "keep.max.commits": "2"}
    kept = table(version, False, more=tuple((f"hoodie.{k}", v) for k, v in more.items()))
    nothing = Op(UPSERT)
    steps: list[Step] = [Op(UPSERT, ONE), nothing, Service(RESTORE, 1), nothing, nothing]
    trial(kept, [*steps, Op("insert_overwrite_table"), nothing, nothing, Service(step)])


@pytest.mark.parametrize("version", [9, 6])
def test_a_savepoint_names_nothing_that_came_after_it(version: int) -> None:
    """The names of version 6's log files don't say whether they did. Restored to twice."""
    steps: list[Step] = [
        Op(UPSERT, ONE),
        Op(UPSERT, ONE),
        Service(SAVEPOINT, 1),
        Service(RESTORE, 1),
    ]
    trial(table(version, True), [*steps, Op(UPSERT, ONE), Service(RESTORE, 1)], thorough=True)


@pytest.mark.parametrize("version", [9, 6])
def test_changes_tell_of_a_row_that_comes_back(version: int) -> None:
    """A delete in the log hides the base row; a later row that loses against that one lets it through."""
    kept = table(version, True, event_time=True, ordering=("o0",), ordering_types=("day",))
    high, low = Draw(1, order=(2, 0)), Draw(1, order=(0, 0))
    steps: list[Step] = [Op(UPSERT, (high,)), Op("delete keys", (high,)), Op(UPSERT, (low,))]
    trial(kept, steps, thorough=True)


@pytest.mark.parametrize("version", [9, 6])
def test_a_planned_compaction_outlives_the_write_after_it(version: int) -> None:
    steps: list[Step] = [Op(UPSERT, ONE), Op(UPSERT, BOTH), Op(SCHEDULE), Op(UPSERT, ONE)]
    trial(table(version, True), [*steps, Service(UNDO), Op(UPSERT, OTHER)])


@pytest.mark.parametrize("version", [9, 6])
def test_a_compaction_is_as_old_as_its_plan(version: int) -> None:
    """The table has grown since: a wider column, a new one; then the write before is archived."""
    grown = [Op(UPSERT, BOTH, evolve="widen w"), Op(UPSERT, OTHER, evolve="later_text")]
    steps: list[Step] = [Op(UPSERT, ONE), Op(UPSERT, BOTH), Op(SCHEDULE), *grown, Op(SCHEDULE)]
    steps += [Service(ARCHIVE), Op(UPSERT, ONE), Service(ARCHIVE)]
    trial(table(version, True, index="bucket"), steps, thorough=True)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("crash", range(1, 15))
@pytest.mark.parametrize("version", [9, 6])
def test_a_savepoint_beside_a_failed_write(version: int, crash: int) -> None:
    """Its log files, whose names in version 6 don't say who wrote them, go; the savepoint stays whole."""
    steps: list[Step] = [Op(UPSERT, ONE), Try(Op(UPSERT, ONE), crash), Service(SAVEPOINT, 1)]
    steps += [Op(UPSERT, OTHER), Service(RESTORE, 1)]
    trial(table(version, True), steps)
