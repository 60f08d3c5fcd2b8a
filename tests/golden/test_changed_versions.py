"""Tables that Spark Hudi wrote get each other table version, and back: what readers see stays."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hoodoo
import pytest
from golden_tables import READ
from hoodoo.errors import HoodooError, HoodooWarning
from test_old_tables import NAMES, unpacked

pytestmark = pytest.mark.sampled(4)

WAYS = {6: (9, 8, 9, 6), 8: (9, 6, 9), 9: (8, 9, 6, 9)}


def answers(path: Path) -> dict[str, Any]:
    """Rows now, as of each write, and since the beginning; where they can't be read, the error."""
    table = hoodoo.open(str(path))
    found = {"now": _rows(table.read)}
    for write in table.timeline().writes():
        found[write.requested] = _rows(table.read, as_of=write.requested)
    found["all"] = _rows(table.incremental, since="earliest")
    return found


def _rows(read: Callable[..., Any], **how: Any) -> list[str] | str:
    try:
        return sorted(map(str, read(**how).to_arrow().to_pylist()))
    except HoodooError as error:
        return type(error).__name__


@pytest.mark.parametrize("name", [*READ, *NAMES])
def test_there_and_back(name: str, golden: Callable[[str], Path], tmp_path: Path) -> None:
    path = tmp_path / "t"
    shutil.copytree(unpacked(name, tmp_path) if name in NAMES else golden(name), path)
    with warnings.catch_warnings():  # secondary indexes that Spark made are dropped
        warnings.simplefilter("ignore", HoodooWarning)
        before, findings = answers(path), hoodoo.open(str(path)).verify().findings
        for version in WAYS[hoodoo.open(str(path)).config.version]:
            table = hoodoo.open(str(path))
            up = version > table.config.version
            assert (table.upgrade if up else table.downgrade)(version).done
            table = hoodoo.open(str(path))
            assert table.config.version == version
            after = answers(path)
            assert {key: after[key] for key in before} == before, version
            assert len(table.verify().findings) <= len(findings), version
