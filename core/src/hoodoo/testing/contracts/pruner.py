"""What every pruner promises: the contract of :class:`hoodoo.hookspecs.pruner.Pruner` as tests.

Usage::

    class TestMine(PrunerContract):
        @pytest.fixture
        def pruner(self):
            return MyPruner(...)

        @pytest.fixture
        def table(self, tmp_path):
            return ...  # a table with several file slices, about which the pruner knows something
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hoodoo.hookspecs.pruner import Pruner, PruneRequest, PrunesPaths


class PrunerContract:
    """Subclass, and answer the fixtures ``pruner`` and ``table``."""

    @pytest.fixture
    def pruner(self) -> Pruner:
        raise NotImplementedError("override the fixture `pruner`")

    @pytest.fixture
    def table(self) -> Any:
        raise NotImplementedError("override the fixture `table`")

    def request_of(self, table: Any, where: pc.Expression, column: str) -> PruneRequest:
        source = table.handle.source()
        stored = table.read().plan.stored
        return PruneRequest(
            source.storage,
            source.timeline,
            where,
            stored,
            (column,),
            key_generator=source.key_generator,
        )

    def test_no_slice_with_a_row_of_the_result_is_left_out(
        self, pruner: Pruner, table: Any
    ) -> None:
        slices = table.file_slices()
        rows = table.read(["_hoodie_file_name", *table.schema.names]).to_arrow()
        for column in table.schema.names:
            for value in pc.unique(rows.column(column)).to_pylist()[:5]:
                if value is None or isinstance(value, dict | list):
                    continue
                here = pc.field(column) == pa.scalar(value, table.schema.field(column).type)
                kept = pruner.keep(self.request_of(table, here, column), slices)
                assert set(kept) <= set(slices) and len(set(kept)) == len(kept)
                names = {s.base_file.name for s in kept if s.base_file is not None}
                wanted = rows.filter(here).column("_hoodie_file_name").to_pylist()
                left_out = {s.base_file.name for s in slices if s.base_file is not None} - names
                assert not left_out & set(wanted)

    def test_no_partition_path_with_a_row_of_the_result_is_left_out(
        self, pruner: Pruner, table: Any
    ) -> None:
        """Of a table whose rows lie where their columns say."""
        if not isinstance(pruner, PrunesPaths):
            return
        rows = table.read(["_hoodie_partition_path", *table.schema.names]).to_arrow()
        for column in table.schema.names:
            for value in pc.unique(rows.column(column)).to_pylist()[:5]:
                if value is None or isinstance(value, dict | list):
                    continue
                typed = pa.scalar(value, table.schema.field(column).type)
                here = pc.field(column)
                for where in (here == typed, here != typed, here.isin([value]), here <= typed):
                    paths = pruner.paths(self.request_of(table, where, column))
                    lying = rows.filter(where).column("_hoodie_partition_path").to_pylist()
                    assert paths is None or set(lying) <= set(paths)
