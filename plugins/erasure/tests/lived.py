"""Tables with a random past."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import hoodoo
import pyarrow as pa
from hoodoo.errors import HoodooError

SCHEMA = pa.schema(
    [
        ("id", pa.string()), ("person", pa.string()), ("region", pa.string()), ("ts", pa.int64()),
        ("notes", pa.list_(pa.string())),
    ]
)  # fmt: skip
PEOPLE = [f"someone-{number:03d}" for number in range(8)]
ARCHIVING = {
    "hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3",
    "hoodie.clean.commits.retained": "1",
}  # fmt: skip
STATS = {"hoodie.metadata.enable": "true", "hoodie.metadata.index.column.stats.enable": "true"}
INDEXES = ("simple", "bloom", "record_index", "bucket", "growing_record_index")
Rows = dict[str, tuple[str, str]]


def batch(random_: random.Random, numbers: list[int], ts: int) -> list[dict[str, Any]]:
    """A row's person follows from its number."""
    return [
        {
            "id": f"key-{number:04d}-of-row",
            "person": PEOPLE[number % len(PEOPLE)],
            "region": f"r{number % 3}",
            "ts": ts,
            "notes": [f"of {PEOPLE[number % len(PEOPLE)]}", random_.choice("abc")],
        }
        for number in numbers
    ]


def options(random_: random.Random, index: str) -> dict[str, str]:
    found = dict(STATS) if random_.random() < 0.5 else {}
    found |= ARCHIVING if random_.random() < 0.5 else {}
    if index == "bucket":
        found |= {"hoodie.bucket.index.num.buckets": "2"}
    return found


def lived(path: str, seed: int, kind: str, index: str, version: int = 9) -> hoodoo.Table:
    """A table that several operations were done to, of which some may be refused."""
    random_ = random.Random(seed)
    table = hoodoo.create(
        path, SCHEMA, name="t", record_key="id", ordering="ts", table_type=kind,
        partition_by=random_.choice([(), ("region",)]), index=index, table_version=version,
        options=options(random_, index),
    )  # fmt: skip
    everyone = list(range(40))
    table.upsert(batch(random_, everyone, 0))
    for step in range(1, random_.randrange(4, 9)):
        some = random_.sample(everyone, 12)
        do = random_.choice(
            ("upsert", "upsert", "delete", "compact", "cluster", "index", "archive")
        )
        try:
            _step(table, random_, do, some, step)
        except HoodooError:
            continue  # this table has no such service, or its index no clustering
    table.upsert(batch(random_, everyone, 100))
    table.upsert(batch(random_, random_.sample(everyone, 20), 101))
    return table


def _step(
    table: hoodoo.Table, random_: random.Random, do: str, numbers: list[int], step: int
) -> None:
    if do == "upsert":
        table.upsert(batch(random_, numbers, step))
    elif do == "delete":
        table.delete([f"key-{number:04d}-of-row" for number in numbers[:4]])
    elif do == "compact":
        table.compact()
    elif do == "cluster":
        table.cluster(columns=["ts"])
    elif do == "archive":
        table.archive()
    elif do == "index":
        table.create_index("of_person", ["person"])


def owners(table: hoodoo.Table) -> Mapping[str, str]:
    return {row["id"]: row["person"] for row in table.read(["id", "person"]).to_arrow().to_pylist()}
