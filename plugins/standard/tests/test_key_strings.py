"""5,496 rows through the key generators of Spark Hudi 1.2.0, and through ours.

Recorded in a JVM 17 of zone UTC: Avro records as Spark's writer makes them of rows, their ``getRecordKey``
and ``getPartitionPath``.
"""

from __future__ import annotations

import gzip
import sys
from collections import Counter
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.append(str(HERE))  # for the module beside it, which is in no package

from key_cases import DIFFERENCES, Case, compared, recorded  # noqa: E402

LINES = gzip.decompress((HERE / "keystrings.jsonl.gz").read_bytes()).decode().splitlines()
# Each one with its reason in docs/writing.md, and how often it occurs; one that is gone goes from there, too.
EXPECTED = {
    "digits of a JVM before 19": 21,
    "digits in a text column that is a time": 19,
    "paths outside": 13,
    "times out of range": 98,
    "null in a column of no time": 33,
    "unknown zones": 54,
    "words in another case": 1,
    "letters of patterns": 73,
    "structs": 66,
    "missing columns": 61,
    "`COMPLEX` with one column, form unknown": 6,
    "`COMPLEX` with one column, value alone, in version 9": 6,
    "`NON_PARTITION` with a partition column": 2,
    "`CUSTOM` without a partition column": 2,
}


@pytest.fixture(scope="module")
def outcomes() -> list[tuple[Case, str | None]]:
    return [outcome for group in recorded(LINES) for outcome in compared(group)]


@pytest.mark.sampled(1, among="long")
def test_all_strings_are_equal_or_a_known_difference(
    outcomes: list[tuple[Case, str | None]],
) -> None:
    faults = [str(case) for case, name in outcomes if name is None]
    assert not faults, f"{len(faults)} faults:\n" + "\n".join(faults[:20])
    found = Counter(name for _case, name in outcomes)
    assert {name: n for name, n in found.items() if name != "equal"} == EXPECTED


def test_most_are_strings(outcomes: list[tuple[Case, str | None]]) -> None:
    """Not refusals on both sides."""
    assert len(LINES) == 5496
    equal = [case for case, name in outcomes if name == "equal"]
    assert Counter(case.what for case in equal if case.ours is not None) == {
        "key": 4433,
        "path": 4041,
    }


def test_each_difference_has_its_reason_in_the_docs() -> None:
    page = (HERE.parents[2] / "docs/writing.md").read_text("utf-8")
    assert [name for name in DIFFERENCES if f"\n| {name} | " not in page] == []
