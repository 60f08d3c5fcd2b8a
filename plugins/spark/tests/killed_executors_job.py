"""Writes on Spark during which an executor is killed, or the process of a task: at an operation that is drawn.

``killed_executors_job.py FOLDER TRIALS SEED [SHARE [WRITERS]]``: tables of drawn indexes and types get so many writes in
all; in a ``SHARE`` of them, by default a quarter, only the process of a task ends. Rows have other values and another
order each time they are made, some of them another partition path. After each write, every key has to be there once,
with the value of the right write. Prints a line of JSON for each write. ``WRITERS``, by default one, write at the same
time, each into tables of its own; a quarter of their writes then plans no kill. An executor that is killed for one writer
takes tasks of the others with it: ``hits`` counts the executors that were killed during a write.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import hoodoo
import hoodoo_killer
import pyarrow as pa
from pyspark.sql import SparkSession

SCHEMA = pa.schema(
    [("id", pa.int64()), ("city", pa.string()), ("v", pa.string()), ("ts", pa.int64())]
)
DDL = "id long, city string, v string, ts long"
WRITES_OF_A_TABLE = 12
NEW = 40
CITIES = "abc"
INDEXES = ("simple", "bloom", "bucket", "record_index", "global_simple", "global_bloom")


def other_each_time(write: int, wander: bool) -> Any:
    """Rows of ids whose values and order, and partition paths where they ``wander``, depend on the attempt."""

    def made(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        ids = [i for batch in batches for i in batch.column("id").to_pylist()]
        random.SystemRandom().shuffle(ids)
        cities = [random.SystemRandom().choice(CITIES) if wander else CITIES[i % 3] for i in ids]
        values = [f"{write}-{random.SystemRandom().random()}" for _ in ids]
        yield pa.RecordBatch.from_arrays(
            [pa.array(ids, pa.int64()), pa.array(cities, pa.string()), pa.array(values, pa.string()),
             pa.array([write] * len(ids), pa.int64())], schema=SCHEMA,
        )  # fmt: skip

    return made


class Life:
    """One table, and which write each key is of."""

    def __init__(
        self,
        spark: SparkSession,
        folder: Path,
        name: str,
        draw: random.Random,
        share: float,
        quiet: float,
    ) -> None:
        self.spark, self.draw, self.share, self.quiet = spark, draw, share, quiet
        self.index = draw.choice(INDEXES)
        self.kind = draw.choice(("COPY_ON_WRITE", "MERGE_ON_READ"))
        self.path = folder / f"t{name}"
        options = {"hoodoo.spark.small.bytes": "0"}
        if self.index == "bucket":
            options["hoodie.bucket.index.num.buckets"] = "2"
        self.table = hoodoo.create(
            f"killer://{self.path}", SCHEMA, record_key="id", partition_by="city", ordering="ts", index=self.index,
            table_type=self.kind, engine="spark", options=options,
        )  # fmt: skip
        self.kills = Path(f"{self.path}.kills")
        self.model: dict[int, int] = {}
        # Ids whose path depends on the attempt: an upsert might put them beside themselves.
        self.wandered: set[int] = set()
        self.write = 0
        self.operations: dict[str, int] = {}  # of the tasks of such a write, about
        self.changed = False  # since the last compaction

    def rows(self, ids: list[int], wander: bool = False) -> Any:
        data = self.spark.createDataFrame([(i,) for i in ids], "id long").repartition(3)
        return data.mapInArrow(other_each_time(self.write, wander), DDL)

    def one(self) -> dict[str, Any]:
        """One write, during which an executor is killed, most times; what it was, and what is wrong then."""
        self.write += 1
        draw, model = self.draw, self.model
        actions = ["upsert", "insert", "bulk_insert", "wander", "delete", "upsert", "upsert"]
        if self.kind == "MERGE_ON_READ" and self.changed:
            actions += ["compact", "compact"]
        actions += ["cluster"] if self.index != "bucket" else []
        action = draw.choice(actions) if self.write > 1 else draw.choice(actions[:3])
        first = max(model, default=0) + 1
        new = list(range(first, first + NEW))
        old = sorted(model.keys() - self.wandered) if action == "upsert" else sorted(model)
        old = draw.sample(old, min(len(old), NEW))
        if action == "wander":
            call, changed = lambda: self.table.bulk_insert(self.rows(new, True)), new
            self.wandered.update(new)
        elif action == "upsert":
            call, changed = lambda: self.table.upsert(self.rows(old + new)), old + new
        elif action in ("insert", "bulk_insert"):
            call, changed = lambda: getattr(self.table, action)(self.rows(new)), new
        elif action == "delete":
            call, changed = lambda: self.table.delete(self.keys(old)), []
        elif action == "compact":
            call, changed = self.table.compact, []
        else:
            call, changed = lambda: self.table.cluster(columns=["v"], engine="spark"), []
        marks = self.kills / str(self.write)
        self.changed = action != "compact"
        last, after = draw.randint(1, self.operations.get(action, 16)), draw.random() < 0.5
        alone = draw.random() < self.share
        if draw.random() < self.quiet:
            last = 0
        hoodoo_killer.plan(self.kills, marks, last, after, alone)
        began = time.time()
        wrong = ""
        try:
            call()
        except Exception as error:
            wrong = f"it failed: {type(error).__name__}: {error}"
        if action == "delete":
            for i in old:
                model.pop(i)
        model.update(dict.fromkeys(changed, self.write))
        count = len(list(marks.iterdir()))
        self.operations[action] = max(6, count)
        said = {
            "index": self.index, "type": self.kind, "action": action, "seconds": round(time.time() - began, 1),
            "killed": Path(f"{marks}.killed").exists(), "ended": Path(f"{marks}.ended").exists(),
            "hits": sum(k.stat().st_mtime >= began for k in self.path.parent.glob("*.kills/*.killed")),
            "operations": count, "wrong": wrong or self.wrong(),
        }  # fmt: skip
        return said

    def keys(self, ids: list[int]) -> Any:
        """Keys to delete, with the paths where they are."""
        found = {i: city for i, city, _v in self.seen()}
        return self.spark.createDataFrame([(i, found[i]) for i in ids], "id long, city string")

    def seen(self) -> list[tuple[int, str, str]]:
        read = hoodoo.open(str(self.path)).read(columns=["id", "city", "v"]).to_arrow().to_pydict()
        return list(zip(read["id"], read["city"], read["v"], strict=True))

    def wrong(self) -> str:
        """What readers see that the model does not; empty where they agree."""
        rows = self.seen()
        found = {i: int(v.partition("-")[0]) for i, _city, v in rows}
        if len(found) < len(rows):
            return f"{len(rows) - len(found)} rows are there twice"
        if lost := self.model.keys() - found.keys():
            return f"{len(lost)} rows are lost"
        if more := found.keys() - self.model.keys():
            return f"{len(more)} rows are there that should not"
        other = sum(found[i] != write for i, write in self.model.items())
        return f"{other} rows are of another write" if other else ""

    def left(self) -> str:
        """What verify finds at the end, and files that are left over when nobody waits for late tasks any more."""
        for marker in (self.path / ".hoodie/.temp").rglob("*"):
            os.utime(marker, (0, 0))
        hoodoo.open(f"killer://{self.path}").rollback()
        wrong = [str(f) for f in hoodoo.open(str(self.path)).verify().findings]
        wrong += [str(f) for f in (self.path / ".hoodie/.temp").rglob("*") if f.is_file()]
        return "; ".join(wrong)


class Trials:
    """How many writes are left for all writers together, and what they print."""

    def __init__(self, number: int) -> None:
        self.left, self.done, self.lock = number, 0, threading.Lock()

    def take(self) -> bool:
        with self.lock:
            self.left -= 1
            return self.left >= 0

    def say(self, table: str, said: dict[str, Any], done: int = 1) -> None:
        with self.lock:
            self.done += done
            print(json.dumps({"trial": self.done, "table": table, **said}), flush=True)


def write_tables(
    spark: SparkSession,
    folder: Path,
    trials: Trials,
    writer: int,
    seed: int,
    share: float,
    quiet: float,
) -> None:
    """One table after the other, until no write is left."""
    draw = random.Random(f"{seed} {writer}")
    for number in itertools.count():
        table, life = f"{writer}-{number}", None
        for _ in range(WRITES_OF_A_TABLE):
            if not trials.take():
                return
            life = life or Life(spark, folder, table, draw, share, quiet)
            said = life.one()
            trials.say(table, said)
            if said["wrong"]:
                break  # what follows would be wrong because of it
        else:
            if life and (wrong := life.left()):
                trials.say(table, {"wrong": wrong}, done=0)


def main(folder: Path, trials: int, seed: int, share: float = 0.25, writers: float = 1) -> None:
    spark = SparkSession.builder.getOrCreate()
    todo, quiet = Trials(trials), 0.0 if writers == 1 else 0.25
    with ThreadPoolExecutor(int(writers)) as pool:
        for end in [
            pool.submit(write_tables, spark, folder, todo, writer, seed, share, quiet)
            for writer in range(int(writers))
        ]:
            end.result()
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), *map(float, sys.argv[4:]))
