"""Metadata partition: a partition of the metadata table that Hudi does not know."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

import pyarrow as pa
from attrs import field, frozen
from hoodoo.hookspecs.answers import Column, Whole, answers
from hoodoo.hookspecs.family import Family
from hoodoo.hookspecs.participant import ActionChange, TableState

# What a file group holds: keys in the order of their bytes, each once.
PARTITION_ENTRIES = pa.schema([("key", pa.binary()), ("value", pa.binary())])


@frozen
class GroupEntries:
    """What comes into the file group of the number ``group``: ``entries`` (PARTITION_ENTRIES,
    ascending, each key once); ``deleted``: keys (strings) that go."""

    group: int
    entries: pa.Table = field(factory=PARTITION_ENTRIES.empty_table)
    deleted: pa.Array | None = None


@runtime_checkable
class MetadataPartition(Protocol):
    """Contract suite: ``hoodoo_metadata.testing.metadata_partition``. Picklable: workers merge its
    values.

    What it answers is put into log files and base files of HFiles, decided together with each
    action, undone with it and compacted. The newest entry of a key counts, unless it
    :class:`MergesValues`."""

    @property
    @answers(Whole(1))
    def groups(self) -> int:
        """Number of its file groups; it stays so for a table."""

    @property
    def keys(self) -> bool:
        """Whether :meth:`delta` needs the record keys that came and went
        (:attr:`ActionChange.keys`)."""

    def begin(self, state: TableState) -> Iterable[GroupEntries]:
        """Its entries of the table as it is. For groups that nothing is said of, there are none."""

    def delta(self, change: ActionChange) -> Iterable[GroupEntries]:
        """What ``change`` adds. It has to come out alike each time: an action may be begun again.
        Of actions that went on while :meth:`begin` was at work it is asked later, with the record
        keys of all of them together."""


@runtime_checkable
class MergesValues(Protocol):
    """Optional for a :class:`MetadataPartition`: several entries of a key count together."""

    @answers(Column(pa.binary(), like="newer"))
    def merge(self, older: pa.Array, newer: pa.Array) -> pa.Array:
        """What the values of pairs of entries say together."""


FAMILY = Family(
    "hoodoo_metadata_partitions",
    """Offer partitions of the metadata table. When: it is kept, made or compacted. Default: those
    of Hudi, and Hoodoo's own, alone.

    A table gets it by ``table.rebuild_index(name)``, the name of the registration. The factory
    returns a :class:`MetadataPartition`.""",
    (MetadataPartition,),
    optional=(MergesValues,),
    travels=True,
)
