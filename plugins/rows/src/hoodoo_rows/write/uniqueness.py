"""Uniqueness: whether two writes that did not see each other inserted the same record key.

File groups alone don't tell: each may have put the key into a group of its own. Only rows that a
write brought in are compared, by the commit time that they carry."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from hoodoo.hookspecs.engine import Side, Stream, Task
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.hookspecs.index import KEYS_SCHEMA
from hoodoo.model.commit import WriteStat
from hoodoo.model.instant import Instant
from hoodoo.model.meta import COMMIT_TIME, PARTITION_PATH, RECORD_KEY
from hoodoo.model.payload import Payload
from hoodoo.storage.api import Storage

from hoodoo_rows.merge.pairs import flat
from hoodoo_rows.write.target import WriteTarget


def shared_key(
    target: WriteTarget,
    mine: Instant,
    my_stats: Iterable[WriteStat],
    other: Instant,
    other_stats: Iterable[WriteStat],
) -> str | None:
    """A record key that both instants brought into the table; None if there is none.

    Keys of the smaller write are held in memory, those of the other are read past them.
    """
    anywhere = target.index.is_global
    ours, theirs = list(_inserting(my_stats)), list(_inserting(other_stats))
    if not anywhere:
        common = {s.partition_path for s in ours} & {s.partition_path for s in theirs}
        ours = [s for s in ours if s.partition_path in common]
        theirs = [s for s in theirs if s.partition_path in common]
    if not ours or not theirs:
        return None
    sides = sorted(
        ((ours, mine), (theirs, other)), key=lambda side: sum(s.num_inserts for s in side[0])
    )
    (few, few_instant), (many, many_instant) = sides
    engine = target.engine
    brought = BroughtKeys(target.storage, target.file_format, few_instant.requested)
    held = engine.collect(engine.map(_tasks(target, few), brought))
    if not held.num_rows:
        return None
    step = BroughtKeys(
        target.storage, target.file_format, many_instant.requested, engine.side(held), anywhere
    )
    found = engine.collect(engine.map(_tasks(target, many), step))
    return str(found.column("record_key")[0].as_py()) if found.num_rows else None


def _inserting(stats: Iterable[WriteStat]) -> Iterator[WriteStat]:
    """Log files only hold rows of keys that are in their file group (an index that computes file
    groups apart, which needs no comparison)."""
    return (s for s in stats if s.num_inserts and s.log_version is None)


def _tasks(target: WriteTarget, stats: list[WriteStat]) -> Stream:
    return target.engine.tasks([Payload.of(s.path.encode(), s.file_size) for s in stats])


@frozen
class BroughtKeys:
    """Step: paths of base files in; the keys of their rows that ``instant`` brought out
    (KEYS_SCHEMA), of these only those among ``known`` if it is given, wherever they lie if
    ``anywhere``."""

    storage: Storage
    file_format: BaseFileFormat
    instant: str
    known: Side | None = None
    anywhere: bool = False
    out_schema = KEYS_SCHEMA

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        columns = [RECORD_KEY, PARTITION_PATH, COMMIT_TIME]
        where = pc.field(COMMIT_TIME) == self.instant
        for batch in batches:
            for payload in batch.column("payload").to_pylist():
                path = payload.decode()
                known = self._known_in(path.rpartition("/")[0])
                with self.file_format.reader(self.storage, path) as reader:
                    for rows in reader.batches(columns, where):
                        mine = pc.equal(rows.column(COMMIT_TIME), self.instant)
                        # Of rows that don't say whose they are, all count: two file groups have no
                        # key in common unless one of the two writes has put it there.
                        unsaid = pc.fill_null(pc.equal(rows.column(COMMIT_TIME), ""), True)
                        found = rows.filter(pc.or_kleene(mine, unsaid))
                        if known is not None:
                            here = pc.is_in(found.column(RECORD_KEY), value_set=known)
                            found = found.filter(here)
                        pair = [found.column(RECORD_KEY), found.column(PARTITION_PATH)]
                        yield pa.record_batch(pair, schema=KEYS_SCHEMA)

    def _known_in(self, partition: str) -> pa.Array | None:
        if self.known is None:
            return None
        known = self.known.table()
        if not self.anywhere:
            known = known.filter(pc.equal(known.column("partition_path"), partition))
        return flat(known.column("record_key"))
