"""``hoodoo count``: the number of rows of a table."""

from __future__ import annotations

from hoodoo_cli.toolkit import arguments, show


def count(
    path: arguments.Path,
    where: arguments.Where = None,
    as_of: arguments.AsOf = None,
    options: arguments.Options = None,
    as_json: arguments.Json = False,
) -> None:
    """Count the rows of a table. Prints the number alone, so that scripts can use it.

    Example: hoodoo count trips --where "city = 'oslo'"
    """
    rows = arguments.opened(path, options).read(where=where, as_of=as_of).count()
    if as_json:
        show.put_json({"rows": rows})
    else:
        show.say(show.console(), rows)
