"""A table as a polars LazyFrame, whose columns, filters and limits reach the files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from typing import TYPE_CHECKING, Any

import hoodoo
import pyarrow as pa
from hoodoo.errors import CallError
from hoodoo_rows.api import Rows, Scan

from hoodoo_frames.eager import absent
from hoodoo_frames.limited import first, some
from hoodoo_frames.plain_files import plain_files
from hoodoo_frames.polars_predicate import superset

if TYPE_CHECKING:
    import polars as pl


def scan_polars(
    source: Any,
    *,
    as_of: str | date | int | None = None,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> pl.LazyFrame:
    """A polars LazyFrame of a table. ``source`` is the path of a table, a table, or a read of a
    table.

    Columns, filters and limits of a query are pushed down. The LazyFrame shows the state at the
    time of this call. ``as_of`` and ``mode`` are those of ``table.read``, and ``options`` are
    those of ``hoodoo.open``.

    Raises EngineError if polars is not installed, CallError for an invalid source, and the errors
    of opening and planning."""
    try:
        import polars
        from polars.io.plugins import register_io_source
    except ImportError as error:
        raise absent("hoodoo.scan_polars", "polars") from error
    rows = _rows(source, as_of, mode, options)
    schema = rows.schema

    def batches(
        with_columns: list[str] | None, predicate: Any, n_rows: int | None, batch_size: int | None
    ) -> Iterator[Any]:
        # The first rows are those before the filter, where both are asked for.
        where = None if predicate is None or n_rows is not None else superset(predicate, schema)
        columns = _needed(schema, with_columns, predicate)
        kept = some(rows, columns, where)
        wanted = schema.names if with_columns is None else with_columns
        # The predicate follows; a filter that the read had before does not.
        bare = isinstance(rows, Scan) and rows.plan.spec.where is None
        files = plain_files(kept, footers, unfiltered=bare) if wanted else None
        if files is not None:
            lazy = polars.scan_parquet(files, glob=False, hive_partitioning=False)
            there = lazy.collect_schema()
            if all(there.get(name) == types[name] for name in columns or schema.names):
                yield from _by_itself(lazy, wanted, predicate, n_rows)
                return
        found = kept.to_batches()
        for batch in found if n_rows is None else first(found, n_rows):
            frame: Any = polars.from_arrow(batch)
            if predicate is not None:
                frame = frame.filter(predicate)
            yield frame.select(with_columns) if with_columns else frame

    footers: dict[str, pa.Schema] = {}
    empty: Any = polars.from_arrow(schema.empty_table())
    types = empty.schema
    return register_io_source(batches, schema=types, is_pure=True)


def _by_itself(lazy: Any, columns: Any, predicate: Any, n_rows: int | None) -> Iterator[Any]:
    """What polars' own reader makes of plain files."""
    if n_rows is not None:
        lazy = lazy.head(n_rows)
    if predicate is not None:
        lazy = lazy.filter(predicate)
    lazy = lazy.select(columns)
    yield from lazy.collect_batches() if hasattr(lazy, "collect_batches") else [lazy.collect()]


def _rows(source: Any, as_of: Any, mode: str | None, options: Mapping[str, Any] | None) -> Rows:
    if isinstance(source, Rows):
        given = {"as_of": as_of, "mode": mode, "options": options}
        named = [name for name, value in given.items() if value is not None]
        if named:
            raise CallError(
                f"hoodoo.scan_polars({named[0]}=...)",
                "the source is a read, which has decided that.",
                f"Give {named[0]} to where the read comes from, or a table here.",
            )
        return source
    if not isinstance(source, hoodoo.Table):
        path = getattr(source, "__fspath__", lambda: source)()
        if not isinstance(path, str):
            raise CallError(
                f"hoodoo.scan_polars({source!r})",
                "is no table.",
                "Give a path, an open table, or what table.read answers.",
            )
        source = hoodoo.open(path, options)
    elif options is not None:
        raise CallError(
            "hoodoo.scan_polars(options=...)",
            "the table is open already.",
            "Give them to hoodoo.open.",
        )
    found: Rows = source.read(as_of=as_of, **({} if mode is None else {"mode": mode}))
    return found


def _needed(schema: pa.Schema, columns: list[str] | None, predicate: Any) -> list[str] | None:
    """The columns to be read: those of the result, and of the filter."""
    if columns is None:
        return None
    also = set() if predicate is None else set(predicate.meta.root_names())
    # A frame without columns has no rows.
    return [name for name in schema.names if name in {*columns, *also}] or schema.names[:1]
