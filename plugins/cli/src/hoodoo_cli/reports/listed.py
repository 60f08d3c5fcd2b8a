"""The data files of a table, as reports see them."""

from __future__ import annotations

from contextlib import suppress

from attrs import evolve
from hoodoo.errors import HoodooError
from hoodoo.model.filegroup import BaseFile
from hoodoo.participants import listing
from hoodoo.storage.api import Entry
from hoodoo.timeline.names import parse_path
from hoodoo.timeline.snapshot import Snapshot
from hoodoo.timeline.view import list_data


def data_files(snapshot: Snapshot) -> list[Entry]:
    """All files outside of ``.hoodie``. Those that another program made, and the table names, have
    the paths that it names them by: what their own say is not enough."""
    entries = list(list_data(snapshot.storage))
    others = not snapshot.config.populate_meta_fields and [
        e for e in entries if parse_path(e.path) is None
    ]
    if not others:
        return entries
    named = [s.path for i in snapshot.writes() for s in snapshot.metadata(i).stats]
    with suppress(HoodooError):  # damage is reported elsewhere
        named += [e.path for e in listing.list_data(snapshot)]
    paths = {file.path: path for path in named if (file := _external(path)) is not None}
    return [evolve(entry, path=paths.get(entry.path, entry.path)) for entry in entries]


def _external(path: str) -> BaseFile | None:
    file = parse_path(path)
    return file if isinstance(file, BaseFile) and not file.write_token else None
