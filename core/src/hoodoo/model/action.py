"""Actions of the timeline (tech specs, "Timeline"): what each name means to readers, writers and
recovery.

The names are those of Hudi's specification: other tools refuse a table whose timeline has others.
An action of a plugin (:mod:`hoodoo.hookspecs.action`) puts instants of one of these on the
timeline."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from attrs import frozen


@frozen
class Action:
    """What an action is.

    ``completes_as``: the action that its completed instant is filed under. ``writes``: its
    completion makes rows visible or invisible. ``replaces``: it takes whole file groups out of the
    table. ``is_service``: while pending it is a plan, which is run and not undone. ``is_undone``: a
    pending one whose process has gone is undone by the next writer. ``is_heeded``: others heed it
    from the moment at which it is requested, which is therefore a decision. ``changes_files``: it
    adds or takes away files that are committed. ``changes_rows``: it may change what a snapshot
    read answers; a service changes only where rows are. ``undid``: the field of its completed file
    that lists the instants it has undone; empty for one that undoes nothing. ``keeps``: it keeps
    files from cleaning and archiving. ``begins_slices``: its plan names file slices that become
    base files, each of which begins the next slice of its file group. ``deletes``: its plan names
    files that it deletes. ``rewinds``: it undoes all that came after a point.
    """

    name: str
    completes_as: str
    writes: bool = False
    replaces: bool = False
    is_service: bool = False
    is_undone: bool = False
    is_heeded: bool = False
    changes_files: bool = True
    changes_rows: bool = False
    undid: str = ""
    keeps: bool = False
    begins_slices: bool = False
    deletes: bool = False
    rewinds: bool = False

    @property
    def undoes(self) -> bool:
        """Whether it takes instants back."""
        return bool(self.undid)


def _write(name: str, replaces: bool = False) -> Action:
    return Action(name, name, True, replaces, is_undone=True, changes_rows=True)


ACTIONS: Mapping[str, Action] = MappingProxyType(
    {
        action.name: action
        for action in (
            _write("commit"),
            _write("deltacommit"),
            _write("replacecommit", replaces=True),
            Action(
                "compaction", "commit", is_service=True, is_heeded=True, begins_slices=True
            ),
            Action("logcompaction", "deltacommit", is_service=True, is_heeded=True),
            Action(
                "clustering", "replacecommit", replaces=True, is_service=True, is_heeded=True
            ),
            Action("clean", "clean", is_service=True, is_heeded=True, deletes=True),
            Action(
                "rollback", "rollback", is_heeded=True, changes_files=False,
                changes_rows=True, undid="commitsRollback",
            ),
            Action(
                "restore", "restore", is_heeded=True, changes_files=False,
                changes_rows=True, undid="instantsToRollback", rewinds=True,
            ),
            Action("savepoint", "savepoint", changes_files=False, keeps=True),
            Action("indexing", "indexing", is_service=True, changes_files=False),
            Action("schemacommit", "schemacommit", changes_files=False),
        )
    }
)  # fmt: skip


def named(name: str) -> Action:
    """The action of this name; of a name that no release of Hudi has, one that means nothing to
    anybody."""
    return ACTIONS.get(name) or Action(name, name, changes_files=False)
