"""``hoodie.properties`` as both writers change it, and what Spark Hudi takes from it."""

from __future__ import annotations

import pytest
from both import Both
from hoodoo.timeline.properties import checksum
from hoodoo_rows.testing.tables import Maker
from model import SCHEMA, Model, table
from spark_hudi import HudiError

rows = Maker(SCHEMA, "ts", id="k{}".format, name="n", region="eu").dicts


@pytest.mark.parametrize("version", [9, 6])
def test_changed_by_turns(both: Both, version: int) -> None:
    """Spark notes its metadata table there, and Hoodoo keeps it."""
    both.setup(Model(), SCHEMA, version, metadata=True)
    both.create({"hoodie.datasource.write.hive_style_partitioning": True})
    created = both.hoodoo().config.properties
    both.hoodoo_upsert(rows(range(5), 1))
    for ts in (2, 3):
        both.spark_upsert(rows(range(ts, ts + 5), ts))
        config = both.hoodoo().config
        assert "files" in config.metadata_partitions
        assert config.get("hoodie.table.checksum") == checksum("t", "default")
        assert {k: config.get(k) for k in created} == created
        # Hadoop's checksum of the file that Spark wrote: wrong from the next line on.
        assert (both.path / ".hoodie" / ".hoodie.properties.crc").exists()
        both.hoodoo_upsert(rows(range(3, 8), ts))
        assert "files" in both.hoodoo().config.metadata_partitions
        both.check(f"at {ts}")


def test_spark_takes_the_bucket_index_from_the_table(both: Both) -> None:
    both.setup(Model(), SCHEMA, 9, "BUCKET")
    both.create()
    both.hoodoo_upsert(rows(range(20), 1))
    said = dict(both.options)
    for key in (
        "hoodie.index.type",
        "hoodie.bucket.index.num.buckets",
        "hoodie.index.bucket.engine",
    ):
        del both.options[key]
    both.spark_upsert(rows(range(10, 30), 2))
    both.check("after a writer that said nothing of an index")
    for wrong in ({"hoodie.bucket.index.num.buckets": "7"}, {"hoodie.index.type": "SIMPLE"}):
        with pytest.raises(HudiError, match="Config conflict"):
            both.spark_write("upsert", rows(range(3), 9), {**said, **wrong})
    both.check("after writers that were refused")


@pytest.mark.parametrize("mode", ["COMMIT_TIME_ORDERING", "EVENT_TIME_ORDERING"])
@pytest.mark.parametrize("version", [9, 6])
def test_spark_takes_the_merge_mode_from_the_table(both: Both, version: int, mode: str) -> None:
    """A late row wins by commit time and loses by event time, whoever writes it."""
    both.setup(Model(("id",)), SCHEMA, version)
    both.create({"hoodie.record.merge.mode": mode})
    both.hoodoo_upsert(rows(range(6), 5))
    late = [{**row, "name": "late"} for row in rows(range(6), 4)]
    model = Model(("id",), None) if mode.startswith("COMMIT") else both.model
    model.rows, both.model = both.model.rows, model
    both.hoodoo().upsert(table(both.model.upsert(late[:3]), SCHEMA))
    both.spark_upsert(late[3:])
    both.check(mode)


@pytest.mark.parametrize("version", [9, 6])
def test_spark_adds_a_column(both: Both, version: int) -> None:
    """Schema evolution by turns: each side adds a column, the other one fills it with null."""
    both.setup(Model(("id",)), SCHEMA, version)
    both.create()
    both.hoodoo_upsert(rows(range(6), 1))
    both.schema = SCHEMA.append(SCHEMA.field("name").with_name("extra"))
    both.model.rows = {k: {**r, "extra": None} for k, r in both.model.rows.items()}
    both.spark_upsert([{**r, "extra": "spark"} for r in rows(range(4, 8), 2)])
    both.check("after Spark added a column")
    both.schema = both.schema.append(SCHEMA.field("ts").with_name("more"))
    both.model.rows = {k: {**r, "more": None} for k, r in both.model.rows.items()}
    both.hoodoo_upsert([{**r, "extra": None, "more": 7} for r in rows(range(6, 9), 3)])
    both.check("after Hoodoo added a column")
