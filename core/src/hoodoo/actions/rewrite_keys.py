"""Rewrite keys: an existing table's files stop to store their record keys (RFC-21, second roll-out part).

The table's properties say first that keys are virtual; from then on stored ones are not looked at. Then
file groups get new base files without them, under their own ids, in commits of a few groups each: what
has been committed stands, so that a run which is cut short is simply begun again. Slices with log files
are compacted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from attrs import field, frozen

from hoodoo.actions.compaction.merge_slice import CompactSlices, Job, payload, read_result
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.compaction import Candidate
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.hookspecs.key_generator import KeyGenerator
from hoodoo.merge.virtual import key_columns, record_keys
from hoodoo.model.brief import listed
from hoodoo.model.commit import WriteStat
from hoodoo.model.config import KEPT_META, POPULATE, STORED_UNTIL, VIRTUAL, TableConfig
from hoodoo.model.filegroup import FileSlice
from hoodoo.model.instant import Instant
from hoodoo.model.meta import META_COLUMNS, PARTITION_PATH, RECORD_KEY, with_meta
from hoodoo.produce.pending import Pending
from hoodoo.storage.api import Storage
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.timeline import Timeline
from hoodoo.write.commit import Commit
from hoodoo.write.run import WriteRequest, commit_files
from hoodoo.write.target import WriteTarget

# What one commit rewrites: as much work as is lost when another writer comes in between.
GROUPS = 64
_BYTES = 4 << 30


@frozen
class RewrittenKeys:
    """``instants``: the commits that rewrote file groups, in order; compactions are among them.
    ``groups`` counts the file groups. ``left``: those that still store their keys (partition path, file id)."""

    instants: tuple[str, ...] = field(default=(), repr=listed)
    groups: int = 0
    left: tuple[tuple[str, str], ...] = field(default=(), repr=listed)


def enabling(
    timeline: Timeline, kept: Sequence[str], pinned: Mapping[str, str]
) -> dict[str, str | None]:
    """The changes of properties that make the keys virtual. ``pinned``: what the key generator has to note."""
    newest = max((i.requested for i in timeline.instants), key=order_key, default=None)
    return {
        **pinned,
        POPULATE: "false",
        VIRTUAL: "true",
        KEPT_META: ",".join(kept),
        STORED_UNTIL: newest,
    }


def check_made(generator: KeyGenerator, row: pa.RecordBatch | None, columns: Sequence[str]) -> None:
    """ConfigError where the stored key of ``row`` is not what ``columns`` give."""
    if row is None or not row.num_rows:
        return
    stored = row.column(RECORD_KEY)[0].as_py()
    made = record_keys(generator, row, columns)[0].as_py()
    if stored != made:
        raise ConfigError(
            f"record key {stored!r}", f"is stored in a row whose columns give {made!r}: virtual keys "
            "would not find it.",
            "open the table with the key generator that made its keys, or leave them stored.",
        )  # fmt: skip


def disabling() -> dict[str, str | None]:
    """The changes of properties that make the keys stored ones again: all files have to store them."""
    return {POPULATE: "true", VIRTUAL: None, KEPT_META: None, STORED_UNTIL: None}


def stores_keys(slice_: FileSlice, config: TableConfig) -> bool:
    """Whether some of the slice's files are from when the table stored its keys."""
    until = config.get(STORED_UNTIL)
    if config.populate_meta_fields or until is None:
        return False
    base = () if slice_.base_file is None else (slice_.base_file,)
    return any(order_key(f.instant) <= order_key(until) for f in (*base, *slice_.log_files))


@frozen
class Storing:
    """A compaction strategy: the slices that :func:`stores_keys` names."""

    config: TableConfig

    def choose(self, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
        return [c for c in candidates if stores_keys(c.slice, self.config)]


def rewrite(order: WriteRequest) -> list[Commit]:
    """Rewrite the base files that store their keys; those of slices with log files are left. One commit
    for every :data:`GROUPS` file groups.

    Raises CommitConflictError where other writers come in between more often than the order says. What
    has been committed until then stands.
    """
    done: list[Commit] = []
    while commit := commit_files(order, _work):
        done.append(commit)
    return done


def _work(target: WriteTarget) -> Callable[[Instant], tuple[WriteStat, ...]] | None:
    chosen: list[FileSlice] = []
    size = 0
    for slice_ in rewritable(target):
        if chosen and (len(chosen) == GROUPS or size + slice_.size > _BYTES):
            break
        chosen.append(slice_)
        size += slice_.size
    return partial(_rewritten, target, chosen) if chosen else None


def rewritable(target: WriteTarget) -> list[FileSlice]:
    return [
        s
        for s in target.slices
        if stores_keys(s, target.config)
        and not s.row_logs
        and (s.partition_path, s.file_id) not in target.compacting
    ]


def _rewritten(
    target: WriteTarget, slices: Sequence[FileSlice], instant: Instant
) -> tuple[WriteStat, ...]:
    extension = target.file_format.extension
    jobs = [
        Job(s, f"{s.file_id}_{n}-0-0_{instant.requested}{extension}") for n, s in enumerate(slices)
    ]
    step = CompactSlices(
        target.storage,
        target.file_format,
        target.merge_rule(with_meta(target.schema)),
        Pending.of(target.timeline, instant),
    )
    engine = target.engine
    tasks = engine.tasks([payload([job]) for job in jobs])
    stats, _damages = read_result(engine.collect(engine.map(tasks, step)))
    return stats


def check_all_stored(
    storage: Storage,
    file_format: BaseFileFormat,
    slices: Sequence[FileSlice],
    generator: KeyGenerator,
) -> None:
    """ConfigError unless every row of ``slices`` has its record key and the other meta columns stored, and
    the key is the one that ``generator`` makes. Reads these columns, and those of keys."""
    for slice_ in slices:
        if slice_.row_logs:
            raise ConfigError(
                f"file group {slice_.file_id}", "has log files, which may lack their keys.",
                "compact the table first (table.compact()).",
            )  # fmt: skip
        if slice_.base_file is None:
            continue
        with file_format.reader(storage, slice_.base_file.path) as reader:
            keys = key_columns(generator, reader.schema)
            for batch in reader.batches([*META_COLUMNS, *keys], encoded=True):
                if reason := _not_stored(batch, generator, keys):
                    raise ConfigError(
                        f"base file {slice_.base_file.path}",
                        f"has rows that {reason}: the keys of its table can't be stored ones again.",
                        "copy the rows into a table that stores its keys.",
                    )


def _not_stored(batch: pa.RecordBatch, generator: KeyGenerator, keys: Sequence[str]) -> str | None:
    """Why the meta columns of ``batch`` are not what a table with stored keys has; None: they are."""
    for name in (RECORD_KEY, *META_COLUMNS):
        if name not in batch.schema.names or batch.column(name).null_count:
            return f"do not store {name}"
        # What Spark's bulk insert puts there. The path of a table without partitions is empty, too.
        if name != PARTITION_PATH and pc.any(pc.equal(batch.column(name), "")).as_py():
            return f"do not store {name}"
    stored, made = batch.column(RECORD_KEY), record_keys(generator, batch, keys)
    if not pc.all(pc.equal(stored, made)).as_py():
        at = pc.index(pc.equal(stored, made), False).as_py()
        return f"store the key {stored[at].as_py()!r} where their columns give {made[at].as_py()!r}"
    return None
