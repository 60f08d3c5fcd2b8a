"""A trial of a table's whole life: writes, and between them cleans, archivings, savepoints, restores,
rollbacks and compactions; after each step every older state is asked for."""

from __future__ import annotations

import random
from typing import Any

import hoodoo
import life_clusterings
import pyarrow as pa
import table_draws as draws
from attrs import define, evolve, field
from cluster_draws import Cluster
from cluster_steps import Clustered
from crash_leaks import leaks
from hoodoo.errors import CommitConflictError, ConfigError
from hoodoo.model.instant import Instant
from hoodoo.testing.stores import Crash, CrashingStorage
from hoodoo.timeline import replaced, replaced_note
from hoodoo.timeline.names import parse_path
from hoodoo.timeline.view import list_data
from hoodoo_rows.write.commit import Commit
from hoodoo_standard.engine.local import LocalEngine
from hoodoo_standard.storage.local import LocalStorage
from life_draws import (
    ARCHIVE,
    CLEAN,
    COMPACT_INDEX,
    HEAL,
    PLAN_CLEAN,
    REBUILD,
    RESTORE,
    SAVEPOINT,
    UNDO,
    UNPLAN,
    UNSAVE,
    Service,
    Step,
    Try,
)  # fmt: skip
from life_points import FIRST, Point, Points
from life_ranges import Ranges
from refusal_steps import refuse
from table_checks import check_files, check_stats, check_virtual_files, compare
from table_draws import Draw, Op
from table_model import Model
from table_model_mor import LogModel
from table_trial import Trial, base_schema
from tally import TALLY

_COMPACTIONS = (draws.COMPACT, draws.SCHEDULE)


@define
class _Landed:
    """In place of a table: the write has been done already."""

    table: hoodoo.Table
    commit: Commit

    def read(self, **wanted: Any) -> Any:
        return self.table.read(**wanted)

    def __getattr__(self, name: str) -> Any:
        return lambda *_: self.commit


@define
class Life(Trial):
    """``saved``: instants that savepoints keep. ``plan``: the table when the pending compaction was
    planned, and its schema. ``active``: the writes that the timeline shows. ``cleans``: those of the timeline that have been reckoned with. ``thorough``: everything is looked at
    after each step."""

    points: Points = field(init=False)
    saved: set[str] = field(factory=set)
    plan: tuple[LogModel, pa.Schema] | None = None
    active: set[str] = field(factory=set)
    cleans: set[str] = field(factory=set)
    thorough: bool = False
    indexings: set[str] = field(factory=set)
    policy: tuple[str, int] | None = None  # of the step, where it is not the table's
    number: int = 0

    def __attrs_post_init__(self) -> None:
        Trial.__attrs_post_init__(self)
        start = Point(
            FIRST, FIRST, base_schema(self.setup), self.model.copy(), self.model.copy(), {}
        )
        self.points = Points(self.setup.version, start, [])

    # --- steps ------------------------------------------------------------------------------------
    def live(self, steps: list[Step]) -> None:
        for self.number, step in enumerate(steps):
            where = f"step {self.number}, {step.kind}"
            self.policy = None
            if isinstance(step, Service):
                self._serve(step, where)
            elif isinstance(step, Try):
                self._try(step, where)
            elif isinstance(step, Cluster):
                life_clusterings.take(self, step, where)
            else:
                self._do(step, where)
            TALLY.add(step.kind)
            self._forget()
            self._index_anew()
            self._look(where)
        self._end()
        TALLY.add("lives")

    def _forget(self) -> None:
        """Where replacecommits are noted, all goes by the note, as in a new process."""
        if replaced_note.MANY == 0 and (self.path / replaced_note.PATH).exists():
            TALLY.add("noted")
            replaced._seen.clear()
            replaced_note._known.clear()
            self.table = self._open()

    def _do(self, op: Op, where: str) -> None:
        op = self._begin(op)
        refuse(self, op, where)
        if op.kind == draws.COMPACT and self.pending is not None:
            op = evolve(op, kind=draws.SCHEDULE)  # run it, and no other one
        if op.kind in _COMPACTIONS and self.setup.version == 6:
            self.table.rollback()  # it is refused beside writes, even failed ones
        was = self.pending
        commit, counts = self._write(op)
        if op.kind in _COMPACTIONS:
            self._compacted(commit, was)
        if commit is None:
            return
        if op.kind not in _COMPACTIONS:
            self._stamp(commit.instant)
            if not self.setup.merge_on_read or self.setup.index == "simple":
                assert (commit.inserted, commit.updated, commit.deleted) == counts, where
            self._add(commit, self.model.copy(), self.schema)
        if not self.setup.merge_on_read:
            self._check_files(commit, where)
        # Only writes look after what others have left.
        check_stats(self.path, self.setup, commit, where, tidy=op.kind not in _COMPACTIONS)

    def _add(self, commit: Commit, model: Model, schema: pa.Schema, **more: Any) -> Point:
        place = commit.instant if self.setup.version == 6 else commit.completed or ""
        assert place, "a commit that does not say when it completed"
        replaces = commit.action == "replacecommit"
        point = Point(commit.instant, place, schema, model, model, {}, replaces=replaces, **more)
        self.points.all.append(point)
        return point

    def _compacted(self, commit: Commit | None, was: str | None) -> None:
        """A compaction was planned, or ``commit`` is one, planned before this step if ``was``."""
        if commit is None:
            if was is None and self.pending is not None:
                assert isinstance(self.model, LogModel)
                self.plan = self.model.copy(), self.schema
                newest = self.points.newest()  # what is there if all that comes now is undone
                newest.planned()
            return
        before = self.points.all[-1] if self.points.all else self.points.first
        if was is None or self.plan is None:
            self._add(commit, self.model.copy(), self.schema, changes=False)
            return
        model, schema = self.plan
        self.plan = None
        if self.clustering is not None and self.clustering.instant > commit.instant:
            self.clustering.model.compact()  # type: ignore[attr-defined]
        planned = model.copy()
        planned.compact()
        point = self._add(commit, self.model.copy(), schema, changes=False)
        point.seen = planned
        point.shifts = before.raw.rows != self.model.rows
        self.points.compacted(commit.instant)

    def _clustered(self, done: Clustered, where: str) -> None:
        life_clusterings.add(self, done, where)

    # --- writes that crash ------------------------------------------------------------------------
    def _try(self, step: Try, where: str) -> None:
        """What is on the timeline afterwards has happened, all of it; else nothing has."""
        if self.engine is not None:
            return self._do(step.op, where)
        op = self._begin(step.op)
        old = self.model.copy(), self.schema, self.fresh
        known = {w.requested for w in self.table.timeline().writes()}
        whole = self.table
        self.table = self._open()
        self.table.handle.default_engine = LocalEngine(1)
        self.table.handle.storage = CrashingStorage(self.table.handle.storage, step.crash)
        try:
            commit, _counts = self._write(op)
        except Crash:
            TALLY.add("crash")
            self.table = self._open()
            new = [w for w in self.table.timeline().writes() if w.requested not in known]
            self.model, self.schema, self.fresh = old
            if not new:
                return None
            TALLY.add("crash after the commit")
            commit = _commit(*new)
            whole, self.table = self.table, _Landed(self.table, commit)  # type: ignore[assignment]
            self._write(op)
        self.table = whole
        if commit is not None:
            self._stamp(commit.instant)
            self._add(commit, self.model.copy(), self.schema)
            if not self.setup.merge_on_read:
                self._check_files(commit, where)
        return None

    def _check_files(self, commit: Commit, where: str) -> None:
        if self.setup.virtual:
            check_virtual_files(self.table, self.path, self.model, where)
            return
        seqnos = check_files(self.table, self.path, self.model, self.seqnos, commit, where)
        self.seqnos = self.points.all[-1].seqnos = seqnos

    # --- services ---------------------------------------------------------------------------------
    def _serve(self, step: Service, where: str) -> None:
        if step.kind in (CLEAN, PLAN_CLEAN):
            self._clean(step)
        elif step.kind == ARCHIVE:
            self._archive(step, where)
        elif step.kind == SAVEPOINT:
            self._savepoint(step, where)
        elif step.kind == UNSAVE:
            if self.saved:
                chosen = sorted(self.saved)[step.which % len(self.saved)]
                self.table.delete_savepoint(chosen)
                self.saved.remove(chosen)
        elif step.kind == RESTORE:
            self._restore(step, where)
        elif step.kind == UNDO:
            self._undo(where)
        elif step.kind == UNPLAN:
            self._unplan(where)
        elif step.kind == REBUILD:
            if self.setup.has_metadata:
                self.table.rebuild_index()
        elif step.kind == COMPACT_INDEX:
            self.table.compact_metadata()
        else:
            assert step.kind == HEAL
            self.table.rollback()

    def _index_anew(self) -> None:
        """What a record index that was rebuilt does not know any more."""
        found = {i.requested for i in self.table.timeline().completed() if i.action == "indexing"}
        new, self.indexings = found - self.indexings, found
        if not new:
            return
        TALLY.add("indexed again")
        kept = [m for p in (self.points.first, *self.points.all) for m in (p.raw, p.seen)]
        plans = [self.plan[0]] if self.plan else []
        plans += [self.clustering.model] if self.clustering else []
        kept += [p.then for p in self.points.all if p.then is not None]
        for model in (self.model, *kept, *plans):
            if isinstance(model, LogModel):
                model.indexed_anew()

    def _clean(self, step: Service) -> None:
        name = ("by_commits", "by_versions", "by_hours")[step.which % 3]
        much = 1 + step.much
        settings = {"by_commits": {"commits_retained": much},
                    "by_versions": {"fileversions_retained": much},
                    "by_hours": {"hours_retained": 0}}[name]  # fmt: skip
        self.policy = name, (1 if name == "by_hours" else much)
        if step.kind == CLEAN:
            self.table.clean(name, **settings)
        else:
            self.table.schedule_clean(name, **settings)

    def _archive(self, step: Service, where: str) -> None:
        least = 1 + step.much
        table = self._open(**{
            "hoodie.keep.min.commits": str(least),
            "hoodie.keep.max.commits": str(least + 1 + step.which % 2),
            "hoodie.clean.commits.retained": "1",
        })  # fmt: skip
        before = len(table.timeline().writes())
        archived = table.archive()
        after = len(table.timeline().writes())
        assert after >= min(before, least), where
        if archived.instants:
            TALLY.add("archived")

    def _chosen(self, which: int) -> Point | None:
        found = self.points.by_request()
        return found[-1 - which % len(found)] if found else None

    def _savepoint(self, step: Service, where: str) -> None:
        point = self._chosen(step.which)
        if point is None:
            return
        must = self._is_there(point) and not self._pending("clean")
        try:
            assert self.table.savepoint(point.instant, "kept") == point.instant, where
        except (ConfigError, CommitConflictError) as error:
            assert not must, f"{where}: {error}"
            TALLY.add("savepoint refused")
            return
        self.saved.add(point.instant)

    def _restore(self, step: Service, where: str) -> None:
        point = self._chosen(step.which)
        if point is None:
            return
        later = [name for name in self.saved if name > point.instant]
        must = self._is_there(point) and not self._pending("clean") and not later
        try:
            restored = self.table.restore(point.instant)
        except (ConfigError, CommitConflictError) as error:
            assert not must, f"{where}: {error}"
            TALLY.add("restore refused")
            return
        assert not later, where
        gone = {p.instant for p in self.points.all if p.instant > point.instant}
        assert gone <= set(restored.undone), where
        life_clusterings.go_back(self, set(restored.undone), point, where)
        self._gone_back(point.instant)

    def _undo(self, where: str) -> None:
        newest = self.points.newest()
        if newest is self.points.first:
            return
        before = self.points.by_request()[-2:-1]
        there = all(self._is_there(p) for p in before)
        waiting = self.pending is not None and self.pending > newest.instant
        must = (
            self._is_active(newest) and newest.instant not in self.saved and there
            and not waiting and not self._pending()
            and not life_clusterings.came_since(self, newest)
        )  # fmt: skip
        try:
            self.table.rollback(newest.instant)
        except (ConfigError, CommitConflictError) as error:
            assert not must, f"{where}: {error}"
            TALLY.add("undo refused")
            return
        assert newest.instant not in self.saved, where
        # A compaction that was planned before the newest write is still to be run.
        self._gone_back(before[0].instant if before else FIRST, unplanned=newest.instant)

    def _gone_back(self, instant: str, unplanned: str | None = None) -> None:
        """The table is what it was at ``instant``; what was planned after ``unplanned`` is gone."""
        for point in self.points.all:
            if point.instant > instant and not point.changes:
                self.points.not_compacted(point.instant)
        self.points.back_to(instant)
        if self.pending is not None and self.pending > (unplanned or instant):
            self.pending = self.plan = None
        newest = self.points.newest()
        self.model, self.schema = newest.seen.copy(), newest.schema
        self.seqnos = newest.seqnos

    def _unplan(self, where: str) -> None:
        if self.pending is None:
            return
        begun = any(p.instant > self.pending for p in self.points.all)
        try:
            self.table.rollback(self.pending)
        except (ConfigError, CommitConflictError) as error:
            assert self.setup.version == 6 and begun, f"{where}: {error}"
            return
        self.pending = self.plan = None

    # --- what must be there -----------------------------------------------------------------------
    def _pending(self, action: str = "") -> list[Instant]:
        found = self.table.timeline().pending()
        return [i for i in found if not action or i.action == action]

    def _is_active(self, point: Point) -> bool:
        return point.instant in self.active

    def _is_there(self, point: Point) -> bool:
        """Whether nothing that the table had then may be gone."""
        kept = point.wanted or point.instant in self.saved
        return kept and self._is_active(point)

    def _reckon(self) -> None:
        """What is on the timeline now, and what cleans may have taken since the last step."""
        timeline = self.table.timeline()
        self.active = {w.requested for w in timeline.writes()}
        if not all(map(self._is_active, self.points.all)):
            TALLY.add("looks at a table with archived writes")
        now = {i.requested for i in timeline.instants if i.action == "clean"}
        new = now - self.cleans
        self.cleans |= now
        if not new:
            return
        TALLY.add("cleaned")
        retained = dict(self.setup.more).get("hoodie.clean.commits.retained", "10")
        name, much = self.policy or ("by_commits", int(retained))
        if name == "by_versions":
            self.points.kept_by_versions(much)
        else:
            self.points.kept_by_writes(much)

    # --- looking ----------------------------------------------------------------------------------
    def _compare_theirs(
        self, schema: pa.Schema, model: Model, where: str, as_of: str | None = None
    ) -> None:
        if self._theirs_is_whole():
            Trial._compare_theirs(self, schema, model, where, as_of)

    def _theirs_is_whole(self) -> bool:
        """Whether `hudi` sees every row. In version 6 it loses log rows under a pending compaction; from
        8 on those of archived deltacommits: it asks the active timeline alone when they completed."""
        if not self.setup.merge_on_read:
            return True
        if self.setup.is_lost_on_hudi:
            return False
        if self.setup.version == 6:
            return not self.pending
        return all(map(self._is_active, self.points.all))

    def _look(self, where: str) -> None:
        self._reckon()
        self._check_newest(where)
        assert {s.instant for s in self.table.savepoints()} == self.saved, where
        waiting = [] if self.clustering is None else [self.clustering.instant]
        assert [c.instant for c in self.table.clusterings()] == waiting, where
        draw = random.Random(self.number * 1000 + len(self.points.all))
        found = self.points.by_request()
        if found:  # one of the older states; at the end all of them
            self._travel(draw.choice(found), where)
        there = self._is_there, self._is_active
        ranges = Ranges(self.table, self.path, self.setup, self.points, *there, where)
        if self.thorough:
            for point in found:
                self._travel(point, where)
            ranges.check_all(hudi=self._theirs_is_whole())
            self._verify(where)
        else:
            ranges.check(draw, hudi=self._theirs_is_whole())

    def _travel(self, point: Point, where: str) -> None:
        where = f"{where}: as of {point.instant}"
        must = self._is_there(point)
        try:
            found = self.table.read(as_of=point.instant, meta=True).to_arrow()
        except ConfigError as error:
            assert not must, f"{where}: {error}"
            assert "clean" in str(error) or "archived" in str(error), f"{where}: {error}"
            TALLY.add("travel refused")
            return
        TALLY.add("travel" if must else "travel although it need not be")
        compare(found, point.schema, point.seen, where)
        if must:
            self._compare_theirs(point.schema, point.seen, f"`hudi`, {where}", point.instant)

    def _end(self) -> None:
        """Everything that is there is looked at; then what nobody needs goes, and nothing else stays."""
        for point in self.points.by_request():
            self._travel(point, "at the end")
        self.policy = None  # that of the last step; the write cleans by the table's
        # Undoes what has crashed, settles what was decided.
        self._do(Op(draws.UPSERT, (Draw(key=1, payload=1),)), "the last write")
        self._index_anew()
        self._look("after the last write")
        self._verify("after the last write")
        if self.pending is not None:
            self._do(Op(draws.SCHEDULE), "the last compaction")
        self._settle()
        for instant in sorted(self.saved):
            self.table.delete_savepoint(instant)
        self.saved.clear()
        self.policy = "by_commits", 1
        self.table.clean(commits_retained=1)
        self._check_newest("after the last clean")
        again = self.table.schedule_clean(commits_retained=1, incremental_enabled="false")
        assert again is None, "the last clean has left something"
        self.policy = "by_versions", 1
        self.table.clean("by_versions", fileversions_retained=1)
        self._check_newest("after the very last clean")
        self._verify("after the very last clean")
        found = leaks(self.path)
        assert not found, found
        storage = LocalStorage(str(self.path), durable=False)
        there = {e.path for e in list_data(storage) if parse_path(e.path) is not None}
        needed = set()
        for slice_ in self.table.file_slices():
            needed |= {log.path for log in slice_.log_files}
            needed |= {slice_.base_file.path} if slice_.base_file else set()
        assert there == needed, f"not needed {there - needed}, missing {needed - there}"

    def _verify(self, where: str) -> None:
        report = self.table.verify()
        assert report.ok, f"{where}: {[str(f) for f in report.findings]}"


def _commit(write: Instant) -> Commit:
    return Commit(write.requested, write.action, "", completed=write.completed)
