"""Index hash: which bucket of a growing record index a key belongs to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

import pyarrow as pa

from hoodoo.hookspecs.marks import hookspec
from hoodoo.hookspecs.registration import Registration


@runtime_checkable
class KeyHash(Protocol):
    """Contract suite: ``hoodoo.testing.contracts.index_hash``. Picklable."""

    def spread(self, keys: pa.Array) -> pa.Array:
        """A number for each of ``keys`` (strings, no nulls): int64, not negative, the same for equal keys,
        now and ever. The bucket is its remainder."""


class IndexHashHooks:
    @hookspec
    def hoodoo_index_hashes(self) -> Iterable[Registration]:
        """Offer hashes of record keys. When: a growing record index is asked or told. Default: ``java``,
        as Hudi's record index has it.

        The name is noted in the table (``hoodoo.index.hash``). The factory returns a :class:`KeyHash`.
        """
