"""Every row of the metadata tables that Spark Hudi wrote is understood, and agrees with the table's data."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import hoodoo
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from attrs import frozen
from golden_tables import LANCE, READ
from hoodoo.kernel.log_files import log_files
from hoodoo.model.column_range import ColumnRange
from hoodoo.model.log_block import BlockKind
from hoodoo.model.meta import FILE_NAME, META_COLUMNS, PARTITION_PATH, RECORD_KEY
from hoodoo_formats.parquet.ranges import file_ranges
from hoodoo_metadata.hfile import FileWindow, HFile
from hoodoo_metadata.partitions.column_stats.from_files import indexed_columns, row_ranges
from hoodoo_metadata.partitions.column_stats.ranges import decode_ranges, encode_range
from hoodoo_metadata.partitions.files.rows import (
    ALL_PARTITIONS,
    FileChanges,
    decode_files,
    encode_files,
    encode_partitions,
    merge_files,
)
from hoodoo_metadata.partitions.record_index.locations import (
    decode_locations,
    encode_locations,
    instants_of,
    millis_of,
)
from hoodoo_metadata.table.keys import column_key, column_prefix, file_key, partition_key
from hoodoo_metadata.table.layout import (
    COLUMN_STATS,
    FILES,
    PARTITION_STATS,
    RECORD_INDEX,
    group_id,
    group_of,
)
from hoodoo_metadata.table.schema import decode_row, record_schema
from hoodoo_rows.produce.base_ranges import partition_range
from hoodoo_standard.storage.local import LocalStorage

# Spark ran in this zone when it wrote some of the tables, whose instants are in local time.
ZONE = "CST6CDT,M3.2.0,M11.1.0"
# Their last write there put files in the place of others, which Hudi counted once more.
REPLACED = {
    "cow_v9_txns_complex_meta": {"region=apac"},
    "cow_v9_txns_simple_overwrite": {"us", "apac", "eu"},
    "mor_avro_v9_txns_simple_meta": {"region=apac"},
}
KINDS = (FILES, COLUMN_STATS, PARTITION_STATS, RECORD_INDEX)
Golden = Callable[[str], Path]


@frozen
class Part:
    """What one HFile, or the deletes of one log file, say. ``whole``: it is a base file. ``moment``: what
    was completed before it is in a base file."""

    partition: str
    group: str
    moment: str
    whole: bool
    entries: list[tuple[str, bytes | None]]
    schema_text: str = ""


def parts(table: Path) -> list[Part]:
    """All of a table's metadata, from the oldest on; a base file comes after the log files in it."""
    home = table / ".hoodie/metadata"
    instants = (f.stem.split("_") for f in (home / ".hoodie/timeline").glob("*_*.deltacommit"))
    completed = {requested: done for requested, done in instants}
    storage = LocalStorage(str(home))
    found = []
    for partition in KINDS:
        for file in sorted((home / partition).glob("*")):
            path = f"{partition}/{file.name}"
            if file.name.endswith(".hfile"):
                group, _, instant = file.stem.split("_")
                opened = HFile.open(FileWindow.of(storage, path))
                text = opened.info["schema"].decode()
                found.append(Part(partition, group, instant, True, list(entries(opened)), text))
            elif ".log." in file.name and not file.name.endswith(".crc"):
                found += log_parts(storage, partition, path, completed)
    return sorted(found, key=lambda part: (part.moment, part.whole))


def entries(file: HFile) -> Iterator[tuple[str, bytes | None]]:
    for batch in file.scan():
        for row in batch.to_pylist():
            yield row["key"].decode(), row["value"]


def log_parts(
    storage: LocalStorage, partition: str, path: str, completed: dict[str, str]
) -> Iterator[Part]:
    group = path.rsplit("/", 1)[1][1:].split("_")[0]
    with log_files().reader(storage, path) as reader:
        assert not reader.damages
        for block in reader.blocks:
            moment = completed[block.instant]
            if block.kind is BlockKind.HFILE:
                window = FileWindow.of(storage, path, block.content_start, block.content_size)
                rows = list(entries(HFile.open(window)))
                yield Part(partition, group, moment, False, rows, block.schema_text)
            else:
                keys = reader.deletes(block, ()).column("record_key").to_pylist()
                yield Part(partition, group, moment, False, [(key, None) for key in keys])


def newest(found: list[Part], partition: str) -> dict[str, tuple[bytes, str]]:
    """The newest value of each key, and the schema it is written with."""
    groups: dict[str, dict[str, tuple[bytes, str]]] = {}
    for part in found:
        if part.partition == partition:
            group = {} if part.whole else groups.setdefault(part.group, {})
            for key, value in part.entries:
                if value is None:
                    group.pop(key, None)
                else:
                    group[key] = (value, part.schema_text)
            groups[part.group] = group
    return {key: row for group in groups.values() for key, row in group.items()}


def with_metadata(golden: Golden, partition: str = FILES) -> list[tuple[str, Path]]:
    tables = [(name, next(p for p in [golden(name)])) for name in [*READ, *LANCE]]
    return [(n, p) for n, p in tables if (p / ".hoodie/metadata" / partition).is_dir()]


@pytest.fixture(scope="module")
def tables(golden: Golden) -> dict[str, tuple[Path, list[Part]]]:
    return {name: (path, parts(path)) for name, path in with_metadata(golden)}


@pytest.fixture
def in_zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", ZONE)
        time.tzset()
        yield
    time.tzset()


def own(value: bytes) -> bytes:
    """``value`` without meta columns: a compaction stores the name of its file there."""
    name = decode_row(value)[FILE_NAME]
    return value if name is None else b"\0" * 5 + value[4 + 2 + (len(name) > 63) + len(name) :]


@pytest.mark.sampled(1, among="long")
def test_there_are_metadata_tables(tables: dict[str, tuple[Path, list[Part]]]) -> None:
    assert len(tables) == 15
    rows = Counter(p.partition for _, found in tables.values() for p in found for _ in p.entries)
    assert all(rows[kind] > 200 for kind in KINDS), rows


def test_schema_and_groups(tables: dict[str, tuple[Path, list[Part]]]) -> None:
    for name, (_, found) in tables.items():
        groups = Counter(kind for kind, _ in {(p.partition, p.group) for p in found})
        for part in found:
            assert part.schema_text in ("", record_schema(9)), name
            if part.entries:
                keys = pa.array([key for key, _ in part.entries])
                numbers = group_of(keys, groups[part.partition])
                assert {group_id(part.partition, int(n)) for n in numbers} == {part.group}, name


@pytest.mark.sampled(1, among="long")
def test_values_are_made_alike(tables: dict[str, tuple[Path, list[Part]]]) -> None:
    """What is decoded and encoded again is the same, byte by byte, save for the order of files."""
    seen: Counter[str] = Counter()
    for name, (_, found) in tables.items():
        for part in found:
            for key, value in part.entries:
                if value is None:
                    continue
                seen[part.partition] += 1
                made = again(part.partition, key, value, part.schema_text)
                if part.partition == FILES:
                    assert decode_row(made) == {**decode_row(value), FILE_NAME: None}, name
                    assert len(made) == len(own(value)), name
                else:
                    assert made == own(value), (name, part, key)
    assert min(seen.values()) > 200


def again(partition: str, key: str, value: bytes, schema_text: str) -> bytes:
    if partition == FILES:
        files = decode_files(value, schema_text)
        if key == ALL_PARTITIONS:
            return encode_partitions(files.added, files.removed)
        return encode_files(files.added, files.removed)
    if partition == RECORD_INDEX:
        place = decode_locations(pa.array([value], pa.binary()), schema_text)
        made: bytes = encode_locations(*place)[0].as_py()
        return made
    (found,) = decode_ranges([value], schema_text)
    if partition == PARTITION_STATS:
        assert key == partition_key(found.column, found.name)
    else:
        assert key.startswith(column_prefix(found.column))
    return encode_range(found)


def test_files_are_those_in_the_folders(tables: dict[str, tuple[Path, list[Part]]]) -> None:
    for name, (path, found) in tables.items():
        listed: dict[str, FileChanges] = {}
        for part in found:
            if part.partition != FILES:
                continue
            for key, value in part.entries:
                assert value is not None
                changes = decode_files(value, part.schema_text)
                older = FileChanges({}) if part.whole else listed.get(key, FileChanges({}))
                listed[key] = merge_files(older, changes)
        marks = (f.parent.relative_to(path) for f in path.rglob(".hoodie_partition_metadata"))
        folders = {str(folder) for folder in marks if ".hoodie" not in folder.parts}
        assert listed.pop(ALL_PARTITIONS).added == dict.fromkeys(folders, 0), name
        for folder in folders:
            there = {
                f.name: f.stat().st_size
                for f in (path / folder).iterdir()
                if f.is_file() and f.name[-3:] != "crc" and f.name != ".hoodie_partition_metadata"
            }
            assert listed[file_key("" if folder == "." else folder)].added == there, name


def test_record_index_agrees_with_the_rows(
    tables: dict[str, tuple[Path, list[Part]]], in_zone: None
) -> None:
    checked = local = 0
    for name, (path, found) in tables.items():
        if name in LANCE:
            continue
        index = newest(found, RECORD_INDEX)
        if not (path / ".hoodie/metadata" / RECORD_INDEX).is_dir():
            continue
        rows = hoodoo.open(str(path)).read(columns=list(META_COLUMNS)).to_arrow().to_pylist()
        places = decode_locations(pa.array([value for value, _ in index.values()]))
        there: dict[str, set[tuple[str, str]]] = {}  # some tables have a key twice
        for row in rows:
            file_id = row[FILE_NAME].lstrip(".").split("_")[0]
            there.setdefault(row[RECORD_KEY], set()).add((row[PARTITION_PATH], file_id))
        assert index.keys() == there.keys(), name
        for key, *place in zip(index, *(p.to_pylist() for p in places[:2]), strict=True):
            assert tuple(place) in there[key], (name, key)
            checked += len(there[key]) == 1
        stamps = {i.requested for i in hoodoo.open(str(path)).timeline().writes()}
        zones = [zone for zone in ("UTC", "LOCAL") if instants_in(places[2], zone) <= stamps]
        assert zones, name
        told = instants_of(places[2], zones[0]).to_pylist()
        assert [millis_of(instant, zones[0]) for instant in told] == places[2].to_pylist()
        local += zones == ["LOCAL"]
    assert checked > 60
    assert local > 2


def instants_in(millis: pa.Array, zone: str) -> set[str]:
    return set(instants_of(millis, zone).to_pylist())


@pytest.mark.sampled(1, among="long")
def test_ranges_of_base_files_are_made_alike(tables: dict[str, tuple[Path, list[Part]]]) -> None:
    """From the footers of all base files that are still there: the bytes that Spark Hudi stored."""
    same = 0
    for name, (path, found) in tables.items():
        files = {f.name: f for f in path.rglob("*.parquet") if ".hoodie" not in f.parts}
        footers = {file: pq.read_metadata(where) for file, where in files.items()}
        for part in found:
            if part.partition != COLUMN_STATS:
                continue
            for key, value in part.entries:
                assert value is not None
                (stored,) = decode_ranges([value], part.schema_text)
                if stored.name not in files:
                    continue
                folder = str(files[stored.name].parent.relative_to(path)).removeprefix(".")
                assert key == column_key(stored.column, folder, stored.name)
                (mine,) = file_ranges(footers[stored.name], [stored.column], stored.name)
                assert mine == stored, name
                assert mine.is_known
                assert encode_range(mine) == own(value), name
                same += 1
    assert same > 1000


def test_ranges_of_log_files_are_made_alike(tables: dict[str, tuple[Path, list[Part]]]) -> None:
    """From the rows of all log files that are there; of those that only delete, as well."""
    same: Counter[bool] = Counter()
    for name, (path, found) in tables.items():
        rows = {f.name: log_rows(path, f) for f in path.rglob(".*.log.*") if in_data(path, f)}
        stats = [part for part in found if part.partition == COLUMN_STATS]
        for value in (value for part in stats for _, value in part.entries):
            assert value is not None
            (stored,) = decode_ranges([value])
            if stored.name in rows:
                held = rows[stored.name]
                if not held.column_names:  # it only deletes
                    held = pa.table({stored.column: pa.array([], pa.string())})
                (mine,) = row_ranges(held, [stored.column], stored.name)
                assert encode_range(mine) == own(value), name
                same[held.num_rows > 0] += 1
    assert min(same[True], same[False]) > 100, same


def in_data(path: Path, file: Path) -> bool:
    return ".hoodie" not in file.relative_to(path).parts and file.suffix != ".crc"


def log_rows(path: Path, file: Path) -> pa.Table:
    with log_files().reader(LocalStorage(str(path)), str(file.relative_to(path))) as reader:
        blocks = [block for block in reader.blocks if block.kind is BlockKind.AVRO]
        return pa.concat_tables([reader.rows(block) for block in blocks] or [pa.table({})])


def test_the_columns_are_those_that_hudi_chose(
    tables: dict[str, tuple[Path, list[Part]]],
) -> None:
    chosen = 0
    for name, (path, found) in tables.items():
        stored = decode_ranges(v for v, _ in newest(found, COLUMN_STATS).values())
        columns = {r.column for r in stored if r.name.endswith(".parquet")}
        if columns:
            schema = hoodoo.open(str(path)).schema
            assert columns == set(indexed_columns(schema, {})), name
            chosen += 1
    assert chosen > 5


def test_ranges_of_partitions_are_those_of_their_files(
    tables: dict[str, tuple[Path, list[Part]]],
) -> None:
    """Merging what the newest slices' files hold gives what is stored of the partition."""
    checked = 0
    for name, (path, found) in tables.items():
        stored = newest(found, PARTITION_STATS)
        if not stored or name in LANCE:
            continue
        slices = hoodoo.open(str(path)).file_slices()
        listed = {f.path for s in slices for f in (s.base_file, *s.log_files) if f is not None}
        of_files = decode_ranges(v for v, _ in newest(found, COLUMN_STATS).values())
        for value, text in stored.values():
            (whole,) = decode_ranges([value], text)
            inside: list[ColumnRange] = [
                r
                for r in of_files
                if r.column == whole.column and f"{whole.name}/{r.name}" in listed
            ]
            if inside:
                made = partition_range(inside, whole.name)
                if whole.name not in REPLACED.get(name, ()):
                    assert made == whole, (name, inside)
                    checked += 1
                else:
                    assert whole.minimum.as_py() <= made.minimum.as_py(), name
                    assert whole.maximum.as_py() >= made.maximum.as_py(), name
                    assert whole.values > made.values, name
    assert checked > 50
