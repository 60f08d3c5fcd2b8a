"""Data in files: Parquet, CSV, JSON lines and Arrow, read and written in record batches."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping

import pyarrow as pa
from hoodoo.errors import ConfigError, DataError

from hoodoo_cli.toolkit.data_file import DataFile
from hoodoo_cli.toolkit.places import located, missing

KINDS = ("parquet", "csv", "jsonl", "arrow")
STANDARD = "-"  # standard input, or output
_SUFFIXES = {
    "parquet": "parquet",
    "pq": "parquet",
    "csv": "csv",
    "jsonl": "jsonl",
    "ndjson": "jsonl",
    "json": "jsonl",
    "arrow": "arrow",
    "ipc": "arrow",
    "feather": "arrow",
}
_PACKED = {"gz": "gzip", "zst": "zstd", "bz2": "bz2", "lz4": "lz4"}


def kind_of(path: str, given: str | None = None) -> str:
    """The format of a file: ``given``, or that of its name. ConfigError if neither does."""
    name = path.rpartition("/")[2].lower()
    if packing_of(path):
        name = name.rpartition(".")[0]
    found = given or _SUFFIXES.get(name.rpartition(".")[2] if "." in name else "")
    found = _SUFFIXES.get(found or "", found)
    if found not in KINDS:
        raise ConfigError(
            f"format {given!r}" if given else f"file {path}",
            "is not known." if given else "has a name that does not show its format.",
            f"Use one of {', '.join(KINDS)}" + (" with --format." if not given else "."),
        )
    if packing_of(path) and found in ("parquet", "arrow"):
        raise ConfigError(
            f"file {path}",
            f"is no {found} file by its name.",
            "Only CSV and JSON lines are compressed as a whole; name it so that it ends with "
            f".{found}.",
        )
    return str(found)


def packing_of(path: str) -> str | None:
    """How a file of this name is compressed."""
    return _PACKED.get(path.rpartition(".")[2].lower())


def open_data(
    path: str,
    options: Mapping[str, str],
    kind: str | None = None,
    wanted: pa.Schema | None = None,
    delimiter: str = ",",
) -> DataFile:
    """The rows of a file. ``wanted``: the types that columns of these names get, where the format
    has no types of its own.

    ConfigError if there is no such file, or its format is not known. DataError if it can't be
    decoded, also from the iterator."""
    found = kind_of(path, kind)
    if path == STANDARD:
        if sys.stdin is None:
            raise ConfigError("the standard input", "is closed.", "Give a file, or a pipe.")
        source = pa.PythonFile(sys.stdin.buffer, mode="r")
        if found in ("parquet", "arrow"):
            source = pa.BufferReader(source.read())  # both are read from their end
    else:
        storage, name = located(path, options)
        try:
            source = storage.open(name)
        except (FileNotFoundError, IsADirectoryError):
            raise missing(path) from None
    packing = packing_of(path)
    if packing is not None and found in ("csv", "jsonl"):
        source = pa.CompressedInputStream(source, packing)
    from hoodoo_cli.toolkit import text_files

    naive = options.get("hoodoo.naive.timestamps", "").upper() == "UTC"
    readers: dict[str, Callable[[], DataFile]] = {
        "parquet": lambda: _typed(_parquet(source), wanted),
        "arrow": lambda: _typed(_arrow(source), wanted),
        "csv": lambda: text_files.csv(source, wanted, delimiter),
        "jsonl": lambda: text_files.json_lines(source, wanted, naive),
    }
    data = _named(path, readers[found])
    return DataFile(data.schema, lambda: _each(path, data.batches()), data.rows)


def _named(path: str, read: Callable[[], DataFile]) -> DataFile:
    try:
        return read()
    except (pa.ArrowException, UnicodeDecodeError, OSError) as error:
        raise _damaged(path, error) from error


def _each(path: str, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    try:
        yield from batches
    except (pa.ArrowException, UnicodeDecodeError, OSError) as error:
        raise _damaged(path, error) from error


def _damaged(path: str, error: Exception) -> DataError:
    reason = " ".join(str(error).split()).rstrip(".")
    return DataError(
        f"file {path}",
        f"can't be read: {reason}.",
        "Correct the file, or its format with --format.",
    )


def _typed(data: DataFile, wanted: pa.Schema | None) -> DataFile:
    """Columns without any value, which have no type, get that of the table, or become text: as in
    CSV and JSON lines."""
    from hoodoo_cli.toolkit.values import without_nulls

    known = {field.name: field.type for field in wanted or ()}
    kinds = [without_nulls(field.type, known.get(field.name)) for field in data.schema]
    if kinds == data.schema.types:
        return data
    schema = pa.schema([f.with_type(kind) for f, kind in zip(data.schema, kinds, strict=True)])
    return DataFile(schema, lambda: (batch.cast(schema) for batch in data.batches()), data.rows)


def _parquet(source: pa.NativeFile) -> DataFile:
    import pyarrow.parquet as pq

    file = pq.ParquetFile(source)
    return DataFile(file.schema_arrow, lambda: file.iter_batches(), file.metadata.num_rows)


def _arrow(source: pa.NativeFile) -> DataFile:
    start = source.read(6)
    source.seek(0)
    if start == b"ARROW1":
        file = pa.ipc.open_file(source)
        count = file.num_record_batches
        return DataFile(file.schema, lambda: (file.get_batch(n) for n in range(count)))
    stream = pa.ipc.open_stream(source)
    return DataFile(stream.schema, lambda: iter(stream))
