"""``hoodoo stats``: how large a table is, and what writing it has cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hoodoo_cli.reports import plain
from hoodoo_cli.toolkit import arguments, show

if TYPE_CHECKING:
    from hoodoo_rows.api import Sizes

    from hoodoo_cli.reports.figures import TableStats


def stats(
    path: arguments.Path,
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """Show how large the files of a table are, how much of them is old, and what writing has cost.

    Example: hoodoo stats trips
    """
    table = arguments.opened(path, options)
    with show.progress() as report_progress:
        found = table.stats(progress=report_progress)
    if as_json:
        show.put_json(plain.of_stats(found))
        return
    out = show.console()
    grid = show.grid("what", "value", fold=("value",))
    grid.show_header = False
    for name, values in _lines(found).items():
        for place, value in enumerate(values):
            grid.add_row(show.text("" if place else name, "bold"), show.text(value))
    show.put(out, grid)


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
        f"{show.count(done.commits, 'commit')} of the active timeline wrote {show.size(done.bytes)}",
        f"{show.count(done.changed_rows, 'changed row')}, about {show.size(done.changed_bytes)}",
    ]
    if done.amplification is not None:
        lines.append(f"write amplification {done.amplification:.1f}")
    return lines
