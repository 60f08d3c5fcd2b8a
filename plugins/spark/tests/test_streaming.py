"""Streams into tables: real queries, batches that come twice, and several streams at once."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hoodoo
import pytest
from hoodoo.errors import CommitConflictError, ConfigError, NotATableError
from hoodoo.table.table import Table
from hoodoo_rows.testing.tables import tuples
from hoodoo_rows.write.batches import HUDI_KEY
from hoodoo_spark.options import IDENTIFIER, PAUSE, RETRIES
from hoodoo_spark.streaming import Sink, sink

pytestmark = [pytest.mark.spark, pytest.mark.sampled(2, among="streams")]
DDL = "id long, city string, ts int"


class Place:
    """A folder with a table, the files of a source and a checkpoint."""

    def __init__(self, spark: Any, path: Path) -> None:
        self.spark, self.path = spark, path
        (path / "in").mkdir()

    def create(self, **more: Any) -> Table:
        schema = self.spark.createDataFrame([], DDL).schema
        given = {"record_key": "id", "partition_by": "city", "ordering": "ts", **more}
        return hoodoo.create(str(self.path / "t"), schema, **given)

    def arrive(self, ids: range, ts: int = 1) -> None:
        """One more file of the source, in one piece; a batch is one file."""
        number = len(list((self.path / "in").iterdir()))
        lines = [json.dumps({"id": i, "city": "ab"[i % 2], "ts": ts}) for i in ids]
        hidden = self.path / f"{number}.json"
        hidden.write_text("\n".join(lines))
        hidden.rename(self.path / "in" / f"{number}.json")

    def run(self, each: Any, checkpoint: str = "checkpoint") -> str:
        """All batches that are there; the id of the query."""
        found = (
            self.spark.readStream.schema(DDL)
            .option("maxFilesPerTrigger", 1)
            .json(str(self.path / "in"))
        )
        query = (
            found.writeStream.foreachBatch(each)
            .option("checkpointLocation", str(self.path / checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return str(query.id)

    def forget(self, number: int) -> None:
        """The checkpoint as it is when the driver dies between write and checkpoint."""
        commits = self.path / "checkpoint/commits"
        assert max(int(f.name) for f in commits.iterdir() if f.name.isdigit()) == number
        (commits / str(number)).unlink()
        (commits / f".{number}.crc").unlink(missing_ok=True)


@pytest.fixture
def place(spark: Any, tmp_path: Path) -> Place:
    return Place(spark, tmp_path)


@pytest.fixture
def in_query(spark: Any) -> Iterator[Any]:
    """``in_query(id, run)``: what Spark sets in the thread of a query, without one."""

    def say(query: str | None, run: str | None = None) -> None:
        spark.sparkContext.setLocalProperty("sql.streaming.queryId", query)
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", run)

    yield say
    say(None)


def counted(table: Table) -> Counter[tuple[Any, ...]]:
    return Counter(tuples(table, ["id", "ts"]))


def commits(table: Table) -> int:
    return len(table.timeline().writes())


@pytest.mark.parametrize(
    ("operation", "table_type"),
    [("bulk_insert", "COPY_ON_WRITE"), ("upsert", "MERGE_ON_READ")],
)
def test_a_query(place: Place, operation: str, table_type: str) -> None:
    """Batches are written, the last one comes again, and the query goes on."""
    table = place.create(table_type=table_type)
    place.arrive(range(4))
    place.arrive(range(4, 8))
    first = place.run(sink(table, operation))
    assert counted(table) == Counter({(i, 1): 1 for i in range(8)}) and commits(table) == 2

    place.forget(1)
    told: list[str] = []
    again = sink(str(place.path / "t"), operation)
    assert place.run(lambda frame, number: told.append(again(frame, number).instant)) == first
    assert told == [""]
    assert counted(table) == Counter({(i, 1): 1 for i in range(8)}) and commits(table) == 2

    place.arrive(range(8, 10))
    place.run(again)
    assert counted(table) == Counter({(i, 1): 1 for i in range(10)}) and commits(table) == 3


def test_between_two_batches(place: Place) -> None:
    """Another writer, a compaction and another stream; then the batch comes again."""
    table = place.create(
        table_type="MERGE_ON_READ", options={"hoodie.compact.inline.max.delta.commits": 1}
    )
    place.arrive(range(4))
    place.run(sink(table, "insert"))
    table.upsert(place.spark.createDataFrame([(0, "a", 2)], DDL))
    assert table.compact().instant
    place.run(sink(table, "delete", identifier="other"), "another checkpoint")
    table.insert(place.spark.createDataFrame([(5, "b", 1)], DDL))
    assert counted(table) == {(5, 1): 1}
    place.forget(0)
    before = commits(table)
    place.run(sink(table, "insert"))
    assert counted(table) == {(5, 1): 1} and commits(table) == before


def test_a_new_checkpoint_is_a_new_stream(place: Place) -> None:
    """Its batches begin at 0 and are not taken for those of before, with an identifier or without."""
    table = place.create()
    place.arrive(range(2))
    for identifier in (None, "mine"):
        before = commits(table)
        for checkpoint in ("first", "second"):
            place.run(sink(table, "upsert", identifier=identifier), f"{checkpoint} {identifier}")
        assert commits(table) == before + 2


def test_two_sinks_of_one_query(place: Place) -> None:
    """Without an identifier the second would be skipped, and its rows lost: it is refused."""
    table = place.create()
    table.insert(place.spark.createDataFrame([(0, "a", 1), (1, "b", 1)], DDL))
    place.arrive(range(4), ts=2)

    def each(frame: Any, number: int) -> None:
        deletes(frame.where("id < 2"), number)
        puts(frame.where("id >= 2"), number)

    deletes, puts = sink(table, "delete"), sink(table)
    with pytest.raises(Exception, match="give each sink of the query an identifier of its own"):
        place.run(each, "one")
    deletes, puts = sink(table, "delete", identifier="out"), sink(table, identifier="in")
    place.run(each, "two")
    assert counted(table) == {(2, 2): 1, (3, 2): 1}


def test_streams_of_one_process_take_turns(place: Place, in_query: Any) -> None:
    """Side by side they would undo each other's work; nothing is retried."""
    table = place.create()
    failed: list[BaseException] = []

    def stream(name: str) -> None:
        try:
            into = Sink(hoodoo.open(table.path), "insert", name, retries=0)
            for number in range(2):
                into(place.spark.createDataFrame([(number, name, 1)], DDL), number)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=stream, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert counted(table) == {(0, 1): 2, (1, 1): 2} and commits(table) == 4


def test_a_sink_of_hudi_goes_on(place: Place, in_query: Any) -> None:
    """The identifier is what Hudi's own sink looks for."""
    table = place.create()
    in_query("q", "r")
    into = sink(table, options={IDENTIFIER.key: "default_single_writer"})
    into(place.spark.createDataFrame([(0, "a", 1)], DDL), 7)
    line = table.timeline()
    found = line.metadata(table.handle.storage, line.writes()[-1]).extra
    assert json.loads(found[HUDI_KEY]) == {"default_single_writer": "7"}


class Overtaken(Table):
    """A table whose writes meet another writer's commit as often as ``left`` says."""

    left = 0

    def upsert(self, data: Any, **more: Any) -> Any:
        if self.left:
            self.left -= 1
            raise CommitConflictError("instant", "another writer was faster", "Repeat it.")
        return super().upsert(data, **more)


def test_a_conflict_is_tried_again(place: Place, in_query: Any) -> None:
    table = place.create()
    frame = place.spark.createDataFrame([(0, "a", 1)], DDL)
    slow = Overtaken(table.handle.storage, table.config, {})
    into = sink(slow, identifier="a", options={RETRIES.key: 2, PAUSE.key: 0})
    slow.left = 2
    assert into(frame, 0).inserted == 1
    slow.left = 3
    with pytest.raises(CommitConflictError):
        into(frame, 1)
    assert into(frame, 1).updated == 1


def test_refused(place: Place) -> None:
    table = place.create()
    with pytest.raises(ConfigError, match="upsert"):
        sink(table, "merge")
    with pytest.raises(ConfigError, match="hoodoo.open"):
        sink(table, options={"hoodie.index.type": "SIMPLE"})
    with pytest.raises(ConfigError, match=r"retry.count: must be a whole number"):
        sink(table, options={RETRIES.key: "often"})
    with pytest.raises(NotATableError):
        sink(place.path / "nothing")
    with pytest.raises(ConfigError, match="give it an identifier"):
        sink(table)(place.spark.createDataFrame([(0, "a", 1)], DDL), 0)
    assert commits(table) == 0
