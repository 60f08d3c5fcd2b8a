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
    """``point`` is the write that the table is at now; ``undone`` are the instants that are gone,
    newest first, and ``files`` what was deleted, relative to the table. ``restore`` is the restore's
    own instant; empty where there was nothing to undo."""

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
    """What a clean did; ``instant`` is empty where there was nothing to do.

    ``files`` are gone now, ``kept`` were planned and have come to be needed, ``partitions`` are empty:
    paths below the table root. What is older than ``earliest`` may be gone (None: the policy does not
    go by writes).
    """

    instant: str = ""
    policy: str = ""
    files: tuple[str, ...] = field(default=(), repr=listed)
    partitions: tuple[str, ...] = field(default=(), repr=listed)
    kept: tuple[str, ...] = field(default=(), repr=listed)
    earliest: str | None = None
    completed: str | None = None

    def then(self, other: Cleaned) -> Cleaned:
        """This clean and a later one, told as one."""
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
    """``instants`` left the active timeline, the oldest first. ``held`` says in words what keeps others
    there that are old enough; empty where nothing does."""

    instants: tuple[Instant, ...] = field(default=(), repr=listed)
    held: str = ""

    @property
    def instant(self) -> str | None:
        """Empty where nothing left; else None: an archiving has no instant of its own."""
        return None if self.instants else ""


@frozen
class RewrittenKeys:
    """``instants``: the commits that rewrote file groups, in order; compactions are among them.
    ``groups`` counts the file groups. ``left``: those that still store their keys (partition path, file id)."""

    instants: tuple[str, ...] = field(default=(), repr=listed)
    groups: int = 0
    left: tuple[tuple[str, str], ...] = field(default=(), repr=listed)


@frozen
class Comparison:
    """``found``: how many places of keys each of the two named. ``differences``: rows ``record_key``,
    ``partition_path``, ``file_id`` that only one of them named, ``found_by`` says which, 0 or 1.

    ``stale``: rows of the same kind, entries of an index that stores them which are of no row of the table.
    Nobody asks for these keys, so they are no differences. They are looked for where all keys are compared.
    """

    found: tuple[int, int]
    differences: pa.Table = field(repr=False)
    stale: pa.Table = field(repr=False, default=Factory(_FOUND.empty_table))

    @property
    def same(self) -> bool:
        """Whether both said the same of all keys asked for, stale entries aside."""
        return not self.differences.num_rows

    def __str__(self) -> str:
        first, second = self.found
        said = f"the indexes differ in {self.differences.num_rows} places; they found {first} and {second}."
        if self.same:
            said = f"the indexes say the same of {first} keys."
        if self.stale.num_rows:
            said += f" {self.stale.num_rows} entries are stale: the table has no such row."
        return said
