"""Each strategy of incremental models, and what it does to the table; errors."""

from __future__ import annotations

from typing import Any

import hoodoo
import pytest
from dbt.tests.util import run_dbt

RUN = "{% set run = var('run', 1) %}"
ROWS = """
select * from (
  {% if run == 1 %}
  select 1 as id, 'oslo' as city, 'a' as what, 10 as fare union all select 2, 'rome', 'a', 20
  {% else %}
  select 2 as id, 'rome' as city, 'b' as what, 25 as fare union all select 3, 'rome', 'b', 30
  {% endif %}
) as given
"""


def model(**config: Any) -> str:
    said = ", ".join(f"{key}={value!r}" for key, value in config.items())
    return f"{RUN}{{{{ config(materialized='incremental', {said}) }}}}{ROWS}"


MODELS = {
    "appended.sql": model(),
    "merged.sql": model(unique_key="id"),
    "merged_some.sql": model(unique_key="id", merge_update_columns=["fare"]),
    "merged_but.sql": model(unique_key=["id", "city"], merge_exclude_columns=["fare"]),
    "on_read.sql": model(unique_key="id", table_type="mor", ordering="fare"),
    "overwritten.sql": model(incremental_strategy="insert_overwrite", partition_by=["city"]),
    "whole.sql": model(incremental_strategy="insert_overwrite"),
    "replaced.sql": model(incremental_strategy="delete+insert", unique_key="city", record_key="id"),
    "wider.sql": RUN
    + "{{ config(materialized='incremental', unique_key='id',"
    + " on_schema_change='sync_all_columns') }}"
    + "select 1 as id, {% if run == 1 %}'x' as old{% else %}5 as new{% endif %}",
    "narrow.sql": "{{ config(materialized='view') }} select id, city from {{ ref('merged') }}",
    "counted.sql": "{{ config(materialized='table') }}"
    "select city, count(*) as n from {{ ref('narrow') }} group by city",
}
FIRST = {(1, "oslo", "a", 10), (2, "rome", "a", 20)}
SECOND = {(2, "rome", "b", 25), (3, "rome", "b", 30)}
EXPECTED = {
    "appended": FIRST | SECOND,
    "merged": {(1, "oslo", "a", 10)} | SECOND,
    "merged_some": {(1, "oslo", "a", 10), (2, "rome", "a", 25), (3, "rome", "b", 30)},
    "merged_but": {(1, "oslo", "a", 10), (2, "rome", "b", 20), (3, "rome", "b", 30)},
    "on_read": {(1, "oslo", "a", 10)} | SECOND,
    "overwritten": {(1, "oslo", "a", 10)} | SECOND,
    "whole": SECOND,
    "replaced": {(1, "oslo", "a", 10)} | SECOND,
}


class TestStrategies:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return MODELS

    def test_each_strategy(self, project: Any, dbt_profile_target: dict[str, Any]) -> None:
        lake, schema = hoodoo.catalog(dbt_profile_target["path"]), project.test_schema
        run_dbt(["run"])
        run_dbt(["run", "--vars", "run: 2"])
        tables = {name: lake.open(f"{schema}.{name}") for name in EXPECTED}
        columns = ("id", "city", "what", "fare")
        found = {
            name: [tuple(row[c] for c in columns) for row in table.read().to_pylist()]
            for name, table in tables.items()
        }
        assert {name: sorted(rows) for name, rows in found.items()} == {
            name: sorted(rows) for name, rows in EXPECTED.items()
        }
        commits = {name: len(table.history()) for name, table in tables.items()}
        assert commits == {**dict.fromkeys(EXPECTED, 2), "replaced": 3}
        assert tables["merged"].config.record_key_fields == ("id",)
        assert str(tables["on_read"].config.table_type) == "MERGE_ON_READ"
        assert lake.open(f"{schema}.wider").read().to_pylist() == [{"id": 1, "new": 5}]
        assert sorted(
            map(tuple, map(dict.values, lake.open(f"{schema}.counted").read().to_pylist()))
        ) == [
            ("oslo", 1),
            ("rome", 2),
        ]
        assert len(lake.open(f"{schema}.counted").history()) == 2


class TestErrors:
    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "twice.sql": "{{ config(materialized='table', record_key='id') }}"
            "select 1 as id union all select 1",
            "lost.sql": "select * from {{ target.schema }}.nowhere",
            "granted.sql": "{{ config(grants={'select': ['me']}) }} select 1 as id",
        }

    def test_they_are_one_message(self, project: Any) -> None:
        found = {r.node.name: r.message for r in run_dbt(["run"], expect_pass=False)}
        assert found["twice"].startswith("Database Error in model twice (models/twice.sql)")
        assert "record key id: does not tell the rows apart" in found["twice"]
        assert " Fix: Name more columns" in found["twice"]
        assert "nowhere: is not among the tables of the session. Fix: " in found["lost"]
        assert "are not stored with a table. Fix: Grant access" in found["granted"]
