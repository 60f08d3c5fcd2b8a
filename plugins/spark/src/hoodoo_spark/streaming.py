"""Structured Streaming into a table: ``query.writeStream.foreachBatch(sink(table))``.

Spark repeats the last micro-batch when a query goes on after a crash. Each commit says which batch
of which query it is (:mod:`hoodoo_rows.write.batches`), and a batch that the timeline has is not
written again: its rows take effect exactly once."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from typing import Any

import hoodoo
from attrs import field, frozen
from hoodoo.errors import CommitConflictError, ConfigError, EngineError
from hoodoo.hookspecs.engine import Engine
from hoodoo.log import get_logger
from hoodoo.options.judge import as_text
from hoodoo.table.table import Table
from hoodoo.timeline.batches import Batch
from hoodoo_rows.api import Commit

from hoodoo_spark.near import on_session
from hoodoo_spark.operations import OPERATIONS
from hoodoo_spark.options import IDENTIFIER, PAUSE, RETRIES, STREAMING
from hoodoo_spark.session import is_connect

# Local properties that Spark sets in the thread of a query (StreamExecution.QUERY_ID_KEY; the job
# group of a query is the id of its run).
_QUERY = "sql.streaming.queryId"
_RUN = "spark.jobGroup.id"

_log = get_logger(__name__)
_guard = threading.Lock()
_locks: dict[str, threading.Lock] = {}
# (table, identifier, query) -> (run, batch) that this process has written last.
_last: dict[tuple[str, str, str], tuple[str, int]] = {}


@frozen
class Sink:
    """What :func:`sink` returns. Call it with a batch's DataFrame and number, as Spark does."""

    table: Table
    operation: str = "upsert"
    identifier: str | None = None
    retries: int = 3
    pause: float = field(default=2.0)  # seconds

    def __call__(self, frame: Any, number: int) -> Commit:
        """Write batch ``number`` unless it is in the table; the commit then has an empty instant.

        Raises ConfigError outside of a query and without an identifier, or where the query has
        written this batch through another sink of the same identifier; else what the operation
        raises. CommitConflictError (another writer was faster) only after ``retries`` more
        attempts."""
        if is_connect(frame):
            raise EngineError(
                f"batch {number} for {self.table.path}",
                "comes over Spark Connect, where a function for foreachBatch is not told of which "
                "query it is.",
                'Write the stream with .writeStream.format("hoodoo"), which is as exact.',
            )
        session = frame.sparkSession
        query = session.sparkContext.getLocalProperty(_QUERY) or ""
        run = session.sparkContext.getLocalProperty(_RUN) or ""
        identifier = self.identifier or query
        if not identifier:
            raise ConfigError(
                f"batch {number} for {self.table.path}",
                "does not come from a streaming query, so nothing tells it from other batches",
                "give sink() to foreachBatch, or give it an identifier.",
            )
        batch = Batch(identifier, int(number), query)
        stream = (self.table.path, identifier, query)
        # Queries of one process take turns: they would only undo each other's work.
        with _lock(self.table.path):
            if query and run and _last.get(stream) == (run, batch.number):
                raise ConfigError(
                    f"batch {number} of query {query} for {self.table.path}",
                    f"has been written already in this run, under the identifier {identifier!r}",
                    "give each sink of the query an identifier of its own.",
                )
            commit = self._write(frame, batch, on_session(session, self.table.handle.settings))
            _last[stream] = (run, batch.number)
        if not commit.instant:
            _log.info(
                "batch_skipped",
                table=self.table.path,
                identifier=identifier,
                query=query,
                batch=batch.number,
            )
        return commit

    def _write(self, frame: Any, batch: Batch, engine: Engine) -> Commit:
        write = getattr(self.table, self.operation)
        pause = self.pause
        for _ in range(self.retries):
            try:
                done: Commit = write(frame, engine=engine, batch=batch)
                return done
            except CommitConflictError as error:
                _log.info(
                    "batch_retried",
                    table=self.table.path,
                    identifier=batch.identifier,
                    batch=batch.number,
                    error=str(error),
                )
            time.sleep(pause)
            pause *= 2
        done = write(frame, engine=engine, batch=batch)
        return done


def sink(
    table: Table | str | os.PathLike[str],
    operation: str = "upsert",
    *,
    identifier: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Sink:
    """A function for ``foreachBatch`` that writes each micro-batch into ``table`` exactly once.

    ``table`` is open, or the path of one that exists; then ``options`` are those of
    ``hoodoo.open``. ``operation`` is one of the writes of :class:`hoodoo.Table`. A stream is known
    by the id of its query, which is kept in the query's checkpoint. An ``identifier`` is needed
    where one query writes the same table through several sinks, and where the query goes on that
    Hudi's own sink has begun or will take over (Hudi's default is ``default_single_writer``). The
    option ``hoodie.datasource.write.streaming.checkpoint.identifier`` is the same;
    ``...streaming.retry.count`` and ``...streaming.retry.interval.ms`` say how often and after what
    time a batch is written again that met another writer's commit.

    Raises ConfigError for an unknown operation, a bad number, or ``options`` beside an open table;
    and what ``hoodoo.open`` raises."""
    if operation not in OPERATIONS:
        raise ConfigError(
            f"operation {operation!r}",
            "is not one that a stream can be written with",
            f"take one of {', '.join(OPERATIONS)}.",
        )
    given = dict(options or {})
    own = as_text({o.key: given.pop(o.key) for o in STREAMING if o.key in given})
    named = identifier or IDENTIFIER.given(own)
    retries, pause = RETRIES.read(own), PAUSE.read(own) / 1000
    if not isinstance(table, Table):
        table = hoodoo.open(os.fspath(table), options=given)
    elif given:
        raise ConfigError(
            f"options {', '.join(sorted(given))}",
            "can't be given to a table that is open",
            "give them to hoodoo.open, or give the sink the table's path.",
        )
    return Sink(table, operation, named, retries, pause)


def _lock(path: str) -> threading.Lock:
    with _guard:
        return _locks.setdefault(path, threading.Lock())
