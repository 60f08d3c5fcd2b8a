"""Kafka: the messages of a topic, read by Spark. The position is the offset of each partition, in
HoodieStreamer's form: ``topic,0:42,1:17``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial, reduce
from operator import and_
from typing import Any

import pyarrow as pa
from attrs import field, frozen
from hoodoo.errors import ConfigError, DataError, EngineError
from hoodoo.hookspecs.registration import Settings

from hoodoo_ingest import kinds
from hoodoo_ingest.hookspecs.source import BAD_ROWS, Around, Arrived, Key, Portion, Position
from hoodoo_ingest.sources import moments
from hoodoo_ingest.sources.files import AGAIN

JSON, RAW = "json", "raw"
EARLIEST, LATEST = "earliest", "latest"
KEYS: Mapping[str, Key] = {
    "servers": Key(kinds.text, 'The brokers, such as "broker:9092".', required=True),
    "topic": Key(kinds.text, "The topic.", required=True),
    "format": Key(
        kinds.one_of(JSON, RAW),
        "json: values are objects with the columns of the schema. raw: the columns of Spark's "
        "source, key, value, topic, partition, offset and timestamp.",
        JSON,
    ),
    "start": Key(kinds.one_of(EARLIEST, LATEST), "Where to begin without a checkpoint.", EARLIEST),
    "max_messages": Key(kinds.whole, "Read so many messages in a round.", 1_000_000),
    "kafka_columns": Key(
        kinds.flag,
        "With json: also kafka_key, kafka_topic, kafka_partition, kafka_offset, kafka_timestamp.",
        False,
    ),
    "tombstones": Key(
        kinds.flag, "With json: messages without a value are rows of nulls, not left out.", False
    ),
    "lost": Key(
        kinds.one_of("refuse", "skip"),
        "What to do if Kafka deleted messages that were not read.",
        "refuse",
    ),
    "properties": Key(kinds.pairs, "Properties of Kafka's client, such as security.protocol.", {}),
}
_CORRUPT = "_hoodoo_corrupt"
# HoodieStreamer's names begin with _hoodie_, which Hoodoo keeps for Hudi's own columns.
_COLUMNS = {
    "kafka_key": "CAST(key AS STRING)",
    "kafka_topic": "topic",
    "kafka_partition": "partition",
    "kafka_offset": "offset",
    "kafka_timestamp": "timestamp",
}
Offsets = Mapping[int, int]


@frozen
class Kafka:
    """The source ``kafka``."""

    keys: Mapping[str, Key] = KEYS
    engine: str | None = "spark"

    @classmethod
    def from_settings(cls, settings: Settings) -> Kafka:
        return cls()

    def open(self, given: Mapping[str, Any], around: Around) -> Topic:
        if given["format"] == JSON and around.schema is None:
            raise ConfigError(
                "source kafka",
                "needs the columns of the messages.",
                'Give [schema] with file = an Avro schema; or format = "raw" in section [source], '
                "and take the value apart in [transform].",
            )
        return Topic(given, around)


@frozen
class Topic:
    """A topic of Kafka."""

    given: Mapping[str, Any] = field(repr=False)
    around: Around

    @property
    def name(self) -> str:
        return str(self.given["topic"])

    def next(self, after: Position | None) -> Portion | None:
        first, last = self._there()
        begin = self._begin(after, first, last)
        end = _share(begin, last, self.given["max_messages"])
        count = sum(end.values()) - sum(begin.values())
        if not count:
            return None
        names = tuple(f"{p}: {begin[p]} to {end[p]}" for p in end if end[p] > begin[p])
        return Portion(
            Position(None, encode(self.name, end)),
            "message",
            count,
            partial(self._read, begin, end),
            names,
            None,
            any(end[p] < last[p] for p in last),
        )

    # --- offsets ----------------------------------------------------------------------------------
    def _begin(self, after: Position | None, first: Offsets, last: Offsets) -> Offsets:
        if after is not None:
            read = decode(after, self.name)
        elif self.given["start"] == EARLIEST:
            return dict(first)
        else:  # what came since this process looked first is new
            read = self.around.memory.setdefault("first end", last)
        begin = {}
        for partition, low in first.items():
            at = read.get(partition, low)  # a partition that is new is read from its start
            what = f"partition {partition} of topic {self.name}"
            if at > last[partition]:
                raise DataError(
                    what,
                    f"ends at offset {last[partition]}, and the table has it up to {at}: it is "
                    "another topic of this name.",
                    AGAIN,
                )
            if at < low and self.given["lost"] == "refuse":
                raise DataError(
                    what,
                    f"begins at offset {low}, and the table has it up to {at}: Kafka has deleted "
                    "messages that were not read.",
                    'Give lost = "skip" in section [source] to go on without them.',
                )
            begin[partition] = max(at, low)
        return begin

    def _there(self) -> tuple[Offsets, Offsets]:
        """The first offset of each partition, and the one after the last."""
        spark = self._spark()
        jvm: Any = spark.sparkContext._jvm
        settings = jvm.java.util.Properties()
        plain = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
        for key, value in {
            **self.given["properties"],
            "bootstrap.servers": self.given["servers"],
            "key.deserializer": plain,
            "value.deserializer": plain,
        }.items():
            settings.setProperty(key, value)
        try:
            client = jvm.org.apache.kafka.clients.consumer.KafkaConsumer(settings)
        except TypeError as error:  # a package of Java, and no class
            raise EngineError(
                "source kafka",
                "Spark's package for Kafka is not there.",
                'Give it in section [spark]: "spark.jars.packages" = '
                f'"org.apache.spark:spark-sql-kafka-0-10_2.13:{spark.version}".',
            ) from error
        try:
            return self._asked(client, jvm)
        except Exception as error:
            if type(error).__name__ != "Py4JJavaError":
                raise
            raise EngineError(
                f"brokers {kinds.shown(self.given['servers'])}",
                f"do not say what is in topic {self.name}: {_reason(error)}.",
                "Check servers and properties in section [source].",
            ) from error
        finally:
            client.close()

    def _asked(self, client: Any, jvm: Any) -> tuple[Offsets, Offsets]:
        found = client.partitionsFor(self.name)
        if found is None or not found.size():
            raise ConfigError(
                f"topic {self.name}", "is not there.", "Create it, or correct the name."
            )
        parts = jvm.java.util.ArrayList()
        for one in found:
            parts.add(jvm.org.apache.kafka.common.TopicPartition(self.name, one.partition()))
        first, last = client.beginningOffsets(parts), client.endOffsets(parts)
        each = list(parts)
        return (
            {part.partition(): int(first[part]) for part in each},
            {part.partition(): int(last[part]) for part in each},
        )

    def _spark(self) -> Any:
        assert self.around.spark is not None
        session = self.around.spark()
        if "connect" in type(session).__module__.split("."):
            raise EngineError(
                "source kafka",
                "needs a session in this process: over Spark Connect no client of Kafka is there.",
                "Start hoodoo ingest where the driver of Spark runs.",
            )
        return session

    # --- rows -------------------------------------------------------------------------------------
    def _read(self, begin: Offsets, end: Offsets) -> Arrived:
        parts = sorted(end)
        reader = self._spark().read.format("kafka")
        for key, value in self.given["properties"].items():
            reader = reader.option(f"kafka.{key}", value)
        frame = (
            reader.option("kafka.bootstrap.servers", self.given["servers"])
            .option("assign", json.dumps({self.name: parts}))
            .option("startingOffsets", json.dumps({self.name: _texts(begin)}))
            .option("endingOffsets", json.dumps({self.name: _texts(end)}))
            .option("failOnDataLoss", str(self.given["lost"] == "refuse").lower())
            .load()
        )
        if self.given["format"] == RAW:
            return Arrived(frame)
        return self._objects(frame)

    def _objects(self, frame: Any) -> Arrived:
        from pyspark.sql import functions as f
        from pyspark.sql.pandas.types import from_arrow_schema
        from pyspark.sql.types import StringType, StructField, StructType

        assert self.around.schema is not None
        columns = from_arrow_schema(self.around.schema)
        types = {column.name: column.type for column in self.around.schema}
        texts = from_arrow_schema(pa.schema([(n, moments.in_texts(t)) for n, t in types.items()]))
        kinds_of = StructType([StructField(c.name, c.dataType, True) for c in texts])
        kinds_of = kinds_of.add(_CORRUPT, StringType())
        options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}
        if not self.given["tombstones"]:
            frame = frame.where("value IS NOT NULL")
        value = f.from_json(f.col("value").cast("string"), kinds_of, options)
        held = frame.withColumn("_hoodoo_row", value).persist()
        corrupt = f.col(f"_hoodoo_row.{_CORRUPT}")
        needed = [c.name for c in columns if not c.nullable]
        is_bad = corrupt.isNotNull()
        for name in needed:
            is_bad = is_bad | f.col("value").isNotNull() & f.col("_hoodoo_row")[name].isNull()
        error = f.when(corrupt.isNotNull(), f.lit("it is no object with the columns of the schema"))
        wrong = {n: moments.is_wrong(f"_hoodoo_row.`{n}`", t) for n, t in types.items()}
        for name in (name for name, text in wrong.items() if text != "FALSE"):
            is_bad = is_bad | f.expr(wrong[name])
            error = error.when(f.expr(wrong[name]), f.lit(f"{name} is no moment"))
        keys = self.around.keys
        if keys and set(keys) <= types.keys():
            texts_of = (f.col("_hoodoo_row")[name].cast("string") for name in keys)
            empty = reduce(and_, (text.isNull() | (text == "") for text in texts_of))
            is_bad = is_bad | f.coalesce(f.col("value").isNotNull() & empty, f.lit(False))
            error = error.when(empty, f.lit(f"its record key ({', '.join(keys)}) is null or empty"))
        lacks = f"it lacks one of the columns {', '.join(needed)}"
        bad = held.where(is_bad).select(
            f.concat_ws(" ", f.lit("topic"), "topic", f.concat_ws(":", "partition", "offset")),
            f.col("value").cast("string"),
            error.otherwise(f.lit(lacks)),
        )
        found = [tuple(row) for row in bad.limit(self.around.bad_rows + 1).collect()]
        rows = [dict(zip(BAD_ROWS.names, row, strict=True)) for row in found]
        good = held.where(~is_bad) if found else held
        names = [
            f.expr(moments.converted(f"_hoodoo_row.`{name}`", kind)).alias(name)
            for name, kind in types.items()
        ]
        if self.given["kafka_columns"]:
            names += [f.expr(text).alias(name) for name, text in _COLUMNS.items()]
        bad_rows = pa.Table.from_pylist(rows, schema=BAD_ROWS)
        return Arrived(good.select(*names), bad_rows, held.unpersist)


def encode(topic: str, offsets: Offsets) -> str:
    return ",".join([topic, *(f"{p}:{at}" for p, at in sorted(offsets.items()))])


def decode(position: Position, topic: str) -> Offsets:
    """The offsets of a position. ConfigError for that of another topic, or of no topic."""
    named, *parts = position.hudi.split(",")
    try:
        offsets = {int(p): int(at) for p, at in (part.split(":") for part in parts)}
    except ValueError:
        offsets = {}
    if named != topic or not offsets:
        raise ConfigError(
            f"position {position.hudi or position.own!r}",
            f"is none of topic {topic}.",
            AGAIN,
        )
    return offsets


def _texts(offsets: Offsets) -> dict[str, int]:
    return {str(partition): at for partition, at in sorted(offsets.items())}


def _share(begin: Offsets, last: Offsets, limit: int) -> Offsets:
    """Where each partition ends, so that there are at most ``limit`` messages: those with few are
    read whole, and the others get equal parts."""
    end = dict(begin)
    open_ones = sorted(last, key=lambda p: last[p] - begin[p])
    for number, partition in enumerate(open_ones):
        share = -(-limit // (len(open_ones) - number))
        taken = min(last[partition] - begin[partition], share)
        end[partition] = begin[partition] + taken
        limit -= taken
    return end


def _reason(error: Any) -> str:
    """What Java says, without the trace."""
    return str(error.java_exception.getMessage()).rstrip(".")
