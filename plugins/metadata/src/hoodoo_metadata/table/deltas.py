"""Deltas: what one instant adds to a file group of the metadata table, as a log file of its own.

Its name holds the instant, so that no two writers meet in a file, and what an undone instant left
can be told by name. A store that can't append loses nothing: there is one HFile per log file, as
RFC-08 draws it. In version 6 the name holds the slice instead
(:mod:`hoodoo_metadata.table.log_places`), and ends with the time of day of the instant."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
from attrs import evolve, field, frozen
from hoodoo.errors import CommitConflictError
from hoodoo.kernel.log_files import log_files
from hoodoo.model.commit import WriteStat
from hoodoo.model.filegroup import LogFile
from hoodoo.model.log_block import BlockKind
from hoodoo.storage.api import Storage
from hoodoo.storage.temporaries import scratch_file
from hoodoo.storage.together import at_once, together
from hoodoo.timeline.instants import to_datetime
from hoodoo.timeline.layouts import NewLog
from hoodoo.timeline.markers import NO_MARKER
from hoodoo_rows.api import Pending

from hoodoo_metadata.hfile import ENTRIES, write_hfile
from hoodoo_metadata.table.log_places import LogPlaces, time_of_day

_LARGEST = 2**31


@frozen
class Delta:
    """``entries``: ENTRIES, ascending, each key once. ``deleted``: keys (strings) that go."""

    partition: str
    file_id: str
    entries: pa.Table = field(factory=ENTRIES.empty_table)
    deleted: pa.Array | None = None

    @property
    def is_empty(self) -> bool:
        return not self.entries.num_rows and not (self.deleted is not None and len(self.deleted))


def put_delta(
    storage: Storage,
    pending: Pending,
    delta: Delta,
    schema_text: str,
    number: int,
    places: LogPlaces | None = None,
) -> WriteStat:
    """Write ``delta`` as a log file of the instant that ``pending`` is of; its stat. ``storage`` is
    the metadata table's. ``places``: where log files go, in version 6.

    The same delta gives the same file, so it may be put again, also by another process that runs
    the same clean at the same time; its name tells it from others of the instant, which an earlier
    run of a service may have left."""
    instant = pending.requested
    with scratch_file(storage) as local:
        with log_files().writer(local) as writer:
            if delta.entries.num_rows:
                batches = delta.entries.to_batches()

                def content(file: BinaryIO) -> None:
                    write_hfile(
                        file,
                        batches,
                        schema_text=schema_text,
                        codec="gzip",
                        created=began(instant),
                    )

                writer.block(BlockKind.HFILE, instant, schema_text, content)
            if delta.deleted is not None and (len(delta.deleted) or not delta.entries.num_rows):
                paths = pa.repeat(delta.partition, len(delta.deleted))
                writer.delete_block(delta.deleted, paths, None, None, instant, schema_text)
            size = writer.close()
        token = f"{number}-{_checksum(local)}"
        new = _new_log(delta, instant, token, places)
        log = new.file
        size = pending.put(storage, delta.partition, log.name, local, NO_MARKER, size)
    gone = 0 if delta.deleted is None else len(delta.deleted)
    return WriteStat(
        partition_path=delta.partition,
        file_id=delta.file_id,
        path=log.path,
        prev_commit=new.prev_commit,
        num_writes=delta.entries.num_rows,
        num_updates=delta.entries.num_rows,
        num_deletes=gone,
        file_size=size,
        base_file=new.base_file,
        log_version=log.version,
        log_files=new.files,
    )


def put_deltas(
    storage: Storage,
    pending: Pending,
    deltas: Sequence[Delta],
    schema_text: str,
    places: LogPlaces | None = None,
    after: Callable[[], object] = lambda: None,
) -> tuple[WriteStat, ...]:
    """Those that are not empty. Across a network side by side, and the instant is looked at once,
    after them; ``after`` is called beside that, and not at all where there are no such looks."""
    filled = [delta for delta in deltas if not delta.is_empty]
    if at_once(storage) > 1 and len(filled) > 1:
        apart = evolve(pending, watched=False)
        puts = [
            partial(put_delta, storage, apart, delta, schema_text, number, places)
            for number, delta in enumerate(filled)
        ]
        stats = tuple(together(storage, *puts))
        try:
            together(storage, partial(pending.check, storage), after)
        except CommitConflictError:
            together(storage, *(partial(storage.delete, stat.path) for stat in stats))
            raise
        return stats
    return tuple(
        put_delta(storage, pending, delta, schema_text, number, places)
        for number, delta in enumerate(filled)
    )


def _new_log(delta: Delta, instant: str, token: str, places: LogPlaces | None) -> NewLog:
    if places is not None:
        return places.next(delta.partition, delta.file_id, f"{token}-{time_of_day(instant)}")
    log = LogFile(delta.partition, delta.file_id, instant, 1, f"{token}-0")
    return NewLog(log, instant, "", (log.name,))


def began(instant: str) -> int:
    """What an HFile of ``instant`` says of when it was made, in milliseconds since 1970: whoever
    makes it again makes the same bytes. 0 for instants that are no dates, under which partitions
    are made."""
    return 0 if instant.startswith("0000") else int(to_datetime(instant[:17]).timestamp() * 1000)


def _checksum(local: str) -> int:
    with Path(local).open("rb") as file:
        value = 0
        while piece := file.read(1 << 20):
            value = zlib.crc32(piece, value)
    return value % _LARGEST
