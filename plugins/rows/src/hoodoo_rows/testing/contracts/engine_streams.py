"""Rows and streams for the contract suite of engines."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hoodoo.hookspecs.engine import (
    Engine,
    Stream,
    Workspace,
)

from hoodoo_rows.testing import engine_steps as steps

ROWS = pa.schema([("key", pa.int64()), ("name", pa.string())])


def rows(count: int, start: int = 0) -> pa.Table:
    """``count`` rows: ``key`` counts from ``start``, ``name`` is its text; every 7th is null."""
    keys = pa.array(range(start, start + count), pa.int64())
    sevens = pc.equal(pc.subtract(keys, pc.multiply(pc.divide(keys, 7), 7)), 0)
    names = pc.if_else(sevens, pa.scalar(None, pa.string()), keys.cast(pa.string()))
    return pa.Table.from_arrays([keys, names], schema=ROWS)


def by_key(table: pa.Table) -> pa.Table:
    return table.sort_by("key").combine_chunks()


class MakesStreams:
    """Fixtures, and streams that are made of tables."""

    @pytest.fixture
    def engine(self) -> Engine:
        raise NotImplementedError

    @pytest.fixture
    def workspace(self) -> Workspace:
        raise NotImplementedError

    def spread(self, engine: Engine, table: pa.Table, pieces: int = 4) -> Stream:
        """A stream of ``table`` in ``pieces`` partitions, whatever the engine makes of a source."""
        step = max(1, -(-table.num_rows // pieces))
        tables = [table.slice(i * step, step) for i in range(pieces)]
        return engine.union([engine.source(t) for t in tables])

    def routed(
        self, engine: Engine, table: pa.Table, parts: int, slots: int = 3, pieces: int = 4
    ) -> Stream:
        """``table`` after an exchange on part = key mod parts, slot = key mod slots."""
        stream = self.spread(engine, table, pieces)
        stream = engine.map(stream, steps.Route(stream.schema, parts, slots))
        return engine.exchange(stream, parts)
