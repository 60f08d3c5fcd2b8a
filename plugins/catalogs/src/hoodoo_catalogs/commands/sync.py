"""``hoodoo sync``: update the catalogs that have a table."""

from __future__ import annotations

from attrs import asdict
from hoodoo_cli.toolkit import arguments, show


def sync(
    path: arguments.Path,
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """Update the catalogs that have the table: columns, partitions, the newest commit.

    Example: hoodoo sync s3://lake/trips -o hoodoo.catalogs=glue://db.trips
    """
    done = arguments.opened(path, options).sync()
    if as_json:
        show.put_json([asdict(one) for one in done])
        return
    out = show.console()
    for one in done:
        what = "created" if one.created else "nothing to do" if one.skipped else "updated"
        parts = f"{one.partitions_added} partitions added, {one.partitions_dropped} dropped"
        out.print(f"{one.catalog} {one.name}: {what}; {parts}", highlight=False, soft_wrap=True)
        for limit in one.limits:
            out.print(f"  {limit}.", highlight=False, soft_wrap=True)
    if not done:
        out.print("the table is in no catalog", highlight=False)
