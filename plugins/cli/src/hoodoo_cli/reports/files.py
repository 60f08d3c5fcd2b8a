"""The files as rows: one for each file slice."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen
from hoodoo.model.filegroup import FileSlice
from hoodoo.participants.listing import build
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.view import FileSystemView


@frozen
class SliceRow:
    """A file slice. Sizes in bytes; ``base_file`` is a name, None where there are log files only.
    ``newest``: it is what a snapshot read looks at. ``replaced_by``: the instant that took its file
    group out of the table."""

    partition: str
    file_id: str
    instant: str
    base_file: str | None
    base_bytes: int
    log_files: tuple[str, ...]
    log_bytes: int
    newest: bool
    replaced_by: str | None = None

    @property
    def bytes(self) -> int:
        return self.base_bytes + self.log_bytes


def slice_rows(
    snapshot: Snapshot, partition: str | None = None, bound: str | None = None, every: bool = False
) -> tuple[SliceRow, ...]:
    """The newest slice of each file group, by partition path and file id; ``every``: older slices
    and replaced file groups too. ``partition``: only that path and those below it. ``bound``: the
    requested time of the last write that counts.
    """
    view = build(snapshot, bound)
    return tuple(r for r in _rows(view, every) if partition is None or _below(r, partition))


def _rows(view: FileSystemView, every: bool) -> Iterator[SliceRow]:
    if not every:
        yield from (_row(slice_, True, None) for slice_ in view.slices)
        return
    for group in view.groups(replaced=True):
        gone = view.replaced_by(group.partition_path, group.file_id)
        for place, slice_ in enumerate(group.slices):
            yield _row(slice_, place == 0 and gone is None, gone)


def _row(slice_: FileSlice, newest: bool, gone: str | None) -> SliceRow:
    base = slice_.base_file
    return SliceRow(
        slice_.partition_path,
        slice_.file_id,
        slice_.instant,
        None if base is None else base.name,
        0 if base is None else base.size,
        tuple(log.name for log in slice_.log_files),
        sum(log.size for log in slice_.log_files),
        newest,
        gone,
    )


def _below(row: SliceRow, partition: str) -> bool:
    wanted = partition.strip("/")
    return row.partition == wanted or row.partition.startswith(f"{wanted}/") or not wanted
