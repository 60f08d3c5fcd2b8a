"""Tables whose partitions get too old: what goes, what stays, and who else may write meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import hoodoo
import hoodoo_retention.action
import pyarrow as pa
import pytest
from hoodoo.errors import ConfigError
from hoodoo.table.table import Table
from hoodoo.testing.stores import GatedStorage
from hoodoo.timeline import properties
from hoodoo_rows.testing.tables import Tuples
from hoodoo_standard.storage.local import LocalStorage

SCHEMA = pa.schema([("id", pa.int64()), ("day", pa.string()), ("v", pa.string())])
TTL = "hoodie.partition.ttl."
DAYS = {f"{TTL}strategy.days.retain": "30"}
CREATION = {**DAYS, f"{TTL}management.strategy.type": "KEEP_BY_CREATION_TIME"}
EVENT = {**DAYS, f"{TTL}management.strategy.type": "KEEP_BY_EVENT_TIME"}
# Version, type, with a metadata table or not.
KINDS = [
    (9, "COPY_ON_WRITE", "true"),
    (9, "COPY_ON_WRITE", "false"),
    (9, "MERGE_ON_READ", "true"),
    (9, "MERGE_ON_READ", "false"),
    (6, "COPY_ON_WRITE", "false"),
    (6, "MERGE_ON_READ", "false"),
]

rows = Tuples(SCHEMA)


def left(path: Path) -> dict[int, str]:
    found = hoodoo.open(str(path)).read(columns=["id", "v"]).to_arrow().to_pylist()
    return {row["id"]: row["v"] for row in found}


def created(path: Path, kind: tuple[int, str, str] = KINDS[1], **more: Any) -> Path:
    version, table_type, metadata = kind
    options = {"hoodie.metadata.enable": metadata, **more}
    hoodoo.create(
        str(path), SCHEMA, record_key="id", partition_by="day", table_version=version,
        table_type=table_type, options=options,
    )  # fmt: skip
    return path


@pytest.fixture
def month_later(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From now on the action thinks that it is 30 days after this moment: what was written before it is too old."""

    def call() -> None:
        now = datetime.now(timezone.utc) + timedelta(days=30)
        monkeypatch.setattr(hoodoo_retention.action, "_now", lambda: now)

    return call


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_by_the_newest_write(
    tmp_path: Path, kind: tuple[int, str, str], month_later: Callable[[], None]
) -> None:
    """A partition that is still written to stays, also where the rows went to log files."""
    path = created(tmp_path / "t", kind)
    table = hoodoo.open(str(path), options=DAYS)
    table.upsert(rows((1, "a", "old"), (2, "b", "old"), (3, "c", "old")))
    month_later()
    table.upsert(rows((2, "b", "new"), (4, "d", "new")))
    looked = table.run("retention", dry_run=True)
    assert (looked.instant, looked.partitions) == ("", ("a", "c"))
    assert len(left(path)) == 4
    done = table.run("retention")
    assert done.partitions == ("a", "c") and left(path) == {2: "new", 4: "new"}
    commit = table.timeline().find(done.instant)
    assert commit is not None and commit.action == "replacecommit"
    metadata = table.timeline().metadata(table.handle.storage, commit)
    assert metadata.operation.value == "DELETE_PARTITION" and set(metadata.replaced) == {"a", "c"}
    count = len(table.timeline().instants)
    assert not table.run("retention").instant and len(table.timeline().instants) == count
    assert left(path) == {2: "new", 4: "new"}
    table.upsert(
        rows(
            (1, "a", "back"),
        )
    )
    assert left(path) == {1: "back", 2: "new", 4: "new"}
    assert not table.run("retention").instant, "what came back is young"
    assert not table.verify().findings


def test_by_the_first_write(tmp_path: Path, month_later: Callable[[], None]) -> None:
    path = created(tmp_path / "t")
    table = hoodoo.open(str(path), options=CREATION)
    table.upsert(rows((1, "a", "old"), (2, "b", "old")))
    month_later()
    table.upsert(rows((2, "b", "new"), (3, "c", "new")))
    assert table.run("retention").partitions == ("a", "b")
    assert left(path) == {3: "new"}


def test_by_the_date_in_the_path(tmp_path: Path) -> None:
    path = created(tmp_path / "t")
    table = hoodoo.open(str(path), options=EVENT)
    today = f"{datetime.now(timezone.utc):%Y-%m-%d}"
    table.upsert(rows((1, "2020-02-01", "a"), (2, today, "b"), (3, "2020-01-31", "c")))
    looked = table.run("retention", dry_run=True)
    assert looked.partitions == ("2020-01-31", "2020-02-01"), "the oldest first"
    most = {f"{TTL}strategy.max.delete.partitions": "1"}
    done = table.run("retention", options=most)
    assert (done.partitions, done.left) == (("2020-01-31",), ("2020-02-01",))
    other = {f"{TTL}strategy.partition.selected": "2019-01-01,2019-01-02"}
    assert not table.run("retention", options=other).instant
    assert table.run("retention", days=10).partitions == ("2020-02-01",)
    assert left(path) == {2: "b"}
    table.upsert(rows((4, "someday", "d")))
    with pytest.raises(ConfigError, match="partition someday"):
        table.run("retention")


@pytest.mark.parametrize(
    ("partition", "spelt", "first", "old"),
    [
        ("20200131", "yyyyMMdd", 0, True),
        ("us/20200131/07", "yyyyMMdd/HH", 1, True),
        ("29990131/app", "yyyyMMdd", 0, False),
        (None, "yyyyMMdd", 0, False),
    ],
)
def test_dates_in_paths(tmp_path: Path, partition: Any, spelt: str, first: int, old: bool) -> None:
    options = {
        **EVENT,
        f"{TTL}strategy.event.time.format": spelt,
        f"{TTL}strategy.event.time.segment.start.index": str(first),
    }
    table = hoodoo.open(str(created(tmp_path / "t")), options=options)
    table.upsert(rows((1, partition, "a")))
    assert bool(table.run("retention", dry_run=True).partitions) == old
    nulls = {f"{TTL}strategy.event.time.delete.hive.default.partition": "true"}
    found = table.run("retention", dry_run=True, options=nulls).partitions
    assert bool(found) == (old or partition is None)


def test_hive_style(tmp_path: Path) -> None:
    hive = {"hoodie.datasource.write.hive_style_partitioning": "true"}
    table = hoodoo.open(str(created(tmp_path / "t", **hive)), options=EVENT)
    table.upsert(rows((1, "2020-01-31", "a")))
    assert table.run("retention").partitions == ("day=2020-01-31",)


def test_a_table_without_partitions(tmp_path: Path, month_later: Callable[[], None]) -> None:
    table = hoodoo.create(str(tmp_path / "t"), SCHEMA, record_key="id", options=DAYS)
    table.upsert(rows((1, "a", "old")))
    month_later()
    assert not table.run("retention").instant


def test_never_by_default(tmp_path: Path, month_later: Callable[[], None]) -> None:
    table = hoodoo.open(str(created(tmp_path / "t")))
    table.upsert(rows((1, "a", "old")))
    month_later()
    assert not table.run("retention").instant


def test_after_writes(tmp_path: Path) -> None:
    inline = {**EVENT, f"{TTL}inline": "true"}
    path = created(tmp_path / "t")
    hoodoo.open(str(path), options=inline).upsert(
        rows((1, "2020-01-31", "a"), (2, "2999-01-01", "b"))
    )
    assert left(path) == {2: "b"}
    with pytest.raises(ConfigError, match="yyyy"):
        hoodoo.open(str(path), options={**inline, f"{TTL}strategy.event.time.format": "yyyy-MM"})
    with pytest.warns(
        UserWarning, match=r"inline retention .* table.run\('retention'\) finishes it"
    ):
        hoodoo.open(str(path), options=inline).upsert(rows((3, "someday", "c")))
    assert left(path) == {2: "b", 3: "c"}


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_beside_a_writer(
    tmp_path: Path, kind: tuple[int, str, str], month_later: Callable[[], None]
) -> None:
    """Rows that another writer puts into a partition while it is about to be dropped are not lost with it."""
    path = created(tmp_path / "t", kind)
    table = hoodoo.open(str(path))
    table.upsert(rows((1, "a", "old"), (2, "b", "old")))
    month_later()
    came: list[str] = []

    def gate(operation: str, name: str) -> None:
        if "replacecommit" in name and operation == "put_if_absent" and not came:
            came.append(name)
            hoodoo.open(str(path)).upsert(rows((3, "a", "new")))

    store = GatedStorage(LocalStorage(str(path)), gate)
    done = Table(store, properties.load(store), DAYS).run("retention")
    assert came and done.partitions == ("b",)
    assert left(path) == {1: "old", 3: "new"}


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from hoodoo_cli.commandline import main

    path = created(tmp_path / "t")
    hoodoo.open(str(path)).upsert(rows((1, "2020-01-31", "a"), (2, "2999-01-01", "b")))
    event = ["-o", f"{TTL}management.strategy.type=KEEP_BY_EVENT_TIME", "--days", "30"]
    for more, said in (
        (["--dry-run"], "2020-01-31\n"),
        (["--yes"], "1 partition dropped."),
        (["--yes"], "Nothing"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(["retention", str(path), *event, *more])
        assert not ended.value.code and said in capsys.readouterr().out
    assert left(path) == {2: "b"}


@pytest.mark.spark
def test_on_spark(tmp_path: Path, spark: Any) -> None:
    path = created(tmp_path / "t")
    frame = spark.createDataFrame(
        [(1, "2020-01-31", "a"), (2, "2999-01-01", "b")], "id long, day string, v string"
    )
    table = hoodoo.open(str(path), options={**EVENT, f"{TTL}inline": "true"}, engine="spark")
    table.upsert(frame)
    assert left(path) == {2: "b"}
    assert not table.run("retention").instant
