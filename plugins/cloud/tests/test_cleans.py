"""Cleans after writes on an object store: decided with the write, they take away what they take away on a disk."""

from __future__ import annotations

import re
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hoodoo.errors import HoodooWarning, StorageError
from hoodoo.model.instant import Instant, State
from hoodoo.testing.stores import Crash, GatedStorage
from hoodoo.timeline.decision import FOLDER
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import load
from hoodoo.timeline.view import build
from hoodoo_services.savepoints import encode
from small_tables import created, opened, rows, texts

pytestmark = pytest.mark.sampled

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


def _gated(uri: str, gate: Any) -> Any:
    return opened(uri, OPTIONS, lambda store: GatedStorage(store, gate))


@pytest.mark.parametrize("index", [None, "record_index"])
def test_a_file_that_cannot_be_deleted_stops_no_write(index: str | None) -> None:
    """An object lock, or a permission that is missing: writes land, and say that cleaning fails."""
    uri = _uri()
    created(uri, OPTIONS, index=index)

    def gate(operation: str, path: str) -> None:
        if operation == "delete" and path.endswith(".parquet"):
            raise StorageError(path, "may not be deleted.", "Ask for the permission.")

    table = _gated(uri, gate)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", HoodooWarning)
        for number in range(WRITES):
            table.upsert(rows({1: f"{number}"}, number))
            assert texts(_gated(uri, gate)) == {1: f"{number}"}
    assert any("cleaning" in str(one.message) for one in said)
    other = opened(uri, OPTIONS)  # who may delete goes on
    for number in range(WRITES, WRITES + 3):
        other.upsert(rows({1: f"{number}"}, number))
    assert len(_bases(other)) == 3
    assert not other.timeline().pending()


@pytest.mark.parametrize("saved", [True, False])
def test_what_a_savepoint_of_another_engine_keeps_stays(saved: bool) -> None:
    """A writer dies right after its commit is visible; an engine that knows no numbers makes a savepoint then."""
    uri = _uri()
    created(uri, OPTIONS)
    dying = [False]

    def gate(operation: str, path: str) -> None:
        if dying[0] and operation in ("put_if_absent", "put", "delete") and ".clean" in path:
            raise Crash

    table = _gated(uri, gate)
    for number in range(5):
        table.upsert(rows({1: f"{number}"}, number))
    dying[0] = True
    with suppress(Crash):
        table.upsert(rows({1: "last"}, 9))
    store = opened(uri, OPTIONS).handle.storage
    timeline = load(store, table.handle.config)
    point = _bases(table)[0]
    (slice_,) = build(Snapshot(store, timeline), point).slices
    if saved:
        end = Instant(point, "savepoint", State.COMPLETED, "20301126143251928")
        store.put(timeline.path(end.at(State.INFLIGHT)), b"")
        store.put(timeline.path(end), encode([slice_], "hudi", "", 0))
    other = opened(uri, OPTIONS)
    assert texts(other) == {1: "last"}
    assert store.head(slice_.base_file.path), "who reads deletes nothing"
    other.upsert(rows({1: "next"}, 10))
    assert (store.head(slice_.base_file.path) is not None) == saved
    assert not other.timeline().pending()
    if saved:
        assert texts(other, as_of=point)


def test_who_reads_while_a_writer_cleans_deletes_nothing() -> None:
    uri = _uri()
    _written(uri, None)
    seen: list[object] = []

    def gate(operation: str, path: str) -> None:
        if operation == "delete" and path.endswith(".parquet") and not seen:
            seen.append(texts(_gated(uri, lambda done, at: seen.append((done, at)))))

    table = _gated(uri, gate)
    table.upsert(rows({1: "new", 3: "new"}, 20))
    assert seen[-1] == {1: "new", 3: "new"}
    assert not [done for done in seen if isinstance(done, tuple) and done[0] == "delete"]
    assert not table.timeline().pending()


def test_a_put_that_fails_once_is_not_remembered() -> None:
    """The clean that was decided then is one like any other when the next write comes to it: it is looked at again."""
    uri = _uri()
    created(uri, OPTIONS, index="record_index")
    failing = [False]

    def gate(operation: str, path: str) -> None:
        if failing[0] and path.endswith(".clean.requested") and "metadata" not in path:
            failing[0] = False
            raise StorageError(path, "could not be put.", "Try again.")

    table = _gated(uri, gate)
    for number in range(4):
        table.upsert(rows({1: f"{number}"}, number))
    failing[0] = True
    for number in range(4, WRITES):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HoodooWarning)
            table.upsert(rows({1: f"{number}"}, number))
    assert not failing[0]
    assert len(_bases(table)) == 3
    assert not table.timeline().pending()
    assert table.verify().ok
