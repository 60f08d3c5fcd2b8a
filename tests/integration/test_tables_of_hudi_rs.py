"""Tables as hudi-rs makes and leaves them. Beside hudi-rs itself: tests/interop/test_hudi_rs.py."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import hoodoo
import pyarrow as pa
import pytest
from hoodoo.errors import CorruptTableError, HoodooWarning, UnsupportedTableError
from hoodoo.testing.directory import DirectoryStorage
from hoodoo.testing.distributions import made
from hoodoo.testing.tables import change_properties
from hoodoo_metadata.hfile import Checksum
from hoodoo_metadata.hfile.format import DATA, HEADER, HEADER_BYTES, INFO, ROOT

SCHEMA = pa.schema(
    [("v", pa.string()), ("id", pa.int64()), ("ts", pa.int64()), ("city", pa.string())]
)
ROWS = pa.table(
    {"v": ["a", "b"], "id": [1, 2], "ts": [1, 1], "city": ["oslo", "rome"]}, schema=SCHEMA
)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("verb", ["upsert", "insert", "bulk_insert", "insert_overwrite_table"])
@pytest.mark.parametrize("partition", [None, "city"])
@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_the_first_rows_of_a_table_that_says_no_schema_bring_it(
    tmp_path: Path, kind: str, partition: str | None, verb: str
) -> None:
    path = str(tmp_path / "t")
    hoodoo.create(
        path, SCHEMA, record_key="id", ordering="ts", partition_by=partition, table_type=kind
    )
    store = DirectoryStorage(path)
    change_properties(store, {"hoodie.table.create.schema": None})
    table = hoodoo.open(path)
    assert table.read().to_arrow().num_rows == 0 and table.verify().ok
    assert table.schema.names == []
    getattr(table, verb)(ROWS)
    assert hoodoo.open(path).schema.names == SCHEMA.names
    hoodoo.open(path).upsert(ROWS.slice(0, 1))
    found = hoodoo.open(path).read(SCHEMA.names).to_arrow().sort_by("id")
    assert found.equals(ROWS)
    assert hoodoo.open(path).verify().ok


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_the_first_rows_bring_the_column_of_a_secondary_index(tmp_path: Path, kind: str) -> None:
    """Of an index that stayed when the only write was taken back."""
    path = str(tmp_path / "t")
    hoodoo.create(path, SCHEMA, record_key="id", index="record_index", table_type=kind)
    store = DirectoryStorage(path)
    change_properties(store, {"hoodie.table.create.schema": None})
    written = hoodoo.open(path).upsert(ROWS)
    hoodoo.open(path).create_index("by_city", "city")
    hoodoo.open(path).rollback(written.instant)
    assert hoodoo.open(path).schema.names == []
    hoodoo.open(path).upsert(ROWS)
    table = hoodoo.open(path)
    assert table.read(["id"], where="city = 'rome'").to_pylist() == [{"id": 2}]
    assert table.verify().ok


def test_a_root_that_is_not_marked_is_a_note_and_the_next_write_marks_it(tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = hoodoo.create(str(path), SCHEMA, record_key="id", ordering="ts")
    table.upsert(ROWS)
    store = DirectoryStorage(str(path))
    change_properties(store, {"hoodie.table.create.schema": None})
    mark = path / ".hoodie_partition_metadata"
    mark.unlink()
    report = hoodoo.open(str(path)).verify()
    assert report.ok and any(mark.name in note for note in report.notes)
    hoodoo.open(str(path)).upsert(ROWS.slice(0, 1))
    assert mark.exists()
    report = hoodoo.open(str(path)).verify()
    assert report.ok and not report.notes


def by_a_program_without_buckets(path: Path, rows: pa.Table) -> None:
    """Upsert ``rows`` as hudi-rs does: it finds keys in files, gives new ones to a small file or to a new file group, and
    its files say that it wrote them."""
    store, before = DirectoryStorage(str(path)), set(path.rglob("*.parquet"))
    config = hoodoo.open(str(path)).config
    kept = {k: v for k, v in config.properties.items() if "index" in k}
    change_properties(store, dict.fromkeys(kept))
    hoodoo.open(str(path)).upsert(rows)
    change_properties(store, kept)
    for file in set(path.rglob("*.parquet")) - before:
        data = file.read_bytes()
        assert b"parquet-cpp-arrow" in data
        file.write_bytes(data.replace(b"parquet-cpp-arrow", b"parquet-rs-000000"))


def keyed(numbers: range, value: str) -> pa.Table:
    size = len(numbers)
    return pa.table(
        {"v": [value] * size, "id": list(numbers), "ts": [1] * size, "city": ["oslo"] * size},
        schema=SCHEMA,
    )


@pytest.mark.parametrize("partition", [None, "city"])
def test_keys_in_buckets_that_are_not_theirs_are_not_stored_twice(
    tmp_path: Path, partition: str | None
) -> None:
    path = tmp_path / "t"
    table = hoodoo.create(
        str(path), SCHEMA, record_key="id", partition_by=partition, index="bucket",
        options={"hoodie.bucket.index.num.buckets": "4"},
    )  # fmt: skip
    table.upsert(keyed(range(4), "ours"))
    by_a_program_without_buckets(path, keyed(range(4, 12), "theirs"))
    table = hoodoo.open(str(path))
    assert table.read().count() == 12
    for act in (table.upsert, table.insert, table.delete):
        with pytest.raises(UnsupportedTableError, match="keys of other buckets") as failed:
            act(keyed(range(6), "twice"))
        assert "switch_index" in str(failed.value) and str(path) in str(failed.value)
    assert hoodoo.open(str(path)).read().count() == 12
    table.switch_index("simple")
    hoodoo.open(str(path)).upsert(keyed(range(6), "again"))
    found = hoodoo.open(str(path)).read(["id", "v"]).to_arrow().sort_by("id")
    assert found["id"].to_pylist() == list(range(12))
    assert found["v"].to_pylist() == ["again"] * 6 + ["theirs"] * 6
    assert hoodoo.open(str(path)).verify().ok


@pytest.mark.parametrize("engine", ["SIMPLE", "CONSISTENT_HASHING"])
def test_file_groups_of_no_bucket_have_a_way_out_that_keeps_the_rows(
    tmp_path: Path, engine: str
) -> None:
    path = tmp_path / "t"
    table = hoodoo.create(
        str(path), SCHEMA, record_key="id", table_type="MERGE_ON_READ", index="bucket",
        options={"hoodie.bucket.index.num.buckets": "4", "hoodie.index.bucket.engine": engine},
    )  # fmt: skip
    table.upsert(keyed(range(4), "ours"))
    by_a_program_without_buckets(path, keyed(range(2, 12), "theirs"))
    table = hoodoo.open(str(path))
    assert table.read().count() == 12
    with pytest.raises(CorruptTableError, match="switch_index"):
        table.upsert(keyed(range(6), "twice"))
    assert hoodoo.open(str(path)).read().count() == 12
    table.switch_index("simple")
    hoodoo.open(str(path)).upsert(keyed(range(6), "again"))
    found = hoodoo.open(str(path)).read(["id", "v"]).to_arrow().sort_by("id")
    assert found["id"].to_pylist() == list(range(12))
    assert found["v"].to_pylist() == ["again"] * 6 + ["theirs"] * 6
    assert hoodoo.open(str(path)).verify().ok


def test_what_others_put_into_the_right_buckets_is_looked_at_once(tmp_path: Path) -> None:
    path = tmp_path / "t"
    options = {"hoodie.bucket.index.num.buckets": "1"}  # whatever they do is right
    table = hoodoo.create(str(path), SCHEMA, record_key="id", index="bucket", options=options)
    table.upsert(keyed(range(4), "ours"))
    by_a_program_without_buckets(path, keyed(range(2, 6), "theirs"))
    table = hoodoo.open(str(path))
    table.upsert(keyed(range(3), "again"))
    timeline = table.timeline()
    seen = timeline.metadata(table.handle.storage, timeline.writes()[-1]).extra[
        "hoodoo.bucket.rows.seen"
    ]
    assert timeline.writes()[-2].requested in seen
    assert table.read().count() == 6 and table.verify().ok


@pytest.fixture
def unnoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], AbstractContextManager[None]]:
    """Within it commits are as those of Spark Hudi: their writer knows buckets, and notes nothing of what it has seen."""

    table = with_buckets(tmp_path / "other", 2)
    noting = made("participant", "bucket_rows").join(table.handle.storage, table.timeline())

    @contextmanager
    def within() -> Iterator[None]:
        with monkeypatch.context() as patched:
            patched.setattr(type(noting), "begin", lambda self, change: None)
            yield

    return within


def with_buckets(path: Path, count: int, kind: str = "COPY_ON_WRITE") -> hoodoo.Table:
    options = {"hoodie.bucket.index.num.buckets": str(count), "hoodie.clean.automatic": "false"}
    return hoodoo.create(
        str(path), SCHEMA, record_key="id", table_type=kind, index="bucket", options=options
    )


def test_commits_whose_files_were_cleaned_are_no_fault(
    tmp_path: Path, unnoted: Callable[[], AbstractContextManager[None]]
) -> None:
    path = tmp_path / "t"
    table = with_buckets(path, 2)
    table.upsert(keyed(range(4), "ours"))
    with unnoted():
        for value in ("one", "two", "three"):
            table.upsert(keyed(range(4), value))
    assert table.clean(policy="KEEP_LATEST_FILE_VERSIONS", fileversions_retained=1).files
    for value in ("ours", "again"):
        hoodoo.open(str(path)).upsert(keyed(range(1, 6), value))
    table = hoodoo.open(str(path))
    assert table.read().count() == 6 and table.verify().ok


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("again", [[1], [0], [0, 1]], ids=["first", "second", "both"])
def test_keys_in_wrong_buckets_are_seen_in_what_was_written_from_files_that_were_cleaned(
    tmp_path: Path,
    kind: str,
    again: list[int],
    unnoted: Callable[[], AbstractContextManager[None]],
) -> None:
    path = tmp_path / "t"
    table = with_buckets(path, 2, kind)
    table.upsert(keyed(range(4), "ours"))
    if kind == "MERGE_ON_READ":
        table.compact()
    by_a_program_without_buckets(path, keyed(range(4, 12), "theirs"))
    with unnoted():
        table = hoodoo.open(str(path))
        table.upsert(keyed(range(4), "spark").take(again))
    if kind == "MERGE_ON_READ":
        table.compact()
    assert table.clean(policy="KEEP_LATEST_FILE_VERSIONS", fileversions_retained=1).files
    with pytest.raises(UnsupportedTableError, match="keys of other buckets"):
        hoodoo.open(str(path)).upsert(keyed(range(12), "twice"))
    assert hoodoo.open(str(path)).read().count() == 12


def test_keys_in_wrong_buckets_that_have_left_the_table_since_are_no_fault(
    tmp_path: Path, unnoted: Callable[[], AbstractContextManager[None]]
) -> None:
    path = tmp_path / "t"
    table = with_buckets(path, 2)
    table.upsert(keyed(range(4), "ours"))
    by_a_program_without_buckets(path, keyed(range(4, 12), "theirs"))
    with unnoted():
        hoodoo.open(str(path)).insert_overwrite_table(keyed(range(8), "spark"))
    hoodoo.open(str(path)).upsert(keyed(range(12), "ours"))
    table = hoodoo.open(str(path))
    assert table.read().count() == 12 and table.verify().ok


def test_zeros_in_the_place_of_checksums_are_said_once_and_verify_notes_them(
    tmp_path: Path,
) -> None:
    """Every table of hudi-rs has them: it was corrupt at the first read."""
    path = str(tmp_path / "t")
    table = hoodoo.create(path, SCHEMA, record_key="id", index="record_index")
    table.upsert(ROWS)
    table.rebuild_index()
    for file in (tmp_path / "t/.hoodie/metadata").rglob("*.hfile"):
        data, at = bytearray(file.read_bytes()), 0
        while bytes(data[at : at + 8]) in (DATA, ROOT, INFO):
            magic, size, plain, before, _, chunk, end = HEADER.unpack_from(data, at)
            HEADER.pack_into(data, at, magic, size, plain, before, Checksum.CRC32C, chunk, end)
            assert not any(data[at + end : at + end + 4])
            at += HEADER_BYTES + size
        file.write_bytes(data)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            hoodoo.open(path).upsert(ROWS.slice(0, 1))
            assert hoodoo.open(path).read(where="id = 2").count() == 1
        report = hoodoo.open(path).verify()
    assert report.ok and any("checksums" in note for note in report.notes)
    told = [str(one.message) for one in caught if issubclass(one.category, HoodooWarning)]
    assert len([text for text in told if "checksums" in text and "rebuild-index" in text]) == 1
