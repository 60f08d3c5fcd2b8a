"""CUSTOM, GLOBAL_DELETE, generated keys, and the two forms of a COMPLEX key of one column."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hoodoo.errors import ConfigError, HoodooError, OptionConflictError
from hoodoo.hookspecs.key_generator import (
    GeneratesKeys,
    KeyGenerator,
    Settles,
    can_be_virtual,
    deletes_only,
    table_properties,
)
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.resolve import resolve
from hoodoo.model.config import TableConfig
from hoodoo.model.meta import RECORD_KEY
from hoodoo.testing.contracts.key_generator import KeyGeneratorContract
from hoodoo_standard.keygen.complex import ComplexKeyGenerator
from hoodoo_standard.keygen.custom import CustomKeyGenerator
from hoodoo_standard.keygen.global_delete import GlobalDeleteKeyGenerator
from hoodoo_standard.keygen.nonpartitioned import NonPartitionedKeyGenerator
from hoodoo_standard.keygen.simple import SimpleKeyGenerator
from hoodoo_standard.keygen.timestamp import TimestampKeyGenerator

TIMES = {
    "hoodie.keygen.timebased.timestamp.type": "UNIX_TIMESTAMP",
    "hoodie.keygen.timebased.output.dateformat": "yyyy/MM/dd",
}
HIVE = {"hoodie.datasource.write.hive_style_partitioning": "true"}
ENCODE = {"hoodie.datasource.write.partitionpath.urlencode": "true"}
NEW = "hoodie.write.complex.keygen.new.encoding"
STORED = "hoodie.table.complex.keygen.encoding"
FIELDS = "hoodie.datasource.write.partitionpath.field"


def settings(
    keys: str = "id", partitions: str = "", options: dict[str, str] | None = None, **table: str
) -> Settings:
    known = {
        "hoodie.table.recordkey.fields": keys,
        "hoodie.table.partition.fields": partitions,
        "hoodie.table.version": "9",
    }
    return Settings(TableConfig({**known, **table}), options or {})


ROWS = pa.RecordBatch.from_pydict(
    {
        "id": [f"k{i}" for i in range(6)],
        "city": ["a", "b", None, "ü", "", "a:b"],
        "ts": pa.array([0, 86_400, None, 1_704_164_645, -1, 5]),
        "n": pa.array([1, 2, 3, 4, None, 6], pa.int32()),
    }
)


class TestCustom(KeyGeneratorContract):
    @pytest.fixture
    def key_generator(self) -> KeyGenerator:
        return CustomKeyGenerator.from_settings(
            settings("id", "city:SIMPLE,ts:TIMESTAMP,n:SIMPLE", **TIMES, **HIVE)
        )

    @pytest.fixture
    def rows(self) -> pa.RecordBatch:
        return ROWS


class TestCustomSeveralKeysUnpartitioned(KeyGeneratorContract):
    @pytest.fixture
    def key_generator(self) -> KeyGenerator:
        return CustomKeyGenerator.from_settings(settings("a,b.c", ""))

    @pytest.fixture
    def rows(self) -> pa.RecordBatch:
        return pa.RecordBatch.from_pylist([{"a": i, "b": {"c": "x"}} for i in range(5)])


class TestGenerated(KeyGeneratorContract):
    @pytest.fixture
    def key_generator(self) -> KeyGenerator:
        return SimpleKeyGenerator.from_settings(settings("", "city"))


class TestGeneratedCustom(KeyGeneratorContract):
    @pytest.fixture
    def key_generator(self) -> KeyGenerator:
        return CustomKeyGenerator.from_settings(settings("", "ts:TIMESTAMP,city:SIMPLE", **TIMES))

    @pytest.fixture
    def rows(self) -> pa.RecordBatch:
        return ROWS


class TestGlobalDelete(KeyGeneratorContract):
    @pytest.fixture
    def key_generator(self) -> KeyGenerator:
        return GlobalDeleteKeyGenerator.from_settings(settings("id", "city"))


# Made by the Avro generators of Hudi 1.2.0 from the rows JAVA_ROWS: generator, settings (W.: of writers, T.:
# of times), row, key, path; ! is an exception.
LINES = Path(__file__).with_name("keys.txt").read_text("utf-8").splitlines()
NAMES = {"Nonpartitioned": "NON_PARTITION", "GlobalDelete": "GLOBAL_DELETE"}
PREFIXES = {
    "W.recordkey.field": "hoodie.table.recordkey.fields",
    "W.partitionpath.field": "hoodie.table.partition.fields",
}
# id, n, day, at, s: {x, t}
JAVA_ROWS: list[tuple[Any, ...]] = [
    ("k1", 5, 19_000, 1_704_164_645_678_901, {"x": "a-b", "t": 86_400}),
    ("k:2,", -7, -1, -500_000, {"x": "", "t": None}),
    ("k3", None, None, None, {"x": None, "t": 0}),
    ("k4", 0, 0, 0, {"x": "x/y=ü", "t": 1_704_164_645}),
    ("k5", 0, 0, 0, None),
    ("k6", 0, 0, 0, {"x": "-5", "t": 0}),
]
JAVA_SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("n", pa.int64()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")),
        ("s", pa.struct([("x", pa.string()), ("t", pa.int64())])),
    ]
)


def said(setting: str) -> tuple[str, str]:
    key, _, text = setting.partition("=")
    key = PREFIXES.get(key, key).replace("W.", "hoodie.datasource.write.")
    return key.replace("T.", "hoodie.keygen.timebased."), text


def answer(ask: Callable[[pa.RecordBatch], pa.Array], rows: pa.RecordBatch) -> str:
    try:
        return str(ask(rows)[0])
    except HoodooError:
        return "!"


def test_keys_and_paths_that_hudi_made() -> None:
    assert len(LINES) == 72
    wrong = []
    for line in LINES:
        generator, config, row, key, path = line.split("\t")
        given = settings("", "", None, **dict(map(said, config.split("|"))))
        wanted = NAMES.get(generator, generator.upper())
        made = resolve("key_generator", wanted, given).instance
        columns = [
            pa.array([value], pa.int32() if f.type == pa.date32() else None).cast(f.type)
            for value, f in zip(JAVA_ROWS[int(row)], JAVA_SCHEMA, strict=True)
        ]
        rows = pa.RecordBatch.from_arrays(columns, schema=JAVA_SCHEMA)
        found = answer(made.record_keys, rows), answer(made.partition_paths, rows)
        if found != (key, path):
            wrong.append((generator, found, key))
    # Hudi has no complex key of a field of a struct that is null; here the field is null, as in paths.
    assert wrong == [
        ("Complex", ("id:k5,s.x:__null__", "__HIVE_DEFAULT_PARTITION__/1970-01-01"), "!"),
        ("GlobalDelete", ("id:k5,s.x:__null__", ""), "!"),
    ]


def test_custom_paths() -> None:
    plain = CustomKeyGenerator.from_settings(settings("id", "city:simple,ts:timestamp", **TIMES))
    assert plain.partition_paths(ROWS).to_pylist() == [
        "a/1970/01/01", "b/1970/01/02", "__HIVE_DEFAULT_PARTITION__/1970/01/01",
        "ü/2024/01/02", "__HIVE_DEFAULT_PARTITION__/1969/12/31", "a:b/1970/01/01",
    ]  # fmt: skip
    styled = CustomKeyGenerator.from_settings(
        settings("id,city", "ts:TIMESTAMP,city:SIMPLE", **TIMES, **HIVE, **ENCODE)
    )
    assert styled.partition_paths(ROWS)[5].as_py() == "ts=1970%2F01%2F01/city=a%3Ab"
    assert styled.record_keys(ROWS)[2].as_py() == "id:k2,city:__null__"
    assert plain.record_keys(ROWS)[0].as_py() == "k0"


def test_custom_paths_tell_what_their_plain_levels_tell() -> None:
    made = CustomKeyGenerator.from_settings(
        settings("id", "city:SIMPLE,ts:TIMESTAMP,n:SIMPLE", **TIMES, **HIVE)
    )
    tell = made.partition_values
    assert tell("city=a/ts=2024/01/02/n=7", ROWS.schema) == {"city": "a", "n": 7}
    # One slash more than the format has: it isn't certain whose it is.
    assert tell("city=a/b/ts=2024/01/02/n=7", ROWS.schema) is None


def test_types_of_version_6_are_an_option_or_hoodoos_own_property() -> None:
    told = "city:SIMPLE,ts:TIMESTAMP"
    for given in (
        settings("id", "city,ts", {FIELDS: told}, **TIMES),
        settings("id", "city,ts", None, **TIMES, **{"hoodoo.partition.types": told}),
    ):
        paths = CustomKeyGenerator.from_settings(given).partition_paths(ROWS)
        assert paths[1].as_py() == "b/1970/01/02"
    for wrong in ({}, {FIELDS: "city:SIMPLE"}, {FIELDS: "ts:TIMESTAMP,city:SIMPLE"}):
        untold = CustomKeyGenerator.from_settings(settings("id", "city,ts", wrong, **TIMES))
        with pytest.raises(ConfigError, match="have no types"):
            untold.partition_paths(ROWS)
    with pytest.raises(ConfigError, match="RANGE is not one of SIMPLE, TIMESTAMP"):
        CustomKeyGenerator.from_settings(settings("id", "city:RANGE"))
    slashes = {"hoodie.datasource.write.slash.separated.date.partitioning": "true"}
    with pytest.raises(ConfigError, match=r"slash\.separated"):
        CustomKeyGenerator.from_settings(settings("id", "city:SIMPLE", **slashes))


def test_who_can_be_virtual() -> None:
    """What Hudi accepts."""
    able = [
        SimpleKeyGenerator.from_settings(settings("id", "city")),
        ComplexKeyGenerator.from_settings(settings("id,n", "city")),
        NonPartitionedKeyGenerator.from_settings(settings("id")),
    ]
    unable = [
        TimestampKeyGenerator.from_settings(settings("id", "ts", **TIMES)),
        CustomKeyGenerator.from_settings(settings("id", "city:SIMPLE")),
        GlobalDeleteKeyGenerator.from_settings(settings("id")),
        SimpleKeyGenerator.from_settings(settings("", "city")),
        NonPartitionedKeyGenerator.from_settings(settings("")),
    ]
    assert all(map(can_be_virtual, able)) and not any(map(can_be_virtual, unable))
    by_hoodoo = {"hoodoo.recordkey.virtual.by.hoodoo": "true"}
    assert can_be_virtual(
        TimestampKeyGenerator.from_settings(settings("id", "ts", **TIMES, **by_hoodoo))
    )
    assert can_be_virtual(
        CustomKeyGenerator.from_settings(settings("id", "city:SIMPLE", **by_hoodoo))
    )


def test_global_delete() -> None:
    made = GlobalDeleteKeyGenerator.from_settings(settings("id", "city"))
    assert deletes_only(made)
    assert made.record_keys(ROWS)[0].as_py() == "id:k0"  # of one column, too
    assert made.partition_paths(ROWS).to_pylist() == [""] * 6


# --- generated keys -----------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("generator", "partitions"),
    [
        (SimpleKeyGenerator, "city"),
        (ComplexKeyGenerator, "city,n"),
        (NonPartitionedKeyGenerator, ""),
        (TimestampKeyGenerator, "ts"),
        (CustomKeyGenerator, "city:SIMPLE,ts:TIMESTAMP"),
    ],
)
def test_without_key_columns_keys_are_generated(generator: type, partitions: str) -> None:
    with_keys = generator.from_settings(settings("id", partitions, **TIMES))  # type: ignore[attr-defined]
    made = generator.from_settings(settings("", partitions, **TIMES))  # type: ignore[attr-defined]
    assert isinstance(made, GeneratesKeys)
    assert made.generated_keys(3, "20240102030405678", 7, 10).to_pylist() == [
        "20240102030405678_7_10", "20240102030405678_7_11", "20240102030405678_7_12",
    ]  # fmt: skip
    assert made.partition_paths(ROWS) == with_keys.partition_paths(ROWS)
    assert table_properties(made) == table_properties(with_keys)
    with pytest.raises(ConfigError, match="when rows are written"):
        made.record_keys(ROWS)


def stored(key: str | None, **columns: str) -> pa.RecordBatch:
    values = {RECORD_KEY: pa.array([key], pa.string())}
    return pa.RecordBatch.from_pydict({**values, **{n: [v] for n, v in columns.items()}})


def test_a_table_that_forgot_its_key_columns_gets_no_generated_keys() -> None:
    made = SimpleKeyGenerator.from_settings(settings("", "city"))
    assert isinstance(made, Settles)
    for row in (None, stored("20240102030405678_0_5"), stored(None)):
        assert made.settled(lambda row=row: row) is made
    for key in ("7", "id:7,n:8", "20240102_0", "x20240102030405678_0_5"):
        with pytest.raises(ConfigError, match="was made of columns"):
            made.settled(lambda key=key: stored(key))


# --- the two forms of a COMPLEX key of one column --------------------------------------------------
def single(version: str, options: dict[str, str] | None = None, **table: str) -> Settles:
    table = {"hoodie.table.version": version, **table}
    made = ComplexKeyGenerator.from_settings(settings("id", "city,n", options, **table))
    assert isinstance(made, Settles)
    return made


def never() -> pa.RecordBatch:
    raise AssertionError("the properties tell")


@pytest.mark.parametrize(
    ("version", "table", "key"),
    [
        ("9", {}, "id:k0"),
        ("9", {STORED: "VALUE_ONLY"}, "k0"),
        ("9", {STORED: "field_prefixed"}, "id:k0"),
        ("6", {NEW: "false"}, "id:k0"),
        ("6", {NEW: "true"}, "k0"),
        ("8", {NEW: "true", STORED: "FIELD_PREFIXED"}, "id:k0"),
    ],
)
def test_properties_that_tell_the_form(version: str, table: dict[str, str], key: str) -> None:
    assert single(version, **table).settled(never).record_keys(ROWS)[0].as_py() == key


@pytest.mark.parametrize(
    ("key", "value", "found"),
    [
        ("id:7", "7", "id:k0"),
        ("7", "7", "k0"),
        # The value looks like the other form.
        ("id:7", "id:7", "k0"),
        ("id:id:7", "id:7", "id:k0"),
    ],
)
def test_the_form_is_read_off_a_stored_key(key: str, value: str, found: str) -> None:
    made = single("6").settled(lambda: stored(key, id=value))
    assert made.record_keys(ROWS)[0].as_py() == found


def test_what_the_writer_says_must_fit_the_stored_key() -> None:
    assert single("6", {NEW: "true"}).settled(lambda: stored("7", id="7"))
    with pytest.raises(OptionConflictError, match="has the key '7'"):
        single("6", {NEW: "false"}).settled(lambda: stored("7", id="7"))
    with pytest.raises(ConfigError, match="'x:7' is neither 'id:7' nor '7'"):
        single("6").settled(lambda: stored("x:7", id="7"))


def test_where_nothing_is_stored_the_writer_chooses() -> None:
    for none in (lambda: None, lambda: stored(None, id="7")):
        with pytest.raises(ConfigError, match=rf"{NEW}: false for id:value, true for the bare"):
            single("6").settled(none)
        assert single("6", {NEW: "true"}).settled(none).record_keys(ROWS)[0].as_py() == "k0"
        assert single("6", {NEW: "false"}).settled(none).record_keys(ROWS)[0].as_py() == "id:k0"
    undecided = single("6")
    assert isinstance(undecided, ComplexKeyGenerator)
    with pytest.raises(ConfigError, match="keys of both forms"):
        undecided.record_keys(ROWS)
    # Keys that are not stored have to be equal to each other only, to be read by.
    virtual = single("6", **{"hoodie.populate.meta.fields": "false"})
    assert isinstance(virtual, ComplexKeyGenerator)
    assert virtual.record_keys(ROWS)[0].as_py() == "id:k0"


def test_what_a_new_table_notes_of_the_form() -> None:
    def noted(version: str, **table: str) -> dict[str, str]:
        made = single(version, **table)
        assert isinstance(made, ComplexKeyGenerator)
        return dict(table_properties(made))

    assert noted("9") == {}
    assert noted("6") == {NEW: "false"}
    assert noted("6", **{NEW: "true"}) == {NEW: "true"}
    several = ComplexKeyGenerator.from_settings(
        settings("id,n", "city", **{"hoodie.table.version": "6"})
    )
    assert table_properties(several) == {}


def test_unknown_words_for_the_form() -> None:
    with pytest.raises(ConfigError, match="not one of FIELD_PREFIXED, VALUE_ONLY"):
        single("6", **{STORED: "other"})
    with pytest.raises(ConfigError, match="version 9"):
        single("9", {NEW: "true"})
