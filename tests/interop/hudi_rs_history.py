"""Random histories of one table by hudi-rs and Hoodoo, in turns, beside a dictionary that says what is right.

    python tests/interop/hudi_rs_history.py PROGRAM FIRST COUNT

tries the histories with the numbers from FIRST on, and prints each difference. The number of a history is all that it
follows from.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
from attrs import define, field, frozen
from hoodoo.errors import ConfigError, HoodooError, HoodooWarning
from hudi_rs_peer import HudiRs, HudiRsError

SCHEMA = pa.schema(
    [("id", pa.int64()), ("ts", pa.int64()), ("v", pa.int64()), ("city", pa.string())]
)
COLUMNS = SCHEMA.names
CITIES = ("oslo", "rome", "lima")
KEYS = 24
STEPS = (6, 16)
_CLEANED = "a clean has deleted files that it needs"
_FILES = re.compile(r"[\w=/.-]+\.(?:parquet|log\.[\w-]+)")  # of an error
Row = dict[str, Any]


@frozen
class Setup:
    """``maker`` made the table."""

    maker: str
    merged: bool
    partitioned: bool
    ordered: bool
    metadata: bool
    index: str | None
    cleans: bool

    @classmethod
    def drawn(cls, chance: random.Random) -> Setup:
        metadata = chance.random() < 0.7
        maker = chance.choice(["hoodoo", "hudi-rs"])
        index = None
        if metadata and chance.random() < 0.6:
            index = "record_index"
        elif maker == "hoodoo" and chance.random() < 0.3:
            index = chance.choice(["bloom", "global_simple"])
        merged, partitioned, ordered, cleans = (chance.random() < 0.5 for _ in range(4))
        return cls(maker, merged, partitioned, ordered, metadata, index, cleans)


class Difference(Exception):
    """What a reader has read is not what the dictionary says, or somebody could not go on."""


@define
class History:
    """One table and its dictionary. ``done``: what was done, for people."""

    peer: HudiRs
    path: Path
    chance: random.Random
    setup: Setup
    rows: dict[int, Row] = field(factory=dict)
    # The instant of each state, newest last; what was done by services is none.
    states: list[tuple[str, dict[int, Row]]] = field(factory=list)
    done: list[str] = field(factory=list)
    clock: int = 0
    counts: Counter[str] = field(factory=Counter)

    # --- the table --------------------------------------------------------------------------------
    def make(self) -> None:
        setup = self.setup
        options = {"hoodie.metadata.enable": str(setup.metadata).lower()}
        self.done.append(repr(setup))
        if setup.maker == "hoodoo":
            hoodoo.create(
                str(self.path), SCHEMA, record_key="id", ordering="ts" if setup.ordered else None,
                partition_by="city" if setup.partitioned else None, index=setup.index, options=options,
                table_type="MERGE_ON_READ" if setup.merged else "COPY_ON_WRITE",
            )  # fmt: skip
        else:
            self.peer.ask(
                "create", self.path, type="mor" if setup.merged else "cow", key=["id"],
                ordering=["ts"] if setup.ordered else [], metadata=setup.metadata,
                partition=["city"] if setup.partitioned else [], record_index=setup.index is not None,
            )  # fmt: skip

    @property
    def table(self) -> hoodoo.Table:
        """As a process that has just begun opens it."""
        options = {"hoodie.clean.automatic": str(self.setup.cleans).lower()}
        if not self.setup.metadata:
            options["hoodie.metadata.enable"] = "false"
        if self.setup.cleans:
            options["hoodie.clean.commits.retained"] = "3"
        return hoodoo.open(str(self.path), options)

    # --- rows -------------------------------------------------------------------------------------
    def row(self, key: int, late: bool = False) -> Row:
        """A new value of the key. ``late``: it may be older than the stored one; of a deleted key it never is."""
        self.clock += 1
        ts = 1000 + self.clock
        if late and self.chance.random() < 0.4:
            ts = (
                max(1, self.rows[key]["ts"] - self.chance.randrange(1, 9))
                if key in self.rows
                else ts
            )
        city = CITIES[key % len(CITIES)]
        return {"id": key, "ts": ts, "v": self.chance.randrange(1000), "city": city}

    def some(self, new: bool = False) -> list[int]:
        """Keys: any, or such as the table lacks."""
        among = [key for key in range(KEYS) if not (new and key in self.rows)]
        return self.chance.sample(among, min(len(among), self.chance.randrange(1, 7)))

    def held(self) -> list[int]:
        keys = sorted(self.rows)
        return self.chance.sample(keys, min(len(keys), self.chance.randrange(1, 4)))

    def upserted(self, rows: list[Row]) -> None:
        for row in rows:
            old = self.rows.get(row["id"])
            if old is None or not self.setup.ordered or row["ts"] >= old["ts"]:
                self.rows[row["id"]] = row

    def data(self, rows: list[Row]) -> pa.Table:
        return pa.Table.from_pylist(rows, SCHEMA)

    def said(self, result: Any) -> None:
        """Note the state that a write has made. ``result``: a commit, or an answer of hudi-rs."""
        instant = result["instant"] if isinstance(result, dict) else result.instant
        if instant and (not self.states or self.states[-1][0] != str(instant)):
            self.states.append((str(instant), dict(self.rows)))

    # --- writes -----------------------------------------------------------------------------------
    def hoodoo_upsert(self) -> None:
        rows = [self.row(key, late=True) for key in self.some()]
        result = self.table.upsert(self.data(rows))
        self.upserted(rows)
        self.said(result)

    def hoodoo_insert(self) -> None:
        rows = [self.row(key) for key in self.some(new=True)]
        result = self.chance.choice([self.table.insert, self.table.bulk_insert])(self.data(rows))
        self.upserted(rows)
        self.said(result)

    def hoodoo_delete(self) -> None:
        keys = self.some()
        result = self.table.delete(self.data([self.row(key) for key in keys]))
        for key in keys:
            self.rows.pop(key, None)
        self.said(result)

    def hoodoo_delete_where(self) -> None:
        bound = self.chance.randrange(1000)
        result = self.table.delete(where=f"v > {bound}")
        self.rows = {k: row for k, row in self.rows.items() if row["v"] <= bound}
        self.said(result)

    def hoodoo_update(self) -> None:
        bound = self.chance.randrange(KEYS)
        result = self.table.update({"v": "v + 1"}, where=f"id < {bound}")
        self.rows = {k: {**r, "v": r["v"] + (k < bound)} for k, r in self.rows.items()}
        self.said(result)

    def hoodoo_overwrite(self) -> None:
        rows = [self.row(key) for key in self.some()]
        result = self.table.insert_overwrite(self.data(rows))
        self.replaced(rows)
        self.said(result)

    def hoodoo_overwrite_table(self) -> None:
        rows = [self.row(key) for key in self.some()]
        result = self.table.insert_overwrite_table(self.data(rows))
        self.rows = {row["id"]: row for row in rows}
        self.said(result)

    def rs_append(self) -> None:
        rows = [self.row(key) for key in self.some(new=True)]
        result = self.peer.ask("append", self.path, self.data(rows))
        self.upserted(rows)
        self.said(result)

    def rs_upsert(self) -> None:
        rows = [self.row(key, late=True) for key in self.some()]
        result = self.peer.ask("upsert", self.path, self.data(rows))
        self.upserted(rows)
        self.said(result)

    def rs_update(self) -> None:
        keys, value = self.held(), self.chance.randrange(1000)
        rows = pa.table({"v": pa.array([value], pa.int64())})
        result = self.peer.ask("update", self.path, rows, filter=f"id = {keys[0]}")
        self.rows[keys[0]] = {**self.rows[keys[0]], "v": value}
        self.said(result)

    def rs_delete(self) -> None:
        bound = self.chance.randrange(1000)
        result = self.peer.ask("delete", self.path, filter=f"v > {bound}")
        self.rows = {k: row for k, row in self.rows.items() if row["v"] <= bound}
        self.said(result)

    def rs_delete_keys(self) -> None:
        keys = self.some()
        cities = [CITIES[key % len(CITIES)] for key in keys]
        paths = [self.partition(city) for city in cities]
        rows = pa.table({"key": [str(key) for key in keys], "path": paths})
        result = self.peer.ask("delete_keys", self.path, rows)
        for key in keys:
            self.rows.pop(key, None)
        self.said(result)

    def rs_overwrite(self) -> None:
        rows = [self.row(key) for key in self.some()]
        result = self.peer.ask("overwrite", self.path, self.data(rows))
        self.rows = {row["id"]: row for row in rows}
        self.said(result)

    def rs_overwrite_partitions(self) -> None:
        rows = [self.row(key) for key in self.some()]
        result = self.peer.ask("overwrite_partitions", self.path, self.data(rows))
        self.replaced(rows)
        self.said(result)

    def partition(self, city: str) -> str:
        if not self.setup.partitioned:
            return ""
        return f"city={city}" if self.setup.maker == "hudi-rs" else city

    def replaced(self, rows: list[Row]) -> None:
        cities = {row["city"] for row in rows} if self.setup.partitioned else set(CITIES)
        kept = {k: row for k, row in self.rows.items() if row["city"] not in cities}
        self.rows = {**kept, **{row["id"]: row for row in rows}}

    # --- services ---------------------------------------------------------------------------------
    def hoodoo_compact(self) -> None:
        self.table.compact()

    def rs_compact(self) -> None:
        self.peer.ask("compact", self.path)

    def hoodoo_clean(self) -> None:
        self.table.clean(commits_retained=self.chance.randrange(1, 4))

    def hoodoo_cluster(self) -> None:
        self.table.cluster()

    def hoodoo_archive(self) -> None:
        options = {"hoodie.keep.min.commits": "4", "hoodie.keep.max.commits": "5",
                   "hoodie.clean.commits.retained": "3"}  # fmt: skip
        hoodoo.open(str(self.path), options).archive()

    def hoodoo_rollback(self) -> None:
        instant, _now = self.states[-1]
        self.table.rollback(instant)
        self.states.pop()
        self.rows = dict(self.states[-1][1]) if self.states else {}

    def hoodoo_restore(self) -> None:
        at = self.chance.randrange(len(self.states))
        instant, rows = self.states[at]
        active = {each.requested for each in self.table.timeline().writes()}
        try:
            self.table.restore(instant)
        except ConfigError as error:
            # Of a write that is known, a clean may have deleted the files; then they are gone.
            gone = _FILES.findall(str(error)) if _CLEANED in str(error) else []
            if any((self.path / name).exists() for name in gone) or (
                not gone and instant in active
            ):
                raise Difference(f"restore to a write of the active timeline: {error}") from error
            raise
        self.states, self.rows = self.states[: at + 1], dict(rows)

    def hoodoo_index(self) -> None:
        names = ["simple", "bloom", "global_simple"]
        if self.setup.metadata:
            names += ["record_index", "record_index"]
        self.table.switch_index(self.chance.choice(names))

    def hoodoo_rebuild(self) -> None:
        self.table.rebuild_index()

    def hoodoo_secondary(self) -> None:
        table = self.table
        if any(index.name == "by_city" for index in table.indexes()):
            table.drop_index("by_city")
        else:
            table.create_index("by_city", ["city"])

    # --- running ----------------------------------------------------------------------------------
    def choices(self) -> Iterator[tuple[Callable[[], None], int]]:
        """What can be done now, and how likely."""
        yield self.hoodoo_upsert, 6
        yield self.rs_upsert, 6
        if len(self.rows) < KEYS:
            yield self.hoodoo_insert, 2
            yield self.rs_append, 2
        if self.rows:
            yield self.hoodoo_delete, 2
            yield self.hoodoo_delete_where, 1
            yield self.hoodoo_update, 1
            yield self.rs_update, 2
            yield self.rs_delete, 1
            yield self.rs_delete_keys, 2
        yield self.hoodoo_overwrite, 1
        yield self.hoodoo_overwrite_table, 1
        yield self.rs_overwrite, 1
        if self.setup.partitioned:
            yield self.rs_overwrite_partitions, 1
        if self.states:
            if self.setup.merged:
                yield self.hoodoo_compact, 2
                yield self.rs_compact, 2
            yield self.hoodoo_clean, 1
            yield self.hoodoo_cluster, 1
            yield self.hoodoo_archive, 1
            yield self.hoodoo_rollback, 1
            yield self.hoodoo_restore, 1
            yield self.hoodoo_index, 1
            if self.setup.metadata:
                yield self.hoodoo_rebuild, 1
                if self.setup.index == "record_index":
                    yield self.hoodoo_secondary, 1

    def live(self) -> None:
        self.make()
        for _ in range(self.chance.randrange(*STEPS)):
            acts, weights = zip(*self.choices(), strict=True)
            act = self.chance.choices(acts, weights)[0]
            name = act.__name__
            self.done.append(name)
            before = dict(self.rows), list(self.states)
            try:
                act()
            except (HoodooError, HudiRsError) as error:
                if not is_refusal(name, self, str(error)):
                    raise Difference(f"{name}: {type(error).__name__}: {error}") from error
                # Refused with a reason: nothing may have changed.
                self.rows, self.states = before
                self.done[-1] += f" (refused: {str(error)[:60]})"
                name += " refused"
            self.counts[name] += 1
            self.check()
        report = self.table.verify()
        if not report.ok:
            raise Difference(f"verify: {[str(found) for found in report.findings[:3]]}")

    def check(self) -> None:
        expected = [self.rows[key] for key in sorted(self.rows)]
        for who, found in (
            ("Hoodoo", self.table.read(COLUMNS).to_arrow().to_pylist() if self.states else []),
            ("hudi-rs", self.peer.read(self.path, COLUMNS) if self.states else []),
        ):
            found = sorted(found, key=lambda row: row["id"])
            if found != expected:
                lost = [row for row in expected if row not in found][:3]
                more = [row for row in found if row not in expected][:3]
                raise Difference(
                    f"{who} reads {len(found)} rows for {len(expected)}: lacks {lost}, has {more}"
                )


def is_refusal(name: str, history: History, text: str) -> bool:
    """Whether the reason is one that the action may have."""
    return any(name.startswith(act) and reason in text for act, reason in REFUSALS)


# What may be refused, and by which reason.
REFUSALS = (
    # hudi-rs 0.6 keeps no secondary index, and says so before it writes.
    ("rs_", "whose metadata table has the 'secondary_index_by_city' partition"),
    # A service came after it.
    ("hoodoo_rollback", "is not the newest completed write"),
    ("hoodoo_restore", _CLEANED),
    ("hoodoo_restore", "is no completed write of the active timeline"),  # it was archived
)


def tried(peer: HudiRs, number: int, folder: Path) -> History:
    """The history with this number, in an empty ``folder`` of its own."""
    chance = random.Random(f"hudi-rs {number}")
    path = folder / f"h{number}"
    history = History(peer, path, chance, Setup.drawn(chance))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HoodooWarning)
            history.live()
    except Exception as error:
        told = "\n  ".join(history.done)
        raise Difference(f"history {number}: {error}\n  {told}") from error
    shutil.rmtree(path)
    return history


def main(program: str, first: int, count: int) -> int:
    failed, counts = 0, Counter[str]()
    room = "/dev/shm" if os.path.isdir("/dev/shm") else None
    folder = Path(tempfile.mkdtemp(prefix="hudi-rs-", dir=room))
    with HudiRs(program) as peer:
        for number in range(first, first + count):
            try:
                counts += tried(peer, number, folder).counts
            except Difference as error:
                failed += 1
                print(error, flush=True)
                if os.environ.get("HOODOO_TRACE"):
                    traceback.print_exc()
    print(
        f"{count} histories, {sum(counts.values())} steps, {failed} differences; tables: {folder}"
    )
    print(dict(counts.most_common()))
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
