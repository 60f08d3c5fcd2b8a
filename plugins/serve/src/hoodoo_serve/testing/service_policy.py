"""What every policy of services promises: the contract of
:class:`hoodoo_serve.hookspecs.service_policy.ServicePolicy` as tests.

Usage::

    class TestMine(ServicePolicyContract):
        @pytest.fixture
        def policy(self):
            return "mine"  # its name, if it is installed, or an object

        options = {"mine.hours": "2-4"}  # what it reads

The suite makes small tables of the columns ``id``, ``v`` and ``ts``, merged on read.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
from hoodoo.hookspecs.action import AfterWrite
from hoodoo.kernel.resolve import resolve
from hoodoo.table.table import Table, create
from hoodoo.table.table import open as open_table

SCHEMA = pa.schema([("id", pa.int64()), ("v", pa.string()), ("ts", pa.int64())])


class ServicePolicyContract:
    """Give the fixture ``policy``."""

    options: ClassVar[Mapping[str, str]] = {}
    writes: ClassVar[int] = 6

    def prepare(self, path: Path) -> Table:
        """A table that has something to do for most policies: ``writes`` deltacommits of five
        rows."""
        table = create(
            str(path), SCHEMA, name="t", record_key="id", ordering="ts", table_type="MERGE_ON_READ"
        )
        for ts in range(self.writes):
            columns = {"id": range(5), "v": [f"v{ts}"] * 5, "ts": [ts] * 5}
            table.upsert(pa.table({k: list(v) for k, v in columns.items()}, schema=SCHEMA))
        return open_table(str(path), self.options)

    def test_looking_changes_nothing(self, tmp_path: Path, policy: Any) -> None:
        table = self.prepare(tmp_path / "t")
        before = _files(tmp_path)
        services = self._of(policy, table)
        assert all(isinstance(service, AfterWrite) for service in services)
        assert len({service.what for service in services}) == len(services), "names are unique"
        assert _files(tmp_path) == before

    def test_no_row_changes_and_it_comes_to_an_end(self, tmp_path: Path, policy: Any) -> None:
        table = self.prepare(tmp_path / "t")
        rows = _rows(table)
        for _ in range(10):  # each round makes the next one shorter
            if not self._round(policy, table):
                break
        else:
            raise AssertionError("something is due for ever, though nobody writes")
        assert _rows(table) == rows

    def test_an_empty_table(self, tmp_path: Path, policy: Any) -> None:
        table = create(str(tmp_path / "t"), SCHEMA, name="t", record_key="id")
        assert not self._round(policy, table)

    def _of(self, policy: Any, table: Table) -> list[AfterWrite]:
        found = resolve("service_policy", policy, table.handle.settings).instance
        return sorted(found.services(table.handle), key=lambda service: service.order)

    def _round(self, policy: Any, table: Table) -> bool:
        done, handle = False, table.handle
        for service in self._of(policy, table):
            answer = service.run(handle.timeline(), lambda: handle.engine(None, "local"))
            assert isinstance(answer, bool)
            done |= answer
        return done


def _files(root: Path) -> list[str]:
    heartbeats = "heartbeat"
    return sorted(str(p) for p in root.rglob("*") if p.is_file() and heartbeats not in str(p))


def _rows(table: Table) -> list[dict[str, Any]]:
    return sorted(
        table.read(columns=["id", "v", "ts"]).to_arrow().to_pylist(), key=lambda row: row["id"]
    )
