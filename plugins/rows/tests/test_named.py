"""Values that a filter names: all beside which it can be true, by what Arrow lets through."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hoodoo_rows.read.named import named_values

SCHEMA = pa.schema([("n", pa.int64()), ("t", pa.string()), ("s", pa.struct([("n", pa.int64())]))])
NUMBERS, TEXTS = [None, *range(5)], [None, "a", "b"]
ROWS = pa.table(
    list(zip(*((n, t, {"n": 1}) for n, t in itertools.product(NUMBERS, TEXTS)), strict=True)),
    schema=SCHEMA,
)
N, T = pc.field("n"), pc.field("t")
NOT_KNOWN = [
    (N == 1) | (T == "a"), ~(N == 1), N > 1, N.isin([1, None]), (N == 1) | N.is_null(), N + 1 == 2,
    pc.field("s", "n") == 1, N == 1.0, pc.field("s", "n") == N, N.cast(pa.int32()).isin([1]),
    pc.scalar(True), pc.if_else(N == 1, N == 2, N == 3),
    pa.scalar(2**64 - 1, pa.uint64()) == N,
]  # fmt: skip
TERMS = [
    N == 1,
    pc.scalar(2) == N,
    N.isin([2, 1, 1, 9]),
    N.isin(pa.array([3], pa.int32())),
    T == "b",
    ~(N == 3),
]


@pytest.mark.parametrize("where", NOT_KNOWN, ids=str)
def test_of_others_nothing_is_known(where: pc.Expression) -> None:
    assert named_values(where, SCHEMA, "n") is None


def test_it_is_true_of_no_other_row() -> None:
    known = 0
    pairs = [op(a, b) for a, b in itertools.product([*TERMS, *NOT_KNOWN[:6]], repeat=2) for op in (
        lambda a, b: a & b, lambda a, b: a | b)]  # fmt: skip
    for where in [*TERMS, *pairs, *(p & q for p, q in itertools.pairwise(pairs))]:
        found = named_values(where, SCHEMA, "n")
        if found is not None:
            known += 1
            assert found.to_pylist() == sorted(set(found.to_pylist()))
            assert set(ROWS.filter(where)["n"].to_pylist()) <= set(found.to_pylist()), where
    assert known > 100


def test_many_values_and_names_that_look_like_the_form() -> None:
    many = pa.array([f"k{n:05}" for n in range(20_000)])
    assert named_values(T.isin(many), SCHEMA, "t") == many
    odd = "t'\nfield_ref: 'n"
    schema = pa.schema([(odd, pa.int64()), ("n", pa.int64())])
    assert named_values(pc.field(odd) == 1, schema, "n") is None
    assert named_values(N == 1, schema, "n") is None
