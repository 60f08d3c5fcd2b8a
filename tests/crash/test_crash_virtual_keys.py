"""A process that ends at any storage operation while keys become virtual, or while files are rewritten
without them or with another codec: the rows stay, the next run finishes, and nothing is left behind.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from crash_leaks import leaks
from crash_runs import crashes_again, crashes_of
from crash_trials import (
    COUNT,
    SEED,
    VERSIONS,
    Operation,
    Prepared,
    State,
    age_temporaries,
    copied,
    opened,
    ours,
    plus_next,
    prepared,
    write_next,
)
from effort import effort
from hoodoo.kernel.log_files import log_files
from hoodoo.model.config import STORED_UNTIL
from hoodoo.model.meta import META_COLUMNS, RECORD_KEY
from hoodoo.timeline import properties
from hoodoo_standard.storage.local import LocalStorage
from table_life import seen

pytestmark = pytest.mark.sampled(6, among="crashes")

Tables = Callable[..., Path]
KINDS = ("on-write", "simple", "bucket")
ENABLE, REWRITE, RESUME, BACK = "enable", "rewrite", "rewrite what is virtual", "store again"
FILES, GZIP = "rewrite with another codec", {"hoodie.parquet.compression.codec": "gzip"}
OPERATIONS: dict[str, Operation] = {
    ENABLE: lambda t: t.enable_virtual_keys(),
    REWRITE: lambda t: t.rewrite_keys(),
    RESUME: lambda t: t.rewrite_keys(),
    BACK: lambda t: t.rewrite_keys(virtual=False),
    FILES: lambda t: t.rewrite(GZIP),
}
# So many operations in one run, other ones in each; or all, before, after and torn.
SAMPLED = effort(1, 10)
AGAIN = effort(1, 4)


@pytest.fixture(scope="session")
def stored(tables: Tables, merged: Tables, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    """``stored(version, kind, name)``: the table that an operation works on, made once."""
    below = tmp_path_factory.mktemp("virtual")

    def table(version: int, kind: str, name: str) -> Path:
        base = tables(version) if kind == "on-write" else merged(version, kind)
        if name in (ENABLE, REWRITE, FILES):
            return base
        target = below / f"v{version}-{kind}-{name}"
        if not target.exists():
            copied(base, target)
            made = opened(target)
            made.enable_virtual_keys(META_COLUMNS if name == BACK else ())
            write_next(made)
            opened(target).delete([99])  # so that a later write may add it
            if name == BACK:
                compact(target)
        return target

    return table


def is_virtual(path: Path) -> bool:
    return not opened(path).config.populate_meta_fields


def keys(path: Path) -> set[str | None]:
    """The record keys as the newest base files and their log files store them."""
    found: set[str | None] = set()
    storage = LocalStorage(str(path), durable=False)
    for slice_ in opened(path).file_slices():
        if slice_.base_file is not None:
            file = pq.ParquetFile(path / slice_.base_file.path)
            found.update(file.read(columns=[RECORD_KEY]).column(0).to_pylist())
        for log in slice_.log_files:
            with log_files().reader(storage, log.path, log.size or None) as reader:
                for block in reader.blocks:
                    if block.is_data:
                        rows = reader.rows(block, [RECORD_KEY])
                        found.update(rows.column(RECORD_KEY).to_pylist())
    return found


def shown(path: Path) -> State:
    """As both readers see it; `hudi` does not look at the copy that stands in for the properties while
    these are changed."""
    return ours(path) if (path / properties.BACKUP).exists() else seen(path)


def check_shown(path: Path, where: str) -> None:
    """A reader sees no key, or all of them."""
    found = opened(path).read(columns=[RECORD_KEY]).to_arrow().column(0)
    assert found.null_count == (len(found) if is_virtual(path) else 0), where


def check_done(path: Path, name: str, where: str) -> None:
    """What the operation is for has been reached."""
    assert is_virtual(path) == (name not in (BACK, FILES)), where
    if name == FILES:
        assert not opened(path).rewrite(GZIP, dry_run=True).groups, where
    if name in (REWRITE, RESUME):
        assert keys(path) == {None}, where
        assert STORED_UNTIL not in opened(path).config.properties, where
    check_shown(path, where)


def check(case: Prepared, name: str, target: Path, where: str, recover: Operation) -> None:
    """Now, after the next run, and after the next write."""
    assert shown(target) == case.old, where
    check_shown(target, where)
    age_temporaries(target)
    recover(opened(target))
    assert shown(target) == case.old, where
    write_next(opened(target))
    assert shown(target) == plus_next(case.old), where
    if name == BACK:
        compact(target)
    case.operation(opened(target))
    assert shown(target) == plus_next(case.old), where
    check_done(target, name, where)
    if name in (ENABLE, BACK):
        write_next(opened(target))  # who only changes properties leaves it to writers to sweep
    assert leaks(target) == [], where
    assert opened(target).verify().ok, where
    COUNT.trials += 1


def compact(path: Path) -> None:
    """Only base files can be told to store all their keys."""
    if opened(path).config.table_type == "MERGE_ON_READ":
        opened(path).compact()


def nothing(_table: object) -> None:
    """A write comes right after the crash, without another run of the same."""


PARAMETERS = [(name, kind) for name in OPERATIONS for kind in KINDS]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("name", "kind"), PARAMETERS)
def test_crash(
    stored: Tables, tmp_path: Path, local_temporaries: Path, name: str, kind: str, version: int
) -> None:
    base = stored(version, kind, name)
    case = prepared(base, tmp_path, OPERATIONS[name], changes_rows=False)
    check_done(tmp_path / "whole", name, "without a crash")
    chance = random.Random(f"{SEED} {name} {kind} {version}")
    for target, where in crashes_of(case, tmp_path, chance, SAMPLED):
        check(case, name, target, where, chance.choice([nothing, case.operation]))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("name", "kind"), [p for p in PARAMETERS if p[0] in (REWRITE, RESUME, FILES)]
)
def test_crash_of_the_next_run(
    stored: Tables, tmp_path: Path, local_temporaries: Path, name: str, kind: str, version: int
) -> None:
    """Stop at operation j of the same call once more, after a crash at k."""
    base = stored(version, kind, name)
    case = prepared(base, tmp_path, OPERATIONS[name], changes_rows=False)
    chance = random.Random(f"{SEED} {name} {kind} {version} again")
    for target, _, where in crashes_again(case, tmp_path, chance, AGAIN, [case.operation]):
        check(case, name, target, where, chance.choice([nothing, case.operation]))
