"""Secondary indexes whose makers and keepers die at any step, or have other writers between their steps: afterwards they
say what rows say, or are rebuilt; verify compares them with the rows."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import CommitConflictError, ConfigError, PendingClusteringError
from hoodoo.storage.api import Storage
from hoodoo.testing.crashes import When, crash, mutations, opened
from hoodoo.testing.stores import Delegating
from hoodoo_metadata.partitions.secondary.partition import SecondaryPartition
from hoodoo_metadata.partitions.secondary.rows import entry_keys
from hoodoo_metadata.table.metadata_table import MetadataTable, listed
from hoodoo_metadata.table.slice import layers, merged
from hoodoo_rows.testing.tables import Maker

pytestmark = pytest.mark.sampled(4)

SCHEMA = pa.schema([("id", pa.int64()), ("city", pa.string()), ("at", pa.string())])
KINDS = ("COPY_ON_WRITE", "MERGE_ON_READ")
WHEN: tuple[When, ...] = ("before", "after", "torn")
MORE = os.environ.get("HOODOO_TRIALS") in ("more", "all")
INDEX = "secondary_index_by_city"

# Of two partition paths; each number gives other cities.
rows = Maker(SCHEMA, "number", city=lambda i, number: f"c{(i + number) % 4}", at=("x", "y")).dicts


ACTS: dict[str, Callable[[hoodoo.Table], object]] = {
    "create": lambda t: t.create_index("by_city", ["city"]),
    "upsert": lambda t: t.upsert(rows(range(3, 9), 2)),
    "delete": lambda t: t.delete([{"id": i, "at": "xy"[i % 2]} for i in (0, 5)]),
    "overwrite": lambda t: t.insert_overwrite(rows(range(20, 26, 2), 1)),
    "cluster": lambda t: t.cluster(order="linear", columns=["city"]),
    "rebuild": lambda t: t.rebuild_index(INDEX),
    "drop": lambda t: t.drop_index("by_city"),
}


def made(path: Path, kind: str, index: bool = True) -> Path:
    table = hoodoo.create(
        str(path), SCHEMA, record_key="id", partition_by="at", table_type=kind,
        index="record_index",
    )  # fmt: skip
    table.upsert(rows(range(8), 0))
    if index:
        table.create_index("by_city", ["city"])
        table.upsert(rows(range(6, 12), 1))
    return path


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, bool], Path]:
    found: dict[tuple[str, bool], Path] = {}

    def one(kind: str, index: bool) -> Path:
        if (kind, index) not in found:
            found[kind, index] = made(tmp_path_factory.mktemp("whole") / "t", kind, index)
        return found[kind, index]

    return one


def entries(table: hoodoo.Table) -> list[str]:
    opened_ = MetadataTable.open(table.handle.storage, table.timeline())
    found: list[str] = []
    for group in opened_.slices(INDEX):
        for batch in merged(layers(opened_.storage, group)):
            found += batch.column(0).cast(pa.string()).to_pylist()
    return sorted(found)


def check(path: Path, why: object, died: bool = False) -> None:
    """Filters find the rows that are there; the index, where there is one, has an entry for each and no other. ``died``:
    what a process has left is no finding of the metadata table."""
    table = hoodoo.open(str(path))
    there = table.read(["id", "city", "_hoodie_record_key"]).to_arrow().combine_chunks()
    for city in ("c0", "c1", "nowhere"):
        found = table.read(["id"], where=f"city = '{city}'").to_arrow()["id"].to_pylist()
        wanted = [row["id"] for row in there.to_pylist() if row["city"] == city]
        assert sorted(found) == sorted(wanted), (why, city)
    if INDEX in listed(table.config):
        keys = (there.column(n).combine_chunks() for n in ("city", "_hoodie_record_key"))
        assert entries(table) == sorted(entry_keys(*keys).to_pylist()), why
    left = [f for f in table.verify().findings if not died or f.kind.startswith("metadata")]
    assert not left, (why, left)


def trials(count: int) -> list[tuple[str, str, When]]:
    """Each act in each kind of table, or ``count`` of these."""
    each = [(kind, act, when) for kind in KINDS for act in ACTS for when in WHEN]
    return each if MORE else random.Random(18).sample(each, count)


@pytest.mark.parametrize(("kind", "act", "when"), trials(2))
def test_a_process_that_ends_anywhere(
    tmp_path: Path, whole: Callable[[str, bool], Path], kind: str, act: str, when: When
) -> None:
    begun = whole(kind, act != "create")
    shutil.copytree(begun, counted := tmp_path / "counted")
    steps = len(mutations(counted, ACTS[act]))
    at = range(1, steps + 1)
    for number in at if MORE else [random.Random(act + kind).choice(at)]:
        shutil.copytree(begun, path := tmp_path / f"{number}")
        died = crash(path, ACTS[act], number, when)
        assert (
            died or number > steps - 3
        )  # a run may need a step less than the one that was counted
        check(path, (act, when, number, "died"), died=True)
        for plan in opened(path).clusterings():  # updates are refused until it is done
            opened(path).run_clustering(plan.instant)
            check(path, (act, when, number, "run"))
        opened(path).upsert(rows(range(4, 14), 3))
        check(path, (act, when, number, "next"))
        if act in ("create", "drop"):  # as the caller would go on
            with suppress(ConfigError):
                ACTS[act](opened(path))
            assert (INDEX in listed(opened(path).config)) == (act == "create"), (when, number)
            check(path, (act, when, number, "again"))
        shutil.rmtree(path)


class Between(Delegating):
    """``act`` happens once, before the ``at``-th change of the store."""

    def __init__(self, inner: Storage, at: int, act: Callable[[], object]) -> None:
        super().__init__(inner)
        self.at, self.act, self.count = at, act, 0

    def around(self, op: str, path: str, call: Callable[[], Any]) -> Any:
        if op.startswith(("put", "delete")):
            self.count += 1
            if self.count == self.at:
                self.act()
        return call()


BESIDE: dict[str, Callable[[hoodoo.Table], object]] = {
    "other rows": lambda t: t.upsert(rows(range(31, 37, 2), 2)),  # of y alone
    "same rows": lambda t: t.upsert(rows(range(8), 3)),
    "deletes": lambda t: t.delete([{"id": 3, "at": "y"}]),
}
PAIRS = [(kind, act, other) for kind in KINDS for act in ACTS for other in BESIDE]


@pytest.mark.parametrize(
    ("kind", "act", "other"), PAIRS if MORE else random.Random(7).sample(PAIRS, 2)
)
def test_another_writer_between_any_two_steps(
    tmp_path: Path, whole: Callable[[str, bool], Path], kind: str, act: str, other: str
) -> None:
    begun = whole(kind, act != "create")
    shutil.copytree(begun, counted := tmp_path / "counted")
    at = range(1, len(mutations(counted, ACTS[act])) + 1)
    for number in at if MORE else [random.Random(act + other).choice(at)]:
        shutil.copytree(begun, path := tmp_path / f"{number}")

        def beside(path: Path = path) -> None:
            with suppress(CommitConflictError, PendingClusteringError):
                BESIDE[other](opened(path))

        def between(inner: Storage, number: int = number) -> Storage:
            return Between(inner, number, beside)

        with suppress(CommitConflictError):
            ACTS[act](opened(path, wrap=between))
        check(path, (act, other, number))
        opened(path).upsert(rows(range(2, 40), 1))
        check(path, (act, other, number, "next"))
        shutil.rmtree(path)


@pytest.mark.parametrize("kind", KINDS)
def test_verify_finds_it_and_a_rebuild_mends_it(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that says that it keeps the index, and does not."""
    table = hoodoo.open(str(made(tmp_path / "t", kind)))
    assert table.verify().ok
    with monkeypatch.context() as patch:
        patch.setattr(SecondaryPartition, "write", lambda self, work: ())
        table.upsert([{"id": 1, "city": "oslo", "at": "y"}])
    found = [f for f in table.verify().findings if f.kind == "metadata.values"]
    assert {f.rule.split(" record keys")[0] for f in found} == {
        "it lacks the values of 1",
        "it has values of 1",
    }
    assert all("'1'" in f.rule and INDEX in f.obj and INDEX in f.fix for f in found)
    assert table.read(where="city = 'oslo'").count() == 0  # which is what the finding says
    table.rebuild_index(INDEX)
    assert table.read(where="city = 'oslo'").count() == 1
    check(tmp_path / "t", "rebuilt")
