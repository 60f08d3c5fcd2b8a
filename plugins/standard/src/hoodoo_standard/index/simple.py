"""Simple index: the stored keys themselves are read, of those files that can hold an asked key."""

from __future__ import annotations

from attrs import frozen
from hoodoo.hookspecs.engine import Stream
from hoodoo.hookspecs.index import IndexContext
from hoodoo.hookspecs.registration import Settings

from hoodoo_standard.index.lookup import Sieve, located
from hoodoo_standard.options import MOVES, SIDE_BYTES


@frozen
class SimpleIndex:
    """``is_global``: keys are unique over the table. Holds no state; the table is its data.

    A key that the table holds in several file groups is answered once for each of them.
    """

    is_global: bool = False
    moves_partitions: bool = False
    side_bytes: int = 256 << 20

    @classmethod
    def from_settings(cls, settings: Settings) -> SimpleIndex:
        return cls(side_bytes=settings.value(SIDE_BYTES))

    def locate(self, keys: Stream, context: IndexContext) -> Stream:
        return located(keys, context, not self.is_global, self.side_bytes, Sieve())

    def locate_rows(self, keys: Stream, context: IndexContext) -> Stream:
        return located(keys, context, not self.is_global, self.side_bytes, Sieve(), rows=True)


def global_from_settings(settings: Settings) -> SimpleIndex:
    """The global form: Hudi's GLOBAL_SIMPLE."""
    return SimpleIndex(
        is_global=True,
        moves_partitions=settings.value(MOVES),
        side_bytes=settings.value(SIDE_BYTES),
    )
