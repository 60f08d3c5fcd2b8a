"""First rows: data in place of a schema. ``hoodoo.create`` and ``hoodoo.write`` make a table of
it."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.compute as pc
from hoodoo.calls import why
from hoodoo.errors import (
    CallError,
    CommitUnknownError,
    DuplicateKeyError,
    HoodooError,
    NotATableError,
    StorageUnknownError,
)
from hoodoo.hookspecs.merger import delete_mark
from hoodoo.model.meta import IS_DELETED, OPERATION
from hoodoo.table.handle import TableHandle
from hoodoo.table.running import rollback
from hoodoo.table.settings import arrow_schema
from hoodoo.timeline.batches import Batch

from hoodoo_rows import writes
from hoodoo_rows.engine.sources import as_arrow
from hoodoo_rows.merge.rule import Mark, marked_operations
from hoodoo_rows.model.internal_row import PUT
from hoodoo_rows.write.commit import Commit

_KEYS = ("hoodie.table.recordkey.fields", "hoodie.datasource.write.recordkey.field")


class GivenRows:
    """``data`` and its schema; ``commit`` is what the write of it answered. ``merges``: rows with
    one key are one row in a new table, too. ``more``: further arguments of the write."""

    def __init__(self, data: Any, merges: bool = False, **more: Any) -> None:
        self.merges, self.more, self.data = merges, more, data
        self.commit: Commit | None = None
        if type(data).__module__.startswith("pyspark.") and hasattr(data, "schema"):
            self.schema, self.arrow = arrow_schema(data.schema), None
        else:
            self.arrow = as_arrow(data)
            self.schema = self.arrow.schema

    def write(self, table: TableHandle, is_new: bool) -> None:
        """Upsert the rows, or add them where the table has no record key. DuplicateKeyError where
        two rows of a new table have one key and nothing says which is newer."""
        write = writes.upsert if table.config.record_key_fields else writes.insert
        # Python's own values get their types from a table that is there; what is read once has been
        # taken.
        own = isinstance(self.data, (list, tuple, Mapping)) and not is_new
        data = self.data if own or self.arrow is None else self.arrow
        unique = is_new and not (self.merges or table.config.ordering_fields)
        counted = None
        if unique and self.arrow is not None:
            counted = _Counted(data, delete_mark(table.plugins().merger))
        try:
            self.commit = write(table, counted.data if counted else data, **self.more)
            if counted and table.config.record_key_fields:
                _refuse_doubles(table, self.commit, counted.rows)
        except HoodooError as error:
            if is_new:
                error.fix = (
                    f"{error.fix} The new table {table.storage.root} {_state(table, error)}."
                )
            raise


def _state(table: TableHandle, error: HoodooError) -> str:
    """What has become of the new table after ``error``."""
    with suppress(HoodooError):
        if table.timeline().writes():
            return "is there, and has the rows"
        if not isinstance(error, (CommitUnknownError, StorageUnknownError)):
            return "is empty: write into it, or delete it"
    return "is there, and may have the rows: table.history() says whether it has"


def first_rows(data: Any) -> GivenRows | None:
    """The rows of ``data``; None where it looks like no data at all. DataError for data that can't
    be read."""
    if isinstance(data, GivenRows):
        return data
    known = isinstance(data, (list, tuple, Mapping, Iterator)) or hasattr(
        data, "__arrow_c_stream__"
    )
    frame = type(data).__module__.partition(".")[0] in ("pandas", "polars", "pyspark", "pyarrow")
    is_schema = hasattr(data, "__arrow_c_schema__") and not hasattr(data, "__arrow_c_stream__")
    is_table = isinstance(data, (hoodoo.Table, os.PathLike))  # what to do is said by the error
    return GivenRows(data) if (known or frame or is_table) and not is_schema else None


def write(
    path: str | os.PathLike[str],
    data: Any,
    *,
    record_key: str | Sequence[str] | None = None,
    options: Mapping[str, Any] | None = None,
    batch: Batch | None = None,
    add_columns: bool = False,
    **table: Any,
) -> Commit:
    """Upsert ``data`` into the table at ``path``, which is created if there is none. Returns the
    commit.

    ``data`` is what ``table.upsert`` takes. A new table gets the columns of ``data`` and needs
    ``record_key``: the columns that identify a row, or () for generated keys. Rows of a table
    without a record key are added, and not compared. ``table``: other arguments of ``create``, such
    as ``partition_by`` or ``ordering``. They, and ``record_key``, may be repeated in each call:
    OptionConflictError if a table that is there says otherwise. ``batch`` and ``add_columns`` are
    those of ``table.upsert``.

    Raises CallError if there is no table and ``record_key`` is not given, and the errors of
    ``create`` and of writes.
    """
    if record_key is None and not any(key in _KEYS for key in options or ()):
        try:
            hoodoo.open(path, options)
        except NotATableError as error:
            raise CallError(
                f"hoodoo.write({os.fspath(path)!r}, ...)",
                "finds no table there, and nothing says which columns tell the rows of a new one "
                "apart.",
                'Give record_key="id", or several names; record_key=() makes keys, and rows are '
                "only added then.",
            ) from error
    wrong = why(_with_create(), (path, data), table)
    if wrong is not None:
        raise wrong
    rows = GivenRows(data, merges=True, batch=batch, add_columns=add_columns)
    hoodoo.create(
        path,
        rows,
        record_key=record_key or None,
        options=options,
        exist_ok=True,
        **table,
    )
    assert rows.commit is not None
    return rows.commit


def _with_create() -> Callable[..., Any]:
    """A function that is called as :func:`write` is, its arguments of ``create`` by name."""
    own = inspect.signature(write)
    made = {**own.parameters, **inspect.signature(hoodoo.create).parameters}
    for name in ("table", "schema", "exist_ok"):
        made.pop(name)

    def called() -> None:
        """Nothing: for its signature."""

    called.__name__ = write.__name__
    called.__signature__ = own.replace(  # type: ignore[attr-defined]
        parameters=[own.parameters.get(name, one) for name, one in made.items()]
    )
    return called


class _Counted:
    """Arrow data whose rows are counted, at once or as they are read. Rows that are marked as
    deleted are none of the table."""

    def __init__(self, data: Any, mark: Mark | None) -> None:
        self.rows, self.data, self.mark = 0, data, mark
        if isinstance(data, pa.Table):
            self.rows = self._unmarked(data)
        elif isinstance(data, pa.RecordBatchReader):
            self.data = pa.RecordBatchReader.from_batches(data.schema, self._count(data))
        else:
            marks = [name for name in self._marks if name in data.schema.names]
            found = data.to_batches(columns=marks) if marks else ()
            self.rows = sum(map(self._unmarked, found)) if marks else data.count_rows()

    def _count(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            self.rows += self._unmarked(batch)
            yield batch

    @property
    def _marks(self) -> tuple[str, ...]:
        return (IS_DELETED, OPERATION, *(self.mark or ())[:1])

    def _unmarked(self, rows: pa.Table | pa.RecordBatch) -> int:
        if not {*self._marks} & {*rows.schema.names}:
            return int(rows.num_rows)
        return int(pc.sum(pc.equal(marked_operations(rows, self.mark), PUT)).as_py() or 0)


def _refuse_doubles(table: TableHandle, commit: Commit, rows: int) -> None:
    twice = rows - commit.inserted
    if twice:
        rollback(table, commit.instant)
        keys = ", ".join(table.config.record_key_fields)
        raise DuplicateKeyError(
            f"record key {keys}",
            f"does not tell the rows apart: {twice} of {rows} have the key of another.",
            "Name more columns, or say by ordering=... which row of a key is the newest.",
        )
