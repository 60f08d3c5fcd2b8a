"""The plan of a bootstrap: what there is, what becomes of it, and what it costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from hoodoo.errors import ConfigError, SchemaError
from hoodoo.hookspecs.engine import Engine
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.model.brief import Shown, size
from hoodoo.model.meta import META_COLUMNS
from hoodoo.storage.api import Storage
from hoodoo_rows.model.normalize import plain_schema

from hoodoo_bootstrap.folder import PathColumns, hive_columns, kind_of
from hoodoo_bootstrap.index import SourceFile
from hoodoo_bootstrap.modes import Modes
from hoodoo_bootstrap.options import FULL_RECORD, METADATA_ONLY
from hoodoo_bootstrap.skeletons import ReadFooters, tasks

# Measured: a skeleton row in zstd, keys of 16 letters included; a file's bloom filter and footer.
_ROW_BYTES, _FILE_BYTES = 24, 6 << 10
_FAMILIES = (pa.types.is_integer, pa.types.is_floating)


@frozen
class BootstrapPlan(Shown):
    """What a bootstrap of ``source`` would do. Counts by mode: ``files``, ``rows`` and ``bytes`` of
    the source, ``partitions``. ``estimated_bytes``: that the table would have. ``columns``: of the
    table; ``partition_by``: those that folders are named after."""

    source: str
    columns: pa.Schema
    partition_by: tuple[str, ...]
    files: Mapping[str, int]
    partitions: Mapping[str, int]
    rows: Mapping[str, int]
    bytes: Mapping[str, int]

    @property
    def estimated_bytes(self) -> Mapping[str, int]:
        """Copied rows take about as many bytes as they do in the source."""
        skeletons = self.rows[METADATA_ONLY] * _ROW_BYTES + self.files[METADATA_ONLY] * _FILE_BYTES
        return {METADATA_ONLY: skeletons, FULL_RECORD: self.bytes[FULL_RECORD]}

    def _facts(self) -> Mapping[str, object]:
        return {"source": self.source} | {
            mode: (
                f"{self.files[mode]} files in {self.partitions[mode]} partitions, "
                f"{self.rows[mode]} rows, {size(self.bytes[mode])}; "
                f"about {size(self.estimated_bytes[mode])} to write"
            )
            for mode in (METADATA_ONLY, FULL_RECORD)
        }


@frozen
class Found:
    """What the files of a source say. ``rows``: of each of ``files``."""

    files: tuple[SourceFile, ...]
    schema: pa.Schema
    columns: PathColumns
    rows: pa.ChunkedArray

    def plan(self, source: str, modes: Modes) -> BootstrapPlan:
        """By ``modes``."""
        each: dict[str, list[SourceFile]] = {METADATA_ONLY: [], FULL_RECORD: []}
        rows = dict.fromkeys(each, 0)
        for file, count in zip(self.files, self.rows.to_pylist(), strict=True):
            mode = modes.of(file.folder)
            each[mode].append(file)
            rows[mode] += count
        return BootstrapPlan(
            source,
            self.schema,
            self.columns.names,
            {mode: len(files) for mode, files in each.items()},
            {mode: len({f.folder for f in files}) for mode, files in each.items()},
            rows,
            {mode: sum(f.size for f in files) for mode, files in each.items()},
        )


def look(
    engine: Engine,
    source: Storage,
    file_format: BaseFileFormat,
    files: Sequence[SourceFile],
    partition_by: Sequence[str] | None,
    most: int,
) -> Found:
    """Read the footers of all files, in tasks. SchemaError for columns that don't go together."""
    found = engine.collect(engine.map(tasks(engine, files, most), ReadFooters(source, file_format)))
    found = found.sort_by("path")
    rows = found.column("rows")
    said = found.filter(pc.greater(pc.binary_length(found.column("schema")), 0)).to_pylist()
    texts = {one["schema"]: one["path"] for one in said}
    schemas = [
        (path, pa.ipc.read_schema(pa.py_buffer(text)))
        for text, path in sorted(texts.items(), key=lambda t: t[1])
    ]
    schema = _together(source, schemas)
    names = tuple(hive_columns(files) if partition_by is None else partition_by)
    untyped = PathColumns(names)
    lacking = [name for name in names if any(name not in one.names for _path, one in schemas)]
    kinds = {}
    if lacking:
        texts_of = [untyped.texts(folder) for folder in {file.folder for file in files}]
        kinds = {name: kind_of({text[name] for text in texts_of}) for name in lacking}
    for name in lacking:
        at = schema.get_field_index(name)
        if at < 0:
            schema = schema.append(pa.field(name, kinds[name]))
        else:
            kinds[name] = schema.field(at).type
    return Found(tuple(files), plain_schema(schema, check=True), PathColumns(names, kinds), rows)


def _together(source: Storage, schemas: Sequence[tuple[str, pa.Schema]]) -> pa.Schema:
    """One schema that all files can be read with: whole numbers and floats may be wider in it."""
    fields: dict[str, pa.Field] = {}
    for path, schema in schemas:
        for one in schema:
            if one.name in META_COLUMNS:
                raise ConfigError(
                    f"file {source.root}/{path}",
                    f"has the column {one.name}: it is of a Hudi table.",
                    "Open that table; or copy its rows: hoodoo.convert.",
                )
            before = fields.get(one.name)
            fields[one.name] = one if before is None else _wider(source, path, before, one)
    return pa.schema(fields.values())


def _wider(source: Storage, path: str, one: pa.Field, other: pa.Field) -> pa.Field:
    if one.type == other.type:
        return one
    if any(family(one.type) and family(other.type) for family in _FAMILIES):
        return one if one.type.bit_width > other.type.bit_width else other
    raise SchemaError(
        f"column {one.name}",
        f"is of {one.type} in some files, and of {other.type} in {source.root}/{path}.",
        "Bootstrap these files apart, or copy them with "
        "hoodoo.convert(pyarrow.dataset.dataset(path, schema=...), to).",
    )
