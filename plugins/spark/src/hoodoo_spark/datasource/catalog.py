"""Tables of Spark's catalog: what Spark says of one when it asks for the schema, kept for when it reads and writes.

Then Spark gives a table of its catalog no options at all (4.3). But it hands on the schema, with the metadata of its
columns: so the options are put there, for the session, in the first column.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hoodoo.errors import ConfigError

_KEY = "hoodoo"


def is_of_catalog(options: Mapping[str, str]) -> bool:
    return "provider" in options


def marked(struct: Any, options: Mapping[str, str]) -> Any:
    """``struct``, which is of a table of the catalog that has ``options``."""
    if struct.fields:
        struct.fields[0].metadata = {
            **(struct.fields[0].metadata or {}),
            _KEY: json.dumps(dict(options)),
        }
    return struct


def complete(options: Mapping[str, str], struct: Any) -> Mapping[str, str]:
    """``options``, or where they are none of a table those that its schema has.

    Raises ConfigError where there are none either."""
    if options.get("path"):
        return options
    kept = (struct.fields[0].metadata or {}).get(_KEY) if struct.fields else None
    if kept is None:
        raise ConfigError(
            'format "hoodoo"', "was given no path: Spark hands none on for a table that was created with columns of its "
            "own, or AS SELECT",
            "make the table first, by a write with .save(path) or hoodoo.create, then CREATE TABLE name USING hoodoo "
            "LOCATION 'path', without columns.",
        )  # fmt: skip
    return {**json.loads(kept), **options}
