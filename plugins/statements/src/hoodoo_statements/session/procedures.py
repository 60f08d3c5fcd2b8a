"""CALL: Hudi's procedures by their names, with their arguments and the columns of their answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
import sqlglot
from attrs import frozen
from hoodoo.calls import nearest
from hoodoo.errors import ConfigError
from hoodoo.model.instant import State
from hoodoo.table.table import Table
from hoodoo.table.table import open as open_table
from sqlglot import exp

from hoodoo_statements.session.names import SessionNames
from hoodoo_statements.text.dialect import DIALECT

Rows = list[tuple[Any, ...]]
_TEXT, _LONG, _INT, _TRUTH = pa.string(), pa.int64(), pa.int32(), pa.bool_()
# Procedures of Hudi that are a method here.
_METHODS = {
    "archive_commits": "table.archive()",
    "copy_to_table": "CREATE TABLE ... AS SELECT",
    "create_metadata_table": "table.rebuild_index()",
    "downgrade_table": "table.downgrade(version)",
    "drop_partition": "table.delete_partitions(paths)",
    "hive_sync": "table.sync()",
    "init_metadata_table": "table.rebuild_index()",
    "repair_deduplicate": "table.verify(), then DELETE FROM",
    "show_clustering": "table.clusterings()",
    "show_savepoints": "table.savepoints()",
    "show_table_properties": "SHOW TBLPROPERTIES t",
    "show_timeline": "table.history() or table.timeline()",
    "stats_file_sizes": "table.stats()",
    "truncate_table": "TRUNCATE TABLE t",
    "upgrade_table": "table.upgrade(version)",
    "validate_metadata_table_files": "table.verify()",
}


@frozen
class Procedure:
    """``parameters``: names in Hudi's order; ``*`` marks those that are required, ``-`` those that
    mean nothing here. ``columns``: of the answer."""

    parameters: str
    columns: Mapping[str, pa.DataType]
    run: Callable[[Table, Mapping[str, Any], Any], Rows]


def call(tree: exp.Command, names: SessionNames) -> pa.Table:
    """What ``CALL name(...)`` answers. ConfigError for a procedure or an argument that is not
    known."""
    text = str(getattr(tree.args.get("expression"), "name", "")).strip()
    name, values = _read(text)
    if name not in PROCEDURES:
        near = nearest(name, PROCEDURES)
        fix = f"Did you mean {near}? " if near else ""
        fix = f"Use {_METHODS[name]}. " if name in _METHODS else fix
        raise ConfigError(
            f"procedure {name}", "is not known here.", f"{fix}There are {', '.join(PROCEDURES)}."
        )
    procedure = PROCEDURES[name]
    given = _arguments(name, procedure, values)
    table = _table(name, given, names)
    engine = None if names.spark is None else "spark"
    rows = procedure.run(table, given, engine)
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(procedure.columns)
    kinds = procedure.columns.values()
    arrays = [pa.array(c, k) for c, k in zip(columns, kinds, strict=True)]
    return pa.table(arrays, list(procedure.columns))


def _read(text: str) -> tuple[str, list[Any]]:
    """The name and the arguments of a call."""
    try:
        # Hudi's procedures may be called system.name, as Spark's are.
        node = sqlglot.parse_one(text.removeprefix("system."), read=DIALECT)
    except sqlglot.errors.SqlglotError:
        node = None
    if not isinstance(node, exp.Anonymous):
        raise ConfigError(
            f"CALL {text}", "is no call.", "Write CALL show_commits(table => 't', limit => 5)."
        )
    return str(node.this).lower(), node.expressions


def _arguments(name: str, procedure: Procedure, values: list[Any]) -> dict[str, Any]:
    known = procedure.parameters.replace("*", "").replace("-", "").split()
    listed = procedure.parameters.split()
    given: dict[str, Any] = {}
    for n, node in enumerate(values):
        if isinstance(node, exp.Kwarg):
            key, value = node.name.lower(), node.expression
        else:
            key, value = known[n] if n < len(known) else f"number {n + 1}", node
        if key not in known or f"{key}-" in listed:
            takes = ", ".join(one.rstrip("*") for one in listed if not one.endswith("-"))
            raise ConfigError(
                f"argument {key} of {name}", "is not supported here.", f"It takes {takes}."
            )
        if key in given:
            raise ConfigError(f"argument {key} of {name}", "is given twice.", "Give it once.")
        given[key] = _value(name, key, value)
    for one in listed:
        if one.endswith("*") and one.rstrip("*") not in given:
            raise ConfigError(
                f"procedure {name}",
                f"lacks its argument {one.rstrip('*')}.",
                f"Write {one.rstrip('*')} => '...'.",
            )
    return {key: value for key, value in given.items() if value is not None}


def _value(name: str, key: str, node: Any) -> Any:
    if isinstance(node, exp.Null):
        return None
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if isinstance(node, exp.Literal):
        return str(node.this) if node.is_string else int(str(node.this))
    raise ConfigError(f"argument {key} of {name}", "is no literal.", "Write its value.")


def _table(name: str, given: Mapping[str, Any], names: SessionNames) -> Table:
    if ("table" in given) == ("path" in given):
        raise ConfigError(
            f"procedure {name}",
            "needs one table.",
            "Write table => 'db.t' or path => '/path/of/t'.",
        )
    if "path" in given:
        return open_table(str(given["path"]))
    return names.table(exp.to_table(str(given["table"]), dialect=DIALECT))


def _show_commits(table: Table, given: Mapping[str, Any], engine: Any) -> Rows:
    timeline, rows = table.timeline(), []
    for instant in timeline.writes()[::-1][: given.get("limit", 10)]:
        stats = timeline.metadata(table.handle.storage, instant).stats
        updated = {(s.partition_path, s.file_id) for s in stats if s.prev_commit != "null"}
        added = {(s.partition_path, s.file_id) for s in stats if s.prev_commit == "null"}
        rows.append(
            (
                instant.requested,
                instant.completed,
                instant.action,
                sum(s.file_size for s in stats),
                len(added),
                len(updated),
                len({s.partition_path for s in stats}),
                sum(s.num_writes for s in stats),
                sum(s.num_updates for s in stats),
                sum(s.total_write_errors for s in stats),
            )
        )
    return rows


def _run_compaction(table: Table, given: Mapping[str, Any], engine: Any) -> Rows:
    instants = _planned(table, given, "compaction", table.schedule_compaction)
    sizes = {instant: _operations(table, instant) for instant in instants}
    if _runs(given):
        for instant in instants:
            table.run_compaction(instant, engine=engine)
    return [(i, sizes[i], _state(table, i)) for i in instants[::-1]]


def _run_clustering(table: Table, given: Mapping[str, Any], engine: Any) -> Rows:
    asked: dict[str, Any] = {}
    if "order" in given:
        asked["columns"] = [name.strip() for name in given["order"].split(",")]
        asked["order"] = "linear"
    if "order_strategy" in given:
        asked["order"] = given["order_strategy"].lower().replace("-", "")  # z-order
    if "selected_partitions" in given:
        asked["partitions"] = [one.strip() for one in given["selected_partitions"].split(",")]
    if "options" in given:
        pairs = (pair.partition("=") for pair in given["options"].split(","))
        asked["options"] = {key.strip(): value.strip() for key, _, value in pairs}
    instants = _planned(table, given, "clustering", lambda: table.schedule_clustering(**asked))
    groups = {one.instant: one for one in table.clusterings()}
    if _runs(given):
        for instant in instants:
            table.run_clustering(instant, engine=engine)
    shown = given.get("show_involved_partition", False)
    return [
        (i, groups[i].groups, _state(table, i), ",".join(groups[i].partitions) if shown else "*")
        for i in instants[::-1]
    ]


def _run_clean(table: Table, given: Mapping[str, Any], engine: Any) -> Rows:
    names = {
        "retain_commits": "commits_retained",
        "hours_retained": "hours_retained",
        "file_versions_retained": "fileversions_retained",
    }
    asked = {names[key]: value for key, value in given.items() if key in names}
    began = time.monotonic()
    done = table.clean(given.get("clean_policy"), **asked)
    if not done.instant:
        return []
    taken = int((time.monotonic() - began) * 1000)
    return [(done.instant, taken, len(done.files), done.earliest, None, 2)]


def _create_savepoint(table: Table, given: Mapping[str, Any], engine: Any) -> Rows:
    table.savepoint(
        given.get("commit_time") or None, given.get("comments", ""), given.get("user", "")
    )
    return [(True,)]


def _delete_savepoint(table: Table, given: Mapping[str, Any], engine: Any) -> Rows:
    table.delete_savepoint(_savepoint(table, given))
    return [(True,)]


def _restore(table: Table, given: Mapping[str, Any], engine: Any) -> Rows:
    table.restore(_savepoint(table, given))
    return [(True,)]


def _savepoint(table: Table, given: Mapping[str, Any]) -> str:
    """The savepoint that a call is about, by default the newest."""
    there = [one.instant for one in table.savepoints()]
    instant = given.get("instant_time") or (there[-1] if there else "")
    if instant not in there:
        raise ConfigError(
            f"savepoint {instant}",
            f"is not there; savepoints are {', '.join(there) or 'none'}.",
            "Name one of them; table.restore(instant) goes back to any write.",
        )
    return str(instant)


def _rollback(table: Table, given: Mapping[str, Any], engine: Any) -> Rows:
    table.rollback(given["instant_time"])
    return [(True,)]


def _planned(
    table: Table, given: Mapping[str, Any], action: str, schedule: Callable[[], str | None]
) -> list[str]:
    """The plans that a call is about: those that it names, those that are pending, or a new one."""
    pending = [i.requested for i in table.timeline().pending() if i.action == action]
    if action == "clustering":
        pending = [one.instant for one in table.clusterings()]
    named = given.get("instants", given.get("timestamp"))
    if named is not None:
        wanted = [one.strip() for one in str(named).split(",")]
        lost = [one for one in wanted if one not in pending]
        if lost:
            raise ConfigError(
                f"instant {lost[0]}",
                f"is no pending {action} of the table.",
                f"Pending are {', '.join(pending) or 'none'}.",
            )
        return wanted
    if _op(given) == "execute":
        return pending[: given.get("limit")]
    made = schedule()
    return [] if made is None else [made]


def _op(given: Mapping[str, Any]) -> str:
    op = str(given.get("op", "run")).lower()
    if op not in ("run", "schedule", "execute", "scheduleandexecute"):
        raise ConfigError(
            f"op {op!r}", "is not known.", "Use run, schedule, execute or scheduleandexecute."
        )
    return op


def _runs(given: Mapping[str, Any]) -> bool:
    return _op(given) != "schedule"


def _operations(table: Table, instant: str) -> int:
    """The number of file groups in the plan of a pending compaction."""
    timeline = table.timeline()
    plan = next(i for i in timeline.pending() if i.requested == instant).at(State.REQUESTED)
    return len(timeline.contents(table.handle.storage, plan)["operations"] or ())


def _state(table: Table, instant: str) -> str:
    found = [i for i in table.timeline().instants if i.requested == instant]
    return found[0].state.value if found else "COMPLETED"  # and archived


_SHOWN = {
    "commit_time": _TEXT,
    "state_transition_time": _TEXT,
    "action": _TEXT,
    "total_bytes_written": _LONG,
    "total_files_added": _LONG,
    "total_files_updated": _LONG,
    "total_partitions_written": _LONG,
    "total_records_written": _LONG,
    "total_update_records_written": _LONG,
    "total_errors": _LONG,
}
_CLEANED = {
    "start_clean_time": _TEXT,
    "time_taken_in_millis": _LONG,
    "total_files_deleted": _INT,
    "earliest_commit_to_retain": _TEXT,
    "bootstrap_part_metadata": _TEXT,
    "version": _INT,
}
_COMPACTED = {"timestamp": _TEXT, "operation_size": _INT, "state": _TEXT}
_CLUSTERED = {
    "timestamp": _TEXT,
    "input_group_size": _INT,
    "state": _TEXT,
    "involved_partitions": _TEXT,
}
PROCEDURES: dict[str, Procedure] = {
    "show_commits": Procedure("table* limit", _SHOWN, _show_commits),
    "run_compaction": Procedure(
        "op* table path timestamp options- instants limit", _COMPACTED, _run_compaction
    ),
    "run_clustering": Procedure(
        "table path predicate- order show_involved_partition op order_strategy options instants "
        "selected_partitions",
        _CLUSTERED,
        _run_clustering,
    ),
    "run_clean": Procedure(
        "table* skip_locking- schedule_in_line- clean_policy retain_commits hours_retained "
        "file_versions_retained trigger_strategy- trigger_max_commits- options-",
        _CLEANED,
        _run_clean,
    ),
    "create_savepoint": Procedure(
        "table commit_time user comments path",
        {"create_savepoint_result": _TRUTH},
        _create_savepoint,
    ),
    "delete_savepoint": Procedure(
        "table instant_time path", {"delete_savepoint_result": _TRUTH}, _delete_savepoint
    ),
    "rollback_to_savepoint": Procedure(
        "table instant_time path", {"rollback_savepoint_result": _TRUTH}, _restore
    ),
    "rollback_to_instant": Procedure(
        "table* instant_time*", {"rollback_result": _TRUTH}, _rollback
    ),
}
