"""Outcomes: what the services answer to who ran them."""

from __future__ import annotations

import pyarrow as pa
from attrs import Factory, field, frozen
from hoodoo.model.brief import listed
from hoodoo.model.instant import Instant
from hoodoo.model.outcome import Figures

_FOUND = pa.schema(
    [
        ("record_key", pa.string()),
        ("partition_path", pa.string()),
        ("file_id", pa.string()),
        ("found_by", pa.int8()),
    ]
)


@frozen
class Restored:
    """The outcome of a restore. ``point`` is the write whose state the table has now. ``undone``
    are the instants that were undone, the newest first. ``files`` are the deleted files, relative
    to the table. ``restore`` is the instant of the restore itself; it is empty if there was nothing
    to undo."""

    point: str
    restore: str
    undone: tuple[str, ...] = field(default=(), repr=listed)
    files: tuple[str, ...] = field(default=(), repr=listed)

    @property
    def instant(self) -> str:
        return self.restore

    @property
    def figures(self) -> Figures:
        return Figures(files_removed=len(self.files))


@frozen
class Cleaned:
    """The outcome of a clean. ``instant`` is empty if there was nothing to do.

    ``files`` were deleted. ``kept`` are files that were planned to be deleted and are needed again.
    ``partitions`` are empty now. All are paths relative to the table. States before the instant
    ``earliest`` may not be readable any more (None: the policy does not count writes).
    ``completed`` is the completion time."""

    instant: str = ""
    policy: str = ""
    files: tuple[str, ...] = field(default=(), repr=listed)
    partitions: tuple[str, ...] = field(default=(), repr=listed)
    kept: tuple[str, ...] = field(default=(), repr=listed)
    earliest: str | None = None
    completed: str | None = None

    def then(self, other: Cleaned) -> Cleaned:
        """This clean and a later one, as one outcome."""
        if not self.instant or not other.instant:
            return other if other.instant else self
        return Cleaned(
            other.instant,
            other.policy,
            (*self.files, *other.files),
            (*self.partitions, *other.partitions),
            (*self.kept, *other.kept),
            other.earliest,
            other.completed,
        )

    @property
    def figures(self) -> Figures:
        return Figures(files_removed=len(self.files))


@frozen
class Archived:
    """The outcome of an archiving. ``instants`` left the active timeline, the oldest first.
    ``held`` says why other instants that are old enough had to stay; it is empty if none had to."""

    instants: tuple[Instant, ...] = field(default=(), repr=listed)
    held: str = ""

    @property
    def instant(self) -> str | None:
        """Empty if no instant was archived; otherwise None, because an archiving has no instant of
        its own."""
        return None if self.instants else ""


@frozen
class Rewritten:
    """The outcome of ``rewrite``. ``instants`` are the commits that rewrote file groups, in their
    order, including compactions and clusterings. ``groups`` is the number of file groups that were
    rewritten, and ``bytes`` the size of the files that they had before; with ``dry_run``, of those
    that would be. ``left`` are the file groups that other writers kept from being rewritten: pairs
    of partition path and file id. ``done`` is false for a dry run."""

    instants: tuple[str, ...] = field(default=(), repr=listed)
    groups: int = 0
    bytes: int = 0
    left: tuple[tuple[str, str], ...] = field(default=(), repr=listed)
    done: bool = False


@frozen
class RewrittenKeys:
    """The outcome of ``rewrite_keys``. ``instants`` are the commits that rewrote file groups, in
    their order, including compactions. ``groups`` is the number of file groups that were rewritten.
    ``left`` are the file groups that still store record keys: pairs of partition path and file
    id."""

    instants: tuple[str, ...] = field(default=(), repr=listed)
    groups: int = 0
    left: tuple[tuple[str, str], ...] = field(default=(), repr=listed)


@frozen
class Comparison:
    """How two indexes differ. ``found`` is the number of places that each of them found for the
    keys. ``differences`` is an Arrow table of the places that only one of them found:
    ``record_key``, ``partition_path``, ``file_id``, and ``found_by``, which is 0 for the first and
    1 for the second index.

    ``stale`` has the same columns: entries of a stored index for keys that the table does not have.
    They are found only if all keys are compared, and do not count as differences."""

    found: tuple[int, int]
    differences: pa.Table = field(repr=False)
    stale: pa.Table = field(repr=False, default=Factory(_FOUND.empty_table))

    @property
    def same(self) -> bool:
        """Whether both indexes found the same places for all keys; stale entries do not count."""
        return not self.differences.num_rows

    def __str__(self) -> str:
        first, second = self.found
        said = (
            f"the indexes differ in {self.differences.num_rows} places; they found {first} and "
            f"{second}."
        )
        if self.same:
            said = f"the indexes say the same of {first} key{'s' * (first != 1)}."
        if self.stale.num_rows:
            said += f" {self.stale.num_rows} entries are stale: the table has no such row."
        return said
