"""TIMESTAMP: paths that Hudi makes of times, and the settings they come from."""

from __future__ import annotations

import datetime as dt
import decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hoodoo.errors import ConfigError, DataError, OptionConflictError, SchemaError
from hoodoo.hookspecs.key_generator import KeyGenerator, can_be_virtual, table_properties
from hoodoo.hookspecs.registration import Settings
from hoodoo.model.config import TableConfig
from hoodoo.testing.contracts.key_generator import KeyGeneratorContract
from hoodoo_standard.keygen.timestamp import TimestampKeyGenerator
from hoodoo_standard.keygen.timestamp_path import TimestampPaths

T = "hoodie.keygen.timebased."
OLD = "hoodie.deltastreamer.keygen.timebased."
LOGICAL = "hoodie.datasource.write.keygenerator.consistent.logical.timestamp.enabled"
# Made by TimestampBasedAvroKeyGenerator of Hudi 1.2.0 in a JVM of zone UTC, one to a line:
# hive style, URL encoding, settings, Java value, path.
LINES = Path(__file__).with_name("timebased.txt").read_text("utf-8").splitlines()


def settings(options: dict[str, str] | None = None, **table: str) -> Settings:
    known = {"hoodie.table.recordkey.fields": "id", "hoodie.table.partition.fields": "ts"}
    return Settings(TableConfig({**known, **table}), options or {})


def timed(kind: str, output: str = "yyyy/MM/dd", **more: str) -> dict[str, str]:
    said = {"timestamp.type": kind, "output.dateformat": output}
    return {T + key: text for key, text in {**said, **more}.items()}


def paths(values: Any, said: dict[str, str], kind: pa.DataType | None = None) -> list[str]:
    batch = pa.RecordBatch.from_arrays([pa.array(values, kind)], ["ts"])
    made: list[str] = TimestampPaths.from_settings(settings(**said), "ts").paths(batch).to_pylist()
    return made


class TestNumbers(KeyGeneratorContract):
    @pytest.fixture
    def key_generator(self) -> KeyGenerator:
        return TimestampKeyGenerator.from_settings(settings(**timed("EPOCHMILLISECONDS")))

    @pytest.fixture
    def rows(self) -> pa.RecordBatch:
        return pa.RecordBatch.from_pydict(
            {"id": [f"k{i}" for i in range(8)], "ts": [i * 40_000_000 for i in range(8)]}
        )


class TestTexts(KeyGeneratorContract):
    @pytest.fixture
    def key_generator(self) -> KeyGenerator:
        said = timed("DATE_STRING", **{"input.dateformat": "yyyy-MM-dd'T'HH:mm:ssZ,yyyy-MM-dd"})
        return TimestampKeyGenerator.from_settings(settings(**said))

    @pytest.fixture
    def rows(self) -> pa.RecordBatch:
        texts = [
            "2024-01-02",
            "2024-01-02T03:04:05+08:00",
            "2024-01-02T23:30:00-0500",
            "1999-12-31",
        ]
        return pa.RecordBatch.from_pydict({"id": [1, 2, 3, 4], "ts": texts})


class TestNested(KeyGeneratorContract):
    @pytest.fixture
    def key_generator(self) -> KeyGenerator:
        said = {
            "hoodie.datasource.write.hive_style_partitioning": "true",
            **timed("UNIX_TIMESTAMP"),
        }
        fields = {"hoodie.table.recordkey.fields": "k.id", "hoodie.table.partition.fields": "at.ts"}
        return TimestampKeyGenerator.from_settings(settings(**said, **fields))

    @pytest.fixture
    def rows(self) -> pa.RecordBatch:
        return pa.RecordBatch.from_pylist(
            [{"k": {"id": i}, "at": {"ts": i * 50_000}} for i in range(6)]
        )


def java_value(text: str, texts: bool) -> pa.Array:
    kind, _, said = text.partition(":")
    if kind == "null":
        return pa.array([None], pa.string() if texts else pa.int64())
    made: dict[str, Any] = {
        "Long": lambda: pa.array([int(said)]),
        "Integer": lambda: pa.array([int(said)], pa.int32()),
        "Double": lambda: pa.array([float(said)]),
        "Float": lambda: pa.array([float(said)], pa.float32()),
        "BigDecimal": lambda: pa.array([decimal.Decimal(said)], pa.decimal128(20, 2)),
        "LocalDate": lambda: pa.array([dt.date.fromisoformat(said)]),
        "String": lambda: pa.array([said]),
    }
    return made[kind]()


def test_paths_that_hudi_made() -> None:
    assert len(LINES) > 150
    wrong = []
    for line in LINES:
        hive, encoded, config, value, wanted = line.split("\t")
        said = {T + k: v for k, _, v in (c.partition("=") for c in config.split("|") if c)}
        said["hoodie.datasource.write.hive_style_partitioning"] = hive
        said["hoodie.datasource.write.partitionpath.urlencode"] = encoded
        texts = any(kind in config for kind in ("DATE_STRING", "MIXED"))
        batch = pa.RecordBatch.from_arrays([java_value(value, texts)], ["ts"])
        found = TimestampPaths.from_settings(settings(**said), "ts").paths(batch)[0].as_py()
        if found != wanted:
            wrong.append((line, found))
    assert not wrong


def test_many_rows_nulls_among_them() -> None:
    days = [i * 86_400 for i in range(400)]
    made = paths([*days, None, *days], timed("UNIX_TIMESTAMP"))
    assert made[:2] == ["1970/01/01", "1970/01/02"] and made[59] == "1970/03/01"
    assert made[:400] == made[401:] and made[400] == "1970/01/01"
    text = timed("DATE_STRING", **{"input.dateformat": "yyyy-MM-dd"})
    coded = pa.array(["2024-02-29", None, "2024-02-29"]).dictionary_encode()
    assert paths(coded, text) == ["2024/02/29", "1970/01/01", "2024/02/29"]
    assert paths([None], text, pa.null()) == ["1970/01/01"]


def test_logical_columns() -> None:
    """Dates are days of the unit; timestamps their number, or, where they are logical, themselves."""
    days = timed("SCALAR", **{"timestamp.scalar.time.unit": "DAYS"})
    assert paths([dt.date(2024, 2, 29), None], days) == ["2024/02/29", "1970/01/02"]
    moment = [dt.datetime(2024, 2, 29, 23, 30), None]
    assert paths(moment, timed("EPOCHMICROSECONDS"), pa.timestamp("us")) == [
        "2024/02/29", "1970/01/01",
    ]  # fmt: skip
    logical = {LOGICAL: "true", **timed("UNIX_TIMESTAMP", "yyyy-MM-dd HH:mm")}
    zoned = pa.timestamp("us", "UTC")
    assert paths(moment, logical, zoned) == ["2024-02-29 23:30", "1970-01-01 00:00"]
    # Without a zone, Avro's local timestamp, Hudi sees a number, here of days.
    local = {LOGICAL: "true", **days}
    assert paths([dt.datetime(1970, 1, 1, 0, 0, 0, 59)], local, pa.timestamp("us")) == [
        "1970/03/01"
    ]
    east = {**logical, T + "output.timezone": "Asia/Tokyo"}
    assert paths(moment[:1], east, pa.timestamp("ns", "UTC")) == ["2024-03-01 08:30"]
    text = {LOGICAL: "true", **timed("DATE_STRING", **{"input.dateformat": "yyyy"})}
    assert paths(moment, text, pa.timestamp("ms", "UTC")) == ["2024/02/29", "1970/01/01"]
    with pytest.raises(SchemaError, match="no unit"):
        paths(moment, text, pa.timestamp("ms"))


def test_the_least_number_keeps_its_sign() -> None:
    """It has no counterpart above zero. Its paths are Hudi's."""
    shown = "yyyy-MM-dd HH:mm:ss"
    assert paths([-(2**63), -1, 0], timed("EPOCHMICROSECONDS", shown)) == [
        "-290308-12-21 19:59:05", "1970-01-01 00:00:00", "1970-01-01 00:00:00",
    ]  # fmt: skip
    nanos = timed("SCALAR", shown, **{"timestamp.scalar.time.unit": "NANOSECONDS"})
    assert paths([-(2**63)], nanos) == ["1677-09-21 00:12:43"]


def test_clocks_are_put_forward_after_2037_too() -> None:
    """Hudi's own path of the year 55969."""
    said = timed(
        "UNIX_TIMESTAMP", "yyyy-MM-dd HH:mm:ss ZZ", **{"output.timezone": "America/New_York"}
    )
    assert paths([1704067199999, 2540000000, 2530000000], said) == [
        "55969-09-27 19:59:59 -04:00", "2050-06-27 23:33:20 -04:00", "2050-03-04 04:46:40 -05:00",
    ]  # fmt: skip


def test_numbers_as_text_that_spark_sql_leaves_behind() -> None:
    assert paths(["1705367700", None], timed("UNIX_TIMESTAMP")) == ["2024/01/16", "1970/01/01"]
    with pytest.raises(DataError, match="'2024-01-16' is no number"):
        paths(["2024-01-16"], timed("UNIX_TIMESTAMP"))


@pytest.mark.parametrize(
    ("values", "kind", "said", "error", "message"),
    [
        (["x"], None, "DATE_STRING", DataError, "'x' is no time"),
        (["2024-02-30"], None, "DATE_STRING", DataError, "'2024-02-30'.*day"),
        ([""], None, "MIXED", DataError, "'' is no time"),
        ([1], None, "MIXED", SchemaError, "no unit"),
        ([True], None, "UNIX_TIMESTAMP", SchemaError, "bool"),
        ([b"x"], None, "DATE_STRING", SchemaError, "binary"),
        ([2**60], None, "UNIX_TIMESTAMP", DataError, "beyond"),
        ([1e300], None, "UNIX_TIMESTAMP", DataError, "no time"),
        ([decimal.Decimal(10**30)], pa.decimal128(38, 0), "UNIX_TIMESTAMP", DataError, "no time"),
    ],
)
def test_what_is_no_time(
    values: Any, kind: Any, said: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        paths(values, timed(said, **{"input.dateformat": "yyyy-MM-dd"}), kind)


def test_a_path_that_is_none_is_refused() -> None:
    with pytest.raises(DataError, match="not a directory"):
        paths([0], timed("UNIX_TIMESTAMP", "yyyy//MM"))


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({}, "timestamp.type"),
        ({T + "timestamp.type": "UNIX_TIMESTAMP"}, "output.dateformat"),
        (timed("unix"), "one of UNIX_TIMESTAMP"),
        (timed("DATE_STRING"), "input.dateformat"),
        (timed("SCALAR", **{"timestamp.scalar.time.unit": "WEEKS"}), "WEEKS"),
        (timed("UNIX_TIMESTAMP", "yyyy G"), "'G'"),
        (timed("DATE_STRING", **{"input.dateformat": "yy"}), "'yy'"),
        (timed("UNIX_TIMESTAMP", **{"output.timezone": "UTC+8"}), "output.timezone.*UTC\\+8"),
        ({**timed("UNIX_TIMESTAMP"), "hoodie.keygen.datetime.parser.class": "x.Y"}, "x.Y|only"),
        (timed("MIXED", **{"input.dateformat": "y", "input.dateformat.list.delimiter.regex": "("}),
         "must be a regular expression"),
    ],
)  # fmt: skip
def test_settings_that_cannot_be_followed(said: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        TimestampKeyGenerator.from_settings(settings(**said)).table_properties()


def test_settings_by_their_old_names_and_as_options() -> None:
    old = {key.replace(T, OLD): text for key, text in timed("UNIX_TIMESTAMP", "yyyy").items()}
    batch = pa.RecordBatch.from_pydict({"ts": [0]})
    for given in (settings(**old), settings(old), settings(timed("UNIX_TIMESTAMP", "yyyy"))):
        assert TimestampPaths.from_settings(given, "ts").paths(batch).to_pylist() == ["1970"]
    assert table_properties(TimestampKeyGenerator.from_settings(settings(old))) == {
        **timed("UNIX_TIMESTAMP", "yyyy"), T + "output.timezone": "UTC",
    }  # fmt: skip
    with pytest.raises(OptionConflictError, match="output.dateformat"):
        TimestampPaths.from_settings(settings({OLD + "output.dateformat": "MM"}, **old), "ts")


@pytest.mark.parametrize(
    ("said", "noted"),
    [
        (timed("UNIX_TIMESTAMP"), {T + "output.timezone": "UTC"}),
        (timed("UNIX_TIMESTAMP", **{"output.timezone": "CET"}), {}),
        (timed("UNIX_TIMESTAMP", **{"timezone": "CET"}), {}),
        (timed("DATE_STRING", **{"input.dateformat": "yyyy"}),
         {T + "input.timezone": "UTC", T + "output.timezone": "UTC"}),
        (timed("DATE_STRING", **{"input.dateformat": "yyyy", "input.timezone": "CET"}),
         {T + "output.timezone": "CET"}),
        # These are told in their own offsets: no zone says that.
        (timed("DATE_STRING", **{"input.dateformat": "yyyy,yyyyZ"}), {}),
    ],
)  # fmt: skip
def test_a_new_table_notes_its_zones(said: dict[str, str], noted: dict[str, str]) -> None:
    """Hudi takes the zone of its JVM where none is noted. What is noted changes no path."""
    before = TimestampKeyGenerator.from_settings(settings(**said))
    assert table_properties(before) == noted
    after = TimestampKeyGenerator.from_settings(settings(**said, **noted))
    assert table_properties(after) == {}
    column = ["2024"] if "DATE_STRING" in str(said) else [1_700_000_000]
    batch = pa.RecordBatch.from_pydict({"ts": column})
    assert before.partition_paths(batch) == after.partition_paths(batch)


def test_it_is_not_for_virtual_keys_and_a_path_tells_no_value() -> None:
    made = TimestampKeyGenerator.from_settings(settings(**timed("UNIX_TIMESTAMP")))
    assert not can_be_virtual(made)
    assert made.partition_values("2024/01/02", pa.schema([("ts", pa.int64())])) is None
