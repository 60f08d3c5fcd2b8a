"""docs/sql-of-hudi.md says what the tests of Hudi's statements run."""

from __future__ import annotations

from tests.meta import sql_of_hudi_page


def test_the_page_is_made_of_what_is_run() -> None:
    assert sql_of_hudi_page.PAGE.read_text("utf-8") == sql_of_hudi_page.render(), (
        "python -m tests.meta.sql_of_hudi_page makes it"
    )
