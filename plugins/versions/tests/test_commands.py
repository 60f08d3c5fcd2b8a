"""``hoodoo upgrade`` and ``hoodoo downgrade``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import hoodoo
import pytest
from hoodoo_cli.commandline import main
from lived_tables import lived


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    printed = capsys.readouterr()
    return int(caught.value.code or 0), printed.out + printed.err


def test_a_dry_run_and_the_call(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t"
    lived(path, 6, "MERGE_ON_READ")
    code, said = run(capsys, "upgrade", path, "--to", 9, "--dry-run")
    assert code == 0 and "Would do:" in said and "compact every file slice" in said
    assert hoodoo.open(str(path)).config.version == 6
    code, said = run(capsys, "upgrade", path)
    assert code == 0 and "The table has version 9 now." in said
    assert hoodoo.open(str(path)).config.version == 9
    code, said = run(capsys, "upgrade", path)
    assert (code, said.strip()) == (0, "The table has version 9.")
    code, said = run(capsys, "downgrade", path, "--to", 6, "--json")
    found: dict[str, Any] = json.loads(said)
    assert found["done"] and found["lost"] and (found["before"], found["after"]) == (9, 6)


def test_what_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lived(tmp_path / "t", 6, "COPY_ON_WRITE")
    code, said = run(capsys, "downgrade", tmp_path / "t", "--to", 9)
    assert code != 0 and "table.upgrade(9)" in said
    code, said = run(capsys, "upgrade", tmp_path / "t", "--to", 7)
    assert code != 0 and "6, 8 and 9" in said
