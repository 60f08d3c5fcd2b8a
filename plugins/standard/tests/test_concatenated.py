"""CONCATENATED: RFC-21's columns and concatenator as keys."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest
from hoodoo.errors import ConfigError, DataError, NullKeyError
from hoodoo.hookspecs.key_generator import (
    GeneratesKeys,
    KeyGenerator,
    can_be_virtual,
    table_properties,
)
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.resolve import resolve
from hoodoo.model.config import TableConfig
from hoodoo.testing.contracts.key_generator import KeyGeneratorContract
from hoodoo_standard.creation.virtual import CONCATENATOR
from hoodoo_standard.keygen.concatenated import ConcatenatedKeyGenerator


def made(keys: str = "a,b", partitions: str = "", between: str | None = None) -> KeyGenerator:
    known = {"hoodie.table.recordkey.fields": keys, "hoodie.table.partition.fields": partitions}
    if between is not None:
        known[CONCATENATOR] = between
    return ConcatenatedKeyGenerator.from_settings(Settings(TableConfig(known)))


class TestOneColumn(KeyGeneratorContract):
    @pytest.fixture
    def key_generator(self) -> KeyGenerator:
        return made("id", "p,q")


class TestSeveralColumns(KeyGeneratorContract):
    @pytest.fixture
    def key_generator(self) -> KeyGenerator:
        return made("a,b.c,d", "p", "|")

    @pytest.fixture
    def rows(self) -> pa.RecordBatch:
        return pa.RecordBatch.from_pylist(
            [{"a": i, "b": {"c": f"x{i}"}, "d": i % 2 == 0, "p": f"p{i % 2}"} for i in range(6)]
        )


class TestUnpartitioned(KeyGeneratorContract):
    @pytest.fixture
    def key_generator(self) -> KeyGenerator:
        return made("a,b")


def batch(**columns: list[object]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(columns)


def test_keys() -> None:
    """The texts are those of Hudi's other key generators."""
    rows = batch(a=["x", "ü"], b=[-1, 2], c=[dt.date(2024, 2, 29), dt.date(1969, 12, 31)])
    assert made("a,b,c").record_keys(rows).to_pylist() == ["x_-1_2024-02-29", "ü_2_1969-12-31"]
    assert made("b,a", "", "::").record_keys(rows).to_pylist() == ["-1::x", "2::ü"]
    assert made("a").record_keys(rows).to_pylist() == ["x", "ü"]


def test_a_value_with_the_concatenator_in_it_is_refused() -> None:
    """a_b, c and a, b_c would have the same key. The last column has nothing after it."""
    with pytest.raises(DataError, match=r"'a'.*'_'.*same one"):
        made("a,b").record_keys(batch(a=["fine", "a_b"], b=["x", "c"]))
    assert made("a,b").record_keys(batch(a=["a"], b=["b_c"])).to_pylist() == ["a_b_c"]
    assert made("a").record_keys(batch(a=["a_b"])).to_pylist() == ["a_b"]
    with pytest.raises(DataError, match="'b'"):
        made("a,b,c").record_keys(batch(a=["x"], b=["y_"], c=["z"]))


def test_a_concatenator_that_overlaps_itself() -> None:
    """a_, b and a, _b with two underscores between."""
    generator = made("a,b", "", "__")
    with pytest.raises(DataError, match="'a'.*'__'"):
        generator.record_keys(batch(a=["x", "a_"], b=["y", "b"]))
    found = generator.record_keys(batch(a=["a", "_a"], b=["_b", "__"]))
    assert found.to_pylist() == ["a___b", "_a____"]


def test_no_part_may_be_null_or_empty() -> None:
    columns: list[list[object]] = [[None, "x"], ["", "x"]]
    for column in columns:
        with pytest.raises(NullKeyError, match="'b'"):
            made("a,b").record_keys(batch(a=["x", "y"], b=column))


def test_a_concatenator_that_begins_or_ends_with_spaces() -> None:
    for between in (" ", " -", "-\t"):
        with pytest.raises(ConfigError, match="spaces at its ends"):
            made("a,b", "", between)
    assert made("a,b", "", "- -").record_keys(batch(a=["x"], b=["y"]))[0].as_py() == "x- -y"


def test_paths() -> None:
    rows = batch(a=["x", "y"], p=["eu", None], q=[1, 2])
    assert made("a").partition_paths(rows).to_pylist() == ["", ""]
    found = made("a", "p,q").partition_paths(rows).to_pylist()
    assert found == ["eu/1", "__HIVE_DEFAULT_PARTITION__/2"]
    assert made("a").partition_values("", rows.schema) == {}
    assert made("a", "p,q").partition_values("eu/1", rows.schema) == {"p": "eu", "q": 1}


def test_what_it_is() -> None:
    generator = made("a,b", "p")
    assert can_be_virtual(generator)
    assert table_properties(generator) == {}
    assert generator.record_key_fields == ("a", "b") and generator.partition_fields == ("p",)
    without = made("")
    assert isinstance(without, GeneratesKeys) and not can_be_virtual(without)
    settings = Settings(TableConfig({"hoodie.table.recordkey.fields": "a,b", CONCATENATOR: "+"}))
    found, ref = resolve("key_generator", "concatenated", settings)
    assert ref.name == "CONCATENATED"
    assert found.record_keys(batch(a=["x"], b=["y"])).to_pylist() == ["x+y"]
