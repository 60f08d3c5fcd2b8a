"""The metadata table under two writers: both use what the other one wrote, its record index too."""

from __future__ import annotations

import pytest
from both import Both
from indexed import IDS, KINDS, STRANGE, check, doubts, made, rows, said, setup, written

kinds = pytest.mark.parametrize(("kind", "partition"), KINDS, ids=IDS)
GONE = [f"k{n}" for n in range(60)]


def by_turns(both: Both, first: int) -> None:
    """Each side updates, inserts and deletes what the other one wrote last."""
    at = said(both)
    both.spark_upsert(rows([*range(10, 30), "ключ", "a,b"], first, "spark"))
    both.spark_write("insert", both.model.upsert(rows(range(40, 46), first, "spark")))
    both.spark_delete(rows([2, 3, 25, "c:d"], first, ""))
    check(both, "Spark deletes", keys=GONE)
    both.hoodoo_upsert(rows([*range(2, 16), 44, 50, 51, "c:d"], first + 1, "hoodoo"))
    check(both, "Hoodoo upserts", spark=False, keys=GONE)
    both.hoodoo_delete(rows([2, 11, 26, 45, "-"], first + 1, ""))
    both.hoodoo().insert(written(both, both.model.upsert(rows([26, 52], first + 1, "hoodoo"))))
    check(both, "Hoodoo deletes and inserts", keys=GONE)
    # By the older name of the same index.
    older = {"hoodie.index.type": "RECORD_INDEX"}
    found = both.model.upsert(rows([1, 2, 11, 26, 45, 51, 53, "-"], first + 2, "again"))
    both.spark_write("upsert", found, older)
    check(both, "Spark upserts again", keys=GONE)
    assert doubts(both, at) == []


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
