"""Who answered wrongly, what came, and what was wanted; and which exceptions are nobody's fault
here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
from attrs import frozen

from hoodoo.errors import HoodooError, PluginError, StoragePluginError

# An attribute of exceptions that pass through a plugin which called back, and are not its own.
_FOREIGN = "__hoodoo_foreign__"
_SHOWN = 80


class Wrong(Exception):
    """An answer that breaks the contract. ``wanted`` is a noun phrase; ``came`` another one."""

    def __init__(self, came: str, wanted: str) -> None:
        self.came, self.wanted = came, wanted
        super().__init__(came, wanted)


@frozen
class Who:
    """The plugin that answers. ``part``: what it made that answers in its place (a reader, a
    writer)."""

    family: str
    name: str
    distribution: str = ""
    version: str = ""
    part: str = ""

    def __str__(self) -> str:
        if not self.distribution:
            text = f"{self.family} object {self.name}"
        else:
            text = f"{self.family} {self.name!r} of distribution {self.distribution} {self.version}"
        return f"{self.part} of {text}" if self.part else text

    def broken(self, member: str, came: str, wanted: str) -> PluginError:
        """The error for an answer of ``member``."""
        return self._error(member, f"answered {came}; expected: {wanted}.")

    def raised(self, member: str, error: BaseException) -> PluginError:
        """The error for an exception that ``member`` raised."""
        text = " ".join(str(error).split())
        said = f"{type(error).__name__}: {text}" if text else type(error).__name__
        return self._error(
            member, f"raised {said}; expected: an answer, or an error of hoodoo.errors."
        )

    def not_picklable(self, error: BaseException) -> PluginError:
        """The error for an object that can't travel to a worker."""
        return PluginError(
            str(self),
            f"can't be pickled ({type(error).__name__}: {error}); expected: an object that can be "
            "sent to the workers of an engine.",
            "Leave locks, open files, connections and sessions out of its state: make them on "
            "first use.",
        )

    def _error(self, member: str, rule: str) -> PluginError:
        # Whether a store that answers nonsense did what it was asked to is not known.
        kind = StoragePluginError if self.family == "storage" else PluginError
        suite = f"hoodoo.testing.contracts.{self.family}"
        return kind(
            f"{self}, {member}", rule, f"Repair the plugin; {suite} tests what it promises."
        )


def says(value: Any) -> str:
    """``value`` in a few words."""
    if value is None or isinstance(value, bool | int | float | str | bytes):
        text = repr(value)
        return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    if isinstance(value, pa.Array | pa.ChunkedArray):
        nulls = f", {value.null_count} of them null" if value.null_count else ""
        return f"a {type(value).__name__} of {len(value)} values of type {value.type}{nulls}"
    if isinstance(value, pa.Table | pa.RecordBatch):
        return f"a {type(value).__name__} of {value.num_rows} rows with {value.schema.names}"
    if isinstance(value, tuple | list | dict | set | frozenset):
        return f"a {type(value).__name__} of {len(value)}"
    if isinstance(value, type):
        return f"the class {value.__qualname__}"
    return f"an object of {type(value).__module__}.{type(value).__qualname__}"


def excuse(error: BaseException) -> None:
    """Mark ``error``: it comes from what a plugin called (a step, a store, the data), not from
    itself."""
    try:
        setattr(error, _FOREIGN, True)
    except AttributeError:  # an exception with slots
        return


def passes(error: BaseException) -> bool:
    """Whether ``error`` goes through as it is: raised on purpose, a warning that a filter made an
    error, or not the plugin's own."""
    return isinstance(error, HoodooError | Warning) or hasattr(error, _FOREIGN)


@contextmanager
def excused() -> Iterator[None]:
    """What is raised inside is not the fault of the plugin that called."""
    try:
        yield
    except Exception as error:
        excuse(error)
        raise


def named_in(error: BaseException) -> PluginError | None:
    """The PluginError that ``error`` hides: libraries that pickle raise errors of their own."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, PluginError):
            return seen
        seen = seen.__cause__ or seen.__context__
    return None
