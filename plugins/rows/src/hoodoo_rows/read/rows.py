"""Rows: the methods that all kinds of reads have."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, cast

import pyarrow as pa
from hoodoo.calls import checked_methods, lacks
from hoodoo.errors import CallError
from hoodoo.kernel.functions import OF_READS, function, function_names
from hoodoo.model.brief import Shown, some

from hoodoo_rows.read.prefetch import close_items

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import polars as pl
    import pyarrow.dataset


@checked_methods
class Rows(Shown):
    """Rows that are read when one of the methods is called, and again at the next call."""

    __slots__ = ()

    # For calls that take a read for a pyarrow Dataset, as polars.scan_pyarrow_dataset does.
    call_hint: ClassVar[str] = "A read is not a Dataset; its method to_dataset() returns one. "

    if TYPE_CHECKING:  # methods that plugins bring; type checkers know the usual ones
        read_blob = search = cast(Any, None)

        def limit(self, n: int) -> Rows: ...
        def to_dataset(self) -> pa.dataset.Dataset: ...
        def to_duckdb(
            self, connection: Any = None, *, unfiltered: bool = False
        ) -> duckdb.DuckDBPyRelation: ...
        def to_pandas(self, **options: Any) -> pd.DataFrame: ...
        def to_polars(self) -> pl.DataFrame: ...
    else:

        def __getattr__(self, name: str) -> Any:
            found = None if name.startswith("_") else function(OF_READS + name)
            if found is None:
                what = f"{type(self).__name__!r} object has no attribute"
                lacks(what, "Scan", name, of=self)
            return partial(found, self)

        def __dir__(self) -> list[str]:
            return sorted({*super().__dir__(), *function_names(OF_READS)})

    def _facts(self) -> Mapping[str, object]:
        plan = getattr(self, "plan", None)
        what = self if plan is None else plan.brief()
        return {"read": what, "columns": some((f"{f.name}: {f.type}" for f in self.schema), 20)}

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """The columns of the rows."""

    @abstractmethod
    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows as record batches, of which few are in memory at a time."""

    @abstractmethod
    def count(self) -> int:
        """The number of rows."""

    def to_reader(self) -> pa.RecordBatchReader:
        """:meth:`to_batches` with its schema, as Arrow's own stream type."""
        return pa.RecordBatchReader.from_batches(self.schema, Lasting(self.to_batches()))

    def to_arrow(self) -> pa.Table:
        """All rows in memory."""
        batches = list(self.to_batches())
        if not self.schema.names and batches:  # Arrow counts the rows of a table by its columns
            return pa.Table.from_batches(batches)
        return pa.Table.from_batches(batches, self.schema)

    def to_pylist(self) -> list[dict[str, Any]]:
        """All rows as dictionaries. Use it for few rows."""
        rows: list[dict[str, Any]] = self.to_arrow().to_pylist()
        return rows

    def head(self, n: int = 10) -> pa.Table:
        """The first ``n`` rows, in memory. Reads only as much of the files as necessary. Rows have
        no order of their own: the order is that of ``to_batches``."""
        if not isinstance(n, int) or isinstance(n, bool) or n < 0:
            raise CallError(
                f"head({n!r})", "takes a number of rows.", "Give one, such as head(10)."
            )
        found: list[pa.RecordBatch] = []
        left = n
        batches = self.to_batches()
        try:
            while left > 0 and (batch := next(batches, None)) is not None:
                found.append(batch.slice(0, left))
                left -= found[-1].num_rows
        finally:
            close_items(batches)
        if not self.schema.names and found:
            return pa.Table.from_batches(found)
        return pa.Table.from_batches(found, self.schema)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """The record batches of :meth:`to_batches`."""
        return self.to_batches()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        # The type of capsules can't be imported from Python: it is known by its name.
        if requested_schema is not None and type(requested_schema).__name__ != "PyCapsule":
            raise CallError(
                "__arrow_c_stream__(requested_schema=)",
                f"is a {type(requested_schema).__name__}, not a capsule of a schema.",
                "Give schema.__arrow_c_schema__() of a pyarrow Schema, or nothing.",
            )
        return self.to_reader().__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        raise CallError(
            "len() of a read", "its length is not known yet.", "Call its method count()."
        )

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        # pandas.DataFrame(scan) calls this. It does not support Arrow streams, and would make wrong
        # columns of the batches.
        raise CallError(
            "a read as a NumPy array",
            "rows have columns of different types.",
            "Call to_pandas() for a pandas DataFrame, or to_arrow()[column].to_numpy().",
        )


class Lasting:
    """An iterator of batches that raises its error again at each later call. A generator only stops
    after an error, so that the rest of the rows would seem to be empty."""

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self._batches = batches
        self._error: Exception | None = None

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self

    def __next__(self) -> pa.RecordBatch:
        if self._error is not None:
            raise self._error
        try:
            return next(self._batches)
        except StopIteration:
            raise
        except Exception as error:
            self._error = error
            raise
