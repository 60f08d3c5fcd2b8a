"""Files that were there when an action looked, and that others took away while it was at work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hoodoo.errors import CommitConflictError, CommitUnknownError, CorruptTableError
from hoodoo.model.instant import Instant
from hoodoo.storage.api import NOT_THERE
from hoodoo.timeline import properties
from hoodoo.timeline.snapshot import Snapshot


@contextmanager
def taken_files_conflict(
    seen: Snapshot,
    obj: str,
    fix: str = "Repeat the write.",
    own: Instant | None = None,
    any_commit: bool = False,
) -> Iterator[None]:
    """CommitConflictError about ``obj`` where the body failed because a file that it had ``seen``
    was cleaned, or removed with an instant that was undone (its own, too) or a metadata table that
    is rebuilt, while it was at work. ``own``: its instant. With ``any_commit`` a commit that takes
    nothing away is such a reason, too."""
    try:
        yield
    except CommitUnknownError:
        raise
    except Exception as error:
        texts = ("FileNotFoundError", NOT_THERE)  # from a task elsewhere
        missing = isinstance(error, FileNotFoundError | CorruptTableError)
        if not (missing or any(text in str(error) for text in texts)):
            raise
        fresh = seen.reload()
        # Its own instant does not count: on an error its files have been deleted by now.
        done, known = {i for i in fresh.completed() if i != own}, {*seen.completed()}
        came = {i for i in done - known if any_commit or i.traits.undoes or i.traits.deletes}
        listed = properties.load(seen.storage).metadata_partitions
        same = not came and done >= known and listed == seen.config.metadata_partitions
        if same and not any(i.traits.undoes for i in fresh.pending()):
            raise
        raise CommitConflictError(
            obj, f"a file that it had seen was taken away by a later instant ({error}).", fix
        ) from error
