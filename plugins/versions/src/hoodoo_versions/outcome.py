"""What a change of the table version has done, or would do."""

from __future__ import annotations

from attrs import field, frozen
from hoodoo.model.brief import listed


@frozen
class VersionChange:
    """The outcome of ``upgrade`` or ``downgrade``. ``before`` and ``after`` are table versions.
    ``steps`` are the steps in their order, as sentences. ``lost`` says what the table does not have
    any more. ``done`` is False for a dry run, and where the table has the version already."""

    before: int
    after: int
    steps: tuple[str, ...] = field(default=(), repr=listed)
    lost: tuple[str, ...] = field(default=(), repr=listed)
    done: bool = False

    @property
    def instant(self) -> str | None:
        """Empty if nothing was done; otherwise None, because it has no instant of its own."""
        return None if self.done else ""
