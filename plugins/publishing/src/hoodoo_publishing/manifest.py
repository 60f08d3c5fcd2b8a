"""A list of the newest base files: ``.hoodie/absolute-path-manifest/latest-snapshot.csv``, one URI
a line, as Hudi's ``ManifestFileWriter`` makes it for BigQuery.

The file is replaced in place, so it has no older states. Who has written it looks at the timeline
once more, and repeats it if a commit has come meanwhile: the list of an older state does not
stay."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pyarrow as pa
from attrs import evolve
from hoodoo.errors import UnsupportedTableError
from hoodoo.hookspecs.participant import TableState
from hoodoo.model.filegroup import BaseFile
from hoodoo.storage.api import Storage, get_if_there
from hoodoo.storage.uri import absolute
from hoodoo.timeline.names import parse_path
from hoodoo.timeline.timeline import load
from hoodoo_rows.api import StoredFiles

from hoodoo_publishing.files import Head, Step, applied, base_files
from hoodoo_publishing.past import Past

PATH = ".hoodie/absolute-path-manifest/latest-snapshot.csv"


class FileList:
    """Implements :class:`~hoodoo_publishing.sync.Format`."""

    name = "manifest"
    keeps_states = False

    def head(self, storage: Storage) -> Head:
        data = get_if_there(storage, PATH)
        if data is None:
            return Head()
        root = f"{absolute(storage.root)}/"
        files: dict[str, BaseFile] = {}
        for line in data.decode().splitlines():
            found = parse_path(line.removeprefix(root))
            if isinstance(found, BaseFile):
                files[found.path] = found
        newest = max((file.instant for file in files.values()), default="")
        return Head(0, files, newest, data)

    def refuse(self, schema: pa.Schema) -> None:
        """Readers know what Parquet knows."""

    def refuse_state(self, state: TableState) -> None:
        moved = Past.of(StoredFiles.history(state.file_format)).moved()
        if moved is not None:
            raise UnsupportedTableError(
                f"column {moved} of {state.storage.root}",
                "has another name in older files, or fields that were dropped, and readers of "
                "files find columns by name.",
                "Publish Iceberg, whose readers find columns by ids, or write the rows into a new "
                "table.",
            )

    def expire(self, storage: Storage, paths: Collection[str]) -> int:
        return 0

    def renew(self, storage: Storage) -> list[str]:
        return []

    def repair(self, storage: Storage, head: Head) -> None:
        """The list is all that there is."""

    def shows(self, head: Head, schema: pa.Schema, state: TableState) -> bool:
        return bool(head.detail == _text(state.storage, base_files(state)))

    def publish(
        self, state: TableState, head: Head, step: Step, read: dict[str, Any]
    ) -> Head | None:
        files = applied(head.files, step)
        data = _text(state.storage, files)
        state.storage.put(PATH, data)
        seen = {write.requested for write in state.timeline.writes()}
        now = load(state.storage, state.config).writes()
        if any(write.requested not in seen for write in now):
            return None
        return evolve(head, version=head.version + 1, files=files, detail=data)


def _text(storage: Storage, files: Iterable[str]) -> bytes:
    root = absolute(storage.root)
    return "".join(f"{root}/{path}\n" for path in sorted(files)).encode()
