"""Replacecommits: which file groups each took out of the table. A process reads each of many once.

A completed file never changes. One of the same name, size, time and tag as one that was read is
that one, also for who opens the table again; a store that says neither times nor tags is read
again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from threading import Lock

from hoodoo.model.instant import Instant
from hoodoo.storage.api import Storage
from hoodoo.storage.together import together

# Partition path -> file ids.
Replaced = Mapping[str, Sequence[str]]
FEW = 16  # so many are read at once, as a listing costs more
_REMEMBERED = 50_000
_seen: OrderedDict[tuple[str, str], tuple[tuple[int, float, str], Replaced]] = OrderedDict()
_lock = Lock()


def read(
    storage: Storage, paths: Mapping[Instant, str], one: Callable[[Instant], Replaced]
) -> dict[Instant, Replaced]:
    """What each instant of ``paths``, which say where its file is, has replaced; ``one`` reads it.
    One listing for each directory, and one read for each file that this process has not seen."""
    there = {}
    for folder in {path.rpartition("/")[0] for path in paths.values()}:
        there.update({e.path: (e.size, e.modified, e.tag) for e in storage.list(folder)})
    root, found = storage.root, {}
    with _lock:
        for instant, path in paths.items():
            stamp, replaced = _seen.get((root, path), (None, None))
            if replaced is not None and stamp == there.get(path):
                found[instant] = replaced
    new = [instant for instant in paths if instant not in found]
    found |= zip(new, together(storage, *(partial(one, instant) for instant in new)), strict=True)
    with _lock:
        for instant in new:
            stamp = there.get(paths[instant])
            if stamp is not None and any(stamp[1:]):
                _seen[root, paths[instant]] = (stamp, found[instant])
        while len(_seen) > _REMEMBERED:
            _seen.popitem(last=False)
    return found
