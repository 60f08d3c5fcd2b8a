"""VECTOR and BLOB keep the contract of logical types."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hoodoo.testing.contracts.logical_type import LogicalTypeContract


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
