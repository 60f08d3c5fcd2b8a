"""A trial: the same writes on a Hudi table and on the dictionary, compared after every step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import table_draws as draws
from attrs import define, evolve, field
from cluster_draws import Cluster
from cluster_steps import OPTIONS, Clustered, Planned, cluster, planned_groups, run
from hoodoo.hookspecs import engine as engine_family
from hoodoo_rows.write.commit import Commit
from index_steps import Switch, switch
from refusal_steps import Spoil, as_floats, refuse
from table_checks import check_files, check_stats, check_virtual_files, compare, hudi_rows
from table_draws import Draw, Op
from table_model import Counts, Model, Row, Setup
from table_model_mor import BUCKETS, LogModel
from table_values import (
    DAYS,
    ENCODED_PARTITIONS,
    KEY_TEXTS,
    KEY_VALUES,
    KEYS,
    LATER,
    ORDERED,
    PARTITIONS,
    PAYLOAD,
    PLAIN_PARTITIONS,
    WIDER,
    ordering_value,
    value,
)  # fmt: skip

DEAD = "_hoodie_is_deleted"
FRESH = {"k": None, "k2": 0, "k3": "a,b"}  # beside a new value of `k`
VIRTUAL = {
    "rfc": {"hoodie.recordkey.virtual.enabled": "true"},
    "hudi": {"hoodie.populate.meta.fields": "false"},
}


def base_schema(setup: Setup) -> pa.Schema:
    columns = [(n, KEYS[n]) for n in setup.key] + [(n, PARTITIONS[n]) for n in setup.partition]
    columns += [
        (name, ORDERED[kind][0])
        for name, kind in zip(setup.ordering, setup.ordering_types, strict=True)
    ]
    payload = [(name, kind) for name, (kind, _) in PAYLOAD.items()
               if not setup.payload or name in setup.payload]  # fmt: skip
    return pa.schema([*columns, *payload])


def options(setup: Setup, handle: int = 0) -> dict[str, Any]:
    """Those that are no properties of the table: for ``open`` too. ``handle``: its number among those of the trial."""
    found: dict[str, Any] = {
        "hoodie.parquet.bloom.filter.enabled": setup.bloom,
        "hoodie.datasource.write.reconcile.schema": True,  # rows bring columns
    }
    if setup.has_metadata:  # so that it happens
        found["hoodie.metadata.compact.max.delta.commits"] = "4"
    if setup.drawn:
        found |= dict(setup.drawn[handle % len(setup.drawn)])
    found |= {**dict(setup.more), **OPTIONS}
    if setup.small_file_limit is not None:
        found["hoodie.parquet.small.file.limit"] = setup.small_file_limit
    if setup.merge_on_read:
        # Updates always go to logs: what a rewrite would do instead is the other trial's.
        found |= {"hoodie.logfile.data.block.format": setup.blocks, "hoodoo.layout": "new_files"}
    if setup.by_records:
        found["hoodie.record.index.update.partition.path"] = setup.moves
    if setup.max_file_size is not None:
        found["hoodie.parquet.max.file.size"] = setup.max_file_size
    return found


def create(setup: Setup, path: Path, engine: str | None) -> hoodoo.Table:
    properties: dict[str, Any] = {
        "hoodie.datasource.write.hive_style_partitioning": setup.hive,
        "hoodie.datasource.write.partitionpath.urlencode": setup.url,
    }
    if setup.index == "bucket":
        properties["hoodie.bucket.index.num.buckets"] = BUCKETS
    if setup.is_global:
        properties["hoodie.simple.index.update.partition.path"] = setup.moves
    if setup.metadata == "files":
        properties["hoodie.metadata.enable"] = True
    elif setup.metadata:
        scope = "global." if setup.is_global or not setup.partition else ""
        properties[f"hoodie.metadata.{scope}record.level.index.enable"] = True
    if setup.has_metadata and setup.bloom and not setup.virtual:
        properties["hoodie.metadata.index.bloom.filter.enable"] = True
    properties |= VIRTUAL.get(setup.virtual, {})
    return hoodoo.create(
        str(path), base_schema(setup), record_key=setup.key, partition_by=setup.partition,
        ordering=setup.ordering, table_version=setup.version, index=setup.index, engine=engine,
        table_type="MERGE_ON_READ" if setup.merge_on_read else "COPY_ON_WRITE",
        merger="event_time" if setup.event_time else "commit_time",
        options={**properties, **options(setup)},
    )  # fmt: skip


def as_polars(column: pa.ChunkedArray) -> pa.Array:
    """``column`` as polars hands over one of its type Categorical."""
    coded = column.combine_chunks().dictionary_encode()
    indices, values = coded.indices.cast(pa.uint32()), coded.dictionary.cast(pa.string_view())
    return pa.DictionaryArray.from_arrays(indices, values)


@define
class Trial:
    """``engine``: None for the local one. ``done``: (instant, schema, model then) of every commit."""

    setup: Setup
    folder: Path
    engine: str | None = None
    model: Model = field(init=False)
    schema: pa.Schema = field(init=False)
    table: hoodoo.Table = field(init=False)
    done: list[tuple[str, pa.Schema, Model]] = field(factory=list)
    seqnos: dict[tuple[str, str], tuple[str, str]] = field(factory=dict)
    pending: str | None = None
    clustering: Planned | None = None
    fresh: int = 0
    files: int = 0
    handles: int = 0
    enabled: bool = False
    rewritten: bool = False
    rebased: bool = False

    def __attrs_post_init__(self) -> None:
        self.model = (LogModel if self.setup.merge_on_read else Model)(self.setup)
        self.schema = base_schema(self.setup)
        self.table = create(self.setup, self.path, self.engine)

    @property
    def path(self) -> Path:
        return self.folder / "t"

    def run(self, ops: list[Op | Cluster | Switch]) -> None:
        usual = engine_family.RESULT_BYTES
        try:
            self._run(ops, usual)
        finally:
            engine_family.RESULT_BYTES = usual

    def _run(self, ops: list[Op | Cluster | Switch], usual: int) -> None:
        for number, op in enumerate(ops):
            # The places of keys are with the driver, and stay with tasks, by turns.
            engine_family.RESULT_BYTES = 0 if (number + len(ops)) % 2 else usual
            if number == 1 and self.setup.virtual == "later":
                self._enable()
            if number == 3 and self.enabled and not self.setup.merge_on_read:
                # Of a table that is merged on read it compacts some file groups, for which the model
                # has no eye.
                left = self.table.rewrite_keys().left
                assert set(left) <= planned_groups(self), left  # it leaves these to the clustering
                self._check_newest("rewritten")
                self.rewritten = not left
            where = f"step {number}, {op.kind}"
            if isinstance(op, Cluster):
                self.cluster(op, where)
            elif isinstance(op, Switch):
                switch(self, op, where)
            else:
                self.step(op, where)
        if self.setup.has_metadata:
            report = self.table.verify()
            assert report.ok, [str(f) for f in report.findings]
        for instant, schema, model in self.done:
            found = self.table.read(as_of=instant, meta=True).to_arrow()
            compare(found, schema, model, f"as of {instant}")
            self._check_key(instant, model)
            self._compare_theirs(schema, model, f"`hudi` as of {instant}", instant)

    def _check_key(self, instant: str, model: Model) -> None:
        """Of the keys that were there then, or have come since, one: a filter may ask an index of now."""
        name = self.setup.key[0]
        for rows in (model.rows, self.model.rows):
            asked = next((row.values[name] for row in rows.values()), None)
            if asked is None:
                continue
            found = self.table.read(["k"], pc.field(name) == asked, as_of=instant).to_arrow()
            there = sum(row.values[name] == asked for row in model.rows.values())
            assert found.num_rows == there, f"as of {instant}, where {name} is {asked!r}"

    def _enable(self) -> None:
        self.table.enable_virtual_keys()
        self.enabled = True
        self.setup = evolve(self.setup, virtual="rfc")
        waiting = [] if self.clustering is None else [self.clustering.model]
        for model in (self.model, *waiting, *(then for _, _, then in self.done)):
            model.setup = self.setup
        self._check_newest("enabled")

    def _compare_theirs(
        self, schema: pa.Schema, model: Model, where: str, as_of: str | None = None
    ) -> None:
        setup = self.setup
        if setup.virtual and setup.merge_on_read and setup.prefixed:
            return  # it takes the bare value for the key, where Spark Hudi and Hoodoo delete `k:value`
        if setup.is_lost_on_hudi:
            return
        try:
            theirs = hudi_rows(self.path, as_of)
        except Exception as error:
            # It takes log rows of before a change of the schema for a partial update, and refuses.
            if not (self.setup.merge_on_read and "partial-update column" in str(error)):
                raise
            assert not self.schema.equals(base_schema(self.setup)), where
            return
        compare(theirs, schema, model, where, exact=False)

    def step(self, op: Op, where: str) -> None:
        op = self._begin(op)
        refuse(self, op, where)
        planned = self.pending
        commit, counts = self._write(op)
        if commit is None:
            return
        self._stamp(commit.instant)
        if not self.setup.merge_on_read or self.setup.index == "simple":
            assert (commit.inserted, commit.updated, commit.deleted) == counts, where
        self._check_newest(where)
        if not self.setup.merge_on_read:
            self._check_files(commit, where)
        check_stats(self.path, self.setup, commit, where)
        if self.rebased:
            # A file group has a new base file, and the model has no eye for groups: all get one.
            self._rebase()
            self._check_newest(f"{where}, compacted")
        # What was written under a pending compaction is merged in another order once that has run.
        if planned or self.pending or (self.clustering is not None and self.clustering.logs):
            return
        self.done.append((commit.instant, self.schema, self.model.copy()))

    def cluster(self, op: Cluster, where: str) -> None:
        done = cluster(self, op, where)
        self._check_newest(where)
        if done is not None:
            self._clustered(done, where)

    def _clustered(self, done: Clustered, where: str) -> None:
        if not self.setup.merge_on_read:
            self._check_files(done.commit, where)
        check_stats(self.path, self.setup, done.commit, where)
        if self.pending or (done.planned.logs and not done.at_once):
            return
        then = self.model.copy() if done.at_once else done.planned.model
        self.done.append((done.commit.instant, done.planned.schema, then))

    def _check_files(self, commit: Commit, where: str) -> None:
        if self.setup.shown_meta is None:
            seqnos = check_files(self.table, self.path, self.model, self.seqnos, commit, where)
            self.seqnos = seqnos
        else:
            old = self.enabled and not self.rewritten
            check_virtual_files(self.table, self.path, self.model, where, old)

    def _begin(self, op: Op) -> Op:
        if op.reopen:
            self.table = self._open()
        if op.evolve == "later_list" and self.setup.merge_on_read:
            # `hudi` reads the null of a list that is younger than the base file as an empty one.
            return evolve(op, evolve="")
        return op

    def _open(self, **more: Any) -> hoodoo.Table:
        self.handles += 1
        given = options(self.setup, self.handles) | more
        return hoodoo.open(str(self.path), given, engine=self.engine)

    def _stamp(self, instant: str) -> None:
        """The model wrote without knowing the instant."""
        for row in self.model.stored():
            if not row.instant:
                object.__setattr__(row, "instant", instant)
        assert all(place == (row.path, row.key) for place, row in self.model.rows.items())

    def _check_newest(self, where: str) -> None:
        """Both readers show the rows of the model."""
        assert self.table.schema.equals(self.schema), where
        compare(self.table.read(meta=True).to_arrow(), self.schema, self.model, where)
        if self.setup.shown_meta is not None:
            keys = self.table.read(columns=["_hoodie_record_key"]).to_arrow()
            assert keys.column(0).null_count == keys.num_rows == len(self.model.rows), where
        # `hudi` loses log rows that version 6 keeps under a pending compaction.
        if self.setup.version > 6 or not self.pending:
            self._compare_theirs(self.schema, self.model, f"`hudi` after {where}")

    # --- one write --------------------------------------------------------------------------------
    def _write(self, op: Op) -> tuple[Commit | None, Counts]:
        model, table = self.model, self.table
        if op.kind in (draws.COMPACT, draws.SCHEDULE):
            return self._compact(op), (0, 0, 0)
        if op.kind == draws.DROP:
            paths = model.paths()
            chosen = sorted({paths[d.part % len(paths)] for d in op.rows}) if paths else []
            if not chosen:
                return None, (0, 0, 0)
            return table.delete_partitions(chosen), model.delete_partitions(chosen)
        if op.kind == draws.REWRITE:
            # Everything that was read, meta columns included; a tie of the ordering: it wins.
            found = table.read(meta=True).to_arrow()
            rows = [Row(r.values, r.rank) for r in model.rows.values()]
            return table.upsert(found), model.upsert(rows, "")
        if op.kind == draws.DELETE_KEYS and len(self.setup.key) == 1:
            keys = [self._row(d, op).values["k"] for d in op.rows]
            data = pa.array(keys, pa.string()) if op.backwards else keys
            if len(self.setup.partition) > 1:
                return table.delete(data), model.delete_keys(f"k:{key}" for key in keys)
            return table.delete(data), model.delete_keys(keys)
        if op.kind in (draws.DELETE_KEYS, draws.DELETE_ANYWHERE, draws.DELETE_ROWS):
            return self._delete(op)
        data, rows = self._given(op)
        if isinstance(model, LogModel) and model.has_erased_winner(rows):
            self.rebased = self.pending is None and self.clustering is None
            if not self.rebased:
                self._rebase()
        if op.kind == draws.UPSERT:
            return table.upsert(data), model.upsert(rows, "")
        if op.kind == draws.OVERWRITE:
            return table.insert_overwrite(data), model.overwrite(rows, "")
        if op.kind == draws.OVERWRITE_TABLE:
            return table.insert_overwrite_table(data), model.overwrite_table(rows, "")
        # A bulk insert begins a bucket with a base file; the model has no eye for buckets.
        kind = draws.INSERT if self._in_logs else op.kind
        return getattr(table, kind)(data), model.insert(rows, "")

    def _compact(self, op: Op) -> Commit | None:
        assert isinstance(self.model, LogModel)
        self._settle()
        if op.kind == draws.SCHEDULE and self.pending is None:
            self.pending = self.table.schedule_compaction()
            if self.pending is not None:
                self.model.schedule()
            return None
        if self.pending is not None:
            self.model.compact()
        if op.kind == draws.SCHEDULE:
            assert self.pending is not None
            commit = self.table.run_compaction(self.pending)
        else:
            commit = self.table.compact()
            self.model.schedule()
            self.model.compact()
        self.pending = None
        return commit if commit.instant else None

    def _rebase(self) -> None:
        self.rebased = False
        commit = self._compact(Op(draws.COMPACT))
        if commit is not None:
            self._stamp(commit.instant)

    def _settle(self) -> None:
        """A compaction leaves out the groups that wait for a clustering, and the model has no eye for groups."""
        if self.clustering is not None:
            done = run(self, "before a compaction")
            if done is not None:
                self._clustered(done, "before a compaction")

    def _delete(self, op: Op) -> tuple[Commit, Counts]:
        rows = [self._row(d, op) for d in op.rows]
        names = list(self.schema.names)
        if op.kind != draws.DELETE_ROWS:
            names = [n for n in names if n not in self.setup.partition]
        if op.lacks:
            names = [n for n in names if n in (*self.setup.key, *self.setup.partition)]
        schema = pa.schema([self.schema.field(n) for n in names])
        commit = self.table.delete(self._shaped(rows, schema, op))
        if op.kind == draws.DELETE_ROWS or not self.setup.partition:
            return commit, self.model.delete(rows)
        return commit, self.model.delete_keys(self.setup.record_key(r.values) for r in rows)

    @property
    def _in_logs(self) -> bool:
        return self.setup.merge_on_read and self.setup.index == "bucket"

    # --- rows -------------------------------------------------------------------------------------
    def _row(self, draw: Draw, op: Op) -> Row:
        """A whole row in the table's schema as it is now."""
        known: list[tuple[Any, Any]] = [*KEY_VALUES]
        if len(self.setup.key) > 1:
            known = [*KEY_TEXTS] if "k3" in self.setup.key else [*known, ("", 5), (None, 6)]
        if self.setup.is_strict and len(self.setup.key) > 1:
            known = [pair for pair in known if None not in pair]
        values: dict[str, Any] = dict.fromkeys(self.schema.names)
        at = draw.key % (len(known) + self.fresh)
        second = FRESH[self.setup.key[-1]]
        pair = known[at] if at < len(known) else (f"fresh{at - len(known)}", second)
        values.update(zip(self.setup.key, pair, strict=False))
        if "p" in self.setup.partition:
            pool = ENCODED_PARTITIONS if self.setup.url and self.setup.hive else PLAIN_PARTITIONS
            values["p"] = pool[draw.part % len(pool)]
        if "q" in self.setup.partition:
            values["q"] = DAYS[draw.part % len(DAYS)]
        rank = []
        for name, kind, number in zip(
            self.setup.ordering, self.setup.ordering_types, draw.order, strict=False
        ):
            values[name], place = ordering_value(kind, number)
            # How a null compares with log rows is nobody's rule: Spark fails, `hudi` takes it for 0.
            if place == 0 and self.setup.merge_on_read:
                values[name], place = ordering_value(kind, 1)
            rank.append(place)
        for name, (_, pool) in {**PAYLOAD, **LATER}.items():
            if name in values:
                values[name] = value(name, pool, draw.payload)
        return Row(values, tuple(rank), draw.dead)

    def _given(self, op: Op, spoil: Spoil = None) -> tuple[Any, list[Row]]:
        """What is handed over, and the rows that it means. ``spoil``: makes one of them wrong."""
        before = self.schema
        rows, schema = self._incoming(op)
        handed = rows
        if op.floats:
            handed, schema = as_floats(rows, schema, before, op)
        if spoil is not None:
            handed, schema = spoil(handed, schema)
        return self._shaped(handed, schema, op), rows

    def _incoming(self, op: Op) -> tuple[list[Row], pa.Schema]:
        """Rows and their schema, after the table's schema (the model's) has taken both in."""
        dead = any(d.dead for d in op.rows)
        before = list(self.schema.names)
        self._evolve(op, dead)
        left_out = {"text", "inner", *LATER} if op.lacks else set()
        if op.evolve:
            left_out.discard(op.evolve)
        rows: list[Row] = []
        for draw in op.rows:
            row = self._row(draw, op)
            for name in left_out & row.values.keys():
                row.values[name] = None
            if DEAD in row.values:
                row.values[DEAD] = draw.dead if dead else None
            rows.append(row)
        if op.kind not in (draws.UPSERT,):
            self._make_new(rows, op.kind)
        names = before[::-1] if op.backwards else before
        names = [*names, *self.schema.names[len(before) :]]
        names = [n for n in names if n not in left_out and (dead or n != DEAD)]
        fields = [self.schema.field(n) for n in names]
        if op.narrow:  # the types of the beginning, where the table has grown
            fields = [
                f.with_type(PAYLOAD[f.name][0])
                if f.name in WIDER and op.evolve != f"widen {f.name}" else f
                for f in fields
            ]  # fmt: skip
        return rows, pa.schema(fields)

    def _evolve(self, op: Op, dead: bool) -> None:
        added = []
        if op.evolve.startswith("widen "):
            name = op.evolve.removeprefix("widen ")
            at = self.schema.get_field_index(name)
            self.schema = self.schema.set(at, pa.field(name, WIDER[name]))
        elif op.evolve and op.evolve not in self.schema.names:
            added.append(pa.field(op.evolve, LATER[op.evolve][0]))
        if dead and DEAD not in self.schema.names:
            added.append(pa.field(DEAD, pa.bool_()))
        for column in added:
            self.schema = self.schema.append(column)
            self.model.widened(column.name)

    def _make_new(self, rows: list[Row], kind: str) -> None:
        """Inserts do not look keys up: give a row whose key is taken another one."""
        taken = {(self._scope(path), key) for path, key in self._staying(rows, kind)}
        for row in rows:
            path, key = self.model.place(row)
            if (self._scope(path), key) in taken:
                row.values["k"] = f"fresh{self.fresh}"
                row.values.update({name: FRESH[name] for name in self.setup.key[1:]})
                self.fresh += 1
                path, key = self.model.place(row)
            taken.add((self._scope(path), key))

    def _scope(self, path: str) -> str:
        return "" if self.setup.is_global else path

    def _staying(self, rows: list[Row], kind: str) -> list[tuple[str, str]]:
        if kind == draws.OVERWRITE_TABLE:
            return []
        gone = {self.model.place(r)[0] for r in rows} if kind == draws.OVERWRITE else set()
        return [place for place in self.model.rows if place[0] not in gone]

    def _shaped(self, rows: list[Row], schema: pa.Schema, op: Op) -> Any:
        values = [{n: r.values.get(n) for n in schema.names} for r in rows]
        data = pa.Table.from_pylist(values, schema=schema)
        if op.source == "sliced":
            padded = pa.concat_tables([data, data, data])
            return padded.combine_chunks().slice(len(rows), len(rows))
        if op.source == "reader":
            return pa.RecordBatchReader.from_batches(schema, data.to_batches(max_chunksize=2))
        if op.source == "views":
            kinds = [pa.string_view(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())]
            for at, column in enumerate(schema):
                if column.type == pa.string():
                    kind = kinds[at % len(kinds)] if at % 4 else None
                    found = data.column(at).cast(kind) if kind else as_polars(data.column(at))
                    data = data.set_column(at, column.with_type(found.type), found)
            return data
        if op.source == "files":
            half = len(rows) // 2
            names = []
            for part in (data.slice(0, half), data.slice(half)):
                self.files += 1
                names.append(str(self.folder / f"in{self.files}.parquet"))
                pq.write_table(part, names[-1])
            return ds.dataset(names, schema=schema)
        return data
