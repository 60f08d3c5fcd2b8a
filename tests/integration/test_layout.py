"""The layout that finds places for inserts is the user's choice."""

from __future__ import annotations

from pathlib import Path

import hoodoo
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hoodoo.errors import ConfigError
from hoodoo_formats.record_keys import key_filter
from hoodoo_rows.testing.tables import Maker

rows = Maker(pa.schema([("id", pa.int64())])).of


@pytest.mark.parametrize(("layout", "files"), [(None, 1), ("small_file", 1), ("NEW_FILES", 2)])
def test_inserts_go_where_the_layout_says(tmp_path: Path, layout: str | None, files: int) -> None:
    options = {} if layout is None else {"hoodoo.layout": layout}
    table = hoodoo.create(str(tmp_path / "t"), rows().schema, record_key="id", options=options)
    table.insert(rows(1, 2))
    table.insert(rows(3))
    assert len(table.file_slices()) == files
    assert table.read().count() == 3


def test_a_layout_that_no_plugin_offers(tmp_path: Path) -> None:
    options = {"hoodoo.layout": "small_files"}
    with pytest.raises(ConfigError, match="'small_file'"):
        hoodoo.create(str(tmp_path / "t"), rows().schema, record_key="id", options=options)
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize("operation", ["insert", "upsert"])
def test_a_small_file_that_is_filled_gets_a_larger_filter(tmp_path: Path, operation: str) -> None:
    """The one that it had is made for few keys: with many more it would deny nothing."""
    table = hoodoo.create(str(tmp_path / "t"), rows().schema, record_key="id")
    table.insert(rows(*range(100)))
    getattr(table, operation)(rows(*range(100, 20_000)))
    (slice_,) = table.file_slices()
    assert slice_.base_file is not None
    footer = pq.read_metadata(tmp_path / "t" / slice_.base_file.path).metadata
    found = key_filter({k.decode(): v.decode() for k, v in footer.items()})
    assert found is not None
    assert all(found.might_contain(pa.array([str(i) for i in range(20_000)])).to_pylist())
    strange = pa.array([str(i) for i in range(10**6, 10**6 + 5000)])
    assert sum(found.might_contain(strange).to_pylist()) <= 1
