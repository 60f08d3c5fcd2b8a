"""What a log file is made of: blocks, and stretches of bytes that are none."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

from attrs import frozen

MAGIC = b"#HUDI#"
# What a frame has besides its headers' texts and its content: magic, size, version, kind, number of
# headers, content length, number of footers, trailing length.
FRAME_BYTES = 6 + 8 + 4 + 4 + 4 + 8 + 4 + 8
ROLLBACK = "0"


class BlockKind(IntEnum):
    """The type of a block, by its ordinal on disk. CORRUPT is never written."""

    COMMAND = 0
    DELETE = 1
    CORRUPT = 2
    AVRO = 3
    HFILE = 4
    PARQUET = 5
    CDC = 6


class Header(IntEnum):
    """The key of one of a block's headers, by its ordinal on disk."""

    INSTANT_TIME = 0
    TARGET_INSTANT_TIME = 1
    SCHEMA = 2
    COMMAND_TYPE = 3
    COMPACTED_BLOCK_TIMES = 4
    RECORD_POSITIONS = 5
    BLOCK_IDENTIFIER = 6
    IS_PARTIAL = 7
    BASE_FILE_INSTANT = 8


_NO_DATA = (BlockKind.COMMAND, BlockKind.DELETE, BlockKind.CORRUPT, BlockKind.CDC)


def kind_name(kind: int) -> str:
    """What the kind of a block is called."""
    return BlockKind(kind).name if kind in BlockKind.__members__.values() else f"type {kind}"


@frozen
class LogBlock:
    """One block. ``offset`` is that of its magic in the file, ``size`` its bytes from there to the
    end of its trailing length; the content is ``content_size`` bytes at ``content_start`` of the
    file. ``headers`` may hold keys that :class:`Header` does not know. ``kind`` is a
    :class:`BlockKind`, or that of a format that Hudi does not have: a data block."""

    kind: int
    offset: int
    size: int
    headers: Mapping[int, str]
    content_start: int
    content_size: int

    @property
    def instant(self) -> str:
        """The instant that wrote the block."""
        return self.headers.get(Header.INSTANT_TIME, "")

    @property
    def target_instant(self) -> str:
        """The instant that a command is about; empty if there is none."""
        return self.headers.get(Header.TARGET_INSTANT_TIME, "")

    @property
    def schema_text(self) -> str:
        """The Avro schema of the rows, as JSON; empty if there is none."""
        return self.headers.get(Header.SCHEMA, "")

    @property
    def is_partial(self) -> bool:
        """Whether rows hold changed columns only."""
        return self.headers.get(Header.IS_PARTIAL, "").strip().lower() == "true"

    @property
    def is_rollback(self) -> bool:
        """Whether the block takes back blocks before it: a command block of the type rollback."""
        return self.kind == BlockKind.COMMAND and self.headers.get(Header.COMMAND_TYPE) == ROLLBACK

    @property
    def compacted_times(self) -> tuple[str, ...]:
        """The instants of the blocks that this one, a log compaction's, replaces."""
        text = self.headers.get(Header.COMPACTED_BLOCK_TIMES, "")
        return tuple(part.strip() for part in text.split(",") if part.strip())

    @property
    def is_data(self) -> bool:
        """Whether the block holds rows. Delete, command and corrupt blocks do not."""
        return self.kind not in _NO_DATA

    @property
    def has_rows(self) -> bool:
        """Data or changes, which a format of blocks reads."""
        return self.is_data or self.kind == BlockKind.CDC


@frozen
class Damage:
    """Bytes of ``path`` that are not as they should be. ``size`` is how many bytes from ``offset``
    on were skipped; 0 if the block there was read all the same, because it is provably whole."""

    path: str
    offset: int
    size: int
    reason: str

    def __str__(self) -> str:
        if not self.size:
            return (
                f"log file {self.path}: the block at offset {self.offset} is damaged, but "
                f"was read, because {self.reason}."
            )
        return (
            f"log file {self.path}: {self.size} bytes at offset {self.offset} were skipped, "
            f"because {self.reason}."
        )
