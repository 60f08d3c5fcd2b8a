"""Files that have chunks of the ones which they replace: rows, statistics, keys and readers, and what is encoded anew."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb
import hypothesis.strategies as st
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from attrs import evolve
from hoodoo.errors import CorruptTableError, StorageError
from hoodoo.model.meta import FILE_NAME, META_COLUMNS, RECORD_KEY, with_meta
from hoodoo.testing.contracts.file_format_rows import FLAT, NESTED, rows
from hoodoo.testing.directory import DirectoryStorage
from hoodoo.testing.stores import Delegating
from hoodoo_formats.bloom import BloomOptions
from hoodoo_formats.parquet import footer, in_place
from hoodoo_formats.parquet.format import ParquetFormat
from hoodoo_formats.parquet.in_place import InPlaceWriter
from hoodoo_formats.parquet.pages import Pages
from hoodoo_formats.parquet.reader import ParquetReader
from hoodoo_formats.parquet.writer import WriterOptions
from hypothesis import given, settings
from key_filters import KeyFilter

pytestmark = pytest.mark.sampled(4)

ROOT = Path(__file__).resolve().parents[3]
GOLDEN = Path(os.environ.get("HOODOO_GOLDEN", ROOT / "tests/golden/data"))
ZIPS = sorted((GOLDEN / "tables").glob("cow_*.zip"))
STORED = with_meta(pa.schema([*FLAT, *NESTED]))
NAME = "new-0_0-0-0_20250101000000001"
NAMED = {FILE_NAME: NAME}
OLD, NEW = "old.parquet", "new.parquet"


@pytest.fixture(autouse=True, scope="module")
def files_of_any_size() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(in_place, "COPIED_FROM", 0)
        yield


@pytest.fixture
def storage(tmp_path: Path) -> DirectoryStorage:
    return DirectoryStorage(str(tmp_path))


def local(storage: DirectoryStorage, name: str) -> str:
    return f"{storage.root.removeprefix('file://')}/{name}"


def options(codec: str = "zstd", **more: Any) -> WriterOptions:
    return WriterOptions("trips", codec, None, **more)


def put(
    storage: DirectoryStorage, name: str, *groups: pa.Table, how: WriterOptions | None = None
) -> None:
    writer = ParquetFormat(how or options()).writer(local(storage, name), groups[0].schema)
    for group in groups:
        writer.write(group)
        writer.flush()
    writer.close()


def begin(
    storage: DirectoryStorage,
    schema: pa.Schema = STORED,
    how: WriterOptions | None = None,
    base: ParquetReader | None = None,
    more: int = 0,
    constants: Mapping[str, str] = NAMED,
) -> InPlaceWriter | None:
    base = base or ParquetReader(storage, OLD)
    made = ParquetFormat(how or options())
    return made.in_place(local(storage, NEW), schema, base.num_rows + more, base, constants)


def read(storage: DirectoryStorage, name: str, schema: pa.Schema = STORED) -> pa.Table:
    with ParquetReader(storage, name) as reader:
        return pa.Table.from_batches(list(reader.batches()), schema).combine_chunks()


def named(table: pa.Table) -> pa.Table:
    at = table.schema.get_field_index(FILE_NAME)
    return table.set_column(at, FILE_NAME, pa.array([NAME] * table.num_rows, pa.string()))


def placed(table: pa.Table, at: list[int], other: pa.Table) -> pa.Table:
    """``table`` with the rows ``other`` in the places ``at``."""
    order = np.arange(table.num_rows)
    order[at] = table.num_rows + np.arange(len(at))
    return pa.concat_tables([table, other]).take(pa.array(order)).combine_chunks()


def keyed(other: pa.Table, table: pa.Table, at: list[int]) -> pa.Table:
    """``other`` with the keys of the rows in whose places it is put."""
    place = other.schema.get_field_index(RECORD_KEY)
    keys = table.column(RECORD_KEY).take(pa.array(at, pa.int64()))
    return named(other.set_column(place, RECORD_KEY, keys))


def chunks(storage: DirectoryStorage, name: str, group: int) -> dict[str, bytes]:
    """The bytes of each column of a row group."""
    with open(local(storage, name), "rb") as file:
        found = ParquetReader(storage, name).layout().groups[group].chunks
        made = {}
        for column, parts in found.items():
            for number, part in enumerate(parts):
                file.seek(part.start)
                made[f"{column}.{number}"] = file.read(part.size)
        return made


def same_bytes(storage: DirectoryStorage, group: int) -> set[str]:
    """The columns whose bytes are those of the old file."""
    old, new = (chunks(storage, name, group) for name in (OLD, NEW))
    differ = {name.rpartition(".")[0] for name in new if old.get(name) != new[name]}
    return {name.rpartition(".")[0] for name in new} - differ


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[set[str]]:
    """The columns that were encoded, one row group after the other."""
    found: list[set[str]] = [set()]
    encode, add = InPlaceWriter._encoded, InPlaceWriter._add

    def encoding(self: InPlaceWriter, table: pa.Table) -> Any:
        found[-1].update(table.schema.names)
        return encode(self, table)

    def adding(self: InPlaceWriter, *group: Any) -> None:
        found.append(set())
        add(self, *group)

    monkeypatch.setattr(InPlaceWriter, "_encoded", encoding)
    monkeypatch.setattr(InPlaceWriter, "_add", adding)
    return found


def check(storage: DirectoryStorage, wanted: pa.Table, how: WriterOptions | None = None) -> None:
    """Rows, by several readers; ranges and counts as of a file whose rows are all written; keys."""
    schema, path = wanted.schema, local(storage, NEW)
    assert read(storage, NEW, schema).equals(wanted)
    put(storage, "plain.parquet", wanted, how=how)
    made = ParquetFormat(how or options())
    names = [f.name for f in schema if not pa.types.is_nested(f.type)]
    found, plain = (made.base_ranges(storage, n, names) for n in (NEW, "plain.parquet"))
    assert found.rows == plain.rows and found.columns == plain.columns
    for name in names:
        one, other = found.ranges.get(name), plain.ranges.get(name)
        assert (one is None) == (other is None)
        if one is not None and other is not None:
            assert (one.least, one.greatest, one.nulls) == (
                other.least,
                other.greatest,
                other.nulls,
            ), name
    texts = pq.read_metadata(path).metadata
    ends = pc.min_max(wanted[RECORD_KEY])
    assert texts[b"hoodie_min_record_key"].decode() <= ends["min"].as_py()
    assert texts[b"hoodie_max_record_key"].decode() >= ends["max"].as_py()
    asked = KeyFilter.from_footer({k.decode(): v.decode() for k, v in texts.items()})
    assert pc.all(asked.might_contain(wanted[RECORD_KEY])).as_py()
    assert texts.keys() == pq.read_metadata(local(storage, "plain.parquet")).metadata.keys()
    pq.ParquetFile(path, page_checksum_verification=True).read()
    kept = [n for n in names if n != "clock"]
    for reader in (
        duckdb.connect().sql(f"from read_parquet('{path}')").to_arrow_table(),
        pl.read_parquet(path).to_arrow(),
    ):
        text = pa.Table.from_arrays(
            [reader.column(n).cast(schema.field(n).type) for n in kept], names=kept
        )
        assert text.cast(wanted.select(kept).schema).equals(wanted.select(kept))


@pytest.mark.parametrize("codec", ["zstd", "gzip", "snappy", "brotli", "lz4", "none"])
def test_what_does_not_change_is_copied(
    storage: DirectoryStorage, codec: str, encoded: list[set[str]]
) -> None:
    table = rows(STORED, 300)
    put(storage, OLD, table.slice(0, 200), table.slice(200), how=options(codec))
    at = [3, 50, 199]
    drawn = table.take(at)
    place = drawn.schema.get_field_index("text")
    other = keyed(drawn.set_column(place, "text", pa.array(["x", None, "y"])), table, at)
    writer = begin(storage, how=options(codec))
    assert writer is not None and len(writer.parts) == 2
    writer.keep(0, pa.array(at), other)
    writer.keep(1)
    assert writer.close() == os.path.getsize(local(storage, NEW))
    check(storage, placed(named(table), at, other), options(codec))
    # Floating numbers within nested columns are not compared.
    assert encoded == [{"text", FILE_NAME, "map"}, {FILE_NAME}, set()]
    assert set(STORED.names) - same_bytes(storage, 1) == {FILE_NAME}


@st.composite
def changes(draw: st.DrawFn) -> tuple[list[int], list[list[int] | None], list[str], bool]:
    groups = draw(st.lists(st.integers(1, 40), min_size=1, max_size=5))
    sets = [
        draw(
            st.one_of(
                st.none(), st.lists(st.integers(0, n - 1), min_size=1, unique=True).map(sorted)
            )
        )
        for n in groups
    ]
    own = [n for n in STORED.names if n not in (RECORD_KEY, FILE_NAME)]
    return groups, sets, draw(st.lists(st.sampled_from(own), unique=True)), draw(st.booleans())


@settings(max_examples=25, deadline=None)
@given(change=changes(), nested=st.booleans())
def test_random_changes(
    tmp_path_factory: pytest.TempPathFactory,
    change: tuple[list[int], list[list[int] | None], list[str], bool],
    nested: bool,
) -> None:
    groups, sets, differ, appends = change
    schema = STORED if nested else with_meta(FLAT)
    storage = DirectoryStorage(str(tmp_path_factory.mktemp("random")))
    whole, fresh = rows(schema, sum(groups)), rows(schema, 200, start=5000)
    starts = np.cumsum([0, *groups])
    put(storage, OLD, *(whole.slice(a, n) for a, n in zip(starts, groups, strict=False)))
    writer = begin(storage, schema, more=3)
    assert writer is not None and len(writer.parts) == len(groups)
    wanted = []
    for number, (start, count, at) in enumerate(zip(starts, groups, sets, strict=False)):
        group = whole.slice(start, count)
        if at is None:
            writer.keep(number)
            wanted.append(named(group))
            continue
        other = group.take(at)
        for name in differ:
            if name in schema.names:
                place = schema.get_field_index(name)
                other = other.set_column(place, name, fresh.column(name).slice(0, len(at)))
        other = keyed(other, group, at)
        same = [n for n in schema.names if n not in differ and n not in META_COLUMNS][::2]
        writer.keep(number, pa.array(at), other.drop_columns(same))
        wanted.append(placed(named(group), at, other))
    if appends:
        added = named(fresh.slice(150, 3))
        writer.write(added)
        wanted.append(added)
    writer.close()
    check(storage, pa.concat_tables(wanted).combine_chunks())


def test_bits_count(storage: DirectoryStorage) -> None:
    """Zero and minus zero are equal, and NaN is not: neither may decide."""
    schema = pa.schema([*(pa.field(n, pa.string()) for n in META_COLUMNS), ("v", pa.float64())])
    base = rows(with_meta(pa.schema([])), 4).append_column("v", pa.array([0.0, np.nan, 1.0, None]))
    put(storage, OLD, base.cast(schema))
    other = keyed(base.take([0, 1]).set_column(5, "v", pa.array([-0.0, np.nan])), base, [0, 1])
    writer = begin(storage, schema)
    assert writer is not None
    writer.keep(0, pa.array([0, 1]), other.cast(schema))
    writer.close()
    assert [str(v) for v in read(storage, NEW, schema)["v"].to_pylist()] == [
        "-0.0",
        "nan",
        "1.0",
        "None",
    ]
    writer = begin(storage, schema)
    assert writer is not None
    writer.keep(0, pa.array([1]), keyed(base.take([1]), base, [1]).cast(schema))
    writer.close()
    assert "v" in same_bytes(storage, 0)


def test_rows_between_parts_and_parts_left_out(storage: DirectoryStorage) -> None:
    """As where rows of a part were deleted: what stays of it is written between the others."""
    table = rows(STORED, 90)
    put(storage, OLD, *(table.slice(a, 30) for a in (0, 30, 60)))
    writer = begin(storage)
    assert writer is not None
    writer.write(named(table.slice(5, 20)), known=True)
    writer.keep(1)
    writer.write(named(table.slice(60, 20)), known=True)
    writer.close()
    stayed = [table.slice(5, 20), table.slice(30, 30), table.slice(60, 20)]
    check(storage, named(pa.concat_tables(stayed)).combine_chunks())
    texts = pq.read_metadata(local(storage, NEW)).metadata
    ends = (texts[b"hoodie_min_record_key"], texts[b"hoodie_max_record_key"])
    assert ends == (b"key-00000005", b"key-00000079")


@pytest.mark.parametrize("fresh", [0, 5, 60])
def test_a_filter_that_is_too_small_is_built_anew(storage: DirectoryStorage, fresh: int) -> None:
    """Known at the end: of the rows that come, most may be updates, as where all rows get a new value."""
    table = rows(with_meta(FLAT), 100 + fresh)
    put(storage, OLD, table.slice(0, 50), table.slice(50, 50))
    writer = begin(storage, with_meta(FLAT), more=100 + fresh)
    assert writer is not None
    writer.keep(0)
    writer.keep(1)
    if fresh:
        writer.write(named(table.slice(100)))
    writer.close()
    check(storage, named(table))
    texts = [pq.read_metadata(local(storage, n)).metadata for n in (OLD, NEW, "plain.parquet")]
    old, new, plain = (len(found[b"org.apache.hudi.bloomfilter"]) for found in texts)
    assert new == (plain if fresh == 60 else old)


def test_small_groups_are_joined(storage: DirectoryStorage) -> None:
    """Else each write with new keys would leave one more."""
    table = rows(STORED, 403)
    put(storage, OLD, table.slice(0, 400), table.slice(400, 2))
    writer = begin(storage, more=1)
    assert writer is not None
    writer.keep(0)
    writer.keep(1, pa.array([1]), named(table.slice(401, 1)))
    writer.write(named(table.slice(402)))
    writer.close()
    check(storage, named(table))
    assert [g.rows for g in ParquetReader(storage, NEW).layout().groups] == [400, 3]


def test_a_schema_that_has_changed(storage: DirectoryStorage) -> None:
    """Columns that are new, gone, wider or in another place; the others are copied."""
    old = with_meta(
        pa.schema([("a", pa.int32()), ("b", pa.string()), ("gone", pa.string()), ("n", pa.int64())])
    )
    new = with_meta(
        pa.schema(
            [("n", pa.float64()), ("fresh", pa.string()), ("b", pa.string()), ("a", pa.int64())]
        )
    )
    meta = rows(with_meta(pa.schema([])), 50)
    numbers = list(range(50))
    texts = [f"text {i % 7}" for i in numbers]
    columns = [
        *meta.columns,
        pa.array(numbers, pa.int32()),
        pa.array(texts),
        pa.array(["gone"] * 50),
        pa.array(numbers),
    ]
    put(storage, OLD, pa.Table.from_arrays(columns, schema=old))
    stayed = [
        *named(meta).columns,
        pa.array(numbers, pa.float64()),
        pa.nulls(50, pa.string()),
        pa.array(texts),
        pa.array(numbers),
    ]
    wanted = pa.Table.from_arrays(stayed, schema=new)
    other = keyed(wanted.take([7]).set_column(6, "fresh", pa.array(["here"])), wanted, [7])
    writer = begin(storage, new)
    assert writer is not None
    writer.keep(0, pa.array([7]), other)
    writer.close()
    check(storage, placed(wanted, [7], other))
    assert "b" in same_bytes(storage, 0)


def test_a_column_that_is_long_once_it_is_decoded(
    storage: DirectoryStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few values that are repeated are short in the file: such row groups are written batch by batch."""
    table = rows(STORED, 6000)
    put(storage, OLD, table.slice(0, 3000), table.slice(3000))
    at = [0, 1, 2999]
    other = keyed(rows(STORED, 3, start=9000), table, at)
    monkeypatch.setattr(in_place, "LARGEST_COLUMN", 8 * 3000)
    writer = begin(storage)
    assert writer is not None
    writer.keep(0, pa.array(at), other)
    writer.keep(1)  # nothing of it is decoded
    writer.close()
    check(storage, placed(named(table), at, other))
    assert same_bytes(storage, 1) == {*STORED.names} - {FILE_NAME}


def test_new_values_that_are_long(
    storage: DirectoryStorage, monkeypatch: pytest.MonkeyPatch, encoded: list[set[str]]
) -> None:
    """They are not joined with those of a whole row group: Arrow fails where they have more than 2 GB."""
    table = rows(STORED, 100)
    put(storage, OLD, table)
    at = [3, 98]
    place = STORED.get_field_index("text")
    long = table.take(at).set_column(place, "text", pa.array(["x" * 9000, "y" * 9000]))
    other = keyed(long, table, at)
    monkeypatch.setattr(in_place, "LARGEST_COLUMN", 16_000)
    writer = begin(storage)
    assert writer is not None
    writer.keep(0, pa.array(at), other)
    writer.close()
    check(storage, placed(named(table), at, other))
    assert "large" in encoded[0]


def test_a_pyarrow_whose_footers_are_not_known(
    storage: DirectoryStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One to come may write another order of values: upserts went wrong, where they need not be copied."""
    put(storage, OLD, rows(STORED, 30))

    def unknown(writer: InPlaceWriter) -> Any:
        raise footer.NoFooter("its statistics are in another order")

    monkeypatch.setattr(InPlaceWriter, "_made_template", unknown)
    assert begin(storage) is None


def test_a_file_across_a_network_is_read_once(storage: DirectoryStorage) -> None:
    class Far(Delegating):
        at_once = 8
        opened = 0

        def open(self, path: str) -> pa.NativeFile:
            self.opened += 1
            return super().open(path)

    far = Far(storage)
    table = rows(STORED, 300)
    put(storage, OLD, table)
    base = ParquetReader(far, OLD)
    writer = begin(storage, base=base)
    assert writer is not None
    os.unlink(local(storage, OLD))  # all of it has been read
    at = [4, 5]
    other = keyed(rows(STORED, 2, start=900), table, at)
    writer.keep(0, pa.array(at), other)
    writer.close()
    base.close()
    check(storage, placed(named(table), at, other))
    assert far.opened == 1
    assert not [name for name in os.listdir(local(storage, "")) if name.endswith(".old")]


def test_a_file_across_a_network_that_can_not_be_copied(storage: DirectoryStorage) -> None:
    class Far(Delegating):
        at_once = 8

    put(storage, OLD, rows(STORED, 30))
    base = ParquetReader(Far(storage), OLD)
    with pytest.raises(StorageError, match="could not be copied"):
        ParquetFormat(options()).in_place("/nowhere/new", STORED, 30, base, NAMED)


CHUNKS = st.lists(st.lists(st.one_of(st.none(), st.integers(0, 9)), max_size=12), max_size=4)


@settings(deadline=None)
@given(
    chunks=CHUNKS,
    data=st.data(),
    kind=st.sampled_from(["text", "coded", "int", "bool", "raw", "list"]),
)
def test_values_in_their_places(
    chunks: list[list[int | None]], data: st.DataObject, kind: str
) -> None:
    """Of columns in several pieces, some of them parts of others, with and without nulls."""
    kinds = {
        "text": (pa.string(), lambda v: f"t{v}"), "coded": (pa.string(), lambda v: f"t{v}"),
        "int": (pa.int64(), lambda v: v), "bool": (pa.bool_(), lambda v: v % 2 == 0),
        "raw": (pa.binary(2), lambda v: bytes([v, v])),
        "list": (pa.list_(pa.int32()), lambda v: [v] * (v % 3)),
    }  # fmt: skip
    type_, value = kinds[kind]

    def made(numbers: list[int | None]) -> pa.Array:
        longer = [None, *(None if v is None else value(v) for v in numbers), value(3)]
        found = pa.array(longer, type_)
        return (found.dictionary_encode() if kind == "coded" else found).slice(1, len(numbers))

    numbers = [v for chunk in chunks for v in chunk]
    at = sorted(data.draw(st.sets(st.integers(0, len(numbers) - 1)))) if numbers else []
    new = data.draw(
        st.lists(st.one_of(st.none(), st.integers(0, 12)), min_size=len(at), max_size=len(at))
    )
    stored_type = in_place.REPEATED if kind == "coded" else type_
    stored = pa.chunked_array([made(chunk) for chunk in chunks], stored_type)
    found = in_place._replaced(stored, np.asarray(at, np.int64), made(new))
    wanted = list(numbers)
    for place, number in zip(at, new, strict=True):
        wanted[place] = number
    assert found.type == stored_type
    assert found.to_pylist() == [None if v is None else value(v) for v in wanted]


def test_a_dictionary_grows_and_has_nulls(storage: DirectoryStorage) -> None:
    schema = with_meta(pa.schema([("t", pa.string())]))
    meta = rows(with_meta(pa.schema([])), 4000)
    words = pa.array([None if i % 5 == 0 else f"w{i % 3}" for i in range(4000)])
    table = meta.append_column("t", words)
    put(storage, OLD, table.cast(schema))
    at = [0, 1, 2, 3999]
    other = keyed(
        table.take(at).set_column(5, "t", pa.array(["new", None, "w0", "new"])), table, at
    )
    writer = begin(storage, schema)
    assert writer is not None
    writer.keep(0, pa.array(at), other.cast(schema))
    writer.close()
    check(storage, placed(named(table.cast(schema)), at, other.cast(schema)))


@pytest.mark.parametrize("path", ZIPS, ids=lambda path: path.stem)
def test_files_of_spark_hudi(path: Path, storage: DirectoryStorage) -> None:
    """Those with the compression that is asked for are copied, all others are left to the ordinary writer."""
    copied = 0
    with zipfile.ZipFile(path) as packed:
        files = [n for n in packed.namelist() if n.endswith(".parquet")]
        hidden = ("__MACOSX", ".hoodie", "/._")
        found = [n for n in files if not any(word in n for word in hidden)][:3]
        for name in found:
            storage.put(OLD, packed.read(name))
            with ParquetReader(storage, OLD) as base:
                schema, table = (
                    base.schema,
                    pa.Table.from_batches(list(base.batches()), base.schema),
                )
                if any(pa.types.is_fixed_size_binary(f.type) for f in schema):
                    continue  # vectors, which tables write as such, and a bare writer refuses
                if base.key_range() is None or FILE_NAME not in schema.names:
                    assert begin(storage, schema, options("gzip"), base) is None
                    continue
                writer = begin(storage, schema, options("gzip"), base)
                if writer is None:
                    continue
                copied += 1
                at = list(range(0, table.num_rows, 2))
                other = keyed(table.take(at), table, at)
                writer.keep(0, pa.array(at), other)
                writer.close()
                check(storage, placed(named(table), at, other).combine_chunks(), options("gzip"))
                storage.delete(NEW)
            storage.delete(OLD)
    keyless = ("empty", "no_metafields", "nometa", "lance", "vector")
    assert copied or any(word in path.stem for word in keyless)


def test_left_to_the_ordinary_writer(
    storage: DirectoryStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = rows(STORED, 30)
    put(storage, OLD, table)
    assert begin(storage, how=options("gzip")) is None  # all would be encoded anew
    assert begin(storage, how=evolve(options(), dictionary=False)) is None
    assert begin(storage, how=evolve(options(), key_stats=False)) is None  # virtual keys
    assert begin(storage, how=evolve(options(), bloom=BloomOptions("SIMPLE"))) is None
    monkeypatch.setattr(in_place, "COPIED_FROM", 1 << 30)
    assert begin(storage) is None
    monkeypatch.setattr(in_place, "COPIED_FROM", 0)
    monkeypatch.setattr(in_place, "_FEW_GROUPS", 0)
    assert begin(storage) is None  # a small file of many groups
    monkeypatch.undo()
    monkeypatch.setattr(in_place, "COPIED_FROM", 0)
    assert begin(storage, how=evolve(options(), copies=False)) is None
    assert begin(storage) is not None
    put(storage, OLD, table.slice(0, 0))
    assert begin(storage) is None


def edited(storage: DirectoryStorage, change: Any) -> None:
    """The old file with another footer."""
    with storage.open(OLD) as file:
        tree, end = footer.read(file)
    change(tree)
    storage.put(OLD, storage.get(OLD)[:end] + footer.serialized(tree))


def first_chunk(tree: footer.Struct) -> footer.Struct:
    group = footer.value(tree, footer.GROUPS)[0]
    return footer.value(group, footer.CHUNKS)[0]


def has_rows(tree: footer.Struct, count: int) -> None:
    """A file of one row group says that it has so many rows."""
    footer.value(tree, footer.GROUPS)[0][footer.GROUP_ROWS] = footer.integer(count)
    tree[footer.ROWS] = footer.integer(count)


@pytest.mark.parametrize(
    "change",
    [
        lambda tree: tree.update({footer.CREATED_BY: (11, b"somebody version 1.0")}),
        lambda tree: tree.update({footer.CREATED_BY: (11, b"parquet-mr version 1.8.1 (build x)")}),
        lambda tree: tree.pop(footer.ORDERS),
        lambda tree: footer.value(tree, footer.ORDERS).__setitem__(0, {2: (12, {})}),
        lambda tree: tree.update({footer.ENCRYPTION: (12, {})}),
        lambda tree: footer.value(first_chunk(tree), footer.CHUNK_META).update({99: (10, 5)}),
        lambda tree: tree.update({footer.CREATED_BY: (6, 5)}),
        lambda tree: footer.value(
            footer.value(first_chunk(tree), footer.CHUNK_META), footer.PATH
        ).__setitem__(0, b"x"),
        lambda tree: has_rows(tree, 31),
        lambda tree: has_rows(tree, 29),
    ],
    ids=[
        "writer",
        "old writer",
        "no order",
        "another order",
        "encryption",
        "an entry",
        "a type",
        "a path",
        "more rows",
        "fewer rows",
    ],
)
def test_unusual_footers(storage: DirectoryStorage, change: Any) -> None:
    put(storage, OLD, rows(STORED, 30))
    assert begin(storage) is not None
    edited(storage, change)
    assert begin(storage) is None


def test_a_row_group_that_has_other_rows_than_its_footer_says(storage: DirectoryStorage) -> None:
    """It would have become a file that nobody can read, and the old one been cleaned."""
    put(storage, OLD, rows(with_meta(FLAT), 30))

    def change(tree: footer.Struct) -> None:
        has_rows(tree, 31)
        for chunk in footer.value(footer.value(tree, footer.GROUPS)[0], footer.CHUNKS):
            footer.value(chunk, footer.CHUNK_META)[footer.VALUES] = footer.integer(31)

    edited(storage, change)
    writer = begin(storage, with_meta(FLAT))
    assert writer is not None
    with pytest.raises(CorruptTableError, match="row group 0 has 30 rows, its footer says 31"):
        list(writer.parts[0].batches([RECORD_KEY]))
    other = rows(with_meta(FLAT), 1)
    with pytest.raises(CorruptTableError, match="row group 0 has 30 rows"):
        writer.keep(0, pa.array([3]), keyed(other, other, [0]))


def test_page_indexes_come_along_and_parquets_own_filters_do_not(
    storage: DirectoryStorage,
) -> None:
    """They lie elsewhere in the old file."""
    table = rows(with_meta(FLAT), 500)
    put(storage, OLD, table)
    texts = pq.read_metadata(local(storage, OLD)).metadata
    with pq.ParquetWriter(
        local(storage, OLD), table.schema, compression="zstd", write_page_index=True,
        store_schema=False, bloom_filter_options={"large": {"ndv": 500}},
    ) as file:  # fmt: skip
        file.write_table(table)
        file.add_key_value_metadata(texts)
    writer = begin(storage, table.schema)
    assert writer is not None
    writer.keep(0)
    writer.close()
    check(storage, named(table))
    assert "large" in same_bytes(storage, 0)
    for column in range(table.num_columns):
        chunk = pq.read_metadata(local(storage, NEW)).row_group(0).column(column)
        assert chunk.has_offset_index and chunk.bloom_filter_offset is None
    with storage.open(NEW) as file:
        group = footer.value(footer.read(file)[0], footer.GROUPS)[0]
        for one in footer.value(group, footer.CHUNKS):
            assert Pages.of(file, one, table.num_rows).ends[-1] == table.num_rows


def test_a_footer_is_the_same_when_it_is_written_again(storage: DirectoryStorage) -> None:
    put(storage, OLD, rows(STORED, 30))
    with storage.open(OLD) as file:
        tree, end = footer.read(file)
    assert storage.get(OLD)[end:] == footer.serialized(tree)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PAR1",
        b"PAR1" * 3,
        b"x" * 50 + b"\xff\xff\xff\x7fPAR1",
        b"PAR1\xff\xff\xff\xff\x04\0\0\0PAR1",
    ],
)
def test_what_is_no_footer(storage: DirectoryStorage, content: bytes) -> None:
    storage.put("broken", content)
    with storage.open("broken") as file, pytest.raises(footer.NoFooter):
        footer.read(file)
