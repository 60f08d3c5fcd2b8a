"""ALTER TABLE where it is about names, options, places and partitions, not about columns."""

from __future__ import annotations

from typing import Any

from hoodoo.errors import ConfigError, TableExistsError
from hoodoo.table.table import open as open_table
from hoodoo_rows.api import Commit
from sqlglot import exp

from hoodoo_statements.partition_spec import PartitionSpec, partition_paths
from hoodoo_statements.partition_spec import matching as matching_paths
from hoodoo_statements.session.names import SessionNames
from hoodoo_statements.session.table_settings import set_properties, unset, unset_of
from hoodoo_statements.sql import name_of
from hoodoo_statements.text.dialect import DIALECT

NOTHING = object()  # no statement of this module


def alter(tree: Any, names: SessionNames) -> Any:
    """Run ``tree``: the commit that it makes, or None; NOTHING for a statement about columns.

    Raises ConfigError, DataError, TableExistsError, and what the methods of a table raise."""
    said = unset_of(tree)
    if said is not None:
        unset(said, names)
        return None
    if not isinstance(tree, exp.Alter) or tree.args.get("kind") != "TABLE":
        return NOTHING
    actions = tree.args["actions"]
    if len(actions) != 1:
        dropped = [one for one in actions if isinstance(one, exp.DropPartition)]
        return NOTHING if len(dropped) != len(actions) else _drop(tree, dropped, names)
    (action,) = actions
    if isinstance(action, exp.AlterRename):
        return _rename(tree.this, action.this, names)
    if isinstance(action, exp.DropPartition):
        return _drop(tree, [action], names)
    if isinstance(action, exp.AddPartition):
        raise ConfigError(
            f"ALTER TABLE {name_of(tree.this)} ADD PARTITION",
            "has nothing to do: a partition is there when it has rows.",
            "Leave it out, and write the rows.",
        )
    if isinstance(action, exp.AlterSet):
        location = action.args.get("location")
        if location is not None:
            return _move(tree.this, location.name, names)
        return set_properties(tree.this, action, names)
    return NOTHING


def emptied(tree: exp.TruncateTable, names: SessionNames, engine: Any) -> Commit:
    """Run TRUNCATE TABLE, of the whole table or of a partition."""
    (node,) = tree.expressions
    table = names.table(node)
    partition = tree.args.get("partition")
    if partition is None:
        commit: Commit = table.delete(where="true", engine=engine)
    else:
        commit = table.delete_partitions(matching_paths(table, partition))
    return commit


def _drop(tree: Any, actions: list[Any], names: SessionNames) -> Commit | None:
    table = names.table(tree.this)
    found = list[str]()
    for partition in (one for action in actions for one in action.expressions):
        if any(action.args.get("exists") for action in actions):
            spec = PartitionSpec.of(partition, table)
            found += spec.paths(table, partition_paths(table))
        else:
            found += matching_paths(table, partition)
    if not found:
        return None
    commit: Commit = table.delete_partitions(sorted(set(found)))
    return commit


def _rename(node: Any, target: Any, names: SessionNames) -> None:
    """The table gets another name, in the session or in its catalog; no file is changed. A name
    without a database is one of the same database."""
    old, new = name_of(node), name_of(target)
    names.table(node)
    own = [key for key in names.own if key.lower() == old.lower()]
    entry = None if own else names.stored(node)
    if "." not in new and "." in old and not own:
        new = f"{old.rpartition('.')[0]}.{new}"
        target = exp.to_table(new, dialect=DIALECT)
    if names.find(new, target) is not None:
        raise TableExistsError(f"table {new}", "is in the session.", "Choose another name.")
    if own:
        names.own[new] = names.own.pop(own[0])
    elif entry is not None:
        lake, inner = entry
        place = names.place(target)
        if place is None or place[0] is not lake:
            raise ConfigError(
                f"table {new}",
                f"is of another catalog than {old}.",
                "Call catalog.register(name, path) of the other, then DROP TABLE.",
            )
        lake.register(place[1], lake.entry(inner).location)
        lake.drop(inner)
    else:
        raise ConfigError(
            f"table {old}",
            "has its path as its name.",
            "Register it: catalog.register(name, path).",
        )
    if old.lower() in names.options:
        names.options[new.lower()] = names.options.pop(old.lower())


def _move(node: Any, location: str, names: SessionNames) -> None:
    """The name means the table at ``location`` from now on."""
    name = name_of(node)
    names.table(node)
    open_table(location)  # it has to be there
    own = [key for key in names.own if key.lower() == name.lower()]
    entry = None if own else names.stored(node)
    if own:
        names.own[own[0]] = open_table(location)
    elif entry is not None:
        entry[0].drop(entry[1])
        entry[0].register(entry[1], location)
    else:
        raise ConfigError(f"table {name}", "has its path as its name.", "Write the other path.")
