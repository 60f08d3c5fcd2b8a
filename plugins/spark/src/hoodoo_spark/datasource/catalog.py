"""Tables of Spark's catalog: what Spark says of one when it asks for the schema, kept for when it
reads and writes.

Then Spark gives a table of its catalog no options at all (4.3). But it hands on the schema, with
the metadata of its columns: so the options are put there, for the session, in one column, the
carrier.

A write gets the columns of the query. Spark gives them the metadata of the table's columns unless
names and types are those of the table already: then ``INSERT INTO a SELECT * FROM b`` comes with
the metadata of b, and would write into b. So the carrier is a column of texts, which is said to be
a ``varchar`` of a length that no other table has: it holds any text, but columns of other tables
are not of the same type, and Spark gives the query's the metadata of the table. Where a table has
no texts the carrier names its type, too: Spark takes that off a column that it gives the metadata
to, and a column that still has it is one that was read.

Rows that were read come so from ``INSERT INTO a SELECT * FROM a``, but also from ``CREATE TABLE c
AS SELECT * FROM a`` and from ``.save()`` without a path: nothing tells them apart, and so these are
refused, unless they overwrite, which a new table never does (``.mode("overwrite").save()`` comes as
``INSERT OVERWRITE a SELECT * FROM a`` does). With the option ``path`` in the statement all is said;
but ``.saveAsTable(name, path=...)`` comes as ``.save(path)`` does, and its name then has the
metadata of the table that was read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from hoodoo.errors import ConfigError

from hoodoo_spark.datasource.options import ANY, NOTED, Wanted
from hoodoo_spark.datasource.others import refuse_several

_KEY = "hoodoo"
# Spark's own key of what a column is declared as (CharVarcharUtils).
_DECLARED = "__CHAR_VARCHAR_TYPE_STRING"
_VARCHAR = "varchar"
_ATOMIC = ("bigint", "int", "double", "float", "date", "boolean", "smallint", "tinyint")
_SAY = (
    "say the path, INSERT INTO name WITH ('path' = '/data/name') SELECT ..., or write the "
    "DataFrame, "
    'df.write.format("hoodoo").mode("append").save(path)'
)


def is_of_catalog(options: Mapping[str, str]) -> bool:
    return "provider" in options


def marked(struct: Any, options: Mapping[str, str]) -> Any:
    """``struct``, which is of a table of the catalog that has ``options``."""
    kinds = [field.dataType.simpleString() for field in struct.fields]
    if "string" in kinds:
        place, declared = kinds.index("string"), f"{_VARCHAR}({_length(options)})"
    else:
        place = next((n for n, kind in enumerate(kinds) if kind in _ATOMIC), 0)
        declared = kinds[place] if kinds else ""
    if kinds:
        field = struct.fields[place]
        noted = {one.name: one.dataType.simpleString() for one in struct.fields}
        own = {_KEY: json.dumps({**options, NOTED: json.dumps(noted)}), _DECLARED: declared}
        field.metadata = {**(field.metadata or {}), **own}
    return struct


def _length(options: Mapping[str, str]) -> int:
    """One that other tables don't have, nor the same table with other options, and longer than
    texts are."""
    said = json.dumps(sorted(options.items())).encode()
    return (1 << 30) + int.from_bytes(hashlib.sha256(said).digest()[:4], "big") % (1 << 30)


def complete(options: Mapping[str, str], struct: Any) -> Mapping[str, str]:
    """``options`` of a read, or where they are none of a table those that its schema has.

    Raises ConfigError where there are none either."""
    return _completed(options, _marks(struct))


def complete_write(options: Mapping[str, str], struct: Any, overwrite: bool) -> Mapping[str, str]:
    """``options`` of a write, or where they are none of a table those of the table that is written.

    Raises ConfigError where there are none, or where they may be those of a table that is read."""
    if options.get("path"):
        return options
    found = _marks(struct)
    sure = [
        mark
        for mark in found
        if (declared := mark.get(_DECLARED)) is None or (overwrite and declared[:7] == _VARCHAR)
    ]
    if found and not sure:
        raise ConfigError(
            "the table of a write",
            "is not said by Spark: the rows have the columns of a table of the catalog that was "
            "read, "
            "and may be meant for another one",
            f"{_SAY}. For a new table .save(path) comes first, then CREATE TABLE name USING hoodoo "
            "LOCATION 'path'.",
        )
    return _completed(options, sure)


def _completed(options: Mapping[str, str], marks: list[dict[str, Any]]) -> Mapping[str, str]:
    if options.get("path"):
        return options
    refuse_several(options)
    if len(marks) != 1:
        raise ConfigError(
            'format "hoodoo"',
            "was given no path: .save() and streams need one, and Spark hands none on for a table "
            "that "
            "was created with columns of its own, or AS SELECT",
            "give the path, .save(path) or .start(path). For SQL make the table first, by a write "
            "with .save(path) or "
            "hoodoo.create, then CREATE TABLE name USING hoodoo LOCATION 'path', without columns. "
            "Into a table that has no "
            f"column of texts, {_SAY}.",
        )
    kept: dict[str, str] = json.loads(marks[0][_KEY])
    if not is_of_catalog(options):  # they are the statement's own: unknown ones are refused
        Wanted.of({**options, "path": kept.get("path", "")}, ANY)
    return {**kept, **options}


def _marks(struct: Any) -> list[dict[str, Any]]:
    return [field.metadata for field in struct.fields if _KEY in (field.metadata or {})]
