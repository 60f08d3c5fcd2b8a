"""A day as a point in time: its end, in the zone of the table's instants."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from pathlib import Path

import hoodoo
import pytest
from hoodoo.errors import ConfigError


def test_a_day_stands_for_its_end(tmp_path: Path) -> None:
    table = hoodoo.create(tmp_path / "t", "id bigint", record_key="id")
    first = table.upsert([{"id": 1}])
    moment = datetime.strptime(first.instant[:8], "%Y%m%d").replace(tzinfo=timezone.utc)
    day: date = moment.date()
    for then in (day, day.isoformat(), f" {day} "):
        assert table.read(as_of=then).count() == 1
        assert len(table.file_slices(as_of=then)) == 1
        assert table.incremental(then).count() == 0  # what came after that day
        assert table.incremental("earliest", then).count() == 1
    before = day - timedelta(days=1)
    assert table.incremental(before).count() == 1
    assert table.read(as_of=before).count() == 0


@pytest.mark.parametrize("point", ["20249999999999999", "20240230000000000", "2024-02-30"])
def test_digits_that_are_no_date_are_no_point_in_time(tmp_path: Path, point: str) -> None:
    table = hoodoo.create(tmp_path / "t", "id bigint", record_key="id")
    table.upsert([{"id": 1}])
    with pytest.raises(ConfigError, match="not a date"):
        table.read(as_of=point)


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ("mor", "MERGE_ON_READ"), ("MOR", "MERGE_ON_READ"), ("cow", "COPY_ON_WRITE"), ("Copy_On_Write", "COPY_ON_WRITE"),
        ("merge_on_read", "MERGE_ON_READ"),
    ],
)  # fmt: skip
def test_short_names_of_table_types(tmp_path: Path, given: str, kind: str) -> None:
    made = hoodoo.create(tmp_path / "a", "id bigint", record_key="id", table_type=given)
    assert made.config.table_type == kind
    said = {"hoodie.datasource.write.table.type": given}
    made = hoodoo.create(tmp_path / "b", "id bigint", record_key="id", options=said)
    assert made.config.table_type == kind


def test_the_nearest_table_type_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="table_type='MERGE_ON_READ', or leave it out"):
        hoodoo.create(tmp_path / "t", "id bigint", record_key="id", table_type="merge on reads")
