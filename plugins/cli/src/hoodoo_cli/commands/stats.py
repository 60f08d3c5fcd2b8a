"""``hoodoo stats``: how large a table is, and what writing it has cost; of many, a line each."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hoodoo_cli.reports import plain
from hoodoo_cli.toolkit import arguments, many, show
from hoodoo_cli.toolkit.prices import PRICE, Prices

if TYPE_CHECKING:
    from hoodoo_rows.api import Sizes

    from hoodoo_cli.reports.figures import TableStats
    from hoodoo_cli.reports.summary import TableSummary


def stats(
    path: many.PathOrPlace,
    price: Annotated[
        list[str] | None,
        typer.Option(
            envvar=PRICE,
            metavar="[SCHEME=]NUMBER",
            help="What a GB costs in a month, of a store (s3=0.023) or of all; may be repeated.",
        ),
    ] = None,
    at_once: many.AtOnce = 4,
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """Show how large the files of a table are, how much of them is old, and what writing has cost.

    Of many tables, a line each: size, growth, newest commit, what waits for services.

    Exit code 1: one of many tables can't be read.

    Example: hoodoo stats trips

    Example: hoodoo stats s3://bucket/lake --price s3=0.023
    """
    given = arguments.pairs(options)
    prices = Prices.of(price or ())
    tables = many.several(path, given)
    if tables is not None:
        asked = many.all_of(tables, lambda table: _summary(table.path, given), at_once)
        if as_json:
            show.put_json(
                [one.to_dict(partial(_with_cost, one.table.path, prices)) for one in asked]
            )
        else:
            _print_many(asked, prices)
        raise typer.Exit(0 if many.is_well(asked, lambda found: True) else 1)
    table = arguments.opened(path, options)
    with show.progress() as report_progress:
        found = table.stats(progress=report_progress)
    if as_json:
        cost = {"cost": prices.cost(table.path, found.bytes)} if prices else {}
        show.put_json({**plain.of_stats(found), **cost})
        return
    out = show.console()
    grid = show.grid("what", "value", fold=("value",))
    grid.show_header = False
    lines = _lines(found)
    if (costs := prices.cost(table.path, found.bytes)) is not None:
        lines["size"].append(f"{costs:,.2f} a month")
    for name, values in lines.items():
        for place, value in enumerate(values):
            grid.add_row(show.text("" if place else name, "bold"), show.text(value))
    show.put(out, grid)


def _summary(path: str, options: Mapping[str, str]) -> TableSummary:
    import hoodoo

    found: TableSummary = hoodoo.open(path, dict(options)).report("summary")
    return found


def _with_cost(path: str, prices: Prices, found: TableSummary) -> dict[str, Any]:
    return {**found.to_dict(), "cost": prices.cost(path, found.bytes)}


def _print_many(asked: Sequence[many.Asked], prices: Prices) -> None:
    out = show.console()
    numbers = ("size", "old", "rows", "files", "small", "logs", "lag", "7 days", "newest", "cost")
    grid = show.grid(
        "table", *numbers[: None if prices else -1], "", right=numbers, fold=("table",)
    )
    now, size, cost = time.time(), 0, 0.0
    for one in asked:
        name = show.text(one.table.name or ".")
        if one.error is not None:
            blank = [""] * (len(grid.columns) - 2)
            grid.add_row(name, *blank, show.text(one.state, "yellow"))
            continue
        found: TableSummary = one.value
        size += found.bytes
        costs = prices.cost(one.table.path, found.bytes)
        cost += costs or 0.0
        findings = len(found.findings(now))
        cells = [
            show.size(found.bytes),
            f"{found.old_bytes / found.bytes:.0%}" if found.old_bytes else "",
            "" if found.rows is None else f"{found.rows:,}",
            show.amount(found.base_files),
            show.amount(found.small_files),
            show.amount(found.log_files),
            show.amount(found.compaction_lag),
            show.size(found.week_bytes) if found.week_bytes else "",
            "" if found.last_commit_at is None else show.age(max(0.0, now - found.last_commit_at)),
            *([f"{costs:,.2f}" if costs is not None else ""] if prices else ()),
        ]
        said = ["backup"] if one.table.is_backup else []
        said += [show.count(findings, "finding")] if findings else []
        grid.add_row(
            name, *(show.text(cell) for cell in cells), show.text(", ".join(said), "yellow")
        )
    show.put(out, grid)
    unread = sum(one.error is not None for one in asked)
    total = f"{show.count(len(asked), 'table')}, " + f"{unread:,} can't be read, " * bool(unread)
    total += show.size(size)
    show.say(out, f"{total}, {cost:,.2f} a month" if prices else total, "dim")
    for one in asked:
        if one.error is not None:
            show.say(out, f"{one.table.name or '.'}: {one.state}: {one.sentence}", "yellow")


def _lines(found: TableStats) -> dict[str, list[str]]:
    """The lines under each name."""
    kind = found.table_type.lower().replace("_", " ")
    table = [f"{found.table}: {kind}, version {found.table_version}"]
    if not found.bytes:
        return {"table": table, "size": ["no files yet"]}
    return {
        "table": table,
        "rows": [_rows(found)],
        "files": [_files(found)],
        "size": list(_parts(found)),
        "base files": [*_sizes(found.base_files), *_small(found)],
        "log files": [*_sizes(found.log_files), *_ratio(found)],
        "writing": _written(found),
    }


def _rows(found: TableStats) -> str:
    rows = "unknown" if found.rows is None else f"{found.rows:,}"
    if found.log_files.count:
        rows += " in base files; log files may add some and take some away"
    return rows


def _parts(found: TableStats) -> Iterator[str]:
    yield f"{show.size(found.bytes)} in all"
    yield f"{show.size(found.newest_bytes)} in the newest slices"
    yield f"{show.size(found.older_bytes)} in older slices"
    if found.replaced_bytes:
        yield f"{show.size(found.replaced_bytes)} in replaced file groups"
    if found.uncommitted_bytes:
        yield f"{show.size(found.uncommitted_bytes)} of instants that are not completed"
    if found.cleanable_bytes is not None:
        yield f"{show.size(found.cleanable_bytes)} would be freed by a clean now"


def _small(found: TableStats) -> Iterator[str]:
    if found.small_files:
        yield f"{found.small_files:,} smaller than {show.size(found.small_file_limit)}"


def _ratio(found: TableStats) -> Iterator[str]:
    if found.log_files.count and found.log_ratio is not None:
        yield f"{found.log_ratio:.1%} of the size of the base files"


def _files(found: TableStats) -> str:
    text = show.count(found.file_groups, "file group")
    if found.partitions:
        text += f" in {show.count(found.partitions, 'partition')}"
    if found.slices_per_group is not None:
        text += f", {found.slices_per_group:.1f} slices each on average"
    return text


def _sizes(sizes: Sizes) -> list[str]:
    if not sizes.count:
        return []
    first = f"{show.count(sizes.count, 'file')}, {show.size(sizes.bytes)}"
    if sizes.count == 1:
        return [first]
    marks = (
        ("smallest", sizes.smallest),
        ("10 %", sizes.p10),
        ("median", sizes.median),
        ("90 %", sizes.p90),
        ("largest", sizes.largest),
    )
    return [first, ", ".join(f"{name} {show.size(value)}" for name, value in marks)]


def _written(found: TableStats) -> list[str]:
    done = found.written
    if not done.commits:
        return []
    lines = [
        f"{show.count(done.commits, 'commit')} of the active timeline wrote "
        f"{show.size(done.bytes)}",
        f"{show.count(done.changed_rows, 'changed row')}, about {show.size(done.changed_bytes)}",
    ]
    if done.amplification is not None:
        lines.append(f"write amplification {done.amplification:.1f}")
    return lines
