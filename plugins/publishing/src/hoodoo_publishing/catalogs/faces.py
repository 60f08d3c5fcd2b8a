"""Faces: a table as one format in one catalog. They are updated after the metadata of the format,
which is right without them: a catalog that is down delays an action by a bounded time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from attrs import define, field, frozen
from hoodoo.errors import ConfigError, HoodooError, PluginError
from hoodoo.model.config import TableConfig
from hoodoo.storage.api import Storage
from hoodoo.timeline.timeline import load

from hoodoo_publishing import options
from hoodoo_publishing.catalogs.face import Face, Seen
from hoodoo_publishing.sync import Format

_PYICEBERG = "iceberg://"
_lock = threading.Lock()
# Root of the table and face -> the version of the format that this process has shown there.
_shown: dict[tuple[str, str], int] = {}
_running: dict[tuple[str, str], _Update] = {}


def faces(
    texts: Iterable[str], formats: Collection[str], lenient: bool = False
) -> tuple[Face, ...]:
    """Those that ``texts`` name, as ``format=place``, or ``place`` alone where one format is
    published. ConfigError for a format that is not; ``lenient``: it is left out."""
    found = []
    for text in texts:
        name, mark, place = text.partition("=")
        if not mark or "/" in name:
            name, place = next(iter(formats)) if len(formats) == 1 else "", text
        name, place = name.strip().lower(), place.strip()
        if name not in formats and lenient:
            continue
        if name not in formats:
            known = ", ".join(sorted(formats)) or "none"
            raise ConfigError(
                f"{options.CATALOGS.key}: {text}",
                f"does not name a format that the table is published in ({known}).",
                "Write iceberg=glue://database.table, and publish the format.",
            )
        if place.startswith(_PYICEBERG) and name != "iceberg":
            raise ConfigError(
                f"{options.CATALOGS.key}: {text}",
                "is a catalog of Iceberg tables alone.",
                "Name glue:// or hms:// for other formats.",
            )
        found.append(Face(name, place))
    return tuple(dict.fromkeys(found))


@frozen
class Faces:
    """All ``each`` of a table. ``given``: the options of this call."""

    each: tuple[Face, ...] = ()
    given: Mapping[str, str] = field(factory=dict)

    def update(
        self,
        storage: Storage,
        config: TableConfig,
        formats: Sequence[Format],
        published: bool,
        wait: float | None = None,
    ) -> list[tuple[Face, bool | HoodooError]]:
        """Bring the faces of ``formats`` up to what is published, all at the same time; whether
        each has changed, or why it could not. ``published``: something is new: without it, faces
        that this process has updated are not looked at. ``wait``: seconds, None for the option's.
        """
        by_name = {form.name: form for form in formats}
        due = [
            face
            for face in self.each
            if face.format in by_name and (published or (storage.root, str(face)) not in _shown)
        ]
        if not due:
            return []
        table = Seen(storage, load(storage, config), self.given)
        end = time.monotonic() + (options.WAIT.read(self.given) if wait is None else wait)
        begun = []
        for face in due:
            work = _work(face, by_name[face.format], table)
            begun.append((face, _begin((storage.root, str(face)), work)))
        return [(face, update.result(end)) for face, update in begun]


def _work(face: Face, form: Format, table: Seen) -> Callable[[], bool]:
    def work() -> bool:
        head = form.head(table.storage)
        if face.place.startswith(_PYICEBERG):
            from hoodoo_publishing.catalogs.commits import update

            done = update(face.place.removeprefix(_PYICEBERG), table.storage, head)
        else:
            from hoodoo_publishing.catalogs.entry import put

            done = put(face, table, head)
        with _lock:
            _shown[table.storage.root, str(face)] = head.version
        return done

    return work


def _begin(key: tuple[str, str], work: Callable[[], bool]) -> _Update:
    """``work`` in a thread, unless an earlier one of the same face is at it."""
    with _lock:
        known = _running.get(key)
        if known is not None:
            known.again = True
            return known
        update = _running[key] = _Update(key, work)
    threading.Thread(target=update.run, name=f"catalog {key[1]}", daemon=True).start()
    return update


@define(eq=False)
class _Update:
    """``again``: more was published while it was at work."""

    key: tuple[str, str]
    work: Callable[[], bool]
    again: bool = False
    found: Any = None
    done: threading.Event = field(factory=threading.Event)

    def run(self) -> None:
        changed = False
        while True:
            self.again = False
            try:
                changed |= self.work()
                self.found = changed
            except HoodooError as error:
                self.found = error
            except Exception as error:  # of a library that the catalog uses
                self.found = PluginError(
                    f"catalog entry {self.key[1]} of {self.key[0]}",
                    f"failed with {type(error).__name__}: {error}.",
                    "Check the catalog, then call table.publish().",
                )
            with _lock:
                if not self.again or isinstance(self.found, HoodooError):
                    del _running[self.key]
                    break
        self.done.set()

    def result(self, end: float) -> bool | HoodooError:
        """Whether the entry has changed, or the error; waits until ``end``."""
        if not self.done.wait(max(0.0, end - time.monotonic())):
            return PluginError(
                f"catalog entry {self.key[1]} of {self.key[0]}",
                "takes longer than the action may wait for it; it goes on in the background.",
                f"Raise {options.WAIT.key}, or look at the catalog.",
            )
        found: bool | HoodooError = self.found
        return found
