"""The compiled loops beside those of hoodoo-formats: the same bits, and the same answers, whatever the keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import hoodoo_native
import numpy as np
import pyarrow as pa
import pytest
from hoodoo_formats import bloom
from hoodoo_formats.bloom import BloomOptions

TYPES = [pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.string_view(),
         pa.dictionary(pa.int32(), pa.string())]  # fmt: skip
COUNTS = (0, 1, 2, 63, 64, 65, 129, 5_000)


def short(i: int) -> str:
    return str(i)


def every_length(i: int) -> str:
    return ("k" * (i % 23)) + str(i) if i % 7 else ""


def signed_bytes(i: int) -> str:
    return f"é{i}ÿ" + "日" * (i % 4)


def mixed(i: int) -> str | None:
    return None if i % 5 == 0 else f"id:{i},part:{'x' * (i % 3)}"


def long(i: int) -> str:
    return str(i) * (1 + i % 97)


def very_long(i: int) -> str:
    return "z" * (5_000 if i % 50 == 1 else 3) + str(i)


KEYS = (short, every_length, signed_bytes, mixed, long, very_long)


def without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bloom, "native", None)


def array(kind: Callable[[int], str | None], count: int, type_: pa.DataType) -> pa.Array:
    values: Sequence[str | None] = [kind(i) for i in range(count)]
    found = pa.array(values, pa.string())
    return found.dictionary_encode() if pa.types.is_dictionary(type_) else found.cast(type_)


def test_it_is_used() -> None:
    assert bloom.native is hoodoo_native


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("kind", KEYS, ids=lambda f: f.__name__)
def test_the_same_bits(
    kind: Callable[[int], str | None], count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = array(kind, count, pa.string())
    ours = [bloom.build(keys, BloomOptions(fpp=fpp)) for fpp in (1e-9, 0.01, 0.4)]
    without(monkeypatch)
    assert ours == [bloom.build(keys, BloomOptions(fpp=fpp)) for fpp in (1e-9, 0.01, 0.4)]


@pytest.mark.parametrize("type_", TYPES, ids=str)
@pytest.mark.parametrize("start", [0, 1, 9])
def test_slices_of_each_type(
    type_: pa.DataType, start: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = array(mixed, 700, type_).slice(start, 600)
    text = bloom.build(keys)
    asked = pa.chunked_array([array(mixed, 2_000, type_).slice(start), array(long, 300, type_)])
    answers = bloom.parse(text).might_contain(asked)
    without(monkeypatch)
    assert text == bloom.build(array(mixed, 700, pa.string()).slice(start, 600))
    assert answers.equals(bloom.parse(text).might_contain(asked))
    assert np.asarray(answers)[keys.is_valid().to_numpy(False).nonzero()[0]].all()


@pytest.mark.parametrize("kind", KEYS, ids=lambda f: f.__name__)
def test_many_rows_of_a_dynamic_filter(
    kind: Callable[[int], str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = array(kind, 3_000, pa.string())
    options = BloomOptions(fpp=0.05, entries=400, max_entries=1_000)
    text = bloom.build(keys, options)
    asked = array(kind, 9_000, pa.string())
    answers = bloom.parse(text).might_contain(asked)
    without(monkeypatch)
    assert text == bloom.build(keys, options)
    assert answers.equals(bloom.parse(text).might_contain(asked))


def test_a_filter_that_is_too_small_is_refused() -> None:
    keys = pa.array(["a"])
    bits = np.zeros(8, np.uint8)
    for size in (0, -1, 65, 1 << 31):
        with pytest.raises(ValueError, match="do not fit"):
            hoodoo_native.fill(keys, 3, size, bits)
        with pytest.raises(ValueError, match="do not fit"):
            hoodoo_native.might_contain(keys, 3, size, bits)
    for wrong in (np.zeros(4, np.uint16), np.zeros((2, 4), np.uint8), np.zeros(16, np.uint8)[::2]):
        with pytest.raises(ValueError, match="one row of bytes"):
            hoodoo_native.fill(keys, 3, 32, wrong)  # type: ignore[arg-type]
    assert not bits.any()


def test_a_filter_that_must_not_change_is_not_filled() -> None:
    bits = np.zeros(8, np.uint8)
    bits.flags.writeable = False
    with pytest.raises(ValueError, match="writeable"):
        hoodoo_native.fill(pa.array(["a"]), 3, 64, bits)


def test_offsets_that_lead_out_of_the_keys_are_refused() -> None:
    """Arrow itself looks at the first one and the last one only."""
    offsets = pa.py_buffer(np.array([0, 900, 3], np.int32))
    wrong = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"abc")])
    with pytest.raises(ValueError, match="offsets"):
        hoodoo_native.might_contain(wrong, 3, 64, np.zeros(8, np.uint8))
