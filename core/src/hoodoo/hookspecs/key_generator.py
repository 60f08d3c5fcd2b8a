"""Key generator: record key and partition path of each row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa

from hoodoo.hookspecs.answers import Names, answers
from hoodoo.hookspecs.family import Family, Optional


@runtime_checkable
class KeyGenerator(Protocol):
    """Contract suite: ``hoodoo.testing.contracts.key_generator``. Vectorized; picklable."""

    @property
    @answers(Names())
    def record_key_fields(self) -> tuple[str, ...]:
        """Columns that the record key is made of."""

    @property
    @answers(Names())
    def partition_fields(self) -> tuple[str, ...]:
        """Columns that the partition path is made of; empty if the table is not partitioned."""

    def record_keys(self, batch: pa.RecordBatch) -> pa.Array:
        """The record key of each row: a string array without nulls, as long as ``batch``.

        Raises NullKeyError where a key is null or empty, MissingColumnError where a column lacks.
        """

    def partition_paths(self, batch: pa.RecordBatch) -> pa.Array:
        """The partition path of each row: a string array without nulls; ``""`` if not
        partitioned."""

    def partition_values(self, path: str, schema: pa.Schema) -> Mapping[str, Any] | None:
        """The column values of every row that :meth:`partition_paths` gives ``path``, as Python
        values of the columns' types, or None where the path doesn't tell. Readers prune with them
        where all rows are known to lie there, so a value that is not certain must be left out."""


@runtime_checkable
class KeyTraits(Protocol):
    """What a key generator may have in addition, each member by itself."""

    @property
    def can_be_virtual(self) -> bool:
        """See :func:`can_be_virtual`."""

    @property
    def deletes_only(self) -> bool:
        """See :func:`deletes_only`."""

    def table_properties(self) -> Mapping[str, str]:
        """See :func:`table_properties`."""

    def refuse_ambiguous(self, batch: pa.RecordBatch) -> None:
        """See :func:`refuse_ambiguous`."""

    def deleted_keys(self, keys: pa.ChunkedArray) -> pa.ChunkedArray | Sequence[pa.ChunkedArray]:
        """Where delete blocks name keys that are virtual, or were, in another form than
        ``record_keys`` makes them: the made forms of the keys found in a block, one array or
        several."""

    def delete_block_keys(self, keys: pa.ChunkedArray) -> pa.ChunkedArray:
        """What a new delete block names for ``keys``."""


@runtime_checkable
class GeneratesKeys(Protocol):
    """A key generator whose keys are not in the columns: a row gets its key when it is first
    written.

    Its ``record_key_fields`` are empty; rows can be added and be replaced as a whole, not found by
    key.
    """

    def generated_keys(self, rows: int, instant: str, task: int, first_row: int) -> pa.Array:
        """``rows`` keys, as :meth:`KeyGenerator.record_keys` has them: of the rows ``first_row``
        and following of the ``task``, written at ``instant``. A function of its arguments alone, so
        that a task that runs again makes the same keys; no two rows of an instant get the same
        one."""


@runtime_checkable
class Settles(Protocol):
    """A key generator that may have to look at a stored key before it can write."""

    def settled(self, stored: Callable[[], pa.RecordBatch | None]) -> KeyGenerator:
        """The generator that keys are written with. Called before each write, on the driver.

        ``stored`` reads one row of the table: its ``_hoodie_record_key`` and the columns of
        ``record_key_fields``, or None where there is none. It costs opening a file: call it only if
        the table's properties don't tell. Raises ConfigError where nothing tells.
        """


def refuse_ambiguous(generator: KeyGenerator, batch: pa.RecordBatch) -> None:
    """Have ``generator`` look at rows on their way in: DataError where the key or the path of one
    would be read as that of a row with other values. Rows that are stored are not asked."""
    check: Callable[[pa.RecordBatch], None] | None = getattr(generator, "refuse_ambiguous", None)
    if check is not None:
        check(batch)


def record_key_columns(generator: KeyGenerator) -> tuple[str, ...]:
    """The top-level columns of ``record_key_fields``, each once: of nested fields the outermost."""
    return tuple(dict.fromkeys(name.split(".")[0] for name in generator.record_key_fields))


def can_be_virtual(generator: KeyGenerator) -> bool:
    """Whether files may lack its keys, which readers then make again. Hudi accepts such keys of
    SIMPLE, COMPLEX and NON_PARTITION only."""
    return bool(getattr(generator, "can_be_virtual", False))


def deletes_only(generator: KeyGenerator) -> bool:
    """Whether it is for deletes: its partition paths are not those of rows, and only a global index
    finds its keys."""
    return bool(getattr(generator, "deletes_only", False))


def table_properties(generator: KeyGenerator) -> Mapping[str, str]:
    """What a new table has to note, beside the options given, for its keys and paths to stay the
    same."""
    told: Mapping[str, str] = getattr(generator, "table_properties", dict)()
    return told


FAMILY = Family(
    "hoodoo_key_generators",
    """Offer key generators. When: a table is created or opened. Default: by the key and
    partition columns (SIMPLE, COMPLEX, NON_PARTITION; CUSTOM where these are ``column:TYPE``).

    Names and aliases are looked up with ``hoodie.table.keygenerator.type`` and
    ``hoodie.table.keygenerator.class``. The factory returns a :class:`KeyGenerator`.""",
    (KeyGenerator,),
    optional=(KeyTraits, GeneratesKeys, Settles),
    lacking={
        "can_be_virtual": Optional(False),
        "deletes_only": Optional(False),
        "table_properties": Optional(lambda generator: {}),
    },
    travels=True,
)
