"""Under which instants partitions of the metadata table are made."""

from __future__ import annotations

import pytest
from hoodoo.errors import CommitConflictError
from hoodoo.model.config import TableConfig
from hoodoo.timeline.timeline import Timeline, from_names
from hoodoo_metadata.life.beginnings import free_beginnings, is_beginning, is_own_instant

T = "20240102030405006"


def timeline(version: str, *names: str) -> Timeline:
    layout = {
        "hoodie.table.version": version,
        "hoodie.timeline.layout.version": "1" if version == "6" else "2",
    }
    return from_names(names, TableConfig({"hoodie.table.name": "t", **layout}))


def test_numbers_before_all_time() -> None:
    now = timeline("9", f"{T}_{T}.commit")
    assert free_beginnings(2, now, (), ()) == ["00000000000000000", "00000000000000001"]
    there, before = ["00000000000000001"], ["00000000000000004"]
    assert free_beginnings(1, now, there, before) == ["00000000000000005"]
    assert free_beginnings(1, now, there, ["00000000000000999"]) == ["00000000000000002"]


def test_digits_behind_the_newest_instant() -> None:
    """As Hudi 0.15 has them; the newest completed one counts."""
    assert free_beginnings(2, timeline("6"), (), ()) == ["00000000000000010", "00000000000000011"]
    now = timeline(
        "6", "20240102030405000.commit", f"{T}.rollback", "20250101000000000.commit.requested"
    )
    assert free_beginnings(2, now, (), ()) == [f"{T}010", f"{T}011"]
    there = ["00000000000000010", f"{T}001", T, f"{T}012"]
    assert free_beginnings(1, now, there, [f"{T}010"]) == [f"{T}013"]
    with pytest.raises(CommitConflictError, match="has been made 990 times"):
        free_beginnings(1, now, [f"{T}999"], ())


def test_what_an_instant_is() -> None:
    begun = ["00000000000000000", "00000000000000010", f"{T}010", f"{T}999"]
    own = ["00000000000000010001", f"{T}001", f"{T}002", f"{T}010001"]
    assert [i for i in [*begun, *own, T] if is_beginning(i)] == begun
    assert [i for i in [*begun, *own, T] if is_own_instant(i)] == [*begun, *own]
    # All of one instant of the table come before the next one.
    assert sorted([f"{T}010001", f"{T}001", T, "20240102030405007"])[-1] == "20240102030405007"
