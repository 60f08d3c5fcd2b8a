"""Tables that Hoodoo 0.1.0 wrote go on: all their states, writes, services, the savepoint, an
upgrade. ``data/hoodoo_01/make_tables.py`` made them, with that version."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import hoodoo
import pytest

ARCHIVE = Path(__file__).resolve().parent / "data/hoodoo_01/tables.tar.xz"


def states() -> dict[str, list[tuple[str, list[list[Any]]]]]:
    with tarfile.open(ARCHIVE) as tables:
        file = tables.extractfile("states.json")
        assert file is not None
        found: dict[str, list[tuple[str, list[list[Any]]]]] = json.loads(file.read())
    return found


STATES = states()


def values(table: hoodoo.Table, **asked: Any) -> list[list[Any]]:
    found = table.read(["id", "fare", "ts"], **asked).to_arrow().to_pylist()
    return sorted([row["id"], row["fare"], row["ts"]] for row in found)


@pytest.fixture(params=sorted(STATES))
def table(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, hoodoo.Table]:
    with tarfile.open(ARCHIVE) as tables:
        mine = [one for one in tables if one.name.startswith(f"{request.param}/")]
        tables.extractall(tmp_path, mine, filter="data")
    return request.param, hoodoo.open(tmp_path / request.param)


def test_each_state_is_read(table: tuple[str, hoodoo.Table]) -> None:
    name, opened = table
    assert values(opened) == STATES[name][-1][1]
    for number, (instant, then) in enumerate(STATES[name], 1):
        assert values(opened, as_of=instant) == then, number
    assert opened.verify().ok


@pytest.mark.sampled(1)
def test_it_goes_on(table: tuple[str, hoodoo.Table]) -> None:
    name, opened = table
    before = STATES[name][-1][1]
    opened.upsert([{"id": 77, "city": "b", "fare": 1.5, "ts": 9}])
    assert values(opened) == sorted([*before, [77, 1.5, 9]])
    if "MERGE_ON_READ" in name:
        opened.compact()  # the plan that 0.1.0 left, first
    opened.clean()
    opened.delete([77])
    assert values(opened) == before and opened.verify().ok
    (point,) = opened.savepoints()
    opened.restore(point.instant)
    assert values(opened) == STATES[name][2][1] and opened.verify().ok


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", [name for name in sorted(STATES) if "-6-" in name])
def test_version_6_is_upgraded(tmp_path: Path, name: str) -> None:
    with tarfile.open(ARCHIVE) as tables:
        tables.extractall(tmp_path, filter="data")
    opened = hoodoo.open(tmp_path / name)
    before = STATES[name][-1][1]
    opened.upgrade()
    again = hoodoo.open(tmp_path / name)
    assert again.config.version == 9 and values(again) == before
    again.upsert([{"id": 77, "city": "b", "fare": 1.5, "ts": 9}])
    assert values(again) == sorted([*before, [77, 1.5, 9]]) and again.verify().ok
