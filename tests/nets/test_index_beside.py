"""Writers that name another index than their table notes, a record index that the table keeps beside it: refused
once keys have been in two places, as it has room for one, or right.

Drawn: the index noted x the index asked x type of table x version x keys that are virtual x engine.
"""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import hoodoo
import pyarrow as pa
import pytest
from attrs import frozen
from hoodoo.errors import ConfigError, HoodooError, OptionConflictError
from hoodoo.timeline import properties

pytestmark = pytest.mark.sampled(4)

SCHEMA = pa.schema([("k", pa.string()), ("p", pa.string()), ("v", pa.int64())])
RECORD, GROWING = "record_index", "growing_record_index"
# As a table notes it. The last one is of other engines, and nobody offers it here.
NOTED = ("simple", "bloom", "partitioned_record_index", "global_simple", "bucket", "INMEMORY")
ASKED = (RECORD, GROWING)
TYPES = ("COPY_ON_WRITE", "MERGE_ON_READ")
WHY = "has room for one place of a key"
_MORE = os.environ.get("HOODOO_TRIALS") in ("more", "all")


@frozen
class Draw:
    noted: str
    asked: str
    type: str
    version: int
    virtual: bool
    doubled: bool
    seed: int

    @property
    def globally(self) -> bool:
        """Whether the index noted lets no key into two partition paths."""
        return self.noted == "global_simple"

    @property
    def name(self) -> str:
        keys = "virtual" if self.virtual else "stored"
        twice = "twice" if self.doubled else "once"
        return (
            f"{self.noted}-{self.asked}-{self.type[0]}-v{self.version}-{keys}-{twice}-{self.seed}"
        )


def drawn(count: int, seed: int) -> list[Draw]:
    """Each pair of a noted and an asked index in turn, the rest by chance."""
    rng = random.Random(seed)
    pairs = [(noted, asked) for noted in NOTED for asked in ASKED]
    rng.shuffle(pairs)
    found = []
    for number in range(count):
        noted, asked = pairs[number % len(pairs)]
        doubled = noted != "global_simple" and number % 3 != 0
        version = 9 if asked == GROWING or "part" in noted else rng.choice((6, 8, 9))
        found.append(Draw(
            noted, asked, rng.choice(TYPES), version, rng.random() < 0.25, doubled, rng.randrange(1000)
        ))  # fmt: skip
    return found


class Table:
    """A table and, by key and partition path, its rows."""

    def __init__(self, draw: Draw, folder: Path, engine: str) -> None:
        self.draw, self.engine, self.rng = draw, engine, random.Random(draw.seed)
        self.rows: dict[tuple[str, str], int] = {}
        more: dict[str, Any] = {} if draw.noted == "INMEMORY" else {"index": draw.noted}
        options = {"hoodie.bucket.index.num.buckets": "2"} if draw.noted == "bucket" else {}
        if draw.virtual:
            options["hoodie.populate.meta.fields"] = "false"
        self.table = hoodoo.create(
            str(folder / draw.name), SCHEMA, name="t", record_key="k", partition_by="p", table_type=draw.type,
            table_version=draw.version, options=options, **more,
        )  # fmt: skip

    def upsert(self, writer: hoodoo.Table, *places: tuple[str, str], anywhere: bool = False) -> Any:
        """``anywhere``: the row of a key is the one it has in any partition path."""
        value = self.rng.randrange(1000)
        rows = [{"k": k, "p": p, "v": value + n} for n, (k, p) in enumerate(places)]
        commit = writer.upsert(pa.Table.from_pylist(rows, schema=SCHEMA))
        for row in rows:
            for other in [one for one in self.rows if anywhere and one[0] == row["k"]]:
                del self.rows[other]
            self.rows[row["k"], row["p"]] = row["v"]
        return commit

    def check(self, where: str) -> None:
        found = hoodoo.open(self.table.path).read(SCHEMA.names).to_arrow().to_pylist()
        stored = sorted((row["k"], row["p"], row["v"]) for row in found)
        assert stored == sorted((k, p, v) for (k, p), v in self.rows.items()), (self.draw, where)

    def history(self) -> None:
        draw, table = self.draw, self.table
        self.upsert(table, ("a", "x"), ("b", "x"), ("c", "y"))
        table.rebuild_index("files")
        table.rebuild_index(draw.asked)
        self.note()
        if draw.doubled:
            self.upsert(self.own(), ("a", "y"), ("d", "x"))
        if self.rng.random() < 0.5:
            self.upsert(self.own(), ("e", "y"), ("b", "x"))
        self.check("made")

    def note(self) -> None:
        """The index drawn is the table's, though the record index would be."""
        draw, table = self.draw, self.table
        if draw.noted == "INMEMORY":
            changes = {"hoodoo.index.type": None, "hoodie.index.type": "INMEMORY"}
            properties.update(table.handle.storage, table.config, changes)
        elif draw.noted not in ("global_simple", "bucket"):
            table.switch_index(draw.noted)

    def own(self) -> hoodoo.Table:
        """A writer by the table's index; for one that is not offered here, by ``simple``."""
        named = {"index": "simple"} if self.draw.noted == "INMEMORY" else {}
        return hoodoo.open(self.table.path, engine=self.engine, **named)

    def by(self, index: str) -> hoodoo.Table:
        options = {}
        if "," in index:
            options, index = {"hoodoo.index.tee": index}, "tee"
        return hoodoo.open(self.table.path, options, index=index, engine=self.engine)


def trial(draw: Draw, folder: Path, engine: str) -> str:
    """What became of the writer that asks another index."""
    made = Table(draw, folder, engine)
    try:
        made.history()
    except HoodooError as error:  # such a table there is not
        assert "INDEX" in draw.noted or draw.virtual or draw.version == 6, (draw, error)
        return "no such table"
    before = dict(made.rows)
    try:
        writer = made.by(draw.asked)
        commit = made.upsert(writer, ("a", "x"), ("b", "x"), ("n", "y"), anywhere=True)
    except OptionConflictError:
        made.check("contradicts")
        return "contradicts"
    except ConfigError as error:
        made.rows = before
        if "other kind" in str(error):
            assert draw.noted == "partitioned_record_index" and not draw.virtual, draw
            return "of another kind"
        assert WHY in str(error), (draw, error)
        assert draw.doubled, draw
        made.check("refused")
        comparisons(made)
        return "refused"
    assert not draw.doubled, draw
    assert (commit.updated, commit.inserted) == (2, 1), draw
    made.check("written")
    writer.delete(["b"])
    del made.rows["b", "x"]
    made.check("deleted")
    assert hoodoo.open(made.table.path).verify().ok
    return "written"


def comparisons(made: Table) -> None:
    """They may ask the index, as nobody goes by what it says; who looks keys up may not."""
    table, asked = made.own(), made.draw.asked
    assert not table.compare_indexes("simple", asked).same
    table.run("check_index", index=asked)
    with pytest.raises(ConfigError, match=WHY):
        table.locate(["a"], index=asked)
    if made.draw.noted in ("simple", "bloom"):
        with pytest.warns(hoodoo.errors.HoodooWarning, match="differ"):
            made.upsert(made.by(f"simple,{asked}"), ("a", "x"), ("a", "y"))
        made.check("beside another")
        with pytest.raises(ConfigError, match=WHY):
            made.upsert(made.by(f"{asked},global_simple"), ("a", "x"))
        made.check("refused as the first of two")


@pytest.mark.parametrize("draw", drawn(60 if _MORE else 12, 1), ids=lambda draw: draw.name)
def test_another_index_than_the_table_notes(draw: Draw, tmp_path: Path) -> None:
    trial(draw, tmp_path, "local")


@pytest.mark.sampled(3, among="on Spark")
@pytest.mark.spark
@pytest.mark.parametrize("draw", drawn(24 if _MORE else 2, 3), ids=lambda draw: draw.name)
def test_the_same_on_spark(draw: Draw, tmp_path: Path, spark: Any) -> None:
    trial(draw, tmp_path, "spark")
