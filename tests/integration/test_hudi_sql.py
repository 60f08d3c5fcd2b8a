"""The SQL of Hudi's pages, statement by statement, on a session without Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hoodoo
import pytest
from hoodoo.errors import HoodooError

from tests.hudi_sql import GROUPS, REFUSED, Group, found, wanted


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lake")


@pytest.fixture(scope="module")
def session(place: Path) -> Any:
    return hoodoo.session(catalogs=str(place / "lake"))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.title)
def test_the_statements_of_hudis_pages(session: Any, place: Path, group: Group) -> None:
    for statement in group.statements:
        text = statement.text.replace("{place}", str(place))
        if statement.verdict == REFUSED:
            with pytest.raises(HoodooError) as raised:
                session.sql(text)
            assert statement.says in str(raised.value), text
            assert raised.value.fix, text
            continue
        answer = session.sql(text)
        if statement.asks:
            answer = session.sql(statement.asks)
        if statement.rows is not None:
            assert found(answer.to_pylist(), statement) == wanted(statement), text
