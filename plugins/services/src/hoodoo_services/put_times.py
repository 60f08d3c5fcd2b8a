"""Put times: when files of a timeline were put whose layout does not say when an instant
completed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone

from hoodoo.storage.api import Storage
from hoodoo.timeline.instants import from_datetime
from hoodoo.timeline.timeline import Timeline


def put_times(storage: Storage, timeline: Timeline) -> Mapping[str, str]:
    """Path of a file of the active timeline -> the instant at which it was put. Nothing, at no
    cost, where the timeline says it itself."""
    if timeline.layout.names_completion:
        return {}
    zone = timeline.config.timezone
    return {
        entry.path: from_datetime(datetime.fromtimestamp(entry.modified, timezone.utc), zone)
        for entry in storage.list(timeline.config.timeline_path)
    }
