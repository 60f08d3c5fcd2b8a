"""Fixtures: real tables written by Spark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hoodoo_cli.commandline import main


@pytest.fixture(scope="session")
def golden_files(golden_home: Path) -> Callable[[str], Path]:
    """``golden_files(folder)``: a folder of files that Hudi wrote."""
    return golden_home.joinpath


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Runs the command in this process: exit code, output, errors."""
    monkeypatch.setenv("COLUMNS", "80")

    def one(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as caught:
            main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return int(caught.value.code or 0), printed.out, printed.err

    return one
