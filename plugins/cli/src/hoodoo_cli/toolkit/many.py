"""Many tables at once: those of a folder, of a prefix, of a catalog, or of a file of paths. One
that fails does not end the others."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any

import typer
from attrs import evolve, frozen
from hoodoo.errors import ConfigError, HoodooError, NotATableError
from hoodoo.model.findings import Progress, silent
from hoodoo.storage.uri import local_path, split

from hoodoo_cli.toolkit import show

if TYPE_CHECKING:
    from hoodoo_cli.tables_below import TableBelow

PathOrPlace = Annotated[
    str,
    typer.Argument(
        metavar="PATH",
        help="The directory or URI of a table; or a folder, a prefix, a catalog, or a file of "
        "paths: then of each table there.",
        show_default=False,
    ),
]
AtOnce = Annotated[int, typer.Option(help="Of many tables: so many at the same time.", min=1)]

_SHOWN = 3  # findings of one table
_LISTED_AT_ONCE = 16  # entries of a catalog, or lines of a file: a request or two each
_CATALOG_OF_FOLDERS = "file"  # a folder with tables may be a catalog, too


@frozen
class Asked:
    """What was asked of a table: its answer (``value``), or the ``error``. ``state``: ``ok``, that
    of the table, or ``failed`` after an error that is none of Hoodoo's."""

    table: TableBelow
    value: Any = None
    error: Exception | None = None

    @property
    def state(self) -> str:
        """``ok``, or what is wrong."""
        if self.error is None or isinstance(self.error, HoodooError):
            return evolve(self.table, error=self.error).state
        return "failed"

    def to_dict(self, answer: Callable[[Any], Any]) -> dict[str, Any]:
        """As plain values: ``path``, ``name``, ``state``, ``error`` and ``result``."""
        result = None if self.error is not None else answer(self.value)
        return {
            "path": self.table.path,
            "name": self.table.name,
            "state": self.state,
            "error": None if self.error is None else self.sentence,
            "result": result,
        }

    @property
    def sentence(self) -> str:
        """What went wrong."""
        known = isinstance(self.error, HoodooError)
        return str(self.error) if known else f"{type(self.error).__name__}: {self.error}"


def tables_of(place: str, options: Mapping[str, Any] | None = None) -> Iterator[TableBelow]:
    """The tables of ``place``: at and below a folder or a prefix, of a catalog (``glue://``), or of
    a local file with a path on each line (those of tables, or of places; ``#`` begins a comment).

    What can't be read is an item with an ``error``. Raises what :func:`tables_below` raises of a
    folder, and ConfigError for a file that is no text."""
    from hoodoo_cli.tables_below import tables_below

    given = dict(options or {})
    if _is_file(place):
        yield from _side_by_side(partial(_of_line, given=given), _lines(place))
    elif _is_catalog(place):
        import hoodoo

        lake = hoodoo.catalog(place, given)
        yield from _side_by_side(partial(_of_entry, lake, given=given), lake.tables())
    else:
        seen = set()
        for table in tables_below(place, given):
            seen.add(where_it_lies(table.path))
            yield table
        yield from _elsewhere(place, given, seen)


def _elsewhere(place: str, given: Mapping[str, Any], seen: Collection[str]) -> Iterator[TableBelow]:
    """The tables that the catalog of a folder has, and that lie elsewhere than those ``seen``."""
    from hoodoo.kernel.registry import kernel

    if kernel().find("catalog", _CATALOG_OF_FOLDERS) is None:
        return
    import hoodoo

    from hoodoo_cli.tables_below import TableBelow

    # With a slash at its end, a folder with a # in its name is not the name of a table.
    lake = hoodoo.catalog(f"{place.rstrip('/')}/", given)
    try:
        names = lake.tables()
    except HoodooError as error:
        yield TableBelow(str(lake.place), "catalog", is_table=False, error=error)
        return
    yield from _side_by_side(partial(_of_entry, lake, given=given, seen=seen), names)


def where_it_lies(path: str) -> str:
    """Where a table lies: one bucket is s3 and s3a."""
    return split(real_path(path))[1].rstrip("/")


def real_path(path: str) -> str:
    """The URI of a table without links, whatever way has led to it."""
    is_local = split(path)[0] in ("", "file")
    return f"file://{os.path.realpath(local_path(path))}" if is_local else path


def several(path: str, options: Mapping[str, Any]) -> list[TableBelow] | None:
    """The tables of a place, by name; None for the path of a table, and of what has none: who
    opens it says why."""
    if not _is_place(path, options):
        return None
    named = _is_file(path) or _is_catalog(path)
    try:
        with show.waiting("listing"):
            found = sorted(tables_of(path, options), key=lambda table: table.name)
    except ConfigError:  # a folder that is empty, or not there
        if named:
            raise
        return None
    if not found and named:
        raise ConfigError(f"place {path}", "has no tables.", "Give one that has some.")
    return found or None


def each(
    tables: Sequence[TableBelow],
    work: Callable[[TableBelow], Any],
    at_once: int,
    progress: Progress = silent,
) -> Iterator[Asked]:
    """What ``work`` answers of each table, in their order; ``at_once`` of them run."""

    def ask(table: TableBelow) -> Asked:
        if table.error is not None:
            return Asked(table, error=table.error)
        try:
            return Asked(table, work(table))
        except Exception as error:  # the other tables have answers
            return Asked(table, error=error)

    with ThreadPoolExecutor(at_once) as pool:
        for done, asked in enumerate(pool.map(ask, tables), 1):
            progress("tables", done, len(tables))
            yield asked


def all_of(
    tables: Sequence[TableBelow], work: Callable[[TableBelow], Any], at_once: int
) -> list[Asked]:
    """All answers of :func:`each`, with a bar meanwhile."""
    with show.progress() as progress:
        return list(each(tables, work, at_once, progress))


def is_well(asked: Iterable[Asked], ok: Callable[[Any], bool]) -> bool:
    """Whether each table has an answer, and ``ok`` is true of it."""
    return all(one.error is None and ok(one.value) for one in asked)


def put_verdicts(asked: Sequence[Asked], findings: Callable[[Any], Sequence[Any]]) -> None:
    """A line for each table: what was found, with the first findings below."""
    out, wrong, unread = show.console(), 0, 0
    for one in asked:
        name = one.table.name or "."
        if one.error is not None:
            unread += 1
            show.say(out, f"{name}: {one.state}: {one.sentence}", "yellow")
            continue
        found = findings(one.value)
        if not found:
            show.say(out, f"{name}: nothing wrong is found.", "green")
            continue
        wrong += 1
        show.say(out, f"{name}: {show.count(len(found), 'finding')}.", "bold red")
        for finding in found[:_SHOWN]:
            show.say(out, f"  {finding.kind}: {finding}")
        if len(found) > _SHOWN:
            show.say(out, f"  ... and {len(found) - _SHOWN:,} more (--json has all)", "dim")
    parts = [f"{wrong:,} with findings"] if wrong else []
    parts += [f"{unread:,} can't be read"] if unread else []
    line = ", ".join([show.count(len(asked), "table"), *(parts or ["nothing wrong is found"])])
    show.say(out, f"{line}.", "bold red" if parts else "green")


def _is_place(path: str, options: Mapping[str, Any]) -> bool:
    from hoodoo.storage.api import get_if_there
    from hoodoo.table.settings import open_storage, typed_options
    from hoodoo.timeline import properties

    if _is_file(path):
        return True
    try:
        storage = open_storage(path, typed_options(options))
        if get_if_there(storage, properties.PATH) is not None:
            return False
        return all(entry.name != ".hoodie" for entry in storage.list(""))
    except HoodooError:
        return _is_catalog(path) and not _has_name(path)


def _is_file(place: str) -> bool:
    return split(place)[0] in ("", "file") and os.path.isfile(local_path(place))


def _is_catalog(place: str) -> bool:
    from hoodoo.kernel.registry import kernel

    offer = kernel().find("catalog", split(place)[0])
    return offer is not None and offer.name != _CATALOG_OF_FOLDERS


def _has_name(place: str) -> bool:
    """Whether the URI of a catalog names a table, as in ``glue://db.trips``."""
    last = split(place)[1].rstrip("/").rpartition("/")[2]
    return bool(last) and ":" not in last


def _lines(place: str) -> list[str]:
    try:
        with open(local_path(place), encoding="utf-8") as file:
            lines = [line.strip() for line in file]
    except UnicodeDecodeError:
        raise ConfigError(
            f"file {place}", "is no text.", "Give a file with the path of a table on each line."
        ) from None
    return list(dict.fromkeys(line for line in lines if line and not line.startswith("#")))


def _of_line(line: str, given: Mapping[str, Any]) -> list[TableBelow]:
    from hoodoo_cli.tables_below import TableBelow, tables_below

    try:
        found = list(tables_below(line, given))
    except HoodooError as error:
        return [TableBelow(line, line, is_table=False, error=error)]
    if not found:
        none = NotATableError(f"place {line}", "has no tables.", "Correct the line, or delete it.")
        return [TableBelow(line, line, is_table=False, error=none)]
    name = line.rstrip("/")
    return [evolve(one, name=f"{name}/{one.name}" if one.name else name) for one in found]


def _of_entry(
    lake: Any, name: str, given: Mapping[str, Any], seen: Collection[str] = ()
) -> list[TableBelow]:
    from hoodoo_cli.tables_below import TableBelow, tables_below

    path = name
    try:
        path = lake.entry(name).location
        if where_it_lies(path) in seen:
            return []
        first = next(tables_below(path, given), None)
    except HoodooError as error:
        return [TableBelow(path, name, is_table=False, error=error)]
    # Others are of another format.
    return [] if first is None or first.name else [evolve(first, name=name)]


def _side_by_side(
    look: Callable[[str], list[TableBelow]], names: Iterable[str]
) -> Iterator[TableBelow]:
    with ThreadPoolExecutor(_LISTED_AT_ONCE) as pool:
        yield from chain.from_iterable(pool.map(look, names))
