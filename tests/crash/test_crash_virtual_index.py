"""A process that ends at any storage operation while the keys of a table with a record index become virtual, become
stored ones again, or while the index of virtual keys is rebuilt: keys are found at each step.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from pathlib import Path

import hoodoo
import pytest
from crash_runs import crashes
from crash_trials import (
    COUNT,
    SCHEMA,
    SEED,
    Operation,
    age_temporaries,
    copied,
    crash,
    mutations,
    opened,
    ours,
    rows,
)
from effort import effort
from hoodoo.errors import HoodooWarning
from hoodoo.model.meta import META_COLUMNS
from hoodoo.table.table import Table

pytestmark = pytest.mark.sampled(6, among="crashes")

ENABLE, BACK, ANEW, WRITE = "enable", "store again", "rebuild the index", "write"
INDEXES = ("record_index", "partitioned_record_index", "growing_record_index")
TYPES = ("COPY_ON_WRITE", "MERGE_ON_READ")
KEYS = {1: "a", 2: "a", 3: "b", 4: "b"}
SAMPLED = effort(1, 12)
DEFINITIONS = ".hoodie/.index_defs/index.json"


def operation(name: str, index: str) -> Operation:
    found: dict[str, Callable[[Table], object]] = {
        ENABLE: lambda t: t.enable_virtual_keys(META_COLUMNS),
        BACK: lambda t: t.rewrite_keys(virtual=False),
        ANEW: lambda t: t.rebuild_index(index),
        WRITE: lambda t: t.upsert(rows({1: "a", 3: "b"}, "new", 3)),
    }
    return found[name]


def base(path: Path, index: str, kind: str, name: str) -> Path:
    hoodoo.create(
        str(path), SCHEMA, name="t", record_key="id", partition_by="region", ordering="ts",
        index=index, table_type=kind,
    )  # fmt: skip
    opened(path).upsert(rows(KEYS, "old", 1))
    opened(path).upsert(rows({2: "a"}, "old", 2))
    if name != ENABLE:
        opened(path).enable_virtual_keys(META_COLUMNS)
    if name == BACK and kind == "MERGE_ON_READ":
        opened(path).compact()
    return path


def check(path: Path, index: str, name: str, where: str, again: Operation) -> None:
    age_temporaries(path)
    ids = {row[0] for row in ours(path)}
    assert ids == {1, 2, 3, 4}, where
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HoodooWarning)  # of keys that are looked for in the files
        commit = opened(path).upsert(rows({**KEYS, 99: "b"}, "next", 9))
        assert (commit.updated, commit.inserted) == (4, 1), where
        if name == BACK and opened(path).config.table_type == "MERGE_ON_READ":
            opened(path).compact()
        again(opened(path))
    with warnings.catch_warnings():
        warnings.simplefilter("error", HoodooWarning)
        commit = opened(path).upsert(rows({**KEYS, 99: "b"}, "last", 10))
        assert (commit.updated, commit.inserted) == (5, 0), where
        assert len(ours(path)) == 5, where
        assert opened(path).config.populate_meta_fields == (name == BACK), where
        assert opened(path).verify().findings == (), where
        assert opened(path).compare_indexes(index, "simple").same, where
    COUNT.trials += 1


@pytest.mark.parametrize("name", [ENABLE, BACK, ANEW, WRITE])
@pytest.mark.parametrize(("index", "kind"), [(i, TYPES[n % 2]) for n, i in enumerate(INDEXES)])
def test_crash(tmp_path: Path, local_temporaries: Path, index: str, kind: str, name: str) -> None:
    made = base(tmp_path / "base", index, kind, name)
    steps = mutations(made, tmp_path / "whole", operation(name, index))
    chance = random.Random(f"{SEED} {name} {index}")
    act = operation(name, index)
    for target, where in crashes(made, act, steps, tmp_path / "trial", chance, SAMPLED):
        check(target, index, name, where, operation(name, index))


@pytest.mark.parametrize("index", ["record_index", "partitioned_record_index"])
def test_definitions_that_are_cut_off(tmp_path: Path, local_temporaries: Path, index: str) -> None:
    """The next writer went on with a global index where the file said nothing, whatever the table's own was."""
    made = base(tmp_path / "base", index, "COPY_ON_WRITE", BACK)
    steps = mutations(made, tmp_path / "whole", operation(BACK, index))
    puts = [n for n, (verb, path) in enumerate(steps, 1) if (verb, path) == ("put", DEFINITIONS)]
    assert puts
    for at in puts:
        target = copied(made, tmp_path / "trial")
        crash(target, operation(BACK, index), at, "torn")
        check(target, index, BACK, f"torn operation {at}", operation(BACK, index))
