"""Tables of a size that nobody has to load: files that are empty, or that only the metadata table knows.

One partition path, :data:`REAL`, has rows; what is measured is done to it. All other files belong to one commit that
names none of them, as if those that did were archived.
"""

from __future__ import annotations

import os
import shutil
from datetime import datetime, timedelta
from pathlib import Path

import hoodoo
import pyarrow as pa
from hoodoo.actions.transaction import Transaction
from hoodoo.hookspecs.participant import ActionChange
from hoodoo.model.commit import CommitMetadata, Operation, WriteStat
from hoodoo.model.schema.avro import avro_text
from hoodoo.participants.of_table import Participants
from hoodoo.storage.api import Storage
from hoodoo.timeline.snapshot import Snapshot
from hoodoo_rows import placement
from hoodoo_rows.testing.tables import Maker
from hoodoo_standard.engine.local import LocalEngine

REAL = "real"
# File groups of a partition path.
EACH = 100
SCHEMA = pa.schema([("id", pa.int64()), ("part", pa.string()), ("n", pa.int64())])
ROWS = 1000
_TIMES = "%Y%m%d%H%M%S%f"
# What comes every few commits is measured by itself.
QUIET = {
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
    "hoodie.metadata.compact.max.delta.commits": "100000",
}

# Rows of the partition path that has some.
rows = Maker(SCHEMA, part=REAL, n=int).count


def with_files(
    path: str, files: int, metadata: bool, index: str = "simple", named: bool = False
) -> None:
    """A table of so many file groups, :data:`EACH` in a partition path. ``named``: their commit names them."""
    shutil.rmtree(path, ignore_errors=True)
    more = {
        "hoodie.metadata.enable": str(metadata).lower(),
        "hoodie.metadata.index.column.stats.enable": "false",
    }
    if index == "record_index":
        more["hoodie.metadata.global.record.level.index.enable"] = "true"
    table = hoodoo.create(
        path, SCHEMA, name="t", record_key="id", partition_by="part", index=index,
        options=QUIET | more, engine=LocalEngine(2),
    )  # fmt: skip
    table.upsert(rows(ROWS))
    handle = table.handle
    storage, timeline = handle.storage, table.timeline()
    transaction = Transaction.begin(Snapshot(storage, timeline), "commit")
    transaction.inflight()
    joined = Participants.of_table(handle.config).join(storage, timeline)
    if metadata:
        stats = tuple(_stat(number, transaction.requested) for number in range(files))
    else:
        stats = ()
        _put_empty(storage, path, files, transaction.requested)
    beside = None
    if joined is not None:
        change = ActionChange(
            storage, timeline, transaction.instant, Operation.CLUSTER, SCHEMA, stats,
            engine=LocalEngine(2),
        )  # fmt: skip
        beside = joined.begin(change)
    noted = placement.noted(Snapshot(storage, timeline), transaction.instant)
    if named and not metadata:
        stats = tuple(_stat(number, transaction.requested, size=0) for number in range(files))
    names = stats if named else ()
    said = CommitMetadata(
        Operation.INSERT, names, extra={"schema": avro_text(SCHEMA, "t"), **noted}
    )
    transaction.complete(timeline.layout.encode_commit(said, "commit"), beside=beside)
    table = hoodoo.open(path, QUIET, engine=LocalEngine(2))
    if metadata:
        table.compact_metadata()
    table.upsert(rows(1))


def _named(number: int, instant: str) -> tuple[str, str, str]:
    file_id = f"{(number * 2654435761) % (1 << 32):08x}-0000-4000-8000-{number:012x}-0"
    return f"p{number // EACH:06d}", file_id, f"{file_id}_{number}-0-0_{instant}.parquet"


def _stat(number: int, instant: str, size: int = 1 << 20) -> WriteStat:
    partition, file_id, name = _named(number, instant)
    return WriteStat(partition, file_id, f"{partition}/{name}", num_writes=1000, file_size=size)


def _put_empty(storage: Storage, path: str, files: int, instant: str) -> None:
    for number in range(files):
        partition, _file_id, name = _named(number, instant)
        if number % EACH == 0:
            Path(path, partition).mkdir()
        os.close(os.open(f"{path}/{partition}/{name}", os.O_CREAT | os.O_WRONLY))


def with_commits(path: str, commits: int, action: str = "commit") -> None:
    """A table with so many commits on its active timeline; those after the first change nothing."""
    shutil.rmtree(path, ignore_errors=True)
    table = hoodoo.create(
        path, SCHEMA, name="t", record_key="id", partition_by="part", index="simple",
        options=QUIET, engine=LocalEngine(2),
    )  # fmt: skip
    table.upsert(rows(ROWS))
    timeline = table.timeline()
    first = datetime.strptime(timeline.instants[-1].completed or "", _TIMES)
    replaced = (
        {"real": (f"{0:08x}-0000-4000-8000-{0:012x}-0",)} if action == "replacecommit" else {}
    )
    for within, (file_id,) in replaced.items():  # of the group that is replaced, which nobody reads
        name = f"{file_id}_0-0-0_{timeline.instants[-1].requested}.parquet"
        Path(path, within, name).touch()
    kind = Operation.CLUSTER if replaced else Operation.INSERT
    said = CommitMetadata(kind, (), replaced, extra={"schema": avro_text(SCHEMA, "t")})
    content = timeline.layout.encode_commit(said, action)
    folder = Path(path, timeline.config.timeline_path)
    for number in range(1, commits):
        requested, completed = (_time(first, 2 * number + more) for more in (0, 1))
        (folder / f"{requested}.{action}.requested").write_bytes(b"")
        (folder / f"{requested}.{action}.inflight").write_bytes(b"")
        (folder / f"{requested}_{completed}.{action}").write_bytes(content)
    hoodoo.open(path, QUIET, engine=LocalEngine(2)).upsert(rows(1))


def _time(first: datetime, milliseconds: int) -> str:
    return f"{first + timedelta(milliseconds=milliseconds):%Y%m%d%H%M%S%f}"[:17]


def with_columns(path: str, columns: int, kind: str = "COPY_ON_WRITE") -> None:
    """A table of so many columns beside its own."""
    shutil.rmtree(path, ignore_errors=True)
    hoodoo.create(
        path, wide(columns, 0).schema, name="t", record_key="id", partition_by="part",
        table_type=kind, index="bucket", options={**QUIET, "hoodie.bucket.index.num.buckets": "2"},
        engine=LocalEngine(2),
    )  # fmt: skip


def wide(columns: int, count: int) -> pa.Table:
    numbers = pa.array(range(count), pa.int64())
    names = [f"c{n}" for n in range(columns)]
    return pa.table(
        [numbers, pa.array([REAL] * count, pa.string()), *([numbers] * columns)],
        names=["id", "part", *names],
    )
