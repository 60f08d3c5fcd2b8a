"""VARIANT keeps the contract of logical types."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hoodoo.model.schema.avro import arrow_schema, avro_text
from hoodoo_rows.testing.contracts.logical_type import LogicalTypeContract
from hoodoo_variant.encode import encode


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
