"""``hudi_vector_search`` in the SQL of hoodoo.sql and of sessions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import ConfigError, HoodooError

POINTS = pa.table(
    {"id": [1, 2, 3], "city": ["oslo", "rome", "oslo"], "at": [[0.0, 1.0], [3.0, 4.0], [-1.0, 0.5]]}
)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> hoodoo.Table:
    path = tmp_path_factory.mktemp("points") / "t"
    return hoodoo.create(str(path), POINTS, record_key="id")


def answered(table: hoodoo.Table, query: str) -> list[dict[str, Any]]:
    found = hoodoo.sql(query, tables={"t": table, "others": POINTS})
    assert isinstance(found, pa.Table)
    return found.to_pylist()


def test_all_columns_but_the_vector(table: hoodoo.Table) -> None:
    found = answered(table, "SELECT * FROM hudi_vector_search('t', 'at', ARRAY(3, 4), 1, 'l2')")
    assert found == [{"id": 2, "city": "rome", "_hudi_distance": 0.0}]


def test_the_metric_is_cosine_unless_named(table: hoodoo.Table) -> None:
    query = "SELECT id FROM hudi_vector_search('t', 'at', array(-2.0, 1.0), 3{})"
    by_angle = [row["id"] for row in answered(table, query.format(""))]
    assert by_angle == [row["id"] for row in answered(table, query.format(", 'COSINE'"))]
    assert by_angle == table.search("at", [-2, 1], metric="cosine")["id"].to_pylist()
    products = answered(table, query.format(", 'dot_product', 'brute_force'"))
    assert products == [{"id": 3}, {"id": 1}, {"id": 2}]


def test_a_filter_comes_before_the_search_and_where_after_it(table: hoodoo.Table) -> None:
    before = "SELECT id FROM hudi_vector_search('t', 'at', ARRAY(3, 4), 1, 'l2', NULL, 'id <> 2')"
    assert answered(table, before.replace("NULL", "'brute_force'")) == [{"id": 1}]
    after = "SELECT id FROM hudi_vector_search('t', 'at', ARRAY(3, 4), 1, 'l2') WHERE id <> 2"
    assert answered(table, after) == []


def test_the_largest_distance(table: hoodoo.Table) -> None:
    query = "SELECT id FROM hudi_vector_search('t', 'at', ARRAY(0, 1), 3, 'l2', NULL, NULL, 1.2)"
    assert answered(table, query) == [{"id": 1}, {"id": 3}]


def test_beside_other_tables(table: hoodoo.Table) -> None:
    query = """SELECT near.id, others.city FROM hudi_vector_search('t', 'at', ARRAY(-(1), 0.5), 2, 'l2') near
        JOIN others ON near.id = others.id ORDER BY near._hudi_distance"""
    assert answered(table, query) == [{"id": 3, "city": "oslo"}, {"id": 1, "city": "oslo"}]
    alone = "SELECT _hudi_distance FROM hudi_vector_search('t', 'at', ARRAY(3, 4), 1, 'l2')"
    assert answered(table, alone) == [{"_hudi_distance": 0.0}]


def test_in_sessions(table: hoodoo.Table, tmp_path: Path) -> None:
    session = hoodoo.session(tables={"points": table})
    query = "SELECT id FROM hudi_vector_search('{}', 'at', :vector, :k, 'l2')"
    arguments = {"vector": [3.0, 4.0], "k": 1}
    for name in ("points", "POINTS", table.path.removeprefix("file://")):
        assert session.sql(query.format(name), arguments).to_arrow().to_pylist() == [{"id": 2}]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("'t', 'at', ARRAY(3, 4)", "4 to 8 arguments"),
        ("'nothing', 'at', ARRAY(3, 4), 1", "table nothing"),
        ("'others', 'at', ARRAY(3, 4), 1", "tables of Hoodoo only"),
        ("t, 'at', ARRAY(3, 4), 1", "a text as table"),
        ("'t', at, ARRAY(3, 4), 1", "a text as column"),
        ("'t', 'city', ARRAY(3, 4), 1", "has no vectors"),
        ("'t', 'at', '[3, 4]', 1", "other kinds"),
        ("'t', 'at', ARRAY(3, 'x'), 1", "numbers as vector"),
        ("'t', 'at', ARRAY(3, CAST('x' AS DOUBLE)), 1", "numbers as vector"),
        ("'t', 'at', ARRAY(3), 1", "a vector of 2 numbers"),
        ("'t', 'at', ARRAY(3, 4), 1.5", "other kinds"),
        ("'t', 'at', ARRAY(3, 4), 0", "k=0"),
        ("'t', 'at', ARRAY(3, 4), 1, 'manhattan'", "manhattan"),
        ("'t', 'at', ARRAY(3, 4), 1, 'l2', 'hnsw'", "hnsw"),
        ("'t', 'at', ARRAY(3, 4), 1, 'l2', NULL, 'no = 1'", "no"),
        ("'t', 'at', ARRAY(3, 4), 1, 'l2', NULL, NULL, 'far'", "numbers as max_distance"),
    ],
)
def test_refuses(table: hoodoo.Table, arguments: str, words: str) -> None:
    with pytest.raises(HoodooError) as raised:
        answered(table, f"SELECT * FROM hudi_vector_search({arguments})")
    assert words in str(raised.value) and raised.value.fix


def test_other_functions_stay_refused(table: hoodoo.Table) -> None:
    with pytest.raises(ConfigError, match="makes rows"):
        answered(table, "SELECT * FROM explode_all('t')")
