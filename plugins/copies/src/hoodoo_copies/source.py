"""Source: what a copy of a table consists of, as of one look at it."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence

from attrs import frozen
from hoodoo.errors import ConfigError, UnsupportedTableError
from hoodoo.kernel.registry import kernel
from hoodoo.model.config import BUILT_METADATA, USABLE_METADATA, TableConfig
from hoodoo.model.instant import Instant, State
from hoodoo.options.table import BACKUP_OF, BOOTSTRAP_BASE
from hoodoo.storage.api import Entry
from hoodoo.storage.uri import split
from hoodoo.table.handle import TableHandle
from hoodoo.timeline import properties
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.layouts import layout_of
from hoodoo.timeline.names import parse_path
from hoodoo.timeline.timeline import Timeline
from hoodoo_rows.api import ArrivingRows, StoredFiles

HOME = ".hoodie"
# Of writers at work, or made again of the rest of the table.
_LEFT_OUT = tuple(
    f"{HOME}/{name}/" for name in ("metadata", ".temp", ".heartbeat", ".hoodoo", ".locks")
)
_PUBLISHED = ("_delta_log/", "metadata/")
_OWN_METADATA = ("hoodoo.metadata.partitions", "hoodoo.metadata.partitions.inflight")
# Plans that readers heed: files may be going, and log files belong behind a compaction.
_PROPERTIES = (properties.PATH, properties.BACKUP)
_STATES = (State.REQUESTED, State.INFLIGHT, State.COMPLETED)
HEEDED = frozenset({"clean", "compaction", "logcompaction"})


@frozen
class Look:
    """One look at a table: its ``timeline``, and the files of its copy. ``steps`` are the files of
    the timeline, in the order in which they may be seen; ``archive`` those of the archived one."""

    config: TableConfig
    timeline: Timeline
    data: tuple[Entry, ...]
    archive: tuple[Entry, ...]
    steps: tuple[Entry, ...]

    @property
    def point(self) -> str:
        writes = self.timeline.writes()
        return writes[-1].requested if writes else ""


def look(table: TableHandle, timeline: Timeline, hold: str) -> Look:
    """``hold``: the savepoint that holds the files for the time of the copy; it is no part of
    it."""
    storage, config = table.storage, table.config
    folder, archived = config.timeline_path, f"{layout_of(config).archive_folder(config)}/"
    entries = [e for e in storage.list("", recursive=True) if not _is_left_out(e)]
    parsed = {
        e.path: (found, e)
        for e in entries
        if e.path == f"{folder}/{e.name}" and (found := timeline.layout.parse_instant(e.name))
    }
    steps = tuple(_steps(timeline, [*parsed.values()], hold))
    undone = {i.requested for i in timeline.pending() if i.action not in HEEDED}
    rest = [e for e in entries if e.path not in parsed]
    data = tuple(
        e for e in rest if not e.path.startswith(archived) and _belongs(e, timeline, undone)
    )
    history = sorted((e for e in rest if e.path.startswith(archived)), key=_archive_order)
    return Look(config, timeline, data, tuple(history), steps)


def _is_left_out(entry: Entry) -> bool:
    is_sum = entry.name.startswith(".") and entry.name.endswith(".crc")
    return is_sum or entry.path.startswith(_LEFT_OUT) or entry.path in _PROPERTIES


def _archive_order(entry: Entry) -> tuple[int, str]:
    """What names others comes after them."""
    return (("manifest_" in entry.name) + 2 * (entry.name == "_version_"), entry.path)


def _belongs(entry: Entry, timeline: Timeline, undone: Collection[str]) -> bool:
    if entry.path.startswith(f"{HOME}/"):
        return entry.name.partition(".")[0] not in undone
    if entry.path.startswith(_PUBLISHED) and parse_path(entry.path) is None:
        return False  # it names the files of the source
    file = parse_path(entry.path)
    if file is None:
        return True
    planned = {i.requested for i in timeline.pending() if i.action in HEEDED}
    return timeline.contains_or_before_start(file.instant) or (
        file.instant in planned and entry.name.startswith(".")
    )


def _steps(
    timeline: Timeline, files: Sequence[tuple[Instant, Entry]], hold: str
) -> Iterator[Entry]:
    """The files of the timeline: instants by their completion, and of each what is pending first. A
    savepoint has the time of its write."""
    of: dict[tuple[str, bool], list[tuple[Instant, Entry]]] = {}
    for found, entry in files:
        of.setdefault((found.requested, found.traits.keeps), []).append((found, entry))
    for instant in sorted(timeline.instants, key=_order):
        keeps = instant.traits.keeps
        if (keeps and instant.requested == hold) or not (
            instant.is_completed or is_heeded(instant)
        ):
            continue
        each = of.get((instant.requested, keeps), ())
        yield from (e for _, e in sorted(each, key=lambda one: _STATES.index(one[0].state)))


def is_heeded(instant: Instant) -> bool:
    return instant.action in HEEDED


def _order(instant: Instant) -> str:
    return order_key(instant.completion_order if instant.is_completed else instant.requested)


def of_copy(config: TableConfig) -> dict[str, str]:
    """The properties of the copy: the metadata table waits for being built."""
    found = dict(config.properties)
    found.pop(BACKUP_OF, None)
    for usable, built in ((USABLE_METADATA, BUILT_METADATA), _OWN_METADATA):
        names = [
            name.strip()
            for key in (usable, built)
            for name in found.pop(key, "").split(",")
            if name.strip()
        ]
        if names:
            found[built] = ",".join(sorted({*names}))
    return found


def refuse_overlap(table: TableHandle, place: str | os.PathLike[str]) -> None:
    """ConfigError for a copy that would lie in its table, or around it: the next one would have
    this one in it; and for a name of a catalog, to which copies add no table."""
    root = table.storage.root
    scheme, _rest = split(place)
    if scheme not in ("", "file") and kernel().find("catalog", scheme) is not None:
        raise ConfigError(
            f"place {place}",
            "is the name of a table in a catalog, and copies lie at paths.",
            "Give a path; hoodoo.catalog(...).register(name, path) names it afterwards.",
        )
    if ArrivingRows.overlap(root, place):
        raise ConfigError(
            f"place {place}",
            f"is that of the table {root} itself, within it, or around it: a copy would be a part "
            "of the table.",
            f"Choose a place beside the table, for example {root.rstrip('/')}-copy.",
        )


def refuse_rows_elsewhere(table: TableHandle) -> None:
    """UnsupportedTableError for a bootstrapped table with rows that are in its source alone."""
    source = table.config.get(BOOTSTRAP_BASE)
    if source is None:
        return
    _, slices = table.newest_slices()
    count = sum(map(StoredFiles.is_skeleton, slices))
    if count:
        raise UnsupportedTableError(
            f"backup of {table.config.name}",
            f"would lack rows: they lie in {count:,} file{'s' * (count > 1)} of the source "
            f"{source}.",
            "Write them into the table first: table.compact() where they have log files, then "
            'table.cluster(order="linear", columns=["id"]), with a column of yours.',
        )
