"""A storage ``crashing://<path>``: the local store, in which the process ends where :data:`NEXT` says."""

from __future__ import annotations

from typing import Any

from hoodoo import hookimpl
from hoodoo.hookspecs import Registration, Settings
from hoodoo.testing.stores import CrashingStorage
from hoodoo_standard.storage.local import LocalStorage

# How the next store that is made behaves, and the stores that were made.
NEXT: dict[str, Any] = {"at": 0, "when": "before"}
MADE: list[CrashingStorage] = []


def store(settings: Settings) -> CrashingStorage:
    uri = settings.options["hoodoo.storage.uri"]
    path = uri.removeprefix("crashing://")
    MADE.append(CrashingStorage(LocalStorage(path, durable=False), NEXT["at"], NEXT["when"]))
    return MADE[-1]


@hookimpl
def hoodoo_storages() -> list[Registration]:
    return [Registration("crashing", store, summary="for tests: ends in the middle of a write")]
