"""Where a table lies, as text: a plain path, or a URI with a scheme.

URIs are taken the way Hadoop's ``Path`` takes them, and with it every writer of Hudi tables:
nothing is percent-decoded, so a directory whose name holds ``%20`` or ``#`` is reachable as it is
spelt."""

from __future__ import annotations

import os
import re

from hoodoo.errors import StorageError

# Two letters at least ("C:/tables" is a path on Windows), and a slash after the colon ("a:b" is
# one).
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(/.*)", re.DOTALL)


def split(uri: str | os.PathLike[str]) -> tuple[str, str]:
    """``(scheme, rest)`` of a URI; the scheme is lower case, and ``""`` for a plain path.

    ``rest`` has no leading ``//``: ``s3://bucket/key`` gives ``("s3", "bucket/key")``, and both
    ``file:///data`` and Hadoop's ``file:/data`` give ``("file", "/data")``.
    """
    text = os.fspath(uri)
    found = _SCHEME.fullmatch(text)
    if found is None:
        return "", text
    scheme, rest = found[1].lower(), found[2]
    return scheme, rest.removeprefix("//")


def local_path(uri: str | os.PathLike[str]) -> str:
    """The absolute local path that a plain path or a ``file://`` URI names.

    Raises :class:`~hoodoo.errors.StorageError` for another scheme and for a remote host.
    """
    scheme, rest = split(uri)
    if scheme not in ("", "file"):
        raise StorageError(
            os.fspath(uri),
            f"scheme {scheme!r} is not the scheme of a local path.",
            "Give a path or a file:// URI, or install a plugin that offers this storage.",
        )
    if scheme == "file":
        rest = rest.removeprefix("localhost") if rest.startswith("localhost/") else rest
        if not rest.startswith("/"):
            raise StorageError(
                os.fspath(uri),
                "a file URI names an absolute path on this host.",
                f"Write file:///{rest} if you mean that path.",
            )
    if not rest:
        raise StorageError("storage", "the path is empty.", "Give the directory of the table.")
    return os.path.abspath(rest)


def absolute(uri: str | os.PathLike[str]) -> str:
    """The absolute URI: relative and plain paths become ``file:///...``, others stay as they
    are."""
    scheme, _ = split(uri)
    return "file://" + local_path(uri) if scheme in ("", "file") else os.fspath(uri).rstrip("/")
