"""What indexes answer. ``locate`` answers a stream that nobody has evaluated yet: its schema is
judged here, its rows by those who collect them."""

from __future__ import annotations

from typing import Any

from attrs import evolve

from hoodoo.errors import CorruptTableError
from hoodoo.hookspecs.engine import Stream
from hoodoo.hookspecs.index import IndexContext
from hoodoo.kernel.answers import shapes
from hoodoo.kernel.answers.declared import prepare, rule
from hoodoo.kernel.answers.engines import ENGINE
from hoodoo.kernel.answers.seam import Ask, plain, who_is, wrapped
from hoodoo.kernel.answers.wrong import Who, Wrong, says


@prepare("LookupIndex.locate")
@prepare("SeesRows.locate_rows")
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
