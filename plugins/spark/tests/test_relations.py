"""Plans of Spark that are used again as long as the files of a table are the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hoodoo
import pytest
from hoodoo_spark import dataframe, relations

pytestmark = pytest.mark.spark


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many files each plan has that is made."""
    counts: list[int] = []
    read = dataframe.read_files

    def counted(spark: Any, root: str, files: Any, schemas: Any) -> Any:
        counts.append(len(files))
        return read(spark, root, files, schemas)

    monkeypatch.setattr(dataframe, "read_files", counted)
    return counts


def values(frame: Any) -> list[Any]:
    return sorted(row[0] for row in frame.collect())


def test_the_same_files_are_one_plan_and_others_another(
    spark: Any, tmp_path: Path, made: list[int]
) -> None:
    table = hoodoo.create(str(tmp_path / "t"), "id bigint, v bigint", record_key="id")
    table.insert([{"id": n, "v": n} for n in range(5)])
    session = hoodoo.session(spark, tables={"t": table})
    text = "SELECT sum(v) FROM t"
    for _ in range(3):
        assert values(session.sql(text).to_spark()) == [10]
    assert made == [1]
    first = table.read().to_spark(spark)  # all columns are another plan
    assert made == [1, 1]
    table.upsert([{"id": 0, "v": 90}])
    assert values(session.sql(text).to_spark()) == [100]
    assert made == [1, 1, 1]
    # Frames of an older state stay those of it, and a state of before has its plan yet.
    assert sorted(row.v for row in first.collect()) == [0, 1, 2, 3, 4]
    assert values(table.read(columns=["v"], as_of=1).to_spark(spark)) == [0, 1, 2, 3, 4]
    table.alter(rename={"v": "w"})
    assert values(session.sql("SELECT sum(w) FROM t").to_spark()) == [100]


def test_frames_of_one_plan_are_joined_filtered_and_cached_apart(
    spark: Any, tmp_path: Path, made: list[int]
) -> None:
    table = hoodoo.create(
        str(tmp_path / "t"), "id bigint, part bigint", record_key="id", partition_by="part"
    )
    table.insert([{"id": n, "part": n % 3} for n in range(9)])
    one, other = (table.read().to_spark(spark) for _ in range(2))
    assert made == [3] and one is not other
    assert values(one.where("part = 1").select("id")) == [1, 4, 7]
    assert values(other.select("id")) == list(range(9))
    both = one.alias("a").join(other.alias("b"), on="id").selectExpr("a.part + b.part")
    assert values(both) == [0, 0, 0, 2, 2, 2, 4, 4, 4]
    one.cache()
    try:
        assert one.count() == other.count() == 9
        assert values(other.where("part = 2").select("id")) == [2, 5, 8]
    finally:
        one.unpersist()


def test_few_plans_are_there_at_one_time(
    spark: Any, tmp_path: Path, made: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relations, "MOST_RELATIONS", 1)
    tables = []
    for name in "ab":
        tables.append(hoodoo.create(str(tmp_path / name), "id bigint", record_key="id"))
        tables[-1].insert([{"id": 1}])
    for _ in range(2):
        for table in tables:
            table.read().to_spark(spark)
    assert made == [1, 1, 1, 1]
    tables[-1].read().to_spark(spark)
    assert made == [1, 1, 1, 1]
    monkeypatch.setattr(relations, "MOST_FILES", 0)
    tables[-1].read().to_spark(spark)
    assert made == [1, 1, 1, 1, 1]
