"""What blobs hold: in the table, or in the files that they refer to."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import define, field
from hoodoo.errors import CallError, ConfigError, SchemaError, StorageError
from hoodoo.hookspecs import Settings
from hoodoo.model.schema import logical
from hoodoo.storage.api import Storage
from hoodoo.storage.uri import local_path, split
from hoodoo.table.handle import TableHandle
from hoodoo.table.settings import open_storage
from hoodoo_rows.api import Reads, Rows

from hoodoo_blob.blob import BLOB, OUT_OF_LINE
from hoodoo_blob.registrations import FOLDERS


def read_blob(
    table: TableHandle, column: str, where: Any = None, columns: Sequence[str] | None = None
) -> pa.Table:
    """The rows of the newest snapshot with the bytes of the blobs in ``column``: those that are
    stored in the table, and those of the files that blobs refer to. Other reads of the table give
    references as they are, and open no such file.

    ``where`` and ``columns`` are those of ``read``; ``columns`` need not contain ``column``. A
    reference is relative to the table's folder, or an absolute path or URI. Files outside of that
    folder are read only if they are in a folder that the option ``hoodoo.blob.folders`` names.

    Raises SchemaError for a column that is missing or has no blobs, ConfigError for a reference
    that leads somewhere else, and StorageError for a file that is missing or too short.

    >>> table.read_blob("photo", where="id = 1")["photo"].to_pylist()
    [b'...']
    """
    names = None if columns is None else list(dict.fromkeys([*columns, column]))
    return with_bytes(
        Reads.read(table, names, where), column, _Files(table.source().storage, table.options)
    )


def scan_read_blob(self: Rows, column: str, folders: Sequence[str] = ()) -> pa.Table:
    """The rows of the read with the bytes of the blobs in ``column``: those that are stored in the
    table, and those of the files that blobs refer to.

    A file that is neither in the table's folder nor in one of ``folders`` is not read. Raises what
    ``table.read_blob`` raises.
    """
    source: Any = self
    options = {FOLDERS.key: ",".join(folders)} if folders else {}
    return with_bytes(self, column, _Files(source.source.storage, options))


def blob_bytes(table: TableHandle, blobs: Any) -> pa.ChunkedArray:
    """The bytes of ``blobs``, an Arrow array of blobs of the table, as ``read_blob`` finds them.

    Raises CallError for anything but an Arrow array, and what ``read_blob`` raises.

    >>> table.blob_bytes(table.read(["photo"]).to_arrow()["photo"]).to_pylist()
    [b'...']
    """
    if not isinstance(blobs, pa.Array | pa.ChunkedArray):
        raise CallError(
            f"blobs={blobs!r}", "is no Arrow array.", "Give a column of table.to_arrow()."
        )
    files = _Files(table.source().storage, table.options)
    found = blobs if isinstance(blobs, pa.ChunkedArray) else pa.chunked_array([blobs])
    return _bytes(found, "blobs", files)


def with_bytes(rows: Rows, column: str, files: _Files) -> pa.Table:
    """All ``rows``, with bytes in the place of blobs."""
    schema = rows.schema
    if column not in schema.names:
        raise SchemaError(
            f"column {column}", f"is not there ({', '.join(schema.names)}).", "Name another one."
        )
    if logical.text_of(schema.field(column).type) != "BLOB":
        raise SchemaError(
            f"column {column}",
            f"has no blobs: its type is {schema.field(column).type}.",
            "Name a column of the type BLOB.",
        )
    found = rows.to_arrow()
    at = schema.get_field_index(column)
    made = _bytes(found.column(at), column, files)
    return found.set_column(at, pa.field(column, pa.binary()), made)


def _bytes(blobs: pa.ChunkedArray, column: str, files: _Files) -> pa.ChunkedArray:
    made = [_chunk(chunk, column, files) for chunk in blobs.chunks]
    return pa.chunked_array(made, pa.binary())


def _chunk(blobs: pa.StructArray, column: str, files: _Files) -> pa.Array:
    if not pa.types.is_struct(blobs.type) or set(blobs.type.names) != set(BLOB.names):
        raise SchemaError(
            f"column {column}", f"has no blobs: its type is {blobs.type}.", "Name one that has."
        )
    data = pc.struct_field(blobs, "data").cast(pa.binary())
    outside = pc.fill_null(pc.equal(pc.struct_field(blobs, "type"), OUT_OF_LINE), False)
    if not pc.any(outside, min_count=0).as_py():
        return data
    # A look at a file for each reference: only their bytes cost more.
    references = pc.struct_field(blobs, "reference").filter(outside).to_pylist()
    there = pa.array([files.read(one, column) for one in references], pa.binary())
    return pc.replace_with_mask(data, outside, there)


@define
class _Files:
    """Opens files of blobs: those of the table's ``storage``, and of folders that are allowed."""

    storage: Storage
    options: Mapping[str, str]
    _stores: dict[str, Storage] = field(factory=dict)

    def read(self, reference: Mapping[str, Any] | None, column: str) -> bytes:
        path = (reference or {}).get("external_path") or ""
        start, length = ((reference or {}).get(n) for n in ("offset", "length"))
        obj = f"file {path} of a blob in column {column}"
        store, inner = self._place(path, obj)
        try:
            with store.open(inner) as opened:
                size = opened.size()
                start = start or 0
                count = size - start if length is None else length
                if start < 0 or count < 0 or start + count > size:
                    raise StorageError(
                        obj,
                        f"has {size} bytes, and the blob has {count} from byte {start} on.",
                        "Restore the file, or write the row again.",
                    )
                return bytes(opened.read_at(count, start))
        except FileNotFoundError as error:
            raise StorageError(
                obj, "is not there.", "Restore the file, or write the row again."
            ) from error

    def _place(self, path: str, obj: str) -> tuple[Storage, str]:
        """The store that has ``path``, and where in it."""
        root = self.storage.root
        whole = path if split(path)[0] or path.startswith("/") else f"{root}/{path}"
        whole = _resolved(whole)
        if (inner := _below(whole, _resolved(root))) is not None:
            return self.storage, inner
        for folder in Settings(options=self.options).given(FOLDERS) or ():
            if (inner := _below(whole, _resolved(folder))) is not None:
                if folder not in self._stores:
                    self._stores[folder] = open_storage(folder, self.options)
                return self._stores[folder], inner
        raise ConfigError(
            obj,
            "lies outside of the table, and a reference is data: it may lead anywhere.",
            f"If its folder may be read, name it: {FOLDERS.key}=<folder>.",
        )


def _resolved(uri: str) -> str:
    """``uri`` without steps upwards and links, so that places can be compared."""
    scheme, rest = split(uri)
    if scheme in ("", "file"):
        return "file://" + os.path.realpath(local_path(uri))
    parts: list[str] = []
    for part in rest.split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts.append(part)
    return f"{'s3' if scheme in ('s3a', 's3n') else scheme}://{'/'.join(parts)}"


def _below(place: str, folder: str) -> str | None:
    """Where in ``folder`` the ``place`` is; None if it is elsewhere."""
    start = folder.rstrip("/") + "/"
    return place[len(start) :] if place.startswith(start) else None
