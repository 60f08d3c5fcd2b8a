"""Who writes when several do: Hoodoo, pyiceberg, deltalake, each as its documentation says."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
from attrs import define, frozen

SCHEMA = pa.schema(
    [("id", pa.string()), ("part", pa.string()), ("writer", pa.int64()), ("n", pa.int64())]
)


class Refused(Exception):
    """The time was over before the write was acknowledged."""


@define
class Tally:
    """``attempts``: how often a write was brought as far as asking for its commit. ``calls``: how often
    the program that writes had to call; more than there are writes where it has to try again."""

    attempts: int = 0
    calls: int = 0


Write = Callable[[pa.Table, Tally, float], None]


class Contender(Protocol):
    """Instances are pickled to the processes that write."""

    @property
    def name(self) -> str: ...

    def create(self, path: str, rows: pa.Table, parted: bool) -> None:
        """A table with these rows; by partition, if ``parted``."""

    def writer(self, path: str) -> Write:
        """Opens the table once. Each call upserts rows until that is acknowledged, or raises Refused
        after the deadline (of time.monotonic)."""

    def read(self, path: str) -> pa.Table: ...


@frozen
class Hoodoo:
    """Tries again by itself: nothing is configured, cleaning and archiving are inline. Attempts are counted
    from the lines that the observer of hoodoo-standard writes."""

    name: str = "hoodoo"
    table_type: str = "COPY_ON_WRITE"

    def create(self, path: str, rows: pa.Table, parted: bool) -> None:
        import hoodoo

        made = hoodoo.create(
            path, SCHEMA, name="contention", record_key="id", index="bucket",
            partition_by="part" if parted else (), table_type=self.table_type,
            options={"hoodie.bucket.index.num.buckets": 1},
        )  # fmt: skip
        made.bulk_insert(rows)

    def writer(self, path: str) -> Write:
        import hoodoo
        import structlog
        from hoodoo.errors import CommitConflictError

        table = hoodoo.open(path)
        started: list[str] = []

        def seen(logger: object, method: str, line: Any) -> Any:
            if line["event"] == "write.requested":
                started.append(line["instant"])
            raise structlog.DropEvent

        structlog.configure(processors=[seen])

        def write(rows: pa.Table, tally: Tally, deadline: float) -> None:
            started.clear()
            try:
                while True:
                    tally.calls += 1
                    try:
                        table.upsert(rows)
                        return
                    except CommitConflictError as error:
                        if time.monotonic() > deadline:
                            raise Refused from error
            finally:
                tally.attempts += len(started)

        return write

    def read(self, path: str) -> pa.Table:
        import hoodoo

        return hoodoo.open(path).read(columns=SCHEMA.names).to_arrow()


@frozen
class Iceberg:
    """``upsert`` of a table in an SQLite catalogue. pyiceberg asks again by itself (4 times, from 0.12 on);
    after that, or where it found a conflict, the caller reads the table anew and repeats. Every request
    to the catalogue is an attempt, and so is what a conflict ended before its request."""

    name: str = "pyiceberg"

    def _catalog(self, path: str) -> Any:
        from pyiceberg.catalog.sql import SqlCatalog

        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        return SqlCatalog(
            "bench", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}"
        )

    def create(self, path: str, rows: pa.Table, parted: bool) -> None:
        from pyiceberg.partitioning import PartitionField, PartitionSpec
        from pyiceberg.schema import Schema
        from pyiceberg.transforms import IdentityTransform
        from pyiceberg.types import LongType, NestedField, StringType

        types = {"id": StringType(), "part": StringType(), "writer": LongType(), "n": LongType()}
        schema = Schema(
            *(
                NestedField(i, name, t, required=False)
                for i, (name, t) in enumerate(types.items(), 1)
            )
        )
        by = PartitionField(source_id=2, field_id=1000, transform=IdentityTransform(), name="part")
        catalog = self._catalog(path)
        catalog.create_namespace("bench")
        table = catalog.create_table(
            "bench.t", schema, partition_spec=PartitionSpec(by) if parted else PartitionSpec()
        )
        table.append(rows)

    def writer(self, path: str) -> Write:
        import logging

        from pyiceberg.exceptions import CommitFailedException, ValidationException
        from sqlalchemy.exc import OperationalError

        logging.getLogger("pyiceberg").setLevel(logging.ERROR)
        catalog = self._catalog(path)
        asked: list[int] = []
        commit = catalog.commit_table

        def counted(*args: Any, **named: Any) -> Any:
            asked.append(1)
            return commit(*args, **named)

        catalog.commit_table = counted

        def write(rows: pa.Table, tally: Tally, deadline: float) -> None:
            while True:
                tally.calls += 1
                asked.clear()
                try:
                    catalog.load_table("bench.t").upsert(rows, join_cols=["id"])
                    return
                except (CommitFailedException, ValidationException, OperationalError) as error:
                    if not isinstance(error, CommitFailedException):
                        asked.append(1)
                    if time.monotonic() > deadline:
                        raise Refused from error
                finally:
                    tally.attempts += len(asked)

        return write

    def read(self, path: str) -> pa.Table:
        found: pa.Table = self._catalog(path).load_table("bench.t").scan().to_arrow()
        return found


@frozen
class Delta:
    """``merge``; on a conflict that deltalake can't resolve the caller opens the table again and repeats. How
    often deltalake asks again by itself is not seen, so its attempts are calls."""

    name: str = "deltalake"

    def create(self, path: str, rows: pa.Table, parted: bool) -> None:
        from deltalake import write_deltalake

        write_deltalake(path, rows, partition_by=["part"] if parted else None)

    def writer(self, path: str) -> Write:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError

        def write(rows: pa.Table, tally: Tally, deadline: float) -> None:
            parts = sorted(set(rows.column("part").to_pylist()))
            # Without the partition written out, deltalake takes every merge for a reader of all of them.
            within = ", ".join(f"'{p}'" for p in parts)
            match = f"t.id = s.id AND t.part = s.part AND t.part IN ({within})"
            while True:
                tally.calls += 1
                tally.attempts += 1
                try:
                    merge = DeltaTable(path).merge(rows, match, source_alias="s", target_alias="t")
                    merge.when_matched_update_all().when_not_matched_insert_all().execute()
                    return
                except DeltaError as error:
                    if time.monotonic() > deadline:
                        raise Refused from error

        return write

    def read(self, path: str) -> pa.Table:
        from deltalake import DeltaTable

        return DeltaTable(path).to_pyarrow_table(columns=SCHEMA.names)


CONTENDERS: tuple[Contender, ...] = (
    Hoodoo(),
    Hoodoo("hoodoo, merged on read", "MERGE_ON_READ"),
    Iceberg(),
    Delta(),
)
