"""Erasures that have not ended: their record keys, in a file of the table until no other file has
them, so that a repeated call finds what is to be erased although the rows are deleted."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable

from attrs import frozen
from hoodoo.storage.api import Storage, get_if_there

FOLDER = ".hoodie/.hoodoo/erasures"


@frozen
class Begun:
    """``paths``: the files that say so."""

    keys: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()
    paths: tuple[str, ...] = ()


def begun(storage: Storage) -> Begun:
    """What calls before have begun, and not ended. A file that is not whole is one of a process
    that ended before it deleted a row."""
    keys: set[str] = set()
    texts: set[str] = set()
    paths = []
    for entry in storage.list(FOLDER):
        data = get_if_there(storage, entry.path)
        if data is not None:
            said = json.loads(data)
            keys |= {*said["keys"]}
            texts |= {*said["texts"]}
            paths.append(entry.path)
    return Begun(frozenset(keys), frozenset(texts), tuple(paths))


def begin(storage: Storage, keys: Iterable[str], texts: Iterable[str]) -> str:
    """Note what is about to be erased. Returns the path."""
    path = f"{FOLDER}/{uuid.uuid4().hex}.json"
    said = {"keys": sorted(keys), "texts": sorted(texts)}
    storage.put_if_absent(path, json.dumps(said).encode())
    return path
