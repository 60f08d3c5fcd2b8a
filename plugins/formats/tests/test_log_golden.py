"""The log files that Apache Hudi wrote: each frame of all of them, and every content but HFiles."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pyarrow as pa
import pytest
from hoodoo.errors import UnsupportedTableError
from hoodoo.kernel.log_files import log_files
from hoodoo.model.log_block import BlockKind, Header
from hoodoo.testing.log_builders import opened
from hoodoo_formats.log.reader import LogReader
from hoodoo_standard.storage.local import LocalStorage

ROOT = Path(__file__).resolve().parents[3]
GOLDEN = Path(os.environ.get("HOODOO_GOLDEN", ROOT / "tests/golden/data"))
ZIPS = sorted((GOLDEN / "tables").glob("mor_*.zip"))
needs_logs = pytest.mark.skipif(not (GOLDEN / "logs").is_dir(), reason="no golden logs")


def golden_log(name: str) -> LogReader:
    (file,) = (GOLDEN / "logs" / name).glob(".*.log.*")
    return opened(file)


RIDE = {
    "_hoodie_record_key": "334e26e9-8355-45cc-97c6-c31daf0df330",
    "_hoodie_partition_path": "city=san_francisco",
    "ts": 1695159649088,
    "uuid": "334e26e9-8355-45cc-97c6-c31daf0df330",
    "rider": "rider-A",
    "fare": 29.1,
    "city": "san_francisco",
}


@needs_logs
@pytest.mark.parametrize(
    ("name", "kind", "instant"),
    [
        ("valid_log_avro_data", BlockKind.AVRO, "20250316025828811"),
        ("valid_log_parquet_data", BlockKind.PARQUET, "20250113230424191"),
    ],
)
def test_data(name: str, kind: BlockKind, instant: str) -> None:
    with golden_log(name) as log:
        (block,) = log.blocks
        assert not log.damages
        assert (block.kind, block.instant, block.is_data) == (kind, instant, True)
        assert not block.is_partial and not block.is_rollback and not block.compacted_times
        rows = log.rows(block)
        assert rows.column("_hoodie_commit_time").to_pylist() == [instant]
        assert rows.select(list(RIDE)).to_pylist() == [RIDE]
        assert rows.schema.field("ts").type == pa.int64()
        assert log.rows(block, ["fare", "no such", "rider"]).to_pylist() == [
            {"fare": 29.1, "rider": "rider-A"}
        ]
        assert log.rows(block, []).num_rows == 1


@needs_logs
def test_deletes() -> None:
    with golden_log("valid_log_delete") as log:
        (block,) = log.blocks
        assert block.kind is BlockKind.DELETE and not block.is_data and not log.damages
        deletes = log.deletes(block, [pa.int64()])
        assert deletes.column_names == ["record_key", "partition_path", "always", "o0"]
        assert deletes.column("record_key").to_pylist() == [
            "e96c4396-3fad-413a-a942-4cb36106d721",
            "9909a8b1-2d15-4d3d-8ec9-efc48c536a00",
            "334e26e9-8355-45cc-97c6-c31daf0df330",
        ]
        assert set(deletes.column("partition_path").to_pylist()) == {"city=san_francisco"}
        assert deletes.column("always").to_pylist() == [True] * 3
        assert deletes.column("o0").null_count == 3


@needs_logs
def test_rollback() -> None:
    with golden_log("valid_log_rollback") as log:
        (block,) = log.blocks
        assert block.is_rollback and not log.damages
        assert (block.instant, block.target_instant) == ("20250126040936578", "20250126040826878")


@pytest.mark.skipif(not ZIPS, reason="no golden tables: set HOODOO_GOLDEN")
@pytest.mark.parametrize("archive", ZIPS, ids=[z.stem for z in ZIPS])
def test_every_log_of_a_table(archive: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(archive) as zipped:
        names = [
            n for n in zipped.namelist()
            if ".log." in n and not n.endswith(".crc") and "__MACOSX" not in n
        ]  # fmt: skip
        zipped.extractall(tmp_path, names)
    storage = LocalStorage(str(tmp_path))
    for name in names:
        with LogReader(storage, name, formats=log_files().blocks) as log:
            assert not log.damages
            assert sum(block.size for block in log.blocks) == (tmp_path / name).stat().st_size
            for block in log.blocks:
                assert block.instant.isdigit()
                if block.kind is BlockKind.DELETE:
                    # Those of a metadata table are empty.
                    deletes = log.deletes(block, [pa.int64()])
                    assert deletes.num_rows or "/metadata/" in name
                    assert all(deletes.column("always").to_pylist())
                    assert deletes.column("record_key").null_count == 0
                elif block.kind is BlockKind.HFILE:
                    with pytest.raises(UnsupportedTableError, match=f"offset {block.offset}"):
                        log.rows(block)
                elif block.is_data:
                    rows = log.rows(block)
                    assert rows.num_rows
                    assert f'"{rows.column_names[-1]}"' in block.headers[Header.SCHEMA]
                    times = rows.column("_hoodie_commit_time").to_pylist()
                    assert set(times) <= {block.instant, None}
