"""What can be converted: where its rows come from, their columns, and how they are partitioned."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from attrs import frozen
from hoodoo.errors import (
    CallError,
    ConfigError,
    EngineError,
    HoodooError,
    NotATableError,
    StorageError,
    UnsupportedTableError,
)
from hoodoo.kernel.registry import kernel
from hoodoo.storage.uri import split

_METADATA = re.compile(r"(?:v|0*)(\d+)[^/]*\.metadata\.json(?:\.gz)?$")


@frozen
class Source:
    """Rows to be copied. ``batches`` reads them, lazily; ``path`` is empty where there is none.
    ``places``: where its files lie, as far as is known: paths and URIs of files and folders."""

    kind: str
    path: str
    schema: pa.Schema
    batches: Callable[[], Iterator[pa.RecordBatch]]
    partition_by: tuple[str, ...] = ()
    places: tuple[str, ...] = ()


def found_at(source: Any, as_of: int | str | None) -> Source:
    """What ``source`` is. NotATableError where it is nothing, CallError for what no path and no
    table is."""
    library = type(source).__module__.partition(".")[0]
    if library == "deltalake":
        return _delta_table(source, as_of)
    if library == "pyiceberg" and hasattr(source, "scan"):
        return _iceberg_table(source, as_of)
    if hasattr(source, "to_batches") and hasattr(source, "schema"):
        _no_moment(as_of, "rows")
        return Source("rows", "", source.schema, source.to_batches, places=_files_of(source))
    if not isinstance(source, (str, os.PathLike)):
        raise CallError(
            f"hoodoo.convert({type(source).__name__})",
            "is nothing that can be converted.",
            "Give a path, a deltalake.DeltaTable, a pyiceberg table or a pyarrow Dataset.",
        )
    path = os.fspath(source)
    filesystem, inside = _opened(path)
    names = _names(filesystem, inside, path)
    if ".hoodie" in names:
        raise ConfigError(f"path {path}", "is a Hudi table already.", "Open it: hoodoo.open(path).")
    if "_delta_log" in names:
        return _delta(path, as_of)
    if "metadata" in names:
        newest = _newest_metadata(filesystem, inside)
        if newest is not None:
            return _iceberg(path, newest, as_of)
    _no_moment(as_of, "a directory of Parquet files")
    return _parquet(path, filesystem, inside)


def _opened(path: str) -> tuple[Any, str]:
    from pyarrow import fs

    if "://" not in path:
        return fs.LocalFileSystem(), os.path.abspath(path)
    try:
        found: tuple[Any, str] = fs.FileSystem.from_uri(path)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    return found


def _unreadable(path: str, error: Exception) -> HoodooError:
    scheme, rest = split(path)
    host, _, name = rest.rpartition("/")
    if scheme != "file" and kernel().find("catalog", scheme) is not None:
        return ConfigError(
            f"path {path}",
            "is the name of a table in a catalog, not a place with files.",
            "A Hudi table is opened: hoodoo.open(name). Of another, give the path of its files: "
            f'hoodoo.catalog("{scheme}://{host}").entry("{name}").location.',
        )
    return ConfigError(
        f"path {path}",
        f"is nothing that pyarrow opens ({error}).",
        "Give a local path, or a URI of file://, s3://, gs:// or abfss://; or a "
        "pyarrow.dataset.dataset(...) with a file system of your own.",
    )


def _names(filesystem: Any, inside: str, path: str) -> set[str]:
    """What lies in the directory; the path itself where it is a file."""
    from pyarrow import fs

    try:
        info = filesystem.get_file_info(inside)
        if info.type == fs.FileType.NotFound:
            raise NotATableError(path, "there is nothing.", "Check the path.")
        if info.type == fs.FileType.File:
            return set()
        return {one.base_name for one in filesystem.get_file_info(fs.FileSelector(inside))}
    except OSError as error:
        fix = "Check the path, and the credentials that pyarrow finds."
        raise StorageError(path, f"can't be listed ({error}).", fix) from error


def _no_moment(as_of: object, what: str) -> None:
    if as_of is not None:
        raise CallError(
            f"hoodoo.convert(as_of={as_of!r})",
            f"the source is {what}, which has no past.",
            "Leave it out.",
        )


def _parquet(path: str, filesystem: Any, inside: str) -> Source:
    """Hive partitions become columns; columns that files lack are null, and narrower numbers
    grow."""
    import pyarrow.dataset as ds
    from pyarrow import fs

    options = ds.FileSystemFactoryOptions(
        partitioning=ds.HivePartitioning.discover(), exclude_invalid_files=False
    )
    what = [inside]
    if filesystem.get_file_info(inside).type != fs.FileType.File:
        options.partition_base_dir = inside
        what = _files(filesystem, inside)
    factory = ds.FileSystemDatasetFactory(filesystem, what, ds.ParquetFileFormat(), options)
    try:
        schema = factory.inspect(promote_options="permissive")
    except (pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise UnsupportedTableError(
            path,
            f"its files have columns of one name whose types have nothing in common ({error}).",
            "Convert them apart, or give pyarrow.dataset.dataset(path, schema=...), which casts.",
        ) from error
    except (pa.ArrowInvalid, OSError) as error:
        raise NotATableError(
            path,
            f"not all files in it are Parquet files ({error}).",
            "Convert the directory of the Parquet files alone.",
        ) from error
    found = factory.finish(schema.remove_metadata())
    parts: dict[str, None] = {}
    fragments = list(found.get_fragments())
    for one in fragments:
        keys = ds.get_partition_keys(one.partition_expression)  # in no order
        above = [part.partition("=")[0] for part in one.path.removeprefix(inside).split("/")]
        parts |= dict.fromkeys(name for name in (*above, *keys) if name in keys)
    if not fragments:
        raise NotATableError(path, "there are no Parquet files in it.", "Check the path.")

    def batches() -> Iterator[pa.RecordBatch]:
        try:
            yield from found.to_batches()
        except pa.ArrowInvalid as error:  # a long that no double is, for example
            raise UnsupportedTableError(
                path,
                "its files can't be read as columns of the types that they have together "
                f"({error}).",
                "Convert them apart, or give pyarrow.dataset.dataset(path, schema=...), which "
                "casts.",
            ) from error

    files = _files_of(found)
    if what != [inside]:  # a link in it may lead elsewhere
        files = tuple(dict.fromkeys(file.rpartition("/")[0] for file in files))
    return Source("Parquet", path, found.schema, batches, tuple(parts), (path, *files))


# What pyarrow calls its file systems, and the schemes of their URIs.
_SCHEMES = {"local": "", "s3": "s3://", "gcs": "gs://", "abfs": "abfss://"}


def _files_of(dataset: Any) -> tuple[str, ...]:
    """The files of a dataset, as paths and URIs; none where it does not say."""
    children = getattr(dataset, "children", None)
    if children:
        return tuple(place for child in children for place in _files_of(child))
    filesystem: Any = getattr(dataset, "filesystem", None)
    names = tuple(getattr(dataset, "files", None) or ())
    while hasattr(filesystem, "base_fs"):  # a folder of another one
        base = filesystem.base_path.rstrip("/")
        names = tuple(f"{base}/{name}" for name in names)
        filesystem = filesystem.base_fs
    scheme = _SCHEMES.get(getattr(filesystem, "type_name", ""))
    return () if scheme is None else tuple(scheme + name for name in names)


def _files(filesystem: Any, inside: str) -> list[str]:
    """All files that hold rows. Names that begin with _ or . are of files that Spark and others put
    beside them; but a directory ``_year=2024`` is a partition, which pyarrow by itself would leave
    out."""
    from pyarrow import fs

    def is_beside(path: str) -> bool:
        folders, _, name = path.removeprefix(inside).strip("/").rpartition("/")
        parts = [part for part in folders.split("/") if "=" not in part]
        return any(part.startswith(("_", ".")) for part in (*parts, name))

    found = filesystem.get_file_info(fs.FileSelector(inside, recursive=True))
    return sorted(one.path for one in found if one.is_file and not is_beside(one.path))


def _delta(path: str, as_of: int | str | None) -> Source:
    try:
        from deltalake import DeltaTable
    except ImportError as error:
        raise _absent("a Delta Lake table", "deltalake") from error
    return _delta_table(DeltaTable(path), as_of, path)


def _delta_table(table: Any, as_of: int | str | None, path: str = "") -> Source:
    if as_of is not None:
        table.load_as_version(as_of)
    parts = tuple(table.metadata().partition_columns)
    try:
        dataset = table.to_pyarrow_dataset()
    except Exception as error:  # deltalake has no class of its own for what it does not read
        raise UnsupportedTableError(
            f"Delta Lake table {table.table_uri}",
            f"deltalake does not read it ({error}).",
            "Rewrite it without what is named, with Delta Lake's own tools, and convert it then.",
        ) from error
    where = path or table.table_uri
    return Source("Delta Lake", where, dataset.schema, dataset.to_batches, parts, (where,))


def _newest_metadata(filesystem: Any, inside: str) -> str | None:
    from pyarrow import fs

    there = filesystem.get_file_info(fs.FileSelector(f"{inside}/metadata", allow_not_found=True))
    numbered = [(int(m[1]), i.path) for i in there if (m := _METADATA.search(i.base_name))]
    return max(numbered)[1] if numbered else None


def _iceberg(path: str, metadata: str, as_of: int | str | None) -> Source:
    try:
        from pyiceberg.table import StaticTable
    except ImportError as error:
        raise _absent("an Iceberg table", "pyiceberg") from error
    scheme = path.partition("://")[0] + "://" if "://" in path else ""
    return _iceberg_table(StaticTable.from_metadata(scheme + metadata), as_of, path)


def _iceberg_table(table: Any, as_of: int | str | None, path: str = "") -> Source:
    try:
        snapshot = None if as_of is None else int(as_of)
        scan = table.scan(snapshot_id=snapshot)
        schema = scan.to_arrow_batch_reader().schema
    except Exception as error:  # pyiceberg raises ValueError and others
        raise UnsupportedTableError(
            f"Iceberg table {path or table.name()}",
            f"pyiceberg does not read it ({error}).",
            "See what is named; as_of takes the number of a snapshot.",
        ) from error
    columns = {field.field_id: field.name for field in table.schema().fields}
    parts = tuple(
        columns[one.source_id]
        for one in table.spec().fields
        if str(one.transform) == "identity" and one.source_id in columns
    )
    places = tuple(place for place in (path, table.location()) if place)
    return Source(
        "Iceberg", path, schema, lambda: iter(scan.to_arrow_batch_reader()), parts, places
    )


def _absent(what: str, library: str) -> EngineError:
    return EngineError(
        f"hoodoo.convert of {what}",
        f"needs {library}, which is not installed.",
        f"pip install {library}.",
    )
