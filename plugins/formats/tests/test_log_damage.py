"""Damaged log files: every undamaged block survives, and what is damaged is said."""

from __future__ import annotations

import struct
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from hoodoo.errors import CorruptTableError, HoodooError
from hoodoo.kernel.log_files import log_files
from hoodoo.model.log_block import FRAME_BYTES, MAGIC, BlockKind, Header, LogBlock
from hoodoo.testing.log_builders import INSTANT, opened, small_log, small_rows
from hoodoo_formats.log.frames import frame
from hoodoo_formats.log.parquet import ParquetBlocks
from hoodoo_formats.log.scan import scan
from hoodoo_formats.log.writer import LogWriter

# One bit at each end of a byte, all bits, and the whole byte to zero or 0xFF.
PATTERNS = ("low", "high", "all", "zero", "ones")


def flipped(byte: int, pattern: str) -> int:
    return {"low": byte ^ 1, "high": byte ^ 128, "all": byte ^ 255, "zero": 0, "ones": 255}[pattern]


def scanned(data: bytes) -> tuple[list[LogBlock], list[tuple[int, int]]]:
    """The blocks, and (offset, size) of the damages."""
    blocks, damages = scan(pa.BufferReader(data), "x.log", len(data))
    assert all("x.log" in str(d) and str(d.offset) in str(d) and d.reason for d in damages)
    # What is neither block nor damage does not exist.
    assert sum(b.size for b in blocks) + sum(d.size for d in damages) == len(data)
    return blocks, [(d.offset, d.size) for d in damages]


@pytest.fixture
def log(tmp_path: Path) -> tuple[bytes, tuple[LogBlock, ...]]:
    blocks = small_log(tmp_path / "x.log")
    return (tmp_path / "x.log").read_bytes(), blocks


def text_places(block: LogBlock) -> set[int]:
    """The offsets of the header texts of a block; all else of its frame is structure."""
    at = block.offset + 26
    places: set[int] = set()
    for text in block.headers.values():
        places.update(range(at + 8, at + 8 + len(text)))
        at += 8 + len(text)
    return places


def frame_places(block: LogBlock) -> list[int]:
    """The offsets of all bytes of a block that are not its content."""
    stop = block.content_start + block.content_size
    return [*range(block.offset, block.content_start), *range(stop, block.offset + block.size)]


def test_each_byte_of_each_frame_flipped(log: tuple[bytes, tuple[LogBlock, ...]]) -> None:
    data, blocks = log
    seen: Counter[tuple[str, str]] = Counter()
    for block in blocks:
        texts = text_places(block)
        for place in frame_places(block):
            for pattern in PATTERNS:
                byte = flipped(data[place], pattern)
                if byte == data[place]:
                    continue
                bad = data[:place] + bytes([byte]) + data[place + 1 :]
                found, damages = scanned(bad)
                others = [b for b in found if b.offset != block.offset]
                assert others == [b for b in blocks if b is not block], (place, pattern)
                kept = [b for b in found if b.offset == block.offset]
                if place not in texts:
                    assert [d[0] for d in damages] == [block.offset], (place, pattern)
                    assert kept in ([], [block]), (place, pattern)
                where = "text" if place in texts else "structure"
                what = "recovered" if kept and damages else "lost" if damages else "unseen"
                seen[where, what] += 1
    assert seen["structure", "unseen"] == 0
    structure = seen["structure", "recovered"] + seen["structure", "lost"]
    texts_all = sum(n for (where, _), n in seen.items() if where == "text")
    print("structure: recovered", seen["structure", "recovered"] / structure)
    print("header texts: reported", seen["text", "lost"] / texts_all)
    assert seen["structure", "recovered"] > 0.5 * structure
    assert seen["text", "lost"] > 0.3 * texts_all


def test_truncated_at_each_byte(log: tuple[bytes, tuple[LogBlock, ...]]) -> None:
    data, blocks = log
    ends = {0, *(block.offset + block.size for block in blocks)}
    for stop in range(len(data)):
        found, damages = scanned(data[:stop])
        whole = [b for b in blocks if b.offset + b.size <= stop]
        assert found == whole, stop
        last = max(end for end in ends if end <= stop)
        assert damages == ([] if stop == last else [(last, stop - last)]), stop


def test_torn_at_each_byte_and_appended_to(log: tuple[bytes, tuple[LogBlock, ...]]) -> None:
    data, blocks = log
    for block in blocks[:4]:
        for cut in range(1, block.size):
            stop = block.offset + cut
            found, damages = scanned(data[:stop] + data[block.offset + block.size :])
            gone = block.size - cut
            shifted = [(b.kind, b.offset - gone, b.size) for b in blocks if b.offset > block.offset]
            before = [(b.kind, b.offset, b.size) for b in blocks if b.offset < block.offset]
            assert [(b.kind, b.offset, b.size) for b in found] == before + shifted, stop
            assert sum(size for _, size in damages) == cut
            assert damages[0][0] == block.offset


def test_a_byte_missing_or_too_many(log: tuple[bytes, tuple[LogBlock, ...]]) -> None:
    data, blocks = log
    for block in blocks:
        for place in frame_places(block):
            for bad, by in (
                (data[:place] + data[place + 1 :], -1),
                (data[:place] + b"\x07" + data[place:], 1),
            ):
                found, damages = scanned(bad)
                assert damages
                others = {(b.kind, b.offset) for b in found}
                for other in blocks:
                    if other is not block:
                        late = by if other.offset > block.offset else 0
                        assert (other.kind, other.offset + late) in others, (place, by)


def test_a_torn_block_does_not_swallow_one_that_fits_exactly(tmp_path: Path) -> None:
    """The size and the content length of a torn block agree. If what was appended is just as long
    as what is missing, even the end of the file is where they say."""
    blocks = small_log(tmp_path / "x.log")
    data = (tmp_path / "x.log").read_bytes()
    torn = blocks[2]  # the largest
    follower = data[blocks[3].offset : blocks[3].offset + blocks[3].size]
    bad = data[torn.offset : torn.offset + torn.size - len(follower)] + follower
    assert len(bad) == torn.size
    found, damages = scanned(bad)
    assert [b.kind for b in found] == [BlockKind.COMMAND]
    assert damages == [(0, torn.size - len(follower))]


def test_garbage_between_before_and_after(log: tuple[bytes, tuple[LogBlock, ...]]) -> None:
    data, blocks = log
    for garbage in (b"x", bytes(100), MAGIC, MAGIC * 9, data[:60], b"\xff" * FRAME_BYTES):
        for place in [b.offset for b in blocks] + [len(data)]:
            found, damages = scanned(data[:place] + garbage + data[place:])
            assert len(found) == len(blocks)
            assert damages == [(place, len(garbage))] or sum(s for _, s in damages) == len(garbage)


def blob_log(path: Path, inner: bytes) -> tuple[LogBlock, ...]:
    """Parquet and Avro blocks whose rows hold ``inner``, uncompressed."""
    rows = pa.table({"k": ["a"], "blob": [inner]})
    plain = ParquetBlocks("none", None)
    writer = LogWriter(str(path), {**log_files().blocks, plain.kind: plain})
    made = tuple(
        writer.data_block(kind, rows, instant=INSTANT, table_name="t", meta=False)
        for kind in (BlockKind.PARQUET, BlockKind.AVRO)
    )
    last = (writer.rollback_block(INSTANT, INSTANT),)
    writer.close()
    return made + last


def test_a_log_inside_a_content_is_no_log(tmp_path: Path) -> None:
    small_log(tmp_path / "inner.log")
    inner = (tmp_path / "inner.log").read_bytes()
    for blob in (inner, MAGIC * 50, inner[:-5], inner[3:]):
        blocks = blob_log(tmp_path / "x.log", blob)
        data = (tmp_path / "x.log").read_bytes()
        assert data.count(MAGIC) > len(blocks)
        assert scanned(data) == (list(blocks), [])
        with opened(tmp_path / "x.log") as reader:
            assert reader.rows(blocks[0]).column("blob").to_pylist() == [blob]
            assert reader.rows(blocks[1], ["blob"]).column("blob").to_pylist() == [blob]
        # Two lengths that agree keep the content closed, whatever is wrong with the rest.
        for block in blocks[:2]:
            for place in [p for p in frame_places(block) if p not in text_places(block)]:
                bad = bytearray(data)
                bad[place] ^= 0x10
                found, damages = scanned(bytes(bad))
                assert [b for b in found if b.offset != block.offset] == [
                    b for b in blocks if b is not block
                ], place
                assert len(damages) == 1


def test_one_scan_reads_frames_only(tmp_path: Path) -> None:
    rows = pa.table({"k": ["a"], "blob": [bytes(8 << 20)]})
    writer = LogWriter(str(tmp_path / "x.log"), log_files().blocks)
    for _ in range(3):
        writer.data_block(BlockKind.AVRO, rows, instant=INSTANT, table_name="t")
    size = writer.close()
    read = 0

    class Counting(pa.PythonFile):  # type: ignore[misc]
        def read(self, nbytes: int | None = None) -> bytes:
            nonlocal read
            data: bytes = super().read(nbytes)
            read += len(data)
            return data

    with open(tmp_path / "x.log", "rb") as file:
        blocks, damages = scan(Counting(file, mode="r"), "x.log", size)
    assert len(blocks) == 3 and not damages
    assert 0 < read < 200_000 < size


def test_two_damages_prove_nothing(log: tuple[bytes, tuple[LogBlock, ...]]) -> None:
    """Without its magic, a block needs all its lengths."""
    data, blocks = log
    for block in blocks:
        for place in (block.offset + 13, block.content_start - 1, block.offset + block.size - 1):
            bad = bytearray(data)
            bad[block.offset] ^= 1
            bad[place] ^= 2
            found, damages = scanned(bytes(bad))
            assert found == [b for b in blocks if b is not block]
            assert damages == [(block.offset, block.size)]


def test_names_of_damages(log: tuple[bytes, tuple[LogBlock, ...]], tmp_path: Path) -> None:
    data, blocks = log
    bad = bytearray(data)
    bad[blocks[1].offset + 20] = 9  # kind
    bad[blocks[2].offset + 12] ^= 1  # size
    (tmp_path / "x.log").write_bytes(bad)
    with opened(tmp_path / "x.log") as reader:
        assert [b.kind for b in reader.blocks] == [3, 5, 0, 3]
        lost, recovered = reader.damages
        assert str(lost) == (
            f"log file x.log: {blocks[1].size} bytes at offset {blocks[1].offset} were skipped, "
            "because 150994945 is no kind of block."
        ) or "is no kind of block" in str(lost)
        assert "damaged, but was read" in str(recovered) and recovered.size == 0
        assert reader.rows(blocks[2]).equals(small_rows())


def test_a_missing_file_and_one_that_shrank(tmp_path: Path) -> None:
    with pytest.raises(CorruptTableError, match=r"nope\.log"):
        opened(tmp_path / "nope.log")
    blocks = small_log(tmp_path / "x.log")
    from hoodoo_formats.log.reader import LogReader
    from hoodoo_standard.storage.local import LocalStorage

    storage = LocalStorage(str(tmp_path))
    size = (tmp_path / "x.log").stat().st_size
    with LogReader(storage, "x.log", size + 10, log_files().blocks) as reader:
        assert reader.blocks == blocks
        assert [(d.offset, d.size) for d in reader.damages] == [(size, 10)]
    with LogReader(storage, "x.log", blocks[1].offset, log_files().blocks) as reader:
        assert reader.blocks == blocks[:1] and not reader.damages


@pytest.mark.sampled(1, among="long")
def test_contents_flipped(log: tuple[bytes, tuple[LogBlock, ...]], tmp_path: Path) -> None:
    """The format has no checksum: a flip in a content is an error that names the block, another
    value, or, in bytes that mean nothing, nothing. It is never any other exception."""
    data, blocks = log
    path = tmp_path / "x.log"
    seen: Counter[tuple[str, str]] = Counter()
    for block in blocks[:3]:
        path.write_bytes(data)
        with opened(path) as reader:
            right = content_of(reader, block)
        for place in range(block.content_start, block.content_start + block.content_size):
            for pattern in ("low", "high") if block.kind is BlockKind.PARQUET else PATTERNS:
                bad = bytearray(data)
                bad[place] = flipped(bad[place], pattern)
                if bad[place] == data[place]:
                    continue
                path.write_bytes(bad)
                with opened(path) as reader:
                    if block not in reader.blocks:
                        assert reader.damages[0].offset == block.offset
                        seen[block.kind.name, "caught"] += 1
                        continue
                    try:
                        same = content_of(reader, block).equals(right)
                        seen[block.kind.name, "unseen" if same else "another value"] += 1
                    except HoodooError as error:
                        assert f"offset {block.offset}" in str(error) and "x.log" in str(error)
                        seen[block.kind.name, "caught"] += 1
    for kind in ("AVRO", "DELETE", "PARQUET"):
        every = sum(n for (k, _), n in seen.items() if k == kind)
        print(kind, {what: round(n / every, 3) for (k, what), n in seen.items() if k == kind})
        assert seen[kind, "caught"] > 0.2 * every


def content_of(reader: object, block: LogBlock) -> pa.Table:
    from hoodoo_formats.log.reader import LogReader

    assert isinstance(reader, LogReader)
    if block.kind is BlockKind.DELETE:
        return reader.deletes(block, [pa.int64()])
    return reader.rows(block)


def test_headers_that_name_everything(tmp_path: Path) -> None:
    headers = {
        int(Header.INSTANT_TIME): "3",
        int(Header.COMPACTED_BLOCK_TIMES): "1,2",
        int(Header.IS_PARTIAL): "TRUE",
    }
    block = LogBlock(BlockKind.AVRO, 0, 100, headers, 50, 30)
    assert block.compacted_times == ("1", "2")
    assert block.is_partial and block.instant == "3"
    assert (block.target_instant, block.schema_text) == ("", "")


@pytest.mark.parametrize("kind", [BlockKind.AVRO, 77])
def test_a_block_that_ends_where_a_cut_off_one_would(kind: int) -> None:
    """An append was cut short, and the next block ends just where the first one would have ended."""
    content = struct.pack(">ii", 1, 0)
    appended = block(kind, content if kind == BlockKind.AVRO else b"x" * 30)
    whole = block(BlockKind.AVRO, content + bytes(500))
    cut = len(whole) - len(appended)
    data = whole[:cut] + appended
    found = frame(lambda start, stop: data[start:stop], 0, len(data), more=(77,))
    assert found.block is None and "cut short" in found.damage
    other = frame(lambda start, stop: data[start:stop], cut, len(data), more=(77,)).block
    assert other is not None and (other.kind, other.size) == (kind, len(appended))


def block(kind: int, content: bytes) -> bytes:
    """One block by hand: magic, size, version, kind, headers, content, footers, trailing length."""
    headers = {Header.INSTANT_TIME: INSTANT, Header.SCHEMA: '"string"'}
    body = struct.pack(">iii", 1, int(kind), len(headers))
    for key, text in headers.items():
        body += struct.pack(">ii", int(key), len(text)) + text.encode()
    body += struct.pack(">q", len(content)) + content + struct.pack(">i", 0)
    size = len(body) + 8
    return MAGIC + struct.pack(">q", size) + body + struct.pack(">q", size + 6)
