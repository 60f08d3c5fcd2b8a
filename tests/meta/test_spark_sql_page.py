"""The table of docs/spark-source.md says what the tests of Spark's own SQL run."""

from __future__ import annotations

from tests.meta import spark_sql_page


def test_the_table_is_made_of_what_is_run() -> None:
    assert spark_sql_page.PAGE.read_text("utf-8") == spark_sql_page.render(), (
        "python -m tests.meta.spark_sql_page makes it"
    )
