"""The rows of a scan: older files in the table's shape, filters, projections, order, memory."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from attrs import evolve
from hoodoo.errors import SchemaError
from hoodoo.testing.stores import RecordingStorage
from hoodoo_rows.api import Reads
from hoodoo_standard.engine.local import LocalEngine

T1, T2 = "20260101000000001", "20260101000000002"
Make = Callable[..., Any]

NOW = pa.schema(
    [
        ("id", pa.string()),
        ("city", pa.string()),
        ("n", pa.int64()),
        ("s", pa.struct([("a", pa.float64()), ("b", pa.string())])),
        ("l", pa.list_(pa.struct([("x", pa.int64()), ("y", pa.string())]))),
        ("m", pa.map_(pa.string(), pa.int64())),
        ("added", pa.date32()),
    ]
)


@pytest.fixture
def evolved(hand: Make, rows: Make) -> Any:
    """paris k0 k1 k2 as they were before every column was widened and one was added."""
    table = hand()
    table.file(rows("paris", [0, 1, 2]), "paris", "f-1", T1)
    table.commit(T1)
    table.commit(T2, NOW)
    return table


def test_old_rows_in_the_new_schema(evolved: Any) -> None:
    found = evolved.read(columns=NOW.names).to_arrow()
    assert found.schema.equals(NOW)
    assert found.to_pylist()[1] == {
        "id": "k1",
        "city": "paris",
        "n": 1,
        "s": {"a": 1.0, "b": None},
        "l": [{"x": 1, "y": None}],
        "m": [("k", 1)],
        "added": None,
    }


def test_the_old_schema_at_the_old_instant(evolved: Any, rows: Make) -> None:
    found = evolved.read(columns=rows("", []).schema.names, as_of=T1).to_arrow()
    assert found.equals(rows("paris", [0, 1, 2]))


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (pc.field("n") > 1, ["k2"]),
        (pc.field("n") > 2**40, []),
        (pc.field("s", "a") == 1.0, ["k1"]),
        (pc.field("s", "b").is_null(), ["k0", "k1", "k2"]),
        (pc.field("added").is_null(), ["k0", "k1", "k2"]),
        (pc.field("added").is_valid(), []),
        (pc.scalar(True), ["k0", "k1", "k2"]),
    ],
)
def test_filters_see_the_new_schema(evolved: Any, where: Any, expected: list[str]) -> None:
    scan = evolved.read(columns=["id"], where=where)
    assert scan.to_arrow().column("id").to_pylist() == expected
    assert scan.count() == len(expected)


def test_a_long_that_became_a_double(hand: Make, rows: Make) -> None:
    old = pa.schema([("id", pa.string()), ("n", pa.int64())])
    table = hand()
    table.file(pa.table({"id": ["a"], "n": [2**53 + 1]}, schema=old), "paris", "f-1", T1)
    table.commit(T1, pa.schema([("id", pa.string()), ("n", pa.float64())]))
    assert table.read(columns=["n"]).to_arrow().column("n").to_pylist() == [float(2**53)]


def test_a_file_that_does_not_fit(hand: Make, rows: Make) -> None:
    table = hand()
    path = table.file(rows("paris", [1]), "paris", "f-1", T1)
    table.commit(T1, pa.schema([("id", pa.string()), ("n", pa.date32())]))
    with pytest.raises(SchemaError, match=f"column n of {path}"):
        table.read().to_arrow()


def test_projection_gives_its_own_order(evolved: Any) -> None:
    scan = evolved.read(columns=["n", "_hoodie_record_key"], where=pc.field("id") == "k1")
    assert scan.to_arrow().to_pydict() == {"n": [1], "_hoodie_record_key": ["k1"]}


def test_no_columns_still_counts(evolved: Any) -> None:
    assert evolved.read(columns=[]).to_arrow().num_rows == 3
    assert evolved.read(columns=[], where=pc.field("n") < 2).to_arrow().num_rows == 2


def test_row_groups_that_cannot_match_are_skipped(hand: Make, rows: Make) -> None:
    table = hand()
    table.file(rows("paris", list(range(100))), "paris", "f-1", T1, row_group_size=10)
    table.commit(T1)
    scan = table.read(columns=["id"], where=pc.field("n") == 42)
    assert scan.to_arrow().column("id").to_pylist() == ["k42"]
    assert "100 in these files, 10 in row groups" in scan.explain()
    assert "100 in these files, 100 in row groups" in table.read().explain()


@pytest.fixture
def many(hand: Make, rows: Make) -> Any:
    """Ten files of two rows, in one partition."""
    table = hand(RecordingStorage)
    for number in range(10):
        table.file(rows("paris", [2 * number, 2 * number + 1]), "paris", f"f-{number}", T1)
    table.commit(T1)
    return table


def opened(table: Any) -> int:
    return len({path for op, path in table.storage.calls if op == "open"})


@pytest.mark.parametrize("files", [1, 2, 4])
def test_files_ahead_of_the_reader_stay_closed(many: Any, files: int) -> None:
    batches = evolve(many.read(), read_ahead=files).to_batches()
    assert opened(many) == 0
    for number in range(1, 4):
        next(batches)  # one batch a file
        # Whoever takes a batch may already have made the next one of the files ahead possible.
        assert opened(many) <= number + files
    batches.close()
    assert opened(many) <= 3 + files
    assert opened(many) < 10


def test_files_come_in_order_whatever_the_threads(many: Any) -> None:
    expected = [f"k{i}" for i in range(20)]
    for files in (1, 3, 8):
        scan = evolve(many.read(), read_ahead=files)
        assert scan.to_arrow().column("id").to_pylist() == expected


def test_an_error_reaches_the_reader(many: Any) -> None:
    scan = many.read()
    (many.path / scan.plan.slices[5].base_file.path).unlink()
    with pytest.raises((FileNotFoundError, Exception), match="f-5"):
        scan.to_arrow()


def test_a_scan_is_read_again(many: Any) -> None:
    scan = many.read()
    assert scan.to_arrow().equals(scan.to_arrow())
    assert pa.table(scan).equals(scan.to_reader().read_all())


def test_counting_reads_footers_only(many: Any) -> None:
    assert many.read().count() == 20


def test_the_step_reads_what_the_scan_reads(many: Any) -> None:
    scan = evolve(many.read(columns=["n", "id"], where=pc.field("n") > 3), source=many.source)
    step = scan.step
    assert pickle.loads(pickle.dumps(evolve(step, storage=step.storage.inner))).spec == step.spec
    engine = LocalEngine(2)
    packed = Reads.payloads(scan.plan.slices, 3)
    assert len(packed) == 3
    assert engine.collect(engine.map(engine.tasks(packed), step)).equals(scan.to_arrow())


@pytest.mark.parametrize("files", [1, 7, 40, 200])
def test_many_small_files_are_read_in_their_order(hand: Make, rows: Make, files: int) -> None:
    """One thread reads several of them, and each thread has its turns."""
    table = hand()
    for number in range(files):
        table.file(rows("paris", [number]), "paris", f"f-{number:04}", T1)
    table.commit(T1)
    scan = table.read(columns=["id"])
    groups = scan._in_groups(2)
    assert [one for group in groups for one in group] == list(scan.plan.slices)
    assert len(groups) >= min(files, 16)
    assert files < 40 or len(groups) < files
    assert scan.to_arrow()["id"].to_pylist() == [f"k{number}" for number in range(files)]
