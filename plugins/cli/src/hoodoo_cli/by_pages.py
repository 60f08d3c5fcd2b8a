"""Tables in the listing of all names below a folder, as an object store gives it page by page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from attrs import define, field, frozen
from hoodoo.errors import HoodooError
from hoodoo.storage.api import Entry, Storage

HIDDEN = (".", "_")
# Metadata of other formats: below these are no tables of Hudi.
FOREIGN = ("_delta_log", "_versions")
LEVELS = 12
_INSIDE = ".hoodie"
_METADATA = f"{_INSIDE}/metadata/"
_PAGE = 1000
_PAGES = 10  # of one folder: they come one after another, folders side by side
_PAYING = 4  # tables in a page: fewer are faster looked at one by one, side by side


@frozen
class Paged:
    """What is below some folders: ``tables`` with the files of their ``.hoodie``, without those of
    the metadata table, and the folders that are ``left``. ``pays``: whether pages show many
    tables."""

    tables: dict[str, Sequence[Entry]]
    left: list[str]
    pays: bool


def by_pages(storage: Storage, folder: str, folders: list[str]) -> Paged:
    """What is below ``folders``, the folders in ``folder``, as far as few requests show it; nothing
    where the storage has no ``pages``."""
    pages: Callable[[str], Iterator[list[Entry]]] | None = getattr(storage, "pages", None)
    if pages is None or not folders:
        return Paged({}, folders, False)
    seen, pays = _Seen(folder), False
    with suppress(HoodooError):  # who looks at the folders one by one says what is wrong
        for count, page in enumerate(pages(folder), 1):
            seen.add(page)
            pays = len(seen.tables) > count * _PAYING
            wanted = pays and not seen.is_one_folder(page)
            if count == _PAGES or (len(page) >= _PAGE and not wanted):
                break
        else:
            if seen.last:
                return Paged(seen.among(folders), [], True)
    done = [one for one in folders if f"{one}/" < seen.last and not seen.is_in(one)]
    return Paged(seen.among(done), sorted({*folders}.difference(done)), pays)


@define
class _Seen:
    folder: str
    tables: dict[str, list[Entry]] = field(factory=dict)
    foreign: set[str] = field(factory=set)
    last: str = ""

    def add(self, page: list[Entry]) -> None:
        below = len(self.folder) + 1 if self.folder else 0
        for entry in page:
            parts = entry.path[below:].split("/")[:-1]
            at = parts.index(_INSIDE) if _INSIDE in parts else len(parts)
            hidden = next((i for i, part in enumerate(parts[:at]) if part.startswith(HIDDEN)), at)
            if hidden < at:
                if parts[hidden] in FOREIGN:
                    self.foreign.add(entry.path[: below + len("/".join(parts[:hidden]))])
                continue
            if at < len(parts):
                table = entry.path[: below + len("/".join(parts[:at]))]
                files = self.tables.setdefault(table, [])
                if not entry.path.startswith(f"{table}/{_METADATA}"):
                    files.append(entry)
        if page:
            self.last = page[-1].path

    def is_one_folder(self, page: list[Entry]) -> bool:
        """Whether a ``page`` is of one folder, which has tables below it: others may be as large,
        and are listed side by side."""
        if not page:
            return False
        level = self.folder.count("/") + 1 if self.folder else 0
        first, last = ("/".join(page[at].path.split("/")[: level + 1]) for at in (0, -1))
        return first == last and first not in self.tables

    def is_in(self, folder: str) -> bool:
        """Whether the last object is in ``folder``."""
        return self.last.startswith(f"{folder}/")

    def among(self, folders: list[str]) -> dict[str, Sequence[Entry]]:
        """The tables at and below ``folders`` that a walk by folders finds."""
        known, stops = {*folders}, self.tables.keys() | self.foreign
        level = self.folder.count("/") + 1 if self.folder else 0
        found: dict[str, Sequence[Entry]] = {}
        for table, files in self.tables.items():
            parts = table.split("/")
            above = {"/".join(parts[:i]) for i in range(level + 1, len(parts))}
            if len(parts) <= LEVELS and stops.isdisjoint(above) and known & {*above, table}:
                found[table] = files
        return found
