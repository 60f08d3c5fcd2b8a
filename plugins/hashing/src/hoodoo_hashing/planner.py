"""Which buckets are split, and which neighbours become one: by their bytes.

Source: ``BaseConsistentHashingBucketClusteringPlanStrategy`` of Hudi 1.2, which also rewrites all
other buckets; here that is done where sort columns are named."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve, field, frozen
from hoodoo.errors import UnsupportedTableError
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.answers import plain
from hoodoo.model.filegroup import FileSlice
from hoodoo.timeline.snapshot import Snapshot
from hoodoo_clustering.hookspecs.clustering import (
    Clusterable,
    ClusteredTable,
    ClusteringGroup,
    GroupSizes,
)
from hoodoo_standard.options import LEAST_BUCKETS, MAX_FILE_SIZE, MOST_BUCKETS

from hoodoo_hashing.index import ConsistentIndex
from hoodoo_hashing.options import MERGE, SPLIT
from hoodoo_hashing.pending import group_extra, resizes
from hoodoo_hashing.ring import REPLACE, Node, new_prefix
from hoodoo_hashing.stored import PathRing

_SORT_COLUMNS = "hoodie.clustering.plan.strategy.sort.columns"


@frozen
class ResizeBuckets:
    """Implements :class:`~hoodoo_clustering.hookspecs.clustering.ClusteringPlanner`. ``split``,
    ``merge``: bytes of a bucket; ``least``, ``most``: how many buckets a partition path has, None
    for as many as at first. ``rest``: whether the buckets that stay are rewritten, too."""

    split: int
    merge: int
    least: int | None = None
    most: int | None = None
    rest: bool = False
    table: ClusteredTable | None = field(default=None, eq=False)

    @classmethod
    def from_settings(cls, settings: Settings) -> ResizeBuckets:
        full = settings.value(MAX_FILE_SIZE)
        return cls(
            int(full * settings.value(SPLIT)),
            int(full * settings.value(MERGE)),
            settings.given(LEAST_BUCKETS),
            settings.given(MOST_BUCKETS),
            bool(settings.get(_SORT_COLUMNS)),
        )

    @property
    def order(self) -> str | None:
        return "consistent_bucket"

    @property
    def bounds_of(self) -> tuple[str, ...]:
        return ()

    def of_table(self, table: ClusteredTable) -> ResizeBuckets:
        index_of(table)
        return evolve(self, table=table)

    def group(
        self, candidates: Sequence[Clusterable], sizes: GroupSizes
    ) -> Sequence[ClusteringGroup]:
        table = self.table
        if table is None or not candidates:
            return ()
        # A writer that has not seen the plan puts rows into the old file groups alone.
        if any(i.completes_as_write and not i.traits.is_service for i in table.timeline.pending()):
            return ()
        path = candidates[0].slice.partition_path
        if path in resizes(Snapshot(table.storage, table.timeline)):
            return ()
        now = self._ring(table, path, [c.slice for c in candidates])
        seed = table.timeline.last_instant_time()
        return _Plan(self, now, sizes.group, f"{seed}/{path}").groups(candidates)

    def choose(self, groups: Sequence[ClusteringGroup]) -> Sequence[ClusteringGroup]:
        return groups

    def _ring(self, table: ClusteredTable, path: str, slices: Sequence[FileSlice]) -> PathRing:
        return index_of(table).rings(table.storage, table.timeline, slices, [path])[path]


def index_of(table: ClusteredTable) -> ConsistentIndex:
    """The index of the table. UnsupportedTableError where it is another one."""
    index = plain(table.index)
    if isinstance(index, ConsistentIndex):
        return index
    raise UnsupportedTableError(
        f"table {table.config.name}",
        "has no buckets that could be split or merged: its index is another one.",
        "Choose another plan of clustering, or an index with "
        "hoodie.index.bucket.engine=CONSISTENT_HASHING when a table "
        "is made.",
    )


@frozen
class _Plan:
    """One of a partition path with the ring ``now``. ``most``: bytes of a group."""

    rule: ResizeBuckets
    now: PathRing
    most: int
    seed: str

    def groups(self, candidates: Sequence[Clusterable]) -> list[ClusteringGroup]:
        places = {self.now.ring.at(c.slice.file_id): c for c in candidates}
        there = {place: c for place, c in places.items() if place is not None}
        split = self._split(there)
        left = {place: c for place, c in there.items() if place not in split}
        slots = len(self.now.ring) - self._least + len(split)
        merged = self._merged(left, slots)
        found = [self._group([there[p]], nodes) for p, nodes in split.items()]
        for run in merged:
            nodes = self.now.ring.merged(run, self._prefix(run[-1]))
            found.append(self._group([there[p] for p in run], nodes))
        if self.rule.rest:
            gone = {*split, *(p for run in merged for p in run)}
            for place in sorted(left.keys() - gone):
                value = self.now.ring.nodes[place].value
                node = Node(value, self._prefix(place), REPLACE)
                found.append(self._group([there[place]], (node,)))
        return found

    @property
    def _least(self) -> int:
        return min(self.rule.least or self.now.first, self.now.first)

    @property
    def _most(self) -> int:
        return max(self.rule.most or self.now.first, self.now.first)

    def _split(self, there: dict[int, Clusterable]) -> dict[int, tuple[Node, Node]]:
        """The largest first."""
        found: dict[int, tuple[Node, Node]] = {}
        slots = self._most - len(self.now.ring)
        for place in sorted(there, key=lambda p: (-there[p].size, p)):
            if there[place].size <= self.rule.split or len(found) >= slots:
                break
            halves = self.now.ring.halves(place, [self._prefix(place, n) for n in (0, 1)])
            if halves is not None:
                found[place] = halves
        return found

    def _merged(self, left: dict[int, Clusterable], slots: int) -> list[list[int]]:
        """Runs of neighbours that come to no more than the limit; ``slots``: how many buckets may
        go."""
        runs: list[list[int]] = []
        run: list[int] = []
        size = 0
        limit = min(self.rule.merge, self.most)
        for place in range(len(self.now.ring)):
            one = left.get(place)
            fits = one is not None and size + one.size <= limit
            if run and fits and slots:
                run.append(place)
                slots -= 1
            else:
                runs += [run] if len(run) > 1 else []
                run, size = ([], 0) if one is None or one.size > limit else ([place], 0)
            if one is not None:
                size += one.size
        return [*runs, run] if len(run) > 1 else runs

    def _prefix(self, place: int, part: int = 0) -> str:
        return new_prefix(self.seed, self.now.ring.nodes[place].file_id, part)

    def _group(self, slices: list[Clusterable], nodes: tuple[Node, ...]) -> ClusteringGroup:
        extra = group_extra(self.now.path, nodes, self.now.seq)
        outputs = sum(node.tag == REPLACE for node in nodes)
        return ClusteringGroup(tuple(slices), outputs, extra)
