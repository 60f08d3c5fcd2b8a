"""Every error that Hoodoo raises on purpose: one base class, few families.

A message names three things: the *object* it is about, the *rule* that was broken and the *fix*.
Errors travel as data between processes (:meth:`HoodooError.to_dict`), because an exception raised
inside a Spark task is retried and loses its class on the way to the driver."""

from __future__ import annotations

import sys
import warnings
from typing import Any


class HoodooError(Exception):
    """Base class of every error Hoodoo raises.

    ``obj`` names the thing at fault (a table, a column, a plugin), ``rule`` says what was expected
    of it and what was found, ``fix`` says what to do about it.
    """

    def __init__(self, obj: str, rule: str, fix: str = "") -> None:
        self.obj, self.rule, self.fix = obj, rule, fix
        super().__init__(obj, rule, fix)

    def __str__(self) -> str:
        # A rule may be half a sentence.
        stop = "" if self.rule.endswith((".", "!", "?", "\n")) else "."
        return f"{self.obj}: {self.rule}{stop}" + (f" Fix: {self.fix}" if self.fix else "")

    def to_dict(self) -> dict[str, str]:
        """The error as plain strings: class name, object, rule, fix."""
        return {"error": type(self).__name__, "obj": self.obj, "rule": self.rule, "fix": self.fix}

    @staticmethod
    def from_dict(data: dict[str, Any]) -> HoodooError:
        """The inverse of :meth:`to_dict`; an unknown class name becomes the base class."""
        kind = _families().get(str(data.get("error")), HoodooError)
        return kind(str(data["obj"]), str(data["rule"]), str(data.get("fix", "")))


def _families() -> dict[str, type[HoodooError]]:
    found: dict[str, type[HoodooError]] = {}
    waiting: list[type[HoodooError]] = [HoodooError]
    while waiting:
        kind = waiting.pop()
        found[kind.__name__] = kind
        waiting.extend(kind.__subclasses__())
    return found


# --- tables -----------------------------------------------------------------------------------
class TableError(HoodooError):
    """The table as such: not there, already there, of a version that is not handled."""


class NotATableError(TableError):
    """The path holds no Hudi table."""


class TableExistsError(TableError):
    """``create`` on a path that already holds a table."""


class UnsupportedTableError(TableError):
    """A table version, table type or file format that Hoodoo does not read or does not write."""


class CorruptTableError(TableError):
    """Bytes on disk that contradict the format: bad checksum, undecodable timeline file."""


# --- settings ---------------------------------------------------------------------------------
class ConfigError(HoodooError):
    """An option that is unknown, has a bad value, or contradicts a table property."""


class UnknownOptionError(ConfigError):
    """A ``hoodie.*`` option nobody knows; the message suggests the nearest known ones."""


class OptionConflictError(ConfigError):
    """A writer option that contradicts a property of the table."""


class CallError(ConfigError, TypeError):
    """A call that can't be right: an argument that does not exist, one too many, one that is
    missing, or something asked of an object that it has not. A TypeError, too, as Python's own
    would be."""


# --- data -------------------------------------------------------------------------------------
class DataError(HoodooError):
    """Incoming rows that can't be written; nothing of them was."""


class NullKeyError(DataError):
    """A record key (or one of its fields, where the key generator forbids it) is null or empty."""


class MissingColumnError(DataError):
    """A key, partition or ordering column is not among the incoming columns."""


class DuplicateKeyError(DataError):
    """An insert under the ``fail`` duplicate policy met a key that the table already has."""


class SchemaError(HoodooError):
    """A schema that can't be stored, or a change of schema that is not an evolution."""


# --- plugins ----------------------------------------------------------------------------------
class PluginError(HoodooError):
    """A plugin that can't be found, imported, or that broke its contract."""


# --- storage and commits ----------------------------------------------------------------------
class StorageError(HoodooError):
    """The store failed: the operation did not take place."""


class StorageUnknownError(StorageError):
    """The store failed in a way that leaves open whether the operation took place."""


class CommitError(HoodooError):
    """The commit was not published."""


class CommitConflictError(CommitError):
    """Another writer's instant stands in the way; this write left nothing behind."""


class InstantGoneError(CommitConflictError, FileNotFoundError):
    """An instant was archived, or undone, between the look at the timeline and the read of its
    file."""


class PendingClusteringError(CommitError):
    """A write would change rows that a pending clustering rewrites; it left nothing behind."""


class CommitUnknownError(CommitError):
    """It is not known whether the commit was published: read the timeline before trying again."""


class StoragePluginError(PluginError, StorageUnknownError):
    """A storage plugin broke its contract: whether the operation took place is not known."""


# --- engines ----------------------------------------------------------------------------------
class EngineError(HoodooError):
    """The engine can't run: no Java, a PySpark of the wrong version, workers that differ."""


class HoodooWarning(UserWarning):
    """The one category of warnings that Hoodoo gives."""


def warn(message: str) -> None:
    """A HoodooWarning that points at the first caller outside of the package."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, HoodooWarning, stacklevel=level)


def _is_ours(module: str) -> bool:
    """Of this package, or of a plugin's whose name begins like it."""
    return module == "hoodoo" or module.startswith(("hoodoo.", "hoodoo_"))
