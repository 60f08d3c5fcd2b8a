"""Tags: names of states. A tag is a savepoint, and a property of the table that names its
instant."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hoodoo.errors import ConfigError
from hoodoo.table.opened import installed_action

from hoodoo_copies.savepoints import comments

if TYPE_CHECKING:
    from hoodoo.table.handle import TableHandle

# With the name behind it. Reads look for it (hoodoo.participants.travel).
KEY = "hoodoo.tag."
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9._-]{0,99}")
_COMMENT = "tag "


def tags(table: TableHandle) -> dict[str, str]:
    table.refresh()
    found = (
        (key.removeprefix(KEY), at)
        for key, at in table.config.properties.items()
        if key.startswith(KEY)
    )
    return dict(sorted(found, key=lambda one: (one[1], one[0])))


def tag(table: TableHandle, name: str, instant: str | None) -> str:
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"tag {name!r}",
            "is no name of a tag.",
            "Begin with a letter; letters, digits, '.', '_' and '-' may follow, 100 at most.",
        )
    table.check_writable()
    known = tags(table)
    if name in known and instant == known[name]:
        return known[name]
    if name in known:
        raise ConfigError(
            f"tag {name}",
            f"is the name of {known[name]} already.",
            f'Delete it first (table.untag("{name}")), or choose another name.',
        )
    service = installed_action(table, "savepoint")
    at: str = service.run(table, instant=instant, comment=f"{_COMMENT}{name}")
    table.change_properties({f"{KEY}{name}": at})
    return at


def untag(table: TableHandle, name: str) -> None:
    table.check_writable()
    known = tags(table)
    if name not in known:
        raise ConfigError(
            f"tag {name}",
            f"is not in this table, which has {', '.join(known) or 'none'}.",
            "table.tags() lists all.",
        )
    table.change_properties({f"{KEY}{name}": None})
    at = known.pop(name)
    if at in known.values():
        return
    if comments(table).get(at, "").startswith(_COMMENT):
        installed_action(table, "savepoint").delete(table, at)
