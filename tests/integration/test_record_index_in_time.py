"""What the record index leaves out of a read of an older moment is nothing that the table had then."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import hoodoo
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hoodoo_rows.testing.tables import Maker

pytestmark = pytest.mark.sampled(4)

TYPES = ("COPY_ON_WRITE", "MERGE_ON_READ")
SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string()), ("v", pa.int64())])
MOVES = {
    "hoodie.simple.index.update.partition.path": "true",
    "hoodie.record.index.update.partition.path": "true",
}

rows = Maker(SCHEMA, "v", "city", city="a")


def clustered(table: hoodoo.Table) -> None:
    table.cluster(columns="v")


def deleted(table: hoodoo.Table) -> None:
    table.delete(rows([1, 2], 0))


def moved(table: hoodoo.Table) -> None:
    table.upsert(rows([1, 3], 5, "b"))


def replaced(table: hoodoo.Table) -> None:
    table.insert_overwrite(rows([1, 7], 6))


def compacted(table: hoodoo.Table) -> None:
    table.compact_metadata()


DONE = (clustered, deleted, moved, replaced)


def same_answers(table: hoodoo.Table, instants: list[str]) -> None:
    table = hoodoo.open(table.path)
    for instant in [*instants, None]:
        everything = table.read(as_of=instant).to_arrow()
        for key in (1, 2, 5, 7):
            found = table.read(as_of=instant, where=pc.field("id") == key).to_arrow()
            right = everything.filter(pc.field("id") == key)
            assert found.to_pylist() == right.to_pylist(), (instant, key)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("before", DONE)
def test_fault_a2_time_travel_with_a_key_filter_before_the_index_was_made(
    tmp_path: Path, kind: str, before: Callable[[hoodoo.Table], None]
) -> None:
    table = hoodoo.create(
        str(tmp_path / "t"), SCHEMA, record_key="id", partition_by="city", table_type=kind,
        index="global_simple", options=MOVES,
    )  # fmt: skip
    instants = [table.upsert(rows(range(4), 1)).instant, table.append(rows([5], 1, "b")).instant]
    before(table)
    table.rebuild_index("record_index")
    same_answers(table, instants)
    for step in (*DONE, compacted):
        step(table)
        instants += [table.upsert(rows([2, 6], 8)).instant]
    same_answers(table, instants)
    table.rebuild_index("record_index")
    same_answers(table, instants)


@pytest.mark.parametrize("kind", TYPES)
def test_the_index_prunes_where_it_describes_what_is_read(tmp_path: Path, kind: str) -> None:
    table = hoodoo.create(
        str(tmp_path / "t"), SCHEMA, record_key="id", partition_by="city", table_type=kind,
        index="record_index", options=MOVES,
    )  # fmt: skip
    instants = [
        table.upsert(rows([1, 2], 1, "a")).instant,
        table.upsert(rows([3, 4], 1, "b")).instant,
        table.upsert(rows([1], 2, "b")).instant,
    ]
    table.cluster(columns="v")
    table.upsert(rows([5], 3))
    for instant, path in zip([*instants[1:], None], ["a", "b", "b"], strict=True):
        plan = table.read(as_of=instant, where=pc.field("id") == 1).plan
        assert [s.partition_path for s in plan.slices] == [path], instant
    same_answers(table, instants)


@pytest.mark.parametrize("kind", TYPES)
def test_after_a_restore_the_index_tells_of_nothing_before(tmp_path: Path, kind: str) -> None:
    table = hoodoo.create(
        str(tmp_path / "t"), SCHEMA, record_key="id", partition_by="city", table_type=kind,
        index="record_index", options=MOVES,
    )  # fmt: skip
    instants = [table.upsert(rows(range(4), 1)).instant]
    instants.append(table.upsert(rows([1], 2, "b")).instant)
    table.savepoint(instants[-1])
    undone = [table.upsert(rows([1, 2], 3, "c")).instant]
    table.restore(instants[-1])
    same_answers(table, [*instants, *undone])
    instants.append(table.upsert(rows([1], 4, "c")).instant)
    deleted(table)
    same_answers(table, [*instants, *undone])
    table.rollback(table.timeline().writes()[-1].requested)
    same_answers(table, [*instants, *undone])
