"""Reading one parquet base file, row group by row group."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hoodoo.errors import CorruptTableError
from hoodoo.model.schema_door import conform, plain_schema
from hoodoo.storage.api import Storage

# A footer may carry a bloom filter of many MB; these are the limits of its text, not an allocation.
_FOOTER_BYTES = 1 << 30
# Column chunks are read in pieces of this many bytes, not whole: memory follows the batch.
_BUFFER_BYTES = 1 << 18
# What pyarrow raises where bytes are not what they should be; the last one for damaged names.
_BROKEN = (pa.ArrowException, OSError, UnicodeDecodeError)


class ParquetReader:
    """Implements :class:`hoodoo.hookspecs.file_format.BaseFileReader`.

    Batches are in :attr:`schema`: plain strings, bytes and lists, whatever the writer used.
    Decoding runs in the calling thread, because tasks already run beside each other.
    """

    def __init__(self, storage: Storage, path: str) -> None:
        self._obj = f"base file {path}"
        self._storage, self._path = storage, path
        try:
            self._file = storage.open(path)
        except FileNotFoundError as error:
            raise CorruptTableError(
                self._obj,
                "the timeline names it, and it is not there.",
                "If a cleaner removed it while you were reading, read again.",
            ) from error
        try:
            self._parquet = pq.ParquetFile(
                self._file,
                pre_buffer=False,
                buffer_size=_BUFFER_BYTES,
                coerce_int96_timestamp_unit="us",
                thrift_string_size_limit=_FOOTER_BYTES,
            )
            self._schema = plain_schema(self._parquet.schema_arrow)
        except _BROKEN as error:
            self._file.close()
            raise self._corrupt(error) from error
        # Batches are selected by name; a name that occurs twice would be ambiguous.
        if len(set(self._schema.names)) < len(self._schema.names):
            self.close()
            raise CorruptTableError(
                self._obj, "two of its columns have one name.", "Rewrite the file."
            )

    @property
    def schema(self) -> pa.Schema:
        return self._schema

    @property
    def num_rows(self) -> int:
        return int(self._parquet.metadata.num_rows)

    @property
    def metadata(self) -> Mapping[str, str]:
        """The footer's key-value metadata, decoded anew at each call."""
        found = self._parquet.metadata.metadata or {}
        return {
            k.decode("utf-8", "replace"): v.decode("utf-8", "replace") for k, v in found.items()
        }

    def batches(
        self,
        columns: Sequence[str] | None = None,
        where: pc.Expression | None = None,
        batch_rows: int = 65536,
    ) -> Iterator[pa.RecordBatch]:
        """Rows in file order, in the order of ``columns`` (those the file lacks left out).

        ``where`` skips row groups whose statistics prove that no row matches, and nothing else.
        """
        names = [n for n in columns if n in self._schema.names] if columns is not None else None
        groups = self._row_groups(where)
        if names == [] or not self._schema.names:
            yield from self._empty_rows(groups, batch_rows)
            return
        wanted = (
            self._schema if names is None else pa.schema([self._schema.field(n) for n in names])
        )
        try:
            for batch in self._parquet.iter_batches(
                batch_size=batch_rows, row_groups=groups, columns=names, use_threads=False
            ):
                yield conform(batch, wanted)
        except _BROKEN as error:
            raise self._corrupt(error) from error

    def _empty_rows(self, groups: Sequence[int], batch_rows: int) -> Iterator[pa.RecordBatch]:
        rows = sum(self._parquet.metadata.row_group(i).num_rows for i in groups)
        while rows > 0:
            step = min(rows, batch_rows)
            yield pa.record_batch([pa.nulls(step)], ["none"]).select([])
            rows -= step

    def _row_groups(self, where: pc.Expression | None) -> list[int]:
        every = list(range(self._parquet.metadata.num_row_groups))
        if where is None or not every or self._unsafe(where):
            return every
        try:
            # Imports pandas where there is one: only who has a filter pays.
            import pyarrow.dataset as ds

            fragment = ds.ParquetFileFormat().make_fragment(self._file)
            schema = self._parquet.schema_arrow.remove_metadata()
            while True:
                try:
                    return sorted(g.id for g in fragment.subset(where, schema=schema).row_groups)
                except pa.ArrowInvalid as error:
                    missing = re.search(r"No match for FieldRef\.Name\(([^)]*)\)", str(error))
                    if missing is None or missing[1] in schema.names:
                        return every
                    # A column added later: of unknown value here, so that it prunes nothing while
                    # the rest of the expression still can.
                    schema = schema.append(pa.field(missing[1], pa.null()))
        except (*_BROKEN, TypeError):
            return every  # what can't be compared prunes nothing; reading will tell if it is broken

    def _unsafe(self, where: pc.Expression) -> bool:
        """Statistics leave NaN out, so that "not less", "not equal" and their like prove nothing
        about columns of floating point numbers."""
        text = str(where)
        if not re.search(r"invert\(|!=|== false|is_nan|if_else|xor\(|coalesce", text):
            return False
        floats = [f.name for f in self._schema if pa.types.is_floating(f.type)]
        return any(re.search(rf"\b{re.escape(name)}\b", text) for name in floats)

    def _corrupt(self, error: Exception) -> CorruptTableError:
        return CorruptTableError(
            self._obj,
            f"it can't be read as parquet ({error}).",
            "Restore the file from a copy, or roll back or restore the table to before it.",
        )

    def close(self) -> None:
        self._parquet.close()
        self._file.close()

    def __enter__(self) -> ParquetReader:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
