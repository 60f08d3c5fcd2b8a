"""A directory of a store as a store of its own: the metadata table is a table inside another
one."""

from __future__ import annotations

import pyarrow as pa
from attrs import evolve, frozen
from hoodoo.storage.api import Entry, Storage, has_plain_files, is_shared
from hoodoo.storage.together import at_once

from hoodoo_metadata.table.counted_blocks import CountedBlocks


@frozen
class Below:
    """``inner`` seen from its directory ``prefix``: every path is taken, and answered, from there
    on. ``blocks``: which blocks of its log files count, where the names of these do not say it."""

    inner: Storage
    prefix: str
    blocks: CountedBlocks | None = None

    @property
    def root(self) -> str:
        return f"{self.inner.root}/{self.prefix}"

    @property
    def shared(self) -> bool:
        return is_shared(self.inner)

    @property
    def plain_files(self) -> bool:
        return has_plain_files(self.inner)

    @property
    def at_once(self) -> int:
        return at_once(self.inner)

    @property
    def keeps(self) -> int:
        return getattr(self.inner, "keeps", 0)

    def put(self, path: str, data: bytes) -> None:
        self.inner.put(self._at(path), data)

    def put_if_absent(self, path: str, data: bytes) -> bool:
        return self.inner.put_if_absent(self._at(path), data)

    def put_file_if_absent(self, path: str, local: str) -> bool:
        return self.inner.put_file_if_absent(self._at(path), local)

    def get(self, path: str) -> bytes:
        return self.inner.get(self._at(path))

    def open(self, path: str) -> pa.NativeFile:
        return self.inner.open(self._at(path))

    def head(self, path: str) -> Entry | None:
        found = self.inner.head(self._at(path))
        return None if found is None else self._seen(found)

    def list(self, prefix: str = "", recursive: bool = False) -> list[Entry]:
        return [self._seen(entry) for entry in self.inner.list(self._at(prefix), recursive)]

    def delete(self, path: str) -> bool:
        return self.inner.delete(self._at(path))

    def delete_prefix(self, prefix: str) -> int:
        return self.inner.delete_prefix(self._at(prefix))

    def scratch(self) -> str:
        return self.inner.scratch()

    def _at(self, path: str) -> str:
        return f"{self.prefix}/{path}" if path else self.prefix

    def _seen(self, entry: Entry) -> Entry:
        return evolve(entry, path=entry.path[len(self.prefix) + 1 :])
