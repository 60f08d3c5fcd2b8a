"""Every timeline, properties and data file name that Spark Hudi wrote into the golden tables."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest
from hoodoo.errors import CorruptTableError
from hoodoo.testing.directory import DirectoryStorage
from hoodoo.timeline import codec, javaprops, partitions, properties, timeline, view
from hoodoo.timeline.layouts import LAYOUTS
from hoodoo.timeline.names import parse_path
from hoodoo.timeline.snapshot import Snapshot

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = Path(os.environ.get("HOODOO_GOLDEN", ROOT / "tests/golden/data"))
ZIPS = sorted((GOLDEN / "tables").glob("*.zip"))
pytestmark = pytest.mark.skipif(not ZIPS, reason="no golden tables: set HOODOO_GOLDEN")


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Name of the zip -> root of the table."""
    found = {}
    for path in ZIPS:
        target = tmp_path_factory.mktemp("golden") / path.stem
        with zipfile.ZipFile(path) as archive:
            members = [m for m in archive.namelist() if not m.startswith("__MACOSX")]
            archive.extractall(target, members)
        (found[path.stem],) = (p.parent for p in target.glob("*/.hoodie"))
    return found


def tables(golden: dict[str, Path]) -> list[Path]:
    """Data tables and their metadata tables."""
    inner = (root / ".hoodie" / "metadata" for root in golden.values())
    return [*golden.values(), *(p for p in inner if p.exists())]


def timeline_files(golden: dict[str, Path]) -> list[tuple[int, Path]]:
    found = []
    for root in tables(golden):
        config = properties.load(DirectoryStorage(str(root)))
        for path in sorted((root / config.timeline_path).iterdir()):
            if path.is_file() and path.name[0].isdigit():
                found.append((config.layout_version, path))
    return found


def test_checksums_are_the_ones_hudi_wrote(golden: dict[str, Path]) -> None:
    roots = tables(golden)
    assert len(roots) >= 50
    for root in roots:
        values = javaprops.parse((root / properties.PATH).read_bytes())
        name, database = values["hoodie.table.name"], values.get("hoodie.database.name", "")
        assert values[javaprops.CHECKSUM] == properties.checksum(name, database)
        assert javaprops.parse(javaprops.render(values)) == values
        assert properties.load(DirectoryStorage(str(root))).properties == values


def test_instant_names_round_trip(golden: dict[str, Path]) -> None:
    files = timeline_files(golden)
    assert len(files) > 1000
    for layout, path in files:
        instant = LAYOUTS[layout].parse_instant(path.name)
        assert instant is not None, path
        assert LAYOUTS[layout].file_name(instant) == path.name


def test_data_file_names_round_trip(golden: dict[str, Path]) -> None:
    kinds = set()
    for root in tables(golden):
        for path in root.rglob("*"):
            relative = path.relative_to(root).as_posix()
            suffix = path.suffix in (".parquet", ".lance", ".hfile") or ".log." in path.name
            if path.is_dir() or path.name.endswith(".crc"):
                continue
            file = parse_path(relative)
            assert (file is not None) == suffix, relative
            if file is not None:
                assert file.path == relative
                kinds.add((type(file).__name__, getattr(file, "extension", "log")))
    assert {e for _, e in kinds} == {".parquet", ".lance", ".hfile", "log"}


def test_partition_metadata_parses(golden: dict[str, Path]) -> None:
    for root in tables(golden):
        for path in root.rglob(partitions.FILE_NAME):
            relative = path.parent.relative_to(root)
            found = partitions.parse(path.read_bytes())
            assert found.depth == len(relative.parts) or ".hoodie" in relative.parts
            assert found.commit_time.isdigit()


def test_every_timeline_file_decodes_and_commits_round_trip(golden: dict[str, Path]) -> None:
    done = 0
    for layout, path in timeline_files(golden):
        data = path.read_bytes()
        record = codec.decode(data, str(path))
        assert bool(record) == bool(data)
        if "partitionToWriteStats" not in record:
            continue
        metadata = codec.decode_commit(data, str(path))
        replaced = "partitionToReplaceFileIds" in record
        again = LAYOUTS[layout].encode_commit(metadata, "replacecommit" if replaced else "commit")
        assert codec.decode(again, "") == record, path
        assert codec.decode_commit(again, "") == metadata
        if layout == 1:  # the very text, but for the order of fields
            assert sorted(again.splitlines()) == sorted(data.splitlines())
        assert metadata.operation.value == record["operationType"]
        done += 1
    assert done > 600


@pytest.mark.parametrize("cut", [1, 7, 100, 1500])
def test_cut_files_are_named(golden: dict[str, Path], cut: int) -> None:
    for name in ("cow_v6_nonpartitioned", "cow_v9_txns_simple_overwrite"):
        store = DirectoryStorage(str(golden[name]))
        line = timeline.load(store, properties.load(store))
        instant = line.completed()[-1]
        data = store.get(line.path(instant))
        with pytest.raises(CorruptTableError, match="somewhere"):
            codec.decode_commit(data[: len(data) - cut], "somewhere")


@pytest.mark.parametrize("damaged", [b"4e5123", b"43.5", b"-1e999", b'"435"'])
def test_a_damaged_count(damaged: bytes) -> None:
    """One digit has become another character: JSON all the same, and no number of bytes or rows."""
    good = b'{"partitionToWriteStats": {"": [{"fileId": "f", "fileSizeInBytes": 435123}]}}'
    (stat,) = codec.decode_commit(good, "somewhere").stats
    assert stat.file_size == 435123
    with pytest.raises(CorruptTableError, match="somewhere"):
        codec.decode_commit(good.replace(b"435123", damaged), "somewhere")


def test_slices_are_those_of_an_independent_reader(golden: dict[str, Path]) -> None:
    hudi = pytest.importorskip("hudi")
    for name, root in golden.items():
        if "empty" in name:
            continue
        store = DirectoryStorage(str(root))
        line = timeline.load(store, properties.load(store))
        found = {
            (s.partition_path, s.base_file.name if s.base_file else "", len(s.log_files))
            for s in view.build(Snapshot(store, line)).slices
        }
        expected = {
            (s.partition_path, s.base_file_name, len(s.log_file_names))
            for s in hudi.HudiTableBuilder.from_base_uri(str(root)).build().get_file_slices()
        }
        assert found == expected, name


def test_replaced_groups_come_back_when_travelling_before(golden: dict[str, Path]) -> None:
    store = DirectoryStorage(str(golden["cow_v9_txns_simple_overwrite"]))
    line = timeline.load(store, properties.load(store))
    first = line.writes()[0].requested
    replaced = line.replaced_file_groups(store)
    assert replaced and not line.replaced_file_groups(store, first)
    before = {
        (s.partition_path, s.file_id) for s in view.build(Snapshot(store, line), first).slices
    }
    now = {(s.partition_path, s.file_id) for s in view.build(Snapshot(store, line)).slices}
    assert before & set(replaced) and not now & set(replaced)
    assert line.latest_schema_text(store) is not None
