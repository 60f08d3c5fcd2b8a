"""Prepared: rows that arrive, with their keys and what is known of their places."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from attrs import frozen
from hoodoo.hookspecs.conflict import Group
from hoodoo.hookspecs.engine import Stream, Workspace
from hoodoo.hookspecs.index import LookupIndex

from hoodoo_rows.produce.summary import Arrivals
from hoodoo_rows.write.operation import WriteKind
from hoodoo_rows.write.target import RowChanges


@frozen
class Prepared:
    """Keyed rows that wait to be written, each source row evaluated at most once."""

    kind: WriteKind
    schema: pa.Schema  # the table's schema after this write
    keyed: Stream
    staged: bool
    arriving: Arrivals
    partial: bool = False  # rows lack columns that keep their stored values
    # Deletes that may lie in any partition path go through this index.
    anywhere: LookupIndex | None = None
    # What somebody who has read the table makes of its rows.
    changes: RowChanges | None = None
    # Where the places of the rows can be staged.
    workspace: Workspace | None = None

    @property
    def places(self) -> Mapping[Group, int] | None:
        """The rows by file group, where these are known; else None."""
        return None if self.changes is None else self.changes.places
