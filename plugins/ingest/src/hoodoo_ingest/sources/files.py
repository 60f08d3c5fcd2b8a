"""Files: the new ones of a folder or bucket prefix, in the order of their modification.

The position names the moment up to which all files were read (``floor``), and the files since then
that were read: not all stores show files in the order of these times. S3 has that of the beginning
of an upload, and clocks differ."""

from __future__ import annotations

import fnmatch
import hashlib
import os
import re
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
from attrs import field, frozen
from hoodoo.errors import ConfigError, DataError
from hoodoo.hookspecs.registration import Settings
from hoodoo.storage.api import Entry, Storage
from hoodoo.storage.uri import local_path, split
from hoodoo.table.settings import open_storage, typed_options
from hoodoo_cli.toolkit.places import is_local

from hoodoo_ingest import kinds
from hoodoo_ingest.hookspecs.source import Around, Arrived, Key, Portion, Position
from hoodoo_ingest.sources.formats import FORMATS, Bad, Form, format_of, put_together, read_file

# More files than these are in no commit, unless they have the same time: then ``late`` is shorter.
REMEMBERED = 20_000
AGAIN = "Give the ingestion another name in section [run]; it then begins at the start."
KEYS: Mapping[str, Key] = {
    "path": Key(kinds.text, "The directory or URI of the files, at any depth.", required=True),
    "format": Key(kinds.one_of(*FORMATS), "The format; by default that of each file's name."),
    "pattern": Key(kinds.text, 'Only files whose path matches, such as "*.json".', "*"),
    "delimiter": Key(kinds.delimiter, "Of CSV: one character of ASCII, such as a tab.", ","),
    "max_bytes": Key(kinds.size, "Read so much in a round, and at least a file.", 256_000_000),
    "max_files": Key(kinds.whole, "Read so many files in a round.", 10_000),
    "settle": Key(kinds.seconds, "Leave files alone that are younger than so many seconds.", 0.0),
    "late": Key(kinds.seconds, "A file may appear so many seconds after one that is newer.", 300.0),
    "options": Key(kinds.pairs, "Options of the store; others are those of the table.", {}),
}


@frozen
class Files:
    """The source ``files``."""

    keys: Mapping[str, Key] = KEYS
    engine: str | None = None

    @classmethod
    def from_settings(cls, settings: Settings) -> Files:
        return cls()

    def open(self, given: Mapping[str, Any], around: Around) -> Folder:
        options = typed_options({**around.options, **given["options"]})
        for place in around.outputs:
            _check_beside(given["path"], given["pattern"], place)
        return Folder(open_storage(given["path"], options), given, around)


@frozen
class Folder:
    """A folder of files."""

    storage: Storage
    given: Mapping[str, Any] = field(repr=False)
    around: Around

    def next(self, after: Position | None) -> Portion | None:
        there = self._listed()
        path = self.given["path"]
        if not there and is_local(path) and not os.path.isdir(local_path(path)):
            raise ConfigError(
                f"path {kinds.shown(path)} in section [source]",
                "is no folder.",
                "Correct it, or create the folder; it may be empty.",
            )
        floor, recent = self._since(after, there)
        new = [e for e in there if e.modified >= floor and _mark(e) not in recent]
        ready = time.time() - self.given["settle"]
        if self.given["settle"]:
            new = [entry for entry in new if entry.modified <= ready]
        if not new:
            return None
        chosen = self._bounded(new)
        # A file of the future, whose clock is wrong, must not make later ones old.
        newest = min(chosen[-1].modified, time.time())
        marks = {_mark(e): e.modified for e in there if _mark(e) in recent}
        marks |= {_mark(e): e.modified for e in chosen}
        upto = max(floor, newest - self.given["late"])
        if len(marks) > REMEMBERED:  # what is left unread is not older than the newest
            upto = max(upto, min(newest, sorted(marks.values())[-REMEMBERED]))
        recent = {m for m, at in marks.items() if at >= upto}
        own = {"floor": upto, "recent": sorted(recent), "root": self._root}
        return Portion(
            Position(own, str(max(0, int(newest * 1000) - 1))),
            "file",
            len(chosen),
            partial(self._read, chosen),
            tuple(entry.path for entry in chosen),
            sum(entry.size for entry in chosen),
            len(chosen) < len(new),
        )

    @property
    def _root(self) -> str:
        return self.storage.root.rstrip("/")

    def _listed(self) -> list[Entry]:
        """The files, the oldest first. What begins with ``_`` or ``.`` is no part of the source."""
        pattern = self.given["pattern"]
        found = [
            entry
            for entry in self.storage.list("", recursive=True)
            if not any(part.startswith(("_", ".")) for part in entry.path.split("/"))
            and fnmatch.fnmatchcase(entry.path, pattern)
        ]
        return sorted(found, key=lambda entry: (entry.modified, entry.path))

    def _since(self, after: Position | None, there: Sequence[Entry]) -> tuple[float, set[str]]:
        """From where on files are new, unless they are among those that were read."""
        if after is None:
            return float("-inf"), set()
        own = after.own
        if isinstance(own, Mapping) and {"floor", "recent"} <= own.keys():
            if own.get("root", self._root) != self._root:  # older positions do not say it
                raise ConfigError(
                    f"path {kinds.shown(self.given['path'])} in section [source]",
                    f"is not the folder of the checkpoint, {own['root']}.",
                    AGAIN,
                )
            return float(own["floor"]), set(own["recent"])
        if own is None and after.hudi.isdigit():  # HoodieStreamer reads what is newer
            floor = int(after.hudi) / 1000
            return floor, {_mark(e) for e in there if int(e.modified * 1000) <= int(after.hudi)}
        raise ConfigError(
            f"position {own or after.hudi!r}",
            "is none of a folder of files.",
            AGAIN,
        )

    def _bounded(self, new: Sequence[Entry]) -> list[Entry]:
        chosen: list[Entry] = []
        size = 0
        for entry in new[: self.given["max_files"]]:
            size += entry.size
            if chosen and size > self.given["max_bytes"]:
                break
            chosen.append(entry)
        return chosen

    def _read(self, chosen: Sequence[Entry]) -> Arrived:
        exact = self.around.schema is not None
        form = Form(
            self.around.schema if exact else self.around.types,
            exact,
            self.given["format"],
            self.given["delimiter"],
            keys=self.around.keys,
        )
        bad = Bad(self.around.bad_rows)
        for entry in chosen:
            format_of(entry.path, form.format)  # said before the first file is read
        found = []
        for entry in chosen:
            if bad.enough:
                break
            try:
                rows = read_file(self.storage, entry.path, form, bad)
            except FileNotFoundError as error:
                raise DataError(
                    f"file {self.storage.root}/{entry.path}",
                    "was deleted before it was read.",
                    "Leave files where they are until their rows are in the table.",
                ) from error
            if rows is not None:
                found.append(rows)
        if not found:
            return Arrived((form.schema or pa.schema([])).empty_table(), bad.table())
        try:
            rows = put_together(found, form)
        except pa.ArrowException as error:
            raise DataError(
                f"files of {self.storage.root}",
                f"have columns of one name whose types do not go together ({error}).",
                "Give the schema: section [schema] with file = an Avro schema.",
            ) from error
        return Arrived(rows, bad.table())


def _check_beside(path: str, pattern: str, place: str) -> None:
    """ConfigError where files that the ingestion writes to ``place`` would be read by it."""
    folder, below = _parts(path), _parts(place)
    inside = below[len(folder) :]
    if below[: len(folder)] != folder or any(part.startswith(("_", ".")) for part in inside):
        return
    fixed = re.split(r"[*?\[]", pattern)[0]  # of each path that the pattern matches
    start = "".join(f"{part}/" for part in inside)
    if start.startswith(fixed) or fixed.startswith(start):
        raise ConfigError(
            f"path {kinds.shown(place)}",
            f"is in the folder of the source, {kinds.shown(path)}: what is written there would be "
            "read.",
            "Give one beside it, or in section [source] a pattern that begins with another folder.",
        )


def _parts(path: str) -> list[str]:
    scheme, rest = split(path)
    if is_local(path):
        scheme, rest = "", os.path.realpath(local_path(path))
    return [scheme, *(part for part in rest.split("/") if part)]


def _mark(entry: Entry) -> str:
    """Stands for a file as it is now: one that is written again is another one."""
    text = f"{entry.path}\n{entry.modified!r}\n{entry.size}"
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
