"""Random sequences of writes: Hoodoo, the dictionary and `hudi` agree after every one."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from effort import effort
from hypothesis import HealthCheck, event, given, note, settings
from table_draws import Op, merged_setups, sequences, setups
from table_model import Setup
from table_trial import Trial

# In memory where there is room: conftest.py at the top says so.
_TEMPORARY = os.environ.get("PYTEST_DEBUG_TEMPROOT")


def trial(setup: Setup, ops: list[Op], engine: str | None = None) -> None:
    """One sequence in a folder of its own."""
    for line in (setup, *ops):
        note(repr(line))
    event(f"virtual keys: {setup.virtual or 'no'}")
    event(f"metadata table: {(setup.metadata or setup.index) if setup.has_metadata else 'no'}")
    for op in ops:
        event(op.kind)
    folder = Path(tempfile.mkdtemp(prefix="hoodoo-property-", dir=_TEMPORARY))
    try:
        Trial(setup, folder, engine).run(ops)
    finally:
        shutil.rmtree(folder)


often = settings(
    max_examples=effort(60, 200),
    deadline=None,
    print_blob=True,  # a failure prints what to decorate the test with to run it again
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
pytestmark = pytest.mark.filterwarnings("ignore::hypothesis.errors.NonInteractiveExampleWarning")


@often
@given(setup=setups(), ops=sequences())
def test_writes(setup: Setup, ops: list[Op]) -> None:
    trial(setup, ops)


@often
@given(setup=merged_setups(), ops=sequences(merged=True))
def test_writes_that_are_merged_on_read(setup: Setup, ops: list[Op]) -> None:
    trial(setup, ops)
