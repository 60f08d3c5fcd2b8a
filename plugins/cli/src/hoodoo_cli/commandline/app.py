"""Puts the subcommands together that plugins contribute. One is imported when it runs, not
before."""

from __future__ import annotations

import pkgutil
from inspect import cleandoc
from typing import Annotated, Any

import typer
import typer.core
import typer.main
from hoodoo import __version__
from hoodoo.calls import elsewhere
from hoodoo.errors import HoodooError, PluginError
from hoodoo.kernel.registry import Offer, kernel


class Listed(typer.core.TyperCommand):
    """A subcommand as the list of ``hoodoo --help`` shows it: its name, and one line."""

    def __init__(self, offer: Offer) -> None:
        super().__init__(offer.name, help=offer.registration.summary)
        self.offer = offer

    def load(self) -> Any:
        """The subcommand itself. PluginError, which names the distribution, if it can't be
        imported."""
        factory = self.offer.registration.factory
        try:
            found = pkgutil.resolve_name(factory) if isinstance(factory, str) else factory
            return _command(self.offer.name, found)
        except HoodooError:
            raise
        except Exception as exc:
            raise PluginError(
                str(self.offer),
                f"it can't be loaded: {type(exc).__name__}: {exc}.",
                f"Repair the distribution {self.offer.plugin.distribution}, or install it again; "
                "other subcommands work.",
            ) from exc


class Command(typer.core.TyperCommand):
    """A subcommand that says how -1, the number of a commit, is given as an argument."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            option = str(getattr(error, "option_name", ""))  # no option of this name
            if option[:1] == "-" and option[1:].isdigit():
                ctx.fail(f"{option} looks like an option. Write -- before it: -- {option}")
            raise


class Subcommands(typer.core.TyperGroup):
    """All subcommands that plugins offer, by name."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.broken: PluginError | None = None
        try:
            offers = sorted(kernel().offers("command"), key=lambda offer: offer.name)
        except PluginError as error:  # which one subcommand explains
            self.broken = error
        else:
            self.commands.update({offer.name: Listed(offer) for offer in offers})

    def list_commands(self, ctx: Any) -> list[str]:
        if self.broken is not None:
            raise self.broken
        return super().list_commands(ctx)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        if self.broken is not None:
            if args[0] != "doctor":
                raise self.broken
            from hoodoo_cli.commands.doctor import doctor

            return "doctor", _command("doctor", doctor), args[1:]
        said = elsewhere("command", args[0])
        if said and args[0] not in self.commands:
            ctx.fail(f"No such command {args[0]!r}{said}")
        name, command, rest = super().resolve_command(ctx, args)
        return name, command.load() if isinstance(command, Listed) else command, rest


def build() -> typer.Typer:
    """The application."""
    app = typer.Typer(
        name="hoodoo",
        cls=Subcommands,
        help="Apache Hudi tables in Python.",
        no_args_is_help=True,
        add_completion=True,
        pretty_exceptions_enable=False,  # a HoodooError is one sentence; others are bugs
    )
    app.callback()(_root)
    return app


def _command(name: str, found: Any) -> Any:
    """What typer makes of a function, or of an application with subcommands of its own."""
    if not isinstance(found, typer.Typer):
        function, found = found, typer.Typer(add_completion=False)
        found.command(name, cls=Command)(function)
    command = typer.main.get_command(found)
    command.name = name
    for one in (command, *getattr(command, "commands", {}).values()):
        one.help = _flowing(one.help)
    return command


def _flowing(text: str | None) -> str | None:
    """Each paragraph of a docstring on one line, so that it is broken where the terminal ends, not
    where the source does."""
    if text is None:
        return None
    return "\n\n".join(" ".join(part.split("\n")) for part in cleandoc(text).split("\n\n"))


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    pass
