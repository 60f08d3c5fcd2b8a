"""The life cycle of an action, and what a publish says when the store is not sure."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import TypeVar

import pytest
from hoodoo.errors import CommitConflictError, StorageError, StorageUnknownError
from hoodoo.model.commit import CommitMetadata, Operation, WriteStat
from hoodoo.model.config import TableConfig
from hoodoo.model.instant import Instant, State
from hoodoo.storage.api import Storage
from hoodoo.testing.directory import DirectoryStorage
from hoodoo.testing.stores import Delegating, FailingStorage
from hoodoo.timeline import codec, create, ledger, publish, timeline
from hoodoo.timeline.codec import avro as codec_avro
from hoodoo.timeline.layouts import LAYOUTS
from hoodoo.timeline.publish import Result
from hoodoo.timeline.snapshot import Snapshot

T = TypeVar("T")
NOW = datetime(2024, 1, 1, tzinfo=timezone.utc)
FIRST = "20240101000000000"
DATA = b"ours"


@pytest.fixture(params=[6, 9])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[DirectoryStorage, TableConfig]:
    store = DirectoryStorage(str(tmp_path))
    values = {"hoodie.table.name": "t", "hoodie.table.version": str(request.param)}
    return store, create.init_table(store, TableConfig(values))


def started(
    store: Storage, config: TableConfig, action: str = "commit"
) -> tuple[timeline.Timeline, Instant]:
    line = timeline.load(store, config)
    return line, publish.inflight(
        Snapshot(store, line), publish.request(Snapshot(store, line), action, now=NOW)
    )


def names(store: Storage, config: TableConfig) -> list[str]:
    found = [e.name for e in store.list(config.timeline_path) if not e.is_dir]
    return [n for n in found if n[0].isdigit()]


class Answers(Delegating):
    """put_if_absent of a completed file follows a script; each step acts on the store or not."""

    def __init__(self, inner: Storage, *script: str) -> None:
        super().__init__(inner)
        self.script = list(script)
        self.on_unknown: Callable[[], object] = lambda: None

    def around(self, op: str, path: str, call: Callable[[], T]) -> T:
        name = path.rsplit("/", 1)[-1]
        pending = name.endswith((".requested", ".inflight"))
        if op != "put_if_absent" or pending or not self.script:
            return call()
        step = self.script.pop(0)
        if step == "error":
            raise StorageError(path, "refused (made to).")
        if step in ("done, unknown", "unknown"):
            if step.startswith("done"):
                call()
            self.on_unknown()
            raise StorageUnknownError(path, "timed out (made to).")
        return call()


# --- the usual course -------------------------------------------------------------------------
def test_life_cycle(table: tuple[DirectoryStorage, TableConfig]) -> None:
    store, config = table
    line, instant = started(store, config)
    assert instant == Instant(FIRST, "commit", State.INFLIGHT)
    done = publish.complete(Snapshot(store, line), instant, DATA, NOW)
    assert done.committed and done.instant.is_completed
    fresh = timeline.load(store, config)
    assert fresh.completed() == (done.instant,)
    assert store.get(fresh.path(done.instant)) == DATA
    if fresh.layout.names_completion:
        assert done.instant.completed == "20240101000000001"  # the clock stood still
    following = publish.request(Snapshot(store, fresh), "commit", now=NOW)
    assert following.requested > done.instant.completion_order
    # saying it again changes nothing
    before = names(store, config)
    assert publish.complete(Snapshot(store, line), instant, DATA, NOW) == done
    assert publish.complete(Snapshot(store, line), instant, b"other").result is Result.CONFLICTED
    assert names(store, config) == before


@pytest.mark.parametrize(
    ("action", "completed"),
    [("compaction", "commit"), ("clustering", "replacecommit"), ("clean", "clean")],
)
def test_services_complete_as_what_disk_calls_them(
    table: tuple[DirectoryStorage, TableConfig], action: str, completed: str
) -> None:
    store, config = table
    line, instant = started(store, config, action)
    done = publish.complete(Snapshot(store, line), instant, DATA, NOW)
    assert done.instant.action == completed
    assert timeline.load(store, config).completed() == (done.instant,)


def test_completion_is_after_everything_there(table: tuple[DirectoryStorage, TableConfig]) -> None:
    store, config = table
    line, slow = started(store, config)
    _, quick = started(store, config)
    first = publish.complete(Snapshot(store, line), quick, DATA, NOW)
    second = publish.complete(Snapshot(store, line), slow, DATA, NOW)
    assert slow.requested < quick.requested
    if config.layout_version == 2:
        assert str(first.instant.completed) < str(second.instant.completed)


# --- races on the request ---------------------------------------------------------------------
@pytest.mark.parametrize("other", ["commit", "deltacommit"])
def test_request_never_shares_an_instant(
    table: tuple[DirectoryStorage, TableConfig], other: str
) -> None:
    store, config = table
    stale = timeline.load(store, config)
    taken = publish.request(Snapshot(store, stale), other, now=NOW)
    mine = publish.request(Snapshot(store, stale), "commit", b"plan", NOW)
    assert mine.requested > taken.requested
    assert store.get(stale.path(mine)) == b"plan"
    assert len(timeline.load(store, config).instants) == 2  # nothing of the lost race is left


def test_request_whose_answer_is_lost_takes_another(
    table: tuple[DirectoryStorage, TableConfig],
) -> None:
    store, config = table
    lost = FailingStorage(store, 1, after=True, ops={"put_if_absent"})
    mine = publish.request(Snapshot(lost, timeline.load(store, config)), "commit", now=NOW)
    assert mine.requested > FIRST


def test_inflight_of_another_writer_is_a_conflict(
    table: tuple[DirectoryStorage, TableConfig],
) -> None:
    store, config = table
    line, instant = started(store, config)
    assert publish.inflight(Snapshot(store, line), instant) == instant
    with pytest.raises(CommitConflictError):
        publish.inflight(Snapshot(store, line), instant, b"other")


# --- fences -----------------------------------------------------------------------------------
@pytest.mark.parametrize("state", [State.REQUESTED, State.INFLIGHT])
def test_files_gone_is_a_conflict(
    table: tuple[DirectoryStorage, TableConfig], state: State
) -> None:
    store, config = table
    line, instant = started(store, config)
    store.delete(line.path(instant.at(state)))
    done = publish.complete(Snapshot(store, line), instant, DATA)
    assert done.result is Result.CONFLICTED and "does not exist" in done.reason


@pytest.mark.parametrize("finished", [False, True])
def test_rollback_requested_is_a_conflict(
    table: tuple[DirectoryStorage, TableConfig], finished: bool
) -> None:
    store, config = table
    line, instant = started(store, config)
    _, bystander = started(store, config)
    target = {"commitTime": instant.requested, "action": "commit"}
    plan = codec_avro.encode("HoodieRollbackPlan", {"instantToRollback": target})
    rollback = publish.request(Snapshot(store, line), "rollback", plan)
    if finished:
        publish.complete(Snapshot(store, line), rollback, b"x")
    done = publish.complete(Snapshot(store, line), instant, DATA)
    assert done.result is Result.CONFLICTED and "rollback" in done.reason
    assert publish.complete(Snapshot(store, line), bystander, DATA).committed


def test_restore_requested_is_a_conflict(table: tuple[DirectoryStorage, TableConfig]) -> None:
    store, config = table
    line, instant = started(store, config)
    publish.request(Snapshot(store, line), "restore")
    assert publish.complete(Snapshot(store, line), instant, DATA).result is Result.CONFLICTED


# --- stores that are not sure -----------------------------------------------------------------
@pytest.mark.parametrize(
    ("script", "result", "there"),
    [
        (["done, unknown"], Result.COMMITTED, True),
        (["unknown"], Result.COMMITTED, True),  # asked once more
        (["unknown", "done, unknown"], Result.COMMITTED, True),
        (["unknown", "unknown"], Result.UNKNOWN, False),
        (["unknown", "error"], Result.UNKNOWN, False),
    ],
)
def test_unknown_is_settled_by_asking_for_the_same_name(
    table: tuple[DirectoryStorage, TableConfig], script: list[str], result: Result, there: bool
) -> None:
    store, config = table
    line, instant = started(store, config)
    done = publish.complete(Snapshot(Answers(store, *script), line), instant, DATA, NOW)
    assert done.result is result
    completed = timeline.load(store, config).completed()
    assert completed == ((done.instant,) if there else ())
    assert len(names(store, config)) == 2 + there  # never two completions


def test_refused_is_an_error_and_nothing_is_there(
    table: tuple[DirectoryStorage, TableConfig],
) -> None:
    store, config = table
    line, instant = started(store, config)
    with pytest.raises(StorageError):
        publish.complete(Snapshot(Answers(store, "error"), line), instant, DATA)
    assert not timeline.load(store, config).completed()
    assert publish.complete(Snapshot(store, line), instant, DATA).committed


def test_unknown_then_rolled_back_is_a_conflict(
    table: tuple[DirectoryStorage, TableConfig],
) -> None:
    store, config = table
    line, instant = started(store, config)
    target = {"commitTime": instant.requested, "action": "commit"}
    plan = codec_avro.encode("HoodieRollbackPlan", {"instantToRollback": target})
    unsure = Answers(store, "unknown")
    unsure.on_unknown = lambda: publish.request(Snapshot(store, line), "rollback", plan)
    assert publish.complete(Snapshot(unsure, line), instant, DATA).result is Result.CONFLICTED
    assert not timeline.load(store, config).completed()


def test_unknown_then_somebody_elses_bytes(table: tuple[DirectoryStorage, TableConfig]) -> None:
    store, config = table
    line, instant = started(store, config)
    unsure = Answers(store, "unknown")
    unsure.on_unknown = lambda: publish.complete(Snapshot(store, line), instant, b"theirs")
    assert publish.complete(Snapshot(unsure, line), instant, DATA).result is Result.CONFLICTED


def test_store_that_goes_away_after_the_put(table: tuple[DirectoryStorage, TableConfig]) -> None:
    store, config = table
    line, instant = started(store, config)
    unsure = Answers(store, "done, unknown")
    # The looks at the ledger and at the timeline succeed.
    gone = FailingStorage(unsure, 3, once=False, ops={"list", "get"})
    done = publish.complete(Snapshot(gone, line), instant, DATA)
    assert done.result is Result.UNKNOWN
    ledger.settle(store, config)  # as the next reader or writer does
    assert timeline.load(store, config).completed()


# --- codecs -----------------------------------------------------------------------------------
@pytest.mark.parametrize("layout", [1, 2])
@pytest.mark.parametrize("action", ["commit", "replacecommit"])
def test_metadata_round_trips(layout: int, action: str) -> None:
    metadata = CommitMetadata(
        Operation.UPSERT,
        (
            WriteStat("a=1", "f-0", "a=1/f.parquet", "20240101", "old", 5, 1, 2, 1, 0, 99, 1, 2),
            WriteStat("a=1", "g-0", "a=1/g.parquet", file_size=3, extra={"totalWriteBytes": 4}),
            WriteStat("b", "h-0", "b/.h.log.1_0-0-0", log_version=1, log_files=("x",)),
        ),
        {"a=1": ("e-0",)} if action == "replacecommit" else {},
        {"schema": '{"é": "\\n"}', "k": ""},
    )
    data = LAYOUTS[layout].encode_commit(metadata, action)
    assert codec.decode_commit(data, "") == metadata
    assert data == LAYOUTS[layout].encode_commit(metadata, action)
    assert data.startswith(b"{" if layout == 1 else b"Obj")


@pytest.mark.parametrize("layout", [1, 2])
def test_inflight_profile(layout: int) -> None:
    metadata = CommitMetadata(
        Operation.UPSERT,
        (WriteStat("p", "", "", num_inserts=3), WriteStat("p", "f-0", "", "20240101")),
    )
    data = LAYOUTS[layout].encode_inflight(metadata)
    assert codec.decode_commit(data, "") == metadata
    (first, second) = codec.decode(data, "")["partitionToWriteStats"]["p"]
    assert first["path"] is None and first["partitionPath"] is None
    assert second["runtimeStats"] is None


def test_fields_that_are_missing_or_new() -> None:
    raw = b'{"partitionToWriteStats": {"p": [{"fileId": "f", "numWrites": null, "new": [1]}]}}'
    metadata = codec.decode_commit(raw, "")
    (stat,) = metadata.stats
    assert (stat.file_id, stat.num_writes, metadata.operation) == ("f", 0, Operation.UNKNOWN)
    again = codec.decode(LAYOUTS[1].encode_commit(metadata, "commit"), "")
    (record,) = again["partitionToWriteStats"]["p"]
    assert record["new"] == [1] and record["numWrites"] is None


@pytest.mark.parametrize(
    "raw", [b"{", b"[]", b'{"partitionToWriteStats": [1]}', b"Obj\x01", b"\xff"]
)
def test_damage_names_the_file(raw: bytes) -> None:
    with pytest.raises(Exception, match="the/file") as caught:
        codec.decode_commit(raw, "the/file")
    assert type(caught.value).__name__ == "CorruptTableError"


def test_requested_replace_is_all_null() -> None:
    found = codec.decode(codec_avro.encode("HoodieRequestedReplaceMetadata", {}), "")
    assert {k: v for k, v in found.items() if v is not None} == {"version": 1}


@pytest.mark.parametrize("name", ["CleanerPlan", "CleanMetadata", "SavepointMetadata"])
def test_schemas_are_packaged(name: str) -> None:
    assert codec_avro.schema(f"Hoodie{name}")["name"].endswith(name)
