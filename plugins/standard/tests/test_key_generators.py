"""The three key generators: contract, key forms, errors, settings."""

from __future__ import annotations

from datetime import date, datetime, timezone
from decimal import Decimal

import pyarrow as pa
import pytest
from hoodoo.errors import ConfigError, MissingColumnError, NullKeyError
from hoodoo.hookspecs.key_generator import KeyGenerator
from hoodoo.hookspecs.registration import Settings
from hoodoo.model.config import TableConfig
from hoodoo.testing.contracts.key_generator import KeyGeneratorContract
from hoodoo_standard.keygen.complex import ComplexKeyGenerator
from hoodoo_standard.keygen.global_delete import GlobalDeleteKeyGenerator
from hoodoo_standard.keygen.nonpartitioned import NonPartitionedKeyGenerator
from hoodoo_standard.keygen.partition_path import PartitionPaths
from hoodoo_standard.keygen.simple import SimpleKeyGenerator
from hoodoo_standard.keygen.timestamp import TimestampKeyGenerator


def settings(keys: str = "id", partitions: str = "", **more: str) -> Settings:
    known = {"hoodie.table.recordkey.fields": keys, "hoodie.table.partition.fields": partitions}
    return Settings(TableConfig({**known, **{k.replace("__", "."): v for k, v in more.items()}}))


class TestSimple(KeyGeneratorContract):
    @pytest.fixture
    def key_generator(self) -> KeyGenerator:
        return SimpleKeyGenerator.from_settings(settings("id", "part"))


class TestSimpleHiveStyleEncoded(KeyGeneratorContract):
    @pytest.fixture
    def key_generator(self) -> KeyGenerator:
        return SimpleKeyGenerator("id", PartitionPaths(("part",), True, True))


class TestSimpleNested(KeyGeneratorContract):
    @pytest.fixture
    def key_generator(self) -> KeyGenerator:
        return SimpleKeyGenerator("a.id", PartitionPaths(("b.day",), True))

    @pytest.fixture
    def rows(self) -> pa.RecordBatch:
        nested = [{"a": {"id": i}, "b": {"day": i % 2}} for i in range(6)]
        return pa.RecordBatch.from_pylist(nested)


class TestComplex(KeyGeneratorContract):
    @pytest.fixture
    def key_generator(self) -> KeyGenerator:
        return ComplexKeyGenerator.from_settings(settings("a,b", "p,q"))


class TestComplexTyped(KeyGeneratorContract):
    @pytest.fixture
    def key_generator(self) -> KeyGenerator:
        return ComplexKeyGenerator(("i", "t"), PartitionPaths(("d", "n"), True, True))

    @pytest.fixture
    def rows(self) -> pa.RecordBatch:
        return pa.RecordBatch.from_pydict(
            {
                "i": pa.array(range(6), pa.int32()),
                "t": pa.array(range(6), pa.timestamp("us", "UTC")),
                "d": pa.array([1, 2, 3] * 2, pa.date32()),
                "n": pa.array([5, 6] * 3, pa.int64()),
            }
        )


class TestComplexSingle(KeyGeneratorContract):
    @pytest.fixture
    def key_generator(self) -> KeyGenerator:
        return ComplexKeyGenerator.from_settings(settings("id", "p,q", hoodie__table__version="9"))


class TestNonPartitioned(KeyGeneratorContract):
    @pytest.fixture
    def key_generator(self) -> KeyGenerator:
        return NonPartitionedKeyGenerator.from_settings(settings("id"))


class TestNonPartitionedSeveral(KeyGeneratorContract):
    @pytest.fixture
    def key_generator(self) -> KeyGenerator:
        return NonPartitionedKeyGenerator.from_settings(settings("a,b,c"))


BATCH = pa.RecordBatch.from_pydict(
    {
        "s": ["a", "b:c,d", "", None],
        "n": pa.array([10, 20, 30, None], pa.int32()),
        "p": ["x", "y", "x", "y"],
    }
)


# Written by Spark Hudi 1.2.0.
def test_keys_that_hudi_wrote() -> None:
    several = NonPartitionedKeyGenerator(("n", "s")).record_keys(BATCH.slice(0, 3))
    assert several.to_pylist() == ["n:10,s:a", "n:20,s:b:c,d", "n:30,s:__empty__"]
    one = ComplexKeyGenerator(("s",), PartitionPaths(("p", "s")))
    assert one.record_keys(BATCH.slice(0, 2)).to_pylist() == ["s:a", "s:b:c,d"]
    holes = pa.RecordBatch.from_pydict({"a": ["x", None], "b": [None, "y"]})
    both = NonPartitionedKeyGenerator(("a", "b")).record_keys(holes)
    assert both.to_pylist() == ["a:x,b:__null__", "a:__null__,b:y"]


def test_keys_of_numbers_alone_are_those_beside_texts() -> None:
    kinds = {
        "i": pa.array([1, None, 3], pa.int32()),
        "f": pa.array([0.5, None, float("nan")]),
        "d": pa.array([Decimal("1.20"), None, Decimal("0.00")], pa.decimal128(5, 2)),
        "b": pa.array([True, None, False]),
        "day": pa.array([date(2024, 1, 2), None, date(1970, 1, 1)]),
        "at": pa.array(
            [
                datetime(2024, 1, 2, tzinfo=timezone.utc),
                None,
                datetime(1970, 1, 1, tzinfo=timezone.utc),
            ]
        ),
    }
    rows = pa.RecordBatch.from_pydict({**kinds, "text": ["", "x", None]})
    numbers = NonPartitionedKeyGenerator(tuple(kinds))
    both = NonPartitionedKeyGenerator((*kinds, "text"))
    full = rows.take(pa.array([0, 2]))
    assert [
        f"{key},text:{text}"
        for key, text in zip(
            numbers.record_keys(full).to_pylist(), ("__empty__", "__null__"), strict=True
        )
    ] == both.record_keys(full).to_pylist()
    assert both.record_keys(rows)[1].as_py() == (
        "i:__null__,f:__null__,d:__null__,b:__null__,day:__null__,at:__null__,text:x"
    )
    with pytest.raises(NullKeyError, match=r"1 of 3 rows.*row 1"):
        numbers.record_keys(rows)
    for name in kinds:
        with pytest.raises(NullKeyError, match=r"1 of 3 rows.*row 1"):
            NonPartitionedKeyGenerator((name,)).record_keys(rows)


def test_bare_single_key_of_older_tables() -> None:
    option = {"hoodie__write__complex__keygen__new__encoding": "true"}
    old = settings("s", "p", hoodie__table__version="6", **option)
    keys = ComplexKeyGenerator.from_settings(old).record_keys(BATCH.slice(0, 2))
    assert keys.to_pylist() == ["a", "b:c,d"]
    with pytest.raises(ConfigError, match="version 9"):
        ComplexKeyGenerator.from_settings(settings("s", "p", hoodie__table__version="9", **option))


def test_null_keys_are_counted_and_located() -> None:
    with pytest.raises(NullKeyError) as caught:
        SimpleKeyGenerator("s", PartitionPaths(("p",))).record_keys(BATCH)
    assert "'s'" in str(caught.value)
    assert "2 of 4 rows" in str(caught.value) and "row 2" in str(caught.value)
    with pytest.raises(NullKeyError, match=r"1 of 4 rows.*row 3"):
        NonPartitionedKeyGenerator(("s", "n")).record_keys(BATCH)


def test_missing_columns_list_what_is_there() -> None:
    with pytest.raises(MissingColumnError, match=r"s, n, p"):
        SimpleKeyGenerator("id", PartitionPaths(("p",))).record_keys(BATCH)
    nested = pa.RecordBatch.from_pylist([{"a": {"x": 1, "y": 2}}])
    with pytest.raises(MissingColumnError, match=r"a\.x, a\.y"):
        NonPartitionedKeyGenerator(("a.id",)).record_keys(nested)


def test_null_struct_has_null_fields() -> None:
    nested = pa.RecordBatch.from_pylist([{"a": {"x": 1}, "k": 1}, {"a": None, "k": 2}])
    paths = SimpleKeyGenerator("k", PartitionPaths(("a.x",), True)).partition_paths(nested)
    assert paths.to_pylist() == ["a.x=1", "a.x=__HIVE_DEFAULT_PARTITION__"]


@pytest.mark.parametrize(
    ("generator", "keys", "partitions"),
    [
        (SimpleKeyGenerator, "a,b", "p"),
        (SimpleKeyGenerator, "a", ""),
        (SimpleKeyGenerator, "a", "p,q"),
        (NonPartitionedKeyGenerator, "a", "p"),
        (TimestampKeyGenerator, "a", ""),
        (TimestampKeyGenerator, "a,b", "p"),
        (GlobalDeleteKeyGenerator, "", "p"),
    ],
)
def test_settings_that_do_not_fit(generator: type, keys: str, partitions: str) -> None:
    with pytest.raises(ConfigError, match="key generator"):
        generator.from_settings(settings(keys, partitions))  # type: ignore[attr-defined]
