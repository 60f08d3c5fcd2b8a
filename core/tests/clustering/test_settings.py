"""Settings of scheduling: Hudi's defaults, and what can't be."""

from __future__ import annotations

from pathlib import Path

import pytest
from hoodoo.clustering import settings
from hoodoo.clustering.settings import ClusteringSettings, named
from hoodoo.errors import ConfigError
from hoodoo.kernel.clustering_options import CLUSTERING_OPTIONS

MIB = 1 << 20
KNOWN = Path(settings.__file__).parents[1] / "model" / "known_options.txt"


def test_the_defaults_are_those_of_hudi() -> None:
    assert ClusteringSettings.of({}) == ClusteringSettings()
    assert ClusteringSettings() == ClusteringSettings(
        small=300 * MIB, target=1024 * MIB, group=2048 * MIB, groups=30, layout="LINEAR",
        filter="NONE", lookback=2, skip=0, single=True, incremental=True, with_logs=False,
    )  # fmt: skip


def test_the_options_declare_these_defaults() -> None:
    said = {option.key: option.default for option in CLUSTERING_OPTIONS if option.default}
    assert ClusteringSettings.of(said) == ClusteringSettings()
    known = set(KNOWN.read_text("utf-8").split())
    assert {o.key for o in CLUSTERING_OPTIONS if o.key.startswith("hoodie.")} <= known


def test_everything_given() -> None:
    strategy = "hoodie.clustering.plan.strategy."
    options = {
        f"{strategy}small.file.limit": "1", f"{strategy}target.file.max.bytes": "2",
        f"{strategy}max.bytes.per.group": "3", f"{strategy}max.num.groups": "4",
        f"{strategy}sort.columns": " city, n,city,", "hoodie.layout.optimize.strategy": "zorder",
        "hoodie.clustering.plan.partition.filter.mode": "recent_days",
        f"{strategy}daybased.lookback.partitions": "5",
        f"{strategy}daybased.skipfromlatest.partitions": "6",
        f"{strategy}partition.regex.pattern": "2024/.*", f"{strategy}partition.selected": "a,b",
        f"{strategy}cluster.begin.partition": "c", f"{strategy}cluster.end.partition": "d",
        "hoodoo.clustering.partitions.order": "latest",
        f"{strategy}earliest.commit.to.cluster": "20240101000000000",
        f"{strategy}single.group.clustering.enabled": "false",
        "hoodie.table.services.incremental.enabled": "False",
        "hoodoo.clustering.with.log.files": "true",
    }  # fmt: skip
    assert set(options) <= {option.key for option in CLUSTERING_OPTIONS}
    assert ClusteringSettings.of(options) == ClusteringSettings(
        1, 2, 3, 4, ("city", "n"), "ZORDER", "RECENT_DAYS", 5, 6, "2024/.*", ("a", "b"), "c", "d",
        True, "20240101000000000", False, False, True,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("key", "bad"),
    [
        (settings.SMALL, "-1"), (settings.SMALL, "1.5"), (settings.TARGET, "0"),
        (settings.GROUP, "many"), (settings.GROUPS, "0"), (settings.LAYOUT, "SPIRAL"),
        (settings.FILTER, "SOME"), (settings.LOOKBACK, ""), (settings.SKIP, "-2"),
        (settings.PATTERN, "20(24"), (settings.ORDER, "newest"), (settings.SINGLE, "yes"),
        (settings.INCREMENTAL, "1"), (settings.WITH_LOGS, ""),
    ],
)  # fmt: skip
def test_bad_values_are_named(key: str, bad: str) -> None:
    with pytest.raises(ConfigError, match=key.replace(".", r"\.")) as caught:
        ClusteringSettings.of({key: bad})
    assert caught.value.rule
    assert caught.value.fix


@pytest.mark.parametrize(
    ("name", "mode"),
    [("SparkRecentDaysClusteringPlanStrategy", "RECENT_DAYS"),
     ("SparkSelectedPartitionsClusteringPlanStrategy", "SELECTED_PARTITIONS"),
     ("SparkSizeBasedClusteringPlanStrategy", "NONE")],
)  # fmt: skip
def test_deprecated_planners_are_filters(name: str, mode: str) -> None:
    options = {settings.PLAN_CLASS: f"org.apache.hudi.client.clustering.plan.strategy.{name}"}
    assert ClusteringSettings.of(options).filter == mode
    assert (
        ClusteringSettings.of({**options, settings.FILTER: "DAY_ROLLING"}).filter == "DAY_ROLLING"
    )


def test_lists() -> None:
    assert named(None) == named(" ,, ") == ()
    assert named("b, a ,b") == ("b", "a")
