"""A participant of another distribution beside the metadata table: together with an action, or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import DataError, HoodooWarning
from hoodoo.testing.distributions import fake_distribution, found_anew
from hoodoo_rows.testing.tables import Maker

# Says in a file of its own, decided with the commit, what each commit has added; refuses more than 100 rows.
SOURCE = """
import json
from hoodoo import hookimpl
from hoodoo.errors import DataError
from hoodoo.hookspecs.registration import Registration
from hoodoo.timeline.publish import CoupledCommit

TOLD = []


class Catalog:
    def join(self, storage, timeline):
        return Joined()

    def undone(self, storage, config, requested):
        TOLD.append(requested)
        storage.delete(f".hoodie/acme/{requested}.json")


class Joined:
    keys = False
    noted = {"acme.catalog": "1"}

    def begin(self, change):
        rows = sum(stat.num_inserts for stat in change.stats)
        if rows > 100:
            raise DataError("commit", f"adds {rows} rows.", "Add 100 at the most.")
        said = json.dumps({"rows": rows, "removed": len(change.removed)}).encode()

        def files(done):
            return ((f".hoodie/acme/{done.requested}.json", said),)

        return CoupledCommit(lambda: None, files)


@hookimpl
def hoodoo_participants():
    return [Registration("acme_catalog", lambda settings: Catalog())]
"""
BROKEN = SOURCE.replace("return Joined()", "return 7")
# Looks at the table after each action, and before files go; it fails if there is a file `down`.
WATCHES = """
import os
from hoodoo import hookimpl
from hoodoo.errors import DataError
from hoodoo.hookspecs.registration import Registration

SEEN, GOING = [], []


class Watcher:
    def join(self, storage, timeline):
        return None

    def after_action(self, request, timeline):
        if request.storage.head("down") is not None:
            raise DataError("catalog", "is down.", "Wait.")
        if request.storage.head("lost") is not None:
            raise TimeoutError("a library's")
        newest = timeline.instants[-1]
        SEEN.append((newest.action, newest.is_completed, len(request.look().slices)))
        return ("seen",)

    def before_clean(self, request, paths):
        GOING.append([request.storage.head(path) is not None for path in paths])


@hookimpl
def hoodoo_participants():
    return [Registration("acme_watcher", lambda settings: MADE(Watcher()))]


class Whole:
    def __init__(self, one):
        self.parts = (one,)

    def join(self, storage, timeline):
        return None


MADE = lambda one: one
"""
SCHEMA = pa.schema([("id", pa.int64()), ("n", pa.int64())])

rows = Maker(SCHEMA, n=0).span


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    yield from _installed(tmp_path, monkeypatch, "acme_catalog", SOURCE)


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    yield from _installed(tmp_path, monkeypatch, "acme_broken", BROKEN)


@pytest.fixture
def watcher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    yield from _installed(tmp_path, monkeypatch, "acme_watcher", WATCHES)


def _installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, source: str
) -> Iterator[None]:
    folder = fake_distribution(
        tmp_path / "installed", "acme", entry_points={"acme": module}, modules={module: source}
    )
    monkeypatch.syspath_prepend(str(folder))
    with found_anew():
        yield


def said(table: Path) -> dict[str, int]:
    files = sorted((table / ".hoodie/acme").glob("*.json"))
    return {file.stem: json.loads(file.read_text())["rows"] for file in files}


@pytest.mark.usefixtures("catalog")
@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_it_says_what_is_committed(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "t"
    table = hoodoo.create(str(path), SCHEMA, record_key="id", index="record_index", table_type=kind)
    first = table.upsert(rows(0, 10))
    assert said(path) == {first.instant: 10}
    with pytest.raises(DataError, match="100 at the most"):
        table.upsert(rows(0, 500))
    # Refused: neither the table, nor what others had begun, knows of it.
    assert said(path) == {first.instant: 10}
    assert table.read().count() == 10 and not table.timeline().pending()
    assert table.verify().ok
    second = table.upsert(rows(50, 20))
    assert said(path) == {first.instant: 10, second.instant: 20}
    noted = table.timeline().metadata(table.handle.storage, table.timeline().writes()[-1])
    assert noted.extra["acme.catalog"] == "1"
    table.rollback(second.instant)
    assert said(path) == {first.instant: 10}
    assert table.compare_indexes("record_index", "global_simple").same
    table.upsert(rows(60, 5))
    table.restore(first.instant)
    assert said(path) == {first.instant: 10}


@pytest.mark.usefixtures("broken")
@pytest.mark.filterwarnings(f"ignore::{HoodooWarning.__module__}.HoodooWarning")
def test_one_that_is_broken_is_named(tmp_path: Path) -> None:
    table = hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key="id")
    with pytest.raises(hoodoo.errors.PluginError) as caught:
        table.upsert(rows(0, 3))
    for part in ("participant", "acme_catalog", "acme 1.0", "join"):
        assert part in str(caught.value)
    assert not table.timeline().instants


@pytest.mark.usefixtures("watcher")
def test_it_is_called_after_every_action_and_before_files_go(tmp_path: Path) -> None:
    import acme_watcher  # type: ignore[import-not-found]  # made by the fixture

    seen, going = acme_watcher.SEEN, acme_watcher.GOING

    def after() -> set[tuple[str, bool, int]]:
        found = set(seen)
        seen.clear()
        return found

    path = tmp_path / "t"
    options = {"hoodie.clean.automatic": "false"}
    table = hoodoo.create(str(path), SCHEMA, record_key="id", options=options)
    table.bulk_insert(rows(0, 10))
    assert after() == {("commit", True, 1)}
    table.bulk_insert(rows(10, 10))
    assert after() == {("commit", True, 2)}
    table.cluster()
    assert after() == {("replacecommit", True, 1)} and not going
    table.upsert(rows(0, 10))
    assert after() == {("commit", True, 1)}
    assert table.clean(commits_retained=1).files
    assert after() == {("clean", True, 1)} and all(all(there) for there in going) and going
    undone = table.insert(rows(20, 10))
    assert after()
    table.rollback(undone.instant)
    assert after() == {("rollback", True, 1)}
    point = table.upsert(rows(0, 1))
    table.upsert(rows(1, 1))
    assert after()
    table.restore(point.instant)
    assert after() == {("restore", True, 1)}
    table.delete_partitions("")
    assert after() == {("replacecommit", True, 0)}
    (path / "down").touch()
    with pytest.warns(HoodooWarning, match="inline work of participants after it failed"):
        table.upsert(rows(0, 1))
    assert table.read().count() == 1


@pytest.mark.usefixtures("watcher")
def test_inline_cleans_are_said_before(tmp_path: Path) -> None:
    import acme_watcher

    options = {"hoodie.clean.commits.retained": "1"}
    table = hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key="id", options=options)
    acme_watcher.GOING.clear()
    for n in range(4):
        table.upsert(rows(0, n + 1))
    assert acme_watcher.GOING and all(all(there) for there in acme_watcher.GOING)


@pytest.mark.sampled(1, among="long")
@pytest.mark.usefixtures("watcher")
def test_it_is_called_once_and_only_if_something_happened(tmp_path: Path) -> None:
    import acme_watcher

    seen = acme_watcher.SEEN
    table = hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key="id", index="record_index")
    table.upsert(rows(0, 10))
    seen.clear()
    table.locate([1, 2])
    table.compare_indexes("record_index", "global_simple")
    table.clean()
    table.rollback()
    table.update({"n": "n"}, where="id = 77")
    assert not seen
    for act in (
        lambda: table.update({"n": "n + 1"}, where="id < 3"),
        lambda: table.delete(where="id = 3"),
        lambda: table.merge(rows(5, 2), on="id").when_matched_update({"n": "source.n"}).execute(),
        lambda: table.alter(add={"m": "bigint"}),
        lambda: table.savepoint(),
    ):
        act()
        assert len(seen) == 1
        seen.clear()


@pytest.mark.usefixtures("watcher")
@pytest.mark.parametrize("is_part", [False, True])
def test_its_failure_is_none_of_the_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_part: bool
) -> None:
    import acme_watcher

    if is_part:
        monkeypatch.setattr(acme_watcher, "MADE", acme_watcher.Whole)
    path = tmp_path / "t"
    table = hoodoo.create(str(path), SCHEMA, record_key="id")
    (path / "lost").touch()
    for number, act in enumerate((table.upsert, table.insert)):
        with pytest.warns(
            HoodooWarning,
            match=r"'acme_watcher' of distribution acme 1.0, after_action: raised TimeoutError",
        ):
            act(rows(number, 1))
    with pytest.warns(HoodooWarning, match="participants after it failed"):
        table.update({"n": "n + 1"}, where="id = 0")
    assert table.read().count() == 2
