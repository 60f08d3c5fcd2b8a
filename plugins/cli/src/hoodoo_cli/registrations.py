"""What hoodoo-cli offers: reports on tables, the subcommands of ``hoodoo``, checks of ``hoodoo
doctor``."""

from __future__ import annotations

from collections.abc import Mapping

from hoodoo import hookimpl
from hoodoo.hookspecs import Registration

_REPORTS = {
    "timeline": "What happened to a table, newest first.",
    "files": "The file slices of a table.",
    "partitions": "File groups, rows and bytes of each partition.",
    "stats": "How large files are, how much of them is old, what writing has cost.",
    "summary": "A table in a line: size, growth, newest commit, what waits for services, findings.",
    "verify": "What is wrong with a table: properties, timeline, files, their bytes, record keys.",
}

# Methods of a table by report.
_VERBS = {"stats": "stats", "verify": "verify", "timeline": "history"}

# Those of services come with the distributions that have the services.
_COMMANDS = {
    "ls": "List the tables of a folder, a prefix, a catalog, or a file of paths.",
    "schema": "Show the columns of a table: types, and which are the record key, the partition and "
    "the ordering.",
    "head": "Print some rows of a table.",
    "count": "Count the rows of a table.",
    "properties": "Print the properties of a table, from .hoodie/hoodie.properties.",
    "create": "Create a table without rows.",
    "import": "Write data files into a table, in one commit.",
    "export": "Write the rows of a table to a file, batch by batch, so that a large table needs "
    "little memory.",
    "timeline": "List what happened to a table, newest first.",
    "watch": "Show the timeline of a table while it changes.",
    "files": "List the file slices of a table.",
    "inspect": "Show what is in a file of a table: log file, HFile, base file, timeline file.",
    "stats": "Show how large the files of a table are, how much of them is old, and what writing "
    "has cost.",
    "verify": "Check whether a table is correct, or each of many.",
    "rollback": "Undo failed writes; or undo INSTANT, permanently.",
    "compare-indexes": "Look keys up in two indexes and show where they differ.",
    "switch-index": "Give the table another index, for all writers.",
    "doctor": "Find out what is wrong with this environment, or with tables and the access to "
    "them, and how to fix it.",
    "ui": "Show a table, or many, in the browser while they change.",
    "plugins": "List the installed plugins, a line each; of a family or a plugin also its other "
    "names and options.",
}
# Words that Python reserves.
_FUNCTIONS = {"import": "import_files"}

_CHECKS = {
    "plugins": ("checks.plugins:PluginsCheck", "whether plugins are whole and fit together"),
    "machine": ("checks.machine:MachineCheck", "open files, temporary files, the clock"),
    "table": (
        "checks.table:TableCheck",
        "properties, timeline, writers, and whether it can be written",
    ),
}


@hookimpl
def hoodoo_families() -> Mapping[str, str]:
    return {"check": "hoodoo_cli.hookspecs:CHECK", "inspector": "hoodoo_cli.hookspecs:INSPECTOR"}


@hookimpl
def hoodoo_inspectors() -> list[Registration]:
    return [
        Registration(
            "timeline_file",
            "hoodoo_cli.inspectors.timeline:TimelineInspector.from_settings",
            summary="instants of the timeline, properties, other JSON and Avro files",
        )
    ]


@hookimpl
def hoodoo_checks() -> list[Registration]:
    return [
        Registration(name, f"hoodoo_cli.{found}.from_settings", summary=summary)
        for name, (found, summary) in _CHECKS.items()
    ]


@hookimpl
def hoodoo_reports() -> list[Registration]:
    return [
        Registration(
            name,
            f"hoodoo_cli.reports.registered:{name}",
            summary=summary,
            verbs={verb: f"hoodoo_cli.verbs:{verb}" for verb in [_VERBS.get(name)] if verb},
        )
        for name, summary in _REPORTS.items()
    ]


@hookimpl
def hoodoo_commands() -> list[Registration]:
    return [
        Registration(name, f"hoodoo_cli.commands.{found}:{found}", summary=summary)
        for name, found, summary in (
            (n, _FUNCTIONS.get(n, n.replace("-", "_")), s) for n, s in _COMMANDS.items()
        )
    ]
