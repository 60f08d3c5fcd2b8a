"""Clustering: which file slices are rewritten together, and in which order their rows come
(RFC-19)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa
from attrs import field, frozen
from hoodoo.hookspecs.answers import Names, Some, answers
from hoodoo.hookspecs.family import Family, Optional
from hoodoo.model.commit import WriteStat
from hoodoo.model.config import TableConfig
from hoodoo.model.filegroup import FileSlice
from hoodoo.storage.api import Storage
from hoodoo.timeline.timeline import Timeline

# What is known of a column in a slice: its least and greatest value; None where all are null, or it
# isn't known.
Bounds = tuple[Any, Any] | None
# Role of registrations: what a table has whose index says where rows lie, and nobody says another
# one.
RESIZES = "resizes"


@frozen
class Clusterable:
    """A file slice that may be clustered. ``bounds``: of the columns that the strategy asked for
    (values as Arrow's ``as_py`` gives them). ``rows`` is None where nobody has counted them."""

    slice: FileSlice
    bounds: Mapping[str, Bounds] = field(factory=dict, eq=False)
    rows: int | None = None

    @property
    def size(self) -> int:
        """Bytes of its files."""
        return self.slice.size


@frozen
class GroupSizes:
    """What groups should come to, in bytes. ``target``: of a file that clustering makes; ``group``:
    the most that one group reads; a group's bytes should be a multiple of ``target`` where that can
    be had."""

    target: int
    group: int

    def outputs(self, size: int) -> int:
        """How many files ``size`` bytes become."""
        return max(1, -(-size // self.target))


@frozen
class ClusteringGroup:
    """Slices of one partition path that are rewritten together. ``outputs``: how many files they
    are to become; None: as many as their bytes make of the target. ``extra``: what runs the plan
    goes by besides; such a group is worth its rewriting."""

    slices: tuple[Clusterable, ...]
    outputs: int | None = None
    extra: Mapping[str, str] = field(factory=dict, eq=False)

    @property
    def partition_path(self) -> str:
        return self.slices[0].slice.partition_path

    @property
    def size(self) -> int:
        return sum(item.size for item in self.slices)


@runtime_checkable
class ClusteringPlanner(Protocol):
    """Contract suite: ``hoodoo_clustering.testing.clustering_plan``. Pure: answers depend on the
    arguments."""

    @property
    @answers(Names())
    def bounds_of(self) -> tuple[str, ...]:
        """The columns whose bounds it wants to see. ``_hoodie_record_key`` is one."""

    def group(
        self, candidates: Sequence[Clusterable], sizes: GroupSizes
    ) -> Sequence[ClusteringGroup]:
        """Groups of ``candidates``, which are of one partition path and sorted by file id. Each
        candidate comes at most once. A group of more than one slice has at most ``sizes.group``
        bytes."""

    @answers(Some("groups", "groups"))
    def choose(self, groups: Sequence[ClusteringGroup]) -> Sequence[ClusteringGroup]:
        """Those of the ``groups`` of all partition paths that are worth their rewriting, the most
        urgent first. Core plans the first of them, as many as the options allow."""


@runtime_checkable
class NamesOrder(Protocol):
    """Members that a planner may have."""

    @property
    def order(self) -> str | None:
        """The name of what its groups are to be rewritten by, unless the call says another; None:
        options decide."""


@frozen
class ClusteredTable:
    """What a planner, or an order, may look at besides: the table as it is when it is planned, or
    run."""

    storage: Storage
    timeline: Timeline
    config: TableConfig
    index: Any


@runtime_checkable
class OfTable(Protocol):
    """What planners and orders may have in addition: only those can cluster a table whose index
    says where rows lie (:data:`~hoodoo.hookspecs.index.COMPUTED`)."""

    def of_table(self, table: ClusteredTable) -> Any:
        """One that knows the table. Raises UnsupportedTableError for a table that it is not for."""


@runtime_checkable
class PlacesRows(Protocol):
    """What an order may have in addition: it says which file each row goes to, instead of cutting
    files by size. ``extra``: as the planner said of the group."""

    @answers(Names())
    def file_ids(self, extra: Mapping[str, str]) -> tuple[str, ...]:
        """Of the files that the group becomes, in the order in which they are written."""

    def file_of(self, rows: pa.Table, extra: Mapping[str, str]) -> pa.Array:
        """The place among :meth:`file_ids` for each row: int32. ``rows`` has the record keys, and
        all columns."""


@frozen
class ClusteredFile:
    """A file that a clustering made; ``bounds``: of the columns that the order names."""

    stat: WriteStat
    bounds: Mapping[str, Bounds] = field(factory=dict, eq=False)


@frozen
class ClusteredGroup:
    """What became of a group of the plan."""

    slices: tuple[FileSlice, ...]
    files: tuple[ClusteredFile, ...]


@runtime_checkable
class Clustering(Protocol):
    """How a group is rewritten. Contract suite: ``hoodoo_clustering.testing.clustering``.
    Picklable, pure.

    All that it goes by is in the plan: its factory's settings hold the plan's parameters as
    options."""

    @property
    @answers(Names())
    def columns(self) -> tuple[str, ...]:
        """The columns that :meth:`keys` looks at, fields of structs as ``outer.inner``; none: rows
        stay in the order in which they come."""

    @property
    def sample_rows(self) -> int:
        """About how many rows :meth:`fitted` wants to see; 0: it isn't asked."""

    def fitted(self, sample: pa.Table) -> Clustering:
        """One that knows how values are spread. ``sample``: rows from all over the group, of
        ``columns``; the same for each attempt. Called at most once for each group; may answer
        itself."""

    def keys(self, rows: pa.Table) -> Sequence[pa.ChunkedArray | pa.Array]:
        """What rows are sorted by, ascending, nulls first, the most significant first: arrays as
        long as ``rows``, of types that Arrow sorts. ``rows`` has ``columns``, perhaps more."""

    def told(self, groups: Sequence[ClusteredGroup]) -> Mapping[str, str]:
        """What the commit shall say of it, besides what core says."""


@runtime_checkable
class OneFile(Protocol):
    """Members that a clustering may have."""

    @property
    def one_file(self) -> bool:
        """Whether each group is one slice, and becomes one file whatever its size."""


ORDERS = Family(
    "hoodoo_clusterings",
    """Offer ways to order and write the rows of a group. When: a clustering is run. Default:
    ``linear``.

    Names and aliases, among them Java class names, are those of ``strategyClassName`` in the plan.
    The factory returns a :class:`Clustering`; its settings' options are the plan's parameters.""",
    (Clustering,),
    (OneFile, OfTable, PlacesRows),
    {"one_file": Optional(False)},
    travels=True,
)


PLANS = Family(
    "hoodoo_clustering_plans",
    """Offer ways to group file slices. When: a clustering is scheduled. Default: ``size``.

    Names and aliases are looked up with ``hoodie.clustering.plan.strategy.class``. The factory
    returns a :class:`ClusteringPlanner`.""",
    (ClusteringPlanner,),
    (NamesOrder, OfTable),
    {"order": Optional(None)},
)
