"""Which changes of a schema are evolutions."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hoodoo.errors import SchemaError
from hoodoo_rows.write.evolve import evolve, holds_outgrown, outgrown

US = pa.timestamp("us", "UTC")


def one(kind: pa.DataType) -> pa.Schema:
    return pa.schema([("a", kind)])


WIDENINGS = [
    (pa.int32(), pa.int64()),
    (pa.int32(), pa.float32()),
    (pa.int32(), pa.float64()),
    (pa.int64(), pa.float32()),
    (pa.int64(), pa.float64()),
    (pa.float32(), pa.float64()),
    (pa.decimal128(10, 2), pa.decimal128(12, 2)),
]


@pytest.mark.parametrize(
    "nest",
    [lambda t: t, pa.list_, lambda t: pa.map_(pa.string(), t), lambda t: pa.struct([("x", t)])],
)
@pytest.mark.parametrize(("narrow", "wide"), WIDENINGS, ids=str)
def test_types_grow_and_never_shrink(narrow: pa.DataType, wide: pa.DataType, nest: object) -> None:
    narrow, wide = nest(narrow), nest(wide)  # type: ignore[operator]
    assert evolve(one(narrow), one(wide), widen_integers=True).equals(one(wide))
    assert evolve(one(wide), one(narrow)).equals(one(wide))
    outgrows = holds_outgrown(narrow, wide)
    assert outgrows == ("int" in str(narrow) and "int" not in str(wide))
    assert evolve(one(narrow), one(wide)).equals(one(narrow if outgrows else wide))
    assert outgrown(one(narrow), one(wide)).names == (["a"] if outgrows else [])
    assert outgrown(one(wide), one(wide)).names == []


def test_key_partition_and_ordering_columns_stay_integers() -> None:
    assert evolve(one(pa.int64()), one(pa.float64()), ["a"], widen_integers=True) == one(pa.int64())
    found = evolve(one(pa.int64()), one(pa.float64()), ordering=["a"], widen_integers=True)
    assert found == one(pa.int64())
    nested = [one(pa.struct([("k", kind)])) for kind in (pa.int64(), pa.float64())]
    assert evolve(*nested, ordering=["a.k"], widen_integers=True) == nested[0]


@pytest.mark.parametrize(
    ("table", "incoming"),
    [
        (pa.string(), pa.binary()),
        (pa.binary(), pa.string()),
        (pa.timestamp("ms", "UTC"), US),
        (US, pa.timestamp("ms", "UTC")),
        (pa.time32("ms"), pa.time64("us")),
        (pa.decimal128(10, 2), pa.decimal128(10, 3)),
        (pa.decimal128(10, 2), pa.decimal128(12, 1)),
        (pa.decimal128(10, 2), pa.int64()),
    ],
)
def test_the_table_keeps_its_type(table: pa.DataType, incoming: pa.DataType) -> None:
    assert evolve(one(table), one(incoming)).equals(one(table))


@pytest.mark.parametrize(
    ("table", "incoming"),
    [
        (pa.int32(), pa.string()),
        (pa.string(), pa.int32()),
        (pa.date32(), US),
        (pa.bool_(), pa.int32()),
        (pa.int32(), pa.date32()),
        (pa.decimal128(10, 2), pa.float64()),
        (pa.int64(), pa.decimal128(20, 0)),
        (pa.list_(pa.int32()), pa.int32()),
        (pa.struct([("x", pa.int32())]), pa.map_(pa.string(), pa.int32())),
    ],
)
def test_what_is_no_evolution_is_shown(table: pa.DataType, incoming: pa.DataType) -> None:
    with pytest.raises(SchemaError) as caught:
        evolve(one(table), one(incoming))
    lines = [line.split("  ") for line in caught.value.rule.splitlines()[2:]]
    assert [[part.strip() for part in line if part] for line in lines] == [
        ["a", str(table), str(incoming)]
    ]


def test_all_differences_are_shown_at_once() -> None:
    table = pa.schema(
        [("a", pa.int32()), ("s", pa.struct([("x", pa.int32())])), ("c", pa.string())]
    )
    incoming = pa.schema([("a", pa.string()), ("s", pa.struct([("x", US)])), ("c", pa.string())])
    with pytest.raises(SchemaError) as caught:
        evolve(table, incoming)
    assert "it is not a compatible change" in caught.value.rule
    assert "  a       int32  string\n" in caught.value.rule
    assert "  s.x     int32  timestamp[us, tz=UTC]\n" in caught.value.rule


def test_new_columns_come_last_in_structs_too() -> None:
    table = pa.schema([("a", pa.int32()), ("s", pa.list_(pa.struct([("x", pa.int32())])))])
    incoming = pa.schema(
        [
            pa.field("new", pa.string(), nullable=False),
            ("s", pa.list_(pa.struct([("y", pa.string()), ("x", pa.int64())]))),
        ]
    )
    assert evolve(table, incoming).equals(
        pa.schema(
            [
                ("a", pa.int32()),
                ("s", pa.list_(pa.struct([("x", pa.int64()), ("y", pa.string())]))),
                ("new", pa.string()),
            ]
        )
    )


def test_a_missing_column_takes_nulls() -> None:
    table = pa.schema([("a", pa.int32()), pa.field("b", pa.int32(), nullable=False)])
    assert evolve(table, one(pa.int32())).field("b").nullable
    assert not evolve(table, table).field("b").nullable


def test_key_columns_never_grow() -> None:
    with pytest.raises(SchemaError, match="key or partition column"):
        evolve(one(pa.int32()), one(pa.int64()), frozen=["a"])
    assert evolve(one(pa.int64()), one(pa.int32()), frozen=["a"]).equals(one(pa.int64()))
    # A nested key field, by its dotted name.
    nested = [one(pa.struct([("k", kind)])) for kind in (pa.int32(), pa.int64())]
    with pytest.raises(SchemaError, match=r"a\.k"):
        evolve(*nested, frozen=["a.k"])


def test_a_name_in_other_letters_is_no_new_column() -> None:
    with pytest.raises(SchemaError, match="named id"):
        evolve(pa.schema([("id", pa.int32())]), pa.schema([("ID", pa.int32())]))


def test_equal_schemas_are_left_alone() -> None:
    table = pa.schema([("a", pa.int32()), ("l", pa.list_(pa.field("element", pa.int32())))])
    assert evolve(table, table).equals(table, check_metadata=True)
