"""Checks of the places that an index answers, once they are collected: a wrong one would lose rows,
or write them twice."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from hoodoo.hookspecs.index import LOCATIONS_SCHEMA
from hoodoo.kernel.answers import who_is

_ONCE = "rows that differ: one for each key and file group that holds it"
# More locations than this are looked through by a sample of the keys.
_MANY, _SAMPLE = 1 << 16, 64


def check_locations(index: Any, found: pa.Table, member: str = "locate") -> None:
    """PluginError where what ``index`` answered to ``member`` has nulls, or a row twice. Of many
    rows, those of every 64th key are looked at."""
    who = who_is(index)
    if who is None:
        return
    for name in LOCATIONS_SCHEMA.names:
        if found.column(name).null_count:
            raise who.broken(member, f"rows whose {name} is null", "rows without nulls")
    rows = found if found.num_rows <= _MANY else _sampled(found)
    distinct = rows.group_by(LOCATIONS_SCHEMA.names, use_threads=False).aggregate([])
    if distinct.num_rows < rows.num_rows:
        raise who.broken(member, f"{rows.num_rows - distinct.num_rows} rows twice", _ONCE)


def check_groups(
    index: Any, found: Iterable[tuple[str, str]], known: Collection[tuple[str, str]]
) -> None:
    """PluginError where ``index`` located keys in file groups that the table does not have. Both
    are pairs of partition path and file id."""
    who = who_is(index)
    if who is None:
        return
    for place in found:
        if place not in known:
            raise who.broken(
                "locate",
                f"the file group {place[1]!r} of {place[0]!r}, which the table does not have",
                "file groups of the slices in the context",
            )


def check_asked(index: Any, found: pa.Table, asked: pa.ChunkedArray | pa.Array) -> None:
    """PluginError where ``index`` located keys that nobody asked for: ``asked`` are the numbers of
    the rows of ``found`` that somebody did. What is deleted is found by these rows alone."""
    who = who_is(index)
    if who is None:
        return
    count = found.num_rows - pc.count_distinct(asked).as_py()
    if count:
        raise who.broken("locate", f"{count} rows of keys that were not asked for", "asked keys")


def _sampled(found: pa.Table) -> pa.Table:
    """The rows of about every 64th key: by the sum of its last bytes, so that rows of a key stay
    together."""
    keys = found.column("record_key").combine_chunks()
    arrays = keys.chunks if isinstance(keys, pa.ChunkedArray) else [keys]
    return found.filter(pa.chunked_array([_chosen(a) for a in arrays], pa.bool_()))


def _chosen(keys: pa.Array) -> pa.Array:
    offsets = np.frombuffer(keys.buffers()[1], np.int32)[keys.offset : keys.offset + len(keys) + 1]
    data = np.frombuffer(keys.buffers()[2], np.uint8)
    mixed = np.zeros(len(keys), np.uint32)
    for back in (1, 2, 3, 4):
        at = np.maximum(offsets[1:] - back, offsets[:-1])
        mixed = mixed * np.uint32(31) + data[np.minimum(at, len(data) - 1)]
    return pa.array(mixed % _SAMPLE == 0)
