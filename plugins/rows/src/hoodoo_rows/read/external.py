"""External: base files that another program made, and that the table names (as Apache XTable
does). Files of Delta Lake lack the partition columns, whose values their folders say."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from hoodoo.errors import CorruptTableError, UnsupportedTableError
from hoodoo.hookspecs.file_format import BaseFileFormat, BaseFileReader, BaseFileWriter
from hoodoo.hookspecs.read_source import ReadSource
from hoodoo.model.config import DEFAULT_PARTITION, TableConfig
from hoodoo.model.filegroup import FileSlice
from hoodoo.participants.travel import view_as_of
from hoodoo.storage.api import Storage
from hoodoo.timeline.view import FileSystemView

from hoodoo_rows.model.filter_text import text_of
from hoodoo_rows.read.reader_around import ReaderAround

_EXTERNAL = "_hudiext"


def listed_view(
    source: ReadSource, bound: str | None, paths: Collection[str] | None = None
) -> FileSystemView:
    """As :func:`~hoodoo.participants.travel.view_as_of`. UnsupportedTableError for a table with
    files of another program that is read without its metadata table: their own names say nothing
    of it."""
    try:
        return view_as_of(source, bound, paths)
    except CorruptTableError as error:
        if not error.obj.endswith(_EXTERNAL):
            raise
        raise UnsupportedTableError(
            error.obj,
            "is a file of another program, and only the metadata table says which of these are in "
            "the table.",
            "Open it without hoodie.metadata.enable=false; if it has no metadata table any more, "
            "let Apache XTable make the table again.",
        ) from error


def is_external(slice_: FileSlice) -> bool:
    """Whether another program made the base file."""
    return slice_.base_file is not None and not slice_.base_file.write_token


def external_format(
    file_format: BaseFileFormat,
    config: TableConfig,
    stored: pa.Schema,
    slices: Sequence[FileSlice],
) -> BaseFileFormat:
    """``file_format`` as it reads ``slices``: with the partition columns, whose types are in
    ``stored``, where a file of another program lacks them."""
    names = config.partition_fields
    if not names or not any(map(is_external, slices)):
        return file_format
    external = frozenset(s.base_file.path for s in slices if s.base_file and is_external(s))
    fields = tuple(stored.field(name) for name in names if name in stored.names)
    return ExternalFormat(file_format, fields, external)


@frozen
class ExternalFormat:
    """Implements :class:`~hoodoo.hookspecs.file_format.BaseFileFormat` around another one, for
    reads. Files are not plain: other readers of Parquet do not know the ``fields`` that files at
    ``paths`` may lack."""

    inner: BaseFileFormat
    fields: tuple[pa.Field, ...]
    paths: frozenset[str]

    @property
    def extension(self) -> str:
        """The inner format's."""
        return self.inner.extension

    def reader(self, storage: Storage, path: str) -> BaseFileReader:
        """Open ``path``. UnsupportedTableError where it lacks a partition column and its folders do
        not say the value."""
        found = self.inner.reader(storage, path)
        if path not in self.paths:
            return found
        lacking = [field for field in self.fields if field.name not in found.schema.names]
        if not lacking:
            return found
        try:
            return WithConstants(found, {f.name: self._value(path, f) for f in lacking})
        except UnsupportedTableError:
            found.close()
            raise

    def _value(self, path: str, field: pa.Field) -> pa.Scalar:
        folders = path.split("/")[:-1]
        texts = [text for text in folders if text.startswith(f"{field.name}=")]
        try:
            if len(texts) != 1:
                raise pa.ArrowInvalid(f"no folder is named {field.name}=...")
            text = unquote(texts[0].removeprefix(f"{field.name}="))
            return pa.scalar(None if text == DEFAULT_PARTITION else text, pa.string()).cast(
                field.type
            )
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise UnsupportedTableError(
                f"base file {path}",
                f"lacks the partition column {field.name}, and its folders do not say the value "
                f"as {field.type} ({error}).",
                "Read the table in its own format, with the program that wrote its files.",
            ) from error

    def writer(
        self,
        local: str,
        schema: pa.Schema,
        expected_rows: int | None = None,
        base: BaseFileReader | None = None,
    ) -> BaseFileWriter:
        """As the inner format."""
        return self.inner.writer(local, schema, expected_rows, base)


@frozen
class WithConstants(ReaderAround):
    """Implements :class:`~hoodoo.hookspecs.file_format.BaseFileReader`: the columns of a file, and
    ``values``, which are the same in all of its rows."""

    values: Mapping[str, pa.Scalar]

    @property
    def schema(self) -> pa.Schema:
        """The columns of the file, then the others."""
        made = [pa.field(name, value.type) for name, value in self.values.items()]
        return pa.schema([*self.inner.schema, *made])

    def batches(
        self,
        columns: Sequence[str] | None = None,
        where: pc.Expression | None = None,
        batch_rows: int | None = None,
        encoded: bool = False,
    ) -> Iterator[pa.RecordBatch]:
        """As the inner reader's. A filter of ``values`` prunes nothing."""
        known = self.schema.names
        asked = known if columns is None else [name for name in columns if name in known]
        there = [name for name in asked if name not in self.values]
        if where is not None and any(name in text_of(where) for name in self.values):
            where = None
        for batch in self.inner.batches(there, where, batch_rows, encoded):
            made = [
                pa.repeat(self.values[name], batch.num_rows)
                if name in self.values
                else batch.column(name)
                for name in asked
            ]
            yield pa.RecordBatch.from_arrays(made, names=asked) if made else batch
