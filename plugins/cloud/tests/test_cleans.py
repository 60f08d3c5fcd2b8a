"""Cleans after writes on an object store: decided with the write, they take away what they take away on a disk."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hoodoo.timeline.ledger import FOLDER
from small_tables import created, opened, rows, texts

OPTIONS = {"hoodie.clean.automatic": "true", "hoodie.clean.commits.retained": "2"}
WRITES = 8


def _uri() -> str:
    return f"memory://b-{uuid4().hex}/t"


def _written(uri: str, index: str | None) -> Any:
    created(uri, OPTIONS, index=index)
    table = opened(uri, OPTIONS)
    for number in range(WRITES):
        table.upsert(rows({1: f"{number}", 3: f"{number}"}, number))
    return table


def _bases(table: Any) -> list[str]:
    """The instants of the base files that are there."""
    names = [e.name for e in table.handle.storage.list("r1") if e.name.endswith(".parquet")]
    return sorted(re.split(r"[_.]", name)[2] for name in names)


def _cleans(table: Any) -> list[Any]:
    return [i for i in table.timeline().instants if i.action == "clean"]


def _newest_number(table: Any) -> int:
    return max(int(e.name[:12]) for e in table.handle.storage.list(FOLDER))


@pytest.mark.parametrize("index", [None, "record_index"])
def test_the_same_files_are_left_as_on_a_disk(tmp_path: Path, index: str | None) -> None:
    far, near = _written(_uri(), index), _written(str(tmp_path / "t"), index)
    assert len(_bases(far)) == len(_bases(near)) == 3
    assert len(_cleans(far)) == len(_cleans(near))
    assert all(clean.is_completed for clean in _cleans(far))
    writes = [i.requested for i in far.timeline().writes()]
    assert _bases(far) == writes[-3:]
    assert texts(far) == texts(near)
    assert far.verify().ok


def test_a_clean_needs_no_number_of_its_own() -> None:
    table = _written(_uri(), None)
    before, cleans = _newest_number(table), len(_cleans(table))
    table.upsert(rows({1: "new", 3: "new"}, 20))
    assert len(_cleans(table)) == cleans + 1
    assert _newest_number(table) == before + 1


def test_where_others_write_in_between_it_is_planned_after_the_write() -> None:
    uri = _uri()
    one = _written(uri, None)
    other = opened(uri, OPTIONS)
    for number in range(20, 24):
        for table in (other, one):
            table.upsert(rows({1: f"{number}"}, number))
    writes = [i.requested for i in one.timeline().writes()]
    assert _bases(one) == writes[-3:]
    assert not one.timeline().pending()


def test_a_partition_that_becomes_empty_goes() -> None:
    uri = _uri()
    table = _written(uri, None)
    table.upsert(rows({2: "even"}, 20))
    table.delete_partitions("r1")
    for number in range(21, 25):
        table.upsert(rows({2: f"{number}"}, number))
    assert not table.handle.storage.list("r1")
    assert texts(table) == {2: "24"}
