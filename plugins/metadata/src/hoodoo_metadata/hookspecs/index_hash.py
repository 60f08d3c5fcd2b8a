"""Index hash: which bucket of a growing record index a key belongs to."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import pyarrow as pa
from hoodoo.hookspecs.answers import Column, answers
from hoodoo.hookspecs.family import Family


@runtime_checkable
class KeyHash(Protocol):
    """Contract suite: ``hoodoo_metadata.testing.index_hash``. Picklable."""

    @answers(Column(pa.int64(), like="keys", what="numbers", least=0))
    def spread(self, keys: pa.Array) -> pa.Array:
        """A number for each of ``keys`` (strings, no nulls): int64, not negative, the same for
        equal keys, now and ever. The bucket is its remainder."""


FAMILY = Family(
    "hoodoo_index_hashes",
    """Offer hashes of record keys. When: a growing record index is asked or told. Default:
    ``java``, as Hudi's record index has it.

    The name is noted in the table (``hoodoo.index.hash``). The factory returns a
    :class:`KeyHash`.""",
    (KeyHash,),
    travels=True,
)
