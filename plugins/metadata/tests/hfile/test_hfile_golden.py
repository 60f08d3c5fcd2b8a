"""HFiles that HBase and Hudi wrote: every entry of all of them, and what Hoodoo makes of the same entries."""

from __future__ import annotations

import hashlib
import io
import os
import struct
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hoodoo.kernel.log_files import log_files
from hoodoo.model.log_block import BlockKind
from hoodoo_metadata.hfile import FileWindow, HFile, write_hfile
from hoodoo_metadata.hfile.blocks import Stored, contents
from hoodoo_metadata.hfile.format import DATA, HEADER_BYTES
from hoodoo_standard.storage.local import LocalStorage

pytestmark = pytest.mark.sampled(3)

ROOT = Path(__file__).resolve().parents[4]
GOLDEN = Path(os.environ.get("HOODOO_GOLDEN", ROOT / "tests/golden/data"))
ZIPS = sorted((GOLDEN / "tables").glob("*_v9_*meta.zip"))
HFILES = GOLDEN / "hfiles"
# Entries, data blocks, and the MD5 of all keys and values as the reader of Hudi 1.2.0 answers them.
FILES = {
    "hudi_1_0_hbase_2_4_13_16KB_GZ_20000_fake_first_key": (
        20000,
        86,
        "18624d1045e3242a7f23c3d6ea5e3b1a",
    ),
    "hudi_1_0_hbase_2_4_13_1KB_GZ_20000_large_keys": (
        20000,
        2858,
        "dc07d9ba1b0ccc19f00ddbe66cab3494",
    ),
    "hudi_1_0_hbase_2_4_9_16KB_GZ_20000": (20000, 72, "5dd80294c0725e8f1519cbeab2cf98ab"),
    "hudi_1_0_hbase_2_4_9_16KB_NONE_5000": (5000, 18, "72cbb1c12a30f292ae8ecac0ec01bb2f"),
    "hudi_1_0_hbase_2_4_9_512KB_GZ_20000": (20000, 3, "5dd80294c0725e8f1519cbeab2cf98ab"),
    "hudi_1_0_hbase_2_4_9_no_entry": (0, 0, "d41d8cd98f00b204e9800998ecf8427e"),
}
needs_hfiles = pytest.mark.skipif(not HFILES.is_dir(), reason="no golden HFiles")


@needs_hfiles
@pytest.mark.parametrize("name", FILES)
def test_every_entry(name: str, made: Any) -> None:
    file = HFile.open(FileWindow.of(LocalStorage(str(HFILES)), name + ".hfile"))
    found = made.pairs(file.scan())
    digest = hashlib.md5(b"".join(part for pair in found for part in pair)).hexdigest()
    assert (file.entry_count, file.blocks, digest) == FILES[name]
    assert len(found) == file.entry_count
    assert file.meta_block("bloomFilter").startswith(b"/////w")
    assert file.meta_block("other") is None
    custom = file.info.get("hudi_hfile_testing.custom_key")
    assert custom == (b"hudi_custom_value" if found else None)


@needs_hfiles
@pytest.mark.parametrize("name", FILES)
def test_keys_prefixes_and_ranges(name: str, made: Any) -> None:
    file = HFile.open(FileWindow.of(LocalStorage(str(HFILES)), name + ".hfile"))
    model = dict(made.pairs(file.scan()))
    keys = sorted(model)
    # Each third key, those that lie between it and its neighbours, and some outside.
    some = keys[::3]
    asked = [*some, *(k + b"\0" for k in some), *(k[:-1] for k in some), b"", b"\xff"]
    asked = sorted(set(asked))
    expected = [(k, model[k]) for k in asked if k in model]
    for how in ("seek", "scan", "auto"):
        assert made.pairs(file.get(made.keys(asked[::-1]), how)) == expected
    for key in keys[:: max(1, len(keys) // 50)]:
        assert made.pairs(file.get(made.keys([key]), "seek")) == [(key, model[key])]
    for prefix in (b"hudi-key-00000123", b"hudi-key", b"i", b""):
        expected = [(k, model[k]) for k in keys if k.startswith(prefix)]
        assert made.pairs(file.get_prefixes(made.keys([prefix]))) == expected
    if keys:
        start, stop = keys[len(keys) // 3] + b"\0", keys[len(keys) // 2]
        expected = [(k, model[k]) for k in keys if start <= k < stop]
        assert made.pairs(file.scan(start, stop)) == expected


@needs_hfiles
def test_the_same_bytes_as_hudis_own_writer() -> None:
    theirs = (HFILES / "hudi_1_2_0_1KB_NONE_60.hfile").read_bytes()
    file = HFile.open(FileWindow.on(theirs))
    sink = io.BytesIO()
    created = struct.pack(">q", 1234567890123)
    write_hfile(
        sink,
        file.scan(),
        schema_text='"string"',
        codec="none",
        block_bytes=1024,
        info={"hfile.CREATE_TIME_TS": created},
    )
    assert file.blocks == 20 or file.blocks > 10
    assert sink.getvalue() == theirs


@pytest.mark.skipif(not ZIPS, reason="no golden tables: set HOODOO_GOLDEN")
@pytest.mark.parametrize("archive", ZIPS, ids=[z.stem for z in ZIPS])
def test_metadata_tables(archive: Path, tmp_path: Path, made: Any) -> None:
    """Each base file and each HFile in a log file is read whole, and rewritten becomes the same but
    for compression."""
    with zipfile.ZipFile(archive) as zipped:
        names = [n for n in zipped.namelist() if _is_hfile(n) and "__MACOSX" not in n]
        zipped.extractall(tmp_path, names)
    seen = 0
    for window in _windows(LocalStorage(str(tmp_path)), names):
        file = HFile.open(window)
        found = made.pairs(file.scan())
        seen += len(found)
        assert len(found) == file.entry_count
        assert b'"HoodieMetadataRecord"' in file.info["schema"]
        asked = [key for key, _ in found][::2]
        assert made.pairs(file.get(made.keys(asked))) == found[::2]
        bloom = file.meta_block("bloomFilter")
        sink = io.BytesIO()
        write_hfile(
            sink,
            file.scan(),
            schema_text=file.info["schema"].decode(),
            info={
                k: v
                for k, v in file.info.items()
                if "record" in k.lower() or "TS" in k or "bl" in k
            },
            meta={} if bloom is None else {"bloomFilter": bloom},
        )
        again = HFile.open(FileWindow.on(sink.getvalue()))
        assert list(again.info.items()) == list(file.info.items())
        assert again.meta_block("bloomFilter") == bloom
        assert _plain(again, sink.getvalue()) == _plain(file, window.read(0, window.size))
        assert again.entry_count == file.entry_count
    assert seen > 10 or not names


def _is_hfile(name: str) -> bool:
    return "/.hoodie/metadata/" in name and (name.endswith(".hfile") or ".log." in name)


def _windows(storage: LocalStorage, names: list[str]) -> Iterator[FileWindow]:
    for name in names:
        if name.endswith(".hfile"):
            yield FileWindow.of(storage, name)
        elif not name.endswith(".crc"):
            with log_files().reader(storage, name) as log:
                for block in log.blocks:
                    if block.kind is BlockKind.HFILE:
                        yield FileWindow.of(storage, name, block.content_start, block.content_size)


def _plain(file: HFile, data: bytes) -> list[bytes]:
    """The plain bytes of the data blocks."""
    index = file._index
    blocks = [
        Stored(o, data[o : o + s]) for o, s in zip(index.offsets.tolist(), index.sizes.tolist())
    ]
    assert all(len(block.data) > HEADER_BYTES for block in blocks)
    return [bytes(p) for p in contents(FileWindow.on(data), blocks, DATA, file._layout.codec)]


def test_an_hfile_in_a_log_file(tmp_path: Path, made: Any) -> None:

    first, second = {b"a": b"1", b"b": b"2"}, {b"c": b"3"}
    with log_files().writer(str(tmp_path / "log")) as log:
        for model in (first, second):
            content = partial(write_hfile, batches=[made.batch(model)], schema_text='"bytes"')
            log.block(BlockKind.HFILE, "20260101000000000", '"bytes"', content)
        log.rollback_block("20260101000000002", "20260101000000001")
    storage = LocalStorage(str(tmp_path))
    with log_files().reader(storage, "log") as reader:
        assert not reader.damages
        blocks = reader.blocks
    assert [b.kind for b in blocks] == [BlockKind.HFILE, BlockKind.HFILE, BlockKind.COMMAND]
    for block, model in zip(blocks, (first, second)):
        assert (block.instant, block.schema_text) == ("20260101000000000", '"bytes"')
        window = FileWindow.of(storage, "log", block.content_start, block.content_size)
        assert made.pairs(HFile.open(window).scan()) == list(model.items())


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        FileWindow.of(LocalStorage(str(tmp_path)), "none.hfile")


def test_only_what_is_needed_is_read(made: Any) -> None:
    model = {b"%09d" % i: os.urandom(50) for i in range(40000)}
    data = made.data(model)
    asked: list[tuple[int, int]] = []

    def fetch(start: int, stop: int) -> bytes:
        asked.append((start, stop))
        return data[start:stop]

    file = HFile.open(FileWindow(fetch, len(data), "counted"))
    assert asked == [(len(data) - 65536, len(data))]
    assert made.pairs(file.get(made.keys([b"000012345"]))) == [(b"000012345", model[b"000012345"])]
    assert len(asked) == 2
    assert asked[1][1] - asked[1][0] < 70_000
    # Blocks that lie beside each other are fetched together.
    del asked[:]
    assert sum(b.num_rows for b in file.scan()) == 40000
    assert len(asked) == 1
    assert isinstance(file.get(made.keys([])), pa.Table)
