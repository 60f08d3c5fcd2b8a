"""Columns that a table lacks need a word; those that rows lack are null; and the options of a Spark Hudi job mean there
what they mean in Spark Hudi."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import hoodoo
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hoodoo.errors import CallError, MissingColumnError, SchemaError

SCHEMA = pa.schema(
    [
        ("id", pa.int64()), ("tip", pa.float64()), ("tags", pa.list_(pa.string())), ("price", pa.decimal128(10, 2)),
        ("s", pa.struct([("q", pa.string()), ("r", pa.int64())])), ("m", pa.map_(pa.string(), pa.int64())),
    ]
)  # fmt: skip
WORD = {"hoodie.datasource.write.reconcile.schema": "true"}
JOB = {"hoodie.table.name": "t", "hoodie.datasource.write.recordkey.field": "id"}
WRITES = ("upsert", "insert", "append", "bulk_insert", "insert_overwrite", "insert_overwrite_table")


@pytest.fixture
def table(tmp_path: Path) -> hoodoo.Table:
    made = hoodoo.create(tmp_path / "t", SCHEMA, record_key="id")
    made.upsert(
        [{"id": 1, "tip": 1.0, "tags": ["a"], "price": Decimal("9.99"), "s": {"q": "x", "r": 1}}]
    )
    return made


@pytest.mark.parametrize("operation", WRITES)
def test_a_misspelt_column_is_refused_with_the_nearest(table: hoodoo.Table, operation: str) -> None:
    write = getattr(table, operation)
    with pytest.raises(SchemaError, match="Did you mean 'tip', not 'tpi'") as caught:
        write([{"id": 2, "tpi": 3.0}])
    assert caught.value.obj == "column 'tpi'"
    assert "add_columns=True" in caught.value.fix and next(iter(WORD)) in caught.value.fix
    assert len(table.timeline().writes()) == 1
    # What the message says leads out.
    write([{"id": 2, "tpi": 3.0}], add_columns=True)
    assert table.schema.names[-1] == "tpi"
    assert table.read(["tpi"], where="id = 2").to_pylist() == [{"tpi": 3.0}]
    write([{"id": 3, "tpi": 4.0}])  # it is a column of the table now
    with pytest.raises(SchemaError, match="is not in the table"):
        write([{"id": 4, "more": 4.0}])


def test_the_option_allows_new_columns(table: hoodoo.Table) -> None:
    hoodoo.open(table.path, WORD).upsert([{"id": 2, "new": 1}])
    assert table.schema.names[-1] == "new"
    off = hoodoo.open(table.path, {next(iter(WORD)): "false"})
    with pytest.raises(SchemaError, match="is not in the table"):
        off.upsert([{"id": 2, "newer": 1}])
    off.upsert([{"id": 2, "newer": 1}], add_columns=True)


def test_alter_adds_columns_without_the_word(table: hoodoo.Table) -> None:
    table.alter(add={"new": "bigint", "s.t": "int"})
    table.upsert([{"id": 2, "new": 1, "s": {"t": 5}}])
    assert table.read(["s"], where="new = 1").to_pylist() == [{"s": {"q": None, "r": None, "t": 5}}]


def test_what_other_libraries_call_it_is_suggested(table: hoodoo.Table) -> None:
    for name in ("merge_schema", "schema_mode", "add_column"):
        with pytest.raises(CallError, match="Did you mean 'add_columns'"):
            table.upsert([{"id": 2}], **{name: True})


@pytest.mark.parametrize("rows", [
    [{"id": 2, "s": {"q": "y", "rr": 3}}],
    pa.table({"id": [2], "s": [{"q": "y", "rr": 3}]}),
    pd.DataFrame({"id": [2], "s": [{"q": "y", "rr": 3}]}),
    pl.DataFrame({"id": [2], "s": [{"q": "y", "rr": 3}]}),
], ids=["dicts", "arrow", "pandas", "polars"])  # fmt: skip
def test_a_new_field_of_a_struct_needs_the_word_too(table: hoodoo.Table, rows: Any) -> None:
    with pytest.raises(SchemaError, match=r"Did you mean 's\.r', not 's\.rr'"):
        table.upsert(rows)
    table.upsert(rows, add_columns=True)
    assert table.read(["s"], where="id = 2").to_pylist() == [{"s": {"q": "y", "r": None, "rr": 3}}]


def test_marks_of_deleted_rows_are_no_new_columns(table: hoodoo.Table) -> None:
    assert table.upsert([{"id": 1, "_hoodie_is_deleted": True}]).deleted == 1


def test_the_options_of_a_spark_hudi_job_do_as_spark_hudi(table: hoodoo.Table) -> None:
    whole = {"id": 2, "tip": 1.0, "tags": [], "price": Decimal(1), "s": None, "m": []}
    job = hoodoo.open(table.path, JOB)
    job.upsert([{**whole, "new": 1}])  # new columns come in
    assert table.schema.names[-1] == "new"
    with pytest.raises(MissingColumnError, match=r"column m, new: .*missing\.columns=true"):
        job.upsert([{name: value for name, value in whole.items() if name != "m"}])
    for more in (WORD, {"hoodie.write.set.null.for.missing.columns": "true"}):
        hoodoo.open(table.path, {**JOB, **more}).upsert([{"id": 2}])
    assert table.read(["tip"], where="id = 2").to_pylist() == [{"tip": None}]
    assert job.delete([2]).deleted == 1
    with pytest.raises(MissingColumnError, match="is not in the rows"):
        strict = {"hoodie.write.set.null.for.missing.columns": "false"}
        hoodoo.open(table.path, strict).upsert([{"id": 3}])


def test_merge_inserts_rows_with_fewer_columns(table: hoodoo.Table) -> None:
    source = pa.table({"id": [1, 2], "tip": [5.0, 6.0]})
    text = "MERGE INTO t USING s ON t.id = s.id {} WHEN NOT MATCHED THEN INSERT *"
    hoodoo.sql(text.format(""), {"t": table, "s": source})
    rows = {row["id"]: row for row in table.read().to_pylist()}
    assert rows[1]["tip"] == 1.0
    assert rows[2] == {"id": 2, "tip": 6.0, "tags": None, "price": None, "s": None, "m": None}
    with pytest.raises(SchemaError, match="lacks columns of the table: tags, price, s, m"):
        hoodoo.sql(text.format("WHEN MATCHED THEN UPDATE SET *"), {"t": table, "s": source})
    more = source.append_column("op", pa.array(["u", "u"]))  # as Spark has it: of the source alone
    hoodoo.sql(text.format("WHEN MATCHED AND s.op = 'd' THEN DELETE"), {"t": table, "s": more})


def test_merge_with_a_misspelt_column_is_refused(table: hoodoo.Table) -> None:
    source = pa.table({"id": [2], "tpi": [5.0]})
    with pytest.raises(SchemaError, match="Did you mean 'tip'"):
        table.merge(source, on="id").when_not_matched_insert_all().execute()
    with pytest.raises(SchemaError, match="Did you mean tip"):
        hoodoo.sql("INSERT INTO t (id, tpi) VALUES (2, 5.0)", {"t": table})
    assert table.read().count() == 1


def test_one_batch_of_longer_decimals_does_not_widen_the_table(table: hoodoo.Table) -> None:
    def priced(value: str) -> pa.Table:
        prices = pa.array([Decimal(value)], pa.decimal128(38, 2))
        return pa.table({"id": [2], "price": prices})

    table.upsert(priced("1.50"))
    assert table.schema.field("price").type == pa.decimal128(10, 2)
    with pytest.raises(
        SchemaError, match=r"does not fit the table's decimal128\(10, 2\)"
    ) as caught:
        table.upsert(priced("123456789012.50"))
    assert "alter" in caught.value.fix
    table.upsert(priced("123456789012.50"), add_columns=True)
    assert table.schema.field("price").type == pa.decimal128(38, 2)
    assert table.read(["price"], where="id = 2").to_pylist() == [
        {"price": Decimal("123456789012.50")}
    ]


FITS = {
    "dictionaries": [{"id": 2, "price": Decimal("1.5")}],
    "whole": [{"id": 2, "price": 3}],
    "pandas": pd.DataFrame({"id": [2], "price": [Decimal("1.5")]}),
    "polars": pl.DataFrame({"id": [2], "price": [Decimal("1.5")]}),
    "fewer digits": pa.table({"id": [2], "price": pa.array([Decimal("1.5")], pa.decimal128(2, 1))}),
    "more digits": pa.table({"id": [2], "price": pa.array([Decimal("1.5")], pa.decimal128(10, 4))}),
    "decimal256": pa.table({"id": [2], "price": pa.array([Decimal("1.5")], pa.decimal256(60, 20))}),
    "tens": pa.table({"id": [2], "price": pa.array([Decimal("150")], pa.decimal128(3, -1))}),
    "int64": pa.table({"id": [2], "price": [3]}),
    "uint64": pa.table({"id": [2], "price": pa.array([3], pa.uint64())}),
    "key of uint64": pa.table({"id": pa.array([2], pa.uint64())}),
}


@pytest.mark.parametrize("what", FITS)
def test_numbers_that_fit_exactly_are_cast(table: hoodoo.Table, what: str) -> None:
    table.upsert(FITS[what])
    assert table.schema == SCHEMA
    whole = what in ("whole", "int64", "uint64")
    expected = None if "key" in what else Decimal(150 if what == "tens" else 3 if whole else "1.5")
    assert table.read(["price"], where="id = 2").to_pylist() == [{"price": expected}]


def test_numbers_that_do_not_fit_are_refused(table: hoodoo.Table) -> None:
    for price in (
        pa.array([Decimal("1.555")], pa.decimal128(10, 3)), pa.array([10**9]), pa.array([2**64 - 1], pa.uint64()),
        pa.array([Decimal(10**40)], pa.decimal256(50, 0)),
    ):  # fmt: skip
        with pytest.raises(SchemaError, match="column price.* does not fit"):
            table.upsert(pa.table({"id": [2], "price": price}))
    with pytest.raises(SchemaError, match="column id.* does not fit"):
        table.upsert(pa.table({"id": pa.array([2**63], pa.uint64())}))


NOTHING = {
    "dictionaries": ([{"id": 1, "tags": []}], []),
    "pandas": (pd.DataFrame({"id": [1], "tags": [[]]}), []),
    "polars": (pl.DataFrame({"id": [1], "tags": [[]]}), []),
    "arrow": (pa.table({"id": [1], "tags": [[]]}), []),
    "pandas, NaN": (pd.DataFrame({"id": [1], "tags": [float("nan")]}), None),
    "pandas, None": (pd.DataFrame({"id": [1], "tags": [None]}), None),
    "pandas, struct": (pd.DataFrame({"id": [1], "s": [{"q": None, "r": 2}]}), {"q": None, "r": 2}),
    "polars, struct": (pl.DataFrame({"id": [1], "s": [{"q": None, "r": 2}]}), {"q": None, "r": 2}),
    "pandas, empty struct": (pd.DataFrame({"id": [1], "s": [{}]}), {"q": None, "r": None}),
    "arrow, map": (pa.table({"id": [1], "m": pa.array([[]], pa.map_(pa.string(), pa.null()))}), []),
    "no rows": (pd.DataFrame({"id": [], "tags": [], "s": []}), ...),
}  # fmt: skip


@pytest.mark.parametrize("what", NOTHING)
def test_nested_values_without_a_type_have_that_of_the_table(
    table: hoodoo.Table, what: str
) -> None:
    data, expected = NOTHING[what]
    table.upsert(data)
    assert table.schema == SCHEMA
    (row,) = table.read().to_pylist()
    column = "s" if "struct" in what else "m" if "map" in what else "tags"
    assert row[column] == (["a"] if expected is ... else expected)


@pytest.mark.parametrize("empty", ["array()", "[]"])
def test_an_empty_list_of_sql_has_the_type_of_the_table(table: hoodoo.Table, empty: str) -> None:
    hoodoo.sql(f"INSERT INTO t (id, tags) SELECT 2, {empty}", {"t": table})
    assert table.read(["tags"], where="id = 2").to_pylist() == [{"tags": []}]
