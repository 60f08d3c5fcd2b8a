"""Index: which file group holds a key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import pyarrow as pa
from attrs import frozen

from hoodoo.hookspecs.answers import Column, Rows, Whole, answers
from hoodoo.hookspecs.engine import Engine, Stream, Workspace
from hoodoo.hookspecs.family import Family, Optional
from hoodoo.hookspecs.file_format import BaseFileFormat
from hoodoo.hookspecs.key_generator import KeyGenerator
from hoodoo.hookspecs.participant import ActionChange, KeysCheck, TableState
from hoodoo.hookspecs.serializer import Serializer
from hoodoo.model.config import TableConfig
from hoodoo.model.filegroup import FileSlice
from hoodoo.storage.api import Storage
from hoodoo.timeline.publish import CoupledCommit
from hoodoo.timeline.timeline import Timeline

# What `locate` takes and answers.
KEYS_SCHEMA = pa.schema([("record_key", pa.string()), ("partition_path", pa.string())])
LOCATIONS_SCHEMA = pa.schema(
    [("record_key", pa.string()), ("partition_path", pa.string()), ("file_id", pa.string())]
)
# What `locate_rows` answers.
ROWS_SCHEMA = LOCATIONS_SCHEMA.append(pa.field("position", pa.int64()))
# Roles of registrations: keeps keys unique in the whole table and stores nothing; Spark Hudi knows
# it by the name that ``hoodie.index.type`` has for it, and would fail over any other there.
ANYWHERE, HUDI_READS = "anywhere", "hudi_reads"


@frozen
class IndexContext:
    """What an index may use: the engine, the store, and the latest committed slices of the table.

    ``file_format`` reads their base files. ``serializer`` is for its exchanges. ``key_generator``
    is given where the base files don't hold ``_hoodie_record_key`` (virtual keys): the keys are
    then made from its columns.
    """

    engine: Engine
    storage: Storage
    slices: Sequence[FileSlice]
    file_format: BaseFileFormat
    key_generator: KeyGenerator | None = None
    serializer: Serializer | None = None
    key_rows: int = 0  # rows of the key stream, where known
    key_bytes: int = 0  # bytes of its record keys, where known
    # Of the table, as ``slices`` were seen: for what lies beside its files.
    timeline: Timeline | None = None
    compares: bool = False  # the answer is only compared with the rows: no write uses it
    # KEYS_SCHEMA: the rows of the key stream, perhaps more than once, where the driver has them
    # already; else None.
    keys: pa.Table | None = None
    workspace: Workspace | None = None  # where rows may be staged; None: nowhere
    on_driver: bool = True  # keys and places are few enough for the driver, or it has them already


@runtime_checkable
class Index(Protocol):
    """Contract suite: ``hoodoo.testing.contracts.index``. Picklable."""

    @property
    def is_global(self) -> bool:
        """Keys are unique over the whole table (True) or within a partition path (False)."""

    @property
    def moves_partitions(self) -> bool:
        """Global only: a key that arrives with another partition path moves there (True), or is
        updated where it lies (False)."""


@runtime_checkable
class LookupIndex(Index, Protocol):
    """An index that must look keys up."""

    @answers(Rows(LOCATIONS_SCHEMA, "LOCATIONS_SCHEMA"))
    def locate(self, keys: Stream, context: IndexContext) -> Stream:
        """Where the keys lie.

        ``keys``: distinct rows of KEYS_SCHEMA (staged: may be read more than once). Returns rows of
        LOCATIONS_SCHEMA, one per found key; ``partition_path`` is where the key lies. A non-global
        index answers only locations in the asked partition path.

        Of keys which only log files have core finds the place itself, unless
        :attr:`IndexTraits.knows_logs`.
        """


@runtime_checkable
class SeesRows(Protocol):
    """What a lookup index may have in addition: it looks into base files, and sees which row has a
    key. Log files then name that row, and reads merge by it (record positions): a wrong number
    gives wrong rows."""

    @answers(Rows(ROWS_SCHEMA, "ROWS_SCHEMA"))
    def locate_rows(self, keys: Stream, context: IndexContext) -> Stream:
        """As :meth:`LookupIndex.locate`, with the number of the key's row in its base file, from
        0; null where only log files have the key, or the file has it twice."""


@runtime_checkable
class IndexTraits(Protocol):
    """Optional members, each by itself; :class:`LearningIndex` explains the last three."""

    @property
    def knows_logs(self) -> bool:
        """Whether it answers for keys which only log files have, too."""

    @property
    def properties(self) -> tuple[str, ...]:
        """Table properties that decide where keys belong: a change refuses older writes."""

    def stands_in(self, context: IndexContext) -> LookupIndex | None:
        """The index, global as this one, that lookups use while the entries of this index can't be
        trusted; None: this index is used. Default: always this index."""

    def undone(self, storage: Storage, config: TableConfig, requested: str) -> None:
        """Forget the instant ``requested``. Without it such entries stay, and never count."""

    def rebuild(self, state: TableState) -> None:
        """Replace at once all that it knows of the instants of ``state.timeline`` by the keys of
        ``state.slices`` (``state.keys_of``), and leave what it learned of others."""

    def verify(self, storage: Storage, timeline: Timeline) -> KeysCheck:
        """What compares its entries with the rows."""


@runtime_checkable
class StoredIndex(Protocol):
    """Optional, for an index that stores locations of keys: stale entries can be found then."""

    @answers(Rows(LOCATIONS_SCHEMA, "LOCATIONS_SCHEMA"))
    def entries(self, context: IndexContext) -> Stream:
        """LOCATIONS_SCHEMA of all entries, one for each key and place."""


@runtime_checkable
class LearningIndex(Protocol):
    """An index that learns where keys lie from what is written, instead of reading files. What a
    lookup index may have in addition; it takes part in what happens to the tables that have it (a
    participant of its own).

    What it learned of an instant counts once that instant is completed: a lookup skips entries of
    instants that ``context.timeline.contains_or_before_start`` denies, and of a key uses the last
    completion (``context.timeline.completion_time``). Its factory uses only the properties of the
    table: a writer that undoes an action does not know the options with which it began.

    Of the optional members of :class:`IndexTraits` ``rebuild`` is what
    ``table.rebuild_index(name)`` and ``table.switch_index(name)`` call.
    """

    def written(self, change: ActionChange) -> CoupledCommit | None:
        """Learn ``change.keys`` under the pending ``change.instant``, durably; what has to be put
        with its completion, or None. ``change.keys.rows``: KEY_CHANGES of all keys that came, and
        of those that went, with what was replaced; ``change.keys.files`` has the place of each
        number. The same change may come again. A key that came and went counts as come."""


@runtime_checkable
class ComputedIndex(Index, Protocol):
    """An index where the file group follows from the key alone (a bucket index)."""

    @property
    @answers(Whole(1))
    def buckets(self) -> int:
        """Number of buckets in each partition path."""

    @answers(Column(pa.int32(), like="record_keys", what="buckets", least=0, below="buckets"))
    def bucket(self, record_keys: pa.Array) -> pa.Array:
        """The bucket of each key: int32 array, ``0 <= bucket < buckets``."""

    def file_id(self, bucket: int, uuid: str) -> str:
        """The full file id of a new file group of ``bucket``; ``uuid`` is its random part."""

    @answers(Whole(below="buckets"))
    def bucket_of(self, file_id: str) -> int:
        """The inverse of :meth:`file_id`. Raises CorruptTableError for a foreign file id."""


@frozen
class BucketPlace:
    """The file group of a bucket. ``begun``: the pending clustering that will make it, which log
    files are named after until then."""

    file_id: str
    begun: str | None = None


@runtime_checkable
class PathBuckets(Protocol):
    """The buckets of some partition paths, numbered in each of them. Picklable."""

    @property
    @answers(Whole(1))
    def buckets(self) -> int:
        """More than the number of any bucket."""

    @answers(Column(pa.int32(), like="record_keys", what="buckets", least=0, below="buckets"))
    def bucket(self, record_keys: pa.Array, partition_paths: pa.Array) -> pa.Array:
        """The bucket of each key in its partition path: int32 array."""

    def second(self, record_keys: pa.Array, partition_paths: pa.Array) -> pa.Array | None:
        """The bucket that each key is to have once a pending clustering is done, null where that is
        the same; None where no row has another one. Rows are put into both."""

    def place(self, partition_path: str, bucket: int) -> BucketPlace:
        """Where the bucket lies, whether the file group is there or not."""


@runtime_checkable
class PathIndex(Index, Protocol):
    """An index where the file group follows from the key, and from what is said of its partition
    path beside the table's files: buckets that are split and merged. Contract suite:
    ``hoodoo.testing.contracts.path_index``."""

    def in_paths(
        self,
        context: IndexContext,
        paths: Sequence[str],
        instant: str | None = None,
        replaced: bool = False,
        doubles: bool = False,
    ) -> PathBuckets:
        """The buckets of ``paths``, as the table is now. ``instant``: of a write that is about to
        put rows there; with ``replaced`` in the place of all file groups of these paths.
        ``doubles``: :meth:`PathBuckets.second` answers."""


# What says where a key lies without looking.
COMPUTED = (ComputedIndex, PathIndex)


@runtime_checkable
class Tees(Protocol):
    """An index that asks two others and reports where they differ, until the second is trusted
    (RFC-08). Writes use the first, and all other members are those of the first."""

    @property
    def first(self) -> LookupIndex | ComputedIndex:
        """The index whose answers writes use."""

    @property
    def second(self) -> LookupIndex:
        """The index that is compared with the first one. Its answers change nothing."""


FAMILY = Family(
    "hoodoo_indexes",
    """Offer indexes. When: a write must find keys. Default: ``simple``.

    Names and aliases are looked up with the argument ``index`` of create and open, and the options
    ``hoodie.index.class`` (first, as in Hudi) and ``hoodie.index.type``. The factory returns a
    :class:`LookupIndex`, a :class:`ComputedIndex` or a :class:`PathIndex`.

    An index that is global, or computed, binds the table: it is noted in its properties, and
    writers that name another one are refused.""",
    (LookupIndex, ComputedIndex, PathIndex),
    optional=(IndexTraits, SeesRows, StoredIndex, LearningIndex, Tees),
    lacking={"knows_logs": Optional(False), "properties": Optional(())},
    parts={"buckets": (PathBuckets,)},
    travels=True,
)
