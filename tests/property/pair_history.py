"""A pairwise history: random writes and services on one kind of table, compared with the dictionary after each."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import hoodoo
import pair_space as space
import pyarrow as pa
import pyarrow.compute as pc
from attrs import define, evolve, field
from hoodoo.errors import (
    CommitConflictError,
    ConfigError,
    DataError,
    DuplicateKeyError,
    HoodooError,
    PendingClusteringError,
    UnsupportedTableError,
)
from hoodoo.model.meta import META_COLUMNS
from hoodoo_rows.write.commit import Commit
from pair_checks import check_hudi, check_rows, same
from pair_model import PairModel, PairSetup
from pair_space import DEAD
from table_checks import as_uuids, table_of
from table_model import Row, Stored

KEYS = 9
PLANS = ("size", "key_range", "commit_time", "overlap", "random")
ORDERS = ("linear", "zorder", "hilbert", "combine")
POLICIES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("by_commits", {"commits_retained": 1}), ("by_versions", {"fileversions_retained": 1}),
    ("by_hours", {"hours_retained": 0}),
)  # fmt: skip
OTHERS = (*(i for i in space.IN_PATHS if i not in ("bucket", space.HASHED)), *space.GLOBAL)
# What makes all buckets of consistent hashing too large, or too small.
RESIZES = (
    {"hoodie.bucket.index.split.threshold": "0", "hoodie.bucket.index.merge.threshold": "0"},
    {"hoodie.bucket.index.split.threshold": "9", "hoodie.bucket.index.merge.threshold": "1"},
)
INSTANTS = (
    "00000000000001",
    "00000000000002",
)  # of a bootstrap: skeletons, and rows that are copied
# Kind of step -> how often.
STEPS = {
    "upsert": 10, "upsert marked as deleted": 3, "upsert few columns": 2, "upsert a new column": 1,
    "insert": 2, "append": 1, "bulk_insert": 1, "delete keys": 2, "delete rows": 2,
    "insert_overwrite": 2, "insert_overwrite_table": 1, "delete_partitions": 1,
    "compact": 2, "plan a compaction": 2, "log compaction": 3, "plan a log compaction": 1, "cluster": 2, "plan a clustering": 2, "cancel a clustering": 1,
    "clean": 2, "archive": 1, "savepoint": 1, "restore": 2, "rollback": 2, "rebuild_index": 1,
    "resize buckets": 2, "make a record index of buckets": 1, "make a growing index": 1, "switch_index": 2, "rewrite": 1, "change the version": 1, "expression index": 1, "columns by hand": 2, "rewrite_keys": 1, "stored keys again": 1, "compact_metadata": 1, "open again": 1,
}  # fmt: skip


def _is_nested(kind: pa.DataType) -> bool:
    return pa.types.is_nested(kind) or isinstance(kind, pa.BaseExtensionType)


def _is_renamed(name: str) -> bool:
    return name.split("_")[0] in (*space.PAYLOAD, *space.OF_HUDI_1_2) and "_" in name


class Passed(Exception):
    """The step has nothing to do now."""


@define
class History:
    """``draw`` makes all choices. ``past``: (instant, rows, schema) of writes that the table can go back to.
    ``told``: what was done, for who wants to know. ``wrote``: the instant of this step's write."""

    config: dict[str, str]
    folder: Path
    draw: random.Random
    engine: str | None = None
    cell: Callable[[str, dict[str, str]], None] = lambda kind, config: None
    table: hoodoo.Table = field(init=False)
    model: PairModel = field(init=False)
    schema: pa.Schema = field(init=False)
    past: list[tuple[str, PairModel, pa.Schema]] = field(factory=list)
    told: list[str] = field(factory=list)
    saved: set[str] = field(factory=set)
    known: set[str] = field(factory=set)
    sure: str = field(init=False)
    wrote: str = ""
    altered: bool = False  # columns by hand: `hudi` knows nothing of it
    clock: int = 0
    fresh: int = 100

    def __attrs_post_init__(self) -> None:
        self.sure = self.config.pop(space.STEP, "")
        self.schema = space.schema(self.config)
        self.model = PairModel(PairSetup.of(self.config))
        begins = self.config["made by"] != space.CREATE
        rows = self._first_rows() if begins else []
        places = [self.setup.partition_path(row.values) for row in rows]
        data = self._data(rows)
        self.table = space.make(self.config, self.path, data, places, self.engine)
        if begins:
            self._begun(rows, max(places))

    def _first_rows(self) -> list[Row]:
        """Of a source: no key twice."""
        keys = self.draw.sample(range(KEYS), self.draw.randrange(1, KEYS))
        return [self._row(key) for key in keys]

    def _begun(self, rows: list[Row], copied: str) -> None:
        """What a bootstrap has made of them; the rows of the partition path ``copied`` may be in a commit of their own."""
        for row in rows:
            path, key = self.model.place(row)
            second = self.config["made by"] == space.COPIED and path == copied
            self.model.rows[path, key] = Stored(row.values, row.rank, path, key, INSTANTS[second])
        self.known.update(write.requested for write in self.table.timeline().writes())
        self.past.append((max(self.known), self.model.copy(), self.schema))
        self._look("a bootstrap")

    @property
    def path(self) -> Path:
        return self.folder / "t"

    @property
    def setup(self) -> PairSetup:
        return self.model.setup

    def run(self, steps: int) -> None:
        self.take("upsert" if self.setup.key else "insert")
        kinds, weights = list(STEPS), list(STEPS.values())
        after = self.draw.randrange(1, steps)
        while len(self.told) < steps:
            if self.sure and len(self.told) >= after:
                kind, after = self.sure, len(self.told) + 1  # again where it had nothing to do
                if self.take(kind):
                    self.sure = ""
                    continue
            (kind,) = self.draw.choices(kinds, weights)
            self.take(kind)
        self._end()

    def take(self, kind: str) -> bool:
        """Whether there was something to do."""
        config = dict(self.config)
        rules = space.step_refusals(kind, config)
        number = len(self.told)
        self.wrote = ""
        try:
            getattr(self, "_" + kind.replace(" ", "_"), lambda: self._write(kind))()
        except Passed:
            return False
        except HoodooError as error:
            if not any(rule.says in str(error) for rule in rules):
                raise
            self.told.append(f"{kind}: refused")
        else:
            assert not rules, f"{kind} is not refused any more: {rules}"
            if len(self.told) == number:
                self.told.append(kind)
        self.cell(kind, config)
        self._look(f"step {number}, {kind}")
        return True

    # --- rows -------------------------------------------------------------------------------------
    def _row(self, key: int | None = None, dead: bool = False) -> Row:
        """``key``: one of those that there may be; None: one that was never there."""
        draw, setup = self.draw, self.setup
        values: dict[str, Any] = dict.fromkeys(self.schema.names)
        if key is None:
            key, self.fresh = self.fresh, self.fresh + 1
        values |= {n: v for n, v in {"k": f"k{key % 4}é{key}", "n": key}.items() if n in values}
        if "k" in values and len(setup.key) == 1:
            values["k"] = f"k {key}"
        payload = draw.randrange(1000)
        values |= space.partition_values(self.config, draw.randrange(4), payload)
        nothing = payload % 7 == 0
        values |= {
            "w": None if nothing else payload - 500, "text": None if nothing else f"t{payload}" * (payload % 5),
            "f": None if payload % 5 == 0 else payload / 8,
            "inner": None if nothing else {"a": payload, "b": None if payload % 2 else "b"},
        }  # fmt: skip
        values |= space.of_hudi_1_2(self.config, payload)
        renamed = {n: values[n.split("_")[0]] for n in self.schema.names if _is_renamed(n)}
        values = {n: v for n, v in (values | renamed).items() if n in (*self.schema.names, DEAD)}
        if "later" in values:
            values["later"] = payload * 3
        if DEAD in values:
            values[DEAD] = dead or None
        path, text = setup.partition_path(values), setup.record_key(values)
        rank = self._rank(self.model.find(path, text) if setup.key else None)
        return Row({**values, **self._ordered(rank)}, (rank,), dead)

    def _rank(self, lying: Stored | None) -> int:
        self.clock += 1
        if lying is None or self.setup.partial or not self.setup.event_time:
            return self.clock
        late = self.draw.random() < 0.3 and lying.rank[0] > 1
        return self.draw.randrange(1, lying.rank[0] + 1) if late else self.clock

    def _ordered(self, rank: int) -> dict[str, Any]:
        kind = self.config["ordering"]
        return {
            space.NONE: {}, space.WHOLE: {"o0": rank}, space.TEXT: {"o0": f"{rank:05d}"},
            "double": {"o0": rank / 4}, space.TWO: {"o0": rank // 3, "o1": rank % 3},
        }[kind]  # fmt: skip

    def _data(self, rows: list[Row], names: list[str] | None = None) -> pa.Table:
        names = names or [
            n for n in self.schema.names if n != DEAD or any(row.dead for row in rows)
        ]
        fields = pa.schema([self.schema.field(name) for name in names])
        values = [{name: row.values[name] for name in names} for row in rows]
        table = table_of(values, fields)
        for at, name in enumerate(names):
            if name.split("_")[0] == "uid":
                table = table.set_column(at, name, as_uuids(table[name]))
        return table

    def _add(self, name: str, kind: pa.DataType) -> None:
        if name in self.schema.names:
            return
        self.schema = self.schema.append(pa.field(name, kind))
        self.model.widened(name)

    # --- writes -----------------------------------------------------------------------------------
    def _do(self, write: Callable[[], Commit], counts: tuple[int, int, int] | None = None) -> None:
        """The write; a planned clustering that is in its way is run or cancelled before."""
        try:
            commit = write()
        except PendingClusteringError:
            assert self.config["clustering updates"] == "reject", "refused although it goes first"
            self._run_or_cancel_clusterings()
            commit = write()
        self.wrote = commit.instant
        for row in self.model.rows.values():
            if not row.instant:
                object.__setattr__(row, "instant", commit.instant)
        if counts is not None and not self.setup.merge_on_read:
            made = (commit.inserted, commit.updated, commit.deleted)
            assert made == counts, f"{made}, not {counts}"

    def _run_or_cancel_clusterings(self) -> None:
        for planned in self.table.clusterings():
            if self.draw.random() < 0.5:
                self.table.run_clustering(planned.instant)
            else:
                self.table.cancel_clustering(planned.instant)

    def _attempt(self, change: Callable[[PairModel], Any], write: Callable[[], Commit]) -> None:
        """``change`` to the model, which stays as it was where the write is refused."""
        old, schema = self.model.copy(), self.schema
        counts = change(self.model)
        try:
            self._do(write, counts if isinstance(counts, tuple) else None)
        except HoodooError:
            self.model, self.schema = old, schema
            raise

    def _upsert(self) -> None:
        rows = [self._row(self.draw.randrange(KEYS)) for _ in range(self.draw.randrange(0, 6))]
        self._put(rows)

    def _put(self, rows: list[Row], names: list[str] | None = None) -> None:
        data = self._data(rows, names)
        self.model.given = frozenset(data.schema.names)
        self._attempt(lambda m: m.upsert(rows, ""), lambda: self.table.upsert(data))

    def _upsert_marked_as_deleted(self) -> None:
        before, old = self.schema, self.model.copy()
        self._add(DEAD, pa.bool_())
        dead = [
            self._row(self.draw.randrange(KEYS), dead=n == 0)
            for n in range(self.draw.randrange(1, 4))
        ]
        try:
            self._put(dead)
        except HoodooError:
            self.schema, self.model = before, old
            raise

    def _upsert_few_columns(self) -> None:
        left = ("text", "inner", DEAD, "later")
        names = [n for n in self.schema.names if n.split("_")[0] not in left and n not in left]
        rows = [self._row(self.draw.randrange(KEYS)) for _ in range(3)]
        for row in rows:
            row.values.update({n: None for n in self.schema.names if n not in names})
        self._put(rows, names)

    def _upsert_a_new_column(self) -> None:
        before, old = self.schema, self.model.copy()
        self._add("later", pa.int64())
        try:
            self._upsert()
            if not self.model.rows or not self.told:
                return
        except HoodooError:
            self.schema, self.model = before, old
            raise

    def _write(self, kind: str) -> None:
        """Rows of new keys; with a policy for duplicates, keys that are there, too."""
        rows = [self._row() for _ in range(self.draw.randrange(1, 4))]
        policy = self.config["insert of duplicates"] if kind == "insert" and self.setup.key else ""
        if policy in ("drop", "fail") and self.draw.random() < 0.6:
            keys = self.draw.sample(range(KEYS), 3)
            rows += [self._row(key) for key in keys]
        there = [row for row in rows if self.model.find(*self.model.place(row)) is not None]
        kept = [row for row in rows if not any(row is other for other in there)]
        data = self._data(rows)
        call = getattr(self.table, kind)
        if there and policy == "fail":
            try:
                self._do(lambda: call(data))
            except DuplicateKeyError:
                return
            raise AssertionError("keys were inserted that the table has")
        self._attempt(lambda m: m.insert(kept, ""), lambda: call(data))

    def _append(self) -> None:
        self._write("append")

    def _insert_overwrite(self) -> None:
        rows = [self._row() for _ in range(self.draw.randrange(0, 4))]
        rows = self._elsewhere(rows)
        data = self._data(rows)
        self._attempt(lambda m: m.overwrite(rows, ""), lambda: self.table.insert_overwrite(data))

    def _elsewhere(self, rows: list[Row]) -> list[Row]:
        return rows

    def _insert_overwrite_table(self) -> None:
        rows = [self._row() for _ in range(self.draw.randrange(0, 4))]
        rows += [self._row(key) for key in self.draw.sample(range(KEYS), 2)]
        data = self._data(rows)
        self._attempt(
            lambda m: m.overwrite_table(rows, ""), lambda: self.table.insert_overwrite_table(data)
        )

    def _delete_partitions(self) -> None:
        paths = self.model.paths()
        if not paths:
            raise Passed
        chosen = self.draw.sample(paths, min(len(paths), self.draw.randrange(1, 3)))
        self._attempt(
            lambda m: m.delete_partitions(chosen), lambda: self.table.delete_partitions(chosen)
        )

    def _delete_keys(self) -> None:
        rows = [self._row(key) for key in self.draw.sample(range(KEYS), 2)]
        keys = [self.setup.record_key(row.values) for row in rows] if self.setup.key else []
        if len(self.setup.key) == 1 and self.draw.random() < 0.5:
            data: Any = [row.values[self.setup.key[0]] for row in rows]
        else:
            data = self._data(rows, list(self.setup.key or ("k",)))
        self._attempt(lambda m: m.delete_keys(keys), lambda: self.table.delete(data))

    def _delete_rows(self) -> None:
        rows = [self._row(key) for key in self.draw.sample(range(KEYS), 3)]
        data = self._data(rows)
        names = [n for n in data.schema.names if n != DEAD]
        self._attempt(
            lambda m: m.delete(rows) if self.setup.key else None,
            lambda: self.table.delete(data.select(names)),
        )

    # --- services ---------------------------------------------------------------------------------
    def _compact(self) -> None:
        pending = self._pending("compaction")
        if pending and self.draw.random() < 0.5:
            self.table.run_compaction(pending[0])
        else:
            strategy = self.draw.choice([None, "log_count", "day_based", "unbounded"])
            self.table.compact(strategy)

    def _plan_a_compaction(self) -> None:
        self.table.schedule_compaction()

    def _log_compaction(self) -> None:
        self.table.run("logcompaction", strategy=self.draw.choice([None, "log_count"]))

    def _plan_a_log_compaction(self) -> None:
        self.table.schedule("logcompaction")

    def _clustering_arguments(self) -> dict[str, Any]:
        if self.config["index"] == space.HASHED:
            return {"options": self.draw.choice(RESIZES)}
        draw, plan, order = self.draw, self.draw.choice(PLANS), self.draw.choice(ORDERS)
        names = [f.name for f in self.schema if not _is_nested(f.type)]
        columns = draw.sample(names, min(len(names), draw.randrange(1, 4)))
        ordered = order != "combine" or plan == "overlap"
        options = {}
        if self.setup.merge_on_read and draw.random() < 0.5:
            options["hoodoo.clustering.with.log.files"] = "true"
        return {
            "plan": plan, "order": order, "columns": columns if ordered else None,
            "target_file_size": draw.choice([None, 1000, 4000, 1 << 20]), "options": options,
        }  # fmt: skip

    def _cluster(self) -> None:
        with self._giving_way():
            commit = self.table.cluster(**self._clustering_arguments())
            self.told.append(f"cluster {commit.instant}")

    @contextmanager
    def _giving_way(self) -> Iterator[None]:
        """Clusterings give way to writes that came in since they were planned."""
        may = bool(self.table.clusterings()) and self.config["clustering updates"] != "reject"
        try:
            yield
        except CommitConflictError:
            if not may:
                raise

    def _plan_a_clustering(self) -> None:
        planned = self.table.clusterings()
        with self._giving_way():
            if planned:
                self.table.run_clustering(planned[0].instant)
            else:
                self.table.schedule_clustering(**self._clustering_arguments())

    def _resize_buckets(self) -> None:
        """Another number of all, or rules by path; what waits for these file groups ends first."""
        rules = self.draw.choice([None, "", ".*x.*,2", ".*2024.*,4;.*,1"])
        buckets = self.draw.randrange(1, 6) if rules is None or self.draw.random() < 0.5 else None
        try:
            self.table.resize_buckets(buckets, expressions=rules)
        except CommitConflictError as error:
            pending = self._pending("compaction")
            if "compaction" not in str(error) or not pending:
                raise
            self.table.run_compaction(pending[0])
            self.table.resize_buckets(buckets, expressions=rules)

    def _cancel_a_clustering(self) -> None:
        planned = [one.instant for one in self.table.clusterings()]
        if not planned and self.config["index"] != "bucket":
            made = self.table.schedule_clustering(**self._clustering_arguments())
            planned = [made] if made else []
        if not planned:
            raise Passed
        self.table.cancel_clustering(planned[0])

    def _clean(self) -> None:
        policy, settings = self.draw.choice(POLICIES)
        self.table.clean(policy, **settings)

    def _archive(self) -> None:
        self._open(**{
            "hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3", "hoodie.clean.commits.retained": "1",
        }).archive()  # fmt: skip

    def _savepoint(self) -> None:
        if not self.past:
            raise Passed
        instant = self.past[-1][0]
        try:
            self.table.savepoint(instant)
        except (ConfigError, CommitConflictError):
            if not self._forgets():
                raise
            raise Passed from None
        self.saved.add(instant)

    def _restore(self) -> None:
        if len(self.past) < 2:
            raise Passed
        instant, model, schema = self.draw.choice(self.past[-4:])
        hindered = self._forgets() or any(saved > instant for saved in self.saved)
        try:
            self.table.restore(instant)
        except (ConfigError, CommitConflictError):
            if not hindered:
                raise
            raise Passed from None
        self._back(instant, model, schema)

    def _back(self, instant: str, model: PairModel, schema: pa.Schema) -> None:
        setup = self.setup
        self.past = [entry for entry in self.past if entry[0] <= instant]
        self.model, self.schema = model.copy(), schema
        self.model.setup = setup

    def _rollback(self) -> None:
        """Of the newest write."""
        if len(self.past) < 2 or self.draw.random() < 0.2:
            self.table.rollback()
            return
        newest = self.past[-1][0]
        writes = self.table.timeline().writes()
        if writes[-1].requested != newest:
            raise Passed
        try:
            self.table.rollback(newest)
        except (ConfigError, CommitConflictError) as error:
            self.told.append(f"rollback: {error.rule}")
            return
        self._back(*self.past[-2])

    def _rebuild_index(self) -> None:
        self.table.rebuild_index()

    def _make_a_record_index_of_buckets(self) -> None:
        """The one that is there is rebuilt."""
        own = self.config["index"]
        paths = own == "partitioned_record_index"
        self._made_index(own if paths else "record_index", buckets=self.draw.randrange(1, 5))

    def _make_a_growing_index(self) -> None:
        draw = self.draw
        shape = {
            "buckets": draw.randrange(1, 5), "hash": draw.choice(["java", "mixed"]),
            "scaling": draw.choice(["file_groups", "bucket_groups"]), "cap": draw.choice([2, 100]),
        }  # fmt: skip
        self._made_index("growing_record_index", **shape)

    def _made_index(self, name: str, **shape: Any) -> None:
        before = self._noted()
        try:
            self.table.rebuild_index(name, **shape)
        except UnsupportedTableError as error:
            if space.NO_TIMES not in str(error) or self.config["made by"] == space.CREATE:
                raise
            self.told.append(f"{name}: refused")
            return
        except CommitConflictError as error:
            resized = self.config["index"] == space.HASHED and self.table.clusterings()
            if not (resized and "no index can be made meanwhile" in str(error)):
                raise
            self._run_or_cancel_clusterings()
            self.table.rebuild_index(name, **shape)
        if self._noted() != before:
            assert name in space.GLOBAL, "an index of partition paths binds no table"
            self._indexed(name)

    def _noted(self) -> str | None:
        config = hoodoo.open(str(self.path)).config
        return config.get("hoodie.index.type") or config.get("hoodoo.index.type")

    def _compact_metadata(self) -> None:
        self.table.compact_metadata()

    def _has_metadata(self) -> bool:
        return bool(hoodoo.open(str(self.path)).config.metadata_partitions)

    def _switch_index(self) -> None:
        index = self.draw.choice(OTHERS)
        # Filters are made when a table is created.
        asked = {**self.config, "index": index, "filters in metadata": space.OFF}
        # The others are about what the table has become since: virtual keys took the record index away.
        # Of a bootstrap, too: there may be no file of it any more.
        rules = [
            r for r in space.refusals(asked) if "index" in r.where and "made by" not in r.where
        ]
        rows = self.model.rows
        twice = len({key for _path, key in rows}) < len(rows)
        wandered = any(row.path != self.setup.partition_path(row.values) for row in rows.values())
        try:
            self.table.switch_index(index)
        except DuplicateKeyError:
            assert index in space.GLOBAL and twice
            return
        except DataError:
            assert index in space.IN_PATHS and self.setup.is_global and wandered
            return
        except HoodooError as error:
            computed = self.config["index"] in ("bucket", space.HASHED)
            if computed and self.setup.merge_on_read and "Compact the table first" in str(error):
                return  # new rows are in log files, where no other index looks
            if computed and self.table.clusterings() and "clustering pending" in str(error):
                return  # it rebuilds the buckets
            if index in space.RECORDS and space.NO_TIMES in str(error):
                assert self.config["made by"] != space.CREATE
                return
            if not any(rule.says in str(error) for rule in rules):
                raise
            return
        assert not rules, f"the table could not have been created with {index}: {rules}"
        assert not (index in space.GLOBAL and twice)
        self._indexed(index)

    def _indexed(self, index: str) -> None:
        self.config["index"] = index
        self.model.setup = self.setup.indexed(index)
        self.told.append(f"index {index}")
        self.table = self._open()

    def _rewrite(self) -> None:
        codec = self.draw.choice(("gzip", "snappy", "zstd"))
        again, evolved = self.draw.random() < 0.4, self.draw.random() < 0.2
        where = "w > 0" if self.draw.random() < 0.2 else None
        options = {} if evolved else {"hoodie.parquet.compression.codec": codec}
        self.table.rewrite(options, where, evolved=evolved, again=again)

    def _change_the_version(self) -> None:
        there = int(self.config["version"])
        wanted = self.draw.choice([version for version in (6, 8, 9) if version != there])
        change = self.table.upgrade if wanted > there else self.table.downgrade
        try:
            change(wanted)
        except HoodooError as error:
            if not any(says in str(error) for says in space.UNCHANGED_VERSIONS):
                raise
            self.told.append(f"version {wanted}: refused")
            return
        self.config["version"] = str(wanted)
        self.model.setup = evolve(self.setup, config=dict(self.config))
        self.told.append(f"version {wanted}")
        self.table = self._open()

    def _expression_index(self) -> None:
        name, expression = self.draw.choice((("loud", "upper(text)"), ("long", "length(text)")))
        try:
            if self.draw.random() < 0.3:
                self.table.drop_index(name)
            else:
                kind = self.draw.choice(("column_stats", "bloom_filters"))
                self.table.create_index(name, expression=expression, kind=kind)
        except HoodooError as error:
            if not any(says in str(error) for says in space.NO_EXPRESSIONS):
                raise
            self.told.append("expression index: refused")

    def _columns_by_hand(self) -> None:
        """A column is renamed, dropped, moved to the front or widened: its values are what they were."""
        own = (*space.PAYLOAD, *space.OF_HUDI_1_2)
        names = [n for n in self.schema.names if n in own or _is_renamed(n)]
        how = self.draw.choice(("rename", "rename", "drop", "move", "widen"))
        name = self.draw.choice(
            [n for n in names if how != "drop" or n not in ("w", "f", "text")] or ["w"]
        )
        kinds, old = {f.name: f.type for f in self.schema}, self.model.copy()
        self.fresh += 1
        new = f"{name.split('_')[0]}_{self.fresh}"
        change: dict[str, Any]
        if how == "rename" and name not in (
            "w",
            "text",
        ):  # by these others filter, and indexes are made
            change, kinds = (
                {"rename": {name: new}},
                {new if n == name else n: k for n, k in kinds.items()},
            )
            for place, row in self.model.rows.items():
                values = {new if n == name else n: v for n, v in row.values.items()}
                self.model.rows[place] = evolve(row, values=values)
        elif how == "drop" and name not in ("w", "f", "text"):
            change = {"drop": [name]}
            del kinds[name]
            for place, row in self.model.rows.items():
                values = {n: v for n, v in row.values.items() if n != name}
                self.model.rows[place] = evolve(row, values=values)
        elif how == "widen" and kinds["w"] == pa.int32():
            change, kinds = {"widen": {"w": "bigint"}}, kinds | {"w": pa.int64()}
        else:
            change, kinds = {"reorder": [name]}, {name: kinds.pop(name), **kinds}
        before, self.schema = self.schema, pa.schema(list(kinds.items()))
        self.told.append(f"columns by hand: {change}")
        try:
            self._do(lambda: self.table.alter(**change))
        except HoodooError:
            self.model, self.schema = old, before
            raise
        self.altered = True

    def _rewrite_keys(self) -> None:
        kept = META_COLUMNS if self.draw.random() < 0.4 else None
        if self.config["record keys"] == space.STORED:
            if kept:
                self.table.enable_virtual_keys(kept=kept)
            else:
                self.table.enable_virtual_keys()
            self._virtual(space.KEPT if kept else space.RFC)
        if self.draw.random() < 0.7:
            self.table.rewrite_keys()

    def _virtual(self, how: str) -> None:
        self.config["record keys"] = how
        virtual = "rfc" if how == space.RFC else ""
        self.model.setup = evolve(self.setup, virtual=virtual, config=dict(self.config))
        self.table = self._open()

    def _stored_keys_again(self) -> None:
        if self.config["record keys"] in (space.RFC, space.HUDI):
            raise Passed
        if self.config["key columns"] in (space.JOINED, space.MADE):
            raise Passed
        if self.setup.merge_on_read and self.draw.random() < 0.7:
            self.table.compact()
        try:
            self.table.rewrite_keys(virtual=False)
        except ConfigError as error:
            if not self.setup.merge_on_read or "has log files" not in str(error):
                raise
            raise Passed from None
        self.config["record keys"] = space.STORED
        self.model.setup = evolve(self.setup, virtual="", config=dict(self.config))
        self.table = self._open()

    def _open_again(self) -> None:
        self.table = self._open()

    def _open(self, **more: Any) -> hoodoo.Table:
        given = {**space.writer(self.config), **more}
        return hoodoo.open(str(self.path), given, engine=self.engine)

    # --- looking ----------------------------------------------------------------------------------
    def _pending(self, action: str) -> list[str]:
        return [i.requested for i in self.table.timeline().pending() if i.action == action]

    def _forgets(self) -> bool:
        """Whether files or instants may be gone."""
        instants = self.table.timeline().instants
        if any(instant.action == "clean" for instant in instants):
            return True
        there = {instant.requested for instant in instants}
        return any(instant not in there for instant, _model, _schema in self.past)

    def _look(self, where: str) -> None:
        new = [w.requested for w in self.table.timeline().writes() if w.requested not in self.known]
        newest = self.past[-1][0] if self.past else ""
        for instant in new:
            self.known.add(instant)
            # A planned clustering that was run before the write of this step does not have its rows.
            if instant > newest and instant >= self.wrote:
                self.past.append((instant, self.model.copy(), self.schema))
        try:
            check_rows(self.table.read(meta=True).to_arrow(), self.schema, self.model, where)
            self._locate(where)
            looks = [self._point, self._count, self._travel, self._since]
            for look in self.draw.sample(looks, 2):
                look(where)
        except AssertionError as error:
            raise AssertionError(f"{where}: {error}") from error

    def _locate(self, where: str) -> None:
        if self.setup.made:
            return
        rows = [self._row(key) for key in (*range(KEYS), *range(100, self.fresh + 1))]
        keys = {self.setup.record_key(row.values) for row in rows}
        found = self.table.locate(self._data(rows, list(self.setup.key))).to_pylist()
        seen = sorted((row["partition_path"], row["record_key"]) for row in found)
        wanted = sorted(place for place in self.model.rows if place[1] in keys)
        assert seen == wanted, f"locate: {seen}, not {wanted}"

    def _point(self, where: str) -> None:
        nested = {f.name for f in self.schema if _is_nested(f.type)} | {DEAD}
        names = [n for n in self.schema.names if n not in nested]
        name = self.draw.choice([*self.setup.key, *names])
        values = [row.values[name] for row in self.model.rows.values()] + [
            self._row(0).values[name]
        ]
        chosen = [v for v in self.draw.sample(values, min(2, len(values))) if v is not None]
        if not chosen:
            return
        kind = self.schema.field(name).type
        one = self.draw.random() < 0.5
        if one:
            chosen = chosen[:1]
        where_ = (
            pc.field(name) == pa.scalar(chosen[0], kind)
            if one
            else pc.field(name).isin(pa.array(chosen, kind))
        )
        found = self.table.read([*self.schema.names], where=where_).to_arrow()
        wanted = [r.values for r in self.model.rows.values() if r.values[name] in chosen]
        same(found, self.schema, wanted, f"where {name} in {chosen}")

    def _count(self, where: str) -> None:
        found = self.table.read().count()
        assert found == len(self.model.rows), f"count: {found}, not {len(self.model.rows)}"

    def _travel(self, where: str) -> None:
        if not self.past:
            return
        instant, model, schema = self.draw.choice(self.past)
        try:
            found = self.table.read(as_of=instant, meta=True).to_arrow()
        except ConfigError as error:
            assert self._forgets(), error
            assert "clean" in str(error) or "archived" in str(error), error
            return
        model = model.copy()
        model.setup = self.setup
        check_rows(found, schema, model, f"as of {instant}", changed=self.setup is not model.setup)

    def _since(self, where: str) -> None:
        if not self.past or self.config["record keys"] == space.HUDI:
            return
        instant = self.draw.choice(self.past)[0]
        try:
            found = self.table.incremental(since=instant).to_arrow()
        except ConfigError as error:
            assert self._forgets(), error
            return
        wanted = [r.values for r in self.model.rows.values() if r.instant > instant]
        same(found, self.schema, wanted, f"since {instant}")

    def _end(self) -> None:
        self.table = self._open()
        self._look("at the end")
        asked = self.table.run("check_index")
        assert asked.same, f"its index does not know all keys: {asked}"
        report = self.table.verify()
        assert not report.findings, report.findings
        check_hudi(self)


def history(
    config: dict[str, str],
    folder: Path,
    seed: str,
    steps: int = 7,
    engine: str | None = None,
    cell: Callable[[str, dict[str, str]], None] = lambda kind, config: None,
) -> History:
    """Run one; its configuration, seed and steps are in the error where there is a difference."""
    found: History | None = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = History(dict(config), folder, random.Random(seed), engine, cell)
            found.run(steps)
        except Exception as error:
            told = [] if found is None else found.told
            raise AssertionError(f"{error!r}\nseed {seed!r}\n{config}\n{told}") from error
    return found


def try_refused(config: dict[str, str], folder: Path) -> space.Refusal:
    """A table that is refused, or its first write, with the message of a rule that fits; nothing is left of it."""
    rules = [rule for rule in space.REFUSALS if rule.fits(config)]
    table: hoodoo.Table | None = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            table = space.make(config, folder / "t", space.one_row(config), [""])
            table.insert_overwrite_table(space.schema(config).empty_table())
        except HoodooError as error:
            fitting = [rule for rule in rules if rule.says in str(error)]
            assert fitting, f"{error}, of {rules}"
            if config["made by"] != space.CREATE and (folder / "t").exists():
                table = hoodoo.open(str(folder / "t"))  # empty: the next call begins again
            assert table is not None or not (folder / "t").exists(), "a refused table is there"
            assert table is None or not table.timeline().writes(), "a refused write is there"
            return fitting[0]
    raise AssertionError(f"not refused any more: {rules}")
