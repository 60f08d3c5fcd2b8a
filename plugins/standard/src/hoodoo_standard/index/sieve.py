"""What a base file rules out, before any of its keys is read.

Most formats know the smallest and the largest record key, and have a filter of all of them
(Parquet: Hudi's bloom filter, in the footer). Both may be wrong in one direction only: a rewrite
that deletes rows keeps the filter (ADR 8), so it may know keys that the file no longer has, never
the reverse. What passes the sieve is therefore read and compared."""

from __future__ import annotations

import pyarrow as pa
from attrs import frozen
from hoodoo.hookspecs.file_format import BaseFileReader, key_filter, key_range

from hoodoo_standard.index.plan import KeyFile
from hoodoo_standard.index.stored_filters import StoredFilters

# Asking a filter for a key takes 0.3 us; reading and matching a stored one 0.06 us on a local disk
# and 0.15 us from a store of 100 MB/s.
_FILTER_COST = 2


@frozen
class Sieve:
    """``ranges``: ask for smallest and largest key. ``filters``: ask the bloom filter, where a file
    has one. ``stored``: filters that are asked before a file is opened."""

    ranges: bool = True
    filters: bool = False
    stored: StoredFilters | None = None

    def bounds(self, opened: BaseFileReader) -> tuple[str, str] | None:
        """The file's smallest and largest key; None where they say nothing."""
        found = key_range(opened) if self.ranges else None
        return found if found is not None and all(map(_plain, found)) else None

    def candidates(
        self, asked: pa.ChunkedArray, file: KeyFile, opened: BaseFileReader
    ) -> pa.ChunkedArray:
        """Those of ``asked`` (strings) that the file may have. The filter is not asked where
        reading the file is cheaper.

        Raises CorruptTableError naming the file if its filter is none.
        """
        if not self.filters or len(asked) * _FILTER_COST > opened.num_rows:
            return asked
        known = key_filter(opened)
        return asked if known is None else asked.filter(known.might_contain(asked))


def _plain(bound: str) -> bool:
    """Whether byte order and Java's UTF-16 order agree on comparisons with this bound.

    They disagree only between characters from U+E000 and those beyond U+FFFF. Writers compare in
    either order, so other bounds prune nothing.
    """
    return all(char < "\ue000" for char in bound)
