"""Random sequences of writes: Hoodoo, the dictionary and `hudi` agree after every one."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from cluster_draws import CLUSTER, ORDERS, PLAN_OR_RUN, PLANNERS, Cluster
from effort import effort
from hypothesis import HealthCheck, event, given, note, settings
from index_steps import Switch
from table_draws import AMBIGUOUS_KEY, FRACTION, Draw, Op, merged_setups, sequences, setups
from table_model import Setup
from table_trial import Trial
from table_values import KEY_TEXTS
from tally import TALLY

# In memory where there is room: conftest.py at the top says so.
_TEMPORARY = os.environ.get("PYTEST_DEBUG_TEMPROOT")


def trial(setup: Setup, ops: list[Op | Cluster | Switch], engine: str | None = None) -> None:
    """One sequence in a folder of its own."""
    for line in (setup, *ops):
        note(repr(line))
    event(f"virtual keys: {setup.virtual or 'no'}")
    event(f"metadata table: {(setup.metadata or setup.index) if setup.has_metadata else 'no'}")
    for op in ops:
        event(op.kind)
    run(setup, ops, engine)


def run(setup: Setup, ops: list[Op | Cluster | Switch], engine: str | None = None) -> None:
    folder = Path(tempfile.mkdtemp(prefix="hoodoo-property-", dir=_TEMPORARY))
    try:
        Trial(setup, folder, engine).run(ops)
    finally:
        shutil.rmtree(folder)


often = settings(
    max_examples=effort(12, 200),
    deadline=None,
    print_blob=True,  # a failure prints what to decorate the test with to run it again
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
pytestmark = pytest.mark.filterwarnings("ignore::hypothesis.errors.NonInteractiveExampleWarning")


@pytest.mark.sampled(1, among="long")
@often
@given(setup=setups(), ops=sequences())
def test_writes(setup: Setup, ops: list[Op | Cluster | Switch]) -> None:
    trial(setup, ops)


@pytest.mark.sampled(1, among="long")
@often
@given(setup=merged_setups(), ops=sequences(merged=True))
def test_writes_that_are_merged_on_read(setup: Setup, ops: list[Op | Cluster | Switch]) -> None:
    trial(setup, ops)


# --- what these trials have found -----------------------------------------------------------------------
@pytest.mark.sampled(1, among="long")
@pytest.mark.parametrize("logs", [False, True])
def test_clustering_where_the_index_knows_a_key_that_is_gone(logs: bool) -> None:
    """Its row was marked as deleted, and compacted away: it does not go on in the file group that went."""
    setup = Setup(
        9, partition=("p",), index="record_index", event_time=True, ordering=("o0",),
        ordering_types=("int",), merge_on_read=True,
    )  # fmt: skip
    rows = (Draw(key=0, order=(1, 0), payload=1), Draw(key=1, order=(1, 0), payload=2))
    steps: list[Op | Cluster | Switch] = [
        Op("upsert", rows),
        Op("upsert", (Draw(key=1, order=(3, 0), dead=True, payload=3),)),
    ]
    compacted = [] if logs else [Op("compact")]
    run(setup, [*steps, *compacted, Cluster(CLUSTER, room=2, logs=logs)])


# --- what random ones are too small for -----------------------------------------------------------------
@pytest.mark.parametrize(("number", "planner"), list(enumerate(PLANNERS)))
@pytest.mark.sampled(1)
def test_clusterings_into_several_files(number: int, planner: str) -> None:
    """Files just larger than those that there are: planned, run beside a write that goes elsewhere."""
    merged = number % 2 == 0
    setup = Setup(6 if number > 2 else 9, merge_on_read=merged, payload=("w", "text", "day"))
    appends: list[Op | Cluster | Switch] = [
        Op("append", tuple(Draw(key=n, payload=n * 7 + start) for n in range(100)))
        for start in (1, 3, 5)
    ]
    plan = Cluster(PLAN_OR_RUN, planner, ORDERS[(number + 1) % 4], columns=(1, 2, 3), logs=merged)
    what = "clusterings into several files of a group"
    before = TALLY.counts.get(what, 0)
    run(setup, [*appends, Op("upsert", (Draw(1),)), plan, Op("append", (Draw(),)), plan])
    assert TALLY.counts.get(what, 0) > before


# --- what random ones come to seldom --------------------------------------------------------------------
@pytest.mark.parametrize(
    ("index", "merged", "virtual"),
    [
        ("simple", False, "rfc"),
        ("bucket", False, ""),
        ("bucket", True, "rfc"),
        ("record_index", True, ""),
    ],
)
@pytest.mark.sampled(2)
def test_keys_of_texts_that_hold_separators(index: str, merged: bool, virtual: str) -> None:
    """All of them, each kept apart from the others; what could be another one is refused, and nothing else."""
    setup = Setup(
        9 if index == "record_index" else 6, key=("k", "k3"), partition=("p",), index=index,
        merge_on_read=merged, virtual=virtual, payload=("w", "text"),
    )  # fmt: skip
    every = tuple(Draw(key, part=key % 2, payload=key + 1) for key in range(len(KEY_TEXTS)))
    steps: list[Op | Cluster | Switch] = [Op("upsert", every)]
    steps += [Op("upsert", every[n : n + 3], wrong=AMBIGUOUS_KEY, floats=True) for n in range(6)]
    steps += [Op("delete rows", every[:3]), Op("insert", every[:5], wrong=FRACTION)]
    what = f"refused: {AMBIGUOUS_KEY}"
    before = TALLY.counts.get(what, 0)
    run(setup, [*steps, Op("delete anywhere", every[8:])])
    assert TALLY.counts[what] == before + 6
