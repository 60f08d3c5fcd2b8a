"""VECTOR and BLOB keep the contract of logical types."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hoodoo.model.schema.avro import arrow_schema, avro_text
from hoodoo_rows.testing.contracts.logical_type import LogicalTypeContract
from hoodoo_types.variants.encode import encode


class TestVector(LogicalTypeContract):
    family_name = "vector"

    @pytest.fixture
    def declared(self) -> dict[str, pa.DataType]:
        return {
            "VECTOR(2)": pa.list_(pa.float32(), 2),
            "VECTOR(3, DOUBLE)": pa.list_(pa.float64()),
            "VECTOR(1, INT8)": pa.large_list(pa.int8()),
        }

    @pytest.fixture
    def values(self) -> dict[str, list[Any]]:
        return {
            "VECTOR(2)": [[1.5, -2.0], None, [0.0, 4.0]],
            "VECTOR(3, DOUBLE)": [[0.1, 0.2, 1e300], [0.0, 1.0, 2.0]],
            "VECTOR(1, INT8)": [None, [-128], [127]],
        }

    @pytest.fixture
    def wrong(self) -> dict[str, list[Any]]:
        return {
            "VECTOR(2)": [[1.0, float("nan")], [float("inf"), 0.0], [None, 1.0]],
            "VECTOR(1, INT8)": [[None]],
        }


class TestBlob(LogicalTypeContract):
    family_name = "blob"

    @pytest.fixture
    def declared(self) -> dict[str, pa.DataType]:
        data = pa.struct([("type", pa.string()), ("data", pa.large_binary())])
        path = pa.struct([("external_path", pa.string()), ("offset", pa.int64())])
        return {"BLOB": pa.struct([*data, ("reference", path)])}

    @pytest.fixture
    def values(self) -> dict[str, list[Any]]:
        return {
            "BLOB": [
                {"type": "INLINE", "data": b"bytes"},
                None,
                {"type": "OUT_OF_LINE", "reference": {"external_path": "a/b", "offset": 3}},
            ]
        }

    @pytest.fixture
    def wrong(self) -> dict[str, list[Any]]:
        somewhere = {"external_path": "a"}
        return {
            "BLOB": [
                {"type": "ELSEWHERE", "data": b""},
                {"type": None, "data": b""},
                {"type": "INLINE"},
                {"type": "INLINE", "data": b"", "reference": somewhere},
                {"type": "OUT_OF_LINE", "data": b"", "reference": somewhere},
                {"type": "OUT_OF_LINE"},
                {"type": "OUT_OF_LINE", "reference": {"external_path": ""}},
                {"type": "OUT_OF_LINE", "reference": {**somewhere, "offset": -1}},
                {"type": "OUT_OF_LINE", "reference": {**somewhere, "length": -1}},
                {"type": "OUT_OF_LINE", "reference": {**somewhere, "managed": True}},
            ]
        }


class TestVariant(LogicalTypeContract):
    family_name = "variant"

    @pytest.fixture
    def declared(self) -> dict[str, pa.DataType]:
        return {"VARIANT": pa.struct([("metadata", pa.binary()), ("value", pa.large_binary())])}

    @pytest.fixture
    def values(self) -> dict[str, list[Any]]:
        rows = [None if one is None else encode(one) for one in ({"a": [1, "x"]}, None, 2, [])]
        return {
            "VARIANT": [row and {"metadata": row[0], "value": row[1]} for row in rows],
        }

    @pytest.fixture
    def wrong(self) -> dict[str, list[Any]]:
        rows = [
            (b"", b"\x00"),
            (b"\x02\x00\x00", b"\x00"),
            (b"\x01\x00\x00", b"\x14"),
            (None, b"\x00"),
        ]
        return {"VARIANT": [{"metadata": one, "value": other} for one, other in rows]}

    def test_two_columns_of_one_type_have_one_definition(self, own: Any, declared: Any) -> None:
        """As Spark Hudi has it, each is named after its column."""
        schema = pa.schema(
            [(name, own.declared("VARIANT", declared["VARIANT"], name)) for name in "vw"]
        )
        records = [field["type"][1] for field in json.loads(avro_text(schema, "t"))["fields"]]
        assert [r["name"] for r in records] == ["v", "w"]
        assert {r["namespace"] for r in records} == {"hoodie.t.t_record"}
        assert arrow_schema(avro_text(schema, "t")).equals(schema, check_metadata=True)
