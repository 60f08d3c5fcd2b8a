"""The bytes of a timeline file, whatever the table version: JSON for 6, Avro for 8 and 9.

The bytes show the format, not the version: version 6 has Avro files too (plans, rollbacks). The
timeline layout decides how commits are written.
"""

from __future__ import annotations

from typing import Any

from hoodoo.model.commit import CommitMetadata
from hoodoo.timeline import stats
from hoodoo.timeline.codec import avro as codec_avro
from hoodoo.timeline.codec import json as codec_json
from hoodoo.timeline.codec import large
from hoodoo.timeline.codec.bounded import corrupt


def decode(data: bytes, where: str) -> dict[str, Any]:
    """Any timeline file as a plain dict; an empty file (a requested commit) gives an empty one.

    Raises :class:`~hoodoo.errors.CorruptTableError` naming ``where``.
    """
    if not data:
        return {}
    if data.startswith(codec_avro.MAGIC):
        return codec_avro.decode(data, where)
    return codec_json.decode(data, where)


def decode_commit(data: bytes, where: str, *, replaces: bool = False) -> CommitMetadata:
    """Completed or inflight metadata of a commit, deltacommit or replacecommit.

    ``replaces``: it is a completed replacecommit, which always says what it replaced, if only that
    it is nothing; without that, rows that were overwritten would be there again.
    """
    form = stats.AVRO if data.startswith(codec_avro.MAGIC) else stats.JSON
    record = large.from_extra(data) if large.is_large(data) else None
    if record is None:
        record = decode(data, where)
    else:
        record[large.STATS] = large.LazyStats(data, where)
    if replaces and record.get("partitionToReplaceFileIds") is None:
        raise corrupt(where, "a completed replacecommit without partitionToReplaceFileIds")
    return stats.from_record(record, form, where)
