"""Hashing metadata: the rings of partition paths, in files beside the table's, as Hudi stores them.

``.hoodie/.bucket_index/consistent_hashing_metadata/<partition path>/<instant>.hashing_meta``: what
a path has since that instant, the first of them under an instant of zeros. It counts once its
instant is completed; ``<instant>.commit`` beside it says so when the timeline does not know any
more."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from contextlib import suppress

from attrs import evolve, frozen
from hoodoo.errors import CorruptTableError, StorageError
from hoodoo.storage.api import Storage
from hoodoo.timeline.instants import order_key
from hoodoo.timeline.names import parse_path
from hoodoo.timeline.snapshot import Snapshot

from hoodoo_hashing.ring import Node, Ring, first_ring, new_prefix, nodes_of, printed

FOLDER = ".hoodie/.bucket_index/consistent_hashing_metadata"
FIRST = "0" * 14
_META, _COMMIT = ".hashing_meta", ".commit"


@frozen
class PathRing:
    """The ring of a partition path since ``instant``; ``seq`` counts its changes, ``first`` its
    first buckets."""

    path: str
    instant: str
    first: int
    seq: int
    ring: Ring

    def encode(self) -> bytes:
        return printed(
            {
                "version": 0,
                "partitionPath": self.path,
                "instant": self.instant,
                "numBuckets": self.first,
                "seqNo": self.seq,
                "nodes": [node.record() for node in self.ring.nodes],
            }
        ).encode()

    def resized(self, instant: str, children: Iterable[Node]) -> PathRing:
        ring = self.ring.with_children(children)
        return evolve(self, instant=instant, seq=self.seq + 1, ring=ring)

    def renewed(self, instant: str) -> PathRing:
        """All buckets anew, for rows in the place of all that the path had. Each attempt makes the
        same."""
        made = first_ring(self.path, self.first).nodes
        ring = Ring.of(Node(n.value, new_prefix(instant, self.path, n.value)) for n in made)
        return evolve(self, instant=instant, seq=self.seq + 1, ring=ring)


def load(
    snapshot: Snapshot, path: str, file_ids: Collection[str] | None = None, marks: bool = False
) -> PathRing | None:
    """The ring of ``path`` as of ``timeline``; None where nobody has put rows there. ``file_ids``:
    of the file groups there; None: they are listed if need be. ``marks``: what is found completed
    is noted, for readers to come whose timeline has forgotten it."""
    names = {
        e.name for e in snapshot.storage.list(_folder(path)) if not e.is_dir and e.name[0] != "."
    }
    there = sorted(
        (n.removesuffix(_META) for n in names if n.endswith(_META)), key=order_key, reverse=True
    )
    for at, instant in enumerate(there):
        if instant == FIRST:
            return _read(snapshot.storage, path, instant)
        if snapshot.find(instant) is not None:
            if marks and f"{instant}{_COMMIT}" not in names:
                with suppress(StorageError):
                    snapshot.storage.put_if_absent(_name(path, instant, _COMMIT), b"")
            return _read(snapshot.storage, path, instant)
        if not snapshot.timeline.contains_or_before_start(instant):
            continue  # pending, or undone
        found = _read(snapshot.storage, path, instant)
        if f"{instant}{_COMMIT}" in names:
            return found
        # Archived, or undone long ago: a resize that was completed has left file groups that were
        # not there before.
        before = {
            file_id
            for older in there[at + 1 :]
            for file_id in _read(snapshot.storage, path, older).ring.file_ids
        }
        if file_ids is None:
            file_ids = _listed(snapshot.storage, path)
        if (found.ring.file_ids - before).intersection(file_ids):
            return found
    if there:
        raise CorruptTableError(
            f"{snapshot.root}/{_folder(path)}",
            "has no file that says which buckets the partition had at first.",
            f"Restore {FIRST}{_META} from a copy.",
        )
    return None


def _listed(storage: Storage, path: str) -> set[str]:
    """The file groups that there are files of in ``path``."""
    files = (parse_path(entry.path) for entry in storage.list(path) if not entry.is_dir)
    return {file.file_id for file in files if file is not None}


def unwritten(path: str, buckets: int) -> PathRing:
    """The ring that a path will have first."""
    return PathRing(path, FIRST, buckets, 0, first_ring(path, buckets))


def first(storage: Storage, path: str, buckets: int) -> PathRing:
    """The ring of a path that has none yet, noted; that of another writer, if it was faster."""
    made = unwritten(path, buckets)
    if storage.put_if_absent(_name(path, FIRST, _META), made.encode()):
        return made
    return _read(storage, path, FIRST)


def save(storage: Storage, ring: PathRing) -> None:
    """Before the instant of ``ring`` is completed. Each attempt puts the same."""
    storage.put_if_absent(_name(ring.path, ring.instant, _META), ring.encode())


def forget(storage: Storage, instant: str) -> None:
    """Of an instant that is undone."""
    for entry in storage.list(FOLDER, recursive=True):
        if entry.name in (f"{instant}{_META}", f"{instant}{_COMMIT}"):
            storage.delete(entry.path)


def exists(storage: Storage) -> bool:
    """Whether the table has rings."""
    return bool(storage.list(FOLDER))


def _read(storage: Storage, path: str, instant: str) -> PathRing:
    name = _name(path, instant, _META)
    try:
        found = json.loads(storage.get(name))
        nodes = nodes_of(found["nodes"])
        if nodes and all(node.prefix for node in nodes):
            return PathRing(
                path, instant, int(found["numBuckets"]), int(found["seqNo"]), Ring.of(nodes)
            )
        reason = "names no buckets"
    except (KeyError, RecursionError, TypeError, ValueError) as error:
        reason = f"can't be read ({error!r})"
    raise CorruptTableError(
        f"{storage.root}/{name}",
        f"{reason}: nobody knows which file group has which keys.",
        "Restore it from a copy.",
    )


def _folder(path: str) -> str:
    return f"{FOLDER}/{path}" if path else FOLDER


def _name(path: str, instant: str, suffix: str) -> str:
    return f"{_folder(path)}/{instant}{suffix}"
