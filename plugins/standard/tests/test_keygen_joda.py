"""Joda patterns: as Joda-Time itself prints and parses, and as Python does where it can."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from hoodoo.errors import ConfigError, DataError
from hoodoo_standard.keygen.joda_format import format_instants
from hoodoo_standard.keygen.joda_parse import Parser, parse_instants
from hoodoo_standard.keygen.joda_pattern import pattern_tokens, slashes
from hoodoo_standard.keygen.joda_zone import Zone
from hypothesis import given
from hypothesis import strategies as st

# Printed by Joda-Time 2.12.5: F|pattern|ms|zone|text, and P|patterns|text|zone|ms|offset (or !).
LINES = Path(__file__).with_name("joda.txt").read_text("utf-8").splitlines()


def printed(millis: list[int], pattern: str, zone: str = "UTC") -> list[str]:
    at = np.array(millis, np.int64)
    coded = format_instants(
        at, Zone.of(zone, "zone").offsets(at), pattern_tokens(pattern, "output")
    )
    found: list[str] = coded.dictionary.take(coded.indices).to_pylist()
    return found


def parsed(texts: list[str], patterns: str, zone: str = "") -> list[tuple[int, int]]:
    parsers = tuple(Parser.of(pattern_tokens(p.strip(), "in", True)) for p in patterns.split(","))
    found = parse_instants(pa.array(texts), parsers, Zone.of(zone, "zone") if zone else None, "ts")
    return [(int(ms), int(offset)) for ms, offset in zip(*found, strict=True)]


def test_prints_as_joda_does() -> None:
    cases = [line.split("|") for line in LINES if line.startswith("F|")]
    assert len(cases) > 150
    wrong = [
        (case, found)
        for case in cases
        if (found := printed([int(case[2])], case[1], case[3])) != [case[4]]
    ]
    assert not wrong


def test_parses_as_joda_does() -> None:
    cases = [line.split("|") for line in LINES if line.startswith("P|")]
    assert len(cases) > 100
    wrong = []
    for _kind, patterns, text, zone, *wanted in cases:
        try:
            found = [str(part) for part in parsed([text], patterns, zone)[0]]
        except DataError as error:
            found = ["!"]
            assert repr(text) in str(error) or "skipped" in str(error)
        if found != wanted:
            wrong.append((patterns, text, zone, wanted, found))
    assert not wrong


# strftime leaves years below 1000 without zeros.
INSTANTS = st.lists(
    st.datetimes(dt.datetime(1000, 1, 1), dt.datetime(9999, 12, 31)), min_size=1, max_size=20
)
PYTHON = {
    "yyyy/MM/dd/HH": "%Y/%m/%d/%H",
    "yyyyMMdd": "%Y%m%d",
    "yyyy-DDD hh:mm:ss a": "%Y-%j %I:%M:%S %p",
    "EEEE, dd MMM yy": "%A, %d %b %y",
    "xxxx-'W'ww-e": "%G-W%V-%u",
    "MMMM": "%B",
}


def millis_of(moment: dt.datetime) -> int:
    return (moment - dt.datetime(1970, 1, 1)) // dt.timedelta(milliseconds=1)


@given(INSTANTS, st.sampled_from(sorted(PYTHON)))
def test_prints_as_python_does(moments: list[dt.datetime], pattern: str) -> None:
    expected = [moment.strftime(PYTHON[pattern]) for moment in moments]
    assert printed([millis_of(m) for m in moments], pattern) == expected


@given(INSTANTS, st.sampled_from(["yyyy-MM-dd'T'HH:mm:ss.SSS", "yyyyMMddHHmmssSSS", "S s m k D y"]))
def test_what_is_printed_parses(moments: list[dt.datetime], pattern: str) -> None:
    millis = [millis_of(m) // 1000 * 1000 for m in moments]  # one S is a tenth of a second
    assert [ms for ms, _ in parsed(printed(millis, pattern), pattern)] == millis


# Offsets had seconds before, which a text does not tell.
MODERN = st.lists(st.datetimes(dt.datetime(1950, 1, 1), dt.datetime(9000, 12, 31)), min_size=1)


@given(MODERN, st.sampled_from(["Europe/Berlin", "America/New_York", "GMT-03:30", "JST"]))
def test_zones_there_and_back(moments: list[dt.datetime], zone: str) -> None:
    millis = [millis_of(m) // 1000 * 1000 for m in moments]
    texts = printed(millis, "yyyy-MM-dd HH:mm:ssZ", zone)
    found = parsed(texts, "yyyy-MM-dd HH:mm:ssZ")
    assert [ms for ms, _offset in found] == millis
    hours = [(int(t[-5:-2]) * 60 + int(t[-5] + t[-2:])) * 60_000 for t in texts]
    assert [offset for _ms, offset in found] == hours


@given(MODERN, st.sampled_from(["Europe/Berlin", "America/New_York", "Africa/Casablanca"]))
def test_offsets_are_those_of_python(moments: list[dt.datetime], place: str) -> None:
    """An independent reader of the tz database; it too goes on with the last rule."""
    utc = [moment.replace(microsecond=0, tzinfo=dt.timezone.utc) for moment in moments]
    wanted = [moment.astimezone(ZoneInfo(place)).utcoffset() for moment in utc]
    millis = np.array([millis_of(m.replace(tzinfo=None)) for m in utc], np.int64)
    found = Zone.of(place, "zone").offsets(millis)
    assert [dt.timedelta(milliseconds=int(ms)) for ms in found] == wanted


def test_a_local_time_that_is_twice_or_never() -> None:
    """On days when clocks change: those of 2024, and of 2050, where only the rule tells them."""
    pattern, zone = "yyyy-MM-dd HH:mm", "America/New_York"
    for year, forward, back in ((2024, "03-10", "11-03"), (2050, "03-13", "11-06")):
        once, twice, after = parsed(
            [f"{year}-{forward} 01:59", f"{year}-{back} 01:30", f"{year}-{back} 02:00"],
            pattern,
            zone,
        )
        assert [offset / 3_600_000 for _ms, offset in (once, twice, after)] == [-5, -4, -5]
        assert after[0] - twice[0] == 90 * 60_000
        with pytest.raises(DataError, match=rf"{year}-{forward}T02:30.*skipped"):
            parsed([f"{year}-{forward} 02:30"], pattern, zone)


@pytest.mark.parametrize(
    ("pattern", "parsing", "named"),
    [
        ("yyyy-bb", False, "'bb'"),
        ("G yyyy", False, "'G'"),
        ("yyyy z", False, "'z'"),
        ("yyyy ZZZ", False, "'ZZZ'"),
        ("yy-MM-dd", True, "'yy'.*century"),
        ("EEE, d MMM yyyy", True, "'EEE'"),
        ("xxxx-ww", True, "'xxxx'"),
        ("'none'", False, "no letter"),
    ],
)
def test_what_cannot_be_mapped_is_named(pattern: str, parsing: bool, named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        pattern_tokens(pattern, "option", parsing)


@pytest.mark.parametrize("zone", ["UTC+8", "+08:00", "asia/shanghai", "Nowhere/X", "GMT+25", ""])
def test_unknown_zones_are_refused(zone: str) -> None:
    with pytest.raises(ConfigError, match="no time zone"):
        Zone.of(zone, "option")


def test_directories_of_a_pattern() -> None:
    assert slashes(pattern_tokens("yyyy/MM/dd", "o")) == 2
    assert slashes(pattern_tokens("yyyy'/a/'MM", "o")) == 2


def test_offsets_with_different_texts_of_one_time() -> None:
    at = np.zeros(2, np.int64)
    coded = format_instants(at, np.array([0, 3_600_000]), pattern_tokens("HH ZZ", "o"))
    assert coded.dictionary.take(coded.indices).to_pylist() == ["00 +00:00", "01 +01:00"]
