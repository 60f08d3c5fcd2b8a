"""Actions of the timeline (tech specs, "Timeline"): what each name means to readers, writers and
recovery.

The names are those of Hudi's specification: other tools refuse a table whose timeline has others.
An action of a plugin (:mod:`hoodoo.hookspecs.action`) puts instants of one of these on the
timeline."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from attrs import evolve, frozen


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
    base files, each of which begins the next slice of its file group. ``appends``: it adds log
    files to file slices. ``deletes``: its plan names files that it deletes. ``rewinds``: it undoes
    all that came after a point.
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
    appends: bool = False
    deletes: bool = False
    rewinds: bool = False

    @property
    def undoes(self) -> bool:
        """Whether it takes instants back."""
        return bool(self.undid)

    @property
    def undoes_one(self) -> bool:
        """Whether it takes one write back: a rollback."""
        return self.undoes and not self.rewinds

    @property
    def is_plain(self) -> bool:
        """Whether it is a write whose files are all base files of the groups that are there: a
        commit. In a merge-on-read table only a compaction ends as one."""
        return self.writes and not (self.appends or self.replaces)

    @property
    def compacts(self) -> bool:
        """Whether its plan names file slices whose files it merges."""
        return self.is_service and (self.begins_slices or self.appends)


def _write(name: str, replaces: bool = False, appends: bool = False) -> Action:
    write = Action(name, name, writes=True, is_undone=True, changes_rows=True)
    return evolve(write, replaces=replaces, appends=appends)


def _undo(name: str, undid: str, rewinds: bool = False) -> Action:
    undo = Action(name, name, is_heeded=True, changes_files=False, changes_rows=True)
    return evolve(undo, undid=undid, rewinds=rewinds)


_ACTIONS = (
    _write("commit"),
    _write("deltacommit", appends=True),
    _write("replacecommit", replaces=True),
    Action("compaction", "commit", is_service=True, is_heeded=True, begins_slices=True),
    Action("logcompaction", "deltacommit", is_service=True, is_heeded=True, appends=True),
    Action("clustering", "replacecommit", replaces=True, is_service=True, is_heeded=True),
    Action("clean", "clean", is_service=True, is_heeded=True, deletes=True),
    _undo("rollback", "commitsRollback"),
    _undo("restore", "instantsToRollback", rewinds=True),
    Action("savepoint", "savepoint", changes_files=False, keeps=True),
    Action("indexing", "indexing", is_service=True, changes_files=False),
    Action("schemacommit", "schemacommit", changes_files=False),
)
ACTIONS: Mapping[str, Action] = MappingProxyType({action.name: action for action in _ACTIONS})


def named(name: str) -> Action:
    """The action of this name; one without traits for a name that no release of Hudi has."""
    return ACTIONS.get(name) or Action(name, name, changes_files=False)
