"""Verify: the files that are there against those that the timeline names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from attrs import frozen
from hoodoo.errors import CorruptTableError, HoodooError
from hoodoo.kernel.archived import oldest
from hoodoo.model import brief
from hoodoo.model.config import TableConfig
from hoodoo.model.filegroup import BaseFile, LogFile
from hoodoo.model.findings import Finding
from hoodoo.storage.api import Entry, Storage
from hoodoo.timeline import partitions, replaced_note
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.layouts import first_layout_of, layout_of
from hoodoo.timeline.names import parse_path
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline

from hoodoo_cli.reports.verify.named_files import NamedFiles

DataFile = BaseFile | LogFile
_VERSION = "_version_"
_FROM_COPY = "restore it from a copy, or restore the table to an instant before that commit."


@frozen
class Instants:
    """Which instants are known. ``before`` and ``after``: the timeline before and after the listing
    of the files, as writers may go on meanwhile. ``archived``: requested times of archived
    instants; None where they do not reach back far enough to say anything."""

    before: Timeline
    after: Timeline
    active: frozenset[str]
    archived: frozenset[str] | None = None

    @classmethod
    def of(
        cls, before: Timeline, after: Timeline, archived: frozenset[str] | None = None
    ) -> Instants:
        active = frozenset(i.requested for t in (before, after) for i in t.instants)
        return cls(before, after, active, archived)

    def is_committed(self, instant: str) -> bool:
        found = self.before.find(instant) or self.after.find(instant)
        return found is not None or self.is_archived(instant)

    def is_archived(self, instant: str) -> bool:
        """Older than the active timeline; readers take its files for committed."""
        start = self.before.start
        return start is not None and order_key(instant) < order_key(start)

    def is_known(self, instant: str) -> bool:
        """On the timeline in any state, or archived."""
        if instant in self.active:
            return True
        return self.is_archived(instant) and (self.archived is None or instant in self.archived)


def parsed(entries: Iterable[Entry]) -> dict[str, DataFile]:
    """The base and log files among ``entries``, by path."""
    found = ((entry.path, parse_path(entry.path, entry.size)) for entry in entries)
    return {path: file for path, file in found if file is not None}


def _beside_undone(path: str, by: str | None, instants: Instants) -> bool:
    """Whether a commit put the file into a file group that a clustering was to make, which was
    undone since."""
    log = parse_path(path)
    if by is None or not isinstance(log, LogFile) or order_key(log.instant) >= order_key(by):
        return False
    return not instants.is_known(log.instant)


def _after_savepoints(path: str, timeline: Timeline) -> bool:
    """Whether no savepoint has the rows of the log file: those of Spark Hudi name later ones, too,
    which a restore undoes."""
    log = parse_path(path)
    newest = max(timeline.savepointed(), key=order_key, default="")
    return isinstance(log, LogFile) and order_key(log.instant) > order_key(newest)


def check_named(
    history: NamedFiles, files: Mapping[str, DataFile], instants: Instants
) -> Iterator[Finding]:
    """Files that the timeline names: are they there, and as long as it says?"""
    shared = first_layout_of(instants.before.config).log_names_slice
    shared = shared or instants.before.layout.log_names_slice
    for path, named in history.named.items():
        file = files.get(path)
        who = f"commit {named.instant}" if named.instant else "a savepoint"
        if file is None:
            # A commit that is not there any more was undone since, with its files.
            stands = instants.after.contains_or_before_start(named.instant or "0")
            if not named.instant:
                stands = not _after_savepoints(path, instants.after)
            stands = stands and not _beside_undone(path, named.instant, instants)
            if stands and not (named.instant and history.was_removed(path)):
                rule = f"{who} names it, and no clean has removed it"
                yield Finding("file.missing", path, rule, _FROM_COPY)
        elif named.size and not _as_long(file, named.size, shared):
            rule = f"it has {file.size} bytes, and {who} says {named.size}"
            yield Finding("file.size", path, rule, _FROM_COPY)


def _as_long(file: DataFile, size: int, shared: bool) -> bool:
    if shared and isinstance(file, LogFile):
        return file.size >= size  # a writer that failed may have appended to it
    return file.size == size


def check_strays(
    history: NamedFiles, files: Mapping[str, DataFile], instants: Instants
) -> Iterator[Finding]:
    """Files that no commit names. In version 6 the name of a log file does not say who wrote it."""
    groups: dict[tuple[str, str, str], list[BaseFile]] = {}
    shared = instants.before.layout.log_names_slice
    slices: set[tuple[str, str, str]] = set()  # an upgraded table has log files of before
    if first_layout_of(instants.before.config).log_names_slice:
        bases = (f for f in files.values() if isinstance(f, BaseFile))
        slices = {(f.partition_path, f.file_id, f.instant) for f in bases}
    known: dict[str, bool] = {}
    for path, file in files.items():
        if isinstance(file, BaseFile):
            groups.setdefault((file.partition_path, file.file_id, file.instant), []).append(file)
        elif shared or (file.partition_path, file.file_id, file.instant) in slices:
            continue
        instant = file.instant
        if instant not in known:
            known[instant] = instants.is_known(instant)
        if path in history.named:
            continue
        if not known[instant]:
            yield _stray(path, f"its instant {instant}", instants.is_archived(instant))
        elif instants.before.find(instant) and instant not in history.unread:
            yield Finding(
                "file.unnamed",
                path,
                f"commit {instant} is completed and does not name it; readers may see its rows",
                "delete it.",
            )
    for rivals in groups.values():
        # Those of a write that is not completed are sorted out by its writer.
        if len(rivals) > 1 and instants.is_committed(rivals[0].instant):
            yield Finding(
                "file.twice",
                rivals[0].path,
                f"instant {rivals[0].instant} has {len(rivals)} base files of this file group: "
                + ", ".join(file.name for file in rivals),
                "delete those that the commit does not name.",
            )


def _stray(path: str, what: str, visible: bool) -> Finding:
    if visible:
        rule = f"{what} is not on the timeline, nor archived; readers take it for committed"
    else:
        rule = (
            f"{what} is not on the timeline: unknown or undone; once the timeline has been "
            "archived up to there, readers will see its rows"
        )
    return Finding("file.stray", path, rule, "delete it.")


def check_note(snapshot: Snapshot) -> Iterator[Finding]:
    """New processes go by what is noted of replacecommits: is it what these say?"""
    noted = replaced_note.load(snapshot.storage)
    for name, instant in snapshot.timeline.replacecommits().items():
        if name in noted:
            with suppress(HoodooError, FileNotFoundError):  # told by who reads the timeline
                said = snapshot.metadata(instant).replaced
                if replaced_note.plain(said) != noted[name][1]:
                    rule = f"it does not say what replacecommit {instant.requested} replaced"
                    fix = (
                        "delete it: readers then read the replacecommits, and a later write notes "
                        "them again."
                    )
                    yield Finding("timeline.note", replaced_note.PATH, rule, fix)


def check_archived(storage: Storage, config: TableConfig) -> Iterator[Finding]:
    """The archived timeline: can it be found, and does ``_version_`` name a manifest? Hoodoo and
    Hudi look for the greatest manifest where that file says nothing; where it names one that is not
    there, Hudi's readers fail."""
    try:
        oldest(storage, config)
    except CorruptTableError as error:
        yield Finding("timeline.archived", error.obj, error.rule.rstrip("."), error.fix)
        return
    folder = layout_of(config).archive_folder(config)
    where = f"{folder}/{_VERSION}"
    said = b""
    for _ in range(2):  # the next manifest may have come, and the named one gone, beside the look
        try:
            said = storage.get(where)
        except FileNotFoundError:  # readers look for the greatest one then
            return
        if b"manifest_" + said in {entry.name.encode() for entry in storage.list(folder)}:
            return
    fix = (
        "delete it: readers then look for the greatest manifest, and the next archiving writes it "
        "again."
    )
    shown = brief.cut(said.decode("utf-8", "replace"), 40)
    yield Finding(
        "timeline.archived", where, f"it says {shown!r}, which is no manifest's number", fix
    )


def check_replaced(
    history: NamedFiles, files: Mapping[str, DataFile], instants: Instants
) -> Iterator[Finding]:
    """File groups that a replacecommit took out of the table, and that never were in it."""
    for (path, file_id), by in history.never_there(groups_of(files)).items():
        found = instants.after.find(by)
        if found is not None:  # not undone since
            rule = (
                f"it replaced file group {file_id} of {path or 'the table'}, which is nowhere, and "
                "no clean deleted it"
            )
            yield Finding("timeline.replaced", instants.after.path(found), rule, _FROM_COPY)


def groups_of(files: Mapping[str, DataFile]) -> frozenset[tuple[str, str]]:
    """Partition path and file id of each."""
    return frozenset((file.partition_path, file.file_id) for file in files.values())


def check_partitions(
    storage: Storage, entries: Iterable[Entry], instants: Instants
) -> Iterator[Finding | str]:
    """Directories with committed data files that Hudi does not recognise as partitions. (A write
    makes the partition file last.) A text is a note."""
    marked = {e.path for e in entries if e.name.startswith(partitions.FILE_NAME)}
    # Instead of the plain file there may be one in the base file format.
    known = {path.rpartition("/")[0] for path in marked}
    files = (f for f in parsed(entries).values() if instants.is_committed(f.instant))
    for partition in sorted({f.partition_path for f in files}):
        where = partitions.path_of(partition)
        if partition not in known and not partition:
            # Hudi's readers, in Java and in Rust, take the root of a table without partition
            # columns as it is.
            yield (
                f"{where} is missing, as hudi-rs makes none: reads do without it, and Spark Hudi "
                "passes over the files when "
                "it cleans, compacts or makes a metadata table"
            )
        elif partition not in known:
            yield Finding(
                "partition.metadata",
                where,
                "is missing; Hudi passes over a directory without it",
                "write to the partition once: that makes it.",
            )
        elif where in marked:
            try:
                partitions.parse(storage.get(where), where)
            except FileNotFoundError:
                continue  # cleaned away meanwhile
            except CorruptTableError as error:
                yield Finding("partition.metadata", where, error.rule.rstrip("."), error.fix)
