"""The same random sequences on Spark: Hoodoo, the dictionary and `hudi` agree after every write.

The local engine tries two hundred of them in the time of a few here, and both engines run the same
steps: these show that what crosses Spark comes back as it was. Half of them hand over Arrow data, of
every type, that is read inside the tasks; half of them DataFrames.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from attrs import define, evolve
from effort import effort
from hypothesis import HealthCheck, given, note, settings
from life_draws import Step, life, lives
from life_trial import Life
from table_draws import Op, merged_setups, sequences, setups
from table_model import Row, Setup
from table_trial import Trial
from table_values import PAYLOAD

pytestmark = pytest.mark.spark

# Spark's own type for times of day is young, and has other units than the table.
NO_TYPES_OF_SPARK = ("clock_ms", "clock_us")

few = settings(
    max_examples=effort(4, 20),
    deadline=None,
    print_blob=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
some = sequences(least=2, most=4, most_rows=8)


@define
class FrameTrial(Trial):
    """Rows are handed over as DataFrames of two partitions, whatever the draw says."""

    spark: Any = None

    def _shaped(self, rows: list[Row], schema: pa.Schema, op: Op) -> Any:
        from hoodoo_spark.native_read import arrow_scan
        from hoodoo_spark.sources import DecodeRows, _stream

        data = super()._shaped(rows, schema, evolve(op, source="table"))
        half = len(rows) // 2
        parts = [_stream(schema, p.to_batches()) for p in (data.slice(0, half), data.slice(half))]
        return arrow_scan(self.spark, parts, DecodeRows(schema))


def run(kind: Any, setup: Setup, ops: list[Op], **more: Any) -> None:
    for line in (setup, *ops):
        note(repr(line))
    folder = Path(tempfile.mkdtemp(prefix="hoodoo-property-"))
    try:
        kind(setup, folder, "spark", **more).run(ops)
    finally:
        shutil.rmtree(folder)


@pytest.mark.sampled(1, among="long")
@few
@given(setup=setups(), ops=some)
def test_arrow_data(spark: Any, setup: Setup, ops: list[Op]) -> None:
    run(Trial, setup, ops)


@pytest.mark.sampled(1, among="long")
@few
@given(setup=merged_setups(), ops=sequences(least=2, most=5, most_rows=8, merged=True))
def test_tables_that_are_merged_on_read(spark: Any, setup: Setup, ops: list[Op]) -> None:
    run(Trial, setup, ops)


@pytest.mark.sampled(1, among="long")
@settings(few, max_examples=effort(2, 10))
@given(setup=lives(merged=True), steps=life(merged=True, least=3, most=5))
def test_lives(spark: Any, setup: Setup, steps: list[Step]) -> None:
    """Services between the writes, and after each of them the states that must be there."""
    for line in (setup, *steps):
        note(repr(line))
    folder = Path(tempfile.mkdtemp(prefix="hoodoo-property-"))
    try:
        Life(setup, folder, "spark").live(steps)
    finally:
        shutil.rmtree(folder)


@pytest.mark.sampled(1, among="long")
@few
@given(setup=setups(), ops=some)
def test_dataframes(spark: Any, setup: Setup, ops: list[Op]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name in NO_TYPES_OF_SPARK:
            patch.delitem(PAYLOAD, name)
        run(FrameTrial, setup, ops, spark=spark)
