"""Changed: what a write has done to the table, for those who take part in it."""

from __future__ import annotations

from hoodoo.hookspecs.participant import ActionChange, ChangedKeys
from hoodoo.model.commit import CommitMetadata, Operation, WriteStat
from hoodoo.model.filegroup import BaseFile, FileSlice
from hoodoo.model.instant import Instant
from hoodoo.produce.key_changes import WriteResult
from hoodoo.timeline.names import parse_path
from hoodoo.timeline.publish import CoupledCommit
from hoodoo.write.target import WriteTarget


def begin_joined(
    target: WriteTarget, instant: Instant, metadata: CommitMetadata, written: WriteResult
) -> CoupledCommit | None:
    """What is decided together with the commit ``metadata`` of ``instant``; None where nobody takes part.
    ``written.stats`` are those of ``metadata``."""
    if target.joined is None:
        return None
    change = ActionChange(
        target.storage,
        target.timeline,
        instant,
        metadata.operation,
        target.schema,
        metadata.stats,
        replaced=metadata.replaced,
        engine=target.engine,
        keys=_keys(target, metadata, written) if target.joined.keys else None,
        index=target.index,
        serializer=target.serializer,
        resumed=metadata.operation is Operation.CLUSTER,
    )
    return target.joined.begin(change)


def _keys(target: WriteTarget, metadata: CommitMetadata, written: WriteResult) -> ChangedKeys:
    rows, files = written.keys, {}
    if rows is not None:
        files = {n: (s.partition_path, s.file_id) for n, s in written.files.items()}
    elif written.direct:
        new = [_slice_of(stat) for stat in written.stats]
        rows = target.keys_of(new)
        files = {n: (s.partition_path, s.file_id) for n, s in enumerate(new)}
    gone = tuple(
        s for s in target.slices if s.file_id in metadata.replaced.get(s.partition_path, ())
    )
    # A clustering puts each key of what it replaces somewhere else.
    moves = metadata.operation is Operation.CLUSTER
    return ChangedKeys(target, rows, files, gone, moves)


def _slice_of(stat: WriteStat) -> FileSlice:
    base = parse_path(stat.path, stat.file_size)
    assert isinstance(base, BaseFile)
    return FileSlice(stat.partition_path, stat.file_id, base.instant, base)
