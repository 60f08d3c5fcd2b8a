"""Tables with a random past of any kind: each index, version, store and shape of key, virtual keys,
savepoints, tags, secondary indexes and the metadata of other formats."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import hoodoo
import pyarrow as pa
from attrs import field, frozen
from hoodoo.errors import HoodooError
from lived import ARCHIVING, PEOPLE, STATS

VERSIONS = (9, 8, 6)
INDEXES = (
    "simple", "bloom", "global_simple", "global_bloom", "record_index", "partitioned_record_index",
    "growing_record_index", "bucket", "consistent_bucket",
)  # fmt: skip
# What a key is made of, and the beginning that no other key has: bounds may be cut off.
SHAPES = {
    "text": ("key-{:04d}-of-a-row-whose-key-is-longer-than-a-bound", 8),
    "odd": ('ké"$\\{:04d}/ of, a: row', 9),
    "number": ("90210{:04d}77", 11),
    "pair": ("pair-{:04d}-of-row", 9),
}
ROWS = 24
_NEWEST = ("growing_record_index", "partitioned_record_index")  # for tables of version 9 alone
CASES = [
    (kind, index)
    for kind in ("COPY_ON_WRITE", "MERGE_ON_READ")
    for index in INDEXES
    if (kind, index) != ("COPY_ON_WRITE", "consistent_bucket")  # its buckets need log files
]
_OF_INDEX = {
    "bucket": {"hoodie.bucket.index.num.buckets": "2"},
    "consistent_bucket": {"hoodie.bucket.index.num.buckets": "2"},
}


@frozen
class Past:
    """How the table ``seed`` is made, and what is in it."""

    seed: int
    kind: str
    index: str
    shape: str = "text"
    version: int = 9
    options: Mapping[str, str] = field(factory=dict)
    partitioned: bool = False

    @classmethod
    def drawn(cls, seed: int, kind: str, index: str) -> Past:
        chance = random.Random(f"{seed} {kind} {index}")
        partitioned = chance.random() < 0.5 or index == "partitioned_record_index"
        found: dict[str, str] = dict(_OF_INDEX.get(index, {}))
        for more, often in (
            (STATS, 0.5),
            (ARCHIVING, 0.6),
            (_VIRTUAL, 0.25),
            (_formats(chance), 0.4),
        ):
            found |= more if chance.random() < often else {}
        if kind == "MERGE_ON_READ" and "hoodoo.open.formats" in found:
            found["hoodoo.open.read.optimized"] = "true"
        virtual = "hoodie.populate.meta.fields" in found
        only_newest = index in _NEWEST or (virtual and "record_index" in index)
        version = chance.choice(VERSIONS[:1] if only_newest else VERSIONS)
        return cls(seed, kind, index, chance.choice([*SHAPES]), version, found, partitioned)

    @property
    def schema(self) -> pa.Schema:
        key = pa.int64() if self.shape == "number" else pa.string()
        return pa.schema(
            [("id", key), ("person", pa.string()), ("region", pa.string()), ("ts", pa.int64()),
             ("notes", pa.list_(pa.string())), ("second", pa.string())]
        )  # fmt: skip

    @property
    def keys(self) -> list[str]:
        return ["id", "second"] if self.shape == "pair" else ["id"]

    def key(self, number: int) -> Any:
        text = SHAPES[self.shape][0].format(number)
        return int(text) if self.shape == "number" else text

    def sought(self, number: int) -> str:
        """The beginning of the key, which no other row has."""
        text = str(self.key(number))
        return text[: SHAPES[self.shape][1]]

    def row(self, number: int, ts: int) -> dict[str, Any]:
        person = PEOPLE[number % len(PEOPLE)]
        return {
            "id": self.key(number), "person": person, "region": f"r{number % 3}", "ts": ts,
            "notes": [f"of {person}", "abc"[ts % 3]], "second": f"s{number % 2}",
        }  # fmt: skip

    def rows(self, numbers: list[int], ts: int) -> list[dict[str, Any]]:
        return [self.row(number, ts) for number in numbers]

    def made(self, path: str, store: Mapping[str, str]) -> tuple[hoodoo.Table, list[str]]:
        """The table, and what was done. Some of it may be refused: no table has every service."""
        chance = random.Random(self.seed)
        table = hoodoo.create(
            path, self.schema, name="t", record_key=self.keys, ordering="ts", table_type=self.kind,
            partition_by=["region"] if self.partitioned else [], index=self.index,
            table_version=self.version, options={**self.options, **store},
        )  # fmt: skip
        everyone = list(range(ROWS))
        table.upsert(self.rows(everyone, 0))
        done = []
        for step in range(1, chance.randrange(4, 10)):
            what = chance.choice(STEPS)
            try:
                self.step(table, chance, what, step)
                done.append(what)
            except HoodooError as error:
                done.append(f"({what}: {type(error).__name__})")
        table.upsert(self.rows(everyone, 100))
        if chance.random() < 0.5:
            table.upsert(self.rows(chance.sample(everyone, ROWS // 2), 101))
        return table, done

    def step(self, table: hoodoo.Table, chance: random.Random, what: str, step: int) -> None:
        some = chance.sample(range(ROWS), ROWS // 3)
        if what == "upsert":
            table.upsert(self.rows(some, step))
        elif what == "delete":
            table.delete(where=f"ts = {step - 1}")
        elif what == "cluster":
            table.cluster(columns=["person"])
        elif what == "log_compact":
            table.run("logcompaction")
        elif what == "index":
            table.create_index("of_person", ["person"])
        elif what == "tag":
            table.tag(f"of-step-{step}")
        elif what == "rollback":
            table.rollback(table.upsert(self.rows(some, step)).instant)
        elif what == "publish":
            table.publish(chance.choice(["delta", "iceberg"]))
        elif what == "pending":
            table.schedule("compaction")
        elif what == "overwrite":
            table.insert_overwrite(self.rows(list(range(ROWS)), step))
        else:
            getattr(table, what)()


STEPS = (
    *("upsert",) * 3, "delete", "compact", "cluster", "log_compact", "index", "archive",
    "savepoint", "tag", "rollback", "publish", "pending", "overwrite", "clean", "rebuild_index",
)  # fmt: skip
_VIRTUAL = {"hoodie.populate.meta.fields": "false"}


def _formats(chance: random.Random) -> dict[str, str]:
    return {"hoodoo.open.formats": chance.choice(["delta", "iceberg", "delta,iceberg"])}
