"""Base files of the metadata table: HFiles that a compaction, or the beginning of a partition, writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
from attrs import define

from hoodoo.files.hfile import write_hfile
from hoodoo.model.commit import WriteStat
from hoodoo.model.filegroup import BaseFile
from hoodoo.storage.api import Storage
from hoodoo.write.markers import NO_MARKER
from hoodoo.write.pending import Pending
from hoodoo.write.scratch import scratch_file

EXTENSION = ".hfile"


def put_base(
    storage: Storage,
    pending: Pending,
    partition: str,
    file_id: str,
    batches: Iterable[pa.RecordBatch],
    schema_text: str,
    number: int,
) -> WriteStat:
    """Write ``batches`` (ENTRIES, ascending, may be none) as the base file of a file group; its stat.
    ``storage`` is the metadata table's, ``number`` tells the task."""
    base = BaseFile(partition, file_id, pending.requested, f"{number}-0-0", EXTENSION)
    counted = _Counted(iter(batches))
    with scratch_file(storage) as local:
        with open(local, "wb") as sink:
            size = write_hfile(sink, counted, schema_text=schema_text).size
        size = pending.put_sized(storage, partition, base.name, local, NO_MARKER, size)
    return WriteStat(
        partition_path=partition,
        file_id=file_id,
        path=base.path,
        num_writes=counted.rows,
        num_inserts=counted.rows,
        file_size=size,
    )


@define
class _Counted:
    batches: Iterator[pa.RecordBatch]
    rows: int = 0

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch in self.batches:
            self.rows += batch.num_rows
            yield batch
