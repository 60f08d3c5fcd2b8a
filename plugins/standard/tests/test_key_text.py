"""Values as Java writes them, against a reference that works value by value."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hoodoo.errors import SchemaError
from hoodoo_standard.keygen.key_text import key_text
from hypothesis import given
from hypothesis import strategies as st

UTC = dt.timezone.utc


def java_double(value: float, text: str) -> str:
    """``Double.toString`` from the shortest digits in ``text`` (JDK 19 and later), two at least."""
    if math.isnan(value):
        return "NaN"
    sign = "-" if math.copysign(1, value) < 0 else ""
    if math.isinf(value):
        return f"{sign}Infinity"
    if value == 0:
        return f"{sign}0.0"
    if len(Decimal(text).normalize().as_tuple().digits) == 1:
        text = f"{value:.1e}"
    _, digits, exponent = Decimal(text).as_tuple()
    shown = "".join(map(str, digits)).rstrip("0")
    point = len(digits) + int(exponent)  # digits before the decimal point
    if 1e-3 <= abs(value) < 1e7:
        if point <= 0:
            return f"{sign}0.{'0' * -point}{shown}"
        return f"{sign}{shown[:point].ljust(point, '0')}.{shown[point:] or '0'}"
    return f"{sign}{shown[0]}.{shown[1:] or '0'}E{point - 1}"


def java_timestamp(value: dt.datetime) -> str:
    """``java.sql.Timestamp.toString``, whose calendar is the Julian one before 15 October 1582."""
    year, month, day = value.year, value.month, value.day
    if value.date() < dt.date(1582, 10, 15):
        leaps, rest = divmod(value.toordinal() + 1, 1461)  # days since 1 January 1
        year = 4 * leaps + min(rest // 365, 3) + 1
        day = rest - 365 * min(rest // 365, 3) + 1
        lengths = [31, 29 if year % 4 == 0 else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        month = 1
        while day > lengths[month - 1]:
            day -= lengths[month - 1]
            month += 1
    text = value.strftime("%H:%M:%S.") + f"{value.microsecond // 1000:03d}"
    return f"{year:04d}-{month:02d}-{day:02d} " + (text[:-3] + (text[-3:].rstrip("0") or "0"))


def texts(values: list[Any], kind: pa.DataType, logical: bool = False) -> list[str | None]:
    answer = key_text(pa.array(values, kind), "c", logical)
    assert answer.type == pa.string()
    return answer.to_pylist()  # type: ignore[no-any-return]


# Written by Spark Hudi 1.2.0 (upsert).
HUDI = [
    (pa.string(), ["a", "é/b c=%:", " x"], ["a", "é/b c=%:", " x"]),
    (pa.int16(), [1, 2, 3], ["1", "2", "3"]),
    (pa.int32(), [1, -2, 0], ["1", "-2", "0"]),
    (pa.int64(), [1, -1099511627776, 7], ["1", "-1099511627776", "7"]),
    (pa.float32(), [1.5, 0.1, 1e10], ["1.5", "0.1", "1.0E10"]),
    (pa.float64(), [1.0, 0.1, 1e-5], ["1.0", "0.1", "1.0E-5"]),
    (pa.bool_(), [True, False], ["true", "false"]),
    (pa.date32(), [19724, -1, -719162], ["2024-01-02", "1969-12-31", "0001-01-01"]),
    (
        pa.decimal128(10, 2),
        [Decimal("1.50"), Decimal("-12345.60"), Decimal("0.00")],
        ["1.50", "-12345.60", "0.00"],
    ),
    (
        pa.timestamp("us", "UTC"),
        [1704164645678901, 1704153600000000, -500000],
        ["1704164645678901", "1704153600000000", "-500000"],
    ),
    (pa.binary(), [b"ab", b"\x00\xff", b"z"], ["6162", "00ff", "7a"]),
]


@pytest.mark.parametrize(("kind", "values", "wanted"), HUDI, ids=[str(k[0]) for k in HUDI])
def test_texts_that_hudi_wrote(kind: pa.DataType, values: list[Any], wanted: list[str]) -> None:
    assert texts(values, kind) == wanted
    assert texts([None, *values, None], kind) == [None, *wanted, None]
    assert texts([values[0], *values], kind)[1:] == wanted
    sliced = key_text(pa.array([None, values[0], *values], kind).slice(2), "c")
    assert sliced.to_pylist() == wanted


def test_logical_timestamps_that_hudi_wrote() -> None:
    values = [1704164645678901, 1704153600000000, -500000, None]
    assert texts(values, pa.timestamp("us", "UTC"), logical=True) == [
        "2024-01-02 03:04:05.678", "2024-01-02 00:00:00.0", "1969-12-31 23:59:59.5", None
    ]  # fmt: skip


def test_logical_timestamps_before_the_gregorian_calendar() -> None:
    """The first two: Spark Hudi 1.2.0. The third is a day that only the Julian calendar has."""
    values = [
        dt.datetime(1290, 11, 3, 20, 22, 50, 5, tzinfo=UTC),
        dt.datetime(474, 3, 8, 21, 27, 28, 999999, tzinfo=UTC),
        dt.datetime(1500, 3, 10, tzinfo=UTC),
        dt.datetime(1582, 10, 14, tzinfo=UTC), dt.datetime(1582, 10, 15, tzinfo=UTC), None,
    ]  # fmt: skip
    assert texts(values, pa.timestamp("us", "UTC"), logical=True) == [
        "1290-10-27 20:22:50.001", "0474-03-07 21:27:29.0", "1500-02-29 00:00:00.0",
        "1582-10-04 00:00:00.0", "1582-10-15 00:00:00.0", None,
    ]  # fmt: skip


def test_a_timestamp_without_a_zone_is_never_text() -> None:
    """Hudi's rule for Avro's local timestamps."""
    assert texts([1704164645678901, None], pa.timestamp("us"), True) == ["1704164645678901", None]


def test_timestamp_units() -> None:
    assert texts([1704164645678], pa.timestamp("ms", "UTC")) == ["1704164645678"]
    assert texts([1704164645], pa.timestamp("s", "UTC")) == ["1704164645000000"]
    assert texts([1704164645678901], pa.timestamp("ns")) == ["1704164645678"]


@given(st.lists(st.floats(width=64), max_size=30))
def test_doubles(values: list[float]) -> None:
    assert texts(values, pa.float64()) == [java_double(v, repr(v)) for v in values]


@given(st.lists(st.floats(width=32), max_size=30))
def test_floats(values: list[float]) -> None:
    wanted = [java_double(float(v), str(np.float32(v))) for v in values]
    assert texts(values, pa.float32()) == wanted


def test_numbers_so_coarse_that_the_second_digit_tells() -> None:
    """All that are next to zero, as JDK 25 writes them; also a few by hand."""
    steps = np.arange(1, 400)
    doubles, floats = (
        steps.astype(np.int64).view(np.float64),
        steps.astype(np.int32).view(np.float32),
    )
    both = [*doubles, *-doubles]
    assert texts(both, pa.float64()) == [java_double(float(v), repr(float(v))) for v in both]
    both = [*floats, *-floats]
    assert texts(both, pa.float32()) == [java_double(float(v), str(v)) for v in both]
    some = [5e-324, None, -1e-323, 5e-323, 1e-5]
    assert texts(some, pa.float64()) == ["4.9E-324", None, "-9.9E-324", "4.9E-323", "1.0E-5"]
    assert texts([1e-45, 1e-44], pa.float32()) == ["1.4E-45", "9.8E-45"]


def test_edges_of_the_plain_form() -> None:
    below = float(np.nextafter(1e-3, 0))
    values = [1e-3, below, 1e7, 9999999.999, 123456.0, -0.0, 1e21, 5e-324, 1e-300, -2.5e-7]
    assert texts(values, pa.float64()) == [java_double(v, repr(v)) for v in values]
    assert texts([1e-3, 1e7, 9999999, 16777216], pa.float32()) == [
        "0.001", "1.0E7", "9999999.0", "1.6777216E7"
    ]  # fmt: skip


@given(st.lists(st.binary(max_size=9) | st.none(), max_size=20), st.integers(0, 3))
def test_bytes(values: list[bytes | None], start: int) -> None:
    array = pa.array(values, pa.binary()).slice(start)
    wanted = [None if v is None else v.hex() for v in values[start:]]
    assert key_text(array, "c").to_pylist() == wanted


@given(
    st.integers(0, 12).flatmap(
        lambda s: st.tuples(st.just(s), st.lists(st.integers(-(10**15), 10**15), max_size=9))
    )
)
def test_decimals_follow_the_general_decimal_algorithm(case: tuple[int, list[int]]) -> None:
    scale, numbers = case
    values = [Decimal(n).scaleb(-scale) for n in numbers]
    assert texts(values, pa.decimal128(38, scale)) == [str(v) for v in values]


@given(st.lists(st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 1, 1)), max_size=9))
def test_logical_timestamps(values: list[dt.datetime]) -> None:
    # Milliseconds are cut towards zero, which differs from downwards before 1970: whole ones here.
    values = [v.replace(microsecond=v.microsecond // 1000 * 1000, tzinfo=UTC) for v in values]
    found = texts(values, pa.timestamp("us", "UTC"), logical=True)
    assert found == [java_timestamp(v) for v in values]


def test_far_dates() -> None:
    assert texts([2932896, 2932897], pa.date32()) == ["9999-12-31", "+10000-01-01"]
    assert texts([86_400_000], pa.date64()) == ["1970-01-02"]


def test_encodings_of_a_column_do_not_matter() -> None:
    words = ["b", None, "a", "b"]
    for kind in (pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())):
        assert key_text(pa.array(words).cast(kind), "c").to_pylist() == words
    numbers = pa.array([7, None, 8], pa.int64()).dictionary_encode()
    assert key_text(numbers, "c").to_pylist() == ["7", None, "8"]


@pytest.mark.parametrize("kind", [pa.list_(pa.int32()), pa.struct([("a", pa.int32())])])
def test_a_type_that_is_no_key(kind: pa.DataType) -> None:
    with pytest.raises(SchemaError, match="'c'"):
        key_text(pa.nulls(1, kind), "c")
