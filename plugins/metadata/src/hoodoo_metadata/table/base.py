"""Base files of the metadata table: HFiles that a compaction, or the beginning of a partition,
writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
from attrs import define
from hoodoo.model.commit import WriteStat
from hoodoo.model.filegroup import BaseFile
from hoodoo.storage.api import Storage
from hoodoo.storage.temporaries import scratch_file
from hoodoo.timeline.markers import NO_MARKER
from hoodoo_rows.api import Pending

from hoodoo_metadata.hfile import write_hfile
from hoodoo_metadata.hfile.writer import BLOCK_BYTES
from hoodoo_metadata.table.deltas import began
from hoodoo_metadata.table.layout import INDEXES

EXTENSION = ".hfile"
# Blocks of partitions whose single keys are sought. Measured on 1 M entries, one core: with half as
# many bytes in a block as usual, seeking 1,000 keys takes 67 ms instead of 90, scanning all 4 %
# more, and an entry 27 bytes instead of 24. With a quarter: 47 ms, 28 % more, 30 bytes.
SOUGHT_BLOCK_BYTES = BLOCK_BYTES // 2
_SOUGHT = frozenset(INDEXES)


def block_bytes(partition: str) -> int:
    """How many plain bytes are in a data block of a base file of ``partition``."""
    return SOUGHT_BLOCK_BYTES if partition in _SOUGHT else BLOCK_BYTES


def put_base(
    storage: Storage,
    pending: Pending,
    partition: str,
    file_id: str,
    batches: Iterable[pa.RecordBatch],
    schema_text: str,
    number: int,
) -> WriteStat:
    """Write ``batches`` (ENTRIES, ascending, may be none) as the base file of a file group; its
    stat. ``storage`` is the metadata table's, ``number`` tells the task."""
    base = BaseFile(partition, file_id, pending.requested, f"{number}-0-0", EXTENSION)
    counted = _Counted(iter(batches))
    with scratch_file(storage) as local:
        with open(local, "wb") as sink:
            size = write_hfile(
                sink,
                counted,
                schema_text=schema_text,
                block_bytes=block_bytes(partition),
                empty_last_key=getattr(storage, "blocks", None) is None,  # not in version 6
                created=began(pending.requested),
            ).size
        size = pending.put(storage, partition, base.name, local, NO_MARKER, size)
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
