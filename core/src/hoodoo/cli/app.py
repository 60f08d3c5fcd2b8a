"""Puts the commands together: one module each in ``hoodoo.cli.commands``, found by being there."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import Annotated

import typer

from hoodoo import __version__
from hoodoo.cli import commands


def build() -> typer.Typer:
    """The application. Every module of ``commands`` has a function ``add(app)``."""
    app = typer.Typer(
        name="hoodoo",
        help="Apache Hudi tables in Python.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,  # HoodooError is told in one sentence; others are bugs
    )
    app.callback()(_root)
    for found in sorted(pkgutil.iter_modules(commands.__path__), key=lambda module: module.name):
        import_module(f"{commands.__name__}.{found.name}").add(app)
    return app


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Say the version."),
    ] = False,
) -> None:
    pass
