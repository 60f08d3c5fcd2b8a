"""One query in a process of its own, which can be ended at any time: ``python -m
hoodoo_cli.ui.query_run``. It takes JSON from its standard input, and puts JSON into its standard
output."""

from __future__ import annotations

import json
import re
import resource
import sys
from typing import Any

import hoodoo
from hoodoo.errors import ConfigError, DataError, HoodooError
from hoodoo.table.table import Table

from hoodoo_cli.ui.opened import shown_rows
from hoodoo_cli.ui.read_only import ReadOnlyStorage

_MEMORY = re.compile("failed to allocate|out of memory", re.IGNORECASE)  # of Arrow, and of DuckDB


def main() -> None:
    """Answer what is asked; the error in its place."""
    asked = json.load(sys.stdin)
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    bound = asked["bytes"] if most == resource.RLIM_INFINITY else min(asked["bytes"], most)
    resource.setrlimit(resource.RLIMIT_DATA, (bound, most))
    try:
        answer = _answer(asked)
    except HoodooError as error:
        is_short = isinstance(error, DataError) and _MEMORY.search(error.rule)
        answer = {"failed": None if is_short else error.to_dict()}
    except MemoryError:
        answer = {"failed": None}
    except Exception as error:  # of the parser, or of what runs the query
        rule = f"failed ({type(error).__name__}: {error})."
        answer = {"failed": ConfigError("query", rule, "Write it in another way.").to_dict()}
    json.dump(answer, sys.stdout)


def _answer(asked: dict[str, Any]) -> dict[str, Any]:
    found = hoodoo.open(asked["path"], asked["options"])
    storage: Any = ReadOnlyStorage(found.handle.storage)
    table = Table(storage, found.handle.config, found.handle.options)
    rows = hoodoo.sql(asked["text"], {table.handle.config.name: table})
    return {**shown_rows(rows.slice(0, asked["rows"])), "total": rows.num_rows}


if __name__ == "__main__":
    main()
