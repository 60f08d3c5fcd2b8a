"""What a write works on: one snapshot of the table, the plugins that decide, and the policy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import Any

import pyarrow as pa
from attrs import Factory, evolve, frozen
from hoodoo.errors import PluginError
from hoodoo.hookspecs.change_log import ChangeLogFormat
from hoodoo.hookspecs.clustering_updates import ClusteringUpdates, PendingPlan
from hoodoo.hookspecs.conflict import Group
from hoodoo.hookspecs.engine import Engine, Stream, Workspace, task_memory
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.hookspecs.index import (
    ComputedIndex,
    IndexContext,
    LookupIndex,
    PathIndex,
    Tees,
)
from hoodoo.hookspecs.key_generator import KeyGenerator
from hoodoo.hookspecs.layout import Layout
from hoodoo.hookspecs.log_block import LogBlockFormat
from hoodoo.hookspecs.log_format import LogFormat
from hoodoo.hookspecs.merger import Merger
from hoodoo.hookspecs.participant import Participation
from hoodoo.hookspecs.registration import PluginRef
from hoodoo.hookspecs.serializer import Serializer
from hoodoo.model.commit import WriteStat
from hoodoo.model.config import TableConfig
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.meta import RECORD_KEY, with_meta
from hoodoo.storage.api import Storage
from hoodoo.storage.together import at_once
from hoodoo.timeline.markers import STAGED
from hoodoo.timeline.snapshot import TableSnapshot
from hoodoo.timeline.timeline import Timeline

from hoodoo_rows.merge.rule import MergeRule, Visible
from hoodoo_rows.options import BY_ROWS
from hoodoo_rows.produce.slice_keys import ReadKeys, slice_tasks


@frozen
class IndexKind:
    """What is true of an index.

    ``looks_everywhere``: it looks keys up in the whole table, or one of the two that it stands for
    does. ``knows_logs``: it answers for keys that only log files have. ``computes``: the file group
    follows from the key. ``by_path``: it follows from the key and the partition path. ``is_two``:
    two indexes are asked beside each other. ``properties`` of the table say where keys belong."""

    looks_everywhere: bool
    knows_logs: bool
    computes: bool
    by_path: bool
    is_two: bool
    properties: tuple[str, ...]

    @classmethod
    def of(cls, index: Any) -> IndexKind:
        """Of an index of any Protocol of :mod:`hoodoo.hookspecs.index`. What the second of two
        knows does not count."""
        is_two = isinstance(index, Tees)
        each = (index, index.first, index.second) if is_two else (index,)
        answers = index.first if is_two else index
        return cls(
            looks_everywhere=any(one.is_global for one in each),
            knows_logs=answers.knows_logs,
            computes=isinstance(index, ComputedIndex),
            by_path=isinstance(index, PathIndex),
            is_two=is_two,
            properties=answers.properties,
        )


def asked_for_keys(index: LookupIndex, context: IndexContext) -> LookupIndex:
    """``index``, or the one that stands in for it as long as what it stores can't be used."""
    stands_in = getattr(index, "stands_in", None)
    return index if stands_in is None else stands_in(context) or index


@frozen
class LogSettings:
    """How a table that is merged on read writes its log files. ``blocks``: how rows are stored in
    them. ``marker``: the kind of marker of a log file, which is APPEND in table version 6.
    ``schema_text``: the stored schema as Avro, for delete blocks."""

    table_name: str
    marker: str = "CREATE"
    format: LogFormat | None = None
    blocks: LogBlockFormat | None = None
    schema_text: str | None = None
    # The meta columns that rows store; None: all.
    filled: frozenset[str] | None = None
    # Made the record keys, where they are virtual.
    virtual: KeyGenerator | None = None
    # Rows that are marked as deleted delete whatever is stored, without being compared with it.
    deletes_win: bool = False
    # Whether the table's index records key changes that writes report, deletes in log files, too.
    index_is_told: bool = False
    # Blocks say which rows of base files they change, where the index has seen these.
    notes_rows: bool = False


@frozen
class WritePlugins:
    """Who decides in a write. They are the same as long as the table's properties and options
    are."""

    generator: KeyGenerator
    merger: Merger
    index: LookupIndex | ComputedIndex | PathIndex
    file_format: BaseFileFormat
    filling_layout: Layout
    new_layout: Layout
    serializer: Serializer
    # Finds a key in any partition path: for deletes whose data does not say the partition.
    anywhere: Callable[[], LookupIndex]
    # Finds a key in its partition path: for inserts that are checked where the index only computes.
    by_path: Callable[[], LookupIndex]
    # What becomes of a write that meets a pending clustering.
    updates: Callable[[], ClusteringUpdates]
    # None: rewrites of base files leave no log of change data.
    changes: ChangeLogFormat | None = None
    refs: tuple[PluginRef, ...] = ()

    @cached_property
    def index_kind(self) -> IndexKind:
        """What is true of the index; an instance check of a Protocol takes 50 µs."""
        return IndexKind.of(self.index)


@frozen
class WritePolicy:
    """How a write goes about it, and round what. ``logs``: None for a table that is copied on
    write."""

    options: Mapping[str, str] = Factory(dict)
    logs: LogSettings | None = None
    # (partition path, file id) -> instant of the compaction that is pending for the group.
    compacting: Mapping[tuple[str, str], str] = Factory(dict)
    # The clusterings that are pending.
    clusterings: tuple[PendingPlan, ...] = ()
    # SchemaError where an integer of the table does not fit its column's floating type in the
    # schema given.
    refuse_inexact: Callable[[pa.Schema], None] = lambda grown: None


@frozen
class WriteTarget:
    """What a write or an action works on: the table as it is, who decides, and how. ``joined``: who
    takes part in what is made of this look at the table. ``calm``: nothing had been decided since
    this process did: the next decision may well be its own, too."""

    snapshot: TableSnapshot
    plugins: WritePlugins
    policy: WritePolicy
    engine: Engine
    joined: Participation | None = None
    calm: bool = False

    @property
    def storage(self) -> Storage:
        """The table's files."""
        return self.snapshot.storage

    @property
    def config(self) -> TableConfig:
        """The properties that are stored."""
        return self.snapshot.properties

    @property
    def timeline(self) -> Timeline:
        """The timeline of the snapshot."""
        return self.snapshot.timeline

    @property
    def schema(self) -> pa.Schema:
        """The table's own columns, without meta columns."""
        return self.snapshot.schema

    @property
    def slices(self) -> tuple[FileSlice, ...]:
        """The newest file slice of each file group."""
        return self.snapshot.slices

    @property
    def settled(self) -> tuple[FileSlice, ...]:
        """The slices without those that a pending write has begun with a log file, whose name does
        not say so in version 6: they may never have been. One that has committed rows stays."""
        timeline, slices = self.timeline, self.slices
        begun = {i.requested: i.traits.replaces for i in timeline.pending()}
        if not begun:
            return slices
        open_ = [s for s in slices if not s.base_file and s.instant in begun]
        names = {s.instant for s in open_ if not begun[s.instant]}
        writers = timeline.layout.log_writers(names, timeline) if names else ()
        said = {stat.path for w in writers for stat in self.snapshot.metadata(w).stats}
        gone = {
            (s.partition_path, s.file_id)
            for s in open_
            if begun[s.instant] or said.isdisjoint(log.path for log in s.log_files)
        }
        return tuple(s for s in slices if (s.partition_path, s.file_id) not in gone)

    def within(self, paths: Collection[str] | None) -> WriteTarget:
        """The same for a write that uses only the slices of these partition paths; None: all."""
        return self if paths is None else evolve(self, snapshot=self.snapshot.within(paths))

    @property
    def generator(self) -> KeyGenerator:
        """What makes record keys and partition paths."""
        return self.plugins.generator

    @property
    def merger(self) -> Merger:
        """What makes one row of several with one key."""
        return self.plugins.merger

    @property
    def index(self) -> LookupIndex | ComputedIndex | PathIndex:
        """What says which file group has a key."""
        return self.plugins.index

    @property
    def file_format(self) -> BaseFileFormat:
        """The format of base files."""
        return self.plugins.file_format

    @property
    def serializer(self) -> Serializer:
        """How rows are packed when they go from task to task."""
        return self.plugins.serializer

    @property
    def options(self) -> Mapping[str, str]:
        """Options of the write, by Hudi's names."""
        return self.policy.options

    @property
    def logs(self) -> LogSettings | None:
        """How log files are written; None: base files are rewritten."""
        return self.policy.logs

    @property
    def virtual(self) -> KeyGenerator | None:
        """What makes the record keys that files don't store; None where they do."""
        return None if self.config.populate_meta_fields else self.generator

    @property
    def clustered(self) -> frozenset[tuple[str, str]]:
        """Partition path and file id of the groups that pending clusterings will rewrite."""
        return frozenset(group for plan in self.policy.clusterings for group in plan.groups)

    @property
    def index_kind(self) -> IndexKind:
        """What is true of the index."""
        return self.plugins.index_kind

    @property
    def computed(self) -> ComputedIndex | PathIndex | None:
        """The index if it computes file groups or partition paths; else None."""
        kind = self.index_kind
        return self.index if kind.computes or kind.by_path else None  # type: ignore[return-value]

    @property
    def memory(self) -> int:
        """Bytes that a task may take."""
        return task_memory(self.engine, self.options)

    def lookup(self) -> LookupIndex:
        """The index, which must be one that looks up."""
        if isinstance(self.index, LookupIndex):
            return self.index
        raise PluginError(
            f"index {self.index.__class__.__qualname__}",
            "neither looks keys up (locate) nor computes their bucket (bucket)",
            "implement LookupIndex, ComputedIndex or PathIndex of hoodoo.hookspecs.index.",
        )

    def exchange(self, stream: Stream, parts: int) -> Stream:
        """Rows of a part meet, packed by the table's serializer on their way."""
        return self.engine.exchange(stream, parts, self.serializer)

    def merge_rule(self, stored: pa.Schema) -> MergeRule:
        """How all columns of ``stored`` are read from slices with log files."""
        visible = Visible.of(self.timeline, None)
        found = MergeRule.of(
            stored, self.config, self.merger, visible, self.generator, self.file_format
        )
        return evolve(found, by_rows=self.by_rows)

    @property
    def asks_ahead(self) -> bool:
        """Whether operations on the store wait for a network: a step then asks, beside the one
        before it, what it will need. On a disk each asks in its turn."""
        return at_once(self.storage) > 1

    @property
    def by_rows(self) -> bool:
        """Whether log rows may meet stored ones by the numbers of these."""
        found = BY_ROWS.stored(self.config.properties)
        return BY_ROWS.read(self.options) if found is None else found

    def keys_of(self, slices: Sequence[FileSlice], first: int = 0, deleted: bool = False) -> Stream:
        """KEY_CHANGES of the rows of ``slices``, whose numbers begin with ``first``."""
        rule = self.merge_rule(with_meta(self.schema)).narrowed([RECORD_KEY])
        step = ReadKeys(self.storage, self.file_format, rule, deleted)
        return self.engine.map(slice_tasks(self.engine, slices, first), step)

    def workspace(self, instant: str) -> Workspace:
        """Where rows of ``instant`` wait between two steps."""
        return Workspace(self.storage, f"{STAGED}{instant}")


@frozen
class RowChanges:
    """What somebody who has read the table makes of its rows. Each says where the row lies that it
    changes, so that no index is asked for it.

    ``rows``: keyed rows of the table's schema and their file id
    (:func:`hoodoo_rows.produce.columns.tagged`), staged. One with a file id takes the place of the
    row of its key there, or deletes it; one without comes in: its key must not be in the table,
    which is the caller's to see to. ``places``: file group -> how many rows are put into it; None:
    rows have no file id, and the index finds their keys, all different. ``read``: the groups whose
    rows were looked at: what another writer has done to one of them since is a conflict. ``check``
    sees what was written, unpublished."""

    rows: Stream
    places: Mapping[Group, int] | None
    read: frozenset[Group]
    check: Callable[[Sequence[WriteStat]], None] = lambda stats: None


class ChangesRows(ABC):
    """Data of a write that depends on what is in the table."""

    @abstractmethod
    def changes(self, target: WriteTarget, workspace: Workspace, instant: str) -> RowChanges:
        """The changes of the table as ``target`` shows it; rebuilt for each attempt. Where there
        are no rows, nothing is committed."""
