"""Views that stay: one JSON file each, beside the tables."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from attrs import define
from hoodoo.errors import CorruptTableError
from hoodoo.storage.api import Storage, get_if_there

FOLDER = ".hoodoo-dbt"
_SCHEMA = ".schema"  # the file that stands for a schema without a view
_END = ".json"


@define
class StoredViews(Mapping[str, str]):
    """Queries by ``schema.name`` and ``database.schema.name``, in lower case, as a session looks
    them up. ``storage``: of the folder, in which each schema has one."""

    storage: Storage
    database: str

    def __getitem__(self, name: str) -> str:
        path = self._path(name)
        data = None if path is None else get_if_there(self.storage, path)
        if data is None:
            raise KeyError(name)
        try:
            return str(json.loads(data)["sql"])
        except (ValueError, KeyError, TypeError) as error:
            raise CorruptTableError(
                f"{self.storage.root}/{path}",
                f"is no view ({type(error).__name__}: {error}).",
                "Delete the file, and run the model again.",
            ) from error

    def __iter__(self) -> Iterator[str]:
        for entry in self.storage.list("", recursive=True):
            schema, _, file = entry.path.rpartition("/")
            if file.endswith(_END):
                yield f"{schema}.{file.removesuffix(_END)}"

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def put(self, name: str, sql: str) -> None:
        """Create or replace the view ``schema.name``."""
        path = self._path(name)
        assert path is not None, name
        self.storage.put(path, json.dumps({"format": 1, "sql": sql}, indent=1).encode())

    def drop(self, name: str) -> bool:
        """Whether there was such a view, which is deleted."""
        path = self._path(name)
        return path is not None and self.storage.delete(path)

    def of_schema(self, schema: str) -> list[str]:
        """The names of the views of a schema."""
        files = [entry.name for entry in self.storage.list(schema.lower()) if not entry.is_dir]
        return [file.removesuffix(_END) for file in files if file.endswith(_END)]

    def schemas(self) -> list[str]:
        """The schemas that were created, or have a view."""
        folders = (entry.name for entry in self.storage.list("") if entry.is_dir)
        return [name for name in folders if not name.startswith(".")]  # the storage has its own

    def create_schema(self, schema: str) -> None:
        self.storage.put_if_absent(f"{schema.lower()}/{_SCHEMA}", b"")

    def drop_schema(self, schema: str) -> None:
        self.storage.delete_prefix(schema.lower())

    def _path(self, name: str) -> str | None:
        parts = name.lower().split(".")
        if len(parts) == 3 and parts[0] == self.database.lower():
            del parts[0]
        return f"{parts[0]}/{parts[1]}{_END}" if len(parts) == 2 else None
