"""A large commit is decoded in parts, and the parts are those of the whole."""

from __future__ import annotations

import pickle
import tracemalloc
from pathlib import Path

import pytest
from hoodoo.errors import CorruptTableError
from hoodoo.model.commit import CommitMetadata, Operation, WriteStat
from hoodoo.model.config import TableConfig
from hoodoo.timeline import codec
from hoodoo.timeline.codec import avro, large
from hoodoo.timeline.layouts import layout_of
from hypothesis import given, settings
from hypothesis import strategies as st

EXTRA = {"schema": '{"type": "record", "name": "t", "fields": []}', "note": "x" * 300}
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)


def _encoded(metadata: CommitMetadata, action: str = "commit") -> bytes:
    return layout_of(TableConfig({"hoodie.table.version": "9"})).encode_commit(metadata, action)


def _commit(paths: list[str], each: int, **more: object) -> CommitMetadata:
    stats = tuple(
        WriteStat(path, f"id-{n}", f"{path}/id-{n}_0-0-0_1.parquet", num_writes=n, file_size=n * 7)
        for path in paths
        for n in range(each)
    )
    values = {"extra": EXTRA, **more}
    return CommitMetadata(Operation.UPSERT, stats, **values)  # type: ignore[arg-type]


@settings(max_examples=20, deadline=None)
@given(st.lists(NAMES, min_size=1, max_size=8, unique=True), st.integers(1, 5), st.booleans())
def test_parts_are_those_of_the_whole(paths: list[str], each: int, compacted: bool) -> None:
    metadata = _commit(paths, each, compacted=compacted)
    data = _encoded(metadata)
    whole = avro.decode(data, "x")
    for path in paths:
        assert large.stats_in(data, [path]) == {path: whole[large.STATS][path]}
    assert large.stats_in(data, paths) == whole[large.STATS]
    assert large.stats_in(data, ["no such path"]) == {}
    assert large.first_stats(data, 1) == whole[large.STATS][paths[0]]
    rest = {name: value for name, value in whole.items() if name != large.STATS}
    assert large.from_extra(data) == rest | {"compacted": compacted}


@pytest.mark.parametrize("action", ["commit", "replacecommit"])
def test_a_large_commit_is_as_any_other(action: str, monkeypatch: pytest.MonkeyPatch) -> None:
    more = {"replaced": {"a": ("id-9",)}} if action == "replacecommit" else {}
    metadata = _commit(["a", "b/c", "d=é"], 3, **more)
    data, replaces = _encoded(metadata, action), action == "replacecommit"
    small = codec.decode_commit(data, "x", replaces=replaces)
    monkeypatch.setattr(large, "LARGE", 0)
    found = codec.decode_commit(data, "x", replaces=replaces)
    stats = found.stats
    assert isinstance(stats, large.LazyStats)
    assert stats.within(["b/c"]) == small.stats[3:6]
    assert stats.first(4) == small.stats[:6]  # whole partition paths
    again = pickle.loads(pickle.dumps(found))
    assert found == small == again and again.stats == stats
    assert stats.within(["b/c"]) == small.stats[3:6]
    assert stats.first(4) == small.stats[:4]


def test_the_path_of_a_table_without_partitions_is_decoded_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = _encoded(_commit([""], 4))
    assert large.stats_in(data, [""]) is None
    monkeypatch.setattr(large, "LARGE", 0)
    stats = codec.decode_commit(data, "x").stats
    assert isinstance(stats, large.LazyStats)
    assert len(stats.within([""])) == 4


def test_damage_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    data = _encoded(_commit(["a", "b"], 20))
    monkeypatch.setattr(large, "LARGE", 0)
    at = data.index(b"a/id-3")
    broken = codec.decode_commit(data[: at - 1] + b"\xff" * 9 + data[at + 8 :], "x.commit")
    assert broken.extra == EXTRA
    with pytest.raises(CorruptTableError, match=r"x\.commit"):
        tuple(broken.stats)
    cut = data[: len(data) // 2]
    with pytest.raises(CorruptTableError, match=r"x\.commit"):
        codec.decode_commit(cut, "x.commit")
    for text in (b"{}" + b" " * 10, avro.MAGIC + b"\0" * 50, data[:-20]):
        assert large.from_extra(text) is None and large.first_stats(text, 1) is None


def test_files_below_the_limit_are_decoded_whole(tmp_path: Path) -> None:
    data = _encoded(_commit(["a"], 3))
    assert len(data) < large.LARGE
    assert isinstance(codec.decode_commit(data, "x").stats, tuple)


def test_records_are_made_as_they_are_written() -> None:
    """The record of a write stat takes some 1,000 bytes of memory, and some 200 in the file."""
    metadata = _commit([f"p={n}" for n in range(20)], 200)
    _encoded(metadata)  # what is imported and parsed by then is no part of it
    tracemalloc.start()
    try:
        data = _encoded(metadata)
        _now, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 5 * len(data)
