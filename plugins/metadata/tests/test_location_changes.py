"""What changed in a record index between two instants, as ``table.location_changes`` tells."""

from __future__ import annotations

from pathlib import Path

import hoodoo
import pytest
from hoodoo.errors import ConfigError
from hoodoo_metadata.partitions.record_index import location_states
from indexed_tables import Asked, create, lying, rows

pytestmark = pytest.mark.sampled(4)

# The index is compacted so often that few instants stay apart, and nothing is cleaned.
OFTEN = {"hoodie.metadata.compact.max.delta.commits": "2"}
KINDS = [
    ("COPY_ON_WRITE", "record_index"),
    ("MERGE_ON_READ", "record_index"),
    ("MERGE_ON_READ", "growing_record_index"),
    ("COPY_ON_WRITE", "partitioned_record_index"),
]
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


@pytest.mark.parametrize(("kind", "index"), KINDS)
def test_beyond_the_compactions_two_states_are_compared(
    tmp_path: Path, kind: str, index: str
) -> None:
    """What changed is known, and not which instant did it."""
    path = tmp_path / "t"
    table = create(path, index, options=OFTEN, table_type=kind, ordering=())
    states, points = [], []
    for n in range(9):
        keys = range(40 * n, 40 * n + 40)
        done = table.upsert(rows(keys, n)) if n % 4 < 3 else table.delete(["k3", f"k{n}"])
        points.append(done.instant)
        states.append(lying(path))
    table.upsert(rows([3], 9))  # again, perhaps elsewhere
    states.append(lying(path))
    compared = 0
    for at, since in enumerate(points):
        found = table.location_changes(since).to_arrow()
        now = {r["record_key"]: (r["partition_path"], r["file_id"]) for r in found.to_pylist()}
        assert len(now) == found.num_rows
        if found["instant"].null_count == 0 < found.num_rows:
            continue  # log files tell it
        compared += 1
        assert found["instant"].null_count == found.num_rows
        assert now == between(states[at], states[-1]), (kind, index, at)
        until = table.location_changes(since, points[4]).to_arrow() if at < 4 else None
        if until is not None and until["instant"].null_count:
            assert said(table, since, points[4]) == between(states[at], states[4])
    assert compared >= 3, (kind, index)
    assert said(table, "earliest") == states[-1]


def between(
    old: dict[str, tuple[str, str]], new: dict[str, tuple[str, str]]
) -> dict[str, tuple[str | None, str | None]]:
    moved = {key: place for key, place in new.items() if old.get(key) != place}
    return {**moved, **dict.fromkeys(old.keys() - new.keys(), (None, None))}


def test_only_slices_that_differ_are_opened_and_keys_are_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = create(tmp_path / "t", options=OFTEN, ordering=())
    table.upsert(rows(range(300), 0, "stays"))
    first = table.upsert(rows(range(300, 330), 0, "more")).instant
    for n in range(6):
        table.upsert(rows(range(400 + 10 * n, 410 + 10 * n), n, "more"))
    wanted = said(table, first)
    assert wanted.keys() == {f"k{n}" for n in range(400, 460)}
    monkeypatch.setattr(location_states, "PART_BYTES", 10_000)
    reader = hoodoo.open(table.path)
    reader.handle.storage = asked = Asked(reader.handle.storage)  # type: ignore[arg-type,assignment]
    plan = reader.location_changes(first)
    data = [name for name in asked.opened if not name.startswith(".hoodie")]
    assert len(plan.plan.units) > 2 and not data
    assert said(reader, first) == wanted
    data = [name for name in asked.opened if not name.startswith(".hoodie")]
    assert data and all(name.startswith("more/") for name in data), data


def test_a_state_that_was_cleaned_away(tmp_path: Path) -> None:
    table = create(tmp_path / "t", options={**OFTEN, "hoodie.clean.commits.retained": "1"})
    points = [table.upsert(rows(range(60 * n, 60 * n + 60), n)).instant for n in range(7)]
    with pytest.raises(ConfigError, match=rf"since='{points[0]}'.* the clean \d+ has deleted it"):
        table.location_changes(points[0])
    assert said(table, "earliest") == lying(tmp_path / "t")  # nothing was there before


def test_questions_without_an_answer(tmp_path: Path) -> None:
    table = create(tmp_path / "t", options=OFTEN)
    first = table.upsert(rows(range(60), 1)).instant
    last = table.upsert(rows(range(60, 80), 2)).instant
    with pytest.raises(ConfigError, match="earlier one as since"):
        table.location_changes(last, first)
    table.rebuild_index("record_index")
    found = table.location_changes(first).to_arrow()  # the index was made after it
    assert set(found["record_key"].to_pylist()) == {f"k{n}" for n in range(60, 80)}
    assert found["instant"].null_count == 20
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
    with pytest.raises(ConfigError, match=rf"since='{points[0]}'.* older instants are archived"):
        table.location_changes(points[0])
    assert said(table, "earliest") == lying(tmp_path / "t")
    assert set(said(table, points[-2])) == {f"k{n}" for n in range(60 * 11, 60 * 12)}
