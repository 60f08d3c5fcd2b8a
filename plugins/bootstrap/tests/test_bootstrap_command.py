"""`hoodoo bootstrap`: the plan, and the table."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import hoodoo
import pytest
from hoodoo_cli.commandline import main
from parquet_folders import content, rows_of, source

Run = Callable[..., str]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def called(*words: object, code: int = 0) -> str:
        with pytest.raises(SystemExit) as caught:
            main([str(word) for word in words])
        out, err = capsys.readouterr()
        assert int(caught.value.code or 0) == code, (out, err)
        return out + err

    return called


def test_a_plan_changes_nothing(run: Run, tmp_path: Path) -> None:
    source(tmp_path / "source")
    before = content(tmp_path)
    text = run("bootstrap", tmp_path / "source", tmp_path / "t", "--key", "id", "--dry-run")
    assert "24 rows in 4 files of 2 partitions" in text and "Nothing was changed" in text
    found = json.loads(
        run("bootstrap", tmp_path / "source", tmp_path / "t", "--key", "id", "--dry-run", "--json",
            "--mode", "FULL_RECORD", "--regex", "city=oslo")
    )  # fmt: skip
    assert found["METADATA_ONLY"]["files"] == found["FULL_RECORD"]["files"] == 2
    assert found["columns"]["city"] == "string" and found["partition_by"] == ["city"]
    assert content(tmp_path) == before


def test_a_table(run: Run, tmp_path: Path) -> None:
    expected = source(tmp_path / "source")
    path = tmp_path / "t"
    text = run("bootstrap", tmp_path / "source", path, "--key", "id", "--type", "mor")
    assert text.startswith("Created t at ") and "24 rows" in text
    table = hoodoo.open(str(path))
    assert rows_of(table.read()) == expected and table.config.table_type == "MERGE_ON_READ"
    assert "00000000000001" in run("timeline", path)
    for command in ("stats", "files", "verify", "doctor"):
        run(command, path)
    assert "is bootstrapped already" in run(
        "bootstrap", tmp_path / "source", path, "--key", "id", code=2
    )
