"""The layout that finds places for inserts is the user's choice."""

from __future__ import annotations

from pathlib import Path

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import PluginError


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64())})


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
    table = hoodoo.create(str(tmp_path / "t"), rows().schema, record_key="id", options=options)
    with pytest.raises(PluginError, match="'small_file'"):
        table.insert(rows(1))
