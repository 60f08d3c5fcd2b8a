"""A storage plugin, ``gated:///path``: a local store whose base files meet what a test has prepared.

The folder ``<path>.gates`` tells what, by the files in it:

``fail-before``, ``fail-after``, ``die-after``
    The first two attempts to put each base file end before, or after, the file is there: with an
    error, or with the end of the process.
``fail-always``
    All of them do, with an error, before.
``hold``
    The first attempt to put a base file whose path contains the text in ``hold`` waits until there
    is a file ``open``, and says so with a file ``held`` that names its process.
``die-held``
    What was held puts its file, and its process ends.
``die-others``
    All other attempts wait until one is held, and end with their process: that fails the job at once,
    where an error would be an answer that waits for the other tasks.

Each attempt leaves a mark when it begins and one when it ends.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attrs import field, frozen
from hoodoo import hookimpl
from hoodoo.errors import StorageError, StorageUnknownError
from hoodoo.hookspecs import Registration
from hoodoo.storage.processes import short_name
from hoodoo.storage.uri import split
from hoodoo_standard.storage.local import LocalStorage

__version__ = "1.0"
TIMES = 2
PATIENCE = 600  # seconds, of a wait that never lasts


def mark(folder: Path, name: str) -> int:
    """Leave one more mark called ``name``; how many there were before."""
    before = sum(found.startswith(f"{name}#") for found in os.listdir(folder))
    os.close(tempfile.mkstemp(prefix=f"{name}#", dir=folder)[0])
    return before


def place(path: str) -> str:
    """The file at ``path``, whatever its file id: one that a task names itself is another one in each attempt."""
    folder, _, name = path.rpartition("/")
    return f"{folder}!{name.partition('_')[2]}"


def marks(folder: Path) -> dict[str, int]:
    """What was marked, and how often."""
    found: dict[str, int] = {}
    for name in (path.name.split("#")[0] for path in folder.iterdir() if "#" in path.name):
        found[name] = found.get(name, 0) + 1
    return found


def put_whole(path: Path, text: str) -> None:
    """Whoever sees the file sees all of it."""
    handle, made = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "w") as file:
        file.write(text)
    os.replace(made, path)


def until(true: Callable[[], bool]) -> None:
    """Wait for another process, with which files are all that is shared."""
    end = time.monotonic() + PATIENCE
    while not true():
        if time.monotonic() > end:
            raise TimeoutError("what was waited for did not come")
        time.sleep(0.02)


def wait_for(path: Path) -> None:
    until(path.exists)


@frozen
class GatedStorage(LocalStorage):
    gates: Path = field(default=Path(), kw_only=True)

    def put_file_if_absent(self, path: str, local: str) -> bool:
        if path.startswith(".hoodie") or not path.endswith(".parquet"):
            return super().put_file_if_absent(path, local)
        name = place(path)
        before = mark(self.gates, f"begin {name}")
        asked = {p.name for p in self.gates.iterdir()}
        fails = before < TIMES
        if "fail-always" in asked or ("fail-before" in asked and fails):
            raise StorageError(path, "the disk is slow.", "Try again.")
        held = "hold" in asked and before == 0 and (self.gates / "hold").read_text() in path
        if held:
            put_whole(self.gates / "held", short_name())
            wait_for(self.gates / "open")
        elif "die-others" in asked:
            wait_for(self.gates / "held")
            os._exit(1)
        made = super().put_file_if_absent(path, local)
        if held and "die-held" in asked:
            os._exit(1)
        if "die-after" in asked and fails:
            os._exit(1)
        if "fail-after" in asked and fails:
            raise StorageUnknownError(path, "the answer got lost.", "Look, and try again.")
        mark(self.gates, f"end {name}")
        return made


def beside(settings: Any, what: str) -> tuple[str, Path]:
    """The folder of the table, and the one beside it where a test says ``what`` it has prepared."""
    base = "/" + split(settings.get("hoodoo.storage.uri"))[1].lstrip("/")
    folder = Path(f"{base}.{what}")
    folder.mkdir(parents=True, exist_ok=True)
    return base, folder


def from_settings(settings: Any) -> GatedStorage:
    base, gates = beside(settings, "gates")
    return GatedStorage(base, gates=gates)


@hookimpl
def hoodoo_storages() -> list[Registration]:
    return [Registration("gated", "hoodoo_gates:from_settings")]
