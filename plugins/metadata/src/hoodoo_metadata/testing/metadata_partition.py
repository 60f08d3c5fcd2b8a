"""What every partition of the metadata table promises: the contract of
:class:`hoodoo_metadata.hookspecs.metadata_partition.MetadataPartition` as tests.

Usage::

    class TestMine(MetadataPartitionContract):
        @pytest.fixture
        def partition(self):
            return MyPartition(...)

        @pytest.fixture
        def table(self, tmp_path):
            return ...  # a table with rows
"""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa
import pytest
from hoodoo.hookspecs.participant import ActionChange
from hoodoo.model.commit import Operation
from hoodoo.model.instant import Instant, State

from hoodoo_metadata.hookspecs.metadata_partition import PARTITION_ENTRIES, MetadataPartition


class MetadataPartitionContract:
    """Subclass, and answer the fixtures ``partition`` and ``table``."""

    @pytest.fixture
    def partition(self) -> MetadataPartition:
        raise NotImplementedError("override the fixture `partition`")

    @pytest.fixture
    def table(self) -> Any:
        raise NotImplementedError("override the fixture `table`")

    def test_it_travels(self, partition: MetadataPartition) -> None:
        assert pickle.loads(pickle.dumps(partition)).groups == partition.groups >= 1

    def test_it_begins_with_entries_in_order(
        self, partition: MetadataPartition, table: Any
    ) -> None:
        state = table.handle.write_target(None, "local")
        _check(partition, partition.begin(state))

    def test_the_same_action_gives_the_same_entries(
        self, partition: MetadataPartition, table: Any
    ) -> None:
        state = table.handle.write_target(None, "local")
        write = state.timeline.writes()[-1]
        metadata = state.timeline.metadata(state.storage, write)
        change = ActionChange(
            state.storage,
            state.timeline,
            Instant(write.requested, write.action, State.INFLIGHT),
            Operation.UPSERT,
            state.schema,
            metadata.stats,
            engine=state.engine,
            serializer=state.serializer,
        )
        first, again = (list(partition.delta(change)) for _ in range(2))
        _check(partition, first)
        assert [(g.group, g.entries.to_pylist()) for g in first] == [
            (g.group, g.entries.to_pylist()) for g in again
        ]


def _check(partition: MetadataPartition, groups: Any) -> None:
    seen = set()
    for group in groups:
        assert 0 <= group.group < partition.groups and group.group not in seen
        seen.add(group.group)
        assert group.entries.schema == PARTITION_ENTRIES
        keys = group.entries.column("key").to_pylist()
        assert keys == sorted(set(keys))
        assert group.deleted is None or group.deleted.type == pa.string()
