"""``hoodoo archive``: shorten the active timeline."""

from __future__ import annotations

from hoodoo_cli.toolkit import arguments, show


def archive(
    path: arguments.Path, options: arguments.Options = None, as_json: arguments.Json = False
) -> None:
    """Move old instants from the active timeline into the archived one.

    How many instants stay is an option: -o hoodie.keep.max.commits=50, for example.

    Example: hoodoo archive trips
    """
    done = arguments.opened(path, options).archive()
    line = "Nothing to archive."
    if done.instants:
        line = f"{show.count(len(done.instants), 'instant')} archived."
    if done.held:
        line += f" Others have to stay: {done.held}."
    arguments.answer(done, as_json, line)
