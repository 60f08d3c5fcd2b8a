"""``hoodoo layout``: which values each file holds, in figures or as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import attrs
import typer
from hoodoo.errors import ConfigError
from hoodoo_cli.toolkit import arguments, show

_NUMBERS = ("files", "size", "median", "average", "most", "pairs", "unknown")


def layout(
    path: arguments.Path,
    columns: Annotated[str, typer.Option(help="The columns, with commas between.")],
    as_of: Annotated[
        str | None,
        typer.Option(help="Beside it, as of this instant, or ISO 8601 time with a zone."),
    ] = None,
    partition: Annotated[
        str | None, typer.Option(help="Only this partition path, and those below it.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", help="Draw it into this SVG file.")
    ] = None,
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """Show, or draw, how the values of columns are spread over the files of a table.

    Example: hoodoo layout trips --columns ts --output trips.svg
    """
    names = tuple(dict.fromkeys(name.strip() for name in columns.split(",") if name.strip()))
    if not names:
        raise ConfigError("option --columns", "names none", "name one or more columns.")
    if output is not None and output.suffix.lower() != ".svg":
        raise ConfigError(f"option --output {output}", "is no .svg file", "name it so.")
    table = arguments.opened(path, options)
    wanted = {"columns": names, "partitions": None if partition is None else [partition]}
    now = table.report("layout", **wanted)
    before = None if as_of is None else table.report("layout", **wanted, as_of=as_of)
    if output is not None:
        drawn = now.drawn() if before is None else before.drawn(now)
        output.write_text(drawn, encoding="utf-8")
        show.say(show.console(), f"{now.table}: drawn into {output}")
        return
    halves = [now] if before is None else [before, now]
    if as_json:
        show.put_json([_plain(half) for half in halves])
        return
    _print(halves)


def _plain(half: Any) -> dict[str, Any]:
    figures = [attrs.asdict(found) for found in half.figures]
    sizes = attrs.asdict(half.sizes)
    return {"table": half.table, "as_of": half.as_of, "sizes": sizes, "columns": figures}


def _print(halves: list[Any]) -> None:
    unknown = any(found.unknown for half in halves for found in half.figures)
    names = ["column", "when", "files", "size", "median", "average", "most", "pairs"]
    grid = show.grid(*names, *(["unknown"] if unknown else []), right=_NUMBERS)
    for n, column in enumerate(halves[0].columns):
        for place, half in enumerate(halves):
            found, sizes = half.figures[n], half.sizes
            cells = [
                "" if place else column,
                half.as_of or "now",
                f"{sizes.count:,}",
                show.size(sizes.bytes),
                show.size(sizes.median),
                f"{found.depth:,.1f}",
                f"{found.deepest:,}",
                f"{found.overlapping:.0%}",
            ]
            cells += [show.amount(found.unknown)] if unknown else []
            grid.add_row(*(show.text(cell) for cell in cells))
    out = show.console()
    show.put(out, grid)
    show.say(
        out,
        "average, most: files that may hold a value; pairs: of files that share values",
        "dim",
    )
