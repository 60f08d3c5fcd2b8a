"""Floating numbers for columns of integers: whole ones are taken, no column loses a digit unasked."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import hoodoo
import pandas as pd
import pyarrow as pa
import pytest
from hoodoo.errors import NullKeyError, SchemaError
from hoodoo.options.table import WIDEN_INTEGERS
from hoodoo_rows.api import ArrivingRows
from hoodoo_rows.testing.tables import dicts

pytestmark = pytest.mark.sampled(4)

TYPES = ["COPY_ON_WRITE", "MERGE_ON_READ"]
VERSIONS = [9, 6]
BIG = 2**53 + 1  # no double
SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.int32()), ("n", pa.int64()), ("ts", pa.int64())])
WRITES = ["upsert", "insert", "bulk_insert", "append", "insert_overwrite", "insert_overwrite_table"]
# The other version runs on Spark in the trials.
engines = pytest.mark.parametrize(
    ("engine", "version"),
    [
        ("local", 9),
        ("local", 6),
        pytest.param("spark", 9, marks=pytest.mark.spark),
        pytest.param("spark", 6, marks=[pytest.mark.spark, pytest.mark.trial]),
    ],
)
tables = pytest.mark.parametrize("kind", TYPES)
versions = pytest.mark.parametrize("version", VERSIONS)


def create(path: Path, kind: str, version: int, schema: pa.Schema = SCHEMA, **more: Any) -> Any:
    given = {"record_key": "id", "partition_by": "p", "ordering": "ts", **more}
    return hoodoo.create(str(path), schema, table_type=kind, table_version=version, **given)


def floating(**columns: list[float | None]) -> pa.Table:
    return pa.table({name: pa.array(values, pa.float64()) for name, values in columns.items()})


rows = partial(dicts, columns=SCHEMA.names)


def refused(table: Any, write: Callable[[], object], match: str) -> str:
    """The message; the table is unchanged."""
    before, schema, writes = rows(table), table.schema, table.timeline().writes()
    with pytest.raises(SchemaError, match=match) as caught:
        write()
    assert (rows(table), table.schema, table.timeline().writes()) == (before, schema, writes)
    return str(caught.value)


@tables
@engines
def test_fault_a6_floating_rows_of_integer_columns(
    tmp_path: Path, kind: str, version: int, engine: str, request: pytest.FixtureRequest
) -> None:
    """Every write takes whole numbers and refuses others; the columns stay what they are."""

    def batch(data: pa.Table) -> Any:
        return data if session is None else session.createDataFrame(data.to_pandas())

    session = None if engine == "local" else request.getfixturevalue("spark")
    writes = WRITES if engine == "local" else ["upsert", "append"]
    for write in writes:
        table = create(tmp_path / write, kind, version)
        table.upsert(pa.table({"id": [1], "p": [0], "n": [BIG], "ts": [1]}, SCHEMA))
        for wrong, why in [(1.5, "1.5 is not a whole"), (float("inf"), "inf is not a whole"),
                           (float(BIG), "lost digits"), (-(2.0**63), "lost digits")]:  # fmt: skip
            data = batch(floating(id=[2], p=[0], n=[wrong], ts=[2]))
            message = refused(table, partial(getattr(table, write), data), why)
            assert "column n" in message and (WIDEN_INTEGERS.key in message) == ("whole" in why)
        data = batch(floating(id=[2, 3], p=[0, 0], n=[-7, None], ts=[2, 2]))
        getattr(table, write)(data)
        assert table.schema == SCHEMA
        found = {row["id"]: (row["p"], row["n"]) for row in rows(table)}
        left = {} if write.startswith("insert_over") else {1: (0, BIG)}
        assert found == {**left, 2: (0, -7), 3: (0, None)}
        path = table.read(["_hoodie_partition_path", "_hoodie_record_key"]).to_arrow().to_pydict()
        assert set(path["_hoodie_partition_path"]) == {"0"}
        assert set(path["_hoodie_record_key"]) == {str(n) for n in found}


@tables
@versions
def test_fault_a6_floating_keys_are_those_of_integers(
    tmp_path: Path, kind: str, version: int
) -> None:
    table = create(tmp_path / "t", kind, version)
    table.upsert(pa.table({"id": [1, 2, 3], "p": [0, 0, 0], "n": [1, 2, 3], "ts": [1] * 3}, SCHEMA))
    assert table.upsert(floating(id=[1], p=[0], n=[10], ts=[2])).updated == 1
    for keys in ([1.5], [float(BIG)], pa.array([2.5])):
        refused(table, lambda k=keys: table.delete(k), "column id")
    refused(table, lambda: table.delete(floating(id=[2.5], p=[0])), "column id")
    refused(table, lambda: table.upsert(floating(id=[1], p=[0.5], n=[1], ts=[3])), "column p")
    refused(table, lambda: table.upsert(floating(id=[1], p=[3e9], n=[1], ts=[3])), "does not fit")
    with pytest.raises(NullKeyError):
        table.upsert(floating(id=[None], p=[0], n=[1], ts=[3]))
    table.delete([1.0])
    table.delete(floating(id=[2], p=[0]))
    assert rows(table) == [{"id": 3, "p": 0, "n": 3, "ts": 1}]


@tables
@versions
def test_fault_a6_a_late_row_loses_by_its_last_digit(
    tmp_path: Path, kind: str, version: int
) -> None:
    """As doubles both times would be the same, and the late row would win."""
    for option in (False, True):
        table = create(tmp_path / str(option), kind, version, options={WIDEN_INTEGERS.key: option})
        table.upsert(pa.table({"id": [1], "p": [0], "n": [1], "ts": [BIG]}, SCHEMA))
        late = floating(id=[1], p=[0], n=[2], ts=[float(2**53 - 1)])
        table.upsert(late.set_column(2, "n", pa.array([2])))
        assert table.schema == SCHEMA and rows(table)[0]["n"] == 1
        refused(table, lambda t=table: t.upsert(floating(id=[1], ts=[1.5], p=[0])), "column ts")
        message = refused(
            table, lambda t=table: t.upsert(floating(id=[1], ts=[float(BIG)], p=[0])), "ts"
        )
        assert "2**53" in message


@tables
@versions
def test_fault_a6_a_pandas_frame_with_a_missing_value(
    tmp_path: Path, kind: str, version: int
) -> None:
    table = create(tmp_path / "t", kind, version)
    table.upsert(pa.table({"id": [1], "p": [0], "n": [BIG], "ts": [1]}, SCHEMA))
    frame = pd.DataFrame({"id": [2, 3], "p": [0, None], "n": [5, None], "ts": [1, 1]})
    assert frame["n"].dtype == float
    table.upsert(frame)
    table.upsert(pd.DataFrame({"id": [4], "p": [0.0], "n": [None], "ts": [1]}))
    assert table.schema == SCHEMA
    assert [(row["n"], row["p"]) for row in rows(table)] == [
        (BIG, 0),
        (5, 0),
        (None, None),
        (None, 0),
    ]


NESTED = pa.schema(
    [
        ("id", pa.int64()), ("l", pa.list_(pa.int32())), ("s", pa.struct([("x", pa.int64())])),
        ("m", pa.map_(pa.string(), pa.int64())),
    ]
)  # fmt: skip
FLOATING = {
    "l": (pa.list_(pa.float32()), lambda x: [x, None]),
    "s": (pa.struct([("x", pa.float64())]), lambda x: {"x": x}),
    "m": (pa.map_(pa.string(), pa.float64()), lambda x: [("k", x)]),
}


@tables
@pytest.mark.parametrize("column", FLOATING)
def test_fault_a6_nested_numbers(tmp_path: Path, kind: str, column: str) -> None:
    def batch(number: int, x: float) -> pa.Table:
        floats, make = FLOATING[column]
        return pa.table({"id": [number], column: pa.array([make(x)], floats)})

    more = {"partition_by": (), "ordering": ()}
    table = create(tmp_path / "t", kind, 9, NESTED, **more)
    table.upsert(batch(1, 3.0))
    assert table.schema == NESTED
    assert table.read([column]).to_arrow().to_pylist() == [{column: FLOATING[column][1](3)}]
    with pytest.raises(SchemaError, match=rf"column {column}\W.*not a whole number"):
        table.upsert(batch(2, 3.5))
    table.upsert(pa.table({"id": [3], column: pa.array([FLOATING[column][1](2**24 + 1)],
                                                       NESTED.field(column).type)}))  # fmt: skip
    wider = hoodoo.open(table.path, {WIDEN_INTEGERS.key: True})
    if column == "l":  # 16777217 is no float
        with pytest.raises(SchemaError, match="value 16777217 exactly"):
            wider.upsert(batch(2, 3.5))
    else:
        wider.upsert(batch(2, 3.5))
        assert wider.schema.field(column).type == FLOATING[column][0]
        assert wider.read([column]).count() == 3


def test_fault_a6_dictionaries_and_narrow_floats(tmp_path: Path) -> None:
    table = create(tmp_path / "t", "COPY_ON_WRITE", 9)
    batch = floating(id=[1, 2], p=[0, 0], ts=[1, 1])
    table.upsert(batch.append_column("n", pa.array([4.0, None]).dictionary_encode()))
    table.upsert(batch.slice(1).append_column("n", pa.array([8], pa.float32())))
    assert [row["n"] for row in rows(table)] == [4, 8]
    for n, why in [(2.0**24, "2\\*\\*24"), (0.5, "not a whole")]:
        data = batch.slice(1).append_column("n", pa.array([n], pa.float32()))
        refused(table, lambda d=data: table.upsert(d), why)
    assert table.schema == SCHEMA


@tables
@versions
def test_fault_a6_integers_become_doubles_on_request(
    tmp_path: Path, kind: str, version: int
) -> None:
    """Refused where a stored value, of a log file too, does not fit; older rows read the same after."""
    table = create(tmp_path / "t", kind, version, options={WIDEN_INTEGERS.key: True})
    first = table.upsert(
        pa.table({"id": [1, 2], "p": [0, 0], "n": [2**54, -5], "ts": [1, 1]}, SCHEMA)
    )
    table.upsert(pa.table({"id": [2], "p": [0], "n": [BIG], "ts": [2]}, SCHEMA))
    half = floating(id=[3], p=[0], n=[0.5], ts=[1])
    message = refused(table, lambda: table.upsert(half), "value 9007199254740993 exactly")
    assert WIDEN_INTEGERS.key in message
    table.upsert(pa.table({"id": [2], "p": [0], "n": [-6], "ts": [3]}, SCHEMA))
    table.upsert(half)
    assert table.schema.field("n").type == pa.float64()
    assert [row["n"] for row in rows(table)] == [2.0**54, -6.0, 0.5]
    then = table.read(["id", "n"], as_of=first.instant).to_arrow()
    assert (
        sorted(then["n"].to_pylist()) == [-5, 2**54] and then.schema.field("n").type == pa.int64()
    )
    # Integers go in as long as they are doubles.
    table.upsert(pa.table({"id": [1], "p": [0], "n": [7], "ts": [2]}, SCHEMA))
    refused(
        table,
        lambda: table.upsert(pa.table({"id": [1], "p": [0], "n": [BIG], "ts": [3]}, SCHEMA)),
        "n",
    )


@pytest.mark.sampled(3, among="on Spark")
@pytest.mark.spark
def test_fault_a6_stored_integers_are_read_by_spark_tasks(tmp_path: Path, spark: Any) -> None:
    table = create(
        tmp_path / "t", "MERGE_ON_READ", 9, options={WIDEN_INTEGERS.key: True}, engine="spark"
    )
    table.upsert(pa.table({"id": [1, 2], "p": [0, 1], "n": [1, BIG], "ts": [1, 1]}, SCHEMA))
    half = spark.createDataFrame([(3.0, 0.0, 0.5, 1.0)], ["id", "p", "n", "ts"])
    refused(table, lambda: table.upsert(half), "value 9007199254740993 exactly")
    table.delete([2])
    table.upsert(half)
    assert [row["n"] for row in rows(table)] == [1.0, 0.5]


@tables
def test_fault_a6_a_writer_beside_the_widening(tmp_path: Path, kind: str) -> None:
    """What comes in between the look at stored values and the commit is looked at, too."""
    table = create(tmp_path / "t", kind, 9)
    table.upsert(pa.table({"id": [1], "p": [0], "n": [1], "ts": [1]}, SCHEMA))
    wider = hoodoo.open(table.path, {WIDEN_INTEGERS.key: True})
    prepared, go = threading.Event(), threading.Event()

    def late() -> Any:
        prepared.set()
        assert go.wait(60)
        yield from floating(id=[2], p=[1], n=[0.5], ts=[1]).to_batches()

    schema = floating(id=[], p=[], n=[], ts=[]).schema
    raised: list[BaseException] = []

    def write() -> None:
        try:
            wider.upsert(pa.RecordBatchReader.from_batches(schema, late()))
        except SchemaError as error:
            raised.append(error)

    thread = threading.Thread(target=write)
    thread.start()
    assert prepared.wait(60)
    table.upsert(pa.table({"id": [3], "p": [2], "n": [BIG], "ts": [1]}, SCHEMA))
    go.set()
    thread.join(60)
    assert len(raised) == 1 and "9007199254740993" in str(raised[0])
    assert table.schema == SCHEMA and [row["n"] for row in rows(table)] == [1, BIG]


# --- the index of a pandas frame --------------------------------------------------------------------
FRAME = pd.DataFrame({"id": [1, 2, 3], "v": [1.0, 2.0, 3.0]})


@tables
@engines
def test_fault_a7_the_index_of_a_pandas_frame_is_no_column(
    tmp_path: Path, kind: str, version: int, engine: str, request: pytest.FixtureRequest
) -> None:
    if engine == "spark":
        request.getfixturevalue("spark")
    filtered = FRAME[FRAME["id"] > 1]
    more = {"partition_by": (), "ordering": (), "engine": engine}
    schema = pa.Schema.from_pandas(filtered)
    assert "__index_level_0__" in schema.names
    table = create(tmp_path / "t", kind, version, schema, **more)
    assert table.schema.names == ["id", "v"]
    table.upsert(FRAME)
    table.upsert(filtered)
    table.upsert(pa.Table.from_pandas(filtered))
    table.append(
        FRAME.assign(id=[4, 5, 6]).set_index(pd.MultiIndex.from_product([[0], list("abc")]))
    )
    table.delete(filtered)
    assert table.schema.names == ["id", "v"]
    assert sorted(table.read(["id"]).to_arrow()["id"].to_pylist()) == [1, 4, 5, 6]


def test_fault_a7_an_index_with_a_name_is_a_column(tmp_path: Path) -> None:
    more = {"partition_by": (), "ordering": ()}
    schema = pa.schema([("id", pa.int64()), ("v", pa.float64())])
    table = create(tmp_path / "t", "COPY_ON_WRITE", 9, schema, **more)
    table.upsert(FRAME.set_index("id"))
    assert table.schema == schema
    two = FRAME.set_index(pd.MultiIndex.from_arrays([[7, 8, 9], list("abc")], names=["at", None]))
    table.upsert(two, add_columns=True)
    table.upsert(FRAME[["v"]].rename_axis("id"))  # a range that has a name: 0, 1, 2
    assert table.schema.names == ["id", "v", "at"]
    found = table.read(["id", "v", "at"]).to_arrow().to_pylist()
    assert sorted((row["id"], row["v"], row["at"]) for row in found if row["at"]) == [(3, 3.0, 9)]
    assert sorted(row["id"] for row in found) == [0, 1, 2, 3]


def test_an_index_that_a_table_has_as_a_column_goes_on_to_be_filled() -> None:
    """Releases before took the numbers of filtered frames in."""
    incoming = pa.schema([("id", pa.int64()), ("__index_level_0__", pa.int64())])
    said = incoming.with_metadata(
        {"pandas": '{"index_columns": ["__index_level_0__", {"kind": "range"}]}'}
    )
    assert ArrivingRows.schema(said, incoming, {}) == incoming
    assert ArrivingRows.schema(said, pa.schema([("id", pa.int64())]), {}).names == ["id"]


def test_a_column_that_is_called_like_an_index_and_is_none(tmp_path: Path) -> None:
    """Without a word of pandas it is a column as any other: a key, or a new column that needs a word."""
    name = "__index_level_0__"
    rows = pa.table({name: [1, 2], "v": [1.0, 2.0]})
    table = hoodoo.create(tmp_path / "t", rows.schema, record_key=name)
    table.upsert(rows)
    assert table.read([name]).to_arrow().sort_by(name).to_pydict() == {name: [1, 2]}
    other = hoodoo.create(tmp_path / "u", "id bigint, v double", record_key="id")
    with pytest.raises(SchemaError, match=f"column '{name}': is not in the table"):
        other.upsert(rows.append_column("id", pa.array([1, 2])))
    frame = FRAME.rename(columns={"id": name})
    pandas = hoodoo.create(tmp_path / "p", pa.Schema.from_pandas(frame), record_key=name)
    pandas.upsert(frame)
    assert pandas.read().count() == 3
