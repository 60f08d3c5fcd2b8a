"""The source of a bootstrap: a folder of Parquet files, whose folders are partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from attrs import field, frozen
from hoodoo.errors import ConfigError, NotATableError, SchemaError
from hoodoo.model.config import DEFAULT_PARTITION
from hoodoo.storage.api import Storage

from hoodoo_bootstrap.index import SourceFile

_PATHS = 64  # whose values stay in memory
_TABLES = {".hoodie": "a Hudi", "_delta_log": "a Delta Lake"}


def files_in(storage: Storage) -> tuple[SourceFile, ...]:
    """The Parquet files below the source's folder, by path. What begins with ``_`` or ``.`` is no
    part of it, but for the folder of rows without a value. ConfigError for a folder of another
    table, and for one with other files."""
    found = []
    for entry in storage.list("", recursive=True):
        parts = entry.path.split("/")
        table = next((_TABLES[part] for part in parts if part in _TABLES), None)
        if table is not None:
            raise ConfigError(
                f"source {storage.root}",
                f"is {table} table, of which not all files are rows of now.",
                "Open it, or copy it: hoodoo.convert(source, to).",
            )
        hidden = any(part.startswith(("_", ".")) and part != DEFAULT_PARTITION for part in parts)
        if hidden or not entry.size:
            continue
        if not entry.path.lower().endswith(".parquet"):
            raise ConfigError(
                f"file {storage.root}/{entry.path}",
                "is not a Parquet file: its name does not end with .parquet.",
                "Bootstrap a folder of Parquet files alone.",
            )
        found.append(SourceFile(entry.path, entry.size, entry.modified))
    if not found:
        raise NotATableError(storage.root, "there are no Parquet files in it.", "Check the path.")
    return tuple(sorted(found, key=lambda file: file.path))


@frozen
class PathColumns:
    """The columns that files lack, as folders say their values. ``names``: the partition columns,
    one for each folder of a path; ``kinds``: their types, text where none is known."""

    names: tuple[str, ...] = ()
    kinds: Mapping[str, pa.DataType] = {}
    # Of the paths that were asked for last, with the columns that files lacked.
    _made: dict[tuple[str, ...], dict[str, pa.Scalar]] = field(factory=dict, eq=False, repr=False)

    def of(self, path: str, there: Sequence[str]) -> dict[str, pa.Scalar]:
        """The columns of the partition ``path`` that are not ``there``. SchemaError where the path
        does not say them."""
        lacking = [name for name in self.names if name not in there]
        if not lacking:
            return {}
        key = (path, *lacking)
        made = self._made.get(key)
        if made is None:
            texts = self.texts(path)
            made = {name: self._value(name, texts[name], path) for name in lacking}
            if len(self._made) >= _PATHS:
                self._made.clear()
            self._made[key] = made
        return made

    def texts(self, path: str) -> dict[str, str | None]:
        """What a partition path says of each column. SchemaError if it has another number of
        folders."""
        parts = path.split("/") if path else []
        if len(parts) != len(self.names):
            raise SchemaError(
                f"folder {path or '(the source itself)'}",
                f"has {len(parts)} levels, and the table has {len(self.names)} partition "
                f"columns ({', '.join(self.names) or 'none'}).",
                "Name one column for each level of folders: partition_by=[...].",
            )
        values = [
            part.removeprefix(f"{name}=") for name, part in zip(self.names, parts, strict=True)
        ]
        return {
            n: None if v == DEFAULT_PARTITION else unquote(v)
            for n, v in zip(self.names, values, strict=True)
        }

    def _value(self, name: str, text: str | None, path: str) -> pa.Scalar:
        kind = self.kinds.get(name, pa.string())
        try:
            return pa.scalar(text, pa.string()).cast(kind)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise SchemaError(
                f"folder {path}",
                f"says {text!r} of column {name}, which is no {kind} ({error}).",
                "Move the folder out of the source.",
            ) from error


def hive_columns(files: Sequence[SourceFile]) -> tuple[str, ...]:
    """The columns that folders name, ``column=value``, in their order; none where they don't
    all."""
    folders = {file.folder for file in files}
    each = {tuple(part.partition("=")[0] for part in f.split("/")) for f in folders if f}
    styled = all("=" in part for folder in folders for part in folder.split("/"))
    return each.pop() if styled and len(each) == 1 else ()


def kind_of(texts: set[str | None]) -> pa.DataType:
    """The type of a column that only folders say: whole numbers, else text."""
    values = [text for text in texts if text is not None]
    whole = values and all(v == str(int(v)) for v in values if v.lstrip("-").isdigit())
    if whole and all(v.lstrip("-").isdigit() and abs(int(v)) < 1 << 63 for v in values):
        return pa.int32() if all(abs(int(v)) < 1 << 31 for v in values) else pa.int64()
    return pa.string()


def with_values(
    names: Sequence[str], batch: pa.RecordBatch, values: Mapping[str, Any]
) -> pa.RecordBatch:
    """The columns ``names`` of ``batch``, and constants of ``values``."""
    columns = [
        pa.repeat(values[n], batch.num_rows) if n in values else batch.column(n) for n in names
    ]
    return pa.RecordBatch.from_arrays(columns, names=list(names))
