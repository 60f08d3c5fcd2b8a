"""What engines answer, and whose fault it is when a step fails.

Streams are the engine's own and stay as they are: their schema is judged. Steps get a seam around
them that tells their exceptions from those of the engine."""

from __future__ import annotations

from collections.abc import Iterator
from types import GeneratorType
from typing import Any

import pyarrow as pa
from attrs import frozen

from hoodoo.hookspecs.engine import Counted, Step, Stream, Task
from hoodoo.kernel.answers import shapes
from hoodoo.kernel.answers.declared import by_hand
from hoodoo.kernel.answers.seam import Ask, wrapped
from hoodoo.kernel.answers.wrong import Who, Wrong, excuse, passes, says

_PAYLOAD = pa.schema([("payload", pa.binary())])


@frozen
class Watched:
    """``step``; an exception of its own is not the engine's. ``behalf``: the plugin whose step it
    is, and in which of its members it was given to the engine; None: core's."""

    step: Step
    behalf: tuple[Who, str] | None = None

    @property
    def out_schema(self) -> pa.Schema:
        """The schema that the step promises."""
        return self.step.out_schema

    @property
    def reads(self) -> int | None:
        """At most these bytes of stored files are read; 0: the step does not say, None: many."""
        found: int | None = getattr(self.step, "reads", 0)
        return found

    def __call__(self, batches: Iterator[pa.RecordBatch], task: Task) -> Iterator[pa.RecordBatch]:
        # Of a generator a traceback shows whether it was at work: it needs nothing around it.
        above = getattr(batches, "source", batches)
        if not isinstance(above, GeneratorType):
            above = batches = _again(batches)
        try:
            if self.behalf is None:
                yield from self.step(batches, task)
            else:
                for batch in self.step(batches, task):
                    if not isinstance(batch, pa.RecordBatch):
                        came, wanted = f"a step that gives {says(batch)}", "steps of record batches"
                        raise self.behalf[0].broken(self.behalf[1], came, wanted)
                    if set(batch.schema.names) != set(self.out_schema.names):
                        came = f"a step that gives {says(batch)}"
                        wanted = f"one that gives its out_schema, {self.out_schema.names}"
                        raise self.behalf[0].broken(self.behalf[1], came, wanted)
                    yield batch
        except Exception as error:
            if passes(error) or _came_through(above, error):
                raise
            if self.behalf is None:
                excuse(error)
                raise
            raise self.behalf[0].raised(self.behalf[1], error) from error


def _again(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def _came_through(generator: Any, error: Exception) -> bool:
    """Whether ``error`` was raised while ``generator`` was at work."""
    entry = error.__traceback__.tb_next if error.__traceback__ else None
    while entry is not None:
        if entry.tb_frame.f_code is generator.gi_code:
            return True
        entry = entry.tb_next
    return False


def _streamed(answer: Any, wanted: pa.Schema | None) -> Any:
    found = getattr(answer, "schema", None)
    if not isinstance(found, pa.Schema):
        raise Wrong(says(answer), "a stream, which has a schema")
    if wanted is not None:
        shapes.schema(found, wanted, "a stream of the schema")
    return answer


def _prepare_map(ask: Ask, stream: Stream, step: Step) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (stream, step if isinstance(step, Watched) else Watched(step, ask.terms)), {}


def _side(answer: Any, ask: Ask, table: pa.Table) -> Any:
    return wrapped(SIDE, _spread(answer), ask.who, (table.schema, table.num_rows))


def _spread(answer: Any, *_asked: Any) -> Any:
    return shapes.having(answer, ("table",), "a Side, which has a table()")


def _side_table(answer: Any, ask: Ask) -> pa.Table:
    schema, rows = ask.terms
    if not isinstance(answer, pa.Table) or answer.num_rows != rows:
        raise Wrong(says(answer), f"the pyarrow.Table of {rows} rows that was given")
    shapes.schema(answer.schema, schema, "the table that was given")
    return answer


def _collect(answer: Any, ask: Ask, stream: Stream) -> pa.Table:
    shapes.instance(answer, pa.Table, "a pyarrow.Table")
    shapes.schema(answer.schema, stream.schema, "a table of the stream's schema")
    return answer


def _meter(answer: Any, ask: Ask) -> Any:
    shapes.having(answer, ("add", "read"), "a Meter, with add and read")
    return wrapped(METER, answer, ask.who)


def _on(answer: Any, ask: Ask, storage: Any) -> Any:
    return wrapped(ENGINE, shapes.having(answer, ("exchange",), "an Engine"), ask.who)


ENGINE = by_hand(
    "engine",
    properties={
        "name": lambda answer, ask: shapes.text(answer),
        "parallelism": lambda answer, ask: shapes.whole(answer, 1),
    },
    methods={
        "accepts": lambda answer, ask, data: shapes.flag(answer),
        "source": lambda answer, ask, data: _streamed(answer, None),
        "tasks": lambda answer, ask, payloads: _streamed(answer, _PAYLOAD),
        "map": lambda answer, ask, stream, step: _streamed(answer, step.out_schema),
        "exchange": lambda answer, ask, stream, *_, **__: _streamed(answer, stream.schema),
        "stage": lambda answer, ask, stream, workspace: _streamed(answer, stream.schema),
        "union": lambda answer, ask, streams: _streamed(answer, streams[0].schema),
        "side": _side,
        "spread": _spread,
        "collect": _collect,
        "meter": _meter,
        "check": None,
        "on": _on,
    },
    prepare={"map": _prepare_map},
)

SIDE = by_hand("side", methods={"table": _side_table}, travels=True)

METER = by_hand(
    "meter",
    methods={
        "add": None,
        "read": lambda answer, ask: shapes.instance(answer, Counted, "a Counted"),
    },
    travels=True,
)
