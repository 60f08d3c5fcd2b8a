"""What whoever stores filters of record keys promises: the contract of
:class:`hoodoo_standard.hookspecs.key_filters.KeyFilters` as tests.

Usage::

    class TestMine(KeyFiltersContract):
        @pytest.fixture
        def key_filters(self):
            return MyFilters()

        @pytest.fixture
        def table(self, tmp_path):
            return ...  # a table with rows, and with the filters of its base files
"""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hoodoo.hookspecs.file_format import StoresFilters
from hoodoo.model.meta import RECORD_KEY

from hoodoo_standard.hookspecs.key_filters import KeyFilters


class KeyFiltersContract:
    """Subclass, and answer the fixtures ``key_filters`` and ``table``."""

    @pytest.fixture
    def key_filters(self) -> KeyFilters:
        raise NotImplementedError("override the fixture `key_filters`")

    @pytest.fixture
    def table(self) -> Any:
        raise NotImplementedError("override the fixture `table`")

    def test_no_key_of_a_file_is_denied(self, key_filters: KeyFilters, table: Any) -> None:
        state = table.handle.write_target(None, "local")
        paths = [s.base_file.path for s in state.slices if s.base_file is not None]
        found = key_filters.find(state.storage, state.timeline)
        assert found is not None and paths
        travelled = pickle.loads(pickle.dumps(key_filters))
        asked = [*paths, "no/such_0-0-0_1.parquet"]
        known = {stored.path: stored for stored in travelled.read(state.storage, found, asked)}
        assert known and set(known) <= set(paths)
        file_format = state.file_format
        assert isinstance(file_format, StoresFilters)
        for path, stored in known.items():
            with state.file_format.reader(state.storage, path) as reader:
                batches = [batch.column(0) for batch in reader.batches([RECORD_KEY])]
            keys = pa.chunked_array(batches, pa.string())
            assert pc.all(file_format.opened_filter(stored).might_contain(keys)).as_py()

    def test_of_no_file_nothing_is_read(self, key_filters: KeyFilters, table: Any) -> None:
        state = table.handle.write_target(None, "local")
        found = key_filters.find(state.storage, state.timeline)
        assert found is not None
        assert list(key_filters.read(state.storage, found, [])) == []
