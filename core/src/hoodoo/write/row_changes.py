"""Row changes: what somebody who has read the table makes of its rows. Each says where the row lies that it changes,
so that no index is asked for it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence

from attrs import frozen

from hoodoo.hookspecs.conflict import Group
from hoodoo.hookspecs.engine import Stream, Workspace
from hoodoo.model.commit import WriteStat
from hoodoo.write.target import WriteTarget


@frozen
class RowChanges:
    """``rows``: keyed rows of the table's schema and their file id (:func:`hoodoo.produce.columns.tagged`), staged.
    One with a file id takes the place of the row of its key there, or deletes it; one without comes in: its key must
    not be in the table, which is the caller's to see to. ``places``: file group -> how many rows are put into it; None:
    rows have no file id, and the index finds their keys, all different. ``read``: the groups whose rows were looked at:
    what another writer has done to one of them since is a conflict. ``check`` sees what was written, unpublished."""

    rows: Stream
    places: Mapping[Group, int] | None
    read: frozenset[Group]
    check: Callable[[Sequence[WriteStat]], None] = lambda stats: None


class ChangesRows(ABC):
    """Data of a write that depends on what is in the table."""

    @abstractmethod
    def changes(self, target: WriteTarget, workspace: Workspace, instant: str) -> RowChanges:
        """The changes of the table as ``target`` shows it; rebuilt for each attempt. Where there are no rows,
        nothing is committed."""
