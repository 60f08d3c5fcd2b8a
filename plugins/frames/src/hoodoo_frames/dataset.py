"""A read as a pyarrow Dataset. Engines that know datasets push columns and filters into it: what
they leave out is not read, as if table.read had been asked for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from attrs import evolve
from hoodoo.errors import CallError
from hoodoo_rows.api import Batches, Rows, Scan

from hoodoo_frames.limited import first, some
from hoodoo_frames.plain_files import plain_files

_AHEAD = 8  # batches of a file that wait to be taken
_LARGE = 4 << 20  # bytes of files, from which on it matters who decodes them


def to_dataset(self: Rows) -> RowsDataset:
    """This read as a ``pyarrow.dataset.Dataset``, for DuckDB, polars, DataFusion and others. They
    push down columns and filters, which then skip files and row groups as those of ``table.read``
    do.

    The dataset always shows the state at the time when the read was planned, even if it is scanned
    several times."""
    return RowsDataset(self)


class RowsDataset(ds.Dataset):  # type: ignore[misc]  # pyarrow has no types
    """A Dataset whose rows are those of a read: of log files too, without deleted ones.

    Its fragments are datasets as well, one for each file slice.
    """

    def __init__(self, rows: Rows) -> None:
        # Not that of pyarrow, which is for datasets in C++: none of its members is left.
        self.rows = rows

    def __repr__(self) -> str:
        return f"<hoodoo dataset of {self.rows!r}>"

    def __reduce__(self) -> Any:
        return RowsDataset, (self.rows,)

    @property
    def schema(self) -> pa.Schema:
        return self.rows.schema

    @property
    def partition_expression(self) -> pc.Expression:
        return pc.scalar(True)

    def scanner(self, columns: Any = None, filter: Any = None, **options: Any) -> RowsScanner:
        """``columns``: names, or names with expressions; ``filter``: an expression. Other options
        of pyarrow, which say how files are read, are taken and not needed."""
        return RowsScanner(self, columns, filter)

    def to_table(self, columns: Any = None, filter: Any = None, **options: Any) -> pa.Table:
        return self.scanner(columns, filter).to_table()

    def to_batches(
        self, columns: Any = None, filter: Any = None, **options: Any
    ) -> Iterator[pa.RecordBatch]:
        return self.scanner(columns, filter).to_batches()

    def head(
        self, num_rows: int, columns: Any = None, filter: Any = None, **options: Any
    ) -> pa.Table:
        return RowsScanner(self, columns, filter).head(num_rows)

    def take(
        self, indices: Any, columns: Any = None, filter: Any = None, **options: Any
    ) -> pa.Table:
        return RowsScanner(self, columns, filter).take(indices)

    def count_rows(self, filter: Any = None, **options: Any) -> int:
        return some(self.rows, [] if filter is not None else None, filter).count()

    def filter(self, expression: pc.Expression) -> RowsDataset:
        return RowsDataset(some(self.rows, None, expression))

    def sort_by(self, sorting: Any, **options: Any) -> ds.InMemoryDataset:
        return ds.InMemoryDataset(self.to_table().sort_by(sorting))

    def join(self, right_dataset: Any, *args: Any, **options: Any) -> ds.InMemoryDataset:
        return ds.InMemoryDataset(self.to_table()).join(_plain(right_dataset), *args, **options)

    def join_asof(self, right_dataset: Any, *args: Any, **options: Any) -> ds.InMemoryDataset:
        plain = ds.InMemoryDataset(self.to_table())
        return plain.join_asof(_plain(right_dataset), *args, **options)

    def get_fragments(self, filter: Any = None) -> Iterator[RowsDataset]:
        """A dataset for each file slice that may have rows of which ``filter`` is true; not all of
        its rows are such."""
        if not isinstance(self.rows, Scan):
            return iter([RowsFragment(self.rows)])
        kept = some(self.rows, [], filter)
        slices = kept.plan.slices if isinstance(kept, Scan) else ()
        plan = self.rows.plan
        return (RowsFragment(evolve(self.rows, plan=evolve(plan, slices=(s,)))) for s in slices)

    def replace_schema(self, schema: pa.Schema) -> NoReturn:
        raise CallError(
            "replace_schema of a Hoodoo dataset",
            "its rows have the types of the table.",
            "Cast what scanner() or to_table() gives.",
        )


class RowsFragment(RowsDataset):
    """A part of a dataset, which is called as pyarrow's fragments are: with a schema before columns
    and filter."""

    def __reduce__(self) -> Any:
        return RowsFragment, (self.rows,)

    def scanner(self, *given: Any, **options: Any) -> RowsScanner:
        asked = {**dict(zip(("schema", "columns", "filter"), given, strict=False)), **options}
        return RowsScanner(self, asked.get("columns"), asked.get("filter"))

    def to_table(self, *given: Any, **options: Any) -> pa.Table:
        return self.scanner(*given, **options).to_table()

    def to_batches(self, *given: Any, **options: Any) -> Iterator[pa.RecordBatch]:
        return self.scanner(*given, **options).to_batches()


class RowsScanner(ds.Scanner):  # type: ignore[misc]  # pyarrow has no types
    """One scan of some rows and columns, which may be asked for again."""

    def __init__(self, dataset: RowsDataset, columns: Any, filter: Any) -> None:
        self._dataset = dataset
        self._shown: dict[str, pc.Expression] | None = None
        if isinstance(columns, dict):
            self._shown, columns = columns, None
        self._rows = some(dataset.rows, columns, filter)

    def __repr__(self) -> str:
        return f"<hoodoo scanner of {self._rows!r}>"

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.to_reader().__arrow_c_stream__(requested_schema)

    @property
    def dataset_schema(self) -> pa.Schema:
        return self._dataset.schema

    @property
    def projected_schema(self) -> pa.Schema:
        if self._shown is None:
            return self._rows.schema
        return self._project(self._rows.schema.empty_table()).schema

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        if self._shown is None:
            return self._rows.to_batches()
        return (
            found
            for batch in self._rows.to_batches()
            for found in self._project(pa.Table.from_batches([batch])).to_batches()
        )

    def scan_batches(self) -> Iterator[Any]:
        return (ds.TaggedRecordBatch(batch, None) for batch in self.to_batches())

    def to_reader(self) -> pa.RecordBatchReader:
        """DuckDB asks for this. Of plain files, pyarrow's own scanner makes the batches: no Python
        is between its threads and those that take them."""
        plain = None if self._shown is not None else _of_files(self._rows)
        if plain is not None:
            return plain.to_reader()
        return pa.RecordBatchReader.from_batches(
            self.projected_schema, Batches.Lasting(self.to_batches())
        )

    def to_table(self) -> pa.Table:
        return self._rows.to_arrow() if self._shown is None else self.to_reader().read_all()

    def head(self, num_rows: int) -> pa.Table:
        if self._shown is None:
            return self._rows.head(num_rows)
        found = list(first(iter(self.to_batches()), num_rows))
        return pa.Table.from_batches(found, self.projected_schema)

    def take(self, indices: Any) -> pa.Table:
        return self.to_table().take(indices)

    def count_rows(self) -> int:
        return self._rows.count()

    def _project(self, table: pa.Table) -> pa.Table:
        """The columns that are expressions."""
        assert self._shown is not None
        return ds.InMemoryDataset(table).to_table(columns=self._shown)


def _of_files(rows: Rows) -> ds.Scanner | None:
    """The rows by pyarrow's scanner of their files; None where they are more than plain files, and
    where it may leave out rows: it takes the statistics of floating numbers for those of NaN,
    too."""
    known: dict[str, pa.Schema] = {}
    if not isinstance(rows, Scan) or not rows.schema.names:
        return None
    spec, slices = rows.plan.spec, rows.plan.slices
    size = sum(s.base_file.size for s in slices if s.base_file is not None)
    if size < _LARGE or spec.asked is not None:  # a point read looks at pages
        return None
    files = plain_files(rows, known, unfiltered=True)
    if not files:
        return None
    schema = known[files[0]]
    for name in spec.where_columns:
        at = schema.get_field_index(name)
        if (
            at < 0
            or pa.types.is_floating(kind := schema.field(at).type)
            or pa.types.is_nested(kind)
        ):
            return None
    made = ds.dataset(files, schema, format="parquet").scanner(
        rows.schema.names, spec.where, batch_readahead=_AHEAD, fragment_readahead=2
    )
    return made if made.projected_schema.equals(rows.schema) else None


def _plain(dataset: Any) -> Any:
    return ds.InMemoryDataset(dataset.to_table()) if isinstance(dataset, RowsDataset) else dataset


__all__ = ["RowsDataset", "RowsScanner", "to_dataset"]
