"""What hoodoo-cli offers: reports on tables, the subcommands of ``hoodoo``, checks of ``hoodoo doctor``."""

from __future__ import annotations

from collections.abc import Mapping

from hoodoo import hookimpl
from hoodoo.hookspecs import Registration

_REPORTS = {
    "timeline": "What happened to a table, newest first.",
    "files": "The file slices of a table.",
    "stats": "How large files are, how much of them is old, what writing has cost.",
    "verify": "What is wrong with a table: properties, timeline, files, their bytes, record keys.",
}

# Reports that are methods of a table, too.
_VERBS = ("stats", "verify")

# Those of services come with the distributions that have the services.
_COMMANDS = {
    "timeline": "List what happened to a table, newest first.",
    "files": "List the file slices of a table.",
    "stats": "Say how large a table's files are, how much of them is old, and what writing has cost.",
    "verify": "Look whether all of a table is as it should be.",
    "rollback": "Undo what writers that died have left; or INSTANT, for good.",
    "compare-indexes": "Ask two indexes where keys lie and tell where they differ.",
    "switch-index": "Give the table another index, for all writers.",
    "doctor": "Look for what is wrong with this environment, or with a table and the way to it, and say the fix.",
    "plugins": "List the installed plugins, a line each; of a family or a plugin its other names and options, too.",
}

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
    return {"check": "hoodoo_cli.hookspecs:CHECK"}


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
            verbs={name: f"hoodoo_cli.verbs:{name}"} if name in _VERBS else {},
        )
        for name, summary in _REPORTS.items()
    ]


@hookimpl
def hoodoo_commands() -> list[Registration]:
    return [
        Registration(name, f"hoodoo_cli.commands.{found}:{found}", summary=summary)
        for name, found, summary in ((n, n.replace("-", "_"), s) for n, s in _COMMANDS.items())
    ]
