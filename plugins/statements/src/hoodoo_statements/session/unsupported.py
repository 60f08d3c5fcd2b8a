"""Statements that a session does not run, and what to call in their place."""

from __future__ import annotations

from typing import Any

from hoodoo.errors import ConfigError
from sqlglot import exp

from hoodoo_statements.refused_parts import cut
from hoodoo_statements.text.dialect import DIALECT

STATEMENTS = (
    "SELECT, INSERT INTO, INSERT OVERWRITE, UPDATE, DELETE FROM, MERGE INTO, TRUNCATE TABLE, "
    "CREATE TABLE, DROP TABLE, ALTER TABLE, CREATE INDEX, DROP INDEX, SET, RESET, DESCRIBE, "
    "SHOW TABLES, SHOW DATABASES, SHOW PARTITIONS, SHOW COLUMNS, SHOW INDEXES, SHOW TBLPROPERTIES, "
    "SHOW CREATE TABLE and CALL"
)
_MADE = "Create it in the catalog's own tools; a file catalog needs none."
_DROPPED = "Drop its tables, and the database in the catalog's own tools."
# By the kind of a statement; of others, what it begins with is enough.
_INSTEAD = {
    "CREATE DATABASE": _MADE,
    "CREATE SCHEMA": _MADE,
    "CREATE VIEW": 'Give the query: hoodoo.session(views={"v": "SELECT ..."}).',
    "CREATE FUNCTION": "Compute it in Python, and pass the rows: hoodoo.session(tables={...}).",
    "DROP VIEW": "Views are not stored: leave it out.",
    "DROP DATABASE": _DROPPED,
    "DROP SCHEMA": _DROPPED,
    "USE": "Write the whole name, db.t, or name catalogs: hoodoo.session(catalogs={...}).",
    "SET": "Write SET hoodie.key = value; settings of Spark: spark.conf.set(key, value).",
    "ALTER DATABASE": "Change it in the catalog's own tools.",
    "ALTER VIEW": 'Give the query: hoodoo.session(views={"v": "SELECT ..."}).',
}


def unsupported(tree: Any) -> ConfigError:
    """The error for a statement of another kind."""
    kind = type(tree).__name__.upper()
    if isinstance(tree, exp.Command):
        kind = str(tree.this).upper()
    elif isinstance(tree, (exp.Create, exp.Drop)):
        kind = f"{kind} {str(tree.args.get('kind')).upper()}"
    elif isinstance(tree, exp.Describe):
        kind = f"{kind} {str(tree.args.get('style')).upper()}"
    elif isinstance(tree, exp.Alter):
        kind = f"{kind} {str(tree.args.get('kind')).upper()}"
    text = tree.sql(DIALECT)
    fix = _INSTEAD.get(kind, f"A session takes {STATEMENTS}.")
    return ConfigError(f"statement {cut(text)}", "is not supported here.", fix)
