"""What mergers answer."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hoodoo.hookspecs.merger import Merged
from hoodoo.kernel.answers import shapes
from hoodoo.kernel.answers.declared import rule
from hoodoo.kernel.answers.seam import Ask
from hoodoo.kernel.answers.wrong import Wrong, says
from hoodoo.model.meta import RECORD_KEY

_EITHER = "a Merged with either newer_wins or rows"


@rule("Merger.columns")
def _columns(answer: Any, ask: Ask) -> tuple[str, ...] | None:
    return None if answer is None else shapes.names(answer)


@rule("Merger.merge")
def _merge(answer: Any, ask: Ask, older: pa.Table, newer: pa.Table) -> Merged:
    if not isinstance(answer, Merged):
        raise Wrong(says(answer), _EITHER)
    wins, rows = answer.newer_wins, answer.rows
    if (wins is None) == (rows is None):
        raise Wrong("a Merged with neither" if wins is None else "a Merged with both", _EITHER)
    count = older.num_rows
    if wins is not None:
        wanted = f"newer_wins of {count} booleans, none of them null"
        if not isinstance(wins, pa.Array | pa.ChunkedArray) or wins.type != pa.bool_():
            raise Wrong(f"newer_wins: {says(wins)}", wanted)
        if len(wins) != count or wins.null_count:
            raise Wrong(f"newer_wins: {says(wins)}", wanted)
        return answer
    _check_rows(rows, older)
    return answer


def _check_rows(rows: Any, older: pa.Table) -> None:
    wanted = f"rows: a pyarrow.Table of {older.num_rows} rows in the schema of older"
    if not isinstance(rows, pa.Table) or rows.num_rows != older.num_rows:
        raise Wrong(f"rows: {says(rows)}", wanted)
    if sorted(rows.schema.names) != sorted(older.schema.names):
        raise Wrong(f"rows: {says(rows)}", f"{wanted}, {older.schema.names}")
    for field in older.schema:
        made = rows.column(field.name)
        if made.type != field.type:
            raise Wrong(f"rows whose {field.name} is a {made.type}", f"{wanted}: a {field.type}")
        if not field.nullable and made.null_count:
            raise Wrong(f"rows whose {field.name} is null", f"{wanted}: it can't be null")
    if RECORD_KEY in older.schema.names:
        same = pc.equal(rows.column(RECORD_KEY), older.column(RECORD_KEY))
        if same.null_count > older.column(RECORD_KEY).null_count or not pc.all(same).as_py():
            raise Wrong("rows of other record keys", f"{wanted}, row i with the key of pair i")
