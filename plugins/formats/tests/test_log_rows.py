"""Rows into log blocks and back: both kinds, all types, and both ways of decoding Avro."""

from __future__ import annotations

import io
import json
import struct
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hoodoo.errors import CorruptTableError, SchemaError, StorageError, UnsupportedTableError
from hoodoo.kernel.log_files import log_files
from hoodoo.model.log_block import BlockKind, Header
from hoodoo.model.meta import META_COLUMNS, repeated
from hoodoo.model.schema.avro import avro_text
from hoodoo.testing.log_builders import opened
from hoodoo_formats.log import avro_read as log_avro
from hoodoo_formats.log.avro_decode import flat_fields
from hoodoo_formats.log.avro_encode import zigzag
from hoodoo_formats.log.avro_generic import encode_generic
from hoodoo_formats.log.avro_offsets import _many, row_starts
from hoodoo_formats.log.avro_read import avro_rows
from hoodoo_formats.log.avro_write import encode_rows
from hoodoo_formats.log.content import Undecodable
from hoodoo_formats.log.parquet import ParquetBlocks
from hoodoo_formats.log.writer import LogWriter
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.sampled(3)

INSTANT = "20250101000000001"
BOTH = (BlockKind.AVRO, BlockKind.PARQUET)
US = pa.timestamp("us", "UTC")

# Types, and values as they are stored.
LEAVES: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.bool_(), st.booleans()),
    (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    (pa.int64(), st.integers(-(2**63), 2**63 - 1) | st.integers(-200, 200)),
    (pa.float32(), st.floats(width=32, allow_nan=False)),
    (pa.float64(), st.floats(allow_nan=False)),
    (pa.string(), st.text(st.characters(exclude_categories=["Cs"]), max_size=90)),
    (pa.binary(), st.binary(max_size=90)),
    (pa.date32(), st.integers(-(2**31), 2**31 - 1)),
    (pa.time32("ms"), st.integers(0, 86_399_999)),
    (pa.time64("us"), st.integers(0, 86_399_999_999)),
    (US, st.integers(-(2**63), 2**63 - 1)),
    (pa.decimal128(5, 2), st.decimals(-999, 999, places=2)),
    (pa.decimal128(38, 10), st.decimals(-(10**27), 10**27, places=10)),
]
NESTED = [
    (lambda leaf: pa.list_(pa.field("element", leaf)), lambda v: st.lists(v, max_size=3)),
    (
        lambda leaf: pa.map_(pa.string(), pa.field("value", leaf)),
        lambda v: st.dictionaries(st.text("abc", max_size=2), v, max_size=3).map(
            lambda d: list(d.items())
        ),
    ),
    (
        lambda leaf: pa.struct([pa.field("a", leaf), pa.field("b", pa.string())]),
        lambda v: st.fixed_dictionaries({"a": v, "b": st.none() | st.text(max_size=3)}),
    ),
]


def storage_type(kind: pa.DataType) -> pa.DataType:
    """The number beneath a date or time."""
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        return pa.int32()
    return pa.int64() if pa.types.is_time64(kind) or pa.types.is_timestamp(kind) else kind


@st.composite
def tables(draw: st.DrawFn, nested: bool = True) -> pa.Table:
    rows = draw(st.integers(0, 12))
    columns = {}
    for i in range(draw(st.integers(1, 5))):
        kind, values = draw(st.sampled_from(LEAVES))
        physical, stored = storage_type(kind), kind
        if nested and draw(st.booleans()):
            of_type, of_values = draw(st.sampled_from(NESTED))
            stored, physical = of_type(kind), of_type(physical)
            values = of_values(st.none() | values)
        if draw(st.booleans()):
            values = st.none() | values
        made = draw(st.lists(values, min_size=rows, max_size=rows))
        columns[f"c{i}"] = pa.array(made, physical).cast(stored)
    return pa.table(columns)


def content(table: pa.Table) -> tuple[pa.Buffer, str]:
    text = avro_text(table.schema, "t")
    pieces = encode_rows(table.to_batches(), text)
    return pa.py_buffer(b"".join(bytes(piece) for piece in pieces)), text


def all_ways(data: pa.Buffer, text: str, columns: list[str] | None = None) -> pa.Table:
    """Decoded column by column, rows found one by one or in lanes, and by the generic reader."""
    made = []
    for found in (row_starts, _many, lambda data, rows: None):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(log_avro, "row_starts", found)
            made.append(avro_rows(data, text, columns, "here"))
    for table in made:
        table.validate(full=True)
    assert made[0].equals(made[1]) and made[0].equals(made[2])
    return made[0]


@given(tables())
@settings(max_examples=150, deadline=None)
def test_random_tables_survive_a_log(table: pa.Table) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.log"
        writer = LogWriter(str(path), log_files().blocks)
        for kind in BOTH:
            writer.data_block(kind, table, instant=INSTANT, table_name="t", meta=False)
        assert writer.close() == path.stat().st_size
        with opened(path) as reader:
            assert not reader.damages
            for block in reader.blocks:
                assert reader.rows(block).equals(table)
                first = table.column_names[:1]
                assert reader.rows(block, first).equals(table.select(first))


@given(tables(nested=False))
@settings(max_examples=150, deadline=None)
def test_both_ways_of_decoding_and_of_encoding_agree(table: pa.Table) -> None:
    data, text = content(table)
    assert all_ways(data, text).equals(table)
    assert all_ways(data, text, ["c0"]).equals(table.select(["c0"]))
    generic = b"".join(encode_generic(batch, text) for batch in table.to_batches())
    assert data.to_pybytes()[8:] == generic


def encoded(avro: Any, records: list[Any]) -> pa.Buffer:
    """A content made by fastavro alone."""
    schema = fastavro.parse_schema(avro)
    out = io.BytesIO(struct.pack(">ii", 3, len(records)))
    out.seek(8)
    for record in records:
        one = io.BytesIO()
        fastavro.schemaless_writer(one, schema, record)
        out.write(struct.pack(">i", one.tell()) + one.getvalue())
    return pa.py_buffer(out.getvalue())


def test_unions_in_any_order_and_types_of_others() -> None:
    fields = [
        {"name": "a", "type": ["long", "null"]},
        {"name": "b", "type": ["null", "string"]},
        {"name": "c", "type": "int"},
        {"name": "d", "type": ["double"]},
        {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["X", "Y"]}},
        {"name": "f", "type": ["null", {"type": "fixed", "name": "F", "size": 3}]},
        {
            "name": "g",
            "type": [
                {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 1},
                "null",
            ],
        },
        {"name": "h", "type": {"type": "string", "avro.java.string": "String"}},
        {"name": "i", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}]},
    ]
    avro = {"type": "record", "name": "r", "fields": fields}
    rows = [
        {"a": i if i % 3 else None, "b": None if i % 2 else "é" * i, "c": -i, "d": i / 7,
         "e": "XY"[i % 2], "f": b"abc" if i % 5 else None,
         "g": Decimal(i - 50).scaleb(-1) if i % 4 else None, "h": str(i), "i": None}
        for i in range(3000)
    ]  # fmt: skip
    text = json.dumps(avro)
    assert flat_fields(avro) is not None
    found = all_ways(encoded(avro, rows), text)
    assert found.to_pylist() == rows
    assert found.schema.field("g").type == pa.decimal128(9, 1)
    assert found.schema.field("i").type == pa.timestamp("ms", "UTC")
    assert all_ways(encoded(avro, rows), text, ["h", "a", "none"]).column_names == ["h", "a"]
    # A name used again, and a nested column: the generic reader's.
    again = {**avro, "fields": [*fields, {"name": "j", "type": "E"}]}
    more = [{**row, "j": "Y"} for row in rows[:1500]]
    assert flat_fields(again) is None
    assert avro_rows(encoded(again, more), json.dumps(again), None, "x").to_pylist() == more


@pytest.mark.parametrize("spread", ["even", "uneven", "one huge", "zeros", "empty texts"])
def test_rows_are_found_whatever_their_lengths(spread: str) -> None:
    random = np.random.default_rng(3)
    sizes = random.integers(1, 60, 5000)
    if spread == "uneven":
        sizes = (random.pareto(1.2, 5000) * 20).astype(int) % 100_000
    elif spread == "one huge":
        sizes[2500] = 1 << 20
    elif spread == "empty texts":
        sizes[:] = 0
    letter = "\0" if spread == "zeros" else "x"
    table = pa.table({"s": [letter * int(n) for n in sizes], "n": pa.array(range(5000))})
    data, text = content(table)
    found = row_starts(np.frombuffer(data, np.uint8)[8:], 5000)
    if found is not None:
        lengths = np.diff(found)
        assert len(lengths) == 5000 and found[0] == 0 and found[-1] == data.size - 8
    assert spread in ("zeros", "uneven", "one huge") or found is not None
    assert avro_rows(data, text, None, "x").equals(table)


def test_numbers_of_each_length() -> None:
    edges = sorted({s * (1 << b) + d for b in range(63) for s in (1, -1) for d in (-1, 0, 1)})
    column = pa.array([*edges, 2**63 - 1, -(2**63)] * 8, pa.int64())
    table = pa.table({"a": column, "b": pc_null_every(column, 3)})
    data, text = content(table)
    assert all_ways(data, text).equals(table)
    assert zigzag(np.array([0, -1, 63, -64, 64], np.int64)).to_pylist() == [
        b"\x00", b"\x01", b"\x7e", b"\x7f", b"\x80\x01",
    ]  # fmt: skip


def pc_null_every(column: pa.Array, n: int) -> pa.Array:
    return pa.array([None if i % n == 0 else v for i, v in enumerate(column.to_pylist())])


@pytest.mark.parametrize("rows", [3, 2000])
def test_what_can_not_be_decoded_is_an_error(rows: int) -> None:
    table = pa.table({"a": pa.array(range(rows)), "s": ["abc"] * rows, "b": [True] * rows})
    good, text = content(table)
    raw = good.to_pybytes()
    first = struct.unpack_from(">i", raw, 8)[0]
    cases = {
        "short": raw[:5],
        "cut": raw[:-1],
        "longer": raw + b"x",
        "more rows": raw[:4] + struct.pack(">i", rows + 1) + raw[8:],
        "fewer rows": raw[:4] + struct.pack(">i", rows - 1) + raw[8:],
        "negative": raw[:4] + struct.pack(">i", -1) + raw[8:],
        "a length": raw[:8] + struct.pack(">i", first + 1) + raw[12:],
        "a negative length": raw[:8] + struct.pack(">i", -1) + raw[12:],
        "a branch": raw[:12] + b"\x07" + raw[13:],
        "no utf-8": raw.replace(b"abc", b"a\xffc", 1),
    }
    for name, bad in cases.items():
        with pytest.raises(Undecodable):
            pytest.fail(f"{name}: {avro_rows(pa.py_buffer(bad), text, None, 'x').num_rows} rows")
    with pytest.raises(SchemaError, match="here"):
        avro_rows(good, '{"type": "record"', None, "here")


@pytest.mark.parametrize("kind", BOTH)
def test_meta_columns_come_first_and_partial_is_marked(kind: BlockKind, tmp_path: Path) -> None:
    writer = LogWriter(str(tmp_path / "x.log"), log_files().blocks)
    table = pa.table(
        {
            "n": pa.array([1, 2, None]),
            "_hoodie_record_key": ["a", "b", "c"],
            "_hoodie_commit_time": repeated(INSTANT, 3),
            "s": pa.array(["x", None, "x"]).dictionary_encode(),
            "v": pa.array(["x", "y", "z"], pa.large_string()),
        }
    )
    made = writer.data_block(kind, table, instant=INSTANT, table_name="my-t", partial=True)
    same = writer.data_block(kind, table.to_batches(), instant=INSTANT, table_name="my-t")
    writer.close()
    assert list(made.headers) == [Header.INSTANT_TIME, Header.SCHEMA, Header.IS_PARTIAL]
    assert json.loads(made.schema_text)["name"] == "my__t_record"
    assert '"_hoodie_commit_time","type":["null","string"],"doc":"","default":null' in (
        made.schema_text
    )
    with opened(tmp_path / "x.log") as reader:
        assert reader.blocks == (made, same)
        assert [b.is_partial for b in reader.blocks] == [True, False]
        rows = reader.rows(made)
        assert rows.column_names == [*META_COLUMNS, "n", "s", "v"]
        assert rows.column("_hoodie_commit_time").to_pylist() == [INSTANT] * 3
        assert rows.column("_hoodie_file_name").null_count == 3
        assert rows.column("s").type == rows.column("v").type == pa.string()
        assert rows.column("s").to_pylist() == ["x", None, "x"]
        assert rows.equals(reader.rows(same))


def test_a_parquet_block_is_a_parquet_file(tmp_path: Path) -> None:
    rows = pa.table({"_hoodie_record_key": [f"k{i}" for i in range(3000)], "n": range(3000)})
    formats = dict(log_files().blocks)
    writer = LogWriter(str(tmp_path / "x.log"), formats)
    writer.rollback_block(INSTANT, INSTANT)
    block = writer.data_block(BlockKind.PARQUET, rows, instant=INSTANT, table_name="t")
    big = rows.append_column("b", pa.array([f"{i:0>900}" for i in range(3000)]))
    formats[BlockKind.PARQUET] = ParquetBlocks("none", None)
    large = writer.data_block(BlockKind.PARQUET, big, instant=INSTANT, table_name="t")
    writer.close()
    raw = (tmp_path / "x.log").read_bytes()
    file = pq.ParquetFile(
        pa.BufferReader(raw[block.content_start : block.content_start + block.content_size])
    )
    assert file.metadata.row_group(0).column(2).compression == "ZSTD"
    footer = file.metadata.metadata
    assert set(footer) == {b"parquet.avro.schema", b"writer.model.name"}
    with opened(tmp_path / "x.log") as reader:
        assert reader.rows(block).column("n").to_pylist() == list(range(3000))
        # Of a large block the columns asked for are read out of the file.
        assert large.content_size > 1 << 20
        assert reader.rows(large, ["n", "_hoodie_record_key"]).equals(
            rows.select(["n", "_hoodie_record_key"])
        )


def test_blocks_that_have_no_rows(tmp_path: Path) -> None:
    writer = LogWriter(str(tmp_path / "x.log"), log_files().blocks)
    empty = pa.table({"n": pa.array([], pa.int64())})
    for kind in BOTH:
        writer.data_block(kind, empty, instant=INSTANT, table_name="t", meta=False)
    command = writer.rollback_block(INSTANT, INSTANT)
    with pytest.raises(UnsupportedTableError, match="HFILE"):
        writer.data_block(BlockKind.HFILE, empty, instant=INSTANT, table_name="t")
    writer.close()
    with opened(tmp_path / "x.log") as reader:
        assert [reader.rows(block) for block in reader.blocks[:2]] == [empty, empty]
        assert reader.rows(reader.blocks[0], []).num_rows == 0
        with pytest.raises(UnsupportedTableError, match="COMMAND block has no rows"):
            reader.rows(command)
        with pytest.raises(UnsupportedTableError, match="no deletes"):
            reader.deletes(reader.blocks[0], [])


def test_a_block_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    with LogWriter(str(tmp_path / "x.log"), log_files().blocks) as writer:
        first = writer.rollback_block(INSTANT, INSTANT)
        keys = pa.array(["k"])
        with pytest.raises(SchemaError):
            writer.delete_block(keys, keys, [pa.array([[1]])], None, INSTANT)
        with pytest.raises(SchemaError):
            rows = pa.table({"d": pa.array([1], pa.duration("s"))})
            writer.data_block(BlockKind.AVRO, rows, instant=INSTANT, table_name="t")
        second = writer.rollback_block(INSTANT, INSTANT)
        assert second.offset == first.size
        assert writer.close() == first.size + second.size
    with opened(tmp_path / "x.log") as reader:
        assert reader.blocks == (first, second) and not reader.damages
    with pytest.raises(StorageError):
        LogWriter(str(tmp_path / "none" / "x.log"), log_files().blocks)


def test_a_content_that_can_not_be_decoded_is_named(tmp_path: Path) -> None:
    writer = LogWriter(str(tmp_path / "x.log"), log_files().blocks)
    table = pa.table({"n": range(100)})
    blocks = [
        writer.data_block(kind, table, instant=INSTANT, table_name="t", meta=False) for kind in BOTH
    ]
    writer.close()
    raw = bytearray((tmp_path / "x.log").read_bytes())
    raw[blocks[0].content_start + 12] = 0x77
    raw[blocks[1].content_start + 40] ^= 0xFF
    (tmp_path / "x.log").write_bytes(raw)
    with opened(tmp_path / "x.log") as reader:
        assert not reader.damages
        for block in reader.blocks:
            with pytest.raises(CorruptTableError, match=rf"x\.log.* offset {block.offset}"):
                reader.rows(block)


@pytest.mark.parametrize(
    "items",
    [
        {"type": "record", "name": "E", "fields": []},
        {"type": "fixed", "name": "Z", "size": 0},
        {"type": "record", "name": "R", "fields": [{"name": "z", "type": {"type": "fixed", "name": "Z", "size": 0}}]},
    ],
    ids=["record without fields", "fixed of no bytes", "record of a fixed of no bytes"],
)  # fmt: skip
def test_a_few_bytes_are_not_many_nested_values(items: Any) -> None:
    avro = {"type": "record", "name": "r", "fields": [{"name": "a", "type": {"type": "array", "items": items}}]}  # fmt: skip
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema({"type": "long"}), 10**8)
    datum = out.getvalue() + b"\0"
    data = struct.pack(">iii", 3, 1, len(datum)) + datum
    with pytest.raises(Undecodable, match="too few bytes"):
        avro_rows(pa.py_buffer(data), json.dumps(avro), None, "log file x")
