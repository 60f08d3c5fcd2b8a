"""The difference between two times of a table, by record key: what was added, changed and removed
in the end."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa
from attrs import Factory, frozen
from hoodoo.errors import HoodooError
from hoodoo.model.meta import PARTITION_PATH, RECORD_KEY
from hoodoo.participants.travel import instant_of
from hoodoo.table.handle import TableHandle
from hoodoo_rows.api import Reads

from hoodoo_history.names import NamedColumns
from hoodoo_history.verbs import changes
from hoodoo_history.window import EARLIEST

ADDED, CHANGED, REMOVED = "added", "changed", "removed"
KINDS = (ADDED, CHANGED, REMOVED)

_Key = tuple[Any, ...]
_Row = dict[str, Any]


@frozen
class Difference:
    """``counts``: rows of each of :data:`KINDS`. ``rows``: some of them, each with ``change``,
    ``before`` and ``after``. ``by``: whether it comes from the changes of the commits, or from a
    comparison of two snapshots."""

    counts: Mapping[str, int]
    rows: tuple[Mapping[str, Any], ...] = ()
    by: str = "changes"
    columns: tuple[str, ...] = Factory(tuple)


def difference(
    table: TableHandle,
    since: str,
    until: str | None,
    where: Any = None,
    most: int = 10,
    snapshots: bool = False,
) -> Difference:
    """What is different at ``until`` (by default: now) from ``since``.

    Memory: some 400 bytes for each row that commits changed; of a comparison of ``snapshots`` for
    each row of the table. These are compared where the files from which changes are read are not
    there any more."""
    for point in (since, until):
        if point is not None and point != EARLIEST:
            instant_of(table.source(), point)
    if not snapshots:
        try:
            return _by_changes(table, since, until, where, most)
        except HoodooError:
            try:
                return _by_snapshots(table, since, until, where, most)
            except HoodooError:
                pass  # the first error is that of the usual way
            raise
    return _by_snapshots(table, since, until, where, most)


# --- changes --------------------------------------------------------------------------------------
def _by_changes(
    table: TableHandle, since: str, until: str | None, where: Any, most: int
) -> Difference:
    own = _columns(table, until).columns
    parts = table.config.partition_fields
    found = changes(table, since, until, columns=[*own, RECORD_KEY], where=where)
    states: dict[_Key, tuple[bytes | None, bytes | None]] = {}
    images: dict[_Key, list[_Row | None]] = {}
    for change in _rows(found.to_batches()):
        before, after = change["before"], change["after"]
        # A row may stay in its partition path although the columns of the path have changed.
        was, key = _placed(before or after, parts), _placed(after or before, parts)
        state = image = None
        if before is not None or states.get(was, (None, None))[1] is None:
            state, image = states.pop(was, None), images.pop(was, None)
        if key in states:  # another row, such as one of the same key that was inserted twice
            spare = (*key, len(states))
            states[spare] = states.pop(key)
            if key in images:
                images[spare] = images.pop(key)
        states[key] = (_digest(before) if state is None else state[0], _digest(after))
        if image is not None:
            images[key] = [image[0], after]
        elif state is None and len(images) < 20 * most + 100:
            images[key] = [before, after]
    kinds = {key: _kind(*state) for key, state in states.items()}
    counts = {kind: sum(k == kind for k in kinds.values()) for kind in KINDS}
    chosen = [
        {"change": kinds[key], "before": _without(pair[0]), "after": _without(pair[1])}
        for key, pair in images.items()
        if kinds[key] is not None
    ]
    return Difference(counts, tuple(chosen[:most]), "changes", own)


def _kind(before: bytes | None, after: bytes | None) -> str | None:
    if before == after:
        return None
    return ADDED if before is None else REMOVED if after is None else CHANGED


def _placed(row: _Row | None, parts: tuple[str, ...]) -> _Key:
    row = row or {}
    return (row.get(RECORD_KEY), *(_hashable(row.get(name)) for name in parts))


def _without(row: _Row | None) -> _Row | None:
    return None if row is None else {k: v for k, v in row.items() if k != RECORD_KEY}


# --- snapshots ------------------------------------------------------------------------------------
def _by_snapshots(
    table: TableHandle, since: str, until: str | None, where: Any, most: int
) -> Difference:
    known = _columns(table, until)
    own, keys = known.columns, _key_columns(table)
    then = {} if since == EARLIEST else known.names(instant_of(table.source(), since))
    before: dict[_Key, bytes] = {}
    first = () if since == EARLIEST else _snapshot(table, since, where)
    for row in _rows(first):
        before[_key(row, keys)] = _digest(_own(row, own, then)) or b""
    counts = dict.fromkeys(KINDS, 0)
    shown: list[dict[str, Any]] = []
    changed: dict[_Key, dict[str, Any]] = {}
    for row in _rows(_snapshot(table, until, where)):
        key, image = _key(row, keys), _own(row, own)
        old = before.pop(key, None)
        if old == _digest(image):
            continue
        kind = ADDED if old is None else CHANGED
        counts[kind] += 1
        if len(shown) < most:
            shown.append({"change": kind, "before": None, "after": image})
            if kind == CHANGED:
                changed[key] = shown[-1]
    counts[REMOVED] = len(before)
    left = most - len(shown)
    if changed or (before and left):  # the values before: only of the rows that are shown
        for row in _rows(_snapshot(table, since, where)):
            key, image = _key(row, keys), _own(row, own, then)
            if key in changed:
                changed[key]["before"] = image
            elif key in before and left:
                shown.append({"change": REMOVED, "before": image, "after": None})
                left -= 1
    return Difference(counts, tuple(shown), "snapshots", own)


def _columns(table: TableHandle, until: str | None) -> NamedColumns:
    """The columns at the end of the range: each row is shown under their names."""
    return NamedColumns.of(table, None if until is None else instant_of(table.source(), until))


def _snapshot(table: TableHandle, as_of: str | None, where: Any) -> Iterator[pa.RecordBatch]:
    return Reads.read(table, where=where, as_of=as_of, meta=True).to_batches()


def _key_columns(table: TableHandle) -> tuple[str, ...]:
    """Virtual keys are not stored: their columns are."""
    config = table.config
    if RECORD_KEY in config.filled_meta:
        return (RECORD_KEY, PARTITION_PATH) if config.populate_meta_fields else (RECORD_KEY,)
    return (*config.record_key_fields, *config.partition_fields)


def _key(row: _Row, names: tuple[str, ...]) -> _Key:
    return tuple(_hashable(row.get(name)) for name in names)


def _own(row: _Row, names: tuple[str, ...], then: Mapping[str, str] | None = None) -> _Row:
    """``then``: what they are called in the row; columns without such a name are null."""
    return {name: row.get(name if then is None else then.get(name, "")) for name in names}


# --- rows -----------------------------------------------------------------------------------------
def _rows(batches: Iterable[pa.RecordBatch]) -> Iterator[_Row]:
    for batch in batches:
        yield from batch.to_pylist()


def _hashable(value: Any) -> Any:
    return value if value.__hash__ is not None else pickle.dumps(value)


def _digest(row: _Row | None) -> bytes | None:
    """Sixteen bytes that differ where the values do."""
    if row is None:
        return None
    values = [(name, value) for name, value in row.items() if name != RECORD_KEY]
    return hashlib.blake2b(repr(values).encode("utf-8", "surrogatepass"), digest_size=16).digest()
