"""A file slice, merged: real base files of several row groups under real log files."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from attrs import evolve, field, frozen
from hoodoo.errors import HoodooWarning
from hoodoo.hookspecs.merger import Merged
from hoodoo.kernel.log_files import log_files
from hoodoo.model.config import TableConfig
from hoodoo.model.filegroup import BaseFile, FileSlice, LogFile
from hoodoo.model.log_block import BlockKind
from hoodoo.model.meta import RECORD_KEY, REPEATED, with_meta
from hoodoo_formats.log.writer import LogWriter
from hoodoo_formats.parquet.format import ParquetFormat
from hoodoo_rows.merge import meet
from hoodoo_rows.merge import slice as merging
from hoodoo_rows.merge.log_rows import may_have_deleted, read_log_rows
from hoodoo_rows.merge.meet import KeyJoin
from hoodoo_rows.merge.rule import MergeRule
from hoodoo_rows.merge.slice import merged_rows
from hoodoo_rows.read.project import pushed_filter, shaped
from hoodoo_rows.read.spec import row_spec
from hoodoo_rows.testing.tables import Maker
from hoodoo_standard.storage.local import LocalStorage
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.sampled(3)

SCHEMA = pa.schema([("n", pa.int64()), ("ts", pa.int64()), ("a", pa.string())])
GONE = "_hoodie_is_deleted"
MARKED = SCHEMA.append(pa.field(GONE, pa.bool_()))
FIRST, FILE_ID = "20250101000000000", "f-0"


@frozen
class Later:
    merge_mode: str = "COMMIT_TIME_ORDERING"
    strategy_id: str = str(uuid.UUID(int=1))
    columns: tuple[str, ...] | None = ()

    def merge(self, older: pa.Table, newer: pa.Table) -> Merged:
        return Merged(newer_wins=pc.greater_equal(newer["_hoodie__op"], 0).combine_chunks())


@frozen
class Higher:
    merge_mode: str = "EVENT_TIME_ORDERING"
    strategy_id: str = str(uuid.UUID(int=2))
    columns: tuple[str, ...] | None = ("ts",)

    def merge(self, older: pa.Table, newer: pa.Table) -> Merged:
        old, new = (pc.fill_null(t["ts"], -1) for t in (older, newer))
        return Merged(newer_wins=pc.greater_equal(new, old).combine_chunks())


@frozen
class ById:
    """The keys of a table that stores none."""

    record_key_fields: tuple[str, ...] = ("n",)

    def record_keys(self, batch: pa.RecordBatch) -> pa.Array:
        return batch.column("n").cast(pa.string())


@frozen
class Watched(ParquetFormat):
    """Base files in batches of these sizes; ``read`` says what was read: columns, rows."""

    key_rows: int | None = None
    other_rows: int | None = None
    read: list[tuple[tuple[str, ...], int]] = field(factory=list)
    kinds: dict[str, pa.DataType] = field(factory=dict)

    def reader(self, storage: Any, path: str) -> Any:
        return WatchedReader(super().reader(storage, path), self)


@frozen
class WatchedReader:
    inner: Any
    told: Watched

    @property
    def schema(self) -> pa.Schema:
        return self.inner.schema

    @property
    def num_rows(self) -> int:
        return int(self.inner.num_rows)

    def batches(
        self, columns: Any = None, where: Any = None, encoded: bool = False
    ) -> Iterator[pa.RecordBatch]:
        size = self.told.key_rows if columns == [RECORD_KEY] else self.told.other_rows
        for batch in self.inner.batches(columns, where, size, encoded=encoded):
            self.told.read.append((tuple(columns), batch.num_rows))
            self.told.kinds.update((f.name, f.type) for f in batch.schema)
            yield batch

    def __enter__(self) -> WatchedReader:
        return self

    def __exit__(self, *exc: object) -> None:
        self.inner.close()


def filled(rows: pa.Table, instant: str) -> pa.Table:
    count = rows.num_rows
    keys = rows.column("n").cast(pa.string())
    meta = [[instant] * count, [f"{instant}_{i}" for i in range(count)], keys, [""] * count,
            ["f"] * count]  # fmt: skip
    columns = [pa.array(c, pa.string()) if isinstance(c, list) else c for c in meta]
    return pa.Table.from_arrays([*columns, *rows.columns], schema=with_meta(rows.schema))


@frozen
class Slice:
    """One file slice in ``home``, made step by step."""

    home: Path
    group_rows: int = 4
    blocks: BlockKind = BlockKind.PARQUET
    logs: list[LogFile] = field(factory=list)
    base: list[BaseFile] = field(factory=list)

    @property
    def storage(self) -> LocalStorage:
        return LocalStorage(str(self.home), durable=False)

    @property
    def slice(self) -> FileSlice:
        return FileSlice("", FILE_ID, FIRST, self.base[0] if self.base else None, tuple(self.logs))

    def stored(self, rows: pa.Table) -> Slice:
        file = BaseFile("", FILE_ID, FIRST, "0-0-0")
        pq.write_table(filled(rows, FIRST), self.home / file.name, row_group_size=self.group_rows)
        self.base.append(file)
        return self

    def log(
        self, rows: pa.Table | None = None, deletes: Sequence[int] = (), partial: bool = False
    ) -> Slice:
        instant = f"{int(FIRST) + len(self.logs) + 1}"
        with LogWriter(
            str(self.home / f".{FILE_ID}_{instant}.log.1_0-0-0"), log_files().blocks
        ) as writer:
            if rows is not None:
                writer.data_block(
                    self.blocks, filled(rows, instant), instant=instant, table_name="t",
                    partial=partial,
                )  # fmt: skip
            if deletes:
                keys = pa.array([str(n) for n in deletes])
                paths = pa.array([""] * len(keys))
                writer.delete_block(keys, paths, None, None, instant)
            size = writer.close()
        self.logs.append(LogFile("", FILE_ID, instant, 1, "0-0-0", size=size))
        return self

    def rule(
        self, merger: Any, schema: pa.Schema = SCHEMA, columns: Sequence[str] | None = None,
        **more: Any,
    ) -> MergeRule:  # fmt: skip
        config = TableConfig({"hoodie.table.ordering.fields": "ts", **more.pop("config", {})})
        stored = with_meta(schema)
        wanted = stored if columns is None else pa.schema([stored.field(n) for n in columns])
        visible = MergeRule(merger, stored).visible
        rule = MergeRule.of(stored, config, merger, visible, None, None).narrowed(wanted.names)
        return evolve(rule, **more) if more else rule

    def read(
        self, merger: Any = None, columns: Sequence[str] = ("n", "ts", "a"), where: Any = None,
        schema: pa.Schema = SCHEMA, push: bool = True, file_format: Any = None,
    ) -> list[tuple[Any, ...]]:  # fmt: skip
        spec = row_spec(with_meta(schema), list(columns), where)
        rule = self.rule(merger or Later(), schema, spec.schema.names)
        pushed = partial(pushed_filter, spec=spec) if push else None
        known = file_format or ParquetFormat()
        found = merged_rows(self.storage, known, rule, self.slice, pushed)
        rows = [b.select(list(columns)) for b in shaped(found, spec, "here")]
        return [tuple(row.values()) for b in rows for row in b.to_pylist()]


rows = Maker(pa.schema(SCHEMA.field(n) for n in ("n", "ts", "a")), "ts", "a", a="a{}".format)


@pytest.fixture(params=[BlockKind.AVRO, BlockKind.PARQUET], ids=["avro", "parquet"])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Slice:
    return Slice(tmp_path, blocks=request.param)


def test_base_and_logs_become_rows(made: Slice) -> None:
    made.stored(rows(range(10), 5)).log(rows([1, 9, 20], 6, "new")).log(
        rows([1, 2], 4, "late"), [3]
    )
    kept = [(n, 5, f"a{n}") for n in (0, 4, 5, 6, 7, 8)]
    ours = [(9, 6, "new"), (20, 6, "new")]
    assert sorted(made.read(Later())) == sorted([*kept, *ours, (1, 4, "late"), (2, 4, "late")])
    assert sorted(made.read(Higher())) == sorted([*kept, *ours, (1, 6, "new"), (2, 5, "a2")])


def test_without_a_base_file(made: Slice) -> None:
    made.log(rows([1, 2, 3], 5), [7]).log(None, [2]).log(rows([3], 6, "new"))
    assert sorted(made.read()) == [(1, 5, "a1"), (3, 6, "new")]


def test_without_rows_in_the_logs(made: Slice) -> None:
    made.stored(rows(range(6), 5)).log(rows([], 1))
    assert made.read() == [(n, 5, f"a{n}") for n in range(6)]
    assert read_log_rows(made.storage, made.logs, made.rule(Later())).waiting is None


def test_marked_rows_are_gone(made: Slice) -> None:
    marks = rows([1, 2, 30], 5).append_column(GONE, pa.array([True, None, True]))
    late = rows([3], 4).append_column(GONE, pa.array([True]))
    made.stored(rows(range(5), 5)).log(marks).log(late)
    assert sorted(n for n, *_ in made.read(Higher(), schema=MARKED)) == [0, 2, 3, 4]
    assert sorted(n for n, *_ in made.read(Later(), schema=MARKED)) == [0, 2, 4]


def test_partial_rows_are_put_together_with_the_base_file(made: Slice) -> None:
    made.stored(rows(range(6), 5)).log(rows([1, 2, 5], 6).drop_columns(["a"]), partial=True)
    made.log(rows([2], 4).drop_columns(["a"]), partial=True)
    ts = {1: 6, 2: 6, 5: 6}
    assert sorted(made.read(Higher())) == [(n, ts.get(n, 5), f"a{n}") for n in range(6)]
    ts[2] = 4
    assert sorted(made.read(Later())) == [(n, ts.get(n, 5), f"a{n}") for n in range(6)]


def test_older_files_have_fewer_and_narrower_columns(made: Slice) -> None:
    wide = pa.schema([*SCHEMA, ("late", pa.float64())])
    narrow = rows(range(4), 5).set_column(1, "ts", pa.array([5] * 4, pa.int32()))
    made.stored(narrow).log(narrow.slice(0, 1).set_column(1, "ts", pa.array([6], pa.int32())))
    made.log(rows([2], 2**40).append_column("late", pa.array([1.5])))
    expected = [(0, 6, "a0", None), (1, 5, "a1", None), (2, 2**40, "a2", 1.5), (3, 5, "a3", None)]
    for merger in (Later(), Higher()):
        found = made.read(merger, ["n", "ts", "a", "late"], schema=wide)
        assert sorted(found) == expected
        where = (pc.field("ts") > 5) & pc.field("late").is_null()
        assert made.read(merger, ["n"], where, schema=wide) == [(0,)]


# --- keys are looked up ahead of the other columns ------------------------------------------------
@pytest.mark.parametrize("ahead", [1, 2, 8])
@pytest.mark.parametrize(("keys", "others"), [(1, 1), (3, 5), (5, 3), (7, 7), (100, 4)])
def test_windows_of_keys_do_not_shift(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ahead: int, keys: int, others: int
) -> None:
    """Whatever the batches are in which keys and the other columns come; never fewer keys than rows that wait."""
    monkeypatch.setattr(meet, "_AHEAD", keys * ahead)
    made = Slice(tmp_path).stored(rows(range(25), 5)).log(rows([0, 3, 6, 7, 13, 24, 99], 6))
    made.log(None, [1, 8, 23])
    asked: list[int] = []
    places = KeyJoin.places

    def counted(waiting: KeyJoin, keys: Any) -> Any:
        asked.append(len(keys))
        return places(waiting, keys)

    monkeypatch.setattr(KeyJoin, "places", counted)
    newer = {0, 3, 6, 7, 13, 24, 99}
    ids = [n for n in (*range(25), 99) if n not in (1, 8, 23)]
    found = made.read(file_format=Watched(key_rows=keys, other_rows=others))
    assert sorted(found) == [(n, 6 if n in newer else 5, f"a{n}") for n in ids]
    each = -(-max(keys * ahead, 10) // keys) * keys
    assert len(asked) == -(-25 // each) and sum(asked) == 25


@frozen
class LongerText:
    """The row with the longer `a` wins; the later one if they are equal."""

    merge_mode: str = "CUSTOM"
    strategy_id: str = str(uuid.UUID(int=7))
    columns: tuple[str, ...] | None = ("a",)

    def merge(self, older: pa.Table, newer: pa.Table) -> Merged:
        assert older.schema.field("a").type == newer.schema.field("a").type == pa.string()
        old, new = (pc.fill_null(pc.binary_length(t["a"]), 0) for t in (older, newer))
        return Merged(newer_wins=pc.greater_equal(new, old).combine_chunks())


@pytest.mark.parametrize("partly", [False, True])
def test_dictionaries_of_the_base_file_become_text(tmp_path: Path, partly: bool) -> None:
    """Of a column that repeats, numbers are read; the merger and the reader see text, nulls included."""
    text = {n: (None, "short", "some longer text")[n % 3] for n in range(300)}
    base = rows(range(300), 5).set_column(2, "a", pa.array(text.values(), pa.string()))
    made, watched = Slice(tmp_path, group_rows=100).stored(base), Watched(other_rows=70)
    if partly:
        made.log(rows(range(0, 300, 7), 6).drop_columns(["a"]), partial=True)
        expected, merger = {n: (5 if n % 7 else 6, a) for n, a in text.items()}, Later()
    else:
        made.log(rows(range(0, 300, 7), 6, "middle"))
        wins = {n for n in range(0, 300, 7) if n % 3 < 2}
        expected = {n: (6, "middle") if n in wins else (5, a) for n, a in text.items()}
        merger = LongerText()
    found = made.read(merger, file_format=watched)
    assert watched.kinds["a"] == REPEATED
    assert {n: (ts, a) for n, ts, a in found} == expected and len(found) == 300
    rule = made.rule(merger)
    for batch in merged_rows(made.storage, ParquetFormat(), rule, made.slice):
        assert batch.schema.equals(rule.out_schema)


@pytest.mark.parametrize("room", [100, 9000])
def test_long_text_that_repeats_gets_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    """A dictionary has a long value once; as text, the rows of a batch may need more than a column can have."""
    long = "long text " * 9
    base = rows(range(1000), 5).set_column(2, "a", pa.array([long] * 1000))
    made = Slice(tmp_path, group_rows=1000).stored(base).log(rows(range(0, 1000, 9), 6, "new"))
    monkeypatch.setattr(merging, "_TEXT_BYTES", room)
    found = list(merged_rows(made.storage, ParquetFormat(), made.rule(Later()), made.slice))
    assert max(b.num_rows for b in found if b["a"][0].as_py() == long) <= max(1, room // len(long))
    assert {row["n"]: row["a"] for b in found for row in b.to_pylist()} == {
        n: "new" if n % 9 == 0 else long for n in range(1000)
    }


@pytest.mark.parametrize("push", [True, False])
@pytest.mark.parametrize("merger", [Later(), Higher()], ids=["later", "higher"])
@pytest.mark.parametrize(
    ("where", "matches"),
    [
        (pc.field("n") >= 17, lambda n, ts, a: n >= 17),
        (pc.field("ts") == 6, lambda n, ts, a: ts == 6),
        (pc.field("ts") == 5, lambda n, ts, a: ts == 5),
        (pc.field("a") == "new", lambda n, ts, a: a == "new"),
        (pc.field("n").isin([4, 50, 23]), lambda n, ts, a: n in (4, 50, 23)),
        (pc.field("n") > 1000, lambda n, ts, a: False),
        (pc.field(RECORD_KEY) == "19", lambda n, ts, a: n == 19),
    ],
    ids=[*"abcdefg"],
)
def test_filters_see_merged_rows(
    tmp_path: Path, push: bool, merger: Any, where: Any, matches: Any
) -> None:
    made = Slice(tmp_path).stored(rows(range(25), 5)).log(rows([0, 4, 17, 23, 50], 6, "new"))
    made.log(rows([4, 18], 3, "late"), [20])
    everything = made.read(merger)
    found = made.read(merger, where=where, push=push)
    assert sorted(found) == sorted(row for row in everything if matches(*row))


def test_row_groups_are_skipped_where_log_rows_are_what_they_are(tmp_path: Path) -> None:
    made = Slice(tmp_path).stored(rows(range(24), 5)).log(rows([3], 6, "new"))
    watched = Watched()

    def rows_read(merger: Any, where: Any, again: int = 0) -> int:
        """``again``: keys that are read once more, of row groups that the filter skips."""
        watched.read.clear()
        made.read(merger, ["n", "a"], where, file_format=watched)
        keys, others = (
            sum(n for columns, n in watched.read if (columns == (RECORD_KEY,)) == alone)
            for alone in (True, False)
        )
        assert keys == others + again, "keys and rows come from the same row groups"
        return others

    where = pc.field("n") >= 20
    assert rows_read(Later(), where) == 4
    assert rows_read(Higher(), where) == 24, "a stored row may win over a log row that matches"
    assert rows_read(Later(), None) == 24
    # A key may stand in skipped row groups more than once; here "3" is within the keys of two.
    assert rows_read(Later(), pc.field("ts") == 6, again=8) == 0
    made.log(rows([3], 6).drop_columns(["a"]), partial=True)
    assert rows_read(Later(), where) == 4, "the partial row met its columns in the log"
    made.log(rows([5], 6).drop_columns(["a"]), partial=True)
    assert rows_read(Later(), where) == 24, "a partial row needs its stored row"


def test_the_record_key_is_not_handed_out_unless_wanted(tmp_path: Path) -> None:
    made = Slice(tmp_path).stored(rows(range(5), 5)).log(rows([1, 7], 6))
    for columns, has in ((["a"], False), ([RECORD_KEY, "a"], True)):
        rule = made.rule(Later(), SCHEMA, columns)
        found = list(merged_rows(made.storage, ParquetFormat(), rule, made.slice))
        assert all(batch.schema.equals(rule.out_schema) for batch in found)
        assert (RECORD_KEY in rule.out_schema.names) is has
        assert sum(batch.num_rows for batch in found) == 6


def test_virtual_keys_are_made_of_the_rows(tmp_path: Path) -> None:
    made = Slice(tmp_path).stored(rows(range(9), 5)).log(rows([1, 7, 11], 6, "new")).log(None, [3])
    for file in (made.base[0].name, made.logs[0].name):
        assert (tmp_path / file).exists()
    plain = made.rule(Later(), keys=ById())  # type: ignore[arg-type]
    rule = evolve(plain, schema=SCHEMA)
    found = pa.Table.from_batches(
        list(merged_rows(made.storage, ParquetFormat(), rule, made.slice)), SCHEMA
    )
    expected = {n: "new" if n in (1, 7, 11) else f"a{n}" for n in (0, 1, 2, 4, 5, 6, 7, 8, 11)}
    assert dict(zip(found["n"].to_pylist(), found["a"].to_pylist(), strict=True)) == expected


def test_damage_is_told_and_the_rest_is_read(tmp_path: Path) -> None:
    made = (
        Slice(tmp_path).stored(rows(range(3), 5)).log(rows([0], 6, "new")).log(rows([1], 6, "cut"))
    )
    cut = tmp_path / made.logs[1].name
    cut.write_bytes(cut.read_bytes()[:-5])
    rule = made.rule(Later())
    with pytest.warns(HoodooWarning, match=made.logs[1].name.replace(".", r"\.")):
        found = list(merged_rows(made.storage, ParquetFormat(), rule, made.slice))
    texts = itertools.chain(*(batch.column("a").to_pylist() for batch in found))
    assert sorted(texts) == ["a1", "a2", "new"]


CHANGES = st.lists(
    st.tuples(
        st.lists(st.tuples(st.integers(0, 14), st.integers(0, 3)), max_size=6),
        st.lists(st.integers(0, 14), max_size=3, unique=True),
    ),
    min_size=1,
    max_size=4,
)


@given(CHANGES, st.integers(0, 12), st.integers(1, 5), st.booleans(), st.integers(-1, 15))
@settings(max_examples=30, deadline=None)
def test_as_a_dictionary_does_it(
    changes: list[Any], count: int, group: int, higher: bool, least: int
) -> None:
    """With event time, a delete lets the row in the base file through again if a lower put follows:
    log rows are merged among themselves first."""
    import tempfile

    base = {n: 1 for n in range(count)}
    logged: dict[int, int | None] = {}
    with tempfile.TemporaryDirectory() as folder:
        made = Slice(Path(folder), group).stored(rows(list(base), 1))
        for puts, deletes in changes:
            block = pa.table({"n": [n for n, _ in puts], "ts": [t for _, t in puts],
                              "a": [f"a{n}" for n, _ in puts]}, SCHEMA)  # fmt: skip
            made.log(block if puts else None, deletes)
            for n, ts in puts:
                older = logged.get(n)
                if not (higher and older is not None and ts < older):
                    logged[n] = ts
            logged |= {n: None for n in deletes}
        for n, ts in logged.items():
            if ts is None:
                base.pop(n, None)
            elif not (higher and n in base and ts < base[n]):
                base[n] = ts
        where = None if least < 0 else pc.field("n") >= least
        found = made.read(Higher() if higher else Later(), ["n", "ts"], where)
        assert sorted(found) == sorted((n, ts) for n, ts in base.items() if n >= least)


def test_deletes_of_a_log_file_of_unknown_size_are_not_remembered(tmp_path: Path) -> None:
    """A log file of version 6 grows under its name; 0 bytes say that nobody knows how far."""
    storage, name = LocalStorage(str(tmp_path)), ".f_20250101000000001.log.1_0-0-0"
    rule = MergeRule(Later(), pa.schema([(RECORD_KEY, pa.string())]))
    keys = pa.chunked_array([["late"]])

    def grow(key: str) -> int:
        with LogWriter(str(tmp_path / "part")) as writer:
            writer.delete_block(pa.array([key]), pa.array([""]), None, None, "20250101000000001")
            writer.close()
        with (tmp_path / name).open("ab") as file:
            file.write((tmp_path / "part").read_bytes())
        return (tmp_path / name).stat().st_size

    grow("early")
    unknown = LogFile("", "f", "20250101000000001", 1, "0-0-0")
    assert unknown.path == name and unknown.size == 0
    assert not may_have_deleted(storage, [unknown], rule, keys)
    size = grow("late")
    assert may_have_deleted(storage, [unknown], rule, keys)
    assert may_have_deleted(storage, [evolve(unknown, size=size)], rule, keys)
