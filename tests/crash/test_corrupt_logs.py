"""Damaged log files of a table: the rows of whole blocks are read, and the damage is named.

Only what the format cannot show may change rows silently, as it has no checksum: in version 6 a digit
of a block's instant, in Avro blocks a letter of their schema. Contents are not damaged here: see
core/tests/test_log_damage.py.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import frozen
from crash_trials import COUNT, SEED, VERSIONS, State, copied, opened, state
from effort import ALL, effort
from hoodoo.errors import CorruptTableError, HoodooWarning, SchemaError
from hoodoo.kernel.log_files import log_files
from hoodoo.model.filegroup import LogFile
from hoodoo.model.log_block import Header, LogBlock
from hoodoo_standard.storage.local import LocalStorage
from merge_on_read import INDEXES, log_paths, logs, rows, with_options

pytestmark = pytest.mark.sampled(6, among="crashes")

Tables = Callable[..., Path]
BLOCKS = ("PARQUET", "AVRO")
SAMPLED = None if ALL else effort(40, 100)
FORMAT = "hoodie.logfile.data.block.format"


@frozen
class Victim:
    """``file`` holds one block, which changed the rows ``without`` to ``whole``."""

    path: Path
    log: LogFile
    block: LogBlock
    data: bytes
    whole: State
    without: State

    @property
    def file(self) -> Path:
        return self.path / self.log.path


def _victim(merged: Tables, tmp_path: Path, version: int, block: str = "PARQUET") -> Victim:
    path = copied(merged(version, "bucket"), tmp_path / "trial")
    without, before = state(path), set(log_paths(path))
    with_options(opened(path), {FORMAT: block.lower()}).upsert(rows({1: "a", 7: "a"}, "new", 5))
    (name,) = set(log_paths(path)) - before
    (log,) = (log for log in logs(path) if log.path == name)
    with log_files().reader(LocalStorage(str(path)), name) as reader:
        (found,) = reader.blocks
    assert found.kind.name == block
    return Victim(path, log, found, (path / name).read_bytes(), state(path), without)


def _read(path: Path) -> tuple[State | None, list[str]]:
    """The rows, None for an error that names a file; and what was warned of, or the error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = opened(path).read(columns=["id", "v", "region"]).to_arrow()
        except (CorruptTableError, SchemaError) as error:
            return None, [str(error)]
    assert all(issubclass(w.category, HoodooWarning) for w in caught)
    read = zip(*(column.to_pylist() for column in found.columns))
    # A column whose name was damaged is null.
    ordered = sorted(read, key=lambda row: [(value is None, value) for value in row])
    return tuple(ordered), [str(w.message) for w in caught]


def _some(places: range, chance: random.Random) -> list[int]:
    count = len(places) if SAMPLED is None else min(SAMPLED, len(places))
    return sorted({*chance.sample(places, count), places[0], places[-1]})


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("block", BLOCKS)
def test_a_log_file_is_cut(merged: Tables, tmp_path: Path, version: int, block: str) -> None:
    """Also to nothing, and to a length at which nothing in the file looks wrong."""
    victim = _victim(merged, tmp_path, version, block)
    chance = random.Random(f"{SEED} cut {version} {block}")
    for size in _some(range(len(victim.data)), chance):
        victim.file.write_bytes(victim.data[:size])
        found, told = _read(victim.path)
        where = f"cut to {size} of {len(victim.data)}, seed {SEED}: {told}"
        assert found == victim.without, where
        assert any(f"{victim.log.path}: " in text and f"offset {size} " in text for text in told), (
            where
        )
        COUNT.damages += 1
    victim.file.write_bytes(victim.data)
    assert _read(victim.path) == (victim.whole, [])


def _frame(victim: Victim) -> list[int]:
    """The places of the file that are no content."""
    start, end = victim.block.content_start, victim.block.content_start + victim.block.content_size
    return [*range(start), *range(end, len(victim.data))]


def _texts(victim: Victim, *headers: Header) -> set[int]:
    """The places of the texts of ``headers``."""
    found: set[int] = set()
    for header in headers:
        text = victim.block.headers[header].encode()
        start = victim.data.index(text)
        found.update(range(start, start + len(text)))
    return found


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("block", BLOCKS)
def test_bytes_of_a_frame(merged: Tables, tmp_path: Path, version: int, block: str) -> None:
    victim = _victim(merged, tmp_path, version, block)
    chance = random.Random(f"{SEED} flips {version} {block}")
    silent = _texts(victim, Header.INSTANT_TIME) if version == 6 else set()
    if block == "AVRO":
        silent |= _texts(victim, Header.SCHEMA)
    places = _frame(victim)
    texts = _texts(victim, Header.SCHEMA)
    bare = [place for place in places if place not in texts]
    schema = sorted(texts) if SAMPLED is None else chance.sample(sorted(texts), 20)
    for place in [*bare, *schema]:
        data = bytearray(victim.data)
        data[place] ^= chance.randrange(1, 256)
        victim.file.write_bytes(data)
        found, told = _read(victim.path)
        where = f"byte {place}, seed {SEED}: {told}"
        assert all(victim.log.path in text for text in told), where
        if found != victim.whole and place not in silent:
            assert told, f"{where}: silent"
            assert found in (victim.without, None), where
        if version == 9 and place in _texts(victim, Header.INSTANT_TIME):
            assert told, where
        COUNT.damages += 1


def test_a_block_of_another_instant(merged: Tables, tmp_path: Path) -> None:
    """From version 8 on the file's name knows better: its rows are read, now and as of their commit,
    and the block is named."""
    victim = _victim(merged, tmp_path, 9)
    (place, *_) = sorted(_texts(victim, Header.INSTANT_TIME))
    data = bytearray(victim.data)
    data[place] = ord("9")  # of a time to come: not visible as of now
    victim.file.write_bytes(data)
    found, (told,) = _read(victim.path)
    assert found == victim.whole
    assert f"{victim.log.path}: the block at offset 0" in told
    assert f"the file's name says {victim.log.instant}" in told
    with pytest.warns(HoodooWarning, match="offset 0"):
        then = opened(victim.path).read(as_of=victim.log.instant).to_arrow()
    assert then.num_rows == len(victim.whole)
    COUNT.damages += 1


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("index", INDEXES)
def test_a_compaction_over_damage(merged: Tables, tmp_path: Path, version: int, index: str) -> None:
    """No row changes by it: it says what it skips, counts it, and leaves the log files alone."""
    path = copied(merged(version, index), tmp_path / "trial")
    opened(path).upsert(rows({1: "a"}, "new", 5))
    log = logs(path)[-1]
    file = path / log.path
    cut = file.stat().st_size // 2
    file.write_bytes(file.read_bytes()[:cut])
    files = log_paths(path)
    found, told = _read(path)
    with pytest.warns(HoodooWarning) as caught:
        commit = opened(path).compact()
    assert sorted(str(w.message) for w in caught) == sorted(told)
    assert all(f"{log.path}: " in text for text in told)
    assert any(f"offset {cut} " in text for text in told)
    assert _read(path) == (found, [])
    assert log_paths(path) == files
    table = opened(path)
    done = table.timeline().find(commit.instant)
    assert done is not None
    stats = table.timeline().metadata(LocalStorage(str(path)), done).stats
    counts = {s.path.partition("/")[0]: s.extra.get("totalCorruptLogBlock", 0) for s in stats}
    assert counts.pop(log.partition_path) == 1
    assert not any(counts.values())
    COUNT.damages += 1


@pytest.mark.parametrize("version", VERSIONS)
def test_a_write_over_damage(merged: Tables, tmp_path: Path, version: int) -> None:
    """It neither mends nor spreads: the blocks before and behind it count."""
    victim = _victim(merged, tmp_path, version)
    victim.file.write_bytes(victim.data[: len(victim.data) // 2])
    opened(victim.path).upsert(rows({1: "a"}, "last", 9))
    found, told = _read(victim.path)
    kept = tuple(row for row in victim.without if row[0] != 1)
    assert found == tuple(sorted((*kept, (1, "last", "a"))))
    assert told
    assert all(victim.log.path in text for text in told)
    COUNT.damages += 1


@pytest.mark.parametrize("version", VERSIONS)
def test_a_log_file_that_is_gone(merged: Tables, tmp_path: Path, version: int) -> None:
    """A planned compaction names it: an error says so, and the plan stays."""
    victim = _victim(merged, tmp_path, version)
    opened(victim.path).schedule_compaction()
    victim.file.unlink()
    with pytest.raises(CorruptTableError, match=f"{victim.log.name}.*does not exist"):
        opened(victim.path).compact()
    victim.file.write_bytes(victim.data)
    opened(victim.path).compact()
    assert state(victim.path) == victim.whole
    COUNT.damages += 1


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("kind", range(8))
def test_a_block_of_rows_says_it_is_another_kind(
    merged: Tables, tmp_path: Path, version: int, block: str, kind: int
) -> None:
    """Only the lowest byte of its kind is damaged: every kind there is, and one that there is not."""
    victim = _victim(merged, tmp_path, version, block)
    data = bytearray(victim.data)
    data[21] = kind
    victim.file.write_bytes(data)
    found, told = _read(victim.path)
    assert (found, bool(told)) == (victim.whole, False) if victim.block.kind == kind else told
