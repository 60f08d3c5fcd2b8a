"""Bring the metadata of a format up to the newest commit. The state of this is in the metadata
itself."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import Protocol

import pyarrow as pa
from attrs import Factory, frozen
from hoodoo.errors import CommitConflictError, UnsupportedTableError
from hoodoo.hookspecs.participant import TableState
from hoodoo.storage.api import Storage
from hoodoo_rows.api import StoredFiles

from hoodoo_publishing.files import Head, Step, merged, steps
from hoodoo_publishing.footers import Footer, footers

_TRIES = 20


class Format(Protocol):
    """An open format. ``name``: as in ``hoodoo.open.formats``. ``keeps_states``: readers may ask
    for older states, and new files are described by their footers."""

    @property
    def name(self) -> str: ...

    @property
    def keeps_states(self) -> bool: ...

    def head(self, storage: Storage) -> Head:
        """The newest state that is published."""

    def refuse(self, schema: pa.Schema) -> None:
        """Raises SchemaError for a column that the format has no type for."""

    def expire(self, storage: Storage, paths: Collection[str]) -> int:
        """Base files ``paths`` are about to be deleted: list no state any more that has one of
        them. Returns the number of states that were removed."""

    def renew(self, storage: Storage) -> list[str]:
        """Make the newest state one that needs no file of older ones. Returns the files that nobody
        needs then, but who reads an older state."""

    def repair(self, storage: Storage, head: Head) -> None:
        """Nothing is to be published after ``head``: write what readers find it by, if a process
        ended before it could."""

    def refuse_state(self, state: TableState) -> None:
        """Raises UnsupportedTableError if readers of the format would find other values in older
        files, or none: their columns have other names there."""

    def shows(self, head: Head, schema: pa.Schema, state: TableState) -> bool:
        """Whether ``schema`` is that of ``head``. ``state``: the table as it is now."""

    def publish(
        self, state: TableState, head: Head, step: Step, read: dict[str, Footer]
    ) -> Head | None:
        """Publish ``step`` after ``head``; the new head, or None if another process was first."""


@frozen
class Again:
    """``look``: the table as it is now, after a head that it must not be older than. ``read``:
    footers that another format needed, by path."""

    look: Callable[[], TableState]
    read: dict[str, Footer] = Factory(dict)


def _refuse(form: Format, state: TableState) -> None:
    """Raises UnsupportedTableError if readers of the format would miss columns in some files."""
    form.refuse_state(state)
    found = (s.base_file for s in state.slices if StoredFiles.is_skeleton(s))
    skeletons = [file.path for file in found if file is not None]
    if skeletons:
        column = next(iter(state.config.record_key_fields), state.schema.names[0])
        raise UnsupportedTableError(
            f"base file {skeletons[0]}",
            "has columns in a file outside of the table (a bootstrap), and readers of "
            f"{form.name} would miss them.",
            f'Cluster the table first, table.cluster(order="linear", columns=["{column}"]), or '
            "create it without hoodoo.open.formats.",
        )


def sync(
    form: Format, storage: Storage, looked: tuple[Head, TableState], again: Again
) -> list[str]:
    """Publish what the table has and ``form`` does not show yet. Returns the instants of the new
    versions. A repetition changes nothing; several processes may do it. ``looked``: the head, and
    the table as it was after that; ``again``: what looks again, and has read footers.

    Raises CommitConflictError if others are always first, and what the storage raises.
    """
    done: list[str] = []
    for number in range(_TRIES):
        if number:
            looked = form.head(storage), again.look()
        head, state = looked
        _refuse(form, state)
        each = steps(head, state, partial(form.shows, head, state=state))
        if not each and not done:
            form.repair(storage, head)
        if each and not form.keeps_states:
            each = [merged(each, head.files)]
        lost = False
        while each and not lost:
            try:
                added = each[0].added if form.keeps_states else ()
                read = footers(storage, added, again.read)
            except FileNotFoundError:  # cleaned since: an older state can't be shown
                if len(each) == 1:
                    lost = True  # the table has changed since the look
                    continue
                each = [merged(each, head.files)]
                continue
            newer = form.publish(state, head, each[0], read)
            lost = newer is None
            if newer is not None:
                done.append(each.pop(0).instant)
                head = newer
        if not lost:
            return done
    raise CommitConflictError(
        f"{form.name} metadata of {storage.root}",
        f"other processes published it {_TRIES} times meanwhile.",
        "Repeat table.publish() when fewer writers are active.",
    )
