"""The active timeline: what happened to the table, from one listing.

Loading reads names only. Contents are read when asked for, once, and kept with the timeline.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from typing import Any

from attrs import Factory, evolve, field, frozen

from hoodoo.errors import CorruptTableError, InstantGoneError
from hoodoo.model.brief import Shown
from hoodoo.model.commit import CommitMetadata
from hoodoo.model.config import TableConfig
from hoodoo.model.filegroup import LogFile
from hoodoo.model.instant import Instant
from hoodoo.storage.api import Storage, names_and_tags
from hoodoo.timeline import codec, replaced, replaced_note
from hoodoo.timeline.codec.bounded import corrupt
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.layouts import TimelineLayout, layout_of
from hoodoo.timeline.listed import NOTHING, Listed, Selected, listed, remember, remembered, select
from hoodoo.timeline.replaced import Replaced

FOLDER = ".hoodie/timeline"
_USUAL = (".hoodie", FOLDER)
_SHOWN = 15  # in a notebook


@frozen(repr=False)
class Timeline(Shown):
    """Instants sorted by requested time, each in the furthest state that its files show.

    ``start`` is the first write instant of the *active* timeline (None if there is none), also in a
    view made by :meth:`as_of`: files of older instants are committed, their instants archived.
    """

    instants: tuple[Instant, ...]
    layout: TimelineLayout
    config: TableConfig
    start: str | None = None
    _metadata: dict[Instant, CommitMetadata] = field(
        default=Factory(dict), eq=False, repr=False, kw_only=True
    )
    _replaced: dict[str, replaced_note.Entry] = field(
        default=Factory(dict), eq=False, repr=False, kw_only=True
    )
    # File name -> tag of its bytes, as the listing has it.
    _tags: Mapping[str, str] = field(default=Factory(dict), eq=False, repr=False, kw_only=True)
    # What is made of contents, remembered with them: by requested time of a completed write.
    noted: dict[str, object] = field(default=Factory(dict), eq=False, repr=False, kw_only=True)
    # Requested time of archived writes -> when they completed, as far as somebody had to know.
    archived_ends: dict[str, str] = field(default=Factory(dict), eq=False, repr=False, kw_only=True)
    # The newest decision (:mod:`hoodoo.timeline.ledger`) that had been carried out when somebody
    # settled it last.
    decided: int | None = field(default=None, eq=False, repr=False, kw_only=True)
    _listed: Listed = field(default=NOTHING, eq=False, repr=False, kw_only=True)
    _selected: Selected = field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        made = self._listed.selected  # of all that was listed, unless this is a part of it
        found = made if made.instants is self.instants else select(self.instants)
        object.__setattr__(self, "_selected", found)

    def __repr__(self) -> str:
        count, pending = len(self.instants), len(self.pending())
        waits = f", {pending} of them pending" if pending else ""
        last = f", the newest {self.instants[-1]}" if self.instants else ""
        return f"<Timeline: {count} instant{'' if count == 1 else 's'}{waits}{last}>"

    def _facts(self) -> Mapping[str, object]:
        newest = self.instants[: -_SHOWN - 1 : -1]
        older = len(self.instants) - len(newest)
        more = {"before": f"{older} more"} if older else {}
        return {i.requested: f"{i.action}, {i.state.value.lower()}" for i in newest} | more

    # --- selections -------------------------------------------------------------------------------
    def completed(self) -> tuple[Instant, ...]:
        """Return all completed instants, by requested time."""
        if not self._selected.pending:
            return self.instants
        return tuple(i for i in self.instants if i.is_completed)

    def pending(self) -> tuple[Instant, ...]:
        """Return requested and inflight instants, by requested time."""
        return self._selected.pending

    def others(self) -> tuple[Instant, ...]:
        """All but completed writes: pending instants and other actions. They are few."""
        return self._selected.others

    def writes(self) -> tuple[Instant, ...]:
        """Completed commits, deltacommits and replacecommits, by requested time."""
        return tuple(self._selected.writes.values())

    def find(self, requested: str) -> Instant | None:
        """The completed write instant of that requested time."""
        return self._selected.writes.get(requested)

    def savepointed(self, pending: bool = False) -> frozenset[str]:
        """Requested times of the writes that completed savepoints (``pending`` ones, too) keep."""
        kept = (i for i in self.others() if i.traits.keeps and (pending or i.is_completed))
        return frozenset(i.requested for i in kept)

    def as_of(self, instant: str) -> Timeline:
        """What had been requested at ``instant`` or before; ``start`` stays that of the table."""
        count = bisect_right(
            self.instants, order_key(instant), key=lambda i: order_key(i.requested)
        )
        kept = self.instants if count == len(self.instants) else self.instants[:count]
        return evolve(self, instants=kept, metadata=self._metadata)

    def refreshed(self, names: Iterable[str]) -> Timeline:
        """The timeline of a newer listing; keeps what was read: completed files never change."""
        new = _of(listed(names, layout_of(self.config), self._listed), self.config)
        return evolve(self.seen_by(new), decided=self.decided, tags=self._tags)

    def seen_by(self, newer: Timeline) -> Timeline:
        """``newer``; keeps what was read of this one."""
        return evolve(
            newer, metadata=self._metadata, replaced=self._replaced, noted=self.noted,
            archived_ends=self.archived_ends,
        )  # fmt: skip

    def has_file(self, instant: Instant) -> bool:
        """Whether the listing shows the file of ``instant`` in exactly its state."""
        return self.layout.file_name(instant) in self._listed.names

    def has_writes_of(self, names: Iterable[str]) -> bool:
        """Whether every completed write that a listing with these names shows is here."""
        return self.has_writes_like(self.refreshed(names))

    def is_shown_by(self, names: Iterable[str]) -> bool:
        """Whether a listing with these names shows the same, nothing of it pending."""
        return not self.pending() and self._listed.names == frozenset(names)

    def has_writes_like(self, other: Timeline) -> bool:
        """Whether every completed write of ``other`` is here."""
        mine, others = self._selected.writes, other._selected.writes
        return mine is others or mine.items() >= others.items()

    def followed_by(self, *own: Instant) -> Timeline:
        """The timeline when the files of ``own`` are there and nothing else has come."""
        return self.refreshed((*self._listed.names, *map(self.layout.file_name, own)))

    def undone_since(self, before: Timeline) -> tuple[Instant, ...]:
        """Completed writes of the older look ``before`` that are neither here nor archived."""
        return tuple(i for i in before.writes() if not self.contains_or_before_start(i.requested))

    # --- questions --------------------------------------------------------------------------------
    def contains_or_before_start(self, instant: str) -> bool:
        """Whether files of ``instant`` are committed: its write completed, or it is archived."""
        is_older = self.start is not None and order_key(instant) < order_key(self.start)
        return is_older or instant in self._selected.writes

    def completion_time(self, instant: str) -> str:
        """When a committed instant completed; an archived one, and layout 1, give its own time."""
        found = self._selected.writes.get(instant)
        return found.completion_order if found else instant

    def log_time(self, log: LogFile) -> str:
        """The instant that places ``log``: it belongs to the newest slice that began by then."""
        return self.layout.log_time(log, self)

    def last_instant_time(self) -> str | None:
        """The greatest requested or completion time: the next instant has to be past it."""
        return self._selected.last

    # --- contents ---------------------------------------------------------------------------------
    def path(self, instant: Instant) -> str:
        """The file of ``instant`` in its state, relative to the table root."""
        return f"{self.config.timeline_path}/{self.layout.file_name(instant)}"

    def metadata(self, storage: Storage, instant: Instant) -> CommitMetadata:
        """What a write instant says of itself; read once. An empty file is legal on some layouts,
        and not for a replacecommit.

        Raises :class:`~hoodoo.errors.CorruptTableError` naming the file, and InstantGoneError.
        """
        found = self._metadata.get(instant)
        if found is None:
            data, where = self._read(storage, instant)
            replaces = instant.is_completed and instant.traits.replaces
            if not data and instant.is_completed and (replaces or not self.layout.allows_empty):
                raise corrupt(where, "a completed instant with an empty file")
            found = codec.decode_commit(data, where, replaces=replaces) if data else _NOTHING
            if instant.is_completed:  # pending files come and go
                self._metadata[instant] = found
        return found

    def note(self, completed: Instant, metadata: CommitMetadata) -> None:
        """What a write says of itself, from who has just completed it."""
        self._metadata[completed] = metadata

    def known(self, instant: Instant) -> CommitMetadata | None:
        """What a completed write says of itself, if that has been read already."""
        return self._metadata.get(instant)

    def contents(self, storage: Storage, instant: Instant) -> dict[str, Any]:
        """Any instant's file as a plain dict, in the state given (``instant.at(...)``). Raises as
        :meth:`metadata`."""
        return codec.decode(*self._read(storage, instant))

    def _read(self, storage: Storage, instant: Instant) -> tuple[bytes, str]:
        where = f"{storage.root}/{self.path(instant)}"
        try:
            return storage.get(self.path(instant)), where
        except FileNotFoundError as error:
            raise InstantGoneError(
                where, "was archived or undone since the timeline was read.", "Repeat the call."
            ) from error

    def latest_schema_text(self, storage: Storage, as_of: str | None = None) -> str | None:
        """The Avro schema that :meth:`latest_schema` has noted."""
        found = self.latest_schema(storage, as_of)
        return None if found is None else found.schema_text

    def latest_schema(self, storage: Storage, as_of: str | None = None) -> CommitMetadata | None:
        """What the newest completed write says of itself that carries the table's schema;
        usually one read.

        What a service carries (clustering, compaction) counts only where nothing else does.
        """
        limit = None if as_of is None else order_key(as_of)
        fallback: CommitMetadata | None = None
        for instant in reversed(self._selected.writes.values()):
            if limit is None or order_key(instant.requested) <= limit:
                metadata = self.metadata(storage, instant)
                if metadata.schema_text and metadata.operation.can_change_schema:
                    return metadata
                fallback = fallback or (metadata if metadata.schema_text else None)
        return fallback

    def replaced_file_groups(
        self, storage: Storage, as_of: str | None = None
    ) -> dict[tuple[str, str], str]:
        """(partition path, file id) -> the completed replacecommit that took it out of the table.

        ``as_of`` counts by requested time, inclusive. Reads replacecommits only; of many, what is
        noted of them.
        """
        every = self.replacecommits()
        if as_of is not None:
            limit = order_key(as_of)
            every = {n: i for n, i in every.items() if order_key(i.requested) <= limit}
        new = {n: i for n, i in every.items() if n not in self._replaced}

        def read(instant: Instant) -> Replaced:
            return self.metadata(storage, instant).replaced

        if len(new) > replaced_note.MANY and self.layout.names_completion:
            self._replaced.update(replaced_note.read(storage, new, self._tags, read))
            new = {n: i for n, i in new.items() if n not in self._replaced}
        if len(new) > replaced.FEW:
            made = replaced.read(storage, {i: self.path(i) for i in new.values()}, read)
        else:
            made = {i: read(i) for i in new.values()}
        self._replaced.update({n: (self._tags.get(n, ""), made[i]) for n, i in new.items()})
        found: dict[tuple[str, str], str] = {}
        for name, instant in every.items():
            for partition, file_ids in self._replaced[name][1].items():
                for file_id in file_ids:
                    found.setdefault((partition, file_id), instant.requested)
        return found

    def note_replaced(self, storage: Storage) -> None:
        """Spare new processes the replacecommits that this one has read, if they are many. Called
        after a write; it does not fail."""
        if len(self._replaced) <= replaced_note.MANY or not self.layout.names_completion:
            return
        if replaced_note.is_due(storage.root, self._replaced, tagged=bool(self._tags)):
            there = self.replacecommits()  # not what was archived, or undone
            noted = {n: self._replaced[n] for n in there if n in self._replaced}
            replaced_note.write(storage, noted)

    def replacecommits(self) -> dict[str, Instant]:
        """The completed ones, by their names on layout 2, which entries of the note have, too."""
        writes = self._selected.writes.values()
        found = (i for i in writes if i.action == "replacecommit")
        return {f"{i.requested}_{i.completed}.replacecommit": i for i in found}


_NOTHING = CommitMetadata()


def load(storage: Storage, config: TableConfig) -> Timeline:
    """The active timeline now: one listing, no file read.

    Raises :class:`~hoodoo.errors.CorruptTableError` where the properties name a directory of their
    own for it that is not there: the table would look empty. (The usual one may be missing: a store
    without directories shows none before the first commit.)
    """
    names, tags = names_and_tags(storage, config.timeline_path)
    if not names and config.timeline_path not in _USUAL and not storage.list(config.timeline_path):
        raise CorruptTableError(
            f"{storage.root}/.hoodie/hoodie.properties",
            f"its properties say that the timeline is in {config.timeline_path}, but this "
            "directory does not exist.",
            "Correct hoodie.timeline.path; the usual value is timeline.",
        )
    known = remembered(storage.root, config.timeline_path)
    found = _of(listed(names, layout_of(config), known), config)
    return _remembered(storage, found, tags)


def reload(storage: Storage, timeline: Timeline) -> Timeline:
    """The timeline now: one listing, what ``timeline`` has read is kept."""
    names, tags = names_and_tags(storage, timeline.config.timeline_path)
    return _remembered(storage, timeline.refreshed(names), tags)


def from_names(names: Iterable[str], config: TableConfig) -> Timeline:
    """The timeline that a directory with these file names shows; foreign names are passed over."""
    return _of(listed(names, layout_of(config)), config)


def _of(found: Listed, config: TableConfig) -> Timeline:
    return Timeline(found.selected.instants, layout_of(config), config, found.start, listed=found)


def _remembered(storage: Storage, timeline: Timeline, tags: Mapping[str, str]) -> Timeline:
    remember(storage.root, timeline.config.timeline_path, timeline._listed)
    return evolve(timeline, tags=tags)
