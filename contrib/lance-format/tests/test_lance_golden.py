"""Tables with Lance base files that Spark Hudi wrote: what they hold, and writes on them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hoodoo.hookspecs.file_format import key_filter, key_range
from hoodoo.model.meta import META_COLUMNS, RECORD_KEY
from hoodoo_lance.format import LanceFormat
from lance.file import LanceFileReader

COPY_ON_WRITE = (
    "cow_v9_lance_nonpartitioned",
    "cow_v9_lance_txns_nonpart",
    "cow_v9_lance_txns_simple",
    "cow_v9_trips_lance",
)
MERGE_ON_READ = ("mor_avro_v9_lance_nonhivestyle", "mor_avro_v9_trips_lance")
Golden = Callable[[str], Path]


def sorted_rows(table: pa.Table) -> list[str]:
    return sorted(repr(sorted(row.items())) for row in table.to_pylist())


def by_others(path: Path, as_of: str | None = None) -> list[str]:
    """What the independent reader ``hudi`` finds."""
    hudi = pytest.importorskip("hudi")
    options = hudi.HudiReadOptions()
    if as_of is not None:
        options = options.with_as_of_timestamp(as_of)
    batches = hudi.HudiTableBuilder.from_base_uri(str(path)).build().read(options)
    return sorted_rows(pa.Table.from_batches(batches)) if batches else []


@pytest.mark.parametrize("name", COPY_ON_WRITE + MERGE_ON_READ)
def test_rows_at_each_instant(name: str, golden: Golden) -> None:
    path = golden(name)
    table = hoodoo.open(str(path))
    assert sorted_rows(table.read(meta=True).to_arrow()) == by_others(path)
    for write in table.timeline().writes():
        found = table.read(as_of=write.requested, meta=True).to_arrow()
        assert sorted_rows(found) == by_others(path, write.requested), write
    assert table.verify().ok


@pytest.mark.parametrize("name", COPY_ON_WRITE + MERGE_ON_READ)
def test_rows_are_those_of_the_newest_files(name: str, golden: Golden) -> None:
    """Lance's own reader finds them; of slices with log files, the keys that these leave alone."""
    path = golden(name)
    table = hoodoo.open(str(path))
    found = table.read(meta=True).to_arrow()
    merged = 0
    for slice_ in table.file_slices():
        assert slice_.base_file is not None
        stored = LanceFileReader(str(path / slice_.base_file.path)).read_all().to_table()
        here = found.filter(pc.field("_hoodie_file_name") == slice_.base_file.name)
        if slice_.log_files:
            merged += 1
            stored = stored.filter(pc.is_in(stored[RECORD_KEY], here[RECORD_KEY].combine_chunks()))
        assert sorted_rows(here) == sorted_rows(stored), slice_
    assert bool(merged) == (name in MERGE_ON_READ)


@pytest.mark.parametrize("name", [COPY_ON_WRITE[0], MERGE_ON_READ[1]])
def test_filters_find_the_rows_that_have_each_value(name: str, golden: Golden) -> None:
    table = hoodoo.open(str(golden(name)))
    everything = table.read(meta=True).to_arrow()
    for column in everything.schema:
        if pa.types.is_nested(column.type) or column.name in META_COLUMNS[:2]:
            continue
        for value in [*everything[column.name].unique().drop_null()[:1], None]:
            field = pc.field(column.name)
            where: Any = field.is_null() if value is None else field == value
            rows = table.read(where=where, meta=True).to_arrow()
            assert sorted_rows(rows) == sorted_rows(everything.filter(where)), str(where)


def test_what_files_say_of_their_keys(golden: Golden) -> None:
    table = hoodoo.open(str(golden("cow_v9_lance_txns_simple")))
    for slice_ in table.file_slices():
        assert slice_.base_file is not None
        with LanceFormat().reader(table.handle.storage, slice_.base_file.path) as reader:
            keys = pa.chunked_array([b.column(0) for b in reader.batches([RECORD_KEY])])
            ends = pc.min_max(keys)
            assert key_range(reader) == (ends["min"].as_py(), ends["max"].as_py())
            filter_ = key_filter(reader)
            assert filter_ is not None and pc.all(filter_.might_contain(keys)).as_py()
            assert not pc.any(filter_.might_contain(pa.array(["TXN-999"]))).as_py()


@pytest.mark.parametrize("name", COPY_ON_WRITE + MERGE_ON_READ)
def test_a_table_lives_on(name: str, golden: Golden) -> None:
    """Its metadata table goes on, but for ranges of columns, which Hudi 1.2 stores no more."""
    path = golden(name)
    table = hoodoo.open(str(path))
    before = table.read().to_arrow()
    known = [f for f in table.config.metadata_partitions if not f.endswith("_stats")]
    changed = before.slice(0, 2)
    commit = table.upsert(changed)
    assert (commit.inserted, commit.updated) == (0, 2)
    table = hoodoo.open(str(path))
    assert sorted(table.config.metadata_partitions) == sorted(known)
    assert sorted_rows(table.read().to_arrow()) == sorted_rows(before)
    assert sorted_rows(table.read(meta=True).to_arrow()) == by_others(path)
    if name in MERGE_ON_READ:
        assert table.file_slices()[0].log_files or table.file_slices()[-1].log_files
        table.compact()
        assert sorted_rows(table.read(meta=True).to_arrow()) == by_others(path)
    assert table.verify().ok
