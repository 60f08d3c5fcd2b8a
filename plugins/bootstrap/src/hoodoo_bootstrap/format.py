"""The format of base files of a bootstrapped table, around the format that its properties name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial

import pyarrow as pa
from attrs import evolve, field, frozen
from hoodoo.errors import CorruptTableError
from hoodoo.hookspecs.file_format import (
    BaseFileFormat,
    BaseFileReader,
    BaseFileWriter,
    BaseRanges,
    ColumnBounds,
    HasColumnRanges,
    InPlaceWriter,
    MembershipFilter,
    RewritesInPlace,
    StoredFilter,
    StoresFilters,
    UsesThreads,
)
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.resolve import resolve
from hoodoo.model.config import TableConfig
from hoodoo.model.filegroup import BaseFile
from hoodoo.model.meta import META_COLUMNS
from hoodoo.model.schema.avro import arrow_schema
from hoodoo.options.table import BASE_FORMAT, BOOTSTRAP_BASE
from hoodoo.storage.api import Storage
from hoodoo.table.settings import open_storage
from hoodoo.timeline.names import parse_path
from hoodoo.timeline.timeline import load
from hoodoo_rows.api import StoredFiles

from hoodoo_bootstrap.folder import PathColumns
from hoodoo_bootstrap.index import SKELETONS, BootstrapIndex, SourceFile, needed
from hoodoo_bootstrap.zipped import ZippedReader, changed

# Hudi notes milliseconds; seconds.
_SAME_TIME = 2e-3


class _Seen:
    """What a process has read of tables: the index and the columns of paths, by the table's root. A
    copy in another process reads it again."""

    def __init__(self) -> None:
        self.indexes: dict[str, BootstrapIndex] = {}
        self.columns: dict[str, PathColumns] = {}

    def __reduce__(self) -> tuple[type[_Seen], tuple[()]]:
        return _Seen, ()


@frozen
class BootstrappedFormat:
    """Implements :class:`~hoodoo.hookspecs.file_format.BaseFileFormat`. Base files of the instant
    of a METADATA_ONLY bootstrap are read with their file in ``source``; all others are those of
    ``stored``. Not plain: other readers of Parquet would read the skeletons alone."""

    stored: BaseFileFormat
    source: Storage
    config: TableConfig = field(eq=False)
    _seen: _Seen = field(factory=_Seen, eq=False, repr=False, init=False)

    @property
    def extension(self) -> str:
        """The inner format's."""
        return self.stored.extension

    def reader(self, storage: Storage, path: str) -> BaseFileReader:
        """Open ``path``, a skeleton with its source file. CorruptTableError if that was changed or
        deleted, UnsupportedTableError if the table's index is."""
        file = _skeleton(path)
        if file is None:
            return self.stored.reader(storage, path)
        found = self.source_of(storage, file)
        same = self._is_as_it_was(found)
        with ExitStack() as opened:
            source = opened.enter_context(self._opened(found))
            values = self._columns(storage).of(file.partition_path, source.schema.names)
            zipped = ZippedReader(
                storage,
                path,
                source,
                values,
                f"{self.source.root}/{found.path}",
                partial(self.stored.reader, storage, path),
            )
            if not same:
                _ = zipped.skeleton  # compares the numbers of rows
            opened.pop_all()
            return zipped

    def _is_as_it_was(self, found: SourceFile) -> bool:
        """Whether the source file has the size and the time of modification that the index notes:
        a copy of the source has another time. CorruptTableError where it has another size, or was
        deleted."""
        name, there = f"{self.source.root}/{found.path}", self.source.head(found.path)
        if there is None:
            raise changed(name, "was deleted: it has the columns of rows of a bootstrapped table.")
        if found.size and there.size != found.size:
            had = found.size
            raise changed(name, f"has {there.size} bytes, and had {had} at the bootstrap.")
        return bool(found.size) and abs(there.modified - found.modified) < _SAME_TIME

    def source_of(self, storage: Storage, file: BaseFile) -> SourceFile:
        """The file that has the columns of the skeleton ``file``. UnsupportedTableError without an
        index, CorruptTableError where it lacks the file."""
        seen = self._seen.indexes
        index = seen.get(storage.root)
        found = None if index is None else index.source_of(file)
        if found is None:  # another index may be there by now
            seen[storage.root] = index = needed(BootstrapIndex.open(storage), file.path)
            found = index.source_of(file)
        if found is None:
            raise CorruptTableError(
                f"base file {file.path}",
                "is not in the index of the bootstrap, which names the file of its columns.",
                "Restore the index from a copy of the table.",
            )
        return found

    def bootstrap_path(self, storage: Storage, path: str) -> str | None:
        """The URI of the source file of the base file ``path``, as plans of services name it; None
        if it has none."""
        file = _skeleton(path)
        return None if file is None else f"{self.source.root}/{self.source_of(storage, file).path}"

    def _opened(self, found: SourceFile) -> BaseFileReader:
        try:
            return self.stored.reader(self.source, found.path)
        except CorruptTableError as error:
            name = f"{self.source.root}/{found.path}"
            raise changed(name, f"can't be read ({error.rule})") from error

    def _columns(self, storage: Storage) -> PathColumns:
        """What folders say of columns that files lack, in the types that the table had first."""
        seen = self._seen.columns
        if storage.root not in seen:
            names, config = self.config.partition_fields, self.config
            text = config.create_schema
            if names and text is None:
                text = load(storage, config).latest_schema_text(storage)
            schema = pa.schema([]) if text is None else arrow_schema(text)
            kinds = {f.name: f.type for f in schema if f.name in names}
            seen[storage.root] = PathColumns(tuple(names), kinds)
        return seen[storage.root]

    def writer(
        self,
        local: str,
        schema: pa.Schema,
        expected_rows: int | None = None,
        base: BaseFileReader | None = None,
    ) -> BaseFileWriter:
        """As the inner format: new files are whole."""
        return self.stored.writer(local, schema, expected_rows, base)

    def with_threads(self, threads: int) -> BaseFileFormat:
        """The same, with the inner format's threads."""
        if not isinstance(self.stored, UsesThreads):
            return self
        return evolve(self, stored=self.stored.with_threads(threads))

    def in_place(
        self,
        local: str,
        schema: pa.Schema,
        expected_rows: int | None,
        base: BaseFileReader,
        constants: Mapping[str, str],
    ) -> InPlaceWriter | None:
        """As the inner format. None for a skeleton: its rows are written as a whole file."""
        if isinstance(base, ZippedReader) or not isinstance(self.stored, RewritesInPlace):
            return None
        return self.stored.in_place(local, schema, expected_rows, base, constants)

    def column_ranges(
        self, storage: Storage, path: str, columns: Sequence[str]
    ) -> Mapping[str, ColumnBounds]:
        """As the inner format's, of the file that has the column."""
        if not isinstance(self.stored, HasColumnRanges):
            return {}
        file = _skeleton(path)
        ours = [c for c in columns if file is None or c in META_COLUMNS]
        found = dict(self.stored.column_ranges(storage, path, ours))
        if file is not None:
            others = [c for c in columns if c not in META_COLUMNS]
            source = self.source_of(storage, file)
            found |= self.stored.column_ranges(self.source, source.path, others)
        return found

    def base_ranges(self, storage: Storage, path: str, columns: Sequence[str]) -> BaseRanges:
        """As the inner format's, of both files."""
        ours = StoredFiles.ranges(storage, self.stored, path, columns)
        file = _skeleton(path)
        if file is None:
            return ours
        source = self.source_of(storage, file)
        own = [c for c in columns if c not in META_COLUMNS]
        others = StoredFiles.ranges(self.source, self.stored, source.path, own)
        moved = {c: evolve(one, name=file.name) for c, one in others.ranges.items()}
        return evolve(ours, columns=ours.columns | others.columns, ranges={**ours.ranges, **moved})


@frozen
class BootstrappedFilters(BootstrappedFormat):
    """The same of a format whose filters can be stored elsewhere."""

    def stored_filter(self, storage: Storage, path: str) -> StoredFilter | None:
        """The inner format's: record keys are in skeletons."""
        assert isinstance(self.stored, StoresFilters)
        return self.stored.stored_filter(storage, path)

    def opened_filter(self, stored: StoredFilter) -> MembershipFilter:
        """The inner format's."""
        assert isinstance(self.stored, StoresFilters)
        return self.stored.opened_filter(stored)


def _skeleton(path: str) -> BaseFile | None:
    file = parse_path(path)
    return file if isinstance(file, BaseFile) and file.instant == SKELETONS else None


def from_settings(settings: Settings) -> BootstrappedFormat:
    """The format of a table that has the property ``hoodie.bootstrap.base.path``."""
    config = settings.table
    stored = resolve("file_format", settings.value(BASE_FORMAT).upper(), settings).instance
    kind = BootstrappedFilters if isinstance(stored, StoresFilters) else BootstrappedFormat
    source = open_storage(config.get(BOOTSTRAP_BASE) or "", settings.options)
    return kind(stored, source, config)
