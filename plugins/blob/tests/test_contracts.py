"""BLOB keeps the contract of logical types."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hoodoo_rows.testing.contracts.logical_type import LogicalTypeContract


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
