"""Put times: when files of a timeline were put whose layout does not say when an instant
completed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone

from hoodoo.timeline.instants import from_datetime
from hoodoo.timeline.snapshot import Snapshot


def put_times(snapshot: Snapshot) -> Mapping[str, str]:
    """Path of a file of the active timeline -> the instant at which it was put. Nothing, at no
    cost, where the timeline says it itself."""
    if snapshot.layout.names_completion:
        return {}
    zone = snapshot.config.timezone
    return {
        entry.path: from_datetime(datetime.fromtimestamp(entry.modified, timezone.utc), zone)
        for entry in snapshot.storage.list(snapshot.config.timeline_path)
    }
