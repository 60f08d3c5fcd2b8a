"""Simple index: the stored keys themselves are read, of those files that can hold an asked key.

The asked keys travel to the file readers as a side table, so stored keys never leave their task.
Above a number of bytes, both sides meet in an exchange instead.
"""

from __future__ import annotations

import pyarrow.compute as pc
from attrs import frozen
from hoodoo.errors import ConfigError
from hoodoo.hookspecs.engine import Stream
from hoodoo.hookspecs.index import IndexContext
from hoodoo.hookspecs.registration import Settings

from hoodoo_standard.index.exchanged import distinct_paths, exchanged
from hoodoo_standard.index.matching import MatchKeys, asked_table
from hoodoo_standard.index.plan import KeyReader, base_files, file_tasks
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
        return cls(side_bytes=_bytes(settings))

    def locate(self, keys: Stream, context: IndexContext) -> Stream:
        engine, by_partition = context.engine, not self.is_global
        if context.key_bytes > self.side_bytes:
            paths = distinct_paths(keys, context) if by_partition else None
            return exchanged(keys, base_files(context, paths), context, by_partition)
        asked = asked_table(engine.collect(keys), by_partition)
        paths = pc.unique(asked.column("partition_path")).to_pylist() if by_partition else None
        files = base_files(context, paths) if asked.num_rows else []
        step = MatchKeys(engine.side(asked), KeyReader.of(context), by_partition)
        return engine.map(file_tasks(engine, files), step)


def global_from_settings(settings: Settings) -> SimpleIndex:
    """The global form: Hudi's GLOBAL_SIMPLE."""
    moves = (settings.get(MOVES.key, MOVES.default) or "").lower() == "true"
    return SimpleIndex(is_global=True, moves_partitions=moves, side_bytes=_bytes(settings))


def _bytes(settings: Settings) -> int:
    text = settings.get(SIDE_BYTES.key, SIDE_BYTES.default) or ""
    if not text.isdigit():
        raise ConfigError(
            f"option {SIDE_BYTES.key}", f"must be a number of bytes, not {text!r}.",
            f"the default is {SIDE_BYTES.default}.",
        )  # fmt: skip
    return int(text)
