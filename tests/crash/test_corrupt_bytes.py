"""Damaged bytes: the right rows, or an error of ours that names what is damaged.

Timeline files and properties have no checksum over their content (``hoodie.table.checksum`` covers
the names of table and database only), so some damage can't be told from another true value: a digit
of a row count, a letter of a file id or of a column's name. Where such a value is what differs the
tests allow other rows, and only there; what no reader may do is fail in a way of its own.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from crash_leaks import leaks
from crash_trials import (
    COUNT,
    OPERATIONS,
    SEED,
    VERSIONS,
    copied,
    crash,
    mutations,
    opened,
    ours,
    plus_next,
    prepared,
    state,
    step,
    write_next,
)
from hoodoo.errors import CorruptTableError, HoodooError, SchemaError
from hoodoo.model.commit import CommitMetadata
from hoodoo.model.config import TableConfig
from hoodoo.timeline import codec, properties
from hoodoo_standard.storage.local import LocalStorage

pytestmark = pytest.mark.sampled(6, among="crashes")

Tables = Callable[..., Path]
PROPERTIES = ".hoodie/hoodie.properties"
# Other values of these are other true tables: nothing in the file says which one was meant.
UNPROTECTED = "hoodie.timeline.path"


def _flips(data: bytes, chance: random.Random) -> list[tuple[str, bytes]]:
    """One flip of one or more bits in each byte."""
    found = []
    for place in range(len(data)):
        damaged = bytearray(data)
        damaged[place] ^= chance.randrange(1, 256)
        found.append((f"byte {place} is {damaged[place]:#x}, was {data[place]:#x}", bytes(damaged)))
    return found


def _cuts(data: bytes) -> list[tuple[str, bytes]]:
    return [(f"cut to {size} of {len(data)} bytes", data[:size]) for size in range(len(data))]


def _all(path: Path) -> list[str]:
    """The rows with all columns, whatever they are called now."""
    return sorted(map(repr, opened(path).read().to_arrow().to_pylist()))


def _read(path: Path, file: Path, where: str) -> list[str] | None:
    """The rows, or None for an error of ours that names the file."""
    try:
        return _all(path)
    except (CorruptTableError, SchemaError) as error:
        assert file.name in str(error), f"{where}: the file is not named in: {error}"
    except HoodooError as error:  # readable, but it says what is not handled: another version, say
        assert str(path) in str(error), f"{where}: the table is not named in: {error}"
    return None


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("damage", ["flipped", "cut"])
def test_properties(tables: Tables, tmp_path: Path, version: int, damage: str) -> None:
    path = copied(tables(version), tmp_path / "trial")
    file, good = path / PROPERTIES, _all(path)
    data = file.read_bytes()
    true = properties.load(LocalStorage(str(path)))
    chance = random.Random(f"{SEED} properties {version}")
    for where, damaged in _flips(data, chance) if damage == "flipped" else _cuts(data):
        file.write_bytes(damaged)
        if _same_settings(path, true):
            continue  # a comment, or the end of a line
        found = _read(path, file, f"{where}, seed {SEED}")
        if found is not None and found != good:
            config = properties.load(LocalStorage(str(path)))
            assert config.get(UNPROTECTED) != true.get(UNPROTECTED), f"{where}, seed {SEED}"
        COUNT.damages += 1


def _same_settings(path: Path, true: TableConfig) -> bool:
    try:
        return properties.load(LocalStorage(str(path))).properties == true.properties
    except HoodooError:
        return False


@pytest.mark.parametrize("version", VERSIONS)
def test_properties_cut_or_gone_with_a_backup(tables: Tables, tmp_path: Path, version: int) -> None:
    """What a crash during an update leaves: read from the backup, mended by the next write."""
    path = copied(tables(version), tmp_path / "trial")
    file, good = path / PROPERTIES, ours(path)
    data = file.read_bytes()
    backup = path / properties.BACKUP
    for size in (None, 0, 1, len(data) // 2, len(data) - 2, len(data)):
        backup.write_bytes(data)
        file.unlink(missing_ok=True)
        if size is not None:
            file.write_bytes(data[:size])
        assert ours(path) == good, size
        COUNT.damages += 1
    file.write_bytes(data[: len(data) // 2])
    write_next(opened(path))
    assert file.read_bytes() == data
    assert leaks(path) == []
    assert len(state(path)) == len(good) + 1


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("action", ["commit", "replacecommit"])
@pytest.mark.parametrize("damage", ["flipped", "cut"])
def test_commit_files(
    tables: Tables, tmp_path: Path, version: int, action: str, damage: str
) -> None:
    """Each byte of the newest commit (JSON in version 6, Avro in 9) and of a replacecommit."""
    path = copied(tables(version), tmp_path / "trial")
    if action == "replacecommit":
        OPERATIONS["insert_overwrite"](opened(path))
    file, good = _newest(path, action), _all(path)
    data = file.read_bytes()
    replaces = action == "replacecommit"
    true = codec.decode_commit(data, str(file), replaces=replaces)
    chance = random.Random(f"{SEED} {action} {version}")
    for where, damaged in _flips(data, chance) if damage == "flipped" else _cuts(data):
        where = f"{where}, seed {SEED}"
        decoded = _decode(damaged, str(file), replaces)
        if (decoded is None or decoded == true) and damaged and chance.random() < 0.97:
            continue  # the reader's answer follows; the others, and a few of these, are read whole
        file.write_bytes(damaged)
        found = _read(path, file, where)
        if not damaged and version == 6 and action == "commit":
            assert found == good, where  # legal there: it says nothing, and changes nothing
        elif decoded is None:
            assert found is None, where
        elif found != good:
            assert found is None or decoded != true, where
            changed = (decoded.replaced, decoded.schema_text) != (true.replaced, true.schema_text)
            # A file that a commit names has to be there.
            lost = found is None and _named(decoded) != _named(true)
            assert changed or lost, f"{where}: nothing that a reader uses differs, but the rows do"
        COUNT.damages += 1


def _named(commit: CommitMetadata) -> set[tuple[str, int]]:
    return {(stat.path, stat.file_size) for stat in commit.stats}


def _newest(path: Path, action: str) -> Path:
    return sorted(p for p in (path / ".hoodie").rglob(f"*.{action}"))[-1]


def _decode(data: bytes, where: str, replaces: bool) -> Any:
    try:
        return codec.decode_commit(data, where, replaces=replaces) if data else None
    except CorruptTableError as error:
        assert where in str(error)
        return None


def _begin_rollback(path: Path, tmp_path: Path) -> None:
    """Its requested and inflight files are there."""
    steps = mutations(path, tmp_path / "undone", lambda t: t.rollback())
    crash(path, lambda t: t.rollback(), step(steps, ".rollback.inflight"), "after")


@pytest.mark.parametrize("version", VERSIONS)
def test_a_begun_rollback(tables: Tables, tmp_path: Path, version: int) -> None:
    """A damaged plan never makes the next write delete what is committed."""
    base = copied(tables(version), tmp_path / "crashed")
    case = prepared(base, tmp_path, OPERATIONS["upsert"])
    crash(base, OPERATIONS["upsert"], case.decisions[0], "before")
    _begin_rollback(base, tmp_path)
    name = next(p.name for p in (base / ".hoodie").rglob("*.rollback.requested"))
    chance = random.Random(f"{SEED} rollback {version}")
    (file,) = base.rglob(name)
    damages = [*_flips(file.read_bytes(), chance), *_cuts(file.read_bytes())]
    for where, damaged in chance.sample(damages, 60):
        target = copied(base, tmp_path / "trial")
        (file,) = target.rglob(name)
        file.write_bytes(damaged)
        try:
            opened(target).rollback()
        except CorruptTableError as error:
            assert name in str(error), where
        except HoodooError:
            pass  # the plan is whole, and names what can't be undone
        assert state(target) == case.old, f"{where}, seed {SEED}"
        COUNT.damages += 1


@pytest.mark.parametrize("version", VERSIONS)
def test_a_begun_rollback_of_what_is_committed(
    tables: Tables, tmp_path: Path, version: int
) -> None:
    """One digit of the plan's instant, and it names another one: it is withdrawn, nothing committed is
    deleted, and the failed write is undone all the same."""
    target = copied(tables(version), tmp_path / "trial")
    good = state(target)
    committed = opened(target).timeline().writes()[0].requested
    case = prepared(target, tmp_path, OPERATIONS["upsert"])
    crash(target, OPERATIONS["upsert"], case.decisions[0], "before")
    (pending,) = opened(target).timeline().pending()
    _begin_rollback(target, tmp_path)
    (file,) = (target / ".hoodie").rglob("*.rollback.requested")
    data = file.read_bytes()
    file.write_bytes(data.replace(pending.requested.encode(), committed.encode()))
    write_next(opened(target))
    assert not file.exists()
    assert state(target) == plus_next(good)
    assert leaks(target) == []
    COUNT.damages += 1


@pytest.mark.parametrize("version", VERSIONS)
def test_base_files(tables: Tables, tmp_path: Path, version: int) -> None:
    """Cut anywhere, or with a damaged footer: rows, or an error that names the file. A footer has no
    checksum either: a damaged name of a column is a column that the file lacks."""
    path = copied(tables(version), tmp_path / "trial")
    base = opened(path).file_slices()[0].base_file
    assert base is not None
    file = path / base.path
    data = file.read_bytes()
    footer = struct.unpack("<I", data[-8:-4])[0] + 8
    chance = random.Random(f"{SEED} footer {version}")
    damages = chance.sample(_cuts(data), 60)
    # The bloom filter is nearly all of the footer: its bytes are not looked at here.
    places = [p for p in range(len(data) - footer, len(data)) if data[p : p + 8] != b"A" * 8]
    for place in chance.sample(places, 300):
        damaged = bytearray(data)
        damaged[place] ^= 1 << chance.randrange(8)
        damages.append((f"byte {place} of {len(data)}", bytes(damaged)))
    for where, damaged in damages:
        file.write_bytes(damaged)
        found = _read(path, file, f"{where}, seed {SEED}")
        assert found is None or not where.startswith("cut"), where
        COUNT.damages += 1
