"""``hoodoo.aio``: a table whose methods are awaited. Threads do the work."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import suppress
from contextvars import ContextVar
from threading import Event
from typing import Any, TypeVar

import hoodoo
import pyarrow as pa
from hoodoo.calls import nearest
from hoodoo.errors import StorageError
from hoodoo.storage.api import Storage
from hoodoo.table.table import Table

T = TypeVar("T")
# The call that a thread works for; threads of its own, such as heartbeats, have none.
_call: ContextVar[Event | None] = ContextVar("hoodoo_aio_call", default=None)
_END = object()


def aio(
    path: str | os.PathLike[str] | Table, options: Mapping[str, Any] | None = None
) -> AsyncTable:
    """A table for programs with ``async``: ``await hoodoo.aio("trips").upsert(rows)``.

    ``path`` and ``options`` as in ``hoodoo.open``, or an open table. Nothing is opened before the
    first call. A thread does the work of a call, so the event loop goes on.

    A call that is canceled ends at its next operation of the store, before ``CancelledError`` is
    raised: of a write nothing is seen, unless it had committed."""
    return AsyncTable(path, options)


class AsyncTable:
    """The methods of a table, to be awaited; :meth:`batches` is read with ``async for``."""

    def __init__(
        self, path: str | os.PathLike[str] | Table, options: Mapping[str, Any] | None
    ) -> None:
        self._table = path if isinstance(path, Table) else None
        self._path = path.path if isinstance(path, Table) else path
        self._options = options

    def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        if name.startswith("_") or not callable(getattr(Table, name, None)):
            raise _no_method(name)

        async def call(*arguments: Any, **more: Any) -> Any:
            return await _in_thread(lambda: getattr(self._opened(), name)(*arguments, **more))

        return call

    async def batches(self, *arguments: Any, **more: Any) -> AsyncIterator[pa.RecordBatch]:
        """The batches of ``table.read(...)``; the next one is read when it is asked for."""
        found = await _in_thread(lambda: iter(self._opened().read(*arguments, **more).to_batches()))
        try:
            while (batch := await _in_thread(lambda: next(found, _END))) is not _END:
                yield batch
        finally:
            _close(found)

    def _opened(self) -> Table:
        one = self._table
        if one is None:
            one = self._table = hoodoo.open(self._path, self._options)
        inside: Any = _Cancelable(one.handle.storage)
        handle = one.handle
        return Table(inside, handle.config, handle.options, handle.default_engine, handle.overrides)


def _no_method(name: str) -> AttributeError:
    try:
        getattr(Table, name)  # the error names what to install
    except AttributeError as error:
        near = nearest(name, (one for one in dir(Table) if one[:1] != "_"))
        return AttributeError(f"{error}. Fix: {near}." if near else str(error), name=name)
    rule = f"{name!r} is no method of a table, which is awaited. Fix: hoodoo.open(path).{name}."
    return AttributeError(rule, name=name)


class _Cancelable:
    """``inner``, whose next operation fails after the call was canceled: once, so that what cleans
    up after a failure can."""

    def __init__(self, inner: Storage) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_inner":
            raise AttributeError(name)
        canceled = _call.get()
        if canceled is not None and canceled.is_set():
            canceled.clear()
            raise StorageError(self._inner.root, "the call was canceled.", "Call again.")
        return getattr(self._inner, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return _same, (self._inner,)  # tasks of other processes go on to their end


def _same(storage: Storage) -> Storage:
    return storage


async def _in_thread(work: Callable[[], T]) -> T:
    canceled = Event()

    def run() -> T:
        _call.set(canceled)  # of the copied context, which this call alone has
        return work()

    task = asyncio.ensure_future(asyncio.to_thread(run))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        canceled.set()
        with suppress(Exception):
            await task
        raise


def _close(found: Iterator[Any]) -> None:
    close = getattr(found, "close", None)
    if close is not None:
        close()
