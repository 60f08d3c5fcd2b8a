"""The history of one record key, by time travel: each write of the timeline that changed its row or
moved it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import Factory, frozen
from hoodoo.errors import ConfigError, HoodooError, PluginError, UnsupportedTableError
from hoodoo.kernel.archived import oldest
from hoodoo.model.commit import CommitMetadata, Operation
from hoodoo.model.instant import Instant
from hoodoo.model.meta import COMMIT_TIME, FILE_NAME, META_COLUMNS, PARTITION_PATH, RECORD_KEY
from hoodoo.table.handle import TableHandle
from hoodoo_rows.api import Reads

from hoodoo_history.names import NamedColumns

INSERTED, UPDATED, DELETED, REWRITTEN = "inserted", "updated", "deleted", "rewritten"
WRITTEN = "written"  # inserted or updated
_SERVICES = (Operation.CLUSTER, Operation.COMPACT, Operation.LOG_COMPACT)

_Row = dict[str, Any]


@frozen
class Event:
    """What one commit did to the row. ``before`` and ``after``: its values; None: there is no row,
    or it is not known. ``what`` is ``written`` if the commit inserted or updated the row and its
    files are gone."""

    instant: str
    completed: str | None
    action: str
    operation: str
    what: str
    partition: str | None = None
    file: str | None = None
    before: Mapping[str, Any] | None = None
    after: Mapping[str, Any] | None = None


@frozen
class KeyHistory:
    """``events``: the oldest first. ``unread``: writes whose files a clean has deleted."""

    events: tuple[Event, ...] = Factory(tuple)
    unread: int = 0


def key_history(table: TableHandle, key: str) -> KeyHistory:
    """All events of ``key`` on the active timeline. ``key``: the value of the key column; of
    several columns ``name:value,name:value``, as Hudi stores it. Reads the files that may have the
    key, once for each write that may have touched them.

    ConfigError for a key that does not fit the columns; PluginError and UnsupportedTableError as a
    read raises them."""
    where = _condition(table, key)
    events: list[Event] = []
    unread = 0
    timeline = table.timeline()
    # Of what was written before the active timeline begins nothing is known.
    rows: dict[str, _Row] | None = None if _is_archived(table) else {}
    rows_at = partial(_rows, table, where, NamedColumns.of(table).names)
    for instant in timeline.writes():
        metadata = timeline.metadata(table.storage, instant)
        if rows is not None and not _may_touch(metadata, rows):
            continue
        try:
            now = rows_at(instant)
        except (PluginError, UnsupportedTableError):
            raise  # nothing of this table can be read here
        except HoodooError:
            unread += 1
            rows = None  # unknown until the next one that can be read
            continue
        if rows is None:  # the first that can be read again: the rows themselves say who wrote them
            known = {event.instant for event in events}
            found = (event for row in now.values() for event in _written(table, row))
            events += (event for event in found if event.instant not in known)
        else:
            events += _events(instant, metadata, rows, now)
        rows = now
    return KeyHistory(tuple(events), unread)


def _condition(table: TableHandle, key: str) -> pc.Expression:
    config, schema = table.config, table.schema
    names = config.record_key_fields
    if not names:
        return pc.field(RECORD_KEY) == key
    values = {names[0]: key} if len(names) == 1 else _parts(names, key)
    found: pc.Expression | None = None
    for name, text in values.items():
        kind = schema.field(name).type
        try:
            value = pa.scalar(text).cast(kind)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise ConfigError(
                f"key {key!r}",
                f"is no value of the column {name}, which is {kind}.",
                "Give a value of the key column.",
            ) from error
        one = pc.field(name) == value
        found = one if found is None else found & one
    assert found is not None
    return found


def _parts(names: tuple[str, ...], key: str) -> dict[str, str]:
    """``a:1,b:2`` by its names; values may have commas and colons."""
    found: dict[str, str] = {}
    rest = key
    for name, following in zip(names, (*names[1:], None), strict=True):
        start, mark = f"{name}:", "" if following is None else f",{following}:"
        end = rest.find(mark) if mark else len(rest)
        if not rest.startswith(start) or end < 0:
            wanted = ",".join(f"{name}:VALUE" for name in names)
            raise ConfigError(
                f"key {key!r}",
                f"has not the form of a key of the columns {', '.join(names)}.",
                f"Write {wanted}.",
            )
        found[name] = rest[len(start) : end]
        rest = rest[end + 1 :]
    return found


def _may_touch(metadata: CommitMetadata, rows: Mapping[str, _Row]) -> bool:
    """Whether a write may have inserted the key, or has written or replaced a file group that has
    it."""
    if not metadata.stats and not metadata.replaced:
        return metadata.operation is not Operation.ALTER_SCHEMA
    if any(stat.num_inserts or not stat.num_updates + stat.num_deletes for stat in metadata.stats):
        return True
    # A row that was deleted and comes back is an update of the file group, whose base file has the
    # key.
    if any(stat.path.rpartition("/")[2].startswith(".") for stat in metadata.stats):
        return True
    there = {str(row.get(FILE_NAME) or "") for row in rows.values()}
    written = {stat.file_id for stat in metadata.stats}
    written |= {file_id for ids in metadata.replaced.values() for file_id in ids}
    return any(not name or any(name.startswith(one) for one in written) for name in there)


def _is_archived(table: TableHandle) -> bool:
    """Whether the table had writes before those of its active timeline, as far as can be said."""
    try:
        return oldest(table.storage, table.config) is not None
    except PluginError:
        return True  # what would read them is not installed


def _rows(
    table: TableHandle,
    where: pc.Expression,
    names: Callable[[str], Mapping[str, str]],
    instant: Instant,
) -> dict[str, _Row]:
    """The rows of the key at that time, by their partition path: indexes may allow one in each.
    Their columns have the names of now; those that came later are null."""
    then, own = names(instant.requested), table.schema.names
    scan = Reads.read(table, where=where, as_of=instant.requested, meta=True)
    found: dict[str, _Row] = {}
    for batch in scan.to_batches():
        for row in batch.to_pylist():
            values = {name: row.get(then.get(name, "")) for name in own}
            meta = {name: row[name] for name in META_COLUMNS if name in row}
            found[str(row.get(PARTITION_PATH) or "")] = values | meta
    return found


def _written(table: TableHandle, row: _Row) -> Iterator[Event]:
    """What the commit did that wrote ``row``, by the row itself: files of the time before it can't
    be read."""
    timeline = table.timeline()
    requested = str(row.get(COMMIT_TIME) or "")
    if not requested:
        return  # meta columns are not stored
    instant = timeline.find(requested)
    if instant is None:
        yield Event(
            requested, None, "", "", WRITTEN, row.get(PARTITION_PATH), None, None, _own(row)
        )
        return
    metadata = timeline.metadata(table.storage, instant)
    stats = [s for s in metadata.stats if str(row.get(FILE_NAME) or "").startswith(s.file_id)]
    inserts = bool(stats) and not any(stat.num_updates for stat in stats)
    yield Event(
        requested,
        instant.completed,
        instant.action,
        metadata.operation.value.lower(),
        INSERTED if inserts else WRITTEN,
        row.get(PARTITION_PATH),
        _file(metadata, str(row.get(FILE_NAME) or "")),
        None,
        _own(row),
    )


def _events(
    instant: Instant,
    metadata: CommitMetadata,
    before: Mapping[str, _Row],
    after: Mapping[str, _Row],
) -> Iterator[Event]:
    for partition in dict.fromkeys((*before, *after)):
        old, new = before.get(partition), after.get(partition)
        what = _what(instant, metadata, old, new)
        if what is None:
            continue
        place = new or old or {}
        yield Event(
            instant.requested,
            instant.completed,
            instant.action,
            metadata.operation.value.lower(),
            what,
            place.get(PARTITION_PATH),
            _file(metadata, str(place.get(FILE_NAME) or "")) or place.get(FILE_NAME),
            _own(old),
            _own(new),
        )


def _file(metadata: CommitMetadata, name: str) -> str | None:
    """The file of the commit in which the row is: a row of a log file names its file group only."""
    paths = (stat.path for stat in metadata.stats if name and name.startswith(stat.file_id))
    return next((path.rpartition("/")[2] for path in paths if path), None)


def _what(
    instant: Instant, metadata: CommitMetadata, old: _Row | None, new: _Row | None
) -> str | None:
    if old is None or new is None:
        return INSERTED if old is None else DELETED
    if new.get(COMMIT_TIME) == instant.requested != old.get(COMMIT_TIME):
        return UPDATED
    if _own(old) != _own(new):
        return UPDATED
    if metadata.operation in _SERVICES and old.get(FILE_NAME) != new.get(FILE_NAME):
        return REWRITTEN
    return None


def _own(row: _Row | None) -> _Row | None:
    return None if row is None else {n: v for n, v in row.items() if n not in META_COLUMNS}
