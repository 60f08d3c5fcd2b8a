"""A store that remembers, of the process that opened it: what the last look at a table asked, to
ask all of it again at the same time; and small files that it has read or put, whose bytes never
change.

A file is known by its name, its size, its time and its tag (ETag), as the newest listing says them:
one that was put anew under its old name, as the first files of the metadata table may be, is read
again."""

from __future__ import annotations

import builtins
import os
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import ContextVar
from functools import partial
from typing import Any

import pyarrow as pa
from attrs import define, evolve, field
from hoodoo.storage.api import Entry, Storage
from hoodoo.storage.together import Listed, at_once, discard

SMALL = 1 << 20  # bytes of a file that is read whole, and kept
_KEPT = 32 << 20  # bytes of all that are kept
_NAMES = 20_000  # files whose size is remembered
_AGAIN = 4  # times as many as are sent side by side: more of a look is not asked again at its begin
# (operation, its arguments)
Asked = tuple[str, tuple[Any, ...]]
# What the next look does not ask again.
_OF_ONE_INSTANT = re.compile(r"\d{17}").search


@define
class _Look:
    """One look at a table: what it asked, and answers that are there before it asks."""

    store: Remembering
    step: str
    answers: dict[Asked, Any]
    outer: _Look | None = None
    asked: dict[Asked, None] = field(factory=dict)
    lock: threading.Lock = field(factory=threading.Lock)


# Of a thread, and of those that work for it: what others do with the store meanwhile, the store
# answers.
_LOOK: ContextVar[_Look | None] = ContextVar("look", default=None)


@define
class _File:
    size: int
    modified: float | None  # None: put by us, and not listed since
    data: bytes | None = None
    tag: str = ""


def remembering(inner: Storage) -> Storage:
    """``inner``, remembered."""
    found: Storage = Remembering(inner)
    return found


def _same(inner: Storage) -> Storage:
    return inner


class Remembering:
    """``inner``, and what is remembered of it. What travels to workers is ``inner``."""

    def __init__(self, inner: Storage) -> None:
        self.inner = inner
        self._lock = threading.Lock()
        self._asked: dict[str, builtins.list[Asked]] = {}
        self._files: OrderedDict[str, _File] = OrderedDict()
        self._size = 0

    def __reduce__(self) -> tuple[Any, ...]:
        return _same, (self.inner,)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "inner":  # copies look at an object without a state
            raise AttributeError(name)
        return getattr(self.inner, name)

    def __repr__(self) -> str:
        return repr(self.inner)

    def __eq__(self, other: object) -> bool:
        return self.inner == (other.inner if isinstance(other, Remembering) else other)

    def __hash__(self) -> int:
        return hash(self.inner)

    # --- looks ------------------------------------------------------------------------------------
    @property
    def keeps(self) -> int:
        return SMALL

    def recall(
        self, step: str, unchanged: Callable[[Listed], bool], first: tuple[tuple[str, str], ...]
    ) -> bool:
        """A look at the table begins, in this thread: what the last one of this ``step`` asked is
        asked now, all of it at the same time; or ``first``, the first time. ``unchanged`` is called
        with what answers the listing of a directory, if it is among that; True: the table is as it
        was, and the answers stand. Until :meth:`forget`."""
        with self._lock:
            asked = self._asked.pop(step, None)
        if asked is None:
            asked = [(op, (path, False) if op == "list" else (path,)) for op, path in first]
        answers: dict[Asked, Any] = {}
        if asked:
            with ThreadPoolExecutor(min(at_once(self.inner), len(asked))) as pool:
                found = list(pool.map(self._ask, asked))
            answers = {one: answer for one, answer in zip(asked, found, strict=True) if answer}
        known = bool(answers) and unchanged(partial(_listing, answers))
        _LOOK.set(_Look(self, step, answers if known else {}, _LOOK.get()))
        return known

    def forget(self) -> None:
        """The look ends."""
        look = _LOOK.get()
        if look is not None:
            _LOOK.set(look.outer)
            with self._lock:
                asked = [one for one in look.asked if not _OF_ONE_INSTANT(one[1][0])]
                # Those that others waited for come first; of many, the next look may need few.
                self._asked[look.step] = asked[: _AGAIN * at_once(self.inner)]

    def _ask(self, asked: Asked) -> Callable[[], Any] | None:
        """What gives the answer; None where the store failed, and is to be asked once more."""
        operation, arguments = asked
        try:
            found = getattr(self.inner, operation)(*arguments)
        except FileNotFoundError as error:
            return partial(_raise, error)
        except Exception:
            return None
        return lambda: found

    def _looked(self, operation: str, *arguments: Any) -> Any:
        look = _LOOK.get()
        if look is not None and look.store is self:
            asked = (operation, arguments)
            with look.lock:
                look.asked[asked] = None
                ready = look.answers.pop(asked, None)
            if ready is not None:
                return ready()
        return getattr(self.inner, operation)(*arguments)

    # --- reading ----------------------------------------------------------------------------------
    def get(self, path: str) -> bytes:
        found: bytes = self._looked("get", path)
        return found

    def head(self, path: str) -> Entry | None:
        return self.inner.head(path)

    def list(self, prefix: str = "", recursive: bool = False) -> builtins.list[Entry]:
        found: builtins.list[Entry] = self._looked("list", prefix, recursive)
        with self._lock:
            for entry in found:
                if not entry.is_dir:
                    self._see(entry)
        return found

    def open(self, path: str) -> pa.NativeFile:
        with self._lock:
            known = self._files.get(path)
            if known is not None:
                self._files.move_to_end(path)
                if known.data is not None:
                    return pa.BufferReader(known.data)
        if known is None or known.size > SMALL:
            return self.inner.open(path)
        data = self.inner.get(path)
        with self._lock:
            if self._files.get(path) is known and len(data) == known.size:
                self._keep(path, evolve(known, data=data))
        return pa.BufferReader(data)

    # --- writing ----------------------------------------------------------------------------------
    def put(self, path: str, data: bytes) -> None:
        self._drop(path)
        self.inner.put(path, data)

    def put_if_absent(self, path: str, data: bytes) -> bool:
        self._drop(path)
        return self.inner.put_if_absent(path, data)

    def put_file_if_absent(self, path: str, local: str) -> bool:
        self._drop(path)
        data = None
        with suppress(OSError):
            if os.stat(local).st_size <= SMALL:
                with open(local, "rb") as file:
                    data = file.read()
        tagged = getattr(self.inner, "put_file", None)
        if tagged is None:
            created, tag = self.inner.put_file_if_absent(path, local), ""
        else:
            tag = tagged(path, local)
            created = tag is not None
        if created and data is not None:
            with self._lock:
                self._keep(path, _File(len(data), None, data, tag))
        return created

    def discard(self, paths: Sequence[str]) -> None:
        for path in paths:
            self._drop(path)
        discard(self.inner, paths)

    def delete(self, path: str) -> bool:
        self._drop(path)
        return self.inner.delete(path)

    def delete_prefix(self, prefix: str) -> int:
        below = f"{prefix.rstrip('/')}/" if prefix else ""
        with self._lock:
            for path in [path for path in self._files if path.startswith(below)]:
                self._lose(path)
        return self.inner.delete_prefix(prefix)

    # --- files ------------------------------------------------------------------------------------
    def _see(self, entry: Entry) -> None:
        known = self._files.get(entry.path)
        if known is not None and (known.size, known.tag) == (entry.size, entry.tag):
            if known.modified is None:
                known.modified = entry.modified
            if known.modified == entry.modified:
                return
        self._keep(entry.path, _File(entry.size, entry.modified, tag=entry.tag))

    def _keep(self, path: str, file: _File) -> None:
        self._lose(path)
        self._files[path] = file
        self._size += len(file.data or b"")
        while self._size > _KEPT or len(self._files) > _NAMES:
            self._lose(next(iter(self._files)))

    def _lose(self, path: str) -> None:
        old = self._files.pop(path, None)
        if old is not None:
            self._size -= len(old.data or b"")

    def _drop(self, path: str) -> None:
        with self._lock:
            self._lose(path)


def _listing(answers: dict[Asked, Any], path: str) -> list[Entry] | None:
    ready = answers.get(("list", (path, False)))
    found: list[Entry] | None = ready() if ready is not None else None
    return found


def _raise(error: Exception) -> Any:
    raise error
