"""A storage plugin, ``killer:///path``: a local store; at one operation of a task its Spark executor is killed.

``<path>.kills/plan`` says at which: a folder in which each operation of a task leaves a mark, the number of the
operation that is the last one, whether it is done before that, and whether only the Python process of the task ends.
"""

from __future__ import annotations

import json
import os
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from attrs import field, frozen
from hoodoo import hookimpl
from hoodoo.hookspecs import Registration
from hoodoo_gates import beside, put_whole
from hoodoo_standard.storage.local import LocalStorage

__version__ = "1.0"
EXECUTOR = "CoarseGrainedExecutorBackend"
T = TypeVar("T")


def plan(kills: Path, marks: Path, number: int, after: bool, alone: bool = False) -> None:
    """From now on the ``number``-th operation of tasks (from 1; 0: none) is the last of its executor; of its process, if
    ``alone``."""
    marks.mkdir(parents=True)
    text = json.dumps({"marks": str(marks), "number": number, "after": after, "alone": alone})
    put_whole(kills / "plan", text)


def executor() -> int:
    """The process id of the executor that this process, or the one that made it, works for; 0 where there is none."""
    pid = os.getppid()
    for _ in range(2):
        if EXECUTOR in Path(f"/proc/{pid}/cmdline").read_text():
            return pid
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return 0


@frozen
class KillerStorage(LocalStorage):
    kills: Path = field(default=Path(), kw_only=True)

    def _around(self, call: Callable[[], T]) -> T:
        found = executor()
        if not found or not (self.kills / "plan").exists():  # before the first write
            return call()
        asked = json.loads((self.kills / "plan").read_text())
        os.close(tempfile.mkstemp(dir=asked["marks"])[0])
        last = len(os.listdir(asked["marks"])) == asked["number"]
        if last and not asked["after"]:
            self._kill(found, asked)
        done = call()
        if last:
            self._kill(found, asked)
        return done

    def _kill(self, found: int, asked: dict[str, Any]) -> None:
        Path(f"{asked['marks']}.{'ended' if asked['alone'] else 'killed'}").touch()
        if not asked["alone"]:
            os.kill(found, signal.SIGKILL)
        os._exit(1)

    def put(self, path: str, data: bytes) -> None:
        self._around(lambda: super(KillerStorage, self).put(path, data))

    def put_if_absent(self, path: str, data: bytes) -> bool:
        return self._around(lambda: super(KillerStorage, self).put_if_absent(path, data))

    def put_file_if_absent(self, path: str, local: str) -> bool:
        return self._around(lambda: super(KillerStorage, self).put_file_if_absent(path, local))

    def get(self, path: str) -> bytes:
        return self._around(lambda: super(KillerStorage, self).get(path))

    def open(self, path: str) -> Any:
        return self._around(lambda: super(KillerStorage, self).open(path))

    def delete(self, path: str) -> bool:
        return self._around(lambda: super(KillerStorage, self).delete(path))


def from_settings(settings: Any) -> KillerStorage:
    base, kills = beside(settings, "kills")
    return KillerStorage(base, kills=kills)


@hookimpl
def hoodoo_storages() -> list[Registration]:
    return [Registration("killer", "hoodoo_killer:from_settings")]
