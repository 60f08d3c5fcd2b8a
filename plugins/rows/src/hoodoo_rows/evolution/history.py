"""History: the schemas that a table has had, by Hudi's internal schema: columns are the same
where their ids are.

The newest is in the extra metadata of each commit (``latest_schema``), all of them in
``.hoodie/.schema``. A file has the names of the newest schema that is not younger than the
instant in its name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any

import pyarrow as pa
from attrs import field, frozen
from hoodoo.errors import CorruptTableError, SchemaError
from hoodoo.model.meta import META_COLUMNS, META_FIELDS
from hoodoo.storage.api import Storage
from hoodoo.timeline.codec.bounded import reading
from hoodoo.timeline.instants import order_key

from hoodoo_rows.evolution.kinds import ids_of, is_whole, record
from hoodoo_rows.evolution.names import Names, names_between

FOLDER = ".hoodie/.schema"
ENDS = ".schemacommit"
KEPT = 60  # files
_MOST = 64
_loaded: dict[tuple[str, str], History] = {}


@frozen
class History:
    """``schemas`` as they are in JSON, newest first; ``latest``: the text of the first one."""

    # Arrow's fields as a record, and the ids within a type.
    record = staticmethod(record)
    ids = staticmethod(ids_of)

    schemas: tuple[Mapping[str, Any], ...]
    latest: str
    _names: tuple[tuple[str, Names | None], ...] = field(init=False, eq=False, repr=False)

    @_names.default
    def _each(self) -> tuple[tuple[str, Names | None], ...]:
        newest = self.schemas[0]
        return tuple((version(s), names_between(s, newest)) for s in self.schemas)

    @classmethod
    def begun(cls, schema: pa.Schema, meta: bool) -> History:
        """The history of a table that has had no other names of columns than ``schema``; ``meta``:
        files have Hudi's own."""
        ids = count()
        fields = record([*(META_FIELDS if meta else ()), *schema], ids)["fields"]
        head = {"max_column_id": next(ids) - 1, "version_id": 0, "type": "record", "fields": fields}
        return cls((head,), json.dumps(head, separators=(",", ":")))

    def names(self, instant: str) -> Names | None:
        """The names of the table's columns in what ``instant`` has written; None: the same."""
        at = order_key(instant)
        return next((names for since, names in self._names if since <= at), self._names[-1][1])

    def moves(self, column: str) -> bool:
        """Whether some files may have the column under another name, or another one under its
        name."""
        return any(names is not None and names.moves(column) for _since, names in self._names)

    def was_another(self, parent: int | None, own: int | None, name: str) -> bool:
        """Whether ``name`` was a field's, of the record within the field ``parent`` (None: a
        column), whose id is not ``own``."""
        for schema in self.schemas:
            inside = schema if parent is None else _by_id(schema, parent)
            if any(f["name"].lower() == name.lower() and f["id"] != own for f in _fields(inside)):
                return True
        return False

    def refuse_reused(self, path: str, name: str) -> None:
        """SchemaError where the column at ``path`` may not be called ``name``, as another one
        was."""
        outer = path.split(".")[:-1]
        parent = _at(self.schemas[0], outer)["id"] if outer else None
        if self.was_another(parent, _at(self.schemas[0], path.split("."))["id"], name):
            raise _reused(name)

    def grown(self, schema: pa.Schema, instant: str) -> History:
        """With the table's own columns in ``schema``, since ``instant``; itself where these are
        the ones it has."""
        newest = self.schemas[0]
        most = max(newest.get("max_column_id", 0), *ids_of(newest))
        ids = count(most + 1)
        own = [f for f in newest["fields"] if f["name"] not in META_COLUMNS]
        meta = [f for f in newest["fields"] if f["name"] in META_COLUMNS]
        made = record(list(schema), ids, {"fields": own})["fields"]
        if made == own:
            return self
        return self.followed([*meta, *made], next(ids) - 1, instant)

    def followed(self, fields: list[Any], most: int, instant: str) -> History:
        """With one more schema: ``fields``, whose ids and those of all before are at most
        ``most``."""
        for parent, one in _all(None, fields):
            is_new = one["id"] > self.schemas[0].get("max_column_id", 0)
            if is_new and self.was_another(parent, None, one["name"]):
                raise _reused(one["name"])
        head = {
            "max_column_id": most,
            "version_id": int(instant),
            "type": "record",
            "fields": fields,
        }
        return History((head, *self.schemas), json.dumps(head, separators=(",", ":")))

    def text(self) -> str:
        """As a file of ``.hoodie/.schema`` has it."""
        return json.dumps({"schemas": list(self.schemas)}, separators=(",", ":"))

    def save(self, storage: Storage, instant: str) -> None:
        """Store it beside the commit of ``instant``, as Spark Hudi looks for it at commits of the
        active timeline. The newest file has all schemas; old ones are deleted."""
        storage.put(f"{FOLDER}/{instant}{ENDS}", self.text().encode())
        files = sorted(e.path for e in storage.list(FOLDER) if e.name.endswith(ENDS))
        for path in files[:-KEPT]:
            storage.delete(path)


def _reused(name: str) -> SchemaError:
    return SchemaError(
        f"column {name}",
        "is called as a column was that has been dropped or renamed: older files have its values.",
        "Give it a name that no column had.",
    )


def _all(parent: int | None, fields: Sequence[Any]) -> Iterator[tuple[int | None, Any]]:
    """All fields, with the ids of those that they are in."""
    for one in fields:
        yield parent, one
        yield from _all(one["id"], _fields(one))


def _fields(inside: Any) -> list[Any]:
    """The fields of a schema, or of the type of a field of it."""
    kind = inside if inside is None or "fields" in inside else inside.get("type")
    while isinstance(kind, dict) and kind.get("type") in ("array", "map"):
        kind = kind["element"] if kind["type"] == "array" else kind["value"]
    if not isinstance(kind, dict) or is_whole(kind):
        return []
    return list(kind.get("fields", ()))


def _at(schema: Any, path: Sequence[str]) -> Any:
    """The field at ``path``; elements of lists and values of maps have no field of their own."""
    found = schema
    for part in path:
        inner = [f for f in _fields(found) if f["name"].lower() == part.lower()]
        found = inner[0] if inner else found
    return found


def _by_id(schema: Any, number: int) -> Any:
    for one in _fields(schema):
        found = one if one["id"] == number else _by_id(one, number)
        if found is not None:
            return found
    return None


def version(schema: Mapping[str, Any]) -> str:
    """Since which instant it counts, to be compared with others; empty: always."""
    number = schema.get("version_id") or 0
    return order_key(str(number)) if number else ""


def loaded(storage: Storage, latest: str) -> History:
    """The history that ends with the schema of the text ``latest``. CorruptTableError where it
    can't be read."""
    known = _loaded.get((storage.root, latest))
    if known is None:
        known = _load(storage, latest)
        while len(_loaded) >= _MOST:
            _loaded.pop(next(iter(_loaded)), None)
        _loaded[storage.root, latest] = known
    return known


def _load(storage: Storage, latest: str) -> History:
    where = f"{storage.root}: the schema of Hudi's evolution on read"
    with reading(where, "not readable"):
        newest = json.loads(latest)
        History((newest, newest), latest)  # looks at all of it
        since = version(newest)
        files = [e.path for e in storage.list(FOLDER) if e.name.endswith(ENDS)]
        for path in sorted(files, reverse=True):
            schemas = json.loads(storage.get(path))["schemas"]
            if any(version(s) == since for s in schemas):
                older = [s for s in schemas if version(s) < since]
                older.sort(key=version, reverse=True)
                return History((newest, *older), latest)
    if since or files:
        raise CorruptTableError(
            where,
            f"is of {since}, and no file of {FOLDER} says what the columns were called before.",
            "Restore these files from a copy, or restore the table to a savepoint.",
        )
    return History((newest,), latest)
