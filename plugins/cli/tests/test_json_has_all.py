"""With ``--json`` nothing is left out, unless a limit is given: a script would not see it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest

SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.int64())])


@pytest.fixture
def path(tmp_path: Path) -> str:
    options = {"hoodie.clean.automatic": False, "hoodie.archive.automatic": False}
    table = hoodoo.create(
        str(tmp_path / "t"), SCHEMA, record_key="id", partition_by="p", options=options
    )
    table.upsert([{"id": number, "p": number} for number in range(103)])
    for _ in range(25):
        table.upsert([{"id": 1, "p": 1}])
    return table.path


@pytest.mark.sampled(2, among="long")
def test_all_is_printed(path: str, run: Callable[..., tuple[int, str, str]]) -> None:
    def printed(*arguments: str) -> Any:
        code, out, errors = run(*arguments, "--json")
        assert code == 0, errors
        return json.loads(out)

    assert len(printed("files", path)) == 103
    assert len(printed("files", path, "--limit", "7")) == 7
    assert len(printed("timeline", path)) >= 26
    assert len(printed("timeline", path, "--limit", "3")) == 3
    assert len(printed("history", path, "1")["events"]) == 26
    assert len(printed("history", path, "1", "--limit", "4")["events"]) == 4
