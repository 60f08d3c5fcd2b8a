"""A process that ends at any step of a write leaves the old or the new table, and the next write goes on."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import crashing_store
import hoodoo
import pyarrow as pa
import pytest
from hoodoo.kernel.registry import kernel
from hoodoo.testing.distributions import fake_distribution
from hoodoo.testing.stores import Crash

SCHEMA = pa.schema([("id", pa.int64()), ("v", pa.string()), ("ts", pa.int64())])
KINDS = ("COPY_ON_WRITE", "MERGE_ON_READ")
OPTIONS = {
    "hoodie.table.base.file.format": "ARROW",
    "hoodie.metadata.enable": True,
    "hoodie.metadata.index.column.stats.enable": True,
}
Rows = dict[int, str]
OPERATIONS: dict[str, Callable[[Any], object]] = {
    "upsert": lambda t: t.upsert(rows({2: "new", 9: "new"}, 2)),
    "delete": lambda t: t.delete([1, 3]),
    "compact": lambda t: t.compact(),
    "cluster": lambda t: t.cluster(columns=["v"], order="linear"),
}


@pytest.fixture(scope="module", autouse=True)
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("store")
    fake_distribution(folder, "crashing", entry_points={"crashing_store": "crashing_store"})
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        kernel.cache_clear()
        yield
    kernel.cache_clear()


def rows(values: Rows, ts: int) -> pa.Table:
    columns = {"id": list(values), "v": list(values.values()), "ts": [ts] * len(values)}
    return pa.table(columns, schema=SCHEMA)


def seen(path: Path) -> Rows:
    found = hoodoo.open(str(path)).read(["id", "v"]).to_arrow()
    return dict(zip(found["id"].to_pylist(), found["v"].to_pylist(), strict=True))


def run(path: Path, operation: Callable[[Any], object], at: int = 0, when: str = "before") -> int:
    """How many steps the operation took, or would have, but for the crash."""
    crashing_store.NEXT.update(at=0, when="before")
    table = hoodoo.open(f"crashing://{path}", options={"hoodoo.local.threads": 1})
    store = crashing_store.MADE[-1]
    store.at, store.when, store.count = at, when, 0  # type: ignore[assignment]
    if at:
        with pytest.raises(Crash):
            operation(table)
    else:
        operation(table)
    return store.count


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_crash_at_every_step(tmp_path: Path, name: str, kind: str) -> None:
    if (name, kind) == ("compact", "COPY_ON_WRITE"):
        pytest.skip("such a table has no log files to compact")
    base = tmp_path / "base"
    table = hoodoo.create(
        str(base), SCHEMA, record_key="id", ordering="ts", table_type=kind, index="bloom",
        options=OPTIONS,
    )  # fmt: skip
    table.insert(rows({n: "old" for n in range(6)}, 1))
    table.upsert(rows({4: "mid"}, 1))
    if (name, kind) == ("cluster", "MERGE_ON_READ"):
        table.compact()  # it leaves slices with log files alone
    old = seen(base)
    done = shutil.copytree(base, tmp_path / "done")
    steps = run(done, OPERATIONS[name])
    new = seen(done)
    assert steps > 5
    for at in range(1, steps + 1):
        when = ("before", "after", "torn")[at % 3]
        path = shutil.copytree(base, tmp_path / f"{at}")
        run(path, OPERATIONS[name], at, when)
        found = seen(path)
        where = f"{when} step {at} of {steps}"
        assert found in (old, new), where
        again = hoodoo.open(str(path))
        again.upsert(rows({77: "next"}, 3))
        assert seen(path) == {**found, 77: "next"}, where
        assert again.verify().ok, where
        shutil.rmtree(path)
