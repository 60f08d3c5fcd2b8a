"""The SQL of Hudi's pages, statement by statement: real Spark Hudi has the rows that a session has
(``tests/integration/test_hudi_sql.py`` runs the same on it)."""

from __future__ import annotations

from pathlib import Path

from spark_hudi import HudiError, SparkHudi

from tests.hudi_sql import GROUPS, REFUSED, Statement, found, wanted


def test_the_rows_are_those_of_spark_hudi(worker: SparkHudi, tmp_path: Path) -> None:
    wrong = [
        said
        for group in GROUPS
        for one in group.statements
        if (said := _differs(worker, one, tmp_path))
    ]
    assert not wrong, "\n".join(wrong)


def _differs(worker: SparkHudi, one: Statement, place: Path) -> str:
    """What differs in Spark Hudi; nothing if all is equal."""
    if one.spark == "":
        return ""
    text = (one.spark or one.text).replace("{place}", str(place))
    try:
        rows = worker.sql(text)
    except HudiError as error:
        return "" if one.verdict == REFUSED else f"{text}: {error}"
    if one.verdict == REFUSED:
        return f"{text}: is not refused"
    if one.asks:
        rows = worker.sql(one.asks)
    if one.rows is None:
        return ""
    shown = found(rows, one)
    return "" if shown == wanted(one) else f"{text}: {shown} and not {wanted(one)}"
