"""Command: a subcommand of the command line ``hoodoo``."""

from __future__ import annotations

from hoodoo.hookspecs.family import Family

FAMILY = Family(
    "hoodoo_commands",
    """Offer subcommands. When: the command line starts. Default: those of hoodoo-cli, and of the
    distributions whose services they run.

    ``name`` is what is typed, ``summary`` its line in ``hoodoo --help``. Unlike other factories,
    ``factory`` is what runs, and gets no settings: a function whose arguments typer understands, or
    a ``typer.Typer`` with subcommands of its own. As a text ``package.module:name`` it is imported
    when the subcommand runs or shows its help: give a text, as ``hoodoo --help`` has to be fast,
    and core never imports typer. A subcommand that can't be imported is named in an error when it
    is run; the others work.""",
)
