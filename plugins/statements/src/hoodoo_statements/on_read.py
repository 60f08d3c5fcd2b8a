"""Schema evolution on read: columns renamed, dropped and put elsewhere, by Hudi's internal
schema; no file is rewritten."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any

import pyarrow as pa
from attrs import frozen
from hoodoo.errors import ConfigError, SchemaError
from hoodoo.model.meta import IS_DELETED, META_COLUMNS, OPERATION
from hoodoo.storage.api import get_if_there
from hoodoo.table.handle import TableHandle
from hoodoo_rows.api import History, StoredFiles, WriteTarget
from hoodoo_rows.model.normalize import legal_name

from hoodoo_statements.text.nested import field_at, inner_fields, of_inner
from hoodoo_statements.text.scope import named, unknown_column

_ANEW = (
    "Write the rows into a new table that has it so: hoodoo.create(...), then "
    ".bulk_insert(table.read())."
)

_DEFINITIONS = ".hoodie/.index_defs/index.json"
_OPEN_FORMATS = "hoodoo.open.formats"  # of hoodoo-publishing
_BY_NAME = ("delta", "manifest")  # of these, those whose readers know no ids of columns
_OF_ALL_COLUMNS = ("column_stats", "partition_stats")
# A member of the merger's that names a column.
_MERGES_BY = "hoodie.record.merge.property."

Edit = Callable[[list[Any], str], list[Any]]


@frozen
class OnRead:
    """``rename``: path -> new name; ``drop``: paths; ``reorder``: those that come first of what
    they lie in, by the names that they have then."""

    rename: Mapping[str, str]
    drop: tuple[str, ...]
    reorder: tuple[str, ...]

    @classmethod
    def of(cls, rename: Any, drop: Any, reorder: Any, comments: Any, table: TableHandle) -> OnRead:
        """ConfigError where one of these is said otherwise than by names, SchemaError for
        comments."""
        _check_mapping("rename", rename, 'rename={"old": "new"}', "what becomes what")
        _check_mapping("comments", comments, 'comments={"fare": "..."}', "which column has which")
        found = cls(
            dict(rename or {}), tuple(names_of(drop, "drop")), tuple(names_of(reorder, "reorder"))
        )
        if comments or found:
            schema = table.schema
            for argument in ("rename", "drop"):
                for name in getattr(found, argument):
                    _find(schema, name, f"{argument}=")
            for name in comments or ():
                _find(schema, name, "comments=")
        if comments:
            raise SchemaError(
                f"comments on columns of table {table.config.name}",
                "are not stored.",
                "Store them in a catalog.",
            )
        return found

    def __bool__(self) -> bool:
        return bool(self.rename or self.drop or self.reorder)

    def check(self, table: TableHandle) -> None:
        """SchemaError for columns that the key, the path, the order of rows, the merger or an
        index is made of."""
        where = f"table {table.config.name}"
        twice = {n.lower() for n in self.rename} & {n.lower() for n in self.drop}
        if twice:
            raise ConfigError(
                f"column {min(twice)}", "is in rename= and in drop=.", "Leave one of them out."
            )
        moved = [*self.rename, *(name for name in self.drop if "." in name)]
        formats = (table.config.get(_OPEN_FORMATS) or "").lower().split(",")
        by_name = next((name.strip() for name in formats if name.strip() in _BY_NAME), None)
        if moved and by_name:
            raise SchemaError(
                f"column {moved[0]} of {where}",
                "can't be renamed, nor dropped from a column that it lies in: readers of "
                f"{by_name} find columns by name in older files.",
                'Publish Iceberg alone, table.publish("iceberg", keep=True), or write the rows '
                "into a new table.",
            )
        for name, done in (
            *((n, "renamed") for n in self.rename),
            *((n, "dropped") for n in self.drop),
        ):
            role = _role(table, name)
            if role:
                raise SchemaError(
                    f"column {name} of {where}",
                    f"can't be {done}: {role} is made of it, in files of any age.",
                    _ANEW,
                )
            index = index_of(table, name)
            if index:
                raise SchemaError(
                    f"column {name} of {where}",
                    f"can't be {done}: the index {index} is of it.",
                    f'Drop the index first: table.drop_index("{index}"); make it again afterwards.',
                )

    def renamed(self, schema: pa.Schema, history: History | None) -> pa.Schema:
        """The schema after renames and drops. SchemaError for new names that are taken, were
        another column's or can't be a column's."""
        fields = list(schema)
        for path, (old, new) in self._renames().items():
            _check_name(fields, path, old, new, history)
            fields = _edited(fields, old.split("."), _Rename(new), inner_fields, of_inner)
        for name in self.drop:
            fields = _edited(
                fields, _place(schema, name, self.rename), _Drop(name), inner_fields, of_inner
            )
        return pa.schema(fields)

    def _renames(self) -> dict[str, tuple[str, str]]:
        """By the path as given: the path, and the new name alone."""
        found = {}
        for old, given in sorted(self.rename.items(), key=lambda pair: -pair[0].count(".")):
            outer, _, _ = old.rpartition(".")
            to, _, new = given.rpartition(".")
            if to and to != outer:
                raise SchemaError(
                    f"column {old}",
                    f"would become {given}, which lies elsewhere: a field stays where it is.",
                    f'Give the new name alone: rename={{"{old}": "{new}"}}.',
                )
            found[old] = (old, new)
        return found

    def ordered(self, schema: pa.Schema) -> pa.Schema:
        """``schema`` with the columns of ``reorder`` first."""
        fields, groups = list(schema), dict[str, list[str]]()
        for name in self.reorder:
            _find(schema, name, "reorder=")
            outer, _, _ = name.rpartition(".")
            groups.setdefault(outer, []).append(name)
        for names in groups.values():
            lasts = [n.rpartition(".")[2] for n in names]
            fields = _edited(fields, names[0].split("."), _Order(lasts), inner_fields, of_inner)
        return pa.schema(fields)

    def history(self, target: WriteTarget, after: pa.Schema) -> Callable[[str], History]:
        """The table's history with ``after``, its schema when all is done, by the instant of the
        commit."""
        stands: History = StoredFiles.history(target.file_format) or History.begun(
            target.schema, target.config.populate_meta_fields
        )
        newest = stands.schemas[0]
        fields = list(newest["fields"])
        for old, new in self._renames().values():
            fields = _edited(fields, old.split("."), _Rename(new), _inner, _of_inner)
        for name in self.drop:
            fields = _edited(
                fields, _place(target.schema, name, self.rename), _Drop(name), _inner, _of_inner
            )
        ids = count(max(newest.get("max_column_id", 0), *History.ids(newest)) + 1)
        meta = [f for f in fields if f["name"] in META_COLUMNS]
        own = History.record(list(after), ids, {"fields": [f for f in fields if f not in meta]})[
            "fields"
        ]
        most = next(ids) - 1
        stands.followed([*meta, *own], most, "0")  # before anything is written
        return lambda instant: stands.followed([*meta, *own], most, instant)


# --- what is done to the fields of one record, of Arrow's or of an internal schema's ----------
def _name(one: Any) -> str:
    return str(one["name"] if isinstance(one, dict) else one.name)


@frozen
class _Rename:
    new: str

    def __call__(self, fields: list[Any], at: int) -> list[Any]:
        old = fields[at]
        one = {**old, "name": self.new} if isinstance(old, dict) else old.with_name(self.new)
        return [*fields[:at], one, *fields[at + 1 :]]


@frozen
class _Drop:
    path: str

    def __call__(self, fields: list[Any], at: int) -> list[Any]:
        if len(fields) == 1:
            raise SchemaError(
                f"column {self.path}",
                "is all that there is in what it lies in.",
                "Drop what it lies in.",
            )
        return [*fields[:at], *fields[at + 1 :]]


@frozen
class _Order:
    first: Sequence[str]

    def __call__(self, fields: list[Any], at: int) -> list[Any]:
        places = {_name(f).lower(): n for n, f in enumerate(fields)}
        ahead = list(dict.fromkeys(places[n.lower()] for n in self.first))
        rest = [n for n in range(len(fields)) if n not in ahead]
        return [fields[n] for n in (*ahead, *rest)]


def _edited(
    fields: list[Any],
    path: Sequence[str],
    edit: Callable[[list[Any], int], list[Any]],
    inner: Any,
    of: Any,
) -> list[Any]:
    """``fields`` with those beside the one at ``path`` edited; the path leads through structs,
    elements and values."""
    names = [_name(f) for f in fields]
    lower = [n.lower() for n in names]
    at = names.index(path[0]) if path[0] in names else lower.index(path[0].lower())
    if len(path) == 1:
        return edit(fields, at)
    one = fields[at]
    kind = one["type"] if isinstance(one, dict) else one.type
    made = of(kind, _edited(inner(kind), path[1:], edit, inner, of))
    one = {**one, "type": made} if isinstance(one, dict) else one.with_type(made)
    return [*fields[:at], one, *fields[at + 1 :]]


def _inner(kind: Any) -> list[Any]:
    """:func:`inner_fields` of a type of an internal schema."""
    if kind["type"] == "record":
        return list(kind["fields"])
    names = ("element",) if kind["type"] == "array" else ("key", "value")
    return [{"name": name, "type": kind[name]} for name in names]


def _of_inner(kind: Any, fields: Sequence[Any]) -> Any:
    if kind["type"] == "record":
        return {**kind, "fields": list(fields)}
    return {**kind, **{f["name"]: f["type"] for f in fields}}


def _place(schema: pa.Schema, path: str, rename: Mapping[str, str]) -> list[str]:
    """Where the column ``path`` of ``schema`` is when what it lies in has been renamed."""
    parts = path.split(".")
    renamed = {old.lower(): new.rpartition(".")[2] for old, new in rename.items()}
    return [renamed.get(".".join(parts[: n + 1]).lower(), part) for n, part in enumerate(parts)]


# --- rules ------------------------------------------------------------------------------------
def _check_name(
    fields: Sequence[pa.Field], path: str, old: str, new: str, history: History | None
) -> None:
    outer = old.split(".")[:-1]
    inside = field_at(fields, outer) if outer else None
    beside = list(fields) if inside is None else inner_fields(inside.type)
    if inside is not None and not pa.types.is_struct(inside.type):
        raise SchemaError(
            f"column {path}", f"is what {inside.type} calls what it holds.", "Leave its name."
        )
    if not legal_name(new):
        raise SchemaError(
            f"column {path}",
            f"would be called {new!r}: a name has letters, digits and _, and begins with no digit.",
            "Give it another name.",
        )
    if new.lower().startswith("_hoodie_"):
        raise SchemaError(
            f"column {new}",
            "is Hudi's own: such names are not the table's.",
            "Give it another name.",
        )
    there = named(beside, new)
    own = named(beside, old.split(".")[-1])
    if there is not None and there != own:
        raise SchemaError(
            f"column {path}",
            f"would be called {new}, as {there.name} {there.type} is.",
            "Give it another name.",
        )
    if history is not None:
        history.refuse_reused(old, new)


def _role(table: TableHandle, name: str) -> str | None:
    """What is made of the column, or of a field within it: the key, the path, the order of rows."""
    generator, config = table.key_generator(), table.config
    merging = [v for k, v in config.properties.items() if k.startswith(_MERGES_BY)]
    roles = {
        "the record key": generator.record_key_fields,
        "the partition path": (*generator.partition_fields, *config.partition_fields),
        "the order of rows": config.ordering_fields,
        "what becomes of rows that meet": (IS_DELETED, OPERATION, *merging),
    }
    lower = name.lower()
    for role, fields in roles.items():
        if any(f.lower() == lower or f.lower().startswith(f"{lower}.") for f in fields):
            return role
    return None


def index_of(table: TableHandle, name: str) -> str | None:
    """The index of the column, or of a field within it; None where there is none."""
    stored = get_if_there(table.storage, _DEFINITIONS)
    try:
        found = (json.loads(stored or b"{}").get("indexDefinitions") or {}).items()
    except (ValueError, AttributeError):
        return None
    lower = name.lower()
    for index, defined in found:
        fields = [str(f).lower() for f in defined.get("sourceFields") or ()]
        if index not in _OF_ALL_COLUMNS and any(
            f == lower or f.startswith(f"{lower}.") for f in fields
        ):
            return str(index).removeprefix("secondary_index_").removeprefix("expr_index_")
    return None


def _find(schema: pa.Schema, name: str, argument: str) -> pa.Field:
    found = field_at(schema, name.split("."))
    if found is None:
        raise unknown_column(name, argument, schema.names, "the table")
    return found


def names_of(given: str | Sequence[str], argument: str) -> list[str]:
    """The columns that ``given`` names. Raises ConfigError."""
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, (list, tuple)) or not all(isinstance(n, str) for n in names):
        raise ConfigError(
            f"{argument}= of type {type(given).__name__}",
            "does not name columns.",
            f'Give names: table.alter({argument}=["a", "b"]).',
        )
    return list(names)


def _check_mapping(argument: str, given: object, shown: str, what: str) -> None:
    if given is None:
        return
    if not isinstance(given, Mapping) or not all(
        isinstance(name, str) and isinstance(to, str) for name, to in given.items()
    ):
        raise ConfigError(
            f"{argument}= of type {type(given).__name__}",
            f"does not say {what}.",
            f"Give a dictionary: table.alter({shown}).",
        )
