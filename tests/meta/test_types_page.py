"""docs/types.md says what becomes of types, and each type that it names comes back as it says."""

from __future__ import annotations

import sys
import uuid
from pathlib import Path

import hoodoo
import pytest
from hoodoo.errors import SchemaError

sys.path.insert(0, str(Path(__file__).resolve().parent))

import types_page


def test_the_page_of_types_is_made_of_what_is_declared() -> None:
    assert types_page.PAGE.read_text("utf-8") == types_page.render(), (
        "python tests/meta/types_page.py makes it"
    )


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_each_stored_type_comes_back_from_base_files_and_log_blocks(
    tmp_path: Path, kind: str
) -> None:
    stored = [
        one.rows
        for one in types_page.TRIED
        if not isinstance(types_page.stored_type(one.rows.type), SchemaError)
    ]
    rows = types_page.rows_of(stored)
    table = hoodoo.create(tmp_path, rows.schema, record_key="id", table_type=kind)
    for _ in range(2):  # the second one, in a merge-on-read table, to log files
        table.upsert(rows)
        read = table.to_arrow().sort_by("id")
        for number, array in enumerate(stored):
            column = read.column(f"c{number}")
            assert column.type == types_page.stored_type(array.type), array.type
            values = [str(v) if isinstance(v, uuid.UUID) else v for v in array.to_pylist()]
            assert column.to_pylist() == values, array.type
    assert (kind == "MERGE_ON_READ") == any(tmp_path.glob(".*.log.*"))


def test_a_type_that_is_refused_leaves_no_table(tmp_path: Path) -> None:
    refused = [
        one.rows
        for one in types_page.TRIED
        if isinstance(types_page.stored_type(one.rows.type), SchemaError)
    ]
    assert len(refused) > 5
    for array in refused:
        rows = types_page.rows_of([array])
        with pytest.raises(SchemaError, match="column c0") as raised:
            hoodoo.create(tmp_path / "t", rows.schema, record_key="id")
        assert raised.value.fix
        assert not (tmp_path / "t").exists()
