"""What hoodoo-cli offers: reports on tables, and the subcommands of ``hoodoo``."""

from __future__ import annotations

from hoodoo import hookimpl
from hoodoo.hookspecs import Registration

_REPORTS = {
    "timeline": "What happened to a table, newest first.",
    "files": "The file slices of a table.",
    "stats": "How large files are, how much of them is old, what writing has cost.",
    "verify": "What is wrong with a table: properties, timeline, files, their bytes, record keys.",
}

# Of a table: what looks at it only.
_LOOKING = {
    "timeline": "List what happened to a table, newest first.",
    "files": "List the file slices of a table.",
    "stats": "Say how large a table's files are, how much of them is old, and what writing has cost.",
    "layout": "Say, or draw, how the values of columns are spread over a table's files.",
    "verify": "Look whether all of a table is as it should be.",
    "plugins": "List the installed plugins, a line each; of a family or a plugin its other names and options, too.",
}
# Services, by module. Whoever makes a distribution of one takes its subcommand along.
_SERVICES = {
    "archive": "Move old instants from the active timeline into the archived one.",
    "clean": "Delete the files that neither readers of the recent past nor a savepoint need.",
    "compact": "Make base files of the log files of a table that is merged on read.",
    "restore": "Undo everything after INSTANT, for good.",
    "rollback": "Undo what writers that died have left; or INSTANT, for good.",
    "savepoint": "Keep a write and its files, whatever is cleaned and archived; also list and delete savepoints.",
}
_CLUSTERING = {
    "cluster": "Rewrite file groups into well-sized, well-sorted ones; no row changes.",
}
_METADATA = {
    "compact-metadata": "Make base files of the log files of the metadata table.",
    "rebuild-index": "Make the metadata table anew from the table's files, or one partition of it.",
    "compare-indexes": "Ask two indexes where keys lie and tell where they differ.",
    "switch-index": "Give the table another index, for all writers.",
}
# The module of a subcommand that is not named as it is.
_MODULES = {"compact-metadata": "rebuild_index"}


@hookimpl
def hoodoo_reports() -> list[Registration]:
    return [
        Registration(name, f"hoodoo_cli.reports.registered:{name}", summary=summary)
        for name, summary in _REPORTS.items()
    ]


@hookimpl
def hoodoo_commands() -> list[Registration]:
    every = {**_LOOKING, **_SERVICES, **_CLUSTERING, **_METADATA}
    return [Registration(name, _function(name), summary=summary) for name, summary in every.items()]


def _function(name: str) -> str:
    function = name.replace("-", "_")
    return f"hoodoo_cli.commands.{_MODULES.get(name, function)}:{function}"
