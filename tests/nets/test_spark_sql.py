"""Text is Spark's SQL: what is computed has the value that Spark computes in ANSI mode, or is refused."""

from __future__ import annotations

import os
import random
from typing import Any

import pytest

pytest.importorskip("duckdb")
pytest.importorskip("hoodoo_statements")

from hoodoo_statements.spark_sql.functions import FUNCTIONS
from spark_sql_trial import all_cases, drawn_rows, judged

pytestmark = pytest.mark.spark

MORE = (os.environ.get("HOODOO_TRIALS") or "some") != "some"
ROWS, CASES = (24, None) if MORE else (12, 60)


@pytest.mark.sampled(1, among="long")
def test_each_function_and_cast_beside_spark(spark: Any) -> None:
    """All of them with ``HOODOO_TRIALS=more``, else a part that is drawn."""
    draw = random.Random(os.environ["HOODOO_SEED"])
    cases = all_cases(draw, 2 if MORE else 1)
    if CASES is not None:
        cases = draw.sample(cases, CASES)
    verdict = judged(spark, cases, drawn_rows(draw, ROWS))
    print(verdict.report)
    assert not verdict.faults, "\n".join(verdict.faults[:40])
    if MORE:
        # Nothing is let through only to be an error.
        assert [name for name in FUNCTIONS if not verdict.proven[name]] == []
