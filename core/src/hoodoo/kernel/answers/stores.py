"""What storages and locks answer."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

import pyarrow as pa

from hoodoo.kernel.answers import shapes
from hoodoo.kernel.answers.seam import Ask, Kind, wrapped
from hoodoo.kernel.answers.wrong import Wrong, says
from hoodoo.storage.api import Entry, Storage


def _root(answer: Any, ask: Ask) -> str:
    found = shapes.text(answer, "an absolute URI")
    if "://" not in found:
        raise Wrong(says(found), "an absolute URI")
    return found


def _get(answer: Any, ask: Ask, path: str) -> bytes:
    if not isinstance(answer, bytes):
        raise Wrong(says(answer), "bytes")
    return answer


def _open(answer: Any, ask: Ask, path: str) -> Any:
    if not isinstance(answer, pa.NativeFile):
        raise Wrong(says(answer), "a pyarrow.NativeFile")
    return answer


def _head(answer: Any, ask: Ask, path: str) -> Entry | None:
    wanted = f"the Entry of {path!r}, or None"
    if answer is not None:
        if not isinstance(answer, Entry) or answer.path != path:
            raise Wrong(says(answer), wanted)
        shapes.whole(answer.size, 0)
    return answer


def _list(answer: Any, ask: Ask, prefix: str = "", recursive: bool = False) -> list[Entry]:
    wanted = "a list of Entry below the prefix, sorted by path, each once"
    if not isinstance(answer, list):
        raise Wrong(says(answer), wanted)
    start = f"{prefix.rstrip('/')}/" if prefix.strip("/") else ""
    depth, last = len(start), ""
    for entry in answer:  # as many turns as the store has made entries
        if not isinstance(entry, Entry):
            raise Wrong(f"a list with {says(entry)} in it", wanted)
        path = entry.path
        if path <= last or not path.startswith(start):
            raise Wrong(f"a list with {path!r} after {last!r}", wanted)
        if (
            entry.size < 0
            or (recursive and entry.is_dir)
            or (not recursive and "/" in path[depth:])
        ):
            raise Wrong(f"a list with {entry!r}", wanted)
        last = path
    return answer


def _scratch(answer: Any, ask: Ask) -> str:
    found = shapes.text(answer, "a local directory")
    if not os.path.isdir(found):
        raise Wrong(says(found), "a local directory that is there")
    return found


def _acquire(answer: Any, ask: Ask, storage: Storage, name: str, wait: float) -> Any:
    if answer is None:
        return None
    try:
        for member in ("from_dead", "is_held", "release"):
            if not hasattr(answer, member):
                raise Wrong(says(answer), "a Held, or None")
        held = wrapped(HELD, answer, ask.who)
        shapes.flag(answer.from_dead)
    except Exception:
        with suppress(Exception):  # nobody else would
            answer.release()
        raise
    return held


STORAGE = Kind(
    "storage",
    properties={
        "root": _root,
        "shared": lambda answer, ask: shapes.flag(answer),
        "plain_files": lambda answer, ask: shapes.flag(answer),
    },
    methods={
        "put": None,
        "put_if_absent": lambda answer, ask, path, data: shapes.flag(answer),
        "put_file_if_absent": lambda answer, ask, path, local: shapes.flag(answer),
        "get": _get,
        "open": _open,
        "head": _head,
        "list": _list,
        "delete": lambda answer, ask, path: shapes.flag(answer),
        "delete_prefix": lambda answer, ask, prefix: shapes.whole(answer, 0),
        "scratch": _scratch,
        "sweep": None,
    },
    says_missing=frozenset({"get", "open"}),
    travels=True,
)

LOCK = Kind("lock", methods={"acquire": _acquire})

HELD = Kind(
    "held",
    properties={"from_dead": lambda answer, ask: shapes.flag(answer)},
    methods={"is_held": lambda answer, ask: shapes.flag(answer), "release": None},
)
