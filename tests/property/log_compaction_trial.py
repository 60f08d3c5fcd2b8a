"""A random history of a table that is merged on read, whose log blocks are merged every now and then:
whoever reads it, however, has the same answers before and after."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import hoodoo
import pyarrow as pa
from attrs import define, field
from hoodoo.errors import HoodooError
from hoodoo.model.log_block import BlockKind
from hoodoo.table.table import Table
from hoodoo_rows.merge import log_rows

SCHEMA = pa.schema(
    [("k", pa.int64()), ("a", pa.string()), ("b", pa.int32()), ("ts", pa.int64()), ("p", pa.string()),
     ("_hoodie_is_deleted", pa.bool_())]
)  # fmt: skip
KEYS = 12
DRAWN: dict[str, tuple[Any, ...]] = {
    "version": (9, 9, 6), "index": ("bucket", "simple", "record_index"), "ordering": (None, "ts"),
    "merger": (None, None, "partial", "keep_first"), "virtual": (False, False, True),
    "blocks": ("avro", "parquet"), "partition": (None, "p"), "metadata": (True, False),
    "cdc": (None, None, "OP_KEY_ONLY"),
}  # fmt: skip
STEPS = {
    "upsert": 8, "mark": 2, "few": 3, "delete": 3, "evolve": 1, "log_compact": 5, "plan": 1,
    "compact": 1, "plan_compaction": 1, "run_compaction": 1, "roll_back": 2, "restore": 1, "clean": 1,
    "archive": 1, "savepoint": 1, "cluster": 1,
}  # fmt: skip
# What a table may say to a step.
_REFUSALS = (
    "ConfigError",
    "UnsupportedTableError",
    "SchemaError",
    "CommitConflictError",
    "PendingClusteringError",
)


@define
class Trial:
    folder: Path
    draw: random.Random
    kind: dict[str, Any] = field(init=False)
    table: Table = field(init=False)
    story: list[str] = field(factory=list)
    done: int = 0
    refused: dict[str, str] = field(factory=dict)
    more: list[str] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        self.kind = {name: self.draw.choice(values) for name, values in DRAWN.items()}
        kind = self.kind
        options = {
            "hoodie.log.compaction.blocks.threshold": "2", "hoodie.clean.automatic": "false",
            "hoodie.logfile.data.block.format": kind["blocks"], "hoodie.keep.max.commits": "6",
            "hoodie.keep.min.commits": "4", "hoodie.clean.commits.retained": "3",
            "hoodie.archive.automatic": "false",
            "hoodie.metadata.enable": str(kind["metadata"] or kind["index"] == "record_index").lower(),
        }  # fmt: skip
        if kind["index"] == "bucket":
            options["hoodie.bucket.index.num.buckets"] = "2"
        if kind["virtual"]:
            options["hoodie.populate.meta.fields"] = "false"
        if kind["cdc"]:
            options |= {
                "hoodie.table.cdc.enabled": "true",
                "hoodie.table.cdc.supplemental.logging.mode": kind["cdc"],
            }
        self.table = hoodoo.create(
            str(self.folder / "t"), SCHEMA, record_key="k", partition_by=kind["partition"],
            ordering=kind["ordering"], table_type="MERGE_ON_READ", table_version=kind["version"],
            index=kind["index"], merger=kind["merger"], options=options,
        )  # fmt: skip

    def run(self, steps: int) -> None:
        self.upsert()
        self.upsert()
        names = [*STEPS]
        for _ in range(steps):
            name = self.draw.choices(names, [STEPS[n] for n in names])[0]
            self.story.append(name)
            try:
                getattr(self, name)()
            except HoodooError as error:
                if type(error).__name__ not in _REFUSALS:
                    raise
                self.refused[name] = str(error)
                self.story[-1] += f"  # {error}"[:150]
        self.log_compact()
        report = self.table.report("verify")
        assert not report.findings, report
        pending = [i for i in self.table.timeline().pending() if i.action == "compaction"]
        if not pending:
            before = self._rows()
            self.table.compact()
            assert self._rows() == before, "a compaction after it"

    # --- writes -----------------------------------------------------------------------------------
    def _data(self, count: int, dead: bool = False) -> pa.Table:
        keys = self.draw.sample(range(KEYS), count)
        ts = self.draw.randrange(5)
        columns = [
            keys, [f"a{self.draw.randrange(99)}" for _ in keys], [self.draw.randrange(99) for _ in keys],
            [ts if self.draw.random() < 0.8 else None for _ in keys] if not self.kind["ordering"] else [ts] * count,
            [f"p{k % 2}" for k in keys], [dead and self.draw.random() < 0.6 for _ in keys],
        ]  # fmt: skip
        made = pa.table(columns, schema=SCHEMA)
        for name in self.more:
            made = made.append_column(
                name, pa.array([self.draw.randrange(9) for _ in keys], pa.int64())
            )
        return made

    def upsert(self) -> None:
        self.table.upsert(self._data(self.draw.randrange(1, 6)))

    def mark(self) -> None:
        self.table.upsert(self._data(3, dead=True))

    def few(self) -> None:
        if self.kind["merger"] == "partial":
            names = ["k", self.draw.choice(["a", "b"])]
            names += [
                n for n in ("ts", "p") if n == self.kind["ordering"] or n == self.kind["partition"]
            ]
            self.table.upsert(self._data(4).select(names))

    def delete(self) -> None:
        data = self._data(2)
        self.table.delete(data.select(["k", "p"] if self.kind["partition"] else ["k"]))

    def evolve(self) -> None:
        if len(self.more) < 2:
            self.more.append(f"m{len(self.more)}")
            try:
                self.table.upsert(self._data(3), add_columns=True)
            except HoodooError:
                self.more.pop()
                raise

    # --- services ---------------------------------------------------------------------------------
    def log_compact(self) -> None:
        if self.draw.random() < 0.3:
            self.table = hoodoo.open(str(self.folder / "t"), self._options())
        writes = self.table.timeline().writes()
        starts = ["earliest", *(w.completed or w.requested for w in writes)]
        starts = self.draw.sample(starts, min(4, len(starts)))
        before = self._answers(starts)
        commit = self.table.run("logcompaction")
        pending = [i for i in self.table.timeline().pending() if i.action == "logcompaction"]
        assert not pending, "it finishes what is pending"
        if commit.instant:
            self.done += 1
            now = self._answers(starts, {*before})
            assert now == before, _difference(before, now)
            with mock.patch.object(log_rows, "counting", _by_arrival):
                self.table = hoodoo.open(str(self.folder / "t"), self._options())
                assert self._rows() == before["now"], (
                    "as a reader that does not know log compactions"
                )
            self.table = hoodoo.open(str(self.folder / "t"), self._options())

    def _options(self) -> dict[str, str]:
        return {
            "hoodie.log.compaction.blocks.threshold": "2", "hoodie.clean.automatic": "false",
            "hoodie.archive.automatic": "false", "hoodie.keep.max.commits": "6",
            "hoodie.keep.min.commits": "4", "hoodie.clean.commits.retained": "3",
            "hoodie.logfile.data.block.format": self.kind["blocks"],
            "hoodie.metadata.enable": str(self.kind["metadata"] or self.kind["index"] == "record_index").lower(),
        }  # fmt: skip

    def plan(self) -> None:
        self.table.schedule("logcompaction")

    def compact(self) -> None:
        self.table.compact()

    def plan_compaction(self) -> None:
        self.table.schedule_compaction()

    def run_compaction(self) -> None:
        for instant in self.table.timeline().pending():
            if instant.action == "compaction":
                self.table.run_compaction(instant.requested)

    def cluster(self) -> None:
        before = self._rows(meta=False)
        self.table.cluster(columns="b", options={"hoodoo.clustering.with.log.files": "true"})
        assert self._rows(meta=False) == before

    def clean(self) -> None:
        before = self._rows()
        self.table.clean()
        assert self._rows() == before

    def archive(self) -> None:
        before = self._rows()
        self.table.archive()
        assert self._rows() == before

    def savepoint(self) -> None:
        self.table.savepoint()

    def roll_back(self) -> None:
        """Of a log compaction nothing is seen; of a write, only that."""
        newest = self.table.timeline().writes()[-1]
        wrote = self._changes_rows(newest)
        before = self._rows()
        self.table.rollback(newest.requested)
        if not wrote:
            assert self._rows() == before, "the rollback of a service"

    def restore(self) -> None:
        writes = self.table.timeline().writes()
        point = self.draw.choice(writes[-4:]).requested
        as_it_was = _sorted(self.table.read(as_of=point).to_arrow())
        self.table.restore(point)
        assert _sorted(self.table.read().to_arrow()) == as_it_was, "restored"
        self.more = [n for n in self.more if n in self.table.schema.names]

    def _changes_rows(self, instant: Any) -> bool:
        timeline, handle = self.table.timeline(), self.table.handle
        return timeline.metadata(handle.storage, instant).operation.can_change_schema

    # --- answers ----------------------------------------------------------------------------------
    def _answers(self, starts: list[str], asked: set[str] | None = None) -> dict[str, Any]:
        found: dict[str, Any] = {"now": self._rows()}
        for write in self.table.timeline().writes():
            name = f"as of {write.requested}"
            if asked is None or name in asked:
                found[name] = self._try(lambda p=write.requested: self._rows(as_of=p))
        found["base files"] = self._rows(mode="read_optimized")
        for start in starts:
            found[f"since {start}"] = self._try(
                lambda s=start: _sorted(self.table.incremental(s, meta=True).to_arrow())
            )
            found[f"changes since {start}"] = self._try(
                lambda s=start: _sorted(self.table.changes(s).to_arrow())
            )
        return found

    def _try(self, call: Any) -> Any:
        try:
            return call()
        except HoodooError as error:
            return type(error).__name__

    def _rows(self, meta: bool = True, **how: Any) -> list[str]:
        names = (
            []
            if self.kind["virtual"] or not meta
            else ["_hoodie_commit_time", "_hoodie_commit_seqno"]
        )
        columns = [*names, *self.table.schema.names] if "as_of" not in how else None
        return _sorted(self.table.read(columns=columns, **how).to_arrow())


def _sorted(rows: pa.Table) -> list[str]:
    names = [n for n in rows.schema.names if n not in ("_hoodie_file_name", "ts_ms")]
    return sorted(map(str, rows.select(names).to_pylist()))


def _difference(before: dict[str, Any], now: dict[str, Any]) -> str:
    return "\n".join(f"{k}:\n {v}\n {now[k]}" for k, v in before.items() if now[k] != v)


def _by_arrival(found: Iterable[Any], shows: Any) -> Iterator[Any]:
    """The blocks as a reader takes them that does not look for log compactions."""
    kept: list[Any] = []
    for of, block in found:
        if block.is_rollback:
            kept = [pair for pair in kept if pair[1].instant != block.target_instant]
        elif (block.is_data or block.kind == BlockKind.DELETE) and shows(block.instant):
            kept.append((of, block))
    yield from kept
