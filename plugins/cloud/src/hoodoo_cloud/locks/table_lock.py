"""Hudi's lock file on an object store, replaced on conditions: Spark Hudi and Hoodoo exclude each
other.

Source: ``org.apache.hudi.client.transaction.lock.StorageBasedLockProvider`` of Hudi 1.2, with
``StorageLockData`` and ``StorageLockFile`` (`lock.models`): `.hoodie/.locks/table_lock.json`, with
its owner, the time until which it is valid, by the owner's clock, and whether it was given back.
Each state is put on the condition that the one before is there still, as ``S3StorageLockClient``,
``GCSStorageLockClient`` and Azure's do."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Mapping
from typing import Any

import obstore
from attrs import define, field, frozen
from hoodoo.errors import ConfigError, StorageError
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.resolve import resolve
from hoodoo.options.table import STORAGE_URI
from hoodoo.storage.api import Storage
from hoodoo.storage.lock import Held, Lock
from hoodoo.storage.uri import split
from hoodoo.timeline.ledger import LOCK
from hoodoo_standard.options import LOCK_RENEW, LOCK_VALIDITY
from obstore.exceptions import AlreadyExistsError, PreconditionError

from hoodoo_cloud import creation, places
from hoodoo_cloud.clients import client, got, tried
from hoodoo_cloud.faults import STRANGE, StrangeAnswerError, explained
from hoodoo_cloud.locks import leases
from hoodoo_cloud.places import Place

FOLDER = ".hoodie/.locks"
_DRIFT = 0.5  # seconds by which the clocks of two hosts differ, as Hudi's CLOCK_DRIFT_BUFFER_MS


@frozen
class StorageLock:
    """``validity``: seconds that a lease lasts; ``renew``: between two signs of life."""

    renew: float = 30.0
    validity: float = 300.0
    options: Mapping[str, str] = field(factory=dict, repr=False, eq=False)  # of the store

    @classmethod
    def from_settings(cls, settings: Settings) -> StorageLock:
        renew, validity = settings.value(LOCK_RENEW), settings.value(LOCK_VALIDITY)
        if validity < 2 * renew:
            raise ConfigError(
                f"option {LOCK_VALIDITY.key}",
                f"is {validity:g}, less than twice {LOCK_RENEW.key} = {renew:g}.",
                "Make it ten times as long, as Hudi does.",
            )
        return cls(renew, validity, settings.options)

    def acquire(self, storage: Storage, name: str, wait: float) -> Held | None:
        """Raises StorageError; the lock is not had then."""
        if split(storage.root)[0] not in places.CLOUDS:
            # Hudi has no client for such a store (StorageSchemes) and fails over this provider, so
            # nobody looks at its file: writers of Hoodoo exclude each other.
            times = {LOCK_RENEW.key: f"{self.renew}", LOCK_VALIDITY.key: f"{self.validity}"}
            other: Lock = resolve("lock", "conditional_put", Settings(options=times)).instance
            return other.acquire(storage, name, wait)
        given = {**self.options, STORAGE_URI.key: storage.root}
        _, prefix, place = places.find(Settings(options=given))
        file = "table_lock.json" if name == LOCK else f"{name}_lock.json"
        key = "/".join(part for part in (prefix, FOLDER, file) if part)
        record = _File(place, key, f"{storage.root}/{FOLDER}/{file}", self.validity)
        return leases.acquire(record, wait, self.validity - _DRIFT, self.renew)


@define
class _File:
    place: Place
    key: str
    obj: str
    validity: float
    _owner: str = field(factory=lambda: str(uuid.uuid4()), init=False)
    _data: dict[str, Any] = field(factory=dict, init=False)  # what we put last

    def look(self) -> leases.Seen:
        try:
            found, version = tried(self.place, self._read)
        except FileNotFoundError:
            return leases.Seen(free=True)
        except Exception as error:
            raise explained(error, self.place, self.obj, "reading") from None
        try:
            said = json.loads(found)
            free, until = said["expired"], float(said["validUntil"]) / 1000
            if not isinstance(free, bool) or "owner" not in said:
                raise ValueError
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
            raise StorageError(
                self.obj,
                "is no lock file of Hudi, which has expired, validUntil and owner: nobody can tell "
                "whether it is held.",
                "Delete it, when nobody writes.",
            ) from None
        return leases.Seen(free, version, expired=time.time() > until + _DRIFT)

    def _read(self) -> tuple[bytes, object]:
        found = got(self.place, self.key)
        return bytes(found.bytes()), _version(found.meta)

    def take(self, seen: leases.Seen) -> object | None:
        return self._put(False, seen.version)

    def renew(self, version: object) -> object | None:
        return self._put(False, version)

    def give_back(self, version: object) -> None:
        self._put(True, version)

    def _put(self, expired: bool, before: object) -> object | None:
        until = self._data["validUntil"] if expired else int((time.time() + self.validity) * 1000)
        self._data = {"expired": expired, "validUntil": until, "owner": self._owner}
        mode: Any = before or "create"
        store = client(self.place)
        data = json.dumps(self._data, separators=(",", ":")).encode()
        try:
            made = obstore.put(store, self.key, data, mode=mode, use_multipart=False)
            if not creation.genuine(self.place, made):
                raise StrangeAnswerError(STRANGE)
        except (AlreadyExistsError, PreconditionError, FileNotFoundError):
            return None
        except Exception as error:
            found = self._ours(data)
            if found is None:
                raise explained(error, self.place, self.obj, "writing") from None
            return found
        return _version(made)

    def _ours(self, data: bytes) -> object | None:
        """After an error: the version, if ours is there."""
        try:
            found, version = tried(self.place, self._read)
        except Exception:
            return None
        return version if found == data else None


def _version(said: Any) -> dict[str, Any]:
    """What a put that replaces it names: Google's stores go by the one, the others by the other."""
    return {name: said[name] for name in ("e_tag", "version") if said[name]}
