"""Damaged bytes of the metadata table: the right answer, or an error of ours that says how to rebuild it.

HFiles as Hudi writes them have no checksums of their own: what is compressed is told by gzip's, and what is not (the
index of blocks, trailers, headers of log blocks, the timeline's files) may hold another true value. Nor does a reader
know of a log file that is gone, as readers list. Where no reader can see it, another answer is counted and has to be
found by ``verify``; no reader fails in a way of its own, and ``rebuild_index`` mends all of it.
"""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pyarrow.compute as pc
import pytest
from crash_trials import COUNT, SEED, copied, opened, ours, rows
from effort import effort
from hoodoo.errors import HoodooError
from metadata_tables import KINDS, build, check_whole

pytestmark = pytest.mark.sampled(4)

METADATA = ".hoodie/metadata"
DAMAGES = ("cut", "flipped", "gone", "empty")
SAMPLED = effort(3, 40)


@pytest.fixture(scope="module", params=KINDS)
def table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With base files, log files and two compactions' worth of timeline."""
    path = build(tmp_path_factory.mktemp("damaged") / "t", request.param)
    opened(path).compact_metadata()
    opened(path).upsert(rows({1: "a", 9: "c"}, "last", 5))
    opened(path).delete([4])
    return path


def files(path: Path) -> list[str]:
    found = sorted(f for f in (path / METADATA).rglob("*") if f.is_file() and f.stat().st_size)
    return [str(f.relative_to(path)) for f in found]


def damage(file: Path, how: str, chance: random.Random) -> str:
    data = bytearray(file.read_bytes())
    at = chance.randrange(len(data))
    if how == "gone":
        file.unlink()
    elif how == "empty":
        file.write_bytes(b"")
    elif how == "cut":
        file.write_bytes(bytes(data[:at]))
    else:
        data[at] ^= 1 << chance.randrange(8)
        file.write_bytes(bytes(data))
    return f"{how} at {at} of {len(data)}"


def answers(path: Path) -> list[object]:
    """All rows, those of two keys, and what an upsert of all keys finds; an error in place of each."""
    found: list[object] = []

    def upsert() -> object:
        target = copied(path, path.with_name(f"{path.name}-written"))
        commit = opened(target).upsert(rows({1: "a", 2: "a", 3: "b", 6: "b", 9: "c"}, "all", 9))
        shutil.rmtree(target)
        return commit.inserted, commit.updated, commit.deleted

    def keys() -> object:
        wanted = pc.field("id").isin([2, 9])
        return sorted(opened(path).read(where=wanted, columns=["id"]).to_arrow()["id"].to_pylist())

    for ask in (lambda: ours(path), keys, upsert):
        try:
            found.append(ask())
        except HoodooError as error:  # any other class is a failure of the test
            found.append(error)
    return found


@pytest.mark.parametrize("how", DAMAGES)
def test_damaged(table: Path, tmp_path: Path, local_temporaries: Path, how: str) -> None:
    right = answers(copied(table, tmp_path / "whole"))
    assert not any(isinstance(a, HoodooError) for a in right), right
    chance = random.Random(f"{SEED} {table.parent.name} {how}")
    seen, unseen = 0, []
    for _ in range(SAMPLED):
        target = copied(table, tmp_path / "trial")
        name = chance.choice(files(target))
        where = f"{name}, {damage(target / name, how, chance)}, seed {SEED}"
        wrong = []
        for answer, expected in zip(answers(target), right, strict=True):
            if isinstance(answer, HoodooError):
                seen += 1
                told = str(answer)
                assert "rebuild-index" in told and "verify" in told, f"{where}: {told}"
            elif answer != expected:
                wrong.append(answer)
        report = opened(target).verify()
        if wrong:
            unseen.append(f"{where}: {wrong}")
            assert not report.ok, f"{where}: {wrong}, and verify finds nothing"
        opened(target).rebuild_index()
        check_whole(target, where)
        assert ours(target) == right[0], where
        COUNT.damages += 1
    print(
        f"{how}: {seen} errors, {len(unseen)} answers that no reader can tell are others: {unseen}"
    )
    assert how in ("gone", "flipped") or not unseen, unseen


def test_damage_is_no_rebuild_of_another_writer(table: Path, tmp_path: Path) -> None:
    """A write sees its own instant on the timeline when it looks why a file can't be read."""
    seen = 0
    newest = max((table / METADATA / "files").glob(".*.log.*"), key=lambda f: f.stat().st_mtime)
    for at in range(0, newest.stat().st_size, newest.stat().st_size // 10):
        target = copied(table, tmp_path / "trial")
        data = bytearray(newest.read_bytes())
        data[at] ^= 4
        (target / newest.relative_to(table)).write_bytes(bytes(data))
        try:
            opened(target).upsert(rows({1: "a", 9: "c"}, "all", 9))
        except HoodooError as error:
            seen += 1
            assert "rebuild-index" in str(error), f"{newest.name}, flipped at {at}"
    assert seen
