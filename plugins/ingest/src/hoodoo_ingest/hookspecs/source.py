"""Source: where rows come from, portion by portion, and how far they were read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa
from attrs import field, frozen
from hoodoo.hookspecs.family import Family

# Rows that can't be read: where each lies, its text (null: a whole file), and what is wrong.
BAD_ROWS = pa.schema([("place", pa.string()), ("row", pa.string()), ("error", pa.string())])


@frozen
class Key:
    """A key of a section of the configuration. ``kind`` returns the value of the right type, or
    raises ValueError with what it has to be; ``hoodoo_ingest.kinds`` has the usual ones."""

    kind: Callable[[Any], Any]
    about: str
    default: Any = None
    required: bool = False


@frozen
class Position:
    """How far a source was read. ``own``: what the source makes of it, anything that JSON has.
    ``hudi``: the same as Hudi's HoodieStreamer writes it; empty if it has no such source. Of a
    position that HoodieStreamer wrote, ``own`` is None."""

    own: Any = None
    hudi: str = ""


@frozen
class Arrived:
    """What was read. ``rows``: a pyarrow Table, or a DataFrame of Spark. ``bad``: rows that can't
    be read, with the columns of ``BAD_ROWS``; ``close`` gives back what was held for the rows."""

    rows: Any
    bad: pa.Table | None = None
    close: Callable[[], object] | None = None


@frozen
class Portion:
    """What a round reads: ``count`` files or messages (``what``, in the singular), with ``size``
    bytes if that is known. ``names`` say which, for people. ``upto``: the position after it.
    ``more``: something is already there that the limits left to the next round. ``read`` may be
    called again, and then has to return the same rows."""

    upto: Position
    what: str
    count: int
    read: Callable[[], Arrived]
    names: tuple[str, ...] = ()
    size: int | None = None
    more: bool = False


@frozen
class Around:
    """What a source gets to know. ``schema``: that of ``[schema]``, the columns that rows have to
    have; None if there is none. ``types``: the columns of the table, for formats without types of
    their own. ``options``: of the store. ``bad_rows``: after so many a source may stop looking for
    more. ``spark`` starts the session, or finds it. ``memory``: what the source keeps while the
    process runs, for it is opened again in each round. ``keys``: columns of the record key; a row
    is bad where all of them are null or empty. ``outputs``: what the ingestion writes to."""

    schema: pa.Schema | None = None
    types: pa.Schema | None = None
    options: Mapping[str, str] = field(default={}, repr=False)
    bad_rows: int = 0
    spark: Callable[[], Any] | None = None
    memory: MutableMapping[str, Any] = field(factory=dict)
    keys: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()


@runtime_checkable
class Reading(Protocol):
    """A source that is open. Called on the driver, by one thread."""

    def next(self, after: Position | None) -> Portion | None:
        """What comes after a position (None: from the start); None if there is nothing new.

        Changes nothing, in the source or elsewhere. Raises DataError if rows after the position are
        lost, and ConfigError for a position that is of another source."""


@runtime_checkable
class Source(Protocol):
    """Contract suite: ``hoodoo_ingest.testing.source``."""

    @property
    def keys(self) -> Mapping[str, Key]:
        """The keys of the section ``[source]``, beside ``kind``."""

    @property
    def engine(self) -> str | None:
        """The engine that it needs; None: any."""

    def open(self, given: Mapping[str, Any], around: Around) -> Reading:
        """The source that ``given`` describes: a value for each key. Reads nothing yet. Raises
        ConfigError for values that do not go together."""


FAMILY = Family(
    "hoodoo_sources",
    """Offer sources of ``hoodoo ingest``. When: an ingestion begins. Default: ``files``, ``kafka``.

    Names are looked up with ``kind`` in the section ``[source]``. The factory returns a
    :class:`Source`.""",
    (Source,),
    parts={"reading_of_source": (Reading,)},
)
