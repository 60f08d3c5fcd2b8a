"""Listings of object stores, compared with the names that this process knows.

A response to a listing does not say which request it answers, and a wrong one may look right: a
proxy's page in HTML looks like an empty listing, and a part of a listing like the whole. So three
kinds of listings are checked. If a listing ends before a name that is known, this name is looked
up. An empty listing is compared with the listing of the parent folder. If a listing ends with a
full page, the names after it are listed. Other listings cost no further request."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import Coroutine, Iterable, Iterator
from functools import cache
from typing import Any, TypeVar

import obstore
from attrs import frozen

from hoodoo_cloud.clients import Patience, client, got, tried
from hoodoo_cloud.faults import StrangeAnswerError
from hoodoo_cloud.places import Place

# Names in a page; other stores can't list the names after a name.
_PAGE = {"s3": 1000, "gs": 1000}
_ENDLESS = "a listing that never ends"
_FOLDERS = 20_000  # whose last name is in memory: a few MB
_LOOKS = 3  # at least so many listings contradict the known names before this is an error
_FRESH = 5.0  # seconds for which the folders of a listing are used again

T = TypeVar("T")
_lock = threading.Lock()
_last: OrderedDict[tuple[Place, str], str] = OrderedDict()  # folder -> the last name known in it
_shown: OrderedDict[tuple[Place, str], tuple[float, frozenset[str]]] = OrderedDict()


@frozen
class Found:
    """``objects`` as obstore returns them, and ``folders`` without a slash at the end."""

    objects: list[Any]
    folders: list[str]

    @property
    def last(self) -> str:
        """The greatest name; empty if there is none."""
        names = [*(o["path"] for o in self.objects), *self.folders]
        return max(names, default="")


def is_there(place: Place, key: str) -> None:
    """Note that ``key`` was put or read: the next listing of its folder must have it."""
    _know(place, key.rpartition("/")[0], key)


def is_gone(place: Place, keys: Iterable[str]) -> None:
    """Forget ``keys``, which are being deleted, and the names below them."""
    with _lock:
        for key in keys:
            folder = key
            while folder:
                folder = folder.rpartition("/")[0]
                if _last.get((place, folder), "").startswith(key):
                    del _last[place, folder]


def listing(place: Place, key: str, recursive: bool, root: str, may_be_empty: bool) -> Found:
    """The objects and folders below the folder ``key`` of the table at ``root``. ``may_be_empty``:
    an empty answer is not checked. Raises obstore's errors, and StrangeAnswerError."""
    if place.cloud == "memory":
        return _all(place, key) if recursive else _children(place, key)

    def look() -> Found:
        with _lock:
            known = _last.get((place, key))
        found = tried(place, lambda: _all(place, key) if recursive else _children(place, key))
        below = len(key) + 1 if key else 0
        last = max((p for o in found.objects if "/" not in (p := o["path"])[below:]), default="")
        if known is not None and last < known:
            if _exists(place, known):
                raise StrangeAnswerError(
                    f"a listing without {known.rpartition('/')[2] or known}, which is there"
                )
            is_gone(place, [known])
        page = _PAGE.get(place.cloud)
        if page and not found.last and not may_be_empty and not _is_empty(place, key, root):
            raise StrangeAnswerError("an empty listing of a folder that is not empty")
        count = len(found.objects) + len(found.folders)
        if page and count and not count % page and _goes_on(place, key, found, recursive):
            raise StrangeAnswerError("a listing that ends before its end")
        if last:
            _know(place, key, last)
        return found

    patience, looks = Patience(place), 0
    while True:
        try:
            return look()
        except StrangeAnswerError as error:  # or others put and delete at the same time
            looks += 1
            if str(error) == _ENDLESS or (not patience.again(error) and looks >= _LOOKS):
                raise


def _know(place: Place, folder: str, name: str) -> None:
    with _lock:
        if _last.get((place, folder), "") < name:
            _last[place, folder] = name
            if len(_last) > _FOLDERS:
                _last.popitem(last=False)


def _all(place: Place, key: str) -> Found:
    if place.cloud == "memory":
        return Found([*obstore.list(client(place), key or None).collect()], [])
    return Found(_in_loop(_all_in_time(place, key)), [])


async def _all_in_time(place: Place, key: str) -> list[Any]:
    """All objects below ``key``. Raises StrangeAnswerError if a chunk is late or repeats names."""
    chunks, objects, names = _chunks(place, key), list[Any](), set[str]()
    while (chunk := await _next(place, chunks)) is not None:
        names.update(o["path"] for o in chunk)
        objects.extend(chunk)
        if len(names) != len(objects):
            raise StrangeAnswerError(_ENDLESS)
    return objects


def pages(place: Place, key: str) -> Iterator[list[Any]]:
    """The objects below the folder ``key`` by name, a page for each request. Raises
    StrangeAnswerError if names are not in order, or if pages are missing at the end."""
    chunks, last, count = _chunks(place, key), "", 0
    while (chunk := _in_loop(_next(place, chunks))) is not None:
        for found in chunk:
            if found["path"] <= last:
                raise StrangeAnswerError("a listing that is in no order")
            last = found["path"]
        count += len(chunk)
        yield chunk
    page = _PAGE.get(place.cloud)
    if page and count and not count % page and _first_behind(place, key, last) is not None:
        raise StrangeAnswerError("a listing that ends before its end")


def _chunks(place: Place, key: str) -> Any:
    return obstore.list(client(place, retries=True), key or None, chunk_size=1000).__aiter__()


async def _next(place: Place, chunks: Any) -> list[Any] | None:
    """The next chunk; None at the end."""
    try:
        found: list[Any] = await asyncio.wait_for(chunks.__anext__(), 2 * place.timeout)
        return found
    except StopAsyncIteration:
        return None
    except TimeoutError:
        raise StrangeAnswerError(_ENDLESS) from None


def _children(place: Place, key: str) -> Found:
    """The objects and folders in ``key``. The client reads all pages before it returns. If that
    takes longer than an operation may take, the listing is read in chunks."""
    if place.cloud == "memory":
        found: Any = obstore.list_with_delimiter(client(place), key or None)
        return Found(found["objects"], found["common_prefixes"])
    try:
        found = _in_loop(_children_in_time(place, key))
    except TimeoutError:
        below = len(key) + 1 if key else 0
        whole = _all(place, key).objects
        folders = {
            o["path"][: o["path"].find("/", below)] for o in whole if "/" in o["path"][below:]
        }
        return Found([o for o in whole if "/" not in o["path"][below:]], sorted(folders))
    return Found(found["objects"], found["common_prefixes"])


async def _children_in_time(place: Place, key: str) -> Any:
    asked = obstore.list_with_delimiter_async(client(place, retries=True), key or None)
    return await asyncio.wait_for(asked, 2 * place.timeout)


def _in_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run ``work`` in an event loop, where a listing can be cancelled."""
    return asyncio.run_coroutine_threadsafe(work, _loop()).result()


@cache
def _loop() -> asyncio.AbstractEventLoop:
    found = asyncio.new_event_loop()
    threading.Thread(target=found.run_forever, name="hoodoo-cloud-listing", daemon=True).start()
    return found


def _exists(place: Place, key: str) -> bool:
    try:
        tried(place, lambda: got(place, key, {"head": True}))
        return True
    except FileNotFoundError:
        return False


def _goes_on(place: Place, key: str, found: Found, recursive: bool) -> bool:
    """Whether there are names after the last one."""
    last = found.last
    behind = f"{last}/\U0010ffff" if last in found.folders[-1:] else last
    return _first_behind(place, key, behind) is not None


def _first_behind(place: Place, key: str, behind: str) -> str | None:
    """The first object below ``key`` whose name is greater than ``behind``."""

    def look() -> str | None:
        chunks = obstore.list(client(place, retries=True), key or None, offset=behind, chunk_size=1)
        return next((o["path"] for chunk in chunks for o in chunk if o["path"] > behind), None)

    return tried(place, look)


def _is_empty(place: Place, key: str, root: str) -> bool:
    """Whether the folders above ``key`` lack it; the first one is a folder that every table has."""
    base = f"{root}/.hoodie" if root else ".hoodie"
    at = base if f"{key}/".startswith(f"{base}/") else root
    if key not in (base, root):
        for part in key[len(at) + 1 if at else 0 :].split("/"):
            shown = _folders(place, at)
            if shown is None:
                break
            parent, at = at, f"{at}/{part}" if at else part
            if at not in shown:
                return True
        else:  # seen a moment ago, or a directory without objects, as some stores have
            return not (_first_behind(place, parent, f"{key}/") or "").startswith(f"{key}/")
    return not _exists(place, f"{base}/hoodie.properties")


def _folders(place: Place, key: str) -> frozenset[str] | None:
    """The folders in ``key``; None if it is empty."""
    with _lock:
        at, shown = _shown.get((place, key), (0.0, frozenset[str]()))
    if not at or time.monotonic() - at > _FRESH:
        found = tried(place, lambda: _children(place, key))
        if not found.last:
            return None
        shown = frozenset(found.folders)
        with _lock:
            _shown[place, key] = (time.monotonic(), shown)
            if len(_shown) > _FOLDERS // 100:
                _shown.popitem(last=False)
    return shown


def forget() -> None:
    """Forget all names, as a new process."""
    with _lock:
        _last.clear()
        _shown.clear()
