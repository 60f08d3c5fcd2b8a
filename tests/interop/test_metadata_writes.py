"""The metadata table under two writers: both use what the other one wrote, its record index too."""

from __future__ import annotations

import pytest
from both import Both
from indexed import GONE, IDS, KINDS, STRANGE, by_turns, check, made, rows, setup

kinds = pytest.mark.parametrize(("kind", "partition"), KINDS, ids=IDS)


@kinds
def test_made_by_hoodoo(both: Both, kind: str, partition: str) -> None:
    made(both, kind, partition)
    both.hoodoo_upsert(rows([*range(20), *STRANGE], 1, "hoodoo"))
    check(both, "written by Hoodoo", keys=GONE)
    by_turns(both, 2)


@pytest.mark.parametrize(("kind", "partition"), [KINDS[0], KINDS[3]], ids=[IDS[0], IDS[3]])
def test_made_by_spark(both: Both, kind: str, partition: str) -> None:
    setup(both, kind, partition)
    both.spark_upsert(rows([*range(20), *STRANGE], 1, "spark"))
    check(both, "written by Spark", keys=GONE)
    both.hoodoo_upsert(rows([*range(15, 24), "'q'"], 2, "hoodoo"))
    check(both, "Hoodoo upserts", keys=GONE)
    by_turns(both, 3)
