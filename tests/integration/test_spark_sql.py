"""Spark's own SQL on tables of format("hoodoo"): what docs/spark-source.md says of each."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest

from tests.spark_sql import GROUPS, LATER, NOTHING, REFUSED, ROWS, SPARK, WORKS, Case, Group

pytest.importorskip("pyspark.sql.datasource")
pytestmark = [pytest.mark.spark, pytest.mark.sampled(2, among="long, on Spark")]

KEYS = {
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "city",
}
# Errors of ours are one sentence, which Spark ends with a line of its own; some show a table.
MOST_LINES = 5


class Tried:
    """The table ``t`` of the cases, which is made anew after a case that got through to it."""

    def __init__(self, spark: Any, home: Path) -> None:
        self.spark, self.home, self.count, self.fresh = spark, home, 0, False

    def renewed(self) -> None:
        if self.fresh and self.spark.catalog.tableExists("t"):
            return
        self.count += 1
        self.path = str(self.home / f"t{self.count}")
        rows = pa.Table.from_pylist(
            [dict(zip(("id", "city", "fare", "ts"), row, strict=True)) for row in ROWS]
        )
        hoodoo.create(
            self.path, rows.schema, record_key="id", partition_by="city", ordering="ts"
        ).upsert(rows)
        self.dropped()
        self.spark.sql(f"CREATE TABLE t USING hoodoo LOCATION '{self.path}'")

    def dropped(self) -> None:
        for name in ("t", "n"):
            self.spark.sql(f"DROP TABLE IF EXISTS {name}")
        self.spark.catalog.dropTempView("v")
        self.spark.sql("DROP VIEW IF EXISTS v")

    def run(self, text: str) -> list[tuple[Any, ...]]:
        text = text.replace("{path}", self.path).replace("{new}", f"{self.path}-new")
        if not text.startswith(("df.", "spark.")):
            return [tuple(row) for row in self.spark.sql(text).collect()]
        from pyspark.sql import functions

        df = self.spark.sql("SELECT 9L AS id, 'rome' AS city, 9D AS fare, 9L AS ts")
        eval(text, {"df": df, "spark": self.spark, "keys": KEYS, "col": functions.col})
        return []

    def refused(self, text: str, says: str, ours: bool = True) -> None:
        with pytest.raises(Exception, match=re.escape(says)) as caught:
            self.run(text)
        lines = str(caught.value).splitlines()
        assert not ours or ("Fix: " in lines[0] and len(lines) <= MOST_LINES), (text, lines)

    def case(self, case: Case) -> None:
        self.renewed()
        if case.verdict in (REFUSED, SPARK):
            self.refused(case.text, case.says, case.verdict == REFUSED)
        else:
            self.run(case.text)
        for text, found in case.then:
            if isinstance(found, str):
                assert case.verdict == LATER
                self.refused(text, found)
            else:
                assert sorted(self.run(text)) == sorted(found), (case.text, text)
        table = hoodoo.open(self.path)
        assert sorted(table.read(["id"]).to_arrow()["id"].to_pylist()) == [*case.ids], case.text
        assert table.schema.names[-4:] == ["id", "city", "fare", "ts"], case.text
        self.fresh = case.verdict == SPARK or (case.verdict == REFUSED and not case.then)


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.title)
def test_what_spark_does_with_the_statement(spark: Any, tmp_path: Path, group: Group) -> None:
    session = spark.newSession()
    tried = Tried(session, tmp_path)
    try:
        for case in group.cases:
            assert case.verdict in (WORKS, REFUSED, SPARK, LATER, NOTHING)
            tried.case(case)
    finally:
        tried.dropped()
        spark.createDataFrame([], "id INT")  # other tests expect their session to be the active one
