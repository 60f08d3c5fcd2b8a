"""A partition of the metadata table that another distribution offers, by a registration alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.kernel.registry import kernel
from hoodoo.testing.distributions import fake_distribution
from hoodoo.timeline.timeline import load
from hoodoo_metadata.table.metadata_table import MetadataTable, listed
from hoodoo_metadata.table.slice import layers, merged
from hoodoo_rows.testing.tables import Maker

# How many rows each partition path has got: from the stats of commits, added up by `merge`.
SOURCE = """
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from hoodoo import hookimpl
from hoodoo_metadata.hookspecs.metadata_partition import PARTITION_ENTRIES, GroupEntries
from hoodoo.hookspecs.registration import Registration


@frozen
class Inserted:
    keys: bool = False
    groups: int = 1

    def begin(self, state):
        found = {}
        for slice_ in state.slices:
            with state.file_format.reader(state.storage, slice_.base_file.path) as reader:
                path = slice_.partition_path
                found[path] = found.get(path, 0) + reader.num_rows
        return [_entries(found)]

    def delta(self, change):
        found = {}
        for stat in change.stats if change.operation.value != "CLUSTER" else ():
            found[stat.partition_path] = found.get(stat.partition_path, 0) + stat.num_inserts
        return [_entries(found)] if found else []

    def merge(self, older, newer):
        numbers = (pc.cast(pc.cast(side, pa.string()), pa.int64()) for side in (older, newer))
        return pc.cast(pc.cast(pc.add(*numbers), pa.string()), pa.binary())


def _entries(found):
    rows = [(path.encode(), str(count).encode()) for path, count in sorted(found.items())]
    columns = [pa.array([row[i] for row in rows], pa.binary()) for i in (0, 1)]
    return GroupEntries(0, pa.table(columns, schema=PARTITION_ENTRIES))


@hookimpl
def hoodoo_metadata_partitions():
    return [Registration("inserted", lambda settings: Inserted())]
"""
SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string()), ("n", pa.int64())])


@pytest.fixture
def offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    folder = fake_distribution(
        tmp_path / "installed",
        "acme-counts",
        entry_points={"acme": "acme_counts"},
        modules={"acme_counts": SOURCE},
    )
    monkeypatch.syspath_prepend(str(folder))
    kernel.cache_clear()
    yield
    kernel.cache_clear()


rows = Maker(SCHEMA, "city", city="oslo", n=0)


def said(table: hoodoo.Table) -> dict[str, int]:
    """What the partition says, as all layers of its file group together do."""
    from hoodoo_metadata.partitions.known import known

    storage = table.handle.storage
    found = MetadataTable.open(storage, load(storage, table.config))
    (slice_,) = found.slices("hoodoo_inserted")
    batches = known()["hoodoo_inserted"].merged(found.storage, slice_, '"bytes"')
    return {
        row["key"].decode(): int(row["value"].decode())
        for batch in batches
        for row in batch.to_pylist()
    }


@pytest.mark.usefixtures("offered")
def test_a_partition_is_added_by_a_registration(tmp_path: Path) -> None:
    table = hoodoo.create(
        str(tmp_path / "t"), SCHEMA, record_key="id", partition_by="city",
        options={"hoodie.metadata.enable": "true", "hoodie.metadata.compact.max.delta.commits": "100"},
    )  # fmt: skip
    table.upsert(rows(range(5)))
    assert table.rebuild_index("inserted") == ("hoodoo_inserted",)
    assert "hoodoo_inserted" in listed(table.config)
    # Hudi is not told of it.
    assert "hoodoo_inserted" not in table.config.metadata_partitions
    assert said(table) == {"oslo": 5}
    table.upsert(rows(range(3, 9)))
    table.upsert(rows(range(20, 24), "bergen"))
    assert said(table) == {"oslo": 9, "bergen": 4}
    undone = table.upsert(rows(range(30, 40)))
    assert said(table) == {"oslo": 19, "bergen": 4}
    table.rollback(undone.instant)
    assert said(table) == {"oslo": 9, "bergen": 4}
    table.upsert(rows(range(50, 51)))
    assert table.compact_metadata()
    assert said(table) == {"oslo": 10, "bergen": 4}
    storage = table.handle.storage
    found = MetadataTable.open(storage, load(storage, table.config))
    (slice_,) = found.slices("hoodoo_inserted")
    assert slice_.base_file is not None and not slice_.log_files
    assert len(list(merged(layers(found.storage, slice_)))) == 1
    table.restore(table.timeline().writes()[0].requested)
    table.upsert(rows(range(60, 62)))
    assert said(table) == {"oslo": 7}


@pytest.mark.usefixtures("offered")
def test_without_its_distribution_it_goes(tmp_path: Path) -> None:
    table = hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key="id", partition_by="city")
    table.upsert(rows(range(5)))
    table.rebuild_index("inserted")
    import sys

    path = list(sys.path)
    sys.path[:] = [p for p in path if not p.endswith("installed")]
    kernel.cache_clear()
    try:
        with pytest.warns(hoodoo.errors.HoodooWarning, match="hoodoo_inserted"):
            hoodoo.open(str(tmp_path / "t")).upsert(rows(range(5, 7)))
        assert listed(hoodoo.open(str(tmp_path / "t")).config) == ()
    finally:
        sys.path[:] = path
        kernel.cache_clear()
