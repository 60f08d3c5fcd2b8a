"""Procedures that run table services, and that show what has run: compaction, clustering, clean,
archive, savepoints, rollback."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from attrs import evolve
from hoodoo.errors import ConfigError, InstantGoneError
from hoodoo.model.commit import Operation
from hoodoo.model.instant import Instant, State
from hoodoo.table.table import Table

from hoodoo_statements.session.procedures.procedure import Call, Procedure, Rows


def _run_compaction(call: Call) -> Rows:
    table = call.table
    instants = _planned(call, "compaction", table.schedule_compaction)
    sizes = {instant: _operations(table, instant) for instant in instants}
    if _runs(call):
        for instant in instants:
            table.run_compaction(instant, engine=call.engine)
    return [(i, sizes[i], _state(table, i)) for i in instants[::-1]]


def _show_compaction(call: Call) -> Rows:
    """Pending compactions and those that have run, the newest first."""
    table, rows = call.table, []
    timeline, storage = table.timeline(), table.handle.storage
    for instant in timeline.instants[::-1]:
        pending = instant.traits.begins_slices
        done = instant.is_completed and instant.traits.is_plain
        if pending or (done and timeline.metadata(storage, instant).compacted):
            size = _operations(table, instant.requested)
            rows.append((instant.requested, size, instant.state.value))
    return rows[: call.limit]


def _run_clustering(call: Call) -> Rows:
    table, asked = call.table, dict[str, Any]()
    if "order" in call.given:
        asked["columns"] = _listed(call, "order")
        asked["order"] = "linear"
    if "order_strategy" in call.given:
        asked["order"] = call.given["order_strategy"].lower().replace("-", "")  # z-order
    if "selected_partitions" in call.given:
        asked["partitions"] = _listed(call, "selected_partitions")
    if "options" in call.given:
        asked["options"] = options_of(call)
    instants = _planned(call, "clustering", lambda: table.schedule_clustering(**asked))
    groups = {one.instant: one for one in table.clusterings()}
    if _runs(call):
        for instant in instants:
            table.run_clustering(instant, engine=call.engine)
    shown = call.get("show_involved_partition")
    return [
        (i, groups[i].groups, _state(table, i), ",".join(groups[i].partitions) if shown else "*")
        for i in instants[::-1]
    ]


def _show_clustering(call: Call) -> Rows:
    """Planned clusterings and those that have run, the newest first."""
    table, rows = call.table, []
    timeline, storage = table.timeline(), table.handle.storage
    pending = {one.instant: one for one in table.clusterings()}
    for instant in timeline.instants[::-1]:
        if instant.requested in pending:
            one = pending[instant.requested]
            groups, paths = one.groups, one.partitions
        elif instant.is_completed and instant.traits.replaces:
            metadata = timeline.metadata(storage, instant)
            if metadata.operation is not Operation.CLUSTER:
                continue
            plan = _plan(table, instant, "clustering", "replacecommit")
            groups = len((plan.get("clusteringPlan") or {}).get("inputGroups") or ())
            paths = tuple(sorted({stat.partition_path for stat in metadata.stats}))
        else:
            continue
        shown = ",".join(paths) if call.get("show_involved_partition") else "*"
        rows.append((instant.requested, groups, instant.state.value, shown))
    return rows[: call.limit]


def _run_clean(call: Call) -> Rows:
    names = {
        "retain_commits": "commits_retained",
        "hours_retained": "hours_retained",
        "file_versions_retained": "fileversions_retained",
    }
    asked = {names[key]: value for key, value in call.given.items() if key in names}
    began = time.monotonic()
    done = call.table.clean(call.get("clean_policy"), **asked)
    if not done.instant:
        return []
    taken = int((time.monotonic() - began) * 1000)
    return [(done.instant, taken, len(done.files), done.earliest, "{}", 2)]


def _cleans(call: Call) -> Iterator[tuple[Instant, dict[str, Any]]]:
    """The completed cleans, the newest first, with what each has done."""
    timeline = call.table.timeline()
    for instant in timeline.completed()[::-1]:
        if instant.traits.deletes:
            yield instant, timeline.contents(call.table.handle.storage, instant)


def _show_cleans(call: Call) -> Rows:
    return [
        (
            instant.requested,
            instant.completed,
            instant.action,
            done["startCleanTime"],
            done["timeTakenInMillis"],
            done["totalFilesDeleted"],
            done["earliestCommitToRetain"],
            done.get("lastCompletedCommitTimestamp"),
            done.get("version"),
        )
        for instant, done in _cleans(call)
    ][: call.limit]


def _show_cleans_metadata(call: Call) -> Rows:
    return [
        (
            instant.requested,
            instant.completed,
            instant.action,
            done["startCleanTime"],
            path,
            one["policy"],
            len(one["deletePathPatterns"]),
            len(one["successDeleteFiles"]),
            len(one["failedDeleteFiles"]),
            bool(one.get("isPartitionDeleted")),
            done["timeTakenInMillis"],
            done["totalFilesDeleted"],
        )
        for instant, done in _cleans(call)
        for path, one in done["partitionMetadata"].items()
    ][: call.limit]


def _show_clean_plans(call: Call) -> Rows:
    rows, table = [], call.table
    for instant in table.timeline().instants[::-1]:
        if not instant.traits.deletes:
            continue
        plan = _plan(table, instant, "clean")
        earliest = (plan.get("earliestInstantToRetain") or {}).get("timestamp")
        paths = plan.get("filePathsToBeDeletedPerPartition") or {}
        extra = plan.get("extraMetadata")
        shown = None if not extra else ", ".join(f"{k}={v}" for k, v in sorted(extra.items()))
        rows.append(
            (
                instant.requested,
                instant.state.value,
                instant.action,
                earliest,
                plan.get("lastCompletedCommitTimestamp"),
                plan.get("policy"),
                plan.get("version"),
                len(paths),
                len(plan.get("partitionsToBeDeleted") or ()),
                shown,
            )
        )
    return rows[: call.limit]


def _create_savepoint(call: Call) -> Rows:
    call.table.savepoint(
        call.get("commit_time") or None, call.get("comments", ""), call.get("user", "")
    )
    return [(True,)]


def _delete_savepoint(call: Call) -> Rows:
    call.table.delete_savepoint(_savepoint(call))
    return [(True,)]


def _restore(call: Call) -> Rows:
    call.table.restore(_savepoint(call))
    return [(True,)]


def _savepoint(call: Call) -> str:
    """The savepoint that a call is about, by default the newest."""
    there = [one.instant for one in call.table.savepoints()]
    instant = call.get("instant_time") or (there[-1] if there else "")
    if instant not in there:
        raise ConfigError(
            f"savepoint {instant}",
            f"is not there; savepoints are {', '.join(there) or 'none'}.",
            "Name one of them; table.restore(instant) goes back to any write.",
        )
    return str(instant)


def _rollback(call: Call) -> Rows:
    call.table.rollback(str(call.get("instant_time")))
    return [(True,)]


def _rollback_pending(call: Call) -> Rows:
    began, instant = time.monotonic(), str(call.get("pending_instant"))
    if instant in {one.instant for one in call.table.clusterings()}:
        call.table.cancel_clustering(instant)
    else:
        call.table.rollback(instant)
    return [(instant, str(int((time.monotonic() - began) * 1000)))]


def _archive(call: Call) -> Rows:
    call.table.archive()
    return [(0,)]


def options_of(call: Call) -> dict[str, str]:
    """What ``options => 'a=b,c=d'`` says."""
    pairs = (pair.partition("=") for pair in str(call.get("options", "")).split(",") if pair)
    return {key.strip(): value.strip() for key, _, value in pairs}


def _listed(call: Call, name: str) -> list[str]:
    return [one.strip() for one in str(call.given[name]).split(",")]


def _planned(call: Call, action: str, schedule: Callable[[], str | None]) -> list[str]:
    """The plans that a call is about: those that it names, those that are pending, or a new one."""
    table = call.table
    pending = [i.requested for i in table.timeline().pending() if i.action == action]
    if action == "clustering":
        pending = [one.instant for one in table.clusterings()]
    asked = call.get("instants", call.get("timestamp"))
    if asked is not None:
        instants = [one.strip() for one in str(asked).split(",")]
        lost = [one for one in instants if one not in pending]
        if lost:
            raise ConfigError(
                f"instant {lost[0]}",
                f"is no pending {action} of the table.",
                f"Pending are {', '.join(pending) or 'none'}.",
            )
        return instants
    if _op(call) == "execute":
        return pending[: call.limit]
    made = schedule()
    return [] if made is None else [made]


def _op(call: Call) -> str:
    op = str(call.get("op", "run")).lower()
    if op not in ("run", "schedule", "execute", "scheduleandexecute"):
        raise ConfigError(
            f"op {op!r}", "is not known.", "Use run, schedule, execute or scheduleandexecute."
        )
    return op


def _runs(call: Call) -> bool:
    return _op(call) != "schedule"


def _operations(table: Table, instant: str) -> int:
    """The number of file groups in the plan of a compaction."""
    found = next(i for i in table.timeline().instants if i.requested == instant)
    return len(_plan(table, found, "compaction")["operations"] or ())


def _plan(table: Table, instant: Instant, *actions: str) -> dict[str, Any]:
    """What the plan of an instant says, which lies under the first or second of these names."""
    plan = evolve(instant, action=actions[0]).at(State.REQUESTED)
    try:
        return table.timeline().contents(table.handle.storage, plan)
    except InstantGoneError:
        if len(actions) == 1:
            raise
    return _plan(table, instant, *actions[1:])


def _state(table: Table, instant: str) -> str:
    found = [i for i in table.timeline().instants if i.requested == instant]
    return found[0].state.value if found else "COMPLETED"  # and archived


_CLUSTERED = "timestamp input_group_size:int state involved_partitions"
_COMPACTED = "timestamp operation_size:int state"
_OF_CLEANS = "table* limit=10 showArchived- filter"
PROCEDURES = {
    "run_compaction": Procedure(
        "op* table path timestamp options- instants limit", _COMPACTED, _run_compaction
    ),
    "show_compaction": Procedure("table path limit=20", _COMPACTED, _show_compaction),
    "run_clustering": Procedure(
        "table path predicate- order show_involved_partition=false op order_strategy options "
        "instants selected_partitions partition_regex_pattern- limit",
        _CLUSTERED,
        _run_clustering,
    ),
    "show_clustering": Procedure(
        "table path limit=20 show_involved_partition=false", _CLUSTERED, _show_clustering
    ),
    "run_clean": Procedure(
        "table* skip_locking- schedule_in_line- clean_policy retain_commits hours_retained "
        "file_versions_retained trigger_strategy- trigger_max_commits- options-",
        "start_clean_time time_taken_in_millis:long total_files_deleted:int "
        "earliest_commit_to_retain bootstrap_part_metadata version:int",
        _run_clean,
    ),
    "show_cleans": Procedure(
        _OF_CLEANS,
        "clean_time state_transition_time action start_clean_time time_taken_in_millis:long "
        "total_files_deleted:int earliest_commit_to_retain last_completed_commit_timestamp "
        "version:int",
        _show_cleans,
    ),
    "show_cleans_metadata": Procedure(
        _OF_CLEANS,
        "clean_time state_transition_time action start_clean_time partition_path policy "
        "delete_path_patterns:int success_delete_files:int failed_delete_files:int "
        "is_partition_deleted:boolean time_taken_in_millis:long total_files_deleted:int",
        _show_cleans_metadata,
    ),
    "show_clean_plans": Procedure(
        _OF_CLEANS,
        "plan_time state action earliest_instant_to_retain last_completed_commit_timestamp policy "
        "version:int total_partitions_to_clean:int total_partitions_to_delete:int extra_metadata",
        _show_clean_plans,
    ),
    "create_savepoint": Procedure(
        "table commit_time user comments path",
        "create_savepoint_result:boolean",
        _create_savepoint,
    ),
    "delete_savepoint": Procedure(
        "table instant_time path", "delete_savepoint_result:boolean", _delete_savepoint
    ),
    "rollback_to_savepoint": Procedure(
        "table instant_time path", "rollback_savepoint_result:boolean", _restore
    ),
    "rollback_to_instant": Procedure("table* instant_time*", "rollback_result:boolean", _rollback),
    "run_rollback_inflight_tableservice": Procedure(
        "table path pending_instant* delete_request_instant_file-",
        "instant time_cost",
        _rollback_pending,
    ),
    "archive_commits": Procedure(
        "table path min_commits- max_commits- retain_commits- enable_metadata-",
        "result:int",
        _archive,
    ),
}
