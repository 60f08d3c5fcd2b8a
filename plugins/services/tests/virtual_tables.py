"""Small tables with virtual keys, and what the tests beside this module ask of them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import hoodoo
import hudi
import pyarrow as pa
import pyarrow.parquet as pq
from hoodoo import Table
from hoodoo.errors import HoodooWarning
from hoodoo.model.meta import META_COLUMNS, RECORD_KEY
from hoodoo_rows.testing.tables import Maker
from noted_sizes import restat

# Properties of the table, by the names that are on disk.
CLASS = "hoodie.recordkey.virtual.class"
COLUMNS = "hoodie.recordkey.virtual.columns"
CONCATENATOR = "hoodie.recordkey.virtual.concatenator"
KEPT_META = "hoodoo.meta.fields.kept"
POPULATE = "hoodie.populate.meta.fields"
VIRTUAL = "hoodie.recordkey.virtual.enabled"
STORED_UNTIL = "hoodoo.recordkey.stored.until"

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("k2", pa.string()),
        ("v", pa.string()),
        ("ts", pa.int64()),
        ("region", pa.string()),
    ]
)
COW, MOR = KINDS = ("COPY_ON_WRITE", "MERGE_ON_READ")
VERSIONS = (9, 6)
ON = {VIRTUAL: "true"}
# Hudi's property alone: its own rules then.
HUDIS = {POPULATE: "false"}
BUCKETS = {"hoodie.bucket.index.num.buckets": "2"}
Rows = dict[int, str]

# Odd ids are in region b, even ones in a.
rows = Maker(SCHEMA, "v", "ts", k2="x{}".format, region=("a", "b"))


def create(path: Path, options: dict[str, str] | None = None, **more: Any) -> Table:
    given: dict[str, Any] = {"record_key": "id", "partition_by": "region", "ordering": "ts", **more}
    all_options = dict(options or {})
    if given.get("index") == "bucket":
        all_options |= BUCKETS
    return hoodoo.create(str(path), given.pop("schema", SCHEMA), options=all_options, **given)


def ours(table: Table, **more: Any) -> Rows:
    """id -> v; fails where an id occurs twice."""
    found = table.read(columns=["id", "v"], **more).to_arrow()
    return _by_id(found)


def theirs(path: Path) -> Rows:
    """The same by the independent reader ``hudi``."""
    batches = hudi.HudiTableBuilder.from_base_uri(str(path)).build().read()
    return _by_id(pa.Table.from_batches(batches)) if batches else {}


def _by_id(found: pa.Table) -> Rows:
    made = dict(zip(found.column("id").to_pylist(), found.column("v").to_pylist(), strict=True))
    assert len(made) == found.num_rows, "an id occurs twice"
    return made


def check(table: Table, path: Path, expected: Rows, where: str = "") -> None:
    """Both readers show these rows."""
    assert ours(table) == expected, where
    assert theirs(path) == expected, where


def base_files(table: Table) -> list[pq.ParquetFile]:
    """Those of the newest slices."""
    root = table.path.removeprefix("file://")
    return [pq.ParquetFile(f"{root}/{s.base_file.path}")
            for s in table.file_slices() if s.base_file is not None]  # fmt: skip


def stored(table: Table) -> dict[str, list[str | None]]:
    """The meta columns as the newest base files have them."""
    tables = [file.read(columns=list(META_COLUMNS)) for file in base_files(table)]
    found: dict[str, list[str | None]] = pa.concat_tables(tables).to_pydict()
    return found


def footers(table: Table) -> set[str]:
    """What some base file says of its keys."""
    names = {k.decode() for f in base_files(table) for k in f.metadata.metadata}
    return {n for n in names if "record_key" in n or "bloom" in n}


def falsify(table: Table, keys: Any) -> None:
    """Put ``keys`` (a function of the row number) into the newest base files as their record keys. Their commits say the
    new sizes; open the table again to see it."""
    root = table.path.removeprefix("file://")
    for slice_ in table.file_slices():
        assert slice_.base_file is not None
        path = f"{root}/{slice_.base_file.path}"
        found = pq.read_table(path, partitioning=None)
        at = found.schema.get_field_index(RECORD_KEY)
        made = pa.array([keys(i) for i in range(found.num_rows)], pa.string())
        pq.write_table(found.set_column(at, RECORD_KEY, made), path)
        restat(Path(path))


@contextmanager
def told() -> Iterator[list[str]]:
    """The warnings of Hoodoo's that come meanwhile."""
    found: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield found
    found += [str(w.message) for w in caught if issubclass(w.category, HoodooWarning)]
