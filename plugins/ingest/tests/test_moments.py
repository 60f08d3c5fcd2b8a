"""The SQL that makes moments of texts, without Spark. It is computed in test_on_spark.py."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hoodoo_ingest.sources.moments import converted, in_texts, is_wrong

AT = pa.timestamp("ms", "UTC")


def test_types() -> None:
    kind = pa.struct([("a", pa.list_(AT)), ("b", pa.map_(pa.string(), pa.date32()))])
    texts = pa.struct([("a", pa.list_(pa.string())), ("b", pa.map_(pa.string(), pa.string()))])
    assert in_texts(kind) == texts and in_texts(texts) == texts
    assert converted("x", texts) == "x" and is_wrong("x", texts) == "FALSE"


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (AT, "TIMESTAMP_MILLIS(TRY_CAST(x AS BIGINT))"),
        (pa.timestamp("us"), "TIMESTAMP_MICROS(TRY_CAST(x AS BIGINT))"),
        (pa.timestamp("ns"), "TIMESTAMP_MICROS(TRY_CAST(x AS BIGINT) DIV 1000)"),
        (pa.date32(), "DATE_FROM_UNIX_DATE(TRY_CAST(x AS INT))"),
    ],
)
def test_units(kind: pa.DataType, text: str) -> None:
    assert text in converted("x", kind) and converted("x", kind) in is_wrong("x", kind)


def test_nested() -> None:
    kind = pa.list_(pa.struct([("n", pa.int64()), ("at", pa.list_(AT))]))
    text = converted("x", kind)
    assert text.startswith("TRANSFORM(x, e0 -> IF(e0 IS NULL, NULL, NAMED_STRUCT('n', e0.`n`, 'at'")
    assert "TRANSFORM(e0.`at`, e1 -> COALESCE(TIMESTAMP_MILLIS(TRY_CAST(e1 AS BIGINT))" in text
    assert is_wrong("x", kind).startswith(
        "COALESCE(EXISTS(x, e0 -> (COALESCE(EXISTS(e0.`at`, e1 -> "
    )
