"""Reads that are those of plain Parquet files, which libraries read by themselves."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from hoodoo.hookspecs.file_format import is_plain_parquet
from hoodoo.storage.api import has_plain_files
from hoodoo.storage.uri import local_path, split
from hoodoo_rows.api import Rows, Scan


def plain_files(
    rows: Rows, known: dict[str, pa.Schema] | None = None, *, unfiltered: bool = False
) -> list[str] | None:
    """Local paths of Parquet files whose rows, all of them, are those of ``rows``, in the same
    types; None where log files, a filter, virtual keys or an older schema ask for more, or where
    the files are not plain ones. ``unfiltered``: these are the rows without the filter, in the file
    slices that it needs.

    Looks at the footers of the files; not at those that are in ``known``, which are noted there.
    """
    known = {} if known is None else known
    if not isinstance(rows, Scan) or not rows.plan.slices:
        return None
    source, spec = rows.source, rows.plan.spec
    filtered = spec.where is not None and not unfiltered
    if filtered or spec.timed or spec.keys is not None or spec.hidden:
        return None
    root = source.storage.root
    if not has_plain_files(source.storage) or not is_plain_parquet(rows.plan.file_format):
        return None
    if split(root)[0] not in ("", "file"):
        return None
    home = local_path(root)
    found: list[str] = []
    first: pa.Schema | None = None
    for slice_ in rows.plan.slices:
        if slice_.log_files or slice_.base_file is None:
            return None
        path = f"{home}/{slice_.base_file.path}"
        try:
            schema = known.get(path) or _schema(path, Path(path).stat().st_mtime_ns)
        except (OSError, pa.ArrowException):  # the read itself says what is wrong
            return None
        known[path] = schema
        if first is None:
            first = schema
            if any(_other(schema, field) for field in spec.schema):
                return None
        elif schema != first:
            return None
        found.append(path)
    return found


@lru_cache(maxsize=4096)
def _schema(path: str, _changed: int) -> pa.Schema:
    """The schema in a footer, which has a bloom filter of megabytes besides."""
    return pq.read_schema(path).remove_metadata()


def _other(schema: pa.Schema, field: pa.Field) -> bool:
    at = schema.get_field_index(field.name)
    return at < 0 or schema.field(at).type != field.type
