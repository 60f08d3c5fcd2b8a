"""Settings of scheduling: Hudi's defaults, and what can't be."""

from __future__ import annotations

from pathlib import Path

import hoodoo
import pytest
from attrs import evolve
from hoodoo.errors import ConfigError
from hoodoo.options.option import Option
from hoodoo_clustering import options as keys
from hoodoo_clustering.options import CLUSTERING_OPTIONS
from hoodoo_clustering.settings import ClusteringSettings, filter_name

MIB = 1 << 20
KNOWN = Path(hoodoo.__file__).parent / "model" / "known_options.txt"


def test_the_defaults_are_those_of_hudi() -> None:
    assert ClusteringSettings.of({}) == ClusteringSettings()
    assert ClusteringSettings() == ClusteringSettings(
        small=None, target=1024 * MIB, group=2048 * MIB, groups=30, layout="LINEAR",
        single=True, incremental=True, with_logs=False,
    )  # fmt: skip


def test_the_options_declare_these_defaults() -> None:
    said = {option.key: option.default for option in CLUSTERING_OPTIONS if option.default}
    assert evolve(ClusteringSettings.of(said), small=None) == ClusteringSettings()
    assert ClusteringSettings.of(said).limit == ClusteringSettings().limit == 300 * MIB
    known = set(KNOWN.read_text("utf-8").split())
    assert {o.key for o in CLUSTERING_OPTIONS if o.key.startswith("hoodie.")} <= known


def test_everything_given() -> None:
    strategy = "hoodie.clustering.plan.strategy."
    options = {
        f"{strategy}small.file.limit": "1", f"{strategy}target.file.max.bytes": "2",
        f"{strategy}max.bytes.per.group": "3", f"{strategy}max.num.groups": "4",
        f"{strategy}sort.columns": " city, n,city,", "hoodie.layout.optimize.strategy": "zorder",
        f"{strategy}partition.regex.pattern": "2024/.*", f"{strategy}partition.selected": "a,b",
        "hoodoo.clustering.partitions.order": "latest",
        f"{strategy}earliest.commit.to.cluster": "20240101000000000",
        f"{strategy}single.group.clustering.enabled": "false",
        "hoodie.table.services.incremental.enabled": "False",
        "hoodoo.clustering.with.log.files": "true",
    }  # fmt: skip
    assert set(options) <= {option.key for option in CLUSTERING_OPTIONS}
    assert ClusteringSettings.of(options) == ClusteringSettings(
        1, 2, 3, 4, ("city", "n"), "ZORDER", "2024/.*", ("a", "b"),
        True, "20240101000000000", False, False, True,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("option", "bad"),
    [
        (keys.SMALL, "-1"), (keys.SMALL, "1.5"), (keys.TARGET, "0"),
        (keys.GROUP, "many"), (keys.GROUPS, "0"), (keys.LAYOUT, "SPIRAL"),
        (keys.PATTERN, "20(24"), (keys.ORDER, "newest"), (keys.SINGLE, "maybe"),
        (keys.INCREMENTAL, "2"), (keys.WITH_LOGS, ""),
    ],
)  # fmt: skip
def test_bad_values_are_named(option: Option, bad: str) -> None:
    with pytest.raises(ConfigError, match=option.key.replace(".", r"\.")) as caught:
        ClusteringSettings.of({option.key: bad})
    assert caught.value.rule
    assert caught.value.fix


@pytest.mark.parametrize(
    ("name", "mode"),
    [("SparkRecentDaysClusteringPlanStrategy", "recent_days"),
     ("JavaRecentDaysClusteringPlanStrategy", "recent_days"),
     ("FlinkRecentDaysClusteringPlanStrategy", "recent_days"),
     ("SparkSelectedPartitionsClusteringPlanStrategy", "selected_partitions"),
     ("FlinkSelectedPartitionsClusteringPlanStrategy", "selected_partitions"),
     ("SparkSizeBasedClusteringPlanStrategy", "NONE")],
)  # fmt: skip
def test_deprecated_planners_are_filters(name: str, mode: str) -> None:
    options = {keys.PLANNER.key: f"org.apache.hudi.client.clustering.plan.strategy.{name}"}
    assert filter_name(options) == mode
    assert filter_name({**options, keys.FILTER.key: "DAY_ROLLING"}) == "DAY_ROLLING"


def test_lists() -> None:
    for text, names in ((" ,, ", ()), ("b, a ,b", ("b", "a"))):
        assert ClusteringSettings.of({keys.SELECTED.key: text}).selected == names
