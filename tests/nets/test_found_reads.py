"""What the metamorphic reads have found, each in its shortest form."""

from __future__ import annotations

from pathlib import Path

import hoodoo
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest
from hoodoo.errors import SchemaError

pytestmark = pytest.mark.sampled(4)

NAN = float("nan")
C = pc.field("x")
N = pc.field("inner", "y")


def _found(tmp_path: Path, rows: pa.Table, where: pc.Expression) -> tuple[hoodoo.Table, list[int]]:
    """A table of ``rows``, and the ids that ``where`` finds in it as in the rows themselves."""
    table = hoodoo.create(str(tmp_path / "t"), rows.schema, record_key="id")
    table.upsert(rows)
    expected = ds.dataset(rows).to_table(filter=where)["id"].to_pylist()
    assert table.read(["id"], where).to_arrow()["id"].to_pylist() == expected
    return table, expected


@pytest.mark.parametrize(
    "where",
    [
        C.is_nan(), C.isin([NAN]), ~(C < 2), ~(C == 1.5), C != 1.5, C.is_null(nan_is_null=True),
        (C < 2).isin([False]), (C < 2).cast("int32") == 0, (C < 2) < pc.scalar(True), (C < 2) == (pc.field("id") < 0),
        C.cast("string") == "nan", pc.if_else(C < 2, False, True), pc.coalesce(C, 0.0) != 1.5,
        N.is_nan(), N.isin([NAN]), ~(N < 2), N != 1.5, ~(C < 2) & ~(N < 2),
    ],
    ids=[f"case{n}" for n in range(18)],
)  # fmt: skip
def test_a_row_group_with_nan_is_left_out_by_no_filter(
    tmp_path: Path, where: pc.Expression
) -> None:
    """Statistics of Parquet leave NaN out: of fields of structs, of sets and of casts that was forgotten."""
    schema = pa.schema(
        [("id", pa.int64()), ("x", pa.float64()), ("inner", pa.struct([("y", pa.float64())]))]
    )
    rows = pa.table(
        {"id": [1, 2, 3], "x": [1.5, NAN, 1.5], "inner": [{"y": 1.5}, {"y": NAN}, None]}, schema
    )
    _table, expected = _found(tmp_path, rows, where)
    assert 2 in expected


@pytest.mark.parametrize(
    "where",
    [
        C.isin([0.0]), C.isin([0.0, 7.0]), ~C.isin([-0.0]), C.cast("string") == "0", N.isin([0.0]),
        pc.divide(pc.scalar(1.0), C) > 0, C.isin([0.0]) & (pc.field("id") < 9),
    ],
    ids=[f"case{n}" for n in range(7)],
)  # fmt: skip
def test_a_row_group_of_zeros_is_left_out_by_no_filter(
    tmp_path: Path, where: pc.Expression
) -> None:
    """Statistics of Parquet say of zeros that they are from -0.0 to 0.0, and Arrow made -0.0 of all of them."""
    schema = pa.schema(
        [("id", pa.int64()), ("x", pa.float64()), ("inner", pa.struct([("y", pa.float32())]))]
    )
    rows = pa.table({"id": [1, 2], "x": [0.0, 0.0], "inner": [{"y": 0.0}, None]}, schema)
    table, expected = _found(tmp_path, rows, where)
    assert 1 in expected
    assert table.read().to_dataset().to_table(["id"], where)["id"].to_pylist() == expected
    assert "0 in row groups that can match" in table.read(where=C > 5).explain()  # as before


def test_what_nan_can_not_match_is_left_out_as_before(tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("x", pa.float64())])
    table = hoodoo.create(str(tmp_path / "t"), schema, record_key="id")
    table.upsert(pa.table({"id": [1, 2], "x": [1.5, NAN]}, schema))
    for where, left in ((C > 5, 0), ((C > 5) | (pc.field("id") > 5), 0), (~(C < 5), 2)):
        assert f"{left} in row groups that can match" in table.read(where=where).explain()


def test_a_column_was_widened_and_a_file_from_before_is_looked_at_after_one_from_then(
    tmp_path: Path,
) -> None:
    """The write failed with a bare ValueError, and so did the next ones: a range that holds a long was to
    be stored as one of ints, the type of the file that came last."""
    narrow = pa.schema([("id", pa.int64()), ("p", pa.string()), ("n", pa.int32())])
    wide = narrow.set(2, pa.field("n", pa.int64()))
    table = hoodoo.create(
        str(tmp_path / "t"), narrow, record_key="id", partition_by="p",
        options={"hoodie.metadata.enable": "true", "hoodie.parquet.small.file.limit": "0"},
    )  # fmt: skip
    for n in range(3):
        table.upsert(pa.table({"id": [n], "p": ["a"], "n": [n]}, narrow))
    table.upsert(pa.table({"id": [9], "p": ["a"], "n": [2**40]}, wide))
    table.rebuild_index()
    assert table.verify().ok
    for where, ids in ((pc.field("n") > 2**33, [9]), (pc.field("n") == 1, [1])):
        assert table.read(["id"], where).to_arrow()["id"].to_pylist() == ids


def test_a_filter_that_fits_types_and_not_values_is_an_error_of_ours(tmp_path: Path) -> None:
    """It was a bare ArrowInvalid."""
    schema = pa.schema([("id", pa.int64()), ("n", pa.int32())])
    table = hoodoo.create(str(tmp_path / "t"), schema, record_key="id")
    instant = table.upsert(pa.table({"id": [1, 2], "n": [2**31 - 1, 0]}, schema)).instant
    for where, ids in ((pc.field("n") > 0.5, None), (pc.field("n").cast("float64") > 0.5, [1])):
        for scan in (
            table.read(["id"], where),
            table.incremental("earliest", instant, ["id"], where),
        ):
            if ids is None:
                with pytest.raises(SchemaError, match="not all their values.*Fix: cast the column"):
                    scan.to_arrow()
            else:
                assert scan.to_arrow()["id"].to_pylist() == ids
    with pytest.raises(SchemaError, match="not all their values"):
        table.changes("earliest", None, ["id"], pc.field("n") > 0.5).to_arrow()


def test_a_filter_may_ask_for_a_key_that_no_row_can_have(tmp_path: Path) -> None:
    """The read failed with a NullKeyError where there is a record index."""
    schema = pa.schema([("id", pa.string())])
    table = hoodoo.create(str(tmp_path / "t"), schema, record_key="id", index="record_index")
    table.upsert(pa.table({"id": ["a", "b"]}, schema))
    assert table.read(where=pc.field("id").isin(["", "a"])).count() == 1


@pytest.mark.parametrize("version", [6, 9])
def test_a_key_that_stands_twice_in_row_groups_that_the_filter_rules_out(
    tmp_path: Path, version: int
) -> None:
    """Each of its rows is updated by the log row, whether its row group is read or not."""
    schema = pa.schema([("id", pa.int64()), ("n", pa.int64())])
    t = hoodoo.create(
        str(tmp_path / "t"), schema, record_key="id", table_type="MERGE_ON_READ",
        table_version=version, options={"hoodie.parquet.block.size": "1"},
    )  # fmt: skip
    t.bulk_insert(pa.table({"id": [1, 1, 2, 3, 3], "n": [5, 7, 5, 6, 1]}, schema))
    t.upsert(pa.table({"id": [1, 3], "n": [6, 6]}, schema))
    assert sorted(t.read().to_arrow()["n"].to_pylist()) == [5, 6, 6, 6, 6]
    assert t.read(where=pc.field("n") == 6).count() == 4
    assert t.read(where=pc.field("n") == 5).count() == 1
    t.delete([3])
    assert t.read(where=pc.field("n") == 6).count() == 2
