"""Stored filters: what filters beside the base files say of asked keys, so that most files are not
opened."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from attrs import frozen
from hoodoo.hookspecs.file_format import BaseFileFormat, MembershipFilter, StoresFilters
from hoodoo.hookspecs.index import IndexContext
from hoodoo.hookspecs.registration import Settings
from hoodoo.kernel.registry import kernel
from hoodoo.kernel.resolve import make
from hoodoo.storage.api import Storage

from hoodoo_standard.hookspecs.key_filters import KeyFilters

# Bytes of a filter for each row of its file, about: 43 bits a key, as base64.
_ROW_BYTES = 7
# As in :mod:`hoodoo_standard.index.lookup`.
_FILTER_COST = 2


@frozen
class StoredFilters:
    """Of one table: ``found`` is where ``filters`` has them."""

    storage: Storage
    file_format: BaseFileFormat
    filters: KeyFilters
    found: bytes

    @classmethod
    def of(cls, context: IndexContext) -> StoredFilters | None:
        """None where nobody has any of the table of ``context``."""
        timeline = context.timeline
        if timeline is None or not isinstance(context.file_format, StoresFilters):
            return None
        for offer in kernel().offers("key_filters"):
            filters: KeyFilters = make(offer, Settings(timeline.config))
            found = filters.find(context.storage, timeline)
            if found is not None:
                return cls(context.storage, context.file_format, filters, found)
        return None

    def read(self, paths: Sequence[str]) -> Iterator[tuple[str, Asked]]:
        """The filters of those of ``paths`` that have one."""
        assert isinstance(self.file_format, StoresFilters)
        for stored in self.filters.read(self.storage, self.found, paths):
            rows = len(stored.content) // _ROW_BYTES
            yield stored.path, Asked(self.file_format.opened_filter(stored), rows)


@frozen
class Asked:
    """A filter of a file of about so many ``rows``."""

    filter: MembershipFilter
    rows: int

    def candidates(self, asked: pa.ChunkedArray) -> pa.ChunkedArray | None:
        """Those of ``asked`` that the file may have; None where reading the file is cheaper than to
        find out."""
        if len(asked) * _FILTER_COST > self.rows:
            return None
        return asked.filter(self.filter.might_contain(asked))
