"""Clusterings as steps of a trial: planned, run and cancelled, beside writes that they give way to.

No row changes: the model has nothing to do, but where log files are clustered, too. It does not know of
file groups, so that these clusterings take all log files that there are, as a compaction does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from attrs import frozen
from cluster_draws import CANCEL, PLAN_OR_RUN, Cluster
from hoodoo.errors import CommitConflictError, UnsupportedTableError
from hoodoo.timeline.snapshot import Snapshot
from hoodoo_clustering.plan import pending_clusterings
from hoodoo_rows.write.commit import Commit
from table_model import Model
from table_model_mor import LogModel
from tally import TALLY

if TYPE_CHECKING:
    from table_trial import Trial

Group = tuple[str, str]  # partition path, file id
Files = dict[Group, tuple[str, ...]]
# Writers go first: a plan whose file groups they change is given up when it is run.
OPTIONS = {"hoodie.clustering.updates.strategy": "allow"}
_LOGS = "hoodoo.clustering.with.log.files"


@frozen(eq=False)
class Planned:
    """A clustering, and the table when it was planned. ``files``: those of the slices that it takes;
    ``logs``: there are log files among them, and these are all that the table has."""

    instant: str
    model: Model
    schema: pa.Schema
    seqnos: dict[tuple[str, str], tuple[str, str]]
    files: Files
    groups: int
    logs: bool


@frozen(eq=False)
class Clustered:
    """A clustering that is done. ``at_once``: nothing else happened since it was planned."""

    commit: Commit
    planned: Planned
    at_once: bool


def cluster(trial: Trial, step: Cluster, where: str) -> Clustered | None:
    """Take the step; None if no clustering has been completed."""
    if step.reopen:
        trial.table = trial._open()
    if trial.setup.index == "bucket":
        with pytest.raises(UnsupportedTableError):
            trial.table.cluster()
        return None
    if step.kind == CANCEL:
        if trial.clustering is not None:
            cancel(trial, trial.clustering)
            trial.clustering = None
        return None
    if trial.clustering is not None:
        return run(trial, where)
    if step.kind == PLAN_OR_RUN or _takes_logs(trial, step):
        trial.clustering = _plan(trial, step)
        if step.kind == PLAN_OR_RUN or trial.clustering is None:
            return None
        return run(trial, where, at_once=True)
    return _at_once(trial, step)


def run(trial: Trial, where: str, at_once: bool = False) -> Clustered | None:
    """Run the clustering that waits. It gives way if, and only if, what it would rewrite is not there
    any more: it is gone then, too."""
    planned = trial.clustering
    assert planned is not None
    trial.clustering = None
    now = _files(trial)
    changed = any(now.get(group) != names for group, names in planned.files.items())
    try:
        commit = trial.table.run_clustering(planned.instant)
    except CommitConflictError as error:
        assert changed, f"{where}: {error}"
        assert not trial.table.clusterings(), where
        TALLY.add("clusterings that gave way")
        return None
    assert not changed and commit.instant == planned.instant, where
    assert not trial.table.clusterings(), where
    if planned.logs:
        assert isinstance(trial.model, LogModel)
        trial.model.compact()
        TALLY.add("clusterings with log files")
    if not at_once:
        TALLY.add("clusterings planned and run apart")
    _tell(commit, planned)
    _index_anew(trial)
    return Clustered(commit, planned, at_once)


def cancel(trial: Trial, planned: Planned) -> None:
    trial.table.cancel_clustering(planned.instant)
    assert not trial.table.clusterings()
    TALLY.add("clusterings cancelled")


def _plan(trial: Trial, step: Cluster) -> Planned | None:
    """A clustering that is planned; None if there is nothing to do."""
    takes = _takes_logs(trial, step)
    options = {_LOGS: "true"} if takes else {}
    instant = trial.table.schedule_clustering(**_how(trial, step), options=options)
    if instant is None:
        assert not trial.table.clusterings()
        return None
    planned = _planned(trial, instant, logs=takes)
    if not planned.logs and takes and _with_logs(trial) & planned.files.keys():
        cancel(trial, planned)  # the model has no eye for some of them
        TALLY.add("clusterings of some log files")
        return None
    if planned.logs:
        assert isinstance(planned.model, LogModel) and isinstance(trial.model, LogModel)
        trial.model.schedule()
        planned.model.schedule()
    TALLY.add(f"planned by {step.planner}")
    TALLY.add(f"order {step.order}")
    return planned


def _at_once(trial: Trial, step: Cluster) -> Clustered | None:
    files = _files(trial)
    before = Planned("", trial.model.copy(), trial.schema, trial.seqnos, {}, 0, False)
    commit = trial.table.cluster(**_how(trial, step))
    if not commit.instant:
        return None
    TALLY.add(f"planned by {step.planner}")
    TALLY.add(f"order {step.order}")
    told = trial.table.timeline()
    (write,) = [w for w in told.writes() if w.requested == commit.instant]
    replaced = told.metadata(trial.table.handle.storage, write).replaced
    taken = {(path, i) for path, ids in replaced.items() for i in ids}
    assert taken <= files.keys() and not taken & _files(trial).keys()
    _tell(commit, before)
    _index_anew(trial)
    return Clustered(commit, before, True)


def _index_anew(trial: Trial) -> None:
    """A record index forgets the keys of the file groups that were replaced which no row has any more, and
    the model does not know which these are."""
    model = trial.model
    if not trial.setup.by_records or not isinstance(model, LogModel):
        return
    copies = [copy for found in model.copies.values() for copy in found]
    if any(copy.told and model._alive(copy) is None for copy in copies):
        report = trial.table.verify()
        assert report.ok, [str(found) for found in report.findings]
        trial.table.rebuild_index()
        model.indexed_anew()
        TALLY.add("clusterings beside forgotten keys")


def _takes_logs(trial: Trial, step: Cluster) -> bool:
    # The logs of a pending compaction's groups stay out, and the model has no eye for groups.
    return step.logs and trial.setup.merge_on_read and trial.pending is None


def _how(trial: Trial, step: Cluster) -> dict[str, Any]:
    sortable = [field.name for field in trial.schema if not pa.types.is_nested(field.type)]
    columns = list(dict.fromkeys(sortable[n % len(sortable)] for n in step.columns))
    ordered = step.order != "combine" or step.planner == "overlap"
    return {
        "plan": step.planner,
        "order": step.order,
        "columns": columns if ordered else None,
        "target_file_size": _target(trial, step),
    }


def _target(trial: Trial, step: Cluster) -> int:
    """Bytes: files of that size and more are not taken."""
    sizes = [s.base_file.size for s in trial.table.file_slices() if s.base_file is not None]
    most, some = max(sizes, default=1) + 1, sorted(sizes or [1])[len(sizes) // 2] + 1
    takes_all = _takes_logs(trial, step)
    return (most, most + most // 4, 1 << 20, most if takes_all else some)[step.room]


def planned_groups(trial: Trial) -> frozenset[tuple[str, str]]:
    """(partition path, file id) of all that pending clusterings rewrite."""
    plans = pending_clusterings(Snapshot(trial.table.handle.storage, trial.table.timeline()))
    return frozenset[tuple[str, str]]().union(*(plan.file_groups for _, plan in plans))


def _planned(trial: Trial, instant: str, logs: bool) -> Planned:
    timeline = trial.table.timeline()
    ((found, plan),) = pending_clusterings(Snapshot(trial.table.handle.storage, timeline))
    assert found.requested == instant
    now = _files(trial)
    files = {group: now[group] for group in plan.file_groups}
    with_logs = _with_logs(trial)
    assert logs or not with_logs & files.keys(), "log files that nobody asked for"
    every = bool(with_logs) and with_logs <= files.keys()
    seqnos = trial.seqnos
    return Planned(
        instant, trial.model.copy(), trial.schema, seqnos, files, len(plan.groups), every
    )


def _files(trial: Trial) -> Files:
    """The files of the newest slices."""
    return {
        (s.partition_path, s.file_id): (
            s.base_file.name if s.base_file is not None else "",
            *sorted(log.name for log in s.row_logs),
        )
        for s in trial.table.file_slices()
    }  # fmt: skip


def _with_logs(trial: Trial) -> set[Group]:
    return {(s.partition_path, s.file_id) for s in trial.table.file_slices() if s.row_logs}


def _tell(commit: Commit, planned: Planned) -> None:
    TALLY.add("clusterings")
    if len(commit.files) > planned.groups > 0:
        TALLY.add("clusterings into several files of a group")
