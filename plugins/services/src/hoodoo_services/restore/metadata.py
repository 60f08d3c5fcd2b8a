"""What a restore has done: for its caller, and as Hudi's ``HoodieRestoreMetadata``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hoodoo.actions.rollback.files import relative
from hoodoo.errors import CorruptTableError, InstantGoneError
from hoodoo.model.instant import Instant
from hoodoo.storage.api import Storage
from hoodoo.timeline.codec import avro as codec_avro
from hoodoo.timeline.snapshot import Snapshot

from hoodoo_services.outcome import Restored
from hoodoo_services.restore.plan import RestorePlan, read_plan


def encode(mine: Instant, plan: RestorePlan, records: Mapping[str, Mapping[str, Any]]) -> bytes:
    """The completed file. ``records``: of each instant the ``HoodieRollbackMetadata``."""
    record = {
        "startRestoreTime": mine.requested,
        "timeTakenInMillis": 0,
        "instantsToRollback": [i.requested for i in plan.instants],
        "hoodieRestoreMetadata": {requested: [record] for requested, record in records.items()},
        "version": 1,
        "restoreInstantInfo": [
            {"commitTime": i.requested, "action": i.action} for i in plan.instants
        ],
    }
    return codec_avro.encode("HoodieRestoreMetadata", record)


def told(snapshot: Snapshot, done: Instant) -> Restored:
    """What the completed restore ``done`` says of itself."""
    found = snapshot.contents(done)
    records = (r for listed in (found.get("hoodieRestoreMetadata") or {}).values() for r in listed)
    files = sorted(path for record in records for path in deleted(snapshot.storage, record))
    try:
        point = read_plan(snapshot, done).point
    except (CorruptTableError, InstantGoneError):
        point = ""
    gone = tuple(found.get("instantsToRollback") or ())
    return Restored(point, done.requested, gone, tuple(files))


def deleted(storage: Storage, record: dict[str, Any]) -> list[str]:
    """Paths below the table root that a rollback says it has deleted."""
    parts = (record.get("partitionMetadata") or {}).values()
    found = (relative(storage, str(p)) for part in parts for p in part["successDeleteFiles"])
    return [path for path in found if path is not None]
