"""The data source ``hoodoo``: Spark 4 looks for packages of such a name by itself, when the first
data source is asked for, in the Python that its workers run. What it does is in
:mod:`hoodoo_spark.datasource`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from pyspark.sql import datasource as api

if TYPE_CHECKING:
    from hoodoo_spark.datasource.options import Wanted

try:  # from PySpark 4.2 on a stream says how much it takes at once
    from pyspark.sql.streaming import datasource as limits
except ImportError:
    limits = None
# From 4.1 on streams are written as Arrow batches.
_StreamWriter: Any = getattr(api, "DataSourceStreamArrowWriter", None)
Method = TypeVar("Method", bound=Callable[..., Any])


@contextmanager
def _in_one_sentence() -> Iterator[None]:
    """An error of Hoodoo says it all: of another one Spark shows the traceback as well, and before
    what it says."""
    try:
        yield
    except Exception as error:
        spec = getattr(sys.modules["__main__"], "__spec__", None)
        if hasattr(error, "to_dict") and spec is not None and spec.name.startswith("pyspark."):
            # In a process of Spark's, which ends with the error: PySpark looks when it writes it
            # down.
            os.environ["SPARK_HIDE_TRACEBACK"] = "1"
        raise


def _plain(method: Method) -> Method:
    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        with _in_one_sentence():
            return method(*args, **kwargs)

    return call  # type: ignore[return-value]


class DefaultSource(api.DataSource):  # type: ignore[misc]
    """``spark.read.format("hoodoo").load(path)``."""

    @classmethod
    def name(cls) -> str:
        return "hoodoo"

    def _read(self, struct: Any, use: str) -> Wanted:
        from hoodoo_spark.datasource.catalog import complete
        from hoodoo_spark.datasource.options import STREAM, Wanted
        from hoodoo_spark.datasource.others import refuse_limits, refuse_writing

        refuse_writing(self.options)
        if use != STREAM:
            refuse_limits(self.options)
        return Wanted.of(complete(self.options, struct), use)

    def _write(self, struct: Any, overwrite: bool) -> Wanted:
        from hoodoo_spark.datasource.catalog import complete_write
        from hoodoo_spark.datasource.options import ANY, Wanted
        from hoodoo_spark.datasource.others import refuse_reading

        refuse_reading(self.options)
        return Wanted.of(complete_write(self.options, struct, overwrite), ANY)

    def _sink(self, struct: Any) -> Wanted:
        """Nothing but a path says where a stream goes: its columns are those of its source."""
        from hoodoo_spark.datasource.catalog import complete
        from hoodoo_spark.datasource.options import ANY, Wanted
        from hoodoo_spark.datasource.others import refuse_reading

        refuse_reading(self.options)
        return Wanted.of(complete(self.options, type(struct)([])), ANY)

    @_plain
    def schema(self) -> Any:
        from hoodoo_spark.datasource.catalog import is_of_catalog, marked
        from hoodoo_spark.datasource.options import ANY, Wanted
        from hoodoo_spark.datasource.read import schema_of

        found = schema_of(Wanted.of(self.options, ANY))
        return marked(found, self.options) if is_of_catalog(self.options) else found

    @_plain
    def reader(self, schema: Any) -> Reader:
        from hoodoo_spark.datasource.options import BATCH

        return Reader(self._read(schema, BATCH), schema)

    @_plain
    def writer(self, schema: Any, overwrite: bool) -> Writer:
        from hoodoo_spark.datasource.write import Writing

        return Writer(Writing.of(self._write(schema, overwrite), schema, overwrite))

    @_plain
    def streamReader(self, schema: Any) -> Any:
        from hoodoo_spark.datasource.options import STREAM
        from hoodoo_spark.datasource.stream_read import Stream

        stream = Stream(self._read(schema, STREAM), schema)
        return stream_reader(stream)

    @_plain
    def streamWriter(self, schema: Any, overwrite: bool) -> Any:
        from hoodoo_spark.datasource.stream_write import SinkWriting

        return StreamWriter(SinkWriting.of(self._sink(schema), schema, overwrite))


class Reader(api.DataSourceReader):  # type: ignore[misc]
    """Plans when Spark pickles it, which is before it asks for the partitions."""

    def __init__(self, wanted: Wanted, schema: Any) -> None:
        self._wanted, self._schema = wanted, schema
        self._pushed: list[Any] = []
        self._planned: Any = None
        self._error: Exception | None = None
        # Spark refuses a reader that overrides the method unless a setting of the session allows
        # filters to be pushed, and nothing tells a reader whether it does.
        self.pushFilters = _Pushed(self._pushed if wanted.pushdown else [])

    def _plan(self) -> Any:
        if self._planned is None:
            from hoodoo_spark.datasource.read import planned

            self._planned = planned(self._wanted, self._schema, self._pushed)
        return self._planned

    @_plain
    def partitions(self) -> list[Any]:
        if self._error is not None:
            raise self._error
        return [api.InputPartition(payload) for payload in self._plan()[1]]

    def read(self, partition: Any) -> Iterator[Any]:
        with _in_one_sentence():
            yield from self._rows(partition.value)

    def __getstate__(self) -> dict[str, Any]:
        try:
            return {"_rows": self._plan()[0]}
        except (
            Exception
        ) as error:  # it would come as one of pickling; the partitions are asked for next
            self._error = error
            return {"_rows": None}


class _Pushed:
    """Takes the filters that Spark offers, all of which Spark asks again. To Spark it is the method
    that it has itself.

    They are heeded where the option ``pushdown`` says so: Spark (4.3) plans the read of a DataFrame
    once, and gives another query of the same DataFrame what is left of the table by the filters of
    the first."""

    def __init__(self, taken: list[Any]) -> None:
        self._taken = taken
        self.__func__ = getattr(api.DataSourceReader, "pushFilters", None)

    def __call__(self, filters: list[Any]) -> list[Any]:
        self._taken[:] = filters
        return filters


class Message(api.WriterCommitMessage):  # type: ignore[misc]
    """What a task staged."""

    def __init__(self, staged: Any) -> None:
        self.staged = staged


def _staged(messages: Sequence[Message | None]) -> list[Any]:
    return [message.staged for message in messages if message is not None]


class Writer(api.DataSourceArrowWriter):  # type: ignore[misc]
    """Of batch jobs."""

    def __init__(self, writing: Any) -> None:
        self._writing = writing

    @_plain
    def write(self, iterator: Iterator[Any]) -> Message:
        return Message(self._writing.write(iterator))

    @_plain
    def commit(self, messages: Sequence[Message | None]) -> None:
        self._writing.commit(_staged(messages))
        self._writing.discard()

    def abort(self, messages: Sequence[Message | None]) -> None:
        self._writing.discard()


class StreamWriter(_StreamWriter or api.DataSourceStreamWriter):  # type: ignore[misc]
    """Of micro-batches. Spark makes one for the tasks of a batch, and another one for its
    commit."""

    def __init__(self, sink: Any) -> None:
        self._sink = sink

    @_plain
    def write(self, iterator: Iterator[Any]) -> Message:
        if _StreamWriter is None:
            from hoodoo_spark.datasource.rows import batches

            iterator = batches(iterator, self._sink.writing.schema)
        return Message(self._sink.write(iterator))

    @_plain
    def commit(self, messages: Sequence[Message | None], batchId: int) -> None:
        self._sink.commit(_staged(messages), batchId)

    def abort(self, messages: Sequence[Message | None], batchId: int) -> None:
        self._sink.abort(_staged(messages))


class _StreamReader(api.DataSourceStreamReader):  # type: ignore[misc]
    """What all versions of PySpark have."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    @_plain
    def initialOffset(self) -> dict[str, Any]:
        found: dict[str, Any] = self._stream.first()
        return found

    @_plain
    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[Any]:
        found = self._stream.pieces(start, end)
        return [api.InputPartition(piece) for piece in found] or [api.InputPartition(None)]

    def read(self, partition: Any) -> Iterator[Any]:
        if partition.value is not None:
            rows, payload = partition.value
            with _in_one_sentence():
                yield from rows(payload)

    def commit(self, end: dict[str, Any]) -> None:
        """Nothing is kept of what has been read."""

    def stop(self) -> None:
        """Nothing is open."""


if limits is None:

    class StreamReader(_StreamReader):
        """Of a Spark that has no limits."""

        @_plain
        def latestOffset(self) -> dict[str, Any]:
            found: dict[str, Any] = self._stream.last(None, False)
            return found

else:

    class StreamReader(  # type: ignore[no-redef]
        _StreamReader,
        limits.SupportsTriggerAvailableNow,  # type: ignore[misc]
    ):
        """Of a Spark that asks for no more than it can take."""

        def getDefaultReadLimit(self) -> Any:
            wanted = self._stream.wanted
            if wanted.max_files is not None:
                return limits.ReadMaxFiles(wanted.max_files)
            if wanted.max_bytes is not None:
                return limits.ReadMaxBytes(wanted.max_bytes)
            return limits.ReadAllAvailable()

        @_plain
        def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:
            limited = not isinstance(limit, limits.ReadAllAvailable)
            found: dict[str, Any] = self._stream.last(start, limited)
            return found

        @_plain
        def prepareForTriggerAvailableNow(self) -> None:
            self._stream.stop_at_newest()


def stream_reader(stream: Any) -> Any:
    """The reader for the version of PySpark that is there. ConfigError for limits that it does not
    know."""
    if limits is None and (stream.wanted.max_files or stream.wanted.max_bytes):
        from hoodoo.errors import ConfigError

        raise ConfigError(
            "options maxFilesPerTrigger and maxBytesPerTrigger",
            "need PySpark 4.2 or newer",
            "leave them out.",
        )
    return StreamReader(stream)
