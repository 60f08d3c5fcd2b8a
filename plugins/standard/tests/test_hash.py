"""Java's string hash, the fields of a record key, buckets: against references row by row."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.index import ComputedIndex
from hoodoo.hookspecs.registration import Settings
from hoodoo.model.config import TableConfig
from hoodoo.testing.contracts.index import ComputedIndexContract
from hoodoo_rows.model.java_hash import string_hash
from hoodoo_standard.index.bucket import BucketIndex
from hoodoo_standard.index.key_fields import fields_hash
from hypothesis import given
from hypothesis import strategies as st


def java_hash(text: str) -> int:
    units = text.encode("utf-16-le")
    value = 0
    for i in range(0, len(units), 2):
        value = (31 * value + units[i] + 256 * units[i + 1]) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def list_hash(texts: list[str | None]) -> int:
    value = 1
    for text in texts:
        value = (31 * value + (java_hash(text) if text is not None else 0)) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def key_fields(key: str, wanted: list[str]) -> list[str | None]:
    """``KeyGenUtils.extractRecordKeysByFields``, statement by statement."""
    if "," not in key or ":" not in key:
        return [key]
    values: list[str | None] = []
    place = 0
    while place < len(key):
        colon = key.index(":", place)
        name = key[place:colon]
        following = key.find(":", colon + 1)
        comma = key.rfind(",", 0, following + 1) if following >= 0 else -1
        while comma < colon and following > 0:
            following = key.find(":", following + 1)
            comma = key.rfind(",", 0, following + 1) if following >= 0 else -1
        if comma > 0:
            value, place = key[colon + 1 : comma], comma + 1
        else:
            value, place = key[colon + 1 :], len(key)
        if not wanted or name in wanted:
            values.append({"__null__": None, "__empty__": ""}.get(value, value))
    return values or [key]


@pytest.mark.parametrize(
    ("text", "wanted"),
    # java.lang.String.hashCode as published or computed by a JVM.
    [("", 0), ("a", 97), ("hello", 99162322), ("Aa", 2112), ("BB", 2112),
     ("polygenelubricants", -(2**31))],
)  # fmt: skip
def test_known_hash_codes(text: str, wanted: int) -> None:
    assert string_hash(pa.array([text])).tolist() == [wanted]


@given(st.lists(st.none() | st.text(max_size=12), max_size=30), st.integers(0, 4))
def test_string_hash(texts: list[str | None], start: int) -> None:
    array = pa.array(texts, pa.string()).slice(start)
    assert string_hash(array).tolist() == [java_hash(t or "") for t in texts[start:]]


def test_string_hash_of_long_and_many() -> None:
    texts = ["x" * 10_000, *(f"key-{i}" for i in range(5000)), "é" * 300, "𝄞" * 300]
    assert string_hash(pa.array(texts)).tolist() == [java_hash(t) for t in texts]


_PIECES = st.sampled_from(["a", "b", "ab", ":", ",", "__null__", "__empty__", "é", "\n", ""])


@given(
    st.lists(st.lists(_PIECES, max_size=9).map("".join), max_size=30),
    st.lists(st.sampled_from(["a", "b", "ab", ""]), max_size=3, unique=True),
)
def test_fields_hash(keys: list[str], wanted: list[str]) -> None:
    array = pa.array(keys, pa.string())
    assert fields_hash(array, wanted).tolist() == [list_hash(key_fields(k, wanted)) for k in keys]


# Keys, hash fields, number of buckets, buckets: file names written by Spark Hudi 1.2.0.
WRITTEN = [
    (["10", "20", "30"], ("n",), 5, [3, 4, 0]),
    (["s:a,n:10", "s:b:c,d,n:20", "s:__empty__,n:30"], ("s", "n"), 5, [0, 0, 0]),
    (["s:a,n:10", "s:b:c,d,n:20", "s:__empty__,n:30"], ("n",), 5, [3, 4, 0]),
    (
        [
            "s:a,n:10,dte:2024-01-02",
            "s:b:c,d,n:20,dte:1969-12-31",
            "s:__empty__,n:30,dte:2023-01-01",
        ],
        ("dte", "s"),
        5,
        [0, 2, 1],
    ),
    (["é𝄞", "id:q", "b:c,d", "plain", "a,id:zz"], ("id",), 97, [78, 71, 23, 87, 3]),
    (
        ["id:plain", "id:id:q", "id:a,id:zz", "id:b:c,d", "id:é𝄞"],
        ("id",),
        97,
        [20, 74, 15, 23, 87],
    ),
    (["a", "b", "c", "d", "e"], ("id",), 4, [0, 1, 2, 3, 0]),
]


@pytest.mark.parametrize(("keys", "fields", "buckets", "wanted"), WRITTEN)
def test_buckets_that_hudi_chose(
    keys: list[str], fields: tuple[str, ...], buckets: int, wanted: list[int]
) -> None:
    assert BucketIndex(buckets, fields).bucket(pa.array(keys)).to_pylist() == wanted


def test_file_id_of_a_bucket() -> None:
    made = BucketIndex(256, ("id",)).file_id(3, "c506a8de-7e0d-4263-868d-42adcfb39ccb")
    assert made == "00000003-7e0d-4263-868d-42adcfb39ccb-0"


def settings(**options: str) -> Settings:
    table = TableConfig({"hoodie.table.recordkey.fields": "a,b"})
    return Settings(table, {k.replace("__", "."): v for k, v in options.items()})


class TestBucket(ComputedIndexContract):
    @pytest.fixture
    def index(self) -> ComputedIndex:
        return BucketIndex.from_settings(settings())


class TestOneBucket(ComputedIndexContract):
    @pytest.fixture
    def index(self) -> ComputedIndex:
        return BucketIndex(1, ("id",))


class TestBucketOfSomeFields(ComputedIndexContract):
    @pytest.fixture
    def index(self) -> ComputedIndex:
        return BucketIndex.from_settings(
            settings(
                hoodie__bucket__index__num__buckets="7", hoodie__bucket__index__hash__field="b"
            )
        )


def test_bucket_settings() -> None:
    index = BucketIndex.from_settings(settings())
    assert index == BucketIndex(256, ("a", "b"))
    assert not index.is_global and not index.moves_partitions
    for bad in ("0", "-1", "x", "100000000"):
        with pytest.raises(ConfigError, match=r"num\.buckets"):
            BucketIndex.from_settings(settings(hoodie__bucket__index__num__buckets=bad))
    with pytest.raises(ConfigError, match="c is not among"):
        BucketIndex.from_settings(settings(hoodie__bucket__index__hash__field="a,c"))


def test_long_strings_among_short_ones() -> None:
    """Long ones are hashed another way: a key of 64 KB took seconds."""
    texts = [("aé😀ﾊ" * 20_000)[: n + 3] for n in (0, 1, 2044, 2045, 2046, 2047, 9000, 65_536, 5)]
    for some in (texts, texts[-2:], texts[7:8]):
        assert string_hash(pa.array(some)).tolist() == [java_hash(text) for text in some]
        sliced = pa.array(["x", *some, None])[1:]
        assert string_hash(sliced).tolist() == [*map(java_hash, some), 0]
