"""The zone of instants, which the table says, or Hudi's default."""

from __future__ import annotations

import time
from datetime import datetime, timedelta, timezone
from pathlib import Path

import hoodoo
import pyarrow as pa
import pytest


@pytest.mark.parametrize("said", [None, "LOCAL", "UTC"])
def test_instants_are_in_the_zone_that_hudi_would_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str | None
) -> None:
    """Tables of Spark SQL do not say one. West of UTC, an instant of Spark after one of ours would be older."""
    schema = pa.schema([("id", pa.int64())])
    hoodoo.create(str(tmp_path / "t"), schema, record_key="id")
    properties = tmp_path / "t/.hoodie/hoodie.properties"
    lines = [x for x in properties.read_text().splitlines() if "timeline.timezone" not in x]
    more = [] if said is None else [f"hoodie.table.timeline.timezone={said}"]
    properties.write_text("\n".join([*lines, *more, ""]))
    monkeypatch.setenv("TZ", "America/Los_Angeles")
    time.tzset()
    try:
        table = hoodoo.open(str(tmp_path / "t"))
        first = table.upsert([{"id": 1}])
        between = datetime.now(timezone.utc)
        time.sleep(0.01)
        table.upsert([{"id": 2}])
        made = datetime.strptime(first.instant[:14], "%Y%m%d%H%M%S")
        zone = timezone.utc if said == "UTC" else None
        now = datetime.now(zone).replace(tzinfo=None)
        assert abs(now - made) < timedelta(minutes=30)
        assert table.read(as_of=between).to_pylist() == [{"id": 1}]
    finally:
        monkeypatch.undo()
        time.tzset()
