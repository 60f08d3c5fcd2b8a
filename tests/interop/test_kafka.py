"""``hoodoo ingest`` with a real broker of Kafka: one, in KRaft mode, on the loopback interface."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hoodoo
import pytest
from hoodoo.errors import ConfigError, DataError
from hoodoo.timeline.batches import Batch
from hoodoo_ingest.config import read_config
from hoodoo_ingest.hookspecs.source import Position
from hoodoo_ingest.run import Ingestion
from kafka_broker import BROKER_VARIABLE, SPARK_VARIABLE, Broker, Client

SCHEMA = {"type": "record", "name": "ride", "fields": [
    {"name": "id", "type": "long"}, {"name": "city", "type": ["null", "string"]},
    {"name": "fare", "type": ["null", "double"]}]}  # fmt: skip
V2 = "streamer.checkpoint.key.v2"


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    from pyspark.sql import SparkSession

    for name in (BROKER_VARIABLE, SPARK_VARIABLE):
        if not os.environ.get(name):
            pytest.fail(f"{name} must name a folder of jars (prepare.py fetches them)")
    jars = sorted(Path(os.environ[SPARK_VARIABLE]).glob("*.jar"))
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local[2]").appName("hoodoo-kafka")
        .config("spark.ui.enabled", "false").config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2").config("spark.driver.host", "127.0.0.1")
        .config("spark.jars", ",".join(map(str, jars))).getOrCreate()
    )  # fmt: skip
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def client(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    jars = Path(os.environ[BROKER_VARIABLE])
    with Broker(jars, tmp_path_factory.mktemp("kafka") / "broker") as broker:
        found = Client(spark, broker.servers)
        yield found
        found.close()


class Feed:
    """A topic, and the table that is fed from it."""

    def __init__(self, client: Client, folder: Path) -> None:
        self.client, self.folder = client, folder
        self.topic = f"rides-{folder.name}"
        (folder / "s.avsc").write_text(json.dumps(SCHEMA))
        self.offsets: dict[int, int] = {}

    def send(self, number: int, partition: int = 0, **more: Any) -> None:
        value = json.dumps({"id": number, "city": "oslo", "fare": 1.5, **more})
        self.client.send(self.topic, str(number), value, partition)

    def config(self, **sections: Any) -> dict[str, Any]:
        known: dict[str, Any] = {
            "source": {"kind": "kafka", "servers": self.client.servers, "topic": self.topic},
            "table": {"path": str(self.folder / "t"), "record_key": "id"},
            "schema": {"file": str(self.folder / "s.avsc")},
            "run": {"operation": "insert"},
        }
        for name, more in sections.items():
            known[name] = {**known.get(name, {}), **more}
        return known

    def run(self, **sections: Any) -> list[Any]:
        return list(hoodoo.ingest(self.config(**sections)))

    def ids(self) -> list[int]:
        table = hoodoo.open(str(self.folder / "t"))
        return sorted(table.read(columns=["id"]).to_arrow()["id"].to_pylist())

    def checkpoint(self) -> str:
        table = hoodoo.open(str(self.folder / "t"))
        timeline = table.timeline()
        extra = timeline.metadata(table.handle.storage, timeline.writes()[-1]).extra
        return str(extra[V2])


@pytest.fixture
def feed(client: Client, tmp_path: Path) -> Feed:
    return Feed(client, tmp_path)


def test_each_message_takes_effect_once(feed: Feed) -> None:
    feed.client.create(feed.topic, 2)
    for n in range(6):
        feed.send(n, n % 2)
    done = feed.run(source={"max_messages": 4})
    assert [one.count for one in done] == [4, 2] and feed.ids() == list(range(6))
    assert feed.checkpoint() == f"{feed.topic},0:3,1:3"  # as HoodieStreamer writes it
    assert feed.run() == []
    table = hoodoo.open(str(feed.folder / "t"))
    table.insert([{"id": 100, "city": None, "fare": None}])  # another writer
    feed.client.grow(feed.topic, 3)
    feed.send(6, 2)
    feed.send(7, 0)
    (one,) = feed.run()
    assert one.count == 2 and feed.ids() == [*range(8), 100]
    theirs = {V2: f"{feed.topic},0:5,1:3,2:1"}  # HoodieStreamer has read one more
    table.insert([{"id": 8, "city": None, "fare": None}], batch=Batch("other", 1, notes=theirs))
    feed.send(8, 0)
    assert feed.run() == [] and feed.ids() == [*range(9), 100]


def test_a_driver_that_dies_after_the_commit(feed: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    feed.client.create(feed.topic)
    feed.send(1)
    feed.run()
    feed.send(2)
    commit = Ingestion._commit

    def dying(self: Any, *arguments: Any) -> Any:
        commit(self, *arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(Ingestion, "_commit", dying)
    with pytest.raises(KeyboardInterrupt):
        feed.run()
    monkeypatch.undo()
    assert feed.run() == [] and feed.ids() == [1, 2]


def test_bad_messages(feed: Feed) -> None:
    feed.client.create(feed.topic)
    feed.send(1)
    feed.client.send(feed.topic, "x", "{no json")
    feed.client.send(feed.topic, "y", '{"city": "rome"}')
    feed.client.send(feed.topic, "z", None)  # a tombstone
    feed.send(2)
    with pytest.raises(DataError, match=f"topic {feed.topic} 0:1"):
        feed.run()
    assert not (feed.folder / "t").exists()
    (done,) = feed.run(errors={"bad_rows": "aside", "folder": str(feed.folder / "bad")})
    assert done.bad_rows == 2 and feed.ids() == [1, 2]
    rows = [json.loads(line) for line in Path(done.bad_file).read_text().splitlines()]
    assert [row["row"] for row in rows] == ["{no json", '{"city": "rome"}']
    assert "record key (id) is null" in rows[1]["error"] and rows[1]["place"].endswith(" 0:2")


def test_tombstones_delete(feed: Feed) -> None:
    sql = """SELECT CAST(kafka_key AS BIGINT) AS id, city, fare,
      kafka_offset AS ts, fare IS NULL AS _hoodie_is_deleted FROM source"""
    how = {
        "source": {"tombstones": True, "kafka_columns": True},
        "schema": {"file": str(feed.folder / "loose.avsc")},
        "table": {"ordering": "ts"},
        "run": {"operation": "upsert"},
        "transform": {"sql": sql},
    }
    loose = {**SCHEMA, "fields": SCHEMA["fields"][1:]}
    (feed.folder / "loose.avsc").write_text(json.dumps(loose))
    feed.client.create(feed.topic)
    feed.send(1)
    feed.send(2)
    feed.run(**how)
    feed.client.send(feed.topic, "1", None)
    feed.send(2, fare=7.0)
    feed.run(**how)
    (row,) = hoodoo.open(str(feed.folder / "t")).read(columns=["id", "fare"]).to_pylist()
    assert row == {"id": 2, "fare": 7.0}


def test_raw(feed: Feed) -> None:
    feed.client.create(feed.topic)
    feed.client.send(feed.topic, "7", "text")
    sql = "SELECT CAST(CAST(key AS STRING) AS BIGINT) AS id, CAST(value AS STRING) AS v FROM source"
    known = feed.config(source={"format": "raw"}, transform={"sql": sql})
    del known["schema"]
    list(hoodoo.ingest(known))
    assert hoodoo.open(str(feed.folder / "t")).read(columns=["id", "v"]).to_pylist() == [
        {"id": 7, "v": "text"}
    ]
    del known["source"]["format"]
    with pytest.raises(ConfigError, match="needs the columns of the messages"):
        list(hoodoo.ingest(known))


def test_lost_messages(feed: Feed) -> None:
    feed.client.create(feed.topic)
    feed.send(1)
    feed.run()
    for n in (2, 3):
        feed.send(n)
    feed.client.lose(feed.topic, 2)
    with pytest.raises(DataError, match="has deleted messages that were not read"):
        feed.run()
    feed.run(source={"lost": "skip"})
    assert feed.ids() == [1, 3]


def test_topics_of_another_name(feed: Feed) -> None:
    with pytest.raises(ConfigError, match="is not there"):
        feed.run()
    feed.client.create(feed.topic)
    feed.send(1)
    assert feed.run(source={"start": "latest"}) == []
    feed.run()
    reading = Ingestion(read_config(feed.config()))._opened(None)
    with pytest.raises(DataError, match="another topic of this name"):
        reading.next(Position(None, f"{feed.topic},0:9"))
    with pytest.raises(ConfigError, match="is none of topic"):
        reading.next(Position(None, "1700000000000"))
