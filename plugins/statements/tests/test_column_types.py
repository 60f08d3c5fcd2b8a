"""Text of types: one parser, wherever it is given, and nothing of a text is left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import ConfigError, HoodooError, SchemaError
from hoodoo_statements.column_types import columns_of, type_of
from hoodoo_statements.types import arrow_type


def test_columns_as_people_write_them() -> None:
    found = columns_of(
        "id BIGINT NOT NULL, `a b` string, d decimal(9,2), n numeric, l array<struct<x: int, y: map<string, double>>>, "
        "v varchar(20), t timestamp, at timestamp_ntz, day date, ok boolean, b binary, f float"
    )
    assert found == pa.schema(
        [
            pa.field("id", pa.int64(), False), ("a b", pa.string()), ("d", pa.decimal128(9, 2)), ("n", pa.decimal128(10, 0)),
            ("l", pa.list_(pa.struct([("x", pa.int32()), ("y", pa.map_(pa.string(), pa.float64()))]))),
            ("v", pa.string()), ("t", pa.timestamp("us", "UTC")), ("at", pa.timestamp("us")), ("day", pa.date32()),
            ("ok", pa.bool_()), ("b", pa.binary()), ("f", pa.float32()),
        ]
    )  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "",
        "id",
        "id bigintt",
        "id int,",
        "a array<int",
        "a int b int",
        "a map<int>",
        "a;b",
        "a int not",
        "a decimal(39, 2)",
        "a decimal(0)",
        "a decimal(2, 3)",
        "a decimal(x)",
        "a decimal(3, 2, 1)",
        "a varchar(x)",
    ],
)
def test_columns_that_are_none(text: str) -> None:
    with pytest.raises(ConfigError, match="schema"):
        columns_of(text)


TYPES = {
    "double": pa.float64(), " BIGINT ": pa.int64(), "decimal(20, 2)": pa.decimal128(20, 2), "decimal": pa.decimal128(10, 0),
    "varchar(20)": pa.string(), "smallint": pa.int32(), "int64": pa.int64(), "float64": pa.float64(),
    "array<struct<x: int, y map<string, double>>>":
        pa.list_(pa.struct([("x", pa.int32()), ("y", pa.map_(pa.string(), pa.float64()))])),
}  # fmt: skip
REFUSED = {
    "double default 0": (SchemaError, "has a default"),
    "double DEFAULT 'x'": (SchemaError, "has a default"),
    "double not null": (SchemaError, "NOT NULL"),
    "struct<a: int not null>": (SchemaError, "NOT NULL"),
    "bigint comment 'so'": (SchemaError, "comment"),
    "int garbage": (ConfigError, "'garbage' is not expected after int"),
    "int, y int": (ConfigError, "is not expected"),
    "int) y": (ConfigError, "is not expected"),
    "int; drop table t": (ConfigError, "is not expected"),
    "int primary key": (ConfigError, "is not expected"),
    "int unsigned": (ConfigError, "is not expected"),
    "timestamp(3)": (ConfigError, "is not expected"),
    "bigintt": (ConfigError, "perhaps bigint is meant"),
    "uuid": (ConfigError, "type uuid is not known"),
    "array<int": (ConfigError, "'>' is missing"),
    "decimal(50, 2)": (ConfigError, "1 to 38 digits"),
    "": (ConfigError, "a type is missing"),
}


@pytest.mark.parametrize("text", TYPES)
def test_the_type_that_a_text_spells(text: str) -> None:
    assert arrow_type(text, "x") == type_of(text, "x") == TYPES[text]


@pytest.fixture(scope="module")
def table(tmp_path_factory: Any) -> hoodoo.Table:
    path: Path = tmp_path_factory.mktemp("types") / "t"
    return hoodoo.create(path, "id bigint, n int, p decimal(10, 2)", record_key="id")


@pytest.mark.parametrize("text", REFUSED)
def test_text_after_a_type_is_not_thrown_away(table: hoodoo.Table, text: str) -> None:
    kind, words = REFUSED[text]
    for arguments in ({"add": {"x": text}}, {"widen": {"n": text}}):
        with pytest.raises(kind, match=words) as caught:
            table.alter(**arguments)
        assert caught.value.fix
    with pytest.raises(HoodooError):
        hoodoo.sql(f"ALTER TABLE t ADD COLUMN x {text}", {"t": table})
    if "not null" not in text:
        with pytest.raises(ConfigError):
            columns_of(f"x {text} y")
    assert table.schema.names == ["id", "n", "p"]
    assert not table.timeline().writes()


def test_columns_as_text_make_a_table(table: hoodoo.Table, tmp_path: Path) -> None:
    assert table.schema == pa.schema(
        [("id", pa.int64()), ("n", pa.int32()), ("p", pa.decimal128(10, 2))]
    )
    with pytest.raises(ConfigError, match="can't be read: 'b' is not expected"):
        hoodoo.create(tmp_path / "u", "id bigint b", record_key="id")
    assert not (tmp_path / "u").exists()
