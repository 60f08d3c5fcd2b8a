"""Where segments lie, and those that this process has in memory."""

from __future__ import annotations

import threading
from collections import OrderedDict

from hoodoo.errors import warn
from hoodoo.model.filegroup import BaseFile
from hoodoo.storage.api import Storage

from hoodoo_vector_index.columns import Indexed
from hoodoo_vector_index.segment import Segment

_lock = threading.Lock()
_kept: OrderedDict[tuple[str, str], Segment] = OrderedDict()


def path_of(indexed: Indexed, file: BaseFile) -> str:
    """Names of base files are unique in a table, and so are those of segments."""
    return f"{indexed.folder}/{file.name}"


def stored(storage: Storage, indexed: Indexed) -> frozenset[str]:
    """The names of the base files that have a segment."""
    return frozenset(entry.name for entry in storage.list(indexed.folder) if not entry.is_dir)


def segment_of(storage: Storage, indexed: Indexed, file: BaseFile, most: int) -> Segment | None:
    """The segment of ``file``; None where there is none that can be read and is of this very file.
    ``most``: bytes that stay in memory for the next search."""
    path = path_of(indexed, file)
    name = (storage.root, path)
    with _lock:
        found = _kept.get(name)
        if found is not None:
            _kept.move_to_end(name)
    if found is None:
        try:
            found = Segment.from_bytes(storage.get(path))
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, RuntimeError) as error:
            warn(
                f"vector index {path}: {error}; the file is searched whole. "
                'table.run("index_vectors", again=True) makes it again.'
            )
            return None
        with _lock:
            _kept[name] = found
            while _kept and sum(one.stored for one in _kept.values()) > most:
                _kept.popitem(last=False)
    return found if file.size in (0, found.size) or not found.size else None


def forget(storage: Storage) -> None:
    """Nothing of the table in ``storage`` stays in memory."""
    with _lock:
        for name in [name for name in _kept if name[0] == storage.root]:
            del _kept[name]
