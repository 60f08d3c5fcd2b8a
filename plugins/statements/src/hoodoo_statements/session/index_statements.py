"""CREATE INDEX, DROP INDEX, REFRESH INDEX: as Hudi's SQL spells them, which sqlglot does not
read."""

from __future__ import annotations

import re
from typing import Any

from hoodoo.errors import ConfigError
from hoodoo.table.table import Table
from sqlglot import exp

from hoodoo_statements.session.names import SessionNames
from hoodoo_statements.text.dialect import DIALECT

_NAME = r"(?:`[^`]+`|\w+)(?:\s*\.\s*(?:`[^`]+`|\w+))*"
_BEGIN = re.compile(r"\s*(?:CREATE|DROP|REFRESH)\s+INDEX\b", re.I)
_CREATE = re.compile(
    rf"\s*CREATE\s+INDEX\s+(?P<exists>IF\s+NOT\s+EXISTS\s+)?(?P<index>{_NAME})\s+ON\s+(?:TABLE\s+)?"
    rf"(?P<table>{_NAME})\s*(?:USING\s+(?P<kind>\w+)\s*)?\((?P<columns>[^()]*)\)\s*"
    r"(?:OPTIONS\s*\((?P<options>.*)\)\s*)?;?\s*",
    re.I | re.S,
)
_DROP = re.compile(
    rf"\s*DROP\s+INDEX\s+(?P<exists>IF\s+EXISTS\s+)?(?P<index>{_NAME})\s+ON\s+(?:TABLE\s+)?"
    rf"(?P<table>{_NAME})\s*;?\s*",
    re.I,
)
_OPTION = re.compile(r"\s*,?\s*(\w+)\s*=\s*'([^']*)'")
# What Hudi calls the arguments of an expression that come behind the column, in their order.
_ARGUMENTS = ("format", "days", "pos", "len", "pattern", "replacement", "idx")
_SECONDARY, _OF_KEYS = "secondary_index", "record_index"


def of_index(text: str) -> bool:
    """Whether ``text`` begins as one of these statements does."""
    return _BEGIN.match(text) is not None


def run_index(text: str, names: SessionNames) -> None:
    """Run the statement. ConfigError for one of another form, and what ``table.create_index`` and
    ``table.drop_index`` raise."""
    created, dropped = _CREATE.fullmatch(text), _DROP.fullmatch(text)
    if created is not None:
        _create(created, names)
    elif dropped is not None:
        _drop(dropped, names)
    else:
        raise ConfigError(
            f"statement {' '.join(text.split())!r}",
            "is no statement about an index that is known here.",
            "Write CREATE INDEX i ON t (column), or DROP INDEX i ON t; indexes are always fresh.",
        )


def _create(said: re.Match[str], names: SessionNames) -> None:
    table, name = _table(said, names), _plain(said["index"])
    if said["exists"] and _found(table, name) is not None:
        return
    kind = (said["kind"] or "").lower()
    options = {key.lower(): value for key, value in _OPTION.findall(said["options"] or "")}
    called = options.pop("expr", options.pop("func", ""))  # its older name
    if kind == "column_stats" and called:
        left = _OPTION.sub("", said["options"]).strip()
        keys = sorted(options, key=lambda key: (*_ARGUMENTS, key).index(key))
        given = "".join(f", {key} => '{options[key]}'" for key in keys)
        table.create_index(name, expression=f"{called}({said['columns']}{given}{left})")
        return
    if kind not in ("", _SECONDARY, _OF_KEYS):
        fix = (
            f'Call session.table("{_plain(said["table"])}").create_index("{kind}", kind="{kind}"), '
            "which covers all columns; or CREATE INDEX i ON t (column)."
        )
        raise ConfigError(
            f"index {name} USING {kind}", "is of a kind that SQL does not create here.", fix
        )
    if (said["options"] or "").strip():
        raise ConfigError(
            f"OPTIONS of index {name}",
            "would be lost.",
            f"Give them to the table: ALTER TABLE {_plain(said['table'])} SET TBLPROPERTIES (...).",
        )
    columns = [_plain(one) for one in said["columns"].split(",") if one.strip()]
    keys = [key.lower() for key in table.config.record_key_fields]
    if kind == _OF_KEYS or (not kind and [one.lower() for one in columns] == keys):
        if [one.lower() for one in columns] not in (keys, []):
            raise ConfigError(
                f"index {name}",
                f"of the kind {_OF_KEYS} is of the record key.",
                f"Write CREATE INDEX {_OF_KEYS} ON t ({', '.join(table.config.record_key_fields)})",
            )
        table.create_index(_OF_KEYS, kind=_OF_KEYS)
    else:
        table.create_index(name, columns)


def _drop(said: re.Match[str], names: SessionNames) -> None:
    table, name = _table(said, names), _plain(said["index"])
    found = _found(table, name)
    if found is None and said["exists"]:
        return
    table.drop_index(name if found is None else found.name)


def _found(table: Table, name: str) -> Any:
    """The index that is called so, or that lies in the partition of this name."""
    for index in table.indexes():
        if name.lower() in (index.name.lower(), index.partition.lower()):
            return index
    return None


def _table(said: re.Match[str], names: SessionNames) -> Table:
    return names.table(exp.to_table(said["table"], dialect=DIALECT))


def _plain(text: str) -> str:
    return text.strip().strip("`")
