"""Random lives of a table: writes, and cleans, archivings, savepoints, restores, rollbacks and
compactions between them; after every step each state that should be there is, and is right.

``HOODOO_PROPERTY_EXAMPLES`` is how many lives each test tries, 80 by default.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, event, given, note, settings
from life_draws import Step, life, lives
from life_trial import Life
from table_model import Setup

_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def trial(setup: Setup, steps: list[Step]) -> None:
    for line in (setup, *steps):
        note(repr(line))
    for step in steps:
        event(step.kind)
    folder = Path(tempfile.mkdtemp(prefix="hoodoo-property-", dir=_MEMORY))
    try:
        Life(setup, folder).live(steps)
    finally:
        shutil.rmtree(folder)


many = settings(
    max_examples=int(os.environ.get("HOODOO_PROPERTY_EXAMPLES") or 80),
    deadline=None,
    print_blob=True,  # a failure prints what to decorate the test with to run it again
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
pytestmark = pytest.mark.filterwarnings("ignore::hypothesis.errors.NonInteractiveExampleWarning")


@many
@given(setup=lives(), steps=life())
def test_lives(setup: Setup, steps: list[Step]) -> None:
    trial(setup, steps)


@many
@given(setup=lives(merged=True), steps=life(merged=True))
def test_lives_that_are_merged_on_read(setup: Setup, steps: list[Step]) -> None:
    trial(setup, steps)
