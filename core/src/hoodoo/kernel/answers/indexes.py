"""What indexes answer.

``locate`` answers a stream that nobody has evaluated yet: its schema is judged at once, its rows
where they are collected (:func:`check_locations`, :func:`check_groups`, :func:`check_asked`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve

from hoodoo.errors import CorruptTableError
from hoodoo.hookspecs.engine import Stream
from hoodoo.hookspecs.index import LOCATIONS_SCHEMA, IndexContext
from hoodoo.kernel.answers import shapes
from hoodoo.kernel.answers.declared import prepare, rule
from hoodoo.kernel.answers.engines import ENGINE
from hoodoo.kernel.answers.seam import Ask, plain, who_is, wrapped
from hoodoo.kernel.answers.wrong import Who, Wrong, says

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


@prepare("LookupIndex.locate")
def _prepare_locate(
    ask: Ask, keys: Stream, context: IndexContext
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    # Steps that the index gives to the engine are its own work: what they raise is its answer, too.
    return (keys, _on_behalf(ask, context)), {}


@prepare("StoredIndex.entries")
def _prepare_entries(ask: Ask, context: IndexContext) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (_on_behalf(ask, context),), {}


def _on_behalf(ask: Ask, context: IndexContext) -> IndexContext:
    engine = plain(context.engine)
    who = who_is(context.engine) or Who("engine", type(engine).__qualname__)
    return evolve(context, engine=wrapped(ENGINE, engine, who, (ask.who, ask.member)))


@rule("ComputedIndex.file_id")
def _file_id(answer: Any, ask: Ask, bucket: int, uuid: str) -> str:
    wanted = f"a file id of which bucket_of answers {bucket}"
    made = shapes.text(answer, wanted)
    # It becomes part of file names, in which these characters separate the parts.
    if "/" in made or "_" in made or made.startswith("."):
        raise Wrong(says(made), f"{wanted}, without / and _")
    try:
        back = ask.inner.bucket_of(made)
    except CorruptTableError as error:  # that is what it says of another index's file ids
        raise Wrong(f"{made!r}, which bucket_of does not know", wanted) from error
    if back != bucket:
        raise Wrong(f"{made!r}, of which bucket_of answers {says(back)}", wanted)
    return made
