"""Delete blocks: keys, paths and ordering values in Hudi's wrappers, and back in the types asked."""

from __future__ import annotations

import io
import struct
import tempfile
from datetime import date, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from hoodoo.errors import CorruptTableError, SchemaError, UnsupportedTableError
from hoodoo.kernel.log_files import log_files
from hoodoo.model.log_block import BlockKind, Header
from hoodoo.testing.log_builders import INSTANT, opened
from hoodoo_formats.log import delete_columns as log_delete_columns
from hoodoo_formats.log import deletes as log_deletes
from hoodoo_formats.log.content import Undecodable
from hoodoo_formats.log.deletes import decode_deletes, encode_deletes
from hoodoo_formats.log.writer import LogWriter
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.sampled(3)

US = pa.timestamp("us", "UTC")
WRAPPERS: list[tuple[str, Any]] = [
    ("BooleanWrapper", "boolean"), ("IntWrapper", "int"), ("LongWrapper", "long"),
    ("FloatWrapper", "float"), ("DoubleWrapper", "double"), ("BytesWrapper", "bytes"),
    ("StringWrapper", "string"), ("DateWrapper", "int"),
    ("DecimalWrapper", {"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": 15}),
    ("TimeMicrosWrapper", "long"), ("TimestampMicrosWrapper", "long"),
]  # fmt: skip


def hudi_schema() -> Any:
    """HoodieDeleteRecordList of Hudi 1.2.0, without its docs."""

    def record(name: str, *fields: tuple[str, Any]) -> Any:
        made = [{"name": field, "type": kind} for field, kind in fields]
        return {"type": "record", "name": name, "fields": made}

    plain = [record(name, ("value", kind)) for name, kind in WRAPPERS]
    local = record("LocalDateWrapper", ("value", "int"))
    items = ["null", *(name for name, _ in WRAPPERS), local]
    several = record("ArrayWrapper", ("wrappedValues", ["null", {"type": "array", "items": items}]))
    delete = record(
        "HoodieDeleteRecord",
        ("recordKey", ["null", "string"]),
        ("partitionPath", ["null", "string"]),
        ("orderingVal", ["null", *plain, several]),
    )
    return fastavro.parse_schema(
        record("HoodieDeleteRecordList", ("deleteRecordList", {"type": "array", "items": delete}))
    )


HUDI = hudi_schema()


def wrapped(name: str, value: Any) -> Any:
    return (name, {"value": value})


def hudi_content(*orderings: Any, key: str | None = "k", path: str | None = "p") -> pa.Buffer:
    """What Hudi writes for deletes with these ordering values."""
    out = io.BytesIO()
    rows = [{"recordKey": key, "partitionPath": path, "orderingVal": value} for value in orderings]
    fastavro.schemaless_writer(out, HUDI, {"deleteRecordList": rows})
    return pa.py_buffer(struct.pack(">ii", 3, out.tell()) + out.getvalue())


def decoded(content: pa.Buffer, *ordering: pa.DataType) -> list[dict[str, Any]]:
    table = decode_deletes(content, ordering, "here")
    assert table.column_names[:3] == ["record_key", "partition_path", "always"]
    for i, kind in enumerate(ordering):
        assert table.schema.field(f"o{i}").type == kind
    table.validate(full=True)
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


@pytest.mark.parametrize(
    ("name", "value", "kind", "expected"),
    [
        ("IntWrapper", 5, pa.int64(), 5),
        ("IntWrapper", 5, pa.int32(), 5),
        ("IntWrapper", 5, pa.float64(), 5.0),
        ("IntWrapper", 5, pa.decimal128(12, 2), Decimal("5.00")),
        ("IntWrapper", 19723, pa.date32(), date(2024, 1, 1)),
        ("IntWrapper", 1000, pa.time32("ms"), time(0, 0, 1)),
        ("LongWrapper", 0, pa.int64(), 0),
        ("LongWrapper", 5, pa.int32(), 5),
        ("LongWrapper", 1, US, 1),
        ("LongWrapper", 1, pa.timestamp("ms", "UTC"), 1),
        ("FloatWrapper", 1.5, pa.float64(), 1.5),
        ("DoubleWrapper", 1.5, pa.float32(), 1.5),
        ("DoubleWrapper", 2.0, pa.int64(), 2),
        ("BooleanWrapper", True, pa.bool_(), True),
        ("StringWrapper", "é", pa.string(), "é"),
        ("BytesWrapper", b"x", pa.binary(), b"x"),
        ("DateWrapper", 19723, pa.date32(), date(2024, 1, 1)),
        ("DateWrapper", 19723, pa.int32(), 19723),
        ("DecimalWrapper", Decimal("-1.5"), pa.decimal128(10, 2), Decimal("-1.50")),
        ("TimeMicrosWrapper", 1_000_000, pa.time64("us"), time(0, 0, 1)),
        ("TimeMicrosWrapper", 1_000_000, pa.time32("ms"), time(0, 0, 1)),
        ("TimestampMicrosWrapper", 7000, US, 7000),
        ("TimestampMicrosWrapper", 7000, pa.timestamp("ms", "UTC"), 7),
        ("TimestampMicrosWrapper", 7000, pa.int64(), 7000),
    ],
)
def test_wrappers_in_the_types_asked(
    name: str, value: Any, kind: pa.DataType, expected: Any
) -> None:
    table = decode_deletes(hudi_content(wrapped(name, value), None), [kind], "here")
    assert table.column("always").to_pylist() == [False, True]
    made = table.column("o0")
    if pa.types.is_timestamp(kind):
        made = made.cast(pa.int64())
    assert made.to_pylist() == [expected, None]


@pytest.mark.parametrize(
    ("value", "kinds"),
    [
        (wrapped("StringWrapper", "x"), [pa.int64()]),
        (wrapped("LongWrapper", 2**40), [pa.int32()]),
        (wrapped("DoubleWrapper", 1.5), [pa.int64()]),
        (wrapped("BooleanWrapper", True), [pa.int64()]),
        (wrapped("IntWrapper", 1), [pa.bool_()]),
        (wrapped("IntWrapper", 1), [pa.string()]),
        (wrapped("BytesWrapper", b"\xff"), [pa.string()]),
        (wrapped("DecimalWrapper", Decimal("1.005")), [pa.decimal128(10, 2)]),
        (wrapped("DateWrapper", 1), [pa.string()]),
        (wrapped("TimestampMicrosWrapper", 1), [pa.float64()]),
        (wrapped("LongWrapper", 1), [pa.int64(), pa.int64()]),
        (("ArrayWrapper", {"wrappedValues": [("LongWrapper", {"value": 1})]}), [pa.int64()] * 2),
        (("ArrayWrapper", {"wrappedValues": []}), [pa.int64()]),
    ],
)
def test_a_wrapper_that_does_not_fit(value: Any, kinds: list[pa.DataType]) -> None:
    with pytest.raises(Undecodable):
        decode_deletes(hudi_content(None, value), kinds, "here")


def test_defaults_and_nulls_always_win() -> None:
    array = ("ArrayWrapper", {"wrappedValues": [wrapped("IntWrapper", 0), None]})
    nothing = ("ArrayWrapper", {"wrappedValues": None})
    rows = decoded(
        hudi_content(None, wrapped("IntWrapper", 0), array, nothing, key="a", path=None),
        pa.int64(),
        pa.string(),
    )
    assert [row["always"] for row in rows] == [True, True, False, True]
    nulls = (None, None)
    assert [(row["o0"], row["o1"]) for row in rows] == [nulls, nulls, (0, None), nulls]
    assert {(row["record_key"], row["partition_path"]) for row in rows} == {("a", "")}
    # Without ordering columns there is nothing that a delete could lose against.
    assert [row["always"] for row in decoded(hudi_content(wrapped("LongWrapper", 9)))] == [True]


def test_an_array_beside_a_default_and_a_local_date() -> None:
    def several(*values: Any) -> Any:
        return ("ArrayWrapper", {"wrappedValues": list(values)})

    rows = decoded(
        hudi_content(
            several(wrapped("LongWrapper", 1), wrapped("LocalDateWrapper", 19723)),
            wrapped("IntWrapper", 0),
            several(wrapped("IntWrapper", 3), None),
        ),
        pa.int64(),
        pa.date32(),
    )
    assert [(r["always"], r["o0"], r["o1"]) for r in rows] == [
        (False, 1, date(2024, 1, 1)),
        (True, None, None),
        (False, 3, None),
    ]


ORDERINGS: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.bool_(), st.booleans()),
    (pa.int32(), st.integers(1, 2**31 - 1) | st.integers(-(2**31), -1)),
    (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    (pa.float32(), st.floats(width=32, allow_nan=False)),
    (pa.float64(), st.floats(allow_nan=False)),
    (pa.string(), st.text(st.characters(exclude_categories=["Cs"]), max_size=9)),
    (pa.binary(), st.binary(max_size=9)),
    (pa.date32(), st.dates()),
    (pa.time64("us"), st.times()),
    (pa.decimal128(14, 2), st.decimals(-999_999_999, 999_999_999, places=2)),
]


@st.composite
def deletes(draw: st.DrawFn) -> tuple[pa.Array, pa.Array, list[pa.Array], pa.Array | None]:
    rows = draw(st.integers(0, 8))

    def column(kind: pa.DataType, values: st.SearchStrategy[Any]) -> pa.Array:
        return pa.array(draw(st.lists(values, min_size=rows, max_size=rows)), kind)

    names = st.text(st.characters(exclude_categories=["Cs"]), max_size=99)
    chosen = draw(st.lists(st.sampled_from(ORDERINGS), min_size=0, max_size=3))
    orderings = [column(kind, st.none() | values) for kind, values in chosen]
    always = column(pa.bool_(), st.booleans()) if draw(st.booleans()) else None
    return column(pa.string(), names), column(pa.string(), names), orderings, always


@given(deletes())
@settings(max_examples=150, deadline=None)
def test_random_deletes(made: tuple[pa.Array, pa.Array, list[pa.Array], pa.Array | None]) -> None:
    keys, paths, orderings, always = made
    with tempfile.TemporaryDirectory() as folder:
        writer = LogWriter(f"{folder}/x.log", log_files().blocks)
        block = writer.delete_block(keys, paths, orderings or None, always, INSTANT)
        writer.close()
        with opened(Path(folder) / "x.log") as reader:
            assert reader.blocks == (block,)
            kinds = [column.type for column in orderings]
            found = reader.deletes(block, kinds)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(log_delete_columns, "FEWEST", 1)
                assert reader.deletes(block, kinds).equals(found)
        raw = (Path(folder) / "x.log").read_bytes()[block.content_start :][: block.content_size]
    assert found.column("record_key").to_pylist() == keys.to_pylist()
    assert found.column("partition_path").to_pylist() == paths.to_pylist()
    marks = always.to_pylist() if always is not None else [False] * len(keys)
    if not orderings:
        marks = [True] * len(keys)
    if len(orderings) == 1:
        marks = [m or v is None for m, v in zip(marks, orderings[0].to_pylist(), strict=True)]
    assert found.column("always").to_pylist() == marks
    for i, column in enumerate(orderings):
        expected = [None if m else v for m, v in zip(marks, column.to_pylist(), strict=True)]
        assert found.column(f"o{i}").to_pylist() == expected
    # Another reader, with Hudi's own schema, reads the same and all of it.
    stream = io.BytesIO(raw[8:])
    other: Any = fastavro.schemaless_reader(stream, HUDI, None)
    assert stream.tell() == len(raw) - 8 == struct.unpack_from(">i", raw, 4)[0]
    assert [r["recordKey"] for r in other["deleteRecordList"]] == keys.to_pylist()


@pytest.mark.parametrize("mixed", [False, True])
def test_many_deletes_by_columns_and_by_rows(mixed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = [
        None,
        wrapped("IntWrapper", 0),
        wrapped("IntWrapper", 70_000),
        wrapped("LongWrapper", -(2**62)),
        wrapped("DoubleWrapper", 3.0),
        wrapped("FloatWrapper", 2.0),
        wrapped("DecimalWrapper", Decimal(4)),
    ]
    if not mixed:
        given = [wrapped("LongWrapper", 7), wrapped("LongWrapper", 2**50)]
    out = io.BytesIO()
    rows = [
        {
            "recordKey": "k" * (i % 190) + str(i),
            "partitionPath": None if i % 7 == 0 else f"p={i % 3}",
            "orderingVal": given[i % len(given)],
        }
        for i in range(4000)
    ]
    fastavro.schemaless_writer(out, HUDI, {"deleteRecordList": rows})
    data = struct.pack(">ii", 3, out.tell()) + out.getvalue()
    calls: list[int] = []
    plain = log_deletes._by_rows

    def counted(body: pa.Buffer) -> Any:
        calls.append(1)
        return plain(body)

    monkeypatch.setattr(log_deletes, "_by_rows", counted)
    columns = decode_deletes(pa.py_buffer(data), [pa.int64()], "here")
    assert not calls
    monkeypatch.setattr(log_delete_columns, "FEWEST", 1 << 30)
    assert decode_deletes(pa.py_buffer(data), [pa.int64()], "here").equals(columns)
    assert calls
    assert columns.column("record_key").to_pylist() == [row["recordKey"] for row in rows]
    values = [2**50, 7] if not mixed else [70_000, -(2**62), 3, 2, 4]
    assert set(columns.column("o0").drop_null().to_pylist()) == set(values)
    # Damaged in any place: an error, or other deletes, and never another exception.
    monkeypatch.setattr(log_delete_columns, "FEWEST", 1)
    for place in range(8, len(data), 9973):
        bad = bytearray(data)
        bad[place] ^= 0x9D
        try:
            assert decode_deletes(pa.py_buffer(bytes(bad)), [pa.int64()], "here").num_rows
        except Undecodable:
            continue


def test_bytes_are_those_of_hudi() -> None:
    for column, name in (
        (pa.array([7], pa.int32()), "IntWrapper"),
        (pa.array([7], pa.int64()), "LongWrapper"),
        (pa.array(["x"]), "StringWrapper"),
        (pa.array([1.5]), "DoubleWrapper"),
    ):
        pieces = encode_deletes(pa.array(["k"]), pa.array(["p"]), [column], None)
        made = b"".join(bytes(piece) for piece in pieces)
        assert made == hudi_content(wrapped(name, column[0].as_py())).to_pybytes()
    plain = encode_deletes(pa.array(["k"] * 3), pa.array(["p"] * 3), None, None)
    made = b"".join(bytes(piece) for piece in plain)
    assert made == hudi_content(*[wrapped("IntWrapper", 0)] * 3).to_pybytes()
    stamps = encode_deletes(pa.array(["k"]), pa.array(["p"]), [pa.array([9], US)], None)
    made = b"".join(bytes(piece) for piece in stamps)
    assert made == hudi_content(wrapped("LongWrapper", 9)).to_pybytes()


def test_damaged_and_old_contents(tmp_path: Path) -> None:
    good = hudi_content(wrapped("LongWrapper", 1)).to_pybytes()
    for bad in (good[:6], good[:-1], good + b"x", good[:8] + b"\x7f" + good[9:]):
        with pytest.raises(Undecodable):
            decode_deletes(pa.py_buffer(bad), [pa.int64()], "here")
    with pytest.raises(Undecodable, match="no record key"):
        decode_deletes(hudi_content(None, key=None), [], "here")
    with pytest.raises(UnsupportedTableError, match="here"):
        decode_deletes(pa.py_buffer(struct.pack(">ii", 2, 0)), [], "here")
    with pytest.raises(SchemaError, match="ordering column"):
        list(encode_deletes(pa.array(["k"]), pa.array([""]), [pa.array([[1]])], None))
    large = pa.array([Decimal(10) ** 20], pa.decimal128(38, 2))
    with pytest.raises(SchemaError, match="digits"):
        list(encode_deletes(pa.array(["k"]), pa.array([""]), [large], None))
    writer = LogWriter(str(tmp_path / "x.log"), log_files().blocks)
    block = writer.delete_block(
        pa.chunked_array([["k"], ["l"]]),
        pa.array(["", ""]),
        [pa.array([1, 2])],
        None,
        INSTANT,
        "{}",
    )
    writer.close()
    assert list(block.headers) == [Header.SCHEMA, Header.INSTANT_TIME]
    assert block.kind is BlockKind.DELETE
    with opened(tmp_path / "x.log") as reader:
        assert reader.deletes(block, [pa.int64()]).column("o0").to_pylist() == [1, 2]
        with pytest.raises(CorruptTableError, match=rf"x\.log.* offset {block.offset}"):
            reader.deletes(block, [pa.string()])
        with pytest.raises(UnsupportedTableError, match="DELETE block has no rows"):
            reader.rows(block)
