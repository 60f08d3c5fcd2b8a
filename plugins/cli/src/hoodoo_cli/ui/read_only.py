"""A store that refuses to be changed: looking at a table never writes, not even to finish what
others have decided."""

from __future__ import annotations

from typing import Any

from hoodoo.errors import StorageError
from hoodoo.storage.api import Storage

_CHANGES = (
    "put",
    "put_if_absent",
    "put_file_if_absent",
    "delete",
    "delete_prefix",
    "discard",
    "sweep",
)


class ReadOnlyStorage:
    """``inner``, without what changes it: that raises StorageError. Whatever else a store offers is
    the inner one's."""

    def __init__(self, inner: Storage) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_inner":
            raise AttributeError(name)
        found = getattr(self._inner, name)
        return self._refuse if name in _CHANGES else found

    def __reduce__(self) -> tuple[Any, ...]:
        return ReadOnlyStorage, (self._inner,)

    def _refuse(self, *_arguments: object, **_more: object) -> Any:
        raise StorageError(
            self._inner.root,
            "it is open for looking only.",
            "Open it with hoodoo.open to change it.",
        )
