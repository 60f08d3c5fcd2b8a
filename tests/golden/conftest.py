"""What the golden tests compare: rows as sorted text, types without what differs on purpose."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from hoodoo.model.meta import META_COLUMNS
from hoodoo_rows.model.normalize import plain_schema

sys.path.insert(0, str(Path(__file__).resolve().parent))  # helper modules, which are no package


def _oracle(path: Path, as_of: str | None = None, read_optimized: bool = False) -> pa.Table | None:
    import hudi

    options = hudi.HudiReadOptions()
    if as_of is not None:
        options = options.with_as_of_timestamp(as_of)
    if read_optimized:
        options = options.with_hudi_option("hoodie.read.use.read_optimized.mode", "true")
    batches = hudi.HudiTableBuilder.from_base_uri(str(path)).build().read(options)
    return pa.Table.from_batches(batches) if batches else None


@pytest.fixture(scope="session")
def oracle() -> Callable[..., pa.Table | None]:
    """``oracle(path, as_of=None)``: what the independent reader ``hudi`` gives; None for no rows."""
    return _oracle


def _same(found: pa.Table, expected: pa.Table | None, where: str) -> None:
    if expected is None:  # `hudi` answers an empty list: no rows, and it doesn't say the schema
        assert found.num_rows == 0, where
        return
    # `hudi` leaves the meta columns out where a table with virtual keys stores none: there, all five are null (RFC-21).
    if not set(META_COLUMNS) & set(expected.column_names):
        there = [name for name in META_COLUMNS if name in found.column_names]
        assert there in ([], list(META_COLUMNS)), where
        assert all(found[name].null_count == found.num_rows for name in there), where
        found = found.drop_columns(there)
    # `hudi` marks the meta columns (and what Avro declares so) as never null, and has other names
    # for the element of a list: Hoodoo reads every column as nullable, with Parquet's names. It gives meta columns
    # first.
    assert sorted(found.column_names) == sorted(expected.column_names), where
    expected = expected.select(found.column_names)
    assert found.schema.equals(plain_schema(expected.schema)), where
    assert _rows(found) == _rows(expected), where


def _rows(table: pa.Table) -> list[str]:
    return sorted(repr(row) for row in table.to_pylist())


@pytest.fixture(scope="session")
def same() -> Callable[[pa.Table, pa.Table | None, str], None]:
    """``same(found, expected, where)``: equal schemas, and equal rows in any order."""
    return _same


def _write_instants(path: Path) -> list[str]:
    import hudi

    timeline = hudi.HudiTableBuilder.from_base_uri(str(path)).build().get_timeline()
    kinds = ("commits", "deltacommits", "replacecommits")
    found = [i for kind in kinds for i in getattr(timeline, f"get_completed_{kind}")()]
    return sorted({str(instant.timestamp) for instant in found})


@pytest.fixture(scope="session")
def write_instants() -> Callable[[Path], list[str]]:
    """The requested times of a table's completed writes, as ``hudi`` lists them, oldest first."""
    return _write_instants
