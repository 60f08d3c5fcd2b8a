"""TPC-H by a session without Spark beside DuckDB over the same rows: what people write who analyze.

The answers are equal, and DuckDB joins as it does with the text of the query itself: a condition
that hides which columns are equal made it compare all rows of a table with all of another."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import hoodoo
import pyarrow.parquet as pq
import pytest
from hoodoo_statements.evaluate import Evaluator

from tests.nets.tpch_queries import QUERIES

KEYS = {
    "nation": ["n_nationkey"],
    "region": ["r_regionkey"],
    "supplier": ["s_suppkey"],
    "customer": ["c_custkey"],
    "part": ["p_partkey"],
    "partsupp": ["ps_partkey", "ps_suppkey"],
    "orders": ["o_orderkey"],
    "lineitem": ["l_orderkey", "l_linenumber"],
}
SLOW = re.compile("CROSS_PRODUCT|NESTED_LOOP_JOIN|BLOCKWISE_NL_JOIN")


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Of all tables; lineitem has log files, so DuckDB gets its rows from the read."""
    folder = tmp_path_factory.mktemp("tpch")
    tool = shutil.which("tpchgen-cli", path=str(Path(sys.executable).parent)) or "tpchgen-cli"
    command = [tool, "parquet", "-s", "0.005", f"--output-dir={folder}"]
    subprocess.run(command, check=True, capture_output=True)
    made = {}
    for name, key in KEYS.items():
        rows = pq.read_table(folder / f"{name}.parquet")
        kind = "mor" if name == "lineitem" else "cow"
        made[name] = hoodoo.create(
            folder / f"t_{name}", rows.schema, record_key=key, table_type=kind
        )
        made[name].bulk_insert(rows)
        if kind == "mor":
            made[name].upsert(rows.slice(0, 50))
    yield made
    shutil.rmtree(folder)


def near(a: Any, b: Any) -> bool:
    """DuckDB divides decimals as doubles."""
    if isinstance(a, float) and isinstance(b, Decimal):
        return abs(a - float(b)) <= 1e-5 * max(1.0, abs(a))
    return bool(a == b)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("number", QUERIES)
def test_tpch(tables: dict[str, Any], number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    own = duckdb.connect()
    for name, table in tables.items():
        own.register(name, table.to_arrow())
    plans: list[str] = []
    run = Evaluator._query

    def noted(self: Evaluator, text: str, *args: Any, **more: Any) -> Any:
        plans.append(self._opened().execute(f"EXPLAIN {text}").fetchall()[0][1])
        return run(self, text, *args, **more)

    monkeypatch.setattr(Evaluator, "_query", noted)
    answer = hoodoo.session(tables=tables).sql(QUERIES[number]).to_pylist()
    wanted = own.execute(QUERIES[number]).fetchall()
    assert len(answer) == len(wanted)
    for row, other in zip(answer, wanted, strict=True):
        assert all(map(near, other, row.values())), (row, other)
    (plan,) = plans
    assert set(SLOW.findall(plan)) <= set(
        SLOW.findall(own.execute(f"EXPLAIN {QUERIES[number]}").fetchall()[0][1])
    )
