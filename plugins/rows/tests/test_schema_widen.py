"""Rows of an older file as rows of the table now."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hoodoo_rows.write.widen import widened

TEXT = pa.string()


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
def test_numbers_that_became_text_are_the_text_that_java_makes(kind: pa.DataType) -> None:
    """Spark Hudi casts them as it reads; Arrow's own cast says 0.00001, 10000000000 and inf."""
    values = [0.1, 1.0, -0.0, 1e-5, 1e10, 123456.75, float("inf"), float("nan"), None]
    texts = ["0.1", "1.0", "-0.0", "1.0E-5", "1.0E10", "123456.75", "Infinity", "NaN", None]
    numbers = pa.array(values, kind)
    batch = pa.record_batch(
        {
            "d": numbers,
            "s": pa.StructArray.from_arrays([numbers], ["x"]),
            "l": pa.array([[value] for value in values], pa.list_(kind)),
            "m": pa.array([[("k", value)] for value in values], pa.map_(pa.string(), kind)),
        }
    )
    schema = pa.schema(
        {"d": TEXT, "s": pa.struct({"x": TEXT}), "l": pa.list_(TEXT), "m": pa.map_(TEXT, TEXT)}
    )
    found = widened(batch, schema, "f").to_pydict()
    assert found == {
        "d": texts,
        "s": [{"x": text} for text in texts],
        "l": [[text] for text in texts],
        "m": [[("k", text)] for text in texts],
    }
