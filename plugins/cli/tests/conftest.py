"""Fixtures: real tables written by Spark."""

from __future__ import annotations

import os
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hoodoo_cli.commandline import main

sys.path.append(str(Path(__file__).parent))  # helper modules, which are no package


@pytest.fixture(scope="session")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """``golden(name)``: the directory of a real table, unzipped once; skips if there are none."""
    beside = Path(__file__).resolve().parents[3] / "tests/golden/data"
    root = Path(os.environ.get("HOODOO_GOLDEN", beside)) / "tables"
    unzipped: dict[str, Path] = {}

    def table(name: str) -> Path:
        if not root.is_dir():
            pytest.skip(f"no real tables in {root}: set HOODOO_GOLDEN")
        if name not in unzipped:
            target = tmp_path_factory.mktemp(name)
            with zipfile.ZipFile(root / f"{name}.zip") as packed:
                packed.extractall(
                    target, [n for n in packed.namelist() if not n.startswith("__MACOSX")]
                )
            unzipped[name] = next(target.glob("*/.hoodie")).parent
        return unzipped[name]

    return table


@pytest.fixture(scope="session")
def golden_files() -> Callable[[str], Path]:
    """``golden_files(folder)``: a folder of files that Hudi wrote; skips if there is none."""
    beside = Path(__file__).resolve().parents[3] / "tests/golden/data"
    root = Path(os.environ.get("HOODOO_GOLDEN", beside))

    def folder(name: str) -> Path:
        if not (root / name).is_dir():
            pytest.skip(f"no real files in {root / name}: set HOODOO_GOLDEN")
        return root / name

    return folder


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
