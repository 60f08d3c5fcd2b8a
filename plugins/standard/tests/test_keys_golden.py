"""Keys and paths made again from the data columns of real tables, byte for byte."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hoodoo.hookspecs.key_generator import KeyGenerator
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.resolve import resolve
from hoodoo.model.meta import PARTITION_PATH, RECORD_KEY
from hoodoo.timeline import properties
from hoodoo_standard.storage.local import LocalStorage

TABLES = [
    "cow_v6_complexkeygen_hivestyle",
    "cow_v6_nonpartitioned",
    "cow_v6_simplekeygen_hivestyle_no_metafields",
    "cow_v6_simplekeygen_nonhivestyle",
    "cow_v6_simplekeygen_nonhivestyle_overwritetable",
    "cow_v8_nonpartitioned",
    "cow_v8_simplekeygen_hivestyle_no_metafields",
    "cow_v8_simplekeygen_nonhivestyle",
    "cow_v9_timebasedkeygen_epochmillis",
    "cow_v9_timebasedkeygen_nonhivestyle",
    "cow_v9_timebasedkeygen_unixtimestamp",
    "cow_v9_txns_complex_meta",
    "cow_v9_txns_complex_nometa",
    "cow_v9_txns_nonpart_meta",
    "cow_v9_txns_simple_nometa",
    "cow_v9_txns_simple_overwrite",
    "mor_avro_v9_timebasedkeygen_nonhivestyle",
]


def generator_of(table: Path) -> KeyGenerator:
    config = properties.load(LocalStorage(table.as_posix()))
    assert config.key_generator
    made: KeyGenerator = resolve("key_generator", config.key_generator, Settings(config)).instance
    return made


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", TABLES)
def test_keys_and_paths(name: str, golden: Callable[[str], Path]) -> None:
    table = golden(name)
    generator = generator_of(table)
    rows = 0
    for file in sorted(table.rglob("*.parquet")):
        if ".hoodie" in file.relative_to(table).parts:
            continue
        directory = file.parent.relative_to(table).as_posix().replace(".", "", 1)
        for batch in pq.ParquetFile(file).read().to_batches():
            rows += batch.num_rows
            keys, paths = generator.record_keys(batch), generator.partition_paths(batch)
            assert set(paths.to_pylist()) == {directory}
            if batch.column(RECORD_KEY).null_count < batch.num_rows:  # not virtual keys
                assert keys == batch.column(RECORD_KEY)
                assert paths == batch.column(PARTITION_PATH)
            for column, value in (
                generator.partition_values(directory, batch.schema) or {}
            ).items():
                assert set(batch.column(column).to_pylist()) == {value}
    assert rows


def test_partition_values_are_told(golden: Callable[[str], Path]) -> None:
    generator = generator_of(golden("cow_v6_complexkeygen_hivestyle"))
    schema = pa.schema([("byteField", pa.int32()), ("shortField", pa.int32())])
    values = generator.partition_values("byteField=10/shortField=300", schema)
    assert values == {"byteField": 10, "shortField": 300}
