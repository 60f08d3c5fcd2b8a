"""What all ways to make a partition path have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import pyarrow as pa
from attrs import frozen
from hoodoo.errors import ConfigError


class Paths(Protocol):
    """The partition side of a key generator. Picklable."""

    @property
    def fields(self) -> tuple[str, ...]:
        """The partition columns."""

    @property
    def logical_timestamps(self) -> bool:
        """Whether timestamps in keys are text."""

    @property
    def levels(self) -> int:
        """How many directories a path is, at least."""

    def paths(self, batch: pa.RecordBatch) -> pa.StringArray:
        """The partition path of each row, without nulls."""

    def refuse_ambiguous(self, batch: pa.RecordBatch) -> None:
        """DataError where the path of a row could be another row's, which has other values."""

    def values(self, path: str, schema: pa.Schema) -> Mapping[str, Any] | None:
        """As :meth:`~hoodoo.hookspecs.key_generator.KeyGenerator.partition_values`."""


@frozen
class UnsaidPaths:
    """Those that a table does not say how to make (Spark Hudi notes no settings of CUSTOM).
    Whatever makes or notes a path is told the ``reason``; reads and services do neither."""

    fields: tuple[str, ...]
    reason: ConfigError
    logical_timestamps: bool = False
    levels: int = 1

    def paths(self, batch: pa.RecordBatch) -> pa.StringArray:
        raise self.reason

    def refuse_ambiguous(self, batch: pa.RecordBatch) -> None:
        raise self.reason

    def properties(self) -> Mapping[str, str]:
        raise self.reason

    def values(self, path: str, schema: pa.Schema) -> Mapping[str, Any] | None:
        return None


class ByPaths:
    """The members of a key generator that its ``paths`` answer."""

    __slots__ = ()
    paths: Paths

    @property
    def partition_fields(self) -> tuple[str, ...]:
        """The partition columns."""
        return self.paths.fields

    def refuse_ambiguous(self, batch: pa.RecordBatch) -> None:
        """DataError where the path of a row could be another row's."""
        self.paths.refuse_ambiguous(batch)

    def partition_paths(self, batch: pa.RecordBatch) -> pa.Array:
        """The partition path of each row."""
        return self.paths.paths(batch)

    def partition_values(self, path: str, schema: pa.Schema) -> Mapping[str, Any] | None:
        """The values that a path tells."""
        return self.paths.values(path, schema)


def noted(paths: Paths) -> Mapping[str, str]:
    """The properties that a new table gets so that paths stay what they are."""
    made: Mapping[str, str] = getattr(paths, "properties", dict)()
    return made
