"""What a backup has done."""

from __future__ import annotations

from attrs import frozen


@frozen
class BackedUp:
    """The outcome of ``backup``. ``point`` is the newest write of the copy; empty if there is none.
    ``copied`` is the number of files that were copied, of ``files``; ``copied_bytes`` their size.
    ``removed`` files were deleted from the copy. ``verified`` files were read back, and have the
    checksums of what was written."""

    point: str
    files: int
    copied: int
    copied_bytes: int
    removed: int
    verified: int

    @property
    def instant(self) -> str | None:
        """Empty if nothing changed; otherwise None, because it has no instant of its own."""
        return None if self.copied or self.removed else ""
