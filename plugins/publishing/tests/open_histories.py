"""Random histories of a table that is published as Iceberg and Delta, and what readers see after
each action: the newest state, and each snapshot that is listed."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hoodoo
import polars as pl
import pyarrow as pa
from attrs import define, field
from open_readers import SCHEMA, delta, iceberg, shown, snapshots, some_rows, texts

# Rows that a reader sees: by path and columns.
Reader = Callable[[str, list[str]], list[str]]


def polars_iceberg(path: str, names: list[str]) -> list[str]:
    version = Path(path, "metadata/version-hint.text").read_text()
    with warnings.catch_warnings():  # about speed
        warnings.simplefilter("ignore", pl.exceptions.PerformanceWarning)
        found = pl.scan_iceberg(f"{path}/metadata/v{version}.metadata.json")
        return _numbers(found.select("id", "n").collect().to_arrow())


def polars_delta(path: str, names: list[str]) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pl.exceptions.PerformanceWarning)
        return _numbers(pl.scan_delta(path).select("id", "n").collect().to_arrow())


def _numbers(found: pa.Table) -> list[str]:
    return texts(found, ["id", "n"])


@define
class History:
    """``count`` random actions on a table at ``path``. ``others``: readers of the columns ``id`` and
    ``n`` that are compared, too."""

    path: Path
    seed: int
    others: tuple[Reader, ...] = (polars_iceberg, polars_delta)
    done: list[str] = field(factory=list)
    # What snapshots of each instant show.
    states: dict[str, list[str]] = field(factory=dict)
    compared: int = 0

    def run(self, count: int) -> None:
        chance = random.Random(self.seed)
        merged = chance.random() < 0.3
        options = {
            "hoodoo.open.formats": "iceberg,delta",
            "hoodie.clean.automatic": "false",
            "hoodie.metadata.enable": str(chance.random() < 0.3).lower(),
            "hoodie.datasource.write.hive_style_partitioning": str(chance.random() < 0.5).lower(),
        }
        if merged:
            options |= {"hoodoo.open.read.optimized": "true", "hoodie.compact.inline": "false"}
        table = hoodoo.create(
            str(self.path),
            SCHEMA,
            record_key="id",
            partition_by=chance.choice(["place", "n", "day", ["place", "n"], (), "place"]),
            table_type="MERGE_ON_READ" if merged else "COPY_ON_WRITE",
            table_version=chance.choice([6, 9, 9]),
            options=options,
            index=chance.choice(["simple", "bloom", "global_simple"]),
        )
        actions = self._actions(table, chance)
        for number in range(count):
            name = "upsert" if number < 2 else chance.choice([*actions, "upsert", "upsert"])
            self.done.append(name)
            actions[name]()
            self._check(table)
        assert table.verify().ok, self.done

    def _actions(self, table: hoodoo.Table, chance: random.Random) -> dict[str, Any]:
        newest: list[str] = []  # the write that may be undone
        points: list[str] = []

        def rows(most: int) -> pa.Table:
            numbers = chance.sample(range(20), chance.randint(1, most))
            return some_rows(numbers, chance.randrange(4) * 7, table.schema)

        def written(found: Any) -> None:
            if found.instant:
                newest[:] = [found.instant]

        def rollback() -> None:
            if newest:
                table.rollback(newest.pop())

        def save() -> None:
            newest.clear()
            if not points and table.timeline().writes():
                point = table.savepoint()
                points.append(getattr(point, "instant", point))

        def restore() -> None:
            newest.clear()
            if points:
                table.restore(points.pop())

        def alter() -> None:
            newest.clear()
            partitioned = "n" in table.config.partition_fields
            if not partitioned and table.schema.field("n").type == pa.int32():
                table.alter(widen={"n": "bigint"})
            elif "more" not in table.schema.names:
                table.alter(add={"more": "string"})

        def service(call: Callable[[], Any]) -> Callable[[], None]:
            def run() -> None:
                if call() is not None:
                    newest.clear()

            return run

        actions: dict[str, Any] = {
            "upsert": lambda: written(table.upsert(rows(6))),
            "insert": lambda: written(
                table.bulk_insert(some_rows([20 + len(self.done)], 7, table.schema))
            ),
            "delete": lambda: written(table.delete(chance.sample(range(20), 3))),
            "overwrite": lambda: written(table.insert_overwrite(rows(2))),
            "overwrite table": lambda: written(table.insert_overwrite_table(rows(8))),
            "cluster": service(lambda: table.cluster(order="linear", columns=["id"])),
            "clean": service(lambda: table.clean(commits_retained=chance.choice([1, 3]))),
            "archive": service(table.archive),
            "rollback": rollback,
            "save": save,
            "restore": restore,
            "alter": alter,
        }
        if table.config.table_type == "MERGE_ON_READ":
            actions["compact"] = service(table.compact)
        return actions

    def _check(self, table: hoodoo.Table) -> None:
        path, names, right = str(self.path), table.schema.names, shown(table)
        assert texts(delta(path), names) == right, (self.seed, self.done, "delta")
        assert texts(iceberg(path), names) == right, (self.seed, self.done, "iceberg")
        mode = "read_optimized" if table.config.table_type == "MERGE_ON_READ" else "snapshot"
        numbers = _numbers(table.read(mode=mode).to_arrow())
        for reader in self.others:
            assert reader(path, names) == numbers, (self.seed, self.done, reader)
        listed = snapshots(path)
        for snapshot in listed:
            instant = snapshot.summary.additional_properties["hoodoo.instant"]
            key = f"{instant} {snapshot.snapshot_id}"
            if snapshot is listed[-1]:
                self.states[key] = right
            if key in self.states and snapshot is not listed[-1]:
                old = iceberg(path, snapshot.snapshot_id)
                then = texts(old, [n for n in names if n in old.schema.names])
                assert self._same(then, self.states[key]), (self.seed, self.done, instant)
        self.compared += len(listed) + 1 + len(self.others)

    @staticmethod
    def _same(one: list[str], other: list[str]) -> bool:
        """A snapshot shows the columns that it had."""
        return [o.removesuffix(", 'more': None}").rstrip("}") for o in one] == [
            o.removesuffix(", 'more': None}").rstrip("}") for o in other
        ]
