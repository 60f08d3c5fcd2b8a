"""SET, RESET, and ALTER TABLE ... SET and UNSET TBLPROPERTIES: options of the tables of a session,
as long as it lives."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from hoodoo.errors import ConfigError
from hoodoo.table.table import open as open_table
from sqlglot import exp

from hoodoo_statements.session.names import EVERY_TABLE, SessionNames
from hoodoo_statements.sql import name_of
from hoodoo_statements.text.dialect import DIALECT

_UNSET = re.compile(
    r"\s*TABLE\s+(?P<table>\S+)\s+UNSET\s+(?:TBL|SERDE)PROPERTIES\s+(?:IF\s+EXISTS\s*)?"
    r"\((?P<keys>[^()]*)\)\s*",
    re.I,
)
_SET = re.compile(r"\s*SET\s+(?P<key>[\w.]+)\s*=\s*(?P<value>.*?)\s*;?\s*", re.I | re.S)
_RESET = re.compile(r"\s*RESET(?:\s+(?P<key>[\w.]+))?\s*;?\s*", re.I)
_OURS = ("hoodie.", "hoodoo.")


def run_set(text: str, names: SessionNames) -> bool:
    """Run ``SET key = value`` or ``RESET key``; False for another statement. ConfigError for a key
    that is none of a table."""
    said, reset = _SET.fullmatch(text), _RESET.fullmatch(text)
    if said is not None:
        names.options.setdefault(EVERY_TABLE, {})[_checked(said["key"])] = _value(said["value"])
    elif reset is not None and reset["key"]:
        names.options.get(EVERY_TABLE, {}).pop(_checked(reset["key"]), None)
    elif reset is not None:
        names.options.pop(EVERY_TABLE, None)
    return said is not None or reset is not None


def unset_of(tree: Any) -> re.Match[str] | None:
    """What ``ALTER TABLE t UNSET TBLPROPERTIES (...)`` says, which sqlglot leaves as text."""
    if not isinstance(tree, exp.Command) or str(tree.this).upper() != "ALTER":
        return None
    rest = tree.args.get("expression")
    return _UNSET.fullmatch(rest.name if isinstance(rest, exp.Expression) else str(rest))


def unset(said: re.Match[str], names: SessionNames) -> None:
    """Run it: the options of these names are what they were before."""
    node = exp.to_table(said["table"], dialect=DIALECT)
    names.table(node)
    kept = names.options.get(name_of(node).lower(), {})
    for key in said["keys"].split(","):
        kept.pop(key.strip().strip("'\"`"), None)


def set_properties(node: Any, action: Any, names: SessionNames) -> None:
    """Run ``ALTER TABLE t SET TBLPROPERTIES (key = value)``, or SERDEPROPERTIES. The options count
    from the next statement on. ConfigError for a key that no table stores."""
    table, name = names.table(node), name_of(node).lower()
    given = {}
    for one in _properties(action):
        key = key_of(one.this)
        given[_checked(key)] = one.args["value"].name
    # Judged as those of hoodoo.open are, before they are taken.
    open_table(table.path, {**table.handle.options, **given})
    names.options.setdefault(name, {}).update(given)


def _properties(action: Any) -> Iterator[Any]:
    for one in action.find_all(exp.Property):
        if not isinstance(one, exp.SerdeProperties):
            yield one


def _checked(key: str) -> str:
    if not key.startswith(_OURS):
        raise ConfigError(
            f"property {key}",
            "is no option of a table, and nothing would store it.",
            "Give hoodie.* or hoodoo.* keys; settings of Spark: spark.conf.set(key, value).",
        )
    return key


def _value(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def key_of(node: Any) -> str:
    """The key of a property, which may be written without quotes: its first four words look like
    those of a column."""
    if isinstance(node, exp.Dot):
        return f"{key_of(node.this)}.{key_of(node.expression)}"
    if isinstance(node, exp.Column):
        return ".".join(part.name for part in node.parts)
    return str(node.name)
