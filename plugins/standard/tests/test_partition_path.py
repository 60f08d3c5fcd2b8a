"""Directories from columns and back."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest
from hoodoo.errors import ConfigError, DataError
from hoodoo.hookspecs.registration import Settings
from hoodoo.model.config import TableConfig
from hoodoo_standard.keygen.partition_path import PartitionPaths, escape, unescape
from hypothesis import assume, given
from hypothesis import strategies as st

_SPECIAL = "\"#%'*/:=?\\{[]^\x7f"


def java_escape(value: str) -> str:
    return "".join(f"%{ord(c):02X}" if ord(c) < 32 or c in _SPECIAL else c for c in value)


def paths(columns: dict[str, Any], **style: bool) -> list[str]:
    batch = pa.RecordBatch.from_pydict(columns)
    found = PartitionPaths(tuple(columns), **style).paths(batch)
    assert found.type == pa.string()
    return found.to_pylist()  # type: ignore[no-any-return]


# Written by Spark Hudi 1.2.0.
def test_paths_that_hudi_wrote() -> None:
    text = {"s": ["a", "é/b c=%:", " x"]}
    assert paths(text) == ["a", "é/b c=%:", " x"]
    assert paths(text, url_encode=True) == ["a", "é%2Fb c%3D%25%3A", " x"]
    assert paths(text, hive_style=True) == ["s=a", "s=é/b c=%:", "s= x"]
    assert paths(text, hive_style=True, url_encode=True) == ["s=a", "s=é%2Fb c%3D%25%3A", "s= x"]
    stamps = {"ts": pa.array([1704164645678901, -500000], pa.timestamp("us", "UTC"))}
    style = {"hive_style": True, "url_encode": True}
    assert paths(stamps, **style) == ["ts=1704164645678901", "ts=-500000"]
    assert paths(stamps, **style, logical_timestamps=True) == [
        "ts=2024-01-02 03%3A04%3A05.678", "ts=1969-12-31 23%3A59%3A59.5"
    ]  # fmt: skip
    both = {"e": ["p", "", None], "i": pa.array([1, -2, None], pa.int32())}
    assert paths(both, hive_style=True) == [
        "e=p/i=1",
        "e=__HIVE_DEFAULT_PARTITION__/i=-2",
        "e=__HIVE_DEFAULT_PARTITION__/i=__HIVE_DEFAULT_PARTITION__",
    ]
    dates = {"d": pa.array([19724], pa.date32()), "b": [True]}
    assert paths(dates) == ["2024-01-02/true"]


@given(st.lists(st.text(max_size=8), max_size=8))
def test_escape_and_back(values: list[str]) -> None:
    escaped = escape(pa.array(values, pa.string())).to_pylist()
    assert escaped == [java_escape(v) for v in values]
    assert [unescape(e) for e in escaped] == values


def test_unescape_leaves_what_is_no_escape() -> None:
    assert unescape("100% %4 %zz %41%") == "100% %4 %zz A%"


@pytest.mark.parametrize(
    "value", ["..", ".", "/x", "x/", "a//b", "../../etc", ".hoodie", ".hoodie/t"]
)
def test_paths_that_leave_the_table_are_refused(value: str) -> None:
    with pytest.raises(DataError, match="'s'"):
        paths({"s": ["fine", value]})


def test_encoding_makes_slashes_safe() -> None:
    style = {"hive_style": True, "url_encode": True}
    assert paths({"s": ["../x", "/"]}, **style) == ["s=..%2Fx", "s=%2F"]


_SCHEMA = pa.schema(
    [
        ("s", pa.string()),
        ("i", pa.int64()),
        ("b", pa.bool_()),
        ("d", pa.date32()),
        ("f", pa.float64()),
    ]
)


@pytest.mark.sampled(1, among="long")
@given(
    st.text(max_size=6), st.integers(-(2**63), 2**63 - 1), st.booleans(), st.dates(),
    st.booleans(), st.booleans(),
)  # fmt: skip
def test_values_of_a_path_are_those_of_its_rows(
    s: str, i: int, b: bool, d: dt.date, hive: bool, encode: bool
) -> None:
    rule = PartitionPaths(("s", "i", "b", "d"), hive_style=hive, url_encode=encode)
    row = {"s": s, "i": i, "b": b, "d": d}
    batch = pa.RecordBatch.from_pylist([row], schema=_SCHEMA)
    try:
        path = rule.paths(batch)[0].as_py()
    except DataError:
        assume(False)
    found = rule.values(path, _SCHEMA)
    if found is None:
        assert "/" in s
    else:
        assert found == {k: v for k, v in row.items() if v != ""}


def test_values_that_are_not_certain_are_left_out() -> None:
    rule = PartitionPaths(("s", "f"), hive_style=True)
    assert rule.values("s=__HIVE_DEFAULT_PARTITION__/f=1.0", _SCHEMA) == {}
    assert rule.values("s=a/g=1.0", _SCHEMA) is None
    assert PartitionPaths(("i",)).values("x1", _SCHEMA) == {}
    assert PartitionPaths(("gone",)).values("x1", _SCHEMA) == {}
    assert PartitionPaths(()).values("", _SCHEMA) == {}


def settings(**properties: str) -> Settings:
    known = {
        "hoodie.table.partition.fields": "s",
        **{k.replace("__", "."): v for k, v in properties.items()},
    }
    return Settings(TableConfig(known))


def slashed(partitions: str, **more: str) -> PartitionPaths:
    key = "hoodie.datasource.write.slash.separated.date.partitioning"
    known = {key: "true", "hoodie.table.partition.fields": partitions, **more}
    return PartitionPaths.from_settings(Settings(TableConfig(known)))


def test_dates_as_three_directories() -> None:
    days = pa.RecordBatch.from_pydict(
        {
            "d": pa.array([dt.date(2024, 1, 2), None, dt.date(1969, 12, 31)]),
            "s": ["a-b", "5", "2024/1-2"],
        }
    )
    assert slashed("d").paths(days).to_pylist() == [
        "2024/01/02", "__HIVE_DEFAULT_PARTITION__", "1969/12/31",
    ]  # fmt: skip
    hive = slashed("d", **{"hoodie.datasource.write.hive_style_partitioning": "true"})
    assert hive.paths(days)[0].as_py() == "d=2024/01/02"
    assert slashed("s").paths(days).to_pylist() == ["a/b", "5", "2024/1/2"]
    assert hive.values("d=2024/01/02", days.schema) == {"d": dt.date(2024, 1, 2)}
    # The dashes and slashes of a text can't be told apart again.
    assert slashed("s").values("2024/1/2", days.schema) == {}
    with pytest.raises(ConfigError, match="one partition column"):
        slashed("d,s")
    for text in ("a--b", "a-", "-2024-01-02"):  # the last one would lie where 2024-01-02 lies
        with pytest.raises(DataError, match="not a directory"):
            slashed("s").paths(pa.RecordBatch.from_pydict({"s": [text]}))
    front = pa.RecordBatch.from_pydict({"d": ["-5"]})
    assert hive.paths(front).to_pylist() == ["d=/5"]
