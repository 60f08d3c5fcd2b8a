"""VECTOR keeps the contract of logical types."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hoodoo_rows.testing.contracts.logical_type import LogicalTypeContract


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
