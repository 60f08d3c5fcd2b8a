"""Tables with virtual keys: Spark Hudi, Hoodoo and ``hudi`` work on each other's."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from attrs import frozen
from both import Both
from hoodoo.errors import UnsupportedTableError
from hoodoo_rows.testing.tables import Maker
from model import Model, Row
from mor import base_files, wheel
from spark_hudi import HudiError

SCHEMA = pa.schema(
    [("id", pa.string()), ("k2", pa.int64()), ("name", pa.string()), ("ts", pa.int64()),
     ("region", pa.string()), ("side", pa.string())]
)  # fmt: skip
COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"
RFC = {"hoodie.recordkey.virtual.enabled": "true"}
PLAIN = {"hoodie.populate.meta.fields": "false"}
TIME, KEY = "_hoodie_commit_time", "_hoodie_record_key"
COMPACT = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}


@frozen
class Kind:
    """A table: ``generator`` as Hudi infers it from the columns; ONE_KEY: COMPLEX, of one key column."""

    table_type: str
    version: int
    generator: str
    index: str = "SIMPLE"

    def setup(self, both: Both) -> None:
        keys = ("id", "k2") if self.generator == "COMPLEX" else ("id",)
        by = {"NON_PARTITION": (), "ONE_KEY": ("region", "side")}.get(self.generator, ("region",))
        both.setup(
            Model((*keys, *by)), SCHEMA, self.version, self.index, False, by, keys,
            buckets=2, table_type=self.table_type,
        )  # fmt: skip
        if self.index == "BUCKET":
            both.opened = {
                "options": {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"}
            }

    def __str__(self) -> str:
        return f"{self.table_type[:1]}{self.version}-{self.generator}-{self.index}".lower()


# Every pair of two settings at least once.
KINDS = [
    Kind(COW, 9, "SIMPLE"),
    Kind(COW, 6, "COMPLEX", "BUCKET"),
    Kind(COW, 9, "NON_PARTITION", "BUCKET"),
    Kind(MOR, 9, "COMPLEX"),
    Kind(MOR, 6, "SIMPLE", "BUCKET"),
    Kind(MOR, 6, "NON_PARTITION"),
    Kind(MOR, 9, "SIMPLE", "BUCKET"),
    Kind(COW, 6, "SIMPLE"),
]

rows = Maker(
    SCHEMA, "ts", "name", id=lambda n: f"k,{n}" if n % 5 == 0 else f"k{n}", k2=lambda n: n - 3,
    region=("us", "eu"), side="left",
).dicts  # fmt: skip


def check(both: Both, where: str) -> None:
    """All three see the rows of the model, and nobody sees a record key."""
    ours = both.hoodoo().read(meta=True).to_arrow()
    both.model.expect(ours, f"{where}, read by Hoodoo")
    assert KEY not in ours.column_names
    both.model.expect(both.spark_read(), f"{where}, read by Spark")
    theirs = wheel(both.path)
    assert theirs is not None
    both.model.expect(theirs, f"{where}, read by hudi")


def check_no_keys(both: Both, where: str) -> None:
    """No new file stores a key: null, or the empty text of Spark's row writer."""
    newest = both.hoodoo().file_slices()
    for slice_ in newest:
        if slice_.base_file is not None:
            keys = pq.read_table(
                both.path / slice_.base_file.path, columns=[KEY], partitioning=None
            )
            assert set(keys.column(0).to_pylist()) <= {None, ""}, where


def spark_compact(both: Both, some: list[Row]) -> None:
    """Spark's inline compaction after an upsert."""
    before = len(_compactions(both))
    both.spark_upsert(some, **COMPACT)
    assert len(_compactions(both)) == before + 1


def _compactions(both: Both) -> list[str]:
    return [i.requested for i in both.hoodoo().timeline().writes() if i.action == "commit"]


def by_turns(both: Both, where: str) -> None:
    """Spark, Hoodoo and Spark again write on what is there (rows 0 to 29 or so)."""
    merged = both.hoodoo().config.table_type == MOR
    both.spark_upsert(rows(range(6, 14), 7, "spark") + rows(range(14, 18), 4, "late")
                      + rows(range(30, 34), 1, "new"))  # fmt: skip
    both.spark_delete(rows([3, 8, 31, 99], 0, ""))
    check(both, f"{where}: Spark wrote")
    if merged:
        spark_compact(both, rows(range(9, 12), 8, "compacted"))
        check(both, f"{where}: Spark compacted")
    both.hoodoo_upsert(rows(range(2, 10), 9, "hoodoo") + rows(range(10, 12), 2, "late")
                       + rows(range(33, 36), 9, "hoodoo"))  # fmt: skip
    both.hoodoo_delete(rows([4, 12, 33, 99], 0, ""))
    check(both, f"{where}: Hoodoo wrote on")
    if merged:
        assert both.hoodoo().compact().instant
        check(both, f"{where}: Hoodoo compacted")
        check_no_keys(both, where)
    assert not both.hoodoo().verify().findings
    both.spark_upsert(rows(range(0, 36, 3), 11, "spark again"))
    both.spark_delete(rows([6, 35], 0, ""))
    check(both, f"{where}: Spark wrote again")
    assert not both.hoodoo().verify().findings


def alternating(*values: Any) -> list[Any]:
    """Each kind with one of the values."""
    return [pytest.param(kind, values[n % len(values)]) for n, kind in enumerate(KINDS)]


@pytest.mark.parametrize(("kind", "keeps_times"), alternating(True, True, False), ids=str)
def test_hoodoo_makes(both: Both, kind: Kind, keeps_times: bool) -> None:
    settings = RFC if keeps_times else PLAIN
    kind.setup(both)
    both.create(settings)
    both.hoodoo_upsert(rows(range(30), 5, "first"))
    both.hoodoo_upsert(rows(range(4), 4, "late") + rows(range(4, 12), 6, "newer"))
    both.hoodoo_delete(rows([11, 12], 0, ""))
    check(both, "made by Hoodoo")
    check_no_keys(both, "made by Hoodoo")
    by_turns(both, "made by Hoodoo")


@pytest.mark.parametrize(("kind", "first"), alternating("upsert", "bulk_insert"), ids=str)
def test_spark_makes(both: Both, kind: Kind, first: str) -> None:
    """bulk_insert goes through Spark's row writer, which stores empty texts. (Without partitions it puts
    all rows of a table with buckets into one: Spark's own upserts double them. Not tried here.)"""
    kind.setup(both)
    both.options.update(PLAIN)
    both.spark_write(first, both.model.upsert(rows(range(30), 5, "first")))
    stored = pq.read_table(base_files(both)[0], columns=[KEY, TIME], partitioning=None)
    assert set(stored.column(0).to_pylist()) == {"" if first == "bulk_insert" else None}
    check(both, "made by Spark")
    both.hoodoo_upsert(rows(range(4), 4, "late") + rows(range(4, 12), 6, "newer"))
    both.hoodoo_delete(rows([11, 12], 0, ""))
    check(both, "Hoodoo wrote")
    by_turns(both, "made by Spark")


@pytest.mark.parametrize(("kind", "rewritten"), alternating(True, False), ids=str)
def test_enabled_later(both: Both, kind: Kind, rewritten: bool) -> None:
    """Files of both writers store keys, those from then on do not."""
    kind.setup(both)
    both.create()
    both.hoodoo_upsert(rows(range(20), 5, "first"))
    both.spark_upsert(rows(range(10, 30), 5, "second"))
    both.hoodoo_upsert(rows(range(4), 4, "late") + rows(range(4, 12), 6, "newer"))
    both.hoodoo().enable_virtual_keys()
    check(both, "enabled")
    both.hoodoo_upsert(rows(range(4, 6), 7, "newest"))
    both.hoodoo_delete(rows([11, 12], 0, ""))
    check(both, "Hoodoo wrote")
    if rewritten:
        assert not both.hoodoo().rewrite_keys().left
        check(both, "rewritten")
        check_no_keys(both, "rewritten")
    by_turns(both, "enabled later")


@pytest.mark.parametrize("version", [9, 6])
def test_rewritten_where_spark_mixed(both: Both, version: int) -> None:
    """Spark goes on in a table of which old files store keys; then these are rewritten."""
    Kind(COW, version, "SIMPLE").setup(both)
    both.create()
    both.hoodoo_upsert(rows(range(20), 5, "first"))
    both.hoodoo().enable_virtual_keys()
    both.spark_upsert(rows(range(0, 8, 2), 6, "spark"))
    check(both, "Spark wrote into old files")
    assert not both.hoodoo().rewrite_keys().left
    check(both, "rewritten")
    by_turns(both, "rewritten")


@pytest.mark.parametrize("table_type", [COW, MOR])
def test_one_key_column_under_complex(both: Both, table_type: str) -> None:
    """Others read what Hoodoo writes, its deletes included. (Spark Hudi 1.2 must not write there: where
    rows lie it takes the bare value for the key of a row, which is column:value, and doubles its own.)"""
    Kind(table_type, 9, "ONE_KEY").setup(both)
    both.create(RFC)
    both.hoodoo_upsert(rows(range(10), 5, "first"))
    both.hoodoo_upsert(rows(range(4), 6, "newer"))
    both.hoodoo_delete(rows([0, 3, 8], 0, ""))
    check(both, "deleted by Hoodoo")
    both.hoodoo_upsert(rows([3], 7, "back"))
    check(both, "and put back")


@pytest.mark.parametrize("operation", ["upsert", "bulk_insert"])
@pytest.mark.parametrize("table_type", [COW, MOR])
@pytest.mark.parametrize("version", [9, 6])
def test_rows_without_a_time(both: Both, version: int, table_type: str, operation: str) -> None:
    """Commit times are kept, and Spark's writers store none: what may be new is not passed over."""
    Kind(table_type, version, "SIMPLE").setup(both)
    both.create(RFC)
    one = both.hoodoo_upsert(rows(range(8), 1, "first"))
    two = both.hoodoo_upsert(rows(range(4), 2, "second"))
    assert both.hoodoo().incremental(one.instant).count() == 4
    # The row writer looks at no stored key: rows of its own.
    some = rows(range(2, 6) if operation == "upsert" else range(40, 44), 3, "spark")
    both.spark_write(operation, both.model.upsert(some))
    check(both, "Spark wrote")
    t = both.hoodoo()
    assert t.incremental(one.instant, until=two.instant).count() == 4
    assert t.incremental("earliest").count() == len(both.model.rows)
    for since in (one.instant, two.instant):
        reads: list[Any] = [t.incremental(since), t.changes(since)]
        for read in reads:
            with pytest.raises(UnsupportedTableError, match="have no commit time"):
                read.to_arrow()
        with pytest.raises(UnsupportedTableError, match="have no commit time"):
            t.incremental(since).count()
    # Rows that the filter leaves out need not say anything.
    three = both.hoodoo_upsert(rows([0], 4, "third")).instant
    assert t.incremental(two.instant, where=pc.field("name") == "third").count() == 1
    assert both.hoodoo().incremental(three).count() == 0


@pytest.mark.parametrize("table_type", [COW, MOR])
@pytest.mark.parametrize("version", [9, 6])
def test_concatenator(both: Both, version: int, table_type: str) -> None:
    """A key that Hudi cannot make: its readers read the rows, and its writers refuse the table."""
    Kind(table_type, version, "COMPLEX").setup(both)
    both.create({**RFC, "hoodie.recordkey.virtual.concatenator": "|"})
    both.hoodoo_upsert(rows(range(8), 1, "first"))
    both.hoodoo_upsert(rows(range(4), 2, "second"))
    check(both, "concatenated")
    before = sorted(both.path.rglob("*commit*"))
    complex_ = {
        "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.ComplexKeyGenerator"
    }
    for operation in ("upsert", "insert", "delete"):
        for more in ({}, complex_):
            with pytest.raises(HudiError, match="CONCATENATED"):
                both.spark_write(operation, rows(range(2), 3, "spark"), more)
    assert sorted(both.path.rglob("*commit*")) == before
    check(both, "after Spark's attempts")
    both.hoodoo_upsert(rows(range(2, 6), 4, "third"))
    check(both, "Hoodoo goes on")


TIMES = {
    "hoodie.keygen.timebased.timestamp.type": "EPOCHMILLISECONDS",
    "hoodie.keygen.timebased.output.dateformat": "yyyy",
}


@pytest.mark.parametrize(("name", "by"), [("TIMESTAMP", "ts"), ("CUSTOM", "region:SIMPLE")])
@pytest.mark.parametrize("table_type", [COW, MOR])
def test_generators_by_an_option(both: Both, table_type: str, name: str, by: str) -> None:
    """Spark Hudi has no virtual keys of these generators: it reads the rows, and refuses to write."""
    model = Model(("id", by.split(":")[0]))
    both.setup(model, SCHEMA, 9, "SIMPLE", False, (by,), table_type=table_type)
    times = TIMES if name == "TIMESTAMP" else {}
    more = {"hoodoo.recordkey.virtual.by.hoodoo": "true"}
    both.create({**PLAIN, **times, **more}, key_generator=name)
    both.hoodoo_upsert(rows(range(8), 1, "first"))
    both.hoodoo_upsert(rows(range(4), 1, "second"))
    both.hoodoo_delete(rows([5], 1, ""))
    both.model.expect(both.hoodoo().read().to_arrow(), "read by Hoodoo")
    theirs = both.spark_read()  # a partition column of TIMESTAMP comes as text
    ts = theirs.column("ts").cast(pa.int64())
    both.model.expect(theirs.set_column(theirs.column_names.index("ts"), "ts", ts), "read by Spark")
    for operation in ("upsert", "insert", "delete"):
        with pytest.raises(HudiError, match="Only simple, non-partitioned or complex"):
            both.spark_write(operation, rows(range(2), 3, "spark"), times)
    both.hoodoo_upsert(rows(range(2, 6), 1, "third"))
    both.model.expect(both.hoodoo().read().to_arrow(), "Hoodoo goes on")
