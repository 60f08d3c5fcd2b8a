"""Bloom filters against a scalar reference, and byte for byte against those of Spark Hudi."""

from __future__ import annotations

import base64
import math
import os
import struct
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hoodoo.errors import CorruptTableError
from hoodoo.hookspecs import Settings
from hoodoo_formats import bloom, murmur
from hoodoo_formats.bloom import DYNAMIC, SIMPLE, BloomOptions
from hoodoo_formats.record_keys import KeyStats, min_max
from hypothesis import given, settings
from hypothesis import strategies as st
from key_filters import KeyFilter

pytestmark = pytest.mark.sampled(3)

ROOT = Path(__file__).resolve().parents[3]
GOLDEN = Path(os.environ.get("HOODOO_GOLDEN", ROOT / "tests/golden/data"))
ZIPS = sorted((GOLDEN / "tables").glob("*.zip"))

# --- the reference, a key and a byte at a time ------------------------------
U32 = 0xFFFFFFFF


def signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


def murmur2(data: bytes, seed: int) -> int:
    m = 0x5BD1E995
    h = (seed ^ len(data)) & U32
    for i in range(0, len(data) // 4 * 4, 4):
        k = int.from_bytes(data[i : i + 4], "little") * m & U32
        k = (k ^ k >> 24) * m & U32
        h = (h * m & U32) ^ k
    left = len(data) % 4
    for back in range(1, left + 1):
        h ^= signed(data[-back], 8) << 8 * (back - 1) & U32
    if left:
        h = h * m & U32
    h ^= h >> 13
    h = h * m & U32
    return h ^ h >> 15


def positions(key: str, hashes: int, size: int) -> list[int]:
    value, found = 0, []
    for _ in range(hashes):
        value = murmur2(key.encode(), value)
        found.append(abs(int(math.fmod(signed(value, 32), size))))
    return found


class Row:
    def __init__(self, hashes: int, size: int) -> None:
        self.hashes, self.size, self.bits = hashes, size, bytearray((size + 7) // 8)

    def add(self, key: str) -> None:
        for i in positions(key, self.hashes, self.size):
            self.bits[i >> 3] |= 1 << (i & 7)

    def head(self) -> bytes:
        return struct.pack(">iiBi", -1, self.hashes, 1, self.size)


def reference(keys: list[str], entries: int, fpp: float, limit: int) -> bytes:
    """Hudi's InternalDynamicBloomFilter, its bookkeeping included."""
    size = math.ceil(entries * (-math.log(fpp) / math.log(2) ** 2))
    rows = [Row(math.ceil(math.log(2) * size / entries), size)]
    count = turn = 0
    full = False
    for key in keys:
        if full:
            row = rows[turn % len(rows)]
            turn += 1
        elif count >= entries and len(rows) * entries < limit:
            rows.append(row := Row(rows[0].hashes, size))
            count = 0
        elif count >= entries:
            full, row = True, rows[0]
        else:
            row = rows[-1]
        row.add(key)
        count += 1
    out = rows[0].head() + struct.pack(">iii", entries, count, len(rows))
    return base64.b64encode(out + b"".join(row.head() + bytes(row.bits) for row in rows))


# Text that UTF-8 spells with bytes above 0x7F, so that tails meet sign extension.
TEXT = st.text(
    st.one_of(
        st.characters(min_codepoint=32, max_codepoint=126), st.sampled_from("éß€語\U0001f600")
    ),
    max_size=40,
)


@settings(max_examples=200, deadline=None)
@given(st.lists(TEXT, max_size=30), st.integers(0, 3))
def test_equals_the_scalar_reference(keys: list[str], cut: int) -> None:
    array = pa.array(keys, pa.string())
    options = BloomOptions(entries=10, fpp=0.001, max_entries=20)
    assert bloom.build(array, options) == reference(keys, 10, 0.001, 20)
    # A slice starts in the middle of its buffers.
    sliced = array.slice(min(cut, len(keys)))
    assert bloom.build(sliced, options) == reference(keys[cut:], 10, 0.001, 20)


@pytest.mark.parametrize("count", [0, 1, 9, 10, 11, 20, 21, 22, 25, 47])
def test_rows_of_the_dynamic_filter(count: int) -> None:
    keys = [f"key-{i}" for i in range(count)]
    chunks = pa.chunked_array([keys[:7], keys[7:]], pa.string())
    built = bloom.build(chunks, BloomOptions(entries=10, fpp=0.01, max_entries=20))
    assert built == reference(keys, 10, 0.01, 20)
    assert bloom.parse(built).might_contain(chunks).false_count == 0


def test_bits_that_share_a_byte() -> None:
    """Many keys of one block in few bytes, and blocks of several lengths one after the other."""
    keys = [f"key-{i}" for i in range(1500)]
    chunks = pa.chunked_array([keys[:3], keys[3:1400], keys[1400:]], pa.string())
    built = bloom.build(chunks, BloomOptions(entries=1500, fpp=0.2))
    assert built == reference(keys, 1500, 0.2, 1500)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view(), pa.binary()])
def test_all_kinds_of_strings(kind: pa.DataType) -> None:
    keys = ["a", "bb", "é", "long enough for several words", ""]
    array = pa.array([k.encode() for k in keys] if kind == pa.binary() else keys, kind)
    built = bloom.build(array)
    assert built == bloom.build(pa.array(keys))
    assert bloom.parse(built).might_contain(array).to_pylist() == [True] * 5


def test_dictionaries_and_nulls() -> None:
    array = pa.array(["a", None, "b", "a"])
    built = bloom.build(array.dictionary_encode())
    assert built == bloom.build(pa.array(["a", "b", "a"]))
    assert bloom.parse(built).might_contain(array).to_pylist() == [True, False, True, True]


def test_blocks_meet_and_lengths_mix() -> None:
    count = murmur.BLOCK * 2 + 5
    keys = [f"{i:x}" * (1 + i % 7) for i in range(count)]
    found = bloom.parse(bloom.build(pa.array(keys)))
    assert found.might_contain(pa.array(keys)).false_count == 0
    for i in (0, 1, 16383, 16384, count - 1):
        for place in positions(keys[i], found.hashes, found.size):
            assert found.rows[0][place >> 3] >> (place & 7) & 1
    other = found.might_contain(pa.array([f"other-{i}" for i in range(count)]))
    assert other.true_count == 0
    assert len(other) == count


def test_rate_of_false_positives() -> None:
    keys = pa.array([f"in-{i}" for i in range(20_000)])
    found = bloom.parse(bloom.build(keys, BloomOptions(fpp=0.01)))
    rate = found.might_contain(pa.array([f"out-{i}" for i in range(20_000)])).true_count / 20_000
    assert 0.007 < rate < 0.014


def test_size_follows_the_rows_unless_told() -> None:
    assert bloom.parse(bloom.build(pa.array(["a"]))).size == 43133
    assert bloom.parse(bloom.build(pa.array(["a"]), BloomOptions(entries=60000))).size == 2587966
    many = pa.array(np.arange(5000)).cast(pa.string())
    assert bloom.parse(bloom.build(many)).size == math.ceil(5000 * 43.13275730)
    assert bloom.parse(bloom.build(many, BloomOptions(max_entries=2000))).size == 86266


def test_simple_filter_has_no_rows() -> None:
    keys = pa.array(["a", "b"])
    built = bloom.build(keys, BloomOptions(SIMPLE, entries=100, fpp=0.001))
    dynamic = base64.b64decode(bloom.build(keys, BloomOptions(DYNAMIC, entries=100, fpp=0.001)))
    assert base64.b64decode(built) == dynamic[25:]
    assert bloom.parse(built, SIMPLE).might_contain(keys).false_count == 0


def test_options_under_hudis_names() -> None:
    found = BloomOptions.from_settings(
        Settings(
            options={
                "hoodie.bloom.index.filter.type": "simple",
                "hoodie.index.bloom.fpp": "0.01",
                "hoodie.index.bloom.num_entries": "500",
                "hoodie.bloom.index.filter.dynamic.max.entries": "700",
            }
        )
    )
    assert found == BloomOptions(SIMPLE, 0.01, 500, 700)
    assert BloomOptions.from_settings(Settings()) == BloomOptions(DYNAMIC, 1e-9, None, None)


@pytest.mark.parametrize(
    "text",
    ["", "?", "AAAA", base64.b64encode(b"\0" * 60).decode(), bloom.build(pa.array(["a"]))[:-40]],
)
def test_what_is_no_filter_is_refused(text: str | bytes) -> None:
    with pytest.raises(CorruptTableError, match="file f"):
        bloom.parse(text, obj="file f")


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.text(st.sampled_from("aé\ue000\uff5e\U00010000\U0010ffff"), max_size=4), min_size=1)
)
def test_range_in_javas_order(keys: list[str]) -> None:
    ordered = sorted(keys, key=lambda key: key.encode("utf-16-be"))
    assert min_max(pa.array(keys)) == (ordered[0], ordered[-1])
    assert min_max(pa.array(["\U0010ffff", *keys, ""]).slice(1, len(keys))) == (
        ordered[0],
        ordered[-1],
    )


@given(
    st.lists(st.text("ab\uff5e\U0001f600", max_size=3)),
    st.lists(st.text("ab\uff5e\U0001f600", max_size=3)),
)
def test_a_footer_never_denies_its_keys(keys: list[str], others: list[str]) -> None:
    stats = KeyStats(BloomOptions(entries=50, fpp=0.001))
    stats.add(pa.array(keys, pa.string()))
    footer = {k: v.decode() if isinstance(v, bytes) else v for k, v in stats.footer().items()}
    asked = pa.array([*keys, *others], pa.string())
    for metadata in (footer, {k: v for k, v in footer.items() if "bloom" not in k}):
        found = KeyFilter.from_footer(metadata).might_contain(asked).to_pylist()
        assert all(found[: len(keys)])
        assert len(found) == len(asked)


def _footer(stats: KeyStats) -> dict[str, str]:
    return {k: v.decode() if isinstance(v, bytes) else v for k, v in stats.footer().items()}


@pytest.mark.parametrize("kind", [bloom.SIMPLE, bloom.DYNAMIC])
def test_a_filter_that_is_carried_over_knows_old_and_new_keys(kind: str) -> None:
    options = BloomOptions(kind)
    old = pa.array([f"k{i:05}" for i in range(5000)])
    new = pa.array([f"n{i:05}" for i in range(500)])
    stats = KeyStats(options)
    stats.add(old)
    grown = KeyStats.carried(_footer(stats), options, 5500)
    assert grown is not None
    grown.add(old.slice(1), known=True)
    grown.add(new)
    asked = KeyFilter.from_footer(_footer(grown))
    assert asked.range == ("k00001", "n00499")  # of the rows that were written
    assert all(asked.might_contain(old.slice(1)).to_pylist())
    assert all(asked.might_contain(new).to_pylist())
    strange = pa.array([f"l{i:05}" for i in range(5000)])
    assert sum(asked.might_contain(strange).to_pylist()) <= 1


@pytest.mark.parametrize(
    ("options", "rows"),
    [
        (BloomOptions(), 9000),  # too many keys for the old bits
        (BloomOptions(fpp=1e-12), 5000),  # a smaller rate is asked for
        (BloomOptions(bloom.SIMPLE), 5000),
        (BloomOptions(entries=60_000), 5000),  # sized as Hudi does
    ],
    ids=["more-keys", "smaller-rate", "another-kind", "fixed-size"],
)
def test_a_filter_that_does_not_fit_is_made_anew(options: BloomOptions, rows: int) -> None:
    stats = KeyStats(BloomOptions())
    stats.add(pa.array([f"k{i:05}" for i in range(5000)]))
    assert KeyStats.carried(_footer(stats), options, rows) is None
    assert KeyStats.carried(_footer(stats), BloomOptions(), 5000) is not None


@pytest.mark.skipif(not ZIPS, reason="no golden tables: set HOODOO_GOLDEN")
def test_filters_of_spark_hudi_are_rebuilt_byte_for_byte(tmp_path: Path) -> None:
    compared = 0
    for path in ZIPS:
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if not name.endswith(".parquet") or "/.hoodie/" in name or "__MACOSX" in name:
                    continue
                file = pq.ParquetFile(pa.BufferReader(archive.read(name)))
                footer = file.metadata.metadata or {}
                if b"org.apache.hudi.bloomfilter" not in footer:
                    continue
                keys = file.read(columns=["_hoodie_record_key"]).column(0)
                stats = KeyStats(BloomOptions(entries=60_000))
                stats.add(keys.combine_chunks())
                ours = stats.footer()
                assert set(ours) == {k.decode() for k in footer if k.startswith(b"hoodie_")} | {
                    "org.apache.hudi.bloomfilter"
                }
                for key, value in ours.items():
                    found = value if isinstance(value, bytes) else value.encode()
                    assert found == footer[key.encode()], (name, key)
                compared += 1
    assert compared > 100


@pytest.mark.parametrize(
    "texts", [["a"], ["", "abc", "abcd", "abcdefgh\u00e9", "1234567"], ["7f3a"] * 4]
)
def test_all_rounds_at_once_are_those_one_by_one(texts: list[str]) -> None:
    (one,), (other,) = (list(murmur.rounds(pa.array(texts))) for _ in range(2))
    wanted = [one.next(43133).tolist() for _ in range(30)] + [one.next(97).tolist()]
    found = [*other.all(43133, 30).reshape(30, -1).tolist(), other.next(97).tolist()]
    assert found == wanted


@pytest.mark.parametrize("others", [0, 3, 100])
def test_a_few_long_keys_are_hashed_by_pythons_integers(others: int) -> None:
    """Each of their words was calls of NumPy: a key of 64 KB took a second in the bloom filter of its file."""
    keys = ["a" * 9_001, *(f"key-{n}" for n in range(others)), "\u00e9b" * 2_002, "c" * 1_030]
    rounds = list(murmur.rounds(pa.array(keys)))
    assert sum(len(one._words) for one in rounds) < murmur.LONG + 40
    filled = bloom.parse(bloom.build(pa.array(keys)))
    for one in rounds:
        found = one.all(filled.size, 3).reshape(3, -1)
        for at, row in enumerate(one.rows):
            assert found[:, at].tolist() == positions(keys[row], 3, filled.size)
    asked = [*keys, "a" * 9_002, "d" * 5_000, "no"]
    assert filled.might_contain(pa.array(asked)).to_pylist() == [True] * len(keys) + [False] * 3


# --- carried over ---------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["SIMPLE", "DYNAMIC_V0"])
def test_a_filter_without_new_keys_is_carried_as_it_is(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = BloomOptions(kind)
    text = bloom.build(pa.array([f"k{n}" for n in range(5000)]), options).decode()
    started = bloom.Growing.from_footer(text, kind, options, 5000)
    assert started is not None
    with monkeypatch.context() as patched:
        patched.setattr(bloom.base64, "b64decode", None)  # nobody decodes megabytes for nothing
        assert started.with_keys(pa.chunked_array([], pa.string())) == text.encode()
    grown = started.with_keys(pa.chunked_array([["new"]]))
    assert grown is not None
    asked = pa.array(["k7", "new"])
    assert bloom.parse(grown, kind).might_contain(asked).to_pylist() == [True, True]


@pytest.mark.parametrize("damage", ["cut", "longer", "letters", "head"])
def test_a_damaged_filter_is_not_built_upon(damage: str) -> None:
    options = BloomOptions()
    text = bloom.build(pa.array([f"k{n}" for n in range(5000)]), options).decode()
    damaged = {
        "cut": text[:-4], "longer": text + "AAAA", "head": "AAAA" + text[4:],
        "letters": text[:4000] + "!!" + text[4002:],
    }[damage]  # fmt: skip
    started = bloom.Growing.from_footer(damaged, options.kind, options, 5000)
    assert started is None or started.with_keys(pa.chunked_array([["new"]])) is None
