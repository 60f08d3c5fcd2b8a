"""What changed in a record index between two instants, as ``table.location_changes`` tells."""

from __future__ import annotations

from pathlib import Path

import hoodoo
import pytest
from hoodoo.errors import ConfigError
from indexed_tables import Asked, create, lying, rows

pytestmark = pytest.mark.sampled(4)

SMALL = {"hoodoo.index.buckets": "2", "hoodoo.index.bucket.cap": "8"}


def said(table: hoodoo.Table, *window: str) -> dict[str, tuple[str | None, str | None]]:
    """Record key -> partition path and file id."""
    found = table.location_changes(*window).to_arrow().to_pylist()
    assert len({row["record_key"] for row in found}) == len(found)
    return {row["record_key"]: (row["partition_path"], row["file_id"]) for row in found}


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("scaling", [None, "file_groups", "bucket_groups"])
def test_the_newest_that_was_said_of_each_key(
    tmp_path: Path, scaling: str | None, kind: str
) -> None:
    path = tmp_path / "t"
    options = {**SMALL, "hoodoo.index.scaling": scaling} if scaling else None
    index = "growing_record_index" if scaling else "record_index"
    table = create(path, index, options=options, table_type=kind, ordering=())
    points = [table.upsert(rows(range(20), 1)).instant]
    points.append(table.upsert(rows(range(15, 40), 2)).instant)
    points.append(table.delete([f"k{n}" for n in range(10, 20)]).instant)
    points.append(table.upsert(rows(range(12, 14), 3)).instant)  # again, perhaps in a younger group
    where = lying(path)
    gone = dict.fromkeys((f"k{n}" for n in (10, 11, *range(14, 20))), (None, None))
    assert said(table, "earliest") == {**where, **gone}
    new = {f"k{n}": where[f"k{n}"] for n in (*range(20, 40), 12, 13)}
    assert said(table, points[0]) == {**new, **gone}
    assert set(said(table, points[1], points[2])) == {f"k{n}" for n in range(10, 20)}
    assert said(table, points[-1]) == {}
    table.compact_metadata()
    assert said(table, points[0]) == {**new, **gone}  # the slice of before is there still
    reader = hoodoo.open(str(path))
    reader.handle.storage = asked = Asked(reader.handle.storage)  # type: ignore[arg-type,assignment]
    assert said(reader, points[2]) == {f"k{n}": where[f"k{n}"] for n in (12, 13)}
    assert all(name.startswith(".hoodie") for name in asked.opened), asked.opened


def test_what_can_not_be_told_any_more(tmp_path: Path) -> None:
    table = create(tmp_path / "t", options={"hoodie.metadata.compact.max.delta.commits": "2"})
    for n in range(6):
        last = table.upsert(rows(range(60 * n, 60 * n + 60), n)).instant
        first = last if n == 0 else first  # noqa: F821
    with pytest.raises(ConfigError, match="together with all before it") as found:
        table.location_changes(first)
    point = str(found.value).split("Ask for ")[1].split(" ")[0]
    assert table.location_changes(point).to_arrow().num_rows > 0
    with pytest.raises(ConfigError, match="earlier one as since"):
        table.location_changes(last, first)
    table.rebuild_index("record_index")
    with pytest.raises(ConfigError, match="or the index was made then"):
        table.location_changes(last)
    plain = create(tmp_path / "plain", "global_simple")
    plain.upsert(rows([1], 1))
    with pytest.raises(ConfigError, match="has no record index"):
        plain.location_changes("earliest")


def test_instants_that_are_archived(tmp_path: Path) -> None:
    options = {
        "hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3", "hoodie.clean.commits.retained": "1",
        "hoodie.metadata.compact.max.delta.commits": "4",
    }  # fmt: skip
    table = create(tmp_path / "t", options=options)
    points = [table.upsert(rows(range(60 * n, 60 * n + 60), n)).instant for n in range(12)]
    assert table.timeline().start is not None and table.timeline().find(points[0]) is None
    for since in ("earliest", points[0]):
        with pytest.raises(ConfigError, match=r"Ask for \d{17} or later"):
            table.location_changes(since)
    assert set(said(table, points[-2])) == {f"k{n}" for n in range(60 * 11, 60 * 12)}
