"""An index that one process drops while another one rebuilds what a rollback has retired: at each operation of the
rebuild. Where the drop answers, nobody builds the index again."""

from __future__ import annotations

import itertools
import random
from contextlib import suppress
from pathlib import Path

import pytest
from effort import MORE
from hoodoo.errors import CommitConflictError
from hoodoo.testing.stores import GatedStorage
from hoodoo.timeline import properties
from hoodoo_metadata.life.build import retire
from hoodoo_metadata.table.metadata_table import building, listed
from memory_store import MemoryStorage
from tables import COW9, Kind, create, from_disk, rows
from trials import SEED
from world import World, opened


def retired(path: Path, kind: Kind) -> MemoryStorage:
    """A table with a record index that is not its own index, and one of a column; all wait for being rebuilt."""
    create(path, kind, {"hoodie.metadata.enable": True})
    store = MemoryStorage(path, from_disk(path))
    table = opened(store)
    table.upsert(rows({1: "a", 2: "a", 3: "b"}, "old", 1))
    table.rebuild_index("record_index")
    table.switch_index("simple")
    table.create_index("by_v", "v")
    retire(store, properties.load(store))
    return store


@pytest.mark.parametrize("name", ["record_index", "by_v"])
def test_what_is_dropped_while_it_is_rebuilt(still: World, tmp_path: Path, name: str) -> None:
    first = retired(tmp_path, COW9)
    partition = {"by_v": "secondary_index_by_v"}.get(name, name)
    if name == "record_index":  # which the other one needs
        opened(first).drop_index("by_v")
    steps: list[str] = []

    def repaired(at: int = -1) -> MemoryStorage | None:
        """The table after a repair, with the drop at its step ``at``; None: the drop was refused."""
        store, count, dropped = MemoryStorage(tmp_path, first.objects), itertools.count(), []

        def gate(op: str, path: str) -> None:
            steps.append(f"{op} {path}")
            if next(count) == at:
                with suppress(CommitConflictError):
                    opened(store).drop_index(name)
                    dropped.append(name)

        opened(GatedStorage(store, gate)).handle.participants.repair()
        return store if dropped else None

    repaired()
    # When its action is on the timeline a drop is refused.
    (begun,) = (n for n, step in enumerate(steps) if step.endswith(".indexing.requested"))
    done = 0
    for at in (
        range(0, begun + 1) if MORE else range(random.Random(SEED).randrange(4), begun + 1, 4)
    ):
        store = repaired(at)
        assert store is not None, steps[at]
        opened(store).upsert(rows({1: "a", 4: "b"}, "next", 2))
        config = properties.load(store)
        assert partition not in (*listed(config), *building(config)), f"{at} {steps[at]}"
        done += 1
    assert done
    assert repaired(begun + 5) is None
