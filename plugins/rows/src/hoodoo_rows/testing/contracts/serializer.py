"""What every serializer promises: the contract of :class:`hoodoo.hookspecs.serializer.Serializer`.

Usage::

    class TestMine(SerializerContract):
        @pytest.fixture
        def serializer(self):
            return MySerializer()
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pytest
from hoodoo.errors import EngineError, HoodooError, PluginError
from hoodoo.hookspecs.serializer import BoundSerializer, Serializer
from hoodoo.testing.samples import nested

from hoodoo_rows.engine import frames
from hoodoo_rows.engine.crossing import message_format
from hoodoo_rows.engine.row_shape import IS_INDEX, RowShape
from hoodoo_rows.model.internal_row import InternalRow, rows_schema

DATA = pa.schema(
    [("a_number_with_a_long_name", pa.int64()), ("a_text_with_a_long_name", pa.string())]
)


def keyed(count: int) -> pa.RecordBatch:
    """Internal rows as an upsert sends them: fields that nobody filled are constants."""
    flat = pa.table(
        {
            "_hoodie__op": pa.array([i % 3 for i in range(count)], pa.int8()),
            "_hoodie__seq": pa.array(range(count), pa.int64()),
            "_hoodie_record_key": pa.array([f"key{i:05}" for i in range(count)], pa.string()),
            "_hoodie_partition_path": pa.array([f"p={i % 2}" for i in range(count)], pa.string()),
            DATA.names[0]: pa.array([None if i % 5 == 0 else -i for i in range(count)], pa.int64()),
            DATA.names[1]: pa.array([f"Zürich {i}" * (i % 3) for i in range(count)], pa.string()),
        }
    )
    return _rows(flat)


def filled(count: int) -> pa.RecordBatch:
    """Internal rows with all seven fields, some of them index records."""
    index = [i % 4 == 3 for i in range(count)]
    flat = pa.table(
        {
            IS_INDEX: pa.array(index, pa.bool_()),
            "_hoodie_record_key": pa.array([f"k{i}" for i in range(count)], pa.string()),
            "_hoodie_partition_path": pa.array([""] * count, pa.string()),
            "_hoodie__file_id": pa.array(
                [f"f{i}" if index[i] else None for i in range(count)], pa.string()
            ),
            "_hoodie_commit_time": pa.array([f"2024{i}" for i in range(count)], pa.string()),
            "_hoodie__op": pa.array([None if index[i] else 0 for i in range(count)], pa.int8()),
            DATA.names[0]: pa.array(range(count), pa.int64()),
        }
    )
    return _rows(flat)


def index_records(count: int) -> pa.RecordBatch:
    """Keys and where they lie; no row data at all."""
    flat = pa.table(
        {
            "record_key": pa.array([f"k{i}" for i in range(count)], pa.string()),
            "partition_path": pa.array([None] * count, pa.string()),
            "file_id": pa.array([str(i % 3) for i in range(count)], pa.string()),
        }
    )
    return _rows(flat)


def many_types(count: int) -> pa.RecordBatch:
    """Rows whose data has columns of every kind, a third of the values null."""
    table = nested(count).rename_columns({"key": "number"})
    words = pa.array([["a", "b", None][i % 3] for i in range(count)]).dictionary_encode()
    keys = pa.array([str(i) for i in range(count)], pa.string())
    return _rows(table.append_column("word", words).append_column("_hoodie_record_key", keys))


def only_keys(count: int) -> pa.RecordBatch:
    """Rows that are all the same: every field is a constant."""
    schema = RowShape(pa.schema([])).schema
    none = pa.RecordBatch.from_struct_array(pa.array([{}] * count, pa.struct([])))
    return RowShape(none.schema).rows(none).cast(schema)


def _rows(flat: pa.Table) -> pa.RecordBatch:
    batch = pa.RecordBatch.from_arrays(
        [column.combine_chunks() for column in flat.columns], schema=flat.schema
    )
    return RowShape(flat.schema).rows(batch)


BATCHES: dict[str, Callable[[int], pa.RecordBatch]] = {
    f.__name__: f for f in (keyed, filled, index_records, many_types, only_keys)
}


class SerializerContract:
    """Subclass, and answer the fixture ``serializer``."""

    @pytest.fixture
    def serializer(self) -> Serializer:
        raise NotImplementedError("override the fixture `serializer`")

    @pytest.fixture(params=BATCHES)
    def rows(self, request: pytest.FixtureRequest) -> pa.RecordBatch:
        return BATCHES[request.param](50)

    @pytest.fixture
    def bound(self, serializer: Serializer, rows: pa.RecordBatch) -> BoundSerializer:
        return serializer.bind(rows.schema)

    # --- objects ----------------------------------------------------------------------------------
    def test_obeys_the_protocols(self, serializer: Serializer, bound: BoundSerializer) -> None:
        assert isinstance(serializer, Serializer)
        assert isinstance(bound, BoundSerializer)
        assert serializer.name

    def test_knows_its_schema(self, bound: BoundSerializer, rows: pa.RecordBatch) -> None:
        assert bound.schema.equals(rows.schema, check_metadata=True)

    def test_travels(
        self, serializer: Serializer, bound: BoundSerializer, rows: pa.RecordBatch
    ) -> None:
        """As other plugins do; what one end packs the other unpacks."""
        far = pickle.loads(pickle.dumps(bound))
        same(far.deserialize(bound.serialize(rows)), rows)
        again = pickle.loads(pickle.dumps(serializer)).bind(rows.schema)
        same(again.deserialize(far.serialize(rows)), rows)

    # --- what Flink asks of its serializers -------------------------------------------------------
    def test_threads_share_one(self, bound: BoundSerializer, rows: pa.RecordBatch) -> None:
        """Flink makes a ``duplicate`` for each thread; here one object serves them all."""
        parts = [rows.slice(start, 10) for start in range(0, 50, 10)] * 8
        with ThreadPoolExecutor(4) as pool:
            messages = list(pool.map(bound.serialize, parts))
            for back, part in zip(pool.map(bound.deserialize, messages), parts, strict=True):
                same(back, part)

    def test_equal_ones(
        self, serializer: Serializer, bound: BoundSerializer, rows: pa.RecordBatch
    ) -> None:
        """Bound to the same schema, two are one: their headers and messages are the same bytes."""
        other = serializer.bind(rows.schema)
        assert bytes(other.header()) == bytes(bound.header())
        assert bytes(other.serialize(rows)) == bytes(bound.serialize(rows))

    def test_rows_stay_as_they_are(self, bound: BoundSerializer, rows: pa.RecordBatch) -> None:
        """Rows are immutable: who has some may hand them on without a copy."""
        before = rows.to_pylist()
        message = bound.serialize(rows)
        kept = bytes(message)
        bound.deserialize(message)
        assert rows.to_pylist() == before and bytes(message) == kept

    def test_its_version(self, serializer: Serializer) -> None:
        """Of the code: it is the same in a copy that travelled, and each message that crosses ends
        with it."""
        number = getattr(serializer, "version", 1)
        assert isinstance(number, int) and number >= 1
        assert message_format(serializer) == f"{serializer.name}/{number}"
        assert message_format(pickle.loads(pickle.dumps(serializer))) == message_format(serializer)

    # --- messages ---------------------------------------------------------------------------------
    @pytest.mark.parametrize("near", [False, True])
    def test_there_and_back(self, serializer: Serializer, rows: pa.RecordBatch, near: bool) -> None:
        bound = serializer.bind(rows.schema, near)
        message = bound.serialize(rows)
        same(bound.deserialize(message), rows)
        same(bound.deserialize(bytes(message)), rows)

    def test_slices(self, bound: BoundSerializer, rows: pa.RecordBatch) -> None:
        """Only their rows travel, and no row at all is a message, too."""
        for start, count in ((0, 0), (0, 1), (7, 1), (49, 1), (3, 20), (50, 0)):
            part = rows.slice(start, count)
            same(bound.deserialize(bound.serialize(part)), part)

    def test_slices_cost_what_they_hold(self, serializer: Serializer) -> None:
        rows = keyed(2000)
        bound = serializer.bind(rows.schema, near=True)
        assert len(bound.serialize(rows.slice(10, 20))) < len(bound.serialize(rows)) // 20

    def test_messages_are_independent(self, bound: BoundSerializer, rows: pa.RecordBatch) -> None:
        """Any order, any one alone, any one twice."""
        parts = [rows.slice(0, 9), rows.slice(9, 1), rows.slice(10)]
        messages = [bound.serialize(part) for part in parts]
        for i in (2, 0, 1, 2):
            same(bound.deserialize(messages[i]), parts[i])

    def test_the_schema_is_not_in_messages(self, serializer: Serializer) -> None:
        """It is carried once, by the header."""
        rows = keyed(20)
        bound = serializer.bind(rows.schema, near=True)
        header = bound.header()
        for name in ("record_key", "row_data", *DATA.names):
            assert name.encode() in header
            assert name.encode() not in bytes(bound.serialize(rows))

    def test_a_header_is_enough(
        self, serializer: Serializer, bound: BoundSerializer, rows: pa.RecordBatch
    ) -> None:
        opened = serializer.open(bytes(bound.header()))
        assert opened.schema.equals(rows.schema, check_metadata=True)
        same(opened.deserialize(bound.serialize(rows)), rows)

    def test_a_header_of_nobody(self, serializer: Serializer) -> None:
        with pytest.raises(EngineError):
            serializer.open(b"no header")

    def test_length(self, bound: BoundSerializer, rows: pa.RecordBatch) -> None:
        """Fixed, and then it is true; or -1."""
        assert bound.length == -1 or bound.length > 0
        if bound.length > 0:
            for count in (0, 1, 13):
                assert len(bound.serialize(rows.slice(0, count))) == count * bound.length

    def test_index_records_have_no_row_data(self, serializer: Serializer) -> None:
        rows = filled(8)
        bound = serializer.bind(rows.schema)
        back = bound.deserialize(bound.serialize(rows))
        data, index = back.column("row_data"), back.column("is_index_record")
        assert data.is_null().to_pylist() == index.to_pylist()
        assert any(index.to_pylist()) and not all(index.to_pylist())

    def test_other_schemas(self, serializer: Serializer) -> None:
        """Row data alone, say; rows of any columns."""
        batch = keyed(9)
        data = pa.RecordBatch.from_struct_array(batch.column("row_data"))
        bound = serializer.bind(data.schema)
        same(bound.deserialize(bound.serialize(data)), data)

    # --- copies -----------------------------------------------------------------------------------
    def test_copy_is_deep(self, bound: BoundSerializer, rows: pa.RecordBatch) -> None:
        copied = bound.copy(rows)
        same(copied, rows)
        shared = addresses(copied) & addresses(rows)
        kept = {a for i, f in enumerate(rows.schema) if f.metadata for a in _of(rows.column(i))}
        assert shared <= kept, "the copy shares memory with its original"

    def test_copy_of_a_row(self, serializer: Serializer) -> None:
        rows = keyed(5)
        row = InternalRow.of(rows, 3)
        for copied in (serializer.bind(rows.schema).copy(row), row.copy(_of_data(serializer, row))):
            assert copied == row and copied is not row
            assert copied.row_data is not row.row_data
            copied.file_id = "other"
            assert row.file_id == ""

    def test_copy_of_an_index_record(self, serializer: Serializer) -> None:
        schema = rows_schema(None)
        row = InternalRow(
            record_key="k",
            partition_path="p",
            file_id="f",
            instant_time="2024",
            is_index_record=True,
        )
        copied = serializer.bind(schema).copy(row)
        assert copied == row and copied.row_data is None

    def test_copy_of_a_stream(
        self, serializer: Serializer, rows: pa.RecordBatch, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Byte for byte, and nothing is decoded on the way."""
        bound = serializer.bind(rows.schema)
        parts = [rows.slice(0, 20), rows.slice(20, 0), rows.slice(20)]
        source, target = io.BytesIO(), io.BytesIO()
        assert frames.write_stream(bound, parts, source) == 3
        source.seek(0)

        def decoded(*_: Any, **__: Any) -> Any:
            raise AssertionError("decoded")

        with monkeypatch.context() as patch:
            patch.setattr(type(bound), "deserialize", decoded)
            assert bound.copy_stream(source, target) == 3
        assert target.getvalue() == source.getvalue()
        target.seek(0)
        for back, part in zip(frames.read_stream(serializer, target), parts, strict=True):
            same(back, part)

    def test_a_stream_has_one_header(self, serializer: Serializer) -> None:
        rows = keyed(30)
        bound = serializer.bind(rows.schema)
        stream = io.BytesIO()
        frames.write_stream(bound, [rows.slice(i, 1) for i in range(30)], stream)
        assert stream.getvalue().count(DATA.names[0].encode()) == 1

    def test_streams_that_end_early(self, serializer: Serializer) -> None:
        rows = keyed(4)
        bound = serializer.bind(rows.schema)
        stream = io.BytesIO()
        frames.write_stream(bound, [rows], stream)
        whole = stream.getvalue()
        for end in (0, 4, 12, 40, len(whole) - 1):
            with pytest.raises(EngineError):
                bound.copy_stream(io.BytesIO(whole[:end]), io.BytesIO())
            with pytest.raises(EngineError):
                list(frames.read_stream(serializer, io.BytesIO(whole[:end])))

    # --- what is refused --------------------------------------------------------------------------
    def test_no_rows_of_defaults(self, bound: BoundSerializer) -> None:
        with pytest.raises(PluginError, match="default"):
            bound.create()

    def test_no_reuse(self, bound: BoundSerializer, rows: pa.RecordBatch) -> None:
        message = bound.serialize(rows)
        with pytest.raises(PluginError, match="reuse"):
            bound.deserialize(message, reuse=rows)
        with pytest.raises(PluginError, match="reuse"):
            bound.copy(rows, reuse=rows)

    def test_refusals_say_what_to_do(self, bound: BoundSerializer) -> None:
        with pytest.raises(HoodooError) as caught:
            bound.create()
        assert caught.value.obj and caught.value.fix


def same(found: pa.RecordBatch, wanted: pa.RecordBatch) -> None:
    """Equal rows in the same schema."""
    found.validate(full=True)
    assert found.schema.equals(wanted.schema)
    assert found.num_rows == wanted.num_rows
    assert found.to_pylist() == wanted.to_pylist()


def addresses(rows: pa.RecordBatch) -> set[int]:
    """Where the memory of a batch begins, buffer by buffer."""
    return {address for column in rows.columns for address in _of(column)}


def _of(array: pa.Array) -> set[int]:
    found = {b.address for b in array.buffers() if b is not None and b.size}
    if pa.types.is_dictionary(array.type):
        found |= _of(array.dictionary)
    return found


def _of_data(serializer: Serializer, row: InternalRow) -> BoundSerializer:
    assert row.row_data is not None
    return serializer.bind(row.row_data.schema)
