"""A table as the source of a stream: its commits in the order in which they completed.

An offset says of which table it is and up to which completion its rows have been read; ``last`` is
the write that completed then, empty where there is none. The state of the table at the beginning
may be read in several pieces: then ``of`` is the moment of that state, and ``files`` counts its
files.

Rows have the columns that the table had when the query was started. What was written before one of
them was added has nulls there; what was written after another one was added comes without that one,
until the query is started again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from attrs import define
from hoodoo.errors import ConfigError, SchemaError
from hoodoo.model.commit import CommitMetadata, Operation
from hoodoo.model.instant import Instant
from hoodoo.model.meta import META_COLUMNS
from hoodoo.table.table import Table
from hoodoo.timeline.instants import order_key, parse_point
from hoodoo.timeline.plans import is_compaction
from hoodoo.timeline.timeline import Timeline
from hoodoo_rows.api import Query, Reads, Scan

from hoodoo_spark.datasource.options import CHANGES, Wanted
from hoodoo_spark.datasource.places import plain
from hoodoo_spark.datasource.read import Rows, opened, pieces
from hoodoo_spark.types import spark_schema, task_schema

Offset = dict[str, Any]
_ZEROS = "0" * 17


@define
class Stream:
    """What a query's reader does on the driver. ``struct``: the columns of its rows. ``target``:
    past it nothing is read, for a query that ends."""

    wanted: Wanted
    struct: Any
    target: str | None = None

    def first(self) -> Offset:
        """Where a new query begins."""
        table = opened(self.wanted)
        begin = self.wanted.begin
        if begin is None or str(begin).lower() == "earliest":
            return _offset(table, _ZEROS)
        timeline = table.timeline()
        if str(begin).lower() == "latest":
            newest = max(timeline.writes(), key=_place, default=None)
            return _offset(table, _ZEROS) if newest is None else _after(table, newest)
        point = parse_point(begin, table.config.timezone)
        write = timeline.find(point)
        return _offset(table, order_key(point)) if write is None else _after(table, write)

    def stop_at_newest(self) -> None:
        """The query reads what is there now, and ends."""
        self.target = max(map(_place, _visible(opened(self.wanted).timeline())), default=_ZEROS)

    def last(self, start: Offset | None, limited: bool) -> Offset:
        """Up to where the next batch reads; ``start`` where there is nothing new."""
        table = opened(self.wanted)
        if start is None:  # an older Spark does not say
            start = _offset(table, _ZEROS)
        _check(start, table)
        timeline = table.timeline()
        _refuse_undone(table, timeline, start)
        new = [
            instant
            for instant in _visible(timeline)
            if _place(instant) > start["through"]
            and (self.target is None or _place(instant) <= self.target)
        ]
        # A state that a query has begun to read it reads to its end, also when it goes on without a
        # limit.
        if "of" in start or (limited and self._is_state(start) and new):
            _refuse_restored(table, timeline, start)
            of, last = start.get("of"), start.get("last", "")
            end = _offset(table, of, last) if of else _after(table, new[-1])
            return self._more_of_state(table, start, end)
        found: Instant | None = None
        files = size = 0
        # Without a limit the newest of them says it all.
        for instant in new if limited else reversed(new):
            metadata = timeline.metadata(table.handle.storage, instant)
            if not _is_change(instant, metadata, table):
                continue
            if not limited:
                return _after(table, instant)
            files += len(metadata.stats)
            size += sum(stat.file_size for stat in metadata.stats)
            if found is not None and self._is_too_much(files, size):
                break
            found = instant
        return start if found is None else _after(table, found)

    def _is_state(self, start: Offset) -> bool:
        return start["through"] == _ZEROS and self.wanted.mode != CHANGES

    def _is_too_much(self, files: int, size: int) -> bool:
        most, bytes_ = self.wanted.max_files, self.wanted.max_bytes
        return (most is not None and files > most) or (bytes_ is not None and size > bytes_)

    def _more_of_state(self, table: Table, start: Offset, whole: Offset) -> Offset:
        """``whole``: where a query is that has read all of the state."""
        slices = self._scan(table, _ZEROS, whole["through"]).plan.slices
        begin = end = start.get("files", 0)
        size = 0
        while end < len(slices):
            size += slices[end].size
            if end > begin and self._is_too_much(end + 1 - begin, size):
                return {**whole, "through": _ZEROS, "of": whole["through"], "files": end}
            end += 1
        return whole

    def pieces(self, start: Offset, end: Offset) -> list[tuple[Rows, bytes]]:
        """What the tasks of the batch between two offsets read, one each."""
        table = opened(self.wanted)
        _check(start, table)
        _check(end, table)
        if start == end:
            return []
        _refuse_undone(table, table.timeline(), start, end)
        try:
            found = self._planned(table, start, end)
        except ConfigError as error:
            raise ConfigError(
                f"stream of table {table.path} from {start['through']}",
                f"can't go on: {error}",
                'Begin with a new checkpoint at a later point (option "begin"), and let cleans '
                "keep what streams "
                "have not read yet: hoodie.clean.commits.retained or hoodie.clean.hours.retained.",
            ) from error
        return found

    def _planned(self, table: Table, start: Offset, end: Offset) -> list[tuple[Rows, bytes]]:
        asked = task_schema(self.struct)
        moment = start.get("of") or end.get("of")
        if moment is not None:
            scan: Any = self._scan(table, _ZEROS, moment)
            slices = scan.plan.slices[start.get("files", 0) : end.get("files")]
            found = Reads.payloads(slices, self.wanted.tasks or len(slices))
        else:
            scan = self._scan(table, start["through"], end["through"])
            found = pieces(scan, self.wanted.tasks)
        self._check_types(scan.schema, table)
        rows = Rows(scan.step, asked)
        return [(rows, payload) for payload in found]

    def _scan(self, table: Table, since: str, until: str) -> Any:
        """The rows between two places, with those of the query's columns that the table had at the
        second."""
        changes = self.wanted.mode == CHANGES
        names = self._images() if changes else self.struct.fieldNames()
        try:
            return self._read(table, since, until, names)
        except SchemaError:
            now = {*table.schema.names, *META_COLUMNS}
            plan = self._read(table, since, until, None).plan
            there = plan.spec.images if changes else plan.stored.names
            known = [name for name in names or () if name in there]
            if len(known) == len(names or ()) or not now.issuperset(names or ()):
                raise
        return self._read(table, since, until, known)

    def _read(self, table: Table, since: str, until: str, columns: Any) -> Any:
        if self.wanted.mode == CHANGES:
            found: Scan | Query = table.changes(since, until, columns=columns)
        else:
            found = table.incremental(since, until, columns=columns)
        return found

    def _images(self) -> list[str] | None:
        """The columns of rows before and after a change; None for those of the table."""
        images = (f.dataType for f in self.struct.fields if f.name in ("before", "after"))
        image = next(images, None)
        if image is None:
            return None if self.wanted.columns is None else [*self.wanted.columns]
        names: list[str] = image.fieldNames()
        return names

    def _check_types(self, found: pa.Schema, table: Table) -> None:
        """Raise SchemaError where a column has become of a type that the query's does not hold."""
        types = {field.name: field.dataType for field in spark_schema(found).fields}
        for field in self.struct.fields:
            has = types.get(field.name, field.dataType)
            if not _holds(field.dataType, has):
                raise SchemaError(
                    f"stream of table {table.path}: column {field.name}",
                    f"is {has.simpleString()} in the table, and {field.dataType.simpleString()} in "
                    "the query",
                    "Start the query again, without a schema of its own: it goes on where it "
                    "stopped, with the types "
                    "that the table has.",
                )


_WIDER = ("tinyint", "smallint", "int", "bigint", "float", "double")


def _holds(wide: Any, narrow: Any) -> bool:
    """Whether a column of type ``wide`` takes all values of ``narrow``, which it may have had
    before."""
    if plain(wide) == plain(narrow):
        return True
    if type(wide) is not type(narrow):
        kinds = [kind.simpleString() for kind in (narrow, wide)]
        wider = all(kind in _WIDER for kind in kinds) and _WIDER.index(kinds[0]) < _WIDER.index(
            kinds[1]
        )
        return wider or (kinds[0] in ("string", "binary") and kinds[1] in ("string", "binary"))
    if hasattr(wide, "fields"):
        there = {field.name: field.dataType for field in wide.fields}
        return all(f.name in there and _holds(there[f.name], f.dataType) for f in narrow.fields)
    if hasattr(wide, "elementType"):
        return _holds(wide.elementType, narrow.elementType)
    if hasattr(wide, "keyType"):
        return plain(wide.keyType) == plain(narrow.keyType) and _holds(
            wide.valueType, narrow.valueType
        )
    if hasattr(wide, "scale"):  # decimals
        return wide.scale >= narrow.scale and (
            wide.precision - wide.scale >= narrow.precision - narrow.scale
        )
    return False


def _offset(table: Table, through: str, last: str = "") -> Offset:
    return {"table": table.config.name, "path": table.path, "through": through, "last": last}


def _after(table: Table, write: Instant) -> Offset:
    return _offset(table, _place(write), write.requested)


def _check(offset: Offset, table: Table) -> None:
    if (offset.get("table"), offset.get("path")) != (table.config.name, table.path):
        raise ConfigError(
            f"the checkpoint of a stream of table {table.config.name} at {table.path}",
            f"is of another one: {offset.get('table')} at {offset.get('path')}",
            "give the query a checkpointLocation of its own.",
        )


def _place(instant: Instant) -> str:
    """What orders a write among the others: its completion, in version 6 its request."""
    return order_key(instant.completion_order)


def _visible(timeline: Timeline) -> Iterator[Instant]:
    """The completed writes, in order. Where they do not say when they completed, those alone before
    which none can appear any more."""
    writes = sorted(timeline.writes(), key=lambda i: (_place(i), order_key(i.requested)))
    if any(write.completed is None for write in writes):
        pending = [order_key(i.requested) for i in timeline.pending() if i.is_write]
        first = min(pending, default=None)
        writes = [w for w in writes if first is None or order_key(w.requested) < first]
    return iter(writes)


def _is_change(instant: Instant, metadata: CommitMetadata, table: Table) -> bool:
    """Whether it changed rows: services only move them."""
    operation = metadata.operation
    if not operation.can_change_schema or operation is Operation.BUCKET_RESCALE:
        return False
    return not is_compaction(instant, table.config)


def _refuse_restored(table: Table, timeline: Timeline, start: Offset) -> None:
    """ConfigError in the middle of a state that was restored away: its files, which are counted,
    are others now."""
    if "of" not in start:
        return
    for instant in timeline.completed():
        if instant.traits.rewinds and _place(instant) > start["of"]:
            raise ConfigError(
                f"stream of table {table.path}",
                f"can't go on: {instant.action} {instant.requested} came while it read the state "
                "of the table at its begin.",
                "Begin with a new checkpoint.",
            )


def _refuse_undone(table: Table, timeline: Timeline, *offsets: Offset) -> None:
    """ConfigError where what the query has delivered was undone since: nothing that it reads later
    would say so."""
    for offset in offsets:
        last = offset.get("last")
        if last == "" or (last and timeline.find(last) is not None):
            continue
        for undo in reversed(timeline.completed()):
            if not undo.traits.undoes or _place(undo) <= offset["through"]:
                continue
            undone = timeline.contents(table.handle.storage, undo).get(undo.traits.undid) or ()
            # An offset of an older checkpoint does not name its write. Rollbacks undo writes that
            # have failed, mostly.
            if last is None:
                undone = [
                    i for i in undone if undo.traits.rewinds and order_key(i) <= offset["through"]
                ]
            if last in undone or (last is None and undone):
                raise ConfigError(
                    f"stream of table {table.path} from {offset['through']}",
                    f"can't go on: the {undo.action} {undo.requested} has undone "
                    f"{last or max(undone)}, whose rows the stream has delivered",
                    "Undo them where they were delivered to, as table.restore does, or begin there "
                    "with nothing; then start the query "
                    f'with a new checkpoint and option("begin", "{_place(undo)}"), for what was '
                    "written after that, or "
                    'option("begin", "earliest"), for all of it.',
                )
