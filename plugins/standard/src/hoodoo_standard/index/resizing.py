"""What it comes to that the partition paths of a table get other numbers of buckets.

The numbers are those of a file of Hudi that bears an instant (:mod:`path_counts`), so they become
others with the commit of this instant. A table with one number for all is given such a file first,
with a rule that says the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import evolve, frozen
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.index import IndexContext
from hoodoo.model.filegroup import FileSlice
from hoodoo.options.kinds import BadValueError
from hoodoo.storage.api import Storage
from hoodoo.timeline.snapshot import Snapshot

from hoodoo_standard.index import path_counts
from hoodoo_standard.index.counted_buckets import CountedBuckets, refuse_strange
from hoodoo_standard.index.path_counts import PathCounts
from hoodoo_standard.options import BUCKETS, PATH_BUCKETS

_ALL = ".*"


def everywhere(number: int) -> str:
    """The rule of a table whose paths have the same number."""
    return f"{_ALL},{number}"


@frozen
class Resizing:
    """From the numbers ``before`` to those ``after``."""

    before: PathCounts
    after: PathCounts

    @classmethod
    def of(cls, now: PathCounts, number: int | None, expressions: str | None) -> Resizing:
        """``number``: of paths without a rule; ``expressions``: the rules, empty for none. What is
        None stays. ConfigError for what is neither."""
        for name, option, value in (
            ("buckets", BUCKETS, number),
            ("expressions", PATH_BUCKETS, expressions),
        ):
            try:
                if value is not None and value != "":
                    option.kind.parse(str(value))
            except BadValueError as error:
                raise ConfigError(
                    f"{name}={value!r}", f"{error}.", f"Give what {option.key} may be."
                ) from None
        default = now.default if number is None else number
        if expressions is None:
            whole = now.expressions == everywhere(now.default)
            expressions = "" if whole else now.expressions
        expressions = expressions or everywhere(default)
        return cls(now, evolve(now, expressions=expressions, default=default))

    @property
    def changes(self) -> bool:
        return self.before != self.after

    def counts(self, path: str) -> tuple[int, int]:
        """The numbers of ``path`` before and after."""
        return self.before.count(path), self.after.count(path)

    def bucket_of(self, slice_: FileSlice) -> int:
        """The bucket, before. CorruptTableError where the file group is of none."""
        return self.before.in_path(slice_.partition_path).bucket_of(slice_.file_id)

    @property
    def first(self) -> Mapping[str, str]:
        """Properties of the table that is about to be resized."""
        return _said(self.before)

    @property
    def last(self) -> Mapping[str, str]:
        """Properties of the table that has been resized."""
        return _said(self.after)

    def check(self, context: IndexContext) -> None:
        """UnsupportedTableError where rows lie by other numbers than those before, which come from
        the options of this process alone: they are about to count for all."""
        assert context.timeline is not None
        snapshot = Snapshot(context.storage, context.timeline)
        noted = BUCKETS.stored(snapshot.config.properties) is not None
        if not noted and path_counts.stored(snapshot) is None:
            refuse_strange(context, snapshot, self.before)

    def begin(self, storage: Storage) -> None:
        """The table has a file that says its numbers."""
        path_counts.first(storage, self.before)

    def note(self, storage: Storage, instant: str) -> None:
        """The new numbers, which count from the commit of ``instant`` on."""
        path_counts.note(storage, self.after, instant)

    def buckets(self, paths: Sequence[str], instant: str) -> CountedBuckets:
        """Those of ``paths`` afterwards, in new file groups of ``instant``."""
        each = {path: self.after.count(path) for path in paths}
        return CountedBuckets(self.after, each, {}, instant)


def _said(counts: PathCounts) -> dict[str, str]:
    return {PATH_BUCKETS.key: counts.expressions, BUCKETS.key: str(counts.default)}
