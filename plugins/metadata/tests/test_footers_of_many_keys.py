"""The footer of a file of many keys is large, so engines learn that before they choose where it is read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.model.payload import Payload
from hoodoo_metadata.partitions.column_stats import deltas
from hoodoo_standard.engine.local import LocalEngine

SCHEMA = pa.schema([("id", pa.int64()), ("note", pa.string())])
RANGES = {
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.index.column.stats.enable": "true",
}


@pytest.mark.parametrize(("rows", "least"), [(10, 0), (200_000, 1 << 20)])
def test_it_counts_as_what_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int, least: int
) -> None:
    seen: list[Payload] = []
    dealt = deltas._payload

    def noted(files: Sequence[tuple[str, str, int]], counts: dict[str, int]) -> Payload:
        seen.append(dealt(files, counts))
        return seen[-1]

    table = hoodoo.create(
        str(tmp_path / "t"),
        SCHEMA,
        name="t",
        record_key="id",
        options=RANGES,
        engine=LocalEngine(1),
    )
    monkeypatch.setattr(deltas, "_payload", noted)
    table.bulk_insert(pa.table([range(rows), [f"note {n}" for n in range(rows)]], schema=SCHEMA))
    (base,) = (p for p in (tmp_path / "t").glob("*.parquet"))
    footer = int.from_bytes(base.read_bytes()[-8:-4], "little")
    (payload,) = seen
    assert min(footer, base.stat().st_size) <= payload.reads
    assert payload.reads > least
