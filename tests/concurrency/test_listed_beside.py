"""Lists in hoodie.properties: a call changes the list that is there then, not the one that it has seen when it began.

Each call is interrupted by another process right before it changes the properties."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace

import hoodoo
import pytest
from hoodoo.model.config import HUDI_INDEX, OWN_INDEX
from hoodoo.table.table import Table
from hoodoo.timeline import properties
from hoodoo_metadata.life.adopt import adopt
from hoodoo_metadata.life.build import retire
from hoodoo_metadata.partitions.secondary.rows import KEPT
from hoodoo_metadata.table.metadata_table import LISTED, building
from hoodoo_standard.index.learning import LEARNING, Learner
from tables import Kind, create, rows

Interrupt = Callable[[Callable[[], object]], None]


@pytest.fixture
def interrupt(monkeypatch: pytest.MonkeyPatch) -> Interrupt:
    """``interrupt(other)``: the next change of properties comes after ``other``."""
    recover = properties.recover

    def before(other: Callable[[], object]) -> None:
        left = [other]

        def interrupted(storage: object) -> bool:
            if left:
                left.pop()()
            return recover(storage)

        monkeypatch.setattr(properties, "recover", interrupted)

    return before


def made(path: Path, index: str = "simple", options: Mapping[str, object] = {}) -> Table:
    table = create(path / "t", Kind(index=index), options)
    table.upsert(rows({1: "a", 3: "b"}, "u", 1))
    return table


def retired(table: Table) -> object:
    """What a rollback, or a build of all partitions, begins with."""
    other = hoodoo.open(table.path).handle
    return retire(other.storage, other.config)


def test_partitions_when_keys_become_virtual(tmp_path: Path, interrupt: Interrupt) -> None:
    options = {"hoodie.metadata.enable": True, "hoodie.metadata.index.bloom.filter.enable": True}
    table = made(tmp_path, options=options)
    assert "bloom_filters" in table.config.metadata_partitions
    interrupt(lambda: retired(table))
    table.enable_virtual_keys()
    assert table.config.metadata_partitions == ()
    assert {"files", "column_stats"} <= {*building(table.config)}
    assert "bloom_filters" not in building(table.config)


def test_partitions_when_unknown_ones_go(tmp_path: Path, interrupt: Interrupt) -> None:
    table = made(tmp_path, options={"hoodie.metadata.enable": True})
    listed = table.config.get(LISTED)
    table.handle.change_properties({LISTED: f"{listed},unknown"})
    interrupt(lambda: retired(table))
    with pytest.warns(UserWarning, match="unknown"):
        table.handle.participants.drop_stale()
    assert table.config.metadata_partitions == ()
    assert {"files", "column_stats"} <= {*building(table.config)}


def test_indexes_of_others_when_one_is_dropped(tmp_path: Path, interrupt: Interrupt) -> None:
    table = made(tmp_path, index="record_index")
    for name in ("v", "ts"):
        table.create_index(f"by_{name}", name)
    table.handle.change_properties({KEPT: None})  # as Spark leaves them
    config = table.config
    interrupt(lambda: hoodoo.open(table.path).drop_index("by_v"))
    now = adopt(table.handle.storage, config)
    assert (now.get(KEPT) or "").count("secondary_index_") == 1
    assert [i.name for i in table.indexes() if i.name.startswith("by_")] == ["by_ts"]


def test_catalogs(tmp_path: Path, interrupt: Interrupt) -> None:
    table = made(tmp_path)
    lakes = [hoodoo.catalog(str(tmp_path / name)) for name in ("one", "two", "three")]
    interrupt(lambda: lakes[1].register("t", table.path))
    lakes[0].register("t", table.path)
    interrupt(lambda: lakes[2].register("t", table.path))
    lakes[0].drop("t")
    commit = hoodoo.open(table.path).upsert(rows({1: "a"}, "v", 2))
    for lake in lakes[1:]:
        assert lake.entry("t").parameters["last_commit_time_sync"] == commit.instant


def test_indexes_that_two_switch_to(tmp_path: Path, interrupt: Interrupt) -> None:
    """The table had a property of the one index beside that of the other."""
    table = made(tmp_path)
    interrupt(lambda: hoodoo.open(table.path).switch_index("growing_record_index"))
    table.switch_index("global_simple")
    names = [table.config.get(key) for key in (HUDI_INDEX, OWN_INDEX)]
    assert names == ["GLOBAL_SIMPLE", None]


def test_tags(tmp_path: Path, interrupt: Interrupt) -> None:
    table = made(tmp_path)
    table.upsert(rows({1: "a"}, "v", 2))
    first, second = (w.requested for w in table.timeline().writes())
    table.tag("moved", first)
    table.tag("gone", first)
    other = hoodoo.open(table.path)

    def moved() -> None:
        other.untag("moved")
        other.tag("moved", second)

    interrupt(moved)
    hoodoo.open(table.path).delete_savepoint(first)
    assert hoodoo.open(table.path).tags() == {"moved": second}


def test_indexes_that_learn(tmp_path: Path, interrupt: Interrupt) -> None:
    table = made(tmp_path)
    handle = table.handle

    def other(names: str) -> None:
        now = hoodoo.open(table.path).handle
        now.change_properties({LEARNING: names})

    other("not_installed")
    handle.refresh()
    interrupt(lambda: other("not_installed,simple"))
    with pytest.warns(UserWarning, match="not_installed"):
        handle.participants.drop_stale()
    assert handle.config.get(LEARNING) == "simple"
    interrupt(lambda: other("simple,bloom"))
    learner = Learner("mine", SimpleNamespace(rebuild=lambda state: None), handle.settings)
    learner.rebuild(handle.participants.request("mine"))
    handle.refresh()
    assert handle.config.get(LEARNING) == "simple,bloom,mine"
