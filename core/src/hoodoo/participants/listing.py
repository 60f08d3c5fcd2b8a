"""Listing: the files of a table, as whoever knows them says; else by listing its directories."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from attrs import frozen

from hoodoo.participants.lost import refuse_lost, refuse_unknown
from hoodoo.participants.of_table import Participants
from hoodoo.storage.api import Entry
from hoodoo.storage.together import at_once
from hoodoo.timeline import view
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.timeline import Timeline

_SHOWN = "the files"


@frozen
class KnownFiles:
    """``paths`` of files in the table: all that lie in the partition paths ``within`` (None:
    anywhere), those of ``view``, which was made of ``timeline``, and ``own`` ones that have been
    put since."""

    timeline: Timeline
    view: view.FileSystemView
    within: Collection[str] | None
    own: tuple[str, ...] = ()

    @property
    def paths(self) -> frozenset[str]:
        """The paths of all these files, relative to the table."""
        return self.view.paths.union(self.own)


def list_data(snapshot: Snapshot, partitions: Iterable[str] | None = None) -> Iterable[Entry]:
    """The files of the table, or of ``partitions``. CorruptTableError where what is known of them
    can't be read."""
    lister = _lister(snapshot.timeline)
    if lister is None:
        return view.list_data(snapshot.storage, partitions)
    found: Iterable[Entry] = lister.list_files(snapshot.storage, snapshot.timeline, partitions)
    return found


def build(
    snapshot: Snapshot, as_of: str | None = None, partitions: Iterable[str] | None = None
) -> view.FileSystemView:
    """:func:`hoodoo.timeline.view.build` over :func:`list_data`."""
    files = view.parsed(list_data(snapshot, partitions))
    return view.from_files(snapshot, files, as_of)


def build_whole(
    snapshot: Snapshot, partitions: Collection[str] | None = None
) -> view.FileSystemView:
    """:func:`build` of the table now, for callers that rely on the absence of files. Raises
    CorruptTableError if a file of a commit is lost, CommitConflictError if the commit is undone."""
    lister = _lister(snapshot.timeline)
    entries = lister and lister.list_files(snapshot.storage, snapshot.timeline, partitions)
    files = view.parsed(view.list_data(snapshot.storage, partitions) if lister is None else entries)
    found = view.from_files(snapshot, files)
    refuse_unknown(snapshot, found, partitions)
    if lister is None:
        refuse_lost(snapshot, found, paths=partitions)
    if at_once(snapshot.storage) > 1:
        snapshot.timeline.noted[_SHOWN] = KnownFiles(snapshot.timeline, found, partitions)
    return found


def shown(timeline: Timeline) -> KnownFiles | None:
    """The files that :func:`build_whole` last listed for ``timeline`` on a remote store; once."""
    found = timeline.noted.pop(_SHOWN, None)
    return found if isinstance(found, KnownFiles) and found.timeline is timeline else None


def is_known(timeline: Timeline) -> bool:
    """Whether somebody knows the files: one that is lost is named then, and missed when it is
    opened."""
    return _lister(timeline) is not None


def _lister(timeline: Timeline) -> Any:
    each = Participants.of_table(timeline.config).each
    return next((one for one in each if hasattr(one, "lists") and one.lists(timeline)), None)
