"""Every option of Hudi that is about clustering does what it says, or is warned of with the reason."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import ConfigError, HoodooWarning
from hoodoo.kernel.options import known_to_hudi
from hoodoo.kernel.registry import kernel
from hoodoo.kernel.resolve import declared_options
from hoodoo_standard.engine.local import LocalEngine

pytestmark = pytest.mark.sampled(4)

REPO = Path(__file__).parents[3]
PREFIXES = ("hoodie.clustering.", "hoodie.datasource.clustering.", "hoodie.layout.optimize.")
KEYS = sorted(
    key for key in known_to_hudi()
    if key.startswith(PREFIXES) or key == "hoodie.filesystem.view.spillable.clustering.mem.fraction"
)  # fmt: skip
SCHEMA = pa.schema([("id", pa.int64()), ("part", pa.string()), ("x", pa.int64())])
EXECUTE = "hoodie.clustering.execution.strategy.class"
PLAN = "hoodie.clustering.plan.strategy.class"
UPDATES = "hoodie.clustering.updates.strategy"
# Classes of Hudi that nobody offers here, and tests/rfcs.md says so.
# Of Flink's, which nobody offers; frames of Hudi for classes of one's own; and names that are none.
REFUSED = [
    (PLAN, "org.apache.hudi.client.clustering.plan.strategy.FlinkConsistentBucketClusteringPlanStrategy"),
    (PLAN, "org.apache.hudi.table.action.cluster.strategy.PartitionAwareClusteringPlanStrategy"),
    (PLAN, "org.apache.hudi.table.action.cluster.strategy.ClusteringPlanStrategy"),
    (EXECUTE, "org.apache.hudi.client.clustering.run.strategy.MultipleSparkJobExecutionStrategy"),
    (EXECUTE, "org.apache.hudi.client.clustering.run.strategy.SingleSparkJobExecutionStrategy"),
    (EXECUTE, "org.apache.hudi.client.clustering.run.strategy.JavaExecutionStrategy"),
    (EXECUTE, "org.apache.hudi.client.clustering.run.strategy.SparkExternalFileClusteringExecutionStrategy"),
    (EXECUTE, "org.apache.hudi.client.clustering.run.strategy.NobodysExecutionStrategy"),
    (UPDATES, "org.apache.hudi.client.clustering.update.strategy.NobodysUpdateStrategy"),
]  # fmt: skip


def filled(path: Path, options: dict[str, Any] | None = None, parts: int = 4) -> hoodoo.Table:
    """Two files in each partition path."""
    table = hoodoo.create(str(path), SCHEMA, record_key="id", partition_by="part", options=options)
    for n in range(2):
        ids = list(range(n * 40, n * 40 + 40))
        table.append(pa.table([ids, [f"p{i % parts}" for i in ids], ids[::-1]], schema=SCHEMA))
    return table


def declared() -> set[str]:
    return {name for option in declared_options(using=kernel()) for name in option.names}


def test_there_are_as_many_as_in_hudi() -> None:
    assert len(KEYS) > 35


@pytest.mark.parametrize("key", KEYS)
def test_each_works_or_says_why_not(key: str, tmp_path: Path) -> None:
    if key in declared():
        assert f"`{key}`" in (REPO / "docs/options.md").read_text("utf-8")
        return
    with pytest.warns(HoodooWarning, match=rf"no effect in Hoodoo \({key}: .{{20}}"):
        filled(tmp_path, {key: "1"})


@pytest.mark.parametrize(("key", "name"), REFUSED)
def test_classes_that_nobody_offers_are_refused(key: str, name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=name.rpartition(".")[2]):
        filled(tmp_path, {key: name})


@pytest.mark.parametrize("index", [None, "record_index"])
def test_groups_at_once(tmp_path: Path, index: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files and rows are the same; tasks are fewer."""
    asked: list[int] = []
    tasks = LocalEngine.tasks

    def counted(self: LocalEngine, payloads: Any) -> Any:
        asked.append(len(payloads))
        return tasks(self, payloads)

    monkeypatch.setattr(LocalEngine, "tasks", counted)
    for most, expected in ((None, 4), (3, 3), (1, 1), (9, 4)):
        path = tmp_path / str(most)
        table = filled(path)
        if index:
            table.rebuild_index(index)
        options = {} if most is None else {"hoodie.clustering.max.parallelism": most}
        asked.clear()
        done = hoodoo.open(str(path), options).cluster(columns="x")
        assert len(done.files) == 4 and expected in asked
        table = hoodoo.open(str(path))
        assert sorted(table.read(columns=["id"]).to_arrow()["id"].to_pylist()) == list(range(80))
        if index:
            assert table.compare_indexes("simple", index).same and table.verify().ok


def test_inline_by_the_name_of_the_data_source(tmp_path: Path) -> None:
    options = {
        "hoodie.datasource.clustering.inline.enable": "true",
        "hoodie.clustering.inline.max.commits": 2,
        "hoodie.clustering.plan.strategy.sort.columns": "x",
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = filled(tmp_path, options)
    assert [i.action for i in table.timeline().instants].count("replacecommit") == 1
