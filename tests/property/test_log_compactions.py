"""Random histories with log compactions: nothing that anybody reads differs after one."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from effort import effort
from hoodoo.errors import ConfigError, PluginError, UnsupportedTableError
from log_compaction_trial import Trial

SEED = int(os.environ.get("HOODOO_SEED") or random.randrange(1 << 32))


@pytest.mark.sampled(1, among="long")
@pytest.mark.parametrize("number", range(effort(3, 200)))
def test_nothing_differs_after_a_log_compaction(number: int, tmp_path: Path) -> None:
    draw = random.Random(f"{SEED} log compactions {number}")
    while True:
        try:
            trial = Trial(tmp_path, draw)
            break
        except (ConfigError, PluginError, UnsupportedTableError):
            continue  # these options do not go together
    try:
        trial.run(14)
    except Exception as error:
        raise AssertionError(f"seed {SEED}, {trial.kind}:\n" + "\n".join(trial.story)) from error
