"""Which file slices may be clustered."""

from __future__ import annotations

from typing import Any

import pytest
from hoodoo.model.filegroup import BaseFile, FileSlice, LogFile
from hoodoo_clustering.eligible import eligible
from hoodoo_clustering.settings import ClusteringSettings

AT = "20240102000000000"


def slice_of(
    file_id: str, size: int | None, logs: int = 0, cdc: int = 0, at: str = AT
) -> FileSlice:
    base = None if size is None else BaseFile("p", file_id, at, "0-0-0", size=size)
    named = [LogFile("p", file_id, at, n + 1, "0-0-0", size=1) for n in range(logs)]
    named += [LogFile("p", file_id, at, n + 1, "0-0-0", ".cdc", 1) for n in range(cdc)]
    return FileSlice("p", file_id, at, base, tuple(named))


def kept(slices: list[FileSlice], busy: Any = (), **settings: Any) -> list[str]:
    return [s.file_id for s in eligible(slices, ClusteringSettings(**settings), busy)]


@pytest.mark.parametrize(
    ("small", "target", "expected"),
    [(100, 1000, ["a"]), (101, 1000, ["a", "b"]), (None, 101, ["a", "b"]), (None, 100, ["a"]),
     (1000, 100, ["a", "b"]), (2000, 100, ["a", "b", "c"]), (0, 1000, [])],
)  # fmt: skip
def test_small_and_below_the_target(small: int | None, target: int, expected: list[str]) -> None:
    slices = [slice_of("a", 99), slice_of("b", 100), slice_of("c", 1001)]
    assert kept(slices, small=small, target=target) == expected


def test_not_what_a_plan_is_pending_for() -> None:
    slices = [slice_of("a", 1), slice_of("b", 1), slice_of("c", 1)]
    assert kept(slices, {("p", "b"): "20240103000000000", ("q", "a"): ""}) == ["a", "c"]


def test_log_files_if_asked_for() -> None:
    slices = [slice_of("a", 1), slice_of("b", 1, logs=2), slice_of("c", None, logs=1),
              slice_of("d", 5000 << 20, logs=1)]  # fmt: skip
    assert kept(slices) == ["a"]
    assert kept(slices, with_logs=True) == ["a", "b", "c"]


def test_logs_of_change_data_hold_no_rows() -> None:
    found = eligible([slice_of("a", 1, cdc=2)], ClusteringSettings())
    assert [s.log_files for s in found] == [()]
    (both,) = eligible([slice_of("a", 1, logs=1, cdc=1)], ClusteringSettings(with_logs=True))
    assert [log.suffix for log in both.log_files] == [""]


def test_older_slices_may_be_left_alone() -> None:
    slices = [slice_of("a", 1, at="20240101000000000"), slice_of("b", 1),
              slice_of("c", 1, at="20240103000000")]  # fmt: skip
    assert kept(slices, earliest=AT) == ["c"]
    assert kept(slices, earliest="20240101000000") == ["b", "c"]
