"""The note: one file with the file groups that the replacecommits of a table replaced, so that a
new process reads only a few replacecommits (ADR 0032).

The name of an entry has both times of its instant, so it never counts for another instant. It has
the tag of the file that was read, if the listing of the timeline had one: it does not count for a
file that was written again. Without the note, or with a damaged one, all are read.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from threading import Lock

from hoodoo.errors import HoodooError
from hoodoo.model.instant import Instant
from hoodoo.storage.api import Storage
from hoodoo.timeline.codec.bounded import inflate
from hoodoo.timeline.replaced import Replaced

PATH = ".hoodie/.hoodoo/replaced"
MANY = 64  # so many are read by each new process before a writer notes them
_VERSION = 1
_MOST_IDS = 200_000  # to write more takes longer than it spares
_TABLES = 8
Entry = tuple[str, Replaced]  # the tag of the file that was read, empty where the listing had none
_known: OrderedDict[str, tuple[bytes, Mapping[str, Entry]]] = OrderedDict()  # by root
_lock = Lock()


def read(
    storage: Storage,
    wanted: Mapping[str, Instant],
    tags: Mapping[str, str],
    one: Callable[[Instant], Replaced],
) -> dict[str, Entry]:
    """What the note says of some of ``wanted``, by name; nothing if there is none. ``tags``: those
    of files, by name. ``one`` reads a replacecommit: the newest that was noted is compared, as
    another table may have been put in the place of the one that was noted."""
    said = load(storage)
    found = {n: said[n] for n in wanted if n in said}
    if tags:
        found = {n: e for n, e in found.items() if _same(e[0], tags.get(n, ""))}
    if found:
        newest = max(found)
        if plain(one(wanted[newest])) != found[newest][1]:
            return {}
    return found


def _same(one: str, other: str) -> bool:
    return one == other or not (one and other)


def is_due(root: str, entries: Mapping[str, Entry], tagged: bool = True) -> bool:
    """Whether more than :data:`MANY` of these are not in the note that this process knows.
    ``tagged``: tags count."""
    with _lock:
        _, known = _known.get(root, (b"", {}))
    new = entries.keys() - known.keys()
    if tagged:
        both = entries.keys() & known.keys()
        new |= {n for n in both if not _same(entries[n][0], known[n][0])}
    return len(new) > MANY


def write(storage: Storage, entries: Mapping[str, Entry]) -> None:
    """Note these, by name, if that is due. No error of the store is raised: the note only spares
    reads."""
    if not is_due(storage.root, entries):
        return
    if sum(len(ids) for _, one in entries.values() for ids in one.values()) > _MOST_IDS:
        return
    noted = {n: (tag, plain(one)) for n, (tag, one) in entries.items()}
    text = json.dumps({"version": _VERSION, "replaced": noted})
    data = gzip.compress(text.encode(), 1, mtime=0)
    with suppress(HoodooError):
        storage.put(PATH, data)
        _remember(storage.root, data, noted)


def load(storage: Storage) -> Mapping[str, Entry]:
    """All that the note says; nothing if there is none, or if it is damaged (it has a checksum)."""
    with suppress(
        HoodooError, OSError, LookupError, RecursionError, TypeError, ValueError, zlib.error
    ):
        data = storage.get(PATH)
        with _lock:
            before, said = _known.get(storage.root, (b"", {}))
        if before != data:
            found = json.loads(inflate(data, zlib.MAX_WBITS | 16))
            if found["version"] != _VERSION:
                return {}
            said = found["replaced"]
            _remember(storage.root, data, said)
        return said
    return {}


def _remember(root: str, data: bytes, said: Mapping[str, Entry]) -> None:
    with _lock:
        _known[root] = (data, said)
        _known.move_to_end(root)
        while len(_known) > _TABLES:
            _known.popitem(last=False)


def plain(replaced: Replaced) -> Replaced:
    """As the note says it."""
    return {path: list(ids) for path, ids in replaced.items()}
