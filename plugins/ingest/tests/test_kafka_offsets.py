"""The source ``kafka`` without a broker: offsets, and what Spark lacks. A real broker is in
tests/interop/test_kafka.py."""

from __future__ import annotations

import builtins
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import hoodoo
import pytest
from folders import config
from hoodoo.errors import ConfigError, DataError, EngineError, PluginError
from hoodoo_ingest.config import read_config
from hoodoo_ingest.hookspecs.source import Around, Position
from hoodoo_ingest.run import Ingestion
from hoodoo_ingest.sources.kafka import _COLUMNS, KEYS, Kafka, Topic, _share, decode, encode


def topic(spark: Any = None, **given: Any) -> Topic:
    known = {key: what.default for key, what in KEYS.items()}
    known |= {"servers": "b:9092", "topic": "rides", "format": "raw", **given}
    return Kafka().open(known, Around(spark=lambda: spark))


class Known(Topic):
    """A topic whose offsets are known: 2 to 5, and 0 to 100."""

    def _there(self) -> Any:
        return {0: 2, 1: 0}, {0: 5, 1: 100}


def known(**given: Any) -> Known:
    made = topic(**given)
    return Known(made.given, made.around)


def test_positions_are_those_of_hoodie_streamer() -> None:
    assert encode("rides", {1: 17, 0: 42}) == "rides,0:42,1:17"
    assert decode(Position(None, "rides,0:42,1:17"), "rides") == {0: 42, 1: 17}
    for wrong in ("", "rides", "other,0:1", "rides,0", "1700000000000"):
        with pytest.raises(ConfigError, match="is none of topic rides"):
            decode(Position(None, wrong), "rides")


def test_shares() -> None:
    begin = {0: 0, 1: 10, 2: 0}
    for limit in range(1, 60):
        end = _share(begin, {0: 4, 1: 60, 2: 0}, limit)
        assert all(begin[p] <= end[p] for p in begin)
        assert sum(end.values()) - 10 == min(limit, 54)
    assert _share(begin, {0: 4, 1: 60, 2: 0}, 20) == {0: 4, 1: 26, 2: 0}


def test_portions() -> None:
    first = known(max_messages=10).next(None)
    assert first is not None and first.count == 10 and first.more
    assert first.upto.hudi == "rides,0:5,1:7" and first.names == ("0: 2 to 5", "1: 0 to 7")
    assert known(start="latest").next(None) is None
    new = known().next(Position(None, "rides,0:5"))  # partition 1 is new
    assert new is not None and new.count == 100 and not new.more
    with pytest.raises(DataError, match="has deleted messages"):
        known().next(Position(None, "rides,0:1,1:0"))
    skipped = known(lost="skip").next(Position(None, "rides,0:1,1:100"))
    assert skipped is not None and skipped.count == 3
    with pytest.raises(DataError, match="another topic of this name"):
        known().next(Position(None, "rides,0:6,1:0"))


def test_the_newest_messages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes after the first look is new, also in a source that is opened again."""
    last = {0: 5, 1: 100}
    monkeypatch.setattr(Topic, "_there", lambda self: ({p: 0 for p in last}, dict(last)))
    source = {"kind": "kafka", "servers": "b:9092", "topic": "rides", "format": "raw"}
    ingestion = Ingestion(
        read_config({**config(tmp_path), "source": {**source, "start": "latest"}})
    )
    assert ingestion.next()[2] is None
    last |= {1: 103, 2: 4}  # partition 2 is new
    portion = ingestion.next()[2]
    assert portion is not None and portion.count == 7
    assert portion.names == ("1: 100 to 103", "2: 0 to 4")


def test_kafka_columns_can_be_written(tmp_path: Path) -> None:
    names = ["id", *_COLUMNS]
    hoodoo.create(str(tmp_path / "t"), dict.fromkeys(names, "string"), record_key="id")
    assert hoodoo.open(str(tmp_path / "t")).schema.names == names


def test_sessions_that_lack_something() -> None:
    def absent(settings: Any) -> None:
        raise TypeError("'JavaPackage' object is not callable")

    consumer = SimpleNamespace(KafkaConsumer=absent)
    kafka = SimpleNamespace(clients=SimpleNamespace(consumer=consumer))
    settings = SimpleNamespace(setProperty=lambda key, value: None)
    jvm = SimpleNamespace(
        java=SimpleNamespace(util=SimpleNamespace(Properties=lambda: settings)),
        org=SimpleNamespace(apache=SimpleNamespace(kafka=kafka)),
    )
    spark = SimpleNamespace(sparkContext=SimpleNamespace(_jvm=jvm), version="4.1.0")
    with pytest.raises(EngineError, match=r"spark-sql-kafka-0-10_2.13:4.1.0"):
        topic(spark).next(None)
    consumer.KafkaConsumer = lambda settings: _Silent()
    with pytest.raises(EngineError, match="do not say what is in topic rides: no answer"):
        topic(spark).next(None)
    remote = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    with pytest.raises(EngineError, match="over Spark Connect"):
        topic(remote).next(None)


class _Silent:
    def partitionsFor(self, name: str) -> None:  # Java's name
        error = type("Py4JJavaError", (Exception,), {})()
        error.java_exception = SimpleNamespace(getMessage=lambda: "no answer.")
        raise error

    def close(self) -> None:
        pass


def test_without_pyspark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = builtins.__import__

    def without(name: str, *arguments: Any, **more: Any) -> Any:
        if name.startswith("pyspark"):
            raise ImportError(name)
        return whole(name, *arguments, **more)

    source = {"kind": "kafka", "servers": "b:9092", "topic": "rides", "format": "raw"}
    known = {**config(tmp_path), "source": source}
    ingestion = Ingestion(read_config(known))
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(PluginError, match="needs PySpark"):
        ingestion.next()
