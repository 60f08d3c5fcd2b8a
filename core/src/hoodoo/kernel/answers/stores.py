"""What storages and locks answer."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

from hoodoo.kernel.answers import shapes
from hoodoo.kernel.answers.declared import part, rule
from hoodoo.kernel.answers.seam import Ask
from hoodoo.kernel.answers.wrong import Wrong, says
from hoodoo.storage.api import Entry, Storage


@rule("Storage.root")
def _root(answer: Any, ask: Ask) -> str:
    found = shapes.text(answer, "an absolute URI")
    if "://" not in found:
        raise Wrong(says(found), "an absolute URI")
    return found


@rule("Storage.head")
def _head(answer: Any, ask: Ask, path: str) -> Entry | None:
    wanted = f"the Entry of {path!r}, or None"
    if answer is not None:
        if not isinstance(answer, Entry) or answer.path != path:
            raise Wrong(says(answer), wanted)
        shapes.whole(answer.size, 0)
    return answer


@rule("Storage.list")
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


@rule("Storage.scratch")
def _scratch(answer: Any, ask: Ask) -> str:
    found = shapes.text(answer, "a local directory")
    if not os.path.isdir(found):
        raise Wrong(says(found), "a local directory that is there")
    return found


@rule("Lock.acquire")
def _acquire(answer: Any, ask: Ask, storage: Storage, name: str, wait: float) -> Any:
    if answer is None:
        return None
    try:
        held = part(answer, ask, "held")
        shapes.flag(answer.from_dead)
    except Exception:
        with suppress(Exception):  # nobody else would
            answer.release()
        raise
    return held
