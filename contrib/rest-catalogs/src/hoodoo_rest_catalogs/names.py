"""Names of three parts, which these catalogs have."""

from __future__ import annotations

import re

from hoodoo.errors import ConfigError

_PART = re.compile(r"[\w-]{1,255}")


def parts(name: str, form: str, more: bool = False) -> tuple[str, ...]:
    """The parts of ``name``. ConfigError unless it has as many as ``form``, or ``more`` if that is
    given, of letters, digits, dashes and underscores."""
    found = tuple(name.split("."))
    wanted = len(form.split("."))
    right = len(found) >= wanted if more else len(found) == wanted
    if not right or not all(map(_PART.fullmatch, found)):
        raise ConfigError(
            f"table name {name!r}",
            f"is not of the form {form}, of letters, digits, dashes and underscores.",
            f"Choose another name: {form}.",
        )
    return found
