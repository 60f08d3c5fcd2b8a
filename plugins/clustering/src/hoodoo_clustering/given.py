"""What a call of a clustering names: its plan, how rows are written, columns and partitions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

from hoodoo.errors import (
    ConfigError,
    UnsupportedTableError,
)
from hoodoo.hookspecs.index import ComputedIndex, PathIndex
from hoodoo.hookspecs.registration import Registration, Settings
from hoodoo.kernel.answers import plain
from hoodoo.kernel.registry import kernel
from hoodoo.kernel.resolve import in_role, resolve
from hoodoo.options.option import Option
from hoodoo.timeline.plans import PLANNER
from hoodoo.timeline.timeline import Timeline

from hoodoo_clustering import options as keys
from hoodoo_clustering.bounds import kind_of
from hoodoo_clustering.hookspecs.clustering import (
    RESIZES,
    ClusteredTable,
    Clustering,
    OfTable,
)
from hoodoo_clustering.hookspecs.partition_filter import PartitionFilter
from hoodoo_clustering.hookspecs.resizing import ResizesBuckets
from hoodoo_clustering.plan import ClusteringPlan
from hoodoo_clustering.run import ClusteringExecution

if TYPE_CHECKING:
    from hoodoo.table.handle import TableHandle


# Hudi's own strategy, and the orders that it knows as layouts.
_SORTS = "org.apache.hudi.client.clustering.run.strategy.SparkSortAndSizeExecutionStrategy"


_LAYOUTS = ("linear", "zorder", "hilbert")


def plan_strategy(
    table: TableHandle, order: Any, options: Mapping[str, str]
) -> tuple[Clustering, str, str, dict[str, str]]:
    """What lays out the rows, its name, how the plan names it, and all that it goes by."""
    columns = keys.SORT_COLUMNS.given(options) or ()
    default = keys.EXECUTION.given(options) or (
        keys.LAYOUT.read(options).lower() if columns else "combine"
    )
    wanted = default if order is None else order
    asked = dict(options)
    if wanted in _LAYOUTS:
        _check_columns(columns, wanted)
        asked[keys.LAYOUT.key] = wanted.upper()
    found, ref = resolve("clustering", wanted, Settings(table.config, asked))
    offer = kernel().find("clustering", ref.name)
    registration = None if offer is None else offer.registration
    params = {keys.TARGET.key: str(keys.TARGET.read(options))}
    if columns and ref.name != "combine":
        params[keys.SORT_COLUMNS.key] = keys.SORT_COLUMNS.spell(columns)
    declared = () if registration is None else registration.options
    params |= {o.key: o.spell(o.read(options)) for o in declared if o.is_in(options)}
    if ref.name in (*_LAYOUTS, "combine"):
        if ref.name != "combine":
            params[keys.LAYOUT.key] = ref.name.upper()
        return found, ref.name, _SORTS, params
    if ref.name == "single_file" and keys.LAYOUT.is_in(options):
        params[keys.LAYOUT.key] = keys.LAYOUT.read(options)
    return found, ref.name, _java_name(registration) or ref.name, params


def execution_of(table: TableHandle, given: Any, plan: ClusteringPlan) -> ClusteringExecution:
    # The plan alone says it; another tool's doesn't say all.
    options = dict(plan.params)
    own: tuple[Option, ...] = () if PLANNER in plan.extra else (keys.TARGET, keys.LAYOUT)
    for option in own:
        said = option.given(table.options)
        if said is not None and not option.is_in(options):
            options[option.key] = option.spell(said)
    found, ref = resolve("clustering", given or plan.strategy, Settings(table.config, options))
    strategy: Clustering = made_for(table, found, plan.strategy)(table.timeline())
    name = ref.name
    if plan.strategy == _SORTS:
        name = keys.LAYOUT.read(options).lower() if strategy.columns else "combine"
    memory = keys.MEMORY.given(table.options)
    return ClusteringExecution(strategy, name, keys.TARGET.read(options), memory)


def check_clusterable(table: TableHandle) -> None:
    index = table.plugins().index
    # With rules by path the index is no computed one: its numbers become others by a resize alone.
    if isinstance(index, ComputedIndex) or isinstance(plain(index), ResizesBuckets):
        raise UnsupportedTableError(
            f"table {table.config.name}",
            "has an index that computes the file group of a key, and clustering would move rows "
            "away "
            "from there",
            "leave its layout to the index, or copy the rows into a table with another one.",
        )


def made_for(table: TableHandle, part: Any, name: Any) -> Callable[[Timeline], Any]:
    """``part``, a planner or an order, as of a timeline of the table. UnsupportedTableError where
    it is not for the table's index."""
    plugins = table.plugins()
    if isinstance(part, OfTable):
        return lambda timeline: part.of_table(
            ClusteredTable(table.storage, timeline, table.config, plugins.index)
        )
    if isinstance(plugins.index, PathIndex):
        raise UnsupportedTableError(
            f"clustering by {name!r}",
            "would move rows away from the file groups where the index of the table looks for "
            "them.",
            f"Leave it out: this table is clustered by {in_role('clustering_plan', RESIZES)!r}.",
        )
    return lambda timeline: part


def check_there(table: TableHandle, columns: Iterable[str]) -> None:
    schema = table.schema
    for name in columns:
        if name not in schema.names and kind_of(schema, name) is None:
            raise ConfigError(
                f"clustering by column {name}",
                f"the table has no such column (it has {', '.join(schema.names)}).",
                "Name columns that there are.",
            )


def given_columns(
    columns: str | Sequence[str] | None,
    target_file_size: int | None,
    partitions: str | Sequence[str] | PartitionFilter | None,
) -> dict[str, str]:
    """Arguments as the options that they stand for."""
    given: dict[str, str] = {}
    for key, value in (
        (keys.SORT_COLUMNS.key, columns),
        (keys.SELECTED.key, partitions),
    ):
        if are_paths(value) and value is not None:
            texts = [value] if isinstance(value, str) else list(value)
            if not all(isinstance(text, str) for text in texts):
                raise ConfigError(
                    f"{key}={texts!r}", "holds what is no text.", "Give a list of texts."
                )
            if key == keys.SELECTED.key and not texts:
                raise ConfigError(
                    f"{key}=[]",
                    "names no partition path.",
                    "Leave it out for all of them; or do not call cluster where there is nothing "
                    "to do.",
                )
            if key == keys.SELECTED.key and any(text != text.strip() for text in texts):
                raise ConfigError(
                    f"{key}={texts!r}",
                    "has a space at the end of a name, and options lose it.",
                    "Choose partition paths by a plugin: partitions= takes a PartitionFilter, too.",
                )
            if not isinstance(value, str) and any("," in text for text in texts):
                raise ConfigError(
                    f"{key}={texts!r}",
                    "has a comma in a name, and commas separate them.",
                    "Choose partition paths by a plugin: partitions= takes a PartitionFilter, too.",
                )
            given[key] = ",".join(texts)
    if target_file_size is not None:
        given[keys.TARGET.key] = str(target_file_size)
    return given


def are_paths(
    partitions: str | Sequence[str] | PartitionFilter | None,
) -> TypeGuard[str | Sequence[str] | None]:
    """Else it is a filter of partitions."""
    return partitions is None or isinstance(partitions, (str, Iterable))


def _check_columns(columns: Sequence[str], name: str) -> None:
    if not columns:
        raise ConfigError(
            f"order {name}",
            "has no columns to sort by.",
            f"Name some: columns=[...], or the option {keys.SORT_COLUMNS.key}.",
        )


def _java_name(registration: Registration | None) -> str | None:
    """The class that Spark Hudi knows it by."""
    aliases = () if registration is None else registration.aliases
    return next((alias for alias in aliases if alias.startswith("org.apache.hudi.")), None)
