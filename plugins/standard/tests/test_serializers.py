"""The serializers that make an object of every row: contract, and any type's values."""

from __future__ import annotations

from typing import ClassVar

import pyarrow as pa
import pytest
from attrs import evolve
from hoodoo.errors import EngineError, SchemaError
from hoodoo.hookspecs.serializer import Serializer
from hoodoo.kernel.resolve import resolve
from hoodoo.testing.samples import nested
from hoodoo_rows.engine.crossing import Crossing
from hoodoo_rows.testing import engine_steps as steps
from hoodoo_rows.testing.contracts.serializer import SerializerContract, keyed
from hoodoo_rows.testing.metered import Metered
from hoodoo_standard.engine.local import LocalEngine
from hoodoo_standard.serialize.avro import AvroSerializer
from hoodoo_standard.serialize.pickled import PickleSerializer
from hoodoo_standard.serialize.python_values import from_python, to_python

pytestmark = pytest.mark.sampled(3)


class TestAvro(SerializerContract):
    @pytest.fixture
    def serializer(self) -> Serializer:
        return AvroSerializer()


class TestPickle(SerializerContract):
    @pytest.fixture
    def serializer(self) -> Serializer:
        return PickleSerializer()


ARRAYS = [
    pa.array([1, None, 255], pa.uint8()),
    pa.array([2**64 - 1, None, 0], pa.uint64()),
    pa.array([1.5, None, -0.0], pa.float32()),
    pa.array([b"ab", None, b"cd"], pa.binary(2)),
    pa.array([1, None, -1], pa.timestamp("ns")),
    pa.array([1, None, -1], pa.duration("ms")),
    pa.array([1, None, 0], pa.time32("s")),
    pa.array([86_400_000, None, 0], pa.date64()),
    pa.array([[1, None], None, []], pa.large_list(pa.int8())),
    pa.array([[1, 2], None, [3, None]], pa.list_(pa.int16(), 2)),
    pa.array([[("a", [1])], None, []], pa.map_(pa.string(), pa.list_(pa.int32()))),
    pa.array([[(1, {"x": None})], None, []], pa.map_(pa.int64(), pa.struct([("x", pa.date32())]))),
    pa.array(
        [{"a": {"b": "c"}}, None, {"a": None}], pa.struct([("a", pa.struct([("b", pa.string())]))])
    ),
    pa.array([{}, None, {}], pa.struct([])),
    pa.array(["a", None, "b"]).dictionary_encode(),
    pa.DictionaryArray.from_arrays(
        pa.array([0, None, 1], pa.int8()), pa.array([1, 2], pa.date32())
    ),
    pa.nulls(3),
]


@pytest.mark.parametrize("records", [False, True])
@pytest.mark.parametrize("array", ARRAYS, ids=lambda a: str(a.type))
def test_values_of_any_type(array: pa.Array, records: bool) -> None:
    for part in (array, array.slice(1), array.slice(2), array.slice(0, 0)):
        back = from_python(to_python(part, records), part.type, records)
        back.validate(full=True)
        assert back.type == part.type
        assert back.to_pylist() == part.to_pylist()


@pytest.mark.parametrize("name", ["arrow", "avro", "pickle"])
def test_an_exchange_with_each(name: str) -> None:
    engine = LocalEngine(2)
    metered = Metered(resolve("serializer", name).instance, engine.meter)
    table = nested(40)
    stream = engine.map(engine.source(table), steps.Route(table.schema, 3, 4))
    found = engine.collect(engine.exchange(stream, 3, metered))
    assert found.schema.names == [*table.schema.names, "_hoodie__part", "_hoodie__slot"]
    back = found.sort_by("key").select(table.schema.names)
    assert back.to_pylist() == table.to_pylist()
    counted = metered.total()
    assert counted.rows == 40 and counted.messages == 12 and counted.bytes > 0


def test_generic_records_are_larger_objects_not_larger_bytes() -> None:
    """Avro is a compact format: what the generic path costs is time, not bytes."""
    rows = keyed(500)
    avro, arrow = (
        len(resolve("serializer", name).instance.bind(rows.schema, near=True).serialize(rows))
        for name in ("avro", "arrow")
    )
    assert avro < 2 * arrow


def test_types_that_avro_has_no_place_for() -> None:
    with pytest.raises(SchemaError, match="serializer arrow"):
        AvroSerializer().bind(pa.schema([("x", pa.month_day_nano_interval())]))


# --- another version ------------------------------------------------------------------------------
class Newer(PickleSerializer):
    """What the next version of a distribution might bring under the same name."""

    version: ClassVar[int] = 2


ROUTED = pa.record_batch(
    [pa.array(["k"]), pa.array([7]), pa.array([0], pa.int32()), pa.array([0], pa.int32())],
    ["_hoodie_record_key", "value", "_hoodie__part", "_hoodie__slot"],
)


def crossing(serializer: Serializer) -> Crossing:
    return Crossing.of(ROUTED.schema, 1, serializer)


def test_messages_name_their_format_and_version() -> None:
    for serializer, name in ((PickleSerializer(), b"pickle/1"), (Newer(), b"pickle/2")):
        made = crossing(serializer)
        rows = made.rows(ROUTED)
        message, end = made.pack(rows)
        assert end == name + bytes([8])
        whole = pa.py_buffer(b"".join((message, end)))
        assert made.unpack(whole, 0, 0).num_rows == 1


def test_messages_of_another_version_are_refused() -> None:
    old, new = crossing(PickleSerializer()), crossing(Newer())
    rows = old.rows(ROUTED)
    for one, other, text in ((old, new, "pickle/1"), (new, old, "pickle/2")):
        whole = pa.py_buffer(b"".join(one.pack(rows)))
        with pytest.raises(EngineError, match=f"rows packed as {text}") as caught:
            other.unpack(whole, 0, 0)
        assert "same version" in caught.value.fix


def test_a_process_with_another_version_packs_nothing() -> None:
    """The object travelled, and the code there is another one."""
    there = evolve(crossing(Newer()), agreed="pickle/1")
    with pytest.raises(EngineError, match="pickle/1.*whose serializer is pickle/2"):
        there.pack(there.rows(ROUTED))
