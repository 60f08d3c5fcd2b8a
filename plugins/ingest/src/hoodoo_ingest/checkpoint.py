"""How far a table was fed: the checkpoint is in the commit of the rows before it, so that there is
never the one without the other.

A commit of an ingestion says it in its ``extraMetadata`` under two keys, beside the number of the
batch (:mod:`hoodoo_rows.write.batches`), which makes sure that a round takes effect once:

- ``streamer.checkpoint.key.v2`` (``deltastreamer.checkpoint.key`` in table version 6): as Hudi's
  HoodieStreamer writes it, for the one that goes on after the other.
- ``_hoodoo_ingest``: ``{"name": ..., "source": ..., "round": ..., "position": ..., "hudi": ...}``;
  ``position`` is as exact as the source can say it, ``hudi`` the value of the other key."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import frozen
from hoodoo.errors import ConfigError
from hoodoo.kernel.archived import load_archived
from hoodoo.model.commit import CommitMetadata
from hoodoo.table.table import Table
from hoodoo.timeline.batches import Batch
from hoodoo.timeline.codec.bounded import reading

from hoodoo_ingest.hookspecs.source import Position

OWN_KEY = "_hoodoo_ingest"
HUDI_KEYS = ("streamer.checkpoint.key.v2", "deltastreamer.checkpoint.key")
# The newest batch of every stream, which all writes of Hoodoo hand on: at most so many streams.
BATCHES_KEY, _REMEMBERED = "_hoodoo_batches", 100
NONE = ""
DEFAULT_NAME = "ingest"


@frozen
class Checkpoint:
    """How far the newest commit of an ingestion says that it came: its ``round``, and its
    ``instant``. Without one the position is None, and the round 0."""

    position: Position | None = None
    round: int = 0
    instant: str = ""


def notes(
    table: Table, name: str, source: str, number: int, position: Position
) -> Mapping[str, str]:
    """What the commit of a round says in its ``extraMetadata``."""
    own = {
        "name": name,
        "source": source,
        "round": number,
        "position": position.own,
        "hudi": position.hudi,
    }
    said = {OWN_KEY: json.dumps(own, separators=(",", ":"))}
    if position.hudi:
        # HoodieStreamer's second key came with the folder of the timeline.
        second = table.config.traits.timeline_path is not None
        said[HUDI_KEYS[0 if second else 1]] = position.hudi
    return said


def batch(name: str, number: int, said: Mapping[str, str]) -> Batch:
    return Batch(f"ingest {name}", number, notes=said)


def newest_checkpoint(table: Table, name: str, source: str) -> Checkpoint:
    """The checkpoint of the ingestion ``name``: that of the newest completed commit that has one.
    HoodieStreamer knows no names: where it has gone on since, its position is that of the
    ingestion with the name that is given by default.

    Raises ConfigError if it is of another source, and CorruptTableError for an entry that can't be
    read."""
    streamer: tuple[str, str] | None = None
    for instant, metadata, where in _newest_first(table, f"ingest {name}"):
        extra = metadata.extra
        theirs = next((extra[key] for key in HUDI_KEYS if extra.get(key)), None)
        if OWN_KEY not in extra:
            if name == DEFAULT_NAME:
                streamer = streamer or ((theirs, instant) if theirs else None)
            continue
        entry = _entry(extra[OWN_KEY], where)
        if streamer is not None and streamer[0] == entry["hudi"]:
            streamer = None  # Hudi's writers carry the key of the commit before them on
        if entry["name"] != name:
            continue
        if entry["source"] != source:
            raise ConfigError(
                f"ingestion {name!r} of table {table.config.name}",
                f"has the source {entry['source']}, and not {source}.",
                "Give it another name in section [run]; it then begins at the start.",
            )
        position = Position(entry["position"], entry["hudi"])
        if streamer is not None:
            position = Position(None, streamer[0])
        return Checkpoint(position, entry["round"], instant)
    if streamer is not None:
        return Checkpoint(Position(None, streamer[0]), 0, streamer[1])
    return Checkpoint()


def _newest_first(table: Table, stream: str) -> Iterator[tuple[str, CommitMetadata, str]]:
    """Requested time, metadata and place of the completed writes. Archived ones come at the end, as
    far back as a write says that the newest batch of the ``stream`` lies."""
    handle = table.handle
    storage, timeline = handle.storage, handle.timeline()
    since: str | None = None
    for instant in reversed(timeline.writes()):
        where = f"{storage.root}/{timeline.path(instant)}"
        metadata = timeline.metadata(storage, instant)
        yield instant.requested, metadata, where
        if since is None and BATCHES_KEY in metadata.extra:
            since = _origin(metadata.extra[BATCHES_KEY], stream, where)
    if since == NONE:
        return
    for old in reversed(load_archived(storage, handle.config, since)):
        if old.is_write and timeline.find(old.requested) is None:
            yield old.requested, old.metadata(), f"{storage.root}: archived {old.requested}"


def _origin(text: str, stream: str, where: str) -> str | None:
    """Where the newest batch of the stream is, as other writes of Hoodoo hand it on; NONE if there
    is none, and None if it may have been forgotten."""
    with reading(where, f"{BATCHES_KEY} is {text[:200]!r}, no record of batches"):
        entries = json.loads(text)["batches"]
        found = [str(origin) for named, _query, _number, origin in entries if named == stream]
        return found[0] if found else NONE if len(entries) < _REMEMBERED else None


def _entry(text: str, where: str) -> dict[str, Any]:
    with reading(where, f"{OWN_KEY} is {text[:200]!r}, no checkpoint"):
        found = json.loads(text)
        return {
            "name": str(found["name"]),
            "source": str(found["source"]),
            "round": int(found["round"]),
            "position": found["position"],
            "hudi": str(found["hudi"]),
        }
