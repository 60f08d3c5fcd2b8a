"""A table as the source of a stream: its commits in the order in which they completed.

An offset says of which table it is and up to which completion its rows have been read. The state of the table at the
beginning may be read in several pieces: then ``of`` is the moment of that state, and ``files`` counts its files.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attrs import define
from hoodoo.errors import ConfigError
from hoodoo.model.commit import CommitMetadata, Operation
from hoodoo.model.instant import Instant
from hoodoo.read.query import Query
from hoodoo.read.scan import Scan
from hoodoo.read.step import payloads
from hoodoo.table.table import Table
from hoodoo.timeline.instants import order_key, parse_point
from hoodoo.timeline.timeline import Timeline

from hoodoo_spark.datasource.options import CHANGES, Wanted
from hoodoo_spark.datasource.read import Rows, check_columns, opened, pieces
from hoodoo_spark.types import task_schema

Offset = dict[str, Any]
_ZEROS = "0" * 17


@define
class Stream:
    """What a query's reader does on the driver. ``struct``: the columns of its rows. ``target``: past it nothing is
    read, for a query that ends."""

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
            return _offset(table, max(map(_place, timeline.writes()), default=_ZEROS))
        point = parse_point(begin, table.config.timezone)
        write = timeline.find(point)
        return _offset(table, order_key(point) if write is None else _place(write))

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
        new = [
            instant
            for instant in _visible(timeline)
            if _place(instant) > start["through"]
            and (self.target is None or _place(instant) <= self.target)
        ]
        # A state that a query has begun to read it reads to its end, also when it goes on without a limit.
        if "of" in start or (limited and self._is_state(start) and new):
            _refuse_restored(table, timeline, start)
            return self._more_of_state(table, start, start.get("of") or _place(new[-1]))
        through, files, size = "", 0, 0
        # Without a limit the newest of them says it all.
        for instant in new if limited else reversed(new):
            metadata = timeline.metadata(table.handle.storage, instant)
            if not _is_change(instant, metadata, table):
                continue
            if not limited:
                return _offset(table, _place(instant))
            files += len(metadata.stats)
            size += sum(stat.file_size for stat in metadata.stats)
            if through and self._is_too_much(files, size):
                break
            through = _place(instant)
        return _offset(table, through) if through else start

    def _is_state(self, start: Offset) -> bool:
        return start["through"] == _ZEROS and self.wanted.mode != CHANGES

    def _is_too_much(self, files: int, size: int) -> bool:
        most, bytes_ = self.wanted.max_files, self.wanted.max_bytes
        return (most is not None and files > most) or (bytes_ is not None and size > bytes_)

    def _more_of_state(self, table: Table, start: Offset, moment: str) -> Offset:
        slices = self._scan(table, _ZEROS, moment).plan.slices
        begin = end = start.get("files", 0)
        size = 0
        while end < len(slices):
            size += slices[end].size
            if end > begin and self._is_too_much(end + 1 - begin, size):
                return {**_offset(table, _ZEROS), "of": moment, "files": end}
            end += 1
        return _offset(table, moment)

    def pieces(self, start: Offset, end: Offset) -> list[tuple[Rows, bytes]]:
        """What the tasks of the batch between two offsets read, one each."""
        table = opened(self.wanted)
        _check(start, table)
        _check(end, table)
        if start == end:
            return []
        try:
            found = self._planned(table, start, end)
        except ConfigError as error:
            raise ConfigError(
                f"stream of table {table.path} from {start['through']}",
                f"can't go on: {error}",
                'Begin with a new checkpoint at a later point (option "begin"), and let cleans keep what streams '
                "have not read yet: hoodie.clean.commits.retained or hoodie.clean.hours.retained.",
            ) from error
        return found

    def _planned(self, table: Table, start: Offset, end: Offset) -> list[tuple[Rows, bytes]]:
        asked = task_schema(self.struct)
        moment = start.get("of") or end.get("of")
        if moment is not None:
            scan: Any = self._scan(table, _ZEROS, moment)
            slices = scan.plan.slices[start.get("files", 0) : end.get("files")]
            found = payloads(slices, self.wanted.tasks or len(slices))
        else:
            scan = self._scan(table, start["through"], end["through"])
            found = pieces(scan, self.wanted.tasks)
        check_columns(scan.schema, self.struct, table.path)
        rows = Rows(scan.step, asked)
        return [(rows, payload) for payload in found]

    def _scan(self, table: Table, since: str, until: str) -> Any:
        if self.wanted.mode == CHANGES:
            found: Scan | Query = table.changes(since, until, columns=self.wanted.columns)
        else:
            found = table.incremental(since, until, columns=self.struct.fieldNames())
        return found


def _offset(table: Table, through: str) -> Offset:
    return {"table": table.config.name, "path": table.path, "through": through}


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
    """The completed writes, in order. Where they do not say when they completed, those alone before which none can
    appear any more."""
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
    return instant.action != "commit" or table.config.table_type != "MERGE_ON_READ"


def _refuse_restored(table: Table, timeline: Timeline, start: Offset) -> None:
    """ConfigError in the middle of a state that was restored away: its files, which are counted, are others now."""
    if "of" not in start:
        return
    for instant in timeline.completed():
        if instant.traits.rewinds and _place(instant) > start["of"]:
            raise ConfigError(
                f"stream of table {table.path}",
                f"can't go on: {instant.action} {instant.requested} came while it read the state of the table at its begin.",
                "Begin with a new checkpoint.",
            )
