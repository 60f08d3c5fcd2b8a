"""Rewrite groups: file groups get new base files with the same rows, which take nothing over from
the old ones."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING

from attrs import frozen
from hoodoo.hookspecs.engine import Engine
from hoodoo.hookspecs.registration import Settings
from hoodoo.model.commit import WriteStat
from hoodoo.model.instant import Instant
from hoodoo_rows.api import Commit, Writes, WriteTarget

from hoodoo_services.rewrite import GROUPS, Group, group_of, new_files

if TYPE_CHECKING:
    from hoodoo.table.handle import TableHandle


@frozen
class RewriteGroups:
    """Implements :class:`~hoodoo.hookspecs.action.Action`: done at once, in commits of a few groups
    each. Slices with log files are left as they are."""

    @classmethod
    def from_settings(cls, settings: Settings) -> RewriteGroups:
        return cls()

    def run(
        self, table: TableHandle, groups: Collection[Group], engine: str | Engine | None = None
    ) -> tuple[Commit, ...]:
        look = partial(table.write_target, None, engine or table.default_engine)
        done, every = [], sorted(groups)
        for start in range(0, len(every), GROUPS):
            work = partial(_work, frozenset(every[start : start + GROUPS]))
            commit = Writes.files(table.write_request(Writes.UPSERT, look), work)
            done += [] if commit is None else [commit]
        return tuple(done)


def _work(
    groups: Collection[Group], target: WriteTarget
) -> Callable[[Instant], tuple[WriteStat, ...]] | None:
    chosen = [s for s in target.slices if group_of(s) in groups and not s.row_logs]
    return partial(new_files, target, chosen) if chosen else None
