"""Random histories, in which processes end anywhere: the index says what record_index says after each of them.

``HOODOO_HISTORIES=1000 pytest contrib/sqlite-index/tests/test_sqlite_histories.py`` makes as many; a few by default.
"""

from __future__ import annotations

import os
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hoodoo
import hoodoo_sqlite_index.index as sqlite_index
import pyarrow as pa
import pytest
from hoodoo.errors import HoodooError
from hoodoo.hookspecs.engine import Engine
from hoodoo.testing.crashes import crash, one_thread, opened

HISTORIES = int(os.environ.get("HOODOO_HISTORIES", "30"))
SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string()), ("n", pa.int64())])
CITIES = ("oslo", "bergen")
# Two file groups for record_index: histories of many tables are cheap, and its answers are the same.
OPTIONS = {
    "hoodie.metadata.global.record.level.index.min.filegroup.count": "2",
    # A clustering whose process has ended lets writers go first.
    "hoodie.clustering.updates.strategy": "allow",
}
# A short timeline: what is old is cleaned and archived after each write.
SHORT = {
    **OPTIONS,
    "hoodie.clean.commits.retained": "1",
    "hoodie.keep.min.commits": "2",
    "hoodie.keep.max.commits": "3",
}
ACTS = (
    *("upsert", "move", "delete") * 3,
    *("rollback", "restore", "overwrite", "drop", "cluster", "compact", "rebuild"),
)
# Key -> partition path, and the number of the step that wrote the row.
Rows = dict[int, tuple[str, int]]
COUNTS: Counter[str] = Counter()


class History:
    """One table, and what is done to it. ``engine`` makes the one of each process."""

    def __init__(self, folder: Path, chance: random.Random, short: bool, engine: Any) -> None:
        self.path, self.chance, self.engine = folder / "t", chance, engine
        self.options = SHORT if short else OPTIONS
        self.number = 0
        self.seen = self.rows()
        self.settled = (
            True  # no process has ended that was undoing writes: the next one finishes that
        )

    def open(self) -> hoodoo.Table:
        return opened(self.path, self.options, self.engine())

    def rows(self) -> Rows:
        found = self.open().read(["id", "_hoodie_partition_path", "n"]).to_arrow()
        ids, paths, numbers = (column.to_pylist() for column in found.columns)
        assert len(ids) == len(set(ids)), "a key twice"
        return dict(zip(ids, zip(paths, numbers), strict=True))

    def act(self, name: str, old: Rows) -> tuple[Callable[[hoodoo.Table], object], Any]:
        """What to do, and which rows there are after it, if that is plain."""
        self.number += 1
        if name in ("upsert", "move"):
            ids = self.chance.sample(range(40), self.chance.randint(1, 12))
            values = {i: (self.city(i, name, old), self.number) for i in ids}
            # This index leaves a row where it is, whatever its columns say later.
            stay = {i: (old.get(i, v)[0], self.number) for i, v in values.items()}
            data = table_of(values)
            return lambda t: t.upsert(data), {**old, **stay}
        if name == "delete":
            ids = self.chance.sample(range(40), self.chance.randint(1, 12))
            data = table_of({i: old.get(i, ("oslo", 0)) for i in ids}).select(["id", "city"])
            return lambda t: t.delete(data), {k: v for k, v in old.items() if k not in ids}
        if name == "overwrite":
            values = {100 * self.number + i: ("oslo", self.number) for i in range(4)}
            stay = {k: v for k, v in old.items() if v[0] != "oslo"}
            return lambda t: t.insert_overwrite(table_of(values)), {**stay, **values}
        if name == "drop":
            stay = {k: v for k, v in old.items() if v[0] != "bergen"}
            return lambda t: t.delete_partitions("bergen"), stay
        if name == "rollback":
            return lambda t: t.rollback(t.timeline().writes()[-1].requested), None
        if name == "restore":
            back = self.chance.randint(1, 3)
            return lambda t: t.restore(t.timeline().writes()[-1 - back].requested), None
        if name == "cluster":
            return lambda t: t.cluster(columns=["n"], order="linear"), old
        if name == "compact":
            return lambda t: t.compact(), old
        which = self.chance.choice(("sqlite", "record_index"))
        return lambda t: t.rebuild_index(which), old

    def city(self, key: int, name: str, old: Rows) -> str:
        """Where its row goes: where it is, or (``move``) anywhere."""
        if name == "move" or key not in old:
            return self.chance.choice(CITIES)
        return old[key][0]

    def step(self) -> None:
        name, old = self.chance.choice(ACTS), self.seen
        does, new = self.act(name, old)
        end = self.chance.choice(("not", "in the store", "in the index"))
        COUNTS[name] += 1
        try:
            if end == "not":
                does(self.open())
                ended = False
            else:
                ended = self.dies(does, end)
        except (HoodooError, IndexError):
            COUNTS["refused"] += 1  # nothing there to undo, or to drop
            found = self.rows()
            assert found == old or not self.settled
            self.seen, self.settled = found, True
            return
        COUNTS[f"ended {end}"] += ended
        found = self.seen = self.rows()
        where = f"{name}, ended {end}: {ended}"
        if new is not None and self.settled:
            assert found == new or (ended and found == old), where
        self.settled = not ended or (self.settled and new is not None)
        if ended and self.chance.random() < 0.3:
            self.check()  # before anybody has written again

    def dies(self, does: Callable[[hoodoo.Table], object], end: str) -> bool:
        if end == "in the store":
            when: Any = self.chance.choice(("before", "torn", "after"))
            return crash(
                self.path, does, self.chance.randint(1, 40), when, self.options, self.engine()
            )
        left = [self.chance.randint(1, 4)]

        def within(table: hoodoo.Table) -> object:
            def opens(path: str) -> Any:
                left[0] -= 1
                if not left[0]:
                    ended: Any = table.handle.storage
                    ended.end("in the middle of what the index does")
                return real(path)

            real = sqlite_index._open
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(sqlite_index, "_open", opens)
                return does(table)

        return crash(self.path, within, 0, options=self.options, engine=self.engine())

    def check(self) -> None:
        table = self.open()
        found = table.compare_indexes("sqlite", "record_index")
        assert found.same, found.differences.to_pylist()
        assert not found.stale.num_rows, found.stale.to_pylist()
        assert found.found[0] == len(self.rows())
        COUNTS["comparisons"] += 1


def table_of(values: Rows) -> pa.Table:
    cities, numbers = [v[0] for v in values.values()], [v[1] for v in values.values()]
    return pa.table([list(values), cities, numbers], schema=SCHEMA)


@pytest.fixture(scope="module", params=["COPY_ON_WRITE", "MERGE_ON_READ"])
def prepared(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Path, Path, str]]:
    """A folder with a table, both indexes and some rows; a copy of it to begin with; and the table's type."""
    folder = tmp_path_factory.mktemp("history")
    now, saved = folder / "now", folder / "saved"
    now.mkdir()
    table = hoodoo.create(
        str(now / "t"), SCHEMA, record_key="id", partition_by="city", table_type=request.param,
        index="sqlite",
        options={**OPTIONS, "hoodoo.index.sqlite.path": str(now / "keys.db")},
    )  # fmt: skip
    table.upsert(table_of({i: (CITIES[i % 2], 0) for i in range(0, 20)}))
    table.rebuild_index("record_index")
    shutil.copytree(now, saved)
    yield now, saved, request.param
    shutil.rmtree(folder)


def live(
    prepared: tuple[Path, Path, str], seed: str, engine: Any = one_thread, steps: int = 6
) -> None:
    now, saved, kind = prepared
    shutil.rmtree(now)
    shutil.copytree(saved, now)
    chance = random.Random(f"{kind} {seed}")
    history = History(now, chance, chance.random() < 0.3, engine)
    for _ in range(steps):
        history.step()
    history.open().upsert(table_of({1: ("oslo", 99), 39: ("bergen", 99)}))
    history.check()
    COUNTS["histories"] += 1


@pytest.mark.parametrize("seed", range((HISTORIES + 1) // 2))
def test_random_histories(prepared: tuple[Path, Path, str], seed: int) -> None:
    live(prepared, f"{seed}")


@pytest.mark.spark
def test_random_histories_on_spark(prepared: tuple[Path, Path, str], spark: Any) -> None:
    """The driver ends; Spark's workers go on with what they are at."""
    from hoodoo.kernel.resolve import resolve

    def engine() -> Engine:
        found: Engine = resolve("engine", "spark").instance
        return found

    for seed in range(max(2, HISTORIES // 200)):
        live(prepared, f"spark {seed}", engine)
